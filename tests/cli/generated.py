"""Requests made from the settings' models: some that are wrong, and some that are right.

What makes a request wrong is known here from how it was made: a key that no model has, a value of
another type than the field's annotation, a number beyond an end of the field's range. So a new
setting is covered as soon as it is in a model. The generator is seeded: requests are the same in
every process.
"""

import math
import string
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic import AfterValidator
from pydantic.fields import FieldInfo

from vdqn_runner.config.files import groups, options
from vdqn_runner.config.model import Settings
from vdqn_runner.config.ranges import ScheduleWithin, Within
from vdqn_runner.config.schedule import AnySchedule
from vdqn_runner.config.schema import DISCRIMINATORS, GROUPS, RunConfig

CONTEXT = {
    ("env", "chain"): ["env=chain"],
    ("env", "stochastic_chain"): ["env=stochastic_chain"],
    ("env", "deep_sea"): ["env=deep_sea"],
    ("env", "gym"): ["env=cartpole_v1"],
    ("algo", "vdqn"): ["algo=vdqn"],
    ("algo", "dqn"): ["algo=dqn"],
    ("algo", "noisynet"): ["algo=noisynet"],
    ("algo", "bootstrapped"): ["algo=bootstrapped"],
    ("algo", "bbq"): ["algo=bbq"],
    ("algo", "variational"): ["algo=variational"],
    ("tracker", "none"): ["tracker=none"],
    ("tracker", "tensorboard"): ["tracker=tensorboard"],
    ("tracker", "mlflow"): ["tracker=mlflow"],
    ("tracker", "wandb"): ["tracker=wandb"],
}
"""Overrides under which the settings of a model exist."""

KINDS = {f"{group}.{key}" for group, key in DISCRIMINATORS.items()}
"""What says which option of a group it is."""


class Request(NamedTuple):
    """The arguments of a command, and what is wrong with them."""

    kind: str
    arguments: list[str]


@dataclass(frozen=True)
class Setting:
    """A field of a model by its dotted key, with the overrides under which it exists."""

    key: str
    field: FieldInfo
    context: list[str]


def settings() -> list[Setting]:
    """Every setting of every model, each key once."""
    found = {s.key: s for s in _walk(RunConfig, "", [])}
    for (group, option), context in CONTEXT.items():
        for setting in _walk(GROUPS[group][option], f"{group}.", context):
            found.setdefault(setting.key, setting)
    assert {(g, o) for g, models in GROUPS.items() for o in models} == set(CONTEXT)
    return [setting for key, setting in found.items() if key not in KINDS]


def _walk(model: type[Settings], prefix: str, context: list[str]) -> Iterator[Setting]:
    for name, field in model.model_fields.items():
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, Settings):
            yield from _walk(inner, f"{prefix}{name}.", context)
        elif not (model is RunConfig and name in GROUPS):
            yield Setting(f"{prefix}{name}", field, context)


def keys() -> set[str]:
    """Every name that may stand before a "="."""
    return {setting.key for setting in settings()} | {*GROUPS, "experiment", "evaluate"}


def range_of(field: FieldInfo) -> Within | None:
    """The interval of a field, or of the values of its schedule."""
    constraints = list(field.metadata)
    for part in get_args(field.annotation):
        if get_origin(part) is Annotated:
            constraints += get_args(part)[1:]
    for constraint in constraints:
        if isinstance(constraint, AfterValidator):
            if isinstance(constraint.func, Within):
                return constraint.func
            if isinstance(constraint.func, ScheduleWithin):
                return constraint.func.range
    return None


def type_of(field: FieldInfo) -> str:
    """One word for what a field takes."""
    annotation = field.annotation
    plain = [get_args(p)[0] if get_origin(p) is Annotated else p for p in get_args(annotation)]
    if AnySchedule in (annotation, *plain):
        return "schedule"
    if get_origin(annotation) is Literal:
        return "choice"
    if get_origin(annotation) is tuple:
        return "widths"
    for kind in (bool, int, float, str):
        if annotation is kind or kind in plain:
            return kind.__name__
    raise AssertionError(f"no generator for {annotation}: teach this module the new type")


