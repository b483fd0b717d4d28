"""The learning rates of ``experiment=deep_exploration``: a table in ``conf/``, by system.

The experiment says ``lr: ${system_lr:}``. The number is looked up when a job is composed, by the
kind of its environment and the name of its system (see ``systems``), so the run's config.yaml
holds the number itself, and ``algo.lr=...`` replaces it.
"""

from typing import Any

from omegaconf import DictConfig, OmegaConf

from vdqn_runner.config.rates import Table, load_table
from vdqn_runner.config.systems import system_name
from vdqn_runner.errors import ConfigError

FILE = "system_lr.yaml"


def rate(table: Table, kind: str, system: str) -> float:
    """Return the learning rate that ``table`` gives a system on environments of a kind.

    Raises:
        ConfigError: The table has none.
    """
    try:
        return float(table[kind][system])
    except KeyError:
        known = ", ".join(table.get(kind, {})) or "nothing"
        raise ConfigError(
            f"algo.lr: {FILE} has no rate of {system} on env.kind={kind}, only of {known}; "
            "give algo.lr=..."
        ) from None


def register() -> None:
    """Make ``${system_lr:}`` known to OmegaConf, in this process; harmless twice."""
    OmegaConf.register_new_resolver("system_lr", _resolve, replace=True)


def _resolve(*, _root_: DictConfig) -> float:
    """Return the rate for the settings that are being composed."""
    algo: Any = _root_.algo
    # Each key by itself: the rate is what is being asked for.
    settings = {key: algo[key] for key in algo if key != "lr"}
    return rate(load_table(FILE), str(_root_.env.kind), system_name(settings))
