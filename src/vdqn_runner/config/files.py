"""Where the settings files are, and what they say about themselves."""

from pathlib import Path


def conf_dir() -> Path:
    """Return the folder of settings files: inside the installed package, or of the checkout.

    Never the one of the folder in which the command happens to run.
    """
    package = Path(__file__).resolve().parents[1]
    installed = package / "conf"
    return installed if installed.is_dir() else package.parents[1] / "conf"


def options(group: str) -> dict[str, str]:
    """Return the options of a group (``env``, ``algo``, ``experiment``) with their sentences."""
    return {path.stem: sentence(path) for path in sorted((conf_dir() / group).glob("*.yaml"))}


def groups() -> list[str]:
    """Return the names of all groups, sorted; ``hydra/launcher`` has one inside another."""
    folders = {path.parent.relative_to(conf_dir()) for path in conf_dir().rglob("*.yaml")}
    return sorted(folder.as_posix() for folder in folders if folder.name)


def sentence(path: Path) -> str:
    """Return the comment with which a settings file starts, after Hydra's ``# @package``."""
    with path.open(encoding="utf-8") as lines:
        comments = (line for line in lines if not line.startswith("# @"))
        return next(comments, "").removeprefix("#").strip()
