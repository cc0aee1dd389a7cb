"""MPCK-means: J by its definition, no better move or metric, and prediction in the metric."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from oracles_kmeans import means_of, mpck_objective
from sidelight import MPCKMeans, SideInformation
from sidelight.exceptions import DataError
from sidelight.side import sample_labels, sample_pairs

METRICS = pytest.mark.parametrize("per_cluster", [False, True])


def problem(seed, n=40, k=3, n_pairs=25):
    rng = np.random.default_rng(seed)
    truth = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = rng.normal(size=(n, 2)) * [1.0, 3.0] + 2.0 * np.eye(k, 2)[truth]
    return X, sample_pairs(truth, n_pairs, accuracy=0.8, random_state=seed)


def listed(side, weight=1.0):
    once = ({(i, j) for i, j in pairs.tolist()} for pairs in (side.must, side.cannot))
    return [[(i, j, weight) for i, j in sorted(pairs)] for pairs in once]


@METRICS
@pytest.mark.parametrize("seed", range(12))
def test_objective_is_that_of_the_definition(seed, per_cluster):
    X, side = problem(seed)
    price = [0.1, 0.5, 1.0][seed % 3]
    model = MPCKMeans(3, side_weight=price, per_cluster=per_cluster, n_init=2, random_state=seed)
    model.fit(X, side=side)
    assert model.n_clusters_ == 3
    found = model.cluster_centers_, model.metrics_, model.labels_
    assert model.objective_ == pytest.approx(mpck_objective(X, *found, *listed(side, price)))
    assert (np.diff(model.history_) <= 0).all()
    assert_allclose(model.cluster_centers_, means_of(X, model.labels_, 3))
    assert (len(np.unique(model.metrics_, axis=0)) == 1) != per_cluster


@METRICS
@pytest.mark.parametrize("seed", range(5))
def test_no_move_and_no_other_metric_lowers_the_objective(seed, per_cluster):
    X, side = problem(seed, n=25, n_pairs=15)
    model = MPCKMeans(3, per_cluster=per_cluster, n_init=1, random_state=seed).fit(X, side=side)
    centers, metrics, labels = model.cluster_centers_, model.metrics_, model.labels_
    pairs = listed(side)
    lowest = mpck_objective(X, centers, metrics, labels, *pairs)
    for i in range(len(X)):
        for k in range(3):
            moved = labels.copy()
            moved[i] = k
            assert mpck_objective(X, centers, metrics, moved, *pairs) >= lowest - 1e-9
    for column in range(2):
        for factor in (0.98, 1.02):
            for k in range(3) if per_cluster else [slice(None)]:
                other = metrics.copy()
                other[k, column] *= factor
                assert mpck_objective(X, centers, other, labels, *pairs) >= lowest - 1e-9


def test_a_metric_that_would_explode_is_held():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.0]])
    model = MPCKMeans(2, random_state=0).fit(X)
    assert model.metrics_.max() == pytest.approx(1.0 / (1e-3 * X[:, 0].var()))
    assert np.isfinite(model.objective_)


def test_a_constant_column_changes_nothing():
    X, side = problem(1)
    wide = np.hstack([X, np.full((len(X), 1), 7.0)])
    one, two = (MPCKMeans(3, random_state=0).fit(data, side=side) for data in (X, wide))
    assert_array_equal(one.labels_, two.labels_)


@METRICS
def test_new_rows_are_assigned_in_the_metric(per_cluster):
    X, _ = problem(2)
    model = MPCKMeans(3, per_cluster=per_cluster, random_state=0).fit(X)
    costs = ((X[:, None] - model.cluster_centers_) ** 2 * model.metrics_).sum(axis=2)
    assert_allclose(model.transform(X), np.sqrt(costs))
    costs -= np.log(model.metrics_).sum(axis=1)
    assert_array_equal(model.predict(X), costs.argmin(axis=1))
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.predict(X.astype(np.float32))[:5], model.labels_[:5])


def test_statements_teach_which_column_matters():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    X = np.stack([rng.normal(size=200) + 4.0 * truth, 8.0 * rng.normal(size=200)], axis=1)
    side = sample_labels(truth, n_labels=60, random_state=0)
    plain = MPCKMeans(2, init="k-means++", n_init=1, max_iter=300, random_state=0).fit(X)
    taught = MPCKMeans(2, random_state=0).fit(X, side=side)
    agree = [max((m.labels_ == truth).mean(), (m.labels_ != truth).mean()) for m in (plain, taught)]
    assert agree[1] > 0.95
    assert taught.metrics_[0, 0] > 10 * taught.metrics_[0, 1]


def test_row_weights_count_as_copies():
    X, _ = problem(3)
    weight = np.random.default_rng(0).integers(1, 4, size=len(X))
    one = MPCKMeans(3, init=X[:3]).fit(X, sample_weight=weight)
    two = MPCKMeans(3, init=X[:3]).fit(np.repeat(X, weight, axis=0))
    assert one.objective_ == pytest.approx(two.objective_)


def test_sparse_rows_are_refused_and_another_model_named():
    X, _ = problem(4)
    with pytest.raises(DataError, match=r"sparse matrix.*PCKMeans"):
        MPCKMeans(3).fit(sparse.csr_array(X))


def test_an_empty_cluster_starts_where_a_row_pays_most():
    X, _ = problem(5)
    start = np.vstack([X[:2], [[1e3, 1e3]]])
    assert MPCKMeans(3, init=start).fit(X).n_clusters_ == 3


def test_contradictions_are_listed():
    X, _ = problem(6)
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=len(X))
    assert MPCKMeans(2, side_weight=50.0, random_state=0).fit(X, side=side).result_.violated.any()
