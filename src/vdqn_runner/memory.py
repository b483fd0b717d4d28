"""How much memory a run needs, in bytes, and whether that is free; nothing is allocated for it.

The parts are those that grow with what is asked for. ``needed`` follows what ``layout``,
``learner``, the algorithms, ``kernels.c`` and ``replay`` allocate with the compiled kernels; tests
hold it to what runs really take. A run that goes on from checkpoints also holds those.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vdqn_runner.config import (
    AlgoConfig,
    BBQConfig,
    BootstrappedConfig,
    DQNConfig,
    NoisyNetConfig,
    RunConfig,
    VariationalConfig,
    VDQNConfig,
    VimeConfig,
)
from vdqn_runner.envs.spec import EnvSpec
from vdqn_runner.errors import ConfigError
from vdqn_runner.free_memory import free_memory

FLOAT = 4
PROCESS = 250 * 2**20
"""A process that has imported torch and trains a small network, as measured."""

WORKER = 60 * 2**20
"""What a worker adds to that beyond what it shares with the process it is forked from."""

SAMPLES = 10
"""Of a transition, by the dynamics model (``intrinsic.vime``)."""

TRACKERS = {"none": 0, "tensorboard": 60, "mlflow": 200, "wandb": 130}
"""MiB of the processes that send to a tracker, as measured."""


@dataclass(frozen=True)
class Needed:
    """Bytes that a run needs at its peak.

    Attributes:
        processes: Python and its libraries, in all processes.
        networks: Parameters, targets, optimiser and what follows from them, of all seeds, with
            the kernels' working space in each process and one checkpoint being written.
        replay: The replay memories of all seeds once they are full, with the same.
        minibatches: Minibatches, and random numbers drawn ahead, of all seeds, with what the
            kernels' working space takes for them.
        dynamics: The models of the intrinsic reward, where there is one, with all of the above.
    """

    processes: int
    networks: int
    replay: int
    minibatches: int
    dynamics: int

    @property
    def total(self) -> int:
        """All together."""
        learning = self.networks + self.minibatches + self.dynamics
        return self.processes + self.replay + learning


def needed(config: RunConfig, spec: EnvSpec, n_seeds: int, n_workers: int) -> Needed:
    """Return the memory that training takes.

    Args:
        config: The run.
        spec: Its environment.
        n_seeds: How many seeds there are to train.
        n_workers: The number of processes among which they are dealt.
    """
    algo = config.algo
    n_out = algo.n_heads * (spec.n_actions + algo.network.dueling)
    sizes = [spec.obs_dim, *algo.network.hidden, n_out]
    row = FLOAT * row_length(sizes)
    kinds = _kinds(algo)
    # Rows, targets and both moments; a checkpoint holds the same.
    learner = 4 * kinds * row
    batches = {algo.batch_size, 1}
    if config.evaluate.every:
        # Trials end one by one, except in our own environments, where all take as long.
        trials = config.evaluate.episodes
        batches |= {trials} if config.env.kind != "gym" else set(range(1, trials + 1))
    states = spec.code == "thermometer"
    least = FLOAT * len(batches) * space_length(sizes, 1, states)
    space = FLOAT * sum(space_length(sizes, batch, states) for batch in batches)
    memory = replay_bytes(config, spec)
    # Copies of all rows are made when a run begins and when seeds leave; of one seed's state, and
    # again as bytes, for a checkpoint.
    passing = max(n_seeds * kinds * row, n_workers * 2 * learner)
    return Needed(
        processes=PROCESS
        + (n_workers * WORKER + PROCESS if n_workers > 1 else 0)
        + TRACKERS[config.tracker.kind] * 2**20,
        networks=n_seeds * (learner + _derived(algo) * row) + n_workers * (least + row) + passing,
        replay=n_seeds * memory + n_workers * 2 * memory,
        minibatches=n_seeds * _minibatch_bytes(algo, sizes, states) + n_workers * (space - least),
        dynamics=_dynamics_bytes(algo.vime, spec, n_seeds, n_workers) if algo.vime.eta else 0,
    )


def check_memory(config: RunConfig, spec: EnvSpec, n_seeds: int, n_workers: int) -> None:
    """Refuse a run that needs more memory than is free; where that is not known, refuse none.

    The arguments are those of ``needed``. On a GPU it is for torch to say.

    Raises:
        ConfigError: It needs more.
    """
    free = free_memory()
    if free is None or config.device != "cpu" or n_seeds == 0:
        return
    need = needed(config, spec, n_seeds, n_workers)
    if need.total <= free:
        return
    keys = {
        "algo.network.hidden": need.networks,
        "algo.replay.capacity": need.replay,
        "algo.batch_size": need.minibatches,
        **({"algo.vime.hidden": need.dynamics} if need.dynamics else {}),
        **({"workers": need.processes} if n_workers > 1 else {}),
    }
    largest = max(keys, key=lambda key: keys[key])
    remedies = [largest, *(["n_seeds"] if n_seeds > 1 and largest != "workers" else [])]
    parts = (
        f"networks {_shown(need.networks)}, replay {_shown(need.replay)}, "
        f"minibatches {_shown(need.minibatches)}, processes {_shown(need.processes)}"
        + (f", dynamics models {_shown(need.dynamics)}" if need.dynamics else "")
    )
    raise ConfigError(
        f"{_shown(need.total)} of memory are needed for {n_seeds} seeds ({parts}) and "
        f"{_shown(free)} are free; lower {' or '.join(remedies)}"
    )


def row_length(sizes: Sequence[int]) -> int:
    """Return the floats of one seed's row of parameters, padding included (see ``layout``)."""
    pairs = zip(sizes[:-1], sizes[1:], strict=True)
    blocks = sum(_padded(n_in * n_out, 16) + _padded(n_out, 16) for n_in, n_out in pairs)
    return _padded(blocks, 64)


