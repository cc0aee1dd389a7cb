"""Pairs as people hold them, in lists, arrays and graphs, as columns of a table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.exceptions import SideInformationError
from sidelight.side._names import as_column
from sidelight.side._statements import Ints


def pair_columns(pairs: Any, kind: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two columns of a list of pairs, which may hold positions or ids."""
    nothing: Ints = np.empty(0, dtype=np.int64)
    listed: list[Any]
    if pairs is None:
        return nothing, nothing
    if hasattr(pairs, "__array__"):  # an array, or a data frame of two columns
        table = np.asarray(pairs)
        if table.ndim == 2 and table.shape[1] == 2:
            return table[:, 0], table[:, 1]
        listed = [None] * table.size
    else:
        listed = list(pairs)
    if not listed:
        return nothing, nothing
    try:
        rows = list(map(tuple, listed))
    except TypeError:  # numbers where pairs should be
        rows = []
    if set(map(len, rows)) != {2} or str in set(map(type, listed)):  # "ab" is no pair of a and b
        raise SideInformationError(
            f"{kind} is {pairs!r:.60}; give a list of pairs [(i, j), ...], or two columns."
        )
    first, second = zip(*rows, strict=True)
    return _row_column(first), _row_column(second)


def _row_column(rows: tuple[Any, ...]) -> NDArray[Any]:
    column = as_column(rows)
    if not set(map(type, rows)) <= {int, np.int64, np.int32}:
        return column
    try:
        return column.astype(np.int64)
    except OverflowError:  # the gate will say that there is no such row
        return column


def concatenate(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """One column after the other, numbers staying numbers and texts texts."""
    if not len(first) or not len(second):
        return first if len(first) else second
    if first.dtype.kind != second.dtype.kind:  # numpy would make texts of numbers
        first, second = first.astype(object), second.astype(object)
    return np.concatenate([first, second])


def graph_edges(graph: Any, kind: str) -> tuple[Ints, Ints, NDArray[np.float64], int | None]:
    """Each pair of a symmetric or triangular graph once; a diagonal entry counts half."""
    if graph is None:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, np.empty(0), None
    try:
        matrix = sparse.csr_array(graph, dtype=np.float64, copy=True)  # changed in place below
    except (TypeError, ValueError) as error:
        raise SideInformationError(
            f"the {kind} graph is not a matrix of numbers ({error}); "
            "give a sparse matrix or an array with a row and a column for each row of the data."
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise SideInformationError(
            f"the {kind} graph has shape {matrix.shape}; it has to be square."
        )
    matrix.eliminate_zeros()
    upper, lower = sparse.triu(matrix, k=1), sparse.tril(matrix, k=-1)
    if upper.nnz and lower.nnz and abs(upper - lower.T).max() > 0:
        raise SideInformationError(
            f"the {kind} graph is not symmetric; give A[i, j] == A[j, i], or one triangle only."
        )
    half = (upper if upper.nnz else lower.T).tocoo()
    diagonal = matrix.diagonal()
    own = np.flatnonzero(diagonal)
    rows = np.concatenate([half.row, own]).astype(np.int64)
    columns = np.concatenate([half.col, own]).astype(np.int64)
    return rows, columns, np.concatenate([half.data, diagonal[own] / 2]), matrix.shape[0]
