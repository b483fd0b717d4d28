"""How many environment steps a second does one seed take here and in Stable-Baselines3's DQN?

The same work a step on one thread: chain N = 100, a network of 100-100, batch 64, one gradient
step of Adam after every environment step, target copied every 100 steps, replay past its warm-up.
The competitors take turns, `--rounds` times, and the median of each one's rounds is reported:
this machine's speed may drift, so the ratios are what to quote. Needs the extra `bench`:

    pip install -e '.[bench]' && python scripts/bench_sb3.py
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN

import vdqn_runner.envs  # noqa: F401 (registers the chain)
from vdqn_runner.config import build
from vdqn_runner.kernels import engine
from vdqn_runner.train import Lockstep

N = 100
WARM_UP = 1_000


def ours(algo: str, n_seeds: int) -> Callable[[int], float]:
    """Return a function that takes so many steps of every seed and returns seconds per step."""
    config = build(
        {
            "env": {"kind": "chain", "n": N},
            "algo": {"name": algo},
            "episodes": 2_000,
            "n_seeds": n_seeds,
        }
    )
    batch = Lockstep(config, range(n_seeds))

    def run(steps: int) -> float:
        start = time.perf_counter()
        for _ in range(steps):
            batch.begin_episodes()
            ended = batch.advance()
            batch.learn()
            batch.episodes += ended
            batch.starting |= ended
        return (time.perf_counter() - start) / (steps * n_seeds)

    return run


def stable_baselines() -> Callable[[int], float]:
    """Return the same for Stable-Baselines3's DQN, one seed."""
    model = DQN(
        "MlpPolicy",
        gymnasium.make("vdqn_runner/Chain-v0", n=N),
        learning_rate=1e-3,
        buffer_size=1_000_000,
        learning_starts=500,
        batch_size=64,
        tau=1.0,
        gamma=1.0,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=100,
        exploration_fraction=1e-9,
        exploration_final_eps=0.1,
        policy_kwargs={"net_arch": [100, 100]},
        device="cpu",
        seed=0,
    )

    def run(steps: int) -> float:
        start = time.perf_counter()
        model.learn(steps, reset_num_timesteps=False)
        return (time.perf_counter() - start) / steps

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description="Per-seed speed beside Stable-Baselines3's DQN.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=400, help="environment steps of each round")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    competitors = {
        "SB3 dqn": stable_baselines(),
        "dqn n_seeds=1": ours("dqn", 1),
        "dqn n_seeds=10": ours("dqn", 10),
        "vdqn n_seeds=1": ours("vdqn", 1),
        "vdqn n_seeds=10": ours("vdqn", 10),
        "noisynet n_seeds=10": ours("noisynet", 10),
    }
    seconds: dict[str, list[float]] = {name: [] for name in competitors}
    for run in competitors.values():
        run(WARM_UP)
    for _ in range(args.rounds):
        for name, run in competitors.items():
            seconds[name].append(run(args.steps))
    median = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"chain N={N}, batch 64, one thread, {args.rounds} rounds, kernels: {engine()}")
    print(f"torch {torch.__version__}, numpy {np.__version__}")
    print(f"{'':22}{'us/step/seed':>13}{'steps/s/seed':>14}{'times SB3':>11}")
    for name, time_taken in median.items():
        ratio = median["SB3 dqn"] / time_taken
        print(f"{name:22}{time_taken * 1e6:13.0f}{1 / time_taken:14.0f}{ratio:11.2f}")
    cost = median["vdqn n_seeds=10"] / median["dqn n_seeds=10"]
    print(f"vdqn costs {cost:.2f} times dqn at n_seeds=10")


if __name__ == "__main__":
    main()
