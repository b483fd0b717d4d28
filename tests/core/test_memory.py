"""The memory that a run needs: against what is allocated, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import vdqn_runner
from vdqn_runner import kernels, memory
from vdqn_runner.cli import main
from vdqn_runner.config import build
from vdqn_runner.envs import make_envs
from vdqn_runner.errors import ConfigError
from vdqn_runner.free_memory import free_memory
from vdqn_runner.layout import Layout
from vdqn_runner.memory import needed, replay_bytes, row_length, space_length
from vdqn_runner.replay import make_replay

SIZES = [[3, 1, 1, 2], [10, 100, 100, 2], [4, 33, 7, 65, 3], [200, 17, 2]]


def request(algo="vdqn", hidden=(100, 100), env=None, settings=None, **top):
    return build(
        {
            "episodes": 2,
            "n_seeds": 1,
            "workers": 1,
            "quiet": True,
            "evaluate": {"every": 0},
            "checkpoint_every": 10,  # what is estimated counts one
            "env": env or {"kind": "chain", "n": 10},
            "algo": {"name": algo, "learning_starts": 5, "network": {"hidden": list(hidden)}}
            | (settings or {}),
        }
        | top
    )


def total(config):
    envs = make_envs(config.env, [0])
    return needed(config, envs.spec, config.n_seeds, 1).total


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_rows_and_working_space_are_as_long_as_those_allocated(sizes):
    layout = Layout(sizes)
    assert row_length(sizes) == layout.length
    if not kernels.available():
        pytest.skip("no compiled kernels here")
    for batch in (1, 13, 64):
        for states in (False, True):
            allocated = kernels._loaded().vr_space(layout.net.words, batch, states)
            assert space_length(sizes, batch, states) == allocated


@pytest.mark.parametrize(
    "env", [{"kind": "chain", "n": 12}, {"kind": "gym", "id": "CartPole-v1"}], ids=["chain", "gym"]
)
@pytest.mark.parametrize("capacity", [100, 10**6])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_full_replay_is_as_large_as_the_arrays_of_one(env, capacity, alpha):
    settings = {"replay": {"capacity": capacity, "alpha": alpha}, "learning_starts": 1}
    config = request(env=env, settings=settings, episodes=30)
    spec = make_envs(config.env, [0]).spec
    memory = make_replay(1, spec, config.algo.replay, 30)
    tree = memory._trees._nodes.nbytes if alpha else 0
    replay = memory._memory if alpha else memory
    arrays = (replay._obs, replay._action, replay._reward, replay._terminal, replay._slot)
    assert replay_bytes(config, spec) == sum(array.nbytes for array in arrays) + tree


PEAK = """
import json, re, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from vdqn_runner.config import build
from vdqn_runner.run import execute
execute(build(json.loads(sys.argv[1])))
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def peak(config, folder):
    """The most memory that a process of its own has while it trains, in bytes.

    Not ru_maxrss, which a process takes over from the one that started it.
    """
    source = Path(vdqn_runner.__file__).parents[1]
    text = config.model_copy(update={"out": str(folder)}).model_dump_json()
    done = subprocess.run(
        [sys.executable, "-c", PEAK, text, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(source)},
    )
    return int(done.stdout) * 1024


