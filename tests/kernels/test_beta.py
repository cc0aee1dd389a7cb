"""The tail of a Beta distribution against scipy, and against sums where scipy has no number."""

import numpy as np
import pytest
from scipy.special import betaincc, betaln, logsumexp

from kernel_parts import called_from_python
from sidelight._kernels import beta as kernels

log_above = called_from_python(kernels.log_above)


def by_integration(a, b, x):
    """log P(p > x) by the midpoint rule in logarithms, fine where the integrand is large."""
    top = min(1.0, x + 60 * np.sqrt(x * (1 - x) / (a + b)) + 60 / (a + b))
    edges = np.linspace(x, top, 2_000_001)
    p = 0.5 * (edges[1:] + edges[:-1])
    log_density = (a - 1) * np.log(p) + (b - 1) * np.log1p(-p) - betaln(a, b)
    return logsumexp(log_density) + np.log(edges[1] - edges[0])


@pytest.mark.parametrize("a", [1.0, 2.0, 7.5, 300.0, 20_002.25])
@pytest.mark.parametrize("b", [1.0, 3.25, 40.0, 1_000.0])
def test_the_tail_is_that_of_scipy(a, b):
    for x in (0.0, 0.05, 0.25, 0.5, 0.9):
        expected = betaincc(a, b, x)
        if expected > 1e-290:
            found = log_above(a, b, x)
            assert found == pytest.approx(np.log(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("a", "b", "x"), [(50.0, 4000.0, 0.5), (900.0, 60_000.0, 0.25)])
def test_a_tail_below_all_floats_has_a_logarithm(a, b, x):
    assert betaincc(a, b, x) == 0.0
    assert log_above(a, b, x) == pytest.approx(by_integration(a, b, x), rel=1e-6)


@pytest.mark.parametrize("mean", [0.2, 0.2499, 0.25, 0.2501, 0.3, 0.9])
def test_the_expansion_for_large_numbers_meets_the_fraction(mean):
    n = 1.0000001e7
    expanded = log_above(mean * n, (1 - mean) * n, 0.25)
    exact = log_above(mean * 0.9999999e7, (1 - mean) * 0.9999999e7, 0.25)
    assert expanded == pytest.approx(exact, rel=1e-4, abs=1e-3)


def test_more_agreement_never_lowers_the_tail():
    agreed = np.arange(0.0, 200.0, 0.5)
    out = np.empty_like(agreed)
    kernels.all_log_above(agreed + 2, 200 - agreed + 1, np.full_like(agreed, 0.25), out)
    assert (np.diff(out) >= 0).all()
    assert np.isfinite(out).all()
