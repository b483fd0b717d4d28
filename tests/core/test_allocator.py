"""Memory that updates give back and take again stays with the process."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from vdqn_runner.allocator import keep_freed_memory

# Faults are pages that the system was asked for. The first training that keeps them still asks
# for each once, so the second is counted.
PROGRAM = """
import resource, sys
from vdqn_runner import seeds
from vdqn_runner.api import train

def faults(episodes):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    train(
        "algo=double_vdqn", "algo.learning_starts=70", "env=deep_sea", "env.n=20", "workers=1",
        "evaluate.every=0", n_seeds=10, episodes=episodes, out=sys.argv[1], quiet=True,
    )
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep = seeds.keep_freed_memory
seeds.keep_freed_memory = lambda: False
faults(5)
handed_back = faults(8)
seeds.keep_freed_memory = keep
faults(11)
print(handed_back, faults(14))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_training_does_not_ask_for_its_pages_again(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    handed_back, kept = map(int, done.stdout.split())
    assert handed_back > 10 * kept


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert not keep_freed_memory()
