"""The compiled kernels of ``kernels.c``, built on first use.

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
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.errors import ConfigError

_log = logging.getLogger(__name__)
_SOURCE = Path(__file__).with_name("kernels.c")
_FLAGS = [
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
    *(["-mprefer-vector-width=512"] if platform.machine() in ("x86_64", "AMD64") else []),
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
    "vr_softplus": "ppppppll",
    "vr_mlp_forward": "ppppplli",
    "vr_mlp_backward": "pppppppll",
    "vr_gaussian_forward": "ppppppppllli",
    "vr_gaussian_backward": "pppppppppppplll",
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
    wanted = os.environ.get("VDQN_KERNELS", "")
    if wanted == "off":
        return None
    if wanted:
        raise ConfigError(f"VDQN_KERNELS={wanted}: must be off or not set")
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
    name = f"kernels-{key.hexdigest()[:16]}.so"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "vdqn-runner"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="vdqn-runner-"))
    library = folder / name
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / name
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


def softplus(rho: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return sigma = softplus of ``rho`` [S, P], at least 1e-30, and what follows from it.

    These are its square, mask * d log(sigma) / d rho, and ``[S]`` sums of mask * log(sigma).
    """
    sigma, variance, slope = (torch.empty_like(rho) for _ in range(3))
    log_sums = torch.empty(rho.shape[0])
    _loaded().vr_softplus(
        rho.data_ptr(),
        mask.data_ptr(),
        sigma.data_ptr(),
        variance.data_ptr(),
        slope.data_ptr(),
        log_sums.data_ptr(),
        *rho.shape,
    )
    return sigma, variance, slope, log_sums


class Net:
    """A network's shape as the compiled code reads it, and working space for it."""

    def __init__(
        self, sizes: Sequence[int], weight_at: Sequence[int], bias_at: Sequence[int], length: int
    ) -> None:
        words = [len(sizes) - 1, *sizes, *weight_at, *bias_at, length]
        self._words = np.array(words, np.int64)
        self.words = self._words.ctypes.data
        self.n_in, self.n_out = sizes[0], sizes[-1]
        padded = [-(-size // 16) * 16 for size in sizes]
        self._hidden, self._units = sum(padded[1:-1]), sum(padded[1:])
        self._widest = max(padded)
        self._scratch = self._unsaved = torch.empty(0)

    def saved_by_mlp(self, batch: int) -> int:
        """Floats that one seed's forward pass saves."""
        return batch * self._hidden

    def saved_by_gaussian(self, batch: int) -> int:
        """Floats that one seed's forward pass of a Gaussian network saves."""
        return batch * (self.n_in + 2 * self._hidden + self._units)

    def space(self, batch: int) -> tuple[int, int]:
        """Return two addresses of working space for one seed: for a pass, and to save into."""
        count = 4 * batch * self._widest + self._widest**2
        if self._scratch.numel() < count:
            self._scratch = torch.empty(count)
            self._unsaved = torch.empty(self.saved_by_gaussian(batch))
        return self._scratch.data_ptr(), self._unsaved.data_ptr()


def mlp_forward(net: Net, rows: Tensor, x: Tensor, keep: bool) -> tuple[Tensor, Tensor | None]:
    """Return Q-values ``[S, B, A]`` and, to ``keep``, what the backward pass needs."""
    n_seeds, batch, _ = x.shape
    q = torch.empty(n_seeds, batch, net.n_out)
    saved = torch.empty(n_seeds, net.saved_by_mlp(batch)) if keep else None
    _loaded().vr_mlp_forward(
        net.words,
        rows.data_ptr(),
        x.data_ptr(),
        net.space(batch)[1] if saved is None else saved.data_ptr(),
        q.data_ptr(),
        n_seeds,
        batch,
        keep,
    )
    return q, saved


def mlp_backward(net: Net, rows: Tensor, x: Tensor, saved: Tensor, grad_q: Tensor) -> Tensor:
    """Return the gradient rows ``[S, P]``."""
    n_seeds, batch, _ = x.shape
    grad = torch.empty_like(rows)
    _loaded().vr_mlp_backward(
        net.words,
        rows.data_ptr(),
        x.data_ptr(),
        saved.data_ptr(),
        grad_q.data_ptr(),
        grad.data_ptr(),
        net.space(batch)[0],
        n_seeds,
        batch,
    )
    return grad


def gaussian_forward(
    net: Net, mu: Tensor, variance: Tensor, x: Tensor, eps: Tensor, keep: bool
) -> tuple[Tensor, Tensor | None]:
    """Return Q-values ``[S, B, A]`` and, to ``keep``, what the backward pass needs."""
    n_seeds, batch, _ = x.shape
    q = torch.empty(n_seeds, batch, net.n_out)
    saved = torch.empty(n_seeds, net.saved_by_gaussian(batch)) if keep else None
    scratch, unsaved = net.space(batch)
    _loaded().vr_gaussian_forward(
        net.words,
        mu.data_ptr(),
        variance.data_ptr(),
        x.data_ptr(),
        eps.data_ptr(),
        unsaved if saved is None else saved.data_ptr(),
        q.data_ptr(),
        scratch,
        n_seeds,
        batch,
        eps.stride(0),
        keep,
    )
    return q, saved


def gaussian_backward(
    net: Net,
    mu: Tensor,
    variance: Tensor,
    x: Tensor,
    eps: Tensor,
    saved: Tensor,
    grad_q: Tensor,
    of_entropy: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, Tensor]:
    """Return the gradient rows ``[S, P]`` with respect to mu and to the variances.

    ``of_entropy`` = (grad_entropy, slope) asks for rho in place of the variances.
    """
    n_seeds, batch, _ = x.shape
    grad_mu, grad_second = torch.empty_like(mu), torch.empty_like(mu)
    further = [0, 0] if of_entropy is None else [tensor.data_ptr() for tensor in of_entropy]
    _loaded().vr_gaussian_backward(
        net.words,
        mu.data_ptr(),
        variance.data_ptr(),
        x.data_ptr(),
        eps.data_ptr(),
        saved.data_ptr(),
        grad_q.data_ptr(),
        *further,
        grad_mu.data_ptr(),
        grad_second.data_ptr(),
        net.space(batch)[0],
        n_seeds,
        batch,
        eps.stride(0),
    )
    return grad_mu, grad_second


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
