"""Data frames, by narwhals."""

from typing import Any

import numpy as np

from sidelight.exceptions import DataError
from sidelight.tables._columns import Column, Contents


def read_frame(frame: Any) -> Contents:
    """The columns of a data frame: numbers as they are, anything else as texts."""
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            "a table is a file, a pandas or polars DataFrame or a pyarrow Table, not "
            f"{type(frame).__name__}; collect a lazy frame first, and give an array to a model."
        ) from None
    except nw.exceptions.DuplicateError as error:
        came = " ".join(str(error).split())
        raise DataError(f"the data frame has a column twice ({came}); drop one.") from None
    names = list(map(str, table.columns))
    if len(set(names)) < len(names):
        raise DataError("the data frame has two columns of one name; rename one.")
    if not names or not len(table):
        raise DataError("the data frame has no rows, or no columns.")
    columns = {str(name): _from_series(table.get_column(name)) for name in table.columns}
    return Contents(columns, len(table))


def _from_series(series: Any) -> Column:
    """A column: numbers and truth values as numbers, anything else as texts."""
    missing = series.is_null().to_numpy().astype(bool)
    if missing.all():
        return np.full(len(series), np.nan)
    if not (series.dtype.is_numeric() or str(series.dtype) == "Boolean"):
        told = zip(missing.tolist(), series.to_list(), strict=True)
        return [None if gap else str(value) for gap, value in told]
    if missing.any():
        values = np.fromiter(series.to_list(), dtype=object, count=len(series))
        values[missing] = np.nan
        return values.astype(np.float64)
    numbers = np.asarray(series.to_numpy())
    if numbers.dtype.kind == "b":
        return numbers.astype(np.int8)
    return numbers if numbers.dtype.kind in "iuf" else numbers.astype(np.float64)  # decimals
