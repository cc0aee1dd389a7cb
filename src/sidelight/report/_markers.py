"""Features that set clusters apart, by a rank test: for the genes of cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sidelight.exceptions import DataError

# Entries of the matrix that are ranked at a time: their sort takes some hundred megabytes.
_ENTRIES = 4_000_000


def rank_features(
    X: Any, labels: ArrayLike, names: Sequence[str], *, n: int = 5
) -> list[list[dict[str, Any]]]:
    """For each cluster the features that are higher in it than in all other rows.

    Features are ordered by Wilcoxon's rank sum test (Mann and Whitney's), with ties. It asks for
    an order only, so counts, logarithms and scaled values give the same answer.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Such as the expression of genes.
    labels : array of shape (n_samples,)
        The clusters.
    names : sequence of str
        The features.
    n : int, default=5
        How many to give for each cluster.

    Returns
    -------
    list of list of dict
        For each cluster, the clearest first: ``feature``, ``auc`` (how often a row of the cluster
        has a higher value than another row, ties counting half), ``z`` (the test statistic),
        ``inside`` and ``outside`` (the shares of rows with a value above zero). Features that are
        not higher (z below 2) are left out.

    Examples
    --------
    >>> X = [[5.0, 0.0], [4.0, 1.0], [6.0, 0.0], [5.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    >>> found = rank_features(X, [0, 0, 0, 0, 1, 1, 1], ["CD3", "CD8"])
    >>> found[0][0]["feature"], found[0][0]["auc"]
    ('CD3', 1.0)
    """
    columns = sparse.csc_array(X, dtype=np.float64)
    columns.eliminate_zeros()
    labels = np.asarray(labels)
    if columns.shape != (len(labels), len(names)):
        raise DataError(
            f"X has shape {columns.shape}; {len(labels)} labels and {len(names)} names need "
            f"{(len(labels), len(names))}."
        )
    sizes = np.bincount(labels).astype(np.float64)
    n_features = len(names)
    sums = np.zeros((n_features, len(sizes)))
    above = np.zeros((n_features, len(sizes)))
    ties = np.zeros(n_features)
    start = 0
    while start < n_features:
        last = int(np.searchsorted(columns.indptr, columns.indptr[start] + _ENTRIES, "right")) - 1
        stop = min(max(last, start + 1), n_features)
        part = columns[:, start:stop]
        sums[start:stop], above[start:stop], ties[start:stop] = _rank_sums(part, labels, sizes)
        start = stop
    n_rows = float(len(labels))
    others = np.maximum(n_rows - sizes, 1)
    wins = sums - sizes * (sizes + 1) / 2
    auc = wins / np.maximum(sizes * others, 1)
    spread = n_rows + 1 - ties / max(n_rows * (n_rows - 1), 1)
    deviation = np.sqrt(np.maximum(sizes * others / 12 * spread[:, None], 1e-300))
    z = np.where(spread[:, None] > 0, (wins - sizes * others / 2) / deviation, 0.0)
    z[:, n_rows == sizes] = 0.0
    inside = above / np.maximum(sizes, 1)
    outside = (above.sum(axis=1, keepdims=True) - above) / others
    return [
        [
            {
                "feature": str(names[f]),
                "auc": float(auc[f, k]),
                "z": float(z[f, k]),
                "inside": float(inside[f, k]),
                "outside": float(outside[f, k]),
            }
            for f in np.lexsort((-auc[:, k], -z[:, k]))[:n].tolist()
            if z[f, k] >= 2
        ]
        for k in range(len(sizes))
    ]


def _rank_sums(
    columns: Any, labels: NDArray[Any], sizes: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Sums of ranks by feature and cluster, rows above zero, and Σ t³ − t over ties.

    Only entries are sorted: all zeros of a column share one rank.
    """
    n_rows, n_features = columns.shape
    n_clusters = len(sizes)
    feature = np.repeat(np.arange(n_features), np.diff(columns.indptr))
    value, cluster = columns.data, labels[columns.indices]
    order = np.lexsort((value, feature))
    feature, value, cluster = feature[order], value[order], cluster[order]
    entries = np.diff(columns.indptr)
    negative = np.bincount(feature[value < 0], minlength=n_features)
    zeros = n_rows - entries
    # Ties: runs of one value in one feature have the mean of their places.
    new = np.ones(len(value), dtype=bool)
    new[1:] = (feature[1:] != feature[:-1]) | (value[1:] != value[:-1])
    run = np.cumsum(new) - 1
    length = np.bincount(run) if len(run) else np.zeros(0, dtype=np.int64)
    first = np.flatnonzero(new)
    place = first - columns.indptr[feature[first]]  # from 0, among the entries of the feature
    middle = place + (length + 1) / 2 + np.where(value[first] > 0, zeros[feature[first]], 0)
    key = feature * n_clusters + cluster
    size = n_features * n_clusters
    told = np.bincount(key, middle[run], minlength=size).reshape(n_features, n_clusters)
    counts = np.bincount(key, minlength=size).reshape(n_features, n_clusters)
    above = np.bincount(key, value > 0, minlength=size).reshape(n_features, n_clusters)
    sums = told + (sizes - counts) * (negative + (zeros + 1) / 2)[:, None]
    ties = np.bincount(feature[first], length**3.0 - length, minlength=n_features)
    return sums, above, ties + zeros**3.0 - zeros
