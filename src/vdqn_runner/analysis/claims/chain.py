"""Claims 3 to 7: returns on the chain (section "Chain MDP", Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vdqn_runner.analysis.claims.evidence import Evidence, Key
from vdqn_runner.analysis.claims.measures import (
    BEST,
    barely,
    end,
    episodes_to_solve,
    near_optimum,
    never,
    oscillation,
    until_end,
)
from vdqn_runner.analysis.claims.parts import Sample, alike, at_least, at_most, larger, sample
from vdqn_runner.analysis.claims.result import Part
from vdqn_runner.analysis.stats import Floats

VERY_SIMILAR = 0.05 * BEST
MUCH = 0.1 * BEST
WITHIN = 500  # episodes
BLOCK = 20  # iterations, so 200 episodes
BEGINNING = 5  # iterations, so 50 episodes
LARGEST_FAST = 70


def short_chains(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N <= 10: all three converge, VDQN like NoisyNet.

    Paper: "For small N <= 10, all algorithms converge to optimal policy within reasonable number of
    iterations, and even the training curves of Variational DQN and Noisy network are very similar."

    Statistic: for each N <= 10 trained with all three (5 and 10 must be), (a) mean training return
    over the last 200 episodes, of each algorithm; (b) the absolute difference of the mean curves
    (10 episodes an iteration) of VDQN and NoisyNet, averaged over all 200 iterations.

    Threshold: (a) at least 95 % of what the optimal policy earns while it explores as the algorithm
    does, 10.45 = 95 % of 11 without epsilon; (b) at most 0.55, 5 % of 11.

    Reason: (a) the tolerance is one episode in twenty. DQN acts at random with probability 0.1 to
    the end, so that its optimal policy does not earn 11; what it does earn is computed exactly. (b)
    "very similar" needs a bound, not a test for a difference: 5 % of the height of the figure can
    hardly be seen in it.
    """
    parts = []
    for run in runs.values():
        name = f"{run.place}, {run.name}: mean return, last 200 episodes"
        parts.append(at_least(name, sample(run, end(run.iterations)), near_optimum(run), rng))
    for env in _envs(runs):
        vdqn, noisynet = runs[env, "vdqn"], runs[env, "noisynet"]
        name = f"{vdqn.place}, VDQN and NoisyNet: distance of the curves"
        parts.append(alike(name, vdqn, noisynet, VERY_SIMILAR, rng))
    return parts


