"""The published VDQN procedure, written out in eager torch for one seed.

What the paper's published code does at every step, with no shortcut: weights are drawn as
``theta = mu + softplus(rho) * eps``, anew for each action; one theta serves the whole minibatch
of an update; each of its 64 tuples has a target network of its own, drawn from the target
posterior; the loss is the KL divergence with sigma_noise = 0.1 (lambda = 0.02), by autograd;
Adam; a minibatch without repetition. The 64 target networks are evaluated as one batched
product, which is kinder than one after another.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from scripts.bench.work import (
    BATCH,
    LEARNING_STARTS,
    LR,
    REPLAY,
    TARGET_PERIOD,
    Contestant,
    gamma,
    make_gym,
)

SIGMA_INIT = 0.017
SIGMA_NOISE = 0.1


class Posterior:
    """A Gaussian on the weights ``[in, out]`` and biases ``[out]`` of an MLP, layer by layer."""

    def __init__(self, sizes: Sequence[int], generator: torch.Generator) -> None:
        self._generator = generator
        self.mu, self.rho = [], []
        rho = float(np.log(np.expm1(SIGMA_INIT)))
        for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True):
            bound = (3.0 / n_in) ** 0.5
            weight = (torch.rand(n_in, n_out, generator=generator) * 2.0 - 1.0) * bound
            for mu in (weight, torch.zeros(n_out)):
                self.mu.append(mu.requires_grad_())
                self.rho.append(torch.full_like(mu, rho).requires_grad_())

    def draw(self, count: int) -> list[Tensor]:
        """Return ``count`` independent networks: weights [count, in, out], biases [count, out]."""
        return [
            mu + softplus(rho) * torch.randn((count, *mu.shape), generator=self._generator)
            for mu, rho in zip(self.mu, self.rho, strict=True)
        ]

    def entropy(self) -> Tensor:
        """Return the sum of log sigma, which is the entropy up to a constant."""
        return torch.stack([softplus(rho).log().sum() for rho in self.rho]).sum()

    def copy_from(self, other: "Posterior") -> None:
        """Take the other's parameters."""
        with torch.no_grad():
            for mine, its in zip([*self.mu, *self.rho], [*other.mu, *other.rho], strict=True):
                mine.copy_(its)


def q_values(theta: Sequence[Tensor], x: Tensor) -> Tensor:
    """Return Q-values [C, B, A] of ``C`` networks, each at its own inputs ``x`` [C, B, in]."""
    h = x
    for i in range(0, len(theta), 2):
        h = torch.baddbmm(theta[i + 1].unsqueeze(1), h, theta[i])
        if i < len(theta) - 2:
            h = h.relu()
    return h


def targets(
    posterior: Posterior, reward: Tensor, terminal: Tensor, next_obs: Tensor, discount: float
) -> Tensor:
    """Return d [B]: d_j = r_j + gamma (1 - terminal_j) max_a Q_{theta_j^-}(s'_j, a)."""
    with torch.no_grad():
        theta = posterior.draw(len(next_obs))
        q_next = q_values(theta, next_obs.unsqueeze(1)).squeeze(1)
        return reward + discount * (1.0 - terminal) * q_next.amax(dim=1)


def kl(posterior: Posterior, theta: Sequence[Tensor], obs: Tensor, action: Tensor, d: Tensor):
    """Return sum_j (Q_theta(s_j, a_j) - d_j)^2 / (2 sigma_noise^2) - H(q_phi) for one ``theta``."""
    q = q_values(theta, obs.unsqueeze(0)).squeeze(0)
    error = q.gather(1, action.unsqueeze(1)).squeeze(1) - d
    return error.square().sum() / (2.0 * SIGMA_NOISE**2) - posterior.entropy()


class Agent:
    """Both posteriors, Adam and the replay."""

    def __init__(self, sizes: Sequence[int], discount: float, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.online = Posterior(sizes, generator)
        self.target = Posterior(sizes, generator)
        self.target.copy_from(self.online)
        self._adam = torch.optim.Adam([*self.online.mu, *self.online.rho], lr=LR)
        self._discount = discount
        self._picks = random.Random(seed)
        self._obs = np.zeros((2, REPLAY, sizes[0]), np.float32)
        self._action = np.zeros(REPLAY, np.int64)
        self._reward = np.zeros(REPLAY, np.float32)
        self._terminal = np.zeros(REPLAY, np.float32)
        self.count = 0

    def act(self, obs: np.ndarray) -> int:
        """Return the greedy action of a network drawn for this step alone."""
        with torch.no_grad():
            x = torch.from_numpy(np.asarray(obs, np.float32)).reshape(1, 1, -1)
            return int(q_values(self.online.draw(1), x).argmax())

    def store(self, obs: Any, action: int, reward: float, terminal: bool, next_obs: Any) -> None:
        """Note a transition."""
        at = self.count % REPLAY
        self._obs[0, at], self._obs[1, at] = obs, next_obs
        self._action[at], self._reward[at], self._terminal[at] = action, reward, terminal
        self.count += 1

    def update(self) -> None:
        """Take one gradient step."""
        at = np.array(self._picks.sample(range(min(self.count, REPLAY)), BATCH))
        obs, next_obs = (torch.from_numpy(side[at]) for side in self._obs)
        reward, terminal = torch.from_numpy(self._reward[at]), torch.from_numpy(self._terminal[at])
        d = targets(self.target, reward, terminal, next_obs, self._discount)
        action = torch.from_numpy(self._action[at])
        loss = kl(self.online, self.online.draw(1), obs, action, d)
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()


def make(task: Contestant) -> Callable[[int], None]:
    """Return a function that takes so many steps."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    env = make_gym(task.env)
    n_obs, n_actions = env.observation_space.shape[0], int(env.action_space.n)
    agent = Agent([n_obs, task.width, task.width, n_actions], gamma(task.env))
    obs, _ = env.reset(seed=0)
    steps_taken = 0

    def advance(steps: int) -> None:
        nonlocal obs, steps_taken
        for _ in range(steps):
            action = agent.act(obs)
            next_obs, reward, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
            agent.store(obs, action, float(reward), ended, next_obs)
            obs = env.reset()[0] if ended else next_obs
            steps_taken += 1
            if steps_taken >= LEARNING_STARTS:
                agent.update()
            if steps_taken % TARGET_PERIOD == 0:
                agent.target.copy_from(agent.online)

    return advance
