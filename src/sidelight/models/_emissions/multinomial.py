"""Counts of a row as draws from the probabilities of its component; the prior is a Dirichlet.

    x | theta ~ Multinomial(sum of x, theta)      theta ~ Dirichlet(a)

The total of a row carries no information about its component: right for words of documents of any
length, or for reads of cells of any depth. Columns without a single count are left out, and are
ignored in new rows.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import Blocks
from sidelight.models._emissions import dirichlet
from sidelight.models._emissions.counts import CountColumns, OfCounts, roots
from sidelight.models._emissions.dirichlet import Dirichlets
from sidelight.models._emissions.emission import (
    Rows,
    Statistics,
    read_numbers,
    read_prior,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Multinomial(OfCounts):
    """The emission "multinomial"."""

    prior: Dirichlets

    @classmethod
    def of(cls, rows: Blocks, prior: Any, n_components: int) -> Self:
        """With ``concentration`` in ``prior``: pseudo-counts.

        A number is their mean; half of them are flat, half like the columns' shares in the data.
        """
        given = read_prior(prior, ("concentration",))
        columns = CountColumns.of(rows, if_constant=True)
        a = read_numbers(given.get("concentration", 1.0), "concentration", rows.n_features)
        a = a[columns.kept]
        if np.ndim(given.get("concentration", 1.0)) == 0:
            a = a * dirichlet.from_shares(columns.shares, _one_start(columns))
        return cls(columns, Dirichlets(np.tile(a, (n_components, 1))))

    @property
    def _starts(self) -> NDArray[np.int64]:
        return _one_start(self.columns)

    def posterior(self, statistics: Statistics) -> Dirichlets:
        """Dirichlet."""
        return Dirichlets(self.prior.concentration + statistics[1])

    def log_density(self, X: Rows, posterior: Dirichlets) -> Floats:
        """Sum of x_j E log theta_kj, and the multinomial coefficient."""
        slope = dirichlet.expected_log(posterior, self._starts)
        return self.columns.log_density(X, slope, np.zeros(len(slope)), has_total=True)

    def divergence_between(self, q: Dirichlets, p: Dirichlets) -> Floats:
        """KL(q || p) of each pair."""
        return dirichlet.divergence(q, p, self._starts)

    def symmetric_divergence(self, posterior: Dirichlets) -> Floats:
        """KL in both directions, of every pair of components."""
        return dirichlet.symmetric_divergence(posterior, self._starts)

    def parameters(self, posterior: Dirichlets) -> dict[str, Floats]:
        """Expected probabilities of the columns; 0 for columns without a count."""
        shares = np.zeros((len(posterior.concentration), len(self.columns.sums)))
        shares[:, self.columns.kept] = dirichlet.mean(posterior, self._starts)
        return {"probabilities": shares}

    def coordinates(self, X: Rows) -> Any:
        """Roots of the shares, times twice the root of the mean total.

        Half a squared distance is then about the log-likelihood that two rows of that total differ
        by; rows without a count are at the origin.
        """
        matrix = self.columns.matrix(X)
        total = np.asarray(matrix.sum(axis=1)).ravel()
        mean_total = self.columns.sums.sum() / self.columns.n_rows
        factor = np.divide(mean_total, total, out=np.zeros_like(total), where=total > 0)
        if sparse.issparse(matrix):
            return roots(sparse.csr_array(sparse.diags_array(factor) @ matrix))
        return roots(matrix * factor[:, None])


def _one_start(columns: CountColumns) -> NDArray[np.int64]:
    """One Dirichlet over all columns, or none if there are none."""
    return np.zeros(min(1, len(columns.kept)), dtype=np.int64)
