"""Statements that hold, informativeness and coherence."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from sidelight import SideInformation
from sidelight.exceptions import DataError, SidelightError
from sidelight.metrics import coherence, informativeness, statement_scores


def some_side() -> SideInformation:
    """Eight statements of all kinds about five rows, by two people and nobody."""
    return SideInformation.from_columns(
        ["must", "must", "cannot", "cannot", "label", "label", "not_label", "unsure"],
        [0, 1, 0, 2, 0, 4, 3, 0],
        [1, 2, 4, 3, None, None, None, 4],
        class_=[None, None, None, None, "a", "a", "a", None],
        weight=[1.0, 2.0, 1.0, 3.0, 1.0, 0.5, 1.0, 1.0],
        annotator=["ann", "bob", "ann", None, "bob", "bob", "ann", "ann"],
        n_samples=5,
    )


def test_statements_are_counted_by_kind_and_annotator():
    scores = statement_scores(some_side(), [0, 0, 1, 1, 1])
    found = {(s.kind, s.annotator): (s.n_satisfied, s.n_violated) for s in scores}
    assert found == {
        ("must", "ann"): (1, 0),
        ("must", "bob"): (0, 1),
        ("cannot", "ann"): (1, 0),
        ("cannot", None): (0, 1),
        ("unsure", "ann"): (0, 0),
        ("label", "bob"): (1, 1),
        ("not_label", "ann"): (1, 0),
    }
    order = [(s.kind, s.annotator) for s in scores]
    assert order == list(found)
    assert order[3] == ("cannot", None)  # "not told" comes after the people


def test_weights_are_summed_apart():
    by_kind = {s.kind: s for s in statement_scores(some_side(), [0, 0, 1, 1, 1], by=["kind"])}
    assert (by_kind["must"].weight_satisfied, by_kind["must"].weight_violated) == (1.0, 2.0)
    assert (by_kind["label"].weight_satisfied, by_kind["label"].weight_violated) == (1.0, 0.5)


@pytest.mark.parametrize("by", [(), ["kind"], ["annotator"], ["annotator", "kind"]])
def test_every_grouping_counts_each_statement_once(by):
    scores = statement_scores(some_side(), [0, 0, 1, 1, 1], by=by)
    assert sum(s.n_statements for s in scores) == 8
    assert sum(s.n_satisfied for s in scores) == 4
    assert sum(s.n_violated for s in scores) == 3


def test_groupings_say_none_for_what_they_do_not_tell_apart():
    (total,) = statement_scores(some_side(), [0, 0, 1, 1, 1], by=())
    assert (total.kind, total.annotator) == (None, None)
    assert total.satisfied_share == pytest.approx(4 / 7)


def test_what_binds_nothing_is_neither_satisfied_nor_violated():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=2, weight=0.0)
    (score,) = statement_scores(side, [0, 1])
    assert (score.n_statements, score.n_satisfied, score.n_violated) == (1, 0, 0)
    assert np.isnan(score.satisfied_share)
    assert np.isnan(informativeness(side, [0, 1]))


def test_no_statements_give_no_groups():
    assert statement_scores(SideInformation.empty(3), [0, 1, 2]) == []


def test_clusters_may_have_names_and_huge_numbers():
    expected = statement_scores(some_side(), [0, 0, 1, 1, 1])
    assert statement_scores(some_side(), ["x", "x", "y", "y", "y"]) == expected
    assert statement_scores(some_side(), [5, 5, 10**12, 10**12, 10**12]) == expected


def test_rows_of_noise_are_in_no_cluster_together():
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 2)], n_samples=3)
    found = {s.kind: s.n_violated for s in statement_scores(side, [-1, -1, -1])}
    assert found == {"must": 1, "cannot": 0}


def test_an_unknown_grouping_is_refused():
    with pytest.raises(DataError, match="'kind' and 'annotator'"):
        statement_scores(some_side(), [0, 0, 1, 1, 1], by=["weight"])


def test_labels_for_other_rows_are_refused():
    with pytest.raises(SidelightError, match="5 rows"):
        statement_scores(some_side(), [0, 1])


def test_informativeness_is_the_share_that_the_clustering_breaks():
    assert informativeness(some_side(), [0, 0, 1, 1, 1]) == pytest.approx(3 / 7)
    pairs = some_side().only(kind=["must", "cannot"])
    assert informativeness(pairs, [0, 0, 1, 1, 1]) == pytest.approx(2 / 4)


def test_statements_from_the_clustering_itself_tell_nothing():
    labels = np.array([0, 1, 1, 2, 0])
    assert informativeness(SideInformation.from_labels(labels), labels) == 0


def overlap(a, b) -> float:
    """Length that segment a shares with the projection of segment b on its line."""
    direction = a[1] - a[0]
    length = np.linalg.norm(direction)
    if length == 0:
        return 0.0
    t = sorted(float((end - a[0]) @ direction) / length for end in b)
    return max(0.0, min(t[1], length) - max(t[0], 0.0))


def random_side(rng, n, m) -> SideInformation:
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    chosen = pairs[rng.permutation(len(pairs))[: 2 * m]]
    return SideInformation.from_pairs(must=chosen[:m], cannot=chosen[m:], n_samples=n)


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_coherence_equals_its_definition(n_features):
    rng = np.random.default_rng(n_features)
    X, side = rng.standard_normal((20, n_features)), random_side(rng, 20, 12)
    expected = np.mean(
        [
            max(overlap(X[m], X[c]), overlap(X[c], X[m])) < 1e-9
            for m in side.must
            for c in side.cannot
        ]
    )
    found = coherence(side, X)
    assert found == (pytest.approx(expected), 144, False)
    assert 0 < found.value < 1


def test_parallel_pairs_side_by_side_are_incoherent_and_apart_are_coherent():
    X = [[0.0, 0], [1, 0], [0, 1], [1, 1], [5, 0], [6, 0], [0, 0], [0, 1]]
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(2, 3)], n_samples=8)
    assert coherence(side, X).value == 0
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(4, 5), (6, 7)], n_samples=8)
    assert coherence(side, X).value == 1  # one is farther along the line, one is perpendicular


def test_coherence_does_not_change_when_the_data_is_moved_turned_or_scaled():
    rng = np.random.default_rng(3)
    X, side = rng.standard_normal((30, 4)), random_side(rng, 30, 20)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert coherence(side, 1000 * (X @ turn) - 7).value == coherence(side, X).value


def test_rows_that_coincide_pull_nowhere():
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 2)], n_samples=3)
    assert coherence(side, [[1.0], [1.0], [2.0]]).value == 1


def test_a_sample_of_comparisons_is_near_the_whole_and_says_so():
    rng = np.random.default_rng(4)
    X, side = rng.standard_normal((60, 3)), random_side(rng, 60, 150)
    whole = coherence(side, X)
    part = coherence(side, X, max_comparisons=5000, random_state=1)
    assert whole.n_compared == 22_500
    assert not whole.sampled
    assert (part.n_compared, part.sampled) == (5000, True)
    assert part.value == pytest.approx(whole.value, abs=0.03)
    assert part == coherence(side, X, max_comparisons=5000, random_state=1)
    assert part != coherence(side, X, max_comparisons=5000, random_state=2)


def test_sparse_rows_and_small_blocks_give_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    X, side = np.round(rng.standard_normal((25, 4)), 1), random_side(rng, 25, 20)
    expected = coherence(side, X)
    assert coherence(side, sparse.csr_array(X)) == expected
    monkeypatch.setattr("sidelight.metrics._statements._CELLS", 64)
    assert coherence(side, X) == expected


def test_without_one_of_the_two_kinds_there_is_nothing_to_compare():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    found = coherence(side, [[0.0], [1.0], [2.0]])
    assert np.isnan(found.value)
    assert found.n_compared == 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0], [1.0]], "is about 3 rows"),
        ([0.0, 1.0, 2.0], r"shape \(3,\)"),
        ([[0.0], [np.nan], [1.0]], "NaN"),
        ([["a"], ["b"], ["c"]], "need numbers"),
    ],
)
def test_data_that_does_not_fit_is_refused(X, message):
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=3)
    with pytest.raises(DataError, match=message):
        coherence(side, X)


def test_no_comparisons_at_all_are_refused():
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=3)
    with pytest.raises(DataError, match="max_comparisons is 0"):
        coherence(side, [[0.0], [1.0], [2.0]], max_comparisons=0)
