"""What makes a figure again: the commands that train, pack and draw its runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.load import Run
from vdqn_runner.analysis.paper.product import Product
from vdqn_runner.analysis.paper.selection import ABLATION, LAMBDA, MAP_IS_DQN, PAPER
from vdqn_runner.analysis.paper.specs import Spec

_OUT = Path("runs")  # where `vdqn-run` puts runs unless told otherwise
_LEVELS = 4  # of a run's folder: name, environment, algorithm, hash


def making(spec: Spec, product: Product, drawing: str) -> str:
    """Return one line that makes a figure from nothing, where its runs lie now.

    Runs that are packed are trained in `runs` and packed from there.

    Args:
        spec: what the figure is.
        product: what it shows.
        drawing: the command that draws it once the runs are there.
    """
    return " && ".join([*dict.fromkeys(_steps(spec, product)), drawing])


def _steps(spec: Spec, product: Product) -> Iterator[str]:
    names: dict[tuple[Path, bool], set[str]] = {}
    for run in (loaded.run for loaded in product.runs):
        names.setdefault((_root(run), run.packed), set()).add(run.name)
    for (root, packed), here in names.items():
        out = [] if packed or root == _OUT else [f"out={root}"]
        for training in training_commands(spec, product):
            yield " ".join([training, *map(shlex.quote, out)])
        if packed:
            trained = shlex.join(str(_OUT / name) for name in sorted(here))
            yield f"vdqn-pack {trained} -o {shlex.quote(str(root))}"


def training_commands(spec: Spec, product: Product) -> Sequence[str]:
    """Return what trains the runs of a figure, nothing said of where.

    Runs of another name than the experiment's are taken to have been asked for with overrides.
    """
    own = {PAPER, LAMBDA, ABLATION, MAP_IS_DQN}
    names = {loaded.run.name for loaded in product.runs}
    if names <= own or len(names) > 1:
        return spec.training
    n_seeds = max(int(loaded.episodes["seed"].nunique()) for loaded in product.runs)
    episodes = {loaded.run.episodes for loaded in product.runs}
    more = [f"name={names.pop()}", f"n_seeds={n_seeds}"]
    more += [f"episodes={count}" for count in episodes] if len(episodes) == 1 else []
    return [" ".join([command, *more]) for command in spec.training]


def _root(run: Run) -> Path:
    """Return the folder in which `<name>/<env>/<algo>/<hash>` is the run."""
    parents = run.path.parents
    return parents[_LEVELS - 1] if len(parents) >= _LEVELS else run.path.resolve().parents[3]
