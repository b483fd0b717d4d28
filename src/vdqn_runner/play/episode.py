"""One greedy episode of a trained agent, step by step, with what there is to see."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from vdqn_runner.algos.base import QFunction
from vdqn_runner.algos.bellman import greedy_in_trials
from vdqn_runner.config import Env as EnvConfig
from vdqn_runner.envs import ENV_IDS, EnvSpec
from vdqn_runner.envs.making import GymEnv, make_gym_env
from vdqn_runner.errors import ConfigError
from vdqn_runner.evaluate import trial_seed
from vdqn_runner.normals import NormalStreams
from vdqn_runner.play.agent import Agent
from vdqn_runner.streams import Purpose, episode_seed
from vdqn_runner.train import inputs

Frame = npt.NDArray[np.uint8]
"""A picture, ``[H, W, 3]``."""


@dataclass(frozen=True)
class Moment:
    """An instant of an episode: the picture of it, and the return so far."""

    frame: Frame
    total: float


def q_functions(agent: Agent, episode: int) -> dict[str, QFunction]:
    """Return what the agent is greedy in, by policy, as ``evaluate`` has it after training.

    ``episode`` is how many episodes the agent was trained for.
    """
    noise = NormalStreams.of([agent.seed], Purpose.EVALUATION_NOISE, episode)
    return dict(agent.algo.q_functions(0, noise))


def moments(agent: Agent, q: QFunction, trial: int) -> Iterator[Moment]:
    """Yield the moments of one episode, the start included.

    Trial t begins as trial t of the evaluation at the end of training did.

    Raises:
        ConfigError: The environment cannot draw itself.
    """
    # Pictures are for files: no window, and no word of the library that draws them.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    env = _make(agent.config.env)
    first_action = int(getattr(env.action_space, "start", 0))
    number = trial_seed(agent.seed, agent.config.episodes, trial)
    try:
        obs, info = env.reset(seed=episode_seed(number, 0))
        total, over = 0.0, False
        yield Moment(_picture(env), total)
        while not over:
            values = q(inputs(_stored(agent.spec, obs, info), agent.spec))
            action = greedy_in_trials(values)
            obs, reward, terminated, truncated, info = env.step(int(action[0]) + first_action)
            total, over = total + float(reward), terminated or truncated
            yield Moment(_picture(env), total)
    finally:
        env.close()


def _make(config: EnvConfig) -> GymEnv:
    try:
        if config.kind == "gym":
            steps = config.max_episode_steps
            return make_gym_env(config.id, max_episode_steps=steps, render_mode="rgb_array")
        settings = config.model_dump(exclude={"kind", "gamma"})
        return make_gym_env(ENV_IDS[config.kind], **settings, render_mode="rgb_array")
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
        raise ConfigError(f"cannot be drawn: {' '.join(str(error).split())}") from error


def _picture(env: GymEnv) -> Frame:
    try:
        picture = env.render()
    except gymnasium.error.DependencyNotInstalled as error:
        hint = "pip install 'vdqn-runner[play]'"
        raise ConfigError(f"cannot be drawn: {' '.join(str(error).split())} ({hint})") from error
    if not isinstance(picture, np.ndarray):
        raise ConfigError("cannot be drawn: the environment gives no pictures")
    return picture.astype(np.uint8)


def _stored(spec: EnvSpec, obs: Any, info: dict[str, Any]) -> npt.NDArray[Any]:
    """Return the stored form of one observation, ``[1, 1, ...]``, as in training."""
    if spec.stored_shape == ():
        return np.array([[info["state"]]], spec.stored_dtype)
    return np.asarray(obs, np.float32).reshape(1, 1, -1)
