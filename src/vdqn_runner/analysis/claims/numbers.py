"""Numbers as a reader wants them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Decimals without exponent: `0.0123`, `10.45`, `1234.5`; `-` where undefined.

    Two decimals below 100 or as many as three significant digits need, one from 100 on; zeros at
    the end are left out.
    """
    if math.isnan(value):
        return "-"
    if value == 0 or math.isinf(value):
        return f"{value + 0.0:g}"
    decimals = 1 if abs(value) >= 100 else max(2, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".")
