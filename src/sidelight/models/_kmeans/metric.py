"""The loop of k-means with a learned metric, and the cost of pairs in it.

The symbols and the objective J are those of mpck.py.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels.hard_gaussian import assign_in_metric, densities, moments
from sidelight._kernels.icm import icm_metric
from sidelight._work import count_work
from sidelight.blocks import Block, Blocks
from sidelight.models._centers import Centers, as_dense, block_weight, costliest
from sidelight.models._fitting import never
from sidelight.models._kmeans.family import Given
from sidelight.models._kmeans.statements import given_pairs
from sidelight.models._lloyd import Penalty, Problem, Run, Theta

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Moments = Sequence[Floats]  # weights, sums and squares of clusters: see `Place.no_moments`

_SMALLEST = 1e-3  # of the variance of a column: no cluster is thinner


def learn(
    problem: Problem,
    theta: Theta,
    max_iter: int,
    smallest: float = 0.0,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Assign, update centres, update the metric, until no label changes; J never rises."""
    said: Pairs = problem.penalty
    rows = problem.rows
    labels, free = rows.column(-1, np.int32), free_rows(rows, said.held)
    history: list[float] = []
    stop = converged = False
    while len(history) < max_iter and not (stop or converged):
        before = labels[said.held].copy()
        at = place(theta)
        columns = (problem.weight, free, labels)
        amount, n_changed, *totals = rows.sum(_assign_block, at, *columns, None)
        n_moved, held_cost, of_held = said.sweep(at, before, labels)
        totals = [a + b for a, b in zip(totals, of_held, strict=True)]
        found = float(amount) + held_cost + said.price(theta, labels[said.held])
        history.append(min([found, *history[-1:]]))
        stop = each_iteration()
        converged = n_changed + n_moved == 0
        if converged or stop or len(history) == max_iter:
            break
        updated = said.updated(theta, totals, labels[said.held])
        empty = np.flatnonzero(totals[0] <= 0)
        if len(empty):  # the centre of an empty cluster may be anywhere: where a row pays most
            cost = rows.column(0.0)
            rows.sum(
                _assign_block, at, *columns, cost
            )  # the labels are those of this place already
            cost[said.held] = 0.0
            row, value = costliest(rows, cost, len(empty))
            at_rows = as_dense(rows.take(row[value > smallest]))
            updated.centers[empty[: len(at_rows)]] = at_rows
        theta = updated
    return Run(labels, theta, found, history, len(history), converged)


def free_rows(rows: Blocks, held: Ints) -> Any:
    """A column that says which rows are not held."""
    free = rows.column(True, np.bool_)
    free[held] = False
    return rows.frozen(free)


class Place(NamedTuple):
    """Centres and metrics as the kernels take them."""

    centers: Floats
    scale: Floats
    constant: Floats
    n_clusters: int

    def no_moments(self) -> tuple[Floats, Floats, Floats]:
        """Weights (K), and sums and squares (K, d) of x - centers[k], of no rows."""
        shape = (self.n_clusters, self.scale.shape[1])
        return np.zeros(self.n_clusters), np.zeros(shape), np.zeros(shape)


def place(theta: Theta) -> Place:
    """Centres and metrics, prepared."""
    constant = -np.log(theta.side).sum(axis=1)
    return Place(Centers.of(theta.centers).padded, theta.side, constant, len(theta.centers))


def metric_costs(X: NDArray[Any], at: Place) -> Floats:
    """Squared distances in the metric of each cluster, minus log det: (n, K)."""
    out = np.empty((len(X), at.n_clusters))
    densities(X, at.centers, at.scale, at.constant, out)
    return out


def _assign_block(
    block: Block,
    at: Place,
    weight: Floats | None,
    free: NDArray[np.bool_],
    labels: NDArray[np.int32],
    cost: Floats | None,
) -> tuple[Any, ...]:
    X, totals = np.asarray(block.X), at.no_moments()
    cost = np.empty(len(X)) if cost is None else cost
    done = assign_in_metric(
        X, block_weight(weight, block), free, at.centers, at.scale, at.constant,
        labels, cost, *totals,
    )  # fmt: skip
    return *done, *totals


