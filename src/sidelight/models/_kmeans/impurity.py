"""The penalty of partition-level k-means: the cost of labels, negative labels and cannot-links.

The symbols and the objective J are those of partition_level.py; the loop is in _lloyd.py.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels.relocate import relocate
from sidelight._work import count_work
from sidelight.models._kmeans.statements import CannotLinks, LabelTable
from sidelight.models._lloyd import Entries, Penalty, Problem, State, Tally, Theta, means, nothing

Floats = NDArray[np.float64]


class Impurity(Penalty):
    """A cluster pays for the mix of labels inside it, and for the cannot-links that it breaks.

    ``Theta.side`` are the profiles g_k, (K, C); the tables of a tally are number (K, C), which is
    sum W s, and total (K, C), which is sum W.
    """

    def __init__(self, said: LabelTable, side_weight: float, links: CannotLinks | None) -> None:
        self.said, self.side_weight, self.links = said, side_weight, links
        self.entries = Entries(said.stated, said.span, said.entry, said.weight)
        self.n_prices = 2 * said.n_columns
        self.recounts = bool(len(said.weight)) and said.weight.max() > 1e6 * said.weight.min()
        if links is not None:
            self.held = links.rows

    def prices(self, theta: Theta) -> Floats:
        """The cost of an entry in each cluster, (2 C, K): |s - g|² = 1 - 2 g_c + |g|², and g_c²."""
        squares = theta.side**2
        is_class = 1.0 - 2.0 * theta.side + self.said.over_vocabulary(squares)
        return self.side_weight * np.ascontiguousarray(np.hstack([is_class, squares]).T)

    def squared_steps(self, before: Theta, after: Theta) -> Floats:
        """With statements of weight W about a row, profiles are sqrt(lambda W) times as far off."""
        said = self.said.over_vocabulary((after.side - before.side) ** 2)
        farthest: Floats = said.max(axis=1, initial=0.0)
        return self.side_weight * self.said.most_weight * farthest

    def tables(self, mass: Floats) -> tuple[Floats, ...]:
        """(sum W s, sum W) of each cluster and column."""
        number = mass[: self.said.n_columns].T
        return number, self.said.over_vocabulary(number) + mass[self.said.n_columns :].T

    def update(self, tally: Tally, theta: Theta) -> Theta:
        """Means of the rows, and means of their statements."""
        number, total, *_ = tally.side
        profiles = np.zeros_like(number)
        said = total > (0.0 if self.recounts else nothing(total))
        profiles[said] = number[said] / total[said]
        return Theta(means(tally, theta), profiles)

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """Statements (sum W s - 2 g sum W s + g² sum W), and broken pairs."""
        number, total = tally.side
        g = theta.side
        side = float((number * (1.0 - 2.0 * g) + total * g**2).sum())
        if self.links is not None:
            side += self.links.broken(labels)
        return self.side_weight * side

    def exact_cost(self, mass: Floats, theta: Theta, labels: Any) -> float:
        """As a sum of nonnegative terms: beside a weight of 1e15 a difference would be noise."""
        g = theta.side
        is_class = (1.0 - g) ** 2 + self.said.others_of_vocabulary(g**2)
        side = float((mass * np.hstack([is_class, g**2]).T).sum())
        if self.links is not None:
            side += self.links.broken(labels)
        return self.side_weight * side

    def alone(self, problem: Problem, theta: Theta, row: int, k: int) -> float:
        """No cost: the profile of a cluster of one row is the statement about that row."""
        return 0.0

    def sweep(
        self, problem: Problem, theta: Theta, tally: Tally, state: State
    ) -> tuple[int, Tally]:
        """Move each row with cannot-links to where J is lowest, everything re-estimated.

        Not the sweep of _kernels/icm.py, which keeps the centres fixed: where that ends, moves with
        re-estimated centres and profiles still lower J.
        """
        links = self.links
        if links is None:
            return 0, tally
        sums = np.ascontiguousarray((tally.sums - tally.counts[:, None] * links.shift).T)
        counts, number, total = (a.copy() for a in (tally.counts, *tally.side))
        labels = state.labels[links.rows]
        # Decreases within the rounding of J would make rows move for ever.
        amount = abs(np.nan_to_num(tally.amount))
        tolerance = 1e-13 * (amount + self.side_weight * float(links.pair_weight.sum()))
        count_work("relocation tests", len(labels) * (len(counts) - 1))
        _, n_moved = relocate(
            *links.for_kernel, self.side_weight, tolerance,
            labels, sums, (sums**2).sum(axis=0), counts, number, total,
        )  # fmt: skip
        state.labels[links.rows] = labels
        sums = sums.T + counts[:, None] * links.shift
        amount = np.nan if n_moved else tally.amount
        return n_moved, Tally(amount, tally.n_changed, sums, counts, (number, total))
