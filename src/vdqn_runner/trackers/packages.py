"""Which packages a tracker needs, and whether they are there; nothing of them is imported."""

from importlib.util import find_spec

from vdqn_runner.config import MLflowTracker, Tracker
from vdqn_runner.errors import ConfigError

_PACKAGES = {
    "none": (),
    "tensorboard": ("tensorboard",),
    "mlflow": ("mlflow",),
    "wandb": ("wandb",),
}
_DATABASE = ("sqlalchemy", "alembic")


def check_tracker(tracker: Tracker) -> None:
    """Refuse a tracker whose packages are not installed.

    Raises:
        ConfigError: One is missing; names the extra that installs it.
    """
    packages = [*_PACKAGES[tracker.kind]]
    if isinstance(tracker, MLflowTracker) and not (tracker.uri or "").startswith("http"):
        packages += _DATABASE
    for package in packages:
        if not _installed(package):
            raise ConfigError(
                f"tracker={tracker.kind}: needs {package}, which is not there: "
                f"pip install 'vdqn-runner[{tracker.kind}]'"
            )


def _installed(package: str) -> bool:
    # Any folder of that name where Python looks would do for a package without a file: W&B calls
    # the folder of its runs wandb.
    found = find_spec(package)
    return found is not None and found.origin is not None