def typo(name: str, random: Random) -> str:
    """``name`` with one or two letters changed, added, left out or exchanged."""
    for _ in range(random.choice([1, 2])):
        at = random.randrange(len(name))
        letter = random.choice(string.ascii_lowercase)
        name = random.choice(
            [
                name[:at] + letter + name[at + 1 :],
                name[:at] + letter + name[at:],
                name[:at] + name[at + 1 :] or letter,
                name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :],
            ]
        )
    return name


def typo_that_is_none_of(name: str, right: set[str], random: Random) -> str:
    while (wrong := typo(name, random)) in right or not wrong:
        pass
    return wrong


LINEAR = "{{kind:linear,start:{0},end:{0},duration:5{1}}}"
MANY_DIGITS = "9" * 400

OTHER_TYPES = {
    "int": ["abc", "1.5", "20.0", "1e2", "true", "[20]", "{a:20}", "'20'", "", "0x20", "nan"],
    "float": [
        "abc",
        "true",
        "[0.5]",
        "{a:0.5}",
        "'0.5'",
        "",
        "0,5,",
        "nan",
        "inf",
        "-inf",
        "1e400",
    ],
    "bool": ["1", "0", "yes", "on", "'true'", "null", "abc", "", "[true]"],
    "str": ["5", "1.5", "true", "null", "[a]", "{a:b}", "''"],
    "choice": ["5", "true", "null", "[cpu]", "", "{a:b}"],
    "widths": ["5", "[]", "[0]", "[-1]", "[1.5]", "[true]", "[a]", "null", "[5,]", "['5']"],
    "schedule": ["abc", "true", "null", "[1]", "nan", "inf", "-inf", "1e400", "'0.5'", ""],
}
WRONG_SCHEDULES = [
    "{kind:linear,start:0.5,end:0.5}",
    "{kind:linear,start:0.5,end:0.5,duration:0}",
    "{kind:linear,start:0.5,end:0.5,duration:1.5}",
    "{kind:linear,start:0.5,end:0.5,duration:" + MANY_DIGITS + "}",
    "{kind:linear,start:0.5,end:nan,duration:5}",
    "{kind:linear,start:0.5,end:0.5,duration:5,unit:stpes}",
    "{kind:linear,start:0.5,end:0.5,duration:5,stop:3}",
    "{kind:linaer,start:0.5,end:0.5,duration:5}",
    "{start:0.5,end:0.5,duration:5}",
    "{kind:exponential,start:0.5,end:0,duration:5}",
    "{kind:exponential,start:-0.5,end:-0.5,duration:5}",
    "{kind:piecewise,points:[]}",
    "{kind:piecewise,points:[[5,0.5],[5,0.4]]}",
    "{kind:piecewise,points:[[-1,0.5]]}",
    "{kind:piecewise,points:[[0,0.5,1]]}",
    "{kind:piecewise,points:[[0.5,0.5]]}",
    "{kind:piecewise,points:0.5}",
    "{kind:constant}",
    "{kind:constant,value:abc}",
    "{}",
]


def may_be_null(setting: Setting) -> bool:
    """Whether null has a meaning: no value, or the one that goes with another setting."""
    follows = setting.key in ("algo.sigma_init", "algo.samples")
    return type(None) in get_args(setting.field.annotation) or follows


def beyond(interval: Within, whole: bool) -> list[str]:
    """Numbers just outside an interval, and far outside."""
    low, high = interval.low, interval.high
    found = []
    if whole:
        found += [int(low) - 1, -(10**30)]
        found += [int(high) + 1, int(MANY_DIGITS)] if high < math.inf else []
    else:
        found += [low if interval.above else math.nextafter(low, -math.inf), -1e300]
        if high < math.inf:
            found += [high if interval.below else math.nextafter(high, math.inf), 1e300]
    return [str(value) for value in found]


def wrong_keys(random: Random) -> Iterator[Request]:
    """Misspelt keys."""
    right = keys()
    for setting in settings():
        key = typo_that_is_none_of(setting.key, right, random)
        yield Request("key", [*setting.context, f"{key}={right_value(setting, random)}"])


