"""The metric from statements: its formula, when it stays out, and where it can be used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sidelight import PartitionLevelKMeans, SideInformation, StatementMetric
from sidelight.exceptions import DataError


@parametrize_with_checks([StatementMetric()])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def table(n=120, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + np.eye(3, d)[y]
    return X, y


def by_definition(X, groups, shrinkage=1.0):
    """Mapped rows, step by step as the module says."""
    n, d = X.shape
    X = X - X.mean(axis=0)
    X = X / np.sqrt((X**2).sum() / n / d)
    SS, nu = np.zeros((d, d)), 0
    for rows in groups:
        part = X[rows] - X[rows].mean(axis=0)
        SS, nu = SS + part.T @ part, nu + len(rows) - 1
    nu0 = shrinkage * d
    M = (SS + nu0 * np.trace(SS) / (nu * d) * np.eye(d)) / (nu + nu0)
    values, vectors = np.linalg.eigh(M)
    X = X @ vectors @ np.diag(values**-0.5) @ vectors.T
    return X / np.sqrt((X**2).sum() / n / d), nu


def test_labels_give_the_map_of_the_definition():
    X, y = table()
    partial = np.where(np.arange(120) < 40, y, -1)
    wanted, nu = by_definition(X, [np.flatnonzero(partial == c) for c in range(3)])
    metric = StatementMetric().fit(X, partial)
    assert_allclose(metric.transform(X), wanted, atol=1e-10)
    assert metric.freedom_ == nu
    assert_allclose(metric.components_, metric.components_.T)


def test_must_links_tie_groups_of_rows():
    X, _ = table()
    chains = [(0, 1), (1, 2), (5, 6), *[(k, k + 1) for k in range(20, 40, 2)]]
    groups = [[0, 1, 2], [5, 6], *[[k, k + 1] for k in range(20, 40, 2)]]
    side = SideInformation.from_pairs(must=chains, cannot=[(0, 50)], n_samples=120)
    wanted, nu = by_definition(X, groups, 0.5)
    metric = StatementMetric(shrinkage=0.5).fit(X, side=side)
    assert metric.freedom_ == nu == 13
    assert_allclose(metric.transform(X), wanted, atol=1e-10)


def test_few_statements_leave_the_geometry_as_it_is():
    X, y = table()
    metric = StatementMetric().fit(X, np.where(np.arange(120) < 10, y, -1))
    Z = metric.transform(X)
    spread = np.sqrt(((X - X.mean(axis=0)) ** 2).sum() / X.size)
    assert_allclose(Z, (X - X.mean(axis=0)) / spread)


def test_the_way_back():
    X, y = table()
    metric = StatementMetric().fit(X, np.where(np.arange(120) < 40, y, -1))
    assert_allclose(metric.inverse_transform(metric.transform(X)), X, atol=1e-10)


def test_rows_that_are_all_alike_stay_so():
    Z = StatementMetric().fit_transform(np.ones((30, 2)), np.arange(30) % 2)
    assert_array_equal(Z, 0.0)


def test_sparse_rows_are_refused_with_advice():
    with pytest.raises(DataError, match="TruncatedSVD"):
        StatementMetric().fit(sparse.csr_array(np.eye(20)))


def test_single_precision_stays_single():
    X, y = table()
    Z = StatementMetric().fit_transform(X.astype(np.float32), np.where(np.arange(120) < 40, y, -1))
    assert Z.dtype == np.float32


def test_dask_rows_give_the_same_map():
    dask = pytest.importorskip("dask.array")
    X, y = table(400)
    partial = np.where(np.arange(400) < 100, y, -1)
    here = StatementMetric().fit(X, partial)
    lazy = dask.from_array(X, chunks=(150, 5))
    there = StatementMetric().fit(lazy, partial)
    assert_allclose(there.components_, here.components_, rtol=1e-9)
    assert_allclose(there.transform(lazy).compute(), here.transform(X), atol=1e-9)
    assert_allclose(there.inverse_transform(there.transform(lazy)).compute(), X, atol=1e-9)


def test_a_pipeline_hands_statements_to_metric_and_model():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = np.column_stack([y + 0.15 * rng.normal(size=200), 2 * rng.normal(size=(200, 2))])
    side = SideInformation.from_labels(np.where(np.arange(200) < 80, y, -1))
    with config_context(enable_metadata_routing=True):
        metric = StatementMetric().set_fit_request(side=True)
        model = PartitionLevelKMeans(2, random_state=0).set_fit_request(side=True)
        pipeline = make_pipeline(metric, model).fit(X, side=side)
    with_metric = adjusted_rand_score(y[80:], pipeline[-1].labels_[80:])
    plain = PartitionLevelKMeans(2, random_state=0).fit(X, side=side).labels_
    assert with_metric > 0.9 > 0.5 > adjusted_rand_score(y[80:], plain[80:])
    assert pipeline[:-1].get_feature_names_out()[0] == "statementmetric0"


@pytest.mark.parametrize("seed", range(5))
def test_narrow_groups_far_apart_leave_no_negative_scatter(seed):
    """Of squares of 1e18 rounding takes more than the scatter inside the groups is."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + 1e9 * np.array([[1.0, 0.7], [-0.3, 1.0]])[y]
    metric = StatementMetric().fit(X, y)
    assert np.isfinite(metric.transform(X)).all()
