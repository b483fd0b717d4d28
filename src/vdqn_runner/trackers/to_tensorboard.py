"""TensorBoard: an event file in the seed's folder, cut back to what is known to be whole.

The file is a function of the logs alone: written again after a cut, it has the same bytes.
"""

import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vdqn_runner.trackers.points import Point, start_of
from vdqn_runner.trackers.sent import Sent, write_sent
from vdqn_runner.trackers.sources import About

FILE = "events.out.tfevents.0"


class EventFile:
    """An event file that is added to, see ``sender.Target``."""

    def __init__(self, folder: Path, sent: Sent, about: About) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._records = RecordWriter
        self._folder = folder
        self._sent = replace(sent, state="")
        whole = int(sent.more.get("bytes", 0))
        with (folder / FILE).open("ab") as file:
            if not 0 < whole <= file.seek(0, os.SEEK_END):
                whole, self._sent = 0, replace(self._sent, step=0)
            file.truncate(whole)
        if not whole:
            self._append(_beginning(about, start_of(sent.started)), step=0)

    @property
    def step(self) -> int:
        """The step up to which every row is there."""
        return self._sent.step

    def send(self, points: Sequence[Point], step: int) -> None:
        """Append events, and note them once they are on the disk."""
        self._append(map(_scalars, points), step)

    def close(self, state: str, seconds: float) -> None:
        """Note the state: the file is whole after each part."""
        write_sent(self._folder, replace(self._sent, state=state))

    def _append(self, events: Iterable[Any], step: int) -> None:
        buffer = io.BytesIO()
        records = self._records(buffer)
        for event in events:
            records.write(event.SerializeToString(deterministic=True))
        with (self._folder / FILE).open("ab") as file:
            file.write(buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        self._sent = replace(self._sent, step=step, more={"bytes": size})
        write_sent(self._folder, self._sent)


def _beginning(about: About, started: float) -> list[Any]:
    """Return the events of the version and of the settings, for the tab HPARAMS.

    There, seeds of a run are one group, whose mean is shown.
    """
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.hparams.summary_v2 import hparams_pb

    settings = hparams_pb(dict(about.params), trial_id=about.group, start_time_secs=started)
    return [
        Event(wall_time=started, file_version="brain.Event:2"),
        Event(wall_time=started, summary=settings),
    ]


def _scalars(point: Point) -> Any:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    values = [Summary.Value(tag=tag, simple_value=value) for tag, value in point.values.items()]
    return Event(wall_time=point.seconds, step=point.step, summary=Summary(value=values))
