"""Where the documentation lies, and the blocks of code in its pages."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A fenced block: language, title or nothing, text.
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(page):
    """(language, title, text) of each fenced block of a page."""
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
