"""EquivalenceGaussianMixture: groups and cannot-links against enumeration."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from sidelight import EquivalenceGaussianMixture, SideInformation
from sidelight._kernels.mean_field import mean_field
from sidelight.blocks import as_blocks
from sidelight.exceptions import SidelightError
from sidelight.models._mixtures.equivalence import Groups
from sidelight.models._mixtures.fields import PRICE, Field, by_sets
from sidelight.side import sample_labels, sample_pairs


def enumerated(scores, apart):
    """The log sum over all placements that keep groups apart, and marginals: all of them listed."""
    n_groups, n_clusters = scores.shape
    allowed = [
        z
        for z in itertools.product(range(n_clusters), repeat=n_groups)
        if not any(apart[a, b] and z[a] == z[b] for a in range(n_groups) for b in range(a))
    ]
    if not allowed:
        return None
    value = np.array([scores[np.arange(n_groups), z].sum() for z in allowed])
    marginals = np.zeros(scores.shape)
    for z, share in zip(allowed, np.exp(value - logsumexp(value)), strict=True):
        marginals[np.arange(n_groups), z] += share
    return logsumexp(value), marginals


@pytest.mark.parametrize("seed", range(60))
def test_cannot_components_are_what_brute_force_gives(seed):
    rng = np.random.default_rng(seed)
    n_groups, n_clusters = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    apart = np.triu(rng.random((n_groups, n_groups)) < 0.5, 1)
    apart = apart | apart.T
    # Scores of groups of many rows differ by thousands: nothing may underflow.
    scores = rng.normal(size=(n_groups, n_clusters)) * rng.choice([1.0, 30.0, 3000.0])
    expected = enumerated(scores, apart)
    field = Field.of(sparse.csr_array(apart.astype(float)), n_clusters)
    assert not len(field.rough)
    if expected is None:
        return
    value, marginals = field.marginals(scores, np.empty((0, n_clusters)))
    assert_allclose(value, expected[0], rtol=1e-9)
    assert_allclose(marginals, expected[1], atol=1e-9)


@pytest.mark.parametrize("n_groups", [1, 3, 4])
def test_sums_over_sets_are_what_brute_force_gives(n_groups):
    # Scores that differ by thousands: the likeliest placement may begin with an unlikely group.
    rng = np.random.default_rng(n_groups)
    scores = rng.normal(size=(6, n_groups, 4)) * np.repeat([1.0, 10.0, 3000.0], 2)[:, None, None]
    values, marginals = by_sets(scores)
    for part, value, marginal in zip(scores, values, marginals, strict=True):
        expected = enumerated(part, ~np.eye(n_groups, dtype=bool))
        assert_allclose(value, expected[0], rtol=1e-12)
        assert_allclose(marginal, expected[1], atol=1e-12)


def test_classes_apart_are_summed_exactly_up_to_sixteen_components():
    rng = np.random.default_rng(0)
    apart = sparse.csr_array((~np.eye(9, dtype=bool)).astype(float))
    field = Field.of(apart, 16)
    assert not len(field.rough)
    _, marginals = field.marginals(rng.normal(size=(9, 16)), np.empty((0, 16)))
    assert_allclose(marginals.sum(axis=1), 1.0)
    assert np.all(marginals.sum(axis=0) <= 1.0 + 1e-12)  # a component holds one class at most
    assert len(Field.of(apart, 17).rough) == 9


def test_many_pairs_of_one_shape_are_summed_together():
    rng = np.random.default_rng(0)
    ends = np.arange(40).reshape(20, 2)
    graph = sparse.coo_array((np.ones(20), tuple(ends.T)), shape=(40, 40)).tocsr()
    field = Field.of(graph + graph.T, 3)
    assert [shape.groups.shape for shape in field.shapes] == [(20, 2)]
    log_weights = np.log([0.5, 0.3, 0.2])
    value, gradient = field.normaliser(log_weights)
    assert_allclose(value, 20 * np.log(1 - 0.25 - 0.09 - 0.04))
    step = 1e-6 * rng.normal(size=3)
    there, _ = field.normaliser(log_weights + step)
    back, _ = field.normaliser(log_weights - step)
    assert_allclose(there - back, 2 * gradient @ step, rtol=1e-6)


def test_large_parts_are_left_to_mean_field_and_its_bound_never_falls():
    rng = np.random.default_rng(0)
    apart = np.triu(rng.random((12, 12)) < 0.9, 1)
    field = Field.of(sparse.csr_array((apart | apart.T).astype(float)), 14)
    assert len(field.rough) == 12
    assert not field.shapes
    scores, phi = rng.normal(size=(12, 14)), np.full((12, 14), 1 / 14)
    bounds = [mean_field(scores, field.span, field.near, PRICE, phi) for _ in range(20)]
    assert (np.diff(bounds) >= -1e-12).all()
    assert_allclose(phi.sum(axis=1), 1.0)


def test_mean_field_is_a_lower_bound_of_the_sum_at_its_price():
    rng = np.random.default_rng(0)
    scores, phi = rng.normal(size=(3, 3)), np.full((3, 3), 1 / 3)
    span, near = np.array([0, 2, 4, 6]), np.array([1, 2, 0, 2, 0, 1])
    for _ in range(30):
        bound = mean_field(scores, span, near, 2.0, phi)
    values = [
        scores[np.arange(3), z].sum() - 2.0 * sum(z[a] == z[b] for a in range(3) for b in range(a))
        for z in itertools.product(range(3), repeat=3)
    ]
    assert bound <= logsumexp(values)
    assert bound > logsumexp(values) - 1.0


def small():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=14)
    return rng.normal(size=(14, 2)) + 1.5 * y[:, None], y


@pytest.mark.parametrize("links", ["groups", "groups and cannot-links"])
def test_the_log_likelihood_is_that_of_all_placements(links):
    X, _ = small()
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2), (3, 4)], n_samples=14)
    apart = []
    if links != "groups":
        apart = [(0, 3), (5, 6), (6, 7), (3, 8)]
        side += SideInformation.from_pairs(cannot=apart, n_samples=14)
    model = EquivalenceGaussianMixture(2, n_init=2, random_state=0).fit(X, side=side)
    density = np.column_stack(
        [multivariate_normal(model.means_[k], model.covariances_[k]).logpdf(X) for k in range(2)]
    )
    groups = side.groups()
    n_groups = groups.max() + 1
    of_group = np.zeros((n_groups, 2))
    np.add.at(of_group, groups, density)
    matrix = np.zeros((n_groups, n_groups), dtype=bool)
    for i, j in apart:
        matrix[groups[i], groups[j]] = matrix[groups[j], groups[i]] = True
    log_weights = np.log(model.weights_)
    joint, _ = enumerated(of_group + log_weights, matrix)
    chance, _ = enumerated(np.tile(log_weights, (n_groups, 1)), matrix)
    assert model.inference_ == "exact"
    assert_allclose(model.log_likelihood_, joint - chance, rtol=1e-9)
    assert not model.result_.violated.any()


def test_without_cannot_links_weights_are_means_over_groups():
    X, _ = small()
    side = SideInformation.from_pairs(must=[(i, i + 1) for i in range(8)], n_samples=14)
    model = EquivalenceGaussianMixture(2, tol=0, max_iter=400, n_init=1, random_state=0)
    with pytest.warns(match="had not converged"):
        model.fit(X, side=side)
    density = np.column_stack(
        [multivariate_normal(model.means_[k], model.covariances_[k]).logpdf(X) for k in range(2)]
    )
    of_group = np.vstack([density[:9].sum(axis=0), density[9:]]) + np.log(model.weights_)
    shares = np.exp(of_group - logsumexp(of_group, axis=1, keepdims=True))
    assert_allclose(model.weights_, shares.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_falls_and_every_statement_is_kept(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=120)
    X = rng.normal(size=(120, 2)) + 2.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    side = sample_pairs(y, n_pairs=40, random_state=seed)
    side += sample_labels(y, n_labels=9, random_state=seed)
    model = EquivalenceGaussianMixture(3, n_init=2, random_state=seed).fit(X, side=side)
    assert (np.diff(model.history_) >= 0).all()
    assert not model.result_.violated.any()


def test_mean_field_says_so_and_keeps_every_statement():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=80)
    X = rng.normal(size=(80, 2)) + 4.0 * y[:, None]
    pairs = [(i, j) for i in range(16) for j in range(i) if y[i] != y[j]]
    side = SideInformation.from_pairs(cannot=pairs, n_samples=80)
    model = EquivalenceGaussianMixture(4, n_init=2, random_state=0).fit(X, side=side)
    assert model.inference_ == "mean field"
    assert_array_equal(model.mean_field_rows_, np.arange(16))
    assert not model.result_.violated.any()
    assert (np.diff(model.history_) >= 0).all()


def test_bad_input_is_refused_with_a_sentence():
    X, _ = small()
    triangle = SideInformation.from_pairs(cannot=[(0, 1), (1, 2), (0, 2)], n_samples=14)
    with pytest.raises(SidelightError, match=r"kept apart from each other \(0, 1, 2\)"):
        EquivalenceGaussianMixture(2).fit(X, side=triangle)
    chain = SideInformation.from_pairs(must=[(i, i + 1) for i in range(13)], n_samples=14)
    with pytest.raises(SidelightError, match="tie all 14 rows into one group"):
        EquivalenceGaussianMixture(2).fit(X, side=chain)
    assert EquivalenceGaussianMixture(1).fit(X, side=chain).n_clusters_ == 1
    with pytest.raises(SidelightError, match="kept apart"):
        EquivalenceGaussianMixture(2).fit(X, np.arange(14) % 3)
    most = SideInformation.from_pairs(must=[(i, i + 1) for i in range(12)], n_samples=14)
    with pytest.warns(match="tie the rows into 2 groups"):
        EquivalenceGaussianMixture(3).fit(X, side=most)


def test_bic_tries_only_numbers_that_can_keep_the_statements():
    X, _ = small()
    side = SideInformation.from_pairs(cannot=[(0, 1), (1, 2), (0, 2)], n_samples=14)
    model = EquivalenceGaussianMixture(
        "bic", covariance_type="diag", max_clusters=4, n_init=1, random_state=0
    ).fit(X, side=side)
    assert set(model.candidates_) == {(3, "diag"), (4, "diag")}
    assert not model.result_.violated.any()


@pytest.mark.parametrize("values", [(4.0, 4.0, 2.0, 1.0), (4.0, 4.0, 4.1, 2.0, 1.0)])
def test_a_floor_near_rounding_does_not_let_the_objective_fall(values):
    X = np.array(values)[:, None]
    for i, j in itertools.combinations(range(len(X)), 2):
        side = SideInformation.from_pairs(must=[(i, j)], n_samples=len(X))
        model = EquivalenceGaussianMixture(2, variance_prior=1e-12, n_init=2, random_state=37)
        model.fit(X, side=side)
        assert (np.diff(model.history_) >= 0).all()
        assert model.history_[-1] == model.objective_


def test_the_normaliser_is_summed_once_for_the_same_weights_and_anew_for_others(monkeypatch):
    side = SideInformation.from_pairs(cannot=[(0, 1), (1, 2), (3, 4)], n_samples=6)
    groups = Groups(as_blocks(np.zeros((6, 1))), side, 3)
    asked = []
    summed = Field.normaliser

    def counted(field, log_weights):
        asked.append(log_weights.copy())
        return summed(field, log_weights)

    monkeypatch.setattr(Field, "normaliser", counted)
    for weights in ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]):
        value, _ = groups._normaliser(np.log(weights))
        square = np.square(weights).sum()
        chain = sum(w * (1 - w) ** 2 for w in weights)  # of three groups, by that in the middle
        assert_allclose(value, np.log(chain) + np.log(1 - square))
    assert len(asked) == 2
