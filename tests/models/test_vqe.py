"""CVQE and LCVQE: objectives, steps and updates by their definitions."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from oracles import related_rows
from oracles_kmeans import cvqe_objective, lcvqe_objective, lcvqe_placement, squared
from sidelight import CVQE, LCVQE, SideInformation
from sidelight._kernels.vqe import cvqe_sweep, lcvqe_sweep
from sidelight.models._kmeans.statements import closure_pairs, given_pairs
from sidelight.side import sample_labels, sample_pairs

BOTH = pytest.mark.parametrize(
    ("model", "objective"), [(LCVQE, lcvqe_objective), (CVQE, cvqe_objective)]
)


def problem(seed, n=40, k=3, n_pairs=40):
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    X = rng.normal(size=(n, 2)) + 1.5 * np.eye(k, 2)[truth]
    return X, sample_pairs(truth, n_pairs, accuracy=0.8, random_state=seed)


def listed(side, weight=1.0):
    """Each pair once: that it was said twice changes nothing."""
    once = ({(i, j) for i, j in pairs.tolist()} for pairs in (side.must, side.cannot))
    return [[(i, j, weight) for i, j in sorted(pairs)] for pairs in once]


@BOTH
@pytest.mark.parametrize("seed", range(15))
def test_objective_is_that_of_the_definition(model, objective, seed):
    X, side = problem(seed)
    found = model(3, n_init=2, random_state=seed).fit(X, side=side)
    assert found.n_clusters_ == 3
    expected = objective(X, found.cluster_centers_, found.labels_, *listed(side))
    assert found.objective_ == pytest.approx(expected)
    assert (np.diff(found.history_) <= 0).all()


@BOTH
def test_weights_multiply_the_cost_of_a_violated_pair(model, objective):
    X, side = problem(0)
    light = SideInformation.from_pairs(
        must=side.must, cannot=side.cannot, weight=0.25, n_samples=len(X)
    )
    found = model(3, random_state=0).fit(X, side=light)
    expected = objective(X, found.cluster_centers_, found.labels_, *listed(side, 0.25))
    assert found.objective_ == pytest.approx(expected)


@pytest.mark.parametrize("slip", [False, True])
@pytest.mark.parametrize("is_must", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_pair_goes_where_its_cases_say(seed, is_must, slip):
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(2, 2)), 2.0 * rng.normal(size=(4, 2))
    D = np.array([[squared(x, m) for m in centers] for x in X])
    labels = D.argmin(axis=1) if is_must else rng.integers(4, size=1).repeat(2)
    expected = tuple(labels)
    if is_must != (labels[0] == labels[1]):
        expected = lcvqe_placement(X, centers, labels, 0, 1, is_must, slip)
    one = np.array([0]), np.array([1]), np.array([is_must]), np.ones(1)
    lcvqe_sweep(D, np.ones(2), *one, slip, labels)
    assert tuple(labels) == expected


@pytest.mark.parametrize("is_must", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_cvqe_takes_the_cheapest_of_all_placements(seed, is_must):
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(2, 2)), rng.normal(size=(4, 2))
    D = np.array([[squared(x, m) for m in centers] for x in X])
    between = np.array([[squared(m, n) for n in centers] for m in centers])
    for k in range(4):
        between[k, k] = min(between[k, h] for h in range(4) if h != k)
    labels = rng.integers(4, size=2) if is_must else rng.integers(4, size=1).repeat(2)
    violated = is_must != (labels[0] == labels[1])
    costs = {
        (i, j): D[0, i] + D[1, j] + between[i, j] * ((i == j) != is_must)
        for i, j in product(range(4), repeat=2)
    }
    expected = min(costs, key=costs.get) if violated else tuple(labels)
    one = np.array([0]), np.array([1]), np.array([is_must]), np.ones(1)
    cvqe_sweep(D, np.ones(2), between, *one, labels)
    assert tuple(labels) == expected


def test_kept_violations_draw_both_centres_of_lcvqe():
    """With a weight of 1 one of the two rows always moves: only a light pair stays violated."""
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    side = SideInformation.from_pairs(must=[(1, 2)], weight=0.25, n_samples=4)
    model = LCVQE(2, init=[[0.5], [10.5]]).fit(X, side=side)
    assert model.result_.violated.all()
    expected = [(0 + 1 + 0.125 * 10) / 2.125, (10 + 11 + 0.125 * 1) / 2.125]
    assert_allclose(model.cluster_centers_.ravel(), expected)


def test_kept_violations_draw_a_centre_of_cvqe_to_a_centre():
    X = np.array([[0.0], [1.0], [100.0], [101.0]])
    side = SideInformation.from_pairs(must=[(0, 2)], weight=0.01, n_samples=4)
    model = CVQE(2, init=[[0.5], [100.5]]).fit(X, side=side)
    assert model.result_.violated.all()
    assert_allclose(model.cluster_centers_.ravel(), [(0 + 1 + 0.01 * 100.5) / 2.01, 100.5])


def test_the_best_iterate_is_kept_where_the_loop_wanders():
    n_wandering = 0
    for seed in range(20):
        X, side = problem(seed, n_pairs=80)
        full = LCVQE(3, init=X[:3]).fit(X, side=side)
        assert full.objective_ == full.history_.min()
        n_wandering += full.history_[-1] == full.history_[-3 if full.n_iter_ > 2 else 0]
    assert n_wandering


@BOTH
def test_without_statements_it_is_k_means(model, objective):
    X, _ = load_iris(return_X_y=True)
    peer = KMeans(3, init=X[[0, 60, 120]], n_init=1, tol=0).fit(X)
    found = model(3, init=X[[0, 60, 120]]).fit(X)
    assert found.objective_ == pytest.approx(peer.inertia_ / 2)


@BOTH
def test_row_weights_count_as_copies(model, objective):
    X, _ = problem(3)
    weight = np.random.default_rng(0).integers(1, 4, size=len(X))
    one = model(3, init=X[:3]).fit(X, sample_weight=weight)
    two = model(3, init=X[:3]).fit(np.repeat(X, weight, axis=0))
    assert one.objective_ == pytest.approx(two.objective_)


def test_every_pair_that_follows_is_written_out_once():
    rng = np.random.default_rng(0)
    side = sample_pairs(rng.integers(4, size=20), 12, random_state=0)
    side += sample_labels(rng.integers(3, size=20), n_labels=6, random_state=0)
    found = closure_pairs(side)
    together, apart = related_rows(side)
    np.fill_diagonal(together, False)
    np.fill_diagonal(apart, False)
    for wanted, chosen in ((together, found.is_must), (apart, ~found.is_must)):
        pairs = set(zip(found.i[chosen].tolist(), found.j[chosen].tolist(), strict=True))
        assert len(pairs) == chosen.sum()
        assert pairs == {(i, j) for i, j in zip(*np.nonzero(wanted), strict=True) if i < j}


def test_a_label_is_two_pairs_that_follow_from_the_labels():
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=50)
    side = sample_labels(truth, n_labels=20, random_state=0)
    side += SideInformation.from_columns(
        "not_label", [3, 4], class_=(truth[[3, 4]] + 1) % 3, n_samples=50
    )
    found = given_pairs(side)
    together, apart = related_rows(side)
    assert together[found.i[found.is_must], found.j[found.is_must]].all()
    assert apart[found.i[~found.is_must], found.j[~found.is_must]].all()
    assert len(found.i) <= 2 * side.n_statements
    # All labelled rows of a class hang together, and every class is kept from another.
    assert found.is_must.sum() == 20 - 3
    assert (~found.is_must).sum() >= 3


def test_labels_help_and_the_paper_writes_all_pairs_out():
    X, y = load_iris(return_X_y=True)
    side = sample_labels(y, n_labels=60, random_state=0)
    for pairs in ("given", "closure"):
        model = LCVQE(3, pairs=pairs, random_state=0).fit(X, side=side)
        assert (model.cluster_names_[model.labels_] == y).mean() > 0.88
    published = LCVQE.as_published(n_clusters=3)
    assert (published.pairs, published.init, published.n_init) == ("closure", "random", 1)
    assert_array_equal(published.public_slip, False)
