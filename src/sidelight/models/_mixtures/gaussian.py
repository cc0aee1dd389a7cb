"""Gaussians at their likeliest parameters, with a floor under their covariances.

    Sigma_k = (S_k + nu Psi) / (N_k + nu)       S_k: scatter about the mean; N_k: rows

maximises the log-likelihood plus  sum_k -nu/2 (log |Sigma_k| + tr(Psi Sigma_k^-1)), the mode of an
inverse Wishart prior: a likelihood alone has no maximum, since a component on one row may shrink to
it. The floor counts as nu rows. Psi is fixed for the whole fit, from the scatter inside the
clusters of the first start; nu is given, or the one that is best for rows that are left out
(`_mixtures.floor`), and then components that begin at a class have a nu and a Psi each.

Columns are measured in their standard deviations, spherical ones in one for all; a constant column
says nothing and is left out. Sparse rows (diagonal and spherical) are not shifted, so that a pass
takes the time of the numbers that are there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import bayesian_mixture as kernels
from sidelight.blocks import Blocks, CSRRows
from sidelight.exceptions import DataError
from sidelight.models._emissions.emission import Rows, Spread, dense_parts
from sidelight.models._mixtures.floor import Floor, floor_of, own_floors

Floats = NDArray[np.float64]
Statistics = tuple[Floats, ...]

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")


class Components(NamedTuple):
    """T Gaussians in the coordinates of the emission.

    ``whiten`` is the inverse of the lower Cholesky factor (T, d, d), or precisions (T, d); so is
    ``covariance``, (T, d, d) or (T, d).
    """

    mean: Floats
    covariance: Floats
    whiten: Floats
    log_det: Floats


@dataclass(frozen=True)
class Gaussians:
    """The emission of mixtures with labels and groups; see `_em` for what the loop asks of it.

    ``shift`` and ``scale`` lead to its coordinates: z = (x - shift) / scale, in ``columns``.
    """

    covariance_type: str
    columns: NDArray[np.int64]
    shift: Floats
    scale: Floats
    means_of_all: Floats
    keeps_sparse: bool = False
    floor: Floor | None = None

    @classmethod
    def of(cls, rows: Blocks, covariance_type: str) -> Self:
        """Without a floor yet; see `with_floor`."""
        # Sparse rows stay as they are where variances are enough, and their digits allow it.
        as_it_is = isinstance(rows.block(0).X, CSRRows) and covariance_type in ("diag", "spherical")
        spread = Spread.of(rows)
        as_it_is = as_it_is and bool((spread.mean**2 <= 1e4 * spread.variance).all())
        deviation = np.sqrt(spread.variance)
        if covariance_type == "spherical":
            deviation[:] = np.sqrt(spread.variance.sum() / max(len(deviation), 1))
        shift = np.zeros_like(spread.mean) if as_it_is else spread.mean
        return cls(covariance_type, spread.columns, shift, deviation, spread.all_means, as_it_is)

    def with_floor(
        self, Z: Any, labels: NDArray[Any], strength: float | str, n_own: int, n_clusters: int
    ) -> Self:
        """The same with the floor that the clusters of a first start suggest.

        The first ``n_own`` components are the same in every start, and may have one of their own.
        """
        if strength == "auto" and self.covariance_type == "full":
            return replace(self, floor=own_floors(Z, labels, n_own, n_clusters))
        return replace(self, floor=floor_of(self.covariance_type, Z, labels, strength))

    @property
    def is_matrix(self) -> bool:
        """Whether covariances are matrices, and not variances of columns."""
        return self.covariance_type in ("full", "tied")

    def coordinates(self, X: Rows) -> Any:
        """Rows as the emission sees them; sparse ones stay sparse where variances are enough."""
        if isinstance(X, CSRRows) and self.keeps_sparse:
            spread = Spread(self.columns, self.shift, self.scale, self.means_of_all)
            return spread.scaled(X, 1.0 / self.scale)
        return np.vstack([Z for _, Z in self._parts(X)])

    def _parts(self, X: Rows) -> Iterator[tuple[slice, Floats]]:
        """Dense coordinates, of sparse rows a few at a time."""
        spread = Spread(self.columns, self.shift, self.scale, self.means_of_all)
        for part, dense in dense_parts(X, len(self.means_of_all)):
            inside = spread.select(dense) - self.shift
            inside /= self.scale
            yield part, np.ascontiguousarray(inside)

    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Masses (T,), sums (T, d) and squares: (T, d, d), (1, d, d) if tied, else (T, d)."""
        mass, d = phi.sum(axis=1), len(self.columns)
        if not self.is_matrix:
            Z = self.coordinates(X)
            if sparse.issparse(Z):
                return mass, phi @ Z, phi @ Z.power(2)
            sums, squares = np.zeros((len(phi), d)), np.zeros((len(phi), d))
            kernels.moments_diag(Z, np.zeros(d), phi, sums, squares)
            return mass, sums, squares
        is_tied = self.covariance_type == "tied"
        weights = phi.sum(axis=0)[None] if is_tied else phi
        sums, squares = np.zeros((len(phi), d)), np.zeros((len(weights), d, d))
        own = np.zeros(d)
        for part, Z in self._parts(X):
            weighted = np.empty_like(Z)
            for k in range(len(weights)):
                mine = np.ascontiguousarray(weights[k, part])
                into = own if is_tied else sums[k]
                count = kernels.gather(Z, np.zeros(d), mine, weighted, into)
                squares[k] += weighted[:count].T @ weighted[:count]
            if is_tied:
                sums += phi[:, part] @ Z
        return mass, sums, squares

    def components(self, statistics: Statistics) -> Components:
        """The best Gaussians for given memberships."""
        assert self.floor is not None
        mass = statistics[0]
        mean, scatter = scatters(self.covariance_type, statistics)
        d = mean.shape[1]
        strength, target = self.floor
        counted = mass if self.covariance_type != "tied" else mass.sum(keepdims=True)
        # Without rows and without a floor a covariance is anything.
        rows = np.maximum(counted + strength, 1e-300)
        if self.covariance_type == "spherical":
            # No column may vary.
            scatter = np.repeat(scatter.sum(axis=1, keepdims=True) / max(d, 1), d, axis=1)
        shape = (-1,) + (1,) * (scatter.ndim - 1)
        drawn = np.reshape(strength, shape) * target if np.ndim(strength) else strength * target
        covariance = (scatter + drawn) / rows.reshape(shape)
        whiten, log_det = self.whitened(covariance)
        pivots = np.diagonal(whiten, axis1=1, axis2=2) ** 2 if self.is_matrix else whiten
        # Only rounding is left, of squares of the size of 1.
        if np.max(strength) == 0.0 and pivots.max(initial=0.0) > 1e15:
            raise DataError(_SINGULAR)
        full = (len(mass), *covariance.shape[1:])
        return Components(
            mean,
            np.broadcast_to(covariance, full),
            np.broadcast_to(whiten, full),
            np.broadcast_to(log_det, mass.shape),
        )

    def whitened(self, covariance: Floats) -> tuple[Floats, Floats]:
        """Inverse Cholesky factors (or precisions) and log determinants."""
        if not self.is_matrix:
            if (covariance <= 0.0).any() or not np.isfinite(covariance).all():
                raise DataError(_SINGULAR)
            return 1.0 / covariance, np.log(covariance).sum(axis=1)
        try:
            factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise DataError(_SINGULAR) from None
        whiten = np.zeros_like(factor)
        kernels.invert_lower(factor, whiten)
        return whiten, 2.0 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)

    def log_density(self, X: Rows, components: Components) -> Floats:
        """Log N(x; mean_k, covariance_k), (T, n), over the columns that vary."""
        n_components, d = components.mean.shape
        constant = -0.5 * (components.log_det + d * np.log(2.0 * np.pi))
        constant = constant - np.log(self.scale).sum()
        nowhere = np.zeros(d)
        if not self.is_matrix:
            Z = self.coordinates(X)
            if sparse.issparse(Z):
                weighted = components.whiten * components.mean
                constant = constant - 0.5 * (weighted * components.mean).sum(axis=1)
                scores = Z @ weighted.T - 0.5 * (Z.power(2) @ components.whiten.T)
                return np.ascontiguousarray(scores.T + constant[:, None])
            out = np.empty((n_components, len(Z)))
            precision = np.ascontiguousarray(components.whiten)
            tile = np.zeros((d, kernels.TILE))
            kernels.log_density_diag(Z, nowhere, components.mean, precision, constant, out, tile)
            return out
        padded = np.zeros((n_components, d, d + -d % 4))
        padded[:, :, :d] = components.whiten
        offset = np.einsum("kij,kj->ki", components.whiten, components.mean)
        tile = np.zeros((d + -d % 4, kernels.TILE))
        parts = []
        for _, Z in self._parts(X):
            out = np.empty((n_components, len(Z)))
            kernels.log_density_full(Z, nowhere, padded, offset, constant, out, tile)
            parts.append(out)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def log_prior(self, components: Components) -> float:
        """sum_k -nu/2 (log |Sigma_k| + tr(Psi Sigma_k^-1)); one term where all share a matrix."""
        assert self.floor is not None
        strength, scale = self.floor
        n = 1 if self.covariance_type == "tied" else len(components.mean)
        whiten = components.whiten[:n]
        if self.is_matrix:
            trace = ((whiten @ scale) * whiten).sum(axis=(1, 2))
        else:
            trace = (whiten * scale).sum(axis=1)
        return float(-0.5 * (strength * (components.log_det[:n] + trace)).sum())

    def n_parameters(self, n_clusters: int) -> int:
        """Number of parameters of a mixture, weights included."""
        d = len(self.columns)
        of_covariance = {
            "full": n_clusters * d * (d + 1) // 2,
            "tied": d * (d + 1) // 2,
            "diag": n_clusters * d,
            "spherical": n_clusters,
        }[self.covariance_type]
        return n_clusters - 1 + n_clusters * d + of_covariance

    def parameters(self, components: Components) -> tuple[Floats, Floats]:
        """Means, and covariances in scikit-learn's shapes; constant columns have variance 0."""
        n, n_all = len(components.mean), len(self.means_of_all)
        means = np.tile(self.means_of_all, (n, 1))
        means[:, self.columns] = self.shift + self.scale * components.mean
        if self.is_matrix:
            covariances = np.zeros((n, n_all, n_all))
            scaled = components.covariance * self.scale[:, None] * self.scale
            covariances[:, self.columns[:, None], self.columns] = scaled
            return means, covariances[0] if self.covariance_type == "tied" else covariances
        variances = np.zeros((n, n_all))
        variances[:, self.columns] = components.covariance * self.scale**2
        if self.covariance_type == "spherical":
            return means, variances.max(axis=1)
        return means, variances


_SINGULAR = (
    "a cluster's covariance is singular: it has fewer rows than columns, or columns that follow "
    "from each other. Give variance_prior above 0, or covariance_type 'diag' or 'tied'."
)


def scatters(covariance_type: str, statistics: Statistics) -> tuple[Floats, Floats]:
    """Means (T, d), and squares about them: (T, d, d), (1, d, d) if tied, else (T, d)."""
    mass, sums, squares = statistics
    mean = sums / np.maximum(mass, 1e-300)[:, None]
    if covariance_type == "full":
        return mean, squares - mass[:, None, None] * mean[:, :, None] * mean[:, None, :]
    if covariance_type == "tied":
        return mean, squares - np.einsum("k,ki,kj->ij", mass, mean, mean)[None]
    return mean, np.maximum(squares - mass[:, None] * mean**2, 0.0)
