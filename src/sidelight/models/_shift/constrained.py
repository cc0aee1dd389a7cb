"""Constrained mean shift.   M. Schier, C. Reinders and B. Rosenhahn, "Constrained mean shift
clustering", SDM 2022 (CMS).

    modes t_i from x_i;   k_ij = exp(-|t_i - x_j|² / h²), zero below .2
    b_ij = prod over cannot-links (a, b), both ways, of
           1 - exp(-|t_i - t_a|² / r²) exp(-|t_j - t_b|² / r²),   r = min(h, c |t_a - t_b|)
    t_i := sum_j k_ij b_ij x_j / sum_j k_ij b_ij,   h from the smallest to the largest distance

Rows whose last modes are joined by kernels above .99 and b above .1 are a cluster.

Paper   Here                     Paper   Here
h       bandwidth, n_steps       c       constraint_scale

Choices of ours: modes that have met are one, up to 1e-6 of h, and cannot-links between the same two
modes are one, that of the largest weight: else a hundred of them, each of which leaves 98 % of the
kernel inside a cluster, tear it apart. A statement's weight is a power of its factor. Above 5,000
rows, 2,000 centres of k-means represent the rows without statements; with many pairs, fewer, and
below 5,000 rows too (rows² x pairs above 4e9). Above 200 annotated rows, centres also represent the
rows of a group that belongs together, such as a class, so that cannot-links are between parts of
groups, not between rows. Above 6,000 rows modes have met up to 1e-3 of h, and factors have single
precision. The published settings and scaling are not known.
"""

import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._kernels.mean_shift import (
    FAR,
    block_pairs,
    mark_needed,
    multiply_factors,
    shift_seen,
    squared_distances,
)
from sidelight._validation import Integral, Interval, Real, StrOptions, check_new_x, prepare
from sidelight.blocks import one_blas_thread
from sidelight.exceptions import DataError, SideInformationError
from sidelight.graph import query_neighbors
from sidelight.models._base import SideClusterer
from sidelight.models._fitting import Task, is_small, warn
from sidelight.models._metric import METRIC
from sidelight.models._naming import named_labels
from sidelight.models._registry import find_model
from sidelight.side import CANNOT, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_ANNOTATED = 200  # annotated rows that shift by themselves: pairs are their square
MOST_POINTS = 5_000  # rows, or annotated rows and centres, that shift: arrays are points x points
MOST_PAIRS = 1_000_000  # cannot-links of rows, with what follows from them
_CENTERS = 2_000  # that stand for rows without statements, where there are too many
_FEWEST_CENTERS = 200
_WORK = 4e9  # points² x pairs of a step: with more pairs, fewer points
_SAMPLE = 20_000  # rows from which these are found
_SAME = 1e-6  # of the bandwidth: modes that are nearer are one
# Of many rows. Mean ARI with 1e-3 and 1e-2: .62 and .59 with labels (ten Gaussians and pendigits,
# two draws each; .60 with 1e-6), .52 and .54 with pairs (five data sets of 6,435 to 10,992 rows).
_SAME_OF_MANY = 1e-3
# Smaller factors are zero. Only their ratios count: with 1e-6, ARI of 1,000 labels of ten Gaussians
# fell from .26 to .20.
_LEAST = 1e-30
_AT_ONCE = 64  # pairs whose factors are multiplied at once, a power of two
_WIDEST = 1e100  # in units of the data every kernel is 1 long before, and its square still a number


