"""Centres: as kernels take them, and drawn from the rows. For all models that have centres."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import assign as kernels
from sidelight.blocks import BLOCK_ROWS, Block, Blocks, CSRRows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ONES = np.ones(BLOCK_ROWS)


class Centers(NamedTuple):
    """Centres as the kernels take them: padded for dense rows, transposed for sparse ones."""

    padded: Floats
    transposed: Floats
    norms: Floats

    @classmethod
    def of(cls, centers: Floats) -> "Centers":
        """Prepare centres of shape (K, d)."""
        n_clusters, n_features = centers.shape
        padded = np.zeros((n_clusters + n_clusters % 2, n_features + -n_features % 4))
        padded[:n_clusters, :n_features] = centers
        return cls(padded, np.ascontiguousarray(centers.T), (centers**2).sum(axis=1))


def block_weight(weight: Floats | None, block: Block) -> Floats:
    """The weights of a block's rows; None stands for ones, without an array of them."""
    return _ONES[: block.stop - block.start] if weight is None else block.of(weight)


def as_matrix(X: NDArray[Any] | CSRRows, n_features: int) -> Any:
    """The rows of a block as something that can be multiplied."""
    if isinstance(X, CSRRows):
        return sparse.csr_array(tuple(X), shape=(len(X.indptr) - 1, n_features))
    return X


def as_dense(X: Any) -> Floats:
    """A few rows as a dense array in double precision."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def draw(mass: Floats, uniform: Floats) -> Ints:
    """Positions drawn in proportion to mass: the inverse of its running sum, block by block."""
    starts = np.arange(0, len(mass), BLOCK_ROWS)
    ends = np.cumsum(np.add.reduceat(mass, starts))
    drawn = []
    for target in uniform * ends[-1]:
        block = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
        here = mass[starts[block] : starts[block] + BLOCK_ROWS]
        before = ends[block - 1] if block else 0.0
        inside = int(np.searchsorted(np.cumsum(here), target - before, side="right"))
        # Rounding may point past the last row that has any mass.
        drawn.append(starts[block] + min(inside, int(np.flatnonzero(here)[-1])))
    return np.array(drawn, dtype=np.int64)


def random_rows(
    rows: Blocks, weight: Floats | None, n_clusters: int, rng: np.random.Generator
) -> Floats:
    """Centres at different rows, drawn by their weights."""
    mass = np.ones(rows.n_samples) if weight is None else weight.copy()
    drawn: list[int] = []
    for _ in range(min(n_clusters, int((mass > 0).sum()))):
        drawn.append(int(draw(mass, rng.random(1))[0]))
        mass[drawn[-1]] = 0.0
    return as_dense(rows.take(np.array(drawn)))


def plus_plus(
    rows: Blocks,
    weight: Floats | None,
    given: Floats,
    n_clusters: int,
    rng: np.random.Generator,
) -> Floats:
    """Centres by k-means++ until there are ``n_clusters``, the given ones first.

    Each new centre is the best of a few draws, as in scikit-learn: 2 + log(n_clusters) of them.
    """
    n_given = len(given)
    centers = np.zeros((n_clusters, rows.n_features))
    centers[:n_given] = given
    if n_given == n_clusters:
        return centers
    closest = np.full(rows.n_samples, np.inf)
    for k in range(n_given):
        _closest(rows, weight, centers[k : k + 1], closest, keep=True)
    n_trials = 2 + int(np.log(n_clusters))
    for k in range(n_given, n_clusters):
        mass = closest if k else np.ones(rows.n_samples)
        mass = mass if weight is None else mass * weight
        if not mass.any():  # every row is a centre already: any row will do
            mass = np.ones(rows.n_samples) if weight is None else weight
        candidates = as_dense(rows.take(draw(mass, rng.random(n_trials if k else 1))))
        best = _closest(rows, weight, candidates, closest, keep=False).argmin() if k else 0
        centers[k] = candidates[best]
        _closest(rows, weight, centers[k : k + 1], closest, keep=True)
    return centers


def _closest(
    rows: Blocks, weight: Floats | None, centers: Floats, closest: Floats, *, keep: bool
) -> Floats:
    """For each centre the sum of min(closest, squared distance); keep lowers closest to it."""

    def potential(block: Block, prepared: Centers) -> tuple[Floats]:
        out = np.zeros(len(centers))
        w = block_weight(weight, block)
        if isinstance(block.X, CSRRows):
            kernels.closest_csr(
                *block.X, w, prepared.transposed, prepared.norms, keep, block.of(closest), out
            )
        else:
            kernels.closest_dense(block.X, w, prepared.padded, keep, block.of(closest), out)
        return (out,)

    return rows.sum(potential, Centers.of(centers))[0]
