"""The parameter ``metric`` of models: rows in the metric of the statements, in every method."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    HMRFKMeans,
    MarkovAggregation,
    PartitionLevelKMeans,
    PCKMeans,
    SeededKMeans,
    SideInformation,
    StatementMetric,
    StructuralEntropyClustering,
    StructuralEntropyTree,
    models,
)
from sidelight.blocks import BLOCK_ROWS
from sidelight.exceptions import DataError
from sidelight.testing import check_same_bits, checks

WITH_METRIC = [
    name for name in models.model_names() if "metric" in getattr(models, name)().get_params()
]
QUICK = {"AnnotatedGaussianMixture": {"n_init": 2, "n_generations": 1}}
FIND_K_ALWAYS = {"ConstrainedMeanShift", "SemiMultiCons"}
ON = [
    PartitionLevelKMeans(3, metric="statements"),
    PCKMeans(3, metric="statements"),
    AnnotatedGaussianMixture(3, n_init=2, n_generations=1, metric="statements"),
    StructuralEntropyClustering(3, metric="statements"),
]
# The first fits sparse rows, which a metric refuses; the second 20,000 rows, some of them slowly.
LEFT_OUT = {"check_tags", "check_same_bits"}
CHECKS = [(model, check) for model in ON for check in checks() if check.__name__ not in LEFT_OUT]
CHECKS.append((ON[0], check_same_bits))


@pytest.fixture(scope="module")
def hidden():
    """Three classes in three narrow columns, beside four wide ones that mean nothing."""
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 3
    narrow = np.eye(3)[truth] + 0.15 * rng.normal(size=(240, 3))
    X = np.column_stack([narrow, 2 * rng.normal(size=(240, 4))]) + 50
    return X, truth, np.where(np.arange(240) < 90, truth, -1)


def model_of(name, **parameters):
    number = () if name in FIND_K_ALWAYS else (3,)
    return getattr(models, name)(*number, random_state=0, **QUICK.get(name, {}), **parameters)


@pytest.mark.parametrize("name", WITH_METRIC)
def test_every_model_works_in_the_metric_of_the_statements(name, hidden):
    X, truth, y = hidden
    model = model_of(name, metric="statements").fit(X, y)
    free = y < 0
    assert adjusted_rand_score(truth[free], model.labels_[free]) > 0.6
    predicted = model.predict(X)
    assert adjusted_rand_score(truth[free], predicted[free]) > 0.6
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), predicted)
    assert model.metric_.learned_
    assert model.metric_.n_features_in_ == 7


@pytest.mark.parametrize("name", WITH_METRIC)
def test_the_option_is_the_model_on_transformed_rows(name, hidden):
    X, _, y = hidden
    scaling = {"scaling": None} if "scaling" in model_of(name).get_params() else {}
    inside = model_of(name, metric="statements", **scaling).fit(X, y)
    outside = model_of(name, **scaling).fit(StatementMetric().fit_transform(X, y), y)
    assert_array_equal(inside.labels_, outside.labels_)
    assert_allclose(inside.objective_, outside.objective_)


@pytest.mark.parametrize("name", WITH_METRIC)
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")  # three labels each
def test_too_few_statements_leave_the_model_as_it_is(name, hidden):
    X, truth, _ = hidden
    y = np.where(np.arange(240) < 9, truth, -1)  # six degrees of freedom of twelve
    inert, plain = (model_of(name, metric=metric).fit(X, y) for metric in ("statements", None))
    assert_array_equal(inert.labels_, plain.labels_)
    assert inert.objective_ == plain.objective_
    assert not inert.metric_.learned_
    assert not hasattr(plain, "metric_")


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_our_contract_holds_with_the_option(estimator, check):
    check(clone(estimator))


def test_centres_are_in_the_columns_of_x_and_distances_in_the_metric(hidden):
    X, _, y = hidden
    model = SeededKMeans(3, metric="statements", random_state=0).fit(X, y)
    means = [X[model.labels_ == k].mean(axis=0) for k in range(3)]
    assert_allclose(model.cluster_centers_, means)
    Z, centers = (model.metric_.transform(part) for part in (X, model.cluster_centers_))
    assert_allclose(model.transform(X), np.linalg.norm(Z[:, None] - centers, axis=2))


@pytest.mark.parametrize("name", ["SeededKMeans", "PartitionLevelKMeans"])
def test_given_centres_and_warm_restarts_are_in_the_columns_of_x(name, hidden):
    X, _, y = hidden
    model = model_of(name, metric="statements").fit(X, y)
    for init in (model, model.cluster_centers_):
        again = clone(model).set_params(init=init, n_init=1, max_iter=2).fit(X, y)
        assert_array_equal(again.labels_, model.labels_)
        assert_allclose(again.objective_, model.objective_)


@pytest.mark.parametrize(
    "name", ["PartialLabelGaussianMixture", "PartialLabelFuzzyCMeans", "CrossEntropyClustering"]
)
def test_a_model_of_other_rows_begins_in_the_columns_of_x(name, hidden):
    X, _, y = hidden
    before = SeededKMeans(3, metric="statements", random_state=0).fit(X[:200], y[:200])
    begin = model_of(name, metric="statements", init=before).fit(X, y)
    by_labels = model_of(name, metric="statements", init=before.predict(X)).fit(X, y)
    assert_array_equal(begin.labels_, by_labels.labels_)
    assert begin.objective_ == by_labels.objective_


def test_centres_of_fuzzy_clusters_are_in_the_columns_of_x(hidden):
    X, _, y = hidden
    model = model_of("PartialLabelFuzzyCMeans", metric="statements").fit(X, y)
    assert_allclose(
        model.cluster_centers_,
        [X[model.labels_ == k].mean(axis=0) for k in range(3)],
        atol=0.5,
    )


def test_scaling_comes_before_the_metric(hidden):
    X, _, y = hidden
    X = X * [1, 1, 1, 1e3, 1, 1e-3, 1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scales = StructuralEntropyTree(3, metric="statements", random_state=0).fit(X, y)
    scaled = StructuralEntropyTree(3, metric="statements", scaling=None, random_state=0).fit(Z, y)
    assert scales.scaling == "z-score"
    assert_array_equal(scales.labels_, scaled.labels_)
    assert_array_equal(scales.predict(X[:50]), scaled.predict(Z[:50]))


@pytest.mark.parametrize(
    "name",
    ["AnnotatedGaussianMixture", "PartialLabelGaussianMixture", "CrossEntropyClustering"],
)
def test_densities_are_per_unit_of_the_columns_of_x(name, hidden):
    X, _, y = hidden
    model = model_of(name, metric="statements").fit(X[:, :2], y)
    side = np.linspace(46, 55, 200)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
    total = np.exp(model.score_samples(grid)).sum() * (side[1] - side[0]) ** 2
    assert_allclose(total, 1.0, rtol=0.02)


def test_on_dask_and_from_a_file_the_answer_is_the_same(tmp_path):
    da = pytest.importorskip("dask.array")
    n = BLOCK_ROWS + 1000
    rng = np.random.default_rng(1)
    truth = np.arange(n) % 3
    X = np.column_stack([np.eye(3)[truth] + 0.1 * rng.normal(size=(n, 3)), rng.normal(size=n)])
    y = np.where(np.arange(n) < 300, truth, -1)
    model = PartitionLevelKMeans(3, n_init=1, metric="statements", random_state=0)
    here = clone(model).fit(X, y)
    there = clone(model).fit(da.from_array(X, chunks=(BLOCK_ROWS, 4)), y)
    assert_array_equal(np.asarray(there.labels_), here.labels_)
    assert_array_equal(there.cluster_centers_, here.cluster_centers_)
    lazy = there.predict(da.from_array(X, chunks=(5000, 4)))
    assert_array_equal(np.asarray(lazy), here.predict(X))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    kept = clone(model)
    assert kept.fit(mapped, y)._to_metric(mapped).data is None  # the file is not copied
    assert_array_equal(kept.labels_, here.labels_)


def test_a_metric_with_other_parameters_is_left_as_it_is_and_can_be_searched(hidden):
    X, _, y = hidden
    metric = StatementMetric(shrinkage=5.0)
    model = SeededKMeans(3, metric=metric, random_state=0)
    assert model.get_params()["metric__shrinkage"] == 5.0
    model.fit(X, y)
    assert not hasattr(metric, "components_")
    assert_array_equal(model.metric_.components_, clone(metric).fit(X, y).components_)


@pytest.mark.parametrize(
    ("model", "X", "told"),
    [
        (StructuralEntropyClustering(2, affinity="precomputed"), np.eye(4), "similarities"),
        (MarkovAggregation(2, chain="similarity"), np.ones((4, 4)), "no columns"),
        (BayesianMixture(2, emission="poisson"), np.ones((4, 2)), "emission='poisson'"),
        (HMRFKMeans(2, distortion="cosine"), np.ones((4, 2)), "distortion='cosine'"),
        (SeededKMeans(2, metric="mahalanobis"), np.ones((4, 2)), "'metric' parameter"),
    ],
)
def test_where_there_is_no_metric_the_error_says_why(model, X, told):
    model = model if model.metric else model.set_params(metric="statements")
    with pytest.raises(ValueError, match=told):
        model.fit(X, [0, 0, 1, 1])


def test_sparse_rows_are_refused_with_advice():
    side = SideInformation.from_labels([0, 0, 1, 1])
    with pytest.raises(DataError, match="TruncatedSVD"):
        PCKMeans(2, metric="statements").fit(csr_array(np.eye(4)), side=side)


@pytest.mark.parametrize("scaling", ["min-max", "z-score"])
def test_sparse_rows_are_refused_before_scaling_makes_them_dense(scaling):
    X = csr_array(np.diag([1.0, 2.0, 3.0, -4.0]) - 1.0)
    model = StructuralEntropyClustering(2, metric="statements", scaling=scaling)
    with pytest.raises(DataError, match="TruncatedSVD"):
        model.fit(X, [0, 0, 1, 1])


@pytest.mark.parametrize("Model", [StructuralEntropyTree, PCKMeans, BayesianMixture])
def test_new_rows_that_are_sparse_are_refused_in_a_metric_that_was_learned(Model, hidden):
    X, _, y = hidden
    model = Model(3, metric="statements", random_state=0).fit(X, y)
    assert model.metric_.learned_
    with pytest.raises(DataError, match="X is sparse.*TruncatedSVD"):
        model.predict(csr_array(X[:5]))
