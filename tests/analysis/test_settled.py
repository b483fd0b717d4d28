"""The counts of seeds that settle, and of those whose Q does not depend on the state."""

from run_folders import algo, chain, write_config, write_seed

from scripts import settled

STATES = """env,algo,seed,equal_states,q_right_in_2,return_last_100
chain-5,vdqn,0,0.9,1,10.5
chain-5,vdqn,1,0.8,1,10.5
chain-20,dqn,0,1.0,1,0.9
chain-20,dqn,1,1.0,1,1.0
"""


def test_seeds_are_counted_by_what_they_reached(tmp_path, capsys):
    runs = tmp_path / "runs" / "paper" / "chain-5" / "vdqn" / "aa"
    write_config(runs, chain(5), algo("vdqn"), 120)
    ends = [10.45, 10.44]
    for seed, end in enumerate(ends):
        write_seed(runs, seed, [0.0] * 20 + [end] * 100, [(1, 0, 0)] * 120)
        trials = ["seed,step,episode,policy,trial,return,length"]
        trials += [
            f"{seed},1,{when},mean,0,{value},14" for when, value in ((60, 11), (120, 11 * seed))
        ]
        trials += [f"{seed},1,120,sample,0,11,14"]
        (runs / f"seed-{seed:05d}" / "evaluations.csv").write_text("\n".join(trials) + "\n")
    (tmp_path / "states.csv").write_text(STATES)
    assert settled.main([str(tmp_path / "runs"), str(tmp_path / "states.csv")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "| N = 5 | 1 / 1 of 2 | – | – |" in printed
    assert "| VDQN, N < 20 | – | – | 1 of 2 |" in printed
    assert "| DQN, N >= 20 | 1 of 1 | 1 of 1 | – |" in printed
    assert "| NoisyNet, N < 20 | – | – | – |" in printed


def test_what_is_missing_is_told(tmp_path, capsys):
    assert settled.main([str(tmp_path), str(tmp_path / "states.csv")]) == 2
    assert capsys.readouterr().err.startswith("settled: ")
