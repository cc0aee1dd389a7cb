"""Shared by models with centres: one ``fit``, in which a model defines the cost of statements.

A model defines the cost of statements (`CenterModel._penalty`) and its start
(`CenterModel._seeds`).
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import (
    HasMethods,
    Integral,
    Interval,
    StrOptions,
    check_new_x,
    check_weight,
    prepare,
)
from sidelight.blocks import Blocks, as_blocks, is_dask, one_blas_thread
from sidelight.exceptions import DataError
from sidelight.models._centers import (
    class_centers,
    plus_plus,
    random_rows,
    spread,
    sums_by_label,
)
from sidelight.models._fitting import (
    STARTS,
    best_of_starts,
    given_labels,
    is_model,
    n_starts,
    never,
    warn_fewer_clusters,
    warn_not_converged,
)
from sidelight.models._kmeans.sizes import Sizes, in_sizes
from sidelight.models._lloyd import Penalty, Problem, Run, State, Theta, assign, iterate
from sidelight.models._metric import METRIC, Learned
from sidelight.models._naming import Naming, number_of_clusters
from sidelight.models._rows import RowModel, named
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RANDOM_STATE = [
    "random_state",
    np.random.Generator,
    Interval(Integral, 0, None, closed="left"),  # seeds in results are longer than 32 bits
]


class Given(NamedTuple):
    """What a model may use before it starts; deviation: mean squared, of a row."""

    rows: Blocks
    init: Any
    weight: Any
    side: SideInformation
    n_clusters: int
    mean: Floats
    deviation: float
    seed: int


class Seeds(NamedTuple):
    """Rows that give the first centres: entry by entry a row, its centre 0, 1, … and its weight.

    Sorted by row; every centre has an entry of weight above 0.
    """

    row: Ints
    center: Ints
    weight: Floats

    @property
    def n_centers(self) -> int:
        """The number of centres that are given."""
        return int(self.center.max(initial=-1)) + 1


NO_SEEDS = Seeds(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


class Plan(NamedTuple):
    """The common arguments of all starts, besides the problem.

    seeds, later: of the first start and of the others. smallest: only costs above it start an empty
    cluster again. matched: whether the centres of the seeds have to come first, in their order,
    also where the start was not made from the seeds. metric: of the rows; given centres are not yet
    in it.
    """

    init: Any
    n_clusters: int
    seeds: Seeds
    later: Seeds
    max_iter: int
    smallest: float
    matched: bool
    loop: Callable[..., Run]
    metric: Learned | None = None


class CenterModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowModel):
    """The base of models with centres; it declares no ``accepts`` and is not a model itself."""

    takes_sparse = True
    objective_sense = "min"
    # Whether cluster k is the class of seed k, by the meaning of the model.
    _matched: ClassVar[bool] = False
    _loop: ClassVar[Callable[..., Run]] = staticmethod(iterate)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "init": [
            StrOptions({"seeded", "k-means++", "random"}),
            "array-like",
            HasMethods(["fit", "predict"]),
        ],
        "n_init": STARTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 300,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init: Any = n_init
        self.max_iter = max_iter
        self.metric = metric
        self.random_state = random_state

    def _structure(self, given: Given) -> tuple[Given, Penalty]:
        """The problem and its starts: by default the rows as they are."""
        return given, self._penalty(given)

    def _penalty(self, given: Given) -> Penalty:
        """The cost of rows besides their squared distance."""
        return Penalty()

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        """Where a "seeded" start begins, the first and the others; k-means++ adds the rest."""
        return NO_SEEDS, NO_SEEDS

    def _describe(self, run: Run, naming: Naming, problem: Problem) -> Run:
        """Set the model's own attributes; returns the run in the units of its objective."""
        return run

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        side: SideInformation | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix, data frame or Dask array of shape (n_samples, n_features)
            The data. Memory maps are read block by block; a Dask array, if the model takes one, is
            worked on where it is, and ``labels_`` is a Dask array too.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of the kinds in ``accepts``.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows with the same labels. Pairs keep their own weights.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        rows = as_blocks(X)
        weight = check_weight(sample_weight, rows.n_samples)
        weight = None if weight is None else rows.given(weight)
        n_clusters = number_of_clusters(self.n_clusters, rows.n_samples, side)
        with one_blas_thread():
            given = Given(rows, self.init, weight, side, n_clusters, *spread(rows, weight), seed)
            problem, plan = self._set_up(given)
            run = self._search(problem, plan, seed)
            naming, labels = self._settle(run, n_clusters, rows, side)
            run = self._describe(run, naming, problem)
        return self._publish(labels, naming, run, side, seed)

    def _set_up(self, given: Given) -> tuple[Problem, Plan]:
        """What all starts have in common."""
        given, penalty = self._structure(given)
        seeds, later = self._seeds(given)
        smallest = 1e-14 * (given.deviation or 1.0)
        plan = Plan(
            given.init, given.n_clusters, seeds, later, self.max_iter, smallest, self._matched,
            self._loop, self._map,
        )  # fmt: skip
        return Problem(given.rows, given.weight, penalty), plan

    def _search(self, problem: Problem, plan: Plan, seed: int) -> Run:
        """The best of all starts."""
        # Seeds for all clusters leave nothing to chance.
        seeded = isinstance(plan.init, str) and plan.init == "seeded"
        sure = seeded and plan.seeds is plan.later and plan.seeds.n_centers == plan.n_clusters
        settled = plan.seeds.n_centers == plan.n_clusters
        n_tries = 1 if sure else n_starts(self, problem.rows.n_samples, settled=settled)
        starts = list(enumerate(np.random.default_rng(seed).spawn(n_tries)))
        return best_of_starts(
            self, run_start, problem, plan, starts,
            cost=lambda run: run.objective, n_steps=self.max_iter,
        )  # fmt: skip

    def _predict(self, rows: Blocks) -> NDArray[np.int32]:
        state = State.new(rows)
        assign(Problem(rows), Theta(self._to_metric(self.cluster_centers_)), state)
        labels: NDArray[np.int32] = state.labels
        return labels

    def transform(self, X: Any) -> Any:
        """The distances of each row of X to the centres.

        Parameters
        ----------
        X : array, CSR matrix, data frame or Dask array of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters_), or a Dask array
        """
        if is_dask(X):
            dtype = np.float32 if X.dtype == np.float32 else np.float64
            return self._lazily("transform", X, dtype, by_cluster=True)
        check_is_fitted(self)
        X = check_new_x(self, X)
        distances: NDArray[Any] = euclidean_distances(X, self._to_metric(self.cluster_centers_))
        return distances.astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _settle(
        self, run: Any, n_clusters: int, rows: Blocks, side: SideInformation
    ) -> tuple[Naming, Any]:
        """Name and number the clusters, set their centres; returns the naming and new labels."""
        warn_not_converged(run, self.max_iter, "raise max_iter, or scale the data")
        naming, labels = named(rows, run.labels, n_clusters, side)
        if len(naming.order) < n_clusters:
            warn_fewer_clusters(len(naming.order), n_clusters, self._why_fewer(side, n_clusters))
        self._leave_centers(run.theta, naming)
        return naming, labels

    def _why_fewer(self, side: SideInformation, n_clusters: int) -> str:
        """Why clusters are empty: statements that hold leave too few groups, or rows are alike."""
        n_groups = side.closure().n_groups
        if self.contradictions == "raises" and n_groups < n_clusters:
            return f"must-links and labels tie the rows to {n_groups} groups; ask for no more"
        return "too many rows are alike"

    def _leave_centers(self, theta: Theta, naming: Naming) -> None:
        """The centres, in the order of the clusters and the columns of the user."""
        self.cluster_centers_ = self._from_metric(theta.centers[naming.order])


