"""Shared by Gaussian mixtures in which statements hold: one ``fit``, on the EM loop over blocks.

A model defines `Ties`: the effect of statements on the memberships of their rows.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.callback import with_callbacks

from sidelight._validation import HasMethods, Integral, Interval, Real, StrOptions, prepare
from sidelight.blocks import Block, Blocks, RowEntries, as_blocks, one_blas_thread, part_of
from sidelight.exceptions import DataError
from sidelight.models._em import Expected, Start, Statistics, ascend, begin, expect, soft
from sidelight.models._emissions import of_components
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
from sidelight.models._mixtures.gaussian import COVARIANCE_TYPES, Components, Gaussians
from sidelight.models._mixtures.starts import nearest_center, sample_rows, stacked, start_centers
from sidelight.models._naming import Naming, number_of_clusters
from sidelight.models._rows import RowMixture, named
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NOBODY = np.empty(0, dtype=np.int64)
RANDOM_STATE = [
    "random_state",
    np.random.Generator,
    Interval(Integral, 0, None, closed="left"),  # seeds in results are longer than 32 bits
]


class Theta(NamedTuple):
    """The Gaussians and the logs of their weights."""

    components: Components
    log_weights: Floats


class Step(NamedTuple):
    """An E-step: what is maximised, the log-likelihood, masses for the weights, statistics."""

    bound: float
    log_likelihood: float
    mass: Floats
    statistics: Statistics


class Ties:
    """The effect of statements on memberships; here none. Plain data, without the rows.

    ``apart`` are rows whose memberships depend on other rows, ``held`` those that are held in a
    component or kept out of one; ``seeds`` gives rows, their classes 0, 1, … and weights.
    """

    apart = RowEntries(_NOBODY)
    held: RowEntries | None = None
    n_groups: int | None = None  # that statements leave, where they tie rows
    seeds: tuple[Ints, Ints, Floats] = (_NOBODY, _NOBODY, np.empty(0))

    def first_held(self, emission: Gaussians, centers: Floats) -> RowEntries | None:
        """Where rows are held while a start is made from centres."""
        return self.held

    def fresh(self) -> Any:
        """The state of a run between E-steps; here none."""
        return None

    def joined(
        self, expected: Expected, theta: Theta, emission: Gaussians, state: Any
    ) -> tuple[float, Floats, Statistics]:
        """The log-likelihood, the masses for the weights and the statistics, of all rows."""
        return float(expected.bound), expected.statistics[0], expected.statistics

    def log_weights(self, mass: Floats, theta: Theta | None) -> Floats:
        """The best weights for given masses."""
        with np.errstate(divide="ignore"):
            return np.log(mass / mass.sum())

    def settled(self, labels: Any, expected: Expected, theta: Theta) -> None:
        """Labels of the rows that are apart; labels: IN/OUT."""


class Problem(NamedTuple):
    """All that is fixed during a fit, whatever the number of clusters."""

    rows: Blocks


class Candidate(NamedTuple):
    """A number of clusters and a shape, with what belongs to them."""

    n_clusters: int
    emission: Gaussians
    ties: Ties


class Plan(NamedTuple):
    """The common arguments of all starts."""

    init: Any
    seed: int
    max_iter: int
    tol: float
    candidates: list[Candidate]


class Run(NamedTuple):
    """Result of one start."""

    candidate: int
    labels: Any
    theta: Theta
    objective: float
    log_likelihood: float
    history: list[float]
    n_iter: int
    converged: bool


class GaussianClusters(RowMixture):
    """A fitted mixture of Gaussians: its attributes and predictions."""

    def _show(self, emission: Gaussians, theta: Theta, naming: Naming) -> None:
        """Set the parameters in the order of the clusters, and the state for `predict`."""
        self.covariance_type_ = emission.covariance_type
        self.weights_ = np.exp(theta.log_weights[naming.order])
        shown = of_components(theta.components, naming.order)
        self.means_, self.covariances_ = emission.parameters(shown)
        # The order of the components decides ties, so it has to be the order in `fit`.
        self._present = np.sort(naming.order)
        self._cluster_number = np.argsort(naming.order).astype(np.int32)
        self._emission, self._theta = emission, theta

    def _predict(self, rows: Blocks) -> NDArray[np.int32]:
        labels = np.empty(rows.n_samples, dtype=np.int32)
        self._scored(rows, lambda block, scores: soft(block, scores, _NOBODY, block.of(labels)))
        return self._cluster_number[labels]

    def _predict_proba(self, rows: Blocks) -> Floats:
        shares = np.empty((rows.n_samples, self.n_clusters_))

        def use(block: Block, scores: Floats) -> None:
            soft(block, scores, _NOBODY, np.empty(scores.shape[1], dtype=np.int32))
            block.of(shares)[:, self._cluster_number] = scores.T

        self._scored(rows, use)
        return shares

    def _score_samples(self, rows: Blocks) -> Floats:
        evidence = np.empty(rows.n_samples)

        def use(block: Block, scores: Floats) -> None:
            block.of(evidence)[:] = logsumexp(scores, axis=0)

        self._scored(rows, use, everything=True)
        return evidence

    def _scored(
        self, rows: Blocks, use: Callable[[Block, Floats], Any], *, everything: bool = False
    ) -> None:
        """Call ``use`` with log weight + log density of components that hold rows (or of all)."""
        which = np.arange(len(self._theta.log_weights)) if everything else self._present
        components = of_components(self._theta.components, which)
        log_weights = self._theta.log_weights[which]

        def each(block: Block, _: None) -> tuple[int]:
            scores = self._emission.log_density(block.X, components)
            scores += log_weights[:, None]
            use(block, scores)
            return (0,)

        rows.sum(each, None)


class HeldMixture(GaussianClusters):
    """The base of Gaussian mixtures that hold their statements; it declares no ``accepts``."""

    contradictions = "raises"
    repetition = "ignored"
    objective_sense = "max"
    takes_sparse = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"bic"}), None],
        "covariance_type": [StrOptions({*COVARIANCE_TYPES, "bic"})],
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
        "variance_prior": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
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
        n_clusters: int | str | None = None,
        *,
        covariance_type: str = "full",
        max_clusters: int = 10,
        variance_prior: float | str = "auto",
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.max_clusters = max_clusters
        self.variance_prior = variance_prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.random_state = random_state

    def _ties(self, rows: Blocks, side: SideInformation, n_clusters: int) -> Ties:
        """The effect of the statements for K clusters; those that cannot be kept are refused."""
        return Ties()

    def _describe(self, ties: Any) -> None:
        """Leave the model's own attributes."""

    def _missing(self, candidate: Candidate) -> str:
        """Why there are fewer clusters than asked for, if there are."""
        return "no row is likeliest in the others"

    def _fewest(self, side: SideInformation) -> int:
        """The smallest number of clusters that ``n_clusters="bic"`` tries."""
        return max(1, len(side.labelled_classes))

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix, data frame or Dask array of shape (n_samples, n_features)
            The data; sparse with diagonal and spherical covariances. A Dask array is worked on
            where it is, and ``labels_`` is a Dask array too.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of the kinds in ``accepts``.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        rows = as_blocks(X)
        with one_blas_thread():
            plan = self._plan(rows, side, seed)
            found: dict[tuple[int, str], float] = {}

            def cost(run: Run) -> float:
                candidate = plan.candidates[run.candidate]
                key = candidate.n_clusters, candidate.emission.covariance_type
                value = bic(run, candidate, rows.n_samples)
                found[key] = min(value, found.get(key, np.inf))
                return value if len(plan.candidates) > 1 else -run.objective

            run = best_of_starts(
                self, run_start, Problem(rows), plan, self._starts(plan, rows.n_samples),
                cost=cost, n_steps=self.max_iter,
            )  # fmt: skip
        warn_not_converged(run, self.max_iter, "raise max_iter or tol")
        self.candidates_ = found
        return self._publish_run(run, plan.candidates[run.candidate], rows, side, seed)

    def _plan(self, rows: Blocks, side: SideInformation, seed: int) -> Plan:
        """The candidates, each with the floor that its first start suggests."""
        numbers = [0]
        if self.n_clusters == "bic":
            fewest = self._fewest(side)
            if self.max_clusters < fewest:
                raise DataError(
                    f"max_clusters={self.max_clusters} and the statements need {fewest} clusters; "
                    "raise max_clusters."
                )
            numbers = list(range(fewest, min(self.max_clusters, rows.n_samples) + 1))
        else:
            asked: Any = self.n_clusters
            numbers = [number_of_clusters(asked, rows.n_samples, side)]
        if not numbers:
            raise DataError(
                f"X has n_samples={rows.n_samples}, fewer than the clusters that the statements "
                "need; give more rows."
            )
        types = COVARIANCE_TYPES if self.covariance_type == "bic" else (self.covariance_type,)
        emissions = [Gaussians.of(rows, kind) for kind in types]
        plan = Plan(self._init_for(rows), seed, self.max_iter, self.tol, [])
        for n_clusters in numbers:
            ties = self._ties(rows, side, n_clusters)
            for emission in emissions:
                candidate = Candidate(n_clusters, emission, ties)
                first = first_clusters(rows, plan, candidate)
                n_own = n_given(ties) if is_seeded(self.init) else 0
                floored = emission.with_floor(*first, self.variance_prior, n_own, n_clusters)
                plan.candidates.append(candidate._replace(emission=floored))
        return plan

    def _n_tries(self, n_samples: int) -> int:
        """The number of random starts."""
        return n_starts(self, n_samples)

    def _starts(self, plan: Plan, n_samples: int) -> list[tuple[int, int]]:
        """(candidate, number of the start); where nothing is random there is one."""
        starts = []
        for place, (n_clusters, _, ties) in enumerate(plan.candidates):
            sure = n_clusters == 1 or (is_seeded(self.init) and n_given(ties) == n_clusters)
            n_tries = 1 if sure else self._n_tries(n_samples)
            starts += [(place, number) for number in range(n_tries)]
        return starts

    def _publish_run(
        self, run: Run, candidate: Candidate, rows: Blocks, side: SideInformation, seed: int
    ) -> Self:
        naming, labels = named(rows, run.labels, candidate.n_clusters, side)
        warn_fewer_clusters(len(naming.order), candidate.n_clusters, self._missing(candidate))
        self._show(candidate.emission, run.theta, naming)
        self.log_likelihood_ = run.log_likelihood
        self.bic_ = bic(run, candidate, rows.n_samples)
        self._describe(candidate.ties)
        return self._publish(labels, naming, run, side, seed)


