"""The search for the best partition of AnnotatedGaussianMixture: local search, and a population.

A local search starts from a partition and only takes steps that raise the objective: annotated rows
one by one, then whole chunklets and Kempe chains (`Problem.compound`); rows without annotations all
at once, each to its likeliest cluster (with compound moves and in small data they too are moved one
by one). The population of _population.py breeds starts from good partitions.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import annotated as kernels
from sidelight._kernels import annotated_moves as moves
from sidelight._kernels.hard_gaussian import assign_likeliest
from sidelight._work import count_work
from sidelight.blocks import Block, Blocks, RowEntries
from sidelight.models import _lloyd as lloyd
from sidelight.models._centers import Centers, as_dense, class_centers, plus_plus
from sidelight.models._fitting import Deadline, never
from sidelight.models._gaussian.statements import BETA, LONGEST_CHAIN, Annotations
from sidelight.models._population import Plan, crossover, evolve, mutated

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]

# k-means before a local search need not be exact: it ends when an iteration lowers the sum of
# squares by less than this share, or after this number of iterations.
_KMEANS_FALL = 1e-3
_KMEANS_ITERATIONS = 100
# A round of the local search that gains less, in nats per row, is the last one. A data set of one
# block can afford to go on until no move gains anything.
_LEAST_GAIN = 1e-4
_POLISH_PASSES = 300
# Rows whose best move would lose more than this, in nats, are not visited in every sweep.
_PATIENCE = 1.0
# Up to this number of rows, all rows are moved one by one: that saves many small steps outside of
# kernels, and ends higher. At 10,000 rows it finds no better partitions, in more time.
EVERY_ROW_UP_TO = 4_096


class Problem(NamedTuple):
    """All that is fixed during a fit."""

    rows: Blocks
    n_clusters: int
    n_variances: int
    annotations: Annotations
    fixed: RowEntries
    nothing_fixed: RowEntries
    free: Ints  # the clusters that do not carry a class of the leading vocabulary
    annotated: Any  # kernels.Rows, with the data
    model: Any  # kernels.Model
    compound: bool  # whether several rows may move together

    @classmethod
    def of(
        cls,
        rows: Blocks,
        n_clusters: int,
        covariance_type: str,
        annotations: Annotations,
        *,
        compound: bool = True,
    ) -> "Problem":
        """Gather the annotated rows; the model comes with the first start."""
        fixed = RowEntries(annotations.annotated)
        X = np.ascontiguousarray(as_dense(rows.take(annotations.annotated)))
        n_variances = 1 if covariance_type == "spherical" else rows.n_features
        nothing = RowEntries(np.empty(0, dtype=np.int64))
        free = np.setdiff1d(np.arange(n_clusters), annotations.lead)
        annotated = annotations.rows._replace(X=X)
        return cls(
            rows, n_clusters, n_variances, annotations, fixed, nothing, free, annotated, None,
            compound,
        )  # fmt: skip

    def silent(self) -> "Problem":
        """The same without statements; all rows are moved at once."""
        nobody = self.annotations._replace(annotated=self.annotations.annotated[:0])
        none = self.annotated._replace(X=self.annotated.X[:0], span=self.annotated.span[:1])
        return self._replace(annotations=nobody, fixed=self.nothing_fixed, annotated=none)

    def with_model(self, variance_prior: float, sse: Floats) -> "Problem":
        """The model whose variance prior is the pooled variance within the first start; sse: its.

        Where rows coincide it is a thousandth of the variance of all rows at least, so that a
        prior of zero does not make every other statement worthless.
        """
        overall = _overall_variance(self.rows, self.n_variances)
        level = float(overall.mean()) or 1.0
        width = self.rows.n_features // self.n_variances
        pooled = sse / (self.rows.n_samples * width)
        said = self.annotations
        model = kernels.Model(
            float(width),
            float(variance_prior) * width,
            np.maximum(pooled, 1e-3 * overall),
            (1e-9 if variance_prior > 0 else 1e-6) * level,
            1.0 if variance_prior > 0 else 2.0,
            said.given,
            said.log_p,
            np.array(BETA),
            said.chance,
            said.term_span,
            said.term_of,
        )
        return self._replace(model=model)


class Solution(NamedTuple):
    """A partition, with the quantities that follow from it."""

    labels: Any
    means: Floats
    variances: Floats
    counts: Floats
    objective: float
    cluster_of: Ints

    @property
    def genes(self) -> Floats:
        """The part that a child inherits."""
        return self.means


class Found(NamedTuple):
    """Result of a search: the best solution, the population's scores, and the history."""

    best: Solution
    scores: Floats
    objective: float
    history: list[float]
    n_iter: int


