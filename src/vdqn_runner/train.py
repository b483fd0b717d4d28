"""The training loop: Algorithm 1 of the paper, for S seeds in lockstep.

All seeds of a batch are at the same environment step. A seed whose episodes are all done leaves
the batch. Nothing a seed computes or draws depends on the other seeds, so its logs are the same
bytes whichever seeds train beside it.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos import base, make_algorithm
from vdqn_runner.algos.base import Batch, Clock, Context
from vdqn_runner.collector import existing_objects_kept
from vdqn_runner.config import RunConfig
from vdqn_runner.divergence import all_finite, not_finite
from vdqn_runner.envs import EnvSpec, make_envs
from vdqn_runner.errors import RunError
from vdqn_runner.evaluate import COLUMNS, evaluate, is_due
from vdqn_runner.intrinsic import make_intrinsic
from vdqn_runner.layout import q_layout
from vdqn_runner.progress import Report
from vdqn_runner.recent import RecentReturns
from vdqn_runner.replay import Transitions, make_replay
from vdqn_runner.runs.interrupt import Interrupt
from vdqn_runner.runs.seed_run import SeedRun
from vdqn_runner.schedules import value_at
from vdqn_runner.spikes import spike
from vdqn_runner.streams import Purpose, UniformBlocks

ITERATION = 10
"""Episodes of an iteration, the unit of the paper's x axes."""


