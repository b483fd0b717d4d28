"""Whatever happens to a batch, each of its seeds draws what it would have drawn alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vdqn_runner.normals import NormalBlocks, NormalStreams
from vdqn_runner.streams import Purpose, UniformBlocks

WIDTH, DEPTH = 3, 4


def uniforms(seeds):
    return UniformBlocks(seeds, Purpose.REPLAY, WIDTH, DEPTH)


def normals(seeds):
    return NormalBlocks(NormalStreams.of(seeds, Purpose.ACTING), WIDTH, DEPTH)


@pytest.mark.parametrize("make", [uniforms, normals])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_draws_selections_and_resumes_in_any_order(make, data):
    seeds = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5, unique=True))
    blocks = make(seeds)
    alone = {seed: make([seed]) for seed in seeds}
    for _ in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["draw", "draw", "select", "resume"])):
            case "draw":
                for _ in range(data.draw(st.integers(1, DEPTH + 1))):
                    together = np.asarray(blocks.draw()).copy()
                    for row, seed in enumerate(seeds):
                        np.testing.assert_array_equal(together[row], alone[seed].draw()[0])
            case "select":
                rows = data.draw(st.permutations(range(len(seeds))))
                rows = rows[: data.draw(st.integers(1, len(seeds)))]
                blocks.select(np.array(rows))
                seeds = [seeds[row] for row in rows]
            case "resume":
                states = [blocks.state(row) for row in range(len(seeds))]
                blocks = make([0] * len(seeds))
                blocks.load(states)
