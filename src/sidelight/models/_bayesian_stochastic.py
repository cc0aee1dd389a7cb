"""BayesianMixture a batch of rows at a time: stochastic variational inference.

    lambda <- (1 - rho_t) lambda + rho_t (prior + N / |B| sum over B of phi t(x))
    rho_t = (t + offset)^-decay

A posterior is the prior plus sums over the rows, for every emission and for the weights. So what is
blended are the sums, kept as averages per row, and the posteriors follow from N times these.
Rows with neighbours keep their memberships (they are few); those of a batch move in turn, given all
others, of which they feel the sums over groups.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sidelight.blocks import BLOCK_ROWS, Block, Blocks, RowEntries, as_blocks
from sidelight.models._bayesian_run import (
    Problem,
    Run,
    Start,
    State,
    Step,
    Theta,
    begin,
    divergence,
    expected,
    memberships,
    potential_between,
    update,
)
from sidelight.models._couplings import Couplings, SomeCouplings
from sidelight.models._emissions import Statistics

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Batches are drawn from this many stretches of BLOCK_ROWS rows at a time: rows are read from a file
# or a cluster once per epoch, in long pieces, and still come from four places of a sorted file.
POOL = 4


class StepSizes(NamedTuple):
    """rho_t = (t + offset)^-decay, for t = 1, 2, … ."""

    offset: float
    decay: float

    def __call__(self, t: float) -> float:
        return float((t + self.offset) ** -self.decay)


class Averages(NamedTuple):
    """Per row: the mass that enters the weights, and the statistics of the components."""

    mass: Floats
    statistics: Statistics

    @classmethod
    def of(cls, mass: Floats, statistics: Statistics, n_rows: float) -> "Averages":
        """From the sums over some rows."""
        return cls(mass / n_rows, tuple(table / n_rows for table in statistics))

    def blended(self, other: "Averages", rho: float) -> "Averages":
        """A step of size rho towards another."""
        pairs = zip(self.statistics, other.statistics, strict=True)
        statistics = tuple((1.0 - rho) * a + rho * b for a, b in pairs)
        return Averages((1.0 - rho) * self.mass + rho * other.mass, statistics)

    def theta(self, problem: Problem, n_rows: float) -> Theta:
        """The posteriors if so many rows are like this on average."""
        return update(problem, n_rows * self.mass, tuple(n_rows * s for s in self.statistics))


def run_stochastic(
    problem: Problem,
    start: Start,
    rng: np.random.Generator,
    *,
    potential: str,
    batch_size: int,
    step_sizes: StepSizes,
    max_iter: int,
    tol: float,
    each_iteration: Callable[[], bool] = lambda: False,
) -> Run:
    """Epochs until one gains less than ``tol`` per row, then one ordinary iteration.

    That takes out most of the noise that the last batches left, and gives labels and the bound
    itself; ``estimates`` of it, one per epoch, come from the batches as they were.
    """
    n = problem.rows.n_samples
    averages = Averages.of(*begin(problem, start), n)
    theta = averages.theta(problem, n)
    couplings = problem.couplings
    assert isinstance(couplings, Couplings)
    near = _Near(problem, couplings, theta)
    is_potts = potential == "potts" or not len(couplings.rows)
    estimates: list[float] = []
    t, converged, stop = 0, False, False
    while not (converged or stop):
        V = None if is_potts else potential_between(problem, theta)
        near.refresh()
        total = 0.0
        for rows, X in batches(problem.rows, batch_size, rng):
            step, _ = step_of(problem, near.of_rows(rows), X, theta, V)
            total += step.bound
            t += 1
            found = Averages.of(step.mass, step.statistics, len(rows))
            averages = averages.blended(found, step_sizes(t))
            theta = averages.theta(problem, n)
        total -= couplings.cost(near.phi, V) + divergence(problem, theta)
        estimates.append(total)
        converged = len(estimates) > 1 and estimates[-1] - estimates[-2] < tol * n
        stop = each_iteration() or len(estimates) >= max_iter
    state = State.new(problem.rows)
    state.near_phi = near.phi
    step = memberships(problem, theta, state, V)
    history = [step.bound]
    theta = update(problem, step.mass, step.statistics)
    step = memberships(problem, theta, state, V)
    history.append(step.bound)
    if len(couplings.rows):
        state.labels[couplings.rows] = near.phi.argmax(axis=1)
    return Run(
        state.labels, theta, history[-1], history, len(estimates), converged, step, near.phi,
        estimates,
    )  # fmt: skip


def batches(rows: Blocks, batch_size: int, rng: np.random.Generator) -> Iterator[tuple[Ints, Any]]:
    """All rows once, in batches in random order: their numbers, and the rows."""
    n = rows.n_samples
    stretches = rng.permutation(-(-n // BLOCK_ROWS))
    size = max(POOL, -(-batch_size // BLOCK_ROWS))
    for first in range(0, len(stretches), size):
        starts = BLOCK_ROWS * np.sort(stretches[first : first + size])
        numbers = np.concatenate([np.arange(a, min(a + BLOCK_ROWS, n)) for a in starts])
        numbers = numbers[rng.permutation(len(numbers))]
        near, there = rows.within_reach(numbers)
        # As many batches as it takes, of equal sizes: a last one of three rows would be all noise.
        edges = np.linspace(0, len(numbers), 1 + -(-len(numbers) // batch_size)).astype(int)
        for a, b in pairwise(edges):
            yield numbers[a:b], near.take(there[a:b])


def shares_alone(problem: Problem, rows: Blocks, theta: Theta) -> Floats:
    """Memberships of rows in memory, (n, T), as if nothing were said about them."""
    phi = np.empty((rows.n_samples, len(theta.weights.log)))
    weights = 0.0 if problem.is_field else theta.weights.log[:, None]

    def each(block: Block, _: None) -> tuple[int]:
        scores = problem.emission.log_density(block.X, theta.components) + weights
        block.of(phi)[:] = softmax(scores, axis=0).T
        return (0,)

    if len(phi):
        rows.sum(each, None)
    return phi


class _Near:
    """The memberships of all rows with neighbours, and the sums over groups, as batches pass."""

    def __init__(self, problem: Problem, couplings: Couplings, theta: Theta) -> None:
        self.couplings = couplings
        self.phi = shares_alone(problem, problem.near, theta)
        self.sums: tuple[Floats, ...] = ()

    def refresh(self) -> None:
        """Compute the sums anew: thousands of small changes have left rounding errors."""
        self.sums = self.couplings.sums(self.phi)

    def of_rows(self, rows: Ints) -> SomeCouplings:
        """The couplings of those of some rows that have any."""
        near = np.append(self.couplings.rows, -1)
        found = np.searchsorted(near[:-1], rows)
        place = np.flatnonzero(near[found] == rows)
        return SomeCouplings(place, found[place], self.couplings, self.phi, self.sums)


def step_of(
    problem: Problem, some: SomeCouplings, X: Any, theta: Theta, V: Floats | None
) -> tuple[Step, State]:
    """What `expected` gives for the rows X alone, of which some are coupled to other rows."""
    of_batch = problem._replace(
        rows=as_blocks(X),
        near=as_blocks(X[some.rows]),
        near_rows=RowEntries(some.rows),
        couplings=some,
    )
    state = State.new(of_batch.rows)
    state.near_phi = some.phi[some.which]
    return expected(of_batch, theta, state, V), state
