"""The tree of sparsest cuts: cuts and cost against brute force, halves, the printed figures."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sidelight import SideInformation, SparsestCutTree
from sidelight.datasets import load
from sidelight.exceptions import DatasetNotFoundError, UnsupportedStatementError
from sidelight.graph import neighbor_graph
from sidelight.metrics import adjusted_rand, dendrogram_purity, normalized_mutual_info
from sidelight.models._graph.cut_tree import (
    cut_tree,
    dasgupta_cost,
    fiedler_order,
    sparsest_cut,
    split_by_degree,
)


def blobs(n=90, k=3, seed=0, spread=6.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 3)) + spread * rng.normal(size=(k, 3))[y], y


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_cut_is_the_sparsest_of_all(n, seed):
    rng = np.random.default_rng(seed)
    W = rng.random((n, n))
    W = np.triu(W, 1) + np.triu(W, 1).T
    size = rng.integers(1, 9, n).astype(float)

    def sparsity(half):
        half = np.array(half)
        return W[half][:, ~half].sum() / (size[half].sum() * size[~half].sum())

    best = min(sparsity(h) for h in product([True, False], repeat=n) if any(h) and not all(h))
    found = sparsest_cut(W, size)
    assert found[0]
    assert not found.all()
    assert_allclose(sparsity(found), best)


def test_many_parts_are_cut_along_their_fiedler_vector():
    part = np.arange(20) % 2
    W = np.where(part[:, None] == part, 1.0, 0.01)
    np.fill_diagonal(W, 0.0)
    assert_array_equal(sparsest_cut(W, np.ones(20)), part == 0)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 33])
def test_inside_a_part_rows_are_halved_again_and_again(n):
    rng = np.random.default_rng(n)
    W = sparse.csr_array(np.triu(rng.random((n, n)), 1))
    W = sparse.csr_array(W + W.T)
    tree = cut_tree(W, np.zeros(n, dtype=np.int64))
    assert tree.n_leaves == n
    order = fiedler_order(W, np.arange(n))

    def check(node, rows):
        leaves = np.flatnonzero([node in _above(tree, row) for row in range(n)])
        assert set(leaves) == set(rows)
        if len(rows) > 1:
            halves = {frozenset(rows[: len(rows) // 2]), frozenset(rows[len(rows) // 2 :])}
            below = [
                frozenset(row for row in range(n) if child in _above(tree, row))
                for child in tree.children_of(node)
            ]
            assert set(below) == halves
            for child, own in zip(tree.children_of(node), below, strict=True):
                check(child, [row for row in rows if row in own])

    if n > 1:
        check(tree.n_nodes - 1, order.tolist())


def _above(tree, node):
    path = [node]
    while tree.parent[path[-1]] >= 0:
        path.append(tree.parent[path[-1]])
    return path


def test_the_cost_is_dasguptas():
    X, _ = blobs(24)
    graph = neighbor_graph(X, 4, affinity="local")
    model = SparsestCutTree(3, n_neighbors=4, random_state=0).fit(X)
    W, cost = graph.toarray(), 0.0
    for i in range(24):
        for j in range(i):
            above = next(x for x in _above(model.tree_, i) if x in _above(model.tree_, j))
            cost += W[i, j] * model.tree_.sizes[above]
    expected = cost / (W.sum() / 2 * 24)
    assert_allclose(dasgupta_cost(graph, model.tree_), expected)
    assert_allclose(model.objective_, expected)


def test_rows_of_very_different_degree_are_different_nodes():
    parts, degree = np.array([0, 0, 0, 1, 1]), np.array([1.0, 1.5, 9.0, 2.0, 3.0])
    assert_array_equal(split_by_degree(parts, degree, 2.0), [0, 0, 1, 2, 2])
    assert_array_equal(split_by_degree(parts, degree, 100.0), parts)


def test_clusters_are_nodes_of_the_tree():
    X, y = blobs()
    model = SparsestCutTree(3, random_state=0).fit(X)
    assert adjusted_rand(y, model.labels_) == 1.0
    found = [frozenset(np.flatnonzero(model.labels_ == k)) for k in range(3)]
    nodes = {
        frozenset(np.flatnonzero(labels == k)) for labels in model.tree_.levels() for k in range(91)
    }
    assert set(found) <= nodes
    assert dendrogram_purity(model.tree_, y) == 1.0


def test_labels_name_clusters_and_change_nothing():
    X, y = blobs()
    plain = SparsestCutTree(3, random_state=0).fit(X)
    named = SparsestCutTree(random_state=0).fit(X, np.where(np.arange(90) < 9, y + 5, -1))
    assert adjusted_rand(plain.labels_, named.labels_) == 1.0
    assert_array_equal(named.cluster_names_[named.labels_], y + 5)
    assert_array_equal(named.tree_.parent, plain.tree_.parent)
    with pytest.raises(UnsupportedStatementError, match="Statements change nothing"):
        named.fit(X, side=SideInformation.from_pairs(must=[(0, 1)], n_samples=90))


# DP, ARI and NMI as printed in Table 3 of the paper on structural entropy with constraints. The
# purity of wine depends on which of the three parts k-means calls the first one: see below.
FIGURES = {
    "wine": (None, 76.94, 77.10),
    "heart": (70.13, 33.13, 29.23),
    "breast_libsvm": (95.68, 88.55, 81.57),
    "australian": (54.92, -0.78, 1.21),
}


def _published(name, seed=0, **changes):
    try:
        data = load(name, None if name == "breast_libsvm" else "sse")
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    n_clusters = len(data.class_names)
    model = SparsestCutTree.as_published(n_clusters=n_clusters, random_state=seed, **changes)
    model.fit(data.X)
    return (
        100 * dendrogram_purity(model.tree_, data.y),
        100 * adjusted_rand(data.y, model.labels_),
        100 * normalized_mutual_info(data.y, model.labels_),
    )


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_those_of_the_paper(name):
    purity, *partition = _published(name)
    assert_allclose(partition, FIGURES[name][1:], atol=0.01)
    if FIGURES[name][0] is not None:
        # 0.17 on australian: the paper's graph has self-loops, which the purity there shows.
        assert_allclose(purity, FIGURES[name][0], atol=0.2)


def test_the_printed_purity_of_wine_is_the_mean_over_the_order_of_the_parts():
    """The published program cuts off the part that k-means happens to number first."""
    purity = [_published("wine", seed)[0] for seed in range(20)]
    assert len(np.unique(np.round(purity, 6))) == 3
    assert_allclose(np.mean(purity), 84.87, atol=0.5)
    assert_allclose(_published("wine", public_slip=False)[0], max(purity), atol=0.1)


def test_without_the_slip_heart_is_cut_where_k_means_of_the_paper_cuts_it():
    assert_allclose(_published("heart", public_slip=False)[1:], (33.99, 29.35), atol=0.01)
