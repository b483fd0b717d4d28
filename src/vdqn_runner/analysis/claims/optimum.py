"""The best return of the chain, with and without epsilon-greedy exploration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REWARD_FIRST = 0.001
START = 2


def chain_return(n: int, epsilon: float = 0.0) -> float:
    """Expected undiscounted return of the policy `right` on the chain, acting epsilon-greedily.

    With probability epsilon an action is drawn uniformly from the two, so that a step goes left
    with probability epsilon / 2. Without epsilon the value is 11 for every N. Backward induction
    over the N + 9 steps, exact.

    Args:
        n: number of states, at least 3.
        epsilon: in [0, 1].
    """
    left = epsilon / 2
    value = [0.0] * (n + 1)
    for _ in range(n + 9):
        inner = [left * value[s - 1] + (1 - left) * value[s + 1] for s in range(2, n)]
        value = [0.0, REWARD_FIRST + value[1], *inner, 1.0 + value[n]]
    return value[START]


def final_epsilon(config: Mapping[str, Any]) -> float:
    """Epsilon at the end of training; 0 for an algorithm that has none.

    Args:
        config: of the run; a schedule is in its full form, or a bare number.
    """
    schedule = config["algo"].get("epsilon", 0.0)
    if not isinstance(schedule, Mapping):
        return float(schedule)
    if schedule["kind"] == "piecewise":
        return float(schedule["points"][-1][1])
    return float(schedule["value" if schedule["kind"] == "constant" else "end"])
