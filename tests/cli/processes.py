"""Running Python in a process of its own that finds the package wherever it starts."""

import os
import subprocess
import sys
from pathlib import Path

import vdqn_runner

SOURCE = Path(vdqn_runner.__file__).resolve().parents[1]


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``program`` with ``arguments`` and return what became of it."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
