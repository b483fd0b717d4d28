"""What is measured on: one thread of one processor core, and what that core is."""

import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "vdqn-runner",
    "torch",
    "numpy",
    "gymnasium",
    "stable-baselines3",
    "sbx-rl",
    "jax",
    "jaxlib",
)
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
ROOT = Path(__file__).parents[2]


def child_environment() -> dict[str, str]:
    """Return the environment of a process that is to be timed."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(p for p in paths if p)}


def cpus() -> list[int]:
    """Return the processor cores that this process may use; empty where nobody can tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def pin(cpu: int) -> None:
    """Keep this process, and the threads it will start, on one core; -1 leaves it free."""
    if cpu >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in MiB."""
    try:
        # Not getrusage: that begins with the size of the process that started this one.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if platform.system() == "Darwin" else 1024)


def cpu_model() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def facts(cpu: int) -> dict[str, str]:
    """Return what is to be known about the machine and the versions."""
    from vdqn_runner.kernels import engine
    from vdqn_runner.runs.provenance import commit, utc_now

    found = {
        "processor": cpu_model(),
        "cores": str(os.cpu_count()),
        "pinned to core": "none" if cpu < 0 else str(cpu),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "kernels": engine(),
        "commit": commit() or "unknown",
        "measured": utc_now(),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
