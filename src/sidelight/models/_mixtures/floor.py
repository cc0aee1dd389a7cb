"""The floor under covariances: its weight in rows, and its target.

Both are those under which rows that are left out, one by one, are most probable: the sum of
log N(x_i; parameters without x_i), which has a closed form. Components that begin at the same class
in every start have a floor each (`own_floors`); the others, and all where a strength is given,
share one (`floor_of`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

# A column may be constant inside every cluster of the start: a millionth of its variance is left.
_LEAST_VARIANCE = 1e-6
# The strengths and the round shares of Psi that are tried; densities are flat between them.
_STRENGTHS = np.geomspace(0.1, 10_000.0, 26)
_LEFT_OUT = 2_000  # rows that are left out, one by one; of more rows every second, third, …
_ROUND = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)


class Floor(NamedTuple):
    """The target of a covariance, Psi, and its weight in rows, nu.

    Numbers and (d, d), or (d,) for variances, of all components; or (T,) and (T, d, d) of each.
    """

    strength: Any
    scale: Floats


def floor_of(covariance_type: str, Z: Any, labels: NDArray[Any], strength: float | str) -> Floor:
    """Psi and nu for rows in the coordinates of the emission, with their clusters at the start.

    diag, spherical: Psi is the variance inside clusters, by column or in all, and "auto" is 1.
    full, tied: Psi lies between the covariance inside clusters (tied: its diagonal) and its mean
    variance in every direction. Where, and the strength, is what gives rows that are left out one
    by one the highest density: the sum of log N(x_i; parameters without x_i), which has a closed
    form.
    """
    auto = strength == "auto"
    counts = np.bincount(labels)
    n_spare = len(labels) - int(np.count_nonzero(counts))
    if covariance_type in ("diag", "spherical"):
        variance = inside_variances(Z, labels, counts, n_spare)
        if covariance_type == "spherical" and len(variance):
            variance = np.full_like(variance, variance.mean())
        return Floor(1.0 if auto else float(strength), variance)
    d = Z.shape[1]
    centered = Z - group_means(Z, labels, counts)[labels]
    inside = centered.T @ centered / n_spare if n_spare else np.eye(d)
    base = inside if covariance_type == "full" else np.diag(np.diagonal(inside))
    level = max(float(np.trace(inside)) / max(d, 1), _LEAST_VARIANCE)
    if covariance_type == "tied":
        labels, counts = np.zeros_like(labels), np.array([n_spare])
    strengths = _STRENGTHS if auto else np.array([max(float(strength), _STRENGTHS[0])])
    best, found = -np.inf, Floor(float(strengths[0]), level * np.eye(d))
    for share in _ROUND:
        scale = (1.0 - share) * base + share * level * np.eye(d)
        # A row that is left out is missing from Psi too.
        own = (1.0 - share) / n_spare if n_spare and covariance_type == "full" else 0.0
        value = left_out_densities(centered, labels, counts, scale, own, strengths).sum(axis=0)
        if value.max(initial=-np.inf) > best:
            best = float(value.max())
            found = Floor(float(strengths[value.argmax()]), scale)
    return found if auto else found._replace(strength=float(strength))


def own_floors(Z: Any, labels: NDArray[Any], n_own: int, n_clusters: int) -> Floor:
    """A floor for each component with full covariances: of its own for the first ``n_own``.

    Psi_k is Psi at the scale of cluster k. Its strength and shape are chosen by the rows of k, by
    one additional row that varies as in all clusters (`typical_row`), and with less weight by the
    rows of all clusters (`common_share`). A column that is constant in a cluster of the start, or
    nearly, gets one more row (`row_off_spikes`): that it does not vary there is no proof that it
    cannot.
    """
    counts = np.bincount(labels, minlength=n_clusters)
    d = Z.shape[1]
    shared = floor_of("full", Z, labels, "auto")
    centered = Z - group_means(Z, labels, counts)[labels]
    extra = np.diag(row_off_spikes(Z, labels, counts))
    strength = np.full(n_clusters, shared.strength)
    n_present = int(np.count_nonzero(counts))
    n_spare = len(labels) - n_present
    # In Psi too, because a strong floor would dilute that row.
    thin = extra * n_present / len(labels)
    scale = np.repeat((shared.scale + thin + extra / shared.strength)[None], n_clusters, axis=0)
    if not n_own or not n_spare or not d:
        return Floor(strength, scale)
    inside = centered.T @ centered / n_spare + thin
    level = max(float(np.trace(inside)) / max(d, 1), _LEAST_VARIANCE)
    best = np.full(n_own, -np.inf)
    for share in _ROUND:
        target = (1.0 - share) * inside + share * level * np.eye(d)
        value = left_out_densities(
            centered, labels, counts, target, (1.0 - share) / n_spare, _STRENGTHS, extra=extra
        )
        value += common_share(int(np.count_nonzero(counts > 1))) * value.sum(axis=0)
        value += typical_row(centered, labels, counts, inside, target, _STRENGTHS, extra)
        place = value[:n_own].argmax(axis=1)
        found = value[np.arange(n_own), place]
        for k in np.flatnonzero((found > best) & (counts[:n_own] > 1)):
            best[k], strength[k] = found[k], _STRENGTHS[place[k]]
            scale[k] = own_level(centered[labels == k], target) * target + extra / strength[k]
    return Floor(strength, scale)


def common_share(n_clusters: int) -> float:
    """The weight of the rows of all clusters, beside its own, when a cluster chooses its floor.

    Ten rows of a class alone choose badly: they do not show outliers, which other classes do. It
    takes three classes to see what classes have in common; two of different spread would mislead
    each other. See docs/results/mixtures.
    """
    return max(n_clusters - 2, 0) / max(n_clusters, 1)


def typical_row(
    centered: Floats,
    labels: NDArray[Any],
    counts: NDArray[Any],
    inside: Floats,
    scale: Floats,
    strengths: Floats,
    extra: Floats,
) -> Floats:
    """The log density to expect of one more row that varies as rows do in all clusters.

    It has the covariance inside clusters at the level of its own, V, so that it expects
    -1/2 (log |Sigma| + tr(V Sigma^-1)); (T, strengths). Without it, a class in which a column
    hardly varies would assume that it never does.
    """
    d = centered.shape[1]
    root = np.linalg.inv(np.linalg.cholesky(scale))
    log_det = -2.0 * np.log(np.diagonal(root)).sum()
    total = np.zeros((len(counts), len(strengths)))
    lifted = inside + 1e-9 * np.trace(inside) / d * np.eye(d)
    for k in np.flatnonzero(counts > 1):
        own = centered[labels == k]
        values, vectors = np.linalg.eigh(root @ (own.T @ own + extra) @ root.T)
        expected = ((vectors.T @ root @ lifted @ root.T) * vectors.T).sum(axis=1)
        expected *= own_level(own, lifted)
        along = np.maximum(values, 0.0) + strengths[:, None] * own_level(own, scale)
        rows = counts[k] + strengths
        distance = rows * (expected / along).sum(axis=1)
        total[k] = -0.5 * (np.log(along).sum(axis=1) + log_det - d * np.log(rows) + distance)
    return total


def row_off_spikes(Z: Floats, labels: NDArray[Any], counts: NDArray[Any]) -> Floats:
    """The square of one more row in columns that hardly vary in some cluster, 0 in all others.

    In a column that is constant in a cluster of two rows or more it is the variance of the whole
    column, 1. In one where three quarters of a cluster's rows or more, but not all, have the same
    value, the spike, it is the mean squared distance to it of all rows that are off it: a few small
    ones do not show how far the next one may be. See docs/results/mixtures.
    """
    extra = np.zeros(Z.shape[1])
    for k in np.flatnonzero(counts > 1):
        own = Z[labels == k]
        middle = np.partition(own, (len(own) - 1) // 2, axis=0)[(len(own) - 1) // 2]
        n_off = (np.abs(own - middle) > _LEAST_VARIANCE).sum(axis=0)
        spiked = np.flatnonzero(4 * n_off <= len(own))
        away = (Z[:, spiked] - middle[spiked]) ** 2
        off = away > _LEAST_VARIANCE**2
        typical = (away * off).sum(axis=0) / np.maximum(off.sum(axis=0), 1)
        square = np.where(n_off[spiked] == 0, 1.0, typical)
        extra[spiked] = np.maximum(extra[spiked], square)
    return extra


def own_level(centered: Floats, target: Floats) -> float:
    """The spread of a cluster over that of Psi, with one row of Psi beside its own."""
    root = np.linalg.inv(np.linalg.cholesky(target))
    n, d = centered.shape
    return float((((centered @ root.T) ** 2).sum() + d) / (n * d))


def group_means(Z: Any, labels: NDArray[Any], counts: NDArray[Any]) -> Floats:
    """The mean of each cluster, 0 for those without rows."""
    n = len(labels)
    member = sparse.csr_array((np.ones(n), (labels, np.arange(n))), shape=(len(counts), n))
    sums = member @ Z
    sums = sums.toarray() if sparse.issparse(sums) else sums
    return np.asarray(sums / np.maximum(counts, 1)[:, None])


def inside_variances(Z: Any, labels: NDArray[Any], counts: NDArray[Any], n_spare: int) -> Floats:
    """The variance of each column inside clusters; 1, that of the column, if no row is spare."""
    if not n_spare:
        return np.ones(Z.shape[1])
    mean = group_means(Z, labels, counts)
    squares = np.asarray(Z.multiply(Z).sum(axis=0)) if sparse.issparse(Z) else (Z**2).sum(axis=0)
    variance = (squares - counts @ mean**2) / n_spare
    return np.maximum(variance, _LEAST_VARIANCE)


def left_out_densities(
    centered: Floats,
    labels: NDArray[Any],
    counts: NDArray[Any],
    scale: Floats,
    own_share: float,
    strengths: Floats,
    *,
    extra: Floats | None = None,
) -> Floats:
    """The log densities of rows under the parameters without them, (T, strengths), summed.

    With u = x - mean, A = S + nu Psi, q = u' A^-1 u, c = n / (n - 1) and b = c (1 + nu own_share),
    where own_share is the part of a row's square in Psi, the determinant without x is |A| (1 - b q)
    and the squared distance (n - 1 + nu) c² q / (1 - b q). Clusters of one row say nothing.

    With ``extra``, A = S + nu a Psi + extra, where a is the `own_level` without the row.
    """
    d = centered.shape[1]
    root = np.linalg.inv(np.linalg.cholesky(scale))
    log_det = -2.0 * np.log(np.diagonal(root)).sum()
    whitened = centered @ root.T
    total = np.zeros((len(counts), len(strengths)))
    step = max(1, len(centered) // _LEFT_OUT)
    for k in np.flatnonzero(counts > 1):
        own, n = whitened[labels == k], float(counts[k])
        some, c, level, squares = own[::step], n / (n - 1.0), np.ones((1, 1)), own.T @ own
        mine = own_share
        if extra is not None:
            squares = squares + root @ extra @ root.T
            length = float((own**2).sum()) + d
            level = (length - c * (some**2).sum(axis=1, keepdims=True)) / ((n - 1.0) * d)
            # Rounding, in a cluster of two rows that are far apart.
            level = np.maximum(level, 1e-12)
            mine = own_share * length / (n * d)
        values, vectors = np.linalg.eigh(squares)
        along_own = (some @ vectors) ** 2
        for place, nu in enumerate(strengths):
            along = np.maximum(values, 0.0) + nu * level
            q = (along_own / along).sum(axis=1)
            left = np.maximum(1.0 - c * (1.0 + nu * mine) * q, 1e-12)
            rows = n - 1.0 + nu
            per_row = np.log(left) + rows * c * c * q / left + np.log(along).sum(axis=1)
            total[k, place] = -0.5 * len(own) * (per_row.mean() + log_det - d * np.log(rows))
    return total
