"""The command `vdqn-claims` as its user meets it: the table, the two files, exit codes."""

import csv
import subprocess
import sys

import claim_worlds as worlds
import pytest
from run_folders import write_chain_run

from vdqn_runner.analysis.claims import command
from vdqn_runner.analysis.claims.check import CLAIMS, check_claims
from vdqn_runner.analysis.claims.text import text

IMPORTS_NOTHING_HEAVY = """
import sys
import vdqn_runner.analysis.claims.command as command
assert not {"torch", "matplotlib", "pandas", "scipy", "numpy"} & set(sys.modules), "at import"
code = command.main(sys.argv[1:])
assert not {"torch", "gymnasium", "matplotlib"} & set(sys.modules), "after the work"
sys.exit(code)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Claims 8, 9, 11 and 12 can be tested; DQN at N = 32 is of the opposite story."""
    top = tmp_path_factory.mktemp("claims") / "runs"
    for n, name in ((32, "vdqn"), (32, "noisynet"), (128, "vdqn"), (128, "dqn"), (128, "noisynet")):
        worlds.write_run(top, "true", n, name)
    worlds.write_run(top, "false", 32, "dqn")
    return top


@pytest.fixture(scope="module")
def printed(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "new" / "claims"
    arguments = [str(runs), "-o", str(folder)]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS_NOTHING_HEAVY, *arguments], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines(), folder


VERDICTS = {8: "reproduced", 9: "not reproduced", 11: "partly", 12: "reproduced"}


def test_the_table_has_every_claim_within_100_columns(printed):
    lines, folder = printed
    assert max(map(len, lines)) <= 100
    rows = {int(line[:2]): line for line in lines if line[:2].strip().isdecimal()}
    assert set(rows) == set(range(1, 13))
    for number, row in rows.items():
        assert text(CLAIMS[number - 1].test).title in row
        assert f"  {VERDICTS.get(number, 'not tested')}" in row
    assert "7 of 7, clear 7" in rows[8] and "2 of 3, clear 2" in rows[11]
    below = lines[lines.index(rows[9]) + 1]
    assert below.startswith("    p_1, last 20 iterations: 0 [0, 0], asked >= 0.95: does not hold")
    below = " ".join(lines[lines.index(rows[10]) + 1 : lines.index(rows[11])])
    for name in ("VDQN", "DQN", "NoisyNet"):
        assert f"{name} on chain-8 is missing" in below
    assert lines[-2:] == [str(folder / "claims.csv"), str(folder / "claims.md")]
    assert sorted(file.name for file in folder.iterdir()) == ["claims.csv", "claims.md"]


def test_the_csv_has_one_row_a_part_with_its_seeds_and_values(printed, runs):
    from numpy.random import default_rng

    from vdqn_runner.analysis.load import find_runs

    with (printed[1] / "claims.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    results = check_claims(find_runs([runs]), default_rng(0))
    assert [int(row["claim"]) for row in rows] == [
        result.number for result in results for _ in range(max(1, len(result.parts)))
    ]
    by_part = {(int(row["claim"]), row["part"]): row for row in rows}
    for result in results:
        for part in result.parts:
            row = by_part[result.number, part.name]
            assert row["verdict"] == result.verdict
            for column in ("estimate", "low", "high"):
                assert float(row[column]) == getattr(part, column)
            for column in ("core", "holds", "clear"):
                assert row[column] == str(int(getattr(part, column)))
            assert [int(seed) for seed in row["seeds"].split()] == list(part.seeds)
            assert [float(value) for value in row["values"].split()] == list(part.values)
    order = by_part[11, "NoisyNet - DQN: p_N, whole run"]
    assert (order["first"], order["second"], order["n_seeds"]) == ("NoisyNet", "DQN", "20")
    assert float(order["improvement"]) == 0 and float(order["difference"]) < 0
    untested = by_part[1, ""]
    assert untested["estimate"] == "" and "DQN on CartPole-v0 is missing" in untested["note"]


def test_the_markdown_says_the_rule_and_each_claim_in_full(printed):
    content = (printed[1] / "claims.md").read_text()
    for rule in (
        "- reproduced: every part holds",
        "- not reproduced:",
        "- partly:",
        "- not tested",
    ):
        assert rule in content
    assert "covers about 90 %" in content and "censored" in content
    sections = content.split("\n## ")[3:]
    assert len(sections) == 12
    for number, (section, claim) in enumerate(zip(sections, CLAIMS, strict=True), start=1):
        words = text(claim.test)
        assert section.startswith(f"{number}. {words.title}\n")
        assert f"> {words.sentence}" in section
        for name in ("statistic", "threshold", "reason"):
            assert f"- {name.capitalize()}: {getattr(words, name)}" in section
        assert f"**{VERDICTS.get(number, 'not tested').capitalize()}**" in section
        tables = [line for line in section.splitlines() if line.startswith("|")]
        assert bool(tables) == (number in VERDICTS)
        assert len({line.count("|") for line in tables}) <= 1


def test_the_same_runs_give_the_same_bytes_and_replace_the_files(printed, runs, capsys):
    folder = printed[1]
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    (folder / "claims.md").write_text("old")
    assert command.main([str(runs), "--output", str(folder)]) == 0
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert capsys.readouterr().out.splitlines() == printed[0]


def test_without_a_folder_nothing_is_written(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main([str(runs / "paper" / "chain-32" / "vdqn")]) == 0
    assert list(tmp_path.iterdir()) == []
    assert " 8  N = 32" in capsys.readouterr().out


def assert_refused(arguments, capsys, *words, code=2):
    assert command.main([str(argument) for argument in arguments]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("vdqn-claims: ") and err.count("\n") == 1
    for word in words:
        assert word in err


def test_bad_requests_are_one_line_and_leave_nothing(runs, tmp_path, capsys):
    out = ["-o", tmp_path / "out"]
    assert_refused([runs.parent / "rusn", *out], capsys, "does not exist", "did you mean")
    assert_refused([runs, "--seeds", 1, *out], capsys, "--seeds 1", "at least 2")
    write_chain_run(tmp_path / "lr/chain-5/vdqn/0", 5, "vdqn", seeds=1, episodes=10, tau=9)
    assert_refused([tmp_path / "lr", *out], capsys, "no run named paper", "only lr")
    (tmp_path / "file").touch()
    assert_refused([runs, "-o", tmp_path / "file" / "x"], capsys, "cannot be made")
    write_chain_run(tmp_path / "paper/chain-5/vdqn/1", 5, "vdqn", seeds=1, episodes=10, tau=9)
    write_chain_run(tmp_path / "paper/chain-5/vdqn/2", 5, "vdqn", seeds=1, episodes=20, tau=9)
    assert_refused([tmp_path / "paper", *out], capsys, "2 runs named paper", "episodes=20")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_read_or_written_is_a_failure(runs, tmp_path, capsys):
    (tmp_path / "out" / "claims.csv").mkdir(parents=True)
    assert command.main([str(runs / "paper" / "chain-128"), "-o", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("vdqn-claims: ") and "claims.csv cannot be written" in err
    folder = write_chain_run(
        tmp_path / "paper/chain-32/vdqn/0", 32, "vdqn", seeds=1, episodes=2000, tau=9
    )
    (folder / "seed-00000" / "episodes.csv").write_text("a,b\n1,2\n")
    assert_refused([tmp_path / "paper"], capsys, "no column", code=1)
