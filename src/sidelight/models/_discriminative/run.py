"""One member of the committee: a softmax classifier on one block of features.

Minimises over W, b, with p_i = softmax(W' phi_i + b), by L-BFGS

    J = statements' terms + u sum_i H(p_i) - balance u n H(mean_i p_i) + |W|² / (2 C)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from sidelight.models._discriminative.descent import descend
from sidelight.models._discriminative.statements import Terms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BALANCE = 0.6  # weight of H(mean p); 1, a uniform prior on sizes, is worse by .02 to .04


class Setting(NamedTuple):
    """C of the ridge, and u, the weight of the entropy of one row."""

    ridge: float
    entropy: float


class Fitted(NamedTuple):
    """Coefficients (n_columns + 1, K), the last row b, and J after each iteration."""

    coef: Floats
    history: list[float]

    @property
    def objective(self) -> float:
        """J at the end."""
        return self.history[-1]


def log_memberships(phi: NDArray[Any], coef: Floats) -> NDArray[Any]:
    """Logarithms of the memberships of all rows, from the logits; by columns if phi is so.

    Sums over the few clusters of a row are two to four times as quick by columns.
    """
    coef = coef.astype(phi.dtype, copy=False)
    order: Any = "C" if phi.flags.c_contiguous else "F"
    logits = np.empty((len(phi), coef.shape[1]), dtype=phi.dtype, order=order)
    np.matmul(phi, coef[:-1], out=logits)
    logits += coef[-1]
    logits -= logits.max(axis=1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logits


def minimise(
    phi: NDArray[Any],
    terms: Terms,
    setting: Setting,
    coef: Floats,
    max_iter: int,
    step: Callable[[], bool] | None = None,
) -> Fitted:
    """L-BFGS on J from ``coef``; ``step`` is called after each iteration and may stop it."""

    def evaluate(flat: Floats) -> tuple[float, Floats]:
        return objective(phi, terms, setting, flat.reshape(coef.shape))

    found = descend(evaluate, coef.ravel(), max_iter, step)
    return Fitted(found.x.reshape(coef.shape), found.history)


def imitate(
    phi: NDArray[Any], target: NDArray[Any], weight: float, ridge: float, coef: Floats,
    max_iter: int,
) -> Floats:  # fmt: skip
    """The coefficients of a classifier that imitates soft labels: a start for `minimise`."""

    def evaluate(flat: Floats) -> tuple[float, Floats]:
        coef_now = flat.reshape(coef.shape)
        log_p = log_memberships(phi, coef_now)
        value = -weight * float(np.einsum("ik,ik->", target, log_p, dtype=np.float64))
        slope = weight * (np.exp(log_p) - target)
        return _with_ridge(value, _backward(phi, slope), coef_now, ridge)

    return descend(evaluate, coef.ravel(), max_iter).x.reshape(coef.shape)


def objective(
    phi: NDArray[Any], terms: Terms, setting: Setting, coef: Floats
) -> tuple[float, Floats]:
    """J and its gradient, flat."""
    n = len(phi)
    log_p = log_memberships(phi, coef)
    p = np.exp(log_p)
    row_entropy = -np.einsum("ik,ik->i", p, log_p)
    mean = p.mean(axis=0, dtype=np.float64)
    value = setting.entropy * float(row_entropy.sum(dtype=np.float64))
    value += BALANCE * setting.entropy * n * float(xlogy(mean, mean).sum())
    # By logits: of H(p_i) it is -p (log p + H), of any function of p it is p (g - sum p g).
    outer = BALANCE * np.log(np.maximum(mean, 1e-300)).astype(phi.dtype)
    pull = np.subtract(outer, (p @ outer)[:, None], out=np.empty_like(p))
    pull -= log_p
    pull -= row_entropy[:, None]
    slope = p * pull
    slope *= setting.entropy
    some = terms.rows
    if len(some):
        p_some = p[some].astype(np.float64)
        said, by_p = terms.value_and_gradient(p_some)
        value += said
        inner = np.einsum("ik,ik->i", p_some, by_p)
        slope[some] += p_some * (by_p - inner[:, None])
    return _with_ridge(value, _backward(phi, slope), coef, setting.ridge)


def _backward(phi: NDArray[Any], slope: NDArray[Any]) -> Floats:
    """From the derivative by logits to that by coefficients."""
    gradient = np.empty((phi.shape[1] + 1, slope.shape[1]))
    gradient[:-1] = phi.T @ slope
    gradient[-1] = slope.sum(axis=0, dtype=np.float64)
    return gradient


def _with_ridge(value: float, gradient: Floats, coef: Floats, ridge: float) -> tuple[float, Floats]:
    weights = coef[:-1]
    gradient[:-1] += weights / ridge
    return value + float((weights * weights).sum()) / (2 * ridge), gradient.ravel()
