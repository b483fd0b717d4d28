"""From runs to the page: which sections there are, and what is said above each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from plotly.offline import get_plotlyjs

from vdqn_runner.analysis.claims.check import check_claims
from vdqn_runner.analysis.claims.result import ClaimResult
from vdqn_runner.analysis.load import Run
from vdqn_runner.analysis.report.charts import all_panels
from vdqn_runner.analysis.report.gather import Shown, gather
from vdqn_runner.analysis.report.numbers import BOOTSTRAP_SEED, MAX_POINTS
from vdqn_runner.analysis.report.page import Section, charts_data, charts_html, page
from vdqn_runner.analysis.report.provenance import progress, provenance_html
from vdqn_runner.analysis.report.results import results_html
from vdqn_runner.analysis.report.settings import settings_html
from vdqn_runner.analysis.report.verdicts import claims_html
from vdqn_runner.errors import ConfigError

_CHARTS = {
    "curves": (
        "Training curves",
        "Mean return of each iteration of 10 episodes, over seeds, with its pointwise 95 % "
        "bootstrap interval. The pointer on a curve shows its single seeds; faint parts rest on "
        "fewer seeds.",
    ),
    "evaluations": (
        "Greedy evaluations",
        "Filled: return without exploration, at the posterior mean where there is a posterior. "
        "Open: with a fresh sample of the posterior at every step. Mean over trials, then over "
        "seeds, with its 95 % bootstrap interval. The thin line is the training return, which "
        "explores.",
    ),
    "visits": (
        "Visit probabilities",
        "Share of the 10 episodes of an iteration in which state n of N was visited, over seeds.",
    ),
    "sigma": (
        "Sigma by layer",
        "Median of the standard deviations of a layer's weights and biases, and its first and last "
        "decile as band; each is a mean over seeds. Layer 1 is next to the observation.",
    ),
}
_HOW_TO_ZOOM = (
    "Drag to zoom, double-click to go back; with the keyboard <kbd>+</kbd> <kbd>−</kbd> "
    "<kbd>←</kbd> <kbd>→</kbd> <kbd>0</kbd>."
)


def compose(runs: Sequence[Run], warn: Callable[[str], None]) -> str:
    """The report of the runs as HTML.

    Args:
        runs: at least one.
        warn: is told in one line what could not be shown.

    Raises:
        RunError: a log that cannot be read.
    """
    shown = gather(runs)
    charts = dict(all_panels(shown))
    sections = [Section("results", "Results", "", results_html(shown))]
    claims = _claims(runs, warn)
    # Runs of which no claim speaks are not to begin with twelve times "not tested".
    if any(claim.parts for claim in claims):
        note = "Each claim's statistic and threshold were fixed before any run was looked at."
        sections.insert(0, Section("claims", "Claims of the paper", note, claims_html(claims)))
    if not charts:
        text = "<p>No run has an iteration of 10 episodes yet.</p>"
        sections.append(Section("curves", "Training curves", "", text))
    for name, panels in charts.items():
        title, note = _CHARTS[name]
        if any(len(one.returns.x) > MAX_POINTS for one in shown):
            note += f" Of more than {MAX_POINTS} points, neighbours are averaged."
        note += f" {_HOW_TO_ZOOM}" if name == next(iter(charts)) else ""
        sections.append(Section(name, title, note, charts_html(name, panels)))
    sections.append(Section("settings", "Settings", "", settings_html(shown)))
    sections.append(Section("origins", "States and origins", "", provenance_html(shown)))
    return page(_title(runs), _lead(shown), sections, charts_data(charts), get_plotlyjs())


def _claims(runs: Sequence[Run], warn: Callable[[str], None]) -> list[ClaimResult]:
    try:
        return check_claims(runs, np.random.default_rng(BOOTSTRAP_SEED))
    except ConfigError as error:
        warn(f"claims are left out: {error}")
        return []


def _title(runs: Sequence[Run]) -> str:
    names = list(dict.fromkeys(_experiment(run) for run in runs))
    return "Runs of " + (", ".join(names) if len(names) < 5 else f"{len(names)} experiments")


def _experiment(run: Run) -> str:
    folders = run.path.resolve().parts[1:]  # ending in <name>/<env>/<algo>/<hash>
    return folders[-4] if len(folders) > 3 else folders[-1]


def _lead(runs: Sequence[Shown]) -> str:
    seeds = sum(len(one.run.seeds) for one in runs)
    envs = len({one.run.env for one in runs})
    share = sum(progress(one) for one in runs) / len(runs)
    unfinished = sum(progress(one) < 1 for one in runs)
    text = f"{_count(len(runs), 'run')} in {_count(envs, 'environment')}, {_count(seeds, 'seed')}"
    if unfinished:
        text += f"; {_count(unfinished, 'run')} unfinished, {int(100 * share)} % of episodes done"
    return f'<p class="lead">{escape(text)}.</p>'


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")
