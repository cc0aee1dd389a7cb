"""Distances of rows to centres, and of rows to each other, with a weight for each column.

A `Distortion` gives D(x, m) = phi(x, m), the centre that is best for some rows, and the largest phi
that two rows can have. All but the cosine are linear in the column weights.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from sidelight.exceptions import DataError

Floats = NDArray[np.float64]


class Bounds(NamedTuple):
    """Statistics of all rows: the lowest and highest value of each column, and the mean row."""

    low: Floats
    high: Floats
    mean: Floats


@dataclass(frozen=True, eq=False)
class SquaredEuclidean:
    """phi = sum_d a_d (x_d - y_d)²."""

    bounds: Bounds
    linear: ClassVar[bool] = True

    def refuse(self, X: Floats) -> str | None:
        """Why rows cannot be taken, or None."""
        return None

    def costs(self, X: Floats, centers: Floats, columns: Floats) -> Floats:
        """D of each row and centre, (n, K)."""
        scaled = np.sqrt(columns)
        return np.stack([(((X - m) * scaled) ** 2).sum(axis=1) for m in centers], axis=1)

    def parts(self, X: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """The two parts that are summed over the rows of a cluster, each (n, d)."""
        away = X - self.bounds.mean
        return away, away**2

    def centers(self, counts: Floats, sums: Floats) -> Floats:
        """The best centres of clusters that have rows, (K, d)."""
        return self.bounds.mean + sums / counts[:, None]

    def within(self, counts: Floats, sums: Floats, others: Floats) -> Floats:
        """The distortion of each column, for a weight of 1, of all rows from their centres."""
        return np.maximum(others - sums**2 / counts[:, None], 0.0).sum(axis=0)

    def pairs(self, X: Floats, Y: Floats, columns: Floats) -> Floats:
        """Phi of pairs of rows, column by column (P, d)."""
        return columns * (X - Y) ** 2

    def farthest(self, columns: Floats) -> Floats:
        """An upper limit of phi, column by column."""
        return columns * (self.bounds.high - self.bounds.low) ** 2


class GeneralisedKL(SquaredEuclidean):
    """phi = sum_d a_d (x_d log(x_d / m_d) - x_d + m_d), and of two rows both to their mean."""

    def refuse(self, X: Floats) -> str | None:
        """Negative values have no logarithm."""
        return "values below 0, which have no Kullback-Leibler divergence" if X.min() < 0 else None

    @property
    def _smallest(self) -> Floats:
        """Centres are held above this, since the divergence from 0 is infinite."""
        return 1e-9 * np.where(self.bounds.mean > 0, self.bounds.mean, 1.0)

    def costs(self, X: Floats, centers: Floats, columns: Floats) -> Floats:
        """D of each row and centre, (n, K)."""
        own = ((xlogy(X, X) - X) * columns).sum(axis=1)[:, None]
        costs = own - X @ (np.log(centers) * columns).T + (centers * columns).sum(axis=1)
        return np.maximum(costs, 0.0)

    def parts(self, X: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """The rows, and x log x - x."""
        return X, xlogy(X, X) - X

    def centers(self, counts: Floats, sums: Floats) -> Floats:
        """The means, above the limit."""
        return np.maximum(sums / counts[:, None], self._smallest)

    def within(self, counts: Floats, sums: Floats, others: Floats) -> Floats:
        """The distortion of each column from the centres."""
        m = self.centers(counts, sums)
        return np.maximum(others - sums * np.log(m) + counts[:, None] * m, 0.0).sum(axis=0)

    def pairs(self, X: Floats, Y: Floats, columns: Floats) -> Floats:
        """Both rows to their mean."""
        middle = 0.5 * (X + Y)
        return columns * (xlogy(X, X) + xlogy(Y, Y) - 2.0 * xlogy(middle, middle))

    def farthest(self, columns: Floats) -> Floats:
        """Between the lowest and the highest value: it grows as the two move apart."""
        low, high = self.bounds.low[None], self.bounds.high[None]
        return self.pairs(low, high, columns)[0]


class Cosine(SquaredEuclidean):
    """phi = 1 - x'Ay / (|x|_A |y|_A), A the diagonal of the column weights."""

    linear: ClassVar[bool] = False

    def refuse(self, X: Floats) -> str | None:
        """A row of zeros has no direction."""
        return "rows of zeros, which have no direction" if (X == 0).all(axis=1).any() else None

    def _directions(self, X: Floats, columns: Floats) -> Floats:
        scaled = X * np.sqrt(columns)
        return scaled / np.maximum(np.linalg.norm(scaled, axis=1), 1e-300)[:, None]

    def costs(self, X: Floats, centers: Floats, columns: Floats) -> Floats:
        """D of each row and centre, (n, K)."""
        along = self._directions(X, columns) @ self._directions(centers, columns).T
        return np.maximum(1.0 - along, 0.0)

    def parts(self, X: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """The rows at unit length."""
        unit = X / np.maximum(np.linalg.norm(X * np.sqrt(columns), axis=1), 1e-300)[:, None]
        return unit, np.zeros_like(unit)

    def centers(self, counts: Floats, sums: Floats) -> Floats:
        """The mean direction."""
        return sums / counts[:, None]

    def pairs(self, X: Floats, Y: Floats, columns: Floats) -> Floats:
        """All in one column: the cosine is not a sum over columns."""
        one, two = self._directions(X, columns), self._directions(Y, columns)
        return np.maximum(1.0 - (one * two).sum(axis=1), 0.0)[:, None]

    def farthest(self, columns: Floats) -> Floats:
        """Opposite directions."""
        return np.array([2.0])


DISTORTIONS: dict[str, type[SquaredEuclidean]] = {
    "euclidean": SquaredEuclidean,
    "kl": GeneralisedKL,
    "cosine": Cosine,
}


def check_rows(distortion: SquaredEuclidean, X: Any, name: str) -> None:
    """Refuse rows that a distortion cannot take."""
    reason = distortion.refuse(X)
    if reason is not None:
        raise DataError(f'X has {reason}; distortion="{name}" cannot use them. Choose another.')
