"""The command `vdqn-figures`: the paper's figures and the studies beside them, and their page."""

from __future__ import annotations

import argparse
import csv
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vdqn_runner.analysis.answer import answer, output_folder, parser_of_runs
from vdqn_runner.console import console

if TYPE_CHECKING:
    from vdqn_runner.analysis.paper.product import Product

PAGE = "index.html"


@console("vdqn-figures")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    arguments = _parser().parse_args(argv)
    return answer("vdqn-figures", lambda: make(arguments.runs, arguments.output, arguments.sigma_n))


def make(paths: Sequence[Path], output: Path, sigma_n: int = 50) -> Iterator[Path]:
    """Write every figure whose runs are there, and the page, yielding each file.

    A figure whose runs are missing is told in one line on standard error.

    Args:
        paths: folders at or below which runs lie.
        output: folder for the files; made if it is not there.
        sigma_n: the chain whose widths are shown.

    Raises:
        ConfigError: no runs, two configs for one panel, or no place to write to.
        RunError: a run folder that cannot be read.
    """
    # matplotlib rejects some values of this at import, although only files are drawn here.
    os.environ["MPLBACKEND"] = "agg"
    from vdqn_runner.analysis.load import find_runs

    runs = find_runs(paths)  # before the slow imports, so that a wrong path is told at once

    from vdqn_runner.analysis.paper.making import making
    from vdqn_runner.analysis.paper.page import Entry, page
    from vdqn_runner.analysis.paper.product import Missing
    from vdqn_runner.analysis.paper.selection import select
    from vdqn_runner.analysis.paper.specs import specs

    selection = select(runs)
    output_folder(output)
    drawing = f"vdqn-figures {shlex.join(map(str, paths))} -o {shlex.quote(str(output))}"
    entries, skipped, noted = [], [], set()
    for spec in specs(f"chain-{sigma_n}"):
        product = spec.draw(selection)
        if isinstance(product, Missing):
            print(f"vdqn-figures: {spec.name} skipped: missing {product.why}", file=sys.stderr)
            skipped.append((spec, product.why))
            continue
        for note in (loaded.note for loaded in product.runs):
            if note and note not in noted:
                print(f"vdqn-figures: note: {note}", file=sys.stderr)
                noted.add(note)
        files = list(_write(product, output, spec.name))
        yield from files
        png = files[0].read_bytes()
        made = making(spec, product, drawing)
        entries.append(Entry(spec, product, png, [file.name for file in files], made))
    file = output / PAGE
    file.write_text(page(entries, skipped), encoding="utf-8")
    yield file


def _write(product: Product, output: Path, name: str) -> Iterator[Path]:
    from vdqn_runner.analysis.style import save

    for suffix in ("png", "pdf"):
        file = output / f"{name}.{suffix}"
        save(product.figure, file)
        yield file
    if product.rows:
        file = output / f"{name}.csv"
        with file.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(product.header)
            writer.writerows(product.rows)
        yield file


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_runs(
        "vdqn-figures",
        "The paper's figures 1 to 5 and the studies beside them, as PNG and PDF with "
        "the plotted numbers as CSV, and a page that puts each beside the paper's words. The "
        "figures take the runs named `paper`; where there are none, those of any other name.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("figures"), metavar="FOLDER",
        help="where the files are written (default: figures)",
    )  # fmt: skip
    parser.add_argument(
        "--sigma-n", type=int, default=50, metavar="N",
        help="the chain whose weights' widths are shown (default: 50)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