class Pairs(Penalty):
    """Pairs that cost distances in the metric; ``Theta.side`` is the metric, (K, d)."""

    def __init__(
        self, given: Given, side_weight: float, *, per_cluster: bool = False, learned: bool = True
    ) -> None:
        said = given_pairs(given.side)
        self.per_cluster, self.learned = per_cluster, learned
        self.held = np.unique(np.concatenate([said.i, said.j]))
        self.X = as_dense(given.rows.take(self.held))
        weight = given.weight
        self.row_weight = np.ones(len(self.held)) if weight is None else weight[self.held]
        self.ends = np.searchsorted(self.held, np.stack([said.i, said.j], axis=1))
        self.is_must, self.weight = said.is_must, side_weight * said.weight
        self.squares = (self.X[self.ends[:, 0]] - self.X[self.ends[:, 1]]) ** 2
        low, high, squares, total = given.rows.sum(_box, given.mean, weight)
        self.range2 = (np.max(high, axis=0) - np.min(low, axis=0)) ** 2
        # The inverse of a variance below 1e-300, of a column that underflows, would overflow.
        self.variance = np.where(squares > 1e-300 * total, squares / total, 1.0)
        m = len(self.held)
        both = np.concatenate([self.ends, self.ends[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        signed = np.tile(np.where(self.is_must, self.weight, -self.weight), 2)[order]
        span = np.searchsorted(both[order, 0], np.arange(m + 1))
        number = np.tile(np.arange(len(self.ends)), 2)[order]
        self.graph = (np.ascontiguousarray(both[order, 1]), number, signed, span)
        self.order = np.random.default_rng(given.seed).permutation(m)

    def first(self, problem: Problem, centers: Floats) -> Theta:
        """Plain squared distances; in units of the columns' mean variance if that is learned."""
        unit = float(self.variance.mean()) if self.learned else 1.0
        return Theta(centers, np.full(centers.shape, 1.0 / unit))

    def sweep(self, at: Place, before: Ints, labels: Any) -> tuple[int, float, Moments]:  # type: ignore[override]
        """Move held rows to their cheapest clusters until none moves. labels: OUT, of all rows.

        Returns (the number of changed rows, their cost without pairs, their moments).
        """
        totals = at.no_moments()
        if not len(self.held):
            return 0, 0.0, totals
        unary = metric_costs(self.X, at)
        unary *= self.row_weight[:, None]
        after = labels[self.held].astype(np.int64)
        scale = at.scale if self.per_cluster else at.scale[:1]
        apart, box = self.squares @ scale.T, self.range2 @ at.scale.T
        # Decreases within the rounding of J would make rows move for ever.
        tolerance = 1e-13 * float(max(unary.max(), -unary.min()))
        waiting = np.ones(len(after), dtype=bool)
        how = (apart, box, self.order, tolerance, waiting)
        while waiting.any():
            count_work("relocation tests", int(waiting.sum()) * at.n_clusters)
            icm_metric(unary, *self.graph, *how, after)
        labels[self.held] = after
        own = float(unary[np.arange(len(after)), after].sum())
        moments(self.X, self.row_weight, after, at.centers, *totals)
        return int((before != after).sum()), own, totals

    def _violated(self, labels: Ints) -> tuple[Ints, Ints]:
        one, two = labels[self.ends].T
        return np.flatnonzero(self.is_must & (one != two)), np.flatnonzero(
            ~self.is_must & (one == two)
        )

    def price(self, theta: Theta, labels: Ints) -> float:
        """The cost of the violated pairs."""
        must, cannot = self._violated(labels)
        metric = theta.side
        both = metric[labels[self.ends[must, 0]]] + metric[labels[self.ends[must, 1]]]
        split = 0.5 * (self.squares[must] * both).sum(axis=1)
        room = self.range2 - self.squares[cannot]
        joined = (room * metric[labels[self.ends[cannot, 0]]]).sum(axis=1)
        return float(self.weight[must] @ split + self.weight[cannot] @ joined)

    def updated(self, theta: Theta, totals: Moments, labels: Ints) -> Theta:
        """Means, and the metric that is best for them."""
        counts, sums, squares = totals
        filled = counts > 0
        centers = theta.centers.copy()
        step = sums[filled] / counts[filled, None]
        centers[filled] += step
        if not self.learned:
            return Theta(centers, theta.side)
        bracket = np.zeros_like(squares)
        bracket[filled] = np.maximum(squares[filled] - counts[filled, None] * step**2, 0.0)
        must, cannot = self._violated(labels)
        split = 0.5 * self.weight[must, None] * self.squares[must]
        room = self.weight[cannot, None] * (self.range2 - self.squares[cannot])
        if self.per_cluster:
            for end in (0, 1):
                np.add.at(bracket, labels[self.ends[must, end]], split)
            np.add.at(bracket, labels[self.ends[cannot, 0]], room)
        else:
            bracket = bracket.sum(axis=0) + 2.0 * split.sum(axis=0) + room.sum(axis=0)
            bracket, counts = bracket[None], counts.sum(keepdims=True)
        variance = np.tile(self.variance, (len(bracket), 1))
        some = counts > 0
        variance[some] = np.maximum(bracket[some] / counts[some, None], _SMALLEST * self.variance)
        return Theta(centers, np.ascontiguousarray(np.broadcast_to(1.0 / variance, centers.shape)))


def _box(block: Block, mean: Floats, weight: Floats | None) -> tuple[Any, ...]:
    X = np.asarray(block.X, dtype=np.float64)
    w = block_weight(weight, block)
    return [X.min(axis=0)], [X.max(axis=0)], w @ (X - mean) ** 2, float(w.sum())
