"""One file per algorithm: how it acts, what its loss is, which extra state it keeps."""

from typing import Any

from vdqn_runner.algos.base import Algorithm, Context
from vdqn_runner.algos.bbq import BBQ
from vdqn_runner.algos.bootstrapped import Bootstrapped
from vdqn_runner.algos.dqn import DQN
from vdqn_runner.algos.noisynet import NoisyNet
from vdqn_runner.algos.variational import Variational
from vdqn_runner.algos.vdqn import VDQN

ALGORITHMS: dict[str, Any] = {
    "vdqn": VDQN,
    "dqn": DQN,
    "noisynet": NoisyNet,
    "bootstrapped": Bootstrapped,
    "bbq": BBQ,
    "variational": Variational,
}


def make_algorithm(config: Any, context: Context) -> Algorithm:
    """Return the algorithm that ``config.name`` names."""
    algorithm: Algorithm = ALGORITHMS[config.name](config, context)
    return algorithm
