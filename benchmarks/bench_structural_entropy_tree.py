"""StructuralEntropyTree beside the building of its graph, and dendrogram purity beside the tree.

Ten Gaussians in 16 dimensions, 5 neighbours by the cosine, n/10 correct pairs. To be kept: a
whole fit takes at most five times the building of the graph, and the purity of its tree at most as
long as the tree. A chain, the deepest tree there is, is a case of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs
from sidelight.side import SideInformation, sample_pairs
from sidelight.tree import ClusterTree

D, K, NEIGHBORS = 16, 10, 5
LARGE = 100_000


class Rows(NamedTuple):
    """What every call takes."""

    X: np.ndarray
    y: np.ndarray
    side: SideInformation
    tree: ClusterTree | None = None


def gaussians(n: int) -> Rows:
    sample = make_blobs(n, D, K, random_state=0)
    X = (sample.X - sample.X.mean(axis=0)) / sample.X.std(axis=0)
    return Rows(X, sample.y, sample_pairs(sample.y, n // 10, random_state=0))


def graph(data: Rows, seed: int) -> Any:
    from sidelight.graph import neighbor_graph

    return neighbor_graph(data.X, NEIGHBORS, affinity="cosine", random_state=seed)


def fit(data: Rows, seed: int) -> Any:
    from sidelight.models import StructuralEntropyTree

    return StructuralEntropyTree(n_neighbors=NEIGHBORS, random_state=seed).fit(
        data.X, side=data.side
    )


def with_tree(n: int) -> Rows:
    data = gaussians(n)
    return data._replace(tree=fit(data, 0).binary_tree_)


def purity(data: Rows, seed: int) -> Any:
    from sidelight.metrics import dendrogram_purity

    return dendrogram_purity(data.tree, data.y)


def chain(n: int) -> ClusterTree:
    parent = np.concatenate([np.r_[n, np.arange(n, 2 * n - 1)], np.arange(n + 1, 2 * n - 1), [-1]])
    heights = np.concatenate([np.zeros(n), np.log2(np.arange(2.0, n + 1))])
    return ClusterTree(parent, heights, n)


def linkage_and_purity(tree: ClusterTree, seed: int) -> Any:
    from sidelight.metrics import dendrogram_purity

    return tree.to_linkage(), dendrogram_purity(tree, np.arange(tree.n_leaves) % K)


def sort_rows(tree: ClusterTree, seed: int) -> Any:
    return np.sort(np.random.default_rng(seed).random((tree.n_leaves, 16)), axis=0)


CASES = [
    Case(
        "fit, beside building its graph",
        data=gaussians,
        run=fit,
        baseline=graph,
        sizes=(10_000, LARGE),
        warm_up_rows=25_000,  # neighbours are approximate beyond 20,000: other kernels
        time_limit=600.0,
        targets=tuple(Target("ratio", 5.0, LARGE, t) for t in ("one", "all")),
    ),
    Case(
        "dendrogram purity, beside fitting the tree",
        data=with_tree,
        run=purity,
        baseline=fit,
        sizes=(LARGE,),
        time_limit=900.0,
        memory=False,
        targets=(Target("ratio", 1.0, LARGE),),
    ),
    Case(
        "linkage and purity of a chain, beside sorting 16 columns",
        data=chain,
        run=linkage_and_purity,
        baseline=sort_rows,
        sizes=(10_000, LARGE),
    ),
]
