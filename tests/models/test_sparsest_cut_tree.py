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


# DP, ARI and NMI. Ten of the twelve are those printed in Table 3 of the paper on structural entropy
# with constraints; printed are also 84.9 for the first of wine (see below), and 33.1 for the second
# of heart: what the same Fiedler vector gives if it is cut three rows further.
FIGURES = {
    "wine": (85.5, 76.9, 77.1),
    "heart": (70.1, 34.0, 29.2),
    "breast_libsvm": (95.7, 88.6, 81.6),
    "australian": (54.9, -0.8, 1.2),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_those_of_the_paper_but_for_two(name):
    try:
        data = load(name, None if name == "breast_libsvm" else "sse")
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    model = SparsestCutTree.as_published(n_clusters=len(data.class_names), random_state=0)
    model.fit(data.X)
    found = (
        100 * dendrogram_purity(model.tree_, data.y),
        100 * adjusted_rand(data.y, model.labels_),
        100 * normalized_mutual_info(data.y, model.labels_),
    )
    assert_allclose(found, FIGURES[name], atol=0.5)


def test_the_printed_purity_of_wine_is_that_of_any_bipartition(monkeypatch):
    """The published program takes a bipartition by the numbers of the parts, which are random."""
    data = load("wine", "sse")
    purity = []
    for apart in range(3):

        def cut(between, size, apart=apart):
            return np.arange(len(size)) == (apart if len(size) == 3 else 0)

        monkeypatch.setattr("sidelight.models._graph.cut_tree.sparsest_cut", cut)
        model = SparsestCutTree.as_published(n_clusters=3, random_state=0).fit(data.X)
        purity.append(100 * dendrogram_purity(model.tree_, data.y))
    assert max(purity) - min(purity) > 1.0
    assert_allclose(np.mean(purity), 84.87, atol=0.5)
