"""A population of solutions that breeds: starts, parents, matched crossover, mutation, survivors.

The hybrid genetic search of HG-means (D. Gribel and T. Vidal, Pattern Recognition 88, 2019) without
its local search: a model defines how a member is started and how a child is improved.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sidelight.blocks import Block, Blocks, one_blas_thread, threads
from sidelight.models._centers import as_dense, block_weight, draw_rows
from sidelight.models._fitting import Deadline, elsewhere, never
from sidelight.models._lloyd import Problem, State, Theta, assign

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Member(Protocol):
    """A solution: the higher the objective, the better."""

    @property
    def objective(self) -> float: ...
    @property
    def counts(self) -> Floats:
        """The sizes of the clusters."""

    @property
    def genes(self) -> Any:
        """The part that a child inherits; small, since it is sent to workers."""


M = TypeVar("M", bound=Member)


class Plan(NamedTuple):
    """How long to search: n_init starts, then generations of population_size - n_init children.

    A parent is the best of ``tournament`` members that are drawn. The search ends after
    ``patience`` generations that together gain no more than the share ``least_gain``: by default
    that is rounding.
    """

    n_init: int
    n_generations: int
    population_size: int
    deadline: Deadline
    n_jobs: int | None
    tournament: int = 1
    patience: int | None = None
    least_gain: float = 1e-12


class Evolved(NamedTuple, Generic[M]):
    """The last population, from the best down, and the best objective after each generation."""

    population: list[M]
    history: list[float]


def evolve(
    problem: Any,
    common: Any,
    plan: Plan,
    *,
    start: Callable[..., M],
    starts: Sequence[tuple[Any, ...]],
    breed: Callable[..., M],
    rng: np.random.Generator,
    each_generation: Callable[[], bool] = never,
) -> Evolved[M]:
    """Starts, then generations; every draw is made before its generation starts.

    So the answer does not depend on which job finishes first. Members are ``start(problem, common,
    *start)`` and ``breed(problem, common, one, two, known, rng)``, of the genes of two parents and
    the `signatures` of all solutions that there are. ``each_generation`` says whether to stop.
    """
    members = _Members[M](problem, common, plan)
    population = survivors(members.made_by(start, starts, at_least=1), plan.n_init)
    history = [population[0].objective]
    stop = each_generation()
    for _ in range(plan.n_generations):
        if stop or time.monotonic() >= plan.deadline or _idle(history, plan):
            break
        n_children = plan.population_size - plan.n_init
        # The population is sorted: the lowest number wins a tournament.
        drawn = rng.integers(len(population), size=(n_children, 2, plan.tournament)).min(axis=2)
        known = signatures(population)
        breeds = [
            (population[a].genes, population[b].genes, known, child)
            for (a, b), child in zip(drawn, rng.spawn(n_children), strict=True)
        ]
        population = survivors(population + members.made_by(breed, breeds), plan.n_init)
        history.append(population[0].objective)
        stop = each_generation()
    return Evolved(population, history)


def _idle(history: list[float], plan: Plan) -> bool:
    """Whether the last generations gained nothing to speak of."""
    if plan.patience is None or len(history) <= plan.patience:
        return False
    return history[-1] - history[-1 - plan.patience] <= plan.least_gain * abs(history[-1])


def crossover(one: Floats, two: Floats, free: Ints, rng: np.random.Generator) -> Floats:
    """Centres of a child: one of each pair, the nearest ones of all being paired.

    Clusters that are not in ``free`` pair with themselves.
    """
    partner = np.arange(len(one))
    if len(free):
        apart = ((one[free, None] - two[free]) ** 2).sum(axis=2)
        _, matched = linear_sum_assignment(apart)
        partner[free] = free[matched]
    first = rng.random(len(one)) < 0.5
    return np.where(first[:, None], one, two[partner])


def mutated(rows: Blocks, centers: Floats, rng: np.random.Generator) -> Floats:
    """The same centres, one of them moved to a random row."""
    centers = centers.copy()
    removed = rng.integers(len(centers))
    row = rng.integers(rows.n_samples, size=1)
    centers[removed] = as_dense(rows.take(row))[0]
    return centers


def reinserted(
    rows: Blocks, weight: Any, centers: Floats, alpha: float, rng: np.random.Generator
) -> Floats:
    """The same centres, one of them moved to a row that is drawn, as in HG-means.

    A row has the mass (1 - alpha) / n + alpha d / sum d, d its distance to the centres that stay.
    """
    removed, uniform = rng.integers(len(centers)), rng.random(1)
    mass = rows.column(1.0)
    if len(centers) > 1:
        rest = np.delete(centers, removed, axis=0)
        assign(Problem(rows), Theta(rest), State.new(rows), cost=mass)
        total, distances = rows.sum(_take_roots, None, mass, weight)
        share = alpha / distances if distances > 0 else 0.0
        rows.sum(_mix, ((1.0 - alpha) / total, share), mass)
    row = draw_rows(rows, mass, weight, uniform)
    centers = centers.copy()
    if len(row):  # else all rows are where centres are, and alpha is 1
        centers[removed] = as_dense(rows.take(row))[0]
    return centers


def _take_roots(
    block: Block, _: None, squared: Floats, weight: Floats | None
) -> tuple[float, float]:
    np.sqrt(squared, out=squared)
    w = block_weight(weight, block)
    return float(w.sum()), float(w @ squared)


def _mix(block: Block, how: tuple[float, float], mass: Floats) -> tuple[int]:
    constant, share = how
    mass *= share
    mass += constant
    return (0,)


def signatures(solutions: Sequence[Member]) -> Floats:
    """The signature of clones: the objective and the sizes, in ascending order (P, 1 + K)."""
    return np.array([np.append(s.objective, np.sort(s.counts)) for s in solutions])


def survivors(population: Sequence[M], size: int) -> list[M]:
    """The best solutions, without clones (equal objective and sizes); the older one on a tie."""
    kept: list[M] = []
    for solution in sorted(population, key=lambda s: -s.objective):
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


# Where members are made


class _Job(NamedTuple):
    """A member to come; ``in_any_case``: also when the time is over."""

    make: Callable[..., Any]
    given: tuple[Any, ...]
    in_any_case: bool


class _Common(NamedTuple):
    deadline: Deadline
    common: Any


def _member(problem: Any, how: _Common, job: _Job) -> Any:
    if not job.in_any_case and time.monotonic() >= how.deadline:
        return None
    return job.make(problem, how.common, *job.given)


class _Members(Generic[M]):
    """On the workers of a cluster, in threads, or one after the other."""

    def __init__(self, problem: Any, common: Any, plan: Plan) -> None:
        self._problem, self._how = problem, _Common(plan.deadline, common)
        self._n_jobs = plan.n_jobs
        most_at_once = max(plan.n_init, plan.population_size - plan.n_init)
        self._there = elsewhere(problem, self._how, most_at_once)

    def made_by(
        self, make: Callable[..., M], given: Sequence[tuple[Any, ...]], at_least: int = 0
    ) -> list[M]:
        """``make(problem, common, *given)`` of each, in their order, except those out of time."""
        jobs = [_Job(make, job, number < at_least) for number, job in enumerate(given)]
        if self._there is not None and len(jobs) > 1:
            found = self._there.run(_member, jobs)
        elif effective_n_jobs(self._n_jobs) == 1:
            found = [_member(self._problem, self._how, job) for job in jobs]
        else:
            found = self._in_threads(jobs)
        return [solution for solution in found if solution is not None]

    def _in_threads(self, jobs: Sequence[_Job]) -> list[Any]:
        def alone(job: _Job) -> Any:
            with threads(1):
                return _member(self._problem, self._how, job)

        # The limit on BLAS is set once around all threads; otherwise each would reset the other's.
        with one_blas_thread():
            run = Parallel(n_jobs=self._n_jobs, prefer="threads")
            return list(run(delayed(alone)(job) for job in jobs))
