"""Where a run lives and which files it has.

<out>/<name>/<env>/<algo>/<identity>/
  config.yaml
  seed-00003/
    episodes.csv  updates.csv  evaluations.csv  timing.csv
    status.json  checkpoint.pt  policy.pt  policies/episode-00100.pt  lock
"""

import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.runs.atomic import cannot_make, write_atomic

if TYPE_CHECKING:
    from vdqn_runner.config import RunConfig

CONFIG = "config.yaml"
EPISODES = "episodes.csv"
UPDATES = "updates.csv"
EVALUATIONS = "evaluations.csv"
TIMING = "timing.csv"
STATUS = "status.json"
CHECKPOINT = "checkpoint.pt"
PREVIOUS_CHECKPOINT = "checkpoint.prev.pt"
POLICY = "policy.pt"
POLICIES = "policies"
LOCK = "lock"

_NAME_LENGTH = 100


def run_path(config: "RunConfig", env_label: str, identity: str) -> Path:
    """Return the run's folder, ``out/name/<env>/<algo>/<identity>``; nothing is created.

    Args:
        config: The run's config.
        env_label: The environment's name; what a file name cannot hold becomes ``-``.
        identity: Hash of all that decides the numbers.

    Raises:
        ConfigError: ``name`` is not one plain file name, so the folder could lie outside ``out``.
    """
    if safe_name(config.name) != config.name:
        raise ConfigError(
            f"name={config.name}: must be one folder name of letters, digits and . _ + = - "
            f"(at most {_NAME_LENGTH}, not beginning with . or -); "
            f"for example {safe_name(config.name)}"
        )
    return Path(config.out, config.name, safe_name(env_label), config.algo.name, identity)


def seed_path(run: Path, seed: int) -> Path:
    """Return the folder of one seed: ``seed-00003``; more digits where a seed needs them."""
    return run / f"seed-{seed:05d}"


def kept_policy(episode: int) -> str:
    """Return the file, below a seed's folder, of its parameters after ``episode`` episodes."""
    return f"{POLICIES}/episode-{episode:05d}.pt"


def results(config: "RunConfig") -> tuple[str, ...]:
    """Return the names of the files in which a finished seed's numbers are."""
    evaluations = (EVALUATIONS,) if config.evaluate.every else ()
    return (EPISODES, UPDATES, *evaluations, POLICY)


def safe_name(text: str) -> str:
    """Return ``text`` as one file name that is the same on every system: ``ALE-Breakout-v5``."""
    return re.sub(r"[^A-Za-z0-9._+=-]+", "-", text).lstrip(".-")[:_NAME_LENGTH] or "unnamed"


def create_run(run: Path, identity_mapping: Mapping[str, Any]) -> None:
    """Make the run's folder and its config.yaml, or check that it is this run's.

    Several processes may do so at once: each writes the same bytes and renames them into place.

    Args:
        run: From ``run_path``.
        identity_mapping: All that decides the numbers, as plain Python values.

    Raises:
        RunError: config.yaml is there and says something else, or the folder cannot be written.
    """
    path = run / CONFIG
    wanted = yaml.safe_dump(dict(identity_mapping), sort_keys=False, allow_unicode=True)
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_make(run, error) from error
    if not path.exists():
        temporary = path.with_name(f"{CONFIG}.{uuid.uuid4().hex}.tmp")
        write_atomic(path, [wanted.encode()], temporary)
    try:
        found = yaml.safe_load(path.read_bytes())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RunError(f"{path} cannot be read ({type(error).__name__}); restore it") from error
    # As text with sorted keys: 1, 1.0 and true are different settings, though equal to Python.
    if yaml.safe_dump(found) != yaml.safe_dump(yaml.safe_load(wanted)):
        raise RunError(f"{path} was changed: it does not hold this run's settings; restore it")