class Lockstep:
    """S agents, their environments and memories, between two steps."""

    def __init__(self, config: RunConfig, seeds: Sequence[int]) -> None:
        self.config = config
        self.seeds = list(seeds)
        self.envs = make_envs(config.env, seeds)
        spec = self.envs.spec
        self._device = config.device
        self._layout = q_layout(config.algo, spec, config.device)
        self.algo = make_algorithm(config.algo, Context(seeds, self._layout, config.device))
        episodes = config.episodes + config.algo.n_spikes
        self.replay = make_replay(len(seeds), spec, config.algo.replay, episodes)
        self.intrinsic = make_intrinsic(config.algo, seeds, spec, self._inputs, config.device)
        self._picks = UniformBlocks(seeds, Purpose.REPLAY, config.algo.batch_size)
        # Of a transition that something follows, and of one that nothing does.
        self._discounts = np.array([config.env.gamma, 0.0], np.float32)
        self._bootstrap = getattr(config.env, "bootstrap_on_timeout", False)
        self.step = 0
        self.episodes = np.zeros(len(seeds), np.int64)
        self.starting = np.ones(len(seeds), np.bool_)
        self.returns = np.zeros(len(seeds))
        self.lengths = np.zeros(len(seeds), np.int64)
        self.sums = {name: np.zeros(len(seeds)) for name in self.algo.reported}
        self.counts = np.zeros(len(seeds), np.int64)
        self.terminated = np.zeros(len(seeds), np.bool_)
        self._last_figures: Mapping[str, np.ndarray] = {}

    @property
    def clock(self) -> Clock:
        """Where training stands."""
        return Clock(self.step, self.episodes)

    def begin_episodes(self) -> None:
        """Start an episode in every seed that has none running."""
        if not self.starting.any():
            return
        rows = np.flatnonzero(self.starting)
        self.envs.reset(rows)
        self.replay.begin(rows, self.envs.observe()[rows])
        self.algo.begin_episodes(rows, self.clock)
        self.returns[rows] = 0.0
        self.lengths[rows] = 0
        self.starting[:] = False

    def advance(self) -> np.ndarray:
        """Take one environment step in every seed; return which episodes ended, bool [S]."""
        obs = self.envs.observe()
        actions = self.algo.act(self._inputs(obs[:, None]), self.clock)
        result = self.envs.step(actions)
        self.step += 1
        # A time limit is an end like any other unless the textbook treatment is asked for.
        terminal = result.terminated if self._bootstrap else result.terminated | result.truncated
        reward = result.reward + self.intrinsic.bonus(obs, actions, result.next_obs)
        self.replay.add(actions, reward, terminal, result.next_obs)
        self.returns += result.reward
        self.lengths += 1
        self.terminated = result.terminated
        ended = result.terminated | result.truncated
        self.intrinsic.episodes_ended(np.flatnonzero(ended))
        return ended

    def learn(self) -> None:
        """Take one gradient step where one is due, and copy the target where that is due."""
        algo = self.config.algo
        self.intrinsic.learn(self.replay, self.step)
        self._last_figures = {}
        if len(self.replay) >= algo.learning_starts and self.step % algo.train_every == 0:
            drawn = self.replay.sample(self._picks.draw(), self.step, self.episodes)
            updated = self.algo.update(self._batch(drawn), self.clock, self._lr())
            self.replay.learned(drawn, updated.errors)
            for name, sums in self.sums.items():
                sums += updated.figures[name]
            self.counts += 1
            self._last_figures = updated.figures
        if self.step % algo.target_period == 0:
            self.algo.learner.copy_target()
            self.algo.target_changed()

    def diverged(self) -> dict[int, str]:
        """Return which rows this step left without finite numbers, and in what.

        What an update reports is looked at each time. A parameter can hide behind a ReLU, so all
        of them are looked at as often as they are copied to the target.
        """
        figures, norms = self._last_figures, self.algo.learner.gradient_norms
        copied = self.step % self.config.algo.target_period == 0
        finite = self.intrinsic.finite() and (not figures or all_finite(figures, norms))
        if copied or not finite:
            return self.not_finite()
        return {}

    def not_finite(self) -> dict[int, str]:
        """Look at all parameters too; to be asked before any of them are kept."""
        norms, online = self.algo.learner.gradient_norms, self.algo.learner.online
        found = {}
        for row in range(len(self.seeds)):
            learned = not_finite(row, self._last_figures, norms, online)
            what = "; ".join(filter(None, (learned, self.intrinsic.not_finite(row))))
            if what:
                found[row] = what
        return found

    def _lr(self) -> np.ndarray:
        return value_at(self.config.algo.lr, self.step, self.episodes)

    def _batch(self, drawn: Transitions) -> Batch:
        scale = self.config.algo.reward_scale
        discount = self._discounts[drawn.terminal.view(np.int8)]
        reward = drawn.reward if scale == 1.0 else drawn.reward * np.float32(scale)
        return Batch(
            obs=self._inputs(drawn.obs),
            action=torch.from_numpy(drawn.action.astype(np.int64)).to(self._device),
            reward=torch.from_numpy(reward).to(self._device),
            discount=torch.from_numpy(discount).to(self._device),
            next_obs=self._inputs(drawn.next_obs),
            weight=torch.from_numpy(drawn.weight).to(self._device),
            number=drawn.number,
            held=len(self.replay),
        )

    def _inputs(self, stored: np.ndarray) -> Tensor:
        return inputs(stored, self.envs.spec).to(self._device)

    def episode_figures(self, row: int) -> dict[str, Any]:
        """Return the episodes.csv row of the episode that this seed has just finished."""
        episode = int(self.episodes[row])
        extras = {name: values[row] for name, values in self.envs.extras().items()}
        return {
            "seed": self.seeds[row],
            "episode": episode,
            "iteration": episode // ITERATION,
            "step": self.step,
            "return": float(self.returns[row]),
            "length": int(self.lengths[row]),
            "terminated": bool(self.terminated[row]),
            **extras,
        }

    def update_figures(self, row: int) -> dict[str, Any]:
        """Return the updates.csv row of a seed: means since the row before, and the state now."""
        count = int(self.counts[row])
        means = {
            name: float(sums[row]) / count if count else float("nan")
            for name, sums in self.sums.items()
        }
        scheduled = {name: float(v[row]) for name, v in self.algo.scheduled(self.clock).items()}
        episode = int(self.episodes[row])
        return {
            "seed": self.seeds[row],
            "iteration": (episode - 1) // ITERATION,
            "episode": episode - 1,
            "step": self.step,
            "updates": self.algo.learner.updates,
            **means,
            "grad_norm": float(self.algo.learner.gradient_norms[row]),
            "lr": float(self._lr()[row]),
            **scheduled,
            **self.algo.snapshot(row),
            **self.intrinsic.figures(row),
        }

    def evaluation_figures(self, row: int) -> list[dict[str, Any]]:
        """Return the evaluations.csv rows of a seed as it stands now."""
        done = {"seed": self.seeds[row], "episode": int(self.episodes[row]), "step": self.step}
        trials = self.config.evaluate.episodes
        return evaluate(self.algo, row, self.envs, self._inputs, trials, done)

    def begin_log_row(self, row: int) -> None:
        """Forget the sums of a seed whose updates.csv row is written."""
        for sums in self.sums.values():
            sums[row] = 0.0
        self.counts[row] = 0
        self.intrinsic.begin_log_row(row)

    def policy(self, row: int) -> dict[str, dict[str, Tensor]]:
        """Return a seed's online parameters: for each kind (``mu``, say) its layers by name."""
        online = self.algo.learner.online
        return {kind: self._layout.named(rows[row]) for kind, rows in online.items()}

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self.seeds = [self.seeds[row] for row in rows]
        self.envs.select(rows)
        self.replay.select(rows)
        base.select(self.algo, rows)
        self.intrinsic.select(rows)
        self._picks.select(rows)
        for name in ("episodes", "starting", "returns", "lengths", "counts", "terminated"):
            setattr(self, name, getattr(self, name)[rows])
        self._last_figures = {name: values[rows] for name, values in self._last_figures.items()}
        self.sums = {name: sums[rows] for name, sums in self.sums.items()}

    def state(self, row: int) -> dict[str, Any]:
        """Return everything that one seed needs to go on."""
        return {
            "step": self.step,
            "episodes": int(self.episodes[row]),
            "starting": bool(self.starting[row]),
            "return": float(self.returns[row]),
            "length": int(self.lengths[row]),
            "sums": {name: float(sums[row]) for name, sums in self.sums.items()},
            "count": int(self.counts[row]),
            "env": self.envs.state(row),
            "replay": self.replay.state(row),
            "picks": self._picks.state(row),
            "learner": self.algo.learner.state(row),
            "algo": base.state(self.algo, row),
            "intrinsic": self.intrinsic.state(row),
        }

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds, which are at the same step."""
        self.step = states[0]["step"]
        for row, state in enumerate(states):
            self.episodes[row] = state["episodes"]
            self.starting[row] = state["starting"]
            self.returns[row] = state["return"]
            self.lengths[row] = state["length"]
            self.counts[row] = state["count"]
            for name, value in state["sums"].items():
                self.sums[name][row] = value
            self.envs.load_state(row, state["env"])
            self.replay.load(row, state["replay"])
        self._picks.load([state["picks"] for state in states])
        self.algo.learner.load([state["learner"] for state in states])
        base.load(self.algo, [state["algo"] for state in states])
        # Checkpoints of before there were intrinsic rewards do not have it.
        self.intrinsic.load([state.get("intrinsic") for state in states])


def inputs(stored: np.ndarray, spec: EnvSpec) -> Tensor:
    """Turn stored observations ``[S, B, ...]`` into what networks take (see ``nets``)."""
    if spec.code == "vector":
        return torch.from_numpy(stored)
    if spec.code == "thermometer":
        return torch.from_numpy(stored.astype(np.int32))
    vectors = np.zeros((stored.size, spec.obs_dim), np.float32)
    places = np.flatnonzero(stored)
    vectors[places, stored.ravel()[places].astype(np.int64) - 1] = 1.0
    return torch.from_numpy(vectors.reshape(*stored.shape, spec.obs_dim))


class Watch:
    """Wall-clock time and steps since each seed's last timing row."""

    def __init__(self, n_seeds: int, step: int) -> None:
        self._since = np.full(n_seeds, time.perf_counter())
        self._step = np.full(n_seeds, step)

    def lap(self, row: int, step: int) -> tuple[float, int]:
        """Return (seconds, steps) since the seed's last lap."""
        now = time.perf_counter()
        lap = (float(now - self._since[row]), step - int(self._step[row]))
        self._since[row], self._step[row] = now, step
        return lap

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._since, self._step = self._since[rows], self._step[rows]


