"""Large and sparse data: which rows the committee is fitted to, and fewer columns."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from sidelight.side import LABEL, SideInformation

Ints = NDArray[np.int64]

ANNOTATED_ROWS = 10_000
RANDOM_ROWS = 5_000
_PER_CLASS = 50  # labels of a class that come first
_DENSE_COLUMNS = 256
_PROJECTED = 100


def fitted_rows(
    side: SideInformation,
    n_samples: int,
    rng: np.random.Generator,
    most_annotated: int = ANNOTATED_ROWS,
    most_others: int = RANDOM_ROWS,
) -> Ints | None:
    """The rows that the committee is fitted to, sorted; None for all.

    Of many rows, annotated ones first, statement by statement in a random order (so that pairs stay
    whole), the first labels of each class before others; then random rows.
    """
    if n_samples <= most_annotated + most_others:
        return None
    said = side.statements
    turn = rng.permutation(len(said.kind))
    turn = turn[said.binding[turn]]
    turn = turn[np.argsort(_late(said.kind[turn] == LABEL, said.class_code[turn]), kind="stable")]
    row = np.column_stack([said.i[turn], np.where(said.j[turn] < 0, said.i[turn], said.j[turn])])
    _, first = np.unique(row.ravel(), return_index=True)
    n_before = np.cumsum(np.bincount(first // 2, minlength=len(turn)))  # rows up to a statement
    annotated = np.unique(row[n_before <= most_annotated])
    drawn = min(n_samples, 2 * most_others + len(annotated))
    others = rng.choice(n_samples, drawn, replace=False)
    others = others[~np.isin(others, annotated)][:most_others]
    return np.sort(np.concatenate([annotated, others]))


def _late(is_label: NDArray[np.bool_], class_code: Ints) -> NDArray[np.bool_]:
    """Whether a statement comes after the first labels of its class."""
    late = np.ones(len(is_label), dtype=bool)
    label = np.flatnonzero(is_label)
    order = label[np.argsort(class_code[label], kind="stable")]
    counts = np.bincount(class_code[order]) if len(order) else np.empty(0, dtype=np.int64)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    late[order[place < _PER_CLASS]] = False
    return late


class Projection(NamedTuple):
    """Sparse rows as dense ones: as they are, or by their leading singular vectors."""

    n_columns: int
    vectors: NDArray[Any] | None

    def __call__(self, X: Any) -> NDArray[Any]:
        """Dense rows."""
        if self.vectors is None:
            return np.asarray(X.toarray() if sparse.issparse(X) else X)
        return np.asarray(X @ self.vectors)


def fit_projection(X: Any, seed: int) -> Projection:
    """All columns if they are few, else 100 singular vectors."""
    n, d = X.shape
    if d <= _DENSE_COLUMNS or n <= _PROJECTED:
        return Projection(d, None)
    svd = TruncatedSVD(_PROJECTED, random_state=seed % 2**32).fit(X)
    return Projection(d, np.ascontiguousarray(svd.components_.T, dtype=X.dtype))
