"""``bench.md`` and the figures, from the CSV files that lie in a folder."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scripts.bench import figures
from scripts.bench.parts import PARTS
from scripts.bench.work import COST, PEERS

AXIS_TITLES = {
    "seeds": ("n_seeds", "Seeds in lockstep, chain N = 100"),
    "states": ("states", "States N of the chain, 10 seeds"),
    "width": ("width", "Width of both hidden layers, chain N = 100, 10 seeds"),
    "replay": ("stored", "Transitions in each seed's replay, 10 seeds"),
}

_HEAD = """# How fast

One thread, pinned to one core. A step of a seed is one environment step, one replay entry and one
gradient step of Adam on a minibatch of 64 for a network of 100-100, the target copied every 100
steps; measuring begins once updates run (JAX has compiled by then), and nobody writes logs.
Contestants are processes of their own that take turns, the first one moving on with each repeat,
so that a drift of the machine meets all alike. Numbers are medians of the repeats, in brackets the
smallest and the largest; a ratio is taken within each repeat. *Seed-steps a second* are the steps
of all seeds together: what one core gives to an experiment.
"""
_PEERS_NOTE = """\
Peers train one seed a process, so that is their cost for each seed of an experiment; they keep
their own loss (Huber) and SB3 its clipping of gradients. The published procedure is written out in
eager torch (`scripts/bench/published.py`). Peak memory is the largest resident memory of the whole
process (`VmHWM`): interpreter, libraries, environments, agents and the replay as far as it is
filled, a few thousand transitions; nothing is subtracted. SBX loads torch beside JAX.
"""
_ROOFLINE_NOTE = """\
*Least time* is the work of an update's matrix products (formulas in `scripts/bench/flops.py`) over
the best rate of `torch.bmm` of [S, 64, 100] x [S, 100, 100] in the same process. *Share* is least
time over measured time of `learn`, all of it: sampling, noise, products, softplus, Adam, target
copies. On a chain the first layer's products can be had without multiplying; *without layer 1*
does not count them.
"""
_PARTS_NOTE = """\
Microseconds a step and seed, by timers around functions (`scripts/bench/parts.py`), which add
themselves (*timers* is what the step takes longer with them). The time of a compiled kernel that
does a whole update is divided by sampling the program counter (`scripts/bench/sampler.py`).
`other` is what no timer saw: the interpreter, autograd, the loss, bookkeeping.
"""


def write(out: Path) -> None:
    """Write ``bench.md`` and the figures of all studies whose files are in ``out``."""
    text = [_HEAD, _machine(out)]
    if (out / "bench.csv").exists():
        bench = pd.read_csv(out / "bench.csv")
        text += ["## Speed and memory\n", _PEERS_NOTE, "![speed](speed.png)\n"]
        text += [_busy(bench)]
        text += [_speed(bench, env) for env in bench["env"].unique()]
        text += ["## What VDQN costs over DQN\n", _vdqn_over_dqn(bench)]
        figures.speed(bench, out)
    if (out / "sweep.csv").exists():
        sweep = pd.read_csv(out / "sweep.csv")
        sweep["states"] = pd.to_numeric(sweep["env"].str.extract(r"^chain-(\d+)$")[0])
        text += ["## Cost against size\n", "Microseconds a step and seed.\n"]
        text += ["![cost against size](sweep.png)\n", _busy(sweep)]
        text += [_sweep(sweep, axis) for axis in AXIS_TITLES if (sweep["study"] == axis).any()]
        figures.sweep(sweep, AXIS_TITLES, out)
    if (out / "roofline.csv").exists():
        parts = pd.read_csv(out / "parts.csv")
        roofline = pd.read_csv(out / "roofline.csv")
        text += ["## Where the time goes\n", _ROOFLINE_NOTE, _roofline(roofline)]
        text += [_PARTS_NOTE, "![parts](parts.png)\n", _parts(parts, roofline)]
        figures.parts(parts, PARTS, out)
    if (out / "startup.csv").exists():
        text += ["## Start-up\n", _startup(pd.read_csv(out / "startup.csv"))]
    (out / "bench.md").write_text("\n".join(text), encoding="utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, all columns but the first right-aligned."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def spread(values: "pd.Series[float]") -> str:
    """Return ``median (min–max)``."""
    low, middle, high = values.min(), values.median(), values.max()
    return f"{number(middle)} ({number(low)}–{number(high)})"


def number(value: float) -> str:
    """Return three significant digits, or all of a large number's whole part."""
    if value == 0 or not np.isfinite(value):
        return "0" if value == 0 else "–"
    digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{digits}f}"


def _percent(share: float) -> str:
    return "–" if pd.isna(share) else f"{share:.0%}"


