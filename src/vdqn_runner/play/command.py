"""The command `vdqn-play`: a film of what a trained agent does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import util
from pathlib import Path

from vdqn_runner.analysis.answer import answer, output_file
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError
from vdqn_runner.play.chosen_seed import parser_of_seed, seed_folder

POLICIES = ("mean", "sample")
_FORMATS = (".gif", ".mp4")
_FPS = 20


@console("vdqn-play")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    a = _parser().parse_args(argv)
    return answer("vdqn-play", lambda: play(a.run, a.seed, a.policy, a.episodes, a.output, a.fps))


def play(
    run: Path, seed: int | None, policy: str, episodes: int, output: Path, fps: int
) -> Iterator[str | Path]:
    """Film episodes of one trained seed; yield a line for each, and the file.

    Args:
        run: A run's folder, or that of one of its seeds.
        seed: Which seed; None for the first, or the one that ``run`` names.
        policy: ``mean`` (greedy in the network itself) or ``sample`` (in one sampled anew at every
            step).
        episodes: How many, one after the other.
        output: The film, ``.gif`` or ``.mp4``; its folder is made if it is not there.
        fps: Pictures a second.

    Raises:
        ConfigError: No such seed or policy, it is not trained yet, a package is missing, or there
            is no place to write to.
        RunError: A file cannot be read or written.
    """
    if output.suffix not in _FORMATS:
        raise ConfigError(f"--output {output}: must end in {' or '.join(_FORMATS)}")
    for name, value in (("--episodes", episodes), ("--fps", fps)):
        if value < 1:
            raise ConfigError(f"{name} {value}: must be at least 1")
    needed = ("imageio", "imageio_ffmpeg") if output.suffix == ".mp4" else ("imageio",)
    for package in needed:
        if util.find_spec(package) is None:
            raise ConfigError(f"needs {package}: pip install 'vdqn-runner[play]'")
    folder = seed_folder(run, seed)

    from vdqn_runner.play.agent import read_agent
    from vdqn_runner.play.episode import Frame, moments, q_functions
    from vdqn_runner.play.film import write_film

    agent = read_agent(folder)
    found = q_functions(agent, agent.config.episodes)
    if policy not in found:
        name = agent.config.algo.name
        raise ConfigError(f"--policy {policy}: {name} has only {', '.join(found)}")
    output_file(output)
    frames: list[Frame] = []
    for trial in range(episodes):
        length, total = 0, 0.0
        for moment in moments(agent, found[policy], trial):
            frames.append(moment.frame)
            length, total = length + 1, moment.total
        yield f"episode {trial}: return {total:g} in {length - 1} steps"
    write_film(output, frames, fps)
    yield output


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_seed("vdqn-play", "Film what a trained agent does: an animated GIF, or MP4.")
    parser.add_argument(
        "--policy", choices=POLICIES, default="mean",
        help="mean: greedy in the network itself; sample: in one sampled anew at every step",
    )  # fmt: skip
    parser.add_argument(
        "--episodes", type=int, default=1, metavar="E", help="how many (default: 1)"
    )
    parser.add_argument(
        "--fps", type=int, default=_FPS, help=f"pictures a second (default: {_FPS})"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("play.gif"), metavar="FILE",
        help="the film, .gif or .mp4 (default: play.gif)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
