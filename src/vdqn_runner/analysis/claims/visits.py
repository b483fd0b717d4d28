"""Claims 8 to 12: visit probabilities of the chain (Figure 4 and the appendix, Figure 5).

`p_n` is the share of the 10 episodes of an iteration in which state n was ever occupied.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vdqn_runner.analysis.claims.evidence import Evidence, Key
from vdqn_runner.analysis.claims.measures import (
    NEAR_BEST,
    end,
    episodes_to_find,
    never,
    oscillation,
    running_means,
    until_end,
)
from vdqn_runner.analysis.claims.parts import Sample, at_least, at_most, larger, sample
from vdqn_runner.analysis.claims.result import Part
from vdqn_runner.analysis.stats import Floats

HALF_EARLY = 5  # iterations
RELATIVELY_HIGH = 0.1
ALMOST_ALWAYS = 0.95
ALMOST_NEVER = 0.05
UNTAUGHT = 2  # iterations
FIRST_STAGE = 20  # iterations
MAJORITY = 0.5
NINE_IN_TEN = 0.9
SOMETIMES = 0.1
FIRST, MIDDLE, LAST = "visited_first", "visited_middle", "visited_last"


def vdqn_explores(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N = 32: VDQN visits all states early, then s_N.

    Paper: "At early stage of training (iterations <= 10), Variational DQN starts with and maintains
    a relatively high probability of visiting all three states. This enables the agent to visit s_N
    for sufficient number of trials and converges to the optimal policy"

    Statistic: N = 32, VDQN: (a) p_1, p_N/2 and p_N, each averaged over iterations 1 to 5 and over
    iterations 6 to 10; (b) p_N averaged over the last 20 iterations.

    Threshold: (a) at least 0.1, for each of the six; (b) at least 0.95. Core: (b).

    Reason: (a) one episode in ten is a visit in each iteration on average; acting at random reaches
    s_N in far less than one episode of a million. Two halves, because the paper says "starts with
    and maintains". (b) one failed episode in twenty, as for the returns.
    """
    run = runs["chain-32", "vdqn"]
    parts = []
    for column, state in ((FIRST, "1"), (MIDDLE, "N/2"), (LAST, "N")):
        p = run.probability(column)
        for start in (0, HALF_EARLY):
            value = sample(run, p[:, start : start + HALF_EARLY].mean(axis=1))
            name = f"p_{state}, iterations {start + 1} to {start + HALF_EARLY}"
            parts.append(at_least(name, value, RELATIVELY_HIGH, rng))
    last = sample(run, end(run.probability(LAST)))
    parts.append(at_least("p_N, last 20 iterations", last, ALMOST_ALWAYS, rng, core=True))
    return parts


