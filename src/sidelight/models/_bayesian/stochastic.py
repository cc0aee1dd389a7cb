"""BayesianMixture a batch of rows at a time: stochastic variational inference.

    lambda <- (1 - rho_t) lambda + rho_t (prior + N / |B| sum over B of phi t(x))
    rho_t = (t + offset)^-decay

A posterior is the prior plus sums over the rows, for every emission and for the weights. So the
sums are blended, stored as averages per row, and the posteriors follow from N times these. Rows
with neighbours keep their memberships (they are few); those of a batch are updated in turn, given
the sums over groups of all others.

To save time, an epoch reads the rows in their order, in short runs, and rounds small memberships at
random (see `drawn_memberships` in the kernels).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sidelight._kernels import bayesian_mixture as kernels
from sidelight.blocks import BLOCK_ROWS, Block, Blocks, RowEntries, as_blocks
from sidelight.models._bayesian.run import (
    Problem,
    Run,
    State,
    Step,
    Theta,
    divergence,
    memberships,
    potential_between,
    update,
    with_near,
)
from sidelight.models._bayesian.statements import Couplings, SomeCouplings
from sidelight.models._em import Start, begin, expect, without_rounding
from sidelight.models._emissions import Statistics
from sidelight.models._fitting import never

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows are read from a file or fetched from a cluster once per epoch, in stretches of BLOCK_ROWS;
# batches are made of the stretches in memory. As many are held as fit into POOL_BYTES if they are
# dense, but always some, so that a batch of a sorted file has rows from several places.
POOL_BYTES = 2**27
POOL = (4, 64)

# A batch is made of runs of neighbouring rows, each copied at once. Runs are short and many, so
# that batches of a sorted file resemble each other.
RUN_ROWS = 32
RUNS = 256


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
        """The posteriors if a given number of rows are like this on average."""
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
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Epochs until one gains less than ``tol`` per row, then one ordinary iteration.

    That removes most of the noise of the last batches, and gives labels and the bound itself;
    ``estimates`` of it, one per epoch, come from the batches as they were.
    """
    n = problem.rows.n_samples
    sums = begin(problem.rows, problem.emission, start)
    averages = Averages.of(sums[0], sums, n)
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
            step = _drawn_step(problem, near.of_rows(rows), X, theta, V, rng)
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
    history.append(without_rounding(step.bound, history))
    if len(couplings.rows):
        state.labels[couplings.rows] = near.phi.argmax(axis=1)
    return Run(
        state.labels, theta, history[-1], history, len(estimates), converged, step, near.phi,
        estimates,
    )  # fmt: skip


def batches(rows: Blocks, batch_size: int, rng: np.random.Generator) -> Iterator[tuple[Ints, Any]]:
    """All rows once, in random batches: their numbers, ascending, and the rows."""
    n = rows.n_samples
    fits = POOL_BYTES // (8 * BLOCK_ROWS * max(rows.n_features, 1))
    size = max(min(max(fits, POOL[0]), POOL[1]), -(-batch_size // BLOCK_ROWS))
    length = max(1, min(RUN_ROWS, batch_size // RUNS))
    for stretches in _dealt(len(rows), size, rng):
        starts = BLOCK_ROWS * stretches
        numbers = np.concatenate([np.arange(a, min(a + BLOCK_ROWS, n)) for a in starts])
        near, there = rows.within_reach(numbers)
        for runs in _dealt(-(-len(numbers) // length), batch_size // length, rng):
            places = (length * runs[:, None] + np.arange(length)).ravel()
            places = places[places < len(numbers)]
            yield numbers[places], near.take(there[places])


def _dealt(n: int, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """The numbers below n, dealt to as few batches of at most ``size`` as possible.

    Of as many successive numbers as there are batches, every batch gets one at random. So a batch
    represents the whole: sums over it have the right expectation, sizes differ by at most one, and
    every part of a sorted file is in every batch.
    """
    n_hands = -(-n // size)
    n_rounds = -(-n // n_hands)
    hands = np.argsort(rng.random((n_rounds, n_hands)), axis=1)
    hands += n_hands * np.arange(n_rounds)[:, None]
    for hand in hands.T:
        yield hand[hand < n]


def shares_alone(problem: Problem, rows: Blocks, theta: Theta) -> Floats:
    """Memberships of rows in memory, (n, T), without the statements about them."""
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
        """Recompute the sums: thousands of small changes accumulate rounding errors."""
        self.sums = self.couplings.sums(self.phi)

    def of_rows(self, rows: Ints) -> SomeCouplings:
        """The couplings of those of some rows (ascending) that have any."""
        places = np.empty((2, min(len(rows), len(self.phi))), dtype=np.int64)
        count = kernels.common(rows, self.couplings.rows, places)
        return SomeCouplings(
            places[0, :count], places[1, :count], self.couplings, self.phi, self.sums
        )


def of_batch(problem: Problem, some: SomeCouplings, X: Any) -> tuple[Problem, State]:
    """The problem of the rows X alone, of which some are coupled to other rows."""
    alone = problem._replace(
        rows=as_blocks(X),
        near=as_blocks(X[some.rows]),
        near_rows=RowEntries(some.rows),
        couplings=some,
    )
    state = State(None)
    state.near_phi = some.phi[some.which]
    return alone, state


def _drawn_step(
    problem: Problem,
    some: SomeCouplings,
    X: Any,
    theta: Theta,
    V: Floats | None,
    rng: np.random.Generator,
) -> Step:
    """As `expected` for the rows X alone, with random rounding and without labels."""
    alone, state = of_batch(problem, some, X)
    step = expect(
        alone.rows,
        problem.emission,
        theta.components,
        theta.weights.log,
        alone.near_rows,
        None,
        partial(_drawn, rng.random(len(alone.rows))),
    )
    return with_near(alone, theta, state, V, step)


def _drawn(firsts: Floats, block: Block, scores: Floats, apart: Ints, labels: Any) -> float:
    """Memberships of which most small ones are 0, by draws that start again in each block."""
    first = firsts[block.start // BLOCK_ROWS]
    return float(kernels.drawn_memberships(scores, apart, first))