def train(
    config: RunConfig,
    runs: Sequence[SeedRun],
    states: list[Mapping[str, Any]],
    interrupt: Interrupt,
    progress: Report,
    recent: RecentReturns,
) -> None:
    """Train these seeds to the end of their episodes; all start at the same step.

    One whose logs cannot be opened is marked as failed and leaves the batch.

    ``states`` are the kept states of all seeds, or empty where they begin; the list is emptied,
    since each state holds a whole replay memory. ``recent`` may know of seeds trained before.

    A seed whose numbers are no longer finite is marked as failed and leaves the batch.

    Raises:
        Interrupted: A signal came; every seed has been checkpointed.
        RunError: A file cannot be written.
    """
    batch = Lockstep(config, [run.seed for run in runs])
    if states:
        batch.load(states)
        states.clear()
    elif config.algo.n_spikes:
        spike(batch.replay, batch.envs, batch.seeds, config.algo.n_spikes)
    live = list(runs)
    opened = [row for row, run in enumerate(live) if _open_logs(batch, row, run)]
    if 0 < len(opened) < len(live):
        batch.select(np.array(opened))
    live = [live[row] for row in opened]
    watch = Watch(len(live), batch.step)
    mean_return = recent.mean()
    # Of all seeds whose progress this is, those that trained before these included.
    episodes, steps = progress.episodes, progress.steps
    with contextlib.closing(batch.envs), existing_objects_kept():
        while live:
            batch.begin_episodes()
            ended = batch.advance()
            batch.learn()
            steps += len(live)
            if lost := batch.diverged():
                ended = np.delete(ended, list(lost))
                live = _give_up(batch, live, lost, watch)
            if ended.any():
                episodes += int(ended.sum())
                _log_episodes(batch, live, np.flatnonzero(ended), watch, recent)
                mean_return = recent.mean()
                done = batch.episodes == config.episodes
                if done.any():
                    live = _retire(batch, live, done, watch)
            progress.update(episodes, mean_return, steps)
            if interrupt.signal or batch.step % config.checkpoint_every == 0:
                if live:
                    live = _checkpoint(batch, live, watch)
                interrupt.check()


