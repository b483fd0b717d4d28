"""Hydra's repository of settings files, which reads each file once for many compositions."""

from __future__ import annotations

import copy
from typing import Any

from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.config_source import ConfigResult


class ReadOnce(ConfigRepository):
    """What is read is kept: reading takes a third of the time of composing a job of a sweep.

    Hydra composes with a copy of its repository each time, which here shares what was read.
    """

    def initialize_sources(self, config_search_path: ConfigSearchPath) -> None:
        """Look in these places from now on; what was read elsewhere is for others."""
        super().initialize_sources(config_search_path)
        self._read: dict[str, ConfigResult | None] = {}

    def load_config(self, config_path: str) -> ConfigResult | None:
        """Return a copy of a file's content, which composing changes; None if there is none."""
        if config_path not in self._read:
            self._read[config_path] = super().load_config(config_path)
        return copy.deepcopy(self._read[config_path])

    def __deepcopy__(self, memo: dict[int, Any]) -> ReadOnce:
        """Return one that may be given other places."""
        return copy.copy(self)
