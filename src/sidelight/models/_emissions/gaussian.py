"""Gaussians with full covariances; prior and posterior are Normal-Wishart.

    mu | Lambda ~ N(m, (kappa Lambda)^-1)      Lambda ~ W(L, nu)

Here C is the Cholesky factor of L^-1, so that log |L| = -2 sum log C_ii; L itself is never formed.
Rows are counted from the mean of the data, which keeps the digits of the second moments.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from sidelight._kernels import bayesian_mixture as kernels
from sidelight.blocks import Block, Blocks
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

# What a cluster's covariance is expected to be, as a factor of the columns' variances. Chosen by
# mean accuracy over eight data sets (iris, wine, glass, ecoli, breast, thyroid, yeast, optdigits;
# 2 or 3 draws, 5 nats per label), the same that our tables show: with 0, 20 and 50 % labels .65,
# .68 and .84 for 1; .66, .73 and .85 for 1/2; .62, .70 and .80 for 1/4. Digits and iris decide it;
# on most of the others 1 is as good or better (breast .81 against .66 at 20 %).
COVARIANCE = 0.5


class NormalWishart(NamedTuple):
    """T of them: kappa and nu (T,), m (T, d), C (T, d, d), and whiten = C^-1."""

    kappa: Floats
    nu: Floats
    mean: Floats
    factor: Floats
    whiten: Floats

    @classmethod
    def of(cls, kappa: Floats, nu: Floats, mean: Floats, scatter: Floats) -> "NormalWishart":
        """From L^-1, here called scatter."""
        try:
            factor = np.asarray(np.linalg.cholesky(scatter), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise DataError(
                "a component's covariance is singular to working precision; scale the columns of "
                "X to similar ranges, or raise prior['covariance']."
            ) from None
        whiten = np.zeros_like(factor)
        kernels.invert_lower(factor, whiten)
        return cls(kappa, nu, mean, factor, whiten)

    @property
    def log_det(self) -> Floats:
        """The log determinant of L."""
        return -2.0 * np.log(np.diagonal(self.factor, axis1=1, axis2=2)).sum(axis=1)

    @property
    def digammas(self) -> Floats:
        """sum_i psi((nu + 1 - i) / 2)."""
        return digamma(0.5 * self._halves).sum(axis=1)

    @property
    def log_gammas(self) -> Floats:
        """sum_i log Gamma((nu + 1 - i) / 2)."""
        return gammaln(0.5 * self._halves).sum(axis=1)

    @property
    def _halves(self) -> Floats:
        return self.nu[:, None] - np.arange(self.mean.shape[1])


@dataclass(frozen=True)
class Gaussian(OfSpread):
    """The emission "gaussian"; the prior has one mean for all components, or one each."""

    prior: NormalWishart
    is_factor: bool = False  # whether the prior's covariance is a factor of the data's

    @classmethod
    def of(cls, rows: Blocks, prior: Any, n_components: int) -> Self:
        """With m = mean, kappa = 1, nu = d, L^-1 = nu S / 2, each a key of ``prior``.

        S is the covariance of the data, shrunk to its diagonal (`_shrunken`).
        Published: L = I, and m is the centre that the component starts from.
        """
        spread = Spread.of(rows)
        d = len(spread.columns)
        published = prior == "published"
        allowed = ("mean", "mean_precision", "degrees_of_freedom", "covariance")
        given = read_prior(None if published else prior, allowed)
        kappa = read_number(given.get("mean_precision", 1.0), "mean_precision", 0.0)
        nu = read_number(given.get("degrees_of_freedom", max(d, 1)), "degrees_of_freedom", d - 1.0)
        covariance = given.get("covariance", COVARIANCE)
        scatter = np.eye(d) if published else nu * _covariance(covariance, rows, spread)
        full = np.ones(n_components)
        mean = np.tile(read_mean(given.get("mean"), spread), (n_components, 1))
        stacked = np.broadcast_to(scatter, (n_components, d, d))
        expected = NormalWishart.of(kappa * full, nu * full, mean, stacked)
        return cls(spread, expected, published, not published and np.ndim(covariance) == 0)

    def for_stream(self) -> Self:
        """Without correlations: a cluster that comes later may lie where the first batch is narrow.

        With them, streams whose clusters come one after the other end with an ARI of .67 to .99
        instead of .81 to .99 (8 draws of four blobs, of which the first batch has three).
        """
        if not self.is_factor:
            return self
        scatter = self.prior.factor @ self.prior.factor.transpose(0, 2, 1)
        kappa, nu, mean = self.prior[:3]
        only = scatter * np.eye(scatter.shape[1])
        return replace(self, prior=NormalWishart.of(kappa, nu, mean, only))

    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Masses (T,), sums (T, d) and second moments (T, d, d)."""
        n_components, d = self.prior.mean.shape
        sums = np.zeros((n_components, d))
        squares = np.zeros((n_components, d, d))
        for part, dense in dense_parts(X, len(self.spread.all_means)):
            rows = self.spread.select(dense)
            weighted = np.empty_like(rows)
            for k in range(n_components):
                mine = np.ascontiguousarray(phi[k, part])
                count = kernels.gather(rows, self.spread.mean, mine, weighted, sums[k])
                squares[k] += weighted[:count].T @ weighted[:count]
        return phi.sum(axis=1), sums, squares

    def posterior(self, statistics: Statistics) -> Posterior:
        """Normal-Wishart; nu grows by the mass alone (the printed + 1 would lower the bound)."""
        mass, sums, squares = statistics
        prior = self.prior
        kappa = prior.kappa + mass
        weighted = prior.kappa[:, None] * prior.mean
        mean = (weighted + sums) / kappa[:, None]
        scatter = prior.factor @ prior.factor.transpose(0, 2, 1) + squares
        scatter += weighted[:, :, None] * prior.mean[:, None, :]
        scatter -= kappa[:, None, None] * mean[:, :, None] * mean[:, None, :]
        return NormalWishart.of(kappa, prior.nu + mass, mean, scatter)

    def log_density(self, X: Rows, posterior: NormalWishart) -> Floats:
        """(E log |Lambda| - d log 2 pi - d / kappa - nu |C^-1 (x - m)|²) / 2."""
        q = posterior
        n_components, d = q.mean.shape
        constant = 0.5 * (q.digammas + d * np.log(2.0) + q.log_det)
        constant -= 0.5 * d * (np.log(2.0 * np.pi) + 1.0 / q.kappa)
        padded = np.zeros((n_components, d, d + -d % 4))
        padded[:, :, :d] = np.sqrt(q.nu)[:, None, None] * q.whiten
        offset = np.einsum("kij,kj->ki", padded[:, :, :d], q.mean)
        tile = np.zeros((d + -d % 4, kernels.TILE))
        parts = []
        for _, dense in dense_parts(X, len(self.spread.all_means)):
            rows = self.spread.select(dense)
            out = np.empty((n_components, len(rows)))
            kernels.log_density_full(rows, self.spread.mean, padded, offset, constant, out, tile)
            parts.append(out)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def divergence_between(self, q: NormalWishart, p: NormalWishart) -> Floats:
        """KL(q || p) of each pair: of the Wisharts, and of the means given the precision.

        The printed formula lacks two halves and the kappa in its mean part (Monte Carlo).
        """
        d = q.mean.shape[1]
        log_ratio = q.log_det - p.log_det
        trace = ((q.whiten @ p.factor) ** 2).sum(axis=(1, 2))
        wishart = -0.5 * p.nu * log_ratio + 0.5 * q.nu * (trace - d)
        wishart += p.log_gammas - q.log_gammas + 0.5 * (q.nu - p.nu) * q.digammas
        ratio = p.kappa / q.kappa
        step = np.einsum("kij,kj->ki", q.whiten, q.mean - p.mean)
        mean = d * (ratio - 1.0 - np.log(ratio)) + p.kappa * q.nu * (step**2).sum(axis=1)
        total: Floats = wishart + 0.5 * mean
        return total

    def parameters(self, posterior: NormalWishart) -> dict[str, Floats]:
        """Expected means, and covariances L^-1 / nu; constant columns have covariance 0."""
        q = posterior
        columns, n_all = self.spread.columns, len(self.spread.all_means)
        means = np.tile(self.spread.all_means, (len(q.nu), 1))
        means[:, columns] = q.mean + self.spread.mean
        covariances = np.zeros((len(q.nu), n_all, n_all))
        inside = q.factor @ q.factor.transpose(0, 2, 1) / q.nu[:, None, None]
        covariances[:, columns[:, None], columns] = inside
        return {"means": means, "covariances": covariances}