# The rows, all at once


class _Totals(NamedTuple):
    """Sums over the rows of a pass: (K), (K, d) and (K, 1 or d) around the means that it used."""

    n_changed: int
    counts: Floats
    sums: Floats
    squares: Floats


def _look(
    problem: Problem,
    fixed: RowEntries,
    labels: Any,
    gaussians: tuple[Floats, Floats, Floats],
    held: NDArray[np.bool_],
    new: Any = None,
    lowest: Any = None,
) -> _Totals:
    """One pass over the rows: each that is not fixed or held to its likeliest cluster.

    labels, new and lowest are columns; without the last two, new labels and costs are not kept.
    """
    labels = problem.rows.frozen(labels)
    how = (gaussians, held, problem.n_variances)
    return problem.rows.sum(_look_at_block, how, fixed, labels, new, lowest)


def _look_at_block(
    block: Block,
    how: tuple[tuple[Floats, Floats, Floats], NDArray[np.bool_], int],
    fixed: RowEntries,
    labels: Labels,
    new: Labels | None,
    lowest: Floats | None,
) -> _Totals:
    gaussians, held, n_variances = how
    n_rows, n_features = np.shape(block.X)
    is_fixed = np.zeros(n_rows, dtype=bool)
    is_fixed[fixed.row] = True
    counts, sums = np.zeros(len(held)), np.zeros((len(held), n_features))
    squares = np.zeros((len(held), n_variances))
    n_changed = assign_likeliest(
        block.X, is_fixed, labels, *gaussians, held,
        np.empty(n_rows, dtype=np.int32) if new is None else new,
        counts, sums, squares, np.empty(n_rows) if lowest is None else lowest,
    )  # fmt: skip
    return _Totals(n_changed, counts, sums, squares)


def _distances(centers: Floats) -> tuple[Floats, Floats, Floats]:
    """Centres as Gaussians of one variance: the likeliest is the nearest."""
    n_clusters = len(centers)
    return Centers.of(centers).padded, np.ones((n_clusters, 1)), np.zeros(n_clusters)


def gaussians_of(means: Floats, variances: Floats) -> tuple[Floats, Floats, Floats]:
    """Clusters as Gaussians; variances (K, 1 or d)."""
    width = means.shape[1] // variances.shape[1]
    constant = 0.5 * width * np.log(variances).sum(axis=1)
    return Centers.of(means).padded, np.ascontiguousarray(0.5 / variances), constant


def _totals_of(problem: Problem, labels: Any, centers: Floats) -> _Totals:
    """The sums of all rows around some centres, as they are labelled."""
    held = np.ones(problem.n_clusters, dtype=bool)
    return _look(problem, problem.nothing_fixed, labels, _distances(centers), held)


def kmeans(problem: Problem, centers: Floats, max_iter: int = _KMEANS_ITERATIONS) -> Any:
    """Labels by plain k-means from some centres, and the centres that gave them."""
    labels, theta = lloyd.rough_partition(
        lloyd.Problem(problem.rows), lloyd.Theta(centers), max_iter, _KMEANS_FALL
    )
    return labels, theta.centers


def sums_of_squares(problem: Problem, labels: Any, centers: Floats) -> Floats:
    """The sums of squares of a partition around its means, (1 or d); centers: not far from them."""
    totals = _totals_of(problem, labels, centers)
    steps = totals.sums / np.maximum(totals.counts, 1.0)[:, None]
    within = totals.counts @ steps**2
    if problem.n_variances == 1:
        within = within.sum(keepdims=True)
    return np.maximum(totals.squares.sum(axis=0) - within, 0.0)


