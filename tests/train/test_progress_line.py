"""What the progress line of a whole run ends with."""

import csv
import math
import re

import pytest
from running import CARTPOLE, Stop, broken_off, run

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.manage.survey import survey
from vdqn_runner.recent import EPISODES, MeanReturn, RecentReturns, joined
from vdqn_runner.runs.folder import seed_path


def shown_return(err):
    """The return in the last line."""
    return re.search(r", return (\S+), ", err.splitlines()[-1])[1]


def test_the_last_line_has_every_episode_and_no_more(tmp_path, capsys):
    for env, total in (({"kind": "chain", "n": 5}, 40), (CARTPOLE, 50)):
        run(tmp_path, env=env, algo="dqn", n_seeds=2, quiet=False)
        last = capsys.readouterr().err.splitlines()[-1]
        assert f": {total}/{total} episodes" in last


@pytest.mark.parametrize("workers", [1, 2])
def test_every_seed_counts_alike_whichever_ends_last(tmp_path, capsys, workers):
    """As in the listing of runs. Seeds that do well take longer; there is more than fits in 100."""
    settings = {"env": CARTPOLE, "algo": "dqn", "n_seeds": 3, "episodes": 60}
    folder = run(tmp_path, workers=workers, quiet=False, **settings)
    (found,) = find_runs([folder])
    one = survey(found)
    returns = [seed.last_return for seed in one.seeds]
    assert max(returns) - min(returns) > 1 and len({seed.status.steps for seed in one.seeds}) == 3
    assert shown_return(capsys.readouterr().err) == f"{one.last_return:.4g}"


def test_seeds_that_go_on_from_elsewhere_count_with_what_was_seen(tmp_path, capsys, monkeypatch):
    """Seed 0 goes on in the middle, the others begin; they train one group after the other."""
    settings = {"env": CARTPOLE, "algo": "dqn", "episodes": 25, "checkpoint_every": 50}
    with broken_off(monkeypatch, 120), pytest.raises(Stop):
        run(tmp_path, **settings | {"n_seeds": 1})
    folder = run(tmp_path, **settings | {"n_seeds": 3, "quiet": False})
    means = []
    for seed in range(3):
        with (seed_path(folder, seed) / "episodes.csv").open() as file:
            rows = list(csv.DictReader(file))
        seen = [float(row["return"]) for row in rows if seed or int(row["step"]) > 100]
        assert (len(seen) < 25) == (seed == 0)
        means.append(sum(seen) / len(seen))
    assert shown_return(capsys.readouterr().err) == f"{sum(means) / 3:.4g}"


def test_the_last_episodes_of_each_seed():
    recent = RecentReturns()
    assert recent.mean().seeds == 0 and math.isnan(recent.mean().value)
    for number in range(EPISODES + 50):
        recent.add(3, float(number))
    recent.add(8, 0.5)
    late = 50 + (EPISODES - 1) / 2
    assert recent.mean() == MeanReturn((late + 0.5) / 2, 2)


def test_the_mean_over_the_seeds_of_several_processes():
    # Three seeds whose returns are 4 and two whose are 9: (3 * 4 + 2 * 9) / 5.
    assert joined([MeanReturn(4.0, 3), MeanReturn(9.0, 2)]) == MeanReturn(6.0, 5)
    # A process without an episode does not count.
    assert joined([MeanReturn(4.0, 3), MeanReturn()]) == MeanReturn(4.0, 3)
    assert joined([MeanReturn()]).seeds == joined([]).seeds == 0