def dqn_gives_up(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N = 32: DQN leaves s_N/2 and settles on s_1.

    Paper: "On the other hand, DQN occasionally has nontrivial probability of visiting s_N/2 due to
    epsilon-greedy random exploration. [...] visits to s_N/2 are finally suppressed and the agent
    converges to the locally optimal policy in s_1."

    Statistic: N = 32, DQN: (a) the largest p_N/2 of any iteration from the third on, of each seed;
    (b) p_N/2 and (c) p_1, each averaged over the last 20 iterations.

    Threshold: (a) at least 0.1; (b) at most 0.05; (c) at least 0.95. Core: (c).

    Reason: (a) 0.1 is one visit in an iteration, the least that "occasionally" can mean. The first
    two iterations are left out, because there is no update before 500 transitions (12 episodes),
    and what the network then prefers is its initialisation, not exploration. (b) and (c) one
    episode in twenty.
    """
    run = runs["chain-32", "dqn"]
    middle = run.probability(MIDDLE)
    peak = sample(run, middle[:, UNTAUGHT:].max(axis=1))
    return [
        at_least("largest p_N/2 of an iteration", peak, RELATIVELY_HIGH, rng),
        at_most("p_N/2, last 20 iterations", sample(run, end(middle)), ALMOST_NEVER, rng),
        at_least(
            "p_1, last 20 iterations", sample(run, end(run.probability(FIRST))), ALMOST_ALWAYS,
            rng, core=True,
        ),
    ]  # fmt: skip


def small_chain(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N = 8: VDQN and NoisyNet find s_N faster, less evenly.

    Paper: "For small N (N = 8), Variational DQN and NoisyNet both identify the optimal path faster
    yet display larger variance in performance, while DQN makes progress in a more steady manner."

    Statistic: N = 8, (a) episodes until p_N stays at 0.5 (`solved_episode` of the visits of s_N;
    never counting as 2000), DQN minus VDQN and DQN minus NoisyNet; (b) mean absolute change of p_N
    from one iteration to the next over the first 20 iterations, VDQN minus DQN and NoisyNet minus
    DQN.

    Threshold: more than 0, for each of the four.

    Reason: the sentence orders algorithms and gives no size. (a) more than half of the episodes
    take the optimal path only once it has been identified; a higher level would ask of DQN what its
    random actions do not allow. (b) is the unevenness of one seed's progress, in the first 200
    episodes because all have learned such a short chain after them, and what is left in DQN's curve
    is epsilon.
    """
    vdqn, dqn, noisynet = (runs["chain-8", algo] for algo in ("vdqn", "dqn", "noisynet"))
    parts = []
    slow = (dqn, episodes_to_find(dqn, MAJORITY))
    for run in (vdqn, noisynet):
        fast = (run, episodes_to_find(run, MAJORITY))
        name = f"DQN - {run.name}: episodes until p_N stays at 0.5"
        first, second = (until_end(*one) for one in (slow, fast))
        parts.append(larger(name, first, second, rng, note=never(slow, fast)))
    for run in (vdqn, noisynet):
        name = f"{run.name} - DQN: change of p_N per iteration, first 20"
        first, second = (sample(one, unevenness(one.probability(LAST))) for one in (run, dqn))
        parts.append(larger(name, first, second, rng))
    return parts


def noisynet_sometimes(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N = 32: NoisyNet sometimes converges, less stably.

    Paper: "DQN occasionally pass the middle point s_N/2 [...] but cannot reach s_N. NoisyNet
    explores more efficiently than DQN since it sometimes converge to optimal policy but is less
    stable than Variational DQN."

    Statistic: N = 32, (a) share of NoisyNet's seeds whose mean return over some 100 consecutive
    episodes is at least 95 % of 11; (b) p_N averaged over the whole run, NoisyNet minus DQN; (c)
    mean absolute change of the return from one iteration to the next, from the first iteration at
    95 % of 11 on, NoisyNet minus VDQN; seeds that never get there, or have fewer than 10 iterations
    left, do not count.

    Threshold: (a) at least 0.1; (b) and (c) more than 0. Core: (a).

    Reason: (a) "sometimes" is read as one seed in ten or more; it need not last, for the sentence
    goes on to say that it is not stable. (b) and (c) order two algorithms and give no size.
    """
    vdqn, dqn, noisynet = (runs["chain-32", algo] for algo in ("vdqn", "dqn", "noisynet"))
    converges = (running_means(noisynet.returns).max(axis=1) >= NEAR_BEST).astype(np.float64)
    often, seldom = (sample(run, run.visits[LAST].mean(axis=1)) for run in (noisynet, dqn))
    noisy, calm = (sample(run, oscillation(run)) for run in (noisynet, vdqn))
    return [
        at_least(
            "NoisyNet: share of seeds that converge for 100 episodes",
            sample(noisynet, converges), SOMETIMES, rng, core=True,
        ),
        larger("NoisyNet - DQN: p_N, whole run", often, seldom, rng),
        larger("NoisyNet - VDQN: change per iteration, once at the optimum", noisy, calm, rng),
    ]  # fmt: skip


def large_chain(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """N = 128: VDQN converges later, the others are stuck.

    Paper: "For large N (N = 128), Variational DQN takes more time to find the optimal policy but
    still converges within small number of iterations. On the other hand, both DQN and NoisyNet get
    stuck."

    Statistic: (a) episodes until VDQN's p_N stays at 0.9 (`solved_episode` of the visits of s_N;
    never counting as 2000), N = 128 minus N = 32; (b) p_N averaged over the last 20 iterations, of
    VDQN, and (c) of DQN and NoisyNet, N = 128.

    Threshold: (a) more than 0; (b) at least 0.95; (c) at most 0.05. Core: (b).

    Reason: (a) gives an order and no size; 0.9 is nine of the ten episodes of an iteration. "small
    number" is read as the episodes given, 2000, at whose end (b) asks for one failed episode in
    twenty, as for the returns. (c) mirrors (b), and leaves out early visits of s_N by a network
    that has not been taught yet. It can tell for DQN too: with epsilon = 0.1 the optimal policy
    still reaches s_N in 31 % of its episodes.
    """
    late, early = runs["chain-128", "vdqn"], runs["chain-32", "vdqn"]
    times = [(run, episodes_to_find(run, NINE_IN_TEN)) for run in (late, early)]
    slow, fast = (
        Sample(run.place, run.seeds, until_end(run, episodes).values) for run, episodes in times
    )
    name = "N = 128 - N = 32, VDQN: episodes until p_N stays at 0.9"
    parts = [larger(name, slow, fast, rng, note=never(*times))]
    last = sample(late, end(late.probability(LAST)))
    parts.append(at_least("VDQN: p_N, last 20 iterations", last, ALMOST_ALWAYS, rng, core=True))
    for algo in ("dqn", "noisynet"):
        run = runs["chain-128", algo]
        last = sample(run, end(run.probability(LAST)))
        parts.append(at_most(f"{run.name}: p_N, last 20 iterations", last, ALMOST_NEVER, rng))
    return parts


def unevenness(curves: Floats) -> Floats:
    """Mean absolute change between the first 20 iterations of curves: [S, I] -> [S]."""
    return np.asarray(np.abs(np.diff(curves[:, :FIRST_STAGE], axis=1)).mean(axis=1))
