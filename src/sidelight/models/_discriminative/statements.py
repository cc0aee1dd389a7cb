"""Statements as terms of J: every kind is -w log(low + slope t), t a probability.

    label       t = p_ic           low = eps/(K-1)   low + slope = 1 - eps
    not_label   t = p_ic           low = 1 - eps     low + slope = eps
    must        t = sum_k p_ik p_jk    low = eps         low + slope = 1 - eps
    cannot      t = sum_k p_ik p_jk    low = 1 - eps     low + slope = eps

eps is the probability that the statement is wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SMALLEST = 1e-12  # of a probability inside a logarithm


class Terms(NamedTuple):
    """The terms of all statements; equal statements are one, in an order of their own.

    ``rows`` are the annotated rows, and i, j places among them.
    """

    rows: Ints
    n_clusters: int
    cell: Ints  # of label terms: place of the row times n_clusters plus the column
    cell_weight: Floats
    cell_low: Floats
    cell_slope: Floats
    i: Ints
    j: Ints
    pair_weight: Floats
    pair_low: Floats
    pair_slope: Floats

    def value_and_gradient(self, p: Floats) -> tuple[float, Floats]:
        """The sum of all terms and its derivative by p, the memberships of ``rows``."""
        gradient = np.zeros(p.shape)
        value = 0.0
        if len(self.cell):
            inside = self.cell_low + self.cell_slope * p.ravel()[self.cell]
            inside = np.maximum(inside, _SMALLEST)
            value -= float(self.cell_weight @ np.log(inside))
            slope = -self.cell_weight * self.cell_slope / inside
            gradient += np.bincount(self.cell, slope, minlength=p.size).reshape(p.shape)
        if len(self.i):
            together = np.einsum("ik,ik->i", p[self.i], p[self.j])
            inside = np.maximum(self.pair_low + self.pair_slope * together, _SMALLEST)
            value -= float(self.pair_weight @ np.log(inside))
            slope = -self.pair_weight * self.pair_slope / inside
            m = len(self.rows)
            links = sparse.csr_array((slope, (self.i, self.j)), shape=(m, m))
            gradient += links @ p + links.T @ p
        return value, gradient


def statement_terms(side: SideInformation, error: Floats, column: Ints, n_clusters: int) -> Terms:
    """The terms of the binding statements of ``side``.

    error : of each statement the probability that it is wrong.
    column : of each statement about a class the column of that class, -1 for none.
    """
    said = side.statements
    binding = said.binding
    about_class = binding & said.is_class & (column >= 0)
    pair = binding & said.is_pair & (said.i != said.j)
    cells = _merged(
        said.i[about_class], column[about_class], said.weight[about_class],
        *_line(said.sign[about_class] > 0, error[about_class], max(n_clusters - 1, 1)),
    )  # fmt: skip
    pairs = _merged(
        said.i[pair], said.j[pair], said.weight[pair],
        *_line(said.sign[pair] > 0, error[pair], 1),
    )  # fmt: skip
    rows = np.unique(np.concatenate([cells[0], pairs[0], pairs[1]]))
    i, j = np.searchsorted(rows, pairs[0]), np.searchsorted(rows, pairs[1])
    cell = np.searchsorted(rows, cells[0]) * n_clusters + cells[1]
    return Terms(rows, n_clusters, cell, *cells[2:], i, j, *pairs[2:])


def _line(positive: NDArray[np.bool_], error: Floats, others: int) -> tuple[Floats, Floats]:
    """Low and slope of the header; others: among how many a wrong label is spread."""
    low = np.where(positive, error / others, 1.0 - error)
    high = np.where(positive, 1.0 - error, error)
    return low, high - low


def _merged(
    first: Ints, second: Ints, weight: Floats, low: Floats, slope: Floats
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Equal terms as one, sorted, so that the order of statements changes no bit."""
    order = np.lexsort((weight, slope, low, second, first))
    first, second = first[order], second[order]
    weight, low, slope = weight[order], low[order], slope[order]
    new = np.ones(len(order), dtype=bool)
    keys = (first, second, low, slope)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    start = np.flatnonzero(new)
    total = np.add.reduceat(weight, start) if len(start) else weight
    return first[start], second[start], total, low[start], slope[start]
