import numpy as np
import pytest
from scipy import sparse

from sidelight.blocks import threads
from sidelight.exceptions import DataError
from sidelight.graph import (
    Neighbors,
    largest_distance,
    nearest_neighbors,
    pair_distances,
    query_neighbors,
)
from sidelight.graph._search import EXACT_ROWS


def blobs(n, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 6 * rng.integers(4, size=(n, 1))


def all_distances(A, B, metric="euclidean"):
    if metric == "cosine":
        A = A / np.linalg.norm(A, axis=1, keepdims=True)
        B = B / np.linalg.norm(B, axis=1, keepdims=True)
        return np.maximum(1 - A @ B.T, 0)
    return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))


def lists(found):
    return [
        found.indices[a:b].tolist() for a, b in zip(found.indptr, found.indptr[1:], strict=False)
    ]


def lowest_first(distances, k):
    """The k smallest of each line, ties to the lowest number: slow and obvious."""
    ranked = [sorted((d, j) for j, d in enumerate(line) if np.isfinite(d)) for line in distances]
    return [[j for _, j in line[:k]] for line in ranked]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("d", [3, 20])
def test_neighbours_are_the_nearest_other_rows(metric, is_sparse, d):
    X = blobs(90, d)
    D = all_distances(X, X, metric)
    np.fill_diagonal(D, np.inf)
    found = nearest_neighbors(sparse.csr_array(X) if is_sparse else X, 5, metric=metric)
    assert lists(found) == lowest_first(D.round(10), 5)
    rows = np.repeat(np.arange(90), 5)
    np.testing.assert_allclose(found.distances, D[rows, found.indices], atol=1e-12)


def test_large_sparse_data_are_searched_without_becoming_an_array(monkeypatch):
    import sidelight.graph._search as search

    X = sparse.random_array((60, 40), density=0.4, rng=np.random.default_rng(0)).tocsr()
    for metric in ("euclidean", "cosine"):
        dense = nearest_neighbors(X, 4, metric=metric)
        with monkeypatch.context() as patch:
            patch.setattr(search, "_DENSE_CELLS", 0)
            found = nearest_neighbors(X, 4, metric=metric)
        assert lists(found) == lists(dense)
        np.testing.assert_allclose(found.distances, dense.distances, atol=1e-12)


def test_ties_go_to_the_lowest_number():
    grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=-1).reshape(-1, 2)
    grid = np.hstack([grid, np.zeros((49, 20))])  # many columns: the search by matrix products
    D = all_distances(grid, grid)
    np.fill_diagonal(D, np.inf)
    assert lists(nearest_neighbors(grid, 3)) == lowest_first(D, 3)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_rows_that_single_precision_cannot_tell_apart_are_found_by_exact_distances(shift):
    rng = np.random.default_rng(0)
    X = np.zeros((120, 20))
    X[:, 0] = 1.0
    X[:, 1:] = 1e-5 * rng.normal(size=(120, 19))
    X[0] = 1e6  # one row far away must not blur all others
    D = all_distances(X, X)
    np.fill_diagonal(D, np.inf)
    found = nearest_neighbors(X + shift, 4)
    expected = nearest_neighbors(X + shift, 119)  # nobody is left out: nothing to get wrong
    assert lists(found) == [line[:4] for line in lists(expected)]
    if not shift:
        assert lists(found) == lowest_first(D, 4)


def test_rows_beyond_single_precision_are_found_too():
    X = blobs(30, 20)
    far = np.vstack([1e30 * X[0], X[1] + 0.01])
    assert lists(query_neighbors(far, X, 1))[1] == [1]
    assert lists(query_neighbors(far, X, 30))[0] != []
    assert lists(nearest_neighbors(1e120 * X, 3)) == lists(nearest_neighbors(X, 3))


def test_ties_can_all_be_kept():
    X = np.array([[0.0], [1.0], [-1.0], [2.0], [10.0]])
    assert lists(nearest_neighbors(X, 1, ties="keep")) == [[1, 2], [0, 3], [0], [1], [3]]


def test_equal_rows_come_first_and_are_never_the_row_itself():
    X = np.repeat(np.array([[0.0, 0.0], [5.0, 5.0], [5.0, 6.0]]), [4, 2, 2], axis=0)
    X[1, 0] = -0.0
    found = lists(nearest_neighbors(X, 3))
    assert found[0] == [1, 2, 3]
    assert found[3] == [0, 1, 2]
    assert found[4] == [5, 6, 7]
    assert found[7] == [6, 4, 5]


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_rows_that_are_all_equal_are_neighbours_at_distance_zero(method):
    found = nearest_neighbors(np.ones((6, 3)), 2, method=method)
    assert lists(found) == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert not found.distances.any()


def test_more_neighbours_than_rows_are_all_other_rows():
    assert lists(nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 50)) == [[1, 2], [0, 2], [1, 0]]


@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((0, 2))])
def test_a_lonely_row_has_no_neighbours(X):
    assert lists(nearest_neighbors(X, 3)) == [[]] * len(X)


def test_rows_of_zeros_have_no_cosine_neighbours_and_are_nobodys():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [-1.0, 0.1]])
    found = nearest_neighbors(X, 2, metric="cosine")
    assert lists(found) == [[], [2, 4], [1, 4], [], [2, 1]]


