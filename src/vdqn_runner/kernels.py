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
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

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

_KINDS: dict[str, Any] = {"p": ctypes.c_void_p, "l": ctypes.c_long, "d": ctypes.c_double}
_SIGNATURES = {
    "vr_normals": "ppll",
    "vr_softplus": "pppppll",
    "vr_mlp_forward": "ppppppll",
    "vr_gaussian_forward": "pppppppplll",
    "vr_mlp_backward": "pppppppll",
    "vr_gaussian_backward": "pppppppppplll",
    "vr_adam": "ppppppdddddll",
    "vr_update": "pp",
}


def available() -> bool:
    """Whether the compiled kernels are in use."""
    return _library() is not None


def serve(rows: Tensor) -> bool:
    """Whether the compiled kernels work on ``rows``: they are for the CPU's memory."""
    return rows.device.type == "cpu" and available()


def engine(device: str = "cpu") -> str:
    """Return ``compiled``, ``torch`` or a device: what decides the bits of a log."""
    if device != "cpu":
        return device
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
    library.vr_space.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
    library.vr_space.restype = ctypes.c_long
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


def softplus(rho: Tensor, mask: Tensor, variance: Tensor, slope: Tensor, log_sums: Tensor) -> None:
    """Compute what follows from rows ``rho`` [S, P], where sigma is at least 1e-30.

    Into ``variance`` its square, into ``slope`` mask * d log(sigma) / d rho, into ``log_sums``
    [S] the sums of mask * log(sigma).
    """
    _loaded().vr_softplus(
        rho.data_ptr(),
        mask.data_ptr(),
        variance.data_ptr(),
        slope.data_ptr(),
        log_sums.data_ptr(),
        *rho.shape,
    )


class Net:
    """A network's shape as the compiled code reads it, and working space for one seed."""

    def __init__(
        self, sizes: Sequence[int], weight_at: Sequence[int], bias_at: Sequence[int], length: int
    ) -> None:
        words = [len(sizes) - 1, *sizes, *weight_at, *bias_at, length]
        self._words = np.array(words, np.int64)
        self.words = self._words.ctypes.data
        self.n_out = sizes[-1]
        self._spaces: dict[tuple[int, bool], Tensor] = {}

    def space(self, batch: int, states: bool) -> int:
        """Return the address of working space for minibatches of this size."""
        key = batch, states
        if key not in self._spaces:
            # Zeros: the padding of gradient rows is never written.
            self._spaces[key] = torch.zeros(_loaded().vr_space(self.words, batch, states))
        return self._spaces[key].data_ptr()


def addresses(x: Tensor) -> tuple[int | None, int | None]:
    """Return the addresses (vectors, states) of inputs, of which one is None."""
    return (x.data_ptr(), None) if x.is_floating_point() else (None, x.data_ptr())


def mlp_forward(net: Net, rows: Tensor, x: Tensor) -> Tensor:
    """Return Q-values ``[S, B, A]`` at ``x``, float32 [S, B, in] or int32 [S, B]."""
    n_seeds, batch = x.shape[:2]
    q = torch.empty(n_seeds, batch, net.n_out)
    vectors, states = addresses(x)
    space = net.space(batch, states is not None)
    _loaded().vr_mlp_forward(
        net.words, rows.data_ptr(), vectors, states, q.data_ptr(), space, n_seeds, batch
    )
    return q


def gaussian_forward(net: Net, mu: Tensor, variance: Tensor, x: Tensor, eps: Tensor) -> Tensor:
    """Return Q-values ``[S, B, A]`` by local reparameterisation, a normal a unit in ``eps``."""
    n_seeds, batch = x.shape[:2]
    q = torch.empty(n_seeds, batch, net.n_out)
    vectors, states = addresses(x)
    _loaded().vr_gaussian_forward(
        net.words,
        mu.data_ptr(),
        variance.data_ptr(),
        vectors,
        states,
        eps.data_ptr(),
        q.data_ptr(),
        net.space(batch, states is not None),
        n_seeds,
        batch,
        eps.stride(0),
    )
    return q


def mlp_backward(net: Net, rows: Tensor, x: Tensor, slopes: Tensor) -> Tensor:
    """Return gradient rows ``[S, P]`` from the ``slopes`` [S, B, A] of a loss in the Q-values."""
    grads = torch.empty_like(rows)
    vectors, states = addresses(x)
    _loaded().vr_mlp_backward(
        net.words,
        rows.data_ptr(),
        vectors,
        states,
        slopes.data_ptr(),
        grads.data_ptr(),
        net.space(x.shape[1], states is not None),
        *x.shape[:2],
    )
    return grads


def gaussian_backward(
    net: Net, mu: Tensor, variance: Tensor, x: Tensor, eps: Tensor, slopes: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the same by local reparameterisation: for the means, and for the variances."""
    grads, grads_var = torch.empty_like(mu), torch.empty_like(mu)
    vectors, states = addresses(x)
    _loaded().vr_gaussian_backward(
        net.words,
        mu.data_ptr(),
        variance.data_ptr(),
        vectors,
        states,
        eps.data_ptr(),
        slopes.data_ptr(),
        grads.data_ptr(),
        grads_var.data_ptr(),
        net.space(x.shape[1], states is not None),
        *x.shape[:2],
        eps.stride(0),
    )
    return grads, grads_var


@dataclass(frozen=True)
class AdamRates:
    """The numbers of one Adam step: decays, eps, and the corrections of the moments' bias."""

    beta1: float
    beta2: float
    eps: float
    bias1: float
    root_bias2: float


def adam(
    rows: Tensor,
    moment1: Tensor,
    moment2: Tensor,
    grads: Tensor,
    lr: np.ndarray,
    rates: AdamRates,
    squares: np.ndarray,
) -> None:
    """Take an Adam step on ``rows`` [S, P] at rates ``lr`` [S], all in place.

    ``squares`` [S], float64, grow by the sum of each row's squared gradient.
    """
    steps = np.ascontiguousarray(lr, np.float64)
    _loaded().vr_adam(
        rows.data_ptr(),
        moment1.data_ptr(),
        moment2.data_ptr(),
        grads.data_ptr(),
        steps.ctypes.data,
        squares.ctypes.data,
        rates.beta1,
        rates.beta2,
        rates.eps,
        rates.bias1,
        rates.root_bias2,
        *rows.shape,
    )


class Update(ctypes.Structure):
    """The arguments of ``vr_update``, in the order of ``update`` in kernels.c."""

    _fields_ = [
        (name, _KINDS[kind])
        for kind, names in [
            ("p", "words"),
            ("l", "n_seeds batch sample target_sample noise second loss"),
            ("p", "x x_next states states_next action reward discount"),
            ("p", "mu row2 moment1 moment2 moment1_row2 moment2_row2 target_mu target_row2"),
            ("p", "variance slope log_sum lanes target_lanes working"),
            ("p", "weight entropy_weight lr"),
            ("d", "beta1 beta2 eps bias1 root_bias2"),
            ("p", "squares losses values norm"),
        ]
        for name in names.split()
    ]


def update(task: Update, mask: Tensor) -> None:
    """Take one gradient step of every seed, from its minibatch to its new parameters."""
    _loaded().vr_update(ctypes.addressof(task), mask.data_ptr())
