"""Centroid index and divergence of mixtures, against definitions and scipy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sidelight.datasets import make_gaussian_mixture
from sidelight.exceptions import DataError
from sidelight.metrics import centroid_index, mixture_divergence


def random_covariances(rng, k, d):
    root = rng.standard_normal((k, d, d))
    return root @ root.transpose(0, 2, 1) + np.eye(d)


def kl(mean_p, cov_p, mean_q, cov_q):
    """The textbook formula for two Gaussians."""
    inverse = np.linalg.inv(cov_q)
    shift = mean_q - mean_p
    ratio = np.linalg.slogdet(cov_q)[1] - np.linalg.slogdet(cov_p)[1]
    return 0.5 * (np.trace(inverse @ cov_p) + shift @ inverse @ shift - len(shift) + ratio)


def test_two_single_gaussians_have_the_textbook_divergence():
    rng = np.random.default_rng(0)
    mean_p, mean_q = rng.standard_normal((2, 3))
    cov_p, cov_q = random_covariances(rng, 2, 3)
    found = mixture_divergence(([1.0], [mean_p], [cov_p]), ([1.0], [mean_q], [cov_q]))
    assert found == pytest.approx(kl(mean_p, cov_p, mean_q, cov_q))


def test_two_single_gaussians_have_the_divergence_that_sampling_shows():
    rng = np.random.default_rng(0)
    mean_q, (cov_p, cov_q) = np.array([1.0, -1.0]), random_covariances(rng, 2, 2)
    p, q = multivariate_normal([0, 0], cov_p), multivariate_normal(mean_q, cov_q)
    x = p.rvs(200_000, random_state=rng)
    sampled = np.mean(p.logpdf(x) - q.logpdf(x))
    found = mixture_divergence(([1.0], [[0, 0]], [cov_p]), ([1.0], [mean_q], [cov_q]))
    assert found == pytest.approx(sampled, rel=0.02)


def test_each_component_is_matched_to_its_cheapest_partner_and_weights_count():
    rng = np.random.default_rng(1)
    a, b = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])
    means_p, means_q = rng.standard_normal((2, 2)), rng.standard_normal((3, 2))
    cov_p, cov_q = random_covariances(rng, 2, 2), random_covariances(rng, 3, 2)
    expected = 0.0
    for i in range(2):
        terms = [kl(means_p[i], cov_p[i], means_q[j], cov_q[j]) - np.log(b[j]) for j in range(3)]
        expected += a[i] * (min(terms) + np.log(a[i]))
    found = mixture_divergence((a, means_p, cov_p), (b, means_q, cov_q))
    assert found == pytest.approx(expected)


def test_spherical_diagonal_and_full_covariances_agree():
    rng = np.random.default_rng(2)
    weights, means, variances = np.full(3, 1 / 3), rng.standard_normal((3, 4)), rng.random(3) + 0.5
    diagonal = np.repeat(variances[:, None], 4, axis=1)
    full = diagonal[:, :, None] * np.eye(4)
    forms = [variances, diagonal, full]
    other = ([0.4, 0.6], rng.standard_normal((2, 4)), rng.random((2, 4)) + 0.5)
    there = [mixture_divergence((weights, means, form), other) for form in forms]
    back = [mixture_divergence(other, (weights, means, form)) for form in forms]
    np.testing.assert_allclose(there, there[0])
    np.testing.assert_allclose(back, back[0])


def test_a_mixture_has_no_divergence_from_itself_in_any_order():
    weights, means, variances = make_gaussian_mixture(4, random_state=0).parameters
    order = [2, 0, 3, 1]
    same = (weights[order], means[order], variances[order])
    assert mixture_divergence((weights, means, variances), same) == pytest.approx(0, abs=1e-12)


def test_components_without_weight_change_nothing():
    p = ([1.0, 0.0], [[0.0], [9.0]], [1.0, 1.0])
    q = ([1.0, 0.0], [[1.0], [0.0]], [1.0, 1.0])
    assert mixture_divergence(p, q) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        (([1.0], [[0.0]]), "2 parts"),
        (([0.5], [[0.0]], [1.0]), "sum to 1"),
        (([1.5, -0.5], [[0.0], [1.0]], [1.0, 1.0]), "none negative"),
        (([1.0], [[0.0]], [0.0]), "positive"),
        (([1.0], [[0.0]], [np.nan]), "NaN"),
        (([1.0], [[np.inf]], [1.0]), "NaN or infinite"),
        (([1.0], [[0.0]], [1.0, 1.0]), "spherical"),
        (([1.0], [[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]]), "positive definite"),
        (([1.0], [[0.0, 0.0]], [[[1.0, 0.5], [0.0, 1.0]]]), "symmetric"),
        (([1.0], [[0.0, 0.0]], [1.0]), "dimensions"),
    ],
)
def test_what_is_no_mixture_is_refused(mixture, message):
    with pytest.raises(DataError, match=message):
        mixture_divergence(mixture, ([1.0], [[0.0]], [1.0]))


def test_the_right_structure_has_index_zero_however_imprecise():
    centers = np.array([[0.0, 0], [10, 0], [0, 10]])
    rng = np.random.default_rng(0)
    assert centroid_index(centers, centers[::-1] + rng.uniform(-2, 2, (3, 2))) == 0


@pytest.mark.parametrize("swap", [False, True])
def test_two_centres_in_one_cluster_leave_one_orphan_in_either_order(swap):
    true = [[0.0], [10.0], [20.0], [30.0]]
    pred = [[-1.0], [1.0], [20.5], [27.0]]
    a, b = (pred, true) if swap else (true, pred)
    assert centroid_index(a, b) == 1


def test_different_numbers_of_clusters_count_as_misplaced():
    assert centroid_index([[0.0], [10.0], [20.0]], [[0.0]]) == 2


def test_the_index_does_not_depend_on_the_size_of_the_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 40, 2))
    whole = centroid_index(a, b)
    monkeypatch.setattr("sidelight.metrics._mixture._CELLS", 100)
    assert centroid_index(a, b) == whole > 0


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([[0.0]], [[0.0, 1.0]], "same space"),
        ([], [[0.0]], "one row per cluster"),
        ([[np.nan]], [[0.0]], "NaN"),
    ],
)
def test_what_are_no_centres_is_refused(a, b, message):
    with pytest.raises(DataError, match=message):
        centroid_index(a, b)
