"""Scores of partitions against slow definitions, by invariance, and at their edges."""

import itertools
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.datasets import load
from sidelight.exceptions import DataError
from sidelight.metrics import (
    accuracy,
    adjusted_rand,
    class_size_variation,
    normalized_mutual_info,
    pairwise_scores,
    purity,
)
from sidelight.metrics._partition import _contingency, _matched, _matched_sparse

SCORES = {
    "nmi": normalized_mutual_info,
    "ari": adjusted_rand,
    "accuracy": accuracy,
    "purity": purity,
    "precision": lambda a, b: pairwise_scores(a, b).precision,
    "recall": lambda a, b: pairwise_scores(a, b).recall,
    "f": lambda a, b: pairwise_scores(a, b).f,
}
every_score = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)

partitions = st.integers(2, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(-1, 4), min_size=n, max_size=n),
    )
)


def entropy(labels) -> float:
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-np.sum(share * np.log(share)))


def count_table(true, pred) -> np.ndarray:
    true, pred = np.array(true), np.array(pred)
    return np.array(
        [[np.sum((true == a) & (pred == b)) for b in np.unique(pred)] for a in np.unique(true)]
    )


def best_matching(table: np.ndarray) -> int:
    """Try every way of giving each row a column of its own."""
    if table.shape[0] > table.shape[1]:
        table = table.T
    rows = list(range(table.shape[0]))
    choices = itertools.permutations(range(table.shape[1]), len(rows))
    return max(int(table[rows, list(columns)].sum()) for columns in choices)


@given(partitions)
def test_mutual_information_is_divided_by_the_named_average_of_the_entropies(pair):
    true, pred = pair
    h_true, h_pred = entropy(true), entropy(pred)
    joint = entropy([6 * a + b for a, b in zip(true, pred, strict=True)])
    averages = {
        "arithmetic": (h_true + h_pred) / 2,
        "geometric": np.sqrt(h_true * h_pred),
        "min": min(h_true, h_pred),
        "max": max(h_true, h_pred),
    }
    if averages["min"] < 1e-12:
        return
    for name, average in averages.items():
        expected = (h_true + h_pred - joint) / average
        found = normalized_mutual_info(true, pred, average=name)
        assert found == pytest.approx(expected, abs=1e-9)


@given(partitions)
def test_accuracy_is_the_best_over_all_one_to_one_matchings(pair):
    assert accuracy(*pair) == pytest.approx(best_matching(count_table(*pair)) / len(pair[0]))


@given(partitions)
def test_purity_counts_the_largest_class_of_each_cluster(pair):
    expected = count_table(*pair).max(axis=0).sum() / len(pair[0])
    assert purity(*pair) == pytest.approx(expected)


@given(partitions)
def test_pairwise_scores_equal_those_from_listing_all_pairs(pair):
    true, pred = pair
    pairs = list(itertools.combinations(range(len(true)), 2))
    together = {(i, j) for i, j in pairs if pred[i] == pred[j]}
    same = {(i, j) for i, j in pairs if true[i] == true[j]}
    found = pairwise_scores(true, pred)
    both = len(together & same)
    assert found.precision == pytest.approx(both / len(together) if together else 1)
    assert found.recall == pytest.approx(both / len(same) if same else 1)
    total = len(together) + len(same)
    assert found.f == pytest.approx(2 * both / total if total else 1)


@given(partitions)
def test_the_sparse_matching_keeps_as_many_rows_as_the_dense_one(pair):
    codes = (np.unique(side, return_inverse=True)[1] for side in pair)
    table = _contingency(*codes)
    assert _matched_sparse(table) == _matched(table)


@pytest.mark.parametrize("n_clusters", [40, 120])
def test_the_sparse_matching_is_right_where_ties_and_rivals_abound(n_clusters):
    rng = np.random.default_rng(n_clusters)
    for _ in range(20):
        table = _contingency(rng.integers(40, size=300), rng.integers(n_clusters, size=300))
        assert _matched_sparse(table) == _matched(table)


def test_a_long_chain_of_ties_is_matched_in_full():
    # class k shares one row each with clusters k and k + 1, and so on
    true = np.repeat(np.arange(500), 2)
    pred = true + np.tile([0, 1], 500)
    assert _matched_sparse(_contingency(true, pred)) == 500


@every_score
def test_equal_partitions_under_other_names_score_one(score):
    true = ["b", "a", "a", "c", "b", "c"]
    assert score(true, [5, -1, -1, 7, 5, 7]) == pytest.approx(1)