def wrong_values(random: Random) -> Iterator[Request]:
    """Values of other types, misspelt choices, and numbers outside of ranges."""
    for setting in settings():
        kind, key = type_of(setting.field), setting.key
        values = OTHER_TYPES[kind]
        for value in random.sample(values, 2) + (["null"] if kind in ("int", "float") else []):
            if not (value == "null" and may_be_null(setting)):
                yield Request("type", [*setting.context, f"{key}={value}"])
        if kind == "choice":
            choices = set(get_args(setting.field.annotation))
            for choice in sorted(choices):
                wrong = typo_that_is_none_of(choice, choices, random)
                yield Request("choice", [*setting.context, f"{key}={wrong}"])
            yield Request("choice", [*setting.context, f"{key}={choice.upper()}"])
        interval = range_of(setting.field)
        if interval is not None:
            for value in beyond(interval, kind == "int"):
                yield Request("range", [*setting.context, f"{key}={value}"])
        if kind == "schedule":
            for value in random.sample(WRONG_SCHEDULES, 5):
                yield Request("schedule", [*setting.context, f"{key}={value}"])
            for value in beyond(interval, False):
                inside = LINEAR.format(value, random.choice(["", ",unit:episodes"]))
                yield Request("schedule range", [*setting.context, f"{key}={inside}"])
        if kind == "widths":
            for wide in ("[10,1000001]", f"[{MANY_DIGITS}]", f"[{','.join(['3'] * 33)}]"):
                yield Request("range", [f"{key}={wide}"])


def wrong_options(random: Random) -> Iterator[Request]:
    """Misspelt options of groups, and keys of one option under another."""
    for group in groups():
        names = set(options(group))
        for name in random.sample(sorted(names), min(4, len(names))):
            yield Request("option", [f"{group}={typo_that_is_none_of(name, names, random)}"])
        name = random.choice(sorted(names))
        for value in (name.upper(), f"[{name}]", f"'{name} '", "5", "true", ""):
            yield Request("option", [f"{group}={value}"])
        for prefix in "+~":
            yield Request("prefix", [f"{prefix}{group}={name}"])
        yield Request("repeated", [f"{group}={name}", f"{group}={random.choice(sorted(names))}"])
    for (group, option), context in CONTEXT.items():
        own = set(GROUPS[group][option].model_fields)
        for other, model in GROUPS[group].items():
            others = sorted(set(model.model_fields) - own)
            for name in random.sample(others, min(3, len(others))):
                setting = Setting(f"{group}.{name}", model.model_fields[name], context)
                value = right_value(setting, random)
                yield Request(f"key of {other}", [*context, f"{setting.key}={value}"])


def impossible_pairs(random: Random) -> Iterator[Request]:
    """Values that are right alone and wrong together."""
    for _ in range(4):
        capacity = random.randint(1, 400)
        more = random.randint(capacity + 1, 10**6)
        room = f"algo.replay.capacity={capacity}"
        few = "algo.learning_starts=1"
        yield Request("pair", [room, few, f"algo.batch_size={more}"])
        yield Request("pair", [room, "algo.batch_size=1", f"algo.learning_starts={more}"])
        n_seeds = random.randint(2, 1000)
        seed = 2**32 - random.randint(1, n_seeds - 1)
        yield Request("pair", [f"seed={seed}", f"n_seeds={n_seeds}"])
    for noise in ([], ["algo.sigma_init=0.3"]):
        pair = ["algo.noise=factorised", "algo.theta_samples=per_tuple"]
        yield Request("pair", ["algo=noisynet", *noise, *pair])
    for setting in ("estimator=score", "samples=2", "resample=episode", "sigma_init=0.3"):
        yield Request("pair", ["algo=variational", "algo.family=point", f"algo.{setting}"])
    yield Request("pair", ["algo=variational", "algo.rank=2"])
    yield Request("pair", ["algo=variational", "algo.estimator=score", "algo.samples=1"])
    for n in (-1, 0, 1, 2):
        yield Request("pair", ["env=chain", f"env.n={n}"])


