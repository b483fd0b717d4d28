"""Small agents, minibatches and the sampling of their losses by writing weights out."""

from dataclasses import replace

import numpy as np
import torch
from torch.distributions import Normal

from vdqn_runner.algos import make_algorithm
from vdqn_runner.algos.base import Batch, Clock, Context
from vdqn_runner.config import build
from vdqn_runner.layout import Layout

SIZES = (3, 6, 5, 2)


def agent(name, seeds=(0,), sizes=SIZES, **settings):
    config = build(
        {"episodes": 1, "env": {"kind": "chain", "n": 5}, "algo": settings | {"name": name}}
    )
    layout = Layout(sizes, heads=config.algo.n_heads, dueling=config.algo.network.dueling)
    return make_algorithm(config.algo, Context(list(seeds), layout))


def clock(n_seeds=1, step=0, episodes=0):
    return Clock(step, np.full(n_seeds, episodes))


def normal(*shape, seed=0, scale=1.0):
    values = np.random.default_rng(seed).normal(0.0, scale, shape)
    return torch.from_numpy(values.astype(np.float32))


def minibatch(
    n_seeds=1,
    size=8,
    sizes=SIZES,
    seed=0,
    terminal=None,
    reward=None,
    repeat=False,
    gamma=0.9,
    states=False,
):
    """A random minibatch; with ``repeat`` all seeds have the first one's.

    With ``states`` observations are numbers, seen as thermometers.
    """
    rng = np.random.default_rng(seed)
    shape = (1 if repeat else n_seeds, size)
    ends = rng.random(shape) < 0.3 if terminal is None else np.full(shape, terminal)
    rewards = rng.normal(size=shape) if reward is None else np.full(shape, reward)

    def spread(values, dtype):
        tensor = torch.from_numpy(np.asarray(values)).to(dtype)
        return tensor.expand(n_seeds, *tensor.shape[1:]).contiguous()

    def observations():
        if states:
            return spread(rng.integers(0, sizes[0] + 1, shape), torch.int32)
        return spread(rng.normal(size=(*shape, sizes[0])), torch.float32)

    return Batch(
        obs=observations(),
        action=spread(rng.integers(0, sizes[-1], shape), torch.int64),
        reward=spread(rewards, torch.float32),
        discount=spread(gamma * (1.0 - ends), torch.float32),
        next_obs=observations(),
        weight=torch.ones(n_seeds, size),
        number=np.tile(np.arange(size), (n_seeds, 1)),
        held=size,
    )


def equal_tuples(n_seeds, size, sizes=SIZES, **settings):
    """A minibatch of one tuple, ``size`` times over."""
    one = minibatch(n_seeds, 1, sizes, repeat=True, **settings)
    tensors = {k: v for k, v in vars(one).items() if isinstance(v, torch.Tensor)}
    wide = {k: v.expand(-1, size, *v.shape[2:]).contiguous() for k, v in tensors.items()}
    return replace(one, **wide, number=np.repeat(one.number, size, axis=1), held=size)


def of_seeds(batch, rows):
    """The part of a minibatch that belongs to these seeds."""
    parts = {k: v[rows] for k, v in vars(batch).items() if k != "held"}
    return replace(batch, **parts)


def set_rows(algo, group, **values):
    """Fill online or target rows of all seeds; ``values`` are numbers or rows."""
    with torch.no_grad():
        for name, value in values.items():
            getattr(algo.learner, group)[name][:] = value
    algo.online_changed()
    algo.target_changed()


def sigmas(algo, group):
    """Standard deviations of all weights."""
    rows = getattr(algo.learner, group)
    return (
        torch.nn.functional.softplus(rows["rho"].detach())
        if "rho" in rows
        else rows["sigma"].detach()
    )


def gradients(algo, batch, at=None):
    """The gradient of the sum of all seeds' losses, by name."""
    loss = algo.loss(batch, at or clock(len(batch.obs)))
    online = algo.learner.online
    return dict(
        zip(online, torch.autograd.grad(loss.total.sum(), list(online.values())), strict=True)
    )


def unpacked(layout, row):
    """Weights and biases of rows [..., P], in float64."""
    pairs = []
    for (n_in, n_out), at_w, at_b in zip(
        layout.shapes, layout.weight_at, layout.bias_at, strict=True
    ):
        weight = row[..., at_w : at_w + n_in * n_out].reshape(*row.shape[:-1], n_in, n_out)
        pairs.append((weight.double(), row[..., at_b : at_b + n_out].double()))
    return pairs


def plain_q(layout, theta, x):
    """Q-values [..., B, A] of written-out weights theta [..., P] at ``x`` [..., B, in]."""
    h = x.double()
    pairs = unpacked(layout, theta)
    for i, (weight, bias) in enumerate(pairs):
        h = h @ weight + bias.unsqueeze(-2)
        if i < len(pairs) - 1:
            h = torch.relu(h)
    return h


def pick(q, action):
    return q.gather(-1, action.unsqueeze(-1)).squeeze(-1)


def sampled_errors(layout, online, target, batch, count, per_tuple, seed=0, targets=True):
    """Errors Q_theta - d [count, B] of the first seed with explicit theta and theta^-.

    ``online`` and ``target`` are (mu [P], sigma [P]); differentiable with respect to them.
    ``per_tuple``: whether Q has its own theta for each tuple; ``targets`` the same for d.
    """
    torch.manual_seed(seed)
    size = batch.obs.shape[1]

    def q(rows, x, own):
        theta = Normal(*rows).rsample((count, size if own else 1))
        x = x[0].expand(count, size, -1)
        return (
            plain_q(layout, theta, x.unsqueeze(2)).squeeze(2)
            if own
            else plain_q(layout, theta.squeeze(1), x)
        )

    with torch.no_grad():
        best = q(target, batch.next_obs, targets).amax(dim=-1)
        d = batch.reward[0] + batch.discount[0] * best
    return pick(q(online, batch.obs, per_tuple), batch.action[0].expand(count, size)) - d
