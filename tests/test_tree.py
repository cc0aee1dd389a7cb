"""ClusterTree: levels, linkage for scipy, and trees as deep as they have rows."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, dendrogram, fcluster, is_valid_linkage

from sidelight.exceptions import DataError
from sidelight.metrics import dendrogram_purity
from sidelight.tree import ClusterTree


def random_tree(seed, n=25):
    """Families of two to five, heights that rise."""
    rng = np.random.default_rng(seed)
    loose, parent, heights = list(range(n)), {}, [0.0] * n
    while len(loose) > 1:
        size = min(len(loose), int(rng.integers(2, 6)))
        chosen = rng.choice(len(loose), size, replace=False)
        new = len(heights)
        for place in sorted(chosen, reverse=True):
            parent[loose.pop(place)] = new
        heights.append(max(heights) + float(rng.integers(2)))
        loose.append(new)
    parents = np.array([parent.get(node, -1) for node in range(len(heights))])
    return ClusterTree(parents, np.array(heights), n)


def lowest_common_height(tree, i, j):
    above = set()
    while i >= 0:
        above.add(i)
        i = tree.parent[i]
    while j not in above:
        j = tree.parent[j]
    return tree.heights[j]


@pytest.mark.parametrize("seed", range(6))
def test_scipy_finds_the_same_heights_in_the_linkage(seed):
    tree = random_tree(seed)
    linkage = tree.to_linkage()
    assert is_valid_linkage(linkage, throw=True)
    i, j = np.triu_indices(tree.n_leaves, 1)
    expected = [lowest_common_height(tree, a, b) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(cophenet(linkage), expected)
    assert sorted(dendrogram(linkage, no_plot=True)["leaves"]) == list(range(tree.n_leaves))


@pytest.mark.parametrize("seed", range(6))
def test_cutting_the_linkage_gives_nodes_of_the_tree(seed):
    tree = random_tree(seed)
    linkage = tree.to_linkage()
    for height in np.unique(tree.heights):
        labels = fcluster(linkage, height, criterion="distance")
        same = labels[:, None] == labels
        expected = [
            [lowest_common_height(tree, a, b) <= height for b in range(tree.n_leaves)]
            for a in range(tree.n_leaves)
        ]
        np.testing.assert_array_equal(same, expected)


def test_linkage_and_parents_have_the_same_purity_if_the_tree_is_binary():
    tree = ClusterTree(np.array([4, 4, 5, 5, 6, 6, -1]), np.array([0, 0, 0, 0, 1.0, 2, 3]), 4)
    y = [0, 1, 1, 1]
    assert dendrogram_purity(tree, y) == pytest.approx(dendrogram_purity(tree.to_linkage(), y))


def test_nodes_with_one_child_pass_on_its_name():
    tree = ClusterTree(np.array([3, 3, 5, 4, 5, -1]), np.array([0, 0, 0, 1.0, 1, 2]), 3)
    np.testing.assert_array_equal(tree.to_linkage(), [[0, 1, 1, 2], [2, 3, 2, 3]])


def test_levels_divide_the_rows_until_each_is_alone():
    tree = random_tree(1)
    levels = list(tree.levels())
    assert len(levels) == tree.depths.max()
    for coarse, fine in itertools.pairwise(levels):
        assert len({*zip(coarse.tolist(), fine.tolist(), strict=True)}) == fine.max() + 1
    assert levels[-1].tolist() == list(range(tree.n_leaves))
    assert tree.labels_at(0).tolist() == [0] * tree.n_leaves


def test_rows_that_hang_from_a_node_may_stay_together():
    # the root has a row and two nodes, one of which has a row and a node of its own
    tree = ClusterTree(np.array([6, 6, 7, 7, 8, 9, 7, 9, 9, -1]),
                       np.array([0, 0, 0, 0, 0, 0, 1.0, 2, 1, 3]), 6)  # fmt: skip
    assert tree.labels_at(1).tolist() == [0, 0, 0, 0, 1, 2]
    assert tree.labels_at(2).tolist() == [0, 0, 1, 2, 3, 4]
    assert tree.labels_at(2, split_rows=False).tolist() == [0, 0, 1, 1, 2, 3]


def test_children_sizes_and_depths():
    tree = ClusterTree(np.array([4, 4, 5, 5, 5, -1]), np.array([0, 0, 0, 0, 1.0, 3.0]), 4)
    indptr, indices = tree.children
    assert [indices[a:b].tolist() for a, b in itertools.pairwise(indptr)] == (
        [[], [], [], [], [0, 1], [2, 3, 4]]
    )
    assert tree.children_of(5).tolist() == [2, 3, 4]
    assert tree.sizes.tolist() == [1, 1, 1, 1, 2, 4]
    assert tree.depths.tolist() == [2, 2, 1, 1, 1, 0]


def deep_tree(n):
    parent = np.concatenate([np.r_[n, np.arange(n, 2 * n - 1)], np.arange(n + 1, 2 * n - 1), [-1]])
    heights = np.concatenate([np.zeros(n), np.log2(np.arange(2.0, n + 1))])
    return ClusterTree(parent, heights, n)


def test_a_chain_of_a_hundred_thousand_rows_needs_no_recursion():
    n = 100_000
    tree = deep_tree(n)
    linkage = tree.to_linkage()
    assert linkage[-1].tolist() == [n - 1, 2 * n - 3, np.log2(n), n]
    assert is_valid_linkage(linkage)
    assert tree.depths.max() == n - 1
    assert tree.sizes[-1] == n
    assert len(np.unique(tree.labels_at(3))) == 4
    assert 0.5 < dendrogram_purity(tree, np.arange(n) % 2) < 0.51
    assert fcluster(linkage, 5, criterion="maxclust").max() == 5


def test_the_picture_of_a_chain_shows_its_top():
    pytest.importorskip("matplotlib")
    ax = deep_tree(100_000).plot(np.arange(100_000) % 3, max_leaves=10)
    assert ax.get_title() == "the top 10 branches of 100,000 rows"
    names = [text.get_text() for text in ax.get_xticklabels()]
    assert sorted(names) == sorted([*map(str, range(99_991, 100_000)), "(99,991)"])


@pytest.mark.parametrize(
    ("parent", "heights", "n_leaves", "message"),
    [
        ([2, 2, 2], [0, 0, 1], 2, "needs a parent that comes after it"),
        ([-1], [0], 1, "needs a parent"),
        ([3, 1, 3, -1], [0, 0, 0, 1], 2, "needs a parent"),
        ([2, 2, 4, 4, -1], [0, 0, 0, 0, 1], 4, "between 4 and 4"),
        ([2, 3, 3, -1], [0, 0, 5, 1], 2, "higher than its parent"),
    ],
)
def test_what_is_no_tree_is_refused(parent, heights, n_leaves, message):
    with pytest.raises(DataError, match=message):
        ClusterTree(np.array(parent), np.array(heights, dtype=float), n_leaves)


def test_a_depth_below_zero_is_refused():
    with pytest.raises(DataError, match="depth is -1"):
        random_tree(0).labels_at(-1)
