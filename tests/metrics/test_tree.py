"""Dendrogram purity against the listing of all pairs, in all forms of tree."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering

from sidelight.exceptions import DataError
from sidelight.metrics import dendrogram_purity


def by_all_pairs(parent, y) -> float:
    """The definition: walk up from both rows of every pair of one class."""

    def path(node):
        nodes = [node]
        while parent[nodes[-1]] >= 0:
            nodes.append(parent[nodes[-1]])
        return nodes

    paths = [path(row) for row in range(len(y))]
    purities = []
    for i, j in itertools.combinations(range(len(y)), 2):
        if y[i] == y[j]:
            ancestor = next(node for node in paths[i] if node in paths[j])
            leaves = [row for row in range(len(y)) if ancestor in paths[row]]
            purities.append(np.mean([y[row] == y[i] for row in leaves]))
    return float(np.mean(purities)) if purities else 1.0


@st.composite
def trees(draw):
    """Any rooted tree whose leaves are the first nodes, and classes for them."""
    n = draw(st.integers(2, 14))
    roots, parent = list(range(n)), {}
    while len(roots) > 1:
        size = draw(st.integers(2, min(4, len(roots))))
        chosen = draw(st.permutations(roots))[:size]
        node = n + len(set(parent.values()))
        parent.update(dict.fromkeys(chosen, node))
        roots = [root for root in roots if root not in chosen] + [node]
    parents = np.array([parent.get(node, -1) for node in range(max(parent) + 2)])
    last = max(parent.values())
    parents = parents[: last + 1]
    return parents, draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))


@given(trees())
def test_class_counts_give_the_mean_over_all_pairs(tree):
    parent, y = tree
    assert dendrogram_purity(parent, y) == pytest.approx(by_all_pairs(parent, y))


def test_linkage_children_and_parents_of_one_tree_agree():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.integers(3, size=40)
    Z = linkage(X, "average")
    children = Z[:, :2].astype(int)
    parent = np.full(79, -1)
    parent[children.ravel()] = np.repeat(np.arange(40, 79), 2)
    expected = by_all_pairs(parent, y)
    assert dendrogram_purity(Z, y) == pytest.approx(expected)
    assert dendrogram_purity(children, y) == pytest.approx(expected)
    assert dendrogram_purity(parent, y) == pytest.approx(expected)


def test_the_order_in_which_nodes_are_numbered_does_not_matter():
    parent = [6, 5, 5, 6, -1, 4, 4]  # the root is node 4, not the last
    assert dendrogram_purity(parent, [0, 1, 1, 0]) == 1
    assert dendrogram_purity(parent, [0, 1, 0, 1]) == 0.5


def test_scikit_learns_children_are_taken():
    X, y = np.array([[0.0], [0.1], [5.0], [5.2]]), ["a", "a", "b", "b"]
    model = AgglomerativeClustering(n_clusters=None, distance_threshold=0).fit(X)
    assert dendrogram_purity(model.children_, y) == 1


@pytest.mark.parametrize("n", [2, 3, 1000, 30_000])
def test_a_tree_as_deep_as_it_has_rows_needs_no_recursion(n):
    # rows join one by one; with the first half in one class, all its pairs are pure
    children = np.column_stack([np.arange(1, n), np.r_[0, np.arange(n, 2 * n - 2)]])
    y = np.arange(n) >= n // 2
    first, second = n // 2, n - n // 2
    # the k-th row of the second class joins k - 1 pairs in a node of first + k rows
    k = np.arange(1, second + 1)
    second_sum = np.sum((k - 1) * k / (first + k))
    pairs = first * (first - 1) / 2 + second * (second - 1) / 2
    expected = (first * (first - 1) / 2 + second_sum) / pairs if pairs else 1
    assert dendrogram_purity(children, y) == pytest.approx(expected)


def test_classes_of_single_rows_have_no_pair_to_tear_apart():
    assert dendrogram_purity([[0, 1], [2, 3]], ["a", "b", "c"]) == 1


def test_one_row_is_a_tree():
    assert dendrogram_purity(np.empty((0, 2), dtype=int), ["a"]) == 1
    assert dendrogram_purity([-1], ["a"]) == 1


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([[0, 1]], "1 merges for 3 rows"),
        ([[0, 1], [0, 2]], "exactly once"),
        ([[0, 1], [2, 4]], "exactly once"),
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        ([0.5, 1.5, 2.5], "integers"),
        ([["0", "1"], ["2", "3"]], "node numbers"),
        ([3, 3, 3], "3 nodes for 3 rows"),
        ([3, 3, 0, -1], "row 0 is a parent"),
        ([3, 3, 3, -1, 3], "node 4 has no children"),
        ([3, 3, 4, -1, -1], "2 roots"),
        ([3, 3, 4, 5, 5, -1, 7, 6], "cycle"),
        ([3, 3, 4, 9, -1], "below 5"),
    ],
)
def test_what_is_no_tree_is_refused(tree, message):
    with pytest.raises(DataError, match=message):
        dendrogram_purity(tree, [0, 0, 1])
