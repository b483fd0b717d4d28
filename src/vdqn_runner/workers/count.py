"""How many worker processes a run gets."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_CGROUPS = Path("/proc/self/cgroup")
_CGROUP_FILES = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Place:
    """Where a run takes place, as far as it decides the number of workers.

    Attributes:
        cpus: Processors that the system lets this process run on.
        quota: Processors' worth of time that its container may use; None for no limit.
        slurm: What ``SLURM_CPUS_PER_TASK`` says; None outside Slurm.
        launcher: Class name of the Hydra launcher that spreads the jobs of a sweep; None where
            the jobs run one after the other in this process.
    """

    cpus: int
    quota: float | None = None
    slurm: int | None = None
    launcher: str | None = None


def worker_count(wanted: Literal["auto"] | int, threads: int, n_seeds: int, place: Place) -> int:
    """Return the number of processes for ``n_seeds`` seeds, at least 1.

    ``auto`` is one process for ``threads`` processors, as far as there are seeds. Jobs that a
    launcher spreads over the machine get one each, unless they are Slurm tasks with processors of
    their own.
    """
    if wanted != "auto":
        return max(1, min(wanted, n_seeds))
    limits = [place.cpus]
    if place.quota is not None:
        limits.append(int(place.quota))
    if place.slurm is not None:
        limits.append(place.slurm)
    if place.launcher is not None and (place.launcher != "SlurmLauncher" or place.slurm is None):
        limits.append(1)
    return max(1, min(n_seeds, min(limits) // threads))


def place(environ: Mapping[str, str] | None = None) -> Place:
    """Return where this process runs; ``environ`` by default its environment variables."""
    slurm = (os.environ if environ is None else environ).get("SLURM_CPUS_PER_TASK", "")
    return Place(
        cpus=_cpus(),
        quota=cpu_quota(_CGROUPS, _CGROUP_FILES),
        slurm=int(slurm) if slurm.isdecimal() else None,
        launcher=_launcher(),
    )


def cpu_quota(cgroups: Path, files: Path) -> float | None:
    """Return the smallest ``cpu.max`` of this process's group and those above it (cgroup v2).

    Args:
        cgroups: The process's ``/proc/self/cgroup``.
        files: Where the groups' files are mounted.
    """
    try:
        lines = cgroups.read_text().splitlines()
    except OSError:
        return None
    group = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if group is None:
        return None
    quotas = []
    for folder in (files / group, *(files / group).parents):
        if not folder.is_relative_to(files):
            break
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            quotas.append(int(quota) / int(period))
        except (OSError, ValueError):
            # No such file at the root, and "max" is no number.
            continue
    return min(quotas, default=None)


def _cpus() -> int:
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _launcher() -> str | None:
    """Return the class name of the launcher that started this job, if it is not Hydra's basic."""
    if "hydra" not in sys.modules:
        return None
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    if not HydraConfig.initialized() or HydraConfig.get().mode is not RunMode.MULTIRUN:
        return None
    name = str(HydraConfig.get().launcher["_target_"]).rpartition(".")[2]
    return None if name == "BasicLauncher" else name
