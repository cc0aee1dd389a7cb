"""What is shown: one partition of the items from the chains."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from sidelight._kernels import committee as kernels
from sidelight.query._committee import Committee
from sidelight.query._structure import Floats, Ints

SMALL = 0.02  # share of the rows below which a cluster is not shown as one
_ROUNDS = 10
_HEIGHTS = (0.5, 0.6, 0.7, 0.8, 0.9)
_MOST_CLUSTERS = 30


class Shown(NamedTuple):
    """A cluster for every item, and the items without a majority."""

    clusters: Ints
    undecided: NDArray[np.bool_]


def shares(committee: Committee) -> NDArray[np.float64]:
    """P[s, t]: weighted share of chains that put items s and t together."""
    n = committee.z.shape[1]
    P = np.empty((n, n))
    kernels.comembership(np.ascontiguousarray(committee.z.T), committee.weights, P)
    return P


def consensus(committee: Committee, P: NDArray[np.float64]) -> Ints:
    """The chain nearest to the others, then each item moves to the cluster of its majority."""
    G, _ = committee.spread
    z = committee.z[int(np.argmin(np.diag(G) - 2 * G @ committee.weights))].copy()
    kernels.vote(P, committee.items.mass, _ROUNDS, z, np.empty(len(z)))
    kernels.compact(z, np.empty(len(z) + 1, dtype=np.int64))
    return z


def show(committee: Committee) -> Shown:
    """The partition with the largest expected ARI among the consensus and cuts of a linkage.

    Items of clusters below 2 % of the rows then join the cluster that they share most with, and
    are marked as undecided.
    """
    P = shares(committee)
    real = np.flatnonzero(~committee.items.is_anchor)
    best = consensus(committee, P)
    if len(real) > 2:
        candidates = [best[real]]
        distance = np.clip(1.0 - P[np.ix_(real, real)], 0.0, None)
        np.fill_diagonal(distance, 0.0)
        tree = linkage(squareform(distance, checks=False), "average")
        most = min(_MOST_CLUSTERS, len(real))
        cuts = [fcluster(tree, k, "maxclust") for k in range(2, most + 1)]
        cuts += [fcluster(tree, height, "distance") for height in _HEIGHTS]
        candidates += [cut.astype(np.int64) - 1 for cut in cuts]
        mass, z = committee.items.mass[real], committee.z[:, real]
        score = [expected_ari(cut, z, mass, committee.weights) for cut in candidates]
        winner = candidates[int(np.argmax(score))]
        best = best.copy()
        best[real] = winner
    return absorb(committee, P, best)


def expected_ari(cut: Ints, z: NDArray[np.int64], mass: Floats, weights: Floats) -> float:
    """Mean over chains of the adjusted Rand index between a partition and theirs."""
    n = mass.sum()
    total = n * (n - 1) / 2
    ours = _pairs(np.bincount(cut, weights=mass))
    score = 0.0
    for m in range(len(z)):
        width = z[m].max() + 1
        both = _pairs(np.bincount(cut * width + z[m], weights=mass))
        theirs = _pairs(np.bincount(z[m], weights=mass))
        chance = ours * theirs / total if total else 0.0
        most = (ours + theirs) / 2
        score += weights[m] * ((both - chance) / (most - chance) if most > chance else 1.0)
    return score


def _pairs(size: NDArray[Any]) -> float:
    return float((size * (size - 1)).sum() / 2)


def absorb(committee: Committee, P: NDArray[np.float64], clusters: Ints) -> Shown:
    """Join items of small clusters to large ones; the lot stays as it is if none is large."""
    items = committee.items
    mass = items.mass
    size = np.bincount(clusters, weights=mass)
    large = np.flatnonzero(size >= SMALL * committee.structure.n_rows)
    is_small = ~np.isin(clusters, large)
    if not len(large) or not is_small.any():
        return Shown(_numbered(clusters), is_small & ~items.is_anchor & bool(len(large)))
    member = (clusters[:, None] == large) * mass[:, None]
    score = (P - 0.5) @ member
    joined = np.where(is_small, large[np.argmax(score, axis=1)], clusters)
    return Shown(_numbered(joined), is_small & ~items.is_anchor)


def _numbered(clusters: Ints) -> Ints:
    z = clusters.copy()
    kernels.compact(z, np.empty(int(z.max()) + 1, dtype=np.int64))
    return z
