"""Where numbers came from: the versions, the commit and the moment."""

import datetime
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

_PACKAGES = ("vdqn-runner", "torch", "numpy", "gymnasium")
_GIT_SECONDS = 10


def versions() -> dict[str, str]:
    """Return the versions of Python and of all that decides the numbers, without importing any.

    A package that is used from its source folder, not installed, is ``"unknown"``.
    """
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "unknown"
    return found


def commit(source: Path = Path(__file__)) -> str | None:
    """Return the git commit of the checkout that holds ``source``, a file of this package.

    ``+dirty`` is appended when tracked files differ from it. None when the file is not tracked by
    git: an installed package, even one that lies inside somebody else's checkout.
    """
    folder, name = source.parent, source.name
    if _git(folder, "ls-files", "--error-unmatch", name) is None:
        return None
    head = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    if head is None or changes is None:
        return None
    return head + "+dirty" if changes else head


def utc_now() -> str:
    """Return the time in UTC to the second, as ISO 8601: ``2017-11-30T12:00:00+00:00``."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _git(folder: Path, *arguments: str) -> str | None:
    # GIT_DIR and its kin, set inside a git hook, would speak of another repository; the optional
    # lock would get in the way of the user's own git.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