def is_seeded(init: Any) -> bool:
    """Whether labelled classes begin clusters."""
    return isinstance(init, str) and init == "seeded"


def n_given(ties: Ties) -> int:
    """The number of clusters that labels start."""
    return int(ties.seeds[1].max(initial=-1)) + 1


def bic(run: Run, candidate: Candidate, n_samples: int) -> float:
    """-2 log-likelihood + log(n) per parameter: less is better."""
    n_parameters = candidate.emission.n_parameters(candidate.n_clusters)
    return float(-2.0 * run.log_likelihood + n_parameters * np.log(n_samples))


# One start, from its beginning to its end


def make_start(rows: Blocks, plan: Plan, candidate: Candidate, number: int) -> Start:
    """Where a start begins."""
    n_clusters, emission, ties = candidate
    if not isinstance(plan.init, str):
        given = given_labels(plan.init, rows.n_samples, n_clusters, X=rows.data)
        return from_labels(rows.given(given), n_clusters)
    rng = np.random.default_rng([plan.seed, n_clusters, number])
    seeds = ties.seeds if plan.init == "seeded" else Ties.seeds
    centers = start_centers(rows, emission, seeds, n_clusters, rng)
    return nearest_center(emission, centers, ties.first_held(emission, centers))


def first_clusters(rows: Blocks, plan: Plan, candidate: Candidate) -> tuple[Any, NDArray[Any]]:
    """Rows in the coordinates of the emission, 20,000 at most, and their clusters at the start."""
    start = make_start(rows, plan, candidate, 0)
    rng = np.random.default_rng(plan.seed)
    chosen = sample_rows(rows.n_samples, rng)
    column = start.column
    if isinstance(column, RowEntries):
        place = np.searchsorted(chosen, column.row)
        kept = np.append(chosen, -1)[place] == column.row
        column = RowEntries(place[kept], tuple(values[kept] for values in column.values))
    elif column is not None:
        column = column[chosen]
    some = as_blocks(rows.take(chosen))
    Z, labels = [], []
    for number in range(len(some)):
        block = some.block(number)
        Z.append(candidate.emission.coordinates(block.X))
        part = part_of(column, block.start, block.stop)
        labels.append(start.scores(block, part).argmax(axis=0))
    return stacked(Z), np.concatenate(labels)


