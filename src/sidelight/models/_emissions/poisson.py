"""Independent counts, each column with a rate of its own per component; the priors are Gammas.

    x_j | rate_j ~ Poisson(rate_j)      rate_j ~ Gamma(shape_j, rate = b_j)

The total of a row does matter, unlike in "multinomial". Columns that never vary are left
out, as for Gaussians.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from sidelight.blocks import Blocks
from sidelight.models._emissions.counts import CountColumns, OfCounts, roots
from sidelight.models._emissions.emission import (
    Rows,
    Statistics,
    read_numbers,
    read_prior,
)

Floats = NDArray[np.float64]


class Gammas(NamedTuple):
    """T of them for every column: shape and rate, (T, d)."""

    shape: Floats
    rate: Floats


@dataclass(frozen=True)
class Poisson(OfCounts):
    """The emission "poisson"."""

    prior: Gammas

    @classmethod
    def of(cls, rows: Blocks, prior: Any, n_components: int) -> Self:
        """With ``shape`` (1) and ``mean`` (the columns' means) of the Gamma, keys of ``prior``."""
        given = read_prior(prior, ("shape", "mean"))
        columns = CountColumns.of(rows, if_constant=False)
        means = columns.sums / rows.n_samples
        if given.get("mean") is not None:
            means = read_numbers(given["mean"], "mean", rows.n_features)
        shape = read_numbers(given.get("shape", 1.0), "shape", rows.n_features)[columns.kept]
        rate = shape / means[columns.kept]
        stacked = (np.tile(a, (n_components, 1)) for a in (shape, rate))
        return cls(columns, Gammas(*stacked))

    def posterior(self, statistics: Statistics) -> Gammas:
        """Gamma, column by column."""
        mass, counts = statistics
        return Gammas(self.prior.shape + counts, self.prior.rate + mass[:, None])

    def log_density(self, X: Rows, posterior: Gammas) -> Floats:
        """Sum over columns of x E log rate - E rate - log x!."""
        slope = digamma(posterior.shape) - np.log(posterior.rate)
        constant = -(posterior.shape / posterior.rate).sum(axis=1)
        return self.columns.log_density(X, slope, constant, has_total=False)

    def divergence_between(self, q: Gammas, p: Gammas) -> Floats:
        """KL(q || p) of each pair, summed over the columns."""
        value = (q.shape - p.shape) * digamma(q.shape) - gammaln(q.shape) + gammaln(p.shape)
        value += p.shape * np.log(q.rate / p.rate) + q.shape * (p.rate / q.rate - 1.0)
        total: Floats = value.sum(axis=1)
        return total

    def parameters(self, posterior: Gammas) -> dict[str, Floats]:
        """Expected rates; columns that never vary keep their value."""
        constant = self.columns.sums / self.columns.n_rows
        rates = np.tile(constant, (len(posterior.shape), 1))
        rates[:, self.columns.kept] = posterior.shape / posterior.rate
        return {"rates": rates}

    def coordinates(self, X: Rows) -> Any:
        """Twice the roots of the counts, which vary by about 1 inside a component."""
        return roots(self.columns.matrix(X))
