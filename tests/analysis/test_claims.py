"""Verdicts: in a world where every claim is true, in one where none is, and in between."""

import dataclasses
import lzma
import re
import shutil

import claim_worlds as worlds
import numpy as np
import pandas as pd
import pytest

from vdqn_runner.analysis.claims.check import CLAIMS, check_claims
from vdqn_runner.analysis.claims.parts import Sample, alike, at_least, at_most, larger
from vdqn_runner.analysis.claims.result import Part
from vdqn_runner.analysis.claims.text import text
from vdqn_runner.analysis.claims.verdict import verdict
from vdqn_runner.analysis.load import find_runs
from vdqn_runner.errors import ConfigError, RunError


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def true_world(tmp_path_factory):
    return worlds.write_world(tmp_path_factory.mktemp("true"), "true")


@pytest.fixture(scope="module")
def results(true_world):
    return check_claims(find_runs([true_world]), rng())


def test_every_claim_is_reproduced_where_the_paper_is_right(results):
    assert [result.number for result in results] == list(range(1, 13))
    assert {r.number: r.verdict for r in results} == dict.fromkeys(range(1, 13), "reproduced")
    assert all(part.holds and part.clear for result in results for part in result.parts)


def test_no_claim_is_reproduced_where_the_paper_is_wrong(tmp_path):
    found = check_claims(find_runs([worlds.write_world(tmp_path, "false")]), rng())
    assert {r.number: r.verdict for r in found} == dict.fromkeys(range(1, 13), "not reproduced")


@pytest.fixture(scope="module")
def stories():
    """Both stories in memory, by story, environment and algorithm."""
    found = {}
    for story in ("true", "false"):
        for place, name in worlds.KEYS:
            one = worlds.evidence(story, place, name)
            found[story, one.env, one.algo] = one
    return found


def parts_of(number, stories, *false):
    """Parts of a claim in the true world, in which some runs are those of the false one."""
    claim = CLAIMS[number - 1]
    runs = {(env, algo): one for (_, env, algo), one in stories.items()}
    keys = claim.needs({key: _WithSize(one.n or None) for key, one in runs.items()})
    chosen = {key: stories["false" if key in false else "true", *key] for key in keys}
    return claim.test(chosen, rng())


@dataclasses.dataclass
class _WithSize:
    n: int | None


C32, C50, C128 = "chain-32", "chain-50", "chain-128"


@pytest.mark.parametrize(
    ("number", "false", "failing", "expected"),
    [
        (1, [("Acrobot-v1", "dqn")], ["Acrobot-v1, DQN: best"], "partly"),
        (3, [("chain-5", "dqn")], ["N = 5, DQN: mean return"], "partly"),
        (
            3,
            [("chain-10", "noisynet")],
            ["N = 10, NoisyNet: mean return", "N = 10, VDQN and NoisyNet: distance"],
            "partly",
        ),
        (
            4,
            [(C50, "dqn")],
            ["N = 50, DQN: mean return, all", "N = 50, DQN: mean return, last"],
            "not reproduced",  # its core
        ),
        (
            4,
            [(C50, "vdqn")],
            ["NoisyNet - VDQN: episodes until solved", "NoisyNet - VDQN: change per iteration"],
            "not reproduced",  # its core
        ),
        (
            5,
            [("chain-128", "noisynet")],
            ["N = 128, NoisyNet: mean return, all", "N = 128, NoisyNet: mean return, last"],
            "partly",
        ),
        (6, [("chain-70", "vdqn")], ["N = 70, VDQN: episodes"], "partly"),
        (
            7,
            [("chain-100", "vdqn")],
            ["N = 100, VDQN: rise", "N = 100, VDQN: largest setback"],
            "partly",
        ),
        (10, [("chain-8", "noisynet")], ["DQN - NoisyNet: ep", "NoisyNet - DQN: change"], "partly"),
        (11, [(C32, "vdqn")], ["NoisyNet - VDQN: change per iteration"], "partly"),
        (11, [(C32, "dqn")], ["NoisyNet - DQN: p_N"], "partly"),
        (12, [(C128, "noisynet")], ["NoisyNet: p_N"], "partly"),
        (12, [(C128, "vdqn")], ["VDQN: p_N"], "not reproduced"),  # its core
        (12, [(C32, "vdqn")], ["N = 128 - N = 32, VDQN"], "partly"),
    ],
)
def test_one_wrong_run_flips_its_own_parts_alone(stories, number, false, failing, expected):
    parts = parts_of(number, stories, *false)
    failed = [part.name for part in parts if not part.holds]
    assert len(failed) == len(failing)
    for name, start in zip(failed, failing, strict=True):
        assert start in name
    assert verdict(parts) == expected


