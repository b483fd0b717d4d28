"""The comparison in numbers: CSV tables, and Markdown for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vdqn_runner.analysis.compare.entries import Entry, systems
from vdqn_runner.analysis.compare.ranking import (
    Estimate,
    interquartile_mean,
    probability_of_improvement,
    with_interval,
)
from vdqn_runner.analysis.paper.measures import interval
from vdqn_runner.analysis.stats import Floats

LEARNING = (
    "env", "system", "seeds", "learned", "median_episodes", "low", "high", "settled", "diverged",
    "mean_score", "score_low", "score_high",
)  # fmt: skip
RANKING = ("kind", "system", "environments", "seeds", "iqm", "low", "high")
IMPROVEMENT = ("kind", "system", "over", "probability", "low", "high")
ALL = "all"
_KINDS = {ALL: "all", "chain": "chains", "deep_sea": "deep seas"}

Row = tuple[object, ...]


@dataclass(frozen=True)
class Ranking:
    """The systems on the environments of one kind, or on all.

    Attributes:
        kind: `chain`, `deep_sea`, or `all`.
        scores: of those systems that are there on every environment, an array [S] for each.
        iqm: their interquartile means with intervals, the best first.
        chances: by (one, other) the probability that one improves on the other.
    """

    kind: str
    scores: Mapping[str, list[Floats]]
    iqm: Mapping[str, Estimate]
    chances: Mapping[tuple[str, str], Estimate]


def rankings(found: Sequence[Entry]) -> list[Ranking]:
    """On all environments, and on those of each kind where there are several."""
    kinds = list(dict.fromkeys(entry.kind for entry in found))
    groups = [ALL, *kinds] if len(kinds) > 1 else [ALL]
    return [_ranking(kind, [e for e in found if kind in (ALL, e.kind)]) for kind in groups]


def _ranking(kind: str, found: Sequence[Entry]) -> Ranking:
    scores = complete(found)
    iqm = {name: with_interval(interquartile_mean, tasks) for name, tasks in scores.items()}
    order = dict(sorted(iqm.items(), key=lambda item: -item[1][0]))
    chances = {
        (one, other): with_interval(probability_of_improvement, scores[one], scores[other])
        for one in order
        for other in order
        if one != other
    }
    return Ranking(kind, scores, order, chances)


def complete(found: Sequence[Entry]) -> dict[str, list[Floats]]:
    """The scores of those systems that are there on every environment, by name."""
    envs = list(dict.fromkeys(entry.env for entry in found))
    by_key = {(entry.system, entry.env): entry.scores for entry in found}
    return {
        system: [by_key[system, env] for env in envs]
        for system in systems(found)
        if all((system, env) in by_key for env in envs)
    }


def ordered(found: Sequence[Entry], ranks: Sequence[Ranking]) -> list[str]:
    """Names of all systems: those of the first ranking, then those that are not in it."""
    return list(dict.fromkeys([*ranks[0].iqm, *systems(found)]))


def learning_rows(found: Sequence[Entry]) -> list[Row]:
    """One row a system and environment; a median that is no number of episodes is empty."""
    rows: list[Row] = []
    for e in found:
        shown = [value if value <= e.limit else "" for value in e.median()]
        score = [round(value, 4) for value in interval(e.scores)]
        seeds = len(e.scores)
        counts = e.settled, e.diverged
        rows.append((e.env, e.system, seeds, e.learned, *shown, *counts, *score))
    return rows


def ranking_rows(found: Sequence[Ranking]) -> list[Row]:
    """One row a system in each ranking."""
    return [
        (r.kind, name, len(r.scores[name]), min(map(len, r.scores[name])), *_rounded(estimate))
        for r in found
        for name, estimate in r.iqm.items()
    ]


def improvement_rows(found: Sequence[Ranking]) -> list[Row]:
    """One row for each two systems in each ranking, in both directions."""
    return [(r.kind, *pair, *_rounded(chance)) for r in found for pair, chance in r.chances.items()]


def as_markdown(found: Sequence[Entry], ranks: Sequence[Ranking]) -> Iterator[str]:
    """Three tables: the ranking, episodes to learn on each environment, and who settles.

    Below them a line about the seeds that diverged, if any did.
    """
    first, order = ranks[0], ordered(found, ranks)
    if first.iqm:
        leader = next(iter(first.iqm))
        head = " | ".join(_KINDS.get(rank.kind, rank.kind) for rank in ranks)
        yield f"| IQM of the score [95 %] | {head} | P(better than {leader}) [95 %] |"
        yield f"| --- |{' --- |' * len(ranks)} --- |"
        for name in first.iqm:
            cells = [_shown(rank.iqm[name]) if name in rank.iqm else "" for rank in ranks]
            chance = _shown(first.chances[name, leader]) if name != leader else "–"
            yield f"| {name} | {' | '.join(cells)} | {chance} |"
        yield ""
    yield from _by_environment("episodes to learn", found, order, _episodes)
    yield ""
    yield from _by_environment(
        "seeds that settle", found, order, lambda e: f"{e.settled}/{len(e.scores)}"
    )
    if lost := [e for e in found if e.diverged]:
        yield ""
        seeds = [f"{e.diverged} of {len(e.scores)} seeds of {e.system} on {e.env}" for e in lost]
        yield f"Diverged, their later episodes counted as return 0: {', '.join(seeds)}."


def _by_environment(
    title: str, found: Sequence[Entry], order: Sequence[str], cell: Callable[[Entry], str]
) -> Iterator[str]:
    envs = list(dict.fromkeys(entry.env for entry in found))
    by_key = {(entry.system, entry.env): cell(entry) for entry in found}
    yield f"| {title} | {' | '.join(envs)} |"
    yield f"| --- |{' --- |' * len(envs)}"
    for name in order:
        yield f"| {name} | {' | '.join(by_key.get((name, env), '') for env in envs)} |"


def _episodes(entry: Entry) -> str:
    """The median with its interval where there is one, and how many seeds learn."""
    middle, low, high = (
        f"{value:.0f}" if value <= entry.limit else "never" for value in entry.median()
    )
    share = f"{entry.learned}/{len(entry.scores)}"
    return share if middle == "never" else f"{middle} [{low}, {high}], {share}"


def _rounded(estimate: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in estimate]


def _shown(estimate: Sequence[float]) -> str:
    middle, low, high = (f"{value:.2f}" for value in estimate)
    return f"{middle} [{low}, {high}]"
