"""The command ``vdqn-run``: check the whole request, then let Hydra run its jobs.

Hydra, gymnasium and torch are imported only when they are needed: help needs none of them, and a
request that is refused never loads torch.
"""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vdqn_runner.errors import ConfigError, RunError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vdqn_runner.config import RunConfig

OK, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130
FAILURE_FILES = "failed-{:05d}.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command line (by default the process's) and return the exit code.

    0: done. 1: a run failed. 2: the request was refused and nothing was made. 130: interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _command(arguments)
    except ConfigError as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            traceback.print_exc()
        _complain(str(error))
        return REFUSED
    except KeyboardInterrupt:
        print(file=sys.stderr)
        _complain("interrupted; the same command again goes on from the last checkpoint")
        return INTERRUPTED


def job(settings: "DictConfig") -> None:
    """Run one job with composed settings; what Hydra calls, in whichever process it chooses.

    A failure of a single run, and a signal, end the process with their exit code. A failure in a
    sweep is written to the sweep's folder, so that the other jobs go on and ``main`` can list it
    at the end, even if the job ran on another machine.
    """
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    from vdqn_runner.config import build
    from vdqn_runner.config.paper_lr import register
    from vdqn_runner.runs.interrupt import Interrupted

    register()  # a launcher may have started this process for the job
    code = FAILED
    try:
        tree: Any = OmegaConf.to_container(settings, resolve=True)
        config = build(tree)
        from vdqn_runner.run import execute

        execute(config)
        return
    except Interrupted as stop:
        _complain(str(stop))
        raise SystemExit(128 + stop.signal) from stop
    except ConfigError as error:
        code, reason = REFUSED, str(error)
    except RunError as error:
        reason = str(error)
    except Exception as error:
        traceback.print_exc()
        reason = f"internal error, see the traceback: {type(error).__name__}: {error}"
    hydra = HydraConfig.get()
    if hydra.mode is not RunMode.MULTIRUN:
        _complain(reason)
        raise SystemExit(code)
    record = {"overrides": list(hydra.overrides.task), "reason": " ".join(reason.split())}
    path = Path(hydra.sweep.dir) / FAILURE_FILES.format(hydra.job.num)
    path.write_text(json.dumps(record), encoding="utf-8")


def _command(arguments: list[str]) -> int:
    """Answer what needs no run at once; check and run the rest."""
    if {"-h", "--help"} & set(arguments):
        from vdqn_runner.config.help import help_text

        print(help_text(), end="")
        return OK
    if "--version" in arguments:
        from importlib.metadata import version

        print(f"vdqn-run {version('vdqn-runner')}")
        return OK
    args, arguments = _parse(arguments)
    if args.shell_completion or args.hydra_help:
        return _hand_to_hydra(arguments)
    from vdqn_runner.config.compose import check_shown, plan

    if args.cfg is not None or args.info is not None:
        check_shown(args)
        return _hand_to_hydra(arguments)
    if args.resolve or args.package is not None:
        raise ConfigError(f"--{'resolve' if args.resolve else 'package'}: goes with --cfg only")
    planned = plan(args)
    _check_place_and_memory(planned.jobs)
    if planned.sweep_dir is None:
        return _hand_to_hydra(arguments)
    try:
        planned.sweep_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _complain(f"{planned.sweep_dir}: cannot be made ({error.strerror})")
        return FAILED
    folder = str(planned.sweep_dir).replace("\\", "\\\\").replace("'", "\\'")
    code = _hand_to_hydra([*arguments, f"hydra.sweep.dir='{folder}'"])
    failed = _report_failures(planned.sweep_dir, len(planned.jobs))
    return code or failed


def _check_place_and_memory(jobs: "Mapping[RunConfig, str]") -> None:
    """Refuse jobs that this machine cannot carry out; each is named by its overrides."""
    from vdqn_runner.prepare import prepare

    for config, overrides in jobs.items():
        try:
            prepare(config)
        except ConfigError as error:
            where = f" (in the job {overrides})" if len(jobs) > 1 else ""
            raise ConfigError(f"{error}{where}") from error
        except RunError:
            # Of results that have been damaged: the job says so when it runs, and others go on.
            continue


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return Hydra's reading of the command line, and the line with flags before overrides.

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
    return args, [*line, *args.overrides]


def _hand_to_hydra(arguments: list[str]) -> int:
    """Let Hydra carry out a command line with ``job``; return the exit code."""
    import hydra

    from vdqn_runner.config.files import conf_dir

    entry = hydra.main(config_path=str(conf_dir()), config_name="config", version_base="1.3")(job)
    before, sys.argv = sys.argv, ["vdqn-run", *arguments]
    try:
        entry()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    finally:
        sys.argv = before
    return OK


def _report_failures(folder: Path, n_jobs: int) -> int:
    """List the jobs of a sweep that failed, and return the exit code."""
    records = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("failed-*.json"))]
    if not records:
        return OK
    _complain(f"{len(records)} of {n_jobs} jobs failed")
    width = max(len(" ".join(record["overrides"])) for record in records)
    for record in records:
        print(f"  {' '.join(record['overrides']):<{width}}  {record['reason']}", file=sys.stderr)
    return FAILED


def _complain(reason: str) -> None:
    """Print one line about what went wrong."""
    print(f"vdqn-run: error: {' '.join(reason.split())}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
