"""The kernels of nearest centres against slow, obvious Python."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from oracles import nearest_with_penalties
from sidelight._kernels import assign as kernels
from sidelight.models._centers import Centers


def case(n=300, d=5, n_clusters=4, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[rng.random((n, d)) < 0.4] = 0
    weight = rng.uniform(0.5, 2, size=n)
    stated = np.sort(rng.choice(n, n // 3, replace=False))
    span = np.append(0, np.cumsum(rng.integers(1, 4, size=len(stated))))
    entry = rng.integers(6, size=span[-1])
    entry_weight = rng.uniform(0.1, 2, size=span[-1])
    centers = rng.normal(size=(n_clusters, d))
    penalty = rng.uniform(0, 3, size=(6, n_clusters))
    return X, weight, (stated, span, entry, entry_weight), centers, penalty


def look(kind, X, weight, said, centers, penalty, *, drift=None, all_rows=True, state=None):
    n, d = X.shape
    k = len(centers)
    labels, slack = state or (np.full(n, -1, np.int32), np.full(n, -np.inf))
    cost, sums, counts = np.zeros(n), np.zeros((k, d)), np.zeros(k)
    mass = np.zeros((6, k))
    drift = np.zeros((2, k)) if drift is None else drift
    form = Centers.of(centers)
    rest = (penalty, drift, all_rows, labels, slack, cost, sums, counts, mass)
    if kind == "dense":
        done = kernels.assign_dense(X, weight, *said, form.padded, *rest)
    else:
        S = sparse.csr_array(X)
        csr = (S.data, S.indices.astype(np.int32), S.indptr.astype(np.int64))
        done = kernels.assign_csr(*csr, weight, *said, form.transposed, form.norms, *rest)
    return done, labels, slack, cost, sums, counts, mass


def entries_of(said, n):
    stated, span, entry, entry_weight = said
    entries = [[] for _ in range(n)]
    for p, row in enumerate(stated):
        entries[row] = list(
            zip(entry[span[p] : span[p + 1]], entry_weight[span[p] : span[p + 1]], strict=True)
        )
    return entries


# One and several chunks of features, odd and even numbers of clusters, less and more than a tile.
SHAPES = [(1, 1, 1), (50, 2, 3), (300, 5, 4), (257, 33, 7), (130, 70, 2)]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES)
def test_labels_costs_and_sums_are_those_of_the_oracle(kind, shape):
    n, d, k = shape
    X, weight, said, centers, penalty = case(n, d, k)
    (amount, changed), labels, _, cost, sums, counts, mass = look(
        kind, X, weight, said, centers, penalty
    )
    entries = entries_of(said, n)
    expected, expected_cost = nearest_with_penalties(X, centers, entries, penalty)
    assert_array_equal(labels, expected)
    assert changed == n
    assert_allclose(cost, weight * expected_cost, rtol=1e-10, atol=1e-12)
    assert_allclose(amount, (weight * ((X - centers[labels]) ** 2).sum(axis=1)).sum())
    for h in range(k):
        assert_allclose(sums[h], weight[labels == h] @ X[labels == h], atol=1e-9)
        assert_allclose(counts[h], weight[labels == h].sum())
    expected_mass = np.zeros_like(mass)
    for i, row in enumerate(entries):
        for e, w in row:
            expected_mass[e, labels[i]] += weight[i] * w
    assert_allclose(mass, expected_mass)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_float32_rows_are_taken_in_double_precision(kind):
    X, weight, said, centers, penalty = case(dtype=np.float32)
    single = look(kind, X, weight, said, centers, penalty)
    double = look(kind, X.astype(np.float64), weight, said, centers, penalty)
    assert_array_equal(single[1], double[1])
    assert_allclose(single[0][0], double[0][0], rtol=1e-14)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_pass_with_bounds_gives_the_labels_and_changes_of_a_full_one(kind):
    X, weight, said, centers, penalty = case(n=1000)
    (before, _), labels, slack, *_ = look(kind, X, weight, said, centers, penalty)
    at_first = look(kind, X, weight, said, centers, penalty)
    moved = centers + 0.1 * np.random.default_rng(1).normal(size=centers.shape)
    drift = 2 * np.linalg.norm(moved - centers, axis=1).max() * np.ones((2, len(centers)))
    at_rest = weight @ ((X - moved[labels]) ** 2).sum(axis=1)
    (fall, changed), new, _, _, *change = look(
        kind, X, weight, said, moved, penalty, drift=drift, all_rows=False, state=(labels, slack)
    )
    full = look(kind, X, weight, said, moved, penalty)
    assert_array_equal(new, full[1])
    assert 0 < changed == (at_first[1] != full[1]).sum()
    assert_allclose(at_rest - fall, full[0][0], rtol=1e-10)
    for a, b, difference in zip(full[4:], at_first[4:], change, strict=True):
        assert_allclose(difference, a - b, atol=1e-9)
    assert before > 0


def test_bounds_do_skip_rows():
    X, weight, said, centers, penalty = case(n=1000)
    _, labels, slack, *_ = look("dense", X, weight, said, centers, penalty)
    poisoned = np.full_like(X, np.nan)  # a row that is looked at would end in cluster 0
    _, new, *_ = look(
        "dense",
        poisoned,
        weight,
        said,
        centers,
        penalty,
        all_rows=False,
        state=(labels.copy(), slack),
    )
    assert_array_equal(new, labels)


def test_held_rows_keep_their_labels():
    X, weight, said, centers, penalty = case()
    labels = np.random.default_rng(0).integers(4, size=300).astype(np.int32)
    state = (labels.copy(), np.full(300, np.inf))
    (amount, changed), after, *_ = look("dense", X, weight, said, centers, penalty, state=state)
    assert_array_equal(after, labels)
    assert changed == 0
    assert_allclose(amount, (weight * ((X - centers[labels]) ** 2).sum(axis=1)).sum())


def test_ties_go_to_the_lowest_cluster():
    X = np.array([[0.0], [1.0]])
    centers = np.array([[1.0], [-1.0], [1.0]])
    nothing = (np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))
    _, labels, slack, *_ = look("dense", X, np.ones(2), nothing, centers, np.zeros((6, 3)))
    assert_array_equal(labels, [0, 0])
    assert_array_equal(slack, [0, 0])


def test_distance_of_a_row_does_not_depend_on_the_rows_beside_it():
    X, weight, _said, centers, penalty = case(n=1000, d=7)
    nothing = (np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))
    _, _, _, cost, *_ = look("dense", X, weight, nothing, centers, penalty)
    order = np.random.default_rng(0).permutation(1000)[:777]
    _, _, _, permuted, *_ = look("dense", X[order], weight[order], nothing, centers, penalty)
    assert_array_equal(permuted, cost[order])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_potential_of_candidates_is_the_sum_of_the_smaller_distances(kind):
    X, weight, _, centers, _ = case()
    closest = np.random.default_rng(0).uniform(0, 5, size=300)
    d2 = ((X[:, None] - centers) ** 2).sum(axis=2)
    form, out = Centers.of(centers), np.zeros(4)
    S = sparse.csr_array(X)
    csr = (S.data, S.indices.astype(np.int32), S.indptr.astype(np.int64))

    def call(form, keep, closest, out):
        if kind == "dense":
            kernels.closest_dense(X, weight, form.padded, keep, closest, out)
        else:
            kernels.closest_csr(*csr, weight, form.transposed, form.norms, keep, closest, out)

    before = closest.copy()
    call(form, False, closest, out)
    assert_array_equal(closest, before)
    assert_allclose(out, weight @ np.minimum(d2, closest[:, None]))
    call(Centers.of(centers[:1]), True, closest, np.zeros(1))
    assert_allclose(closest, np.minimum(before, d2[:, 0]))
