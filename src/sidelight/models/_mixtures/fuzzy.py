"""Fuzzy c-means with labels.   W. Pedrycz and J. Waletzky, "Fuzzy clustering with partial
supervision", IEEE Transactions on Systems, Man and Cybernetics B 27, 1997.

Minimises  J = sum_ik u_ik^m d_ik + alpha sum over statements w sum_k |u_ik - f_k|^m d_ik
           with d_ik = |x_i - m_k|², sum_k u_ik = 1

Paper      Here
alpha      side_weight; None is n / (annotated rows), the paper's
f          one-hot for a label; "not c" says f_c = 0, and nothing of the other clusters
p          fuzzifier, m

Per row this is  sum_k d_k (a_k u_k^m + b_k (1 - u_k)^m): a label s of weight w adds alpha w to b_s
and to all other a_k, "not c" adds it to a_c. Departures from the paper:
- The second term is only on annotated rows. Printed with f = 0 for the others, it weighs them
  more, and nothing else.
- Centres are means with the weights a u^m + b (1 - u)^m, which minimise J. With u^m alone, as often
  printed, J rises.
- By default m is that of V. Schwämmle and O. Jensen, "A simple and fast method to determine the
  parameters for fuzzy c-means cluster analysis", Bioinformatics 26, 2010, and 2 at the most. With
  2 and many columns all memberships are alike, and all centres in the middle.
- Any fuzzifier above 1: with one label t = u_s has t / (1 - t) = ((A + b_s d_s) / (a_s d_s))^(1 /
  (m - 1)), where A is what the others cost at best; the paper has m = 2.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.callback import with_callbacks

from sidelight._validation import HasMethods, Integral, Interval, Real, StrOptions, prepare
from sidelight.blocks import Block, Blocks, CSRRows, RowEntries, as_blocks, one_blas_thread
from sidelight.models._centers import as_matrix, class_centers, plus_plus, spread, sums_by_label
from sidelight.models._em import ascend
from sidelight.models._fitting import (
    STARTS,
    best_of_starts,
    given_labels,
    n_starts,
    never,
    warn_fewer_clusters,
    warn_not_converged,
)
from sidelight.models._keeping import check_classes
from sidelight.models._metric import METRIC
from sidelight.models._mixtures.family import RANDOM_STATE
from sidelight.models._naming import number_of_clusters
from sidelight.models._rows import ProbableRowModel, named
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PartialLabelFuzzyCMeans(ProbableRowModel):
    """Fuzzy c-means in which labels pull rows to the clusters of their classes.

    Every row belongs to all clusters, and more to the near ones. A label raises the membership in
    its class; a row far from its class belongs to it only in part. ``predict_proba`` gives the
    memberships of new rows.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters: at least the number of labelled classes, which is the default.
    fuzzifier : float or "auto", default="auto"
        The exponent m, above 1. Near 1, memberships are nearly 0 or 1; with a large m they are
        nearly equal. "auto" is 2 for few columns and less for more: see Notes.
    side_weight : float, optional
        The weight of a statement relative to its row's own cost; by default the number of rows
        divided by the number of annotated rows, so that both terms count equally in total.
    init : {"seeded", "k-means++"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, with k-means++ for the other
        clusters. An array gives cluster numbers of the rows (−1 is unknown); a fitted model gives
        its clusters.
    n_init : int or "auto", default="auto"
        The number of starts; the best is kept. A start without randomness is made once. "auto": 10;
        fewer above 10,000 rows, down to 3.
    max_iter : int, default=300
        The maximum number of iterations of one start.
    tol : float, default=1e-6
        Stop when J falls by less than this per row, in mean squared deviations.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults. Centres are
        given in the columns of X.
    random_state : int, Generator or RandomState, optional
        Source of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster to which each row belongs most, statements included.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Centres of the clusters.
    fuzzifier_ : float
        The exponent that was used.
    side_weight_ : float
        The weight that was used.
    objective_ : float
        J.
    history_ : ndarray of shape (n_iter_,)
        J after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    SeededKMeans : Labels only choose the start.
    PartialLabelGaussianMixture : A mixture in which labels hold.

    Notes
    -----
    J = sum_ik u_ik^m d_ik + alpha sum over statements w sum_k |u_ik − f_k|^m d_ik. For
    m = 2 and one label, u_ik = [1 / sum_l (d_ik / d_il) + alpha f_ik] / (1 + alpha). Columns are
    not scaled. Without statements this is fuzzy c-means.

    The more columns, the less distances differ, and the sooner fuzzy centres all lie in the middle.
    ``fuzzifier="auto"`` is the least of 2 and m = 1 + (1418 / n + 22.05) / d² + (12.33 / n + 0.243)
    d^(−0.0406 log n − 0.1134) for n rows and d columns: the lowest m at which structureless data of
    that size have no clusters, found by Schwämmle and Jensen.

    References
    ----------
    W. Pedrycz and J. Waletzky. Fuzzy clustering with partial supervision. IEEE Transactions on
    Systems, Man and Cybernetics B 27, 1997, 787-795.

    V. Schwämmle and O. N. Jensen. A simple and fast method to determine the parameters for fuzzy
    c-means cluster analysis. Bioinformatics 26, 2010, 2841-2848.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartialLabelFuzzyCMeans
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> y = ["a", None, "b", None, None, None]
    >>> model = PartialLabelFuzzyCMeans(3, random_state=0).fit(X, y)
    >>> model.cluster_names_[model.labels_].tolist()
    ['a', 'a', 'b', 'b', 'new 1', 'new 1']
    >>> model.predict_proba([[0.6]]).round(1).tolist()
    [[0.5, 0.5, 0.0]]
    """

    accepts = ("label", "not_label")
    refuses: ClassVar[dict[str, str]] = {
        kind: "It knows classes, not pairs. " for kind in ("must", "cannot")
    }
    weight_unit = "the cost of one row in its own cluster"
    takes_sparse = True
    scales = "An iteration takes n d K."
    repetition = "adds"
    contradictions = "tolerated"
    objective_sense = "min"
    _published: ClassVar[dict[str, Any]] = {"fuzzifier": 2.0, "init": "k-means++"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "fuzzifier": [Interval(Real, 1, 100, closed="neither"), StrOptions({"auto"})],
        "side_weight": [Interval(Real, 0, None, closed="left"), None],
        "init": [
            StrOptions({"seeded", "k-means++"}),
            "array-like",
            HasMethods(["fit", "predict"]),
        ],
        "n_init": STARTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        fuzzifier: float | str = "auto",
        side_weight: float | None = None,
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.fuzzifier = fuzzifier
        self.side_weight = side_weight
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix, data frame or Dask array of shape (n_samples, n_features)
            The data. A Dask array is worked on where it is, and ``labels_`` is a Dask array too.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Labels and negative labels.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        rows = as_blocks(X)
        n_clusters = number_of_clusters(self.n_clusters, rows.n_samples, side)
        check_classes(side, n_clusters)
        with one_blas_thread():
            mean, deviation = spread(rows, None)
            said, self.side_weight_ = wishes(side, self.side_weight)
            is_sparse = isinstance(rows.block(0).X, CSRRows)
            # Far from the origin sparse rows are not sparse, and lose their digits without a shift.
            shift = mean if not is_sparse or mean @ mean > 1e4 * deviation else np.zeros_like(mean)
            # Squared distances below this are rounding, and so would be J where rows are centres.
            least = max(1e-14 * deviation, 1e-28 * float(mean @ mean), 1e-290)
            self.fuzzifier_ = (
                fuzzifier_of(rows.n_samples, len(mean))
                if self.fuzzifier == "auto"
                else float(self.fuzzifier)
            )
            problem = Problem(rows, said, shift, self.fuzzifier_, least)
            seeds = label_rows(side)
            init, least_gain = self._init_for(rows), self.tol * (deviation or 1.0)
            plan = Plan(init, n_clusters, seeds, self.max_iter, least_gain)
            seeded = isinstance(self.init, str) and self.init == "seeded"
            sure = n_clusters == 1 or (seeded and len(side.labelled_classes) == n_clusters)
            n_tries = 1 if sure else n_starts(self, rows.n_samples)
            starts = np.random.default_rng(seed).spawn(n_tries)
            run = best_of_starts(
                self, run_start, problem, plan, starts,
                cost=lambda run: run.objective, n_steps=self.max_iter,
            )  # fmt: skip
        warn_not_converged(run, self.max_iter, "raise max_iter or tol")
        naming, labels = named(rows, run.labels, n_clusters, side)
        warn_fewer_clusters(len(naming.order), n_clusters, "no row belongs to the others most")
        self.cluster_centers_ = self._from_metric(run.centers[naming.order] + shift)
        # All centres count in memberships, also those of clusters that hold no row.
        self._problem = problem._replace(rows=None, said=None)
        self._centers, self._order = run.centers, naming.order
        return self._publish(labels, naming, run, side, seed)

    def _shares(self, rows: Blocks) -> Floats:
        shares = np.empty((rows.n_samples, len(self._order)))

        def each(block: Block, _: None) -> tuple[int]:
            d = squared_distances(block.X, self._centers, self._problem)
            block.of(shares)[:] = memberships(d, self._problem.fuzzifier)[self._order].T
            return (0,)

        rows.sum(each, None)
        return shares

    def _predict(self, rows: Blocks) -> NDArray[np.int32]:
        # In the order of the fit, which decides ties.
        back = np.argsort(self._order)
        return back[self._shares(rows)[:, back].argmax(axis=1)].astype(np.int32)

    def _predict_proba(self, rows: Blocks) -> Floats:
        shares = self._shares(rows)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def fuzzifier_of(n_samples: int, n_features: int) -> float:
    """The exponent for data of this size: Schwämmle and Jensen's, and 2 at the most."""
    n, d = float(n_samples), float(n_features)
    power = -0.0406 * np.log(n) - 0.1134
    return float(min(2.0, 1.0 + (1418.0 / n + 22.05) / d**2 + (12.33 / n + 0.243) * d**power))


class Problem(NamedTuple):
    """All that is fixed during a fit; said: of each statement its cluster, sign and weight.

    ``least`` is added to squared distances: a row at a centre belongs to it all the same.
    """

    rows: Any
    said: RowEntries | None
    shift: Floats
    fuzzifier: float
    least: float


class Plan(NamedTuple):
    """The common arguments of all starts."""

    init: Any
    n_clusters: int
    seeds: tuple[Ints, Ints, Floats]
    max_iter: int
    least_gain: float


class Step(NamedTuple):
    """Minus J, the weights of each cluster and the weighted sums of its rows."""

    bound: float
    mass: Floats
    sums: Floats


class Run(NamedTuple):
    """Result of one start."""

    labels: Any
    centers: Floats
    objective: float
    history: list[float]
    n_iter: int
    converged: bool


def label_rows(side: SideInformation) -> tuple[Ints, Ints, Floats]:
    """Labelled rows by row, their classes 0, 1, … and weights, for the first centres."""
    said = side.canonical
    said = said.take(said.is_class & (said.sign > 0))
    said = said.take(np.argsort(said.i, kind="stable"))
    code = np.searchsorted(side.labelled_classes, said.class_code)
    return said.i, code, said.weight


def wishes(side: SideInformation, side_weight: float | None) -> tuple[RowEntries | None, float]:
    """Class statements by row (cluster, whether it is positive, alpha times weight), and alpha."""
    classes = side.labelled_classes
    cluster = np.full(len(side.classes), -1)
    cluster[classes] = np.arange(len(classes))
    said = side.canonical
    said = said.take(said.is_class & (cluster[said.class_code] >= 0))
    said = said.take(np.argsort(said.i, kind="stable"))
    n_annotated = max(len(np.unique(said.i)), 1)
    alpha = side.n_samples / n_annotated if side_weight is None else float(side_weight)
    if not len(said.i) or alpha == 0.0:
        return None, alpha
    return RowEntries(said.i, (cluster[said.class_code], said.sign > 0, alpha * said.weight)), alpha


def run_start(
    problem: Problem,
    plan: Plan,
    rng: np.random.Generator,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Descend from a start until J falls by no more than ``least_gain`` per row."""
    rows = problem.rows
    labels: list[Any] = [None]

    def e_step(centers: Floats) -> Step:
        labels[0] = rows.column(0, np.int32)
        cost, mass, sums = rows.sum(in_block, (centers, problem), labels[0], problem.said)
        return Step(-float(cost), mass, sums)

    last = [start_centers(problem, plan, rng) - problem.shift]

    def m_step(step: Step) -> Floats:
        some = step.mass > 0
        last[0] = last[0].copy()
        last[0][some] = step.sums[some] / step.mass[some, None]
        return last[0]

    found = ascend(
        last[0],
        e_step,
        m_step,
        least_gain=plan.least_gain * rows.n_samples,
        max_iter=plan.max_iter,
        each_iteration=each_iteration,
    )
    history = [-bound for bound in found.history]
    return Run(labels[0], found.theta, history[-1], history, found.n_iter, found.converged)


def start_centers(problem: Problem, plan: Plan, rng: np.random.Generator) -> Floats:
    """The centres where a start begins."""
    rows, none = problem.rows, np.empty((0, problem.rows.n_features))
    if isinstance(plan.init, str):
        given = class_centers(rows, *plan.seeds, None) if plan.init == "seeded" else none
    else:
        labels = given_labels(plan.init, rows.n_samples, plan.n_clusters, X=rows.data)
        sums, counts = sums_by_label(rows, rows.given(labels), plan.n_clusters)
        given = sums[counts > 0] / counts[counts > 0, None]
    return plus_plus(rows, None, given, plan.n_clusters, rng)


# One block


def shifted(X: Any, shift: Floats) -> Any:
    """Rows less the shift; sparse ones stay sparse where it is 0."""
    if not isinstance(X, CSRRows):
        return X - shift
    matrix = as_matrix(X, len(shift)).astype(np.float64)
    return matrix.toarray() - shift if shift.any() else matrix


def squared_distances(X: Any, centers: Floats, problem: Problem) -> Floats:
    """From each centre to each row, (K, n), plus ``least``."""
    Z = shifted(X, problem.shift)
    if sparse.issparse(Z):
        products = np.asarray(Z @ centers.T).T
        lengths = np.asarray(Z.power(2).sum(axis=1))
        d = np.maximum((centers**2).sum(axis=1)[:, None] - 2.0 * products + lengths, 0.0)
    else:
        # Every difference by itself: otherwise J of rows at their centres would be only rounding.
        d = cdist(centers, Z, "sqeuclidean")
    # Added: with the larger of both, weighted means would not be the best centres.
    d += problem.least
    return np.asarray(d)


def memberships(d: Floats, fuzzifier: float) -> Floats:
    """Plain fuzzy c-means: u_k in proportion to d_k^(-1 / (m - 1)), (K, n)."""
    u = (d.min(axis=0) / d) ** (1.0 / (fuzzifier - 1.0))
    u /= u.sum(axis=0)
    return u


def in_block(
    block: Block, how: tuple[Floats, Problem], labels: NDArray[np.int32], said: RowEntries | None
) -> tuple[float, Floats, Floats]:
    """J of a block, and for each centre the weights and weighted sums of its rows."""
    centers, problem = how
    m = problem.fuzzifier
    d = squared_distances(block.X, centers, problem)
    u = memberships(d, m)
    weight = u**m
    if said is not None and len(said.row):
        row, a, b = prices(said, len(centers))
        own = wished(d[:, row].T, a, b, m)
        u[:, row] = own.T
        weight[:, row] = (a * own**m + b * (1.0 - own) ** m).T
    labels[:] = u.argmax(axis=0)
    sums = np.asarray(weight @ shifted(block.X, problem.shift))
    return float((weight * d).sum()), weight.sum(axis=1), sums


def prices(said: RowEntries, n_clusters: int) -> tuple[Ints, Floats, Floats]:
    """The annotated rows of a block, with a and b of each cluster, (rows, K)."""
    row, place = np.unique(said.row, return_inverse=True)
    cluster, positive, weight = said.values
    a, b = np.ones((len(row), n_clusters)), np.zeros((len(row), n_clusters))
    np.add.at(a, (place[~positive], cluster[~positive]), weight[~positive])
    np.add.at(b, (place[positive], cluster[positive]), weight[positive])
    return row, a + (b.sum(axis=1, keepdims=True) - b), b


def wished(d: Floats, a: Floats, b: Floats, m: float) -> Floats:
    """The u of each row, (rows, K), that minimises sum_k d_k (a_k u_k^m + b_k (1 - u_k)^m)."""
    if d.shape[1] == 1:
        return np.ones_like(d)
    if m == 2.0:
        both = a + b
        slope = (1.0 - (b / both).sum(axis=1)) / (1.0 / (d * both)).sum(axis=1)
        return (b + slope[:, None] / d) / both
    u = np.empty_like(d)
    several = (b > 0).sum(axis=1) > 1
    if several.any():
        u[several] = _by_bisection(d[several], a[several], b[several], m)
    rest = ~several
    power = 1.0 / (m - 1.0)
    s, at = b[rest].argmax(axis=1), np.arange(int(rest.sum()))
    cost = a[rest] * d[rest]
    own = cost[at, s].copy()
    cost[at, s] = np.inf
    least = cost.min(axis=1, keepdims=True)
    share = (least / cost) ** power
    total = share.sum(axis=1, keepdims=True)
    others = least[:, 0] * total[:, 0] ** (1.0 - m)  # what the others cost at best
    odds = ((others + b[rest][at, s] * d[rest][at, s]) / own) ** power
    t = np.where(np.isfinite(odds), odds / (1.0 + np.where(np.isfinite(odds), odds, 0.0)), 1.0)
    found = (1.0 - t)[:, None] * share / total
    found[at, s] = t
    u[rest] = found
    return u


def _by_bisection(d: Floats, a: Floats, b: Floats, m: float) -> Floats:
    """As `wished`, for rows with labels of several classes, which have no closed form.

    Of each cluster u(slope) solves d (a u^(m-1) - b (1 - u)^(m-1)) = slope, and they add up to 1.
    """

    def at(slope: Floats) -> Floats:
        low, high = np.zeros_like(d), np.ones_like(d)
        for _ in range(60):
            u = 0.5 * (low + high)
            above = a * u ** (m - 1.0) - b * (1.0 - u) ** (m - 1.0) > slope / d
            low, high = np.where(above, low, u), np.where(above, u, high)
        return 0.5 * (low + high)

    # In logs: distances, and with them slopes, may differ by twenty decades.
    rises = at(np.zeros((len(d), 1))).sum(axis=1, keepdims=True) < 1.0
    low = np.full((len(d), 1), -690.0)
    high = np.log(np.maximum(a, b).max(axis=1) * d.max(axis=1))[:, None]
    for _ in range(60):
        middle = 0.5 * (low + high)
        slope = np.where(rises, 1.0, -1.0) * np.exp(middle)
        too_far = (at(slope).sum(axis=1, keepdims=True) > 1.0) == rises
        low, high = np.where(too_far, low, middle), np.where(too_far, middle, high)
    u = at(np.where(rises, 1.0, -1.0) * np.exp(0.5 * (low + high)))
    return np.asarray(u / u.sum(axis=1, keepdims=True))
