"""PartialLabelGaussianMixture and what Gaussian mixtures that hold statements share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sidelight import PartialLabelGaussianMixture, SideInformation
from sidelight.exceptions import SidelightError
from sidelight.models._mixtures.floor import (
    common_share,
    left_out_densities,
    own_floors,
    own_level,
    row_off_spikes,
    typical_row,
)
from sidelight.models._mixtures.gaussian import COVARIANCE_TYPES

TYPES = pytest.mark.parametrize("kind", COVARIANCE_TYPES)


def overlapping(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    spread = rng.normal(size=(3, d, d))
    X = np.array([spread[k] @ rng.normal(size=d) for k in y]) + 2.0 * y[:, None]
    return X, y


def three_corners():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    return rng.normal(size=(400, 2)) + 6.0 * np.array([[0, 0], [1, 0], [0, 1]])[y], y


class FromLabels(GaussianMixture):
    """Scikit-learn's mixture, begun at a partition."""

    def _initialize_parameters(self, X, *args, **kwargs):
        self._initialize(X, np.eye(self.n_components)[self.start])


def by_cluster(theirs, ours):
    """The order of scikit-learn's components in which they are our clusters."""
    return [int(((theirs.means_ - mean) ** 2).sum(axis=1).argmin()) for mean in ours.means_]


@TYPES
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_statements_it_is_scikit_learns_mixture_from_the_same_start(kind):
    X, y = overlapping()
    start = np.where(np.random.default_rng(1).random(len(y)) < 0.3, 0, y)
    theirs = FromLabels(3, covariance_type=kind, reg_covar=0.0, tol=0.0, max_iter=14)
    theirs.start = start
    theirs.fit(X)
    ours = PartialLabelGaussianMixture(
        3, covariance_type=kind, variance_prior=0, init=start, tol=0, max_iter=15
    ).fit(X)
    order = by_cluster(theirs, ours)
    assert sorted(order) == [0, 1, 2]
    assert_allclose(ours.weights_, theirs.weights_[order], rtol=1e-6)
    assert_allclose(ours.means_, theirs.means_[order], rtol=1e-6)
    given = theirs.covariances_ if kind == "tied" else theirs.covariances_[order]
    assert_allclose(ours.covariances_, given, rtol=1e-6, atol=1e-9)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X)[:, order], atol=1e-6)
    assert_allclose(ours.log_likelihood_, theirs.score(X) * len(X), rtol=1e-6)
    assert_allclose(ours.bic_, theirs.bic(X), rtol=1e-6)


@TYPES
def test_with_all_rows_labelled_the_parameters_are_the_class_moments(kind):
    X, y = overlapping()
    model = PartialLabelGaussianMixture(covariance_type=kind, variance_prior=0).fit(X, y)
    assert_allclose(model.weights_, np.bincount(y) / len(y))
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    assert_allclose(model.means_, means)
    full = np.array([np.cov(X[y == k].T, bias=True) for k in range(3)])
    expected = {
        "full": full,
        "tied": np.einsum("k,kij->ij", np.bincount(y) / len(y), full),
        "diag": np.diagonal(full, axis1=1, axis2=2),
        "spherical": np.trace(full, axis1=1, axis2=2) / X.shape[1],
    }[kind]
    assert_allclose(model.covariances_, expected, atol=1e-12)
    assert_array_equal(model.labels_, y)


