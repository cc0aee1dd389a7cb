"""Shared by emissions of counts: reading rows, checking them, and choosing columns."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import counts as kernels
from sidelight.blocks import Block, Blocks, CSRRows
from sidelight.models._centers import as_matrix
from sidelight.models._emissions.emission import Emission, Rows, Statistics

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Above it doubles skip whole numbers, and a bound of such counts has no correct digit.
LARGEST = 2.0**53
_DENSE = np.empty(0, dtype=np.int32)


class CountColumns(NamedTuple):
    """Sums and sums of squares of all columns, and which of them are kept."""

    n_rows: int
    sums: Floats
    squares: Floats
    kept: Ints

    @classmethod
    def of(cls, rows: Blocks, *, if_constant: bool) -> "CountColumns":
        """One pass. Columns of zeros are left out; others that never vary on ``if_constant``.

        Counts are whole numbers, so that the variance of a constant column is 0 exactly.
        """

        def moments(block: Block, _: None) -> tuple[Floats, Floats]:
            sums, squares = np.zeros(rows.n_features), np.zeros(rows.n_features)
            kernels.column_moments(*as_entries(block.X), sums, squares)
            return sums, squares

        sums, squares = rows.sum(moments, None)
        kept = sums > 0
        if not if_constant:
            kept &= rows.n_samples * squares != sums**2
        return cls(rows.n_samples, sums, squares, np.flatnonzero(kept))

    @property
    def place(self) -> Ints:
        """Where a column is kept, -1 where it is not."""
        place = np.full(len(self.sums), -1)
        place[self.kept] = np.arange(len(self.kept))
        return place

    @property
    def shares(self) -> Floats:
        """Of the kept columns in all counts."""
        inside: Floats = self.sums[self.kept]
        return inside / inside.sum() if len(inside) else inside

    def log_density(self, X: Rows, slope: Floats, constant: Floats, *, has_total: bool) -> Floats:
        """constant_k + sum_j x_j slope_kj - sum_j log x_j!, plus log (sum_j x_j)! if has_total."""
        return linear_density(as_entries(X), self.place, slope, constant, has_total=has_total)

    def statistics(self, X: Rows, phi: Floats) -> tuple[Floats, Floats]:
        """Masses (T,) and weighted sums of the kept columns (T, d)."""
        return weighted_counts(as_entries(X), self.place, phi, len(self.kept))

    def matrix(self, X: Rows) -> Any:
        """The kept columns as an array or CSR array of doubles."""
        if isinstance(X, CSRRows):
            return as_matrix(X, len(self.sums)).astype(np.float64)[:, self.kept]
        return np.asarray(X, dtype=np.float64)[:, self.kept]


def as_entries(X: Rows) -> CSRRows:
    """A block as the kernels take it: sparse as it is, dense with an empty list of indices."""
    if isinstance(X, CSRRows):
        return X
    return CSRRows(X.reshape(-1), _DENSE, np.arange(len(X) + 1) * X.shape[1])


def linear_density(
    entries: CSRRows, place: Ints, slope: Floats, constant: Floats, *, has_total: bool
) -> Floats:
    """Densities that are linear in the counts; slope (T, d)."""
    n_components = len(constant)
    out = np.empty((n_components, len(entries.indptr) - 1))
    kernels.linear_density(
        *entries, place, np.ascontiguousarray(slope.T), constant, kernels.LOG_FACTORIALS,
        has_total, out, np.empty(n_components),
    )  # fmt: skip
    return out


def weighted_counts(
    entries: CSRRows, place: Ints, phi: Floats, n_kept: int
) -> tuple[Floats, Floats]:
    """Masses (T,) and sums of phi x, (T, d)."""
    sums = np.zeros((n_kept, len(phi)))
    scratch = np.empty(len(phi)), np.empty(len(phi), dtype=np.int64)
    kernels.weighted_counts(*entries, place, phi, sums, *scratch)
    return phi.sum(axis=1), np.ascontiguousarray(sums.T)


@dataclass(frozen=True)
class OfCounts(Emission):
    """What emissions of counts share: what is counted, and which rows are none."""

    columns: CountColumns
    prior: Any
    takes_sparse = True

    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Masses (T,) and counts (T, d)."""
        return self.columns.statistics(X, phi)

    def unreadable(self, X: Rows) -> NDArray[np.bool_]:
        """Rows with a value that is negative, not a whole number, or above 2**53."""
        if isinstance(X, CSRRows):
            wrong = np.flatnonzero(_is_no_count(X.data))
            of_row = np.zeros(len(X.indptr) - 1, dtype=bool)
            of_row[np.searchsorted(X.indptr, wrong, side="right") - 1] = True
            return of_row
        return np.asarray(_is_no_count(X).any(axis=1))

    def complaint(self, X: Rows) -> str:
        """The first such value, and what to do about it."""
        values = X.data if isinstance(X, CSRRows) else X.ravel()
        value = values[_is_no_count(values)][0]
        if value > LARGEST:
            return (
                f"has {value:g}, and counts are at most 2**53, up to where doubles are exact; "
                'choose emission="gaussian_diag"'
            )
        advice = (
            "shares, logarithms and tf-idf weights are not counts; give the raw counts"
            if value > 0
            else "centred or scaled data are not counts; give the raw counts"
        )
        return (
            f"has {value:g}, and counts are whole numbers from 0; {advice}, or choose "
            'emission="gaussian_diag"'
        )


def roots(matrix: Any) -> Any:
    """2 sqrt(x), which has about unit variance in a Poisson column of any rate."""
    if sparse.issparse(matrix):
        out = matrix.copy()
        out.data = 2.0 * np.sqrt(np.maximum(matrix.data, 0.0))
        return out
    return 2.0 * np.sqrt(np.maximum(matrix, 0.0))


def _is_no_count(values: NDArray[Any]) -> NDArray[np.bool_]:
    return (values < 0) | (values != np.floor(values)) | (values > LARGEST)