class ConstrainedMeanShift(SideClusterer):
    """Mean shift in which cannot-links keep modes apart.

    The bandwidth grows until all rows would be one cluster. So the number of clusters depends only
    on the cannot-links, given or implied by labels and must-links; a class without any is merged
    into others. With ``bandwidth`` it stops earlier.

    Parameters
    ----------
    bandwidth : float or "schedule", default="schedule"
        The last bandwidth; "schedule" is the largest distance of two rows. The first is the
        smallest distance, or the last one if that is smaller.
    n_steps : int, default=80
        The number of steps in which the bandwidth grows.
    constraint_scale : float, default=0.5
        The radius around the two modes of a cannot-link in which other modes are kept apart, as a
        share of the distance of the two; the paper's c.
    truncation : float, default=0.2
        Kernels below this are zero.
    merge_kernel : float, default=0.99
        Modes form one cluster if their kernel is above this, and the next condition holds.
    merge_block : float, default=0.1
        Modes form one cluster only if cannot-links leave more than this share of their kernel.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the centres that represent rows, if there are many rows or many pairs.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    modes_ : ndarray of shape (n_points, n_features)
        The mode of each row, or of each annotated row and each centre that represents others.
    bandwidth_ : float
        The last bandwidth.
    objective_ : float
        The mean squared distance between a row and its mode.
    history_ : ndarray of shape (1,)
        The same.
    n_iter_ : int
        The number of steps.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    StructuralEntropyClustering : Fewest bits for a walk on a neighbour graph.
    COPKMeans : Every pair and label holds.

    Notes
    -----
    Without cannot-links there is one cluster, and ``result_.provenance["advice"]`` says so.
    Must-links act only through the cannot-links that follow from them.

    A step takes time proportional to points² times columns, and at most points² times pairs; less
    after modes have merged. Centres of k-means represent rows without statements above 5,000 rows,
    and if rows² times the number of pairs of rows that are kept apart is above 4e9, as with 2,000
    rows of which 200 have labels. Above 200 annotated rows, centres represent the rows of a class,
    or of another group that belongs together, in proportion to its size.

    Above 6,000 rows modes merge as soon as they differ by less than a thousandth of the bandwidth
    (elsewhere a millionth), so that fewer of them remain, and products of factors have single
    precision.

    Our implementation; settings and scaling of the published figures are not known.

    References
    ----------
    M. Schier, C. Reinders and B. Rosenhahn. Constrained mean shift clustering. SDM 2022, 235-243.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import ConstrainedMeanShift, SideInformation
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    >>> side = SideInformation.from_pairs(cannot=[(0, 3), (4, 7)], n_samples=9)
    >>> ConstrainedMeanShift().fit_predict(X, side=side).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]

    Without statements all rows are one cluster, unless the bandwidth stops before:

    >>> ConstrainedMeanShift().fit_predict(X).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> ConstrainedMeanShift(bandwidth=2.0).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]
    """

    accepts = ("must", "cannot", "label", "not_label")
    finds_k = True
    weight_unit = "powers of a factor that keeps modes apart"
    scales = (
        "A step takes n² times the pairs; above 5,000 rows, or many pairs, centres represent rows."
    )
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "min"
    _published: ClassVar[dict[str, Any]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"schedule"})],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "constraint_scale": [Interval(Real, 0, None, closed="neither")],
        "truncation": [Interval(Real, 0, 1, closed="left")],
        "merge_kernel": [Interval(Real, 0, 1, closed="neither")],
        "merge_block": [Interval(Real, 0, 1, closed="left")],
        "metric": METRIC,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        bandwidth: float | str = "schedule",
        n_steps: int = 80,
        constraint_scale: float = 0.5,
        truncation: float = 0.2,
        merge_kernel: float = 0.99,
        merge_block: float = 0.1,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.n_steps = n_steps
        self.constraint_scale = constraint_scale
        self.truncation = truncation
        self.merge_kernel = merge_kernel
        self.merge_block = merge_block
        self.metric = metric
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The data.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of all kinds; they act through the cannot-links that they are or entail.

        Returns
        -------
        self
        """
        _refuse_sparse(X)
        X, side, seed = prepare(self, X, y, side)
        X = np.asarray(X, dtype=np.float64)
        points = condensed(X, side, seed)
        pairs = apart_pairs(side, points.of_row)
        middle = points.X.mean(axis=0)
        # Squares of the largest numbers overflow, and those of the smallest are zero.
        size = float(np.abs(points.X - middle).max()) or 1.0
        scaled = np.ascontiguousarray((points.X - middle) / size)
        with Task.of_fit(self, self.n_steps) as task:
            bandwidths = self._schedule(scaled, size)
            modes, labels = run(
                scaled, points.weight, pairs, bandwidths, self.constraint_scale, self.truncation,
                self.merge_kernel, self.merge_block, task, of_many=not is_small(len(X)),
            )  # fmt: skip
        self.modes_ = modes * size + middle
        self.bandwidth_ = float(bandwidths[-1]) * size
        self._points = points.X
        of_row, naming = named_labels(side, labels[points.of_row])
        first = np.unique(points.of_row, return_index=True)[1]
        self._point_labels = of_row[first]
        away = ((scaled - modes) ** 2).sum(axis=1)
        cost = float(points.weight @ away / points.weight.sum()) * size**2
        self._publish(of_row, naming, _Found(cost, [cost], len(bandwidths)), side, seed)
        if not len(pairs.one):
            advice = (
                "nothing keeps rows apart, so the number of clusters follows from the bandwidth "
                "alone, and at the largest it is one. Give cannot-links or labels, or a bandwidth."
            )
            self.result_.provenance["advice"].append(advice)
            if len(side.annotated_rows):  # without statements it is what was asked for
                warn(advice)
        return self

    def predict(self, X: Any) -> Ints:
        """The cluster of each row of X: that of the nearest row of the fit.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        _refuse_sparse(X)
        new = np.asarray(check_new_x(self, X), dtype=np.float64)
        return self._point_labels[query_neighbors(new, self._points, 1).indices]

    def _schedule(self, X: Floats, size: float) -> Floats:
        """The bandwidths, in units of ``size``."""
        distances = cdist(X, X)
        largest = float(distances.max()) if len(X) > 1 else 0.0
        smallest = float(np.min(distances, where=distances > 0, initial=np.inf))
        if not largest > 0:
            return np.ones(1)
        last = largest if self.bandwidth == "schedule" else float(self.bandwidth) / size
        if not (np.isfinite(last) and last > 0):
            raise DataError(
                f"bandwidth={self.bandwidth!r} is too far from the size of the data, {size:.3g}."
            )
        return np.linspace(min(smallest, last), last, self.n_steps).clip(min=1e-100)


