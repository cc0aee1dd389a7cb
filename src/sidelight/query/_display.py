"""The partition that is shown, from the chains."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from sidelight._kernels import committee as kernels
from sidelight.query._committee import Committee
from sidelight.query._structure import Floats, Ints, effective_number

# Share of the rows below which a cluster is not shown as one; at most half of the mean share, which
# counts from 25 clusters on.
_SMALL, _SMALL_OF_MEAN = 0.02, 0.5
_ROUNDS = 10
_HEIGHTS = (0.5, 0.6, 0.7, 0.8, 0.9)
_MOST_CLUSTERS = 30
# The weight in the shown partition of the chains from before the first answer, times the share of
# answers about pairs. Below a half, so that chains that agree outvote them. It keeps a few pairs
# from breaking up what the data suggest: yeast fell from .22 to .07 at 25 answers without it, and
# six other tables gained .001 in the mean. Names say what belongs together: with them it cost.
_FIRST_SAY = 0.4


def smallest(sizes: NDArray[Any]) -> float:
    """The number of rows that a cluster needs to be shown as one, by the sizes of all."""
    share = min(_SMALL, _SMALL_OF_MEAN / effective_number(sizes))
    return float(share * sizes.sum())


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


def show(committee: Committee, first: Committee | None = None) -> Shown:
    """The partition with the largest expected ARI among the consensus and cuts of a linkage.

    Items of small clusters (see `smallest`) are marked as undecided. They join the cluster that
    they share most with if that too is expected to be better, and stay apart otherwise. ``first``:
    the committee before the first answer, whose consensus is a candidate and whose chains have a
    weight.
    """
    P = shares(committee)
    real = np.flatnonzero(~committee.items.is_anchor)
    cuts = [consensus(committee, P)[real]]
    if len(real) > 2:
        distance = np.clip(1.0 - P[np.ix_(real, real)], 0.0, None)
        np.fill_diagonal(distance, 0.0)
        tree = linkage(squareform(distance, checks=False), "average")
        typical = effective_number(np.bincount(cuts[0], weights=committee.items.mass[real]))
        most = min(max(_MOST_CLUSTERS, int(2 * typical)), len(real))
        cuts += [fcluster(tree, k, "maxclust") - 1 for k in range(2, most + 1)]
        cuts += [fcluster(tree, height, "distance") - 1 for height in _HEIGHTS]
    if first is not None:
        cuts.append(show(first).clusters[_first_items(committee, first)])
    best = cuts[int(np.argmax(expected_ari(committee, cuts, first)))]
    joined, is_small = absorb(committee, P, best)
    # Annotated items that answers have set apart are not moved back into a cluster.
    if is_small.any() and np.diff(expected_ari(committee, [best, joined], first))[0] < 0:
        joined = best
    clusters = np.zeros(len(committee.items.node), dtype=np.int64)
    clusters[real] = joined
    anchors = np.flatnonzero(committee.items.is_anchor)
    if len(anchors):  # an anchor joins the cluster that it shares most with
        member = np.equal.outer(joined, np.unique(joined)) * committee.items.mass[real][:, None]
        clusters[anchors] = np.unique(joined)[((P[np.ix_(anchors, real)] - 0.5) @ member).argmax(1)]
    undecided = np.zeros(len(clusters), dtype=bool)
    undecided[real] = is_small
    kernels.compact(clusters, np.empty(len(clusters) + 1, dtype=np.int64))
    return Shown(clusters, undecided)


def _first_items(committee: Committee, first: Committee) -> Ints:
    """For each real item the item of the first committee that it is a part of."""
    rows = committee.items.medoid[~committee.items.is_anchor]
    return first.items.of_slot[first.structure.row_leaf[rows]]


def _first_say(committee: Committee, first: Committee) -> float:
    """The weight of the chains from before the first answer."""
    answers = committee.facts.is_pair[len(first.facts.i) :]
    return _FIRST_SAY * float(answers.mean()) if len(answers) else _FIRST_SAY


def expected_ari(committee: Committee, cuts: list[Any], first: Committee | None = None) -> Floats:
    """Mean over chains of the adjusted Rand index between partitions of real items and theirs."""
    real = ~committee.items.is_anchor
    z, weights = committee.z[:, real], committee.weights
    if first is not None:
        z = np.vstack([z, first.z[:, _first_items(committee, first)]])
        say = _first_say(committee, first)
        weights = np.append((1.0 - say) * weights, say * first.weights)
    z = np.ascontiguousarray(z)
    tried = np.stack(cuts).astype(np.int64)
    width = int(max(tried.max(), z.max())) + 1
    score = np.empty(len(tried))
    kernels.expected_ari(
        tried, z, committee.items.mass[real], weights, score, np.zeros((width, width)),
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
    large = np.flatnonzero(size >= smallest(size))
    is_small = ~np.isin(clusters, large)
    if not len(large) or not is_small.any():
        return clusters, is_small & bool(len(large))
    member = np.equal.outer(clusters, large) * mass[:, None]
    score = (P[np.ix_(real, real)] - 0.5) @ member
    return np.where(is_small, large[np.argmax(score, axis=1)], clusters), is_small
