"""What has been sent of a seed: ``<tracker>/sent.json`` below its folder.

    {"store": where to, "started": when the seed was started, "step": up to which step,
     "state": the seed's state of which the tracker has been told, "more": ...}

``started`` tells a seed that was removed and trained anew from the one that was sent.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vdqn_runner.config import MLflowTracker, Tracker, WandbTracker
from vdqn_runner.runs.atomic import write_atomic
from vdqn_runner.runs.status import Status

SENT = "sent.json"


@dataclass(frozen=True)
class Sent:
    """What a tracker has of a seed.

    Attributes:
        store: Where it is (``store``).
        started: When the seed was started, as status.json says it.
        step: The step up to which every row is there.
        state: The seed's state when it was closed there; empty while it is open.
        more: What the tracker itself wants to remember, as plain values.
    """

    store: str
    started: str
    step: int = 0
    state: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


def read_sent(folder: Path, store: str, started: str) -> Sent:
    """Return what has been sent of this seed to this store; a step of 0 where nothing is known."""
    try:
        found = json.loads((folder / SENT).read_bytes())
        texts = {key: str(found[key]) for key in ("store", "started", "state")}
        sent = Sent(**texts, step=int(found["step"]), more=dict(found["more"]))
    except (OSError, ValueError, LookupError, TypeError):
        return Sent(store, started)
    return sent if (sent.store, sent.started) == (store, started) else Sent(store, started)


def write_sent(folder: Path, sent: Sent) -> None:
    """Note what has been sent, which must be safe by now.

    Raises:
        RunError: The file cannot be written.
    """
    write_atomic(folder / SENT, [json.dumps(asdict(sent)).encode()])


def is_sent(tracker: Tracker, out: Path, folder: Path, status: Status) -> bool:
    """Whether a tracker has every row of a seed that stays, and knows how the seed ended.

    Args:
        tracker: The tracker.
        out: The folder of all results.
        folder: Where trackers have their files of the seed.
        status: How far the seed is.
    """
    sent = read_sent(folder / tracker.kind, store(tracker, out), status.started)
    return status.steps == 0 or (sent.step >= status.steps and sent.state == status.state)


def store(tracker: Tracker, out: Path) -> str:
    """Return the place that a tracker sends to, so that another one is told apart.

    Args:
        tracker: The tracker.
        out: The folder of all results.
    """
    match tracker:
        case MLflowTracker():
            return f"{uri(tracker, out)} {tracker.experiment}"
        case WandbTracker():
            return f"{tracker.mode} {tracker.entity or ''}/{tracker.project}"
        case _:
            return tracker.kind


def uri(tracker: MLflowTracker, out: Path) -> str:
    """Return MLflow's database or server."""
    return tracker.uri or f"sqlite:///{out.resolve() / 'mlflow.db'}"
