"""VIME, Variational Information Maximizing Exploration, for S seeds in lockstep.

(Houthooft, Chen, Duan, Schulman, De Turck and Abbeel, 2016.) The reward that is learned from is
r + eta D_KL[q(theta; phi') || q(theta; phi)]: what a transition pays, and how much it teaches a
model of the environment. Shapes: S seeds, B minibatch, P parameters of a seed's row.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Kept
from vdqn_runner.config import OptimizerConfig, VimeConfig
from vdqn_runner.divergence import not_finite
from vdqn_runner.envs import EnvSpec
from vdqn_runner.envs.spec import IntArray, RewardArray, StoredArray
from vdqn_runner.intrinsic.base import Inputs
from vdqn_runner.intrinsic.dynamics import (
    dynamics_layout,
    negative_lower_bound,
    observation_action,
)
from vdqn_runner.intrinsic.gain import information_gain
from vdqn_runner.intrinsic.means import Means
from vdqn_runner.intrinsic.medians import MedianScale
from vdqn_runner.learner import Learner
from vdqn_runner.nets import Posterior, rows_by_fan_in, softplus_inverse, uniform_rows, vectors
from vdqn_runner.normals import NormalStreams
from vdqn_runner.replay import Replay
from vdqn_runner.streams import Purpose, UniformBlocks

SAMPLES = 10
"""Samples in place of the expectation of a log-likelihood (appendix; published code)."""


class Vime:
    """A dynamics model of each seed, and what a transition would teach it."""

    def __init__(
        self,
        config: VimeConfig,
        learning_starts: int,
        seeds: Sequence[int],
        spec: EnvSpec,
        inputs: Inputs,
        device: str = "cpu",
    ) -> None:
        """Begin with the prior's sigma; ``learning_starts``: transitions before an update."""
        self._config, self._learning_starts = config, learning_starts
        self._spec, self._inputs, self._device = spec, inputs, device
        self._layout = layout = dynamics_layout(spec, config.hidden, device)
        mu = uniform_rows(
            layout, seeds, lambda n_in: n_in**-0.5, lambda n_in: n_in**-0.5, Purpose.DYNAMICS
        )
        rho_prior = softplus_inverse(config.sigma_prior)
        rho = rows_by_fan_in(layout, len(seeds), lambda n_in: rho_prior)
        self.learner = Learner({"mu": mu, "rho": rho}, OptimizerConfig(), device)
        self._posterior = Posterior(layout, self.learner.online["rho"].detach())
        self._picks = UniformBlocks(seeds, Purpose.DYNAMICS_REPLAY, config.batch_size)
        self._noise = NormalStreams.of(seeds, Purpose.DYNAMICS_NOISE, device=device)
        self._gain_noise = NormalStreams.of(seeds, Purpose.GAIN_NOISE, device=device)
        self._usual = MedianScale(len(seeds), config.window)
        self._means = {name: Means(len(seeds)) for name in ("intrinsic_reward", "dynamics_loss")}
        self._kept: dict[str, Kept] = {
            "picks": self._picks,
            "noise": self._noise,
            "gain_noise": self._gain_noise,
            "usual": self._usual,
            **self._means,
        }
        self._last: dict[str, np.ndarray] = {}

    def bonus(self, obs: StoredArray, action: IntArray, next_obs: StoredArray) -> RewardArray:
        """Return eta D_KL[q(theta; phi') || q(theta; phi)] over its usual size, ``[S]``."""
        x = self._x(obs[:, None], action[:, None]).expand(-1, SAMPLES, -1).contiguous()
        gain = information_gain(
            self.learner.online["mu"],
            self._posterior.variance,
            self._layout,
            x,
            self._vectors(next_obs[:, None]),
            self._gain_noise.draw(SAMPLES * self._layout.n_units),
            self._config.step,
        ).numpy(force=True)
        reward: RewardArray = self._config.eta * gain / self._usual.scale
        self._usual.add(gain)
        self._last = {"intrinsic_reward": reward}
        self._means["intrinsic_reward"].add(reward)
        return reward

    def learn(self, replay: Replay, step: int) -> None:
        """Take a gradient step up the lower bound, on transitions that replay holds."""
        config, held = self._config, len(replay)
        if held < self._learning_starts or step % config.train_every:
            return
        drawn = replay.equally(self._picks.draw())
        loss = negative_lower_bound(
            self.learner.online["mu"],
            self.learner.online["rho"],
            self._layout,
            self._x(drawn.obs, drawn.action),
            self._vectors(drawn.next_obs),
            self._noise.draw(config.batch_size * self._layout.n_units),
            sigma_prior=config.sigma_prior,
            held=held,
        )
        self.learner.descend(loss, np.full(len(loss), config.lr))
        self._posterior.refresh(self.learner.online["rho"])
        self._last["dynamics_loss"] = loss.numpy(force=True)
        self._means["dynamics_loss"].add(self._last["dynamics_loss"])

    def _x(self, obs: StoredArray, action: np.ndarray) -> Tensor:
        """(s, a) ``[S, B, D + A]``."""
        actions = torch.from_numpy(action.astype(np.int64)).to(self._device)
        return observation_action(self._vectors(obs), actions, self._spec.n_actions)

    def _vectors(self, obs: StoredArray) -> Tensor:
        """The vectors that the Q-network sees, ``[S, B, D]``."""
        return vectors(self._inputs(obs), self._spec.obs_dim)

    def episodes_ended(self, rows: np.ndarray) -> None:
        """Take the medians of the episodes that have ended."""
        self._usual.episodes_ended(rows)

    def figures(self, row: int) -> dict[str, float]:
        """Return the mean bonus of a step and the mean loss of an update."""
        return {name: mean.of(row) for name, mean in self._means.items()}

    def begin_log_row(self, row: int) -> None:
        """Begin the means of a seed anew."""
        for mean in self._means.values():
            mean.begin(row)

    def finite(self) -> bool:
        """Whether this step's bonuses and losses are; all parameters go into every loss."""
        return all(math.isfinite(sum(values.tolist())) for values in self._last.values())

    def not_finite(self, row: int) -> str:
        """Look at all parameters too."""
        values = {name: torch.from_numpy(v).reshape(-1, 1) for name, v in self._last.items()}
        rows = {f"dynamics_{name}": rows for name, rows in self.learner.online.items()}
        return not_finite(row, {}, self.learner.gradient_norms, values | rows)

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self.learner.select(rows)
        self._posterior = Posterior(self._layout, self.learner.online["rho"].detach())
        for kept in self._kept.values():
            kept.select(rows)
        self._last = {name: values[rows] for name, values in self._last.items()}

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed."""
        streams = {name: kept.state(row) for name, kept in self._kept.items()}
        return {"learner": self.learner.state(row), **streams}

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds."""
        self.learner.load([state["learner"] for state in states])
        self._posterior.refresh(self.learner.online["rho"])
        for name, kept in self._kept.items():
            kept.load([state[name] for state in states])
