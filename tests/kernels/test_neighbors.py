"""Inverted lists against all distances, and the order of candidates."""

import numpy as np
import pytest

from sidelight._kernels import neighbors as kernels


@pytest.mark.parametrize("guess", [0.0, 1e-3, 5.0, 1e6])
@pytest.mark.parametrize("n_probes", [1, 7, 40])
def test_the_nearest_lists_are_chosen_whatever_the_guess(guess, n_probes):
    rng = np.random.default_rng(n_probes)
    centres = rng.integers(-3, 4, size=(40, 8)).astype(np.float32)  # with ties
    x = rng.integers(-3, 4, size=8).astype(np.float32)
    expected = ((centres - x) ** 2).sum(axis=1)
    probes = np.empty(n_probes, dtype=np.int64)
    limit = kernels.choose_lists(
        x, centres.T.ravel().copy(), np.float32(guess), np.empty(40, dtype=np.float32),
        np.empty(40, dtype=np.int64), np.empty(40, dtype=np.float32), probes,
    )  # fmt: skip
    assert len(set(probes)) == n_probes
    assert sorted(expected[probes]) == sorted(expected)[:n_probes]
    assert expected[probes[0]] == expected.min()
    assert limit == sorted(expected)[n_probes - 1]


@pytest.mark.parametrize("n_probes", [1, 3, 9])
def test_rows_find_the_nearest_of_all_rows_in_their_lists(n_probes):
    rng = np.random.default_rng(n_probes)
    X = rng.normal(size=(200, 8)).astype(np.float32)
    centres = rng.normal(size=(9, 8)).astype(np.float32)
    to_centre = ((X[:, None] - centres) ** 2).sum(axis=2)
    home = to_centre.argmin(axis=1)
    home[home == 4] = 5  # an empty list
    members = np.argsort(home, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(home, minlength=9))])
    columns = np.empty(X.size, dtype=np.float32)
    kernels.columns_of_lists(X, members, first, columns)
    k = 60  # more than some lists hold
    found = np.empty((200, k), dtype=np.int64)
    kernels.scan_lists(
        X, columns, first, centres.T.ravel().copy(), found, np.empty((200, k), dtype=np.float32),
        np.empty((200, n_probes), dtype=np.int64), np.empty(200, dtype=np.float32),
        np.empty(9, dtype=np.int64), np.empty(9, dtype=np.float32), np.zeros(10, dtype=np.int64),
        np.empty(200 * n_probes, dtype=np.int64),
    )  # fmt: skip
    for i, line in enumerate(found):
        near = np.argsort(to_centre[i], kind="stable")[:n_probes]
        inside = np.flatnonzero(np.isin(home, near))
        distance = ((X[inside] - X[i]) ** 2).sum(axis=1)
        expected = inside[np.argsort(distance, kind="stable")[:k]]
        assert members[line[line >= 0]].tolist() == expected.tolist()


def test_candidates_are_sorted_by_distance_and_then_by_number():
    rng = np.random.default_rng(0)
    distances = rng.integers(4, size=(30, 9)).astype(float)
    candidates = rng.permuted(np.tile(np.arange(9), (30, 1)), axis=1)
    expected = [sorted(zip(d, c, strict=True)) for d, c in zip(distances, candidates, strict=True)]
    kernels.sort_candidates(candidates, distances)
    assert [
        [*zip(d, c, strict=True)] for d, c in zip(distances, candidates, strict=True)
    ] == expected
