"""MLflow: a run for each seed, in a database or on a server.

A row that is sent a second time changes nothing, because a database keeps one of two metrics that
are equal in name, step, time and value, and times come from the logs. So nothing is there twice,
even if a death came between sending and noting.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from vdqn_runner.config import MLflowTracker
from vdqn_runner.trackers.points import Point, start_of
from vdqn_runner.trackers.sent import Sent, uri, write_sent
from vdqn_runner.trackers.sources import About

KEY = "vdqn_runner.key"
"""The tag by which a seed's run is found again."""

# As many as MLflow takes at once.
_METRICS = 1000
_PARAMS = 100

_STATES = {"done": "FINISHED", "failed": "FAILED", "running": "RUNNING", "planned": "RUNNING"}


class MLflowRun:
    """A run of MLflow, see ``sender.Target``."""

    def __init__(
        self, folder: Path, sent: Sent, about: About, tracker: MLflowTracker, out: Path
    ) -> None:
        from mlflow.tracking import MlflowClient

        place = uri(tracker, out)
        self._folder = folder
        with _only_one_makes_it(place):
            self._client: Any = MlflowClient(tracking_uri=place)
            experiment = self._experiment(tracker, out)
        self._run, found = self._find_or_create(experiment, sent, about)
        self._sent = replace(sent, step=sent.step if found else 0, state="")
        if not self._sent.step:
            self._log_params(about)

    @property
    def step(self) -> int:
        """The step up to which every row is there."""
        return self._sent.step

    def send(self, points: Sequence[Point], step: int) -> None:
        """Send metrics, and note them."""
        from mlflow.entities import Metric

        metrics = iter(
            Metric(name, value, _milliseconds(point.seconds), point.step)
            for point in points
            for name, value in point.values.items()
        )
        while batch := list(islice(metrics, _METRICS)):
            self._client.log_batch(self._run, metrics=batch)
        self._sent = replace(self._sent, step=step)
        write_sent(self._folder, self._sent)

    def close(self, state: str, seconds: float) -> None:
        """Tell how the seed ended."""
        status = _STATES.get(state, "KILLED")
        if status == "RUNNING":
            self._client.update_run(self._run, status=status)
        else:
            self._client.set_terminated(self._run, status, _milliseconds(seconds))
        write_sent(self._folder, replace(self._sent, state=state))

    def _experiment(self, tracker: MLflowTracker, out: Path) -> str:
        """Return the experiment's id; a new one in the file in ``out`` has its artifacts there."""
        from mlflow.exceptions import MlflowException

        found = self._client.get_experiment_by_name(tracker.experiment)
        if found is None:
            artifacts = None if tracker.uri else (out.resolve() / "mlartifacts").as_uri()
            try:
                return str(self._client.create_experiment(tracker.experiment, artifacts))
            except MlflowException:
                # Another process may have been faster.
                found = self._client.get_experiment_by_name(tracker.experiment)
                if found is None:
                    raise
        return str(found.experiment_id)

    def _find_or_create(self, experiment: str, sent: Sent, about: About) -> tuple[str, bool]:
        """Return the run's id, and whether it was there."""
        key = hashlib.sha256(f"{about.group} {about.seed} {sent.started}".encode()).hexdigest()
        there = self._client.search_runs([experiment], f"tags.`{KEY}` = '{key}'")
        if there:
            known = str(there[0].info.run_id)
            self._client.update_run(known, status="RUNNING")
            return known, True
        run = self._client.create_run(
            experiment,
            start_time=_milliseconds(start_of(sent.started)),
            tags={**about.tags, KEY: key},
            run_name=about.name,
        )
        return str(run.info.run_id), False

    def _log_params(self, about: About) -> None:
        from mlflow.entities import Param

        params = iter(Param(name, str(value)) for name, value in about.params.items())
        while batch := list(islice(params, _PARAMS)):
            self._client.log_batch(self._run, params=batch)


@contextmanager
def _only_one_makes_it(place: str) -> Iterator[None]:
    """Let no two processes make the tables of an SQLite file at once; its folder is made."""
    if not place.startswith("sqlite:///"):
        yield
        return
    file = Path(place.removeprefix("sqlite:///").partition("?")[0])
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
