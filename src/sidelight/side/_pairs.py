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
    if pairs is None or len(pairs) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if not isinstance(pairs, np.ndarray):
        pairs = list(map(tuple, pairs))
        if {len(pair) for pair in pairs} == {2}:
            first, second = zip(*pairs, strict=True)
            return _row_column(first), _row_column(second)
    pairs = np.asarray(pairs) if isinstance(pairs, np.ndarray) else np.empty((0, 0))
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise SideInformationError(f"{kind} is a list of pairs (i, j), or an array of two columns.")
    return pairs[:, 0], pairs[:, 1]


def _row_column(rows: tuple[Any, ...]) -> NDArray[Any]:
    column = as_column(rows)
    kinds = set(map(type, rows))
    return column.astype(np.int64) if kinds <= {int, np.int64, np.int32} else column


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
    matrix = sparse.csr_array(graph, dtype=np.float64)
    if matrix.shape[0] != matrix.shape[1]:
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
