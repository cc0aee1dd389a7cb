"""Large and sparse data: how many rows the committee is fitted to, and fewer columns."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

ANNOTATED_ROWS = 10_000
RANDOM_ROWS = 5_000
_DENSE_COLUMNS = 256
_PROJECTED = 100


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
