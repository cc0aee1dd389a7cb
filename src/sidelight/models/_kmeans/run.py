"""One run of partition-level k-means: a pure function from a start to a partition.

The symbols and the objective J are those of _partition_level_kmeans.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import assign as kernels
from sidelight._kernels.relocate import relocate
from sidelight._work import count_work
from sidelight.blocks import Block, Blocks, CSRRows, RowEntries
from sidelight.exceptions import DataError
from sidelight.models._centers import (
    Centers,
    as_dense,
    as_matrix,
    block_weight,
    cluster_sizes,
    costliest,
)
from sidelight.models._fitting import never
from sidelight.models._kmeans.statements import CannotLinks, LabelTable
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Theta(NamedTuple):
    """The parameters: centers (K, d) and profiles (K, C), the g_k."""

    centers: Floats
    profiles: Floats


class Problem(NamedTuple):
    """All that is fixed during a fit."""

    rows: Blocks
    weight: Any  # a column, or None where all rows weigh 1
    said: LabelTable
    side_weight: float
    links: CannotLinks | None

    @classmethod
    def of_rows(cls, rows: Blocks, weight: Any = None) -> "Problem":
        """Plain k-means: nothing is said about the rows."""
        return cls(rows, weight, LabelTable.of(SideInformation.empty(rows.n_samples)), 0.0, None)


class Run(NamedTuple):
    """What one start led to; labels and theta agree: theta assigns the rows to labels."""

    labels: Any
    theta: Theta
    objective: float
    history: list[float]
    n_iter: int
    converged: bool


class State(NamedTuple):
    """What is kept per row: its label, and a bound that tells when to look again (see kernels)."""

    labels: Any
    slack: Any

    @classmethod
    def new(cls, rows: Blocks) -> "State":
        return cls(rows.column(-1, np.int32), rows.column(-np.inf))


class Tally(NamedTuple):
    """What a partition adds up to.

    amount: the data part of J; n_changed: labels that are new; sums (K, d) and counts (K) of the
    rows; number (K, C) is sum W s and total (K, C) is sum W.
    """

    amount: float
    n_changed: int
    sums: Floats
    counts: Floats
    number: Floats
    total: Floats

    def plus(self, change: "Tally", amount: float) -> "Tally":
        """The tally after a change of the partition; amount is told, not added."""
        summed = (a + b for a, b in zip(self[2:], change[2:], strict=True))
        return Tally(amount, change.n_changed, *summed)


def iterate(
    problem: Problem,
    theta: Theta,
    max_iter: int,
    smallest: float = 0.0,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Assign and update until nothing changes; only costs above ``smallest`` restart a cluster.

    Most rows are not looked at in most iterations, and J is carried on by its changes. Before the
    run ends every row is looked at once more, so that labels, centres and J hold without any of it.
    """
    state = State.new(problem.rows)
    tally = assign(problem, theta, state)
    if problem.links is not None:
        state.slack[problem.links.rows] = np.inf  # from now on moved one by one
    history = [_objective(problem, theta, tally, state)]
    stop, converged = each_iteration(), False
    while len(history) < max_iter and not (stop or converged):
        n_moved, tally = _repair(problem, theta, tally, state, smallest)
        previous, theta = theta, update(tally, theta)
        if n_moved:
            tally = assign(problem, theta, state, tally)
        else:
            tally = _assign_again(problem, previous, theta, state, tally)
        # Rounding may lift J by its last digit where the mathematics says that it stays.
        history.append(min(_objective(problem, theta, tally, state), history[-1]))
        stop = each_iteration()
        if tally.n_changed + n_moved == 0:
            tally = assign(problem, theta, state, tally)
            converged = tally.n_changed == 0
    if not converged:
        tally = assign(problem, theta, state, tally)
    objective = _objective(problem, theta, tally, state)
    history[-1] = min(history[-1], objective)
    return Run(state.labels, theta, objective, history, len(history), converged)


def assign(
    problem: Problem,
    theta: Theta,
    state: State,
    tally: Tally | None = None,
    cost: Any = None,
) -> Tally:
    """The first half-step: every row to its cheapest cluster, and what the clusters add up to.

    tally: of the labels before; None where no row has one yet. cost: OUT, of each row.
    """
    change = _look(problem, theta, state, np.zeros((2, len(theta.centers))), True, cost)
    return change if tally is None else tally.plus(change, change.amount)