def test_exchanged_algorithms_turn_orders_round(stories):
    exchanged = {
        (env, other): dataclasses.replace(stories["true", env, algo], algo=other)
        for env in ("CartPole-v0", "CartPole-v1")
        for algo, other in (("vdqn", "dqn"), ("dqn", "vdqn"))
    }
    right, turned = parts_of(2, stories), CLAIMS[1].test(exchanged, rng())
    for one, other in zip(right, turned, strict=True):
        assert other.estimate == pytest.approx(-one.estimate)
        assert other.effect.improvement == pytest.approx(1 - one.effect.improvement)
    assert verdict(turned) == "not reproduced"


def test_early_visits_by_an_untaught_network_do_not_save_dqn(stories):
    # A DQN that happens to go right in its first ten episodes and never after.
    lucky = stories["true", C50, "dqn"]
    returns = lucky.returns.copy()
    returns[:, :10] = 11.0
    runs = {(C50, algo): stories["true", C50, algo] for algo in ("vdqn", "noisynet")}
    runs[C50, "dqn"] = dataclasses.replace(lucky, returns=returns)
    assert verdict(CLAIMS[3].test(runs, rng())) == "reproduced"


def test_dqn_is_measured_by_what_its_exploration_allows(stories):
    # At N = 10 and epsilon 0.1 the optimal policy earns 9.70, and 10.45 is out of reach.
    dqn = stories["true", "chain-10", "dqn"]
    returns = np.where(dqn.visits["visited_last"] == 1, 9.7, dqn.returns)
    runs = {
        (env, algo): stories["true", env, algo]
        for env in ("chain-5", "chain-10")
        for algo in ("vdqn", "dqn", "noisynet")
    }
    runs["chain-10", "dqn"] = dataclasses.replace(dqn, returns=returns)
    assert verdict(CLAIMS[2].test(runs, rng())) == "reproduced"
    greedy = {"name": "dqn", "epsilon": {"kind": "constant", "value": 0.0}}
    runs["chain-10", "dqn"] = dataclasses.replace(dqn, returns=returns, config={"algo": greedy})
    assert verdict(CLAIMS[2].test(runs, rng())) == "partly"


def with_visits(one, column, values):
    """A run in which every seed visits a state as given, [E]."""
    table = np.broadcast_to(np.asarray(values, dtype=float), one.returns.shape)
    return dataclasses.replace(one, visits={**one.visits, column: table})


def test_what_an_untaught_network_visits_is_not_exploration(stories):
    # Updates start at 500 transitions, 12 episodes of 41 steps: within the first two iterations.
    for last, peak, holds in ((20, 0.0, False), (21, 0.1, True)):
        dqn = with_visits(stories["true", C32, "dqn"], "visited_middle", np.arange(2000) < last)
        first = CLAIMS[8].test({(C32, "dqn"): dqn}, rng())[0]
        assert (first.estimate, first.holds) == (pytest.approx(peak), holds)