@pytest.mark.parametrize("reach", [4, 512])
def test_lists_find_nearly_all_neighbours_and_the_same_for_any_number_of_threads(
    reach, monkeypatch
):
    # From four lists around its own no row finds its neighbours: more are taken until it does.
    monkeypatch.setattr("sidelight.graph._ivf._REACH", reach)
    X = blobs(6000, 12)
    exact = nearest_neighbors(X, 10, method="exact")
    found = {}
    for n in (1, 2):
        with threads(n):
            found[n] = nearest_neighbors(X, 10, method="ivf")
    assert all(map(np.array_equal, found[1], found[2]))
    hits = sum(len(set(a) & set(b)) for a, b in zip(lists(exact), lists(found[1]), strict=True))
    assert hits >= 0.95 * 60_000
    assert all(i not in line for i, line in enumerate(lists(found[1])))


def test_lists_take_equal_rows_by_number_and_not_by_position():
    X = np.repeat(blobs(500, 6), 8, axis=0)
    found = lists(nearest_neighbors(X, 5, method="ivf"))
    assert all(i not in line for i, line in enumerate(found))
    assert all({j // 8 for j in line} == {i // 8} for i, line in enumerate(found))


def test_far_from_the_origin_the_lists_still_see_differences():
    X = blobs(3000, 4)
    near, far = (nearest_neighbors(X + shift, 5, method="ivf") for shift in (0.0, 1e6))
    same = np.mean([a == b for a, b in zip(lists(near), lists(far), strict=True)])
    assert same > 0.95


def test_exact_answers_do_not_depend_on_threads():
    X = np.round(blobs(500, 30))
    answers = []
    for n in (1, 2):
        with threads(n):
            answers.append(nearest_neighbors(X, 7))
    assert all(map(np.array_equal, *answers))


def test_progress_reaches_all_rows():
    for method in ("exact", "ivf"):
        seen = []
        nearest_neighbors(blobs(2000), 3, method=method, progress=lambda *x, s=seen: s.append(x))
        assert seen[-1] == (2000, 2000)
        assert seen == sorted(seen)


@pytest.mark.parametrize("method", ["exact", "ivf"])
def test_queries_find_rows_and_also_themselves(method):
    X, new = blobs(2000), blobs(30, seed=1)
    new[0] = X[7]
    found = query_neighbors(new, X, 4, method=method)
    assert isinstance(found, Neighbors)
    expected = lowest_first(all_distances(new, X), 4)
    assert found.indices[0] == 7
    hits = sum(len(set(a) & set(b)) for a, b in zip(lists(found), expected, strict=True))
    assert hits >= (120 if method == "exact" else 114)


def test_queries_of_zeros_find_nothing():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    found = query_neighbors(np.array([[0.0, 0.0], [0.0, 2.0]]), X, 1, metric="cosine")
    assert lists(found) == [[], [2]]


def test_sparse_data_cannot_be_put_into_lists():
    X = sparse.eye_array(40_000, format="csr")
    with pytest.raises(DataError, match="TruncatedSVD"):
        nearest_neighbors(X, 3, method="ivf")


def test_many_rows_are_searched_by_lists(monkeypatch):
    import sidelight.graph._search as search

    asked = []
    real = search.ivf_candidates
    monkeypatch.setattr(
        search, "ivf_candidates", lambda *a, **k: asked.append(len(a[0])) or real(*a, **k)
    )
    nearest_neighbors(blobs(EXACT_ROWS + 1, 6), 2)
    nearest_neighbors(blobs(EXACT_ROWS + 1, 2), 2)  # few features: a tree
    assert asked == [EXACT_ROWS + 1]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_distances_of_pairs_and_the_largest_of_all(metric, is_sparse, monkeypatch):
    import sidelight.graph._search as search

    X = blobs(70, 6)
    D = all_distances(X, X, metric)
    given = sparse.csr_array(X) if is_sparse else X
    i, j = np.triu_indices(70, 1)
    np.testing.assert_allclose(pair_distances(given, i, j, metric=metric), D[i, j], atol=1e-12)
    np.testing.assert_allclose(largest_distance(given, metric=metric), D.max(), rtol=1e-9)
    monkeypatch.setattr(search, "EXACT_ROWS", 10)  # a bound, when all pairs are too many
    assert largest_distance(given, metric=metric) >= D.max() * (1 - 1e-12)


def test_the_farthest_rows_or_rows_far_enough_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)) ** 3
    assert largest_distance(X) == pytest.approx(all_distances(X, X).max(), rel=1e-12)
    enough = largest_distance(X, enough=1.0)
    assert 1.0 <= enough <= all_distances(X, X).max() * (1 + 1e-12)


def test_rows_of_zeros_are_at_cosine_distance_one():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.1]])
    pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    distances = pair_distances(X, *pairs, metric="cosine")
    assert distances[:2].tolist() == [1.0, 1.0]
    assert distances[2] < 0.01
    assert largest_distance(X, metric="cosine") == 1.0


def test_single_rows_have_no_largest_distance():
    assert largest_distance(np.ones((1, 2))) == 0.0
