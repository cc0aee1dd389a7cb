"""Generators: the numbers of the papers, seeds, and a truth that fits the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sidelight.datasets import (
    make_blobs,
    make_concentric_circles,
    make_documents,
    make_gaussian_mixture,
    make_merged_gaussians,
    make_two_views,
)
from sidelight.exceptions import DataError

MAKERS = [
    lambda seed: make_gaussian_mixture(3, random_state=seed),
    lambda seed: make_concentric_circles(random_state=seed),
    lambda seed: make_merged_gaussians(random_state=seed),
    lambda seed: make_two_views(random_state=seed),
    lambda seed: make_blobs(50, random_state=seed),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", [lambda: 7, lambda: np.random.default_rng(7)])
def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(make, seed):
    for first, second in zip(make(seed()), make(seed()), strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(make(seed())[0], make(8)[0])


@pytest.mark.parametrize("make", MAKERS)
def test_legacy_random_states_are_accepted(make):
    first, second = (make(np.random.RandomState(7)) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])


@pytest.mark.parametrize("make", MAKERS)
def test_a_generator_moves_on_between_calls(make):
    rng = np.random.default_rng(0)
    assert not np.array_equal(make(rng)[0], make(rng)[0])


def test_mixture_parameters_lie_in_the_ranges_of_the_paper():
    samples = [make_gaussian_mixture(6, random_state=seed) for seed in range(200)]
    means = np.array([s.means for s in samples])
    variances = np.array([s.covariances for s in samples])
    assert samples[0].X.shape == (200, 10)
    assert -1 <= means.min() < -0.99
    assert 0.99 < means.max() <= 1
    assert 0 < variances.min() < 0.05
    assert 4.95 < variances.max() <= 5
    np.testing.assert_allclose(variances.mean(), 2.5, atol=0.15)


def test_mixture_rows_follow_the_parameters_they_come_with():
    sample = make_gaussian_mixture(3, n_samples=60_000, n_features=2, random_state=0)
    np.testing.assert_allclose(np.bincount(sample.y) / 60_000, sample.weights, atol=0.01)
    for k in range(3):
        rows = sample.X[sample.y == k]
        np.testing.assert_allclose(rows.mean(axis=0), sample.means[k], atol=0.06)
        np.testing.assert_allclose(rows.var(axis=0), sample.covariances[k], rtol=0.05)


def test_circles_have_sixty_rows_around_each_radius():
    X, y = make_concentric_circles(random_state=0)
    assert np.bincount(y).tolist() == [60, 60, 60]
    radius = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(radius[60:120].mean(), 7, atol=0.2)
    np.testing.assert_allclose(radius[120:].mean(), 15, atol=0.2)
    assert abs(radius - np.array([0.5, 7, 15])[y]).max() < 5 * 0.3


def test_circles_without_noise_lie_on_their_radii():
    X, y = make_concentric_circles(5, radii=(1.0, 2.0), noise=0.0, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), y + 1.0)


def test_merged_gaussians_give_the_middle_two_one_class_and_the_papers_shares_of_labels():
    sample = make_merged_gaussians(random_state=0)
    assert np.bincount(sample.components).tolist() == [100] * 4
    assert np.bincount(sample.y).tolist() == [100, 200, 100]
    assert sorted(set(sample.y[np.isin(sample.components, [1, 2])])) == [1]
    told = sample.labels >= 0
    np.testing.assert_array_equal(sample.labels[told], sample.y[told])
    assert np.bincount(sample.labels[told]).tolist() == [5, 20, 5]
    heights = [sample.X[sample.y == k, 1].mean() for k in range(3)]
    assert heights == sorted(heights)


def test_two_views_split_the_same_rows_by_height_and_by_side():
    sample = make_two_views(random_state=0)
    assert np.bincount(sample.horizontal).tolist() == [200, 200]
    assert np.bincount(sample.vertical).tolist() == [200, 200]
    assert np.mean((sample.X[:, 1] > 0) == sample.horizontal) > 0.98
    assert np.mean((sample.X[:, 0] > 0) == sample.vertical) > 0.98


def test_blobs_have_unit_variance_and_the_asked_separation():
    sample = make_blobs(40_000, n_features=8, n_clusters=50, separation=6.0, random_state=0)
    residual = sample.X - sample.means[sample.y]
    np.testing.assert_allclose(residual.var(), 1, rtol=0.02)
    gaps = sample.means[:, None] - sample.means[None]
    squared = (gaps**2).sum(axis=2)[np.triu_indices(50, k=1)]
    np.testing.assert_allclose(np.sqrt(squared.mean()), 6, rtol=0.1)


def test_blobs_follow_their_weights_even_when_one_is_zero():
    sample = make_blobs(20_000, n_clusters=3, weights=[3, 0, 1], random_state=0)
    shares = np.bincount(sample.y, minlength=3) / 20_000
    np.testing.assert_allclose(shares, [0.75, 0, 0.25], atol=0.01)
    np.testing.assert_allclose(sample.weights, [0.75, 0, 0.25])


def test_blobs_of_float32_never_pass_through_float64():
    assert make_blobs(10, dtype=np.float32, random_state=0).X.dtype == np.float32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_gaussian_mixture(0), "n_clusters is 0"),
        (lambda: make_gaussian_mixture(2, max_variance=0.0), "max_variance"),
        (lambda: make_concentric_circles(0), "n_per_circle is 0"),
        (lambda: make_concentric_circles(radii=()), "n_circles is 0"),
        (lambda: make_merged_gaussians(3), "at least 4"),
        (lambda: make_two_views(2), "at least 4"),
        (lambda: make_blobs(0), "n_samples is 0"),
        (lambda: make_blobs(5, dtype=int), "float64 or float32"),
        (lambda: make_blobs(5, n_clusters=2, weights=[1, -1]), "none negative"),
        (lambda: make_blobs(5, n_clusters=2, weights=[1, 1, 1]), "2 numbers"),
    ],
)
def test_impossible_requests_are_refused_by_name(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_documents_have_the_words_of_their_topics():
    texts = make_documents(4000, 30, 3, length=50.0, background=0.2, random_state=0)
    assert_allclose(texts.topics.sum(axis=1), 1.0)
    for k in range(3):
        counts = np.asarray(texts.X[np.flatnonzero(texts.y == k)].sum(axis=0)).ravel()
        assert_allclose(counts / counts.sum(), texts.topics[k], atol=0.01)
    lengths = np.asarray(texts.X.sum(axis=1)).ravel()
    assert 47 < lengths.mean() < 53
    assert 30 < lengths.std() < 42  # Gamma(2): 50 / sqrt(2), and a little Poisson
    assert texts.X.has_canonical_format


def test_documents_without_topics_of_their_own_are_all_alike():
    texts = make_documents(50, 100, 4, background=1.0, random_state=0)
    assert_allclose(texts.topics, texts.topics[[0]].repeat(4, axis=0))
    with pytest.raises(DataError, match="between 0 and 1"):
        make_documents(background=1.5)
