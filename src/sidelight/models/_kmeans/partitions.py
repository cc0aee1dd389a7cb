"""Partitions as data: made by k-means or given, as one-hot rows, and as a table of entries."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import Block, Blocks, CSRRows, one_blas_thread
from sidelight.exceptions import DataError
from sidelight.models._centers import as_matrix, plus_plus, random_rows
from sidelight.models._kmeans.statements import LabelTable
from sidelight.models._lloyd import Problem, State, Theta, assign, one_of_many

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MAX_ITER = 300
_LEAST_FALL = 1e-5  # of the partitions of large data; 1e-4 loses quality


class Codes(NamedTuple):
    """The values of given partitions, column by column, ascending: their places are clusters."""

    values: tuple[Floats, ...]

    @classmethod
    def of(cls, rows: Blocks) -> "Codes":
        """From rows whose columns are partitions."""
        found = rows.sum(_values_of_block, rows.n_features)[0]
        per_column = zip(*found, strict=True)
        values = tuple(np.unique(np.concatenate(v)) for v in per_column)
        if empty := [column for column, known in enumerate(values) if not len(known)]:
            raise DataError(
                f'Column {empty[0]} of X is -1 in every row; with partitions="precomputed" every '
                "column is a partition that knows the cluster of at least one row. Leave it out."
            )
        return cls(values)

    @property
    def sizes(self) -> list[int]:
        """The number of clusters of each partition."""
        return [len(v) for v in self.values]

    def assign(self, rows: Blocks) -> NDArray[np.int32]:
        """The cluster of each row in each partition, (n, V); −1 where it is not known."""
        out = np.empty((rows.n_samples, len(self.values)), dtype=np.int32)
        rows.sum(_codes_of_block, self.values, out)
        return out


def _values_of_block(block: Block, n_features: int) -> tuple[list[list[Floats]]]:
    X = _dense(block, n_features)
    wrong = (X < -1) | (np.floor(X) != X)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataError(
            f"X holds {X[row, column]} in row {block.start + row}, column {column}; with "
            'partitions="precomputed" every column is a partition: whole numbers of 0 or more for '
            "the cluster of a row, and -1 where it is not known."
        )
    return ([[np.unique(column[column >= 0]) for column in X.T]],)


def _codes_of_block(block: Block, values: tuple[Floats, ...], out: NDArray[np.int32]) -> tuple[int]:
    X = _dense(block, len(values))
    for v, known in enumerate(values):
        place = np.minimum(np.searchsorted(known, X[:, v]), len(known) - 1)
        out[:, v] = np.where(known[place] == X[:, v], place, -1)
    return (0,)


def _dense(block: Block, n_features: int) -> Floats:
    X = as_matrix(block.X, n_features)
    return np.asarray(X.toarray() if isinstance(block.X, CSRRows) else X, dtype=np.float64)


class Quantisers(NamedTuple):
    """Centres of k-means, one set per partition."""

    centers: tuple[Floats, ...]

    @classmethod
    def of(
        cls,
        rows: Blocks,
        weight: Any,
        n_clusters: list[int],
        rng: np.random.Generator,
        init: str = "k-means++",
    ) -> "Quantisers":
        """One run of k-means per partition, each from a start of its own; init may be "random"."""
        found = []
        improve = one_of_many(rows.n_samples, _LEAST_FALL)
        with one_blas_thread():
            for k, child in zip(n_clusters, rng.spawn(len(n_clusters)), strict=True):
                start = np.empty((0, rows.n_features))
                if init == "random":
                    start = random_rows(rows, weight, k, child)
                start = plus_plus(rows, weight, start, k, child)
                run = improve(Problem(rows, weight), Theta(start), _MAX_ITER)
                found.append(run.theta.centers)
        return cls(tuple(found))

    @property
    def sizes(self) -> list[int]:
        """The number of clusters of each partition."""
        return [len(centers) for centers in self.centers]

    def assign(self, rows: Blocks) -> NDArray[np.int32]:
        """The cluster of each row in each partition, (n, V)."""
        out = np.empty((rows.n_samples, len(self.centers)), dtype=np.int32)
        for v, centers in enumerate(self.centers):
            state = State.new(rows)
            assign(Problem(rows), Theta(centers), state)
            out[:, v] = state.labels
        return out


def first_columns(sizes: list[int]) -> Ints:
    """Where the clusters of each partition begin among the columns of all, and their number."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def with_partitions(said: LabelTable, members: NDArray[np.int32], sizes: list[int]) -> LabelTable:
    """A table in which partitions are vocabularies before those of the labels, of weight 1."""
    first = first_columns(sizes)
    n_old, n_new = said.n_columns, int(first[-1])
    row, partition = np.nonzero(members >= 0)
    entry = first[partition] + members[row, partition]
    negative = said.entry >= n_old
    told = said.entry + n_new + np.where(negative, n_new, 0)  # "is not c" stands after all "is c"
    rows = np.concatenate([row, said.row_of_entry])
    entries = np.concatenate([entry, told])
    weight = np.concatenate([np.ones(len(row)), said.weight])
    order = np.lexsort((entries, rows))
    stated, start = np.unique(rows[order], return_index=True)
    weight = weight[order]
    filled = np.flatnonzero(np.diff(first))
    names = [(f"partition {v}", c) for v, size in enumerate(sizes) for c in range(size)]
    per_row = np.add.reduceat(weight, start) if len(start) else np.zeros(1)
    return LabelTable(
        stated,
        np.append(start, len(order)).astype(np.int64),
        entries[order],
        weight,
        np.concatenate(
            [
                np.repeat(np.arange(len(filled)), np.diff(first)[filled]),
                said.vocabulary + len(filled),
            ]
        ).astype(np.int64),
        np.concatenate([first[filled], said.first_column + n_new]).astype(np.int64),
        float(per_row.max()),
        names + list(said.column_names),
    )


def one_hot_rows(table: LabelTable, n_samples: int) -> Any:
    """Rows with a 1 in the column of every positive entry: what starts are drawn from."""
    positive = table.entry < table.n_columns
    row, column = table.row_of_entry[positive], table.entry[positive]
    ones = sparse.coo_array(
        (np.ones(len(row)), (row, column)), shape=(n_samples, max(table.n_columns, 1))
    ).tocsr()
    ones.data[:] = 1.0  # a label that is repeated is one
    ones.indices = ones.indices.astype(np.int32)
    return ones
