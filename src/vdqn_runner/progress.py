"""One live line on stderr that says how far a batch of seeds is."""

import contextlib
import math
import os
import sys
import time
from typing import NoReturn, Protocol, TextIO

from tqdm import tqdm

from vdqn_runner.recent import MeanReturn

# Seconds between two reports.
_TERMINAL_SECONDS = 0.2
_PLAIN_SECONDS = 10.0
# Width of the line on a terminal that does not know its own, as in some containers.
_UNMEASURED_COLUMNS = 80


class Report(Protocol):
    """What hears how far training is.

    Attributes:
        episodes: Finished episodes of all seeds, earlier processes' included.
        steps: Environment steps of all seeds; only differences count.
    """

    episodes: int
    steps: int

    def update(self, episodes_done: int, mean_return: MeanReturn, steps: int) -> None:
        """Tell the state now, and the mean return of the last episodes; may come at every step."""

    def close(self) -> None:
        """Tell that there is no more to come."""


class Progress:
    """Reports episodes, mean return, speed and time left, as often as a reader can use.

    A terminal gets one bar that redraws itself, anything else a plain line every ten seconds, and
    ``quiet`` nothing. A call that is too early to report costs one look at the clock.
    """

    def __init__(self, total_episodes: int, done: int, quiet: bool, label: str) -> None:
        """Start the clock.

        Args:
            total_episodes: Episodes of all seeds of the batch together.
            done: Those of them that earlier processes finished.
            quiet: Say nothing.
            label: What the line begins with.
        """
        self._total = total_episodes
        self._done_before = done
        self._label = label
        self.episodes = done
        self._mean_return = MeanReturn()
        self.steps = 0
        self._steps_before: int | None = None
        self._stream: TextIO | None = None if quiet else sys.stderr
        self._bar: tqdm[NoReturn] | None = None
        self._start = time.monotonic()
        self._interval = math.inf
        if self._stream is not None:
            terminal = self._stream.isatty()
            self._interval = _TERMINAL_SECONDS if terminal else _PLAIN_SECONDS
            if terminal:
                measured = _columns(self._stream) > 0
                self._bar = tqdm(
                    total=total_episodes,
                    initial=done,
                    desc=label,
                    file=self._stream,
                    ncols=_UNMEASURED_COLUMNS,
                    dynamic_ncols=measured,
                    mininterval=0,
                    bar_format="{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} episodes"
                    "{postfix}",
                )
        self._next = self._start + self._interval

    def update(self, episodes_done: int, mean_return: MeanReturn, steps: int) -> None:
        """Tell how far the batch is; may be called at every step.

        Args:
            episodes_done: Finished episodes of all seeds, earlier processes' included.
            mean_return: Mean over the seeds of the mean return of each one's last episodes.
            steps: Environment steps of all seeds; only differences count.
        """
        self.episodes = episodes_done
        self._mean_return = mean_return
        self.steps = steps
        if self._steps_before is None:
            self._steps_before = steps
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._interval
            self._report(now)

    def close(self) -> None:
        """Report the last state and end the line; closing twice is allowed."""
        if self._steps_before is not None:
            self._report(time.monotonic())
        self._stop()

    def _report(self, now: float) -> None:
        if self._stream is None:
            return
        elapsed = max(now - self._start, 1e-9)
        speed = (self.steps - (self._steps_before or 0)) / elapsed
        value, seeds = self._mean_return
        parts = [
            f"return {value:.4g}" if seeds else "no episode yet",
            f"{speed:,.0f} steps/s",
            f"{_duration(self._seconds_left(elapsed))} left",
        ]
        try:
            if self._bar is not None:
                self._bar.set_postfix_str(", ".join(parts), refresh=False)
                self._bar.update(self.episodes - self._bar.n)
            else:
                parts.insert(0, f"{self._label}: {self.episodes}/{self._total} episodes")
                print(", ".join(parts), file=self._stream, flush=True)
        except (OSError, ValueError):
            # A reader that has gone away (closed pipe or file) must not end the training.
            self._stop()

    def _seconds_left(self, elapsed: float) -> float:
        if self.episodes >= self._total:
            return 0.0
        finished = self.episodes - self._done_before
        return elapsed / finished * (self._total - self.episodes) if finished > 0 else math.nan

    def _stop(self) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                self._bar.close()
        self._stream = None
        self._bar = None
        self._next = math.inf


def _columns(terminal: TextIO) -> int:
    try:
        return os.get_terminal_size(terminal.fileno()).columns
    except OSError:
        return 0


def _duration(seconds: float) -> str:
    """Return hours, minutes and seconds: ``1:02:03``, ``02:03``, or ``?`` for NaN."""
    return "?" if math.isnan(seconds) else tqdm.format_interval(seconds)
