"""From a data set's file to what a paper used: small functions on the four arrays."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Arrays(NamedTuple):
    """What a data file holds; ``X`` is an array, or CSR for sparse sets."""

    X: Any
    y: npt.NDArray[np.int64]
    class_names: npt.NDArray[np.str_]
    feature_names: npt.NDArray[np.str_]


Recipe = Callable[[Arrays], Arrays]


def as_it_is(arrays: Arrays) -> Arrays:
    """Change nothing."""
    return arrays


def complete_rows(arrays: Arrays) -> Arrays:
    """Keep the rows without missing values."""
    return _keep_rows(arrays, ~np.isnan(arrays.X).any(axis=1))


def missing_to_zero(arrays: Arrays) -> Arrays:
    """Replace missing values by 0."""
    return arrays._replace(X=np.nan_to_num(arrays.X, nan=0.0))


def without_classes(*names: str) -> Recipe:
    """Drop the rows of these classes."""
    return lambda arrays: _keep_rows(arrays, ~np.isin(arrays.class_names[arrays.y], names))


def rows(start: int, stop: int) -> Recipe:
    """Keep a range of rows."""

    def recipe(arrays: Arrays) -> Arrays:
        place = np.arange(len(arrays.y))
        return _keep_rows(arrays, (place >= start) & (place < stop))

    return recipe


def only_classes(*names: str) -> Recipe:
    """Keep the rows of these classes."""
    return lambda arrays: _keep_rows(arrays, np.isin(arrays.class_names[arrays.y], names))


def in_turn(*recipes: Recipe) -> Recipe:
    """One recipe after another."""

    def recipe(arrays: Arrays) -> Arrays:
        for step in recipes:
            arrays = step(arrays)
        return arrays

    return recipe


def last_column_over_1000(arrays: Arrays) -> Arrays:
    """Divide the last column by 1000."""
    X = arrays.X.copy()
    X[:, -1] /= 1000
    return arrays._replace(X=X)


def from_minus_one_to_one(arrays: Arrays) -> Arrays:
    """Scale each column to [-1, 1]."""
    low, high = arrays.X.min(axis=0), arrays.X.max(axis=0)
    return arrays._replace(X=2 * (arrays.X - low) / (high - low) - 1)


def without_rows(*dropped: int) -> Recipe:
    """Drop single rows, by their number in the file."""
    return lambda arrays: _keep_rows(arrays, ~np.isin(np.arange(len(arrays.y)), dropped))


def over_two_deviations(arrays: Arrays) -> Arrays:
    """Drop constant columns; subtract the mean and divide by twice the standard deviation."""
    arrays = _without_constant_columns(arrays)
    centered = arrays.X - arrays.X.mean(axis=0)
    return arrays._replace(X=centered / (2 * arrays.X.std(axis=0)))


def standardised(arrays: Arrays) -> Arrays:
    """Drop constant columns; subtract the mean, divide by the deviation (N - 1)."""
    arrays = _without_constant_columns(arrays)
    centered = arrays.X - arrays.X.mean(axis=0)
    return arrays._replace(X=centered / arrays.X.std(axis=0, ddof=1))


def two_decimals(arrays: Arrays) -> Arrays:
    """Round to two decimals."""
    return arrays._replace(X=np.round(arrays.X, 2))


def principal_components(n_components: int) -> Recipe:
    """Project on the first principal axes.

    The sign of an axis is free; here its largest loading is positive, so that the numbers do not
    depend on the linear algebra library.
    """

    def recipe(arrays: Arrays) -> Arrays:
        centered = arrays.X - arrays.X.mean(axis=0)
        axes = np.linalg.svd(centered, full_matrices=False)[2][:n_components]
        largest = np.abs(axes).argmax(axis=1)
        axes = axes * np.sign(axes[np.arange(n_components), largest])[:, None]
        names = np.array([f"pc{i + 1}" for i in range(n_components)])
        return arrays._replace(X=centered @ axes.T, feature_names=names)

    return recipe


# scikit-learn ships Fisher's own values of iris; the UCI file differs from them in three cells.
_IRIS_CELLS = (np.array([34, 37, 37]), np.array([3, 1, 2]))


def iris_as_in_scikit_learn(arrays: Arrays) -> Arrays:
    """Fisher's values in the three cells where the UCI file differs."""
    return _with_iris_cells(arrays, [0.2, 3.6, 1.4])


def iris_as_in_uci(arrays: Arrays) -> Arrays:
    """The UCI file's values in those three cells."""
    return _with_iris_cells(arrays, [0.1, 3.1, 1.5])


def _with_iris_cells(arrays: Arrays, values: list[float]) -> Arrays:
    X = arrays.X.copy()
    X[_IRIS_CELLS] = values
    return arrays._replace(X=X)


def _keep_rows(arrays: Arrays, keep: npt.NDArray[np.bool_]) -> Arrays:
    """Keep some rows, and number the classes that are left from 0."""
    left, y = np.unique(arrays.y[keep], return_inverse=True)
    return Arrays(
        arrays.X[keep], y.astype(np.int64), arrays.class_names[left], arrays.feature_names
    )


def _without_constant_columns(arrays: Arrays) -> Arrays:
    varies = arrays.X.min(axis=0) < arrays.X.max(axis=0)
    names = arrays.feature_names
    return arrays._replace(
        X=arrays.X[:, varies], feature_names=names[varies] if len(names) else names
    )