@TYPES
@pytest.mark.parametrize("prior", [0.5, "auto"])
def test_what_is_maximised_is_its_definition_and_never_falls(kind, prior):
    X, y = overlapping()
    rng = np.random.default_rng(0)
    some = np.where(rng.random(len(y)) < 0.1, y, -1)
    barred = np.flatnonzero((some < 0) & (y != 0))[:10]
    side = SideInformation.from_labels(some) + SideInformation.from_columns(
        ["not_label"] * 10, barred, [None] * 10, class_=[0] * 10, n_samples=len(y)
    )
    model = PartialLabelGaussianMixture(
        3, covariance_type=kind, variance_prior=prior, n_init=1, random_state=0
    ).fit(X, side=side)
    assert (np.diff(model.history_) >= 0).all()
    assert not model.result_.violated.any()
    covariances = model.covariances_
    if kind == "tied":
        covariances = np.broadcast_to(covariances, (3, *covariances.shape))
    joint = np.column_stack(
        [
            np.log(model.weights_[k])
            + multivariate_normal(
                model.means_[k],
                covariances[k] * (1 if covariances[k].ndim else np.eye(X.shape[1])),
            ).logpdf(X)
            for k in range(3)
        ]
    )
    joint[some >= 0] = np.where(np.arange(3) == some[some >= 0, None], joint[some >= 0], -np.inf)
    joint[barred, 0] = -np.inf
    assert_allclose(model.log_likelihood_, np.logaddexp.reduce(joint, axis=1).sum(), rtol=1e-9)
    assert_array_equal(model.labels_, joint.argmax(axis=1))


def test_free_components_find_a_class_that_nobody_named():
    X, truth = three_corners()
    y = np.where((truth < 2) & (np.arange(400) % 7 == 0), truth, -1)
    model = PartialLabelGaussianMixture(3, n_init=3, random_state=0).fit(X, y)
    assert (model.labels_ == truth).mean() > 0.95
    assert model.cluster_names_.tolist() == [0, 1, 2]


def test_labels_hold_in_labels_and_not_in_predict():
    X, y = overlapping()
    wrong = np.where(np.arange(len(y)) < 60, y, -1)
    wrong[0] = (y[0] + 1) % 3
    model = PartialLabelGaussianMixture().fit(X, wrong)
    assert model.labels_[0] == wrong[0]
    assert model.predict(X)[0] == y[0]


def test_bic_finds_the_number_of_clusters_and_the_shape():
    X, truth = three_corners()
    model = PartialLabelGaussianMixture(
        "bic", covariance_type="bic", max_clusters=5, n_init=2, random_state=0
    ).fit(X, np.where((np.arange(400) < 9) & (truth < 2), truth, -1))
    assert (model.n_clusters_, model.covariance_type_) == (3, "spherical")
    assert set(model.candidates_) == {(k, c) for k in range(2, 6) for c in COVARIANCE_TYPES}
    assert model.bic_ == min(model.candidates_.values())


@pytest.mark.parametrize("kind", ["diag", "spherical", "full"])
def test_sparse_rows_give_what_dense_rows_give(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = np.where(rng.random((200, 6)) < 0.3, rng.random((200, 6)) + 1.0, 0.0)
    X[:, 0] += 3.0 * y
    model = PartialLabelGaussianMixture(2, covariance_type=kind, random_state=0)
    seen = np.where(np.arange(200) < 20, y, -1)
    dense, thin = model.fit(X, seen), None
    means, objective = dense.means_, dense.objective_
    thin = PartialLabelGaussianMixture(2, covariance_type=kind, random_state=0)
    thin.fit(sparse.csr_array(X), seen)
    assert_allclose(thin.means_, means, atol=1e-7)
    assert_allclose(thin.objective_, objective, rtol=1e-8)
    assert_allclose(thin.predict_proba(sparse.csr_array(X)), thin.predict_proba(X), atol=1e-7)


# The floor under covariances


@pytest.mark.parametrize("of_its_own", [False, True])
def test_the_density_of_rows_left_out_is_that_of_refitting_without_them(of_its_own):
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(12, 3)), np.repeat([0, 1], [5, 7])
    Z[labels == 1] *= 3.0
    counts = np.bincount(labels)
    means = np.array([Z[labels == k].mean(axis=0) for k in range(2)])
    centered = Z - means[labels]
    inside, share, n_spare = centered.T @ centered / 10, 0.3, 10
    extra = np.diag([0.0, 1.0, 0.0]) if of_its_own else None
    for nu in (0.5, 8.0):
        scale = (1 - share) * inside + share * np.eye(3)
        own = (1 - share) / n_spare
        found = left_out_densities(
            centered, labels, counts, scale, own, np.array([nu]), extra=extra
        )
        expected = np.zeros(2)
        for i in range(12):
            k = labels[i]
            others = (labels == k) & (np.arange(12) != i)
            mean = Z[others].mean(axis=0)
            away = Z[others] - mean
            # Psi without the square of row i, its other parts as they are.
            square = own * counts[k] / (counts[k] - 1) * np.outer(centered[i], centered[i])
            psi = scale - square
            if of_its_own:
                level = own_level(centered[labels == k], scale)
                psi = own_level(away, scale) * scale - level * square + extra / nu
            sigma = (away.T @ away + nu * psi) / (others.sum() + nu)
            expected[k] += multivariate_normal(mean, sigma).logpdf(Z[i])
        assert_allclose(found[:, 0], expected + counts * 1.5 * np.log(2 * np.pi), rtol=1e-9)