def middle_chains(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N >= 50: DQN fails, NoisyNet is slow and oscillates.

    Paper: "When N increases such that N >= 50, DQN barely makes progress and cannot converge to
    optimal policy, while NoisyNet converges more slowly to optimal policy and oscillates much."

    Statistic: for each N from 50 to 99 trained with all three (50 must be), (a) DQN's mean return
    over all 2000 episodes and (b) over the last 200; (c) episodes until the return stays at 95 % of
    11 (`solved_episode`), NoisyNet minus VDQN, never counting as 2000; (d) mean absolute change of
    the return from one iteration to the next, from the first iteration at 95 % of 11 on, of
    NoisyNet and (e) NoisyNet minus VDQN; seeds that never get there, or have fewer than 10
    iterations left, do not count.

    Threshold: (a) and (b) at most a tenth of the way from going left at once (0.058 at N = 50) to
    what the optimal policy earns while it explores with DQN's epsilon (5.63), so 0.615 at N = 50;
    (c) more than 0; (d) at least 1.1, 10 % of 11; (e) more than 0. Core: (b) and (c).

    Reason: (a) and (b) a tenth leaves room for one good episode in ten and no more. It is a tenth
    of what DQN can earn, for at epsilon = 0.1 its random actions alone cost half of the 11. Whether
    a seed ever saw state N says nothing: before its first update a network may happen to prefer the
    right everywhere. (c) and (e) order two algorithms, so their threshold is 0. (d) "much": an
    iteration differs from the next by one whole episode of ten. N >= 100 is claim 5.
    """
    parts = []
    for env in _envs(runs):
        vdqn, dqn, noisynet = (runs[env, algo] for algo in ("vdqn", "dqn", "noisynet"))
        parts += _barely(dqn, rng, core=True)
        times = [(run, episodes_to_solve(run)) for run in (noisynet, vdqn)]
        name = f"{vdqn.place}, NoisyNet - VDQN: episodes until solved"
        slow, fast = (until_end(run, episodes) for run, episodes in times)
        parts.append(larger(name, slow, fast, rng, core=True, note=never(*times)))
        noisy, calm = (sample(run, oscillation(run)) for run in (noisynet, vdqn))
        name = f"{vdqn.place}, NoisyNet: change per iteration, once at the optimum"
        parts.append(at_least(name, noisy, MUCH, rng))
        name = f"{vdqn.place}, NoisyNet - VDQN: change per iteration, once at the optimum"
        parts.append(larger(name, noisy, calm, rng))
    return parts


def long_chains(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N >= 100: DQN and NoisyNet barely improve.

    Paper: "When N >= 100, both DQN and NoisyNet barely make progress during tranining."

    Statistic: for each N from 100 to 150 trained with both (100 and 128 must be), mean training
    return of DQN and of NoisyNet (a) over all 2000 episodes and (b) over the last 200.

    Threshold: at most a tenth of the way from going left at once, (N + 8) / 1000, to what the
    optimal policy earns while it explores as the algorithm does: for NoisyNet 11, for DQN with
    epsilon = 0.1 2.03 (N = 100), 1.00 (N = 128) and 0.54 (N = 150).

    Reason: as in claim 4. Both the whole run and its end are asked for, so that neither a success
    that is lost nor one that comes late passes as "barely". N = 200 is left out, because there the
    optimal policy with epsilon = 0.1 earns less than going left, so that the training return cannot
    tell whether DQN has learned; the greedy policy's return is given where it was measured.
    """
    return [part for run in runs.values() for part in _barely(run, rng, core=False)]


def vdqn_is_fast(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N <= 70: VDQN is there within 500 episodes.

    Paper: "For N <= 70, Variational DQN converges to optimal policy within 500 episodes (50
    iterations) on average."

    Statistic: for each N <= 70 trained (5, 10, 50 and 70 must be), episodes until VDQN's training
    return stays at 95 % of 11 (`solved_episode`), mean over seeds; a seed that never does counts as
    2000.

    Threshold: at most 500.

    Reason: the paper's own number, and its own "on average". The mean with 2000 for a seed that
    never gets there is a lower bound, which favours the claim; the note says how many seeds that
    are.
    """
    parts = []
    for run in runs.values():
        episodes = episodes_to_solve(run)
        name = f"{run.place}, VDQN: episodes until solved"
        parts.append(
            at_most(name, until_end(run, episodes), WITHIN, rng, note=never((run, episodes)))
        )
    return parts


def vdqn_is_steady(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N >= 100: VDQN takes longer and improves steadily.

    Paper: "However, when N keeps increasing such that N >= 100, Variational DQN takes longer time
    to find the optimal policy but it makes steady improvement over time."

    Statistic: for each N >= 100 trained (100 and 128 must be), (a) episodes until VDQN's return
    stays at 95 % of 11 (`solved_episode`, never counting as 2000), minus the same at N = 70; (b)
    rise: mean return over the last 200 episodes minus that over the first 50; (c) setback: the
    largest fall from one to any later of the ten means of 200 episodes, within a seed.

    Threshold: (a) more than 0; (b) at least 5.5, half of 11; (c) at most 1.1, 10 % of 11.

    Reason: (a) compares with the largest N that the paper calls fast. (b) "improvement" that is
    worth the name reaches half of the best return, from the episodes in which little can have been
    learned. (c) "steady": no block of 200 episodes is worse than an earlier one by more than two
    failed episodes in twenty.
    """
    base = runs[f"chain-{LARGEST_FAST}", "vdqn"]
    fast = (base, episodes_to_solve(base))
    parts = []
    for run in (run for run in runs.values() if run is not base):
        slow = (run, episodes_to_solve(run))
        name = f"{run.place} - {base.place}, VDQN: episodes until solved"
        first, second = (_at(one, until_end(one, episodes)) for one, episodes in (slow, fast))
        parts.append(larger(name, first, second, rng, note=never(slow, fast)))
        rise = end(run.iterations) - run.iterations[:, :BEGINNING].mean(axis=1)
        name = f"{run.place}, VDQN: rise of the return"
        parts.append(at_least(name, sample(run, rise), BEST / 2, rng))
        name = f"{run.place}, VDQN: largest setback"
        parts.append(at_most(name, sample(run, largest_setback(run.iterations)), MUCH, rng))
    return parts


def largest_setback(curves: Floats) -> Floats:
    """Largest fall from one mean of 20 iterations to any later one: [S, I] -> [S], at least 0."""
    blocks = curves[:, : curves.shape[1] // BLOCK * BLOCK].reshape(len(curves), -1, BLOCK)
    means = blocks.mean(axis=2)
    return np.asarray((np.maximum.accumulate(means, axis=1) - means).max(axis=1))


def _barely(run: Evidence, rng: np.random.Generator, *, core: bool) -> list[Part]:
    whole, last = run.returns.mean(axis=1), end(run.iterations)
    name = f"{run.place}, {run.name}: mean return"
    return [
        at_most(f"{name}, all episodes", sample(run, whole), barely(run), rng),
        at_most(f"{name}, last 200 episodes", sample(run, last), barely(run), rng, core=core),
    ]


def _envs(runs: Mapping[Key, Evidence]) -> list[str]:
    return list(dict.fromkeys(env for env, _ in runs))


def _at(run: Evidence, of: Sample) -> Sample:
    return Sample(run.place, of.seeds, of.values)
