"""A base line that scikit-learn lacks, for tables of at most some thousand rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STARTS = 10
_SWEEPS = 100


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
