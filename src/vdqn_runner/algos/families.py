"""Families of distributions q_phi over the weights of a Q-network, for variational inference.

Shapes: S seeds, P parameters of a seed's row, r the rank of a covariance. ``rows`` are a learner's
parameters phi by name, ``[S, P]`` each. Entropies and log densities leave out what does not depend
on phi; of one family they leave out the same.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from vdqn_runner import nets
from vdqn_runner.algos.noise import Sampling
from vdqn_runner.config import VariationalConfig
from vdqn_runner.layout import Layout
from vdqn_runner.nets import (
    entropy,
    gaussian_mlp,
    gaussian_rows,
    mlp_values,
    row_sums,
    sigma_of,
    uniform_rows,
)

Rows = Mapping[str, Tensor]


class Family(Sampling[Rows], Protocol):
    """What a distribution q_phi is to its algorithm; ``rows["mu"]`` is its mean."""

    layout: Layout

    def first_rows(self, seeds: Sequence[int], sigma_init: float) -> dict[str, Tensor]:
        """Return the rows to start from; ``sigma_init`` is every weight's standard deviation."""

    def sample(self, rows: Rows, draws: Tensor) -> Tensor:
        """Return theta ~ q_phi, ``[S, P]``, from normals ``draws`` [S, >= count]; differentiable.

        The reparameterisation: theta is a function of phi and of noise that phi does not know.
        """

    def variance(self, rows: Rows) -> Tensor:
        """Return the variance of every weight, ``[S, P]``."""

    def entropy(self, rows: Rows) -> Tensor:
        """Return H(q_phi) ``[S]``."""

    def log_densities(self, rows: Rows, thetas: Sequence[Tensor]) -> list[Tensor]:
        """Return log q_phi(theta) ``[S]`` of each theta, ``[S, P]``."""


class MeanFieldGaussian:
    """N(mu, sigma^2) on every weight, sigma = softplus(rho): the paper's family."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def first_rows(self, seeds: Sequence[int], sigma_init: float) -> dict[str, Tensor]:  # noqa: D102
        return gaussian_rows(self.layout, seeds, sigma_init)

    def count(self, layout: Layout) -> int:  # noqa: D102
        return layout.length

    def sample(self, rows: Rows, draws: Tensor) -> Tensor:  # noqa: D102
        return rows["mu"] + sigma_of(rows["rho"]) * draws[:, : self.layout.length]

    def theta(self, law: Rows, row: int, draws: Tensor) -> Tensor:  # noqa: D102
        return self.sample(_of_row(law, row), draws)[0]

    def count_of_step(self, layout: Layout) -> int:  # noqa: D102
        return layout.n_units

    def q_of_step(self, law: Rows, obs: Tensor, draws: Tensor) -> Tensor:  # noqa: D102
        # One observation a sample: local reparameterisation has the law of writing theta out.
        with torch.no_grad():
            return gaussian_mlp(law["mu"], self.variance(law), self.layout, obs, draws)

    def variance(self, rows: Rows) -> Tensor:  # noqa: D102
        return sigma_of(rows["rho"]).square()

    def entropy(self, rows: Rows) -> Tensor:
        """The sum of log sigma_i (n / 2 log(2 pi e) left out)."""
        return entropy(sigma_of(rows["rho"]), self.layout)

    def log_densities(self, rows: Rows, thetas: Sequence[Tensor]) -> list[Tensor]:
        """- sum_i ((theta_i - mu_i) / sigma_i)^2 / 2 - sum_i log sigma_i."""
        scale, h = self.layout.mask / sigma_of(rows["rho"]), self.entropy(rows)
        forms = [row_sums(((theta - rows["mu"]) * scale).square()) for theta in thetas]
        return [(-0.5 * form).to(torch.float32) - h for form in forms]


class MeanFieldLaplace:
    """Laplace(mu, b) on every weight, b = softplus(rho): density exp(-|theta - mu| / b) / 2b."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def first_rows(self, seeds: Sequence[int], sigma_init: float) -> dict[str, Tensor]:  # noqa: D102
        # The variance is 2 b^2.
        return gaussian_rows(self.layout, seeds, sigma_init * 0.5**0.5)

    def count(self, layout: Layout) -> int:  # noqa: D102
        return layout.length

    def sample(self, rows: Rows, draws: Tensor) -> Tensor:  # noqa: D102
        return rows["mu"] + sigma_of(rows["rho"]) * laplace(draws[:, : self.layout.length])

    def theta(self, law: Rows, row: int, draws: Tensor) -> Tensor:  # noqa: D102
        return self.sample(_of_row(law, row), draws)[0]

    def count_of_step(self, layout: Layout) -> int:  # noqa: D102
        return layout.length

    def q_of_step(self, law: Rows, obs: Tensor, draws: Tensor) -> Tensor:  # noqa: D102
        # A sum of Laplace numbers is not one itself, so there is no shorter way.
        return mlp_values(self.sample(law, draws), self.layout, obs)

    def variance(self, rows: Rows) -> Tensor:  # noqa: D102
        return 2.0 * sigma_of(rows["rho"]).square()

    def entropy(self, rows: Rows) -> Tensor:
        """The sum of log b_i (n log(2 e) left out)."""
        return entropy(sigma_of(rows["rho"]), self.layout)

    def log_densities(self, rows: Rows, thetas: Sequence[Tensor]) -> list[Tensor]:
        """- sum_i |theta_i - mu_i| / b_i - sum_i log b_i."""
        scale, h = self.layout.mask / sigma_of(rows["rho"]), self.entropy(rows)
        distances = [row_sums(((theta - rows["mu"]) * scale).abs()) for theta in thetas]
        return [-distance.to(torch.float32) - h for distance in distances]