@every_score
def test_the_order_of_rows_and_the_names_of_clusters_do_not_matter(score):
    rng = np.random.default_rng(0)
    true, pred = rng.integers(4, size=60), rng.integers(5, size=60)
    order, names = rng.permutation(60), np.array(["v", "w", "x", "y", "z"])
    assert score(true[order], names[pred[order]]) == pytest.approx(score(true, pred))


@every_score
@pytest.mark.parametrize(
    "make",
    [
        lambda y: np.array(["red", "green", "blue"])[y],
        lambda y: np.array(["red", "green", "blue"], dtype=object)[y],
        lambda y: [["red", 3, "3"][k] for k in y],
        lambda y: y.astype(float) / 2,
        lambda y: pd.Series(y).astype("category"),
        lambda y: pd.Series(np.array(["a", "b", "c"])[y], dtype="string"),
        lambda y: [date(2020, 1, 1 + k) for k in y.tolist()],
        lambda y: y.astype(np.int8),
    ],
    ids=["text", "objects", "mixed", "float", "category", "string", "dates", "int8"],
)
def test_labels_may_be_of_any_type(score, make):
    rng = np.random.default_rng(1)
    true, pred = rng.integers(3, size=30), rng.integers(3, size=30)
    assert score(make(true), pred) == pytest.approx(score(true, pred))
    assert score(true, make(pred)) == pytest.approx(score(true, pred))


@every_score
def test_noise_counts_as_one_cluster_of_its_own(score):
    true, pred = [0, 0, 0, 1, 1, 1], np.array([0, 0, -1, 1, 1, -1])
    assert score(true, pred) == pytest.approx(score(true, np.where(pred == -1, 2, pred)))
    assert score(true, pred) < 1


def test_noise_does_not_raise_accuracy():
    assert accuracy([0, 0, 1, 1], [0, 0, -1, 1]) == 0.75


@every_score
def test_one_row_is_a_perfect_partition(score):
    assert score(["a"], [3]) == pytest.approx(1)


def test_clusters_of_single_rows_claim_no_pairs():
    found = pairwise_scores([0, 0, 1], [0, 1, 2])
    assert (found.precision, found.recall, found.f) == (1, 0, 0)


@every_score
@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0, 1, 1], "labels_true has 2 rows and labels_pred has 3"),
        ([], [], "labels_true is empty"),
        ([[0, 1]], [0, 1], r"labels_true has shape \(1, 2\)"),
        ([0, 1], [0.0, np.nan], "labels_pred is missing in 1 row, first in row 1"),
        (["a", None, None], [0, 1, 1], "labels_true is missing in 2 rows"),
        (["a", np.nan], [0, 1], "labels_true is missing in 1 row"),
        (pd.array([1, pd.NA], dtype="Int64"), [0, 1], "labels_true is missing in 1 row"),
        ([[1], [1, 2]], [0, 1], "inhomogeneous|cannot be a label"),
    ],
)
def test_what_is_no_partition_is_refused(score, true, pred, message):
    with pytest.raises(ValueError, match=message):
        score(true, pred)


def test_an_unknown_average_is_refused():
    with pytest.raises(DataError, match="arithmetic, geometric, min, max"):
        normalized_mutual_info([0, 1], [0, 1], average="mean")


def test_a_hundred_thousand_rows_in_as_many_clusters_need_no_square_table():
    # a dense table of classes by clusters would take 20 GB here
    n = 100_000
    true = np.arange(n) // 2
    assert accuracy(true, np.arange(n)[::-1] // 2) == 1
    assert accuracy(true, np.arange(n)) == 0.5
    assert purity(true, np.arange(n)) == 1


@pytest.mark.parametrize(
    ("name", "variation"),
    [
        ("breast", 0.4390),
        ("ecoli", 0.8986),
        ("glass", 0.8339),
        ("iris", 0.0000),
        ("pendigits", 0.0422),
        ("satimage", 0.4255),
        ("wine", 0.1939),
    ],
)
def test_class_size_variation_equals_table_1_of_plsi(name, variation, shared_data):
    found = class_size_variation(load(name, "plsi", shared_data).y)
    assert round(found, 4) == variation


def test_plain_kmeans_on_breast_has_the_nmi_that_plsi_prints(shared_data):
    from sklearn.cluster import KMeans

    data = load("breast", "plsi", shared_data)
    labels = KMeans(2, n_init=3, random_state=0).fit_predict(data.X)
    assert round(100 * normalized_mutual_info(data.y, labels, average="geometric"), 2) == 73.61


def test_one_class_has_no_variation_of_sizes():
    assert class_size_variation(["a", "a"]) == 0
