"""Statements as terms of J: every kind is -w log(low + slope t), t a probability.

    label       t = p_ic               low = eps/(K-1)   low + slope = 1 - eps
    not_label   t = p_ic               low = 1 - eps     low + slope = eps
    must        t = sum_k p_ik p_jk    low = eps         low + slope = 1 - eps
    cannot      t = sum_k p_ik p_jk    low = 1 - eps     low + slope = eps

eps is the probability that the statement is wrong. A class has a column if it belongs to the
vocabulary with the most labels. Labels of other vocabularies, and of classes for which there is no
column left, become pairs: rows of one class belong together, and rows of two classes of another
vocabulary do not. These are chains, as many pairs as labels, not all pairs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_SMALLEST = 1e-12  # of a probability inside a logarithm


class Votes(NamedTuple):
    """Labels as entries: row, column, and weight, below zero for "is not"."""

    row: Ints
    column: Ints
    weight: Floats


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


def classes_with_columns(side: SideInformation, n_clusters: int) -> Ints:
    """The classes, as codes, that have a column: at most ``n_clusters``, sorted.

    Labelled classes of the leading vocabulary, the heaviest if they are too many; then classes that
    occur only in negative labels.
    """
    said = side.statements
    lead = said.binding & said.is_class & (said.vocabulary == side.leading_vocabulary)
    mass = [
        np.bincount(said.class_code[here], said.weight[here], minlength=len(side.classes))
        for here in (lead & (said.sign > 0), lead & (said.sign < 0))
    ]
    order = np.lexsort((-mass[1], -mass[0]))
    return np.sort(order[: min(n_clusters, int(((mass[0] > 0) | (mass[1] > 0)).sum()))])


def columns_of(side: SideInformation, classes: Ints) -> Ints:
    """For each statement the column of its class, -1 for none."""
    said = side.statements
    column = np.full(len(side.classes) + 1, -1, dtype=np.int64)  # the last for pairs
    column[classes] = np.arange(len(classes))
    return np.where(said.vocabulary == side.leading_vocabulary, column[said.class_code], -1)


def votes_of(side: SideInformation, column: Ints, use: Bools) -> Votes:
    """The labels among some statements whose class has a column."""
    said = side.statements
    here = use & said.binding & (column >= 0)
    return Votes(said.i[here], column[here], said.signed_weight[here])


def statement_terms(
    side: SideInformation, error: Floats, column: Ints, n_clusters: int, use: Bools | None = None
) -> Terms:
    """The terms of the binding statements of ``side``.

    error : of each statement the probability that it is wrong.
    column : of each statement about a class the column of that class, -1 for none.
    use : which statements; all by default.
    """
    said = side.statements
    use = said.binding if use is None else use & said.binding
    about_class = use & (column >= 0)
    pair = use & said.is_pair
    cells = _merged(
        said.i[about_class], column[about_class], said.weight[about_class],
        *_line(said.sign[about_class] > 0, error[about_class], max(n_clusters - 1, 1)),
    )  # fmt: skip
    links = _joined(
        _Links(said.i[pair], said.j[pair], said.sign[pair] > 0, said.weight[pair], error[pair]),
        _links_of_labels(side, error, use & (column < 0)),
    )
    apart = links.i != links.j
    pairs = _merged(
        np.minimum(links.i, links.j)[apart], np.maximum(links.i, links.j)[apart],
        links.weight[apart], *_line(links.together[apart], links.error[apart], 1),
    )  # fmt: skip
    rows = np.unique(np.concatenate([cells[0], pairs[0], pairs[1]]))
    i, j = np.searchsorted(rows, pairs[0]), np.searchsorted(rows, pairs[1])
    cell = np.searchsorted(rows, cells[0]) * n_clusters + cells[1]
    return Terms(rows, n_clusters, cell, *cells[2:], i, j, *pairs[2:])


class _Links(NamedTuple):
    i: Ints
    j: Ints
    together: Bools
    weight: Floats
    error: Floats


def _joined(first: _Links, second: _Links) -> _Links:
    both: Any = zip(first, second, strict=True)
    return _Links(*map(np.concatenate, both))


def _links_of_labels(side: SideInformation, error: Floats, use: Bools) -> _Links:
    """Pairs in the place of labels of classes that have no column."""
    said = side.statements
    lead = side.leading_vocabulary
    label = np.flatnonzero(use & said.is_class & (said.sign > 0))
    keys = (error[label], said.weight[label], said.i[label])
    label = label[np.lexsort((*keys, said.class_code[label], said.vocabulary[label]))]
    group = said.vocabulary[label] * len(side.classes) + said.class_code[label]
    same = np.flatnonzero(group[1:] == group[:-1])
    found = _link(side, error, label[same], label[same + 1], together=True)
    # Row k of a class and row k of the next class of the same vocabulary, as far as both go.
    start = np.flatnonzero(np.diff(group, prepend=-2 - len(side.classes)))
    size = np.diff(np.append(start, len(group)))
    other = said.vocabulary[label[start]] != lead
    follows = np.zeros(len(start), dtype=bool)
    follows[:-1] = said.vocabulary[label[start[1:]]] == said.vocabulary[label[start[:-1]]]
    for g in np.flatnonzero(follows & other):
        n = min(size[g], size[g + 1])
        first, second = label[start[g] : start[g] + n], label[start[g + 1] : start[g + 1] + n]
        found = _joined(found, _link(side, error, first, second, together=False))
    # "Is not c": apart from the first row that is c.
    negative = np.flatnonzero(use & said.is_class & (said.sign < 0))
    key = said.vocabulary[negative] * len(side.classes) + said.class_code[negative]
    place = np.searchsorted(group[start], key)
    known = np.append(group[start], np.iinfo(np.int64).min)[place] == key
    first = label[start[place[known]]]
    return _joined(found, _link(side, error, negative[known], first, together=False))


def _link(
    side: SideInformation, error: Floats, first: Ints, second: Ints, *, together: bool
) -> _Links:
    """Pairs of the rows of two statements: wrong if one of the two is."""
    said = side.statements
    e, f = error[first], error[second]
    return _Links(
        said.i[first],
        said.i[second],
        np.full(len(first), together),
        np.minimum(said.weight[first], said.weight[second]),
        e + f - 2 * e * f,
    )


def _line(positive: Bools, error: Floats, others: int) -> tuple[Floats, Floats]:
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


# Statements judged by memberships


def chance_of(side: SideInformation, column: Ints, place: Ints, P: NDArray[np.float64]) -> Floats:
    """For each statement the probability, by memberships P, that it is true; NaN: not known.

    place : of each row its row in P, -1 for none.
    """
    said = side.statements
    chance = np.full(side.n_statements, np.nan)
    i, j = place[said.i], place[np.maximum(said.j, 0)]
    cell = np.flatnonzero((column >= 0) & (i >= 0))
    chance[cell] = P[i[cell], column[cell]]
    pair = np.flatnonzero(said.is_pair & (i >= 0) & (j >= 0))
    chance[pair] = np.einsum("ik,ik->i", P[i[pair]], P[j[pair]])
    negative = said.sign < 0
    chance[negative] = 1.0 - chance[negative]
    same = said.i == said.j  # a row is with itself
    chance[same] = (said.sign[same] > 0).astype(np.float64)
    return chance


def error_of(side: SideInformation, chance: Floats, error: Floats, n_clusters: int) -> Floats:
    """For each statement the probability that it is wrong, by Bayes' rule.

    chance : the probability that what it says is true; error : how often its annotator is wrong.
    """
    is_label = side.statements.is_class & (side.statements.sign > 0)
    others = np.where(is_label, max(n_clusters - 1, 1), 1)
    wrong = error * (1.0 - chance) / others
    return wrong / (wrong + (1.0 - error) * chance + 1e-300)
