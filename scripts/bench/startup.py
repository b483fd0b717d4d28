"""How long is it from the start of a `vdqn-run` process to its first gradient step?"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.bench.machine import child_environment, pin
from vdqn_runner.errors import RunError

# A step is learned from as soon as one transition is there.
_FIRST = ["algo.learning_starts=1"]
CASES = {
    "to the first gradient step": _FIRST,
    "to the first gradient step, kernels not built yet": _FIRST,
    "one episode, from start to exit": ["episodes=1"],
}


def measure(repeats: int, cpu: int, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return one row a start: case, repeat and seconds.

    Chain N = 10, five seeds, one core. A first start, which may have to read files from disk, is
    repeat 0 and counts like the others.

    Raises:
        RunError: The command failed.
    """
    rows = []
    for repeat in range(repeats):
        progress(f"startup: repeat {repeat + 1} of {repeats}")
        for case, overrides in CASES.items():
            if "not built" in case and repeat >= 3:
                continue
            with tempfile.TemporaryDirectory() as folder:
                seconds = _start(case, overrides, cpu, Path(folder))
            rows.append({"case": case, "repeat": repeat, "seconds": seconds})
    return rows


def _start(case: str, overrides: list[str], cpu: int, folder: Path) -> float:
    environment = child_environment()
    if "not built" in case:
        environment["XDG_CACHE_HOME"] = str(folder / "cache")
    line = ["env=chain", "algo=vdqn", f"out={folder / 'runs'}", "quiet=true", *overrides]
    whole = "exit" in case
    program = "vdqn_runner.cli" if whole else "scripts.bench.first_step"
    start = time.clock_gettime(time.CLOCK_MONOTONIC)
    done = subprocess.run(
        [sys.executable, "-m", program, *line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=lambda: pin(cpu),
    )
    end = time.clock_gettime(time.CLOCK_MONOTONIC)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RunError(f"vdqn-run {' '.join(line)} failed and said: {said}")
    return (end if whole else float(done.stdout.split()[-1])) - start
