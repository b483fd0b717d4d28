"""The kinds of condition that a claim is made of.

A part holds if its estimate is on the right side of its threshold, and is clear if its whole
interval is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vdqn_runner.analysis.claims.evidence import Evidence
from vdqn_runner.analysis.claims.interval import (
    difference_interval,
    distance,
    distance_interval,
    effect,
    mean_interval,
)
from vdqn_runner.analysis.claims.numbers import number
from vdqn_runner.analysis.claims.result import Part
from vdqn_runner.analysis.stats import Floats

FEWEST = 2  # seeds of which an interval can be made


@dataclass(frozen=True)
class Sample:
    """One number a seed of a run.

    Attributes:
        label: whose, such as `VDQN`.
        seeds: [S].
        values: [S]; NaN where the statistic is not defined for a seed, which is then left out.
    """

    label: str
    seeds: tuple[int, ...]
    values: Floats

    @property
    def known(self) -> Floats:
        """The values that are defined."""
        return self.values[~np.isnan(self.values)]

    @property
    def known_seeds(self) -> tuple[int, ...]:
        """The seeds of these."""
        return tuple(s for s, v in zip(self.seeds, self.values, strict=True) if not np.isnan(v))

    @property
    def left_out(self) -> str:
        """Says how many seeds do not count; "" if all do."""
        n = len(self.values) - len(self.known)
        return f"{self.label}: {n} of {len(self.values)} seeds have no value" if n else ""


def sample(evidence: Evidence, values: Floats) -> Sample:
    """The values [S] of the seeds of a run, under its algorithm's name."""
    return Sample(evidence.name, evidence.seeds, values)


def at_least(
    name: str,
    of: Sample,
    threshold: float,
    rng: np.random.Generator,
    *,
    core: bool = False,
    note: str = "",
) -> Part:
    """The mean over seeds is at least the threshold."""
    condition = f">= {number(threshold)}"
    return _of_mean(name, condition, of, rng, core, note, lambda mean: mean >= threshold)


def at_most(
    name: str,
    of: Sample,
    threshold: float,
    rng: np.random.Generator,
    *,
    core: bool = False,
    note: str = "",
) -> Part:
    """The mean over seeds is at most the threshold."""
    condition = f"<= {number(threshold)}"
    return _of_mean(name, condition, of, rng, core, note, lambda mean: mean <= threshold)


def larger(
    name: str,
    first: Sample,
    second: Sample,
    rng: np.random.Generator,
    *,
    core: bool = False,
    note: str = "",
) -> Part:
    """The mean over seeds of the first is larger than that of the second."""
    if min(len(first.known), len(second.known)) < FEWEST:
        return _undefined(name, "> 0", (first, second), core, note)
    size = effect((first.label, second.label), first.known, second.known)
    low, high = difference_interval(first.known, second.known, rng)
    values = (*first.known.tolist(), *second.known.tolist())
    return Part(
        name, "> 0", size.difference, low, high, values,
        first.known_seeds + second.known_seeds, size, core, size.difference > 0, low > 0,
        _notes(note, first.left_out, second.left_out),
    )  # fmt: skip


def alike(
    name: str, first: Evidence, second: Evidence, bound: float, rng: np.random.Generator
) -> Part:
    """The training curves of two runs differ by at most the bound on average (equivalence)."""
    estimate = distance(first.iterations, second.iterations)
    low, high = distance_interval(first.iterations, second.iterations, rng)
    size = effect(
        (first.name, second.name), first.returns.mean(axis=1), second.returns.mean(axis=1)
    )
    return Part(
        name, f"<= {number(bound)}", estimate, low, high, (), first.seeds + second.seeds, size,
        False, estimate <= bound, high <= bound, "effect: of the mean return of the whole run",
    )  # fmt: skip


def _of_mean(
    name: str,
    condition: str,
    of: Sample,
    rng: np.random.Generator,
    core: bool,
    note: str,
    meets: Callable[[float], bool],
) -> Part:
    """A part on the mean over seeds; it is clear where both ends of the interval meet it too."""
    if len(of.known) < FEWEST:
        return _undefined(name, condition, (of,), core, note)
    estimate, (low, high) = float(of.known.mean()), mean_interval(of.known, rng)
    return Part(
        name, condition, estimate, low, high, tuple(of.known.tolist()), of.known_seeds, None,
        core, meets(estimate), meets(low) and meets(high), _notes(note, of.left_out),
    )  # fmt: skip


def _undefined(
    name: str, condition: str, samples: tuple[Sample, ...], core: bool, note: str
) -> Part:
    nan = float("nan")
    seeds = tuple(seed for one in samples for seed in one.known_seeds)
    values = tuple(value for one in samples for value in one.known.tolist())
    few = f"fewer than {FEWEST} seeds have a value, so it does not hold"
    notes = _notes(note, few, *(one.left_out for one in samples))
    return Part(name, condition, nan, nan, nan, values, seeds, None, core, False, False, notes)


def _notes(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
