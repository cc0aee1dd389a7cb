"""The loop of k-means with a metric that is learned, and what pairs cost in it.

The symbols and the objective J are those of mpck.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels.hard_gaussian import densities
from sidelight._kernels.icm import icm_metric
from sidelight._work import count_work
from sidelight.blocks import Block
from sidelight.models._centers import Centers, as_dense, block_weight, costliest
from sidelight.models._fitting import never
from sidelight.models._kmeans.family import Given
from sidelight.models._kmeans.statements import given_pairs
from sidelight.models._lloyd import Penalty, Problem, Run, Theta

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
    labels, cost = rows.column(-1, np.int64), rows.column(0.0)
    free = np.ones(rows.n_samples, dtype=bool)
    free[said.held] = False
    history: list[float] = []
    stop = converged = False
    while len(history) < max_iter and not (stop or converged):
        before = labels[said.held].copy()
        at = place(theta)
        amount, n_changed, *moments = rows.sum(
            _assign_block, (at, said.mean), problem.weight, free, labels, cost
        )
        n_moved, held_cost, held_moments = said.sweep(at, before, labels)
        moments = [a + b for a, b in zip(moments, held_moments, strict=True)]
        found = float(amount) + held_cost + said.price(theta, labels[said.held])
        history.append(min([found, *history[-1:]]))
        stop = each_iteration()
        converged = n_changed + n_moved == 0
        if converged or stop or len(history) == max_iter:
            break
        updated = said.updated(theta, moments, labels[said.held])
        empty = np.flatnonzero(moments[0] <= 0)
        if len(empty):  # the centre of an empty cluster may be anywhere: where a row pays most
            row, value = costliest(rows, np.where(free, cost, 0.0), len(empty))
            at_rows = as_dense(rows.take(row[value > smallest]))
            updated.centers[empty[: len(at_rows)]] = at_rows
        theta = updated
    return Run(labels, theta, found, history, len(history), converged)


class Place(NamedTuple):
    """Centres and metrics as the kernels take them."""

    centers: Floats
    scale: Floats
    constant: Floats
    n_clusters: int


def place(theta: Theta) -> Place:
    """Centres and metrics, prepared."""
    constant = -np.log(theta.side).sum(axis=1)
    return Place(Centers.of(theta.centers).padded, theta.side, constant, len(theta.centers))


def metric_costs(X: NDArray[Any], at: Place) -> Floats:
    """Squared distances in the metric of each cluster, minus log det: (n, K)."""
    out = np.empty((len(X), at.n_clusters))
    densities(X, at.centers, at.scale, at.constant, out)
    return out


def _moments(X: Floats, labels: Ints, weight: Floats, n_clusters: int) -> list[Floats]:
    """Counts (K), sums and sums of squares (K, d) of the clusters."""
    shape = (n_clusters, len(X))
    pick = sparse.coo_array((weight, (labels, np.arange(len(X)))), shape=shape).tocsr()
    counts = np.bincount(labels, weight, minlength=n_clusters).astype(np.float64)
    return [counts, np.asarray(pick @ X), np.asarray(pick @ X**2)]


def _assign_block(
    block: Block,
    how: tuple[Place, Floats],
    weight: Floats | None,
    free: NDArray[np.bool_],
    labels: Ints,
    cost: Floats,
) -> tuple[Any, ...]:
    at, mean = how
    X = np.asarray(block.X)
    w = block_weight(weight, block)
    costs = metric_costs(X, at)
    new = costs.argmin(axis=1)
    n_changed = int(((labels != new) & free).sum())
    cost[:] = costs[np.arange(len(X)), new] * w
    # Before the first sweep held rows are where the data put them.
    labels[:] = np.where(free | (labels < 0), new, labels)
    moments = _moments(X[free] - mean, new[free], w[free], at.n_clusters)
    return float(cost[free].sum()), n_changed, *moments


class Pairs(Penalty):
    """Pairs that cost distances in the metric; ``Theta.side`` is the metric, (K, d)."""

    def __init__(self, given: Given, side_weight: float, per_cluster: bool) -> None:
        said = given_pairs(given.side)
        self.mean, self.per_cluster = given.mean, per_cluster
        self.held = np.unique(np.concatenate([said.i, said.j]))
        self.X = as_dense(given.rows.take(self.held))
        weight = given.weight
        self.row_weight = np.ones(len(self.held)) if weight is None else weight[self.held]
        self.ends = np.searchsorted(self.held, np.stack([said.i, said.j], axis=1))
        self.is_must, self.weight = said.is_must, side_weight * said.weight
        self.squares = (self.X[self.ends[:, 0]] - self.X[self.ends[:, 1]]) ** 2
        low, high, squares, total = given.rows.sum(_box, given.mean, weight)
        self.range2 = (np.max(high, axis=0) - np.min(low, axis=0)) ** 2
        self.variance = np.where(squares > 0, squares / total, 1.0)
        m = len(self.held)
        both = np.concatenate([self.ends, self.ends[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        signed = np.tile(np.where(self.is_must, self.weight, -self.weight), 2)[order]
        span = np.searchsorted(both[order, 0], np.arange(m + 1))
        number = np.tile(np.arange(len(self.ends)), 2)[order]
        self.graph = (np.ascontiguousarray(both[order, 1]), number, signed, span)
        self.order = np.random.default_rng(given.seed).permutation(m)

    def first(self, problem: Problem, centers: Floats) -> Theta:
        """Plain squared distances in units of the columns' mean variance."""
        return Theta(centers, np.full(centers.shape, 1.0 / float(self.variance.mean())))

    def sweep(self, at: Place, before: Ints, labels: Any) -> tuple[int, float, list[Floats]]:  # type: ignore[override]
        """Held rows to their cheapest clusters until none moves. labels: OUT, of all rows.

        Returns (how many are elsewhere than before, what they cost by themselves, their moments).
        """
        if not len(self.held):
            return 0, 0.0, _moments(self.X, before, self.row_weight, at.n_clusters)
        unary = self.row_weight[:, None] * metric_costs(self.X, at)
        after = labels[self.held]
        apart, box = self.squares @ at.scale.T, self.range2 @ at.scale.T
        # A fall within the rounding of J would let rows wander for ever.
        tolerance = 1e-13 * float(np.abs(unary).max())
        n_moved = -1
        while n_moved:
            count_work("relocation tests", unary.size)
            _, n_moved = icm_metric(unary, *self.graph, apart, box, self.order, tolerance, after)
        labels[self.held] = after
        own = float(unary[np.arange(len(after)), after].sum())
        moments = _moments(self.X - self.mean, after, self.row_weight, at.n_clusters)
        return int((before != after).sum()), own, moments

    def _violated(self, labels: Ints) -> tuple[Ints, Ints]:
        one, two = labels[self.ends].T
        return np.flatnonzero(self.is_must & (one != two)), np.flatnonzero(
            ~self.is_must & (one == two)
        )

    def price(self, theta: Theta, labels: Ints) -> float:
        """What the violated pairs cost."""
        must, cannot = self._violated(labels)
        metric = theta.side
        both = metric[labels[self.ends[must, 0]]] + metric[labels[self.ends[must, 1]]]
        split = 0.5 * (self.squares[must] * both).sum(axis=1)
        room = self.range2 - self.squares[cannot]
        joined = (room * metric[labels[self.ends[cannot, 0]]]).sum(axis=1)
        return float(self.weight[must] @ split + self.weight[cannot] @ joined)

    def updated(self, theta: Theta, moments: list[Floats], labels: Ints) -> Theta:
        """Means, and the metric that is best for them."""
        counts, sums, squares = moments
        filled = counts > 0
        centers = theta.centers.copy()
        step = sums[filled] / counts[filled, None]
        centers[filled] = self.mean + step
        bracket = np.zeros_like(squares)
        bracket[filled] = np.maximum(squares[filled] - counts[filled, None] * step**2, 0.0)
        must, cannot = self._violated(labels)
        split = 0.5 * self.weight[must, None] * self.squares[must]
        for end in (0, 1):
            np.add.at(bracket, labels[self.ends[must, end]], split)
        room = self.weight[cannot, None] * (self.range2 - self.squares[cannot])
        np.add.at(bracket, labels[self.ends[cannot, 0]], room)
        if not self.per_cluster:
            bracket, counts = bracket.sum(axis=0, keepdims=True), counts.sum(keepdims=True)
        variance = np.tile(self.variance, (len(bracket), 1))
        some = counts > 0
        variance[some] = np.maximum(bracket[some] / counts[some, None], _SMALLEST * self.variance)
        return Theta(centers, np.ascontiguousarray(np.broadcast_to(1.0 / variance, centers.shape)))


def _box(block: Block, mean: Floats, weight: Floats | None) -> tuple[Any, ...]:
    X = np.asarray(block.X, dtype=np.float64)
    w = block_weight(weight, block)
    return [X.min(axis=0)], [X.max(axis=0)], w @ (X - mean) ** 2, float(w.sum())