def from_labels(column: Any, n_clusters: int) -> Start:
    """A partition; rows that it leaves out (-1) belong equally to all components."""

    def scores(block: Block, here: NDArray[Any]) -> Floats:
        known = np.flatnonzero(here >= 0)
        all_scores = np.zeros((n_clusters, len(here)))
        all_scores[:, known] = -np.inf
        all_scores[here[known], known] = 0.0
        return all_scores

    return Start(scores, column)


def run_start(
    problem: Problem,
    plan: Plan,
    start: tuple[int, int],
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Ascend from a start until an iteration gains less than ``tol`` per row."""
    place, number = start
    rows, candidate = problem.rows, plan.candidates[place]
    _, emission, ties = candidate
    statistics = begin(rows, emission, make_start(rows, plan, candidate, number))
    theta = Theta(emission.components(statistics), ties.log_weights(statistics[0], None))
    state = ties.fresh()
    last: list[Any] = [None, None, None]

    def e_step(theta: Theta) -> Step:
        labels = rows.column(0, np.int32)
        expected = expect(
            rows, emission, theta.components, theta.log_weights, ties.apart, labels,
            held=ties.held,
        )  # fmt: skip
        last[:] = labels, expected, theta
        value, mass, sums = ties.joined(expected, theta, emission, state)
        return Step(value + emission.log_prior(theta.components), value, mass, sums)

    found = ascend(
        theta,
        e_step,
        lambda step: Theta(
            emission.components(step.statistics), ties.log_weights(step.mass, last[2])
        ),
        least_gain=plan.tol * rows.n_samples,
        max_iter=plan.max_iter,
        each_iteration=each_iteration,
    )
    labels, expected, theta = last
    ties.settled(labels, expected, theta)
    return Run(
        place, labels, theta, found.history[-1], found.step.log_likelihood, found.history,
        found.n_iter, found.converged,
    )  # fmt: skip