def test_levels_at_which_the_path_counts_as_found(stories):
    # From episode 500 on 6 of 10 episodes reach N, from 1300 on 9 of 10.
    t = np.arange(2000)
    reached = np.where(t < 500, 0, np.where(t < 1300, t % 10 < 6, t % 10 < 9))
    runs = {
        (env, algo): with_visits(one, "visited_last", reached if env != C32 else np.ones(2000))
        for (story, env, algo), one in stories.items()
        if story == "true" and env in ("chain-8", C32, C128)
    }
    later = CLAIMS[11].test(runs, rng())[0]
    assert (later.estimate, later.condition) == (1300.0, "> 0")
    runs["chain-8", "vdqn"] = with_visits(runs["chain-8", "vdqn"], "visited_last", np.ones(2000))
    assert CLAIMS[9].test(runs, rng())[0].estimate == 500.0


# The rule


def part(holds, clear, core=False):
    nan = float("nan")
    return Part("", "", nan, nan, nan, (), (), None, core, holds, clear, "")


CLEAR, VAGUE, FAILS = part(True, True), part(True, False), part(False, False)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([CLEAR], "reproduced"),
        ([CLEAR, part(True, True, core=True)], "reproduced"),
        ([VAGUE], "partly"),
        ([CLEAR, VAGUE], "partly"),
        ([CLEAR, FAILS], "partly"),
        ([part(True, True, core=True), FAILS, FAILS], "partly"),
        ([FAILS, FAILS], "not reproduced"),
        ([CLEAR, part(False, False, core=True)], "not reproduced"),
    ],
)
def test_the_rule(parts, expected):
    assert verdict(parts) == expected


def test_a_part_holds_by_its_estimate_and_is_clear_by_its_interval():
    of = Sample("X", (3, 5, 8), np.array([1.0, 2.0, 6.0]))
    for threshold, holds, clear in ((0.5, True, True), (2.5, True, False), (3.5, False, False)):
        found = at_least("", of, threshold, rng())
        assert (found.estimate, found.holds, found.clear) == (3.0, holds, clear)
        mirrored = Sample("X", of.seeds, -of.values)
        turned = at_most("", mirrored, -threshold, rng())
        assert (turned.estimate, turned.holds, turned.clear) == (-3.0, holds, clear)
    assert found.values == (1.0, 2.0, 6.0) and found.seeds == (3, 5, 8)
    assert found.low <= 3.0 <= found.high


def test_ties_are_no_order():
    of = Sample("X", (0, 1), np.array([4.0, 4.0]))
    found = larger("", of, of, rng())
    assert (found.estimate, found.holds, found.effect.improvement) == (0.0, False, 0.5)


def test_an_order_is_clear_by_its_interval():
    first = Sample("X", (0, 1, 2), np.array([1.0, 2.0, 6.0]))
    for shift, holds, clear in ((8.0, True, True), (0.5, True, False), (-0.5, False, False)):
        found = larger("", first, Sample("Y", first.seeds, first.values - shift), rng())
        assert found.estimate == pytest.approx(shift) and found.low < shift < found.high
        assert (found.holds, found.clear) == (holds, clear)
        assert (found.effect.first, found.effect.second) == ("X", "Y")
        assert found.seeds == (0, 1, 2, 0, 1, 2)


def test_seeds_without_a_value_are_left_out_and_told():
    of = Sample("X", (0, 1, 2), np.array([np.nan, 4.0, 6.0]))
    found = at_least("", of, 1.0, rng(), note="so")
    assert (found.estimate, found.seeds) == (5.0, (1, 2))
    assert found.note == "so; X: 1 of 3 seeds have no value"
    empty = Sample("Y", (0, 1), np.array([np.nan, 4.0]))
    for undefined in (larger("", of, empty, rng()), at_most("", empty, 9.0, rng(), core=True)):
        assert np.isnan(undefined.estimate) and not undefined.holds and not undefined.clear
        assert "fewer than 2 seeds" in undefined.note


def test_likeness_is_bounded_not_tested_for(stories):
    one = stories["true", "chain-10", "vdqn"]
    shifted = dataclasses.replace(one, returns=one.returns + 0.3)
    assert alike("", one, shifted, 0.31, rng()).clear
    assert not alike("", one, shifted, 0.29, rng()).holds


