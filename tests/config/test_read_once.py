"""Composing with files that are read once is composing."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.sources_registry import SourcesRegistry
from hydra._internal.utils import create_automatic_config_search_path
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from vdqn_runner.config.files import conf_dir
from vdqn_runner.config.read_once import ReadOnce
from vdqn_runner.config.resolvers import register_resolvers

LINES = [
    ["algo=dqn", "env=chain"],
    ["algo=bbq", "env=deep_sea", "algo.lr=0.5", "+algo.network.more=1"],
    ["experiment=fig3"],
    ["experiment=ablation_theta", "hydra.job.chdir=true"],
    ["algo=none"],
    [],
]


@pytest.fixture(autouse=True)
def hydra_is_left_as_it_was() -> Iterator[None]:
    register_resolvers()
    yield
    GlobalHydra.instance().clear()


def places(path: Path) -> ConfigSearchPath:
    """Where Hydra looks: in this folder, and in its own."""
    found: ConfigSearchPath = create_automatic_config_search_path(
        None, "vdqn_runner.cli", str(path)
    )
    return found


def loader(path: Path, *, once: bool) -> ConfigLoaderImpl:
    made = ConfigLoaderImpl(places(path))
    if once:
        made.repository = ReadOnce(places(path))
    return made


def composed(made: ConfigLoaderImpl, line: list[str]) -> str:
    """The settings and Hydra's own, as text, or why they do not compose."""
    try:
        config: DictConfig = made.load_configuration("config", line, RunMode.MULTIRUN)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    text: str = OmegaConf.to_yaml(config)
    return text


def test_everything_composes_as_it_does_with_hydras_own_repository() -> None:
    shared = loader(conf_dir(), once=True)
    for line in [*LINES, *reversed(LINES)]:
        assert composed(shared, line) == composed(loader(conf_dir(), once=False), line), line


def test_a_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: Counter[str] = Counter()
    source = SourcesRegistry.instance().resolve("file")
    read = source.load_config

    def counting(self: ConfigSource, config_path: str) -> ConfigResult:
        reads[config_path] += 1
        return read(self, config_path)

    monkeypatch.setattr(source, "load_config", counting)
    shared = loader(conf_dir(), once=True)
    for algo in ("dqn", "vdqn", "dqn"):
        composed(shared, [f"algo={algo}"])
    assert {"config", "algo/dqn", "algo/vdqn"} <= set(reads)
    assert set(reads.values()) == {1}


def test_places_of_a_primary_file_are_its_own(tmp_path: Path) -> None:
    """Another place that one composition searches is not searched by the next."""
    defaults = "defaults: [_self_, group: one]\n"
    for name, text in {
        "config.yaml": defaults,
        "far.yaml": f"hydra: {{searchpath: ['file://{tmp_path}/far']}}\n{defaults}",
        "group/one.yaml": "a: here\n",
        "far/group/two.yaml": "a: far\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    shared = loader(tmp_path, once=True)
    assert shared.load_configuration("far", ["group=two"], RunMode.RUN).group.a == "far"
    with pytest.raises(Exception, match="Could not find 'group/two'"):
        shared.load_configuration("config", ["group=two"], RunMode.RUN)
    assert shared.load_configuration("far", ["group=two"], RunMode.RUN).group.a == "far"


def test_what_was_read_can_be_changed_and_is_forgotten_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("a: 1\n")
    repository = ReadOnce(places(tmp_path))
    first = repository.load_config("one")
    assert first is not None
    first.config.a = 2
    again = repository.load_config("one")
    assert again is not None
    assert again.config.a == 1
    (tmp_path / "one.yaml").write_text("a: 3\n")
    repository.initialize_sources(places(tmp_path))
    third = repository.load_config("one")
    assert third is not None
    assert third.config.a == 3
    assert repository.load_config("two") is None
