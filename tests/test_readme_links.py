"""Where the READMEs lead, on a repository host as well as on a disk."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
# What only the documentation's site fills in.
MARK = re.compile(r"--8<--|<!-- made: |^!\[.*\]\((?:figures|bench)/", re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "results/README.md"])
def test_links_lead_to_files_that_are_whole_as_they_are(page):
    links = [link for link in LINK.findall((ROOT / page).read_text()) if "://" not in link]
    for link in links:
        target = (ROOT / page).parent / link
        assert target.exists(), link
        if target.suffix == ".md":
            assert not MARK.search(target.read_text()), link
