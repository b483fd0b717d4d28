"""Which contestants each study has."""

from collections.abc import Iterator, Sequence

from scripts.bench.work import ENVS, PEERS, Contestant

ALGOS = ("vdqn", "dqn", "noisynet")
SEEDS = (1, 5, 10, 50)
AXES = {
    "seeds": (1, 2, 5, 10, 20, 50, 100),
    "states": (5, 10, 20, 50, 100, 200),
    "width": (32, 64, 128, 256, 512),
    "replay": (1_000, 10_000, 100_000, 1_000_000),
}
QUICK_AXES = {"seeds": (1, 4), "states": (10, 40), "width": (32, 64), "replay": (1_000, 10_000)}
SWEEP_SEEDS = 10
SWEEP_ENV = "chain-100"


def speed(quick: bool, without: Sequence[str]) -> Iterator[list[Contestant]]:
    """Yield the contestants of each environment: ours with some numbers of seeds, and the peers."""
    for env in ENVS[:1] if quick else ENVS:
        ours = [
            Contestant("ours", env, algo, n_seeds)
            for algo in ALGOS
            for n_seeds in (SEEDS[:2] if quick else SEEDS)
        ]
        peers = [
            Contestant(peer, env, "vdqn" if peer == "published" else "dqn")
            for peer in PEERS
            if peer not in without
        ]
        yield ours + peers


def sweep(quick: bool) -> Iterator[tuple[str, list[Contestant]]]:
    """Yield (axis, contestants): ours with one thing growing, all else as in ``speed``."""
    for axis, values in (QUICK_AXES if quick else AXES).items():
        if axis == "seeds":
            yield axis, [Contestant("ours", SWEEP_ENV, a, v) for a in ALGOS for v in values]
        elif axis == "states":
            yield axis, [_ten(f"chain-{v}", a) for a in ALGOS for v in values]
        elif axis == "width":
            yield axis, [_ten(SWEEP_ENV, a, width=v) for a in ALGOS for v in values]
        else:
            for env in (SWEEP_ENV, "CartPole-v1"):
                yield axis, [_ten(env, a, stored=v) for a in ALGOS[:2] for v in values]


def roofline(quick: bool) -> list[Contestant]:
    """Return the cases whose time is taken apart."""
    envs = ENVS[1:2] if quick else ENVS
    seeds = (SWEEP_SEEDS,) if quick else (1, SWEEP_SEEDS)
    return [Contestant("ours", env, algo, s) for env in envs for s in seeds for algo in ALGOS]


def _ten(env: str, algo: str, width: int = 100, stored: int = 0) -> Contestant:
    return Contestant("ours", env, algo, SWEEP_SEEDS, width, stored)
