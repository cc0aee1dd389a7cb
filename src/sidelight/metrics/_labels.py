"""Accepted forms of a partition, and their codes 0 ... K-1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._wording import counted
from sidelight.exceptions import DataError

Codes = npt.NDArray[np.int64]


def as_codes(labels: npt.ArrayLike, name: str) -> Codes:
    """Number the distinct values of a partition; the numbers carry no order."""
    values = as_values(labels)
    if values.ndim != 1:
        raise DataError(
            f"{name} has shape {values.shape}; give one label per row, in one dimension."
        )
    if len(values) == 0:
        raise DataError(f"{name} is empty; a score needs at least one row.")
    if values.dtype.kind in "OT":
        return _codes_of_objects(values.tolist(), name)
    missing = missing_values(values)
    if missing.any():
        raise _missing_error(name, int(missing.argmax()), int(missing.sum()))
    return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)


def as_values(labels: npt.ArrayLike) -> npt.NDArray[Any]:
    """An array in which 3 is not "3": numpy makes texts of a list's numbers, and of its NaN."""
    values = np.asarray(labels)
    if values.dtype.kind in "US" and not hasattr(labels, "dtype"):
        return np.asarray(labels, dtype=object)
    return values


def paired_codes(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> tuple[Codes, Codes]:
    """The codes of two partitions of the same rows."""
    true, pred = as_codes(labels_true, "labels_true"), as_codes(labels_pred, "labels_pred")
    if len(true) != len(pred):
        raise DataError(
            f"labels_true has {len(true)} rows and labels_pred has {len(pred)}; "
            "give both for the same rows, in the same order."
        )
    return true, pred


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA, recognised without importing pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def missing_values(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which values are missing."""
    if values.dtype.kind in "OT":
        return np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    return np.zeros(len(values), dtype=bool)


def _codes_of_objects(values: Sequence[object], name: str) -> Codes:
    """Number Python objects by hash: they need not be sortable, and sorting is ten times slower."""
    seen: dict[object, int] = {}
    try:
        codes = [seen.setdefault(value, len(seen)) for value in values]
    except TypeError as error:
        raise DataError(f"{name} holds a value that cannot be a label: {error}.") from error
    missing = {code for value, code in seen.items() if is_missing(value)}
    if missing:
        rows = [row for row, code in enumerate(codes) if code in missing]
        raise _missing_error(name, rows[0], len(rows))
    return np.array(codes, dtype=np.int64)


def _missing_error(name: str, row: int, count: int) -> DataError:
    return DataError(
        f"{name} is missing in {counted(count, 'row')}, first in row {row}; leave missing rows "
        "out of both partitions, or call sidelight.metrics.score, which does so for unknown truth."
    )
