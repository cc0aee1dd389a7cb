"""The upper tail of a Beta distribution, as a logarithm: it may be far smaller than any float."""

from math import erfc, lgamma

import numpy as np

from sidelight._kernels._jit import jit, part

# Above this the continued fraction takes thousands of terms, and the first term of its uniform
# expansion (Temme 1987) has four digits.
_LARGE = 1e7


@part
def _fraction(a, b, x):
    """The continued fraction of the incomplete Beta function (Lentz); fast for x < a / (a + b)."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 / max(1.0 - (a + b) * x / (a + 1.0), tiny)
    value = d
    m = 1
    while True:
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / max(1.0 + even * d, tiny)
        c = max(1.0 + even / c, tiny)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / max(1.0 + odd * d, tiny)
        c = max(1.0 + odd / c, tiny)
        value *= d * c
        if abs(d * c - 1.0) < 1e-15 or m > 100_000:
            return value
        m += 1


@part
def _log_upper_normal(z):
    """The logarithm of 1 - Phi(z)."""
    if z < 30.0:
        return np.log(0.5 * erfc(z / np.sqrt(2.0)))
    return -0.5 * z * z - np.log(z * np.sqrt(2.0 * np.pi)) + np.log1p(-1.0 / (z * z))


@part
def log_above(a, b, x):
    """The logarithm of P(p > x) for p ~ Beta(a, b), 0 <= x < 1."""
    if x <= 0.0:
        return 0.0
    n = a + b
    if n > _LARGE:
        mean = a / n
        half = -(mean * np.log(x / mean) + (1.0 - mean) * np.log((1.0 - x) / (1.0 - mean)))
        return _log_upper_normal(np.sign(x - mean) * np.sqrt(2.0 * max(half, 0.0) * n))
    front = a * np.log(x) + b * np.log(1.0 - x) + lgamma(n) - lgamma(a) - lgamma(b)
    if x > (a + 1.0) / (n + 2.0):
        return front - np.log(b) + np.log(_fraction(b, a, 1.0 - x))
    return np.log1p(-min(np.exp(front - np.log(a)) * _fraction(a, b, x), 1.0 - 1e-16))


@jit
def all_log_above(a, b, x, out):
    """`log_above` of every entry. out: OUT."""
    for t in range(out.shape[0]):
        out[t] = log_above(a[t], b[t], x[t])
