"""One number a seed: the return at the end of training, and over all of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vdqn_runner.analysis.load import Run
from vdqn_runner.analysis.stats import Floats, bootstrap_interval, mean

LAST_EPISODES = 100


def finished(run: Run, episodes: pd.DataFrame) -> pd.DataFrame:
    """The episodes of those seeds that have all episodes that the config asks for."""
    counts = episodes.groupby("seed")["episode"].transform("size")
    return episodes[counts >= run.episodes]


def final_returns(run: Run, episodes: pd.DataFrame) -> Floats:
    """Mean return over the last 100 episodes (all, if there are fewer): [S], finished seeds."""
    done = finished(run, episodes)
    last = done[done["episode"] >= run.episodes - LAST_EPISODES]
    return last.groupby("seed")["return"].mean().to_numpy(dtype=np.float64)


def areas(run: Run, episodes: pd.DataFrame) -> Floats:
    """Area under the training curve, divided by the number of episodes: [S], finished seeds.

    That is the mean return over all episodes, in the unit of a return.
    """
    done = finished(run, episodes)
    return done.groupby("seed")["return"].mean().to_numpy(dtype=np.float64)


def interval(values: Floats) -> tuple[float, float, float]:
    """Mean over seeds, [S], with the ends of its 95 % bootstrap interval: (mean, low, high).

    The generator's seed is fixed, so the interval does not depend on what else is shown.
    """
    low, high = bootstrap_interval(values[:, None], mean, np.random.default_rng(0))
    return float(values.mean()), float(low[0]), float(high[0])
