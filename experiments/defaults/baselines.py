"""Base lines that scikit-learn lacks, for tables of at most some thousand rows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STARTS = 10
_SWEEPS = 100
_MOST_CLUSTERS = 20


def kmeans_by_silhouette(X: Floats, side: SideInformation, k: int | None, seed: int) -> Ints:
    """KMeans with 2 to 20 clusters, the number with the best silhouette: without statements.

    What people do who do not know the number. The seed is fixed, so that all settings of a table
    share one computation.
    """
    return _by_silhouette(X.tobytes(), X.shape)


@lru_cache(maxsize=2)
def _by_silhouette(data: bytes, shape: tuple[int, int]) -> Ints:
    X = np.frombuffer(data).reshape(shape)
    most = min(_MOST_CLUSTERS, len(X) - 1)
    found = [KMeans(k, n_init=10, random_state=0).fit_predict(X) for k in range(2, most + 1)]
    best: Ints = max(found, key=lambda labels: float(silhouette_score(X, labels)))
    return best


def seeded_kmeans(X: Floats, side: SideInformation, k: int | None, seed: int) -> Ints:
    """Constrained k-means (Basu et al. 2002): begun at the class means, labelled rows are held.

    Classes that nobody labelled start at rows that are drawn as by k-means++; best of ten.
    """
    y = side.labels
    known = y >= 0
    classes, held = np.unique(y[known], return_inverse=True)
    seeds = np.array([X[known][held == c].mean(axis=0) for c in range(len(classes))])
    rng = np.random.default_rng(seed)
    n_clusters = max(k or 0, len(classes))
    best: tuple[float, Ints] | None = None
    for _ in range(_STARTS if n_clusters > len(classes) else 1):
        centers = seeds
        while len(centers) < n_clusters:
            share = cdist(X, centers, "sqeuclidean").min(axis=1)
            centers = np.vstack([centers, X[rng.choice(len(X), p=share / share.sum())]])
        cost, labels = _held_lloyd(X, centers, known, held)
        if best is None or cost < best[0]:
            best = cost, labels
    assert best is not None
    return best[1]


def _held_lloyd(
    X: Floats, centers: Floats, known: NDArray[np.bool_], held: Ints
) -> tuple[float, Ints]:
    """Lloyd's iterations in which the known rows stay where they are."""
    labels = np.full(len(X), -1)
    for _ in range(_SWEEPS):
        distances = cdist(X, centers, "sqeuclidean")
        moved = distances.argmin(axis=1)
        moved[known] = held
        if (moved == labels).all():
            break
        labels = moved
        filled = np.unique(labels)
        centers = centers.copy()
        centers[filled] = [X[labels == c].mean(axis=0) for c in filled]
    return float(distances[np.arange(len(X)), labels].sum()), labels
