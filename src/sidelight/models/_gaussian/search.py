"""The search for the best partition of AnnotatedGaussianMixture: local search, and a population.

A local search starts from a partition and only takes steps that raise the objective: annotated rows
one by one, then whole chunklets and Kempe chains; rows without annotations all at once, each to its
likeliest cluster (in small data they too are moved one by one). The hybrid genetic search
(HG-means) breeds starts from good partitions: it pairs the centres of two parents, takes one of
each pair, and moves one centre to a random row.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sidelight._kernels import annotated as kernels
from sidelight._kernels import annotated_moves as moves
from sidelight._kernels.hard_gaussian import assign_likeliest
from sidelight._work import count_work
from sidelight.blocks import Block, Blocks, RowEntries, one_blas_thread, threads
from sidelight.models._centers import Centers, as_dense, costliest, plus_plus
from sidelight.models._fitting import Deadline, elsewhere, never
from sidelight.models._gaussian.statements import BETA, LONGEST_CHAIN, Annotations

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]

# k-means before a local search need not be exact: it ends when an iteration lowers the sum of
# squares by less than this share, or after so many iterations.
_KMEANS_FALL = 1e-3
_KMEANS_ITERATIONS = 100
# A round of the local search that gains less, in nats per row, is the last one. A data set of one
# block can afford to go on until no move gains anything.
_LEAST_GAIN = 1e-4
_POLISH_PASSES = 300
# Rows whose best move would lose more than this, in nats, are not looked at in every sweep.
_PATIENCE = 1.0
# In data of at most so many rows all rows are moved one by one: that spares many small steps
# outside of kernels, and ends higher. At 10,000 rows it finds no better partitions, in more time.
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

    @classmethod
    def of(
        cls, rows: Blocks, n_clusters: int, covariance_type: str, annotations: Annotations
    ) -> "Problem":
        """Gather the annotated rows; the model comes with the first start."""
        fixed = RowEntries(annotations.annotated)
        X = np.ascontiguousarray(as_dense(rows.take(annotations.annotated)))
        n_variances = 1 if covariance_type == "spherical" else rows.n_features
        nothing = RowEntries(np.empty(0, dtype=np.int64))
        free = np.setdiff1d(np.arange(n_clusters), annotations.lead)
        annotated = annotations.rows._replace(X=X)
        return cls(
            rows, n_clusters, n_variances, annotations, fixed, nothing, free, annotated, None
        )

    def silent(self) -> "Problem":
        """The same where nobody spoke, every row among those that are moved all at once."""
        nobody = self.annotations._replace(annotated=self.annotations.annotated[:0])
        none = self.annotated._replace(X=self.annotated.X[:0], span=self.annotated.span[:1])
        return self._replace(annotations=nobody, fixed=self.nothing_fixed, annotated=none)

    def with_model(self, variance_prior: float, sse: Floats) -> "Problem":
        """The model whose variance prior is the pooled variance within the first start.

        Where rows coincide it is a thousandth of the variance of all rows at least, so that a
        prior of zero does not make every other statement worthless.
        """
        overall = _overall_variance(self.rows, self.n_variances)
        level = float(overall.mean()) or 1.0
        width = self.rows.n_features // self.n_variances
        pooled = sse.sum(axis=0) / (self.rows.n_samples * width)
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
    """A partition, and what follows from it."""

    labels: Any
    means: Floats
    variances: Floats
    counts: Floats
    objective: float
    cluster_of: Ints


class Found(NamedTuple):
    """What a search came to: the best solution, the population's scores, and the way there."""

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


