"""Rows to their cheapest cluster in a metric: costs, labels and moments by their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sidelight._kernels.hard_gaussian import assign_in_metric, densities, moments
from sidelight.models._centers import Centers


@pytest.mark.parametrize("d", [1, 4, 7, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_costs_labels_and_moments_are_those_of_the_definition(d, dtype):
    rng = np.random.default_rng(d)
    n, k = 300, 5
    X = rng.normal(size=(n, d)).astype(dtype)
    centers, scale = rng.normal(size=(k, d)), rng.gamma(2.0, size=(k, d))
    constant, weight = rng.normal(size=k), rng.gamma(2.0, size=n)
    away = X[:, None].astype(float) - centers
    expected = (away**2 * scale).sum(axis=2) + constant
    padded, costs = Centers.of(centers).padded, np.empty((n, k))
    densities(X, padded, scale, constant, costs)
    assert_allclose(costs, expected, rtol=1e-10)
    free, labels = rng.random(n) < 0.8, rng.integers(-1, k, size=n)
    before, cost = labels.copy(), np.empty(n)
    totals = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    amount, n_changed = assign_in_metric(
        X, weight, free, padded, scale, constant, labels, cost, *totals
    )
    best = expected.argmin(axis=1)
    assert_array_equal(labels, np.where(free | (before < 0), best, before))
    assert n_changed == (free & (before != best)).sum()
    assert_allclose(cost, weight * expected.min(axis=1), rtol=1e-10)
    assert amount == pytest.approx(cost[free].sum())
    pick = (np.eye(k)[best] * (weight * free)[:, None])[:, :, None]
    assert_allclose(totals[0], pick.sum(axis=0)[:, 0])
    assert_allclose(totals[1], (pick * away).sum(axis=0), atol=1e-9)
    assert_allclose(totals[2], (pick * away**2).sum(axis=0), atol=1e-9)
    again = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    moments(X[free], weight[free], best[free], padded, *again)
    for one, two in zip(again, totals, strict=True):
        assert_allclose(one, two)
