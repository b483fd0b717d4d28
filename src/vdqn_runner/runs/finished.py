"""Whether a seed needs no more training."""

from pathlib import Path

from vdqn_runner.config import RunConfig
from vdqn_runner.errors import RunError
from vdqn_runner.runs.folder import kept_policy, results, seed_path
from vdqn_runner.runs.status import read_status


def is_done(run: Path, config: RunConfig, seed: int) -> bool:
    """Whether this seed is finished.

    Raises:
        RunError: It is, and what it wrote is no longer there.
    """
    folder = seed_path(run, seed)
    status = read_status(folder)
    if status is None or status.state != "done":
        return False
    for name in results(config):
        if not (folder / name).exists():
            raise RunError(
                f"{folder} is done, but its {name} is missing; restore it, or remove the folder to "
                "train this seed again"
            )
    return True


def lacks_policies(run: Path, config: RunConfig) -> list[int]:
    """Return the finished seeds that did not keep all the policies which are asked for now."""
    if not config.policy_every:
        return []
    episodes = range(config.policy_every, config.episodes + 1, config.policy_every)
    names = [kept_policy(episode) for episode in episodes]
    return [
        seed
        for seed in config.seeds
        if is_done(run, config, seed)
        and not all((seed_path(run, seed) / name).exists() for name in names)
    ]