WIDE = {"kind": "gym", "id": "wide_env:Wide-v0"}
GROWTH = {
    "network": (request(hidden=[100]), request(hidden=[1200, 1200])),
    "network-dqn": (request("dqn", hidden=[100]), request("dqn", hidden=[1500, 1500])),
    "network-vdqn-double": (
        request(hidden=[100], settings={"double": True}, n_seeds=3),
        request(hidden=[1200, 1200], settings={"double": True}, n_seeds=3),
    ),
    "network-dqn-double": (
        request("dqn", hidden=[100], settings={"double": True}, n_seeds=3),
        request("dqn", hidden=[1500, 1500], settings={"double": True}, n_seeds=3),
    ),
    "network-noisynet-double": (
        request("noisynet", hidden=[100], settings={"double": True}, n_seeds=3),
        request("noisynet", hidden=[1200, 1200], settings={"double": True}, n_seeds=3),
    ),
    "network-bootstrapped": (
        request("bootstrapped", hidden=[100], n_seeds=3),
        request("bootstrapped", hidden=[1500, 1500], n_seeds=3),
    ),
    "dynamics": (
        request("dqn", [8], settings={"vime": {"eta": 0.1}}, n_seeds=3),
        request("dqn", [8], settings={"vime": {"eta": 0.1, "hidden": [1200, 1200]}}, n_seeds=3),
    ),
    "dynamics-minibatch": (
        request("dqn", [8], WIDE, {"vime": {"eta": 0.1, "hidden": [8]}}, n_seeds=2),
        request(
            "dqn", [8], WIDE, {"vime": {"eta": 0.1, "hidden": [8], "batch_size": 1500}}, n_seeds=2
        ),
    ),
    "network-variational": (
        request("variational", hidden=[100], settings={"samples": 3}, n_seeds=3),
        request("variational", hidden=[900, 900], settings={"samples": 3}, n_seeds=3),
    ),
    "network-variational-low-rank": (
        request("variational", hidden=[100], settings={"family": "low_rank"}, n_seeds=3),
        request("variational", hidden=[900, 900], settings={"family": "low_rank"}, n_seeds=3),
    ),
    "network-noisynet": (request("noisynet", [100]), request("noisynet", [1200, 1200])),
    "seeds": (request(hidden=[800, 800]), request(hidden=[800, 800], n_seeds=8)),
    "evaluation": (
        request(hidden=[100], evaluate={"every": 1, "episodes": 4}),
        request(hidden=[900, 900], evaluate={"every": 1, "episodes": 4}),
    ),
    "replay": (
        request("dqn", [8], WIDE, {"learning_starts": 10**6}, episodes=1, n_seeds=2),
        request(
            "dqn",
            [8],
            WIDE,
            {"learning_starts": 10**6},
            episodes=40,
            n_seeds=2,
            checkpoint_every=3900,
        ),
    ),
    "minibatch": (
        request("dqn", [8], WIDE, {"batch_size": 5, "train_every": 90}, n_seeds=2),
        request("dqn", [8], WIDE, {"batch_size": 3000, "train_every": 90}, n_seeds=2),
    ),
}
QUICK = {"network", "seeds", "replay"}  # the others take as long and find less


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.skipif(not kernels.available(), reason="what is estimated is the compiled form")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in GROWTH],
)
def test_memory_grows_as_estimated(name, tmp_path):
    small, large = GROWTH[name]
    measured = peak(large, tmp_path / "large") - peak(small, tmp_path / "small")
    estimated = total(large) - total(small)
    assert measured > 30e6  # far above what differs by chance
    assert measured / 1.5 < estimated < 1.5 * measured


