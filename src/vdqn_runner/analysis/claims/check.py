"""The twelve claims, the runs that each needs, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vdqn_runner.analysis.claims import chain, control, visits
from vdqn_runner.analysis.claims.evidence import SEEDS, Evidence, Key, paper_runs, read_evidence
from vdqn_runner.analysis.claims.greedy import greedy_return
from vdqn_runner.analysis.claims.result import ClaimResult, Part
from vdqn_runner.analysis.claims.text import text
from vdqn_runner.analysis.claims.verdict import verdict
from vdqn_runner.analysis.labels import algo_name
from vdqn_runner.analysis.load import Run

Runs = Mapping[Key, Run]
Test = Callable[[Mapping[Key, Evidence], np.random.Generator], list[Part]]
ALL = ("vdqn", "dqn", "noisynet")


@dataclass(frozen=True)
class Claim:
    """A claim: which runs it needs, given those that there are, and its test."""

    needs: Callable[[Runs], list[Key]]
    test: Test


def _exactly(algos: Sequence[str], envs: Sequence[str]) -> Callable[[Runs], list[Key]]:
    return lambda runs: [(env, algo) for env in envs for algo in algos]


def _chains(
    algos: Sequence[str], low: int, high: int, always: Sequence[int]
) -> Callable[[Runs], list[Key]]:
    """The chains that must be there, and those from low to high that have all the algorithms."""

    def needs(runs: Runs) -> list[Key]:
        sizes = {run.n for run in runs.values() if run.n is not None and low <= run.n <= high}
        trained = {n for n in sizes if all((f"chain-{n}", algo) in runs for algo in algos)}
        return [(f"chain-{n}", algo) for n in sorted(trained | set(always)) for algo in algos]

    return needs


# A claim about a range of N rests on the paper's own sizes in it, and on further ones if trained.
CLAIMS = (
    Claim(_exactly(("vdqn", "dqn"), tuple(control.BARS)), control.control_is_solved),
    Claim(_exactly(("vdqn", "dqn"), control.CARTPOLES), control.early_and_late),
    Claim(_chains(ALL, 3, 10, (5, 10)), chain.short_chains),
    Claim(_chains(ALL, 50, 99, (50,)), chain.middle_chains),
    Claim(_chains(("dqn", "noisynet"), 100, 150, (100, 128)), chain.long_chains),
    Claim(_chains(("vdqn",), 3, 70, (5, 10, 50, 70)), chain.vdqn_is_fast),
    Claim(_chains(("vdqn",), 100, 10_000, (70, 100, 128)), chain.vdqn_is_steady),
    Claim(_exactly(("vdqn",), ("chain-32",)), visits.vdqn_explores),
    Claim(_exactly(("dqn",), ("chain-32",)), visits.dqn_gives_up),
    Claim(_exactly(ALL, ("chain-8",)), visits.small_chain),
    Claim(_exactly(ALL, ("chain-32",)), visits.noisynet_sometimes),
    Claim(
        lambda runs: [("chain-32", "vdqn"), *(("chain-128", algo) for algo in ALL)],
        visits.large_chain,
    ),
)


def check_claims(
    runs: Sequence[Run], rng: np.random.Generator, n_seeds: int = SEEDS
) -> list[ClaimResult]:
    """Check the paper's twelve claims against the runs called `paper`; others do not matter.

    A claim is not tested unless every run that it needs has at least `n_seeds` seeds, none of which
    is unfinished. All seeds of a run are used, and of each the number of episodes that the paper
    gives: 2000 on the chain, 1000 on the control tasks.

    Args:
        runs: from `load.find_runs`.
        rng: drives the bootstrap; each claim has its own child of it, so that its numbers do not
            depend on which other claims can be tested.
        n_seeds: fewest seeds a run must have, at least 2. Where it is below 10, every claim that
            rests on fewer than 10 says so.

    Raises:
        ConfigError: two paper runs have the same environment and algorithm.
        RunError: a log cannot be read.
    """
    available = paper_runs(runs)
    needed = {key for claim in CLAIMS for key in claim.needs(available)}
    read = {key: _read(available, key, n_seeds) for key in sorted(needed)}
    return [
        _result(number, claim, available, read, child)
        for (number, claim), child in zip(
            enumerate(CLAIMS, start=1), rng.spawn(len(CLAIMS)), strict=True
        )
    ]


def _read(runs: Runs, key: Key, n_seeds: int) -> Evidence | str:
    if key in runs:
        return read_evidence(runs[key], n_seeds)
    env, algo = key
    return f"{algo_name(algo)} on {env} is missing"


def _result(
    number: int,
    claim: Claim,
    runs: Runs,
    read: Mapping[Key, Evidence | str],
    rng: np.random.Generator,
) -> ClaimResult:
    words = text(claim.test)
    told = (
        number, words.title, words.sentence, words.statistic, words.threshold, words.reason,
    )  # fmt: skip
    found = [(key, read[key]) for key in claim.needs(runs)]
    lacks = [one for _, one in found if isinstance(one, str)]
    if lacks:
        return ClaimResult(*told, "not tested", (), (), "; ".join(lacks))
    evidence = {key: one for key, one in found if not isinstance(one, str)}
    parts = tuple(claim.test(evidence, rng))
    greedy = (greedy_return(runs[key], one.returns.shape[1], rng) for key, one in evidence.items())
    supplements = tuple(one for one in greedy if one is not None)
    return ClaimResult(*told, verdict(parts), parts, supplements, _few_seeds(evidence.values()))


def _few_seeds(evidence: Iterable[Evidence]) -> str:
    fewest = min(len(run.seeds) for run in evidence)
    return f"rests on runs of as few as {fewest} seeds, not {SEEDS}" if fewest < SEEDS else ""