def _overall_variance(rows: Blocks, n_variances: int) -> Floats:
    """The variance of all rows, in all features together or in each; rounding counts as 0.

    So do squares that are about to underflow: a part of them would be no number to divide by.
    """

    def total(block: Block, center: Floats) -> tuple[Floats, Floats]:
        away = np.asarray(block.X, dtype=np.float64) - center
        return away.sum(axis=0), (away**2).sum(axis=0)

    mean = rows.sum(total, np.zeros(rows.n_features))[0] / rows.n_samples
    variance = rows.sum(total, mean)[1] / rows.n_samples
    variance = np.where(variance > np.maximum(1e-28 * mean**2, 1e-280), variance, 0.0)
    return variance if n_variances > 1 else variance.mean(keepdims=True)


# Local search


class Search:
    """One local search: a partition, its state, and the steps that improve it."""

    def __init__(self, problem: Problem, labels: Any, order: Ints) -> None:
        self.problem, self.labels, self.order = problem, labels, order
        self.model, self.rows = problem.model, problem.annotated
        self.alone = len(order) == problem.rows.n_samples  # no rows beside the annotated ones
        said = problem.annotations
        n_clusters, n_features = problem.n_clusters, problem.rows.n_features
        start = labels[said.annotated].astype(np.int64)
        self.cluster_of = said.first_match(start, n_clusters)
        self.state = kernels.State(
            start,
            np.zeros(n_clusters),
            np.zeros((n_clusters, n_features)),
            np.zeros((n_clusters, problem.n_variances)),
            np.zeros(n_clusters),
            np.zeros_like(said.said.constant),
            np.zeros(1),
        )
        self.layers = kernels.with_edges(said.layers, n_clusters)
        self.scratch = kernels.new_scratch(
            len(start), len(self.state.tally), self.state.means, self.state.sse
        )
        self.margin = np.zeros(len(start))
        self.value = self._begin()

    def _begin(self) -> float:
        """The state of the first partition, and its objective."""
        state = self.state
        if self.alone:
            said = self.problem.annotations.said
            return kernels.begin(
                self.rows, said, self.cluster_of, self.model, state, self.layers, self.scratch
            )
        # Around the rows' own rough means, in two steps: sums around 0 would lose digits.
        for _ in range(2):
            totals = _totals_of(self.problem, self.labels, state.means)
            state.counts[:] = totals.counts
            kernels.take_clusters(
                self.model, state.means, totals.sums, totals.squares, state, self.layers
            )
        return self._count(self.cluster_of)

    def _count(self, cluster_of: Ints) -> float:
        """The objective, with statements counted from the labels."""
        said = self.problem.annotations.said
        return kernels.take_statements(said, cluster_of, self.model, self.state, self.layers)

    @property
    def tolerance(self) -> float:
        """Gains below this are rounding, and would make rows move for ever."""
        return 1e-10 + 1e-13 * abs(self.value)

    def run(self, deadline: float, known: Floats) -> Solution:
        """Improve until nothing does, or until the time is over."""
        self._match_again()
        if self.alone and self.problem.compound:
            self._climb(known)
            while self._match_again() and time.monotonic() < deadline:
                self._climb(known)
            return self.solution()
        least = _LEAST_GAIN * self.problem.rows.n_samples if len(self.problem.rows) > 1 else 0.0
        full = True
        while time.monotonic() < deadline:
            before = self.value
            self._relocate(full=full)
            # Sweeps over annotated rows cost more than passes over the others, which go on while
            # they bring a good part of the gain of this round.
            start = self.value
            while self.settle() and self.value - start > max(least, 0.1 * (start - before)):
                start = self.value
            improved = self.value - before > max(least, self.tolerance)
            if improved or not full:
                full = not improved
                continue
            before = self.value
            self._move_together()
            if self.value - before <= max(least, self.tolerance) and not self._match_again():
                break
        return self.solution()

    def _climb(self, known: Floats) -> None:
        """Every row, one by one and together, until no move gains."""
        said = self.problem.annotations
        self.value, n_tests = moves.climb(
            self.rows, self.order, said.chunk_span, said.chunk_rows, known, self.cluster_of,
            self.model, self.value, self.tolerance, _PATIENCE, LONGEST_CHAIN,
            self.margin, self.state, self.layers, self.scratch,
        )  # fmt: skip
        count_work("relocation tests", n_tests)

    def _relocate(self, *, full: bool = True) -> None:
        """One sweep over the annotated rows."""
        if not len(self.order):
            return
        self.value, _, n_tests = moves.relocate(
            self.rows, self.order, self.cluster_of, self.model, self.tolerance,
            np.inf if full else _PATIENCE, self.margin, self.state, self.layers, self.scratch,
        )  # fmt: skip
        count_work("relocation tests", n_tests)

    def settle(self, *, hold: bool = True) -> bool:
        """The other rows, all at once: taken only if the objective rises, so it never falls.

        With ``hold`` a cluster that would lose its last rows keeps all that it has.
        """
        problem, state = self.problem, self.state
        if self.alone:
            return False
        n_clusters = problem.n_clusters
        gaussians = (
            Centers.of(state.means).padded,
            np.empty((n_clusters, problem.n_variances)),
            np.empty(n_clusters),
        )
        kernels.likelihood_parameters(self.model, state, self.layers, *gaussians)
        held = np.zeros(n_clusters, dtype=bool)
        while True:
            new = problem.rows.column(-1, np.int32)
            totals = _look(problem, problem.fixed, self.labels, gaussians, held, new)
            if not totals.n_changed:
                return False
            kernels.take_rows(self.rows.X, state.labels, state.means, *totals[1:])
            lost = totals.counts < np.minimum(state.counts, self.model.min_size)
            if not (hold and lost.any()):
                break
            held |= lost
        after = state._replace(
            counts=totals.counts,
            means=np.empty_like(state.means),
            sse=np.empty_like(state.sse),
            terms=np.empty_like(state.terms),
        )
        value = kernels.take_clusters(
            self.model, state.means, totals.sums, totals.squares, after, self.layers
        )
        if value <= self.value:
            return False
        self.labels, self.state, self.value = new, after, value
        return True

    def _move_together(self) -> None:
        """Chains and chunklets of annotated rows."""
        if not (self.problem.compound and len(self.order)):
            return
        said = self.problem.annotations
        self.value, _ = moves.relocate_together(
            self.rows, self.order, said.chunk_span, said.chunk_rows, self.cluster_of, self.model,
            self.tolerance, LONGEST_CHAIN, self.margin, self.state, self.layers, self.scratch,
        )  # fmt: skip

    def _match_again(self) -> bool:
        """Match classes to clusters again, trusting different annotators; whether the objective
        rose.

        If only the currently trusted annotators were used, one who is always wrong could stay
        trusted for ever.
        """
        said = self.problem.annotations
        if not len(said.lead):
            return False
        best, before = self.cluster_of, self.value
        for accuracy in said.beliefs(self.state.tally):
            matched = said.matched(self.state.labels, self.problem.n_clusters, accuracy)
            if np.array_equal(matched, best):
                continue
            value = self._count(matched)
            if value > self.value + self.tolerance:
                best, self.value = matched, value
        self._count(best)
        self.cluster_of = best
        return self.value > before

    def solution(self) -> Solution:
        """What was found."""
        state, model = self.state, self.model
        self.labels[self.problem.annotations.annotated] = state.labels
        weight = state.counts[:, None] * model.width + model.prior
        total = state.sse + model.prior * model.variance
        variances = np.maximum(total / np.where(weight > 0, weight, 1.0), model.floor)
        order, number = self.problem.annotations.numbering(self.cluster_of, len(weight))
        return Solution(
            self.problem.rows.relabelled(self.labels, number),
            state.means[order],
            variances[order],
            state.counts[order],
            self.value,
            number[self.cluster_of].astype(np.int64),
        )


