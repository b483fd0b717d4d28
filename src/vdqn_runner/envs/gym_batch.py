"""S gymnasium environments in lockstep, one a seed."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from vdqn_runner.envs.making import GymEnv, make_gym_env
from vdqn_runner.envs.spec import BoolArray, EnvSpec, IntArray, StepResult, StoredArray
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.streams import episode_seed


def make_gym_envs(env_id: str, count: int, max_episode_steps: int | None) -> list[GymEnv]:
    """Make ``count`` environments of this id.

    Args:
        env_id: A gymnasium id; ``module:id`` imports the module that registers it first.
        count: How many, at least 1.
        max_episode_steps: Replaces the id's own time limit; None keeps it.

    Raises:
        ConfigError: The id is unknown, the environment cannot be made (a package that it needs is
            missing, say), its observation is not a Box or its actions are not Discrete.
    """
    try:
        envs = [make_gym_env(env_id, max_episode_steps=max_episode_steps) for _ in range(count)]
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
        raise ConfigError(f"env.id={env_id!r}: {' '.join(str(error).split())}") from error
    observations, actions = envs[0].observation_space, envs[0].action_space
    problem = None
    if not isinstance(observations, gymnasium.spaces.Box):
        problem = f"its observation is a {type(observations).__name__}"
    elif not isinstance(actions, gymnasium.spaces.Discrete):
        problem = f"its action is a {type(actions).__name__}"
    if problem is not None:
        for env in envs:
            env.close()
        allowed = "allowed are a Box observation and Discrete actions"
        raise ConfigError(f"env.id={env_id!r}: {problem}; {allowed}")
    return envs


class GymBatch:
    """An ``EnvBatch`` of gymnasium environments; stored observations are float32 [S, d].

    A Box observation of any shape and dtype is flattened and cast to float32. Episode e of seed k
    starts with ``env.reset(seed=episode_seed(k, e))``, so where a row stands is given by its
    episode's number and the actions taken in it: that is what is saved, and it is loaded by
    playing the actions again. It works for every environment that is deterministic given its
    seed, takes as long as the episode did, and stores one integer a step of one episode.
    """

    def __init__(
        self, env_id: str, seeds: Sequence[int], max_episode_steps: int | None = None
    ) -> None:
        """Make one environment a seed.

        Args:
            env_id: A gymnasium id.
            seeds: The seed of each row, at least one.
            max_episode_steps: Replaces the id's own time limit; None keeps it.

        Raises:
            ConfigError: The id cannot be made, or has other spaces than Box and Discrete.
        """
        self._envs = make_gym_envs(env_id, len(seeds), max_episode_steps)
        self._id, self._max_episode_steps = env_id, max_episode_steps
        observations, actions = self._envs[0].observation_space, self._envs[0].action_space
        # For the type checker: make_gym_envs has refused everything else.
        assert isinstance(observations, gymnasium.spaces.Box)
        assert isinstance(actions, gymnasium.spaces.Discrete)
        registered = self._envs[0].spec
        self._dim = int(np.prod(observations.shape))
        self.spec = EnvSpec(
            obs_dim=self._dim,
            n_actions=int(actions.n),
            stored_shape=(self._dim,),
            stored_dtype=np.dtype(np.float32),
            max_episode_steps=None if registered is None else registered.max_episode_steps,
            extra_columns=(),
            label=env_id.replace("/", "-").replace(":", "-"),
        )
        self._first_action = int(actions.start)
        self._seeds = list(seeds)
        self._episode = [-1] * len(seeds)
        self._actions: list[list[int]] = [[] for _ in seeds]
        self._running = [False] * len(seeds)
        self._obs = np.zeros((len(seeds), self._dim), np.float32)

    def fresh(self, seeds: Sequence[int]) -> "GymBatch":
        """Make the same environment anew, once for each of these seeds."""
        return GymBatch(self._id, seeds, self._max_episode_steps)

    def reset(self, rows: IntArray) -> None:
        """Start the next episode of these rows, each with its own seed."""
        for row in rows.tolist():
            self._start(row, self._episode[row] + 1)

    def observe(self) -> StoredArray:
        """Return the current observations, float32 [S, d], as a copy."""
        return self._obs.copy()

    def step(self, actions: IntArray) -> StepResult:
        """Take one step in every row; ``actions`` [S] are in 0 .. n_actions - 1.

        Raises:
            RuntimeError: A row's episode is over, or was never started.
        """
        if not all(self._running):
            idle = [row for row, running in enumerate(self._running) if not running]
            raise RuntimeError(f"no running episode in rows {idle}")
        size = len(self._envs)
        reward = np.empty(size)
        terminated = np.empty(size, np.bool_)
        truncated = np.empty(size, np.bool_)
        for row, action in enumerate(actions.tolist()):
            reward[row], terminated[row], truncated[row] = self._advance(row, action)
        return StepResult(self._obs.copy(), reward, terminated, truncated)

    def best_actions(self) -> None:
        """Return None: nobody knows."""

    def extras(self) -> dict[str, BoolArray]:
        """Return an empty dict: there are no extra columns."""
        return {}

    def select(self, rows: IntArray) -> None:
        """Keep only these rows (all different), in this order, and close the others.

        Raises:
            ValueError: A row is named twice.
        """
        kept: list[int] = rows.tolist()
        if len(set(kept)) < len(kept):
            # One environment cannot be two rows: each would step the other.
            raise ValueError(f"rows {kept} are not all different")
        for row in set(range(len(self._envs))) - set(kept):
            self._envs[row].close()
        self._envs = [self._envs[row] for row in kept]
        self._seeds = [self._seeds[row] for row in kept]
        self._episode = [self._episode[row] for row in kept]
        self._actions = [self._actions[row] for row in kept]
        self._running = [self._running[row] for row in kept]
        self._obs = self._obs[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return the row's episode number, its actions so far and the observation they led to."""
        return {
            "episode": self._episode[row],
            "actions": list(self._actions[row]),
            "running": self._running[row],
            "observation": self._obs[row].tolist(),
        }

    def load_state(self, row: int, state: Mapping[str, Any]) -> None:
        """Play the stored episode again, up to where ``state`` was taken.

        Raises:
            RunError: That led elsewhere, so the environment is not deterministic given its seed.
        """
        self._episode[row] = state["episode"]
        self._actions[row] = []
        self._running[row] = False
        self._obs[row] = 0.0
        if state["episode"] >= 0:
            self._start(row, state["episode"])
        for action in state["actions"]:
            if self._running[row]:
                self._advance(row, action)
        stored = np.array(state["observation"], np.float32)
        if (
            self._actions[row] != list(state["actions"])
            or self._running[row] != state["running"]
            or self._obs[row].tobytes() != stored.tobytes()
        ):
            raise RunError(
                f"{self.spec.label}, seed {self._seeds[row]}: playing episode {state['episode']} "
                f"again ({len(state['actions'])} steps) led to another observation; this "
                "environment is not deterministic given its seed, so a run of it cannot be "
                "resumed: remove this seed's folder to start it again"
            )

    def close(self) -> None:
        """Close every environment."""
        for env in self._envs:
            env.close()

    def _start(self, row: int, episode: int) -> None:
        observation, _ = self._envs[row].reset(seed=episode_seed(self._seeds[row], episode))
        self._obs[row] = np.asarray(observation).reshape(self._dim)
        self._episode[row] = episode
        self._actions[row] = []
        self._running[row] = True

    def _advance(self, row: int, action: int) -> tuple[float, bool, bool]:
        """Step one row and return its reward, terminated and truncated."""
        observation, reward, terminated, truncated, _ = self._envs[row].step(
            action + self._first_action
        )
        self._obs[row] = np.asarray(observation).reshape(self._dim)
        self._actions[row].append(action)
        self._running[row] = not (terminated or truncated)
        return float(reward), bool(terminated), bool(truncated)
