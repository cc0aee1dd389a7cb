"""The interface between a mixture and its emissions, and shared parts for real numbers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import Block, Blocks, CSRRows
from sidelight.exceptions import DataError
from sidelight.models._centers import as_matrix

Floats = NDArray[np.float64]

Rows = NDArray[Any] | CSRRows
Statistics = tuple[Floats, ...]  # sums over rows; the first is the mass of each component
Posterior = tuple[Any, ...]  # arrays, one entry per component along the first axis


class Emission(ABC):
    """Distribution of rows in a component of a `BayesianMixture`; subclass it to write your own.

    T components, blocks of n rows. Memberships and densities lie component by component, in arrays
    of shape (T, n). An instance belongs to one fit, never changes, and has to pickle.

    Attributes
    ----------
    prior : named tuple of arrays
        The prior of every component, in the form of a posterior.
    takes_sparse : bool
        Whether rows may come as `sidelight.blocks.CSRRows`; by default only as arrays.

    Notes
    -----
    Required are `of`, `statistics`, `posterior`, `log_density` and `divergence_between`; the others
    have a default. Statistics are sums over rows, to which the prior is added as if it were more
    rows: that is what makes blocks, streams and batches work with every emission.

    Examples
    --------
    >>> from sidelight.models import Emission
    >>> sorted(Emission.__abstractmethods__)
    ['divergence_between', 'log_density', 'posterior', 'statistics']
    """

    prior: Any
    takes_sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, rows: Blocks, prior: Any, n_components: int) -> Self:
        """The emission for these data; ``prior`` is the user's, None by default."""
        raise NotImplementedError(f"{cls.__name__} has to have a classmethod `of`.")

    @abstractmethod
    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Sums over the rows of a block, weighted by memberships phi; first phi.sum(axis=1)."""

    @abstractmethod
    def posterior(self, statistics: Statistics) -> Posterior:
        """The posterior of every component: a named tuple of arrays, T entries each."""

    @abstractmethod
    def log_density(self, X: Rows, posterior: Any) -> Floats:
        """E log p(x | theta_k) for every component and row, (T, n)."""

    @abstractmethod
    def divergence_between(self, q: Any, p: Any) -> Floats:
        """KL(q_k || p_k) of two posteriors, (T,)."""

    def parameters(self, posterior: Any) -> dict[str, Any]:
        """Attributes for users, by name (without the underscore), one entry per component."""
        return posterior._asdict()

    def coordinates(self, X: Rows) -> Any:
        """Rows as K-means, for the start, measures distances: an array or a CSR array.

        On a scale on which rows of one cluster differ by about 1; by default X as it is.
        """
        return X

    def with_centers(self, centers: Floats) -> Self:
        """The same, where the prior depends on the centres that a run starts from.

        They are in the space of `coordinates`; by default the prior does not depend on them.
        """
        return self

    def for_stream(self) -> Self:
        """The same for rows that come in batches, where later ones may lie elsewhere.

        By default the prior is that of the first batch.
        """
        return self

    def unreadable(self, X: Rows) -> NDArray[np.bool_]:
        """Which rows of a block cannot be read, though all are finite numbers; by default none."""
        return np.zeros(n_rows(X), dtype=bool)

    def complaint(self, X: Rows) -> str:
        """What is wrong with one unreadable row, and what to do about it."""
        return f"{type(self).__name__} cannot read it"

    def divergence(self, posterior: Any) -> Floats:
        """KL(posterior_k || prior_k), (T,)."""
        return self.divergence_between(posterior, self.prior)

    def symmetric_divergence(self, posterior: Any) -> Floats:
        """KL(posterior_k || posterior_l) + KL(posterior_l || posterior_k), (T, T)."""
        one_way = []
        for k in range(len(posterior[0])):
            same = type(posterior)(*(np.broadcast_to(a[k], a.shape) for a in posterior))
            one_way.append(self.divergence_between(same, posterior))
        both = np.array(one_way) + np.transpose(one_way)
        np.fill_diagonal(both, 0.0)
        return both


def n_rows(X: Rows) -> int:
    """The number of rows in a block."""
    return len(X.indptr) - 1 if isinstance(X, CSRRows) else len(X)


def check_sparse(rows: Blocks, kind: type[Emission]) -> None:
    """Refuse sparse rows for an emission that takes only dense ones."""
    if not kind.takes_sparse and isinstance(rows.block(0).X, CSRRows):
        raise DataError(
            f"X is sparse, and {kind.__name__} takes dense rows; give X.toarray(), or choose "
            'emission="multinomial" or "poisson", which take sparse counts as they are.'
        )


def of_components(posterior: Any, which: NDArray[np.int64]) -> Any:
    """The posterior of some components; a mixed one is a tuple of posteriors."""
    parts = [of_components(a, which) if isinstance(a, tuple) else a[which] for a in posterior]
    return type(posterior)(*parts) if hasattr(posterior, "_fields") else tuple(parts)


class Spread(NamedTuple):
    """Mean and variance of the columns that vary, and which they are.

    A constant column carries no information about clusters. If kept, it would favour large ones:
    the more rows a component has, the surer it is of a spread that is zero in all of them.
    """

    columns: NDArray[np.int64]
    mean: Floats
    variance: Floats
    all_means: Floats

    @classmethod
    def of(cls, rows: Blocks) -> "Spread":
        """Two passes, so that no digits are lost far from the origin."""
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

    def scaled(self, X: Rows, scale: Floats) -> Any:
        """The columns that vary, each times its scale; sparse rows stay sparse."""
        if isinstance(X, CSRRows):
            matrix = as_matrix(X, len(self.all_means)).astype(np.float64)[:, self.columns]
            return sparse.csr_array(matrix @ sparse.diags_array(scale))
        return self.select(np.asarray(X, dtype=np.float64)) * scale


@dataclass(frozen=True)
class OfSpread(Emission):
    """What emissions of real numbers share: constant columns, and a prior with means."""

    spread: Spread
    prior: Any
    published: bool
    takes_sparse = True

    def with_centers(self, centers: Floats) -> Self:
        """The published prior expects each component where it starts; others stay as they are."""
        if not self.published:
            return self
        mean = self.prior.mean.copy()
        mean[: len(centers)] = centers - self.spread.mean
        return replace(self, prior=self.prior._replace(mean=mean))

    def coordinates(self, X: Rows) -> Any:
        """In standard deviations; the published start knows no scale."""
        scale = np.ones_like(self.spread.mean) if self.published else self.spread.variance**-0.5
        return self.spread.scaled(X, scale)


def dense_parts(X: Rows, n_features: int) -> Iterator[tuple[slice, Floats]]:
    """A block in double precision; sparse rows a few at a time, never more than 16 MB."""
    if not isinstance(X, CSRRows):
        yield slice(0, len(X)), np.asarray(X, dtype=np.float64)
        return
    matrix = as_matrix(X, n_features)
    step = max(1, 2**21 // max(n_features, 1))
    for start in range(0, matrix.shape[0], step):
        part = slice(start, min(start + step, matrix.shape[0]))
        yield part, matrix[part].toarray().astype(np.float64, copy=False)


def read_prior(prior: Any, allowed: tuple[str, ...]) -> dict[str, Any]:
    """The user's prior as a dict with only allowed names."""
    if prior is None:
        return {}
    if not isinstance(prior, Mapping) or not set(prior) <= set(allowed):
        given = sorted(map(str, prior)) if isinstance(prior, Mapping) else repr(prior)
        raise DataError(
            f"prior is {given}; give None, or a dict with some of {list(allowed)}. "
            '"published" is for Gaussian emissions only.'
        )
    return dict(prior)


def read_number(value: Any, name: str, above: float) -> float:
    """A finite number above a limit."""
    number = float(value) if np.ndim(value) == 0 else np.nan
    if not (np.isfinite(number) and number > above):
        raise DataError(f"prior[{name!r}] is {value!r}; give a number above {above:g}.")
    return number


def read_numbers(value: Any, name: str, n_features: int) -> Floats:
    """A positive number for each feature, given as one number for all or one each."""
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (n_features,)) or not (np.isfinite(given) & (given > 0)).all():
        raise DataError(
            f"prior[{name!r}] has shape {given.shape}; give a number above 0, or {n_features} of "
            "them, one for each feature."
        )
    return np.broadcast_to(given, (n_features,))


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
