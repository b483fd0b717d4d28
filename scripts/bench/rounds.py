"""Measuring contestants in turn, so that a drift of the machine's speed meets all alike."""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from scripts.bench.machine import child_environment
from scripts.bench.work import COST, LEARNING_STARTS, TARGET_PERIOD, Contestant
from vdqn_runner.errors import RunError


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        repeats: Measurements of each contestant.
        seconds: Of one measurement, about.
        cpu: The core on which all are pinned; -1 for none.
        warm_up: Steps before the first measurement, the start of updates among them.
    """

    repeats: int = 7
    seconds: float = 0.5
    cpu: int = -1
    warm_up: int = LEARNING_STARTS + TARGET_PERIOD


class Worker:
    """The process of one contestant, warmed up."""

    def __init__(self, task: Contestant, effort: Effort) -> None:
        self.task = task
        order = {"task": asdict(task), "cpu": effort.cpu, "warm_up": effort.warm_up}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scripts.bench.worker", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=child_environment(),
            text=True,
        )
        self._answer()

    def run(self, steps: int) -> dict[str, float]:
        """Let it take so many steps of every seed; return its answer."""
        assert self._process.stdin is not None
        print(json.dumps({"steps": steps}), file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._errors.close()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, float] = json.loads(line)
            return answer
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines() or ["nothing"]
        self.close()
        raise RunError(f"{self.task.name} on {self.task.env} ended early and said: {said[-1]}")


def measure(
    study: str,
    tasks: Sequence[Contestant],
    effort: Effort,
    progress: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """Return one row a measurement; within each repeat all take one turn, the first one moving on.

    Raises:
        RunError: A contestant ended early.
    """
    rows = []
    with ExitStack() as stack:
        workers = []
        for task in tasks:
            progress(f"{study}: {task.env}: warming up {task.name}")
            worker = Worker(task, effort)
            stack.callback(worker.close)
            workers.append((worker, _steps(worker, effort)))
        for repeat in range(effort.repeats):
            progress(f"{study}: {tasks[0].env}: repeat {repeat + 1} of {effort.repeats}")
            first = repeat % len(workers)
            for turn, (worker, steps) in enumerate(workers[first:] + workers[:first]):
                answer = worker.run(steps)
                task = worker.task
                seed_steps = steps * task.n_seeds
                rows.append(
                    {
                        "study": study,
                        "contestant": task.name,
                        **asdict(task),
                        "repeat": repeat,
                        "turn": turn,
                        "steps": steps,
                        "seconds": answer["seconds"],
                        "cpu_seconds": answer["cpu_seconds"],
                        COST: answer["seconds"] / seed_steps * 1e6,
                        "seed_steps_per_second": seed_steps / answer["seconds"],
                        "peak_mib": answer["peak_mib"],
                    }
                )
    return rows


def _steps(worker: Worker, effort: Effort) -> int:
    """Return the steps that take about as long as a measurement should, in whole target periods."""
    pace = worker.run(TARGET_PERIOD)["seconds"] / TARGET_PERIOD
    return TARGET_PERIOD * max(1, math.ceil(effort.seconds / pace / TARGET_PERIOD))
