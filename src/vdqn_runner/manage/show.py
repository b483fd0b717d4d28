"""What ``ls``, ``show`` and ``diff`` print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.labels import flatten, setting_text
from vdqn_runner.analysis.load import Run, find_run, find_runs
from vdqn_runner.manage.survey import as_table, shown_states, survey

# What `flatten` leaves out, because it says which panel of a figure a run belongs to.
_PLACE = ("kind", "id", "n")


def listing(paths: Sequence[Path]) -> Iterator[str]:
    """Yield a table with a row for each run at or below the paths.

    Raises:
        ConfigError: A path does not exist, or no run lies there.
        RunError: A run's files cannot be understood.
    """
    rows = []
    for one in map(survey, find_runs(paths)):
        last = one.last_return
        rows.append(
            [
                str(one.run.path),
                str(len(one.seeds)),
                shown_states(one.states, len(one.seeds)),
                f"{100 * one.progress:.0f}%",
                "-" if last is None else f"{last:.4g}",
                one.updated.replace("T", " ").removesuffix("+00:00"),
            ]
        )
    header = ["run", "seeds", "state", "done", "return", "updated (UTC)"]
    yield from as_table(header, rows, right=(1, 3, 4))


def details(path: Path) -> Iterator[str]:
    """Yield what there is to know of one run: its settings and its seeds.

    Raises:
        ConfigError: There is no run, or there are several.
        RunError: Its files cannot be understood.
    """
    run = find_run(path)
    one = survey(run)
    yield f"{run.path}: {shown_states(one.states, len(one.seeds))}"
    known = [seed.status for seed in one.seeds if seed.status]
    if known:
        newest = max(known, key=lambda status: status.updated)
        yield f"command: {newest.command}"
        versions = ", ".join(f"{name} {version}" for name, version in newest.versions.items())
        yield f"versions: {versions}; commit {newest.commit or 'not known'}"
    yield ""
    yield from as_table(["setting", "value"], [[k, v] for k, v in settings_of(run).items()], ())
    yield ""
    rows = [
        [
            str(seed.number),
            seed.state,
            f"{seed.status.episodes_done}/{run.episodes}" if seed.status else "-",
            str(seed.status.steps) if seed.status else "-",
            "-" if seed.last_return is None else f"{seed.last_return:.4g}",
            (seed.status.reason or "") if seed.status else "",
        ]
        for seed in one.seeds
    ]
    header = ["seed", "state", "episodes", "steps", "return", "reason"]
    yield from as_table(header, rows, right=(0, 2, 3, 4))


def differences(first: Path, second: Path) -> Iterator[str]:
    """Yield a table of the settings in which two runs differ.

    Raises:
        ConfigError: One of the paths holds no run, or several.
        RunError: A run's files cannot be understood.
    """
    one, other = settings_of(find_run(first)), settings_of(find_run(second))
    keys = [key for key in dict.fromkeys([*one, *other]) if one.get(key) != other.get(key)]
    if not keys:
        yield "the settings are the same"
        return
    rows = [[key, one.get(key, "-"), other.get(key, "-")] for key in keys]
    yield from as_table(["setting", str(first), str(second)], rows, ())


def settings_of(run: Run) -> dict[str, str]:
    """Return all settings of a run by dotted key, as they would be written."""
    env = {
        f"env.{key}": str(run.config["env"][key])
        for key in ("kind", "id", "n")
        if key in run.config["env"]
    }
    rest = {key: setting_text(value) for key, value in flatten(run.config).items()}
    return {"algo.name": run.algo, **env, **rest}
