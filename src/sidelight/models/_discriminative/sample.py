"""Large and sparse data: how many rows the committee is fitted to, and fewer columns."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from sidelight.models._fitting import is_small
from sidelight.side import SideInformation

_ANNOTATED_ROWS = 10_000
_RANDOM_ROWS = 5_000
MOST_ROWS = _ANNOTATED_ROWS + _RANDOM_ROWS  # that J sees or, by the weight of each row, stands for
# Above 6,000 rows the committee is fitted to so many, of them at least so many not annotated. With
# 5,000 in place of 7,500 ten Gaussians were .016 ARI below the search of all rows with pairs, and
# pendigits .005 with labels (two or three draws of five data sets).
_ROWS, _LEAST_RANDOM = 7_500, 2_500
_DENSE_COLUMNS = 256
_PROJECTED = 100


def sizes(side: SideInformation, n_samples: int) -> tuple[int, int]:
    """The most annotated and other rows that the committee is fitted to."""
    if is_small(n_samples):
        return _ANNOTATED_ROWS, _RANDOM_ROWS
    n_annotated = min(_ANNOTATED_ROWS, len(side.annotated_rows))
    return n_annotated, max(_ROWS - n_annotated, _LEAST_RANDOM)


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
