"""Claims 1 and 2: the classic control tasks (section "Classic Control Tasks", Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vdqn_runner.analysis.claims.evidence import Evidence, Key
from vdqn_runner.analysis.claims.measures import episodes_to_reach, never, running_means, until_end
from vdqn_runner.analysis.claims.parts import at_least, larger, sample
from vdqn_runner.analysis.claims.result import Part

# Gymnasium's reward_threshold of each task. They are written out because a claim must not move with
# the version of a package; a test compares them.
BARS = {
    "CartPole-v0": 195.0,
    "CartPole-v1": 475.0,
    "Acrobot-v1": -100.0,
    "MountainCar-v0": -110.0,
}
CARTPOLES = ("CartPole-v0", "CartPole-v1")
EARLY = 200  # episodes
APPROACH = 0.9


def control_is_solved(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """VDQN and DQN solve the control tasks.

    Paper: "Both Variational DQN and DQN can solve the four control tasks within a given number of
    iterations"

    Statistic: for each task and algorithm, the best mean training return over 100 consecutive
    episodes of the 1000, of each seed; the mean over seeds.

    Threshold: at least 195 (CartPole-v0), 475 (CartPole-v1), -100 (Acrobot-v1) and -110
    (MountainCar-v0), for each of the eight pairs.

    Reason: the paper says no number. These are the environments' own reward thresholds, which are
    defined over 100 consecutive episodes and were what "solved" meant when the paper was written.
    Training return, as in the paper's figure, holds the noise of exploration, which costs DQN with
    epsilon = 0.1 more than VDQN; the greedy policy's return is given beside it where it was
    measured.
    """
    parts = []
    for (env, _), run in runs.items():
        best = running_means(run.returns).max(axis=1)
        n = int((best >= BARS[env]).sum())
        parts.append(
            at_least(
                f"{env}, {run.name}: best mean return over 100 episodes",
                sample(run, best),
                BARS[env],
                rng,
                note=f"{n} of {len(best)} seeds solve it",
            )
        )
    return parts


def early_and_late(runs: Mapping[Key, Evidence], rng: np.random.Generator) -> list[Part]:
    """CartPole: VDQN is faster early, slower to converge.

    Paper: "On simple tasks like CartPole (Figure 2 (a) and (b)), Variational DQN makes progress
    faster than DQN but converges at a slower rate."

    Statistic: on CartPole-v0 and CartPole-v1, (a) mean training return over the first 200
    episodes, VDQN minus DQN; (b) episodes until the mean over the last 100 first is at least 90 %
    of the task's reward threshold (175.5 and 427.5), VDQN minus DQN, a seed that never gets there
    counting as 1000.

    Threshold: (a) more than 0, (b) more than 0, on both tasks.

    Reason: the sentence orders the two algorithms and gives no size, so the threshold is 0. 200
    episodes are the first fifth of the run. (b) times the approach to the best policy, because the
    paper explains it by the bonus that "hinders fast convergence on optimal strategy"; 90 %, and
    not all, of the reward threshold leaves room for the noise of exploration, so that few seeds are
    censored.
    """
    parts = []
    for env in CARTPOLES:
        vdqn, dqn = runs[env, "vdqn"], runs[env, "dqn"]
        ours, theirs = (sample(run, run.returns[:, :EARLY].mean(axis=1)) for run in (vdqn, dqn))
        name = f"{env}, VDQN - DQN: mean return, first {EARLY} episodes"
        parts.append(larger(name, ours, theirs, rng))
        times = [(run, episodes_to_reach(run.returns, APPROACH * BARS[env])) for run in (vdqn, dqn)]
        name = f"{env}, VDQN - DQN: episodes to {100 * APPROACH:g} % of the threshold"
        ours, theirs = (until_end(run, episodes) for run, episodes in times)
        parts.append(larger(name, ours, theirs, rng, note=never(*times)))
    return parts
