"""The seam between a mixture and its emissions, and what emissions of real numbers share."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import Block, Blocks, CSRRows
from sidelight.exceptions import DataError

Floats = NDArray[np.float64]

Rows = NDArray[Any] | CSRRows
Statistics = tuple[Floats, ...]  # sums over rows; the first is the mass of each component
Posterior = tuple[Floats, ...]  # one entry per component along the first axis


class Emission(Protocol):
    """What a mixture asks of an emission. T components, blocks of n rows.

    Memberships and densities lie component by component, in arrays of shape (T, n).
    """

    @classmethod
    def of(cls, rows: Blocks, prior: Any, n_components: int) -> "Emission":
        """The emission for these data; ``prior`` is the user's: None, "published", or a dict."""

    def with_centers(self, centers: Floats) -> "Emission":
        """The same, where the prior depends on the centres (T, d) that a run starts from."""

    def metric(self) -> Floats:
        """Per feature the scale on which K-means, for the start, measures distances (0: none)."""

    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Sums over the rows of a block, weighted by their memberships phi."""

    def posterior(self, statistics: Statistics) -> Posterior:
        """The posterior of every component."""

    def log_density(self, X: Rows, posterior: Posterior) -> Floats:
        """E log p(x | theta_k) for every component and row, (T, n)."""

    def divergence(self, posterior: Posterior) -> Floats:
        """KL(posterior_k || prior_k), (T,)."""

    def symmetric_divergence(self, posterior: Posterior) -> Floats:
        """KL(posterior_k || posterior_l) + KL(posterior_l || posterior_k), (T, T)."""

    def parameters(self, posterior: Posterior) -> dict[str, Floats]:
        """What users see, by attribute name (without the underscore), one entry per component."""


class Spread(NamedTuple):
    """Mean and variance of the columns that vary, and which they are.

    A constant column says nothing about clusters. Left in, it would favour large ones: the more
    rows a component has, the surer it is of a spread that is zero in all of them.
    """

    columns: NDArray[np.int64]
    mean: Floats
    variance: Floats
    all_means: Floats

    @classmethod
    def of(cls, rows: Blocks) -> "Spread":
        """Two passes, so that nothing is lost far from the origin."""
        n = rows.n_samples

        def sums(block: Block, _: None) -> tuple[Floats]:
            parts = dense_parts(block.X, rows.n_features)
            return (sum((X.sum(axis=0) for _, X in parts), np.zeros(rows.n_features)),)

        def squares(block: Block, mean: Floats) -> tuple[Floats]:
            parts = dense_parts(block.X, rows.n_features)
            zero = np.zeros(rows.n_features)
            return (sum((((X - mean) ** 2).sum(axis=0) for _, X in parts), zero),)

        mean = rows.sum(sums, None)[0] / n
        variance = rows.sum(squares, mean)[0] / n
        # Rounding alone gives a constant column a variance of (1e-16 mean)².
        columns = np.flatnonzero(variance > 1e-24 * mean**2)
        return cls(columns, mean[columns], variance[columns], mean)

    def select(self, X: Floats) -> Floats:
        """The columns that vary, C-ordered."""
        if len(self.columns) == len(self.all_means):
            return X
        return np.ascontiguousarray(X[:, self.columns])


def dense_parts(X: Rows, n_features: int) -> Iterator[tuple[slice, Floats]]:
    """A block in double precision; sparse rows a few at a time, never more than 16 MB."""
    if not isinstance(X, CSRRows):
        yield slice(0, len(X)), np.asarray(X, dtype=np.float64)
        return
    matrix = sparse.csr_array(tuple(X), shape=(len(X.indptr) - 1, n_features))
    step = max(1, 2**21 // max(n_features, 1))
    for start in range(0, matrix.shape[0], step):
        part = slice(start, min(start + step, matrix.shape[0]))
        yield part, matrix[part].toarray().astype(np.float64, copy=False)


def both_ways(q: Any, divergence: Callable[[Any, Any], Floats]) -> Floats:
    """KL in both directions, of every pair of components of q (a named tuple of arrays)."""
    one_way = []
    for k in range(len(q[0])):
        same = type(q)(*(np.broadcast_to(a[k], a.shape) for a in q))
        one_way.append(divergence(same, q))
    both = np.array(one_way) + np.transpose(one_way)
    np.fill_diagonal(both, 0.0)
    return both


def read_prior(prior: Any, allowed: tuple[str, ...]) -> dict[str, Any]:
    """The user's prior as a dict that has allowed names alone."""
    if prior is None:
        return {}
    if not isinstance(prior, Mapping) or not set(prior) <= set(allowed):
        given = sorted(map(str, prior)) if isinstance(prior, Mapping) else prior
        raise DataError(
            f'prior is {given}; give None, "published", or a dict with some of {list(allowed)}.'
        )
    return dict(prior)


def read_number(value: Any, name: str, above: float) -> float:
    """A finite number above a limit."""
    number = float(value) if np.ndim(value) == 0 else np.nan
    if not (np.isfinite(number) and number > above):
        raise DataError(f"prior[{name!r}] is {value!r}; give a number above {above:g}.")
    return number


def read_mean(value: Any, spread: Spread) -> Floats:
    """The prior mean, in the columns that vary and counted from the mean of the data."""
    if value is None:
        return np.zeros(len(spread.columns))
    given = np.asarray(value, dtype=np.float64)
    if given.shape != spread.all_means.shape or not np.isfinite(given).all():
        raise DataError(
            f"prior['mean'] has shape {given.shape}; give one finite number for each of the "
            f"{len(spread.all_means)} features."
        )
    mean: Floats = given[spread.columns] - spread.mean
    return mean
