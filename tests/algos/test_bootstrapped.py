"""Bootstrapped DQN: heads, masks and priors, against plain torch and exact chances."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from agents import agent, clock, gradients, minibatch, normal, pick, plain_q
from scipy import stats

from vdqn_runner.algos.heads import HeadEachEpisode, Masks
from vdqn_runner.layout import Layout
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

K, SIZES = 4, (3, 6, 5, 2)


def diverged(seeds=(0, 1), **settings):
    """An agent whose target differs from its network."""
    algo = agent("bootstrapped", seeds, SIZES, **({"heads": K} | settings))
    length, mask = algo._layout.length, algo._layout.mask
    with torch.no_grad():
        algo.learner.target["theta"] += normal(len(seeds), length, seed=5, scale=0.5) * mask
    return algo


def plain_heads(algo, theta, k, x):
    """Q [B, K, A] of seed k's network ``theta`` [P] with its prior, in float64."""
    q = plain_q(algo._layout, theta, x)
    q = q + algo._config.prior_scale * plain_q(algo._layout, algo._prior.rows[k], x)
    return q.reshape(len(x), K, 2)


def plain_loss(algo, batch, masks):
    """The loss [S] head by head, and the gradient, in float64."""
    theta = algo.learner.online["theta"].detach().double().requires_grad_()
    losses = []
    for k in range(len(batch.obs)):
        target = algo.learner.target["theta"][k].double()
        q = plain_heads(algo, theta[k], k, batch.obs[k])
        q_next = plain_heads(algo, target, k, batch.next_obs[k])
        chooser = theta[k].detach() if algo._config.double else target
        best = plain_heads(algo, chooser, k, batch.next_obs[k]).argmax(dim=2)
        total = 0.0
        for head in range(K):
            d = batch.reward[k] + batch.discount[k] * pick(q_next[:, head], best[:, head])
            error = pick(q[:, head], batch.action[k]) - d
            total = total + (batch.weight[k] * masks[k, :, head] * error.square()).mean() / K
        losses.append(total)
    total = torch.stack(losses)
    return total.detach(), torch.autograd.grad(total.sum(), theta)[0]


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("prior_scale", [0.0, 3.0])
@pytest.mark.parametrize("mask_probability", [0.4, 1.0])
def test_every_head_has_targets_of_its_own(engine, mask_probability, prior_scale, double):
    settings = {"mask_probability": mask_probability, "prior_scale": prior_scale, "double": double}
    algo, batch = diverged(**settings), minibatch(2, 32)
    batch.weight[:, ::3] = 0.25
    masks = torch.from_numpy(algo._masks.of(batch.number)).double()
    assert (masks.mean() < 0.6) == (mask_probability < 1)
    total, gradient = plain_loss(algo, batch, masks)
    loss = algo.loss(batch, clock(2))
    assert set(loss.reported) == set(algo.reported)
    torch.testing.assert_close(loss.total.detach().double(), total, rtol=1e-4, atol=1e-5)
    got = gradients(algo, batch)["theta"].double()
    torch.testing.assert_close(got, gradient, rtol=1e-3, atol=1e-4)


def test_one_head_that_learns_from_all_is_dqn():
    """The same first weights, the same losses and steps."""
    one = agent("bootstrapped", (0, 1), SIZES, heads=1, mask_probability=1.0)
    dqn = agent("dqn", (0, 1), SIZES)
    dqn._compiled = None
    for step in range(4):
        batch = minibatch(2, 16, seed=step)
        figures = [
            algo.update(batch, clock(2, step), np.full(2, 0.01)).figures for algo in (one, dqn)
        ]
        for name in ("loss", "bellman_error", "q_mean"):
            np.testing.assert_allclose(figures[0][name], figures[1][name], rtol=1e-5)
        assert (figures[0]["q_spread"] == 0).all()
    torch.testing.assert_close(
        one.learner.online["theta"], dqn.learner.online["theta"], rtol=1e-4, atol=1e-6
    )


def test_a_prior_is_fixed_and_not_the_network():
    algo = diverged(prior_scale=2.0)
    before = algo._prior.rows.clone()
    start = algo.learner.online["theta"].detach().clone()
    assert not torch.allclose(before, start)
    for step in range(3):
        algo.update(minibatch(2, 16, seed=step), clock(2, step), np.full(2, 0.1))
    assert torch.equal(algo._prior.rows, before)
    assert not torch.allclose(algo.learner.online["theta"].detach(), start)
    again = diverged((1,), prior_scale=2.0)
    assert torch.equal(again._prior.rows[0], before[1])


