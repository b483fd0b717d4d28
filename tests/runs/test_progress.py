"""The progress line on a terminal, in a pipe and when quiet."""

import io
import os
import pty
import subprocess
import sys
import termios

import pytest

from vdqn_runner import progress
from vdqn_runner.progress import Progress
from vdqn_runner.recent import MeanReturn

RUN = """
import sys
from vdqn_runner.progress import Progress
from vdqn_runner.recent import MeanReturn
quiet = "quiet" in sys.argv
bar = Progress(total_episodes=40, done=10, quiet=quiet, label="chain-5 vdqn")
for episode in range(11, 41):
    bar.update(episode, MeanReturn(1.5, 2), episode * 14)
bar.close()
bar.close()
"""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.reads = 0

    def monotonic(self) -> float:
        self.reads += 1
        return self.now


class Pipe(io.StringIO):
    """A stream that counts its writes."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


@pytest.fixture
def catch_stderr(monkeypatch):
    """Put a pipe in the place of stderr when called: pytest itself sets stderr after fixtures."""

    def catch() -> Pipe:
        monkeypatch.setattr(sys, "stderr", Pipe())
        return sys.stderr

    return catch


def test_a_pipe_gets_plain_lines_at_most_every_ten_seconds(clock, catch_stderr):
    stderr = catch_stderr()
    bar = Progress(total_episodes=100, done=20, quiet=False, label="CartPole-v1 dqn")
    bar.update(20, MeanReturn(), 5000)
    for second in range(1, 26):
        for _ in range(50):
            bar.update(20 + second, MeanReturn(12.345, 3), 5000 + 100 * second)
        clock.now += 1
    bar.close()
    # Episodes: 1 a second from 20 on; steps: 100 a second from 5000 on, whatever was before.
    assert stderr.getvalue().splitlines() == [
        "CartPole-v1 dqn: 31/100 episodes, return 12.35, 110 steps/s, 01:02 left",
        "CartPole-v1 dqn: 41/100 episodes, return 12.35, 105 steps/s, 00:56 left",
        "CartPole-v1 dqn: 45/100 episodes, return 12.35, 100 steps/s, 00:55 left",
    ]


def test_before_the_first_episode(clock, catch_stderr):
    stderr = catch_stderr()
    bar = Progress(total_episodes=100, done=0, quiet=False, label="x")
    clock.now += 10
    bar.update(0, MeanReturn(), 7)
    assert stderr.getvalue() == "x: 0/100 episodes, no episode yet, 0 steps/s, ? left\n"


def test_an_early_call_only_reads_the_clock(clock, catch_stderr):
    stderr = catch_stderr()
    bar = Progress(total_episodes=100, done=0, quiet=False, label="x")
    before = clock.reads
    for step in range(1000):
        bar.update(0, MeanReturn(), step)
    assert clock.reads - before == 1000
    assert stderr.writes == 0


def test_quiet_writes_nothing_and_a_batch_that_never_ran_neither(clock, catch_stderr):
    stderr = catch_stderr()
    bar = Progress(total_episodes=10, done=0, quiet=True, label="x")
    for _ in range(5):
        clock.now += 100
        bar.update(1, MeanReturn(1.0, 1), 1)
    bar.close()
    Progress(total_episodes=10, done=10, quiet=False, label="x").close()
    assert stderr.getvalue() == ""


def test_a_reader_that_went_away_does_not_end_the_run():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", RUN + "print('went on')"], stdout=subprocess.PIPE, stderr=writer
    )
    os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"went on\n")


def test_no_stderr_at_all(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    bar = Progress(total_episodes=10, done=0, quiet=False, label="x")
    clock.now += 100
    bar.update(1, MeanReturn(1.0, 1), 1)
    bar.close()


def _through_a_pipe(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_a_real_pipe_has_lines_without_carriage_returns():
    done = _through_a_pipe()
    assert done.stdout == ""
    assert "\r" not in done.stderr and "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("chain-5 vdqn: 40/40 episodes, return 1.5, ")
    assert done.stderr.endswith(" steps/s, 00:00 left\n")


def test_a_real_pipe_when_quiet():
    done = _through_a_pipe("quiet")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("columns", [80, 0])  # some terminals do not know their width
@pytest.mark.parametrize("quiet", [False, True])
def test_a_real_terminal_gets_one_line_that_redraws_itself(quiet, columns):
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    command = [sys.executable, "-c", RUN, *(["quiet"] if quiet else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 4096):
            shown += part
    except OSError:  # how a pty says that its other end is closed
        pass
    os.close(master)
    output, _ = process.communicate()
    assert process.returncode == 0 and output == b""
    if quiet:
        assert shown == b""
        return
    text = shown.decode()
    assert text.count("\n") == 1 and text.endswith("\n")
    last = text.rstrip().split("\r")[-1]
    assert last.startswith("chain-5 vdqn 100%|")
    assert "40/40 episodes, return 1.5, " in last and "00:00 left" in last
    assert all(len(part) <= 80 for part in text.split("\r"))
    assert " 25%|" in text  # the bar began where the earlier process stopped
