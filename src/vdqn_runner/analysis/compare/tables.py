"""The comparison in numbers: CSV tables, and Markdown for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vdqn_runner.analysis.compare.entries import Entry, systems
from vdqn_runner.analysis.compare.ranking import (
    Estimate,
    interquartile_mean,
    probability_of_improvement,
    with_interval,
)
from vdqn_runner.analysis.paper.measures import interval
from vdqn_runner.analysis.stats import Floats

SOLVING = (
    "env", "system", "seeds", "solved", "median_episodes", "low", "high",
    "mean_score", "score_low", "score_high",
)  # fmt: skip
RANKING = ("system", "environments", "seeds", "iqm", "low", "high")
IMPROVEMENT = ("system", "over", "probability", "low", "high")

Row = tuple[object, ...]


def solving_rows(found: Sequence[Entry]) -> list[Row]:
    """One row a system and environment; a median that is no number of episodes is empty."""
    rows: list[Row] = []
    for entry in found:
        shown = [value if value <= entry.limit else "" for value in entry.median()]
        score = [round(value, 4) for value in interval(entry.scores)]
        rows.append((entry.env, entry.system, len(entry.scores), entry.solved, *shown, *score))
    return rows


def complete(found: Sequence[Entry]) -> dict[str, list[Floats]]:
    """The scores of those systems that are there on every environment, by name, the best first."""
    envs = list(dict.fromkeys(entry.env for entry in found))
    by_key = {(entry.system, entry.env): entry.scores for entry in found}
    return {
        system: [by_key[system, env] for env in envs]
        for system in systems(found)
        if all((system, env) in by_key for env in envs)
    }


def ranked(scores: dict[str, list[Floats]]) -> dict[str, Estimate]:
    """Interquartile means with intervals, the best first."""
    found = {name: with_interval(interquartile_mean, tasks) for name, tasks in scores.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))


def ranking_rows(scores: dict[str, list[Floats]], ranks: dict[str, Estimate]) -> list[Row]:
    """One row a system."""
    return [
        (name, len(scores[name]), min(map(len, scores[name])), *_rounded(estimate))
        for name, estimate in ranks.items()
    ]


def improvement_rows(scores: dict[str, list[Floats]], names: Sequence[str]) -> list[Row]:
    """One row for each two systems, in both directions."""
    return [
        (
            one,
            other,
            *_rounded(with_interval(probability_of_improvement, scores[one], scores[other])),
        )
        for one in names
        for other in names
        if one != other
    ]


def as_markdown(
    found: Sequence[Entry], ranks: dict[str, Estimate], improvements: Sequence[Row]
) -> Iterator[str]:
    """Two tables: the ranking, and the episodes until solved on each environment."""
    envs = list(dict.fromkeys(entry.env for entry in found))
    if ranks:
        leader = next(iter(ranks))
        against = {row[0]: row for row in improvements if row[1] == leader}
        yield f"| system | IQM of the score [95 %] | P(better than {leader}) [95 %] |"
        yield "| --- | --- | --- |"
        for name, estimate in ranks.items():
            chance = _shown(against[name][2:]) if name in against else "–"
            yield f"| {name} | {_shown(estimate)} | {chance} |"
        yield ""
    by_key = {(entry.system, entry.env): entry for entry in found}
    order = list(ranks) + [name for name in systems(found) if name not in ranks]
    yield f"| episodes until solved | {' | '.join(envs)} |"
    yield f"| --- |{' --- |' * len(envs)}"
    for name in order:
        cells = [_cell(by_key.get((name, env))) for env in envs]
        yield f"| {name} | {' | '.join(cells)} |"


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    middle, low, high = (
        f"{value:.0f}" if value <= entry.limit else "never" for value in entry.median()
    )
    share = f"{entry.solved}/{len(entry.scores)}"
    return share if middle == "never" else f"{middle} [{low}, {high}], {share}"


def _rounded(estimate: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in estimate]


def _shown(estimate: Sequence[object]) -> str:
    middle, low, high = (f"{value:.2f}" for value in estimate)
    return f"{middle} [{low}, {high}]"
