"""Gaussians with diagonal covariances; prior and posterior are Normal-Gamma, column by column.

    mu_j | tau_j ~ N(m_j, 1 / (kappa tau_j))      tau_j ~ Gamma(nu / 2, rate = b_j / 2)

With nu and b this is the Normal-Wishart of one column: b is L^-1. Time grows with n T d.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from sidelight._kernels import bayesian_mixture as kernels
from sidelight.blocks import Blocks
from sidelight.exceptions import DataError
from sidelight.models._emissions.emission import (
    OfSpread,
    Posterior,
    Rows,
    Spread,
    Statistics,
    dense_parts,
    read_mean,
    read_number,
    read_prior,
)

Floats = NDArray[np.float64]


class NormalGamma(NamedTuple):
    """T of them: kappa and nu (T,), m and b (T, d)."""

    kappa: Floats
    nu: Floats
    mean: Floats
    scatter: Floats


@dataclass(frozen=True)
class GaussianDiag(OfSpread):
    """The emission "gaussian_diag"; see `Gaussian`, of which this is the case of one column."""

    prior: NormalGamma

    @classmethod
    def of(cls, rows: Blocks, prior: Any, n_components: int) -> Self:
        """With m = mean, kappa = 1, nu = 1, b = nu variance, each a key of ``prior``.

        Published: b = 1, and m is the centre that the component starts from.
        """
        spread = Spread.of(rows)
        published = prior == "published"
        allowed = ("mean", "mean_precision", "degrees_of_freedom", "covariance")
        given = read_prior(None if published else prior, allowed)
        kappa = read_number(given.get("mean_precision", 1.0), "mean_precision", 0.0)
        nu = read_number(given.get("degrees_of_freedom", 1.0), "degrees_of_freedom", 0.0)
        if published:
            scatter = np.ones(len(spread.columns))
        else:
            scatter = nu * _variances(given.get("covariance", 1.0), spread)
        full = np.ones(n_components)
        mean = np.tile(read_mean(given.get("mean"), spread), (n_components, 1))
        stacked = np.tile(scatter, (n_components, 1))
        return cls(spread, NormalGamma(kappa * full, nu * full, mean, stacked), published)

    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Masses (T,), sums and sums of squares (T, d)."""
        sums, squares = np.zeros_like(self.prior.mean), np.zeros_like(self.prior.mean)
        for part, dense in dense_parts(X, len(self.spread.all_means)):
            rows = self.spread.select(dense)
            mine = np.ascontiguousarray(phi[:, part])
            kernels.moments_diag(rows, self.spread.mean, mine, sums, squares)
        return phi.sum(axis=1), sums, squares

    def posterior(self, statistics: Statistics) -> Posterior:
        """Normal-Gamma."""
        mass, sums, squares = statistics
        prior = self.prior
        kappa = prior.kappa + mass
        weighted = prior.kappa[:, None] * prior.mean
        mean = (weighted + sums) / kappa[:, None]
        moved = weighted * prior.mean - kappa[:, None] * mean**2
        scatter = prior.scatter + np.maximum(squares + moved, 0.0)
        return NormalGamma(kappa, prior.nu + mass, mean, scatter)

    def log_density(self, X: Rows, posterior: NormalGamma) -> Floats:
        """Sum over columns of (E log tau - log 2 pi - 1 / kappa - nu / b (x - m)²) / 2."""
        q = posterior
        d = q.mean.shape[1]
        constant = 0.5 * (d * digamma(0.5 * q.nu) - np.log(0.5 * q.scatter).sum(axis=1))
        constant -= 0.5 * d * (np.log(2.0 * np.pi) + 1.0 / q.kappa)
        precision = q.nu[:, None] / q.scatter
        tile = np.zeros((d, kernels.TILE))
        parts = []
        for _, dense in dense_parts(X, len(self.spread.all_means)):
            rows = self.spread.select(dense)
            out = np.empty((len(q.nu), len(rows)))
            kernels.log_density_diag(rows, self.spread.mean, q.mean, precision, constant, out, tile)
            parts.append(out)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def divergence_between(self, q: NormalGamma, p: NormalGamma) -> Floats:
        """KL(q || p): of the Gammas, and of the means given the precision."""
        d = q.mean.shape[1]
        a, a0 = 0.5 * q.nu, 0.5 * p.nu
        log_ratio = np.log(q.scatter / p.scatter).sum(axis=1)
        gammas = d * ((a - a0) * digamma(a) - gammaln(a) + gammaln(a0)) + a0 * log_ratio
        gammas += a * (p.scatter / q.scatter - 1.0).sum(axis=1)
        ratio = p.kappa / q.kappa
        mean = d * (ratio - 1.0 - np.log(ratio))
        mean += p.kappa * q.nu * ((q.mean - p.mean) ** 2 / q.scatter).sum(axis=1)
        total: Floats = gammas + 0.5 * mean
        return total

    def parameters(self, posterior: NormalGamma) -> dict[str, Floats]:
        """Expected means, and variances b / nu; constant columns have variance 0."""
        q = posterior
        columns = self.spread.columns
        means = np.tile(self.spread.all_means, (len(q.nu), 1))
        means[:, columns] = q.mean + self.spread.mean
        variances = np.zeros_like(means)
        variances[:, columns] = q.scatter / q.nu[:, None]
        return {"means": means, "covariances": variances}


def _variances(value: Any, spread: Spread) -> Floats:
    """The expected variances: a factor of the columns' variances, or one number each."""
    given = np.asarray(value, dtype=np.float64)
    if given.ndim == 0:
        return read_number(value, "covariance", 0.0) * spread.variance
    if given.shape != spread.all_means.shape or not (given > 0).all():
        raise DataError(
            f"prior['covariance'] has shape {given.shape}; give a factor of the columns' "
            f"variances, or {len(spread.all_means)} variances above zero."
        )
    inside: Floats = given[spread.columns]
    return inside