def ratio(bench: pd.DataFrame, over: pd.DataFrame) -> "pd.Series[float]":
    """Return how many times the cost of ``bench`` that of ``over`` is, repeat by repeat."""
    both = over.set_index("repeat")[COST] / bench.set_index("repeat")[COST]
    return both.dropna()


def _machine(out: Path) -> str:
    facts = json.loads((out / "machine.json").read_text(encoding="utf-8"))
    return table(["machine and versions", ""], [[key, value] for key, value in facts.items()])


def _busy(measured: pd.DataFrame) -> str:
    """Return how much of the time contestants had the core, and a warning where that is little."""
    share = (measured["cpu_seconds"] / measured["seconds"]).quantile([0.0, 0.5])
    text = f"Of the time measured, contestants had the core for {share[0.5]:.0%} in the median"
    text += f" and {share[0.0]:.0%} at least."
    if share[0.5] < 0.97:
        text += " **Others used it too: do not quote these numbers.**"
    return text + "\n"


def _speed(bench: pd.DataFrame, env: str) -> str:
    here = bench[bench["env"] == env]
    peers = {peer: here[here["maker"] == peer] for peer in PEERS if peer in set(here["maker"])}
    header = ["contestant", "seed-steps/s", "µs a step and seed"]
    header += [f"times {PEERS[peer]}" for peer in peers] + ["peak MiB"]
    rows = []
    for name in here["contestant"].unique():
        one = here[here["contestant"] == name]
        times = [spread(ratio(one, peer)) for peer in peers.values()]
        speed = [spread(one["seed_steps_per_second"]), number(one[COST].median())]
        rows.append([name, *speed, *times, number(one["peak_mib"].max())])
    return f"### {env}\n\n" + table(header, rows)


def _vdqn_over_dqn(bench: pd.DataFrame) -> str:
    ours = bench[bench["maker"] == "ours"]
    seeds = sorted(ours["n_seeds"].unique())
    rows = []
    for env in ours["env"].unique():
        row = [env]
        for s in seeds:
            here = ours[(ours["env"] == env) & (ours["n_seeds"] == s)]
            dqn, vdqn = here[here["algo"] == "dqn"], here[here["algo"] == "vdqn"]
            row.append(spread(ratio(dqn, vdqn)))
        rows.append(row)
    return table(["cost of VDQN / cost of DQN", *(f"n_seeds={s}" for s in seeds)], rows)


def _sweep(sweep: pd.DataFrame, axis: str) -> str:
    column, title = AXIS_TITLES[axis]
    here = sweep[sweep["study"] == axis]
    values = sorted(here[column].unique())
    groups = ["env", "algo"] if axis == "replay" else ["algo"]
    rows = []
    for key, group in here.groupby(groups, sort=False):
        by_value = [group[group[column] == value][COST] for value in values]
        growth = by_value[-1].median() / by_value[0].median()
        rows.append([" ".join(map(str, key)), *map(spread, by_value), number(growth)])
    header = [column, *(f"{int(value):,}" for value in values), "last / first"]
    return f"### {title}\n\n" + table(header, rows)


def _roofline(roofline: pd.DataFrame) -> str:
    header = [
        "case", "rate, Gflop/s: best (median)", "update, Mflop", "least, µs", "update, µs",
        "share", "share without layer 1",
    ]  # fmt: skip
    rows = [
        [
            f"{row.algo} {row.env} S={row.n_seeds}",
            f"{number(row.rate_best_gflops)} ({number(row.rate_median_gflops)})",
            number(row.update_flops / 1e6),
            number(row.least_us),
            f"{number(row.update_us)} ({number(row.update_us_min)}–{number(row.update_us_max)})",
            _percent(row.share),
            _percent(row.share_without_first_layer),
        ]
        for row in roofline.itertuples()
    ]  # fmt: skip
    return table(header, rows)


def _parts(parts: pd.DataFrame, roofline: pd.DataFrame) -> str:
    shown = [part for part in PARTS if parts.loc[parts["part"] == part, "us"].abs().max() > 0]
    rows = []
    for row in roofline.itertuples():
        here = parts[
            (parts["env"] == row.env)
            & (parts["algo"] == row.algo)
            & (parts["n_seeds"] == row.n_seeds)
        ].set_index("part")["us"]
        timers = row.step_us_with_timers - row.step_us
        rows.append(
            [f"{row.algo} {row.env} S={row.n_seeds}", *(number(here[part]) for part in shown)]
            + [number(row.step_us), number(timers)]
        )
    return table(["case", *shown, "whole step", "timers"], rows)


def _startup(startup: pd.DataFrame) -> str:
    rows = [
        [case, spread(group["seconds"]), str(len(group))]
        for case, group in startup.groupby("case", sort=False)
    ]
    text = (
        "Seconds of `vdqn-run` on the chain of 10 states, five seeds, from the process's start.\n"
    )
    return text + "\n" + table(["", "seconds", "starts"], rows)
