"""How far estimated centres and mixtures are from the true ones."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from sidelight.exceptions import DataError

Array = npt.NDArray[np.float64]

MixtureLike = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]

# Distances are computed for this many pairs of centres at a time (32 MB).
_CELLS = 4_000_000


def centroid_index(centers_true: npt.ArrayLike, centers_pred: npt.ArrayLike) -> int:
    """Number of clusters that are in the wrong place (Fränti, Rezaei & Zhao 2014).

    Each centre of one set points to its nearest centre in the other; those that no centre points to
    are orphans. The index is the larger number of orphans of the two directions.

    Parameters
    ----------
    centers_true : array-like of shape (n_true, n_features)
    centers_pred : array-like of shape (n_pred, n_features)

    Returns
    -------
    int
        0 when the structure is right, however imprecise the centres are.

    References
    ----------
    P. Fränti, M. Rezaei, Q. Zhao, "Centroid index: cluster level similarity measure", Pattern
    Recognition 47, 2014.

    Examples
    --------
    >>> from sidelight.metrics import centroid_index
    >>> centroid_index([[0.0], [10.0], [20.0]], [[0.1], [0.2], [15.1]])
    1
    """
    a, b = _as_matrix(centers_true, "centers_true"), _as_matrix(centers_pred, "centers_pred")
    if a.shape[1] != b.shape[1]:
        raise DataError(
            f"centers_true has {a.shape[1]} columns and centers_pred has {b.shape[1]}; "
            "both must be centres in the same space."
        )
    return max(_orphans(a, b), _orphans(b, a))


def mixture_divergence(p: MixtureLike, q: MixtureLike) -> float:
    """Kullback-Leibler divergence of two Gaussian mixtures, approximated by matching.

    Each component of ``p`` is matched to its cheapest component of ``q``
    (Goldberger, Gordon & Greenspan 2003)::

        KL(p || q) ~ sum_i a_i [ KL(p_i || q_m(i)) + log(a_i / b_m(i)) ]
        m(i) = argmin_j KL(p_i || q_j) - log b_j

    Parameters
    ----------
    p, q : tuple (weights, means, covariances)
        Weights of shape (K,) that sum to 1, means of shape (K, D), and covariances that are
        spherical (K,), diagonal (K, D) or full (K, D, D): variances, not standard deviations.
        The two may have different K and different kinds of covariances.

    Returns
    -------
    float
        In nats. Not symmetric; 0 for equal mixtures, and (as an approximation) it may be slightly
        negative for others.

    References
    ----------
    J. Goldberger, S. Gordon, H. Greenspan, "An efficient image similarity measure based on
    approximations of KL-divergence between two Gaussian mixtures", ICCV 2003.

    Examples
    --------
    >>> from sidelight.metrics import mixture_divergence
    >>> p = ([0.5, 0.5], [[0.0, 0.0], [4.0, 4.0]], [1.0, 1.0])
    >>> q = ([0.5, 0.5], [[4.0, 4.0], [1.0, 0.0]], [1.0, 1.0])
    >>> mixture_divergence(p, p), round(mixture_divergence(p, q), 6)
    (0.0, 0.25)
    """
    first, second = _as_mixture(p, "p"), _as_mixture(q, "q")
    if first.means.shape[1] != second.means.shape[1]:
        raise DataError(
            f"p has {first.means.shape[1]} dimensions and q has {second.means.shape[1]}; "
            "both must be mixtures on the same space."
        )
    with np.errstate(
        divide="ignore"
    ):  # a weight of 0 is -inf here: such a component is never matched
        cost = _divergences(first, second) - np.log(second.weights)
    used = first.weights > 0
    weights, cheapest = first.weights[used], cost[used].min(axis=1)
    return float(np.sum(weights * (cheapest + np.log(weights))))


class _Mixture(NamedTuple):
    """A mixture with its kind of covariance brought to Cholesky factors or diagonals."""

    weights: Array
    means: Array
    variances: Array | None  # (K, D) where all covariances are diagonal
    factors: Array | None  # (K, D, D), lower triangular, where they are full


def _orphans(pointing: Array, pointed: Array) -> int:
    """Count the centres that are not the nearest of any other."""
    step = max(1, _CELLS // len(pointed))
    hit = np.zeros(len(pointed), dtype=bool)
    for start in range(0, len(pointing), step):
        hit[cdist(pointing[start : start + step], pointed).argmin(axis=1)] = True
    return int(len(pointed) - hit.sum())


def _divergences(p: _Mixture, q: _Mixture) -> Array:
    """KL(p_i || q_j) for all components, (K_p, K_q)."""
    difference = q.means[None] - p.means[:, None]
    if p.variances is not None and q.variances is not None:
        ratio = p.variances[:, None] / q.variances[None]
        terms = ratio - 1 - np.log(ratio) + difference**2 / q.variances[None]
        return np.asarray(0.5 * terms.sum(axis=2))
    root_p, root_q = _roots(p), _roots(q)
    logdet_p, logdet_q = _logdet(root_p), _logdet(root_q)
    result = np.empty((len(root_p), len(root_q)))
    for j, root in enumerate(root_q):
        # tr(Q^-1 P) = |Q^-1/2 P^1/2|^2 and the Mahalanobis term, without an inverse
        spread = np.linalg.solve(root, root_p)
        shift = np.linalg.solve(root, difference[:, j].T)
        trace, distance = (spread**2).sum(axis=(1, 2)), (shift**2).sum(axis=0)
        result[:, j] = 0.5 * (trace - len(root) + distance + logdet_q[j] - logdet_p)
    return result


def _roots(mixture: _Mixture) -> Array:
    """Cholesky factors of all covariances."""
    if mixture.factors is not None:
        return mixture.factors
    assert mixture.variances is not None
    return np.asarray(np.sqrt(mixture.variances)[:, :, None] * np.eye(mixture.means.shape[1]))


def _logdet(roots: Array) -> Array:
    return np.asarray(2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1))


def _as_mixture(mixture: MixtureLike, name: str) -> _Mixture:
    """Check the three arrays of one mixture."""
    if len(mixture) != 3:
        raise DataError(f"{name} has {len(mixture)} parts; give (weights, means, covariances).")
    weights = np.asarray(mixture[0], dtype=np.float64)
    means = _as_matrix(mixture[1], f"the means of {name}")
    covariances = np.asarray(mixture[2], dtype=np.float64)
    k, d = means.shape
    if weights.shape != (k,) or (weights < 0).any() or not np.isclose(weights.sum(), 1):
        raise DataError(
            f"the weights of {name} must be {k} numbers, none negative, that sum to 1; got shape "
            f"{weights.shape} and sum {weights.sum():g}."
        )
    if covariances.shape not in ((k,), (k, d), (k, d, d)):
        raise DataError(
            f"the covariances of {name} have shape {covariances.shape}; allowed are ({k},) "
            f"spherical, ({k}, {d}) diagonal and ({k}, {d}, {d}) full."
        )
    if not np.isfinite(covariances).all():
        raise DataError(f"the covariances of {name} hold NaN or infinite values.")
    if covariances.ndim == 3:
        return _Mixture(weights, means, None, _factors(covariances, name))
    if (covariances <= 0).any():
        raise DataError(f"the variances of {name} must all be positive.")
    variances = np.broadcast_to(covariances.reshape(k, -1), (k, d))
    return _Mixture(weights, means, variances, None)


def _factors(covariances: Array, name: str) -> Array:
    if not np.allclose(covariances, covariances.transpose(0, 2, 1)):
        raise DataError(f"the covariances of {name} must be symmetric.")
    try:
        return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise DataError(f"the covariances of {name} must be positive definite.") from error


def _as_matrix(values: npt.ArrayLike, name: str) -> Array:
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(f"{name} has shape {matrix.shape}; give one row per cluster.")
    if not np.isfinite(matrix).all():
        raise DataError(f"{name} holds NaN or infinite values.")
    return matrix