def _covariance(value: Any, rows: Blocks, spread: Spread) -> Floats:
    """The expected covariance: a factor of that of the data, variances, or a matrix."""
    given = np.asarray(value, dtype=np.float64)
    if given.ndim == 0:
        return read_number(value, "covariance", 0.0) * _shrunken(rows, spread)
    n_all = len(spread.all_means)
    matrix = np.diag(given) if given.shape == (n_all,) else given
    if matrix.shape != (n_all, n_all) or not np.allclose(matrix, matrix.T):
        raise DataError(
            f"prior['covariance'] has shape {given.shape}; give a factor of the data's "
            f"covariance, {n_all} variances, or a symmetric matrix of {n_all} x {n_all}."
        )
    inside: Floats = matrix[np.ix_(spread.columns, spread.columns)]
    if len(inside) and np.linalg.eigvalsh(inside)[0] <= 0:
        raise DataError("prior['covariance'] is not positive definite.")
    return inside


def _shrunken(rows: Blocks, spread: Spread) -> Floats:
    """The covariance of the columns that vary, shrunk to its diagonal by d / (n + d).

    Half of the variances alone is far too wide where columns go together: clusters are then
    expected to be wide in directions in which all rows together are narrow.
    """
    n, d = rows.n_samples, len(spread.columns)

    def products(block: Block, _: None) -> tuple[Floats]:
        total = np.zeros((d, d))
        for part in dense_parts(block.X, rows.n_features):
            centred = spread.select(part[1]) - spread.mean
            total += centred.T @ centred
        return (total,)

    sums: Floats = rows.sum(products, None)[0]
    sums[np.diag_indices(d)] *= (n + d) / n
    return sums / (n + d)
