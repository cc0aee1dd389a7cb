"""COP-k-means: every statement is kept, or the error says why none can be."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine

from oracles_kmeans import k_means_objective, means_of
from sidelight import COPKMeans, SideInformation
from sidelight._kernels.colour import colour_by_cost, improve_colours
from sidelight.exceptions import SideInformationError
from sidelight.side import sample_pairs


def random_graph(seed, n, share):
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(n), 2) if rng.random() < share]
    ends = np.array([*pairs, *((b, a) for a, b in pairs)], dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(ends))
    graph = sparse.coo_array((ones, tuple(ends.T)), shape=(n, n)).tocsr()
    return pairs, graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


def taken_by(span, near, labels, n_clusters):
    taken = np.zeros((len(labels), n_clusters), dtype=np.int64)
    for g in range(len(labels)):
        for h in near[span[g] : span[g + 1]]:
            if labels[h] >= 0:
                taken[g, labels[h]] += 1
    return taken


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_placed_wherever_they_can_be(seed):
    n, k = 7, 3
    pairs, span, near = random_graph(seed, n, 0.5)
    cost = np.random.default_rng(seed).random((n, k))
    labels, taken = np.full(n, -1), np.zeros((n, k), dtype=np.int64)
    stuck = colour_by_cost(cost, span, near, labels, taken)
    possible = any(all(z[a] != z[b] for a, b in pairs) for z in product(range(k), repeat=n))
    assert (stuck < 0) == possible
    if possible:
        assert all(labels[a] != labels[b] for a, b in pairs)
        assert_array_equal(taken, taken_by(span, near, labels, k))


@pytest.mark.parametrize("longest", [1, 64])
@pytest.mark.parametrize("seed", range(20))
def test_a_predicted_gain_is_the_measured_one_and_no_group_gains_afterwards(seed, longest):
    n, k = 25, 4
    pairs, span, near = random_graph(seed, n, 0.1)
    rng = np.random.default_rng(seed)
    labels, taken = np.full(n, -1), np.zeros((n, k), dtype=np.int64)
    assert colour_by_cost(rng.random((n, k)), span, near, labels, taken) < 0
    cost = rng.random((n, k))
    scratch = np.empty(longest, dtype=np.int64), np.zeros(n, dtype=bool)
    for _ in range(100):
        before = cost[np.arange(n), labels].sum()
        groups = np.arange(n)
        change, n_moves = improve_colours(cost, span, near, groups, 1e-12, labels, taken, *scratch)
        assert cost[np.arange(n), labels].sum() - before == pytest.approx(change)
        assert all(labels[a] != labels[b] for a, b in pairs)
        assert_array_equal(taken, taken_by(span, near, labels, k))
        assert not scratch[1].any()
        if n_moves == 0:
            break
    assert n_moves == 0
    for g in range(n):
        assert cost[g, labels[g]] <= min(cost[g, h] for h in range(k) if taken[g, h] == 0) + 1e-9


@pytest.mark.parametrize("seed", range(15))
def test_all_statements_are_kept_and_the_objective_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    truth = np.append(np.arange(4), rng.integers(4, size=76))
    X = rng.normal(size=(80, 3))  # nothing in the data speaks for the statements
    side = sample_pairs(truth, 60, random_state=seed)
    side += SideInformation.from_labels(np.where(np.arange(80) < 12, truth, -1))
    side += SideInformation.from_columns(
        "not_label", np.arange(20, 26), class_=(truth[20:26] + 1) % 4, n_samples=80
    )
    model = COPKMeans(4, n_init=3, random_state=seed).fit(X, side=side)
    assert not model.result_.violated.any()
    assert (np.diff(model.history_) <= 0).all()
    assert_allclose(model.cluster_centers_, means_of(X, model.labels_, 4))
    expected = k_means_objective(X, model.cluster_centers_, model.labels_)
    assert model.objective_ == pytest.approx(expected)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_every_pair_is_kept_where_the_public_program_keeps_98_of_100(load):
    X, y = load(return_X_y=True)
    for seed in range(3):
        side = sample_pairs(y, 100, random_state=seed)
        assert not COPKMeans(3, random_state=seed).fit(X, side=side).result_.violated.any()


def test_labels_of_two_vocabularies_are_groups_of_both():
    X = np.random.default_rng(0).normal(size=(30, 2))
    side = SideInformation.from_labels([0, 1, 0, 1] + [-1] * 26, vocabulary="ann")
    side += SideInformation.from_labels(
        [-1] * 4 + ["x", "y", "x", "y"] + [-1] * 22, vocabulary="bob"
    )
    assert not COPKMeans(2, random_state=0).fit(X, side=side).result_.violated.any()


def test_without_statements_it_is_k_means():
    X, _ = load_iris(return_X_y=True)
    peer = KMeans(3, init=X[[0, 60, 120]], n_init=1, tol=0).fit(X)
    assert COPKMeans(3, init=X[[0, 60, 120]]).fit(X).objective_ == pytest.approx(peer.inertia_)


def test_contradictions_are_a_chain_of_the_users_ids():
    side = SideInformation.from_pairs(
        must=[("ann", "bob"), ("bob", "cy")], cannot=[("ann", "cy")], index=["ann", "bob", "cy"]
    )
    with pytest.raises(
        SideInformationError, match=r"ann and cy are kept apart.*ann with bob.*bob with cy"
    ):
        COPKMeans(2).fit([[0.0], [1.0], [2.0]], side=side)


def test_a_must_link_between_two_classes_is_refused():
    side = SideInformation.from_labels(["a", "b", None])
    side += SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    with pytest.raises(SideInformationError, match=r"row 1 is 'b'|row 0 is 'a'"):
        COPKMeans(2).fit([[0.0], [1.0], [2.0]], side=side)


def test_a_core_that_cannot_be_placed_is_named_and_proven():
    pairs = list(combinations(range(4), 2))
    side = SideInformation.from_pairs(cannot=pairs, n_samples=6)
    X = np.arange(6.0)[:, None]
    with pytest.raises(SideInformationError, match=r"4 rows .*0, 1, 2, 3.*This is proven"):
        COPKMeans(3).fit(X, side=side)
    assert COPKMeans(4, random_state=0).fit(X, side=side).n_clusters_ == 4


def test_where_nothing_is_proven_the_core_is_named():
    """A wheel with a rim of five needs four colours, and has no four rows that are all apart."""
    rim = [(i, (i + 1) % 5) for i in range(5)]
    spokes = [(i, 5) for i in range(5)]
    side = SideInformation.from_pairs(cannot=rim + spokes, n_samples=8)
    assert side.feasible(3).core.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(
        SideInformationError, match=r"unknown: .*6 rows are hard.*This is not proven"
    ):
        COPKMeans(3).fit(np.arange(8.0)[:, None], side=side)
    assert not COPKMeans(4).fit(np.arange(8.0)[:, None], side=side).result_.violated.any()


def test_groups_fewer_than_clusters_are_told():
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2), (2, 3)], n_samples=4)
    with pytest.warns(UserWarning, match="found 1 cluster"):
        COPKMeans(2, random_state=0).fit(np.arange(4.0)[:, None], side=side)


@pytest.mark.parametrize("seed", range(8))
def test_no_group_gains_by_moving_where_the_centres_follow(seed):
    rng = np.random.default_rng(seed)
    n, k = 40, 3
    X = rng.normal(size=(n, 2)) + 2.0 * rng.integers(2, size=(n, 1))
    truth = rng.integers(k, size=n)
    side = sample_pairs(truth, 20, random_state=seed)
    weight = rng.choice([0.5, 1.0, 3.0], size=n)
    model = COPKMeans(k, n_init=1, random_state=seed).fit(X, side=side, sample_weight=weight)
    assert not model.result_.violated.any()

    def total(labels):
        used = [h for h in range(k) if (labels == h).any()]
        centers = {h: np.average(X[labels == h], axis=0, weights=weight[labels == h]) for h in used}
        return sum(weight[i] * ((X[i] - centers[labels[i]]) ** 2).sum() for i in range(n))

    groups = side.closure().groups
    assert total(model.labels_) == pytest.approx(model.objective_)
    for group, h in product(np.unique(groups), range(k)):
        moved = np.where(groups == group, h, model.labels_)
        if not side.violated(moved).any():
            assert total(moved) >= model.objective_ - 1e-9


def test_sparse_rows_in_single_precision_may_be_large():
    X = np.array([[1e30, 0.0], [0.0, 1e30], [2e30, 0.0], [0.0, 3e30]])
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=4)
    found = [
        COPKMeans(2, random_state=0).fit(rows, side=side).labels_
        for rows in (X, sparse.csr_array(X), sparse.csr_array(X.astype(np.float32)))
    ]
    assert_array_equal(found[2], found[1])
    assert_array_equal(found[1], found[0])