def shell_accidents(random: Random) -> Iterator[Request]:
    """What a hurried hand and a shell make of a request."""
    for setting in settings():
        key, context = setting.key, setting.context
        one, other = (right_value(setting, random) for _ in range(2))
        ways = [
            [key],
            [f"{key}", "=", one],
            [f"{key}", f"={one}"],
            [f"{key}="],
            [f"{key}=={one}"],
            [f"{key}:{one}"],
            [f"{key}={one},"],
            [f"{key}=,{one}"],
            [f"={one}"],
            [f"{key}={one}", f"{key}={other}"],
            [f"{key}={one}", f"++{key}={other}"],
            [f"~{key}"],
            [f"~{key}={one}"],
            [f"-{key}={one}"],
            [f"--{key}={one}"],
            [f"{key}={one},{other}"],
            [f"{key}=choice({one},{other})"],
            ["-m", f"{key}={one},{one}"],
            ["-m", f"{key}={one},"],
            [f'{key}="{one}'],
            [f"{key}='{one}"],
            [f"{key}=[{one}"],
            [f"{key}={{a:{one}"],
            [f"{key}={one}}}"],
            [f"{key}=${{nothing}}"],
            [f"{key}=${{{key}"],
            [f"{key}=\u00e9{one}"],
            [f"{key}={one}\u200b"],
            [f"\uff53{key}={one}"],
            [f"{key}\u0301={one}"],
            [f"{key}={'[' * 60}{']' * 60}"],
            [f"{key}={'x' * 5000}$"],
            [f"{key}.x={one}"],
            [f"{key}@x={one}"],
            [f"{'k' * 3000}.{key}={one}"],
            [f"{key}={one}", "--epochs", "3"],
            [f"{key}={one}", "train"],
            [f"{key}={one}", ""],
            [f"{key}={one}", "hydra.run.dir=elsewhere"],
        ]
        if setting.field.default is not None:
            ways.append([f"+{key}={one}"])  # to Hydra a key that is null is not there yet
        # A text may hold nearly anything: there a second look would be needed at each.
        chosen = random.sample(ways, 2) if type_of(setting.field) != "str" else ways[:2]
        for way in chosen:
            yield Request("shell", [*context, *way])


def wrong_sweeps(random: Random) -> Iterator[Request]:
    """Sweeps of which one value is wrong."""
    for setting in random.sample(settings(), 20):
        interval, kind = range_of(setting.field), type_of(setting.field)
        wrong = random.choice([v for v in OTHER_TYPES[kind] if v and "," not in v and v != "null"])
        if interval is not None and random.random() < 0.5:
            wrong = random.choice(beyond(interval, kind == "int"))
        values = [right_value(setting, random), wrong]
        random.shuffle(values)
        if setting.key == "out":
            continue
        yield Request("sweep", ["-m", *setting.context, f"{setting.key}={','.join(values)}"])
    for group in GROUPS:
        names = set(options(group)) - {"gym"}
        values = [*sorted(names)[:2], typo_that_is_none_of(sorted(names)[0], names, random)]
        yield Request("sweep", ["-m", f"{group}={','.join(values)}"])


def wrong_requests() -> list[Request]:
    """All of them."""
    random = Random(20170430)
    makers = [
        *(wrong_keys, wrong_values, wrong_options),
        *(impossible_pairs, shell_accidents, wrong_sweeps),
    ]
    found = {tuple(r.arguments): r for make in makers for r in make(random)}
    return list(found.values())


def right_value(setting: Setting, random: Random) -> str:
    """A value that the setting takes, as it is typed."""
    return typed(right(setting, random))


