"""Pictures as a film."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vdqn_runner.play.episode import Frame
from vdqn_runner.runs.atomic import write_atomic


def write_film(file: Path, frames: Sequence[Frame], fps: int) -> None:
    """Write pictures ``[H, W, 3]``, all of one size, as GIF or MP4 by the file's ending.

    Its folder must be there.

    Raises:
        RunError: The file cannot be written.
    """
    import imageio.v3 as iio

    if file.suffix == ".gif":
        content = iio.imwrite("<bytes>", frames, extension=".gif", loop=0, duration=1000 / fps)
    else:
        even = [_even(frame) for frame in frames]
        content = iio.imwrite("<bytes>", even, extension=".mp4", fps=fps, macro_block_size=2)
    write_atomic(file, [content])


def _even(frame: Frame) -> Frame:
    """Repeat the last row or column where there is an odd number: colours come in blocks of 2."""
    odd = [(0, length % 2) for length in frame.shape[:2]]
    return np.pad(frame, (*odd, (0, 0)), mode="edge")
