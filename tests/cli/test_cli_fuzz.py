"""Hundreds of generated requests: wrong ones are refused, right ones mean what they say.

A request that is wrong ends with exit code 2 and one line, and nothing is made.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from generated import Request, keys, right_requests, settings, typed, wrong_requests
from processes import run_python

from vdqn_runner import memory, prepare
from vdqn_runner.cli import main
from vdqn_runner.config import RunConfig, build
from vdqn_runner.config.schema import DISCRIMINATORS, GROUPS

WRONG = wrong_requests()
RIGHT = list(right_requests(120))


def test_there_are_many_and_every_setting_is_among_them() -> None:
    assert len(WRONG) >= 500
    words = [word for request in WRONG for word in request.arguments]
    for setting in settings():
        assert any(word.startswith(f"{setting.key}=") for word in words)
    asked = {key for _, values in RIGHT for key in values}
    assert asked == keys() - {*GROUPS, "experiment", "evaluate"}


@pytest.mark.parametrize("request_", WRONG, ids=[f"{n}-{r.kind}" for n, r in enumerate(WRONG)])
def test_wrong_request(
    request_: Request,
    empty: Path,
    trained: list[RunConfig],
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(list(request_.arguments))
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), request_.arguments
    assert err.startswith("vdqn-run: error: ")
    assert err.endswith("\n")
    assert err[:-1].isprintable()  # one line
    assert len(err) < 1000
    assert trained == []
    assert list(empty.iterdir()) == []


def test_wrong_requests_in_a_process_of_their_own_load_no_torch(empty: Path) -> None:
    sample = [request.arguments for request in Random(1).sample(WRONG, 25)]
    program = (
        "import json, sys; from vdqn_runner.cli import main; "
        "codes = {main(line) for line in json.loads(sys.argv[1])}; "
        "print(sorted(codes), 'torch' in sys.modules)"
    )
    done = run_python(program, json.dumps(sample))
    assert done.stdout == "[2] False\n"
    assert len(done.stderr.splitlines()) == len(sample)
    assert list(empty.iterdir()) == []


def means(asked: Any, got: Any) -> bool:
    """Whether a setting is what was asked for; a bare number is the constant schedule."""
    if isinstance(asked, float) and isinstance(got, dict):
        return got == {"kind": "constant", "value": asked}
    if isinstance(asked, dict):
        return {"unit": "steps", **asked} == {"unit": "steps", **got}
    return bool(asked == got) and type(asked) is type(got)


def check_meaning(config: RunConfig, chosen: dict[str, str], asked: dict[str, Any]) -> None:
    dump = config.model_dump(mode="json")
    assert {group: dump[group][kind] for group, kind in DISCRIMINATORS.items()} == chosen
    for key, value in asked.items():
        got: Any = dump
        for part in key.split("."):
            got = got[part]
        assert means(value, got), (key, value, got)


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_right_request(number: int) -> None:
    chosen, asked = RIGHT[number]
    mapping: dict[str, Any] = {
        "episodes": 20,
        "env": {"kind": chosen["env"]} | ({} if chosen["env"] == "gym" else {"n": 10}),
        "algo": {"name": chosen["algo"]},
        "tracker": {"kind": chosen["tracker"]},
    }
    for key, value in asked.items():
        *path, last = key.split(".")
        place = mapping
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    check_meaning(build(mapping), chosen, asked)


@pytest.mark.parametrize("number", range(0, len(RIGHT), 10))
def test_right_request_as_a_command(
    number: int,
    empty: Path,
    trained: list[RunConfig],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The largest of everything is right, though it fits no machine, and a GPU or a package that is
    # not here.
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    monkeypatch.setattr(prepare, "check_device", lambda device: None)
    monkeypatch.setattr(prepare, "check_tracker", lambda tracker: None)
    chosen, asked = RIGHT[number]
    groups = [f"{group}={option}" for group, option in chosen.items()]
    assert main([*groups, *(f"{key}={typed(value)}" for key, value in asked.items())]) == 0
    assert capsys.readouterr().err == ""
    check_meaning(trained[0], chosen, asked)
    assert list(empty.iterdir()) == []
