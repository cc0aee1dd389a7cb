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

    Items of clusters below 2 % of the rows are marked as undecided. They join the cluster that
    they share most with if that too is expected to be better, and stay apart otherwise.
    """
    P = shares(committee)
    real = np.flatnonzero(~committee.items.is_anchor)
    cuts = [consensus(committee, P)[real]]
    if len(real) > 2:
        distance = np.clip(1.0 - P[np.ix_(real, real)], 0.0, None)
        np.fill_diagonal(distance, 0.0)
        tree = linkage(squareform(distance, checks=False), "average")
        most = min(_MOST_CLUSTERS, len(real))
        cuts += [fcluster(tree, k, "maxclust") - 1 for k in range(2, most + 1)]
        cuts += [fcluster(tree, height, "distance") - 1 for height in _HEIGHTS]
    best = cuts[int(np.argmax(expected_ari(committee, cuts)))]
    joined, is_small = absorb(committee, P, best)
    # Annotated items that stand apart for a reason are not pushed back into a cluster.
    if is_small.any() and np.diff(expected_ari(committee, [best, joined]))[0] < 0:
        joined = best
    clusters = np.zeros(len(committee.items.node), dtype=np.int64)
    clusters[real] = joined
    anchors = np.flatnonzero(committee.items.is_anchor)
    if len(anchors):  # a name stands with the rows that share most with it
        member = np.equal.outer(joined, np.unique(joined)) * committee.items.mass[real][:, None]
        clusters[anchors] = np.unique(joined)[((P[np.ix_(anchors, real)] - 0.5) @ member).argmax(1)]
    undecided = np.zeros(len(clusters), dtype=bool)
    undecided[real] = is_small
    kernels.compact(clusters, np.empty(len(clusters) + 1, dtype=np.int64))
    return Shown(clusters, undecided)


def expected_ari(committee: Committee, cuts: list[Any]) -> Floats:
    """Mean over chains of the adjusted Rand index between partitions of real items and theirs."""
    real = ~committee.items.is_anchor
    z = np.ascontiguousarray(committee.z[:, real])
    tried = np.stack(cuts).astype(np.int64)
    width = int(max(tried.max(), z.max())) + 1
    score = np.empty(len(tried))
    kernels.expected_ari(
        tried, z, committee.items.mass[real], committee.weights, score, np.zeros((width, width)),
        np.zeros(width), np.zeros(width),
    )  # fmt: skip
    return score


def absorb(
    committee: Committee, P: NDArray[np.float64], clusters: Ints
) -> tuple[Ints, NDArray[np.bool_]]:
    """Join real items of small clusters to large ones; and which ones they are."""
    real = np.flatnonzero(~committee.items.is_anchor)
    mass = committee.items.mass[real]
    size = np.bincount(clusters, weights=mass)
    large = np.flatnonzero(size >= SMALL * committee.structure.n_rows)
    is_small = ~np.isin(clusters, large)
    if not len(large) or not is_small.any():
        return clusters, is_small & bool(len(large))
    member = np.equal.outer(clusters, large) * mass[:, None]
    score = (P[np.ix_(real, real)] - 0.5) @ member
    return np.where(is_small, large[np.argmax(score, axis=1)], clusters), is_small
