"""Statements as arrays that the kernels of row models take."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import Blocks
from sidelight.side import CANNOT, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PairColumns(NamedTuple):
    """Pairs of different rows that belong together or not, with weights."""

    i: Ints
    j: Ints
    is_must: NDArray[np.bool_]
    weight: Floats


def given_pairs(side: SideInformation) -> PairColumns:
    """The stated pairs, each once, and labels as pairs, at most two for each.

    A label ties its row to the next labelled row of its class, and keeps it apart from the next
    labelled row of another class of its vocabulary; a negative label keeps its row apart from the
    next labelled row of the class. No row stands for a whole class, so no label harms all others.
    """
    said, columns = side.once, side.class_columns
    pairs = said.take(said.is_pair)
    labels = said.take(said.is_class & (said.sign > 0))
    column = columns.find(labels.vocabulary, labels.class_code)
    by_class = np.lexsort((labels.i, column))
    together = by_class[:-1], by_class[1:], column[by_class[:-1]] == column[by_class[1:]]
    group = columns.group[column] if len(columns) else column
    by_row = np.lexsort((column, labels.i, group))
    fresh = np.flatnonzero(np.append(True, np.diff(column[by_row]) != 0)[: len(by_row)])
    following = np.append(fresh, len(by_row))[
        np.searchsorted(fresh, np.arange(len(by_row)), side="right")
    ]
    known = np.flatnonzero(following < len(by_row))
    one, two = by_row[known], by_row[following[known]]
    apart = one, two, group[one] == group[two]
    negative = said.take(said.is_class & (said.sign < 0))
    key = columns.find(negative.vocabulary, negative.class_code) * side.n_samples + negative.i
    keys = (column * side.n_samples + labels.i)[by_class]
    place = np.searchsorted(keys, key)
    other_class = np.append(keys // side.n_samples, -1)[place] != key // side.n_samples
    place = np.where(other_class, np.searchsorted(keys, key - negative.i), place)
    there = np.append(keys // side.n_samples, -1)[place] == key // side.n_samples
    barred = np.append(labels.i[by_class], -1)[place]
    found = [PairColumns(pairs.i, pairs.j, pairs.sign > 0, pairs.weight)]
    for (a, b, chosen), is_must in ((together, True), (apart, False)):
        chosen = chosen & (labels.i[a] != labels.i[b])
        i, j = labels.i[a[chosen]], labels.i[b[chosen]]
        found.append(PairColumns(i, j, np.full(len(i), is_must), labels.weight[a[chosen]]))
    chosen = there & (barred != negative.i)
    found.append(
        PairColumns(
            negative.i[chosen],
            barred[chosen],
            np.zeros(int(chosen.sum()), dtype=bool),
            negative.weight[chosen],
        )
    )
    return PairColumns(*map(np.concatenate, zip(*found, strict=True)))


def closure_pairs(side: SideInformation) -> PairColumns:
    """Every pair that follows from the statements, of weight 1; quadratic in the labels."""
    closure = side.closure()
    order = np.argsort(closure.groups, kind="stable")
    sizes = closure.sizes
    start = np.cumsum(sizes) - sizes
    apart = closure.apart_graph().tocoo()
    upper = apart.row <= apart.col
    larger = np.flatnonzero(sizes > 1)
    g = np.concatenate([larger, apart.row[upper].astype(np.int64)])
    h = np.concatenate([larger, apart.col[upper].astype(np.int64)])
    total = sizes[g] * sizes[h]
    is_must = np.repeat(np.arange(len(g)) < len(larger), total)
    inside = np.arange(total.sum()) - np.repeat(np.cumsum(total) - total, total)
    g, h = np.repeat(g, total), np.repeat(h, total)
    one, two = order[start[g] + inside // sizes[h]], order[start[h] + inside % sizes[h]]
    kept = (g != h) | (one < two)
    one, two, is_must = one[kept], two[kept], is_must[kept]
    return PairColumns(np.minimum(one, two), np.maximum(one, two), is_must, np.ones(len(one)))


class LabelTable(NamedTuple):
    """Labels and negative labels, sorted by row; never a matrix of rows by classes.

    Row stated[p] has the entries span[p]:span[p + 1]; entry c says "is column c", entry
    n_columns + c "is not column c". A column is a class of one vocabulary, and ``vocabulary`` says
    which (0, 1, … without gaps, ascending): "is c" observes all columns of its vocabulary.
    """

    stated: Ints
    span: Ints
    entry: Ints
    weight: Floats
    vocabulary: Ints
    first_column: Ints  # of each vocabulary
    most_weight: float  # of all statements about one row
    column_names: list[tuple[Any, Any]]

    @classmethod
    def of(cls, side: SideInformation) -> "LabelTable":
        """The table of the binding label statements of ``side``."""
        columns, said = side.class_columns, side.canonical.take(side.canonical.is_class)
        column = columns.find(said.vocabulary, said.class_code)
        entry = column + len(columns) * (said.sign < 0)
        order = np.lexsort((entry, said.i))
        stated, first = np.unique(said.i[order], return_index=True)
        per_row = np.add.reduceat(said.weight[order], first) if len(first) else np.zeros(1)
        return cls(
            stated,
            np.append(first, len(order)).astype(np.int64),
            entry[order],
            said.weight[order],
            columns.group.copy(),  # a kernel would be compiled once more for read-only arrays
            columns.first,
            float(per_row.max()),
            columns.names,
        )

    @property
    def n_columns(self) -> int:
        """The number of classes in the statements, counted in each vocabulary."""
        return len(self.column_names)

    @property
    def row_of_entry(self) -> Ints:
        """The row of each entry, ascending."""
        return np.repeat(self.stated, np.diff(self.span))

    def over_vocabulary(self, table: Floats) -> Floats:
        """The sums over the columns of each vocabulary, standing in every one of its columns."""
        if not self.n_columns:
            return table
        sums: Floats = np.add.reduceat(table, self.first_column, axis=1)[:, self.vocabulary]
        return sums

    def others_of_vocabulary(self, table: Floats) -> Floats:
        """For each column the sum of the others of its vocabulary, without a subtraction."""
        others = np.zeros_like(table)
        for first, last in pairwise([*self.first_column.tolist(), self.n_columns]):
            np.cumsum(table[:, first : last - 1], axis=1, out=others[:, first + 1 : last])
            after = np.cumsum(table[:, last - 1 : first : -1], axis=1)
            others[:, first : last - 1] += after[:, ::-1]
        return others


class CannotLinks(NamedTuple):
    """Rows in cannot-links: their data, their statements and their partners.

    ``for_kernel`` starts the arguments of ``_kernels.relocate``. Dense data are shifted to their
    mean, because the kernel works with squared lengths, which lose digits far from the origin.
    """

    rows: Ints
    shift: Floats
    pairs: Ints
    pair_weight: Floats
    for_kernel: tuple[NDArray[Any], ...]

    @classmethod
    def of(
        cls,
        side: SideInformation,
        rows: Blocks,
        weight: Floats | None,
        labels: LabelTable,
        mean: Floats,
    ) -> "CannotLinks | None":
        """The cannot-links of ``side``, or None; pairs are positions in ``rows``."""
        said = side.canonical.take(side.canonical.kind == CANNOT)
        if not len(said.kind):
            return None
        ends = np.stack([said.i, said.j], axis=1)
        linked, pairs = np.unique(ends, return_inverse=True)
        pairs = pairs.reshape(ends.shape)
        row_weight = np.ones(len(linked)) if weight is None else weight[linked]
        taken = rows.take(linked)
        is_sparse = sparse.issparse(taken)
        shift = np.zeros(rows.n_features) if is_sparse else mean
        data = sparse.csr_array(taken if is_sparse else taken - shift, dtype=np.float64)
        both = np.concatenate([pairs, pairs[:, ::-1]])
        graph = sparse.csr_array(
            (np.tile(said.weight, 2), tuple(both.T)), shape=(len(linked), len(linked))
        )
        row_of_entry = labels.row_of_entry
        first, last = (np.searchsorted(row_of_entry, linked, side=s) for s in ("left", "right"))
        for_kernel = (
            data.data, data.indices.astype(np.int32), data.indptr.astype(np.int64),
            np.asarray(data.power(2).sum(axis=1)), row_weight,
            first, last, labels.entry, labels.weight, labels.vocabulary,
            graph.indices.astype(np.int64), graph.data, graph.indptr.astype(np.int64),
        )  # fmt: skip
        return cls(linked, shift, pairs, said.weight, for_kernel)

    def broken(self, labels: NDArray[Any]) -> float:
        """The weight of the broken cannot-links."""
        of = labels[self.rows]
        return float(self.pair_weight[of[self.pairs[:, 0]] == of[self.pairs[:, 1]]].sum())