def _assign_again(
    problem: Problem, previous: Theta, theta: Theta, state: State, tally: Tally
) -> Tally:
    """The same after a step of the parameters, looking only at rows that it may have moved."""
    steps = np.linalg.norm(theta.centers - previous.centers, axis=1)
    # With statements of weight W about a row, the profiles are sqrt(lambda W) times as far away.
    said = problem.said.over_vocabulary((theta.profiles - previous.profiles) ** 2)
    farthest = problem.side_weight * problem.said.most_weight * said.max(axis=1, initial=0.0)
    drift = np.stack([_drift(steps), _drift(np.sqrt(steps**2 + farthest))])
    change = _look(problem, theta, state, drift, False)
    # Moving a centre to the mean of its rows lowers their squared distances by this much exactly.
    return tally.plus(change, tally.amount - float(tally.counts @ steps**2) - change.amount)


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
    said = problem.said
    penalty = _penalty(theta.profiles, said, problem.side_weight)
    amount, n_changed, sums, counts, mass = problem.rows.sum(
        _look_at_block,
        (Centers.of(theta.centers), penalty, drift, look_at_all),
        problem.weight,
        said,
        *state,
        cost,
    )
    return Tally(amount, n_changed, sums, counts, *_said_in(said, mass))


def _look_at_block(
    block: Block,
    parameters: tuple[Centers, Floats, Floats, bool],
    weight: Floats | None,
    said: LabelTable,
    labels: NDArray[np.int32],
    slack: Floats,
    cost: Floats | None,
) -> tuple[Any, ...]:
    centers, *how = parameters
    n_features, n_clusters = centers.transposed.shape
    rows = (block_weight(weight, block), said.stated, said.span, said.entry, said.weight)
    sums, counts = np.zeros((n_clusters, n_features)), np.zeros(n_clusters)
    mass = np.zeros((2 * said.n_columns, n_clusters))
    cost = np.empty(block.stop - block.start) if cost is None else cost
    out = (labels, slack, cost, sums, counts, mass)
    if isinstance(block.X, CSRRows):
        done = kernels.assign_csr(*block.X, *rows, centers.transposed, centers.norms, *how, *out)
    else:
        done = kernels.assign_dense(block.X, *rows, centers.padded, *how, *out)
    return *done, sums, counts, mass


def _said_in(said: LabelTable, mass: Floats) -> tuple[Floats, Floats]:
    """(sum W s, sum W) of each cluster and column, from the weight of each entry."""
    number = mass[: said.n_columns].T
    return number, said.over_vocabulary(number) + mass[said.n_columns :].T


def _penalty(profiles: Floats, said: LabelTable, side_weight: float) -> Floats:
    """What an entry costs in each cluster, (2 C, K): |s - g|² = 1 - 2 g_c + |g|², and g_c²."""
    squares = profiles**2
    is_class = 1.0 - 2.0 * profiles + said.over_vocabulary(squares)
    return side_weight * np.ascontiguousarray(np.hstack([is_class, squares]).T)


def update(tally: Tally, theta: Theta) -> Theta:
    """The second half-step: means of the rows, and means of what is said about them."""
    filled = tally.counts > _nothing(tally.counts)
    centers = theta.centers.copy()
    centers[filled] = tally.sums[filled] / tally.counts[filled, None]
    profiles = np.zeros_like(tally.number)
    said = tally.total > _nothing(tally.total)
    profiles[said] = tally.number[said] / tally.total[said]
    return Theta(centers, profiles)


def _nothing(weights: Floats) -> float:
    """Below this a sum of weights is zero: what is left of 0.1 + 0.2 - 0.3 is no row."""
    return 1e-12 * float(weights.sum())


def _objective(problem: Problem, theta: Theta, tally: Tally, state: State) -> float:
    """J of the labels and theta: data, statements (sum W s - 2 g sum W s + g² sum W), pairs."""
    g = theta.profiles
    side = float((tally.number * (1.0 - 2.0 * g) + tally.total * g**2).sum())
    if problem.links is not None:
        side += problem.links.broken(state.labels)
    return tally.amount + problem.side_weight * side


def _repair(
    problem: Problem, theta: Theta, tally: Tally, state: State, smallest: float
) -> tuple[int, Tally]:
    """What the half-steps cannot do: fill empty clusters, and move rows with cannot-links."""
    n_filled, tally = _fill_empty(problem, theta, tally, state, smallest)
    n_moved, tally = _relocate(problem, tally, state)
    return n_filled + n_moved, tally


def _fill_empty(
    problem: Problem, theta: Theta, tally: Tally, state: State, smallest: float
) -> tuple[int, Tally]:
    """Start every empty cluster again at the costliest row that is not alone in its cluster."""
    empty = np.flatnonzero(tally.counts <= _nothing(tally.counts))
    if not len(empty):
        return 0, tally
    n_clusters = len(theta.centers)
    cost = problem.rows.column(0.0)
    tally = assign(problem, theta, state, tally, cost)
    if problem.links is not None:
        cost[problem.links.rows] = 0.0  # these are moved by _relocate alone
    left = cluster_sizes(problem.rows, state.labels, n_clusters, problem.weight)
    row, price = costliest(problem.rows, cost, 2 * n_clusters)
    candidates = iter(zip(row, state.labels[row], price, strict=True))
    n_filled = 0
    for k in empty:
        found = next(((r, h) for r, h, c in candidates if c > smallest and left[h] > 1), None)
        if found is None:
            break
        left[found[1]] -= 1
        state.labels[found[0]] = k
        n_filled += 1
    return n_filled, count(problem, state.labels, n_clusters) if n_filled else tally


