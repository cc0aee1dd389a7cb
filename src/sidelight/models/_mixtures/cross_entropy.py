"""Cross-entropy clustering with partial labels (CEC-IB).   M. Śmieja and B. Geiger,
"Semi-supervised cross-entropy clustering with information bottleneck constraint", Information
Sciences 421, 2017.

Minimises  E = sum_k p_k [ -log p_k + D/2 log 2 pi e + 1/2 log |Sigma_k| + beta H(class | k) ]

Paper    Here
p_k      share of the rows in cluster k
H        entropy of the labels among the labelled rows of k, 0 if there are none; natural logs
eps      min_share: a cluster below 5 % of the rows, or below D + 1 rows, is dissolved

Rows move one by one to the cluster for which E is lowest, at the exact difference of E (Hartigan).
Departures from the paper:
- Differences are computed by rank-one changes of A^-1 and log |A|, not from new determinants.
- From 2,000 rows on, there are sweeps over only the rows near a border between those over all rows.
  It ends when no row of all moves.
- The authors' program may dissolve the last cluster, and an empty model has E = 0, below every
  positive E. Here the last one stays, and E is that of all rows.
- A floor under covariances (`Gaussians`): with nu rows of it a cluster adds
  (n_k + nu) / 2n log |Sigma_k| - nu / 2n log |Psi| in the place of p_k / 2 log |Sigma_k|.
- Where no row moves, two clusters are joined if that lowers E: moves of single rows seldom empty a
  cluster, and the program is left with too many.
- A given number of clusters: none dissolves.
- Above 50,000 rows starts are tried on 20,000, and the best goes on with all rows.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks

from sidelight._validation import HasMethods, Integral, Interval, Real, StrOptions, prepare
from sidelight.blocks import BLOCK_ROWS, as_blocks, one_blas_thread
from sidelight.exceptions import DataError
from sidelight.models._centers import plus_plus
from sidelight.models._fitting import (
    STARTS,
    best_of_starts,
    given_labels,
    n_starts,
    never,
    warn_fewer_clusters,
    warn_not_converged,
)
from sidelight.models._metric import METRIC
from sidelight.models._mixtures.energy import Descent, Said, Task, descend
from sidelight.models._mixtures.family import RANDOM_STATE, GaussianClusters
from sidelight.models._mixtures.floor import floor_of
from sidelight.models._mixtures.gaussian import Gaussians
from sidelight.models._mixtures.starts import SAMPLE, squared_distances
from sidelight.models._naming import number_of_clusters
from sidelight.models._rows import named
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Above this the starts are tried on a sample. Six fits to two sets of ten Gaussians of 100,000 rows
# had a mean ARI of .60 instead of .57; twelve to sets of 30,000 rows lost .03 in the mean.
_MANY_ROWS = 50_000


class CrossEntropyClustering(GaussianClusters):
    """Gaussian clusters, of which superfluous ones are removed; mixing labels has a cost.

    It starts with many clusters and moves rows one by one to shorten the description of the data.
    Clusters that become too small are dissolved, so the number of clusters is found. A cluster that
    mixes classes has a cost; labels need not hold.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; found by default.
    beta : float, default=1.0
        The cost of mixing classes: nats per row, for each nat of class entropy in its cluster.
    max_clusters : int, optional
        If ``n_clusters`` is not given, the number of clusters at the start; by default twice the
        number of labelled classes, or 10 without labels.
    min_share : float, default=0.05
        If ``n_clusters`` is not given, clusters with a smaller share of the rows are dissolved, and
        clusters with no more rows than columns.
    merge : bool, default=True
        If ``n_clusters`` is not given, also merge two clusters if that lowers E; moves of single
        rows seldom empty a cluster.
    variance_prior : float or "auto", default="auto"
        The weight, in rows, of a floor under covariances; see `PartialLabelGaussianMixture`. 0 is
        the paper's E.
    init : {"k-means++"}, array, or fitted model, default="k-means++"
        Where to start: the nearest of the centres drawn by k-means++; an array of cluster numbers
        of the rows (−1 is unknown); or the clusters of a fitted model.
    n_init : int or "auto", default="auto"
        The number of starts; the one with the lowest E is kept. "auto": 10; fewer above 10,000
        rows, down to 3.
    max_iter : int, default=200
        The maximum number of sweeps over all rows of one start.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults. Attributes of
        the clusters are in the metric; ``metric_.inverse_transform`` gives the columns of X.
    random_state : int, Generator or RandomState, optional
        Source of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found.
    weights_ : ndarray of shape (n_clusters_,)
        Shares of the rows.
    means_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters.
    covariances_ : ndarray of shape (n_clusters_, n_features, n_features)
        Covariances of the clusters, with the floor.
    objective_ : float
        E, in nats per row.
    history_ : ndarray
        E after each sweep since the last cluster dissolved; it never rises.
    n_iter_ : int
        Sweeps of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    PartialLabelGaussianMixture : A mixture in which labels hold.
    BayesianMixture : Finds the number of clusters; counts and categories too.

    Notes
    -----
    E = sum_k p_k [−log p_k + D/2 log 2πe + ½ log |Sigma_k| + beta H(class | k)], with H
    over the labels in cluster k, by weight, summed over vocabularies. ``predict`` takes the cluster
    of the highest log p_k + log N(x; k); at the end of a fit without labels that is ``labels_``. E
    does not penalise parameters: clusters of a few dozen rows overfit, and with few rows too many
    clusters are found.

    References
    ----------
    M. Śmieja and B. Geiger. Semi-supervised cross-entropy clustering with information bottleneck
    constraint. Information Sciences 421, 2017, 254-271.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import CrossEntropyClustering
    >>> corner = np.repeat([0.0, 9.0, 20.0], 500)[:, None]
    >>> X = np.random.default_rng(0).normal(size=(1500, 2)) + corner
    >>> CrossEntropyClustering(random_state=0).fit(X).n_clusters_
    3
    """

    accepts = ("label",)
    refuses: ClassVar[dict[str, str]] = {
        kind: "It weighs how classes are mixed in clusters. "
        for kind in ("must", "cannot", "not_label")
    }
    finds_k = True
    on_dask = False
    weight_unit = "nats per row of a cluster that mixes classes"
    scales = "A sweep takes n K d², on one core; above 50,000 rows starts are tried on 20,000."
    repetition = "adds"
    contradictions = "tolerated"
    objective_sense = "min"
    _published: ClassVar[dict[str, Any]] = {
        "beta": 1.0,
        "merge": False,
        "variance_prior": 0.0,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "min_share": [Interval(Real, 0, 1, closed="left")],
        "merge": ["boolean"],
        "variance_prior": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "init": [StrOptions({"k-means++"}), "array-like", HasMethods(["fit", "predict"])],
        "n_init": STARTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        beta: float = 1.0,
        max_clusters: int | None = None,
        min_share: float = 0.05,
        merge: bool = True,
        variance_prior: float | str = "auto",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 200,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.max_clusters = max_clusters
        self.min_share = min_share
        self.merge = merge
        self.variance_prior = variance_prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.metric = metric
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The data, dense.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Labels.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        if sparse.issparse(X):
            raise DataError("X is sparse, and full covariances need dense rows; give X.toarray().")
        rows = as_blocks(X)
        n_clusters = self._n_to_begin(rows.n_samples, side)
        with one_blas_thread():
            emission = Gaussians.of(rows, "full")
            Z = emission.coordinates(X)
            rng = np.random.default_rng(seed)
            chosen = self._sampled(len(Z), side, rng)
            plan = Plan(self._init_for(rows), n_clusters, self.max_iter, X)
            first = start_labels(Z[chosen], plan, np.random.default_rng([seed, 0]))
            floor = floor_of("full", Z[chosen], first, self.variance_prior)
            task = self._task(Z, side, floor)
            some = task if len(chosen) == len(Z) else self._task(Z[chosen], side[chosen], floor)
            found = best_of_starts(
                self, run_start, None, (some, plan, seed), range(n_starts(self, len(chosen))),
                cost=lambda found: found.history[-1], n_steps=self.max_iter,
            )  # fmt: skip
            if some is not task:
                found = carry_on(found, task, emission, X, self.max_iter)
        return self._publish_found(found, replace(emission, floor=floor), rows, side, seed)

    def _n_to_begin(self, n_samples: int, side: SideInformation) -> int:
        if self.n_clusters is not None:
            return number_of_clusters(self.n_clusters, n_samples, side)
        wanted = self.max_clusters or 2 * len(side.labelled_classes) or 10
        return min(wanted, n_samples)

    def _sampled(self, n: int, side: SideInformation, rng: np.random.Generator) -> Ints:
        """All rows, or labelled ones, up to a half of the sample, and others at random."""
        if n <= _MANY_ROWS or not isinstance(self.init, str):
            return np.arange(n)
        labelled = side.annotated_rows
        if len(labelled) > SAMPLE // 2:
            labelled = rng.choice(labelled, SAMPLE // 2, replace=False)
        return np.union1d(labelled, rng.choice(n, SAMPLE - len(labelled), replace=False))

    def _task(self, Z: Floats, side: SideInformation, floor: Any) -> Task:
        n, d = Z.shape
        # A scatter of fewer rows is singular without a floor.
        least = 1.0 if floor.strength > 0 else d + 1.0
        smallest = 0.0 if self.n_clusters is not None else max(self.min_share * n, d + 1.0)
        merges = self.merge and self.n_clusters is None
        return Task(Z, Said.of(side), floor, float(self.beta), smallest, least, merges)

    def _publish_found(
        self, found: Descent, emission: Gaussians, rows: Any, side: SideInformation, seed: int
    ) -> Self:
        run = Run(found, float(np.log(emission.scale).sum()))
        warn_not_converged(found, self.max_iter, "raise max_iter")
        labels = found.clusters.labels.astype(np.int32)
        n_clusters = len(found.clusters.alive)
        naming, labels = named(rows, labels, n_clusters, side)
        if self.n_clusters is not None:
            warn_fewer_clusters(len(naming.order), self.n_clusters)
        self._show(emission, found.clusters.theta(emission), naming)
        return self._publish(labels, naming, run, side, seed)


class Run:
    """Set the attributes from the best start, in the units of X."""

    def __init__(self, found: Descent, log_scale: float) -> None:
        self.history = [energy + log_scale for energy in found.history]
        self.objective, self.n_iter = self.history[-1], found.n_iter


class Plan(NamedTuple):
    """Where starts begin."""

    init: Any
    n_clusters: int
    max_iter: int
    X: Any  # for a model as a start, which predicts where it was fitted to other rows


def start_labels(Z: Floats, plan: Plan, rng: np.random.Generator) -> Ints:
    """The clusters in which rows begin."""
    if not isinstance(plan.init, str):
        given = given_labels(plan.init, len(Z), plan.n_clusters, X=plan.X)
        if (given >= 0).all():
            return given
        known = np.flatnonzero(given >= 0)
        if not len(known):
            return np.zeros(len(Z), dtype=np.int64)
        own = [Z[known[given[known] == k]].mean(axis=0) for k in np.unique(given[known])]
        nearest = squared_distances(Z, np.array(own)).argmin(axis=0)
        return np.where(given >= 0, given, np.unique(given[known])[nearest])
    centers = plus_plus(as_blocks(Z), None, np.empty((0, Z.shape[1])), plan.n_clusters, rng)
    return squared_distances(Z, centers).argmin(axis=0)


def run_start(
    problem: None,
    common: tuple[Task, Plan, int],
    number: int,
    each_iteration: Callable[[], bool] = never,
) -> Descent:
    """One start from its beginning to its end."""
    task, plan, seed = common
    labels = start_labels(task.Z, plan, np.random.default_rng([seed, number]))
    return descend(task, labels, plan.n_clusters, plan.max_iter, each_iteration)


def carry_on(found: Descent, task: Task, emission: Gaussians, X: Any, max_iter: int) -> Descent:
    """The best start of a sample, with all rows: each begins in its likeliest cluster."""
    theta = found.clusters.theta(emission)
    labels = np.empty(len(task.Z), dtype=np.int64)
    for first in range(0, len(labels), BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        scores = emission.log_density(X[part], theta.components) + theta.log_weights[:, None]
        labels[part] = scores.argmax(axis=0)
    return descend(task, labels, len(found.clusters.alive), max_iter)