def test_heads_that_learn_from_nothing_keep_their_weights():
    """A mask keeps a head's last layer where it is."""
    algo, batch = diverged(), minibatch(2, 8)
    algo._masks.of = lambda number: (
        np.array([True, False, False, True]) & np.ones((*number.shape, K), bool)
    )
    gradient = gradients(algo, batch)["theta"]
    last = algo._layout.layers(gradient)[-1].weight.reshape(2, 5, K, 2)
    assert (last[:, :, [1, 2]] == 0).all()
    assert (last[:, :, [0, 3]] != 0).any(dim=1).any(dim=-1).all()


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_masks_are_independent_coins(p):
    masks = Masks([3, 4], 10, p)
    found = masks.of(np.tile(np.arange(5000), (2, 1)))
    assert found.shape == (2, 5000, 10)
    for coins in (found.reshape(-1), *found):
        assert stats.binomtest(int(coins.sum()), coins.size, p).pvalue > 1e-4
    # Between seeds, heads and transitions.
    centred = found - p
    bound = 5 * p * (1 - p)
    assert abs((centred[0] * centred[1]).mean()) < bound / 50_000**0.5
    for i in range(9):
        assert abs((centred[..., i] * centred[..., i + 1]).mean()) < bound / 10_000**0.5
    assert abs((centred[:, 1:] * centred[:, :-1]).mean()) < bound / 100_000**0.5


def test_a_mask_belongs_to_the_transition_for_good():
    masks, number = Masks([0, 7, 9], 6, 0.5), np.array([[0, 5, 5], [10**9, 2, 7], [1, 1, 0]])
    found = masks.of(number)
    assert np.array_equal(found[0, 1], found[0, 2]) and np.array_equal(found[2, 0], found[2, 1])
    assert np.array_equal(Masks([7], 6, 0.5).of(number[1:2])[0], found[1])
    masks.select(np.array([2, 1]))
    assert np.array_equal(masks.of(number[[2, 1]]), found[[2, 1]])


def test_one_head_acts_throughout_an_episode_and_all_equally_often():
    heads = HeadEachEpisode([5, 6], K)
    seen = np.zeros((2, 4000), np.int64)
    for episode in range(4000):
        heads.begin_episodes(np.array([0, 1]), clock(2, episodes=episode))
        seen[:, episode] = heads.acting
    for row in range(2):
        assert stats.chisquare(np.bincount(seen[row], minlength=K)).pvalue > 1e-3
    assert stats.chisquare(np.bincount(K * seen[0] + seen[1], minlength=K * K)).pvalue > 1e-3
    alone = HeadEachEpisode([6], K)
    alone.begin_episodes(np.array([0]), clock(1, episodes=17))
    assert alone.acting[0] == seen[1, 17]


def test_acts_by_the_head_of_the_episode():
    algo = diverged(prior_scale=1.0)
    obs = normal(2, 1, 3, seed=3)
    theta = algo.learner.online["theta"].detach()
    for episode in range(30):
        algo.begin_episodes(np.array([0, 1]), clock(2, episodes=episode))
        taken = algo.act(obs, clock(2, episodes=episode))
        for k in range(2):
            q = plain_heads(algo, theta[k], k, obs[k])[0, algo._heads.acting[k]]
            assert taken[k] == int(q.argmax())


def test_evaluates_the_mean_of_the_heads_and_heads_at_random():
    algo = diverged(prior_scale=1.0)
    theta = algo.learner.online["theta"].detach()
    obs = normal(1, 500, 3, seed=3)[:, :1].expand(1, 500, 3).contiguous()
    noise = NormalStreams.of([1], Purpose.EVALUATION_NOISE, 0)
    found = algo.q_functions(1, noise)
    wanted = plain_heads(algo, theta[1], 1, obs[0, :1])[0]
    torch.testing.assert_close(
        found["mean"](obs)[0, 0].double(), wanted.mean(dim=0), rtol=1e-4, atol=1e-4
    )
    counts = np.zeros(K)
    for _ in range(8):
        q = found["sample"](obs)[0].double()
        near = (q[:, None] - wanted).abs().amax(dim=2)
        assert (near.min(dim=1).values < 1e-4).all()
        counts += np.bincount(near.argmin(dim=1), minlength=K)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_spread_is_the_deviation_between_heads():
    algo, batch = diverged(), minibatch(2, 8)
    theta = algo.learner.online["theta"].detach()
    reported = algo.loss(batch, clock(2)).reported["q_spread"]
    for k in range(2):
        q = plain_heads(algo, theta[k], k, batch.obs[k])
        taken = q[torch.arange(8), :, batch.action[k]].numpy()
        assert float(reported[k]) == pytest.approx(taken.std(axis=1).mean(), rel=1e-4)


def test_errors_by_which_replay_may_be_prioritised_are_means_over_heads():
    algo, batch = diverged(), minibatch(2, 8)
    errors = algo.loss(batch, clock(2)).errors
    far = replace(batch, reward=batch.reward + 100.0)
    assert errors.shape == (2, 8) and (errors >= 0).all()
    torch.testing.assert_close(
        algo.loss(far, clock(2)).errors, torch.full((2, 8), 100.0), rtol=0.1, atol=10.0
    )


def test_the_network_has_a_head_for_each():
    assert diverged()._layout.sizes == (3, 6, 5, 2 * K)
    assert Layout(SIZES, heads=K).n_actions == 2