def _relocate(problem: Problem, tally: Tally, state: State) -> tuple[int, Tally]:
    """Move each row with cannot-links to where J is lowest, everything re-estimated: one sweep."""
    links = problem.links
    if links is None:
        return 0, tally
    sums = np.ascontiguousarray((tally.sums - tally.counts[:, None] * links.shift).T)
    counts, number, total = tally.counts.copy(), tally.number.copy(), tally.total.copy()
    labels = state.labels[links.rows]
    # A fall within the rounding of J would let rows wander for ever.
    tolerance = 1e-13 * (abs(tally.amount) + problem.side_weight * float(links.pair_weight.sum()))
    count_work("relocation tests", len(labels) * (len(counts) - 1))
    _, n_moved = relocate(
        *links.for_kernel, problem.side_weight, tolerance,
        labels, sums, (sums**2).sum(axis=0), counts, number, total,
    )  # fmt: skip
    state.labels[links.rows] = labels
    sums = sums.T + counts[:, None] * links.shift
    return n_moved, tally._replace(sums=sums, counts=counts, number=number, total=total)


# What the rows add up to


def group_sums(rows: Blocks, groups: RowEntries, n_groups: int) -> tuple[Floats, Floats]:
    """Weighted sums and counts of groups of rows; groups: of each entry its group and weight."""
    return rows.sum(_group_sums, (n_groups, rows.n_features), groups)


def _group_sums(block: Block, shape: tuple[int, int], groups: RowEntries) -> tuple[Floats, Floats]:
    n_groups, n_features = shape
    group, weight = groups.values
    pick = sparse.csr_array(
        (weight, (group, groups.row)), shape=(n_groups, block.stop - block.start)
    )
    counts: Floats = np.bincount(group, weight, minlength=n_groups).astype(np.float64)
    return as_dense(pick @ as_matrix(block.X, n_features)), counts


def _sums_by_label(
    block: Block, shape: tuple[int, int], labels: NDArray[Any], weight: Floats | None
) -> tuple[Floats, Floats]:
    row = np.flatnonzero(labels >= 0)
    weight = block_weight(weight, block)
    return _group_sums(block, shape, RowEntries(row, (labels[row], weight[row])))


def count(problem: Problem, labels: Any, n_clusters: int) -> "Tally":
    """What a partition adds up to, from nothing; the data part of J is left at 0."""
    said, rows = problem.said, problem.rows
    shape = (n_clusters, rows.n_features)
    sums, counts = rows.sum(_sums_by_label, shape, labels, problem.weight)
    row = said.row_of_entry
    of_entry = labels[row]
    weight = said.weight if problem.weight is None else said.weight * problem.weight[row]
    known = of_entry >= 0
    mass: Floats = np.bincount(
        said.entry[known] * n_clusters + of_entry[known],
        weight[known],
        minlength=2 * said.n_columns * n_clusters,
    ).astype(np.float64)
    mass = mass.reshape(2 * said.n_columns, n_clusters)
    return Tally(0.0, 0, sums, counts, *_said_in(said, mass))


def spread(rows: Blocks, weight: Any) -> tuple[Floats, float]:
    """The mean row, and the mean squared deviation from it (0 for rows that are all alike)."""
    first = rows.block(0).X
    # Moments about a point among the rows: about the origin they would lose digits.
    about = np.zeros(rows.n_features) if isinstance(first, CSRRows) else first.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        total, sums, squares = rows.sum(_moments, about.astype(np.float64), weight)
        step = sums / total
        mean = about + step
        deviation = float(squares / total - step @ step)
        rounding = 1e-28 * float(mean @ mean)  # of a mean of equal rows, squared
    if not np.isfinite(deviation + rounding):
        raise DataError(
            "the values in X are too large: their squares overflow. Scale the data, for example "
            "with sklearn.preprocessing.StandardScaler."
        )
    return mean, deviation if deviation > rounding else 0.0


def _moments(block: Block, about: Floats, weight: Floats | None) -> tuple[Any, Floats, Any]:
    w = block_weight(weight, block)
    with np.errstate(over="ignore", invalid="ignore"):  # a worker has settings of its own
        if isinstance(block.X, CSRRows):
            data = block.X.data.astype(np.float64)
            row_of = np.repeat(np.arange(len(w)), np.diff(block.X.indptr))
            return w.sum(), w @ as_matrix(block.X, len(about)), w[row_of] @ data**2
        away = block.X - about
        return w.sum(), w @ away, w @ np.einsum("ij,ij->i", away, away)
