"""What bsuite's deep sea does, for tests/envs/test_deep_sea.py to compare with ours.

    pip install --target peer --no-deps bsuite dm_env
    PYTHONPATH=peer python scripts/bsuite_episodes.py > tests/envs/bsuite_deep_sea.json

It needs bsuite's environment alone, so none of what the package imports for its analysis.
"""

import importlib.metadata
import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np


def deep_sea() -> Any:
    """Return bsuite's module, without running the files of its packages."""
    spec = importlib.util.find_spec("bsuite")
    assert spec is not None and spec.submodule_search_locations
    top = Path(spec.submodule_search_locations[0])
    names = ("", "environments", "experiments", "experiments/deep_sea")
    for name in names:
        module = types.ModuleType(".".join(["bsuite", *name.split("/")]).rstrip("."))
        module.__path__ = [str(top / name)]
        sys.modules[module.__name__] = module
    return importlib.import_module("bsuite.environments.deep_sea")


def episodes() -> list[dict[str, Any]]:
    """Return calm episodes of seas of some sizes: actions, rewards, cells (None where all 0)."""
    found = []
    module = deep_sea()
    for size, mapping_seed in ((2, 42), (3, 7), (10, 42), (21, 0)):
        env = module.DeepSea(size, mapping_seed=mapping_seed)
        right = env._action_mapping
        rng = np.random.default_rng(size)
        for share in (0.5, 0.9, 1.0):
            best = right[np.arange(size), np.arange(size)]
            actions = np.where(rng.random(size) < share, best, 1 - best).tolist()
            steps = [env.reset(), *(env.step(action) for action in actions)]
            cells = [np.flatnonzero(step.observation).tolist() for step in steps]
            found.append(
                {
                    "size": size,
                    "mapping_seed": mapping_seed,
                    "right": ["".join(map(str, row)) for row in right.tolist()],
                    "actions": actions,
                    "rewards": [float(step.reward) for step in steps[1:]],
                    "cells": [cell[0] if cell else None for cell in cells],
                    "last": [bool(step.last()) for step in steps[1:]],
                }
            )
    return found


if __name__ == "__main__":
    version = importlib.metadata.version("bsuite")
    print(json.dumps({"bsuite": version, "episodes": episodes()}))
