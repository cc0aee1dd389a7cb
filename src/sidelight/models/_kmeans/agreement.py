"""The cost of memberships in partitions by a utility, and the loop of k-means on these alone.

The symbols and the objective J are those of consensus.py.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.blocks import as_blocks
from sidelight.models._kmeans.impurity import Impurity
from sidelight.models._kmeans.statements import LabelTable
from sidelight.models._lloyd import Problem, Run, Tally, Theta, iterate

Floats = NDArray[np.float64]

_SMALLEST_SHARE = 1e-12


class Agreement(Impurity):
    """The cost of memberships and labels by a utility; ``Theta.side``: the profiles g, (K, C)."""

    def __init__(self, said: LabelTable, utility: str, p: float) -> None:
        super().__init__(said, 1.0, None)
        self.utility, self.p = utility, p
        denied = np.unique(said.entry[said.entry >= said.n_columns]) - said.n_columns
        self.squared = np.isin(said.vocabulary, said.vocabulary[denied])

    def first(self, problem: Problem, centers: Floats) -> Theta:
        """Means of one-hot rows over the rows that a partition covers."""
        covered = self.said.over_vocabulary(centers)
        profiles = np.divide(centers, covered, out=np.zeros_like(centers), where=covered > 0)
        return Theta(np.zeros((len(centers), 1)), profiles)

    def prices(self, theta: Theta) -> Floats:
        """The cost of an entry in each cluster, (2 C, K)."""
        squared = super().prices(theta)
        if self.utility == "category":
            return squared
        other = utility_prices(theta.side, self.said.first_column, self.utility, self.p).T
        squared[: len(other)][~self.squared] = other[~self.squared]
        return squared

    def squared_steps(self, before: Theta, after: Theta) -> Floats:
        """Prices that are not squared distances move by as much as they change."""
        if self.utility == "category":
            return super().squared_steps(before, after)
        change = np.abs(self.prices(after) - self.prices(before))
        farthest: Floats = change.max(axis=0, initial=0.0)
        return self.said.most_weight * farthest

    def tables(self, mass: Floats) -> tuple[Floats, ...]:
        """Those of the impurity, and the weight of each entry in each cluster."""
        return *super().tables(mass), mass

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """The cost of all entries."""
        return float((tally.side[2] * self.prices(theta)).sum())

    def exact_cost(self, mass: Floats, theta: Theta, labels: Any) -> float:
        """The same; for the category utility as a sum of nonnegative terms."""
        if self.utility == "category":
            return super().exact_cost(mass, theta, labels)
        return float((mass * self.prices(theta)).sum())


def utility_prices(profiles: Floats, first: Any, utility: str, p: float = 2.0) -> Floats:
    """The cost of one-hot rows by column, (K, C); first: where each partition begins."""
    if not profiles.shape[1]:
        return profiles
    width = np.diff(np.append(first, profiles.shape[1]))

    def whole(table: Floats) -> Floats:
        return np.repeat(np.add.reduceat(table, first, axis=1), width, axis=1)

    if utility == "category":
        return 1.0 - 2.0 * profiles + whole(profiles**2)
    if utility == "entropy":
        return -np.log(np.maximum(profiles, _SMALLEST_SHARE))
    power = 2.0 if utility == "cosine" else p
    length = whole(profiles**power) ** (1.0 / power)
    return 1.0 - (profiles / np.where(length > 0, length, 1.0)) ** (power - 1.0)


def agree(problem: Problem, theta: Theta, *how: Any) -> Run:
    """The loop of k-means on rows that consist of their entries only."""
    nowhere = as_blocks(np.zeros((problem.rows.n_samples, 1)))
    return iterate(problem._replace(rows=nowhere), theta, *how)
