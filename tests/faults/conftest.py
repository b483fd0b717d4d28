import functools

import pytest
from fault_runs import Server, results, settings


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """What starts processes without their imports."""
    server = Server(tmp_path_factory.mktemp("stderr"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def undisturbed(server, tmp_path_factory):
    """The results of a run that nothing happened to, by its settings."""

    @functools.cache
    def of(algo="vdqn", env="chain", **top):
        out = tmp_path_factory.mktemp("undisturbed")
        child = server.run(out, settings=settings(out, algo, env, **top))
        assert (child.code, child.lines) == (0, [])
        found = results(out)
        assert all(content for seed in found.values() for content in seed.values())
        return found

    return of
