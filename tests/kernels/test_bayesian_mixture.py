"""Kernels of the Bayesian mixture against plain numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax

from sidelight._kernels import bayesian_mixture as kernels

NOBODY = np.empty(0, dtype=np.int64)


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3.0, rng.normal(size=d)


@pytest.mark.parametrize(("n", "d", "T"), [(1, 1, 1), (63, 2, 3), (130, 5, 2), (65, 4, 1)])
def test_whitened_distances(n, d, T):
    X, shift = rows(n, d)
    rng = np.random.default_rng(1)
    padded = np.zeros((T, d, d + -d % 4))
    padded[:, :, :d] = np.tril(rng.normal(size=(T, d, d)))
    offset, constant = rng.normal(size=(T, d)), rng.normal(size=T)
    out = np.empty((T, n))
    tile = np.zeros((d + -d % 4, kernels.TILE))
    kernels.log_density_full(X, shift, padded, offset, constant, out, tile)
    y = np.einsum("kij,nj->kni", padded[:, :, :d], X - shift) - offset[:, None, :]
    assert_allclose(out, constant[:, None] - 0.5 * (y**2).sum(axis=2), rtol=1e-12)


@pytest.mark.parametrize(("n", "d", "T"), [(1, 1, 1), (63, 2, 3), (130, 5, 2)])
def test_diagonal_distances(n, d, T):
    X, shift = rows(n, d)
    rng = np.random.default_rng(1)
    centers, precision, constant = rng.normal(size=(T, d)), rng.random((T, d)), rng.normal(size=T)
    out = np.empty((T, n))
    tile = np.zeros((d, kernels.TILE))
    kernels.log_density_diag(X, shift, centers, precision, constant, out, tile)
    y = (X - shift)[None] - centers[:, None]
    expected = constant[:, None] - 0.5 * (precision[:, None] * y**2).sum(axis=2)
    assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize(("n", "T"), [(1, 1), (63, 4), (200, 7)])
def test_memberships_are_a_softmax_and_held_rows_are_left_out(n, T):
    scores = 10.0 * np.random.default_rng(0).normal(size=(T, n))
    held = np.arange(n)[::3]
    phi, labels = np.empty_like(scores), np.empty(n, dtype=np.int32)
    bound = kernels.memberships(scores, held, phi, labels)
    free = np.setdiff1d(np.arange(n), held)
    assert_allclose(phi[:, free], softmax(scores, axis=0)[:, free], atol=2e-16)
    assert_array_equal(phi[:, held], 0.0)
    assert_allclose(bound, logsumexp(scores, axis=0)[free].sum(), rtol=1e-13, atol=1e-12)
    assert_array_equal(labels, scores.argmax(axis=0))


def test_memberships_in_place_with_ties_and_excluded_components():
    scores = np.array([[0.0, -5.0], [0.0, 2.0], [-np.inf, -np.inf]])
    labels = np.empty(2, dtype=np.int32)
    kernels.memberships(scores, NOBODY, scores, labels)
    assert_array_equal(labels, [0, 1])
    assert_array_equal(scores[:, 0], [0.5, 0.5, 0.0])


def test_exponential_is_right_to_what_it_says():
    x = np.linspace(kernels.BATCH_FLOOR, 0.0, 5001)
    found = np.array([kernels.exponential(v) for v in x])
    assert_allclose(found, np.exp(x), rtol=2e-7)
    assert_allclose(found[x > -12], np.exp(x[x > -12]), rtol=3e-9)


@pytest.mark.parametrize(("n", "T"), [(1, 1), (63, 4), (200, 7)])
def test_drawn_memberships_are_a_softmax_on_average(n, T):
    scores = 4.0 * np.random.default_rng(0).normal(size=(T, n))
    held = np.arange(n)[1::3]
    free = np.setdiff1d(np.arange(n), held)
    expected = softmax(scores, axis=0)
    expected[:, held] = 0.0
    # Over evenly spaced beginnings, the number of hits differs from its expectation by one.
    n_times = 256
    mean = np.zeros((T, n))
    for first in (np.arange(n_times) + 0.5) / n_times:
        phi = scores.copy()
        bound = kernels.drawn_memberships(phi, held, first)
        assert_allclose(bound, logsumexp(scores, axis=0)[free].sum(), rtol=1e-7, atol=1e-7)
        large = expected > kernels.LEAST
        assert_allclose(phi[large], expected[large], rtol=1e-6)
        assert set(phi[~large]) <= {0.0, kernels.LEAST}
        mean += phi / n_times
    assert_allclose(mean, expected, atol=1.1 * kernels.LEAST / n_times)


def test_drawn_memberships_of_distant_components_are_zero():
    scores = np.array([[0.0, -50.0], [-21.0, 3.0], [-np.inf, -np.inf]])
    for first in np.linspace(0.0, 0.999, 50):
        phi = scores.copy()
        kernels.drawn_memberships(phi, NOBODY, first)
        assert_array_equal(phi, [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def test_moments():
    X, shift = rows(150, 3)
    phi = np.random.default_rng(2).dirichlet(np.ones(4), size=150).T
    phi = np.ascontiguousarray(np.where(phi < 0.2, 0.0, phi))
    sums, squares = np.zeros((4, 3)), np.zeros((4, 3))
    kernels.moments_diag(X, shift, phi, sums, squares)
    assert_allclose(sums, phi @ (X - shift))
    assert_allclose(squares, phi @ (X - shift) ** 2)
    for k in range(4):
        weighted, total = np.empty_like(X), np.zeros(3)
        count = kernels.gather(X, shift, phi[k], weighted, total)
        assert count == (phi[k] > 0).sum()
        assert_allclose(total, sums[k])
        expected = np.einsum("n,ni,nj->ij", phi[k], X - shift, X - shift)
        assert_allclose(weighted[:count].T @ weighted[:count], expected)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (5, 0), (1, 1), (40, 60), (100, 7)])
def test_common_numbers_of_two_lists(n, m):
    rng = np.random.default_rng(n)
    first, second = (np.sort(rng.permutation(120)[:size]) for size in (n, m))
    places = np.empty((2, min(n, m)), dtype=np.int64)
    count = kernels.common(first, second, places)
    _, at_first, at_second = np.intersect1d(first, second, return_indices=True)
    assert_array_equal(places[:, :count], [at_first, at_second])


def test_triangular_inverses():
    factors = np.tril(np.random.default_rng(0).normal(size=(3, 6, 6))) + 3.0 * np.eye(6)
    out = np.zeros_like(factors)
    kernels.invert_lower(factors, out)
    assert_allclose(out @ factors, np.tile(np.eye(6), (3, 1, 1)), atol=1e-12)