def right(setting: Setting, random: Random) -> Any:
    """A value that the setting takes whatever the others are, as long as those are defaults."""
    kind, interval = type_of(setting.field), range_of(setting.field)
    if setting.key in ("name", "tracker.experiment", "tracker.project", "tracker.entity"):
        return "".join(random.choices(string.ascii_letters, k=random.randint(1, 20)))
    if setting.key == "out":
        return random.choice(["runs", "a/b", "./x", "with blank/in it", "\u00fcber", "a..b"])
    if setting.key == "tracker.uri":
        return random.choice(["sqlite:///all.db", "http://host:5000", "postgresql://host/runs"])
    if setting.key == "env.id":
        return random.choice(["CartPole-v1", "Acrobot-v1", "MountainCar-v0"])
    match kind:
        case "bool":
            return random.choice([True, False])
        case "choice":
            return random.choice(get_args(setting.field.annotation))
        case "widths":
            return [random.randint(1, 300) for _ in range(random.randint(1, 4))]
        case "int":
            return _whole(setting.key, interval, random)
        case "float":
            return _real(interval, random)
        case "schedule":
            return _schedule(interval, random)
    raise AssertionError(kind)


def _whole(key: str, interval: Within, random: Random) -> int:
    low, high = int(interval.low), int(interval.high)
    if key in ("algo.batch_size", "algo.learning_starts"):
        high = 10**5
    if key == "algo.replay.capacity":
        low = 10**5
    if key == "seed":
        high -= 10**5
    # Small numbers, large ones, and the ends.
    return random.choice([low, high, random.randint(low, high), min(high, low + 7)])


def _real(interval: Within, random: Random) -> float:
    low, high = interval.low, min(interval.high, 10.0)
    while not interval.contains(value := random.choice([low, high, random.uniform(low, high)])):
        pass
    return float(value)


def _schedule(interval: Within, random: Random) -> Any:
    def value() -> float:
        return _real(interval, random) or 0.5

    unit = random.choice(["steps", "episodes"])
    duration = random.choice([1, 5000, 10**15])
    return random.choice(
        [
            value(),
            {"kind": "constant", "value": value()},
            {"kind": "linear", "start": value(), "end": value(), "duration": duration},
            {"kind": "exponential", "start": value(), "end": value(), "duration": 1, "unit": unit},
            {"kind": "piecewise", "points": [[0, value()], [duration, value()]], "unit": unit},
        ]
    )


def typed(value: Any) -> str:
    """A value in the words of an override."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{typed(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(typed, value)) + "]"
    if isinstance(value, str) and not (value.isascii() and value.replace("-", "").isalnum()):
        return f"'{value}'"
    return repr(value) if isinstance(value, float) else str(value)


def right_requests(count: int) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Valid requests: an option for each group, and values by dotted key."""
    random = Random(20170430)
    for _ in range(count):
        chosen = {group: random.choice(sorted(models)) for group, models in GROUPS.items()}
        mine = list(_walk(RunConfig, "", []))
        for group, option in chosen.items():
            mine += _walk(GROUPS[group][option], f"{group}.", [])
        # Some settings in each, all of them in the end; env.id must be given.
        asked = {
            setting.key: right(setting, random)
            for setting in mine
            if setting.key not in KINDS and (setting.key == "env.id" or random.random() < 0.4)
        }
        if "algo.rank" in asked:
            asked["algo.family"] = "low_rank"
        if chosen["env"] == "gym":
            asked.pop("algo.spike_episodes", None)  # nobody knows its best policy
        for key in without_effect(asked):
            asked.pop(key, None)
        yield chosen, asked


def without_effect(asked: dict[str, Any]) -> list[str]:
    """Settings that do not go with the others of a request."""
    found = []
    if asked.get("algo.noise") == "factorised":
        found.append("algo.theta_samples")
    if not asked.get("algo.replay.alpha"):
        found += ["algo.replay.beta", "algo.replay.floor"]
    if asked.get("algo.family") != "low_rank":
        found.append("algo.rank")
    if asked.get("algo.family") == "point":
        found += [f"algo.{key}" for key in ("estimator", "samples", "resample", "sigma_init")]
    if asked.get("algo.estimator") == "score" and asked.get("algo.samples") == 1:
        found.append("algo.samples")
    if not asked.get("algo.vime.eta"):
        found += [key for key in asked if key.startswith("algo.vime.")]
    return found
