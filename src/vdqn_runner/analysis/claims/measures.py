"""The statistics of a seed that claims share."""

from __future__ import annotations

import numpy as np

from vdqn_runner.analysis.claims.evidence import Evidence
from vdqn_runner.analysis.claims.optimum import REWARD_FIRST, chain_return, final_epsilon
from vdqn_runner.analysis.claims.parts import Sample, sample
from vdqn_runner.analysis.solve import WINDOW, censored, solved_episode
from vdqn_runner.analysis.stats import Floats

BEST = chain_return(5)  # 11, of every chain
SHARE = 0.95
NEAR_BEST = SHARE * BEST
BARELY = 0.1
END = 20  # iterations, so the last 200 episodes
RUNNING = 100  # episodes


def end(curves: Floats) -> Floats:
    """Mean of the last 20 iterations (200 episodes) of curves [S, I]."""
    return np.asarray(curves[:, -END:].mean(axis=1))


def running_means(returns: Floats) -> Floats:
    """Mean over every 100 consecutive episodes: [S, E] -> [S, E - 99]."""
    sums = np.cumsum(np.pad(returns, ((0, 0), (1, 0))), axis=1)
    return np.asarray((sums[:, RUNNING:] - sums[:, :-RUNNING]) / RUNNING)


def episodes_to_reach(returns: Floats, bar: float) -> Floats:
    """Episodes until the mean over the last 100 first is at least the bar; NaN if never."""
    reached = running_means(returns) >= bar
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + float(RUNNING), np.nan)


def episodes_to_solve(run: Evidence) -> Floats:
    """Episodes until the return of a chain stays at 95 % of 11; NaN if it never does."""
    return np.array([solved_episode(row, NEAR_BEST) for row in run.returns])


def episodes_to_find(run: Evidence, share: float) -> Floats:
    """Episodes until p_N, the visits of state N, stays at a share; NaN if it never does."""
    return np.array([solved_episode(row, share) for row in run.visits["visited_last"]])


def until_end(run: Evidence, episodes: Floats) -> Sample:
    """Numbers of episodes, in which NaN (never) counts as the length of the run."""
    return sample(run, censored(episodes, run.returns.shape[1]))


def never(*of: tuple[Evidence, Floats]) -> str:
    """Says of how many seeds a number of episodes is NaN, so censored; "" if of none."""
    counts = ((run, int(np.isnan(episodes).sum())) for run, episodes in of)
    return "; ".join(
        f"{run.place}, {run.name}: {n} of {len(run.seeds)} seeds censored" for run, n in counts if n
    )


def oscillation(run: Evidence) -> Floats:
    """Mean absolute change of the return from one iteration to the next, once it has been at 95 %.

    Counted from the first iteration whose mean return is at least 95 % of 11 to the end of the run;
    NaN for a seed that has no such iteration, or fewer than 10 after it.
    """
    result = np.full(len(run.seeds), np.nan)
    for seed, curve in enumerate(run.iterations):
        reached = curve >= NEAR_BEST
        rest = curve[reached.argmax() :] if reached.any() else curve[:0]
        if len(rest) > WINDOW:
            result[seed] = np.abs(np.diff(rest)).mean()
    return result


def attainable(run: Evidence) -> float:
    """What the optimal policy earns on a chain while it explores as the algorithm does.

    DQN's training return holds random actions to the end, so that its optimal policy earns less
    than 11: at epsilon = 0.1 it is 9.7 for N = 10, 5.6 for N = 50, 2.0 for N = 100 and 0.1 for
    N = 200. VDQN's and NoisyNet's randomness is their policy, and no allowance is made for it.
    """
    return chain_return(run.n, final_epsilon(run.config))


def near_optimum(run: Evidence) -> float:
    """95 % of what is attainable on a chain."""
    return SHARE * attainable(run)


def barely(run: Evidence) -> float:
    """A tenth of the way from going left at once to what is attainable on a chain."""
    left = (run.n + 8) * REWARD_FIRST
    return left + BARELY * (attainable(run) - left)
