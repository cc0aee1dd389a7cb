"""Moves of single rows with the centres re-estimated: they may gain even if no row is nearer to
another centre.

A row of weight w that leaves a cluster of weight n for one of weight m changes J by
m w / (m + w) |x - centre there|² - n w / (n - w) |x - centre here|² plus what pairs and labels
cost (Hartigan 1975). The data part is below zero for some rows close to a border, although the
centre here is the nearer one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels.relocate import relocate
from sidelight._work import count_work
from sidelight.blocks import Block, as_blocks
from sidelight.models._centers import as_matrix, block_weight
from sidelight.models._lloyd import Held, Penalty, Problem, State, Tally, Theta, count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# Left out above this number of held rows: at a million rows, a fifth of them held, it took as long
# as the rest of the fit, and 40 MB.
FEW_ROWS = 5_000
# Centres follow the rows that move: rows are tried that would gain
# in a cluster this many times smaller.
_MARGIN = 4.0


class Relocation(Penalty):
    """No penalty but the distance; single rows still move after k-means has converged."""

    finishes = True

    def links(self, theta: Theta, rows: Ints, weight: Any) -> tuple[Ints, Ints, Floats]:
        """No row is tied to another."""
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, np.empty(0)

    def finish(
        self, problem: Problem, theta: Theta, tally: Tally, state: State, cost: Any
    ) -> tuple[int, Tally]:
        """Move rows if J falls when the centres are updated with the move."""
        return relocated(problem, theta, tally, state, cost)


def relocated(
    problem: Problem, theta: Theta, tally: Tally, state: State, cost: Any
) -> tuple[int, Tally]:
    """Move rows one after the other where that lowers J. state.labels: OUT; cost: of each row.

    All held rows are tried. The penalty gives the ties of rows to others and to clusters (`links`).
    Returns (rows moved, the tally after it).
    """
    penalty, n_clusters = problem.penalty, len(theta.centers)
    free = near_ties(problem, theta, tally, state, cost)
    rows = np.union1d(free, penalty.held)
    owner, partner, weight = penalty.links(theta, rows, problem.weight)
    # Partners that do not move, and a row that stands for each cluster: their labels stay.
    others = np.setdiff1d(partner[partner >= 0], rows)
    known = np.concatenate([rows, others])
    order = np.argsort(known)
    place = np.where(
        partner >= 0,
        order[np.minimum(np.searchsorted(known[order], partner), len(known) - 1)],
        len(known) - 1 - partner,
    )
    graph = sparse.csr_array((weight, (owner, place)), shape=(len(rows), len(known) + n_clusters))
    labels = np.concatenate([state.labels[known], np.arange(n_clusters)]).astype(np.int64)
    weight = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
    n_moved = move_units(problem.rows.take(rows), weight, tally, graph, labels)
    if not n_moved:
        return 0, tally
    state.labels[rows] = labels[: len(rows)]
    return n_moved, count(problem, state.labels, n_clusters)


def near_ties(problem: Problem, theta: Theta, tally: Tally, state: State, cost: Any) -> Ints:
    """Rows that are not held, and for which another cluster may be the better one."""
    how = (tally.counts, theta.centers)
    found = problem.rows.sum(_near_ties, how, problem.weight, *state, cost)[0]
    return np.concatenate(found).astype(np.int64)


def _near_ties(
    block: Block,
    how: tuple[Floats, Floats],
    weight: Floats | None,
    labels: Any,
    slack: Floats,
    cost: Floats,
) -> tuple[list[Ints]]:
    """Rows for which another cluster may be the better one; none that is alone in its cluster.

    ``slack`` bounds how much farther any other cluster is, labels included. The clusters themselves
    are examined only if the smallest of them would gain at that distance.
    """
    counts, centers = how
    w = block_weight(weight, block)
    own = counts[labels]
    free = np.isfinite(slack) & (w > 0) & (own > w)
    own, w = np.where(free, own, 1.0), np.where(free, w, 0.0)
    here = cost / np.where(w > 0, w, 1.0)
    limit = here * (1.0 + _MARGIN * w / (own - w))
    filled = counts > 0
    fewest = counts[filled].min()
    least = (np.sqrt(here) + np.maximum(slack, 0.0)) ** 2 * fewest / (fewest + _MARGIN * w)
    row = np.flatnonzero(free & (least < limit))
    if not len(row):
        return ([row],)
    there = Held.of(as_blocks(as_matrix(block.X, centers.shape[1])), row).squared(centers)
    there *= counts / (counts + _MARGIN * w[row, None])
    there[:, ~filled] = np.inf
    there[np.arange(len(row)), labels[row]] = np.inf
    return ([block.start + row[there.min(axis=1) < limit[row]]],)


def move_units(X: Any, weight: Floats, tally: Tally, graph: sparse.csr_array, labels: Ints) -> int:
    """Sweeps over units, rows or means of groups, until none gains by moving. labels: OUT.

    graph (units, labels) ties units (above 0) or keeps them apart, for good where it is -inf.
    Returns the number of moves.
    """
    mean = tally.sums.sum(axis=0) / tally.counts.sum()
    shift = np.zeros_like(mean) if sparse.issparse(X) else mean
    data = sparse.csr_array(X if sparse.issparse(X) else X - shift, dtype=np.float64)
    sums = np.ascontiguousarray((tally.sums - tally.counts[:, None] * shift).T)
    nothing = np.zeros(len(weight), dtype=np.int64)
    no_table = np.zeros((len(tally.counts), 0))
    # Decreases within the rounding of J would make rows move for ever.
    paid = np.abs(graph.data[np.isfinite(graph.data)]).sum()
    tolerance = 1e-13 * (abs(tally.amount) + float(paid))
    arguments = (
        data.data, data.indices.astype(np.int32), data.indptr.astype(np.int64),
        np.asarray(data.power(2).sum(axis=1)), weight, nothing, nothing,
        np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64),
        graph.indices.astype(np.int64), graph.data, graph.indptr.astype(np.int64),
        -1.0, tolerance, labels, sums, (sums**2).sum(axis=0), tally.counts.copy(),
        no_table, no_table.copy(),
    )  # fmt: skip
    n_moved, n_all = -1, 0
    while n_moved:
        count_work("relocation tests", len(weight) * (len(tally.counts) - 1))
        _, n_moved = relocate(*arguments)
        n_all += n_moved
    return n_all
