"""Statements about pairs of rows, as a product of thin sparse matrices: R = P G P'.

A column of P is a group of rows that belong together, a class, or a single row; G has the relations
between columns. 100,000 labels in 10 classes entail 4.5e9 pairs, and P has 100,000 entries and G
100. Graph models and factorisations read R where they need it: on edges and on a few ties.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels.propagate import row_products
from sidelight.exceptions import SideInformationError
from sidelight.side import LABEL, Closure, SideInformation, Statements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_GROUPS = 6_000  # that are labelled: all of them are apart from each other


class Relation(NamedTuple):
    """R = P G P': above zero where rows belong together, below where they do not, 0 unknown.

    ``ties`` are pairs of rows that belong together, symmetric, without their weights: all of a
    small group, and of a large one so many that its rows are a few steps apart.
    """

    members: sparse.csr_array  # P (n, q), zero or more
    between: sparse.csr_array  # G (q, q), symmetric
    ties: sparse.csr_array  # (n, n)

    @property
    def is_empty(self) -> bool:
        """Whether there are no statements."""
        return not self.between.nnz

    def at(self, i: Ints, j: Ints) -> Floats:
        """R of pairs of rows."""
        return products(self.members, sparse.csr_array(self.members @ self.between), i, j)

    def on(self, graph: sparse.csr_array) -> sparse.csr_array:
        """R on the edges of a graph and on the ties: symmetric, zeros stored, no diagonal."""
        i, j = self.places(graph)
        return symmetric(graph.shape[0], i, j, self.at(i, j))

    def places(self, graph: sparse.csr_array) -> tuple[Ints, Ints]:
        """The edges of a graph and the ties, each pair once, i < j."""
        ones = [
            sparse.csr_array((np.ones(g.nnz), g.indices, g.indptr), shape=graph.shape)
            for g in (graph, self.ties)
        ]
        upper = sparse.triu(ones[0] + ones[1], 1).tocoo()
        return upper.row.astype(np.int64), upper.col.astype(np.int64)


def relation_of(side: SideInformation) -> Relation:
    """The relation of statements of all kinds, with what follows from them.

    A statement that is repeated counts once, with its largest weight; of several statements about
    two columns their mean counts. A pair that is entailed weighs the geometric mean of its rows'
    amounts. Contradictory statements entail nothing: rows tied to a contradiction keep only the
    statements about themselves, so that one wrong must-link does not join two classes.
    """
    said, closure = side.once, side.closure()
    columns = _Columns.of(side, said, closure)
    u, v, weight = columns.statements(side, said)
    a, b = columns.classes_apart(side)
    own = np.flatnonzero(columns.is_group)
    keep = u != v
    between = _means(
        len(columns.is_group),
        np.concatenate([u[keep], a, own]),
        np.concatenate([v[keep], b, own]),
        np.concatenate([weight[keep], np.full(len(a), -1.0), np.ones(len(own))]),
    )
    return Relation(columns.members, between, _ties(columns, said, side.n_samples))


class _Columns(NamedTuple):
    """The columns of P: groups without contradictions, other rows, classes of such rows."""

    of_row: Ints  # column of each row; -1 without statements
    of_class: Ints  # column of each class of `side.class_columns`; the last entry serves -1
    is_group: NDArray[np.bool_]
    members: sparse.csr_array

    @classmethod
    def of(cls, side: SideInformation, said: Statements, closure: Closure) -> "_Columns":
        n, group = side.n_samples, closure.groups
        doubted = np.zeros(closure.n_groups, dtype=bool)
        doubted[np.flatnonzero(closure.apart_graph().diagonal())] = True
        annotated = np.zeros(n, dtype=bool)
        annotated[side.annotated_rows] = True
        # Rows of a doubtful group stand alone; keys of groups come first.
        key = np.where(doubted[group], closure.n_groups + np.arange(n), group)
        keys, column = np.unique(key[annotated], return_inverse=True)
        of_row = np.full(n, -1, dtype=np.int64)
        of_row[annotated] = column
        classes = side.class_columns
        home = closure.group_of_class(classes.vocabulary, classes.class_code)
        apart = (home >= 0) & doubted[home]
        of_class = np.full(len(classes) + 1, -1, dtype=np.int64)
        sound = np.flatnonzero((home >= 0) & ~apart)
        of_class[sound] = np.searchsorted(keys, home[sound])
        of_class[np.flatnonzero(apart)] = len(keys) + np.arange(int(apart.sum()))
        size = np.bincount(column, minlength=len(keys))
        is_group = np.concatenate([size > 1, np.ones(int(apart.sum()), dtype=bool)])
        # Labels of doubtful rows belong to the column of their class as well.
        extra = said.take(said.kind == LABEL)
        extra_column = of_class[classes.find(extra.vocabulary, extra.class_code)]
        extra, extra_column = (
            extra.take(extra_column >= len(keys)),
            extra_column[extra_column >= len(keys)],
        )
        amount = row_amounts(said, n)
        amount[doubted[group]] = 1.0
        rows = np.flatnonzero(annotated)
        members = sparse.coo_array(
            (
                np.concatenate([amount[rows], np.sqrt(extra.weight)]),
                (np.concatenate([rows, extra.i]), np.concatenate([column, extra_column])),
            ),
            shape=(n, len(is_group)),
        ).tocsr()
        members.sort_indices()
        return cls(of_row, of_class, is_group, members)

    def statements(self, side: SideInformation, said: Statements) -> tuple[Ints, Ints, Floats]:
        """Both columns and the signed weight of each statement that is about two columns."""
        column = self.of_class[side.class_columns.find(said.vocabulary, said.class_code)]
        # A label is in the members already; a negative label is about its class.
        other = np.where(said.is_pair, self.of_row[said.j], column)
        here = (said.kind != LABEL) & (other >= 0)
        return self.of_row[said.i][here], other[here], said.signed_weight[here]

    def classes_apart(self, side: SideInformation) -> tuple[Ints, Ints]:
        """Pairs of columns with different classes of one vocabulary, each once."""
        first, second = [], []
        for vocabulary in np.unique(side.class_columns.group):
            here = np.unique(self.of_class[:-1][side.class_columns.group == vocabulary])
            here = here[here >= 0]
            if len(here) > MOST_GROUPS:
                raise SideInformationError(
                    f"{len(here):,} classes are labelled; at most {MOST_GROUPS:,} can be kept "
                    "apart from each other. Labels that few rows share say little: leave out "
                    "classes with a single row."
                )
            a, b = np.triu_indices(len(here), 1)
            first.append(here[a])
            second.append(here[b])
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *first]), np.concatenate([none, *second])


def _means(n: int, u: Ints, v: Ints, weight: Floats) -> sparse.csr_array:
    """A symmetric matrix with the mean of the statements about each two columns."""
    keys, inverse, count = np.unique(
        np.minimum(u, v) * n + np.maximum(u, v), return_inverse=True, return_counts=True
    )
    mean = np.bincount(inverse, weight, minlength=len(keys)) / np.maximum(count, 1)
    low, high = np.divmod(keys, max(n, 1))
    off = low != high
    matrix = sparse.coo_array(
        (
            np.concatenate([mean, mean[off]]),
            (np.concatenate([low, high[off]]), np.concatenate([high, low[off]])),
        ),
        shape=(n, n),
    ).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _ties(columns: _Columns, said: Statements, n_samples: int) -> sparse.csr_array:
    """Pairs of rows that belong together: stated ones, and 1, 2, 4, … steps around each group."""
    by_column = columns.members.tocsc()
    size, first = np.diff(by_column.indptr), by_column.indptr[:-1]
    row = by_column.indices.astype(np.int64)
    column = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(row)) - first[column]
    stated = said.take(said.is_pair & (said.sign > 0))
    one, other = [stated.i], [stated.j]
    step = 1
    while (size > step).any():
        # Around the circle; of 2 rows the two steps are one pair, which `symmetric` joins.
        here = size[column] > step
        next_place = (place[here] + step) % size[column[here]]
        one.append(row[here])
        other.append(row[first[column[here]] + next_place])
        step *= 2
    i, j = np.concatenate(one), np.concatenate(other)
    keep = i != j
    ties = symmetric(n_samples, i[keep], j[keep], np.ones(int(keep.sum())))
    ties.data[:] = 1.0
    return ties


def row_amounts(said: Statements, n_samples: int) -> Floats:
    """The amount of each row in its group: the root of the mean weight of its statements.

    A pair then counts the geometric mean of its rows' weights.
    """
    said = said.take(said.sign > 0)
    pairs = said.is_pair
    rows = np.concatenate([said.i, said.j[pairs]])
    weights = np.concatenate([said.weight, said.weight[pairs]])
    count = np.bincount(rows, minlength=n_samples)
    total = np.bincount(rows, weights, minlength=n_samples)
    return np.sqrt(np.where(count > 0, total / np.maximum(count, 1), 1.0))


def symmetric(n: int, i: Ints, j: Ints, value: Floats) -> sparse.csr_array:
    """A symmetric matrix from half of its entries; those of one place add up."""
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    matrix = sparse.coo_array((np.tile(value, 2), both), shape=(n, n)).tocsr()
    matrix.sort_indices()
    return matrix


def products(left: sparse.csr_array, right: sparse.csr_array, i: Ints, j: Ints) -> Floats:
    """The product of row i of one thin matrix and row j of another, for pairs of rows."""
    out = np.empty(len(i))
    left.sort_indices()
    right.sort_indices()
    row_products(
        left.indptr, left.indices, left.data, right.indptr, right.indices, right.data, i, j, out
    )
    return out
