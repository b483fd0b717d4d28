"""The lock of a seed's folder, against real processes."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from vdqn_runner.errors import RunError
from vdqn_runner.runs.lock import SeedLock

HOLD = """
import sys
from pathlib import Path
from vdqn_runner.runs.lock import SeedLock
with SeedLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def seed(tmp_path) -> Path:
    return tmp_path / "seed-00003"


@pytest.fixture
def start(seed):
    """Start another process that takes the lock and holds it until its stdin is closed."""
    started = []

    def begin() -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def test_a_second_process_is_told_who_holds_it(seed, start):
    holder = start()
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RunError) as caught, SeedLock(seed):
        pass
    assert str(caught.value).startswith(
        f"seed-00003 is being trained by pid {holder.pid} on {socket.gethostname()} since 20"
    )
    # The refused attempt neither took the lock away nor is it remembered as held here.
    with pytest.raises(RunError, match=f"pid {holder.pid}"), SeedLock(seed):
        pass
    holder.stdin.close()
    assert holder.wait() == 0
    with SeedLock(seed):
        pass


def test_this_process_keeps_others_out_until_it_lets_go(seed, start):
    with SeedLock(seed):
        output, error = start().communicate()
        assert output == ""
        assert f"HeldError: seed-00003 is being trained by pid {os.getpid()} on " in error
    assert start().stdout.readline() == "held\n"


def test_a_killed_holder_leaves_no_lock(seed, start):
    holder = start()
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with SeedLock(seed):
        assert (seed / "lock").read_text().startswith(f"pid {os.getpid()} on ")


def test_the_same_process_does_not_get_it_twice(seed, start, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with SeedLock(seed):
        for folder in (seed, link / "seed-00003"):
            with pytest.raises(RunError, match="seed-00003 is already being trained"):
                SeedLock(folder).__enter__()
        # Those attempts did not drop the lock, as closing a descriptor of the file would.
        assert "HeldError" in start().communicate()[1]
    with SeedLock(seed):
        pass


def test_locks_of_different_seeds_do_not_meet(tmp_path):
    with SeedLock(tmp_path / "seed-00001"), SeedLock(tmp_path / "seed-00002"):
        assert (tmp_path / "seed-00001" / "lock").exists()


def test_it_is_released_by_an_error_and_the_file_is_left_empty(seed):
    with pytest.raises(ZeroDivisionError), SeedLock(seed):
        raise ZeroDivisionError
    assert (seed / "lock").read_bytes() == b""
    with SeedLock(seed):
        pass


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_neither_has_the_lock_nor_drops_it(seed, start):
    lock = SeedLock(seed)
    with lock:
        child = os.fork()
        if child == 0:
            try:
                SeedLock(seed).__enter__()
            except RunError as error:
                lock.__exit__(None, None, None)
                os._exit(0 if "is being trained by pid" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert f"pid {os.getpid()} on" in start().communicate()[1]


def test_a_file_system_without_locks_is_named(seed, monkeypatch):
    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", no_locks)
    with pytest.raises(RunError, match="cannot be locked: No locks available"), SeedLock(seed):
        pass


def test_a_missing_run_folder_is_one_line(tmp_path):
    with pytest.raises(RunError, match="cannot be written: No such file"):
        SeedLock(tmp_path / "none" / "seed-00000").__enter__()
