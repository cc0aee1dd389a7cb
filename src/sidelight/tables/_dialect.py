"""Detect how a text table is written: separator, signs in numbers, header."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sidelight._reading import long_cells, refuse_encoding
from sidelight.exceptions import DataError
from sidelight.tables._columns import MISSING

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
DELIMITERS = {".csv": ",", ".tsv": "\t"}
_LINES = 200  # lines that are examined
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
# 1.234.567 and 1.234,5 have points for thousands; 1,234.5 and 1,234,567 have commas.
_POINTS = re.compile(r"[+-]?\d{1,3}((\.\d{3}){2,}|(\.\d{3})+,\d+)")
_COMMAS = re.compile(r"[+-]?\d{1,3}((,\d{3}){2,}|(,\d{3})+\.\d+)")


class Dialect(NamedTuple):
    """Separator, decimal sign and other traits of a text table; `notes` say what was detected."""

    separator: str
    decimal: str = "."
    thousands: str = ""
    header: bool = True
    notes: tuple[str, ...] = ()

    def plain(self, cells: list[str]) -> list[str]:
        """Cells as Python reads numbers: a decimal point, and nothing between thousands."""
        if self.thousands:
            mark = self.thousands
            number = _POINTS if mark == "." else _COMMAS
            cells = [c.replace(mark, "") if number.fullmatch(c.strip()) else c for c in cells]
        if self.decimal == ",":
            cells = [c.replace(",", ".") if _COMMA.fullmatch(c.strip()) else c for c in cells]
        return cells


def find_dialect(
    path: Path, *, separator: str | None = None, decimal: str | None = None
) -> Dialect:
    """Detect the dialect from the first lines of a text table; given values are not detected."""
    separator = {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)
    if separator is not None and separator not in SEPARATORS:
        raise DataError(f"separator {separator!r}; known: , ; tab |.")
    if decimal is not None and decimal not in (".", ","):
        raise DataError(f"decimal sign {decimal!r}; known: a point or a comma.")
    lines = _first_lines(path)
    usual = DELIMITERS.get(path.suffix.lower(), ",")
    found = separator or _separator(lines, usual)
    try:
        with long_cells():
            rows = list(csv.reader(lines, delimiter=found))
    except csv.Error as error:
        raise DataError(f"{path}: {error}; a cell with a quote in it is put in quotes.") from None
    rows = [row for row in rows if "".join(row).strip()]
    notes = []
    if separator is None and found != usual:
        notes.append(f"{path.name} is separated by {SEPARATORS[found]}.")
    header = not _is_headerless(rows)
    if not header:
        notes.append(
            f"The first line of {path.name} holds numbers, so its columns are called x0, x1, …"
        )
    cells = [cell.strip() for row in rows[int(header) :] for cell in row]
    sign, thousands = _signs(cells, decimal)
    if sign == "," and decimal is None:
        notes.append(f"{path.name} has decimal commas.")
    if thousands:
        mark = {".": "points", ",": "commas"}[thousands]
        notes.append(f"Thousands are set apart by {mark}.")
    return Dialect(found, sign, thousands, header, tuple(notes))


def _first_lines(path: Path) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return list(islice(file, _LINES))
    except UnicodeDecodeError as error:
        refuse_encoding(path, error, DataError)


def _separator(lines: Sequence[str], usual: str) -> str:
    """The separator that cuts the lines into the same number of cells, more than one of them."""
    best, most, numbers = usual, 0.0, 0.0
    for mark in dict.fromkeys((usual, *SEPARATORS)):
        try:
            with long_cells():
                rows = [row for row in csv.reader(lines, delimiter=mark) if row]
        except csv.Error:
            continue
        if not rows:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        # Decimal commas split the lines evenly too, but not the line with the names.
        agreement = count / len(rows) if width > 1 and len(rows[0]) == width else 0.0
        share = _share_of_numbers(rows)
        # Keep the usual one unless another splits the lines more evenly, or into more numbers.
        if agreement > most + 0.1 or (agreement and agreement >= most and share > numbers + 0.1):
            best, most, numbers = mark, agreement, share
    return best


def _share_of_numbers(rows: Sequence[Sequence[str]]) -> float:
    cells = [cell.strip() for row in rows for cell in row]
    return sum(map(_is_number, cells)) / max(len(cells), 1)


def _is_headerless(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds numbers throughout, as the next ones do."""
    if len(rows) < 2 or len(set(rows[0])) < 1:
        return False
    first = [cell.strip() for cell in rows[0]]
    return len(first) > 1 and all(_is_number(cell) for cell in first if cell) and any(first)


def _is_number(cell: str) -> bool:
    return any(form.fullmatch(cell) for form in (_PLAIN, _COMMA, _POINTS, _COMMAS))


def _signs(cells: Iterable[str], decimal: str | None) -> tuple[str, str]:
    """The decimal sign, and the sign between thousands or nothing."""
    kinds: Counter[str] = Counter()
    for cell in cells:
        if cell.lower() in MISSING:
            continue
        for name, form in (("points", _POINTS), ("commas", _COMMAS), ("comma", _COMMA)):
            if form.fullmatch(cell):
                kinds[name] += 1
                break
        else:
            if "." in cell and _PLAIN.fullmatch(cell):
                kinds["point"] += 1
    if decimal is None:
        has_commas = kinds["points"] + kinds["comma"]
        decimal = "," if has_commas > kinds["point"] + kinds["commas"] else "."
    thousands = "points" if decimal == "," else "commas"
    return decimal, {"points": ".", "commas": ","}[thousands] if kinds[thousands] else ""
