"""The page: sections of HTML, the data of the charts and the scripts, in one string.

A policy in its head forbids the browser to load anything at all and to run any script but the
page's own, which it names by their hashes: a text of a run that got past the escaping could still
do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from vdqn_runner.analysis.report.charts import Panel, keys


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        name: its place in links.
        title: its heading.
        note: HTML that says how to read it; may be empty.
        html: its content.
    """

    name: str
    title: str
    note: str
    html: str


def charts_html(name: str, charts: Sequence[Panel]) -> str:
    """The places of a section's charts, which the script fills."""
    figures = "\n".join(
        f'<figure class="panel"><figcaption>{escape(panel.title)}</figcaption>'
        f'<div class="chart" id="{name}-{i}" tabindex="0" role="img" '
        f'aria-label="{escape(panel.title)}: {escape(panel.summary)}"></div></figure>'
        for i, panel in enumerate(charts)
    )
    return f'<div class="legend" data-section="{name}"></div>\n<div class="panels">{figures}</div>'


def charts_data(sections: Mapping[str, Sequence[Panel]]) -> dict[str, Any]:
    """What the script draws: legends by section and charts by place."""
    return {
        "legends": {name: keys(charts) for name, charts in sections.items()},
        "charts": {
            f"{name}-{i}": panel.chart
            for name, charts in sections.items()
            for i, panel in enumerate(charts)
        },
    }


def page(title: str, lead: str, sections: Sequence[Section], data: object, plotly: str) -> str:
    """The whole file.

    Args:
        title: plain text.
        lead: HTML below the title.
        sections: in their order.
        data: of the charts, as JSON has it.
        plotly: the source of plotly.js.
    """
    scripts = [_own("errors.js"), plotly, _own("report.js")]
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"script-src {' '.join(map(_hash, scripts))}; base-uri 'none'; form-action 'none'"
    )
    links = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in sections)
    first, library, last = (f"<script>{script}</script>" for script in scripts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{_own("report.css")}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<h1>{escape(title)}</h1>
{lead}
<nav aria-label="Sections"><ul>{links}</ul></nav>
<noscript><p class="alert">The charts and the sorting of tables need JavaScript.</p></noscript>
<div id="errors" class="alert" role="alert" hidden></div>
</header>
{first}
<main id="content">
{"".join(map(_section, sections))}
</main>
<script type="application/json" id="data">{embedded(data)}</script>
{library}
{last}
</body>
</html>
"""


def embedded(data: object) -> str:
    """JSON that cannot end the script element that it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _section(section: Section) -> str:
    note = f'<p class="note">{section.note}</p>' if section.note else ""
    name, title = section.name, escape(section.title)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>'
        f"{note}\n{section.html}</section>\n"
    )


def _own(name: str) -> str:
    return resources.files("vdqn_runner.analysis.report").joinpath(name).read_text("utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