class LowRankGaussian:
    """N(mu, D + U U^T), D = diag(sigma^2), sigma = softplus(rho): rows mu, rho and u1 to ur.

    The family of Ong, Nott and Smith (2018). theta = mu + sigma * eps + U z with eps and z
    standard normal, so given z it is the mean-field Gaussian N(mu + U z, D).
    """

    def __init__(self, layout: Layout, rank: int) -> None:
        self.layout, self._rank = layout, rank

    def first_rows(self, seeds: Sequence[int], sigma_init: float) -> dict[str, Tensor]:
        """Half of every weight's variance is sigma^2, the other half U's, with random signs."""
        half = sigma_init * 0.5**0.5
        rows = gaussian_rows(self.layout, seeds, half)
        for k, name in enumerate(self._factors, start=1):
            # The k-th column's signs come from a stream of their own, (seed, INIT, k).
            signs = uniform_rows(self.layout, seeds, lambda _: 1.0, lambda _: 1.0, index=k).sign()
            rows[name] = signs * (half / self._rank**0.5)
        return rows

    @property
    def _factors(self) -> list[str]:
        """The names of U's columns."""
        return [f"u{k}" for k in range(1, self._rank + 1)]

    def count(self, layout: Layout) -> int:  # noqa: D102
        return layout.length + self._rank

    def sample(self, rows: Rows, draws: Tensor) -> Tensor:  # noqa: D102
        eps, z = draws[:, : self.layout.length], draws[:, self.layout.length :]
        return self._shifted(rows, z) + sigma_of(rows["rho"]) * eps

    def theta(self, law: Rows, row: int, draws: Tensor) -> Tensor:  # noqa: D102
        return self.sample(_of_row(law, row), draws)[0]

    def count_of_step(self, layout: Layout) -> int:  # noqa: D102
        return layout.n_units + self._rank

    def q_of_step(self, law: Rows, obs: Tensor, draws: Tensor) -> Tensor:  # noqa: D102
        with torch.no_grad():
            mean = self._shifted(law, draws[:, self.layout.n_units :])
            sigma = sigma_of(law["rho"])
            return gaussian_mlp(mean, sigma.square(), self.layout, obs, draws)

    def variance(self, rows: Rows) -> Tensor:  # noqa: D102
        total = sigma_of(rows["rho"]).square()
        for name in self._factors:
            total = total + rows[name].square()
        return total

    def entropy(self, rows: Rows) -> Tensor:
        """The sum of log sigma_i + 1/2 log det(I + U^T D^-1 U) (n / 2 log(2 pi e) left out).

        That is 1/2 log det(D + U U^T) by the matrix determinant lemma.
        """
        return self._entropy(rows, self._root(self._columns(rows)))

    def log_densities(self, rows: Rows, thetas: Sequence[Tensor]) -> list[Tensor]:
        """-1/2 (theta - mu)^T (D + U U^T)^-1 (theta - mu) - 1/2 log det(D + U U^T).

        With x = D^-1/2 (theta - mu), V = D^-1/2 U and L L^T = I + V^T V, the quadratic form is
        |x|^2 - |L^-1 V^T x|^2 (Woodbury's identity).
        """
        scale, columns = self._scale(rows), self._columns(rows)
        root = self._root(columns)
        h = self._entropy(rows, root)
        found = []
        for theta in thetas:
            x = (theta - rows["mu"]) * scale
            products = torch.stack([row_sums(column * x) for column in columns], dim=1)
            explained = torch.linalg.solve_triangular(root, products.unsqueeze(2), upper=False)
            # Entry by entry, here and in ``_entropy``: no sum whose order S might change.
            form = row_sums(x.square())
            for k in range(self._rank):
                form = form - explained[:, k, 0].square()
            found.append((-0.5 * form).to(torch.float32) - h)
        return found

    def _shifted(self, rows: Rows, z: Tensor) -> Tensor:
        """Mu + U z, ``[S, P]``, for ``z`` [S, >= r]."""
        mean = rows["mu"]
        for k, name in enumerate(self._factors):
            mean = mean + rows[name] * z[:, k : k + 1]
        return mean

    def _scale(self, rows: Rows) -> Tensor:
        """1 / sigma, 0 at padding, ``[S, P]``; float64, since its square may be large."""
        return self.layout.mask.double() / sigma_of(rows["rho"]).double()

    def _columns(self, rows: Rows) -> list[Tensor]:
        """The columns of V = D^-1/2 U, float64 ``[S, P]``."""
        scale = self._scale(rows)
        return [rows[name] * scale for name in self._factors]

    def _root(self, columns: Sequence[Tensor]) -> Tensor:
        """The Cholesky factor L of I + V^T V, float64 ``[S, r, r]``."""
        n_seeds, rank = len(columns[0]), self._rank
        above = {
            (i, j): row_sums(columns[i] * columns[j]) for i in range(rank) for j in range(i, rank)
        }
        products = [above[min(i, j), max(i, j)] for i in range(rank) for j in range(rank)]
        gram = torch.stack(products, dim=1).view(n_seeds, rank, rank)
        eye = torch.eye(rank, dtype=gram.dtype, device=gram.device)
        # One seed's numbers that are not finite are not to end the others: no exception.
        root: Tensor = torch.linalg.cholesky_ex(gram + eye).L
        return root

    def _entropy(self, rows: Rows, root: Tensor) -> Tensor:
        half_log_det = root[:, 0, 0].log()
        for k in range(1, self._rank):
            half_log_det = half_log_det + root[:, k, k].log()
        return entropy(sigma_of(rows["rho"]), self.layout) + half_log_det.to(torch.float32)