def test_a_run_that_does_not_fit_is_refused_with_what_would_help(monkeypatch):
    config = request(hidden=[1000, 1000])
    spec = make_envs(config.env, [0]).spec
    need = needed(config, spec, 3, 1).total
    monkeypatch.setattr(memory, "free_memory", lambda: need)
    memory.check_memory(config, spec, 3, 1)
    monkeypatch.setattr(memory, "free_memory", lambda: need - 1)
    with pytest.raises(ConfigError) as caught:
        memory.check_memory(config, spec, 3, 1)
    assert "for 3 seeds" in str(caught.value)
    assert "lower algo.network.hidden or n_seeds" in str(caught.value)
    # Where all seeds are done there is nothing to refuse, nor where nothing is known.
    memory.check_memory(config, spec, 0, 1)
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    memory.check_memory(config, spec, 3, 1)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (request(hidden=[9000]), "algo.network.hidden"),
        (request(env={"kind": "gym", "id": "CartPole-v1"}, episodes=10**5), "algo.replay.capacity"),
        (request(settings={"batch_size": 10**6}), "algo.batch_size"),
        (request(settings={"vime": {"eta": 1.0, "hidden": [90_000]}}), "algo.vime.hidden"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_key_to_lower_is_that_of_the_largest_part(config, key, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1)
    spec = make_envs(config.env, [0]).spec
    with pytest.raises(ConfigError, match=f"lower {key}$"):
        memory.check_memory(config, spec, 1, 1)
    with pytest.raises(ConfigError, match=f"lower {key} or n_seeds$"):
        memory.check_memory(config, spec, 2, 1)


def test_workers_are_to_be_fewer_where_they_take_most(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    config = request()
    spec = make_envs(config.env, [0]).spec
    memory.check_memory(config, spec, 40, 1)
    with pytest.raises(ConfigError, match="lower workers$"):
        memory.check_memory(config, spec, 40, 40)


@pytest.mark.parametrize(
    "line",
    [
        ["algo.network.hidden=[100000,100000]"],
        ["algo.network.hidden=[1000000,1000000,1000000]", "algo=dqn", "env=cartpole_v1"],
        ["-m", "algo.network.hidden=[8],[100000,100000]", "seed=1,2"],
    ],
    ids=["chain", "gym", "sweep"],
)
def test_the_command_refuses_what_no_machine_has_and_makes_nothing(
    line, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(line) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "TB of memory are needed" in told
    assert ("in the job algo.network.hidden=[100000,100000] seed=1" in told) == ("-m" in line)
    assert list(tmp_path.iterdir()) == []


GIB = 2**30


@pytest.fixture
def root(tmp_path):
    """A machine with 8 GiB available and no limits."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(
        f"MemTotal: {16 * 2**20} kB\nMemFree: 1 kB\nMemAvailable: {8 * 2**20} kB\n"
    )
    return tmp_path


def limit(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_free_memory_is_what_the_system_has_available(root):
    assert free_memory(root, {}) == 8 * GIB
    assert free_memory(root / "elsewhere", {}) is None


def test_a_control_group_of_version_2_limits_it_with_those_above(root):
    (root / "proc/self/cgroup").write_text("0::/a/b\n")
    files = root / "sys/fs/cgroup"
    stat = f"anon 5\ninactive_file {GIB}"
    limit(files / "a/b", memory__max="max", memory__current=5)
    assert free_memory(root, {}) == 8 * GIB
    limit(files / "a", memory__max=4 * GIB, memory__current=3 * GIB, memory__stat=stat)
    assert free_memory(root, {}) == 2 * GIB
    limit(files / "a/b", memory__max=GIB, memory__current=2 * GIB)
    assert free_memory(root, {}) == 0


def test_a_control_group_of_version_1_limits_it(root):
    (root / "proc/self/cgroup").write_text("4:cpu,memory:/job\n3:cpuset:/\n0::/\n")
    stat = f"inactive_file 7\ntotal_inactive_file {GIB // 2}"
    # Here the group's own folder is not to be seen, as in a container.
    limit(
        root / "sys/fs/cgroup/memory",
        memory__limit_in_bytes=3 * GIB,
        memory__usage_in_bytes=2 * GIB,
        memory__stat=stat,
    )
    assert free_memory(root, {}) == GIB * 3 // 2
    limit(root / "sys/fs/cgroup/memory/job", memory__limit_in_bytes=GIB, memory__usage_in_bytes=0)
    assert free_memory(root, {}) == GIB


@pytest.mark.parametrize(
    ("said", "free"), [("1024", GIB), ("0", 8 * GIB), ("", 8 * GIB), ("x", 8 * GIB)]
)
def test_slurm_limits_it(said, free, root):
    assert free_memory(root, {"SLURM_MEM_PER_NODE": said}) == free


def test_this_machine_tells():
    free = free_memory()
    if sys.platform == "linux":
        assert free is not None
        assert 0 <= free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_the_wide_environment_is_what_the_tests_take_it_for():
    env = gymnasium.make("wide_env:Wide-v0")
    assert env.observation_space.shape == (5000,)
    assert env.observation_space.dtype == np.float32
    assert env.spec.max_episode_steps == 100
