"""The k-means loop: without a penalty it is k-means; with one J is what the penalty says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from oracles import pairwise_objective
from sidelight._kernels.icm import icm_sweep
from sidelight.blocks import as_blocks
from sidelight.models._lloyd import (
    EXACT_UP_TO,
    Entries,
    Held,
    Penalty,
    Problem,
    State,
    Theta,
    assign,
    count,
    iterate,
    one_of_many,
    rough_partition,
)

N, K = 300, 4


def data(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + 2.0 * rng.integers(3, size=(n, 1))


def start(X, n_clusters=K, seed=0):
    return Theta(X[np.random.default_rng(seed).choice(len(X), n_clusters, replace=False)].copy())


def squares(X, centers, labels):
    return ((X - centers[labels]) ** 2).sum()


# Plain k-means


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_without_a_penalty_it_is_k_means(kind):
    X = data()
    theta = start(X)
    run = iterate(Problem(as_blocks(X if kind == "dense" else sparse.csr_array(X))), theta, 300)
    peer = KMeans(K, init=theta.centers, n_init=1, tol=0).fit(X)
    assert_array_equal(run.labels, peer.labels_)
    assert_allclose(run.theta.centers, peer.cluster_centers_)
    assert run.objective == pytest.approx(peer.inertia_)
    assert run.converged


def test_weights_count_as_copies():
    X = data(100)
    weight = np.random.default_rng(1).integers(1, 4, size=100)
    copies = iterate(Problem(as_blocks(np.repeat(X, weight, axis=0))), start(X), 300)
    run = iterate(Problem(as_blocks(X), weight.astype(float)), start(X), 300)
    assert_array_equal(np.repeat(run.labels, weight), copies.labels)
    assert run.objective == pytest.approx(copies.objective)


def test_empty_clusters_start_again_at_the_costliest_rows():
    X = data()
    far = Theta(np.vstack([start(X, K - 2).centers, [[1e3] * 3, [2e3] * 3]]))
    run = iterate(Problem(as_blocks(X)), far, 300)
    assert_array_equal(np.unique(run.labels), np.arange(K))
    labels, theta = rough_partition(Problem(as_blocks(X)), far, 1)
    nearest = cdist(X, far.centers).argmin(axis=1)
    costliest = np.argsort(-cdist(X, far.centers).min(axis=1))[:2]
    nearest[costliest] = [K - 2, K - 1]
    assert_array_equal(labels, nearest)
    assert_array_equal(theta.centers, far.centers)


def test_rough_labels_are_those_of_an_iteration_whose_update_gained_little():
    X = data()
    theta = start(X)
    labels, given_by = rough_partition(Problem(as_blocks(X)), theta, 100, 0.01)
    values, centers = [], theta.centers
    while len(values) < 2 or values[-1] < values[-2] * 0.99:
        expected, used = cdist(X, centers).argmin(axis=1), centers
        centers = np.array([X[expected == k].mean(axis=0) for k in range(K)])
        values.append(squares(X, centers, expected))
    assert_array_equal(labels, expected)
    assert_allclose(given_by.centers, used)
    assert len(values) > 3


# With a penalty


class Priced(Penalty):
    """A label that is broken costs 3: class c is cluster c."""

    n_prices = K

    def __init__(self, row, of_class):
        self.entries = Entries.of(row, of_class, np.ones(len(row)))

    def prices(self, theta):
        return 3.0 * (1.0 - np.eye(K))


def test_one_of_many_partitions_of_large_data_ends_with_the_first_small_gain():
    X = data(2_000, seed=1)
    problem, theta, share = Problem(as_blocks(X)), start(X, 9), 0.01
    full = iterate(problem, theta, 300)
    assert one_of_many(EXACT_UP_TO, share) is iterate
    early = one_of_many(EXACT_UP_TO + 1, share)(problem, theta, 300)
    history = np.array(full.history)
    small = history[1:] > (1.0 - share) * history[:-1]
    n_iter = 2 + int(np.argmax(small))
    assert 2 < n_iter < full.n_iter
    assert early.n_iter == n_iter
    assert_allclose(early.history[:-1], full.history[: n_iter - 1])
    # Labels and centres agree, as at the end of every run.
    assert_array_equal(early.labels, cdist(X, early.theta.centers).argmin(axis=1))
    assert early.objective == pytest.approx(squares(X, early.theta.centers, early.labels))
    assert not early.converged


def test_entries_with_prices_that_stay_are_all_that_a_penalty_needs():
    X = data()
    rng = np.random.default_rng(2)
    row = np.sort(rng.choice(N, 60, replace=False))
    of_class = rng.integers(K, size=60)
    problem = Problem(as_blocks(X), None, Priced(row, of_class))
    run = iterate(problem, start(X), 300)
    broken = (run.labels[row] != of_class).sum()
    plain = iterate(Problem(as_blocks(X)), start(X), 300)
    assert 0 < broken < (plain.labels[row] != of_class).sum()
    assert run.objective == pytest.approx(squares(X, run.theta.centers, run.labels) + 3 * broken)
    assert (np.diff(run.history) <= 0).all()
    cost = cdist(X, run.theta.centers, "sqeuclidean")
    cost[row] += 3.0 * (1.0 - np.eye(K))[of_class]
    assert_array_equal(run.labels, cost.argmin(axis=1))


def test_an_empty_cluster_does_not_start_again_at_a_row_that_would_leave_it():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    side = Priced(np.arange(6), np.array([0, 0, 0, 1, 1, 1]))
    side.n_prices, side.prices = 3, lambda theta: 3.0 * (1.0 - np.eye(3))
    problem = Problem(as_blocks(X), None, side)
    run = iterate(problem, Theta(np.array([[0.1], [9.1], [1e3]])), 50)
    assert run.converged
    assert_array_equal(run.labels, [0, 0, 0, 1, 1, 1])
    assert run.objective == pytest.approx(0.04)


def test_entries_of_a_block_are_counted_from_its_first_row():
    entries = Entries.of(np.array([1, 4, 4, 9]), np.arange(4), np.arange(4.0))
    part = entries.within(4, 9)
    assert_array_equal(part.stated, [0])
    assert_array_equal(part.row_of_entry, [0, 0])
    assert_array_equal(part.entry, [1, 2])
    assert_array_equal(part.weight, [1.0, 2.0])
    assert not len(Entries.none().within(0, 5).stated)


class Pairs(Penalty):
    """A broken pair costs its weight; rows with pairs are moved by iterated conditional modes."""

    def __init__(self, rows, pairs, weight, row_weight=None):
        numbers, ends = np.unique(pairs, return_inverse=True)
        self.pairs, self.weight = ends.reshape(pairs.shape), weight
        self.some, self.held = Held.of(rows, numbers, row_weight), numbers
        both = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        graph = sparse.coo_array((np.tile(weight, 2), tuple(both.T))).tocsr()
        self.graph = graph.indices.astype(np.int64), graph.data, graph.indptr.astype(np.int64)

    def cost(self, tally, theta, labels):
        apart = np.diff(labels[self.held][self.pairs])[:, 0] != 0
        return np.where(self.weight > 0, self.weight * apart, -self.weight * ~apart).sum()

    def sweep(self, problem, theta, tally, state):
        distances = self.some.distances(theta.centers)
        before = state.labels[self.held].astype(np.int64)
        labels, order = before.copy(), np.arange(len(before))
        _, n_moved = icm_sweep(
            distances, *self.graph, order, 1e-9, np.ones(len(labels), bool), labels
        )
        state.labels[self.held] = labels
        return n_moved, self.some.moved(tally, before, labels, theta.centers)


@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted"])
def test_pairs_run_on_the_loop_and_j_never_rises(kind):
    X = data()
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.5, 2.0, size=N) if kind == "weighted" else None
    pairs, pull = rng.choice(N, (80, 2), replace=False), rng.normal(scale=3.0, size=80)
    rows = as_blocks(sparse.csr_array(X) if kind == "sparse" else X)
    problem = Problem(rows, weight, Pairs(rows, pairs, pull, weight))
    run = iterate(problem, start(X), 300)
    unary = cdist(X, run.theta.centers, "sqeuclidean")
    unary *= 1.0 if weight is None else weight[:, None]
    assert run.objective == pytest.approx(pairwise_objective(unary, pairs, pull, run.labels))
    assert run.converged
    assert (np.diff(run.history) <= 0).all()
    free = np.setdiff1d(np.arange(N), pairs)
    assert_array_equal(run.labels[free], unary[free].argmin(axis=1))
    for max_iter in range(1, run.n_iter):  # J is carried on by its changes
        part = iterate(problem, start(X), max_iter)
        assert part.history[-1] == pytest.approx(run.history[max_iter - 1])


def test_held_rows_that_move_take_their_sums_along():
    X = data()
    rows = as_blocks(X)
    rng = np.random.default_rng(4)
    weight = rng.uniform(size=N)
    theta, state = start(X), State.new(rows)
    problem = Problem(rows, weight)
    tally = assign(problem, theta, state)
    some = Held.of(rows, np.sort(rng.choice(N, 50, replace=False)), weight)
    before = state.labels[some.rows].astype(np.int64)
    after = rng.integers(K, size=50)
    distances = some.distances(theta.centers)
    expected = weight[some.rows, None] * cdist(X[some.rows], theta.centers, "sqeuclidean")
    assert_allclose(distances, expected)
    found = some.moved(tally, before, after, theta.centers)
    state.labels[some.rows] = after
    again = count(problem, state.labels, K)
    assert_allclose(found.sums, again.sums)
    assert_allclose(found.counts, again.counts)
    by_hand = weight @ ((X - theta.centers[state.labels]) ** 2).sum(axis=1)
    assert found.amount == pytest.approx(by_hand)
    assert np.isnan(again.amount)
