"""Tables of learning rates in ``conf/``: rows of what is learned, columns of who learns it."""

from collections.abc import Mapping
from functools import cache

import yaml

from vdqn_runner.config.files import conf_dir

Table = Mapping[str, Mapping[str, float]]


@cache
def load_table(file: str) -> Table:
    """Return the table of a file in ``conf/``, which is read once in a process."""
    table: Table = yaml.safe_load((conf_dir() / file).read_text(encoding="utf-8"))
    return table
