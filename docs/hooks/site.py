"""What mkdocs does here beyond turning docs/ into pages.

A line ``<!-- made: NAME -->`` in a page is replaced by what ``MADE[NAME]`` makes of the code, so
that reference pages are never behind it. Figures and other files that live elsewhere in the
repository are copied in, and formulas become MathML.
"""

import re
from pathlib import Path

import commands
import configuration
import formulas
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

MADE = {
    "groups": configuration.groups_text,
    "keys": configuration.keys_text,
    "schedules": configuration.schedules_text,
    "circumstances": configuration.circumstances_text,
    "commands": commands.commands_text,
}
COPIED = {
    "results/figures/*": "figures",
    "results/deep_sea/*.png": "deep_sea",
    "results/optuna/*.png": "optuna",
    "results/compare/*.png": "compare",
    "results/bench/*.png": "bench",
    "examples/*": "examples",
}
_MARK = re.compile(r"^<!-- made: (\S+) -->$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that are kept elsewhere."""
    root = Path(config.config_file_path).parent
    for pattern, folder in COPIED.items():
        for path in sorted(root.glob(pattern)):
            if path.is_file():
                uri = f"{folder}/{path.name}"
                files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put in what is made from the code."""

    def made(mark: re.Match[str]) -> str:
        if mark[1] not in MADE:
            raise PluginError(f"{page.file.src_uri}: nothing makes {mark[1]!r}")
        return MADE[mark[1]]()

    return _MARK.sub(made, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn formulas into MathML."""
    return formulas.as_mathml(html)
