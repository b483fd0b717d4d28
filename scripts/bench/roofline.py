"""What share of this machine's rate of matrix products does an update reach, and where is the rest?

The least time of an update is the work of its products (``flops.py``) over the rate that this
machine reaches in ``torch.bmm`` of ``[S, 64, 100] x [S, 100, 100]`` on one thread. Rate, update
and parts are measured in turns in one process, so that all three meet the same machine. As a
script this measures one case and prints JSON; ``python -m scripts.bench`` runs the cases.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scripts.bench.flops import act_flops, update_flops
from scripts.bench.machine import child_environment, pin
from scripts.bench.parts import PARTS, Clockwork, batch_timed, engine_timed
from scripts.bench.rounds import Effort
from scripts.bench.sampler import ENVIRONMENT
from scripts.bench.work import BATCH, TARGET_PERIOD, Contestant, chain_size
from vdqn_runner.errors import RunError

SIDE = 100


def run_case(task: Contestant, effort: Effort) -> dict[str, Any]:
    """Measure one case in processes of its own; see ``measure``.

    A kernel that does the whole update at once is taken apart in proportion to samples.

    Raises:
        RunError: It ended early.
    """
    case = _process("measure", task, effort, {})
    fused = case["parts"]["fused update"]
    if fused > 0:
        with tempfile.TemporaryDirectory() as cache:
            environment = {**ENVIRONMENT, "XDG_CACHE_HOME": cache}
            samples = _process("sampled_parts", task, effort, environment)
        total = sum(samples.values())
        case["parts"]["fused update"] = 0.0 if total else fused
        for part, count in samples.items():
            case["parts"][part] += fused * count / total
    return case


def _process(
    what: str, task: Contestant, effort: Effort, environment: Mapping[str, str]
) -> dict[str, Any]:
    order = json.dumps({"what": what, "task": asdict(task), "effort": asdict(effort)})
    done = subprocess.run(
        [sys.executable, "-m", "scripts.bench.roofline", order],
        env={**child_environment(), **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RunError(f"roofline of {task.name} on {task.env} ended early and said: {said}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def sampled_parts(task: Contestant, effort: Effort) -> dict[str, int]:
    """Return the samples by part inside the compiled kernel that does a whole update.

    Empty where nothing can be sampled.
    """
    from scripts.bench.ours import lockstep, step
    from scripts.bench.sampler import part_of, sample

    batch = lockstep(task)
    for _ in range(effort.warm_up):
        step(batch)
    steps = _steps(batch, effort) * effort.repeats
    stacks = sample(lambda: _run(batch, steps)) or {}
    parts: dict[str, int] = {}
    for stack, count in stacks.items():
        if any(name.startswith("vr_update") for name in stack):
            parts[part_of(stack)] = parts.get(part_of(stack), 0) + count
    return parts


def measure(task: Contestant, effort: Effort) -> dict[str, Any]:
    """Return the case's row of ``roofline.csv``, its parts and its kernels (us a step and seed)."""
    from scripts.bench.ours import lockstep, step

    plain = lockstep(task)
    clockwork = Clockwork()
    with engine_timed(clockwork):
        watched = lockstep(task)
        for batch in (plain, watched):
            for _ in range(effort.warm_up):
                step(batch)
    steps = _steps(plain, effort)
    rates, updates, whole, timed = [], [], [], []
    parts: list[dict[str, float]] = []
    kernels: dict[str, list[float]] = {}
    for _ in range(effort.repeats):
        rates.append(product_rate(task.n_seeds, effort.seconds / 4))
        seconds, in_learn = _run(plain, steps)
        whole.append(seconds)
        updates.append(in_learn)
        with engine_timed(clockwork), batch_timed(watched, clockwork):
            clockwork.reset()
            seconds, _ = _run(watched, steps)
            timed.append(seconds)
            spent = dict(clockwork.seconds)
            kernels = {name: list(tally) for name, tally in clockwork.kernels.items()}
        spent.pop("other", None)
        spent["other"] = seconds - sum(spent.values())
        parts.append(spent)
    per = 1e6 / (steps * task.n_seeds)
    n = chain_size(task.env)
    spec = plain.envs.spec
    sizes = [spec.obs_dim, task.width, task.width, spec.n_actions]
    dense = update_flops(task.algo, sizes, BATCH).total
    rest = update_flops(task.algo, sizes, BATCH, first_layer=False).total
    best = max(rates)
    update_us = statistics.median(updates) * per
    row = {
        "env": task.env,
        "algo": task.algo,
        "n_seeds": task.n_seeds,
        "rate_best_gflops": best / 1e9,
        "rate_median_gflops": statistics.median(rates) / 1e9,
        "update_flops": dense,
        "update_flops_without_first_layer": rest,
        "act_flops": act_flops(task.algo, sizes),
        "least_us": dense / best * 1e6,
        "least_us_without_first_layer": rest / best * 1e6,
        "update_us": update_us,
        "update_us_min": min(updates) * per,
        "update_us_max": max(updates) * per,
        "share": dense / best * 1e6 / update_us,
        "share_without_first_layer": rest / best * 1e6 / update_us if n is not None else None,
        "step_us": statistics.median(whole) * per,
        "step_us_with_timers": statistics.median(timed) * per,
    }
    return {
        "row": row,
        "parts": {
            part: statistics.median(spent.get(part, 0.0) for spent in parts) * per for part in PARTS
        },
        "kernels": {
            name: {"calls_per_step": calls / steps, "us": seconds * per}
            for name, (calls, seconds) in sorted(kernels.items())
        },
    }


def product_rate(n_seeds: int, seconds: float) -> float:
    """Return the operations a second of ``torch.bmm`` of [S, 64, 100] x [S, 100, 100]."""
    import torch

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(n_seeds, BATCH, SIDE, generator=generator)
    b = torch.randn(n_seeds, SIDE, SIDE, generator=generator)
    out = torch.empty(n_seeds, BATCH, SIDE)
    rates = []
    calls = max(1, 200 // n_seeds)
    end = time.perf_counter() + seconds
    while not rates or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            torch.bmm(a, b, out=out)
        spent = time.perf_counter() - start
        rates.append(calls * n_seeds * 2 * BATCH * SIDE * SIDE / spent)
    return max(rates)


def _run(batch: Any, steps: int) -> tuple[float, float]:
    """Take ``steps``; return the seconds of all and those inside ``learn``."""
    now = time.perf_counter
    in_learn = 0.0
    begin = now()
    for _ in range(steps):
        batch.begin_episodes()
        ended = batch.advance()
        start = now()
        batch.learn()
        in_learn += now() - start
        batch.episodes += ended
        batch.starting |= ended
    return now() - begin, in_learn


def _steps(batch: Any, effort: Effort) -> int:
    seconds, _ = _run(batch, TARGET_PERIOD)
    return TARGET_PERIOD * max(1, round(effort.seconds / seconds))


def main(argv: Sequence[str]) -> None:
    order = json.loads(argv[0])
    effort = Effort(**order["effort"])
    pin(effort.cpu)
    jobs: dict[str, Callable[[Contestant, Effort], Any]] = {
        "measure": measure,
        "sampled_parts": sampled_parts,
    }
    print(json.dumps(jobs[order["what"]](Contestant(**order["task"]), effort)))


if __name__ == "__main__":
    main(sys.argv[1:])
