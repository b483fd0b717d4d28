"""Every settings file composes to a valid run and spells out the defaults of the models."""

from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from mappings import request
from omegaconf import OmegaConf

from vdqn_runner.config import RunConfig, build
from vdqn_runner.config.fields import known_fields
from vdqn_runner.config.files import conf_dir, groups, options, sentence
from vdqn_runner.config.resolvers import register_resolvers
from vdqn_runner.config.schema import GROUPS

FILES = sorted(conf_dir().rglob("*.yaml"))
PLUGINS = {"optuna": "optuna_sweeper", "ray": "ray_launcher", "slurm": "submitit_launcher"}
NEEDED = {"env=gym": ["env.id=CartPole-v1"]}


def composed(*overrides: str) -> dict[str, object]:
    """Return the settings that Hydra composes, as a plain mapping."""
    register_resolvers()
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        tree = OmegaConf.to_container(compose("config", list(overrides)), resolve=True)
    assert isinstance(tree, dict)
    return tree


@pytest.mark.parametrize(
    "choice", [f"{group}={name}" for group in groups() for name in options(group)]
)
def test_every_option_is_a_valid_run(choice: str) -> None:
    plugin = next((name for part, name in PLUGINS.items() if part in choice), None)
    if plugin is not None:
        pytest.importorskip(f"hydra_plugins.hydra_{plugin}")
    assert isinstance(build(composed(choice, *NEEDED.get(choice, []))), RunConfig)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(conf_dir())) for path in FILES])
def test_every_file_starts_with_one_sentence(path: Path) -> None:
    text = sentence(path)
    assert text.endswith(".")
    assert text[0].isupper()
    assert len(text) <= 90


@pytest.mark.parametrize("algo", GROUPS["algo"])
def test_files_spell_out_every_key_with_the_default_of_the_model(algo: str) -> None:
    tree = composed(f"algo={algo}")
    written = yaml.safe_load((conf_dir() / "algo" / f"{algo}.yaml").read_text())
    names = {key.split(".")[1] for key in known_fields(tree) if key.startswith("algo.")}
    assert set(written) == names
    assert build(tree) == build(request(algo, episodes=2000))


def test_environments_spell_out_every_key_with_the_default_of_the_model() -> None:
    shortest = request(episodes=1000, env={"kind": "gym", "id": "CartPole-v1"})
    tree = composed("env=cartpole_v1")
    assert build(tree) == build(shortest)
    env = tree["env"]
    assert isinstance(env, dict)
    assert {f"env.{key}" for key in env} == {
        key for key in known_fields(tree) if key.startswith("env.")
    }


@pytest.mark.parametrize("tracker", GROUPS["tracker"])
def test_trackers_spell_out_every_key_with_the_default_of_the_model(tracker: str) -> None:
    written = yaml.safe_load((conf_dir() / "tracker" / f"{tracker}.yaml").read_text())
    assert written == GROUPS["tracker"][tracker]().model_dump()


def test_primary_file_has_every_top_level_key() -> None:
    assert set(composed()) == set(RunConfig.model_fields)


def test_paper_settings_of_the_environments() -> None:
    """The discount and the number of episodes that the paper's appendix gives."""
    for name in ("cartpole_v0", "cartpole_v1", "acrobot", "mountaincar"):
        config = build(composed(f"env={name}"))
        assert (config.env.gamma, config.episodes) == (0.99, 1000)
    chain = build(composed("env=chain"))
    assert (chain.env.gamma, chain.episodes) == (1.0, 2000)
