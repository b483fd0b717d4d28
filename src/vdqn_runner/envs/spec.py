"""What the training loop needs to know of environments: S of them, stepped in lockstep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
RewardArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Code = Literal["vector", "thermometer", "one_hot"]
StoredArray = npt.NDArray[Any]
"""Stored observations [S, *stored_shape] of the batch's ``stored_dtype``."""


# Not compared by value: `==` on the array fields would be ambiguous.
@dataclass(frozen=True, eq=False)
class EnvSpec:
    """The fixed facts of a batch of equal environments.

    A *stored* observation is what the replay keeps: the float32 vector that a network sees, or an
    integer s of which it sees a code: the thermometer, x_i = 1 for i <= s, else 0, or one-hot,
    x_s = 1 and else 0. In both, i counts from 1, and 0 is a vector of zeros.

    Attributes:
        obs_dim: Length of the vector that a network sees.
        n_actions: Actions are 0 .. n_actions - 1.
        stored_shape: Shape of one stored observation: ``()`` for an integer, ``(obs_dim,)`` else.
        stored_dtype: Its dtype.
        max_episode_steps: Steps after which an episode ends at the latest; None if unbounded.
        extra_columns: Names of what ``EnvBatch.extras`` gives, in the order of the log's columns.
        label: Name for folders and figures; holds no path separator.
        code: What a network sees of a stored observation.
    """

    obs_dim: int
    n_actions: int
    stored_shape: tuple[int, ...]
    stored_dtype: np.dtype[Any]
    max_episode_steps: int | None
    extra_columns: tuple[str, ...]
    label: str
    code: Code = "vector"


class StepResult(NamedTuple):
    """What one lockstep step gave; every array is the caller's to keep.

    Attributes:
        next_obs: Stored observation after the step [S, *stored_shape]; where an episode ended,
            its real final one, never that of the next episode's start.
        reward: float64 [S], as the environment gave it.
        terminated: bool [S], a terminal state was reached.
        truncated: bool [S], a time limit cut the episode; may be true together with terminated.
    """

    next_obs: StoredArray
    reward: RewardArray
    terminated: BoolArray
    truncated: BoolArray


class EnvBatch(Protocol):
    """S environments, one a row, which share nothing but the call that steps them.

    What a row does depends on its seed and its actions alone, never on the other rows.
    Episodes are started by the caller: a new batch has none, and a finished one stays finished.
    """

    spec: EnvSpec

    def fresh(self, seeds: Sequence[int]) -> "EnvBatch":
        """Return a new batch of the same environment, one a seed, no episode started yet.

        The two share nothing that changes, and each is to be closed.
        """

    def reset(self, rows: IntArray) -> None:
        """Start a new episode in these rows."""

    def observe(self) -> StoredArray:
        """Return the current stored observations [S, *stored_shape], as a copy.

        A row that has had no episode yet holds zeros.
        """

    def step(self, actions: IntArray) -> StepResult:
        """Take one step in every row.

        Args:
            actions: [S], each in 0 .. n_actions - 1.

        Raises:
            RuntimeError: A row's episode is over, or was never started.
        """

    def best_actions(self) -> IntArray | None:
        """Return what the best policy does now in each row [S]; None where it is not known."""

    def extras(self) -> dict[str, BoolArray]:
        """Return, by extra column, the values [S] for each row's episode so far."""

    def select(self, rows: IntArray) -> None:
        """Keep only these rows (all different), in this order."""

    def state(self, row: int) -> dict[str, Any]:
        """Return all that this row needs to go on, in plain Python values."""

    def load_state(self, row: int, state: Mapping[str, Any]) -> None:
        """Put a row where another row of the same seed was when ``state`` was called.

        Raises:
            RunError: The environment cannot be put there again.
        """

    def close(self) -> None:
        """Release what the environments hold."""
