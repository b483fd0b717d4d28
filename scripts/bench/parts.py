"""Where the time of a step goes: timers around functions that are found by name.

A name that is not there is passed over, and its time shows up in ``other``, so that this keeps
working when the engine changes: ``fused update`` is a compiled kernel that does it all, which
``sampler.py`` takes apart. Time is exclusive: what a timed function spends in another timed
one counts there alone, save that acting and environment steps keep all that they call.
"""

import functools
import importlib
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PARTS = (
    "act",
    "env step",
    "replay add",
    "replay sample",
    "noise",
    "forward target",
    "forward online",
    "backward",
    "fused update",
    "Adam + sigma",
    "target copy",
    "other",
)
_WHOLE = {"act", "env step"}

# Methods of what a batch is made of: (path from the batch, method, part).
_METHODS = (
    ("", "learn", "other"),
    ("algo", "act", "act"),
    ("envs", "step", "env step"),
    ("envs", "reset", "env step"),
    ("envs", "observe", "env step"),
    ("replay", "begin", "replay add"),
    ("replay", "add", "replay add"),
    ("replay", "sample", "replay sample"),
    ("_picks", "draw", "replay sample"),
    ("", "_batch", "replay sample"),
    ("algo.learner", "copy_target", "target copy"),
    ("algo", "target_changed", "target copy"),
    ("algo", "online_changed", "Adam + sigma"),
)
# Functions of the engine: (module, name, part). The first forward pass of an update is the target
# network's, the second the online network's.
_FUNCTIONS = (
    ("vdqn_runner.nets", "mlp", "forward"),
    ("vdqn_runner.nets", "mlp_values", "forward"),
    ("vdqn_runner.nets", "gaussian_mlp", "forward"),
    ("torch.autograd", "grad", "backward"),
    ("vdqn_runner.learner", "Learner._adam", "Adam + sigma"),
    ("vdqn_runner.nets", "Posterior.refresh", "Adam + sigma"),
    ("vdqn_runner.normals", "NormalStreams.draw", "noise"),
)
# Compiled kernels that no function above has called, by their names.
_KERNELS = (
    ("normal|noise", "noise"),
    ("softplus|adam|sigma", "Adam + sigma"),
    ("_act", "act"),
    ("sample|gather", "replay sample"),
    ("backward", "backward"),
    ("target|forward", "forward target"),
    ("", "fused update"),
)


class Clockwork:
    """Seconds by part, and seconds and calls by compiled kernel, since ``reset``."""

    def __init__(self) -> None:
        self._stack: list[list[Any]] = []
        self._passes = 0
        self.reset()

    def reset(self) -> None:
        """Begin at zero."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.kernels: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])

    def _forward(self) -> str:
        """Return the part of a forward pass that begins now."""
        around = next((name for name, _ in self._stack if name.startswith("forward")), None)
        if around is None:
            self._passes += 1
        return around or ("forward target" if self._passes == 1 else "forward online")

    def timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """Return ``function``, its exclusive time counted as ``part``."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            stack = self._stack
            if part == "other":
                self._passes = 0
            if stack and stack[0][0] in _WHOLE:
                return function(*args, **kwargs)
            name = self._forward() if part == "forward" else part
            frame = [name, 0.0]
            stack.append(frame)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent = time.perf_counter() - start
                stack.pop()
                self.seconds[name] += spent - frame[1]
                if stack:
                    stack[-1][1] += spent

        return call

    def counted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a compiled kernel, its time counted under ``name``, and as a part if in none."""
        part = next(part for pattern, part in _KERNELS if re.search(pattern, name))
        alone = self.timed(function, part)

        def call(*args: Any) -> Any:
            inside = bool(self._stack) and self._stack[-1][0] != "other"
            start = time.perf_counter()
            result = function(*args) if inside else alone(*args)
            tally = self.kernels[name]
            tally[0] += 1
            tally[1] += time.perf_counter() - start
            return result

        return call


@contextmanager
def engine_timed(clockwork: Clockwork) -> Iterator[None]:
    """Time the engine's functions; agents that are to be timed must be made inside."""
    undo: list[Callable[[], None]] = []
    try:
        for module_name, path, part in _FUNCTIONS:
            try:
                owner: Any = importlib.import_module(module_name)
            except ImportError:
                continue
            *outer, name = path.split(".")
            for step in outer:
                owner = getattr(owner, step, None)
            function = getattr(owner, name, None)
            if function is None:
                continue
            timed = clockwork.timed(function, part)
            for place, attribute in (
                [(owner, name)]
                if outer
                else [
                    (owner, name),
                    *_importers(function, owner),
                ]
            ):
                _replace(place, attribute, timed, undo)
        library = _library()
        for name in _kernel_names(library):
            _replace(library, name, clockwork.counted(getattr(library, name), name), undo)
        yield
    finally:
        for restore in reversed(undo):
            restore()


@contextmanager
def batch_timed(batch: Any, clockwork: Clockwork) -> Iterator[None]:
    """Time the methods of one batch of agents."""
    undo: list[Callable[[], None]] = []
    try:
        for path, name, part in _METHODS:
            owner = batch
            for step in filter(None, path.split(".")):
                owner = getattr(owner, step, None)
            if owner is not None and hasattr(type(owner), name):
                timed = clockwork.timed(getattr(type(owner), name), part)
                _replace(type(owner), name, timed, undo)
        yield
    finally:
        for restore in reversed(undo):
            restore()


def _importers(function: Any, owner: Any) -> list[tuple[Any, str]]:
    """Return where in the package, beside ``owner``, ``function`` is known, and as what."""
    return [
        (module, name)
        for module_name, module in list(sys.modules.items())
        if module_name.startswith("vdqn_runner") and module is not owner
        for name, value in list(vars(module).items())
        if value is function
    ]


def _library() -> Any:
    kernels = sys.modules.get("vdqn_runner.kernels")
    load = getattr(kernels, "_library", None)
    return load() if callable(load) else None


def _kernel_names(library: Any) -> list[str]:
    if library is None:
        return []
    return sorted(name for name in vars(library) if name.startswith("vr_"))


def _replace(owner: Any, name: str, value: Any, undo: list[Callable[[], None]]) -> None:
    before = getattr(owner, name)
    own = name in vars(owner)
    setattr(owner, name, value)
    undo.append(lambda: setattr(owner, name, before) if own else delattr(owner, name))
