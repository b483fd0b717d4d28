"""What checking a claim gives: frozen values for a table, a file or a report to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["reproduced", "partly", "not reproduced", "not tested"]


@dataclass(frozen=True)
class Effect:
    """How much two algorithms differ, over independent seeds of each.

    Attributes:
        first: what is compared, such as `VDQN`.
        second: what it is compared with.
        improvement: probability that a seed of the first has the larger value than a seed of the
            second, ties counted half (Agarwal et al. 2021).
        difference: mean of the first minus mean of the second, in the statistic's unit.
    """

    first: str
    second: str
    improvement: float
    difference: float


@dataclass(frozen=True)
class Part:
    """One condition of a claim.

    Attributes:
        name: what is measured, such as `N = 50, DQN: mean return, last 200 episodes`.
        condition: what must hold of the estimate, such as `<= 1.1`.
        estimate: the statistic over all seeds; NaN where no seed allows it.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
        values: the statistic of each seed, in the order of `seeds`; empty where no seed has one.
        seeds: the seeds used, of each run in turn.
        effect: where two algorithms or two environments are compared.
        core: whether the claim fails if this part does.
        holds: whether the estimate is on the right side.
        clear: whether the whole interval is on the right side too.
        note: what a reader must know beside the numbers; may be empty.
    """

    name: str
    condition: str
    estimate: float
    low: float
    high: float
    values: tuple[float, ...]
    seeds: tuple[int, ...]
    effect: Effect | None
    core: bool
    holds: bool
    clear: bool
    note: str


@dataclass(frozen=True)
class Supplement:
    """A number to read beside a claim, on which no verdict rests.

    Attributes:
        name: what is measured.
        estimate: mean over seeds.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
        seeds: the seeds used.
    """

    name: str
    estimate: float
    low: float
    high: float
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class ClaimResult:
    """One claim of the paper, how it was tested and what came out.

    Attributes:
        number: 1 to 12.
        title: a few words.
        sentence: the paper's words.
        statistic: what is measured.
        threshold: from where on a part holds.
        reason: why this threshold.
        verdict: see `verdict.py` for the rule.
        parts: the conditions; empty where the claim was not tested.
        supplements: further numbers.
        note: why it was not tested; else what limits the verdict, or empty.
    """

    number: int
    title: str
    sentence: str
    statistic: str
    threshold: str
    reason: str
    verdict: Verdict
    parts: tuple[Part, ...]
    supplements: tuple[Supplement, ...]
    note: str
