"""Composing a request with Hydra before anything runs: every job of a sweep, checked.

Hydra would find most mistakes too, but one by one, after it has made folders, and in several
lines. Here each job is composed exactly as Hydra will compose it and then built.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_automatic_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from vdqn_runner.config.build import build
from vdqn_runner.config.explain import explain, one_line
from vdqn_runner.config.files import conf_dir
from vdqn_runner.config.hydra_settings import check_hydra, check_plugins
from vdqn_runner.config.left_to_jobs import as_params, inside_a_group, left_to_jobs
from vdqn_runner.config.overrides import parse, refuse_misuse, refuse_sweeps
from vdqn_runner.config.read_once import ReadOnce
from vdqn_runner.config.resolvers import register_resolvers
from vdqn_runner.config.schema import RunConfig
from vdqn_runner.config.words import show
from vdqn_runner.errors import ConfigError


@dataclass(frozen=True)
class Plan:
    """What a command line asks for.

    Attributes:
        jobs: The run of every job, in the order in which they will run, and its overrides; None
            where another sweeper than Hydra's own decides them as it goes.
        sweep_dir: The folder of a sweep's bookkeeping; None for a single run.
        overrides: What Hydra is to be given.
    """

    jobs: Mapping[RunConfig, tuple[str, ...]] | None
    sweep_dir: Path | None
    overrides: Sequence[str]


def plan(args: argparse.Namespace) -> Plan:
    """Compose and check every job that Hydra's parsed command line ``args`` asks for.

    Raises:
        ConfigError: The request, or any job of the sweep, cannot be run as written.
    """
    name = args.config_name or "config"
    overrides = parse(args.overrides)
    with _hydra(args) as hydra:
        refuse_misuse(overrides, hydra.config_loader.list_groups(""))
        master, lines = _shared(hydra, name, overrides, args.multirun)
        check_plugins(master.hydra)
        if not (args.multirun or master.hydra.mode is RunMode.MULTIRUN):
            refuse_sweeps(overrides)
            return Plan({_build(master, ""): ()}, None, lines)
        jobs = _job_overrides(master)
        if jobs is None:
            return Plan(None, Path(str(master.hydra.sweep.dir)), lines)
        runs: dict[RunConfig, tuple[str, ...]] = {}
        for job in jobs:
            where = f" (in the job {' '.join(job)})" if len(jobs) > 1 else ""
            fixed = [item for item in args.overrides if item.startswith(("hydra.", "hydra/"))]
            config = _compose(hydra, name, parse(fixed + job), RunMode.RUN, where)
            OmegaConf.copy_cache(from_config=master, to_config=config)
            run = _build(config, where)
            if run.out != master.out:
                raise ConfigError(
                    f"{show('out', run.out)}: a sweep has one folder for its results; "
                    f"sweep name instead{where}"
                )
            if run in runs:
                raise ConfigError(
                    f"the same run twice{where}; first in the job {' '.join(runs[run])}"
                )
            runs[run] = tuple(job)
        HydraConfig.instance().set_config(master)
        return Plan(runs, Path(str(master.hydra.sweep.dir)), lines)


def check_shown(args: argparse.Namespace) -> None:
    """Check the request whose settings are to be shown, which is of one run.

    Raises:
        ConfigError: It does not compose, or could not be run.
    """
    name = args.config_name or "config"
    overrides = parse(args.overrides)
    with _hydra(args) as hydra:
        refuse_misuse(overrides, hydra.config_loader.list_groups(""))
        refuse_sweeps(overrides, showing=True)
        config = _compose(hydra, name, overrides, RunMode.RUN)
        if args.cfg is not None:
            _build(config, "")
        if args.package is not None and OmegaConf.select(config, args.package) is None:
            raise ConfigError(f"--package {args.package}: there are no such settings")


@contextmanager
def _hydra(args: argparse.Namespace) -> Iterator[Hydra]:
    """Yield a Hydra that searches where the real one will."""
    register_resolvers()
    path = args.config_path or str(conf_dir())
    search = create_automatic_config_search_path(None, "vdqn_runner.cli", path)
    if args.config_dir is not None:
        extra = Path(args.config_dir).resolve()
        if not extra.is_dir():
            raise ConfigError(f"--config-dir {args.config_dir}: no such folder")
        search.prepend("command-line", f"file://{extra}", SearchPathQuery(provider="schema"))
    GlobalHydra.instance().clear()
    try:
        hydra = Hydra.create_main_hydra2(task_name="cli", config_search_path=search)
        assert isinstance(hydra.config_loader, ConfigLoaderImpl)
        hydra.config_loader.repository = ReadOnce(search)
        yield hydra
    finally:
        GlobalHydra.instance().clear()


def _shared(
    hydra: Hydra, name: str, overrides: list[Override], multirun: bool
) -> tuple[DictConfig, list[str]]:
    """Compose what all jobs share; return it, and the overrides that make Hydra do the same."""
    try:
        return _compose(hydra, name, overrides, RunMode.MULTIRUN), _lines(overrides)
    except ConfigError as error:
        unshared = error
    groups = hydra.config_loader.list_groups("")
    outside = [override for override in overrides if not inside_a_group(override, groups)]
    base = _compose(hydra, name, outside, RunMode.MULTIRUN)
    is_sweep = multirun or base.hydra.mode is RunMode.MULTIRUN
    later = left_to_jobs(overrides, base, groups) if is_sweep and _is_basic(base) else []
    if not later:
        raise unshared
    shared = [override for override in overrides if override not in later]
    shared += parse([as_params(later)])
    return _compose(hydra, name, shared, RunMode.MULTIRUN), _lines(shared)


def _lines(overrides: Sequence[Override]) -> list[str]:
    """Return overrides as they were written."""
    return [override.input_line for override in overrides if override.input_line is not None]


def _compose(
    hydra: Hydra, name: str, overrides: list[Override], mode: RunMode, where: str = ""
) -> DictConfig:
    """Compose the settings, or say in one line why they do not compose."""
    try:
        return hydra.compose_config(config_name=name, overrides=_lines(overrides), run_mode=mode)
    except Exception as error:
        raise explain(hydra, name, overrides, error, where) from error


def _is_basic(master: DictConfig) -> bool:
    """Whether Hydra's own sweeper decides the jobs, all of them beforehand."""
    return str(OmegaConf.select(master, "hydra.sweeper._target_")).endswith(".BasicSweeper")


