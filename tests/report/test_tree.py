"""The dendrogram: names, class colours, statements, and what is left out is said."""

import itertools

import numpy as np
import pytest

from sidelight import SideInformation
from sidelight.exceptions import DataError
from sidelight.report import new_figure, plot_tree
from sidelight.tree import ClusterTree


@pytest.fixture
def tree():
    parent = np.array([6, 6, 7, 7, 8, 8, 9, 9, 10, 10, -1])
    return ClusterTree(parent, np.array([0, 0, 0, 0, 0, 0, 1.0, 1, 1, 2, 3]), 6)


def names(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_branches_have_the_names_of_their_rows_or_their_number(tree):
    assert sorted(names(plot_tree(tree, names=list("abcdef")))) == list("abcdef")
    side = SideInformation.empty(6, index=np.array(list("uvwxyz")))
    assert sorted(names(plot_tree(tree, side=side))) == list("uvwxyz")
    ax = plot_tree(tree, max_leaves=3)
    assert sorted(names(ax)) == ["(2)", "(2)", "(2)"]
    assert ax.get_title() == "the top 3 branches of 6 rows"


def test_rows_of_one_branch_stand_side_by_side(tree):
    shuffled = np.array([4, 0, 5, 2, 1, 3])
    parent = tree.parent.copy()
    parent[:6] = tree.parent[shuffled]
    ax = plot_tree(ClusterTree(parent, tree.heights, 6), names=shuffled)
    order = [int(name) // 2 for name in names(ax)]
    assert sum(a != b for a, b in itertools.pairwise(order)) == 2


def test_a_branch_of_one_class_has_its_colour_and_bars_show_the_rest(tree):
    ax = plot_tree(tree, ["a", "a", "b", "b", "a", "b"])
    assert legend(ax) == ["a", "b"]
    forks = ax.collections[0]
    colours = [tuple(c) for c in forks.get_colors()]
    assert len(set(colours)) == 3  # a, b, several
    assert len(ax.patches) == 6  # one bar for each row


def test_statements_are_arcs_and_broken_ones_are_told(tree):
    side = SideInformation.from_pairs(must=[(0, 1), (0, 4)], cannot=[(0, 5)], n_samples=6)
    side += SideInformation.from_labels(["a", None, None, "b", None, None])
    ax = plot_tree(tree, [0, 0, 1, 1, 1, 1], side=side, ax=new_figure().axes[0])
    assert set(legend(ax)) == {"0", "1", "label", "must", "must, broken", "cannot"}


def test_a_root_with_many_children_is_drawn(tree):
    flat = ClusterTree(np.append(np.full(500, 500), -1), np.append(np.zeros(500), 1.0), 500)
    ax = plot_tree(flat, max_leaves=20)
    assert len(names(ax)) == 20
    assert "(481)" in names(ax)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"labels": [0, 1]}, "one for each of 6 rows"),
        ({"names": ["a"]}, "one for each row"),
        ({"max_leaves": 1}, "two branches"),
    ],
)
def test_what_does_not_fit_the_tree_is_refused(tree, wrong, message):
    with pytest.raises(DataError, match=message):
        plot_tree(tree, **wrong)
