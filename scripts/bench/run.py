"""The command ``python -m scripts.bench``: run the studies, write tables and figures."""

import argparse
import csv
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scripts.bench import machine, startup, studies
from scripts.bench.peers import MODULES
from scripts.bench.rounds import Effort, measure
from scripts.bench.work import PEERS
from vdqn_runner.errors import ConfigError, RunError

STUDIES = ("speed", "sweep", "startup", "roofline")


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0, 1 a measurement failed, 2 a bad request, 130 interrupted."""
    arguments = _parser().parse_args(argv)
    try:
        without = _names("--without", arguments.without, list(PEERS))
        only = _names("--only", arguments.only, STUDIES) or list(STUDIES)
        if "speed" in only:
            _check_peers(without)
        effort = _effort(arguments)
        arguments.out.mkdir(parents=True, exist_ok=True)
        _run(arguments.out, only, without, arguments.quick, effort)
    except ConfigError as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 2
    except (RunError, OSError) as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: error: interrupted; finished studies are written", file=sys.stderr)
        return 130
    return 0


def _run(
    out: Path, only: Sequence[str], without: Sequence[str], quick: bool, effort: Effort
) -> None:
    from scripts.bench.report import write

    (out / "machine.json").write_text(json.dumps(machine.facts(effort.cpu), indent=2) + "\n")
    run: dict[str, Callable[[], None]] = {
        "speed": lambda: _speed(out, without, quick, effort),
        "sweep": lambda: _sweep(out, quick, effort),
        "startup": lambda: _startup(out, effort),
        "roofline": lambda: _roofline(out, quick, effort),
    }
    for study in only:
        run[study]()
        # After each, so that a later failure loses nothing.
        write(out)
    for file in sorted(out.iterdir()):
        print(file)


def _speed(out: Path, without: Sequence[str], quick: bool, effort: Effort) -> None:
    rows = []
    for tasks in studies.speed(quick, without):
        rows += measure("speed", tasks, effort, _say)
    _write(out / "bench.csv", rows)


def _sweep(out: Path, quick: bool, effort: Effort) -> None:
    rows = []
    for axis, tasks in studies.sweep(quick):
        rows += measure(axis, tasks, effort, _say)
    _write(out / "sweep.csv", rows)


def _startup(out: Path, effort: Effort) -> None:
    _write(out / "startup.csv", startup.measure(effort.repeats, effort.cpu, _say))


def _roofline(out: Path, quick: bool, effort: Effort) -> None:
    from scripts.bench.roofline import run_case

    rows, parts, kernels = [], [], []
    for task in studies.roofline(quick):
        _say(f"roofline: {task.env}: {task.name}")
        case = run_case(task, effort)
        rows.append(case["row"])
        key = {"env": task.env, "algo": task.algo, "n_seeds": task.n_seeds}
        parts += [{**key, "part": part, "us": us} for part, us in case["parts"].items()]
        kernels += [{**key, "kernel": name, **tally} for name, tally in case["kernels"].items()]
    _write(out / "roofline.csv", rows)
    _write(out / "parts.csv", parts)
    if kernels:
        _write(out / "kernels.csv", kernels)


def _write(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _check_peers(without: Sequence[str]) -> None:
    """Raise ConfigError where a peer is neither installed nor excluded."""
    missing = [
        peer
        for peer, module in MODULES.items()
        if peer not in without and importlib.util.find_spec(module) is None
    ]
    if missing:
        raise ConfigError(
            f"{', '.join(missing)}: not installed; the extra `bench` has all peers (pip install -e "
            f"'.[bench]'), --without {','.join(missing)} does without"
        )


def _names(option: str, text: str, allowed: Sequence[str]) -> list[str]:
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in allowed:
            from vdqn_runner.config.suggest import closest, did_you_mean

            hint = did_you_mean(closest(name, allowed))
            raise ConfigError(f"{option} {text}: {name!r} is not one of {', '.join(allowed)}{hint}")
    return names


def _effort(arguments: argparse.Namespace) -> Effort:
    """Return how much to measure.

    Raises:
        ConfigError: A number is out of range, or the core is not ours to use.
    """
    repeats, seconds = arguments.repeats, arguments.seconds
    if repeats is None:
        repeats = 3 if arguments.quick else Effort.repeats
    if seconds is None:
        seconds = 0.05 if arguments.quick else Effort.seconds
    if repeats < 1:
        raise ConfigError(f"--repeats {repeats}: must be at least 1")
    if seconds <= 0:
        raise ConfigError(f"--seconds {seconds}: must be above 0")
    cpus = machine.cpus()
    cpu = arguments.cpu if arguments.cpu is not None else (cpus[-1] if cpus else -1)
    if cpu != -1 and cpu not in cpus:
        allowed = ", ".join(map(str, cpus)) or "none here"
        raise ConfigError(f"--cpu {cpu}: this process may use {allowed}; -1 pins to none")
    return Effort(repeats, seconds, cpu)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench",
        description="Measure speed, memory, scaling, start-up and where the time goes, on one "
        "thread of one core, beside Stable-Baselines3, SBX and the published procedure.",
    )
    parser.add_argument("--out", type=Path, default=Path("results/bench"), metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="small and rough, a few minutes")
    parser.add_argument(
        "--without", default="", metavar="PEERS", help=f"leave out: {','.join(PEERS)}"
    )
    parser.add_argument(
        "--only", default="", metavar="STUDIES", help=f"of {','.join(STUDIES)} (default: all)"
    )
    parser.add_argument("--repeats", type=int, help="measurements of each contestant (default: 7)")
    parser.add_argument("--seconds", type=float, help="of one measurement, about (default: 0.5)")
    parser.add_argument("--cpu", type=int, help="the core to use; -1 for any (default: the last)")
    return parser
