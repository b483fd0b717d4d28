"""A picture of the chain: its states as a strip, and where the agent stands."""

import numpy as np
import numpy.typing as npt

_WIDTH, _HEIGHT, _MARGIN = 640, 96, 20
_STRIP = slice(34, 62)
_AGENT = slice(26, 70)

# Okabe and Ito's colours, which keep apart for colour-blind eyes and in grey.
_PAPER, _CELL, _LINE = (255, 255, 255), (232, 232, 232), (160, 160, 160)
_FIRST, _LAST, _HERE = (86, 180, 233), (240, 228, 66), (213, 94, 0)


def strip(n: int, state: int, text: str) -> npt.NDArray[np.uint8]:
    """Return the chain of ``n`` states as a picture ``[96, 640, 3]``.

    State 1 is blue, state n yellow and the agent's ``state`` (1 .. n) orange; ``text`` is written
    below. Where there are more states than pixels, the agent is still 3 pixels wide.
    """
    from PIL import Image, ImageDraw

    picture = np.full((_HEIGHT, _WIDTH, 3), _PAPER, np.uint8)
    edges = np.linspace(_MARGIN, _WIDTH - _MARGIN, n + 1).round().astype(int)
    picture[_STRIP, edges[0] : edges[-1]] = _CELL
    for at, colour in ((1, _FIRST), (n, _LAST)):
        left, right = _cell(edges, at)
        picture[_STRIP, left:right] = colour
    if n <= 100:
        picture[_STRIP, edges[1:-1]] = _LINE
    left, right = _cell(edges, state)
    picture[_AGENT, left:right] = _HERE
    image = Image.fromarray(picture)
    drawing = ImageDraw.Draw(image)
    drawing.text((_MARGIN, 8), "1", fill=0)
    drawing.text((_WIDTH - _MARGIN, 8), str(n), fill=0, anchor="ra")
    drawing.text((_MARGIN, 76), text, fill=0)
    return np.asarray(image)


def _cell(edges: npt.NDArray[np.int_], state: int) -> tuple[int, int]:
    """Return the columns of a state, at least 3."""
    left, right = int(edges[state - 1]), int(edges[state])
    return (left, right) if right - left >= 3 else (max(left - 1, 0), left + 2)
