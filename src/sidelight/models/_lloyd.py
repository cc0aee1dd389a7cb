"""The k-means loop over blocks of rows: assign, update, start empty clusters again.

Minimises  J = sum_i w_i (|x_i - m_k(i)|² + sum of weight × price of the entries of row i)
               + what the `Penalty` adds

A model that extends k-means is a `Penalty`: which rows have an additional cost, and how much.
Without one it is k-means. The loop never sees the rows, only `blocks`; what it keeps per row are
columns.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import assign as kernels
from sidelight._kernels.hard_gaussian import densities
from sidelight.blocks import Block, Blocks, CSRRows, as_blocks
from sidelight.models._centers import (
    Centers,
    as_dense,
    as_matrix,
    block_weight,
    cluster_sizes,
    costliest,
    sums_by_label,
)
from sidelight.models._fitting import never

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_ROWS = np.empty(0, dtype=np.int64)
_PICKED = (
    10_000  # rows whose sums are taken by one product: with few rows, sooner than by sparse ones
)


class Entries(NamedTuple):
    """Statements about some rows: row stated[p] has the entries span[p]:span[p + 1].

    An entry is a row of the table of prices and a weight. ``stated`` ascends.
    """

    stated: Ints
    span: Ints
    entry: Ints
    weight: Floats

    @classmethod
    def none(cls) -> "Entries":
        """No statements."""
        return cls(_NO_ROWS, np.zeros(1, dtype=np.int64), _NO_ROWS, np.empty(0))

    @classmethod
    def of(cls, row: Ints, entry: Ints, weight: Floats) -> "Entries":
        """From one entry after the other, sorted by row."""
        stated, first = np.unique(row, return_index=True)
        return cls(stated, np.append(first, len(row)).astype(np.int64), entry, weight)

    @property
    def row_of_entry(self) -> Ints:
        """The row of each entry, ascending."""
        return np.repeat(self.stated, np.diff(self.span))

    def within(self, start: int, stop: int) -> "Entries":
        """The entries of some rows, counted from the first of them."""
        a, b = np.searchsorted(self.stated, (start, stop))
        span = self.span[a : b + 1]
        here = slice(span[0], span[-1])
        return Entries(
            self.stated[a:b] - start, span - span[0], self.entry[here], self.weight[here]
        )


class Theta(NamedTuple):
    """The parameters: centers (K, d), and what belongs to the penalty, one row per cluster."""

    centers: Floats
    side: Any = None


class State(NamedTuple):
    """Data per row: its label, and a bound that shows when to check it again (see kernels)."""

    labels: Any
    slack: Any

    @classmethod
    def new(cls, rows: Blocks) -> "State":
        """No row has a label yet."""
        return cls(rows.column(-1, np.int32), rows.column(-np.inf))


class Tally(NamedTuple):
    """The sums of a partition.

    amount: the data part of J, NaN where a repair left it unknown; n_changed: labels that are new;
    sums (K, d) and counts (K) of the rows; side: tables of the penalty, which add up too.
    """

    amount: float
    n_changed: int
    sums: Floats
    counts: Floats
    side: tuple[Floats, ...]

    def plus(self, change: "Tally", amount: float) -> "Tally":
        """The tally after a change of the partition; amount is given, not added."""
        side = tuple(a + b for a, b in zip(self.side, change.side, strict=True))
        sums, counts = self.sums + change.sums, self.counts + change.counts
        return Tally(amount, change.n_changed, sums, counts, side)


class Penalty:
    """The cost of rows besides their squared distance. Here zero, which is k-means.

    A model overrides what it needs. With constant prices, ``entries``, `prices` and their number
    are enough. Rows in ``held`` are moved only by `sweep`, not by passes over the data; rows in
    ``anchored`` never start an empty cluster again.
    """

    entries: Entries = Entries.none()
    n_prices: int = 0
    held: Ints = _NO_ROWS
    # Whether the tables of a tally are recounted before every update: adding and subtracting a
    # weight of 1e15 destroys the digits of small ones.
    recounts: bool = False
    # Whether `sweep` takes the centres as they are, and so has to see the last ones.
    sweeps_at_centers: bool = False
    # Whether rows that pay by pairs may gain by moves that re-estimate the centres: `finish`.
    finishes: bool = False
    sizes: Any = None  # of clusters, where they are limited: _kmeans/sizes.py

    @property
    def anchored(self) -> Ints:
        """Rows that no empty cluster may be started at: by default the held ones."""
        return self.held

    def first(self, problem: "Problem", centers: Floats) -> Theta:
        """The parameters of a start, from its centres."""
        return Theta(centers)

    def prices(self, theta: Theta) -> Floats:
        """The cost of entry e in cluster k, (n_prices, K)."""
        return np.zeros((0, len(theta.centers)))

    def squared_steps(self, before: Theta, after: Theta) -> Floats | None:
        """How far the prices of any row moved, cluster by cluster: a price is a squared distance.

        For a row with statements the distance to a cluster includes the price. None: prices never
        move.
        """
        return None

    def tables(self, mass: Floats) -> tuple[Floats, ...]:
        """The tables for the update, from the weight of entries in each cluster, (n_prices, K)."""
        return (mass,)

    def update(self, tally: Tally, theta: Theta) -> Theta:
        """The second half-step: the best parameters of a partition."""
        return theta._replace(centers=means(tally, theta))

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """The cost of all rows by the penalty: the other part of J."""
        return float((tally.side[0] * self.prices(theta)).sum())

    def exact_cost(self, mass: Floats, theta: Theta, labels: Any) -> float:
        """`cost` from the weight of each entry in each cluster, counted from scratch."""
        nothing = Tally(0.0, 0, theta.centers, np.zeros(len(theta.centers)), self.tables(mass))
        return self.cost(nothing, theta, labels)

    def alone(self, problem: "Problem", theta: Theta, row: int, k: int) -> float:
        """The cost of a row in a cluster of its own, when an empty cluster k is started there."""
        mine = self.entries.within(row, row + 1)
        weight = 1.0 if problem.weight is None else float(problem.weight[[row]][0])
        return weight * float(mine.weight @ self.prices(theta)[mine.entry, k])

    def begin(self, problem: "Problem", theta: Theta, tally: Tally, state: State) -> Tally:
        """Hold rows from now on; the first pass gave every row its cheapest cluster."""
        if len(self.held):
            state.slack[self.held] = np.inf
        return tally

    def sweep(
        self, problem: "Problem", theta: Theta, tally: Tally, state: State
    ) -> tuple[int, Tally]:
        """Move the held rows, state.labels: OUT. Returns (rows moved, the tally after it)."""
        return 0, tally

    def finish(
        self, problem: "Problem", theta: Theta, tally: Tally, state: State, cost: Any
    ) -> tuple[int, Tally]:
        """Make further moves when nothing else changes; as `sweep`. cost: of each row."""
        return 0, tally


class Problem(NamedTuple):
    """All that is fixed during a fit."""

    rows: Blocks
    weight: Any = None  # a column, or None where all rows weigh 1
    penalty: Any = Penalty()


class Run(NamedTuple):
    """Result of one start; labels and theta agree: theta assigns the rows to labels."""

    labels: Any
    theta: Theta
    objective: float
    history: list[float]
    n_iter: int
    converged: bool


def iterate(
    problem: Problem,
    theta: Theta,
    max_iter: int,
    smallest: float = 0.0,
    each_iteration: Callable[[], bool] = never,
    least_fall: float = 0.0,
) -> Run:
    """Assign and update until nothing changes; only costs above ``smallest`` restart a cluster.

    An iteration that lowers J by less than the share ``least_fall`` is the last, if that is not 0.

    In most iterations most rows are skipped, and J is updated by its changes. Before the run ends
    every row is checked once more, so that labels, centres and J do not depend on that.
    """
    state = State.new(problem.rows)
    tally = problem.penalty.begin(problem, theta, assign(problem, theta, state), state)
    history = [objective(problem, theta, tally, state)]
    stop, converged, rest = each_iteration(), False, 0
    while len(history) < max_iter and not (stop or converged):
        n_moved, tally = _fill_empty(problem, theta, tally, state, smallest)
        if not rest:
            n_swept, tally = problem.penalty.sweep(problem, theta, tally, state)
            n_moved += n_swept
            rest = _rest(problem.penalty, n_swept)
        else:
            rest -= 1
        if problem.penalty.recounts:
            mass = masses(problem, state.labels, len(theta.centers))
            tally = tally._replace(side=problem.penalty.tables(mass))
        previous, theta = theta, problem.penalty.update(tally, theta)
        tally = _assign_again(problem, previous, theta, state, tally)
        # Rounding may raise J by its last digit where it should stay the same.
        history.append(min(objective(problem, theta, tally, state), history[-1]))
        stop = each_iteration() or history[-1] > (1.0 - least_fall) * history[-2]
        if tally.n_changed + n_moved == 0 and problem.penalty.sweeps_at_centers:
            n_moved, tally = problem.penalty.sweep(problem, theta, tally, state)
        if tally.n_changed + n_moved == 0:
            cost = problem.rows.column(0.0) if problem.penalty.finishes else None
            tally = assign(problem, theta, state, tally, cost)
            if tally.n_changed == 0 and problem.penalty.finishes:
                n_moved, tally = problem.penalty.finish(problem, theta, tally, state, cost)
            converged = tally.n_changed + n_moved == 0
    if not converged:
        tally = assign(problem, theta, state, tally)
    mass = masses(problem, state.labels, len(theta.centers))
    found = tally.amount + problem.penalty.exact_cost(mass, theta, state.labels)
    # No earlier J was below the last one, whatever rounding has made of it on the way.
    history = [max(value, found) for value in history[:-1]] + [found]
    return Run(state.labels, theta, found, history, len(history), converged)


def wander(
    problem: Problem,
    theta: Theta,
    max_iter: int,
    smallest: float = 0.0,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """The same for penalties whose steps may raise J: the best iterate, until a partition returns.

    Rows that are not held are checked again only if they may have changed. The history is the
    lowest J so far.
    """
    state = State.new(problem.rows)
    tally = problem.penalty.begin(problem, theta, assign(problem, theta, state), state)
    best: tuple[Any, Theta] = state.labels, theta
    history: list[float] = []
    seen: set[bytes] = set()
    stop = converged = False
    while len(history) < max_iter and not (stop or converged):
        _, tally = problem.penalty.sweep(problem, theta, tally, state)
        found = objective(problem, theta, tally, state)
        if not history or found < history[-1]:
            best = state.labels.copy(), theta
        history.append(min([found, *history[-1:]]))
        stop = each_iteration()
        partition = b"".join(problem.rows.sum(_digest, None, state.labels)[0])
        converged = partition in seen
        seen.add(partition)
        side = tally.side
        _, tally = _fill_empty(problem, theta, tally, state, smallest)
        previous, theta = theta, problem.penalty.update(tally._replace(side=side), theta)
        tally = _assign_again(problem, previous, theta, state, tally)
    return Run(best[0], best[1], history[-1], history, len(history), converged)


def _digest(block: Block, _: None, labels: NDArray[np.int32]) -> tuple[list[bytes]]:
    """A hash of the labels of a block."""
    return ([hashlib.blake2b(labels.tobytes(), digest_size=16).digest()],)


# Above this size k-means whose partition is one of many ends early: the rest of its iterations
# moves few rows and takes most of the time.
EXACT_UP_TO = 20_000


def one_of_many(n_samples: int, least_fall: float) -> Callable[..., Run]:
    """`iterate` for partitions of which only the best goes on, or only what they share counts.

    On large data an iteration that lowers J by less than the share ``least_fall`` is the last.
    """
    return partial(iterate, least_fall=least_fall) if n_samples > EXACT_UP_TO else iterate


def rough_partition(
    problem: Problem, theta: Theta, max_iter: int, least_fall: float = 0.0
) -> tuple[Any, Theta]:
    """Labels of k-means that need not be exact, and the parameters that they were given by.

    Ends as soon as an update leaves J above 1 - ``least_fall`` of what the last one left. One
    iteration is the nearest centre, no cluster left empty that a row could fill.
    """
    state = State.new(problem.rows)
    tally = assign(problem, theta, state)
    before = np.inf
    for left in range(max_iter - 1, -1, -1):
        _, tally = _fill_empty(problem, theta, tally, state, 0.0)
        after = problem.penalty.update(tally, theta)
        fallen = tally.amount - _gain(tally, theta, after)
        if left == 0 or fallen <= 0.0 or fallen >= before * (1.0 - least_fall):
            break
        before = before if np.isnan(fallen) else fallen
        previous, theta = theta, after
        tally = _assign_again(problem, previous, theta, state, tally)
    return state.labels, theta


def objective(problem: Problem, theta: Theta, tally: Tally, state: State) -> float:
    """J of the labels and theta."""
    return tally.amount + float(problem.penalty.cost(tally, theta, state.labels))


# The half-steps


def assign(
    problem: Problem,
    theta: Theta,
    state: State,
    tally: Tally | None = None,
    cost: Any = None,
) -> Tally:
    """The first half-step: every row to its cheapest cluster, and the sums of the clusters.

    tally: of the labels before; None where no row has one yet. cost: OUT, of each row.
    """
    change = _look(problem, theta, state, np.zeros((2, len(theta.centers))), True, cost)
    return change if tally is None else tally.plus(change, change.amount)


def _assign_again(
    problem: Problem, previous: Theta, theta: Theta, state: State, tally: Tally
) -> Tally:
    """The same after a step of the parameters, only for rows that may have moved.

    For all rows if J is not known before the step, because it could not be updated.
    """
    if np.isnan(tally.amount):
        return assign(problem, theta, state, tally)
    steps = _steps(previous, theta)
    farthest = problem.penalty.squared_steps(previous, theta)
    bare = _drift(steps)
    said = bare if farthest is None else _drift(np.sqrt(steps**2 + farthest))
    drift = np.stack([bare, said])
    change = _look(problem, theta, state, drift, False)
    return tally.plus(change, tally.amount - _gain(tally, previous, theta) - change.amount)


def _steps(before: Theta, after: Theta) -> Floats:
    """How far each centre moved."""
    steps: Floats = np.linalg.norm(after.centers - before.centers, axis=1)
    return steps


def _gain(tally: Tally, before: Theta, after: Theta) -> float:
    """Moving the centres lowers the squared distances of their rows by this exactly.

    That is n (|m - x|² - |m' - x|²) with the mean x of n rows: n |m - m'|² where m' is that mean.
    """
    step = after.centers - before.centers
    beyond = tally.counts[:, None] * after.centers - tally.sums
    return float(tally.counts @ (step**2).sum(axis=1) - 2.0 * (step * beyond).sum())


def _drift(steps: Floats) -> Floats:
    """How much nearer a row may come to another centre than to its own when centres move so far."""
    *_, second, first = np.sort(np.append(steps, 0.0))
    return steps + np.where(steps == first, second, first)


def _look(
    problem: Problem,
    theta: Theta,
    state: State,
    drift: Floats,
    look_at_all: bool,
    cost: Any = None,
) -> Tally:
    """One pass over the rows: the changes by it, in the terms of the kernels."""
    penalty = problem.penalty
    amount, n_changed, sums, counts, mass = problem.rows.sum(
        _look_at_block,
        (Centers.of(theta.centers), penalty.prices(theta), drift, look_at_all),
        problem.weight,
        penalty.entries,
        *state,
        cost,
    )
    return Tally(amount, n_changed, sums, counts, penalty.tables(mass))


def _look_at_block(
    block: Block,
    parameters: tuple[Centers, Floats, Floats, bool],
    weight: Floats | None,
    said: Entries,
    labels: NDArray[np.int32],
    slack: Floats,
    cost: Floats | None,
) -> tuple[Any, ...]:
    centers, prices, *how = parameters
    n_features, n_clusters = centers.transposed.shape
    rows = (block_weight(weight, block), *said)
    sums, counts, mass = (
        np.zeros((n_clusters, n_features)),
        np.zeros(n_clusters),
        np.zeros_like(prices),
    )
    cost = np.empty(block.stop - block.start) if cost is None else cost
    out = (labels, slack, cost, sums, counts, mass)
    if isinstance(block.X, CSRRows):
        at = (centers.transposed, centers.norms)
        done = kernels.assign_csr(*block.X, *rows, *at, prices, *how, *out)
    else:
        done = kernels.assign_dense(block.X, *rows, centers.padded, prices, *how, *out)
    return *done, sums, counts, mass


def means(tally: Tally, theta: Theta) -> Floats:
    """The mean of the rows of each cluster; an empty one stays where it is."""
    filled = tally.counts > nothing(tally.counts)
    centers = theta.centers.copy()
    centers[filled] = tally.sums[filled] / tally.counts[filled, None]
    return centers


def nothing(weights: Floats) -> float:
    """Below this a sum of weights is zero: the rest of 0.1 + 0.2 - 0.3 is rounding."""
    return 1e-12 * float(weights.sum())


# Steps beyond the two half-steps


def _rest(penalty: Penalty, n_moved: int) -> int:
    """How many iterations do without a sweep: some, if it moves few rows and there is a last one.

    A sweep costs as much as a pass over the data (measured with pairs on a fifth of the rows).
    """
    return 2 if penalty.sweeps_at_centers and 100 * n_moved < len(penalty.held) else 0


def _fill_empty(
    problem: Problem, theta: Theta, tally: Tally, state: State, smallest: float
) -> tuple[int, Tally]:
    """Start every empty cluster again at the costliest row that is not alone in its cluster."""
    empty = np.flatnonzero(tally.counts <= nothing(tally.counts))
    if not len(empty):
        return 0, tally
    n_clusters = len(theta.centers)
    cost = problem.rows.column(0.0)
    tally = assign(problem, theta, state, tally, cost)
    if len(problem.penalty.anchored):
        cost[problem.penalty.anchored] = 0.0
    left = cluster_sizes(problem.rows, state.labels, n_clusters, problem.weight)
    row, price = costliest(problem.rows, cost, 2 * n_clusters)
    candidates = iter(zip(row, state.labels[row], price, strict=True))
    n_filled = 0
    for k in empty:
        for r, h, c in candidates:
            if left[h] > 1 and c - problem.penalty.alone(problem, theta, r, k) > smallest:
                left[h] -= 1
                state.labels[r] = k
                n_filled += 1
                break
    return n_filled, count(problem, state.labels, n_clusters) if n_filled else tally


def count(problem: Problem, labels: Any, n_clusters: int) -> Tally:
    """The sums of a partition, from scratch; rows of label -1 are left out."""
    sums, counts = sums_by_label(problem.rows, labels, n_clusters, problem.weight)
    tables = problem.penalty.tables(masses(problem, labels, n_clusters))
    return Tally(np.nan, 0, sums, counts, tables)


def masses(problem: Problem, labels: Any, n_clusters: int) -> Floats:
    """The weight of each entry in each cluster, (n_prices, K)."""
    said, n_prices = problem.penalty.entries, problem.penalty.n_prices
    if not len(said.entry):
        return np.zeros((n_prices, n_clusters))
    row = said.row_of_entry
    of_entry = labels[row]
    weight = said.weight if problem.weight is None else said.weight * problem.weight[row]
    known = of_entry >= 0
    mass: Floats = np.bincount(
        said.entry[known] * n_clusters + of_entry[known],
        weight[known],
        minlength=n_prices * n_clusters,
    ).astype(np.float64)
    return mass.reshape(n_prices, n_clusters)


# Rows that a penalty moves one by one


class Held(NamedTuple):
    """Some rows, gathered once: their numbers, their data as `Blocks`, and their weights."""

    rows: Ints
    data: Blocks
    weight: Floats

    @classmethod
    def of(cls, rows: Blocks, numbers: Ints, weight: Any = None) -> "Held":
        """Gather rows; weight: a column, or None where all rows weigh 1."""
        taken = as_blocks(rows.take(numbers))
        return cls(numbers, taken, np.ones(len(numbers)) if weight is None else weight[numbers])

    def distances(self, centers: Floats) -> Floats:
        """Weighted squared distances to all centres, (rows, K): what moving them costs."""
        out = self.squared(centers)
        out *= self.weight[:, None]
        return out

    def squared(self, centers: Floats) -> Floats:
        """Squared distances to all centres, (rows, K)."""
        out = np.empty((len(self.rows), len(centers)))
        self.data.sum(_distances_of_block, Centers.of(centers), out)
        return out

    def moved(self, tally: Tally, before: Ints, after: Ints, centers: Floats) -> Tally:
        """The tally after these rows went from clusters to others.

        The tables of the penalty stay as they are: a row that pays by entries too needs `count`.
        """
        went = np.flatnonzero(before != after)
        if not len(went):
            return tally
        some = Held.of(self.data, went, self.weight)
        new, old, weight = after[went], before[went], some.weight
        n_clusters, each = len(tally.counts), np.arange(len(went))
        sums = np.zeros_like(tally.sums)
        for first in range(0, len(went), _PICKED):
            part = slice(first, first + _PICKED)
            pick = np.zeros((n_clusters, len(new[part])))
            pick[new[part], each[: pick.shape[1]]] = weight[part]
            pick[old[part], each[: pick.shape[1]]] = -weight[part]
            sums += as_dense(pick @ some.data.data[part])
        counts = np.bincount(new, weight, minlength=n_clusters)
        counts = counts - np.bincount(old, weight, minlength=n_clusters)
        distances = some.distances(centers)
        amount = tally.amount + float((distances[each, new] - distances[each, old]).sum())
        return tally._replace(amount=amount, sums=tally.sums + sums, counts=tally.counts + counts)


def _distances_of_block(block: Block, centers: Centers, out: Floats) -> tuple[int]:
    n_clusters = len(centers.norms)
    if isinstance(block.X, CSRRows):
        X = as_matrix(block.X, len(centers.transposed))
        lengths = np.asarray(X.power(2, dtype=np.float64).sum(axis=1))[:, None]
        out[:] = np.maximum(lengths - 2.0 * (X @ centers.transposed) + centers.norms, 0.0)
    else:
        densities(block.X, centers.padded, np.ones((n_clusters, 1)), np.zeros(n_clusters), out)
    return (0,)
