"""The sweep over signed pairs against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from oracles import pairwise_objective
from sidelight._kernels.icm import icm_sweep


def problem(seed, n=12, n_clusters=3, n_pairs=20, whole=False):
    """Unary costs, signed pairs (self-pairs and repetitions among them), an order and labels."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(n, size=(n_pairs, 2))
    weight = rng.normal(size=n_pairs)
    unary = rng.gamma(1.0, size=(n, n_clusters))
    if whole:  # so that ties are many
        weight, unary = np.round(2 * weight), np.round(unary)
    labels = rng.integers(n_clusters, size=n)
    return unary, pairs, weight, rng.permutation(n), labels


def csr(pairs, weight, n):
    """Both ends of every pair; a pair of a row and itself stands there once."""
    loop = pairs[:, 0] == pairs[:, 1]
    row = np.concatenate([pairs[:, 0], pairs[~loop, 1]])
    col = np.concatenate([pairs[:, 1], pairs[~loop, 0]])
    both = sparse.coo_array((np.concatenate([weight, weight[~loop]]), (row, col)), shape=(n, n))
    both = both.tocsr()
    return both.indices.astype(np.int64), both.data, both.indptr.astype(np.int64)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.booleans())
def test_the_change_is_the_recomputed_one_and_never_a_rise(seed, whole):
    unary, pairs, weight, order, labels = problem(seed, whole=whole)
    after = labels.copy()
    change, n_moves = icm_sweep(
        unary, *csr(pairs, weight, 12), order, 0.0, np.ones(12, bool), after
    )
    before = pairwise_objective(unary, pairs, weight, labels)
    assert pairwise_objective(unary, pairs, weight, after) - before == pytest.approx(change)
    assert change <= 0.0
    assert n_moves == (labels != after).sum()
    assert (change < 0) == (n_moves > 0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.booleans())
def test_each_row_goes_to_the_lowest_of_its_cheapest_clusters_given_the_others(seed, whole):
    unary, pairs, weight, order, labels = problem(seed, whole=whole)
    found = labels.copy()
    icm_sweep(unary, *csr(pairs, weight, 12), order, 1e-12, np.ones(12, bool), found)
    expected = labels.copy()
    for i in order:
        costs = []
        for k in range(3):
            tried = expected.copy()
            tried[i] = k
            costs.append(pairwise_objective(unary, pairs, weight, tried))
        if min(costs) < costs[expected[i]] - 1e-9:
            expected[i] = int(np.flatnonzero(np.array(costs) < min(costs) + 1e-9)[0])
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_waiting_rows_alone_do_what_full_passes_do_and_end_where_no_row_gains(seed):
    unary, pairs, weight, order, labels = problem(seed, n=200, n_clusters=5, n_pairs=400)
    graph = csr(pairs, weight, 200)
    everybody, waiting = labels.copy(), np.ones(200, bool)
    for _ in range(100):
        before = everybody.copy()
        icm_sweep(unary, *graph, order, 1e-12, np.ones(200, bool), everybody)
        icm_sweep(unary, *graph, order, 1e-12, waiting, labels)
        assert labels.tolist() == everybody.tolist()
        if (before == everybody).all():
            break
    assert not waiting.any()
    backwards = order[::-1].copy()
    assert icm_sweep(unary, *graph, backwards, 1e-12, np.ones(200, bool), labels) == (0.0, 0)


def test_only_the_rows_of_the_order_move_and_a_gain_within_the_tolerance_moves_nobody():
    unary = np.array([[1.0, 0.0], [1.0, 0.0]])
    none = (np.empty(0, np.int64), np.empty(0), np.zeros(3, np.int64))
    labels = np.zeros(2, np.int64)
    assert icm_sweep(unary, *none, np.array([1]), 0.0, np.ones(2, bool), labels) == (-1.0, 1)
    assert labels.tolist() == [0, 1]
    assert icm_sweep(unary, *none, np.array([0]), 1.5, np.ones(2, bool), labels) == (0.0, 0)
