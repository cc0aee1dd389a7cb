"""Inverted lists against all distances, and the order of candidates."""

import numpy as np
import pytest

from sidelight._kernels import neighbors as kernels


@pytest.mark.parametrize("farthest", [1, 40])  # all at a distance of zero, and with ties
@pytest.mark.parametrize("guess", [0.0, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n_probes", [1, 7, 40])
def test_the_nearest_lists_are_chosen_whatever_the_guess(guess, n_probes, farthest):
    rng = np.random.default_rng(n_probes)
    distance = rng.integers(farthest, size=40).astype(np.float32)
    probes = np.empty(n_probes, dtype=np.int64)
    share = kernels.choose_lists(
        distance, np.float32(guess), np.empty(40, dtype=np.int64), np.empty(40, dtype=np.float32),
        probes,
    )  # fmt: skip
    assert len(set(probes)) == n_probes
    assert sorted(distance[probes]) == sorted(distance)[:n_probes]
    assert distance[probes[0]] == distance.min()
    mean = distance[: 2 * n_probes : 4].mean()
    limit = sorted(distance)[n_probes - 1]
    assert share == (pytest.approx(limit / mean) if mean > 0 else 0.0)


@pytest.mark.parametrize("room", [0, 100])
@pytest.mark.parametrize("k", [1, 5, 60])
@pytest.mark.parametrize("n_probes", [1, 3, 7])
def test_rows_find_the_nearest_of_all_rows_in_their_lists(n_probes, k, room):
    rng = np.random.default_rng(n_probes)
    X = rng.normal(size=(200, 8)).astype(np.float32)
    centres = rng.normal(size=(9, 8)).astype(np.float32)
    to_centre = ((X[:, None] - centres) ** 2).sum(axis=2)
    home = to_centre.argmin(axis=1)
    home[home == 4] = 5  # an empty list
    X, to_centre, home = (a[np.argsort(home, kind="stable")] for a in (X, to_centre, home))
    # Lists are filled up to a multiple of 16, here by 16 more than need be.
    members = [np.flatnonzero(home == b) for b in range(9)]
    members = [np.append(m, np.full(32 - len(m) % 16, -1)) for m in members]
    first = np.concatenate([[0], np.cumsum([len(m) for m in members])])
    members = np.concatenate(members)
    columns = np.empty(8 * len(members), dtype=np.float32)
    squares = np.empty(len(members), dtype=np.float32)
    kernels.columns_of_lists(X, members, first, centres, columns, squares)
    gaps = ((centres[:, None] - centres) ** 2).sum(axis=2)
    around = np.argsort(gaps, axis=1, kind="stable")[:, :7].copy()  # not all of them
    found, room = np.empty((200, k), dtype=np.int64), k + 16 + room
    kernels.scan_lists(
        X, home, around, centres, columns, squares, first, found,
        np.empty((200, n_probes), dtype=np.int64), np.zeros(200, dtype=np.int64),
        np.full(200, np.inf, dtype=np.float32), np.empty((200, room), dtype=np.float32),
        np.empty((200, room), dtype=np.int32), np.empty((2, 8), dtype=np.float32),
        np.empty((2, 300), dtype=np.float32), np.empty(7 * 8, dtype=np.float32),
        np.empty(7, dtype=np.int64), np.empty(max(7, room), dtype=np.float32),
        np.zeros(10, dtype=np.int64), np.empty(200 * n_probes, dtype=np.int64),
    )  # fmt: skip
    for i, line in enumerate(found):
        there = around[home[i]]
        near = there[np.argsort(to_centre[i, there], kind="stable")[:n_probes]]
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
