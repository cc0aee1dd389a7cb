import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sidelight.blocks import threads
from sidelight.exceptions import DataError
from sidelight.graph import (
    _graph,
    check_graph,
    gaussian_weights,
    join_neighbors,
    local_scales,
    local_weights,
    median_bandwidth,
    nearest_neighbors,
    neighbor_graph,
)


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def named(found, n):
    """Boolean matrix: does row i name row j?"""
    A = np.zeros((n, n), dtype=bool)
    A[np.repeat(np.arange(n), np.diff(found.indptr)), found.indices] = True
    return A


@pytest.mark.parametrize("rule", ["union", "mutual"])
def test_rows_are_joined_by_the_rule_and_weighted_by_the_kernel(rule):
    X = rows()
    A = named(nearest_neighbors(X, 4), 60)
    joined = A | A.T if rule == "union" else A & A.T
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    W = neighbor_graph(X, 4, bandwidth=2.0, rule=rule)
    np.testing.assert_allclose(W.toarray(), np.where(joined, np.exp(-(D**2) / 4), 0), atol=1e-14)
    assert (W != W.T).nnz == 0
    assert W.has_sorted_indices


def test_the_cosine_graph_joins_only_rows_in_similar_directions():
    X = rows(30, 2)
    W = neighbor_graph(X, 29, affinity="cosine").toarray()
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    C = U @ U.T
    np.fill_diagonal(C, 0)
    np.testing.assert_allclose(W, np.maximum(C, 0), atol=1e-12)
    assert (C < 0).any()


def test_equal_rows_stay_joined_at_distance_zero():
    G = join_neighbors(nearest_neighbors(np.zeros((3, 2)), 2))
    assert G.nnz == 6
    assert neighbor_graph(np.zeros((3, 2)), 2).toarray().tolist() == [
        [0, 1, 1],
        [1, 0, 1],
        [1, 1, 0],
    ]


def test_sparse_and_dense_data_give_the_same_graph():
    X = np.maximum(rows(80, 30), 0)
    for affinity in ("gaussian", "cosine"):
        dense = neighbor_graph(X, 5, affinity=affinity)
        other = neighbor_graph(sparse.csr_array(X), 5, affinity=affinity)
        np.testing.assert_allclose(dense.toarray(), other.toarray(), atol=1e-14)


def test_the_bandwidth_follows_the_scale_of_the_data():
    X = rows()
    one, other = neighbor_graph(X, 4), neighbor_graph(1000 * X, 4)
    np.testing.assert_allclose(one.toarray(), other.toarray(), atol=1e-12)
    assert median_bandwidth(np.zeros(4)) == 1.0


def test_a_bandwidth_far_too_small_is_told_with_the_scale_of_the_data():
    with pytest.warns(UserWarning, match=r"bandwidth=1e-05 .*\(median 1\)"):
        W = neighbor_graph(np.arange(5.0)[:, None], 1, bandwidth=1e-5)
    assert W.nnz == 0


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan])
def test_a_bandwidth_is_above_zero(bandwidth):
    with pytest.raises(DataError, match="above zero"):
        gaussian_weights(np.ones(2), bandwidth)


@pytest.mark.parametrize("n", [0, 1])
def test_without_pairs_the_graph_is_empty(n):
    assert neighbor_graph(np.zeros((n, 3)), 5).shape == (n, n)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.coo_array])
def test_a_precomputed_graph_is_copied_without_its_diagonal(make):
    W = make(np.array([[9.0, 1.0, 0.0], [1.0, 9.0, 2.0], [0.0, 2.0, 9.0]]))
    for G in (check_graph(W), neighbor_graph(W, 1, affinity="precomputed")):
        assert G.toarray().tolist() == [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
        assert isinstance(G, sparse.csr_array)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "zero or more"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "finite"),
        (np.array([[0.0, 2.0], [1.0, 0.0]]), r"weight \(0, 1\) is 2.0 and \(1, 0\) is 1.0"),
    ],
)
def test_a_precomputed_graph_that_cannot_be_used_is_refused(graph, message):
    with pytest.raises(DataError, match=message):
        check_graph(graph)


def test_a_precomputed_graph_has_as_many_rows_as_the_data():
    with pytest.raises(DataError, match="5 rows"):
        check_graph(np.eye(4), n_samples=5)


# Locally scaled weights


def test_local_weights_are_those_of_their_definition():
    X = rows(60)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    scale = np.sort(D, axis=1)[:, 7]  # the row itself is number 0
    A = named(nearest_neighbors(X, 10), 60)
    expected = np.where(A | A.T, np.exp(-(D**2) / (scale[:, None] * scale[None])), 0)
    W = neighbor_graph(X, 10, affinity="local")
    np.testing.assert_allclose(W.toarray(), expected, atol=1e-14)
    assert (W != W.T).nnz == 0
    np.testing.assert_allclose(local_scales(nearest_neighbors(X, 10)), scale)


def test_local_scales_take_the_last_neighbour_of_rows_that_have_fewer():
    X = rows(5)
    found = nearest_neighbors(X, 3)
    assert local_scales(found).tolist() == found.distances[2::3].tolist()
    nobody = nearest_neighbors(np.zeros((1, 2)), 3)
    assert local_scales(nobody).tolist() == [1.0]


def test_rows_with_many_equals_take_the_scale_of_the_first_that_differs():
    X = np.r_[np.zeros(9), 3.0, 5.0][:, None]
    scales = local_scales(nearest_neighbors(X, 10))
    assert scales.tolist() == [3.0] * 9 + [3.0, 5.0]
    # Nobody sees a row that differs: the smallest scale of all, here there is none.
    assert local_scales(nearest_neighbors(np.zeros((9, 1)), 7)).tolist() == [1.0] * 9
    W = neighbor_graph(X, 10, affinity="local").toarray()
    np.testing.assert_allclose(W[0, 9], np.exp(-(3.0**2) / 9))
    assert W[0, 1] == 1.0


def test_local_weights_follow_the_scale_of_the_data_down_to_tiny_distances():
    X = rows()
    one = neighbor_graph(X, 8, affinity="local")
    other = neighbor_graph(1e6 * X, 8, affinity="local")
    np.testing.assert_allclose(one.toarray(), other.toarray(), atol=1e-9)
    tiny = local_weights(np.array([2e-200]), np.array([1e-200]), np.array([4e-200]))
    np.testing.assert_allclose(tiny, np.exp(-1.0))


@pytest.mark.parametrize("rule", ["union", "mutual"])
@pytest.mark.parametrize("portion", [1, 7, 100_000])
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_lists_are_joined_as_scipy_joins_them_in_portions_of_any_size(
    monkeypatch, rule, portion, n_workers
):
    monkeypatch.setattr(_graph, "_PORTION", portion)
    X = np.random.default_rng(0).integers(6, size=(60, 2)).astype(float)
    found = nearest_neighbors(X, 3, ties="keep")
    lists = sparse.csr_array((found.distances + 1.0, found.indices, found.indptr), shape=(60, 60))
    join = lists.maximum if rule == "union" else lists.minimum
    with threads(n_workers):
        joined = join_neighbors(found._replace(distances=found.distances + 1.0), rule)
    assert_array_equal(joined.toarray(), join(lists.T).toarray())
    assert joined.has_canonical_format
