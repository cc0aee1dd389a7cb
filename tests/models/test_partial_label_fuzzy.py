"""PartialLabelFuzzyCMeans: J against its definition, memberships against a numerical minimum."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize

from sidelight import PartialLabelFuzzyCMeans, SideInformation
from sidelight.exceptions import SidelightError
from sidelight.metrics import adjusted_rand
from sidelight.models._mixtures.fuzzy import fuzzifier_of, wished


def data(seed=0, n=80):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) + 3.0 * np.array([[0, 0], [1, 0], [0, 1]])[y], y


@pytest.mark.parametrize("fuzzifier", [1.3, 2.0, 3.5])
@pytest.mark.parametrize("n_labels", [0, 1, 2])
def test_memberships_minimise_the_cost_of_a_row(fuzzifier, n_labels):
    rng = np.random.default_rng(n_labels)
    for _ in range(5):
        d, a, b = rng.random(4) + 0.1, 1.0 + rng.random(4), np.zeros(4)
        b[:n_labels] = 3.0 * rng.random(n_labels)
        a += b.sum() - b  # a label speaks against all other clusters
        found = wished(d[None], a[None], b[None], fuzzifier)[0]

        def cost(u, d=d, a=a, b=b):
            u = np.exp(u - np.logaddexp.reduce(u))
            return (d * (a * u**fuzzifier + b * (1 - u) ** fuzzifier)).sum()

        best = minimize(cost, np.zeros(4), tol=1e-12)
        assert_allclose(found.sum(), 1.0)
        assert cost(np.log(np.maximum(found, 1e-300))) <= best.fun * (1 + 1e-7)


def test_one_label_gives_the_formula_of_the_paper():
    d, alpha = np.array([[0.5, 2.0, 1.0]]), 4.0
    label = np.array([0.0, 1.0, 0.0])
    found = wished(d, 1.0 + alpha * (1.0 - label)[None], alpha * label[None], 2.0)
    plain = (1.0 / d) / (1.0 / d).sum()
    assert_allclose(found, (plain + alpha * label) / (1.0 + alpha))


@pytest.mark.parametrize("fuzzifier", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_j_is_its_definition_and_never_rises(fuzzifier, seed):
    X, y = data(seed)
    seen = np.where(np.arange(len(y)) % 6 == 0, y, -1)
    side = SideInformation.from_labels(seen) + SideInformation.from_columns(
        ["not_label", "label"], [1, 0], [None, None], class_=[0, 2], weight=[2.0, 0.5],
        n_samples=len(y),
    )  # fmt: skip
    model = PartialLabelFuzzyCMeans(3, fuzzifier=fuzzifier, n_init=1, random_state=0)
    model.fit(X, side=side)
    assert (np.diff(model.history_) <= 0).all()
    alpha = model.side_weight_
    d = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    a, b = np.ones(d.shape), np.zeros(d.shape)
    statements = [(i, k, 1.0, True) for i, k in enumerate(seen) if k >= 0]
    for i, k, w, positive in [*statements, (1, 0, 2.0, False), (0, 2, 0.5, True)]:
        if positive:
            a[i] += alpha * w * (np.arange(3) != k)
            b[i, k] += alpha * w
        else:
            a[i, k] += alpha * w
    u = wished(d, a, b, fuzzifier)
    assert_allclose(model.objective_, (d * (a * u**fuzzifier + b * (1 - u) ** fuzzifier)).sum())
    assert_array_equal(model.labels_, u.argmax(axis=1))


def test_j_never_rises_with_more_clusters_than_different_rows():
    X = np.random.default_rng(0).integers(4, size=(150, 1)).astype(float)
    for seed in range(5):
        model = PartialLabelFuzzyCMeans(60, n_init=1, max_iter=20, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # clusters without rows, and few iterations
            model.fit(X)
        assert (np.diff(model.history_) <= 0).all()


def test_the_default_weight_is_rows_over_annotated_rows():
    X, y = data()
    model = PartialLabelFuzzyCMeans(3).fit(X, np.where(np.arange(80) < 20, y, -1))
    assert model.side_weight_ == 4.0


def test_without_statements_memberships_are_those_of_fuzzy_c_means():
    X, _ = data()
    model = PartialLabelFuzzyCMeans(3, n_init=2, tol=1e-12, random_state=0).fit(X)
    d = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    u = 1.0 / (d[:, :, None] / d[:, None, :]).sum(axis=2)
    assert_allclose(model.predict_proba(X), u, rtol=1e-7)
    centers = (u**2).T @ X / (u**2).sum(axis=0)[:, None]
    assert_allclose(model.cluster_centers_, centers, rtol=1e-4)
    assert_array_equal(model.labels_, model.predict(X))


def test_the_fuzzifier_falls_with_the_columns():
    # Values of the published formula, and 2 where it is above.
    assert_allclose(
        [fuzzifier_of(n, d) for n, d in ((150, 4), (178, 13), (800, 50))],
        [2.0, 1.3137, 1.0669],
        atol=5e-4,
    )
    X, _ = data()
    model = PartialLabelFuzzyCMeans(3, random_state=0).fit(X)
    assert model.fuzzifier_ == fuzzifier_of(*X.shape)
    assert PartialLabelFuzzyCMeans.as_published(n_clusters=3).fit(X).fuzzifier_ == 2.0


def test_with_many_columns_centres_do_not_meet_in_the_middle():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    X = rng.normal(size=(200, 60))
    X[np.arange(200), truth] += 6.0
    found = PartialLabelFuzzyCMeans(4, random_state=0).fit(X)
    assert adjusted_rand(truth, found.labels_) > 0.9
    middle = PartialLabelFuzzyCMeans(4, fuzzifier=2.0, random_state=0).fit(X).cluster_centers_
    assert np.ptp(middle, axis=0).max() < 0.1


def test_sparse_rows_give_what_dense_rows_give():
    X, y = data()
    X = np.where(X > 1.0, X, 0.0)
    seen = np.where(np.arange(80) < 12, y, -1)
    dense = PartialLabelFuzzyCMeans(3, random_state=0).fit(X, seen)
    thin = PartialLabelFuzzyCMeans(3, random_state=0).fit(sparse.csr_array(X), seen)
    assert_allclose(thin.cluster_centers_, dense.cluster_centers_, atol=1e-8)
    assert_array_equal(thin.labels_, dense.labels_)


def test_bad_input_is_refused_with_a_sentence():
    X, y = data()
    with pytest.raises(SidelightError, match="3 classes are labelled and n_clusters=2"):
        PartialLabelFuzzyCMeans(2).fit(X, y)
