"""Going on with runs that are there, with the settings that they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.load import Run, find_runs
from vdqn_runner.config import RunConfig, build
from vdqn_runner.errors import ConfigError, HeldError, RunError
from vdqn_runner.manage.survey import survey

_LEVELS = 4  # name, environment, algorithm, hash


def resume(paths: Sequence[Path], workers: str, quiet: bool) -> Iterator[str]:
    """Train what is left of the seeds that have folders, run after run; yield a line for each run.

    A run that fails does not stop the others.

    Raises:
        ConfigError: No run there, or one that does not lie as ``vdqn-run`` lays them.
        RunError: Runs could not be finished; the others are.
        Interrupted: A signal came; a checkpoint has been written.
    """
    found = [run for run in find_runs(paths) if not run.packed]
    wanted = {run.path: list(configs(run, workers, quiet)) for run in found}

    from vdqn_runner.run import execute

    failures = []
    for run in found:
        if not wanted[run.path]:
            yield f"{run.path}: done already"
            continue
        try:
            for config in wanted[run.path]:
                execute(config)
        except (HeldError, RunError) as error:
            failures.append(f"{run.path}: {error}")
            continue
        yield f"{run.path}: done"
    if failures:
        raise RunError("; ".join(failures))


def configs(run: Run, workers: str, quiet: bool) -> Iterator[RunConfig]:
    """Yield the requests that finish a run: one for each stretch of seeds without a gap.

    Raises:
        ConfigError: The run does not lie at ``<out>/<name>/<env>/<algo>/<hash>``, or its settings
            are not those of this version.
    """
    left = [seed.number for seed in survey(run).seeds if seed.state != "done"]
    parts = run.path.resolve().parts
    if len(parts) <= _LEVELS:
        raise ConfigError(f"{run.path}: does not lie at <out>/<name>/<env>/<algo>/<hash>")
    place = {"name": parts[-_LEVELS], "out": str(_out(run.path))}
    for first, count in stretches(left):
        config = build(
            {
                **run.config,
                **place,
                "seed": first,
                "n_seeds": count,
                "workers": workers if workers == "auto" else int(workers),
                "quiet": quiet,
            }
        )
        _check_place(run, config)
        yield config


def _out(run: Path) -> Path:
    """Return the folder of all results, written as the run's path is where that can be."""
    out = run.resolve().parents[_LEVELS - 1]
    written = run.parents[_LEVELS - 1] if len(run.parents) >= _LEVELS else out
    return written if written.resolve() == out else out


def stretches(seeds: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, count) of each stretch of consecutive numbers among ascending ``seeds``."""
    found: list[tuple[int, int]] = []
    for seed in seeds:
        if found and seed == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((seed, 1))
    return found


def _check_place(run: Run, config: RunConfig) -> None:
    """Refuse a folder that is not the one which these settings belong to."""
    from vdqn_runner.prepare import prepare

    wanted = prepare(config).run
    if wanted.resolve() != run.path.resolve():
        raise ConfigError(f"{run.path}: its settings belong to {wanted}; it was moved or changed")