# Words


def test_every_claim_says_what_it_is():
    titles = set()
    for claim in CLAIMS:
        words = text(claim.test)
        assert all(len(field) > 10 for field in dataclasses.astuple(words))
        assert words.sentence.startswith('"') and words.sentence.endswith('"')
        titles.add(words.title)
    assert len(titles) == 12


def test_the_numbers_that_decide_are_those_in_the_words(results):
    for result in results:
        for part in result.parts:
            asked = part.condition.split()[1]
            if "DQN: mean return" in part.name and result.number in (3, 4, 5):
                continue  # computed from epsilon and N
            if result.number == 5:  # a tenth of the way from going left at once to 11
                n = int(part.name.split(",")[0].removeprefix("N = "))
                left = (n + 8) / 1000
                assert float(asked) == pytest.approx(left + 0.1 * (11 - left), abs=0.005)
                continue
            assert re.search(rf"(?<![\d.]){re.escape(asked)}(?![\d]|\.\d)", result.threshold)


def estimates(results, number):
    return {part.name: part.estimate for part in results[number - 1].parts}


def test_estimates_straight_from_the_logs(true_world, results):
    def log(place, name):
        files = sorted(worlds.run_folder(true_world, place, name).glob("seed-*/episodes.csv"))
        return [pd.read_csv(file) for file in files]

    def mean(tables, column, first, last):
        return np.mean([table[column][first:last].mean() for table in tables])

    for env in ("CartPole-v0", "CartPole-v1"):
        vdqn, dqn = (mean(log(env, name), "return", 0, 200) for name in ("vdqn", "dqn"))
        found = estimates(results, 2)[f"{env}, VDQN - DQN: mean return, first 200 episodes"]
        assert found == pytest.approx(vdqn - dqn)
        best = np.mean([t["return"].rolling(100).mean().max() for t in log(env, "dqn")])
        name = f"{env}, DQN: best mean return over 100 episodes"
        assert estimates(results, 1)[name] == pytest.approx(best)
    tables = log(10, "dqn")
    name = "N = 10, DQN: mean return, last 200 episodes"
    assert estimates(results, 3)[name] == pytest.approx(mean(tables, "return", -200, None))
    tables = log(100, "vdqn")
    rise = mean(tables, "return", -200, None) - mean(tables, "return", 0, 50)
    assert estimates(results, 7)["N = 100, VDQN: rise of the return"] == pytest.approx(rise)
    tables = log(32, "vdqn")
    for state, column in (("1", "first"), ("N/2", "middle"), ("N", "last")):
        for first in (0, 50):
            name = f"p_{state}, iterations {first // 10 + 1} to {first // 10 + 5}"
            expected = mean(tables, f"visited_{column}", first, first + 50)
            assert estimates(results, 8)[name] == pytest.approx(expected)
    tables = log(32, "dqn")
    blocks = [t["visited_middle"].to_numpy().reshape(-1, 10).mean(axis=1)[2:] for t in tables]
    found = estimates(results, 9)
    assert found["largest p_N/2 of an iteration"] == pytest.approx(np.max(blocks, axis=1).mean())
    for name, column in (("p_N/2", "visited_middle"), ("p_1", "visited_first")):
        expected = mean(tables, column, -200, None)
        assert found[f"{name}, last 20 iterations"] == pytest.approx(expected)
    curves = [
        np.mean([t["return"].to_numpy().reshape(-1, 10).mean(axis=1) for t in log(5, name)], axis=0)
        for name in ("vdqn", "noisynet")
    ]
    name = "N = 5, VDQN and NoisyNet: distance of the curves"
    assert estimates(results, 3)[name] == pytest.approx(np.abs(curves[0] - curves[1]).mean())


def test_a_docstring_without_a_section_is_refused():
    def broken():
        """Title.

        Paper: "x"

        Threshold: 0.
        """

    with pytest.raises(ValueError, match="broken.*Statistic"):
        text(broken)


# Which runs