def nearest(problem: Problem, centers: Floats) -> tuple[Any, _Totals]:
    """Every row to its nearest centre; an empty cluster starts at the row that is farthest off."""
    rows, n_clusters = problem.rows, problem.n_clusters
    none, labels, cost = rows.column(-1, np.int32), rows.column(-1, np.int32), rows.column(0.0)
    held = np.zeros(n_clusters, dtype=bool)
    totals = _look(problem, problem.nothing_fixed, none, _distances(centers), held, labels, cost)
    if totals.counts.all():
        return labels, totals
    left = totals.counts.copy()
    row, price = costliest(rows, cost, 2 * n_clusters)
    farthest = iter(zip(row, labels[row], price, strict=True))
    for k in np.flatnonzero(totals.counts == 0):
        found = next(((r, h) for r, h, c in farthest if c > 0 and left[h] > 1), None)
        if found is None:
            break
        left[found[1]] -= 1
        labels[found[0]] = k
    return labels, _totals_of(problem, labels, centers)


def _totals_of(problem: Problem, labels: Any, centers: Floats) -> _Totals:
    """The sums of all rows around some centres, as they are labelled."""
    held = np.ones(problem.n_clusters, dtype=bool)
    return _look(problem, problem.nothing_fixed, labels, _distances(centers), held)


def kmeans(problem: Problem, centers: Floats) -> tuple[Any, Floats]:
    """Plain k-means from some centres: the labels, and sums of squares (K, 1 or d)."""
    sse = np.inf
    for _ in range(_KMEANS_ITERATIONS):
        labels, totals = nearest(problem, centers)
        steps = totals.sums / np.maximum(totals.counts, 1.0)[:, None]
        before, sse = sse, float(totals.squares.sum() - (totals.counts @ steps**2).sum())
        if sse >= before * (1 - _KMEANS_FALL) or sse <= 0.0:
            break
        centers = centers + steps
    within = totals.counts[:, None] * steps**2
    if problem.n_variances == 1:
        within = within.sum(axis=1, keepdims=True)
    return labels, np.maximum(totals.squares - within, 0.0)


def _overall_variance(rows: Blocks, n_variances: int) -> Floats:
    """The variance of all rows, in all features together or in each; rounding counts as 0."""

    def total(block: Block, center: Floats) -> tuple[Floats, Floats]:
        away = np.asarray(block.X, dtype=np.float64) - center
        return away.sum(axis=0), (away**2).sum(axis=0)

    mean = rows.sum(total, np.zeros(rows.n_features))[0] / rows.n_samples
    variance = rows.sum(total, mean)[1] / rows.n_samples
    variance = np.where(variance > 1e-28 * mean**2, variance, 0.0)
    return variance if n_variances > 1 else variance.mean(keepdims=True)


# Local search


