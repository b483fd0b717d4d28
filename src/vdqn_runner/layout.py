"""Where an MLP's parameters lie inside one flat row per seed."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vdqn_runner.config import AlgoConfig
from vdqn_runner.envs.spec import EnvSpec
from vdqn_runner.kernels import Net

_BLOCK = 16
_ROW = 64


def _padded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


@dataclass(frozen=True)
class Layer:
    """Views of a layer's parameters inside rows: weight ``[S, in, out]``, bias ``[S, 1, out]``."""

    weight: Tensor
    bias: Tensor


class Layout:
    """Where the weights and biases of an MLP lie inside a flat row.

    ``sizes`` are the layer widths, inputs and outputs included: ``[obs, 100, 100, A]``. ``net``
    is the same for the compiled kernels; ``mask`` [P] is 1 where a parameter lies, else 0. What
    the outputs mean is said by ``values``.

    Every row starts and every block lies on a multiple of 16 floats, and rows are a multiple of
    64 floats long: whole vectors, so that a number is treated alike whatever lies beside it. A
    weight's block is followed by a bias's, so that a vector may be read past a weight's last
    column.
    """

    def __init__(
        self, sizes: Sequence[int], device: str = "cpu", *, heads: int = 1, dueling: bool = False
    ) -> None:
        """Lay out a network of ``heads`` times ``sizes[-1]`` Q-values.

        Args:
            sizes: Widths of the layers; the last one is A, the number of actions.
            device: Where ``mask`` is to lie.
            heads: How many sets of A values the last layer gives.
            dueling: Whether a head is a state's value and A advantages (see ``values``).
        """
        self.n_actions, self.heads, self.dueling = sizes[-1], heads, dueling
        self.sizes = (*sizes[:-1], heads * (sizes[-1] + dueling))
        self.weight_at: list[int] = []
        self.bias_at: list[int] = []
        end = 0
        for n_in, n_out in self.shapes:
            self.weight_at.append(end)
            end += _padded(n_in * n_out, _BLOCK)
            self.bias_at.append(end)
            end += _padded(n_out, _BLOCK)
        self.length = _padded(end, _ROW)
        starts = [at for pair in zip(self.weight_at, self.bias_at, strict=True) for at in pair]
        self._blocks = [b - a for a, b in zip(starts, [*starts[1:], self.length], strict=True)]
        self.net = Net(self.sizes, self.weight_at, self.bias_at, self.length)
        self.mask = self._mask().to(device)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each layer."""
        return list(zip(self.sizes[:-1], self.sizes[1:], strict=True))

    @property
    def n_parameters(self) -> int:
        """How many parameters one seed has, padding not counted."""
        return sum(n_in * n_out + n_out for n_in, n_out in self.shapes)

    @property
    def n_units(self) -> int:
        """How many pre-activations one forward pass has: the hidden units and the outputs."""
        return sum(self.sizes[1:])

    def values(self, outputs: Tensor) -> Tensor:
        """Return Q-values ``[..., heads * A]`` from the last layer's outputs.

        Of a dueling head they are Q_a = V + D_a - mean_b D_b (Wang et al. 2016, eq. 9), from
        outputs V, D_1 .. D_A; of any other they are the outputs.
        """
        if not self.dueling:
            return outputs
        each = outputs.reshape(*outputs.shape[:-1], self.heads, 1 + self.n_actions)
        value, advantage = each[..., :1], each[..., 1:]
        q = value + advantage - advantage.mean(dim=-1, keepdim=True)
        return q.flatten(-2)

    def layers(self, rows: Tensor) -> list[Layer]:
        """Return views of ``rows`` [S, P], one ``Layer`` for each layer; differentiable."""
        blocks = torch.split(rows, self._blocks, dim=1)
        views = []
        for i, (n_in, n_out) in enumerate(self.shapes):
            weight = blocks[2 * i][:, : n_in * n_out].view(len(rows), n_in, n_out)
            bias = blocks[2 * i + 1][:, :n_out].unsqueeze(1)
            views.append(Layer(weight, bias))
        return views

    def named(self, row: Tensor) -> dict[str, Tensor]:
        """Return copies of one seed's parameters by name, padding left out.

        ``layer1.weight`` [in, out], ``layer1.bias`` [out] and so on, from ``row`` [P].
        """
        parameters = {}
        for number, layer in enumerate(self.layers(row.detach().cpu().reshape(1, -1)), start=1):
            parameters[f"layer{number}.weight"] = layer.weight[0].clone()
            parameters[f"layer{number}.bias"] = layer.bias[0, 0].clone()
        return parameters

    def split_units(self, draws: Tensor, batch: int) -> list[Tensor]:
        """Cut ``draws`` [S, >= batch * n_units] into one ``[S, batch, out]`` for each layer."""
        parts = []
        at = 0
        for n_out in self.sizes[1:]:
            part = draws[:, at : at + batch * n_out]
            parts.append(part.view(len(draws), batch, n_out))
            at += batch * n_out
        return parts

    def _mask(self) -> Tensor:
        mask = torch.zeros(1, self.length)
        for layer in self.layers(mask):
            layer.weight.fill_(1.0)
            layer.bias.fill_(1.0)
        return mask[0]


def q_layout(algo: AlgoConfig, spec: EnvSpec, device: str = "cpu") -> Layout:
    """Return the layout of an algorithm's Q-network on an environment."""
    sizes = [spec.obs_dim, *algo.network.hidden, spec.n_actions]
    return Layout(sizes, device, heads=algo.n_heads, dueling=algo.network.dueling)
