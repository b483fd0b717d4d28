"""Which points rows become, worked out by hand, and which rows of a log are read."""

import pytest

from vdqn_runner.errors import RunError
from vdqn_runner.trackers.logs import SeedLogs, Tail
from vdqn_runner.trackers.points import Point, Times, points, start_of

EPISODES = [
    {"seed": "3", "episode": "0", "iteration": "0", "step": "14", "return": "0.5", "length": "14"},
    {"seed": "3", "episode": "1", "iteration": "0", "step": "28", "return": "11", "length": "14"},
]
UPDATES = [
    {"seed": "3", "iteration": "0", "episode": "1", "step": "28", "loss": "nan", "lr": "0.001"},
]
EVALUATIONS = [
    {"seed": "3", "step": "28", "policy": policy, "trial": trial, "return": value, "length": "14"}
    for policy, trial, value in [("mean", "0", "11"), ("mean", "1", "1"), ("sample", "0", "2.5")]
]
TIMING = [
    {"seed": "3", "iteration": "0", "step": "14", "seconds": "1.5", "steps_per_second": "9"},
    {"seed": "3", "iteration": "1", "step": "28", "seconds": "2.0", "steps_per_second": "7"},
]


def test_rows_of_a_step_are_one_point():
    tables = {"episodes.csv": EPISODES, "updates.csv": UPDATES, "evaluations.csv": EVALUATIONS}
    assert points(tables | {"timing.csv": TIMING}, Times(100.0)) == [
        Point(14, 101.5, {"episode/return": 0.5, "episode/length": 14.0}),
        Point(
            28,
            103.5,
            {
                "episode/return": 11.0,
                "episode/length": 14.0,
                "update/lr": 0.001,
                "evaluation/mean/return": 6.0,
                "evaluation/mean/length": 14.0,
                "evaluation/sample/return": 2.5,
                "evaluation/sample/length": 14.0,
            },
        ),
    ]


def test_a_time_does_not_depend_on_rows_to_come():
    times = Times(start_of("2026-01-01T00:00:10+00:00"))
    times.add(TIMING[:1])
    early = [times.at(step) for step in (1, 14, 20)]
    times.add(TIMING[1:])
    assert early == [times.at(step) for step in (1, 14, 20)]
    assert [one - early[0] for one in early] == [0.0, 1.5, 1.5]
    assert early[0] == 1767225610.0


def line(step):
    return f"0,{step}\n"


def steps(rows):
    return [int(row["step"]) for row in rows]


def test_rows_are_read_once_and_only_as_far_as_they_stay(tmp_path):
    log = tmp_path / "episodes.csv"
    tail = Tail(log)
    assert tail.rows(100) == []
    log.write_text("seed,st")
    assert tail.rows(100) == []
    log.write_text("seed,step\n" + line(5) + line(10) + line(15) + "0,2")
    assert steps(tail.rows(10)) == [5, 10]
    assert tail.rows(10) == []
    # What came after the last checkpoint is cut off by a crash, and written again.
    log.write_text("seed,step\n" + line(5) + line(10))
    assert tail.rows(20) == []
    log.write_text("seed,step\n" + line(5) + line(10) + line(15) + line(20) + line(25))
    assert steps(tail.rows(20)) == [15, 20]
    assert steps(tail.rows(100)) == [25]


def test_rows_are_read_some_episodes_at_a_time(tmp_path):
    header = "seed,step\n"
    (tmp_path / "episodes.csv").write_text(header + "".join(line(5 * k) for k in range(1, 6)))
    (tmp_path / "updates.csv").write_text(header + line(10) + line(20) + line(30))
    logs = SeedLogs({name: Tail(tmp_path / name) for name in ("episodes.csv", "updates.csv")})
    found = []
    upto = 0
    while upto < 25:
        upto, tables = logs.next(25, 2)
        found.append((upto, *(steps(tables[name]) for name in ("episodes.csv", "updates.csv"))))
    assert found == [(10, [5, 10], [10]), (20, [15, 20], [20]), (25, [25], [])]


@pytest.mark.parametrize("row", ["0\n", "0,1,2\n", "0,x\n", "\xff\n"])
def test_what_is_no_log_is_told_in_one_line(tmp_path, row):
    log = tmp_path / "updates.csv"
    log.write_bytes(b"seed,step\n" + row.encode("latin-1"))
    with pytest.raises(RunError) as caught:
        Tail(log).rows(10)
    assert str(caught.value).startswith(f"{log}: is no log") and "\n" not in str(caught.value)
