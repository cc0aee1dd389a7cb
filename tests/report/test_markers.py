"""Features by the rank test, against scipy on dense columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from sidelight.exceptions import DataError
from sidelight.report import _markers, rank_features


@given(st.integers(0, 2**32 - 1), st.sampled_from([-2, 0]))
def test_sums_of_ranks_equal_the_definition(seed, lowest):
    rng = np.random.default_rng(seed)
    X = rng.integers(lowest, 4, size=(rng.integers(2, 25), 6)) * rng.integers(0, 2, size=6)
    labels = rng.integers(0, 3, size=len(X))
    labels[0] = 2
    sizes = np.bincount(labels)
    sums, above, ties = _markers._rank_sums(sparse.csc_array(X.astype(float)), labels, sizes)
    ranks = stats.rankdata(X, axis=0)
    for k in range(3):
        np.testing.assert_allclose(sums[:, k], ranks[labels == k].sum(axis=0))
        np.testing.assert_array_equal(above[:, k], (X[labels == k] > 0).sum(axis=0))
    expected = [stats.tiecorrect(column) for column in ranks.T]
    n = len(X)
    np.testing.assert_allclose(1 - ties / (n**3 - n), expected, atol=1e-12)


def test_the_statistic_is_that_of_mann_and_whitney(monkeypatch):
    monkeypatch.setattr(_markers, "_ENTRIES", 50)  # several portions
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, size=(40, 8)).astype(float)
    X[:15, 3] += 4
    labels = np.repeat([0, 1], [15, 25])
    found = rank_features(sparse.csr_array(X), labels, [f"g{k}" for k in range(8)])
    assert found[0][0]["feature"] == "g3"
    told = stats.mannwhitneyu(X[:15, 3], X[15:, 3], use_continuity=False, method="asymptotic")
    assert found[0][0]["auc"] == pytest.approx(told.statistic / (15 * 25))
    assert 2 * stats.norm.sf(found[0][0]["z"]) == pytest.approx(told.pvalue)
    assert found[0][0]["inside"] == 1.0
    assert all(entry["z"] >= 2 for cluster in found for entry in cluster)
    assert rank_features(X, labels, [f"g{k}" for k in range(8)]) == found  # dense is the same


def test_one_cluster_and_constant_columns_have_no_markers():
    assert rank_features(np.ones((4, 2)), [0, 0, 1, 1], ["a", "b"]) == [[], []]
    assert rank_features(np.eye(4), [0, 0, 0, 0], list("abcd")) == [[]]


def test_names_have_to_fit():
    with pytest.raises(DataError, match="need"):
        rank_features(np.eye(3), [0, 0, 1], ["a"])
