"""Sending runs that are there to a tracker: old ones, packed ones, those from other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.errors import ConfigError, RunError

_LEVELS = 4  # name, environment, algorithm, hash


def track(items: Sequence[str]) -> Iterator[str]:
    """Send what a tracker lacks of all runs at or below the paths; yield a line for each.

    A run that cannot be sent does not stop the others.

    Args:
        items: Paths, and overrides of ``tracker`` as for vdqn-run.

    Raises:
        ConfigError: No run there, no tracker named, or one that is not there.
        RunError: Runs could not be sent in full.
    """
    overrides = [item for item in items if item.partition("=")[0].partition(".")[0] == "tracker"]
    paths = [Path(item) for item in items if item not in overrides] or [Path("runs")]

    from vdqn_runner.api import settings
    from vdqn_runner.trackers import check_tracker
    from vdqn_runner.trackers.parent import Process

    tracker = settings(*overrides).tracker
    if tracker.kind == "none":
        raise ConfigError("tracker: must be given, as in tracker=tensorboard")
    check_tracker(tracker)
    runs = find_runs(paths)
    for run in runs:
        if len(run.path.resolve().parts) <= _LEVELS:
            raise ConfigError(f"{run.path}: does not lie at <out>/<name>/<env>/<algo>/<hash>")
    failures = []
    with Process(tracker, None, [(run.path, None) for run in runs]) as process:
        for told in process.ends():
            if told.reason:
                failures.append(f"{told.run}: {told.reason}")
            else:
                yield f"{told.run}: sent"
    if failures:
        raise RunError("; ".join(failures))
