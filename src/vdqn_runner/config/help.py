"""The text of ``vdqn-run --help``, made from the settings files and models."""

import textwrap
from itertools import zip_longest
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from vdqn_runner.config.fields import allowed, walk
from vdqn_runner.config.files import groups, options
from vdqn_runner.config.model import Settings
from vdqn_runner.config.schedule import ConstantSchedule
from vdqn_runner.config.schema import GROUPS, AlgoConfig, RunConfig

INTRO = """\
usage: vdqn-run [-m] [-q] [group=option ...] [key=value ...]

Train Variational DQN, or what it is compared with, with several seeds at once. Results go to
<out>/<name>/<environment>/<algorithm>/<hash>/. The same command again does only what is
missing: it skips seeds that are done and resumes those that are not.

examples:
  vdqn-run                                       VDQN on the chain with 10 states
  vdqn-run algo=dqn env=cartpole_v1 n_seeds=10   another algorithm, task and number of seeds
  vdqn-run -m algo=vdqn,dqn env.n=5,10,50        a sweep: one job for each pair
  vdqn-run experiment=fig3                       what a settings file asks for
  vdqn-run env=gym env.id=LunarLander-v3         any gymnasium environment
  vdqn-run algo=dqn 'algo.epsilon={kind:linear,start:1.0,end:0.01,duration:5000}'
"""

SCHEDULES = """\
schedules, wherever "or a schedule" is said (unit is steps or episodes, by default steps):
  0.1                                                        the same throughout
  {kind:linear,start:1.0,end:0.01,duration:5000,unit:steps}  a straight line, then end
  {kind:exponential,start:1.0,end:0.01,duration:5000}        a geometric way, then end
  {kind:piecewise,points:[[0,1.0],[5000,0.1]]}               straight lines between points
"""

FLAGS = """\
flags:
  -m, --multirun     run every combination of comma-separated values
  -q, --quiet        print nothing but errors
  --dry-run          list the runs of a request, what is left of them and what it takes
  --cfg job          show the settings of a request and run nothing
  --info             show where settings come from
  --hydra-help       Hydra's own flags, which all work; shell completion is among them
  --version          show the version
  HYDRA_FULL_ERROR=1 in the environment shows the traceback of an error
"""


def help_text() -> str:
    """Return the whole help."""
    parts = [INTRO, *(_group(group) for group in groups())]
    parts.append(_keys("top-level keys", RunConfig, "", set()))
    common = set(AlgoConfig.model_fields)
    for kind, model in GROUPS["env"].items():
        of = "every other env" if kind == "gym" else f"env={kind}"
        parts.append(_keys(f"keys of {of}", model, "env.", {"kind"}))
    parts.append(_keys("keys of every algo", AlgoConfig, "algo.", set()))
    for name, model in GROUPS["algo"].items():
        parts.append(_keys(f"further keys of algo={name}", model, "algo.", {"name", *common}))
    for option, tracker in GROUPS["tracker"].items():
        if len(tracker.model_fields) > 1:
            parts.append(_keys(f"keys of tracker={option}", tracker, "tracker.", {"kind"}))
    return "\n".join([*parts, SCHEDULES, FLAGS])


def _group(group: str) -> str:
    """Return a group's options, one a line."""
    lines = [_entry(f"{group}={name}", text) for name, text in options(group).items()]
    return "\n".join([f"{group}:", *lines, ""])


def _keys(title: str, model: type[Settings], prefix: str, skip: set[str]) -> str:
    """Return a model's keys with default, meaning and what is allowed."""
    lines = [f"{title}:"]
    for key, field in walk(model, prefix):
        if key.removeprefix(prefix).partition(".")[0] not in skip:
            lines.append(
                _entry(key + default_text(field), f"{field.description} ({allowed(key, field)})")
            )
    return "\n".join([*lines, ""])


def _entry(left: str, text: str) -> str:
    """Return two columns, the right one wrapped; a wide left one has a line of its own."""
    lines = textwrap.wrap(text, 66)
    if len(left) > 31:
        lines.insert(0, "")
    return "\n".join(
        f"  {part:<31} {line}".rstrip() for part, line in zip_longest([left], lines, fillvalue="")
    )


def default_text(field: FieldInfo) -> str:
    """Return ``=`` and a field's default as one would type it; nothing where there is none."""
    value: Any = field.default
    if value is PydanticUndefined:
        return ""
    if isinstance(value, ConstantSchedule):
        value = value.value
    if isinstance(value, Settings):
        inner = ", ".join(f"{name}: {part}" for name, part in value.model_dump().items())
        return f"={{{inner}}}"
    if isinstance(value, tuple):
        return f"=[{','.join(map(str, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "=null", True: "=true", False: "=false"}[value]
    return f"={value}"
