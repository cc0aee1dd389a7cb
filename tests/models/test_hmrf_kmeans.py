"""HMRF-k-means: J by its definition for each distortion, and nothing that lowers it is left."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from oracles_kmeans import distortion, hmrf_objective
from sidelight import HMRFKMeans, SideInformation
from sidelight.exceptions import DataError
from sidelight.side import sample_pairs

EACH = pytest.mark.parametrize("kind", ["euclidean", "kl", "cosine"])
LEARNED = pytest.mark.parametrize("learned", [False, True])


def problem(seed, n=36, k=3, n_pairs=20):
    """Rows above 0, which every distortion can take."""
    rng = np.random.default_rng(seed)
    truth = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = rng.gamma(2.0, size=(n, 3)) + 4.0 * np.eye(k, 3)[truth]
    return X, sample_pairs(truth, n_pairs, accuracy=0.8, random_state=seed)


def listed(side, weight=1.0):
    once = ({(i, j) for i, j in pairs.tolist()} for pairs in (side.must, side.cannot))
    return [[(i, j, weight) for i, j in sorted(pairs)] for pairs in once]


def objective(model, X, side, labels=None, columns=None):
    columns = model.column_weights_ if columns is None else columns
    labels = model.labels_ if labels is None else labels
    pairs = listed(side, model.side_weight)
    at = (model.distortion, X, model.cluster_centers_, columns, labels)
    return hmrf_objective(*at, *pairs, model.learn_metric)


@EACH
@LEARNED
@pytest.mark.parametrize("seed", range(6))
def test_objective_is_that_of_the_definition(seed, kind, learned):
    X, side = problem(seed)
    price = [0.1, 0.5, 1.0][seed % 3]
    model = HMRFKMeans(
        3, distortion=kind, side_weight=price, learn_metric=learned, n_init=2, random_state=seed
    ).fit(X, side=side)
    assert model.n_clusters_ == 3
    assert model.objective_ == pytest.approx(objective(model, X, side))
    assert (np.diff(model.history_) <= 0).all()
    assert (model.column_weights_ == 1).all() != learned


@EACH
@LEARNED
@pytest.mark.parametrize("seed", range(3))
def test_no_row_gains_by_moving(seed, kind, learned):
    X, side = problem(seed, n=24, n_pairs=14)
    model = HMRFKMeans(3, distortion=kind, learn_metric=learned, n_init=1, random_state=seed)
    model.fit(X, side=side)
    lowest = objective(model, X, side)
    for i in range(len(X)):
        for k in range(3):
            moved = model.labels_.copy()
            moved[i] = k
            assert objective(model, X, side, moved) >= lowest - 1e-9


@pytest.mark.parametrize("kind", ["euclidean", "kl"])
def test_no_other_column_weight_lowers_the_objective(kind):
    X, side = problem(1)
    model = HMRFKMeans(3, distortion=kind, learn_metric=True, random_state=0).fit(X, side=side)
    lowest = objective(model, X, side)
    for column in range(3):
        for factor in (0.98, 1.02):
            other = model.column_weights_.copy()
            other[column] *= factor
            assert objective(model, X, side, columns=other) >= lowest - 1e-9


@EACH
def test_centres_are_the_best_ones(kind):
    X, _ = problem(2)
    model = HMRFKMeans(3, distortion=kind, random_state=0).fit(X)
    ones = np.ones(3)
    for k, center in enumerate(model.cluster_centers_):
        own = X[model.labels_ == k]
        lowest = sum(distortion(kind, x, center, ones) for x in own)
        for column in range(3):
            for factor in (0.99, 1.01):
                other = center.copy()
                other[column] *= factor
                assert sum(distortion(kind, x, other, ones) for x in own) >= lowest - 1e-12


@EACH
def test_new_rows_go_to_the_nearest_centre_by_the_distortion(kind):
    X, _ = problem(3)
    model = HMRFKMeans(3, distortion=kind, learn_metric=True, random_state=0).fit(X)
    costs = [
        [distortion(kind, x, m, model.column_weights_) for m in model.cluster_centers_] for x in X
    ]
    assert_allclose(model.transform(X), costs, atol=1e-9)
    assert_array_equal(model.predict(X), np.argmin(costs, axis=1))
    assert_array_equal(model.predict(X), model.labels_)


def test_with_squared_distances_and_no_statements_it_is_k_means():
    X, _ = problem(4)
    peer = KMeans(3, init=X[:3], n_init=1, tol=0).fit(X)
    assert HMRFKMeans(3, init=X[:3]).fit(X).objective_ == pytest.approx(peer.inertia_)


def test_the_cosine_sees_directions_only():
    X, side = problem(5)
    length = np.random.default_rng(0).uniform(0.1, 10.0, size=(len(X), 1))
    start = X[:3]
    one = HMRFKMeans(3, distortion="cosine", init=start, random_state=0).fit(X, side=side)
    two = HMRFKMeans(3, distortion="cosine", init=start, random_state=0).fit(X * length, side=side)
    assert_array_equal(one.labels_, two.labels_)
    assert one.objective_ == pytest.approx(two.objective_)


def test_rows_that_a_distortion_cannot_take_are_refused():
    X, _ = problem(6)
    with pytest.raises(DataError, match="below 0"):
        HMRFKMeans(3, distortion="kl").fit(X - 3.0)
    with pytest.raises(DataError, match="rows of zeros"):
        HMRFKMeans(3, distortion="cosine").fit(np.vstack([X, np.zeros(3)]))
    with pytest.raises(DataError, match=r"sparse matrix.*PCKMeans"):
        HMRFKMeans(3).fit(sparse.csr_array(X))


def test_counts_with_zeros_are_welcome_to_the_divergence():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.poisson([5.0, 0.2, 0.0], (30, 3)), rng.poisson([0.2, 5.0, 0.0], (30, 3))])
    model = HMRFKMeans(2, distortion="kl", random_state=0).fit(X.astype(float))
    assert np.isfinite(model.objective_)
    assert len(np.unique(model.labels_[:30])) == 1


def test_contradictions_are_listed():
    X, _ = problem(7)
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=len(X))
    model = HMRFKMeans(2, side_weight=50.0, random_state=0).fit(X, side=side)
    assert model.result_.violated.any()
