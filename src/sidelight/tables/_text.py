"""Text tables (.csv, .tsv), read in pieces, each column of a piece by one C-level pass."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._formulas import unquoted
from sidelight._reading import long_cells, refuse_encoding
from sidelight._wording import counted
from sidelight.exceptions import DataError
from sidelight.tables._columns import (
    MISSING,
    Column,
    Contents,
    check_header,
    listed,
    numbered,
    to_numbers,
)
from sidelight.tables._dialect import Dialect

# Read in pieces: a million lines of cells as texts would take gigabytes before they are numbers.
_PIECE = 50_000


def filled_rows(path: Path, dialect: Dialect) -> Iterator[list[str]]:
    """The lines of a text table that hold anything, the column names first if there are any."""
    try:
        with long_cells(), open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=dialect.separator, strict=True)
            while piece := list(islice(rows, _PIECE)):
                yield from compress(piece, map(str.strip, map("".join, piece)))
    except UnicodeDecodeError as error:
        refuse_encoding(path, error, DataError)
    except csv.Error as error:
        raise DataError(f"{path}: {error}; a cell with a quote in it is put in quotes.") from None


def body_rows(path: Path, dialect: Dialect) -> Iterator[list[str]]:
    """The lines below the column names."""
    return islice(filled_rows(path, dialect), int(dialect.header), None)


def read_text(path: Path, text: Sequence[str], dialect: Dialect) -> Contents:
    """The columns of a text table."""
    first = next(filled_rows(path, dialect), [])
    names = [unquoted(name.strip()) for name in first] if dialect.header else numbered(len(first))
    check_header(path, names)
    as_text = set(text)
    while True:
        columns, n_rows = _read_pieces(path, names, as_text, named=text, dialect=dialect)
        # Numbers in one piece and texts in another: read the whole column again as text.
        mixed = {name for name, pieces in columns.items() if len(set(map(type, pieces))) > 1}
        if not mixed:
            break
        as_text |= mixed
    joined: dict[str, Column] = {}
    for name, pieces in columns.items():
        if pieces and isinstance(pieces[0], list):
            joined[name] = list(chain.from_iterable(pieces))
        else:
            joined[name] = np.concatenate([np.empty(0), *pieces])
    return Contents(joined, n_rows)


def _read_pieces(
    path: Path, names: list[str], as_text: set[str], *, named: Sequence[str], dialect: Dialect
) -> tuple[dict[str, list[Any]], int]:
    """For each column its pieces, numbers or texts, and the number of rows."""
    width, n_rows = len(names), 0
    columns: dict[str, list[Any]] = {name: [] for name in names}
    seen: dict[str, str] = {}  # one object for each distinct text
    rows = body_rows(path, dialect)
    while piece := list(islice(rows, _PIECE)):
        lengths = np.fromiter(map(len, piece), dtype=np.int64, count=len(piece))
        wrong = n_rows + 1 + np.flatnonzero(lengths != width)
        if len(wrong):
            first, others = int(wrong[0]), wrong[1:]
            also = (
                f" Other rows with a wrong number of cells: {listed(others, 5)}."
                if len(others)
                else ""
            )
            found = counted(int(lengths[first - 1 - n_rows]), "cell")
            raise DataError(
                f"{path}: row {first} (counted from 1, without the column names) has {found} where "
                f"there are {counted(width, 'column')}.{also}"
            )
        n_rows += len(piece)
        flat = list(chain.from_iterable(piece))
        for k, name in enumerate(names):
            cells = flat[k::width]
            numbers = None if name in as_text else to_numbers(dialect.plain(cells))
            if numbers is None:
                # In a column of names "NA" may be one; in a column of measurements it is a gap.
                gaps = MISSING[:1] if name in named else MISSING
                columns[name].append(_to_texts(list(map(str.strip, cells)), gaps, seen))
            else:
                columns[name].append(numbers)
    return columns, n_rows


def _to_texts(cells: list[str], gaps: Sequence[str], seen: dict[str, str]) -> list[str | None]:
    """Cells as texts, None where one is missing; the same text is the same object."""
    distinct = dict.fromkeys(cells)
    value = {c: None if c.lower() in gaps else seen.setdefault(c, unquoted(c)) for c in distinct}
    return list(map(value.__getitem__, cells))
