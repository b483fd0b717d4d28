"""The command ``vdqn-run``: check the whole request, then let Hydra run its jobs.

Hydra, gymnasium and torch are imported only when they are needed: help needs none of them, and a
request that is refused never loads torch.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vdqn_runner.console import console, unread, version_line
from vdqn_runner.errors import ConfigError, HeldError, RunError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vdqn_runner.config import RunConfig
    from vdqn_runner.prepare import Prepared
    from vdqn_runner.sweep import Outcome, Planned

OK, FAILED, REFUSED, HELD, INTERRUPTED, TERMINATED = 0, 1, 2, 75, 130, 143
DRY_RUN = "--dry-run"
FULL_ERROR = "HYDRA_FULL_ERROR"


@console("vdqn-run")
def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command line (by default the process's) and return the exit code.

    0: done. 1: a run failed. 2: the request was refused and nothing was made. 75: nothing failed,
    but jobs of a sweep were left to the processes that train them already. 130: interrupted. 143:
    terminated.
    """
    from vdqn_runner.runs.interrupt import Terminated, terminated_in_one_line

    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with terminated_in_one_line():
            return _command(arguments)
    except ConfigError as error:
        if os.environ.get(FULL_ERROR) == "1":
            traceback.print_exc()
        _complain(str(error))
        return REFUSED
    except RunError as error:
        _complain(str(error))
        return FAILED
    except KeyboardInterrupt as stop:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the terminal has put ^C there
        _complain(str(stop) or "interrupted while nothing trained; nothing is lost")
        return TERMINATED if isinstance(stop, Terminated) else INTERRUPTED


def job(settings: "DictConfig") -> float | None:
    """Run one job with composed settings; what Hydra calls, in whichever process it chooses.

    A failure of a single run, and a signal, end the process with their exit code. How a job of a
    sweep ends is written to the sweep's folder, so that the other jobs go on and ``main`` can list
    it at the end, even if the job ran on another machine.

    Returns:
        The run's ``score`` in a sweep, for sweepers that optimise; None if it failed.
    """
    from omegaconf import OmegaConf

    from vdqn_runner.config.resolvers import register_resolvers
    from vdqn_runner.runs.interrupt import Interrupted

    register_resolvers()  # a launcher may have started this process for the job
    place = _place()
    begun: Planned | None = None
    code, reason, value = FAILED, "", None
    outcome: Outcome = "failed"
    try:
        if place is not None:
            from vdqn_runner.sweep import planned

            begun = planned(place.sweep, place.job)
        tree: Any = OmegaConf.to_container(settings, resolve=True)
        config = _config(tree, begun)
        from vdqn_runner.run import execute

        run = execute(config)
        code, outcome = OK, "done"
        if place is not None:
            from vdqn_runner.score import score

            value = score(run, config.seeds)
    except Interrupted as stop:
        _complain(str(stop))
        raise SystemExit(128 + stop.signal) from stop
    except ConfigError as error:
        code, reason = REFUSED, str(error)
    except HeldError as error:
        outcome, reason = "skipped", str(error)
    except RunError as error:
        reason = str(error)
    except Exception as error:
        traceback.print_exc()
        reason = f"internal error, see the traceback: {type(error).__name__}: {error}"
    if place is not None:
        _note(place, begun, outcome, " ".join(reason.split()))
    elif code != OK:
        _complain(reason)
        raise SystemExit(code)
    return value


@dataclass(frozen=True)
class Place:
    """Which job of which sweep this is.

    Attributes:
        sweep: The sweep's folder.
        job: The job's number.
        overrides: What tells the job from the others.
    """

    sweep: Path
    job: int
    overrides: tuple[str, ...]


