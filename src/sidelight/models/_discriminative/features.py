"""The three blocks of features: the columns themselves, Gaussian kernels, and the neighbour graph.

    X    X                              R    [X, Z], Z: Gaussian kernel by Nystroem's method
    G    leading eigenvectors of the neighbour graph, smooth ones weighing more

Each part is divided by the root of its mean squared row norm, so that one ridge suits all.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.graph import (
    join_neighbors,
    leading_eigenvectors,
    local_scales,
    local_weights,
    nearest_neighbors,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LANDMARKS = 300
_KERNEL_COLUMNS = 100
SAME = 1e-6  # rows at less than this share of a typical length are equal but for rounding
_SPREAD = 0.99  # how far a random walk spreads over the graph before it stops


def unit(block: NDArray[Any]) -> float:
    """The root of the mean squared row norm; 1 where that is 0."""
    size = math.sqrt(float(np.einsum("ij,ij->", block, block, dtype=np.float64)) / len(block))
    return size or 1.0


class Kernel(NamedTuple):
    """A fitted map to kernel columns."""

    landmarks: NDArray[Any]
    gamma: float
    projection: NDArray[Any]
    mean: NDArray[Any]

    @classmethod
    def of(cls, X: NDArray[Any], rng: np.random.Generator) -> "Kernel":
        """Landmarks drawn from the rows, and the leading directions of the kernel among them."""
        n, d = X.shape
        drawn = np.sort(rng.choice(n, min(n, _LANDMARKS), replace=False))
        landmarks = X[drawn]
        gamma = 1.0 / (d * (float(X.var(dtype=np.float64)) or 1.0))
        values, vectors = np.linalg.eigh(_gaussian(landmarks, landmarks, gamma).astype(np.float64))
        root = vectors / np.sqrt(np.maximum(values, 1e-6))
        Z = _gaussian(X, landmarks, gamma) @ root.astype(X.dtype)
        mean = Z.mean(axis=0, dtype=np.float64)
        Z = Z - mean.astype(X.dtype)
        _, leading = np.linalg.eigh((Z.T @ Z).astype(np.float64))
        leading = leading[:, ::-1][:, :_KERNEL_COLUMNS]
        projection = root @ leading
        shift = mean @ leading
        size = unit(Z @ leading.astype(X.dtype))
        return cls(
            landmarks, gamma, (projection / size).astype(X.dtype), (shift / size).astype(X.dtype)
        )

    def __call__(self, X: NDArray[Any]) -> NDArray[Any]:
        """The kernel columns of rows."""
        columns: NDArray[Any] = _gaussian(X, self.landmarks, self.gamma) @ self.projection
        columns -= self.mean
        return columns


def _gaussian(X: NDArray[Any], landmarks: NDArray[Any], gamma: float) -> NDArray[Any]:
    """exp(-gamma d²) of every row and landmark."""
    squared = X @ landmarks.T
    squared *= -2
    squared += np.einsum("ij,ij->i", X, X)[:, None]
    squared += np.einsum("ij,ij->i", landmarks, landmarks)
    np.maximum(squared, 0, out=squared)
    squared *= -gamma
    weights: NDArray[Any] = np.exp(squared, out=squared)
    return weights


class GraphFeatures(NamedTuple):
    """Eigenvector columns of the rows, and for each row the first one equal to it."""

    columns: Floats
    first_twin: Ints


def graph_features(
    X: NDArray[Any], n_clusters: int, seed: int, *, single: bool = False
) -> GraphFeatures:
    """Columns of the leading eigenvectors of the locally scaled neighbour graph.

    single : whether these are found in single precision.
    """
    n = len(X)
    if n < 2:
        return GraphFeatures(np.zeros((n, 1)), np.arange(n))
    found = nearest_neighbors(X, max(10, int(math.log2(n)) + 1), random_state=seed)
    graph, scale = join_neighbors(found), local_scales(found)
    row = np.repeat(np.arange(n), np.diff(graph.indptr))
    graph.data = local_weights(graph.data, scale[row], scale[graph.indices])
    graph.eliminate_zeros()
    columns = _embedding(graph, max(60, n_clusters + 20), single)
    twin = np.arange(n)
    lists = np.diff(found.indptr)
    same = found.distances <= SAME * math.sqrt(X.shape[1])
    np.minimum.at(twin, np.repeat(twin.copy(), lists)[same], found.indices[same])
    return GraphFeatures(columns / unit(columns), twin)


def _embedding(graph: sparse.csr_array, n_vectors: int, single: bool) -> Floats:
    """Eigenvectors 2 … n_vectors of D^-1/2 W D^-1/2 times D^-1/2, smooth ones longer."""
    values, vectors = leading_eigenvectors(graph, n_vectors, single=single)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    inverse = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    smooth = np.sqrt((1 - _SPREAD) / (1 - _SPREAD * np.minimum(values, 1.0)))
    return (vectors * smooth)[:, 1:] * inverse[:, None]
