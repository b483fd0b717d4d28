"""Short names of learning systems: an algorithm with its options, learning rates left out."""

from collections.abc import Mapping
from typing import Any

_BASE = {
    "dqn": "DQN",
    "vdqn": "VDQN",
    "noisynet": "NoisyNet",
    "bootstrapped": "Bootstrapped DQN",
    "bbq": "BBQ network",
    "variational": "VI",
}


def system_name(algo: Mapping[str, Any]) -> str:
    """Return what the settings of an algorithm are called: ``Double VDQN``, ``DQN``.

    Args:
        algo: As in a run's config.yaml; keys that are left out are at their defaults.
    """
    network, replay = algo.get("network") or {}, algo.get("replay") or {}
    name = str(algo["name"])
    words = [
        *(["Double"] if algo.get("double") else []),
        *(["dueling"] if network.get("dueling") else []),
        *(["prioritised"] if replay.get("alpha") else []),
        _BASE.get(name, name),
        *(["with factorised noise"] if algo.get("noise") == "factorised" else []),
        *(["with priors"] if algo.get("prior_scale") else []),
        *(["with spikes"] if algo.get("spike_episodes") else []),
        *(["with VIME"] if (algo.get("vime") or {}).get("eta") else []),
    ]
    text = " ".join(words)
    return text[0].upper() + text[1:]
