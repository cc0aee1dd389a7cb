"""A field of pairs: their cost, and the loop of k-means with a distortion.

The symbols and the objective J are those of hmrf.py. Squared distances have a loop of their own:
with one metric for all clusters, HMRF-k-means is MPCK-means (metric.py).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels.icm import icm_sweep
from sidelight._work import count_work
from sidelight.blocks import Block
from sidelight.models._centers import as_dense, block_weight, costliest
from sidelight.models._fitting import never
from sidelight.models._kmeans.distortions import SquaredEuclidean
from sidelight.models._kmeans.family import Given
from sidelight.models._kmeans.metric import Pairs, free_rows, learn
from sidelight.models._kmeans.statements import given_pairs
from sidelight.models._lloyd import Penalty, Problem, Run, Theta

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SMALLEST = 1e-3  # of a column's distortion about the mean of all rows: no weight is higher for it


class Field(Penalty):
    """The pairs, whose prices are the same in all clusters; ``Theta.side`` are column weights."""

    def __init__(
        self, given: Given, distortion: SquaredEuclidean, side_weight: float, learn_metric: bool
    ) -> None:
        said = given_pairs(given.side)
        self.distortion, self.learn_metric = distortion, learn_metric
        self.held = np.unique(np.concatenate([said.i, said.j]))
        self.X = as_dense(given.rows.take(self.held))
        self.row_weight = (
            np.ones(len(self.held)) if given.weight is None else given.weight[self.held]
        )
        self.ends = np.searchsorted(self.held, np.stack([said.i, said.j], axis=1))
        self.is_must, self.weight = said.is_must, side_weight * said.weight
        self.order = np.random.default_rng(given.seed).permutation(len(self.held))

    def first(self, problem: Problem, centers: Floats) -> Theta:
        """All columns count the same."""
        ones = np.ones(centers.shape[1])
        starts = self.distortion.parts(centers, ones)[0]
        if self.distortion.linear:  # parts of squared distances are about the mean
            return Theta(self.distortion.centers(np.ones(len(centers)), starts), ones)
        return Theta(starts, ones)

    def prices(self, theta: Theta) -> Floats:
        """The cost of each pair if it is broken, column by column."""
        one, two = self.X[self.ends[:, 0]], self.X[self.ends[:, 1]]
        phi = self.distortion.pairs(one, two, theta.side)
        missing = np.maximum(self.distortion.farthest(theta.side) - phi, 0.0)
        return self.weight[:, None] * np.where(self.is_must[:, None], phi, missing)

    def broken(self, labels: Ints) -> NDArray[np.bool_]:
        """Which pairs are broken."""
        one, two = labels[self.ends].T
        return np.asarray((one == two) != self.is_must)

    def swept(self, theta: Theta, labels: Ints) -> tuple[Ints, float]:
        """Held rows after passes in which each goes to its cheapest cluster, and their cost."""
        if not len(self.held):
            return labels, 0.0
        unary = self.row_weight[:, None] * self.distortion.costs(self.X, *theta)
        price = self.prices(theta).sum(axis=1)
        m = len(self.held)
        half = (np.where(self.is_must, price, -price), tuple(self.ends.T))
        graph = sparse.coo_array(half, shape=(m, m)).tocsr()
        graph = sparse.csr_array(graph + graph.T)
        pairs = (graph.indices.astype(np.int64), graph.data, graph.indptr.astype(np.int64))
        after = labels.copy()
        tolerance = 1e-13 * float(unary.max(initial=0.0))
        waiting = np.ones(m, dtype=bool)
        while waiting.any():
            count_work("relocation tests", int(waiting.sum()) * unary.shape[1])
            icm_sweep(unary, *pairs, self.order, tolerance, waiting, after)
        own = float(unary[np.arange(m), after].sum())
        return after, own + float(price[self.broken(after)].sum())

    def sums(self, X: Floats, labels: Ints, weight: Floats, theta: Theta) -> tuple[Floats, ...]:
        """Counts (K) and the two sums of parts (K, d) of some rows."""
        shape = (len(theta.centers), len(X))
        pick = sparse.coo_array((weight, (labels, np.arange(len(X)))), shape=shape).tocsr()
        counts = np.bincount(labels, weight, minlength=shape[0]).astype(np.float64)
        one, two = self.distortion.parts(X, theta.side)
        return counts, np.asarray(pick @ one), np.asarray(pick @ two)


# The loop, as in metric.py, with one set of column weights


def fit_distortion(problem: Problem, theta: Theta, *how: Any) -> Run:
    """The loop of the distortion: squared distances are those of a metric."""
    loop = learn if isinstance(problem.penalty, Pairs) else fit_field
    return loop(problem, theta, *how)


def fit_field(
    problem: Problem,
    theta: Theta,
    max_iter: int,
    smallest: float = 0.0,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Assign, update centres, update column weights, until no label changes; J never rises."""
    said: Field = problem.penalty
    rows = problem.rows
    labels, cost, free = rows.column(-1, np.int64), rows.column(0.0), free_rows(rows, said.held)
    history: list[float] = []
    stop = converged = False
    while True:
        before = labels[said.held].copy()
        columns = (problem.weight, free, labels, cost)
        amount, n_changed, *sums = rows.sum(_assign_block, (said, theta), *columns)
        after, of_held = said.swept(theta, labels[said.held])
        labels[said.held] = after
        of_rows = said.sums(said.X, after, said.row_weight, theta)
        sums = [a + b for a, b in zip(sums, of_rows, strict=True)]
        total = float(sums[0].sum())
        found = float(amount) + of_held + _normaliser(said, theta, total)
        history.append(min([found, *history[-1:]]))
        stop = each_iteration()
        converged = int(n_changed) + int((before != after).sum()) == 0
        if converged or stop or len(history) == max_iter:
            return Run(labels, theta, found, history, len(history), converged)
        theta = _updated(problem, theta, sums, labels)
        empty = np.flatnonzero(sums[0] <= 0)
        if len(empty):  # the centre of an empty cluster may be anywhere: where a row pays most
            cost[said.held] = 0.0
            row, value = costliest(rows, cost, len(empty))
            at_rows = said.first(problem, as_dense(rows.take(row[value > smallest]))).centers
            theta.centers[empty[: len(at_rows)]] = at_rows


