"""Parquet files, by pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight import _reading
from sidelight._reading import parquet_errors
from sidelight.exceptions import DataError
from sidelight.tables._columns import Column, Contents, check_header


def import_arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise DataError(
            'Parquet files need pyarrow: pip install "sidelight[parquet]", or use .csv.'
        ) from None
    return pyarrow


def read_parquet(path: Path) -> Contents:
    arrow = import_arrow()
    read = read_arrow(path, arrow)
    check_header(path, read.column_names)
    with parquet_errors(path, DataError):  # some damage shows in the texts only
        columns = {name: _from_arrow(arrow, read[name]) for name in read.column_names}
    return Contents(columns, read.num_rows)


def read_arrow(path: Path, arrow: Any) -> Any:
    """The Arrow table of a file."""
    return _reading.read_parquet(path, arrow.parquet, DataError)


def _from_arrow(arrow: Any, column: Any) -> Column:
    kind = column.type
    if arrow.types.is_boolean(kind):
        column = column.cast(arrow.int8())
    elif arrow.types.is_decimal(kind):
        column = column.cast(arrow.float64())
    if arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type):
        numbers: NDArray[Any] = column.to_numpy()
        return numbers
    if arrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    texts = [None if value is None else str(value) for value in column.to_pylist()]
    return np.full(len(texts), np.nan) if arrow.types.is_null(kind) else texts