class PointMass:
    """All probability at mu: what is then looked for is the posterior's mode (MAP).

    It starts where DQN does: "Recover DQN" in the paper's appendix.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def first_rows(self, seeds: Sequence[int], sigma_init: float) -> dict[str, Tensor]:  # noqa: D102
        return {"mu": uniform_rows(self.layout, seeds, lambda n: n**-0.5, lambda n: n**-0.5)}

    def count(self, layout: Layout) -> int:  # noqa: D102
        return 0

    def sample(self, rows: Rows, draws: Tensor) -> Tensor:  # noqa: D102
        return rows["mu"]

    def theta(self, law: Rows, row: int, draws: Tensor) -> Tensor:  # noqa: D102
        return law["mu"][row]

    def count_of_step(self, layout: Layout) -> int:  # noqa: D102
        return 0

    def q_of_step(self, law: Rows, obs: Tensor, draws: Tensor) -> Tensor:  # noqa: D102
        return mlp_values(law["mu"], self.layout, obs)

    def variance(self, rows: Rows) -> Tensor:  # noqa: D102
        return torch.zeros_like(rows["mu"])

    def entropy(self, rows: Rows) -> Tensor:
        """0: it is minus infinity whatever mu is, and so the constant that is left out."""
        return torch.zeros(len(rows["mu"]), device=rows["mu"].device)

    def log_densities(self, rows: Rows, thetas: Sequence[Tensor]) -> list[Tensor]:
        """There are none, and settings that would need it are refused."""
        raise NotImplementedError


def make_family(config: VariationalConfig, layout: Layout) -> Family:
    """Return the family that ``config.family`` names."""
    match config.family:
        case "gaussian":
            return MeanFieldGaussian(layout)
        case "laplace":
            return MeanFieldLaplace(layout)
        case "low_rank":
            return LowRankGaussian(layout, config.rank)
        case "point":
            return PointMass(layout)


def laplace(normals: Tensor) -> Tensor:
    """Turn standard normals into numbers of Laplace(0, 1), one each, of the same signs.

    |x| of either has the survival function erfc(|x| / sqrt 2) or exp(-|x|): equal chances meet.
    """
    survival: Tensor = torch.special.erfc(normals.abs() * 0.5**0.5)
    return -survival.log() * normals.sign()


def second_moment(family: Family, rows: Rows) -> Tensor:
    """Return E |theta|^2 ``[S]`` under q_phi."""
    moment = nets.second_moment(rows["mu"], family.variance(rows), family.layout)
    return moment.to(torch.float32)


def _of_row(rows: Rows, row: int) -> Rows:
    return {name: values[row : row + 1] for name, values in rows.items()}
