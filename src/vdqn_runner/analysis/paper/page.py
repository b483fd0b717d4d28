"""The page that puts each figure beside what the paper says of it; one file, nothing outside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from vdqn_runner.analysis.labels import algo_name
from vdqn_runner.analysis.paper.learning_rates import constant_rate
from vdqn_runner.analysis.paper.measures import finished
from vdqn_runner.analysis.paper.product import Product
from vdqn_runner.analysis.paper.selection import Loaded
from vdqn_runner.analysis.paper.specs import Spec

TITLE = "Variational Deep Q Network: the paper's figures"
_STYLE = """
body { font: 1rem/1.5 Georgia, serif; color: #222; background: #fff; margin: 0 auto;
  max-width: 76rem; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
section { border-top: 1px solid #ccc; padding: 1.2rem 0; break-inside: avoid; }
.pair { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 1.5rem; }
img { max-width: 100%; height: auto; }
blockquote { margin: 0 0 .7rem; padding-left: .8rem; border-left: 3px solid #999; }
p { margin: 0 0 .7rem; } .label { font-variant: small-caps; color: #555; margin-bottom: .2rem; }
code { font: .85rem/1.4 monospace; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; margin-top: .6rem; }
th, td { text-align: left; padding: .1rem .9rem .1rem 0; } td.n { text-align: right; }
th { border-bottom: 1px solid #999; font-weight: normal; color: #555; }
@media (max-width: 50rem) { .pair { grid-template-columns: 1fr; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } a { color: inherit; } }
""".strip()


@dataclass(frozen=True)
class Entry:
    """A figure that was drawn.

    Attributes:
        spec: what it is.
        product: what it shows.
        png: the content of its PNG file.
        files: names of its files, beside the page.
        command: what makes it again, training included.
    """

    spec: Spec
    product: Product
    png: bytes
    files: Sequence[str]
    command: str


def page(entries: Sequence[Entry], skipped: Sequence[tuple[Spec, str]]) -> str:
    """The page as HTML.

    Args:
        entries: the figures, in order.
        skipped: the figures that could not be drawn, and which runs they lack.
    """
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(TITLE)}</title>",
        f"<style>\n{_STYLE}\n</style></head><body>",
        f"<h1>{escape(TITLE)}</h1>",
        "<p>Tang and Kucukelbir, 2017 (arXiv 1711.11225). Curves are means over seeds with 95 % "
        "bootstrap intervals; an iteration is 10 episodes.</p>",
        *map(_section, entries),
    ]
    if skipped:
        rows = "".join(
            f"<li>{escape(spec.title)}: missing {escape(why)} "
            f"(<code>{escape(' && '.join(spec.training))}</code>)</li>"
            for spec, why in skipped
        )
        parts.append(f"<section><h2>Not drawn</h2><ul>{rows}</ul></section>")
    return "\n".join([*parts, "</body></html>\n"])


def _section(entry: Entry) -> str:
    spec = entry.spec
    image = base64.b64encode(entry.png).decode("ascii")
    quotes = "".join(map(_quote, spec.quotes))
    links = " ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in entry.files)
    return "\n".join(
        [
            f'<section id="{escape(spec.name)}"><h2>{escape(spec.title)}</h2><div class="pair">',
            f'<div><img alt="{escape(spec.title)}" src="data:image/png;base64,{image}">'
            f"<p>{links}</p></div><div>",
            f'<p class="label">The paper</p>{quotes or "<p>The paper is silent on this.</p>"}',
            f'<p class="label">Here</p><p>{escape(entry.product.finding)}</p>',
            f'<p class="label">Made by</p><p><code>{escape(entry.command)}</code></p>',
            "</div></div>",
            _runs_table(entry.product.runs),
            "</section>",
        ]
    )


def _quote(text: str) -> str:
    """A quotation as HTML, with `s_N` and `s_{N/2}` as subscripts."""
    body = re.sub(r"_(?:{([^}]*)}|(\w))", r"<sub>\1\2</sub>", escape(text))
    return f"<blockquote>{body}</blockquote>"


def _runs_table(runs: Sequence[Loaded]) -> str:
    """One row for the runs of an algorithm that differ in nothing but their environment."""
    if not runs:
        return ""
    rows: dict[tuple[str, ...], list[str]] = {}
    for loaded in runs:
        rate = constant_rate(loaded.run)
        done = finished(loaded.run, loaded.episodes)["seed"].nunique()
        numbers = (f"{rate:g}" if rate >= 0 else "schedule", str(done), str(loaded.run.episodes))
        envs = rows.setdefault((algo_name(loaded.run.algo), *numbers), [])
        if loaded.run.env not in envs:
            envs.append(loaded.run.env)
    names = ("algorithm", "learning rate", "finished seeds", "episodes", "environments")
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(map(_runs_row, rows.items()))
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _runs_row(row: tuple[tuple[str, ...], list[str]]) -> str:
    (algo, *numbers), envs = row
    cells = "".join(f'<td class="n">{escape(number)}</td>' for number in numbers)
    return f"<tr><td>{escape(algo)}</td>{cells}<td>{escape(', '.join(envs))}</td></tr>"
