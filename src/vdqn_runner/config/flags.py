"""Flags of the command line that there are not."""

from collections.abc import Iterable
from difflib import get_close_matches

from vdqn_runner.config.fields import known_names
from vdqn_runner.config.suggest import closest_key, did_you_mean
from vdqn_runner.config.words import shortened

# Few flags are alike, and what is no flag is mostly a setting.
_LIKENESS = 0.75


def about_flag(flag: str, known: Iterable[str]) -> str:
    """Return what is wrong with an unknown flag: it is misspelt, or a setting with dashes.

    Args:
        flag: As it was written, with its value if that follows ``=``.
        known: The flags that there are.
    """
    name, equals, value = flag.lstrip("-").partition("=")
    flags = [one for one in known if one.startswith("--")]
    settings = known_names()
    alike = [] if name in settings else get_close_matches(f"--{name.lower()}", flags, 1, _LIKENESS)
    if alike:
        meant: str | None = alike[0]
    else:
        key = closest_key(name, settings) if flag.startswith("--") else None
        meant = f"{key}={shortened(value) if equals else '...'}" if key else None
    return f"{shortened(flag)}: unknown flag; see vdqn-run --help{did_you_mean(meant)}"