def one_run(top, n=32, name="vdqn", **more):
    """A folder in which only claim 8 can be tested."""
    return worlds.write_run(top, "true", n, name, **more)


def outcome(top, number=8, **more):
    result = check_claims(find_runs([top]), rng(), **more)[number - 1]
    return result.verdict, result.note


def test_missing_runs_are_named_by_the_claims_that_need_them(true_world):
    missing = {
        ("MountainCar-v0", "dqn"): "DQN on MountainCar-v0 is missing",
        ("chain-8", "noisynet"): "NoisyNet on chain-8 is missing",
        ("chain-32", "dqn"): "DQN on chain-32 is missing",
        ("chain-70", "vdqn"): "VDQN on chain-70 is missing",
    }
    runs = [run for run in find_runs([true_world]) if (run.env, run.algo) not in missing]
    found = check_claims(runs, rng())
    control, eight, dqn, seventy = missing.values()
    assert {r.number: r.note for r in found if r.verdict == "not tested"} == {
        1: control, 6: seventy, 7: seventy, 9: dqn, 10: eight, 11: dqn,
    }  # fmt: skip
    assert not any(r.parts for r in found if r.verdict == "not tested")
    assert {r.verdict for r in found} == {"reproduced", "not tested"}


def test_all_that_is_missing_is_told(tmp_path):
    one_run(tmp_path)
    assert outcome(tmp_path, 11) == (
        "not tested", "DQN on chain-32 is missing; NoisyNet on chain-32 is missing",
    )  # fmt: skip


def test_numbers_of_a_claim_do_not_depend_on_the_other_claims(tmp_path, results):
    one_run(tmp_path)
    assert check_claims(find_runs([tmp_path]), rng())[7] == results[7]


def test_an_unfinished_seed_is_named(tmp_path):
    folder = one_run(tmp_path)
    for seed in (3, 7):
        log = folder / f"seed-{seed:05d}" / "episodes.csv"
        log.write_text("".join(log.read_text().splitlines(keepends=True)[:1991]))
    verdict, note = outcome(tmp_path)
    assert verdict == "not tested"
    assert "VDQN on chain-32 is unfinished: of 2000 episodes seed 3 has 1990, seed 7" in note


def test_a_run_with_fewer_episodes_is_no_evidence(tmp_path):
    folder = one_run(tmp_path)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("episodes: 2000", "episodes: 500"))
    verdict, note = outcome(tmp_path)
    assert verdict == "not tested" and "is a run of 500 episodes, not 2000" in note


def test_episodes_beyond_the_papers_do_not_count(tmp_path, results):
    folder = one_run(tmp_path)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("episodes: 2000", "episodes: 2500"))
    for log in folder.glob("seed-*/episodes.csv"):
        seed = int(log.parent.name[5:])
        more = [f"{seed},{e},{e // 10},{5 * e + 5},0.0,5,1,1,0,0" for e in range(2000, 2500)]
        log.write_text(log.read_text() + "\n".join(more) + "\n")
    assert check_claims(find_runs([tmp_path]), rng())[7].parts == results[7].parts


def test_fewer_seeds_are_no_evidence_unless_asked_for_and_then_told(tmp_path):
    one_run(tmp_path, seeds=4)
    verdict, note = outcome(tmp_path)
    assert verdict == "not tested" and "VDQN on chain-32 has 4 seeds, not 10" in note
    verdict, note = outcome(tmp_path, n_seeds=4)
    assert verdict == "reproduced" and note == "rests on runs of as few as 4 seeds, not 10"


def test_only_runs_called_paper_count(tmp_path):
    folder = one_run(tmp_path)
    shutil.copytree(tmp_path / "paper", tmp_path / "lr")
    assert outcome(tmp_path)[0] == "reproduced"
    shutil.rmtree(tmp_path / "paper")
    assert outcome(tmp_path) == ("not tested", "VDQN on chain-32 is missing")
    assert not folder.exists()


