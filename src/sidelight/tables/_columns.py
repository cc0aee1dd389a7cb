"""Columns of a table: numbers with gaps, or texts with gaps; and wording for errors."""

import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import DataError

Column = NDArray[Any] | list[str | None]

# How people and programs write "nothing here".
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", ".", "#n/a", "<na>")
_NO_NUMBER = re.compile(r"^[ \t]*[+-]?0[0-9]|_", re.MULTILINE)
# What libraries raise on files that are damaged or of another kind.
UNREADABLE = (ValueError, OSError, EOFError, AttributeError, TypeError, BadZipFile, zlib.error)
OBS_NAMES = "obs_names"  # the column with the names of cells


class Contents(NamedTuple):
    """Contents of a file: columns by name, the number of rows, and columns that are not data."""

    columns: dict[str, Column]
    n_rows: int
    aside: tuple[str, ...] = ()


def check_header(path: Path, names: list[str]) -> None:
    if not names:
        raise DataError(f"{path} is empty; its first line has the names of the columns.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or "" in names:
        problem = (
            f"the name {twice[0]!r} twice" if twice and twice[0] else "a column without a name"
        )
        raise DataError(f"{path} has {problem} in its first line; every column needs its own name.")


def numbered(count: int, name: str = "x") -> list[str]:
    return [f"{name}{k}" for k in range(count)]


def to_numbers(cells: list[str]) -> NDArray[np.float64] | None:
    """Cells as numbers, NaN where one is missing; None if they are texts."""
    # "007" is a name, which would lose its zeros, and only Python takes 1_000 for a number.
    if _NO_NUMBER.search("\n".join(cells)):
        return None
    try:
        return np.array(list(map(float, cells)))
    except ValueError:
        gaps = {cell: "nan" for cell in dict.fromkeys(cells) if cell.strip().lower() in MISSING}
    try:
        return np.array(list(map(float, map(gaps.get, cells, cells))))
    except ValueError:
        return None


def as_texts(cells: Column) -> list[str | None]:
    """A column as texts: whole numbers without a point, None where one is missing.

    Parameters
    ----------
    cells : array of numbers or list of texts
        A column of a `Table`.

    Returns
    -------
    list of str or None

    Examples
    --------
    >>> as_texts(np.array([1.0, np.nan]))
    ['1', None]
    """
    if isinstance(cells, list):
        return cells
    return [text or None for text in written(cells)]


def written(cells: Column) -> list[str]:
    """A column as written to a text file; a missing value is an empty cell."""
    if isinstance(cells, list):
        return [text or "" for text in cells]
    if cells.dtype.kind == "f":
        # A gap makes floats of whole numbers; up to 2**53 they can be told apart.
        known = cells[np.isfinite(cells)]
        whole = np.all(np.mod(known, 1) == 0) and np.abs(known).max(initial=0) < 2**53
        form = "{:.0f}".format if whole else repr
        return ["" if value != value else form(value) for value in cells.tolist()]
    return list(map(str, cells.tolist()))


def first_texts(cells: list[str | None]) -> list[str]:
    """The first few different texts that are not numbers."""
    distinct = [text for text in dict.fromkeys(cells) if text is not None]
    return [text for text in distinct if to_numbers([text]) is None] or distinct


def listed(values: Any, limit: int, *, quote: bool = False) -> str:
    """Some values in words, and how many more there are."""
    shown = ", ".join(repr(v) if quote else str(v) for v in list(values[:limit]))
    return f"{shown} and {len(values) - limit:,} more" if len(values) > limit else shown
