"""Categories, each column with probabilities of its own per component; a Dirichlet per column.

    x_j | theta_j ~ Categorical(theta_j)      theta_j ~ Dirichlet(a_j)

A category is a number, and its size means nothing. All categories of all columns stand side by
side: a row has a 1 at each of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import counts as kernels
from sidelight.blocks import Block, Blocks, CSRRows
from sidelight.exceptions import DataError
from sidelight.models._emissions import dirichlet
from sidelight.models._emissions.counts import linear_density, weighted_counts
from sidelight.models._emissions.dirichlet import Dirichlets
from sidelight.models._emissions.emission import (
    Emission,
    Rows,
    Statistics,
    read_number,
    read_prior,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Categorical(Emission):
    """The emission "categorical"; ``shares`` are those of all categories in the data."""

    categories: Floats
    starts: Ints
    shares: Floats
    prior: Dirichlets

    @classmethod
    def of(cls, rows: Blocks, prior: Any, n_components: int) -> Self:
        """With ``concentration`` (1) and ``categories`` as keys of ``prior``.

        The concentration is the mean over the categories of a column; half of it is flat, half
        like their shares in the data.
        """
        given = read_prior(prior, ("concentration", "categories"))
        a = read_number(given.get("concentration", 1.0), "concentration", 0.0)
        found = _found(rows)
        told = _told(given.get("categories"), rows.n_features)
        lists = [np.union1d(x, y) for x, y in zip(found, told, strict=True)]
        starts = np.cumsum([0, *map(len, lists)])
        categories = np.concatenate([np.empty(0), *lists])
        whole = cls(categories, starts, np.empty(0), Dirichlets(np.empty((0, 0))))
        counts = rows.sum(
            lambda block, _: whole.statistics(block.X, np.ones((1, len(block.X)))), None
        )[1][0]
        shares = counts / rows.n_samples
        stacked = np.tile(a * dirichlet.from_shares(shares, starts[:-1]), (n_components, 1))
        return cls(categories, starts, shares, Dirichlets(stacked))

    @property
    def _places(self) -> Ints:
        return np.arange(len(self.categories))

    def _entries(self, X: Rows) -> CSRRows:
        """A 1 at the category of every column; X is dense."""
        assert not isinstance(X, CSRRows)
        n, d = X.shape
        indices = np.empty((n, d), dtype=np.int32)
        kernels.encode(X, self.categories, self.starts, indices)
        return CSRRows(np.ones(n * d), indices.reshape(-1), np.arange(n + 1) * d)

    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Masses (T,) and counts of all categories (T, m)."""
        return weighted_counts(self._entries(X), self._places, phi, len(self.categories))

    def posterior(self, statistics: Statistics) -> Dirichlets:
        """A Dirichlet for every column."""
        return Dirichlets(self.prior.concentration + statistics[1])

    def log_density(self, X: Rows, posterior: Dirichlets) -> Floats:
        """Sum over columns of E log theta of the row's category."""
        slope = dirichlet.expected_log(posterior, self.starts[:-1])
        constant = np.zeros(len(slope))
        return linear_density(self._entries(X), self._places, slope, constant, has_total=False)

    def divergence_between(self, q: Dirichlets, p: Dirichlets) -> Floats:
        """KL(q || p) of each pair, summed over the columns."""
        return dirichlet.divergence(q, p, self.starts[:-1])

    def symmetric_divergence(self, posterior: Dirichlets) -> Floats:
        """KL in both directions, of every pair of components."""
        return dirichlet.symmetric_divergence(posterior, self.starts[:-1])

    def parameters(self, posterior: Dirichlets) -> dict[str, Any]:
        """Expected probabilities, one array (T, categories) per column, and the categories."""
        shares = dirichlet.mean(posterior, self.starts[:-1])
        inside = self.starts[1:-1]
        return {
            "probabilities": np.split(shares, inside, axis=1),
            "categories": np.split(self.categories, inside),
        }

    def coordinates(self, X: Rows) -> Any:
        """The ones of a row, scaled so that every column that varies has variance 1 in all."""
        mixed = 1.0 - np.add.reduceat(self.shares**2, self.starts[:-1])
        scale = np.divide(1.0, np.sqrt(mixed), out=np.zeros_like(mixed), where=mixed > 1e-12)
        entries = self._entries(X)
        data = np.tile(scale, len(entries.indptr) - 1)
        shape = (len(entries.indptr) - 1, len(self.categories))
        return sparse.csr_array((data, entries.indices, entries.indptr), shape=shape)

    def unreadable(self, X: Rows) -> NDArray[np.bool_]:
        """Rows with a category that was neither in ``fit`` nor given."""
        unknown: NDArray[np.bool_] = (self._entries(X).indices < 0).reshape(np.shape(X))
        return np.asarray(unknown.any(axis=1))

    def complaint(self, X: Rows) -> str:
        """The first such category, its column, and the known ones."""
        column = int(np.flatnonzero(self._entries(X).indices < 0)[0])
        known = self.categories[self.starts[column] : self.starts[column + 1]]
        listed = ", ".join(f"{c:g}" for c in known[:10]) + (", …" if len(known) > 10 else "")
        return (
            f"has the category {np.asarray(X)[0, column]:g} in column {column}, which knows "
            f"{listed} alone; leave such rows out, or name all categories at fit, as in "
            f"prior={{'categories': {{{column}: [...]}}}}"
        )


def _found(rows: Blocks) -> list[Floats]:
    """The categories of every column, ascending."""
    d = rows.n_features

    # A list of sets adds up by `+` to a longer list, which keeps the blocks' one way of summing.
    def each(block: Block, _: None) -> tuple[list[list[Floats]]]:
        X = np.asarray(block.X, dtype=np.float64)
        return ([[np.unique(X[:, j]) for j in range(d)]],)

    parts = rows.sum(each, None)[0]
    return [np.unique(np.concatenate([part[j] for part in parts])) for j in range(d)]


def _told(given: Any, d: int) -> list[Floats]:
    """The categories that the user names: a list per column, or a dict of some columns."""
    if given is None:
        given = {}
    if isinstance(given, Sequence) and len(given) == d:
        given = dict(enumerate(given))
    if not isinstance(given, Mapping) or not set(given) <= set(range(d)):
        raise DataError(
            f"prior['categories'] is {given!r}; give a list of categories for each of the {d} "
            "columns, or a dict from the number of a column to its categories."
        )
    try:
        return [np.unique(np.asarray(given.get(j, []), dtype=np.float64)) for j in range(d)]
    except (TypeError, ValueError):
        raise DataError(
            f"prior['categories'] is {given!r}; categories are numbers, as in X."
        ) from None
