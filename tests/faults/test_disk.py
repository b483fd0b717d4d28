"""Disks that are full, read-only or gone: one line that says what to do, and nothing wrong."""

import contextlib
import shutil
import subprocess

import pytest
from fault_runs import calls_of, error_of, results, settings, states, the_run


@pytest.fixture(scope="module")
def calls(server, tmp_path_factory):
    out = tmp_path_factory.mktemp("calls")
    return calls_of(server, out, settings(out))


FIRSTS = [1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 10))]


@pytest.mark.parametrize("first", FIRSTS)
@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("ENOSPC", "No space left on device; make room"),
        ("EROFS", "Read-only file system; make it writable"),
    ],
)
def test_from_any_call_on(server, tmp_path, undisturbed, calls, error, told, first):
    for at in range(first, len(calls) + 1, 9):
        out = tmp_path / str(at)
        out.mkdir()
        fault = {"what": error, "at": at, "lasting": True}
        child = server.run(out, settings=settings(out), fault=fault)
        if child.code == 0:  # all that was left was to tidy up
            assert set(states(out).values()) == {"done"}
        else:
            assert told in error_of(child)
            if any(out.rglob("lock")):
                assert set(states(out).values()) <= {None, "planned", "running"}
        child = server.run(out, settings=settings(out))
        assert (child.code, child.lines) == (0, [])
        assert results(out) == undisturbed()


def test_a_single_refusal_marks_the_seed_as_failed(server, tmp_path, undisturbed, calls):
    at = calls.index("write checkpoint.pt.tmp") + 1
    child = server.run(tmp_path, settings=settings(tmp_path), fault={"what": "EDQUOT", "at": at})
    assert error_of(child) == (
        f"seed 0: {the_run(tmp_path)}/seed-00000/checkpoint.pt cannot be written: "
        "Disk quota exceeded; make room, then the same command goes on"
    )
    assert states(tmp_path) == {"seed-00000": "failed"}
    assert server.run(tmp_path, settings=settings(tmp_path)).code == 0
    assert results(tmp_path) == undisturbed()


@pytest.mark.parametrize("lasting", [True, False])
def test_a_seed_is_not_done_before_its_status_says_so(
    server, tmp_path, undisturbed, calls, lasting
):
    at = len(calls) - calls[::-1].index("write status.json.tmp")
    fault = {"what": "EROFS", "at": at, "lasting": lasting}
    child = server.run(tmp_path, settings=settings(tmp_path), fault=fault)
    assert "status.json cannot be written: Read-only file system" in error_of(child)
    assert states(tmp_path) == {"seed-00000": "running" if lasting else "failed"}
    assert server.run(tmp_path, settings=settings(tmp_path)).code == 0
    assert results(tmp_path) == undisturbed()


@pytest.mark.parametrize("size", [700, 2000, 6000])
def test_files_that_the_kernel_keeps_short(server, tmp_path, undisturbed, size):
    """As the shell's ``ulimit -f`` does."""
    fault = {"what": "limit_file_sizes", "at": size}
    child = server.run(tmp_path, settings=settings(tmp_path), fault=fault)
    assert "cannot be written: File too large; raise the limit of file sizes" in error_of(child)
    assert server.run(tmp_path, settings=settings(tmp_path)).code == 0
    assert results(tmp_path) == undisturbed()


@contextlib.contextmanager
def small_disk(folder, size):
    """A disk of ``size`` at ``folder``, where the tests may mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("size", ["4k", "24k", "40k"])
def test_a_small_disk_and_a_read_only_one(server, tmp_path, undisturbed, size):
    out = tmp_path / "disk"
    with small_disk(out, size):
        child = server.run(tmp_path, settings=settings(out))
        assert "No space left on device; make room" in error_of(child)
        subprocess.run(["mount", "-o", "remount,size=16m,ro", str(out)], check=True)
        child = server.run(tmp_path, settings=settings(out))
        assert "Read-only file system; make it writable" in error_of(child)
        subprocess.run(["mount", "-o", "remount,rw", str(out)], check=True)
        child = server.run(tmp_path, settings=settings(out))
        assert (child.code, child.lines) == (0, [])
        assert results(out) == undisturbed()


def test_a_file_where_the_folder_should_be(server, tmp_path):
    (tmp_path / "file").write_text("")
    child = server.run(tmp_path, settings=settings(tmp_path / "file" / "runs"))
    assert child.code == 2
    (line,) = child.lines
    assert line.endswith(f"{tmp_path / 'file'} is in the way: it is no folder")


@pytest.mark.parametrize("gone", [".", "default", "default/chain-3/vdqn/*", "*/*/*/*/seed-00000"])
def test_a_folder_that_is_removed_meanwhile(server, tmp_path, undisturbed, calls, gone):
    out = tmp_path / "out"
    at = calls.index("write checkpoint.pt.tmp") + 1
    fault = {"what": "do", "at": at, "command": f"cd {tmp_path} && rm -r out/{gone}"}
    fault["command"] = fault["command"].removesuffix("/.")
    out.mkdir()
    child = server.run(tmp_path, settings=settings(out), fault=fault)
    told = error_of(child)
    assert "seed-00000/" in told and "No such file or directory; its folder is gone" in told
    child = server.run(tmp_path, settings=settings(out))
    assert (child.code, child.lines) == (0, [])
    assert results(out) == undisturbed()