def _refuse_sparse(X: Any) -> None:
    if sparse.issparse(X):
        raise DataError(
            "X is a sparse matrix, and ConstrainedMeanShift takes dense data only: modes have no "
            "zeros. Give X.toarray(), or reduce it first (TruncatedSVD)."
        )


class _Found(NamedTuple):
    objective: float
    history: list[float]
    n_iter: int


# The points that shift


class Points(NamedTuple):
    """Rows, or annotated rows and the centres that stand for the others."""

    X: Floats
    weight: Floats  # rows that a point stands for
    of_row: Ints


def condensed(X: Floats, side: SideInformation, seed: int) -> Points:
    """All rows, if they and the pairs are few; else centres stand for rows without statements.

    And of many annotated rows centres of those that belong together: what keeps them apart from
    others is the same for all.
    """
    n, annotated = len(X), side.annotated_rows
    n_cells = cells_of_groups(side)
    n_annotated = int(n_cells.sum())
    whole = n_annotated == len(annotated)
    most = int(np.sqrt(_WORK / max(_number_of_pairs(side, n_cells), 1)))
    n_centers = int(np.clip(most - n_annotated, _FEWEST_CENTERS, _CENTERS))
    if whole and n <= min(MOST_POINTS, max(most, n_annotated + n_centers)):
        return Points(X, np.ones(n), np.arange(n))
    if n > MOST_POINTS and n_annotated + _CENTERS > MOST_POINTS:
        raise SideInformationError(
            f"the rows with statements are {n_annotated:,} groups of rows that belong together; "
            f"above {MOST_POINTS:,} rows at most {MOST_POINTS - _CENTERS:,} are possible, because "
            "each of them shifts by itself.",
            advice="Leave statements out, or give all of them to another model that finds the "
            "number of clusters, such as ConstraintPropagation.",
        )
    of_row = np.empty(n, dtype=np.int64)
    of_row[annotated] = np.arange(len(annotated)) if whole else _cells(X, side, n_cells, seed)
    others = np.setdiff1d(np.arange(n), annotated)
    n_first = int(of_row[annotated].max(initial=-1)) + 1
    points = [_means(X[annotated], of_row[annotated], n_first)]
    if len(others):
        some = others
        if len(others) > _SAMPLE:
            some = np.random.default_rng(seed).choice(others, _SAMPLE, replace=False)
        centers = _centers(X[np.sort(some)], min(n_centers, len(others)), seed)
        used, place = np.unique(centers.predict(X[others]), return_inverse=True)
        of_row[others] = n_first + place
        points.append(centers.cluster_centers_[used])
    return Points(np.concatenate(points), np.bincount(of_row).astype(np.float64), of_row)


def cells_of_groups(side: SideInformation) -> Ints:
    """The number of points that stand for the annotated rows of each group; 0 without such."""
    annotated = side.annotated_rows
    closure = side.closure()
    size = np.bincount(closure.groups[annotated], minlength=closure.n_groups).astype(np.int64)
    if len(annotated) <= MOST_ANNOTATED:
        return size
    return np.ceil(size * (MOST_ANNOTATED / len(annotated))).astype(np.int64)