def _open_logs(batch: Lockstep, row: int, run: SeedRun) -> bool:
    """Open a seed's logs; return whether they could be, and mark the seed as failed if not."""
    evaluation_columns = COLUMNS if batch.config.evaluate.every else ()
    update_columns = list(batch.update_figures(row))
    try:
        run.open_logs(batch.envs.spec.extra_columns, update_columns, evaluation_columns)
    except RunError as error:
        run.fail(str(error))
    return run.failure is None


def _log_episodes(
    batch: Lockstep,
    live: Sequence[SeedRun],
    rows: np.ndarray,
    watch: Watch,
    recent: RecentReturns,
) -> None:
    """Log the episodes that have just ended in ``rows``.

    And evaluate where that is due: within the step, so before the next checkpoint.
    """
    config = batch.config
    for row in rows.tolist():
        run = live[row]
        figures = batch.episode_figures(row)
        recent.add(run.seed, figures["return"])
        run.write_episode(figures)
        batch.episodes[row] += 1
        batch.starting[row] = True
        # The last row may be of fewer iterations than the others: nothing is left out.
        last = batch.episodes[row] == config.episodes
        if last or batch.episodes[row] % (ITERATION * config.log_every) == 0:
            update = batch.update_figures(row)
            run.write_update(update, *watch.lap(row, batch.step))
            batch.begin_log_row(row)
        if is_due(config.evaluate, int(batch.episodes[row]), config.episodes):
            run.write_evaluation(batch.evaluation_figures(row))
        if config.policy_every and batch.episodes[row] % config.policy_every == 0:
            run.keep_policy(batch.policy(row), int(batch.episodes[row]))


def _checkpoint(batch: Lockstep, live: Sequence[SeedRun], watch: Watch) -> list[SeedRun]:
    """Keep the states of all seeds whose numbers are finite; return the runs that go on."""
    kept = _give_up(batch, live, batch.not_finite(), watch)
    for row, run in enumerate(kept):
        run.checkpoint(batch.state(row), batch.step, batch.algo.learner.updates)
    return kept


def _retire(
    batch: Lockstep, live: Sequence[SeedRun], done: np.ndarray, watch: Watch
) -> list[SeedRun]:
    """Finish the seeds that are ``done``, or mark them as failed; return the runs that go on."""
    learner = batch.algo.learner
    lost = {row: what for row, what in batch.not_finite().items() if done[row]}
    for row in np.flatnonzero(done).tolist():
        if row in lost:
            live[row].diverge(lost[row], batch.step, learner.updates)
        else:
            live[row].finish(batch.policy(row), batch.step, learner.updates)
    return _keep(batch, live, ~done, watch)


def _give_up(
    batch: Lockstep, live: Sequence[SeedRun], lost: Mapping[int, str], watch: Watch
) -> list[SeedRun]:
    """Mark the seeds in rows ``lost`` as failed, for these reasons; return the runs that go on."""
    for row, what in lost.items():
        live[row].diverge(what, batch.step, batch.algo.learner.updates)
    return _keep(batch, live, ~np.isin(np.arange(len(live)), list(lost)), watch)


def _keep(
    batch: Lockstep, live: Sequence[SeedRun], kept: np.ndarray, watch: Watch
) -> list[SeedRun]:
    """Let the other seeds leave the batch; return the runs that go on."""
    rows = np.flatnonzero(kept)
    if 0 < len(rows) < len(kept):
        batch.select(rows)
        watch.select(rows)
    return [live[row] for row in rows.tolist()]
