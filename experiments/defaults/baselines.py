"""Two base lines that scikit-learn lacks, for tables of at most some thousand rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

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


def constraint_propagation(X: Floats, side: SideInformation, k: int | None, seed: int) -> Ints:
    """Exhaustive and efficient constraint propagation (Lu and Ip 2010), then spectral clustering.

    F = (1 - a)² (I - a S)^-1 Z (I - a S)^-1, with Z = ±1 for the stated pairs, raises or lowers the
    weights of the graph: 1 - (1 - F)(1 - W) where F is positive, (1 + F) W elsewhere.
    """
    W = _graph(X)
    stated = side.to_pairs()
    Z = np.zeros_like(W)
    for kind, sign in (("must", 1.0), ("cannot", -1.0)):
        i, j = stated[kind].T
        Z[i, j] = Z[j, i] = sign
    if Z.any():
        alpha = 0.8
        inverse = np.linalg.inv(np.eye(len(X)) - alpha * _normalised(W))
        F = inverse @ Z @ inverse
        F /= np.abs(F).max()
        W = np.where(F >= 0, 1 - (1 - F) * (1 - W), (1 + F) * W)
        np.fill_diagonal(W, 0.0)
    vectors = np.linalg.eigh(_normalised(W))[1][:, -(k or 2) :]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found: Ints = KMeans(k, n_init=10, random_state=seed).fit_predict(vectors)
    return found


def _graph(X: Floats, n_neighbors: int = 10) -> Floats:
    """Neighbours with locally scaled weights, dense."""
    n_neighbors = min(n_neighbors, len(X) - 1)
    distances, near = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors()
    scale = np.maximum(distances[:, min(7, n_neighbors) - 1], 1e-12)
    W = np.zeros((len(X), len(X)))
    rows = np.arange(len(X))[:, None]
    W[rows, near] = np.exp(-(distances**2) / (scale[:, None] * scale[near]))
    return np.maximum(W, W.T)


def _normalised(W: Floats) -> Floats:
    root = np.sqrt(np.maximum(W.sum(axis=1), 1e-12))
    return W / root[:, None] / root