def test_two_configs_for_one_place_are_refused_with_what_differs(tmp_path):
    folder = one_run(tmp_path, seeds=2)
    other = shutil.copytree(folder, folder.with_name("ffffffff"))
    config = other / "config.yaml"
    config.write_text(config.read_text().replace("value: 0.001", "value: 0.01"))
    with pytest.raises(
        ConfigError, match=r"VDQN on chain-32: 2 runs.*lr=0\.001.*lr=0\.01"
    ) as error:
        check_claims(find_runs([tmp_path]), rng())
    assert str(folder) in str(error.value) and str(other) in str(error.value)
    assert "\n" not in str(error.value)


def test_further_sizes_count_where_all_algorithms_have_them(tmp_path):
    for n, name in ((50, "vdqn"), (50, "dqn"), (50, "noisynet"), (70, "vdqn")):
        one_run(tmp_path, n, name)

    def sizes():
        parts = check_claims(find_runs([tmp_path]), rng())[3].parts
        return {part.name.split(",")[0] for part in parts}

    assert sizes() == {"N = 50"}
    for name in ("dqn", "noisynet"):
        shutil.copytree(
            worlds.run_folder(tmp_path, 50, name), worlds.run_folder(tmp_path, 70, name)
        )
        config = worlds.run_folder(tmp_path, 70, name) / "config.yaml"
        config.write_text(config.read_text().replace("n: 50", "n: 70"))
    assert sizes() == {"N = 50", "N = 70"}


# Greedy evaluations


def write_evaluations(folder, seed, rows):
    header = "seed,episode,step,policy,trial,return,length"
    lines = [f"{seed},{e},{9 * e},{policy},{t},{value},9" for e, policy, t, value in rows]
    file = folder / f"seed-{seed:05d}" / "evaluations.csv"
    file.write_text("\n".join([header, *lines]) + "\n")
    return file


def test_the_greedy_return_stands_beside_and_changes_no_verdict(tmp_path, results):
    folder = one_run(tmp_path)
    for seed in range(10):
        rows = [(1000, "mean", 0, 1.0), (2000, "mean", 0, 10.0 + seed), (2000, "mean", 1, 12.0)]
        write_evaluations(folder, seed, [*rows, (2000, "sample", 0, -50.0)])
    result = check_claims(find_runs([tmp_path]), rng())[7]
    assert result.parts == results[7].parts and result.verdict == "reproduced"
    (greedy,) = result.supplements
    assert greedy.name == "N = 32, VDQN: greedy return after 2000 episodes"
    assert greedy.estimate == pytest.approx(np.mean([(22 + s) / 2 for s in range(10)]))
    assert 11 <= greedy.low < greedy.estimate < greedy.high <= 15.5
    assert greedy.seeds == tuple(range(10))
    assert results[7].supplements == ()


def test_packed_evaluations_count_alike(tmp_path):
    folder = one_run(tmp_path)
    files = [write_evaluations(folder, s, [(2000, "mean", 0, 9.0 + s / 9)]) for s in range(10)]
    (before,) = check_claims(find_runs([tmp_path]), rng())[7].supplements
    lines = [file.read_text().splitlines()[1] for file in files]
    header = files[0].read_text().splitlines()[0]
    for file in files:
        file.unlink()
    with lzma.open(folder / "evaluations.csv.xz", "wt") as stream:
        stream.write("\n".join([header, *lines]) + "\n")
    assert check_claims(find_runs([tmp_path]), rng())[7].supplements == (before,)


@pytest.mark.parametrize(
    "content", ["seed,episode\n1,2\n", "", "seed,episode,policy,return\n0,x,mean,1\n"]
)
def test_damaged_evaluations_are_named(tmp_path, content):
    folder = one_run(tmp_path)
    file = write_evaluations(folder, 4, [])
    file.write_text(content)
    with pytest.raises(RunError, match=r"seed-00004/evaluations\.csv: is no table") as error:
        check_claims(find_runs([tmp_path]), rng())
    assert "\n" not in str(error.value)