class SizedModel(CenterModel):
    """The base of models with centres whose clusters may have limited sizes."""

    _loop = staticmethod(in_sizes)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterModel._parameter_constraints,
        "min_size": ["array-like", Interval(Integral, 0, None, closed="left"), None],
        "max_size": ["array-like", Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        min_size: Any = None,
        max_size: Any = None,
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 300,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            metric=metric,
            random_state=random_state,
        )
        self.min_size = min_size
        self.max_size = max_size

    def _structure(self, given: Given) -> tuple[Given, Penalty]:
        given, penalty = super()._structure(given)
        penalty.sizes = Sizes.of(
            self.min_size, self.max_size, given.n_clusters, given.rows.n_samples
        )
        if penalty.sizes is not None and given.rows.data is None:
            raise DataError(
                "min_size and max_size need all rows at once, and X is a Dask array; give an array "
                "or a memory map, or do without sizes."
            )
        return given, penalty


# Where a start may begin. The loop is in _lloyd.py.


def run_start(
    problem: Problem,
    plan: Plan,
    start: tuple[int, np.random.Generator],
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """One start from its beginning to its end."""
    theta = problem.penalty.first(problem, start_centers(problem, plan, *start))
    return plan.loop(problem, theta, plan.max_iter, plan.smallest, each_iteration)


def start_centers(problem: Problem, plan: Plan, number: int, rng: np.random.Generator) -> Floats:
    """The centres where a start begins, by its number."""
    rows, weight, init = problem.rows, problem.weight, plan.init
    seeds = plan.later if number else plan.seeds
    centers = np.empty((0, rows.n_features))
    matched = not (plan.matched and seeds.n_centers)
    if not isinstance(init, str):
        centers = given_centers(init, rows, weight, plan.n_clusters, plan.metric)
    elif init in ("seeded", "perturbed") and seeds.n_centers:
        matched = True
        centers = class_centers(rows, *seeds, None)
    elif init == "random":
        centers = random_rows(rows, weight, plan.n_clusters, rng)
    if isinstance(init, str) and init == "perturbed":
        centers = np.vstack(
            [centers, _perturbed(rows, weight, plan.n_clusters - len(centers), rng)]
        )
    centers = plus_plus(rows, weight, centers, plan.n_clusters, rng)
    if not matched:
        centers = centers[_nearest_first(centers, class_centers(rows, *seeds, None))]
    return centers


def _perturbed(rows: Blocks, weight: Any, n: int, rng: np.random.Generator) -> Floats:
    """The mean of all rows, moved at random by a tenth of a standard deviation; our reading."""
    mean, deviation = spread(rows, weight)
    return mean + 0.1 * np.sqrt(deviation / len(mean)) * rng.normal(size=(n, len(mean)))


def _nearest_first(centers: Floats, wanted: Floats) -> Ints:
    """An order of the centres in which centre k is the one that was matched to wanted[k]."""
    _, first = linear_sum_assignment(cdist(wanted, centers, "sqeuclidean"))
    return np.append(first, np.setdiff1d(np.arange(len(centers)), first))


def given_centers(
    init: Any, rows: Blocks, weight: Any, n_clusters: int, metric: Learned | None = None
) -> Floats:
    """Centres from an array of them, from cluster numbers of the rows, or from a fitted model.

    metric : of the rows; the first and the last are in the columns of X.
    """
    n_samples = rows.n_samples
    if is_model(init):
        check_is_fitted(init, "cluster_centers_")
        centers = np.asarray(init.cluster_centers_, dtype=np.float64)
    else:
        given = np.asarray(init)
        if given.shape == (n_samples,) and given.dtype.kind in "iu":
            labels = rows.given(given_labels(given, n_samples, n_clusters))
            sums, counts = sums_by_label(rows, labels, n_clusters, weight)
            return sums[counts > 0] / counts[counts > 0, None]
        centers = np.array(given, dtype=np.float64)
    centers = check_centers(centers, rows, n_clusters)
    return centers if metric is None else metric(centers)


def check_centers(centers: Floats, rows: Blocks, n_clusters: int) -> Floats:
    """Refuse centres of another shape, more than clusters, or not finite."""
    if centers.ndim != 2 or centers.shape[1] != rows.n_features:
        raise DataError(
            f"init has shape {centers.shape}; give centres of shape ({n_clusters}, "
            f"{rows.n_features}), or whole numbers of shape ({rows.n_samples},) as clusters of the "
            "rows."
        )
    if len(centers) > n_clusters or not np.isfinite(centers).all():
        raise DataError(
            f"init has {len(centers)} centres for n_clusters={n_clusters}; "
            "give at most as many as clusters, all finite."
        )
    return centers