def space_length(sizes: Sequence[int], batch: int, states: bool) -> int:
    """Return the floats of the kernels' working space for a batch (``lay_out`` in kernels.c).

    Args:
        sizes: The widths of the layers, inputs and outputs included.
        batch: Number of inputs.
        states: Whether inputs are numbers of states, not vectors.
    """
    row = row_length(sizes)
    n_in, n_out, widest = sizes[0], sizes[-1], max(_padded(size, 16) for size in sizes[1:])
    # Of states their order; of vectors their squares, and where they are not zero.
    places = batch * n_in // 8 if n_in >= 64 else 0
    inputs = [batch, batch, n_in + 2] if states else [batch * n_in, places, batch]
    hidden = [batch * _padded(size, 16) for size in sizes[1:-1]]
    parts = [
        *(row, row, row + 16, row + 64, max(batch * sum(sizes[1:]), row) + 128),
        *(3 * hidden),
        *inputs,
        *(2 * [widest * widest]),
        *(2 * [n_out * widest]),
        *(4 * [batch * widest]),
        *(batch * n_out, batch, batch, batch),
    ]
    return sum(_padded(part, 16) for part in parts)


def replay_bytes(config: RunConfig, spec: EnvSpec) -> int:
    """Return the bytes of one seed's replay memory once it is full (see ``replay``)."""
    transitions = config.algo.replay.capacity
    episodes = config.episodes + config.algo.n_spikes
    if spec.max_episode_steps is not None:
        transitions = min(transitions, episodes * spec.max_episode_steps)
    slots = transitions + min(transitions, episodes) + 1
    numbers = 1
    for size in spec.stored_shape:
        numbers *= size
    action = next(size for size in (1, 2, 4, 8) if spec.n_actions <= 256**size)
    reward, terminal, slot = 4, 1, 4
    observation = numbers * spec.stored_dtype.itemsize
    leaves = 1 << max(transitions - 1, 1).bit_length()
    tree = 2 * leaves * 8 if config.algo.replay.alpha else 0
    return slots * (observation + action + reward + terminal) + transitions * slot + tree


def _kinds(algo: AlgoConfig) -> int:
    """Return how many rows of parameters an algorithm learns."""
    match algo:
        case DQNConfig() | BootstrappedConfig() | VariationalConfig(family="point"):
            return 1
        case VariationalConfig(family="low_rank", rank=rank):
            return 2 + rank
        case _:
            return 2


def _derived(algo: AlgoConfig) -> int:
    """Return how many further rows an algorithm keeps of each seed beside the learner's."""
    match algo:
        case VDQNConfig():
            # Variances and slopes, of the posterior and of its target. By autograd also gradients
            # and, for a while, what the variances are made of.
            return 4 + (algo.resample == "episode") + (0 if algo.plain else 10)
        case NoisyNetConfig():
            # Variances, of both.
            return 2 + (algo.resample == "episode") + (0 if algo.plain else 6)
        case BBQConfig():
            # Variances and slopes, gradients, and what the divergence is made of.
            return 12 + (algo.resample == "episode")
        case BootstrappedConfig():
            # The prior, and gradients.
            return 2
        case VariationalConfig(family="point"):
            return 0 if algo.plain and algo.prior_sigma is None else 12
        case VariationalConfig():
            # By autograd, as measured: of each sample its theta and what led to it; of the columns
            # of a covariance 64-bit copies and their gradients; what Laplace numbers are made of.
            columns = algo.rank if algo.family == "low_rank" else 0
            return 10 + 6 * algo.samples + 10 * columns + 8 * (algo.family == "laplace")
        case _:
            return 0 if algo.plain else 1


def _minibatch_bytes(algo: AlgoConfig, sizes: Sequence[int], states: bool) -> int:
    """Return the bytes of one seed's minibatch and of the numbers drawn ahead for it."""
    drawn_ahead = 64 * 8
    # Two observations; action, reward and discount; and where they lie in the replay memory.
    transition = 2 * FLOAT * (2 if states else sizes[0]) + 24 + 5 * 8
    acting = 32 * FLOAT * sum(sizes)
    return algo.batch_size * (drawn_ahead + transition) + acting


def _dynamics_bytes(vime: VimeConfig, spec: EnvSpec, n_seeds: int, n_workers: int) -> int:
    """Return what the dynamics models of all seeds take (see ``intrinsic``)."""
    sizes = [spec.obs_dim + spec.n_actions, *vime.hidden, spec.obs_dim]
    row = FLOAT * row_length(sizes)
    # Two kinds of rows, their targets and both moments; what follows from rho; and, for a while,
    # gradients and what autograd keeps of the posterior and its divergence from the prior.
    learner, derived = 4 * 2 * row, (2 + 14) * row
    batches = {vime.batch_size, SAMPLES}
    space = FLOAT * sum(space_length(sizes, batch, states=False) for batch in batches)
    # Inputs and next observations, predictions, errors and their squares; a normal for each unit.
    transition = FLOAT * (2 * sizes[0] + 5 * sizes[-1] + sum(sizes[1:])) + 64 * 8
    minibatches = sum(batches) * transition
    return n_seeds * (learner + derived + minibatches) + n_workers * (space + 2 * learner)


def _padded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _shown(size: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB", "PB", "EB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"
