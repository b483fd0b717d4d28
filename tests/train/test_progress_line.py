"""What the progress line of a whole run ends with."""

from running import CARTPOLE, run


def test_the_last_line_has_every_episode_and_no_more(tmp_path, capsys):
    for env, total in (({"kind": "chain", "n": 5}, 40), (CARTPOLE, 50)):
        run(tmp_path, env=env, algo="dqn", n_seeds=2, quiet=False)
        last = capsys.readouterr().err.splitlines()[-1]
        assert f": {total}/{total} episodes" in last