def _job_overrides(master: DictConfig) -> list[list[str]] | None:
    """Return the overrides of every job of a sweep; None if another sweeper decides them."""
    if not _is_basic(master):
        return None
    items = [f"{key}={value}" for key, value in (master.hydra.sweeper.params or {}).items()]
    overrides = parse(items + list(master.hydra.overrides.task))
    try:
        (jobs,) = BasicSweeper.split_arguments(overrides, None)
    except Exception as error:
        raise ConfigError(one_line(error)) from error
    return jobs


def _build(config: DictConfig, where: str) -> RunConfig:
    """Build the run from composed settings; ``where`` names the job in messages."""
    try:
        tree: Any = OmegaConf.to_container(_task(config), resolve=True)
        run = build(tree)
        check_hydra(config.hydra, run.out)
        return run
    except OmegaConfBaseException as error:
        raise ConfigError(f"{_ours(error) or one_line(error)}{where}") from error
    except ConfigError as error:
        raise ConfigError(f"{error}{where}") from error


def _ours(error: BaseException) -> ConfigError | None:
    """Return the error of a resolver of this package that OmegaConf has wrapped, if it is one."""
    cause = error.__cause__ or error.__context__
    while cause is not None and not isinstance(cause, ConfigError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _task(config: DictConfig) -> DictConfig:
    """Return composed settings without Hydra's own."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
