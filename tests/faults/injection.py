"""Deaths and errors at the n-th system call that a run makes on its files."""

import builtins
import datetime
import errno
import os
import resource
import signal
import subprocess
import time
from types import SimpleNamespace

import vdqn_runner.runs.atomic
import vdqn_runner.runs.csvlog
import vdqn_runner.runs.interrupt
import vdqn_runner.runs.provenance

# Calls that need room on the disk; a full one lets others pass.
ROOM = {"write", "fsync", "mkdir", "create"}


class Calls:
    """Counts the calls, and does at the n-th what was asked for.

    ``what`` is ``count``, ``kill`` (before the call takes effect; a write has then been done by
    half), the name of an error or of a signal, which also all later calls bring if ``lasting``, or
    a ``do``, for which ``command`` is run.
    """

    def __init__(self, what, at, lasting, record, command):
        self.what, self.at, self.lasting, self.record = what, at, lasting, record
        self.command = command
        self.made = 0

    def come(self, name, path, half=None):
        """A call is made; ``half`` does the first half of it."""
        if self.what == "ENOSPC" and name not in ROOM:
            return
        self.made += 1
        if self.record:
            with builtins.open(self.record, "a") as file:
                file.write(f"{name} {os.path.basename(str(path))}\n")
        if self.what == "count" or self.made < self.at:
            return
        if self.made > self.at and not self.lasting:
            return
        if self.what == "do":
            subprocess.run(self.command, shell=True, check=True)
            return
        if self.what.startswith("SIG"):
            os.kill(os.getpid(), signal.Signals[self.what])
            return
        if half is not None:
            half()
        if self.what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        number = getattr(errno, self.what)
        raise OSError(number, os.strerror(number), str(path))


class File:
    """A file whose calls are counted."""

    def __init__(self, file, path, calls):
        self._file, self._path, self._calls = file, path, calls

    def write(self, data):
        def half():
            self._file.write(bytes(data[: len(data) // 2]))
            self._file.flush()

        self._calls.come("write", self._path, half)
        return self._file.write(data)

    def truncate(self, size):
        self._calls.come("truncate", self._path)
        return self._file.truncate(size)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()


def limit_file_sizes(size):
    """Have the kernel refuse what would make a file longer than ``size`` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def turn_clocks_back():
    """Let each look at the calendar show an earlier time, and the stop watch stand still."""
    now = [datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)]

    def earlier(zone):
        now[0] -= datetime.timedelta(hours=5)
        return now[0]

    vdqn_runner.runs.provenance.datetime = SimpleNamespace(
        datetime=SimpleNamespace(now=earlier), UTC=datetime.UTC
    )
    time.time = lambda: earlier(None).timestamp()
    time.perf_counter = lambda: 1.0


def install(what, at=0, lasting=False, record=None, command=None):
    """Make this process's runs fail so from now on; ``record`` is a file for the calls' names."""
    if what == "limit_file_sizes":
        return limit_file_sizes(at)
    if what == "turn_clocks_back":
        return turn_clocks_back()
    if lasting:
        # Signals here come much faster than anybody sends a second one.
        vdqn_runner.runs.interrupt.SAME_PRESS = 0.0
    calls = Calls(what, at, lasting, record, command)

    def counted(name, function):
        def call(path, *arguments, **keywords):
            calls.come(name, path)
            return function(path, *arguments, **keywords)

        return call

    for name in ("replace", "fsync", "unlink", "ftruncate", "mkdir"):
        setattr(os, name, counted(name, getattr(os, name)))

    def open_counted(path, mode, **keywords):
        if not os.path.exists(path):
            calls.come("create", path)
        return File(open(path, mode, **keywords), path, calls)

    vdqn_runner.runs.atomic.open = open_counted
    vdqn_runner.runs.csvlog.open = open_counted
