"""Shared by the factorisations: the multiplicative step, the loop around it, and the fit."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from sidelight._validation import HasMethods, Integral, Interval, Real, prepare
from sidelight.blocks import one_blas_thread
from sidelight.graph import query_neighbors
from sidelight.models._fitting import (
    Task,
    given_labels,
    is_small,
    warn_fewer_clusters,
    warn_not_converged,
)
from sidelight.models._graph_base import GRAPH_PARAMETERS, GraphModel, RowGraph
from sidelight.models._naming import named_labels, number_of_clusters
from sidelight.models._sample import fitted_rows
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FLOOR = 1e-10  # a multiplicative step cannot leave zero
_EVERY = 10  # steps between two checks of the objective
# Steps after which starts are compared, above 6,000 rows. Not for symmetric factors: there the
# best after 30 steps (pendigits) and after 100 (ten Gaussians) was not the best at the end.
_RACE = 50
# Rows in which symmetric factors find their start, above 6,000 rows: as many for each cluster, and
# at least so many. J and ARI were the same from 1,000 and 2,000 (PropagatedSymmetricNMF, labels,
# one draw of ten Gaussians and of pendigits).
_PER_CLUSTER, _FEWEST = 50, 1_000
_ROUGH = 1e-5  # their tolerance: it is only a start
# Above so many rows all factors come from such a sample, and all rows make a few steps from there.
# Ten overlapping Gaussians, 100,000 rows: after 20 steps ARI was within .004 of that after 80
# (LabelPropagationNMF) and .002 of that after 40 (PropagatedSymmetricNMF), one draw of each.
_MANY, _FINISH = 20_000, 20
LONG = 0.75  # the exponent of long steps, instead of 1/4

FACTOR_PARAMETERS: dict[str, list[Any]] = {
    **GRAPH_PARAMETERS,
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "init": ["array-like", HasMethods(["fit", "predict"]), None],
}


def multiplied(x: Floats, above: Floats, below: Floats, power: float = 1.0) -> Floats:
    """X ∘ (above / below)^power, at least 1e-10: the step of all factorisations here."""
    ratio = np.maximum(below, np.finfo(below.dtype).tiny)
    np.divide(above, ratio, out=ratio)
    if power == 0.25 and (x.dtype == np.float32 or not is_small(len(x))):
        np.sqrt(ratio, out=ratio)  # a third of the time; the last digit may differ
        np.sqrt(ratio, out=ratio)
    elif power == LONG:
        root = np.sqrt(ratio)
        np.sqrt(root, out=ratio)
        ratio *= root
    elif power != 1.0:
        ratio **= power
    ratio *= x
    return np.maximum(ratio, FLOOR, out=ratio)


class Run(NamedTuple):
    """Result of one start; factors: the arrays that the steps change."""

    labels: Ints
    objective: float
    history: list[float]
    n_iter: int
    converged: bool
    factors: Any = None


def descend(
    factors: Any,
    step: Callable[[Any], Any],
    objective: Callable[[Any], float],
    max_iter: int,
    tol: float,
    each_iteration: Callable[[], bool],
    *,
    at_zero: float,
    at_first: float | None = None,
    shorter: Callable[[Any], Any] | None = None,
) -> Run:
    """Steps until ten of them lower the objective by less than ``tol`` of itself.

    Or of a tenth of the first one, ``at_first`` where these steps continue earlier ones; and by
    less than ``tol`` of what the factors explain, which is the objective ``at_zero``, with factors
    of zero, less the current one. A few clusters explain little of a sparse graph: a share of the
    objective, which hardly moves, would stop far too soon.

    Where ten steps raise the objective, they are taken back, and ``shorter`` steps follow.
    """
    history, n_iter, converged, stop = [objective(factors)], 0, False, False
    at_first = history[0] if at_first is None else at_first
    checked, rose = factors, False
    while n_iter < max_iter and not (converged or stop):
        for _ in range(min(_EVERY, max_iter - n_iter)):
            factors = step(factors)
            n_iter += 1
            stop = each_iteration()
            if stop:
                break
        now = objective(factors)
        rose = shorter is not None and now > history[-1]
        if rose and shorter is not None:
            factors, step, shorter = checked, shorter, None
        checked = factors
        # The floor and rounding may raise the last digit.
        history.append(min(now, history[-1]))
        # If factors can be exact, no share of the remaining objective is small enough.
        left = max(abs(history[-1]), 0.1 * abs(at_first))
        explained = max(at_zero - history[-1], 0.0)
        converged = not rose and history[-2] - history[-1] <= tol * min(left, explained)
    return Run(np.empty(0, dtype=np.int64), history[-1], history, n_iter, converged, factors)


def start_of(labels: Ints | None, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """A positive factor to start from: random, or with most weight on given clusters."""
    factor = rng.uniform(0.01, 1.0, size=shape)
    if labels is not None:
        known = np.flatnonzero((labels >= 0) & (labels < shape[1]))
        factor[known] *= 0.1
        factor[known, labels[known]] += 1.0
    return factor


class FactorModel(GraphModel, ABC):
    """A factorisation with multiplicative steps. A subclass has the `FACTOR_PARAMETERS`."""

    n_init: int
    max_iter: int
    tol: float
    init: Any
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "min"
    _published: ClassVar[dict[str, Any]] = {}
    _is_start = False  # whether it only finds the start of a fit to more rows

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The data, or with ``affinity="precomputed"`` similarities (n_samples, n_samples).
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of the kinds that the model takes.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        n_clusters = number_of_clusters(self.n_clusters, X.shape[0], side)
        given = None
        if self.init is not None:
            given = given_labels(self.init, X.shape[0], n_clusters, X=self._from_metric(X))
        with Task.of_fit(self, 2) as fit:
            with fit.part("neighbours") as task:
                rows = self._row_graph(X, seed, len(side.labelled_classes), task.step)
            with fit.part("steps") as task, one_blas_thread():
                rngs = np.random.default_rng(seed).spawn(1 if given is not None else self.n_init)
                found = self._factorise(X, rows, side, n_clusters, given, rngs, task.step)
        self._keep_rows(rows)
        warn_not_converged(found, self.max_iter, "raise max_iter or tol")
        labels, naming = named_labels(side, found.labels)
        warn_fewer_clusters(len(naming.names), n_clusters, "the factors leave columns without rows")
        return self._publish(labels, naming, found, side, seed)

    @abstractmethod
    def _factorise(
        self,
        X: Any,
        rows: RowGraph,
        side: SideInformation,
        n_clusters: int,
        given: Ints | None,
        rngs: Sequence[np.random.Generator],
        step: Callable[[], bool],
    ) -> Run:
        """The best of all starts, with its labels."""


def has_many(n_samples: int) -> bool:
    """Whether there are so many rows that only a sample finds the factors."""
    return n_samples > _MANY and not is_small(n_samples)


def finishing_steps(max_iter: int) -> int:
    """The number of steps of many rows, from the factors of a sample."""
    return min(max_iter, _FINISH)


class Few(NamedTuple):
    """A model that is fitted to a few rows, and the nearest of them to each row."""

    model: Any
    chosen: Ints
    nearest: Ints

    def of_all(self, values: NDArray[Any]) -> NDArray[Any]:
        """Labels or factors of the few, handed on to all rows."""
        return values[self.nearest]


def fitted_to_few(
    model: FactorModel,
    rows: RowGraph,
    side: SideInformation,
    n_clusters: int,
    given: Ints | None,
    rng: np.random.Generator,
    *,
    unscaled: Any = None,
) -> Few | None:
    """The same model of a sample with its statements, where that is to find the start.

    unscaled : the rows, of a model that factorises these and not the rows of the graph.

    Above 6,000 rows, where most of the steps would be spent on finding out which rows belong
    together at all, and for every start anew. None where a start is given, with ``tol=0``, as in
    the papers, and for given similarities, of which a sample has too few.
    """
    n = rows.graph.shape[0]
    size = max(_FEWEST, _PER_CLUSTER * n_clusters)
    if is_small(n) or given is not None or model.tol == 0 or rows.X is None or 2 * size > n:
        return None
    seed = int(rng.integers(2**32))
    n_annotated = min(size // 2, len(side.annotated_rows))
    draw = np.random.default_rng(seed)
    chosen = fitted_rows(side, n, draw, n_annotated, size - n_annotated)
    assert chosen is not None
    # The rows are mapped already, and scaled.
    own: dict[str, Any] = {"n_clusters": n_clusters, "scaling": None, "metric": None}
    own["random_state"] = seed
    if unscaled is not None and model._map is None:
        own["scaling"] = model.scaling
    few = type(model)(**{**model.get_params(deep=False), **own, "tol": max(model.tol, _ROUGH)})
    few._is_start = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few.fit((rows.X if unscaled is None else unscaled)[chosen], side=side[chosen])
    near = query_neighbors(rows.X, rows.X[chosen], 1, metric=rows.metric, random_state=seed)
    return Few(few, chosen, near.indices.ravel())


def best_start(
    starts: Iterable[Any],
    step: Callable[[Any], Any],
    objective: Callable[[Any], float],
    max_iter: int,
    tol: float,
    each_iteration: Callable[[], bool],
    *,
    at_zero: float,
    n_samples: int,
) -> Run:
    """The best of all starts; above 6,000 rows a race between them.

    The best two after 50 steps go on, and after 100 the better of them. With ``tol=0``, as in the
    papers, all starts go on.
    """

    def run(factors: Any, n_steps: int, at_first: float | None = None) -> Run:
        return descend(
            factors, step, objective, n_steps, tol, each_iteration,
            at_zero=at_zero, at_first=at_first,
        )  # fmt: skip

    if is_small(n_samples) or tol == 0 or max_iter <= _RACE:
        return best([run(start, max_iter) for start in starts])

    def go_on(first: Run, n_steps: int) -> Run:
        if first.converged or n_steps < 1:
            return first
        more = run(first.factors, n_steps, first.history[0])
        history = first.history + more.history[1:]
        return more._replace(history=history, n_iter=first.n_iter + more.n_iter)

    short = sorted((run(start, _RACE) for start in starts), key=lambda found: found.objective)
    first = best([go_on(found, min(_RACE, max_iter - _RACE)) for found in short[:2]])
    return go_on(first, max_iter - first.n_iter)


def best(runs: Sequence[Run]) -> Run:
    """The run of lowest objective, the first of equals."""
    return min(runs, key=lambda run: run.objective)
