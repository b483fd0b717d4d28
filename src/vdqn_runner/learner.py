"""Parameters, targets and Adam for S seeds: what every algorithm here has in common."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.config import OptimizerConfig
from vdqn_runner.passes import adam


class Learner:
    """Online rows, target rows and Adam's moments, by name: each ``[S, P]``.

    The online rows are leaves; ``descend`` takes one Adam step (Kingma and Ba, 2015) on the sum
    over seeds of their losses, which moves each seed by its own gradient alone.
    """

    def __init__(self, rows: Mapping[str, Tensor], optimizer: OptimizerConfig) -> None:
        self._optimizer = optimizer
        self.online = {name: row.clone().requires_grad_() for name, row in rows.items()}
        self.target = {name: row.clone() for name, row in rows.items()}
        self._moment1 = {name: torch.zeros_like(row) for name, row in rows.items()}
        self._moment2 = {name: torch.zeros_like(row) for name, row in rows.items()}
        self.updates = 0
        self._gradients: tuple[Tensor, ...] = ()

    def descend(self, loss: Tensor, lr: np.ndarray) -> None:
        """Take one step down ``loss`` [S] at learning rates ``lr`` [S]."""
        # Ones for each seed: the gradient of the sum of the losses.
        self._gradients = torch.autograd.grad(
            loss, list(self.online.values()), torch.ones_like(loss)
        )
        self.updates += 1
        betas = (self._optimizer.beta1, self._optimizer.beta2)
        with torch.no_grad():
            for name, gradient in zip(self.online, self._gradients, strict=True):
                adam(
                    self.online[name],
                    gradient.contiguous(),
                    self._moment1[name],
                    self._moment2[name],
                    np.ascontiguousarray(lr),
                    betas,
                    self._optimizer.eps,
                    self.updates,
                )

    def gradient_norm(self, row: int) -> float:
        """Return the Euclidean norm of a seed's last gradient, or nan before the first update."""
        if not self._gradients:
            return float("nan")
        squares = [np.square(g[row].numpy(), dtype=np.float64).sum() for g in self._gradients]
        return float(np.sqrt(sum(squares)))

    def copy_target(self) -> None:
        """Set the target to the online parameters (hard update)."""
        with torch.no_grad():
            for name, row in self.online.items():
                self.target[name].copy_(row)

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        index = torch.from_numpy(rows)
        self.online = {k: v.detach()[index].requires_grad_() for k, v in self.online.items()}
        self.target = {k: v[index] for k, v in self.target.items()}
        self._moment1 = {k: v[index] for k, v in self._moment1.items()}
        self._moment2 = {k: v[index] for k, v in self._moment2.items()}
        self._gradients = tuple(g[index] for g in self._gradients)

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed."""
        groups = self._groups()
        tensors = {
            group: {name: rows[row].detach().clone() for name, rows in named.items()}
            for group, named in groups.items()
        }
        gradient = [g[row].clone() for g in self._gradients]
        return {**tensors, "updates": self.updates, "gradient": gradient}

    def load(self, states: list[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds, which have been updated equally often."""
        with torch.no_grad():
            for row, state in enumerate(states):
                for group, named in self._groups().items():
                    for name, rows in named.items():
                        rows[row] = state[group][name]
        self.updates = states[0]["updates"]
        self._gradients = tuple(
            torch.stack(parts)
            for parts in zip(*(state["gradient"] for state in states), strict=True)
        )

    def _groups(self) -> dict[str, dict[str, Tensor]]:
        return {
            "online": self.online,
            "target": self.target,
            "moment1": self._moment1,
            "moment2": self._moment2,
        }
