"""Parameters, targets and Adam for S seeds: what every algorithm here has in common."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.adam import adam

from vdqn_runner import kernels
from vdqn_runner.config import OptimizerConfig
from vdqn_runner.nets import row_sums


class Learner:
    """Online rows, target rows and Adam's moments, by name: each ``[S, P]``.

    The online rows are leaves. ``descend`` takes one Adam step (Kingma and Ba, 2015) on the sum
    over seeds of their losses, which moves each seed by its own gradient alone; a compiled update
    (``algos.compiled``) does the same to the same rows.

    Attributes:
        device: Where the rows lie, in torch's words.
        updates: Steps taken so far.
        gradient_norms: Euclidean norm of each seed's last gradient, float64 [S]; nan before.
    """

    def __init__(
        self, rows: Mapping[str, Tensor], optimizer: OptimizerConfig, device: str = "cpu"
    ) -> None:
        """Start from copies of ``rows`` on ``device``."""
        self.optimizer = optimizer
        self.device = device
        rows = {name: row.to(device) for name, row in rows.items()}
        self.online = {name: row.clone().requires_grad_() for name, row in rows.items()}
        self.target = {name: row.clone() for name, row in rows.items()}
        self.moment1 = {name: torch.zeros_like(row) for name, row in rows.items()}
        self.moment2 = {name: torch.zeros_like(row) for name, row in rows.items()}
        self.updates = 0
        n_seeds = len(next(iter(rows.values())))
        self.gradient_norms = np.full(n_seeds, np.nan)

    def descend(self, loss: Tensor, lr: np.ndarray) -> None:
        """Take one step down ``loss`` [S] at learning rates ``lr`` [S]."""
        # Ones for each seed: the gradient of the sum of the losses.
        gradients = torch.autograd.grad(loss, list(self.online.values()), torch.ones_like(loss))
        self.updates += 1
        squares = np.zeros(len(lr))
        with torch.no_grad():
            for name, gradient in zip(self.online, gradients, strict=True):
                if kernels.serve(gradient):
                    self._compiled_adam(name, gradient, lr, squares)
                    continue
                squares += row_sums(gradient.square()).numpy(force=True)
                if gradient.device.type == "cpu":
                    for row, rate in enumerate(lr.tolist()):
                        self._adam(name, row, gradient[row], rate)
                else:
                    self._adam_of_all(name, gradient, lr)
        self.gradient_norms = np.sqrt(squares)

    def _compiled_adam(
        self, name: str, gradient: Tensor, lr: np.ndarray, squares: np.ndarray
    ) -> None:
        """Take the step of all seeds in the kernels; add the squares of their gradients up."""
        o = self.optimizer
        bias1, bias2 = 1.0 - o.beta1**self.updates, 1.0 - o.beta2**self.updates
        kernels.adam(
            self.online[name],
            self.moment1[name],
            self.moment2[name],
            gradient.contiguous(),
            lr,
            kernels.AdamRates(o.beta1, o.beta2, o.eps, bias1, bias2**0.5),
            squares,
        )

    def _adam_of_all(self, name: str, gradient: Tensor, lr: np.ndarray) -> None:
        """Take the step of all seeds at once, in a few kernels however many they are."""
        beta1, beta2 = self.optimizer.beta1, self.optimizer.beta2
        first = self.moment1[name].lerp_(gradient, 1.0 - beta1)
        second = self.moment2[name].mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
        step = torch.from_numpy(lr / (1.0 - beta1**self.updates)).to(gradient)
        scale = (1.0 - beta2**self.updates) ** 0.5
        denominator = second.sqrt().div_(scale).add_(self.optimizer.eps)
        self.online[name].sub_(step.unsqueeze(1) * first / denominator)

    def _adam(self, name: str, row: int, gradient: Tensor, lr: float) -> None:
        adam(
            [self.online[name][row]],
            [gradient],
            [self.moment1[name][row]],
            [self.moment2[name][row]],
            [],
            [torch.tensor(float(self.updates - 1))],
            fused=True,
            amsgrad=False,
            beta1=self.optimizer.beta1,
            beta2=self.optimizer.beta2,
            lr=lr,
            weight_decay=0.0,
            eps=self.optimizer.eps,
            maximize=False,
        )

    def copy_target(self) -> None:
        """Set the target to the online parameters (hard update)."""
        with torch.no_grad():
            for name, row in self.online.items():
                self.target[name].copy_(row)

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        index = torch.from_numpy(rows).to(self.device)
        self.online = {k: v.detach()[index].requires_grad_() for k, v in self.online.items()}
        self.target = {k: v[index] for k, v in self.target.items()}
        self.moment1 = {k: v[index] for k, v in self.moment1.items()}
        self.moment2 = {k: v[index] for k, v in self.moment2.items()}
        self.gradient_norms = self.gradient_norms[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed."""
        tensors = {
            group: {name: rows[row].detach().cpu().clone() for name, rows in named.items()}
            for group, named in self._groups().items()
        }
        norm = float(self.gradient_norms[row])
        return {**tensors, "updates": self.updates, "gradient_norm": norm}

    def load(self, states: list[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds, which have been updated equally often."""
        with torch.no_grad():
            for row, state in enumerate(states):
                for group, named in self._groups().items():
                    for name, rows in named.items():
                        rows[row].copy_(state[group][name])
                self.gradient_norms[row] = state["gradient_norm"]
        self.updates = states[0]["updates"]

    def _groups(self) -> dict[str, dict[str, Tensor]]:
        return {
            "online": self.online,
            "target": self.target,
            "moment1": self.moment1,
            "moment2": self.moment2,
        }
