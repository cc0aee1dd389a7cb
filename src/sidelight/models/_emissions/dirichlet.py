"""Dirichlet priors side by side: one over all columns of counts, or one for each column.

``starts`` says where each of them begins in an array of shape (T, m).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Dirichlets(NamedTuple):
    """T of them, or T for every column: the concentrations, (T, m)."""

    concentration: Floats


def from_shares(shares: Floats, starts: Ints) -> Floats:
    """Concentrations of 1 on average: half of it flat, half of it like the shares of all rows.

    Chosen by the bound on three made-up corpora and on cells (10X PBMC): higher than with the flat
    half alone everywhere (by 1 to 4 %), with 3 % labels as accurate or better. With the shares
    alone, a component that lacks a rare word would forbid it to all its rows.
    """
    sizes = _sizes(starts, len(shares))
    return 0.5 + 0.5 * shares * np.repeat(sizes, sizes)


def expected_log(q: Dirichlets, starts: Ints) -> Floats:
    """E log of the probabilities, (T, m)."""
    a = q.concentration
    totals = digamma(np.add.reduceat(a, starts, axis=1)) if len(starts) else a[:, :0]
    return digamma(a) - _spread_out(totals, starts, a.shape[1])


def mean(q: Dirichlets, starts: Ints) -> Floats:
    """The expected probabilities, (T, m)."""
    a = q.concentration
    totals = np.add.reduceat(a, starts, axis=1) if len(starts) else a[:, :0]
    return a / _spread_out(totals, starts, a.shape[1])


def divergence(q: Dirichlets, p: Dirichlets, starts: Ints) -> Floats:
    """KL(q_k || p_k), summed over the columns, (T,)."""
    a, b = q.concentration, p.concentration
    value = ((a - b) * expected_log(q, starts) - gammaln(a) + gammaln(b)).sum(axis=1)
    if len(starts):
        totals = (np.add.reduceat(c, starts, axis=1) for c in (a, b))
        of_q, of_p = (gammaln(total).sum(axis=1) for total in totals)
        value += of_q - of_p
    return value


def symmetric_divergence(q: Dirichlets, starts: Ints) -> Floats:
    """KL in both directions, as for any exponential family: (eta_k - eta_l)'(E_k t - E_l t)."""
    a, expected = q.concentration, expected_log(q, starts)
    return np.array(
        [((a[k] - a) * (expected[k] - expected)).sum(axis=1) for k in range(len(a))]
    ).reshape(len(a), len(a))


def _spread_out(totals: Floats, starts: Ints, m: int) -> Floats:
    """Totals per Dirichlet, repeated for each of its entries."""
    return np.repeat(totals, _sizes(starts, m), axis=1)


def _sizes(starts: Ints, m: int) -> Ints:
    return np.diff(np.append(starts, m))
