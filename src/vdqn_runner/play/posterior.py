"""The command `vdqn-posterior`: what an agent believes along the chain, as it learns."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.answer import answer, output_folder
from vdqn_runner.config import AlgoConfig, DQNConfig
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError
from vdqn_runner.play.chosen_seed import parser_of_seed, seed_folder
from vdqn_runner.runs.folder import POLICIES, POLICY, kept_policy

_SAMPLES = 2000
_MOST = 5  # columns of a figure that can be read


@console("vdqn-posterior")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    a = _parser().parse_args(argv)
    return answer(
        "vdqn-posterior", lambda: posterior(a.run, a.seed, a.episodes, a.samples, a.output)
    )


def posterior(
    run: Path, seed: int | None, episodes: Sequence[int] | None, samples: int, output: Path
) -> Iterator[Path]:
    """Draw Q along the chain for one seed; yield the files: PNG, PDF and CSV.

    Args:
        run: A run's folder, or that of one of its seeds.
        seed: Which seed; None for the first, or the one that ``run`` names.
        episodes: After how many episodes of training; None for up to five of those kept, evenly
            chosen, the last included.
        samples: Networks that are sampled for each state.
        output: Folder for the files, made if it is not there.

    Raises:
        ConfigError: No such seed or episode, no chain, or no place to write to.
        RunError: A file cannot be read or written.
    """
    if samples < 2:
        raise ConfigError(f"--samples {samples}: must be at least 2, for an interval")
    folder = seed_folder(run, seed)
    kept = kept_episodes(folder)
    wrong = [episode for episode in episodes or () if episode not in kept]
    if wrong:
        shown = ", ".join(map(str, kept)) or "none (vdqn-run policy_every=... keeps some)"
        raise ConfigError(f"--episodes {wrong[0]}: no policy was kept then, but after {shown}")

    from vdqn_runner.play.agent import read_agent
    from vdqn_runner.play.q_posterior import belief

    agents, sampled = {}, 0
    for episode in episodes or spread(kept, _MOST):
        name = kept_policy(episode)
        agent = read_agent(folder, name if (folder / name).exists() else POLICY)
        env = agent.config.env
        if env.kind != "chain":
            raise ConfigError(
                f"{folder}: is of {agent.spec.label}, and states can be laid out on a chain only"
            )
        sampled = samples if is_distribution(agent.config.algo) else 0
        agents[episode] = agent, env.n
    if not agents:
        raise ConfigError(f"{folder}: has no policy yet")
    output_folder(output)
    beliefs = {episode: belief(agent, n, samples) for episode, (agent, n) in agents.items()}

    from vdqn_runner.analysis.style import save
    from vdqn_runner.analysis.tables import csv_bytes
    from vdqn_runner.play.posterior_figure import COLUMNS, draw, rows
    from vdqn_runner.runs.atomic import write_atomic

    figure = draw(beliefs, sampled)
    for suffix in ("png", "pdf"):
        file = output / f"posterior.{suffix}"
        save(figure, file)
        yield file
    write_atomic(output / "posterior.csv", [csv_bytes([COLUMNS, *rows(beliefs)])])
    yield output / "posterior.csv"


def is_distribution(algo: AlgoConfig) -> bool:
    """Whether an algorithm has a distribution over networks, of which some can be sampled."""
    return not isinstance(algo, DQNConfig) and getattr(algo, "family", None) != "point"


def kept_episodes(seed_folder: Path) -> list[int]:
    """Return after how many episodes this seed's parameters were kept, in order."""
    names = [path.name for path in (seed_folder / POLICIES).glob("episode-*.pt")]
    found = {int(match[1]) for name in names if (match := re.fullmatch(r"episode-(\d+)\.pt", name))}
    if (seed_folder / POLICY).exists():
        found.add(_episodes_asked_for(seed_folder))
    return sorted(found)


def _episodes_asked_for(seed_folder: Path) -> int:
    """Return how many episodes a finished seed was trained for."""
    from vdqn_runner.runs.status import read_status

    status = read_status(seed_folder)
    if status is None:
        raise ConfigError(f"{seed_folder}: has no status.json that can be read")
    return status.episodes_done


def spread(items: Sequence[int], count: int) -> list[int]:
    """Return at most ``count`` of the items at even distances, the first and the last included."""
    if len(items) <= count:
        return list(items)
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_seed(
        "vdqn-posterior",
        "Draw Q of both actions along the chain, mean and 90 % interval under the "
        "posterior, and how often a sampled network goes right: why VDQN explores. Policies of "
        "earlier episodes are there if the run was trained with policy_every=...",
    )
    parser.add_argument(
        "--episodes", type=int, nargs="+", metavar="E",
        help="after how many episodes of training (default: up to five of those kept)",
    )  # fmt: skip
    parser.add_argument(
        "--samples", type=int, default=_SAMPLES, metavar="M",
        help=f"sampled networks a state (default: {_SAMPLES})",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("figures"), metavar="FOLDER",
        help="where the files are written (default: figures)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