def _place() -> Place | None:
    """Return where the job of this process belongs; None if there is no sweep."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    hydra = HydraConfig.get() if HydraConfig.initialized() else None
    if (
        hydra is None
        or hydra.mode is not RunMode.MULTIRUN
        or OmegaConf.is_missing(hydra.job, "num")
    ):
        return None
    return Place(Path(hydra.sweep.dir), hydra.job.num, tuple(hydra.overrides.task))


def _config(tree: dict[str, Any], begun: "Planned | None") -> "RunConfig":
    """Build the run: in a sweep from the settings it had when the sweep began.

    Hydra composes each job when it starts, from files that may have been edited meanwhile.
    """
    from vdqn_runner.config import build

    if begun is None:
        return build(tree)
    config = build(begun.settings)
    try:
        changed = build(tree) != config
    except ConfigError:
        changed = True
    if changed:
        _say(
            f"note: {begun.label}: settings files were changed since the sweep began; this job "
            "keeps the settings that it had then"
        )
    return config


def _note(place: Place, begun: "Planned | None", outcome: "Outcome", reason: str) -> None:
    """Write down how a job of a sweep ended; tell at once what is not read at the end."""
    from vdqn_runner.sweep import Ended, note

    label = begun.label if begun is not None else " ".join(place.overrides)
    if outcome == "skipped":
        _say(f"skipped {label}: {reason}")
    elif outcome == "failed" and begun is None:
        _complain(f"{label}: {reason}")
    try:
        note(place.sweep, place.job, place.overrides, Ended(outcome, reason))
    except RunError as error:
        # The end of the sweep then misses the record and says so.
        _complain(f"{label}: {reason or outcome}; {error}")


def _command(arguments: list[str]) -> int:
    """Answer what needs no run at once; check and run the rest."""
    if {"-h", "--help"} & set(arguments):
        from vdqn_runner.config.help import help_text

        print(help_text(), end="")
        return OK
    if "--version" in arguments:
        print(version_line("vdqn-run"))
        return OK
    dry = DRY_RUN in arguments
    args, flags = _parse([item for item in arguments if item != DRY_RUN])
    if args.shell_completion or args.hydra_help:
        return _hand_to_hydra([*flags, *args.overrides])
    from vdqn_runner.config.compose import check_shown, plan

    if args.cfg is not None or args.info is not None:
        check_shown(args)
        return _hand_to_hydra([*flags, *args.overrides])
    if args.resolve or args.package is not None:
        raise ConfigError(f"--{'resolve' if args.resolve else 'package'}: goes with --cfg only")
    planned = plan(args)
    jobs = planned.jobs
    prepared = _prepared(jobs) if jobs is not None else None
    if dry:
        if prepared is None:
            raise ConfigError(f"{DRY_RUN}: this sweeper decides its jobs as it goes")
        from vdqn_runner.manage.dry_run import told

        print(*told(prepared), sep="\n")
        return OK
    line = [*flags, *planned.overrides]
    if planned.sweep_dir is None:
        return _hand_to_hydra(line)
    from vdqn_runner.config.words import quoted
    from vdqn_runner.sweep import begin

    begin(planned.sweep_dir, jobs)
    code = _hand_to_hydra([*line, f"hydra.sweep.dir={quoted(str(planned.sweep_dir))}"])
    return _report(planned.sweep_dir, jobs, code)


def _prepared(jobs: "Mapping[RunConfig, tuple[str, ...]]") -> "dict[RunConfig, Prepared]":
    """Return what each job takes; refuse those that this machine cannot carry out.

    Every job does so once more when it begins, since it may be elsewhere and much later.
    """
    from vdqn_runner.prepare import prepare

    found = {}
    for config, overrides in jobs.items():
        try:
            found[config] = prepare(config)
        except ConfigError as error:
            where = f" (in the job {' '.join(overrides)})" if len(jobs) > 1 else ""
            raise ConfigError(f"{error}{where}") from error
    return found


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return Hydra's reading of the command line, and the line's flags without its overrides.

    Hydra itself takes overrides in one group only: ``a=1 -m b=2`` would be an error.
    """
    from hydra._internal.utils import get_args_parser

    quiet = {"-q", "--quiet"}
    line = [item for item in arguments if item not in quiet]
    if len(line) < len(arguments) and "quiet=true" not in line:
        line.append("quiet=true")
    parser = get_args_parser()
    parser.exit_on_error = False
    try:
        args, unknown = parser.parse_known_intermixed_args(line)
    except argparse.ArgumentError as error:
        raise ConfigError(str(error)) from error
    if unknown:
        raise ConfigError(f"{unknown[0]}: unknown flag; see vdqn-run --help")
    for override in args.overrides:
        line.remove(override)
    return args, line


def _hand_to_hydra(arguments: list[str]) -> int:
    """Let Hydra carry out a command line with ``job``; return the exit code."""
    import hydra

    from vdqn_runner.config.explain import one_line
    from vdqn_runner.config.files import conf_dir

    entry = hydra.main(config_path=str(conf_dir()), config_name="config", version_base="1.3")(job)
    before, sys.argv = sys.argv, ["vdqn-run", *arguments]
    wanted = os.environ.get(FULL_ERROR)
    # Otherwise Hydra prints errors itself, in many lines; here, say, of a settings file that was
    # spoilt since the request was checked.
    os.environ[FULL_ERROR] = "1"
    try:
        entry()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except Exception as error:
        if unread(error):
            raise
        if wanted == "1":
            traceback.print_exc()
        _complain(one_line(error))
        return FAILED
    finally:
        sys.argv = before
        del os.environ[FULL_ERROR]
        if wanted is not None:
            os.environ[FULL_ERROR] = wanted
    return OK


def _report(folder: Path, jobs: "Mapping[RunConfig, tuple[str, ...]] | None", code: int) -> int:
    """Say which jobs of a sweep are not done and return the exit code, ``code`` if that is bad."""
    from vdqn_runner.sweep import ended, labels, noted

    table, skipped = [], 0
    # Of another sweeper's jobs there is only what they wrote down.
    known = noted(folder) if jobs is None else dict(enumerate(jobs.values()))
    names = dict(zip(known, labels(list(known.values())), strict=True))
    for number, label in names.items():
        end = ended(folder, number)
        if end is None:
            # A signal ends a sweep early; otherwise every job leaves word.
            if code in (OK, FAILED):
                table.append((label, "did not run, or its process was killed"))
        elif end.outcome == "failed":
            table.append((label, end.reason))
        else:
            skipped += end.outcome == "skipped"
    n_jobs = len(names)
    if table:
        _complain(f"{len(table)} of {n_jobs} jobs failed")
        width = max(len(label) for label, _ in table)
        for label, reason in table:
            print(f"  {label:<{width}}  {reason}", file=sys.stderr)
    if skipped:
        _say(
            f"{skipped} of {n_jobs} jobs skipped, since other processes train their seeds; "
            "the same command again does what is then left"
        )
    return code or (FAILED if table else HELD if skipped else OK)


def _say(line: str) -> None:
    """Print one line about what is no error."""
    print(f"vdqn-run: {line}", file=sys.stderr)


def _complain(reason: str) -> None:
    """Print one line about what went wrong."""
    print(f"vdqn-run: error: {' '.join(reason.split())}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
