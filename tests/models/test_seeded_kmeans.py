"""K-means with labels at the start, and with labels that hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from oracles_kmeans import k_means_objective, means_of, squared
from sidelight import ConstrainedKMeans, SeededKMeans, SideInformation
from sidelight.exceptions import LostClassWarning, SideInformationError

BOTH = pytest.mark.parametrize("model", [SeededKMeans, ConstrainedKMeans])


def problem(seed, n=40, k=3, share=0.3):
    rng = np.random.default_rng(seed)
    truth = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = rng.normal(size=(n, 2)) + 2.0 * np.eye(k, 2)[truth]
    y = np.where((rng.random(n) < share) | (np.arange(n) < k), truth, -1)
    return X, y


def forbidden(side, n_clusters, cluster_names):
    """Row by row the clusters that statements forbid, by definition."""
    number = {name: k for k, name in enumerate(cluster_names.tolist())}
    barred = [set() for _ in range(side.n_samples)]
    said = side.statements
    for kind, i, code in zip(said.kind, said.i, said.class_code, strict=True):
        k = number.get(side.classes[code])
        if kind == 3:
            barred[i] |= set(range(n_clusters)) - {k}
        elif k is not None:
            barred[i].add(k)
    return barred


@BOTH
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_without_labels_it_is_k_means_from_the_same_start(model, kind):
    X, _ = load_iris(return_X_y=True)
    start = X[[3, 70, 120]]
    peer = KMeans(3, init=start, n_init=1, tol=0).fit(X)
    found = model(3, init=start).fit(X if kind == "dense" else sparse.csr_array(X))
    assert found.objective_ == pytest.approx(peer.inertia_, rel=1e-12)
    assert_array_equal(peer.labels_[[3, 70, 120]][found.labels_[[3, 70, 120]]], [0, 1, 2])
    assert_allclose(np.sort(found.cluster_centers_, axis=0), np.sort(peer.cluster_centers_, axis=0))


@BOTH
@pytest.mark.parametrize("seed", range(20))
def test_objective_and_centres_are_those_of_the_definition(model, seed):
    X, y = problem(seed)
    found = model(3, random_state=seed).fit(X, y)
    assert found.objective_ == pytest.approx(
        k_means_objective(X, found.cluster_centers_, found.labels_)
    )
    assert_allclose(found.cluster_centers_, means_of(X, found.labels_, 3))


@pytest.mark.parametrize("seed", range(10))
def test_seeds_are_the_means_of_the_classes(seed):
    X, y = problem(seed)
    start = means_of(X[y >= 0], y[y >= 0], 3)
    found = SeededKMeans(3, n_init=1, max_iter=1000).fit(X, y)
    peer = KMeans(3, init=np.array(start), n_init=1, tol=0).fit(X)
    assert found.objective_ == pytest.approx(peer.inertia_, rel=1e-12)
    assert found.history_[0] == pytest.approx(
        sum(min(squared(x, m) for m in start) for x in X), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_held_rows_stay_and_free_rows_are_nearest_of_what_is_allowed(seed):
    X, y = problem(seed)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(y < 0)[:6]
    negative = SideInformation.from_columns(
        "not_label", rows, class_=rng.integers(3, size=len(rows)), n_samples=len(X)
    )
    side = SideInformation.from_labels(y) + negative
    model = ConstrainedKMeans(4, random_state=seed).fit(X, side=side)
    assert not model.result_.violated.any()
    barred = forbidden(side, 4, model.cluster_names_)
    for x, label, out in zip(X, model.labels_, barred, strict=True):
        costs = [
            np.inf if k in out else squared(x, m) for k, m in enumerate(model.cluster_centers_)
        ]
        assert costs[label] == pytest.approx(min(costs))


def test_labels_hold_from_any_start():
    X, y = problem(1)
    wrong = np.where(y >= 0, (y + 1) % 3, -1)
    for init in ("seeded", "k-means++", "random", X[:3], np.arange(len(X)) % 3):
        model = ConstrainedKMeans(3, init=init, random_state=0).fit(X, wrong)
        assert_array_equal(model.cluster_names_[model.labels_[y >= 0]], wrong[y >= 0])


def test_a_class_without_labels_and_new_clusters_are_normal():
    X, y = problem(2, k=3)
    y[y == 1] = -1
    for model in (SeededKMeans, ConstrainedKMeans):
        found = model(4, random_state=0).fit(X, y)
        assert found.n_clusters_ == 4
        assert_array_equal(found.cluster_names_, [0, 2, 3, 4])


def test_of_too_many_classes_the_heaviest_seed_and_holding_them_all_is_refused():
    X, y = problem(3)
    y[:8] = [0, 0, 0, 1, 1, 1, 2, -1]
    y[8:] = -1
    start = means_of(X[:6], y[:6], 2)
    with pytest.warns(LostClassWarning, match="2 clusters for 3 labelled classes"):
        found = SeededKMeans(2).fit(X, y)
    assert found.objective_ == pytest.approx(KMeans(2, init=start, n_init=1, tol=0).fit(X).inertia_)
    with pytest.raises(SideInformationError, match="3 classes are labelled and n_clusters=2"):
        ConstrainedKMeans(2).fit(X, y)


def test_contradictory_labels_are_named_by_the_users_ids():
    side = SideInformation.from_columns(
        "label", ["ann", "ann", "bob"], class_=["x", "y", "y"], index=["ann", "bob", "cy"]
    )
    with pytest.raises(SideInformationError, match=r"ann.*'x'.*ann.*'y'|ann.*'y'.*ann.*'x'"):
        ConstrainedKMeans(2).fit([[0.0], [1.0], [2.0]], side=side)
    barred = SideInformation.from_columns(
        "not_label", ["cy", "cy"], class_=["x", "y"], index=["ann", "bob", "cy"]
    )
    labels = SideInformation.from_columns(
        "label", ["ann", "bob"], class_=["x", "y"], index=["ann", "bob", "cy"]
    )
    with pytest.raises(SideInformationError, match=r"3 rows are all kept apart.*ann, bob, cy"):
        ConstrainedKMeans(2).fit([[0.0], [1.0], [2.0]], side=labels + barred)
    other = SideInformation.from_columns(
        "label", ["cy"], class_=["x"], vocabulary="mine", index=["ann", "bob", "cy"]
    )
    with pytest.raises(SideInformationError, match="2 vocabularies"):
        ConstrainedKMeans(2).fit([[0.0], [1.0], [2.0]], side=labels + other)


def test_an_empty_cluster_starts_at_a_row_without_labels():
    X = np.array([[0.0], [50.0], [1.0], [2.0], [9.0]])
    start = [[0.0], [1.0], [1e3]]
    model = ConstrainedKMeans(3, init=start).fit(X, [0, 0, 1, -1, -1])
    assert model.n_clusters_ == 3
    assert model.labels_[4] == 2
    with pytest.warns(ConvergenceWarning, match="found 2 clusters"):
        ConstrainedKMeans(3, init=start).fit(X, [0, 0, 1, 1, 0])


@BOTH
def test_weights_count_as_copies(model):
    X, y = problem(4)
    weight = np.random.default_rng(0).integers(1, 4, size=len(X))
    one = model(3).fit(X, y, sample_weight=weight)
    two = model(3).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert one.objective_ == pytest.approx(two.objective_)
    assert_array_equal(np.repeat(one.labels_, weight), two.labels_)


def test_one_start_is_enough_where_nothing_is_random():
    from sidelight._work import counted

    X, y = problem(5)
    with counted() as ten:
        SeededKMeans(3, random_state=0).fit(X, y)
    with counted() as one:
        SeededKMeans(3, n_init=1, random_state=0).fit(X, y)
    assert ten == one