def improve(
    problem: Problem, labels: Any, order: Ints, known: Floats, deadline: float = np.inf
) -> Solution:
    """A local search from a partition; ``order`` is that of the annotated rows in a sweep.

    It may end as soon as it reaches a partition that is ``known`` by its signature.
    """
    return Search(problem, labels.copy(), order).run(deadline, known)


def polish(problem: Problem, found: Found) -> Found:
    """Without statements: rows to their likeliest clusters until none moves, so predict agrees.

    Here a cluster may lose its last rows, since `predict` would not give it any. Mostly all rows
    are where they are likeliest already; a check shows that without compiling anything.
    """
    problem = problem.silent()
    if found.best.counts.all():
        at = gaussians_of(found.best.means, found.best.variances)
        nobody_held = np.zeros(problem.n_clusters, dtype=bool)
        if not _look(problem, problem.fixed, found.best.labels, at, nobody_held).n_changed:
            return found
    last = Search(problem, found.best.labels.copy(), np.empty(0, dtype=np.int64))
    for _ in range(_POLISH_PASSES):
        if not last.settle(hold=False):
            break
    best = last.solution()
    objective = max(best.objective, found.objective)
    scores = np.append(objective, found.scores[1:])
    return found._replace(
        best=best, scores=scores, objective=objective, history=[*found.history[:-1], objective]
    )


