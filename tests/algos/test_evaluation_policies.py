"""What a policy does in trials, against networks written out in float64."""

import numpy as np
import pytest
import torch
from agents import SIZES, agent, clock, normal, plain_q, set_rows, sigmas

from vdqn_runner.algos.bellman import greedy_in_trials
from vdqn_runner.algos.noise import Factorised, Independent
from vdqn_runner.layout import Layout
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

LAYOUT = Layout(SIZES)
KINDS = {
    "vdqn": {},
    "vdqn, theta for an episode": {"resample": "episode"},
    "noisynet": {},
    "noisynet, theta for an episode": {"resample": "episode"},
    "noisynet, factorised": {"noise": "factorised"},
    "noisynet, factorised, for an episode": {"noise": "factorised", "resample": "episode"},
}


def noisy(kind, sigma=0.5, seeds=(0, 1, 2)):
    algo = agent(kind.split(",")[0], seeds, **KINDS[kind])
    mu = normal(len(seeds), LAYOUT.length, seed=5, scale=0.4) * LAYOUT.mask
    if "rho" in algo.learner.online:
        set_rows(algo, "online", mu=mu, rho=float(np.log(np.expm1(sigma))))
    else:
        set_rows(algo, "online", mu=mu, sigma=sigma)
    return algo


def stream(seed=0):
    return NormalStreams.of([seed], Purpose.EVALUATION_NOISE, 10)


def policies_of(algo, row, noise):
    """The greedy policies of a seed, by name."""

    def greedy_in(q):
        return lambda obs: greedy_in_trials(q(obs))

    return {name: greedy_in(q) for name, q in algo.q_functions(row, noise).items()}


def observations(trials=4):
    return normal(1, trials, SIZES[0], seed=9)


@pytest.mark.parametrize("kind", [*KINDS, "dqn"])
def test_mean_is_greedy_in_the_seeds_own_network(engine, kind):
    if kind == "dqn":
        algo = agent("dqn", (0, 1, 2), epsilon=1.0)
        set_rows(algo, "online", theta=normal(3, LAYOUT.length, seed=5, scale=0.4))
        rows = algo.learner.online["theta"].detach()
    else:
        algo = noisy(kind)
        rows = algo.learner.online["mu"].detach()
    obs = observations(200)
    found = []
    for row in range(3):
        policies = policies_of(algo, row, stream())
        assert list(policies) == (["mean"] if kind == "dqn" else ["mean", "sample"])
        actions = policies["mean"](obs)
        assert actions.tolist() == plain_q(LAYOUT, rows[row], obs[0]).argmax(dim=1).tolist()
        assert policies["mean"](obs).tolist() == actions.tolist()
        found.append(actions.tolist())
    assert found[0] != found[1] != found[2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_under_hardly_any_sigma_is_the_mean(engine, kind):
    algo = noisy(kind, sigma=1e-7)
    policies = policies_of(algo, 1, stream())
    for seed in range(20):
        obs = normal(1, 3, SIZES[0], seed=seed)
        assert policies["sample"](obs).tolist() == policies["mean"](obs).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_fresh_at_every_step_and_in_every_trial(engine, kind):
    """Actions come as often as explicit samples say, independent over steps and trials."""
    count = 1500
    algo, row = noisy(kind), 1
    obs = observations()
    policy = policies_of(algo, row, stream())["sample"]
    taken = np.stack([policy(obs) for _ in range(count)])
    shape = Factorised() if "factorised" in kind else Independent()
    generator = torch.Generator().manual_seed(1)
    eps = shape.rows(LAYOUT, torch.randn(20_000, shape.count(LAYOUT), generator=generator)).double()
    theta = algo.learner.online["mu"][row].detach() + sigmas(algo, "online")[row] * eps
    chances = (plain_q(LAYOUT, theta, obs[0]).argmax(dim=2) == 1).double().mean(dim=0).numpy()
    assert ((chances > 0.05) & (chances < 0.95)).all()
    spread = np.sqrt(chances * (1 - chances) * (1 / count + 1 / 20_000))
    assert (np.abs(taken.mean(axis=0) - chances) < 5 * spread).all()
    limit = 5 / np.sqrt(count)
    for trial in range(obs.shape[1]):
        assert abs(np.corrcoef(taken[1:, trial], taken[:-1, trial])[0, 1]) < limit
    between = np.corrcoef(taken.T)[np.triu_indices(obs.shape[1], 1)]
    assert (np.abs(between) < limit).all()


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_named_by_their_stream_alone(kind):
    algo, obs = noisy(kind), observations()

    def taken(noise):
        policy = policies_of(algo, 0, noise)["sample"]
        return [policy(obs).tolist() for _ in range(30)]

    first = taken(stream())
    algo.begin_episodes(np.arange(3), clock(3))
    acted = algo.act(normal(3, 1, SIZES[0]), clock(3))
    assert taken(stream()) == first != taken(stream(1))
    # Acting goes on as if there had been no trials.
    other = noisy(kind)
    other.begin_episodes(np.arange(3), clock(3))
    assert other.act(normal(3, 1, SIZES[0]), clock(3)).tolist() == acted.tolist()
    for _ in range(40):
        obs = normal(3, 1, SIZES[0], seed=1)
        assert (other.act(obs, clock(3)) == algo.act(obs, clock(3))).all()


def test_policies_leave_no_graph_behind():
    algo = noisy("vdqn")
    before = algo.learner.online["mu"].detach().clone()
    for policy in policies_of(algo, 0, stream()).values():
        policy(observations())
    assert torch.equal(algo.learner.online["mu"], before)
    assert algo.learner.online["mu"].grad is None