def test_a_typical_row_has_the_density_that_draws_of_it_have_in_the_mean():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [5, 7])
    centered = rng.normal(size=(12, 3)) * np.repeat([1.0, 3.0], [5, 7])[:, None]
    inside = centered.T @ centered / 10
    scale, extra, nu = 0.7 * inside + 0.3 * np.eye(3), np.diag([0.0, 1.0, 0.0]), 4.0
    found = typical_row(centered, labels, np.bincount(labels), inside, scale, np.array([nu]), extra)
    for k in range(2):
        own = centered[labels == k]
        sigma = own.T @ own + nu * own_level(own, scale) * scale + extra
        sigma /= len(own) + nu
        # A quadratic form has its mean at the points of plus and minus each axis of V.
        axes = np.linalg.cholesky(own_level(own, inside) * inside).T * np.sqrt(3.0)
        expected = multivariate_normal(np.zeros(3), sigma).logpdf(np.vstack([axes, -axes])).mean()
        assert_allclose(found[k, 0], expected + 1.5 * np.log(2 * np.pi), rtol=1e-6)


def test_two_classes_choose_their_floors_alone_and_many_together():
    assert [common_share(n) for n in (0, 1, 2, 4)] == [0.0, 0.0, 0.0, 0.5]
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    Z = rng.normal(size=(60, 6))
    other = Z.copy()
    other[labels == 1] = rng.standard_t(2, size=(30, 6))  # rows far outside, in the other class
    first, second = own_floors(Z, labels, 2, 2), own_floors(other, labels, 2, 2)
    assert first.strength[0] == second.strength[0]


def test_classes_of_different_spread_have_floors_of_their_own():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)
    Z = rng.normal(size=(120, 8)) * np.repeat([0.05, 1.0, 1.0], 40)[:, None]
    floor = own_floors(Z, labels, 2, 3)
    spread = np.trace(floor.scale, axis1=1, axis2=2) / 8
    assert spread[0] < 0.02 < 0.5 < spread[1]
    shared = own_floors(Z, labels, 0, 3)  # starts that are drawn have nothing of their own
    assert_array_equal(floor.scale[2], shared.scale[0])
    assert_array_equal(shared.scale[0], shared.scale[1])


def test_a_column_that_is_constant_in_a_class_may_vary_in_rows_to_come():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = np.column_stack([rng.normal(size=80), rng.normal(size=80), 1.0 * y])
    model = PartialLabelGaussianMixture().fit(X, y)
    assert model.score_samples([[0.0, 0.0, 0.5]])[0] > -100


def test_columns_that_hardly_vary_in_a_cluster_have_one_more_row():
    labels = np.repeat([0, 1], 8)
    spiked = np.r_[np.zeros(6), 0.1, 0.2, np.zeros(2), 3.0, 4.0, -1.0, 2.0, 5.0, 1.0]
    constant = np.r_[np.full(8, 0.5), np.arange(8.0)]
    often = np.r_[np.zeros(5), 0.1, 0.2, 0.3, np.arange(8.0)]  # not three quarters
    Z = np.column_stack([spiked, constant, often, np.arange(16.0)])
    found = row_off_spikes(Z, labels, np.array([8, 8]))
    off = spiked[spiked != 0]
    assert_allclose(found, [(off**2).mean(), 1.0, 0.0, 0.0])
    assert_array_equal(row_off_spikes(Z[:2], np.array([0, 1]), np.array([1, 1])), 0.0)


