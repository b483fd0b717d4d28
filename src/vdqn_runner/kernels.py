"""The compiled pointwise kernels of ``kernels.c``, built on first use.

They need a C compiler (``cc``, or what ``CC`` names) once; the library is kept in the user's
cache folder, by a hash of the source, the compiler and the processor's features. Without a
compiler, or with ``VDQN_KERNELS=off``, the torch forms are used, which give the same numbers
within rounding but not the same bits: ``engine`` names which of the two is in use.
"""

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

_log = logging.getLogger(__name__)
_SOURCE = Path(__file__).with_name("kernels.c")
_FLAGS = [
    "-O3",
    "-march=native",
    "-mprefer-vector-width=512",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
]

_KINDS = {
    "p": ctypes.c_void_p,
    "l": ctypes.c_long,
    "i": ctypes.c_int,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
}
_SIGNATURES = {
    "vr_normals": "ppll",
    "vr_softplus": "ppl",
    "vr_softplus_backward": "pppl",
    "vr_log_sum": "pppll",
    "vr_log_sum_backward": "ppppll",
    "vr_gaussian_layer": "ppppllli",
    "vr_gaussian_variance": "pppplll",
    "vr_gaussian_input": "pppl",
    "vr_adam": "pppppllfffdd",
}


def available() -> bool:
    """Whether the compiled kernels are in use."""
    return _library() is not None


def engine() -> str:
    """Return ``compiled`` or ``torch``: which form of the kernels decides the bits of a log."""
    return "compiled" if available() else "torch"


@cache
def _library() -> ctypes.CDLL | None:
    if os.environ.get("VDQN_KERNELS", "").lower() == "off":
        return None
    try:
        library = ctypes.CDLL(str(_built()))
    except (OSError, subprocess.SubprocessError) as error:
        _log.warning("no compiled kernels (%s); training is slower", error)
        return None
    for name, kinds in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = [_KINDS[kind] for kind in kinds]
        function.restype = None
    return library


def _loaded() -> ctypes.CDLL:
    library = _library()
    assert library is not None, "callers ask available() first"
    return library


def _built() -> Path:
    """Return the compiled library, compiling it if it is not in the cache."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    version = subprocess.run(
        [*compiler, "--version"], capture_output=True, check=True, timeout=60
    ).stdout
    key = hashlib.sha256()
    for part in (_SOURCE.read_bytes(), version, " ".join(_FLAGS).encode(), _processor()):
        key.update(hashlib.sha256(part).digest())
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "vdqn-runner"
    library = folder / f"kernels-{key.hexdigest()[:16]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / library.name
            subprocess.run(
                [*compiler, *_FLAGS, "-o", str(made), str(_SOURCE), "-lm"],
                capture_output=True,
                check=True,
                timeout=120,
            )
            # Several processes may build at once: each puts a complete file in place.
            os.replace(made, library)
    return library


def _processor() -> bytes:
    """Return what tells processors apart whose ``-march=native`` differs."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return (platform.machine() + platform.processor()).encode()
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return (platform.machine() + features).encode()


def normals(lanes: np.ndarray, count: int) -> Tensor:
    """Return ``[S, count]`` normals and advance ``lanes`` [S, LANES, 4]; count: whole 64s."""
    out = torch.empty(len(lanes), count)
    _loaded().vr_normals(lanes.ctypes.data, out.data_ptr(), len(lanes), count)
    return out


def softplus(rho: Tensor) -> Tensor:
    """Return softplus of contiguous ``rho``, at least 1e-30."""
    out = torch.empty_like(rho)
    _loaded().vr_softplus(rho.data_ptr(), out.data_ptr(), rho.numel())
    return out


def softplus_backward(grad: Tensor, rho: Tensor) -> Tensor:
    """Return grad * sigmoid(rho) of contiguous tensors."""
    out = torch.empty_like(rho)
    _loaded().vr_softplus_backward(grad.data_ptr(), rho.data_ptr(), out.data_ptr(), rho.numel())
    return out


def log_sum(sigma: Tensor, mask: Tensor) -> Tensor:
    """Return ``[S]``: the sum of mask * log(sigma) over each row of ``sigma`` [S, P]."""
    out = torch.empty(len(sigma))
    _loaded().vr_log_sum(sigma.data_ptr(), mask.data_ptr(), out.data_ptr(), *sigma.shape)
    return out


def log_sum_backward(grad: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
    """Return ``[S, P]``: grad [S] * mask [P] / sigma [S, P]."""
    out = torch.empty_like(sigma)
    _loaded().vr_log_sum_backward(
        grad.data_ptr(), sigma.data_ptr(), mask.data_ptr(), out.data_ptr(), *sigma.shape
    )
    return out


def gaussian_layer(mean: Tensor, variance: Tensor, eps: Tensor, relu: bool) -> Tensor:
    """Turn ``mean`` into the layer's output and ``variance`` into its std, in place.

    All are ``[S, B, out]``; ``eps`` may have a longer stride between seeds. Returns the output's
    square where there is a ReLU (a hidden layer), else an empty tensor.
    """
    square = torch.empty_like(mean) if relu else torch.empty(0)
    n_seeds = mean.shape[0]
    _loaded().vr_gaussian_layer(
        mean.data_ptr(),
        variance.data_ptr(),
        eps.data_ptr(),
        square.data_ptr(),
        n_seeds,
        mean.numel() // n_seeds,
        eps.stride(0),
        relu,
    )
    return square


def gaussian_variance(grad: Tensor, eps: Tensor, std: Tensor) -> Tensor:
    """Return grad * eps / (2 std), all ``[S, B, out]``."""
    out = torch.empty_like(grad)
    n_seeds = grad.shape[0]
    _loaded().vr_gaussian_variance(
        grad.data_ptr(),
        eps.data_ptr(),
        std.data_ptr(),
        out.data_ptr(),
        n_seeds,
        grad.numel() // n_seeds,
        eps.stride(0),
    )
    return out


def gaussian_input(grad: Tensor, through: Tensor, h: Tensor) -> None:
    """Add 2 h through to ``grad`` in place and keep it where the ReLU's output h is above 0."""
    _loaded().vr_gaussian_input(grad.data_ptr(), through.data_ptr(), h.data_ptr(), grad.numel())


def adam(
    rows: Tensor,
    gradient: Tensor,
    moment1: Tensor,
    moment2: Tensor,
    lr: np.ndarray,
    betas: tuple[float, float],
    eps: float,
    step: int,
) -> None:
    """Take Adam step number ``step`` (from 1) on ``rows`` [S, P] at rates ``lr`` [S] float64."""
    _loaded().vr_adam(
        rows.data_ptr(),
        gradient.data_ptr(),
        moment1.data_ptr(),
        moment2.data_ptr(),
        lr.ctypes.data,
        *rows.shape,
        *betas,
        eps,
        1.0 - betas[0] ** step,
        (1.0 - betas[1] ** step) ** 0.5,
    )