# The population


class Seeds(NamedTuple):
    """Labels of classes that have a cluster, by row: row, class (0, 1, …), weight, annotator."""

    row: Ints
    of_class: Ints
    weight: Floats
    who: Ints

    def of_start(self, number: int) -> tuple[Ints, Ints, Floats]:
        """The labels that a start uses: all, or in turn all but one annotator's, who may be wrong.

        A class named by no other annotator keeps its labels.
        """
        people = np.unique(self.who)
        left_out = number % (len(people) + 1)
        others = np.ones(len(self.who), dtype=bool)
        if len(people) > 1 and left_out:
            others = self.who != people[left_out - 1]
            others |= ~np.isin(self.of_class, self.of_class[others])
        return self.row[others], self.of_class[others], self.weight[others]


class _How(NamedTuple):
    """The common arguments of all members of the population."""

    seeds: Seeds
    deadline: Deadline


def start_centers(problem: Problem, seeds: Seeds, number: int, rng: np.random.Generator) -> Floats:
    """Centres of one start: one per labelled class, then k-means++.

    The first start takes the mean of the rows of a class, the others one of them.
    """
    given = class_centers(problem.rows, *seeds.of_start(number), rng if number else None)
    return plus_plus(problem.rows, None, given, problem.n_clusters, rng)


def search(
    problem: Problem,
    plan: Plan,
    variance_prior: float,
    seeds: Seeds,
    rng: np.random.Generator,
    each_generation: Callable[[], bool] = never,
) -> tuple[Problem, Found]:
    """The first start, which gives the model its variance prior; then the population."""
    labels, centers = kmeans(problem, start_centers(problem, seeds, 0, rng.spawn(1)[0]))
    problem = problem.with_model(variance_prior, sums_of_squares(problem, labels, centers))
    # The first start is labelled already.
    starts = [(n, None if n else labels, child) for n, child in enumerate(rng.spawn(plan.n_init))]
    evolved = evolve(
        problem, _How(seeds, plan.deadline), plan, start=_start, starts=starts, breed=_breed,
        rng=rng, each_generation=each_generation,
    )  # fmt: skip
    best = evolved.population[0]
    scores = np.array([s.objective for s in evolved.population])
    return problem, Found(best, scores, best.objective, evolved.history, len(evolved.history))


def _start(
    problem: Problem, how: _How, number: int, labels: Any, rng: np.random.Generator
) -> Solution:
    """A member from the beginning; its labels may be known already."""
    if labels is None:
        labels, _ = kmeans(problem, start_centers(problem, how.seeds, number, rng))
    order = rng.permutation(len(problem.annotations.annotated))
    nothing_known = np.empty((0, 1 + problem.n_clusters))
    return improve(problem, labels, order, nothing_known, how.deadline)


def _breed(
    problem: Problem, how: _How, one: Floats, two: Floats, known: Floats, rng: np.random.Generator
) -> Solution:
    """A child of two parents, whose means are given; a class of the leading vocabulary stays."""
    centers = mutated(problem.rows, crossover(one, two, problem.free, rng), rng)
    labels, _ = kmeans(problem, centers, max_iter=1)
    order = rng.permutation(len(problem.annotations.annotated))
    return improve(problem, labels, order, known, how.deadline)
