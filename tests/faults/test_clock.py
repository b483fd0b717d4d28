"""A clock that goes back changes no number."""

from fault_runs import calls_of, results, settings, statuses


def test_a_clock_that_goes_back_and_a_stop_watch_that_stands(server, tmp_path, undisturbed):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    back = {"what": "turn_clocks_back"}
    child = server.run(first, settings=settings(first), fault=back)
    assert (child.code, child.lines) == (0, [])
    assert results(first) == undisturbed()
    (status,) = statuses(first).values()
    assert status["updated"] < status["started"]
    # A run that is gone on with when the calendar shows a year before it began.
    calls = calls_of(server, second, settings(second))
    at = calls.index("unlink checkpoint.pt")
    half = {"what": "kill", "at": at // 2 + 10}
    third = tmp_path / "third"
    third.mkdir()
    assert server.run(third, settings=settings(third), fault=half).code == -9
    child = server.run(third, settings=settings(third), fault=back)
    assert (child.code, child.lines) == (0, [])
    assert results(third) == undisturbed()