def _cells(X: Floats, side: SideInformation, n_cells: Ints, seed: int) -> Ints:
    """The cell of each annotated row: groups of many rows are divided by k-means."""
    annotated = side.annotated_rows
    group = side.closure().groups[annotated]
    size = np.bincount(group, minlength=len(n_cells))
    order = np.argsort(group, kind="stable")
    first = np.cumsum(size) - size
    place = np.empty(len(group), dtype=np.int64)
    place[order] = np.arange(len(group)) - first[group[order]]
    place[n_cells[group] == 1] = 0
    for g in np.flatnonzero((n_cells > 1) & (n_cells < size)):
        here = order[first[g] : first[g] + size[g]]
        rows = X[annotated[here]]
        place[here] = _centers(rows, int(n_cells[g]), seed).predict(rows)
    cell = (np.cumsum(n_cells) - n_cells)[group] + place
    return np.unique(cell, return_inverse=True)[1].astype(np.int64)


def _means(X: Floats, of_row: Ints, n_points: int) -> Floats:
    """The mean of the rows of each point."""
    n = len(X)
    member = sparse.csr_array((np.ones(n), (of_row, np.arange(n))), shape=(n_points, n))
    return np.asarray(member @ X) / np.bincount(of_row, minlength=n_points)[:, None]


def _centers(X: Floats, n_centers: int, seed: int) -> Any:
    """K-means, fitted in a few steps."""
    kmeans = find_model("PartitionLevelKMeans")(n_centers, n_init=1, max_iter=10, random_state=seed)
    return _quietly(kmeans, X)


