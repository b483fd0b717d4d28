"""What a compiled kernel that does a whole update at once spends its time on.

No timer can stand between the parts of a compiled function, so the program counter is sampled
(``sampler.c``) and looked up with ``addr2line``, functions that were inlined included. It needs
a C compiler and binutils; the kernels are built for it with debug information and frame pointers
(``ENVIRONMENT``), in a cache of their own. Where that cannot be had, the time stays in one part.
"""

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

ENVIRONMENT = {"CC": "cc -g -fno-omit-frame-pointer"}
_DEPTH = 8
_TICK = 1_000  # microseconds

# By the functions of a stack, whichever matches first.
_RULES = (
    ("normal|noise|drawn", "noise"),
    ("descend|adam|softplus|sigma", "Adam + sigma"),
    ("target", "forward target"),
    ("backward|gradient|slope|transposed", "backward"),
    ("forward|hidden|values|layer", "forward online"),
)

Stack = tuple[str, ...]


def part_of(stack: Stack) -> str:
    """Return the part that a stack of function names, inner ones first, belongs to."""
    for pattern, part in _RULES:
        if any(re.search(pattern, name) for name in stack):
            return part
    return "fused update"


def sample(work: Callable[[], object]) -> Counter[Stack] | None:
    """Return how often each stack of kernel functions was met during ``work``.

    None where this machine lacks what is needed.
    """
    library = _kernels_file()
    if library is None or shutil.which("addr2line") is None or shutil.which("cc") is None:
        return None
    low, high = _mapping(library)
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "sampler.so"
        source = Path(__file__).with_name("sampler.c")
        line = ["cc", "-O2", "-shared", "-fPIC", "-o", str(built), str(source)]
        if subprocess.run(line, capture_output=True).returncode:
            return None
        sampler = ctypes.CDLL(str(built))
    sampler.sampler_start(ctypes.c_size_t(low), ctypes.c_size_t(high), ctypes.c_long(_TICK))
    try:
        work()
    finally:
        ticks, out = ctypes.c_long(), ctypes.POINTER(ctypes.c_size_t)()
        sampler.sampler_stop.restype = ctypes.c_long
        taken = sampler.sampler_stop(ctypes.byref(ticks), ctypes.byref(out))
    stacks = [tuple(at for at in out[i * _DEPTH : (i + 1) * _DEPTH] if at) for i in range(taken)]
    names = _names(library, sorted({at for stack in stacks for at in stack}))
    return Counter(tuple(name for at in stack for name in names.get(at, ())) for stack in stacks)


def _mapped() -> list[tuple[str, str]]:
    """Return what is mapped into this process: addresses and file of each span."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    # A process that builds the same kernels at the same time puts its file in the place of ours,
    # which is then marked; addresses are alike in both.
    fields = [line.removesuffix(" (deleted)").split(maxsplit=5) for line in lines]
    return [(field[0], field[5]) for field in fields if len(field) == 6]


def _kernels_file() -> Path | None:
    """Return the file of the kernels that are loaded."""
    return next((Path(file) for _, file in _mapped() if "/kernels-" in file), None)


def _mapping(library: Path) -> tuple[int, int]:
    """Return the addresses between which a library lies."""
    spans = [
        [int(end, 16) for end in span.split("-")]
        for span, file in _mapped()
        if file == str(library)
    ]
    return min(low for low, _ in spans), max(high for _, high in spans)


def _names(library: Path, addresses: Sequence[int]) -> dict[int, Stack]:
    """Return, by address in the library, the functions there: inlined ones, then their callers."""
    if not addresses:
        return {}
    done = subprocess.run(
        ["addr2line", "-a", "-f", "-i", "-e", str(library)],
        input="\n".join(map(hex, addresses)),
        capture_output=True,
        text=True,
    )
    names: dict[int, list[str]] = {}
    function = True
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            found = names.setdefault(int(line, 16), [])
            function = True
        elif function:
            found.append(line)
            function = False
        else:
            function = True
    return {at: tuple(found) for at, found in names.items()}
