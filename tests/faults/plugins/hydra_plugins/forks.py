"""Launchers that give each job a process of its own, as those for clusters do."""

import os
import signal
from pathlib import Path

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from omegaconf import open_dict


class Forks(Launcher):
    """Kills the second job before it begins."""

    def setup(self, *, hydra_context, task_function, config):
        self.context, self.task, self.config = hydra_context, task_function, config

    def launch(self, job_overrides, initial_job_idx):
        setup_globals()
        Path(str(self.config.hydra.sweep.dir)).mkdir(parents=True, exist_ok=True)
        for number, overrides in enumerate(job_overrides, initial_job_idx):
            self.before(number)
            pid = os.fork()
            if not pid:
                self._job(number, overrides)
            os.waitpid(pid, 0)
        return [JobReturn(status=JobStatus.COMPLETED, _return_value=None)]

    def before(self, number):
        self.doomed = number == 1

    def _job(self, number, overrides):
        if self.doomed:
            os.kill(os.getpid(), signal.SIGKILL)
        config = self.context.config_loader.load_sweep_config(self.config, list(overrides))
        with open_dict(config):
            config.hydra.job.num = number
            config.hydra.job.id = str(number)
        HydraConfig.instance().set_config(config)
        code = 1
        try:
            run_job(
                hydra_context=self.context,
                task_function=self.task,
                config=config,
                job_dir_key="hydra.sweep.dir",
                job_subdir_key="hydra.sweep.subdir",
            )
            code = 0
        finally:
            os._exit(code)


class Edits(Forks):
    """Edits a settings file once the first job has been run."""

    def before(self, number):
        self.doomed = False
        if number == 1:
            file = Path("mine/algo/mine.yaml")
            file.write_text(file.read_text().replace("0.005", "0.5"))


for launcher in (Forks, Edits):
    ConfigStore.instance().store(
        group="hydra/launcher",
        name=launcher.__name__.lower(),
        node={"_target_": f"hydra_plugins.forks.{launcher.__name__}"},
        provider="test",
    )