class _Search:
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
        """What people said, counted anew: the objective."""
        said = self.problem.annotations.said
        return kernels.take_statements(said, cluster_of, self.model, self.state, self.layers)

    @property
    def tolerance(self) -> float:
        """Gains below this are rounding, and would let rows wander for ever."""
        return 1e-10 + 1e-13 * abs(self.value)

    def run(self, deadline: float, known: Floats) -> Solution:
        """Improve until nothing does, or until the time is over."""
        self._match_again()
        if self.alone:
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
        if not len(self.order):
            return
        said = self.problem.annotations
        self.value, _ = moves.relocate_together(
            self.rows, self.order, said.chunk_span, said.chunk_rows, self.cluster_of, self.model,
            self.tolerance, LONGEST_CHAIN, self.margin, self.state, self.layers, self.scratch,
        )  # fmt: skip

    def _match_again(self) -> bool:
        """Match classes to clusters anew; whether that raised the objective."""
        said = self.problem.annotations
        if not len(said.lead):
            return False
        accuracy = said.accuracies(self.state.tally)
        matched = said.matched(self.state.labels, self.problem.n_clusters, accuracy)
        if np.array_equal(matched, self.cluster_of):
            return False
        for cluster_of in (matched, self.cluster_of):
            value = self._count(cluster_of)
            if value > self.value + self.tolerance:
                self.cluster_of, self.value = cluster_of, value
                return True
        return False

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

    It may end as soon as it comes to a partition that is ``known``: see `signatures`.
    """
    return _Search(problem, labels.copy(), order).run(deadline, known)


def signatures(n_clusters: int, solutions: Sequence[Solution] = ()) -> Floats:
    """What clones have in common: the objective and the sizes, in ascending order (P, 1 + K)."""
    rows = [np.append(s.objective, np.sort(s.counts)) for s in solutions]
    return np.array(rows).reshape(len(rows), 1 + n_clusters)


def polish(problem: Problem, found: Found) -> Found:
    """Without statements: rows to their likeliest clusters until none moves, so predict agrees.

    Here a cluster may lose its last rows, since `predict` would not give it any. Most often all
    rows are where they are likeliest already: a look tells, for which nothing has to be compiled.
    """
    problem = problem.silent()
    if found.best.counts.all():
        at = gaussians_of(found.best.means, found.best.variances)
        nobody_held = np.zeros(problem.n_clusters, dtype=bool)
        if not _look(problem, problem.fixed, found.best.labels, at, nobody_held).n_changed:
            return found
    last = _Search(problem, found.best.labels.copy(), np.empty(0, dtype=np.int64))
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


def start_centers(
    problem: Problem, seeds: Sequence[tuple[Ints, Floats]], number: int, rng: np.random.Generator
) -> Floats:
    """Centres of one start: k-means++, after one centre per labelled class.

    seeds: for each class the rows that carry its label, and their weights. The first start takes
    their mean, the others one of them.
    """
    given = np.empty((0, problem.rows.n_features))
    if seeds:
        parts = []
        for rows, weight in seeds:
            if number == 0:
                parts.append(weight @ as_dense(problem.rows.take(rows)) / weight.sum())
            else:
                drawn = np.searchsorted(np.cumsum(weight), rng.random() * weight.sum())
                parts.append(as_dense(problem.rows.take(rows[[min(drawn, len(rows) - 1)]]))[0])
        given = np.array(parts)
    return plus_plus(problem.rows, None, given, problem.n_clusters, rng)


def crossover(problem: Problem, one: Floats, two: Floats, rng: np.random.Generator) -> Floats:
    """Centres of a child: of each matched pair of means one, and one of all moved to a random row.

    Clusters that carry a class of the leading vocabulary match themselves.
    """
    free = problem.free
    partner = np.arange(problem.n_clusters)
    if len(free):
        apart = ((one[free, None] - two[free]) ** 2).sum(axis=2)
        _, matched = linear_sum_assignment(apart)
        partner[free] = free[matched]
    first = rng.random(problem.n_clusters) < 0.5
    centers = np.where(first[:, None], one, two[partner])
    removed = rng.integers(problem.n_clusters)
    row = rng.integers(problem.rows.n_samples, size=1)
    centers[removed] = as_dense(problem.rows.take(row))[0]
    return centers


def select(population: Sequence[Solution], size: int) -> list[Solution]:
    """The best solutions, without clones (equal objective and sizes); the older one on a tie."""
    ranked = sorted(population, key=lambda s: -s.objective)
    kept: list[Solution] = []
    for solution in ranked:
        sizes = np.sort(solution.counts)
        near = 1e-9 * (1.0 + abs(solution.objective))
        clone = any(
            abs(other.objective - solution.objective) <= near
            and np.array_equal(np.sort(other.counts), sizes)
            for other in kept
        )
        if not clone:
            kept.append(solution)
        if len(kept) == size:
            break
    return kept


class Plan(NamedTuple):
    """How long to search: n_init starts, then generations of population_size - n_init children."""

    n_init: int
    n_generations: int
    population_size: int
    variance_prior: float
    deadline: Deadline
    n_jobs: int | None


def search(
    problem: Problem,
    plan: Plan,
    seeds: Sequence[tuple[Ints, Floats]],
    rng: np.random.Generator,
    each_generation: Callable[[], bool] = never,
) -> tuple[Problem, Found]:
    """Starts, then generations; every draw is made before its generation starts.

    So the answer does not depend on who finishes first. ``each_generation`` is called after each
    generation, and says whether to stop.
    """
    first = kmeans(problem, start_centers(problem, seeds, 0, rng.spawn(1)[0]))
    problem = problem.with_model(plan.variance_prior, first[1])
    members = _Members(problem, plan, seeds)
    # The first start is labelled already.
    starts = [(n, None if n else first[0], child) for n, child in enumerate(rng.spawn(plan.n_init))]
    population = select(members.made_by(_start, starts, at_least=1), plan.n_init)
    history = [population[0].objective]
    stop = each_generation()
    for _ in range(plan.n_generations):
        if stop or time.monotonic() >= plan.deadline:
            break
        n_children = plan.population_size - plan.n_init
        parents = rng.integers(len(population), size=(n_children, 2))
        known = signatures(problem.n_clusters, population)
        breeds = [
            (population[a].means, population[b].means, known, child)
            for (a, b), child in zip(parents, rng.spawn(n_children), strict=True)
        ]
        population = select(population + members.made_by(_breed, breeds), plan.n_init)
        history.append(population[0].objective)
        stop = each_generation()
    best = population[0]
    scores = np.array([s.objective for s in population])
    return problem, Found(best, scores, best.objective, history, len(history))


class _How(NamedTuple):
    """What all members of the population are made with."""

    plan: Plan
    seeds: Sequence[tuple[Ints, Floats]]


def _start(
    problem: Problem, how: _How, number: int, labels: Any, rng: np.random.Generator
) -> Solution:
    """A member from the beginning; its labels may be known already."""
    if labels is None:
        labels = kmeans(problem, start_centers(problem, how.seeds, number, rng))[0]
    order = rng.permutation(len(problem.annotations.annotated))
    return improve(problem, labels, order, signatures(problem.n_clusters), how.plan.deadline)


def _breed(
    problem: Problem, how: _How, one: Floats, two: Floats, known: Floats, rng: np.random.Generator
) -> Solution:
    """A child of two parents, whose means are given."""
    labels = nearest(problem, crossover(problem, one, two, rng))[0]
    order = rng.permutation(len(problem.annotations.annotated))
    return improve(problem, labels, order, known, how.plan.deadline)


class _Job(NamedTuple):
    """A member to come; ``in_any_case``: also when the time is over."""

    make: Callable[..., Solution]
    told: tuple[Any, ...]
    in_any_case: bool


def _member(problem: Problem, how: _How, job: _Job) -> Solution | None:
    if not job.in_any_case and time.monotonic() >= how.plan.deadline:
        return None
    return job.make(problem, how, *job.told)


class _Members:
    """Where members are made: on the workers of a cluster, in threads, or one after the other."""

    def __init__(self, problem: Problem, plan: Plan, seeds: Sequence[tuple[Ints, Floats]]) -> None:
        self._problem, self._how = problem, _How(plan, seeds)
        most_at_once = max(plan.n_init, plan.population_size - plan.n_init)
        self._there = elsewhere(problem, self._how, most_at_once)

    def made_by(
        self, make: Callable[..., Solution], told: Sequence[tuple[Any, ...]], at_least: int = 0
    ) -> list[Solution]:
        """``make(problem, how, *told)`` of each, in their order, but for those out of time."""
        jobs = [_Job(make, job, number < at_least) for number, job in enumerate(told)]
        if self._there is not None and len(jobs) > 1:
            found = self._there.run(_member, jobs)
        elif effective_n_jobs(self._how.plan.n_jobs) == 1:
            found = [_member(self._problem, self._how, job) for job in jobs]
        else:
            found = self._in_threads(jobs)
        return [solution for solution in found if solution is not None]

    def _in_threads(self, jobs: Sequence[_Job]) -> list[Solution | None]:
        def alone(job: _Job) -> Solution | None:
            with threads(1):
                return _member(self._problem, self._how, job)

        # The limit on BLAS is set once around all threads: each would put back the other's.
        with one_blas_thread():
            run = Parallel(n_jobs=self._how.plan.n_jobs, prefer="threads")
            return list(run(delayed(alone)(job) for job in jobs))
