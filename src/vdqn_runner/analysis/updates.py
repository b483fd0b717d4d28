"""Reading what runs logged about their gradient steps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from vdqn_runner.errors import RunError

if TYPE_CHECKING:
    import pandas as pd

    from vdqn_runner.analysis.load import Run

PACKED = "updates.csv.xz"


def load_updates(run: Run) -> pd.DataFrame:
    """The rows of `updates.csv` of all seeds of a run, sorted by seed and iteration.

    A packed run has them in one file. A last line without its line end is one that is still being
    written, and is left out. The frame is empty where nothing was logged yet.

    Raises:
        RunError: a log is no table, or lacks the column `seed` or `iteration`.
    """
    import pandas as pd

    packed = run.path / PACKED
    files = [packed] if packed.exists() else sorted(run.path.glob("seed-*/updates.csv"))
    parts = [part for part in map(_read, files) if len(part)]
    if not parts:
        return pd.DataFrame({"seed": [], "iteration": []})
    frame = pd.concat(parts, ignore_index=True)
    return frame.sort_values(["seed", "iteration"], ignore_index=True)


def _read(file: Path) -> pd.DataFrame:
    import lzma

    import pandas as pd

    try:
        raw = file.read_bytes()
        text = lzma.decompress(raw) if file.suffix == ".xz" else raw
        complete = text[: text.rfind(b"\n") + 1]
        frame = pd.read_csv(io.BytesIO(complete)) if complete else pd.DataFrame()
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise RunError(f"{file}: is no table: {error}") from error
    if complete and not {"seed", "iteration"} <= set(frame):
        raise RunError(f"{file}: has no column seed or no column iteration")
    return frame
