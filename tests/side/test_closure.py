from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import related_rows
from sidelight import SideInformation
from sidelight.side import match_classes
from strategies import sides, truths


def pairs_of(n):
    i, j = np.triu_indices(n, k=1)
    return i, j


def test_groups_follow_must_links_and_equal_labels():
    side = SideInformation.from_pairs(must=[(4, 2), (2, 0)], n_samples=6)
    side += SideInformation.from_labels([None, "a", None, None, None, "a"])
    assert side.groups().tolist() == [0, 1, 0, 2, 0, 1]


def test_a_group_of_ten_thousand_costs_no_pairs():
    side = SideInformation.from_labels(np.repeat([0, 1], 10_000))
    closure = side.closure()
    assert closure.n_must_pairs == 2 * (10_000 * 9_999 // 2)
    assert closure.to_side().n_statements == 20_000
    assert closure.apart([0, 0], [19_999, 1]).tolist() == [True, False]


def test_a_chain_of_200_000_must_links_is_one_group():
    links = np.stack([np.arange(199_999), np.arange(1, 200_000)], axis=1)
    assert SideInformation.from_pairs(must=links, n_samples=200_000).closure().n_groups == 1


def test_statements_of_weight_zero_bind_nothing():
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 1)], weight=[0, 1], n_samples=2)
    assert side.groups().tolist() == [0, 1]
    assert not len(side.conflicts().broken)


def test_nobody_can_change_what_a_side_remembers():
    side = SideInformation.from_labels([0, 1, -1], index=["a", "b", "c"])
    side += SideInformation.from_pairs(must=[(1, 2)], cannot=[(0, 2)], n_samples=3)
    for closure in (side.closure(), side.closure()[[0, 2]]):
        for column in (closure.groups, closure.cannot, closure.labels, closure.not_labels):
            assert not column.flags.writeable
        assert not closure.source.index.flags.writeable


def test_no_rows_are_neither_together_nor_apart():
    closure = SideInformation.from_labels([0, 1]).closure()
    assert closure.together([], []).shape == closure.apart([], []).shape == (0,)
    assert SideInformation.empty(0).closure()[[]].n_groups == 0


@given(sides())
def test_together_and_apart_are_what_the_definition_says(side):
    together, apart = related_rows(side)
    i, j = pairs_of(side.n_samples)
    closure = side.closure()
    assert closure.together(i, j).tolist() == together[i, j].tolist()
    assert closure.apart(i, j).tolist() == apart[i, j].tolist()


@given(sides(with_index=True))
def test_closure_is_idempotent(side):
    closure = side.closure()
    assert closure.to_side().closure() == closure
    assert np.array_equal(closure.to_side().groups(), closure.groups)


@given(sides(with_index=True), st.data())
def test_closure_of_a_slice_is_inside_the_slice_of_the_closure(side, data):
    rows = data.draw(st.lists(st.integers(0, side.n_samples - 1), unique=True, min_size=1))
    inner, outer = side[rows].closure(), side.closure()[rows]
    i, j = pairs_of(len(rows))
    assert not (inner.together(i, j) & ~outer.together(i, j)).any()
    assert not (inner.apart(i, j) & ~outer.apart(i, j)).any()
    everything = side.closure()
    assert (
        outer.together(i, j).tolist()
        == everything.together(np.array(rows)[i], np.array(rows)[j]).tolist()
    )
    assert (
        outer.apart(i, j).tolist()
        == everything.apart(np.array(rows)[i], np.array(rows)[j]).tolist()
    )


@given(sides(min_rows=5, max_rows=5), sides(min_rows=5, max_rows=5))
def test_more_statements_never_entail_less(a, b):
    i, j = pairs_of(a.n_samples)
    closure, more = a.closure(), (a + b).closure()
    assert not (closure.together(i, j) & ~more.together(i, j)).any()
    assert not (closure.apart(i, j) & ~more.apart(i, j)).any()


