"""The learning rates of the experiments: a table in ``conf/``, read by an OmegaConf resolver.

An experiment says ``lr: ${paper_lr:${env},${algo.name}}``. The number is looked up when a job is
composed, so the run's config.yaml holds the number itself, and ``algo.lr=...`` replaces it.
"""

from collections.abc import Iterable
from typing import Any

from omegaconf import DictConfig, OmegaConf

from vdqn_runner.config.rates import Table, load_table
from vdqn_runner.errors import ConfigError

FILE = "paper_lr.yaml"


def nearest_on_log_scale(n: int, tuned: Iterable[int]) -> int:
    """Return the one of ``tuned`` whose logarithm is closest to that of ``n``.

    All are at least 1; of two that are equally far the smaller one is taken.
    """
    # Ratios order as distances of logarithms do, and tell a tie, which rounded logarithms do not.
    return min(sorted(tuned), key=lambda k: max(n, k) / min(n, k))


def rate(table: Table, env: str, n: int | None, algo: str) -> float:
    """Return the learning rate that ``table`` gives an algorithm on an environment.

    Args:
        table: Rates by label of the environment (``chain-32``, ``CartPole-v1``) and algorithm.
        env: The environment's id; not looked at where ``n`` is given.
        n: Number of states of a chain, None for any other environment.
        algo: Name of the algorithm.

    Raises:
        ConfigError: The table has no rate for them.
    """
    row = f"chain-{nearest_on_log_scale(n, tuned_chains(table))}" if n is not None else env
    try:
        return float(table[row][algo])
    except KeyError:
        known = ", ".join(row for row in table if algo in table[row]) or "nothing"
        raise ConfigError(
            f"algo.lr: {FILE} has no rate of {algo} for {env}, only for {known}; give algo.lr=..."
        ) from None


def tuned_chains(table: Table) -> list[int]:
    """Return the numbers of states of the chains in a table."""
    return [int(row.removeprefix("chain-")) for row in table if row.startswith("chain-")]


def register() -> None:
    """Make ``${paper_lr:<env>,<algo>}`` known to OmegaConf, in this process; harmless twice."""
    OmegaConf.register_new_resolver("paper_lr", _resolve, replace=True)


def _resolve(env: DictConfig, algo: str) -> float | None:
    """Return the rate for composed settings; None where the checks will refuse ``env``."""
    settings: Any = OmegaConf.to_container(env, resolve=True)
    table = load_table(FILE)
    if settings.get("kind") == "chain":
        n = settings.get("n")
        return rate(table, "chain", n, algo) if isinstance(n, int) and n > 0 else None
    name = settings.get("id")
    return rate(table, name, None, algo) if isinstance(name, str) and name != "???" else None
