"""A wrong request: exit code 2, one line that names key and remedy, and nothing made."""

import shlex
from pathlib import Path

import pytest
from processes import run_python

from vdqn_runner.cli import main
from vdqn_runner.config import RunConfig

# (arguments, parts that the one line must contain)
WRONG: list[tuple[str, list[str]]] = [
    # unknown keys, at every level
    ("epsiodes=3", ["epsiodes=3", "unknown key", "did you mean episodes?"]),
    ("Episodes=3", ["Episodes=3", "did you mean episodes?"]),
    ("env.nn=5", ["env.nn=5", "gamma, kind, n", "did you mean env.n?"]),
    ("n=5", ["n=5", "did you mean env.n?"]),
    ("lr=0.1", ["lr=0.1", "did you mean algo.lr?"]),
    ("algo.learning_rate=0.1", ["algo.learning_rate=0.1", "unknown key"]),
    ("algo.replay.capasity=9", ["did you mean algo.replay.capacity?"]),
    ("algo.network.hiden=[5]", ["did you mean algo.network.hidden?"]),
    ("hidden=[5]", ["did you mean algo.network.hidden?"]),
    ("capacity=9", ["did you mean algo.replay.capacity?"]),
    ("+foo=1", ["foo=1", "unknown key"]),
    ("++foo=1", ["foo=1", "unknown key"]),
    ("+algo.foo=1", ["algo.foo=1", "unknown key"]),
    ("env.n.x=1", ["env.n.x=1", "no keys of its own"]),
    ("algo.lr.kind=linear", ["algo.lr.kind='linear'", "schedule"]),
    ("algo.epsilon=0.1", ["algo.epsilon=0.1", "algo.name=vdqn", "algo.name=dqn"]),
    ("algo=dqn algo.lam=0.1", ["algo.lam=0.1", "belongs to algo.name=vdqn"]),
    ("env.bootstrap_on_timeout=true", ["env.bootstrap_on_timeout=", "env.kind=gym"]),
    ("env=cartpole_v1 env.n=5", ["env.n=5", "belongs to env.kind=chain"]),
    # where only jobs of a sweep may have the key
    (
        "-m env=cartpole_v1,chain env.bootstrap_on_timeout=true",
        [
            "env.bootstrap_on_timeout=true: unknown key for env.kind=chain",
            "in the job",
            "env=chain)",
        ],
    ),
    (
        "experiment=ablation_timeout env.bootstrap_on_timeoot=true",
        ["unknown key", "did you mean env.bootstrap_on_timeout?", "in the job env=cartpole_v0"],
    ),
    ("experiment=ablation_timeout algo.epsilon=0.1", ["algo.name=vdqn", "in the job env=cart"]),
    ("-m env=gym,cartpole_v1 env.id=", ["env.id=''", "in the job", "env=gym)"]),
    ("-m env=cartpole_v1,acrobot env.max_episode_steps=5 algo.foo=1", ["algo.foo=1: unknown key"]),
    ("-m env=cartpole_v1,acrobot env.max_episode_steps=5 foo=1", ["foo=1: unknown key"]),
    ("env=cartpole_v1,acrobot env.max_episode_steps=5", ["env.max_episode_steps=5: unknown key"]),
    ("-m env.n=5,6 env.max_episode_steps=5", ["env.max_episode_steps=5", "env.kind=chain"]),
    # options of groups
    ("algo=vdqm", ["algo='vdqm'", "prioritised_dqn, variational, vdqn", "did you mean algo=vdqn?"]),
    ("algo=VDQN", ["algo='VDQN'", "did you mean algo=vdqn?"]),
    ("algo=null", ["algo=null", "must be one of"]),
    ("env=cartpole", ["env='cartpole'", "did you mean env=cartpole_v"]),
    ("env=CartPole-v1", ["did you mean env=cartpole_v1?"]),
    ("env=3", ["env=3", "must be one of"]),
    ("experiment=lamda", ["did you mean experiment=lambda?"]),
    ("+algo=dqn", ["+algo=dqn", "without +"]),
    ("~algo", ["~algo: algo cannot be removed; choose one with algo=..."]),
    ("~env", ["~env: env cannot be removed; choose one with env=..."]),
    ("~env=chain", ["~env=chain: env cannot be removed"]),
    ("~seed", ["~seed: a key cannot be removed"]),
    ("schedule=linear", ["schedule='linear'", "unknown key"]),
    ("foo@bar=1", ["foo@bar=1", "no group foo"]),
    ("hydra/launcher=sulrm", ["hydra/launcher/sulrm", "basic"]),
    ("hydra.foo=1", ["hydra.foo"]),
    # values
    ("env.n=abc", ["env.n='abc'", "a whole number from 3 to 10000"]),
    ("env.n=2", ["env.n=2", "from 3 to 10000"]),
    ("env.n=1e2", ["env.n=100.0", "write 100"]),
    ("env.n=", ["env.n=''", "a whole number"]),
    ("env.n=null", ["env.n=null", "a whole number"]),
    ("'env.n=\"5\"'", ["env.n='5'", "a whole number"]),
    ("episodes=0", ["episodes=0", "from 1 to 10^9"]),
    ("seed=-1", ["seed=-1", "from 0"]),
    ("n_seeds=1.5", ["n_seeds=1.5", "a whole number"]),
    ("workers=0", ["workers=0", "must be auto or a whole number from 1 to 4096"]),
    ("workers=two", ["workers='two'", "must be auto or a whole number from 1 to 4096"]),
    ("workers=1.5", ["workers=1.5", "must be auto or a whole number from 1 to 4096"]),
    ("device=gpu", ["device='gpu'", "did you mean cuda?"]),
    ("name=../x", ["name='../x'", "letters"]),
    ("out=../x", ["out='../x'", "without '..'"]),
    ("quiet=1", ["quiet=1", "true or false"]),
    ("algo.lam=-1", ["algo.lam=-1", "from 0 to 10^15"]),
    ("algo.lr=nan", ["algo.lr=nan", "a number"]),
    ("'algo.lr={kind:linaer}'", ["algo.lr.kind='linaer'", "did you mean linear?"]),
    ("'algo.lr={kind:linear,start:1,end:0}'", ["algo.lr.duration", "missing"]),
    ("algo.batch_size=64 algo.replay.capacity=10", ["algo.batch_size=64", "which is 10"]),
    ("algo=noisynet algo.noise=factorised algo.theta_samples=per_tuple", ["per_batch"]),
    ("algo.network.hidden=[]", ["algo.network.hidden=[]", "a list"]),
    ("algo.network=5", ["algo.network=5"]),
    ("env=gym", ["env.id", "a value must be given", "LunarLander-v3"]),
    ("env=gym env.id=CartPol-v1", ["env.id='CartPol-v1'", "did you mean CartPole-v1?"]),
    ("env=gym env.id=Pendulum-v1", ["env.id='Pendulum-v1'", "Discrete"]),
    ("'episodes=${foo}'", ["foo"]),
    ("~env.n", ["~env.n: a key cannot be removed; give it a value"]),
    ("+env.n=3", ["+env.n=3", "without +"]),
    # sweeps
    ("seed=1,2", ["seed=1,2", "add -m"]),
    ("algo=vdqn,dqn", ["algo=vdqn,dqn", "add -m"]),
    ("'seed=range(3)'", ["seed=range(3)", "add -m"]),
    ("algo=vdqn,dqn", ["to run one job for each\n"]),
    ("out=a,b", ["out=a,b", "to run one job for each\n"]),
    ("env.n=5,6", ["to run one job for each\n"]),
    ("algo.network.hidden=5,6", ["or write algo.network.hidden=[...] for a list\n"]),
    ("-m env.n=5,2", ["env.n=2", "in the job env.n=2"]),
    ("-m algo=vdqn,dqm", ["algo='dqm'", "in the job algo=dqm"]),
    ("-m env.nn=5,6", ["env.nn=5", "did you mean env.n?"]),
    ("-m algo=dqn,vdqn algo.lam=0.1,0.2", ["algo.lam=0.1", "in the job algo=dqn algo.lam=0.1"]),
    ("-m 'seed=interval(0,1)'", ["INTERVAL"]),
    ("experiment=fig3 env.n=2", ["env.n=2", "from 3 to 10000"]),
    ("experiment=fig3 env.n=0", ["env.n=0", "from 3 to 10000"]),
    ("experiment=fig3 env.n=abc", ["env.n='abc'", "from 3 to 10000"]),
    ("experiment=fig2 env=gym", ["env.id", "a value must be given"]),
    (
        "experiment=fig2 env=gym env.id=Acrobot-v2",
        ["error: algo.lr: paper_lr.yaml has no rate", "Acrobot-v2", "give algo.lr=..."],
    ),
    ("hydra.mode=MULTIRUN seed=-1,0", ["seed=-1", "in the job seed=-1"]),
    # what is no override
    ("train", ["'train'", "key=value"]),
    ("episodes", ["'episodes'", "did you mean episodes=...?"]),
    ("'env.n=[1,2'", ["'env.n=[1,2'", "cannot be read"]),
    ("=5", ["=5", "unknown key"]),
    ("--epochs 5", ["--epochs", "unknown flag"]),
    ("--dryrun", ["--dryrun: unknown flag", "did you mean --dry-run?"]),
    ("--multi-run", ["did you mean --multirun?"]),
    ("--verison", ["did you mean --version?"]),
    ("--n_seeds=3", ["--n_seeds=3: unknown flag", "did you mean n_seeds=3?"]),
    ("--n_seeds 3", ["--n_seeds: unknown flag", "did you mean n_seeds=...?"]),
    ("--algo=dqn", ["did you mean algo=dqn?"]),
    ("--lr=0.1", ["did you mean algo.lr=0.1?"]),
    ("--episode=5", ["did you mean episodes=5?"]),
    ("-x", ["-x: unknown flag; see vdqn-run --help\n"]),
    ("--cfg everything", ["--cfg", "job"]),
    ("--cfg job epsiodes=3", ["did you mean episodes?"]),
    ("-cn other", ["other"]),
    ("-cd /nonexistent", ["/nonexistent", "no such folder"]),
]


@pytest.mark.parametrize(("line", "parts"), WRONG, ids=[row[0] for row in WRONG])
def test_wrong_request(
    line: str,
    parts: list[str],
    empty: Path,
    trained: list[RunConfig],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(shlex.split(line)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("vdqn-run: error: ")
    assert err.endswith("\n")
    assert err[:-1].isprintable()  # one line
    for part in parts:
        assert part in err
    assert trained == []
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("arguments", [["env.nn=5"], ["-m", "env.n=5,2"], ["env.n=abc", "-q"]])
def test_refused_process_loads_no_torch_and_leaves_nothing(
    arguments: list[str], empty: Path
) -> None:
    program = (
        "import sys; from vdqn_runner.cli import main; code = main(sys.argv[1:]); "
        "print(sorted({'torch', 'numpy', 'pandas', 'gymnasium'} & set(sys.modules))); "
        "sys.exit(code)"
    )
    done = run_python(program, *arguments)
    assert done.returncode == 2
    assert done.stdout == "[]\n"
    assert done.stderr.count("\n") == 1
    assert list(empty.iterdir()) == []


def test_full_error_shows_the_traceback_and_still_ends_with_the_line(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    assert main(["env.nn=5"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1].startswith("vdqn-run: error: env.nn=5")