def _normaliser(said: Field, theta: Theta, total: float) -> float:
    """The term in place of log Z."""
    if not (said.learn_metric and said.distortion.linear):
        return 0.0
    return -total * float(np.log(theta.side).sum())


def _assign_block(
    block: Block,
    how: tuple[Field, Theta],
    weight: Floats | None,
    free: NDArray[np.bool_],
    labels: Ints,
    cost: Floats,
) -> tuple[Any, ...]:
    said, theta = how
    X = np.asarray(block.X, dtype=np.float64)
    w = block_weight(weight, block)
    costs = said.distortion.costs(X, *theta)
    new = costs.argmin(axis=1)
    n_changed = int(((labels != new) & free).sum())
    cost[:] = costs[np.arange(len(X)), new] * w
    # Before the first sweep held rows are where the data put them.
    labels[:] = np.where(free | (labels < 0), new, labels)
    return float(cost[free].sum()), n_changed, *said.sums(X[free], new[free], w[free], theta)


def _updated(problem: Problem, theta: Theta, sums: list[Floats], labels: Ints) -> Theta:
    """The best centres, and column weights that are best or at least better."""
    said: Field = problem.penalty
    counts = sums[0]
    filled = counts > 0
    centers = theta.centers.copy()
    centers[filled] = said.distortion.centers(counts[filled], sums[1][filled])
    theta = Theta(centers, theta.side)
    if not said.learn_metric:
        return theta
    of_held = labels[said.held]
    if not said.distortion.linear:
        return _gradient_step(problem, theta, labels)
    plain = Theta(centers, np.ones_like(theta.side))
    broken = said.prices(plain)[said.broken(of_held)].sum(axis=0)
    within = said.distortion.within(*(table[filled] for table in sums))
    everything = said.distortion.within(*(table.sum(axis=0, keepdims=True) for table in sums))
    # Convex in each weight, so that the limit gives the best value below it.
    bracket = np.maximum(within + broken, _SMALLEST * np.where(everything > 0, everything, 1.0))
    return Theta(centers, float(counts.sum()) / bracket)


def _gradient_step(problem: Problem, theta: Theta, labels: Ints) -> Theta:
    """Weights of columns for the cosine: a step downhill that is halved until J falls."""
    said: Field = problem.penalty
    of_held = labels[said.held]

    def cost(at: Theta) -> float:
        amount = problem.rows.sum(_cost_block, (said, at), problem.weight, labels)[0]
        return float(amount) + float(said.prices(at)[said.broken(of_held)].sum())

    slope = problem.rows.sum(_slope_block, (said, theta), problem.weight, labels)[0]
    scale = float(np.abs(slope).max())
    now, length = cost(theta), 0.5
    while scale > 0 and length > 1e-3:
        other = theta.side * np.exp(-length * slope / scale)
        tried = Theta(theta.centers, np.clip(other / other.mean(), 1e-3, 1e3))
        if cost(tried) < now:
            return tried
        length /= 2.0
    return theta


def _cost_block(
    block: Block, how: tuple[Field, Theta], weight: Floats | None, labels: Ints
) -> tuple[float]:
    said, theta = how
    costs = said.distortion.costs(np.asarray(block.X, dtype=np.float64), *theta)
    return (float((costs[np.arange(len(costs)), labels] * block_weight(weight, block)).sum()),)


def _slope_block(
    block: Block, how: tuple[Field, Theta], weight: Floats | None, labels: Ints
) -> tuple[Floats]:
    """The derivative of the cost of the rows by the logarithm of each weight."""
    _, (centers, columns) = how
    X = np.asarray(block.X, dtype=np.float64) * np.sqrt(columns)
    M = (centers * np.sqrt(columns))[labels]
    X = X / np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
    M = M / np.maximum(np.linalg.norm(M, axis=1), 1e-300)[:, None]
    along = (X * M).sum(axis=1)[:, None]
    slope = -(X * M) + 0.5 * along * (X**2 + M**2)
    return (block_weight(weight, block) @ slope,)