def test_a_column_of_few_small_values_in_a_class_may_have_a_large_one():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 4)) + 2.0 * y[:, None]
    X[:, 3] = np.where(y == 2, rng.gamma(2.0, size=180), 0.0)
    X[[3, 17, 70, 99], 3] = 0.02
    model = PartialLabelGaussianMixture().fit(X, y)
    row = np.r_[X[y == 0, :3].mean(axis=0), 2.0]
    assert multivariate_normal(model.means_[0], model.covariances_[0]).logpdf(row) > -50


@pytest.mark.parametrize("case", ["more columns than rows", "correlated", "constant"])
@pytest.mark.parametrize("kind", ["full", "tied"])
def test_full_covariances_survive_real_tables(case, kind):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    X = rng.normal(size=(24, 30)) + 3.0 * y[:, None]
    if case == "correlated":
        X = rng.normal(size=(24, 1)) + 1e-7 * X
    elif case == "constant":
        X[:, :5] = 7.0
        X[:12, 6] = 1.0  # constant in one class
    model = PartialLabelGaussianMixture(2, covariance_type=kind, random_state=0)
    model.fit(X, np.where(np.arange(24) % 3 == 0, y, -1))
    assert np.isfinite(model.score_samples(X)).all()
    assert (np.diff(model.history_) >= 0).all()
    if case != "correlated":
        assert_array_equal(model.labels_, y)


def test_without_a_floor_a_singular_covariance_is_an_error_that_says_what_to_do():
    X = np.random.default_rng(0).normal(size=(10, 20))
    with pytest.raises(SidelightError, match="variance_prior above 0"):
        PartialLabelGaussianMixture(2, variance_prior=0, random_state=0).fit(X)
    # Variances that are rounding and nothing else.
    equal = np.repeat([[0.1], [0.7], [0.3]], [9, 1, 5], axis=0) + 1e-9 * np.arange(15)[:, None]
    with pytest.raises(SidelightError, match="variance_prior above 0"):
        PartialLabelGaussianMixture(3, variance_prior=0, random_state=0).fit(equal)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_rows_that_are_all_equal_make_one_cluster(kind):
    with pytest.warns(ConvergenceWarning, match="found 1 cluster where 2"):
        model = PartialLabelGaussianMixture(2, covariance_type=kind).fit(np.ones((6, 2)))
    assert model.n_clusters_ == 1


def test_a_class_with_one_labelled_row_has_a_cluster():
    X, y = overlapping()
    some = np.full(len(y), -1)
    some[[int(np.flatnonzero(y == k)[0]) for k in range(3)]] = [0, 1, 2]
    model = PartialLabelGaussianMixture(random_state=0).fit(X, some)
    assert model.n_clusters_ == 3
    assert_array_equal(model.labels_[some >= 0], some[some >= 0])
    alone = PartialLabelGaussianMixture().fit(X[:4], [0, 1, -1, -1])  # and hardly any rows
    assert np.isfinite(alone.objective_)


def test_bad_input_is_refused_with_a_sentence():
    X, y = overlapping()
    with pytest.raises(SidelightError, match="3 classes are labelled and n_clusters=2"):
        PartialLabelGaussianMixture(2).fit(X, y)
    with pytest.raises(SidelightError, match="max_clusters=2"):
        PartialLabelGaussianMixture("bic", max_clusters=2).fit(X, y)
    both = SideInformation.from_labels(y) + SideInformation.from_columns(
        ["not_label"], [0], [None], class_=[int(y[0])], n_samples=len(y)
    )
    with pytest.raises(SidelightError, match="proven"):
        PartialLabelGaussianMixture(3).fit(X, side=both)


def test_coordinates_do_not_depend_on_units():
    X, y = overlapping()
    some = np.where(np.arange(len(y)) < 30, y, -1)
    model = PartialLabelGaussianMixture(random_state=0).fit(X, some)
    scaled = PartialLabelGaussianMixture(random_state=0).fit(X * [1e6, 1.0, 1e-6] + 5.0, some)
    assert_array_equal(scaled.labels_, model.labels_)
