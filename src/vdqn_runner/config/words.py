"""Keys, values and numbers as messages of one line show them."""

import re
from typing import Any


def show(key: str, value: Any) -> str:
    """Return ``key=value`` on one line of bounded length, much as a user would type it."""
    if value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    else:
        try:
            text = repr(value)
        except ValueError:  # a whole number of thousands of digits
            text = f"{type(value).__name__} with thousands of digits"
    key = key if key.isprintable() else repr(key)
    return f"{shortened(key)}={shortened(' '.join(text.split()))}"


def shortened(text: str) -> str:
    """Return ``text``, cut where it is longer than a line has room for."""
    return text if len(text) <= 60 else text[:57] + "..."


def number(value: float) -> str:
    """Return a number with all its digits, and a large power of ten as one: ``10^9``."""
    text = f"{value:.16g}"
    zeros = len(text) - 1
    return f"10^{zeros}" if zeros > 6 and text == f"1{'0' * zeros}" else text


def quoted(text: str) -> str:
    """Return ``text`` in the quotes of Hydra's overrides, whatever characters it has.

    There, a backslash is one unless it stands before a quote.
    """
    escaped = re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"
