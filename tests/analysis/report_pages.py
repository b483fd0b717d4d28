"""What tests of the report share: runs with everything in them, and a reader of the page."""

from __future__ import annotations

import csv
import dataclasses
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from run_folders import write_chain_run, write_gym_run

from vdqn_runner.runs.csvlog import CsvLog
from vdqn_runner.runs.status import Status, write_status

SIGMAS = [f"sigma_layer{layer}_q{q}" for layer in (1, 2) for q in (10, 50, 90)]
STATUS = Status(
    seed=0, state="done", reason=None, episodes=40, episodes_done=40, steps=200, updates=100,
    versions={"torch": "2.13.0", "python": "3.11.7", "kernels": "compiled"},
    commit="0123456789abcdef", command="vdqn-run algo=vdqn",
    started="2017-11-30T12:00:00+00:00", updated="2017-11-30T12:10:00+00:00",
)  # fmt: skip


def write_runs(top: Path) -> Path:
    """A chain with three algorithms (one in two variants) and a control task; 4 iterations."""
    for algo, lr in (("vdqn", 0.001), ("vdqn", 0.01), ("dqn", 0.001), ("noisynet", 0.001)):
        folder = top / "study" / "chain-8" / algo / f"{algo}-{lr}"
        write_chain_run(folder, 8, algo, seeds=3, episodes=40, tau=15, lr=lr)
        add_logs(folder, 3, sigma=algo != "dqn")
    folder = top / "study" / "CartPole-v1" / "dqn" / "0a1b2c3d"
    write_gym_run(folder, "CartPole-v1", "dqn", seeds=2, episodes=40, low=9, high=500, tau=20)
    return top


def add_logs(folder: Path, n_seeds: int, sigma: bool) -> None:
    """Statuses, updates and evaluations with numbers that are easy to foretell.

    Sigma of layer l at iteration i of seed k is q / 50 * l * (1 + i + k); evaluation trial t after
    e episodes of seed k gives e + k + t by the mean and half of it by a sample.
    """
    for seed in range(n_seeds):
        at = folder / f"seed-{seed:05d}"
        write_status(at, dataclasses.replace(STATUS, seed=seed))
        names = ["seed", "iteration", "episode", "step", "updates", *(SIGMAS if sigma else [])]
        with CsvLog(at / "updates.csv", names, 0) as log:
            for i in range(4):
                values = [q / 50 * layer * (1 + i + seed) for layer in (1, 2) for q in (10, 50, 90)]
                log.write([seed, i, 10 * i + 9, 50 * (i + 1), i, *(values if sigma else [])])
        with (at / "evaluations.csv").open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["seed", "episode", "step", "policy", "trial", "return", "length"])
            for e in (20, 40):
                for trial in range(2):
                    value = float(e + seed + trial)
                    writer.writerow([seed, e, 5 * e, "mean", trial, value, 5])
                    writer.writerow([seed, e, 5 * e, "sample", trial, value / 2, 5])


@dataclasses.dataclass
class Table:
    """A table as it stands in the page."""

    caption: str = ""
    header: list[str] = dataclasses.field(default_factory=list)
    rows: list[list[str]] = dataclasses.field(default_factory=list)
    keys: list[list[str | None]] = dataclasses.field(default_factory=list)

    def column(self, name: str) -> list[str]:
        return [row[self.header.index(name)] for row in self.rows]

    def key(self, name: str) -> list[str | None]:
        return [row[self.header.index(name)] for row in self.keys]


class Page(HTMLParser):
    """Elements with their attributes, tables, scripts and all text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[Table] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        if tag == "table":
            self.tables.append(Table())
        elif tag == "tr" and self._inside == "tbody":
            self.tables[-1].rows.append([])
            self.tables[-1].keys.append([])
        elif tag == "td":
            self.tables[-1].rows[-1].append("")
            self.tables[-1].keys[-1].append(found.get("data-key"))
        elif tag == "th":
            self.tables[-1].header.append("")
        elif tag == "script":
            self.scripts.append((found, ""))
        if tag in ("caption", "thead", "tbody", "script", "style"):
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._inside == "style":
            self.styles.append(data)
        else:
            self.text += data
        if self._inside == "caption":
            self.tables[-1].caption += data
        elif self._inside == "thead" and self.tables[-1].header:
            self.tables[-1].header[-1] += data
        elif self._inside == "tbody" and self.tables[-1].rows and self.tables[-1].rows[-1]:
            self.tables[-1].rows[-1][-1] += data

    def table(self, caption: str) -> Table:
        (found,) = (table for table in self.tables if table.caption == caption)
        found.rows = [[cell.strip() for cell in row] for row in found.rows]
        return found

    def by_id(self, name: str) -> dict[str, str | None]:
        (found,) = (attributes for _, attributes in self.elements if attributes.get("id") == name)
        return found

    @property
    def data(self) -> dict[str, Any]:
        (text,) = (text for attributes, text in self.scripts if attributes.get("id") == "data")
        return json.loads(text)

    def chart(self, title: str, section: str) -> dict[str, Any]:
        places = [
            a["id"]
            for _, a in self.elements
            if a.get("class") == "chart" and str(a["id"]).startswith(f"{section}-")
            and str(a["aria-label"]).startswith(f"{title}: ")
        ]  # fmt: skip
        (place,) = places
        return self.data["charts"][place]
