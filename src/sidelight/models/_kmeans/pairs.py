"""The cost of broken pairs and labels: the penalty of pairwise constrained k-means.

Rows with pairs are held, and moved one by one: `sweep` is iterated conditional modes, in which the
labels of all other rows stay in force, so that J never rises. Labels are prices of clusters: each
class has one, and its labels are broken elsewhere.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.pairwise import euclidean_distances

from sidelight._kernels.icm import icm_groups, icm_sweep
from sidelight._work import count_work
from sidelight.models._centers import class_centers
from sidelight.models._kmeans.family import Given
from sidelight.models._kmeans.relocation import FEW_ROWS, relocated
from sidelight.models._kmeans.sizes import Units
from sidelight.models._kmeans.statements import LabelTable
from sidelight.models._lloyd import (
    Entries,
    Held,
    Penalty,
    Problem,
    State,
    Tally,
    Theta,
    means,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PairPenalty(Penalty, ABC):
    """Base of penalties with held rows; `_move` and the cost of pairs are theirs."""

    sweeps_at_centers = True

    def __init__(self, given: Given, held: Ints) -> None:
        self.held = held
        self.data = Held.of(given.rows, held, given.weight)
        # One random order for all passes, as the seed gives it.
        self.order = np.random.default_rng(given.seed).permutation(len(held))

    @abstractmethod
    def _move(
        self, unary: Floats, tolerance: float, waiting: NDArray[np.bool_], labels: Ints
    ) -> None:
        """One pass over the waiting held rows, and which wait after it. The last two: IN/OUT."""

    def _own_prices(self, theta: Theta) -> Floats | float:
        """The cost of held rows by their entries, (m, K)."""
        return 0.0

    def _table_change(self, before: Ints, after: Ints, n_clusters: int) -> Floats | float:
        """How the table of entries changes when held rows move."""
        return 0.0

    def sweep(
        self, problem: Problem, theta: Theta, tally: Tally, state: State
    ) -> tuple[int, Tally]:
        """Move held rows to their cheapest clusters, pass by pass, until none moves."""
        if not len(self.held):
            return 0, tally
        unary = self.data.distances(theta.centers)
        # Decreases within the rounding of J would make rows move for ever.
        tolerance = 1e-13 * float(unary.max(initial=0.0))
        unary += self._own_prices(theta)
        before = state.labels[self.held].astype(np.int64)
        after = before.copy()
        waiting = np.ones(len(after), dtype=bool)
        while waiting.any():
            count_work("relocation tests", int(waiting.sum()) * unary.shape[1])
            self._move(unary, tolerance, waiting, after)
        state.labels[self.held] = after
        tally = self.data.moved(tally, before, after, theta.centers)
        change = self._table_change(before, after, len(theta.centers))
        side = (tally.side[0] + change, *tally.side[1:])
        return int((before != after).sum()), tally._replace(side=side)


class GivenPairs(PairPenalty):
    """Each given statement costs its weight, if it is broken, and labels are prices.

    ``Theta.side`` is the cluster of each class column, −1 where classes outnumber clusters.
    """

    def __init__(self, given: Given, must_price: float, cannot_price: float) -> None:
        side = given.side
        pairs = side.canonical.take(side.canonical.is_pair)
        self.pairs = np.stack([pairs.i, pairs.j], axis=1)
        is_must = pairs.sign > 0
        self.pair_price = pairs.weight * np.where(is_must, must_price, cannot_price)
        self.is_must = is_must
        super().__init__(given, np.unique(self.pairs))
        self.place = place = np.searchsorted(self.held, self.pairs)
        m = len(self.held)
        self.finishes = 0 < m <= FEW_ROWS  # of more rows, single ones hardly matter
        two = place[:, 0] != place[:, 1]  # a row and itself: the cost is the same in all clusters
        half = ((np.where(is_must, 1.0, -1.0) * self.pair_price)[two], tuple(place[two].T))
        graph = sparse.coo_array(half, shape=(m, m)).tocsr()
        graph = sparse.csr_array(graph + graph.T)
        self.graph = (graph.indices.astype(np.int64), graph.data, graph.indptr.astype(np.int64))
        self.said = LabelTable.of(side)
        self.entries = Entries(self.said.stated, self.said.span, self.said.entry, self.said.weight)
        self.n_prices = 2 * self.said.n_columns
        self.label_price = np.repeat([must_price, cannot_price], self.said.n_columns)[:, None]
        self.class_means = self._class_means(given)
        row = self.said.row_of_entry
        here = np.flatnonzero(np.isin(row, self.held))
        self.of_held = np.searchsorted(self.held, row[here])
        weight = self.said.weight[here] * self.data.weight[self.of_held]
        self.held_entries = (self.said.entry[here], weight)

    def units(self) -> Units:
        """Rows one by one."""
        return Units(np.arange(len(self.held)), *self.graph)

    def _class_means(self, given: Given) -> Floats:
        """The mean of the labelled rows of each column; of all rows where there are none."""
        entry, row = self.said.entry, self.said.row_of_entry
        positive = entry < self.said.n_columns
        columns, number = np.unique(entry[positive], return_inverse=True)
        found = np.tile(given.mean, (self.said.n_columns, 1))
        if len(columns):
            labels = (row[positive], number, self.said.weight[positive])
            found[columns] = class_centers(given.rows, *labels, None)
        return found

    def _matched(self, gain: Floats) -> Ints:
        """A cluster for each class column, no two alike in a vocabulary: the most gain (C, K)."""
        cluster = np.full(len(gain), -1, dtype=np.int64)
        for first in self.said.first_column:
            own = np.flatnonzero(self.said.vocabulary == self.said.vocabulary[first])
            rows, columns = linear_sum_assignment(gain[own], maximize=True)
            cluster[own[rows]] = columns
        return cluster

    def first(self, problem: Problem, centers: Floats) -> Theta:
        """Each class begins at the centre that is nearest to its mean."""
        if not self.said.n_columns:
            return Theta(centers, np.empty(0, dtype=np.int64))
        return Theta(centers, self._matched(-euclidean_distances(self.class_means, centers)))

    def prices(self, theta: Theta) -> Floats:
        """A label is broken outside of the cluster of its class, a negative one inside."""
        if not self.n_prices:
            return super().prices(theta)
        at_home = np.zeros((self.said.n_columns, len(theta.centers)))
        known = np.flatnonzero(theta.side >= 0)
        at_home[known, theta.side[known]] = 1.0
        return np.ascontiguousarray(self.label_price * np.vstack([1.0 - at_home, at_home]))

    def squared_steps(self, before: Theta, after: Theta) -> Floats | None:
        """Prices change where a class changes its cluster."""
        if not self.n_prices:
            return None
        change = np.abs(self.prices(after) - self.prices(before))
        farthest: Floats = change.max(axis=0, initial=0.0)
        return self.said.most_weight * farthest

    def update(self, tally: Tally, theta: Theta) -> Theta:
        """Means of the rows, and for each class the cluster that breaks the fewest labels."""
        if not self.n_prices:
            return theta._replace(centers=means(tally, theta))
        priced = self.label_price * tally.side[0]
        gain = priced[: self.said.n_columns] - priced[self.said.n_columns :]
        return Theta(means(tally, theta), self._matched(gain))

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """The prices of the labels and of the broken pairs."""
        of_row = labels[self.held]
        one, two = of_row[self.place].T
        broken = (one == two) != self.is_must
        return super().cost(tally, theta, labels) + float(self.pair_price[broken].sum())

    def _own_prices(self, theta: Theta) -> Floats | float:
        entry, weight = self.held_entries
        if not len(entry):
            return 0.0
        shape = (len(self.held), self.n_prices)
        pick = sparse.coo_array((weight, (self.of_held, entry)), shape=shape).tocsr()
        return np.asarray(pick @ self.prices(theta))

    def _table_change(self, before: Ints, after: Ints, n_clusters: int) -> Floats | float:
        entry, weight = self.held_entries
        if not len(entry):
            return 0.0
        change = np.zeros((self.n_prices, n_clusters))
        np.add.at(change, (entry, after[self.of_held]), weight)
        np.add.at(change, (entry, before[self.of_held]), -weight)
        return change

    def _move(
        self, unary: Floats, tolerance: float, waiting: NDArray[np.bool_], labels: Ints
    ) -> None:
        icm_sweep(unary, *self.graph, self.order, tolerance, waiting, labels)

    # Moves with re-estimated centres

    def finish(
        self, problem: Problem, theta: Theta, tally: Tally, state: State, cost: Any
    ) -> tuple[int, Tally]:
        """Rows to clusters that are better for them once the centres have followed."""
        return relocated(problem, theta, tally, state, cost)

    def links(self, theta: Theta, rows: Ints, weight: Any) -> tuple[Ints, Ints, Floats]:
        """Ties between rows (above 0) and separations (below 0), entry by entry.

        The place in ``rows``, the other row, or -1 - k for cluster k (a label), and the price.
        """
        partner, price, span = self.graph
        place = np.searchsorted(self.held, rows)
        place = np.where(np.append(self.held, -1)[place] == rows, place, -1)
        mine = np.flatnonzero(place >= 0)
        found = sparse.csr_array((price, partner, span), shape=(len(self.held),) * 2)
        found = found[place[mine]].tocoo()
        row, home = self.said.row_of_entry, np.append(theta.side, -1)
        number = np.searchsorted(rows, row)
        here = np.append(rows, -1)[number] == row
        entry, number = self.said.entry[here], number[here]
        cluster = home[entry % max(self.said.n_columns, 1)]
        price = self.said.weight[here] * self.label_price[entry, 0]
        price *= np.where(entry < self.said.n_columns, 1.0, -1.0)
        if weight is not None:
            price = price * weight[row[here]]
        at_home = cluster >= 0
        return (
            np.concatenate([mine[found.row], number[at_home]]),
            np.concatenate([self.held[found.col], -1 - cluster[at_home]]),
            np.concatenate([found.data, price[at_home]]),
        )


class ClosurePairs(PairPenalty):
    """Each pair that follows costs 1, as in the paper: counted by groups, never written out."""

    def __init__(self, given: Given, must_price: float, cannot_price: float) -> None:
        closure = given.side.closure()
        apart = closure.apart_graph()
        bound = (closure.sizes > 1) | (np.diff(apart.indptr) > 0)
        super().__init__(given, np.flatnonzero(bound[closure.groups]))
        number = np.cumsum(bound) - 1
        self.group = number[closure.groups[self.held]]
        among = sparse.csr_array(apart[bound][:, bound])
        self.apart = (among.indptr.astype(np.int64), among.indices.astype(np.int64))
        self.prices_of_pairs = (must_price, cannot_price)
        self.group_sizes = np.bincount(self.group, minlength=int(bound.sum())).astype(np.float64)

    def _table(self, labels: Ints, n_clusters: int) -> Floats:
        shape = (len(self.group_sizes), n_clusters)
        counts = np.bincount(self.group * n_clusters + labels, minlength=shape[0] * n_clusters)
        return counts.reshape(shape).astype(np.float64)

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """Pairs of a group in two clusters, and pairs of groups that are apart in one."""
        table = self._table(labels[self.held].astype(np.int64), len(theta.centers))
        span, apart = self.apart
        one = np.repeat(np.arange(len(self.group_sizes)), np.diff(span))
        together = (table[one] * table[apart]).sum(axis=1) - np.where(
            one == apart, table[one].sum(axis=1), 0.0
        )
        must, cannot = self.prices_of_pairs
        split = 0.5 * float((self.group_sizes**2).sum() - (table**2).sum())
        return must * split + cannot * 0.5 * float(together.sum())

    def _move(
        self, unary: Floats, tolerance: float, waiting: NDArray[np.bool_], labels: Ints
    ) -> None:
        table = self._table(labels, unary.shape[1])
        span, apart = self.apart
        groups = (self.group, span, apart, self.order, *self.prices_of_pairs)
        # Each row of a group affects all others, so all of them wait while any moves.
        waiting[:] = icm_groups(unary, *groups, tolerance, table, labels)[1] > 0