@given(truths(), st.data())
def test_classes_are_matched_to_their_own_clusters(truth, data):
    renamed = data.draw(st.permutations(range(4)))
    labels = np.array(renamed)[truth]
    side = SideInformation.from_labels([f"class {k}" for k in truth])
    matched = match_classes(side, labels, 4)
    assert matched.shape == (1, len(side.classes))
    for name, cluster in zip(side.classes, matched[0], strict=True):
        assert cluster == renamed[int(name.split()[1])]
    assert not side.violated(labels).any()


def test_matching_breaks_ties_towards_the_lowest_and_leaves_strangers_unmatched():
    side = SideInformation.from_labels(["a", "b", "c", None])
    assert match_classes(side, [0, 0, 0, 1], 2).tolist() == [[0, -1, -1]]
    assert match_classes(side, [-1, -1, -1, -1], 0).tolist() == [[-1, -1, -1]]
    for n in (10, 100):  # every class has one row in every cluster
        side = SideInformation.from_labels(np.repeat(np.arange(n), n))
        assert match_classes(side, np.tile(np.arange(n), n), n).tolist() == [list(range(n))]
    crossed = SideInformation.from_labels(["a", "a", "b", "b"])
    assert match_classes(crossed, [0, 1, 0, 1], 2).tolist() == [[0, 1]]


def test_a_row_that_is_not_c_is_apart_from_rows_that_are_whichever_is_asked_first():
    side = SideInformation.from_labels([None, "c", "c", None], vocabulary="v")
    side += SideInformation.from_columns(
        "not_label", [0, 3], class_=["c", "c"], vocabulary=["v", None], n_samples=4
    )
    closure = side.closure()
    assert closure.apart([0, 1], [1, 0]).tolist() == [True, True]
    assert closure.apart([0, 2], [2, 0]).tolist() == [True, True]
    assert not closure.apart([3, 1, 0, 3], [1, 3, 3, 0]).any()  # "c" of another vocabulary


def test_of_two_classes_with_equal_votes_for_a_cluster_the_lower_one_gets_it():
    side = SideInformation.from_labels(["a", "b", "c"])
    assert match_classes(side, [1, 1, 0], 2).tolist() == [[1, -1, 0]]
    assert match_classes(side, [0, 1, 1], 2).tolist() == [[0, 1, -1]]


def test_of_two_clusters_with_equal_votes_a_class_gets_the_lower_one():
    side = SideInformation.from_labels(["b", "b", "a"])
    assert match_classes(side, [0, 2, -1], 3).tolist() == [[-1, 0]]
    assert match_classes(side, [2, 1, 0], 3).tolist() == [[0, 1]]


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
def test_ties_of_the_matching_go_to_low_classes_and_low_clusters(shape):
    n_classes, n_clusters = shape
    classes, clusters = np.indices(shape).reshape(2, -1)
    options = product(range(-1, n_clusters), repeat=n_classes)
    options = [o for o in options if len({k for k in o if k >= 0}) == sum(k >= 0 for k in o)]

    def merit(matched, votes):
        """The votes, then how low the clusters of low classes are; none is worse than any."""
        kept = [k >= 0 and votes[c, k] for c, k in enumerate(matched)]
        high = [k if kept[c] else n_clusters for c, k in enumerate(matched)]
        return sum(kept), -sum((n_classes - c) * k for c, k in enumerate(high))

    for votes in product((0, 1), repeat=n_classes * n_clusters):
        side = SideInformation.from_columns(
            "label", np.arange(len(votes)), class_=classes, weight=votes, n_samples=len(votes)
        )
        found = match_classes(side, clusters, n_clusters)[-1]
        table = np.reshape(votes, shape)
        assert merit(found, table) == max(merit(option, table) for option in options)


def test_a_huge_weight_does_not_hide_the_other_labels():
    side = SideInformation.from_labels(["a", "b", "b", "c", "d"], weight=[1e12, 1, 2, 1, 1])
    assert match_classes(side, [0, 1, 2, 3, 3], 4).tolist() == [[0, 2, 3, -1]]