def _quietly(model: Any, X: Floats) -> Any:
    """Fit a few steps of k-means, which need not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


class Pairs(NamedTuple):
    """Cannot-links between rows or points, each once, and their weights."""

    one: Ints
    other: Ints
    weight: Floats


def apart_pairs(side: SideInformation, of_row: Ints | None = None) -> Pairs:
    """Of points: stated cannot-links and those that follow from groups that are apart.

    Each row is a point unless ``of_row`` says which points stand for the rows.
    """
    of_row = np.arange(side.n_samples) if of_row is None else of_row
    n_points = int(of_row.max(initial=-1)) + 1
    closure = side.closure()
    group = np.empty(n_points, dtype=np.int64)
    group[of_row] = closure.groups  # of a centre, that of a row without statements
    size = np.bincount(group, minlength=closure.n_groups)
    n_pairs = _number_of_pairs(side, size)
    if n_pairs > MOST_PAIRS:
        raise SideInformationError(
            f"the statements keep {n_pairs:,} pairs of points apart; at most {MOST_PAIRS:,} are "
            "possible here. Leave some statements out, or use another model."
        )
    a, b = _apart_groups(side)
    members = np.argsort(group, kind="stable")
    first = np.cumsum(size) - size
    count = size[a] * size[b]
    pair = np.repeat(np.arange(len(a)), count)
    place = np.arange(n_pairs) - np.repeat(np.cumsum(count) - count, count)
    i = members[first[a[pair]] + place // size[b[pair]]]
    j = members[first[b[pair]] + place % size[b[pair]]]
    keys = np.minimum(i, j) * n_points + np.maximum(i, j)
    order = np.argsort(keys)
    return Pairs(i[order], j[order], _stated_weights(side, of_row, n_points, keys[order]))


def _apart_groups(side: SideInformation) -> tuple[Ints, Ints]:
    """Pairs of groups that are apart, each once."""
    apart = sparse.triu(side.closure().apart_graph(), 1).tocoo()  # the diagonal is contradictions
    return apart.row.astype(np.int64), apart.col.astype(np.int64)


def _number_of_pairs(side: SideInformation, size: Ints) -> int:
    """The pairs of points that are apart, from the number of points of each group."""
    a, b = _apart_groups(side)
    return int((size[a] * size[b]).sum())


def _stated_weights(side: SideInformation, of_row: Ints, n_points: int, keys: Ints) -> Floats:
    """The weight of the stated cannot-link of each pair of points; 1 where it is entailed.

    Of several between the same two points, the largest.
    """
    said = side.once
    said = said.take(said.kind == CANNOT)
    i, j = of_row[said.i], of_row[said.j]
    stated = np.minimum(i, j) * n_points + np.maximum(i, j)
    order = np.argsort(said.weight, kind="stable")
    stated, value = stated[order], said.weight[order]
    weight = np.ones(len(keys))
    place = np.searchsorted(keys, stated)
    here = (place < len(keys)) & (np.append(keys, -1)[place] == stated)
    weight[place[here]] = value[here]
    return weight


# The shift


def run(
    X: Floats,
    weight: Floats,
    pairs: Pairs,
    bandwidths: Floats,
    constraint_scale: float,
    truncation: float,
    merge_kernel: float,
    merge_block: float,
    task: Task | None = None,
    *,
    of_many: bool = False,
) -> tuple[Floats, Ints]:
    """Modes and clusters of the points after all bandwidths.

    of_many : take the steps that are faster for the points of many rows.
    """
    modes, mode_of = X.copy(), np.arange(len(X))
    step, same = (_step_of_many, _SAME_OF_MANY) if of_many else (_step, _SAME)
    for h in np.minimum(bandwidths, _WIDEST):
        moved = step(modes, mode_of, X, weight, pairs, h, constraint_scale, truncation)
        modes, mode_of = _met(moved, mode_of, same * h)
        if task is not None and task.step():
            break
    away = cdist(modes, modes, "sqeuclidean")
    kernel = np.exp(-away / h**2)
    if of_many:
        i, k = np.nonzero(np.triu(kernel > merge_kernel))
        apart = _factors(modes, mode_of, pairs, h, constraint_scale, i, k) <= merge_block
        joined = sparse.csr_array((~apart, (i, k)), shape=away.shape)
    else:
        looked_at = _near(away, np.arange(len(modes)), h, merge_kernel)
        blocked = _blocked(modes, mode_of, pairs, h, constraint_scale, looked_at)
        joined = sparse.csr_array((kernel > merge_kernel) & (blocked > merge_block))
    cluster = connected_components(joined, directed=False)[1]
    return modes[mode_of], cluster[mode_of].astype(np.int64)


def _step(
    modes: Floats,
    mode_of: Ints,
    X: Floats,
    weight: Floats,
    pairs: Pairs,
    h: float,
    scale: float,
    truncation: float,
) -> Floats:
    """Where each mode moves to with this bandwidth."""
    away = cdist(modes, X, "sqeuclidean")
    looked_at = _near(away, mode_of, h, truncation)
    blocked = _blocked(modes, mode_of, pairs, h, scale, looked_at)
    seen = np.exp(-away / h**2)
    seen[seen < truncation] = 0.0
    seen *= blocked[:, mode_of]
    seen *= weight
    return _shifted(modes, X, seen)


# The same step for the points of many rows. It computes the factor of an entry and its mirror image
# once, in single precision, and only for modes that see more than one point.


def _step_of_many(
    modes: Floats,
    mode_of: Ints,
    X: Floats,
    weight: Floats,
    pairs: Pairs,
    h: float,
    scale: float,
    truncation: float,
) -> Floats:
    """As `_step`, up to the sixth digit or so."""
    m = len(modes)
    away = _squared(modes, X)
    reach = -np.log(truncation) * h**2 if truncation > 0 else np.inf
    needed = np.zeros((m, m), dtype=bool)
    mark_needed(away, mode_of, reach, needed)
    i, k = np.nonzero(needed)
    factor = np.zeros((m, m), dtype=np.float32)
    factor[i, k] = _factors(modes, mode_of, pairs, h, scale, i, k)
    factor[k, i] = factor[i, k]
    moved = np.empty_like(modes)
    shift_seen(away, mode_of, reach, 1.0 / h**2, X, weight, factor, modes, moved)
    return moved


def _factors(
    modes: Floats, mode_of: Ints, pairs: Pairs, h: float, scale: float, i: Ints, k: Ints
) -> Floats:
    """The factors of entries (i, k) of the modes; below _LEAST they are only known to be that."""
    product, left, n_left = np.ones(len(i)), np.arange(len(i)), len(i)
    links = _links(modes, mode_of, pairs, h, scale)
    if not (len(links.one) and n_left):
        return product
    # The widest first, since they reach most; those with another power than 1 apart.
    order = np.lexsort([-links.radius, links.power != 1.0])
    ends, row = np.unique(np.concatenate([links.one, links.other]), return_inverse=True)
    one, other = row.reshape(2, -1)
    is_used = np.zeros(len(modes), dtype=bool)
    is_used[i] = is_used[k] = True
    used, place = np.flatnonzero(is_used), np.cumsum(is_used) - 1
    i, k = place[i], place[k]
    distances = _squared(modes[ends], modes[used])
    scratch = np.empty(_AT_ONCE, dtype=np.float32)
    for begin in range(0, len(order), _AT_ONCE):
        some = order[begin : begin + _AT_ONCE]
        u = _falling(distances[one[some]], links.radius[some])
        v = _falling(distances[other[some]], links.radius[some])
        power = np.ones(_AT_ONCE, dtype=np.float32)
        power[: len(some)] = links.power[some]
        n_left = multiply_factors(
            np.hstack([u, v]), np.hstack([v, u]), power, i, k, _LEAST,
            bool((power == 1.0).all()), product, left, n_left, scratch,
        )  # fmt: skip
    return np.where(product > _LEAST, product, 0.0)


def _falling(distances: Floats, radius: Floats) -> NDArray[np.float32]:
    """How near each mode is to the ends of some pairs, of modes by pairs, up to a full block."""
    distances /= radius[:, None] ** 2
    far = distances >= FAR
    distances[far] = FAR  # else it may be too large for single precision
    near = np.exp(-distances.astype(np.float32))
    near[far] = 0.0
    out = np.zeros((near.shape[1], _AT_ONCE), dtype=np.float32)
    out[:, : len(near)] = near.T
    return out


def _squared(A: Floats, B: Floats) -> Floats:
    """Squared distances of the rows of A and B."""
    out = np.empty((len(A), len(B)))
    squared_distances(np.ascontiguousarray(A), np.ascontiguousarray(B.T), out)
    return out


# The steps of few rows


def _near(away: Floats, mode_of: Ints, h: float, kernel: float) -> sparse.csr_array:
    """For each mode, the modes of the points whose kernel is at least this large.

    away : squared distances, of modes by points.
    """
    reach = -np.log(kernel) * h**2 * (1.0 + 1e-9) if kernel > 0 else np.inf  # rounding: rather more
    i, j = np.nonzero(away <= reach)
    return sparse.csr_array((np.ones(len(i), dtype=bool), (i, mode_of[j])), (len(away),) * 2)


def _shifted(modes: Floats, X: Floats, seen: Floats) -> Floats:
    """The mean of the points by what each mode sees of them; one that sees nothing stays."""
    total = seen.sum(axis=1)
    with one_blas_thread():
        moved = seen @ X
    sees = total > 0.0
    moved[sees] /= total[sees, None]
    moved[~sees] = modes[~sees]
    return moved


def _blocked(
    modes: Floats,
    mode_of: Ints,
    pairs: Pairs,
    h: float,
    scale: float,
    looked_at: sparse.csr_array,
) -> Floats:
    """The factor of cannot-links on the kernel of two modes; one link for each pair of modes.

    Only the needed entries are complete.
    """
    m = len(modes)
    blocked = np.ones((m, m))
    one, other, radius, power = _links(modes, mode_of, pairs, h, scale)
    if not len(one):
        return blocked
    ends, row = np.unique(np.concatenate([one, other]), return_inverse=True)
    distances = cdist(modes[ends], modes, "sqeuclidean")
    reach = sparse.csr_array(distances < FAR * float(radius.max()) ** 2)
    lists = [a.astype(np.int64) for a in (*_lists(looked_at), *_lists(reach))]
    block_pairs(distances, *row.reshape(2, -1), radius, power, *lists, np.zeros((2, m)), blocked)
    return blocked


class _Links(NamedTuple):
    """Cannot-links between modes, each once."""

    one: Ints
    other: Ints
    radius: Floats
    power: Floats


def _links(modes: Floats, mode_of: Ints, pairs: Pairs, h: float, scale: float) -> _Links:
    """The links of modes that follow from those of points: of several, the largest weight."""
    m = len(modes)
    a, b = mode_of[pairs.one], mode_of[pairs.other]
    keys, place = np.unique(np.minimum(a, b) * m + np.maximum(a, b), return_inverse=True)
    power = np.zeros(len(keys))
    np.maximum.at(power, place, pairs.weight)
    one, other = np.divmod(keys, m)
    distance = np.sqrt(((modes[one] - modes[other]) ** 2).sum(axis=1))
    # Rows that are kept apart and yet have met: a radius of nothing, at their own mode.
    return _Links(one, other, np.maximum(np.minimum(h, scale * distance), _SAME * h), power)


def _lists(of_rows: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where the columns of each row begin, and the columns."""
    return of_rows.indptr, of_rows.indices


def _met(moved: Floats, mode_of: Ints, same: float) -> tuple[Floats, Ints]:
    """Modes that differ by less than ``same``, as one."""
    _, first, place = np.unique(
        np.round(moved / same), axis=0, return_index=True, return_inverse=True
    )
    return np.ascontiguousarray(moved[first]), place.ravel()[mode_of]
