"""Sheets of Excel files (.xlsx), by openpyxl (extra ``excel``)."""

from pathlib import Path
from typing import Any

import numpy as np

from sidelight.exceptions import DataError
from sidelight.tables._columns import MISSING, UNREADABLE, Column, Contents, check_header, listed


def read_excel(path: Path, sheet: str | None) -> tuple[Contents, tuple[str, ...]]:
    """The columns of one sheet, the first one by default, and notes about the choice."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise DataError(
            f"{path}: Excel files need openpyxl: pip install 'sidelight[excel]'."
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (*UNREADABLE, KeyError) as error:
        raise DataError(f"{path} cannot be read as Excel (.xlsx): {error}.") from None
    try:
        names = book.sheetnames
        if sheet is not None and sheet not in names:
            raise DataError(f"{path} has no sheet {sheet!r}; its sheets are {listed(names, 20)}.")
        rows = [
            row
            for row in book[sheet or names[0]].iter_rows(values_only=True)
            if any(cell is not None and str(cell).strip() for cell in row)
        ]
    finally:
        book.close()
    notes = () if sheet or len(names) == 1 else (
        f"{path.name} has {len(names)} sheets; the first, {names[0]!r}, was read.",
    )  # fmt: skip
    return _contents(path, rows), notes


def _contents(path: Path, rows: list[tuple[Any, ...]]) -> Contents:
    if not rows:
        raise DataError(f"{path}: the sheet is empty.")
    header = ["" if name is None else str(name).strip() for name in rows[0]]
    while header and not header[-1]:  # formatted cells beside the table
        header.pop()
    check_header(path, header)
    width = len(header)
    stray = [k for k, row in enumerate(rows[1:], 1) if any(c is not None for c in row[width:])]
    if stray:
        raise DataError(f"{path}: row {listed(stray, 5)} has cells beside the named columns.")
    body = [[*row[:width], *[None] * (width - len(row))] for row in rows[1:]]
    columns = {name: _column([row[k] for row in body]) for k, name in enumerate(header)}
    return Contents(columns, len(body))


def _column(cells: list[Any]) -> Column:
    """Numbers with gaps where all cells are numbers, else texts with gaps."""
    cells = [None if isinstance(c, str) and c.strip().lower() in MISSING else c for c in cells]
    if all(c is None or isinstance(c, (int, float)) for c in cells):
        return np.array([np.nan if c is None else float(c) for c in cells])
    return [None if c is None else _text(c) for c in cells]


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    midnight = hasattr(cell, "hour") and not (cell.hour or cell.minute or cell.second)
    if hasattr(cell, "isoformat"):
        return str(
            cell.date().isoformat() if midnight and hasattr(cell, "date") else cell.isoformat()
        )
    return str(cell).strip()
