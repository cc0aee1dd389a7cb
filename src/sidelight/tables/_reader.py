"""Read the columns of a table one by one, with one error about all problems."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.exceptions import UnusableColumnsError
from sidelight.side import brief
from sidelight.tables._columns import (
    MISSING,
    Column,
    as_texts,
    first_texts,
    listed,
    to_numbers,
)
from sidelight.tables._sentences import SentenceVectors, installed_model
from sidelight.tables._table import Table
from sidelight.tables._words import WordVectors

Floats = NDArray[np.float64]
TextVectors = WordVectors | SentenceVectors

# More columns of zeros and ones than this would dominate all others.
_MAX_VALUES = 200
# The limit of models, here before scaling, which would overflow or hide the row.
_MAX_NUMBER = 1e130
_SHOWN = 20  # problems that an error lists
_WORDS = 4  # words on average, from which texts count as sentences
_FEW = 0.02  # the share of cells that may be typing errors in a column of numbers
_DATE = re.compile(
    r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?\s*"
)
_ADVICE = {
    "text": "Text: leave the column out (drop=), or give each value a column (one_hot=).",
    "sentences": "Sentences: turn them into numbers (text=), or leave the column out (drop=).",
    "typo": "Not a number: correct the cell; the others of the column are numbers.",
    "date": "Dates: leave the column out (drop=), or turn them into numbers such as years.",
    "ids": "Row ids: name the column with them (id=).",
    "empty": "Empty: leave the column out (drop=).",
    "missing": 'Missing: fill in (impute="median"), or leave the column out (drop=).',
    "infinite": "Infinite: correct the values.",
    "huge": "Too large: correct the values, or give them in another unit.",
    "crowded": "Too many values: leave the column out (drop=).",
    "new": "New values: correct them, or prepare and fit again with these rows.",
}


class PreparedColumn(NamedTuple):
    """How one column of a table is prepared.

    ``fill`` stands in for a missing number, None if a number may not be missing. ``values`` are
    the texts of a column that became one column of zeros and ones for each of them ("" for a
    missing one); None for a column of numbers. ``text`` turns sentences into numbers; None for
    other columns.

    Examples
    --------
    >>> PreparedColumn("town", values=("Bonn", "Rome")).values
    ('Bonn', 'Rome')
    """

    name: str
    fill: float | None = None
    values: tuple[str, ...] | None = None
    text: TextVectors | None = None

    @property
    def names(self) -> list[str]:
        """The names of its columns in the matrix."""
        if self.text is not None:
            return [f"{self.name}~{k + 1}" for k in range(self.text.n_columns)]
        if self.values is None:
            return [self.name]
        return [f"{self.name}={value or 'missing'}" for value in self.values]


def text_way(text_model: str) -> SentenceVectors | None:
    """The language model for texts; None if only words are used."""
    if text_model == "auto":
        text_model = installed_model() or "tf-idf"
    return None if text_model == "tf-idf" else SentenceVectors.found(text_model)


class Reader:
    """Reads the columns of a table, and collects their problems for one error."""

    def __init__(self, table: Table, ids: ArrayLike | None) -> None:
        self.table, self.has_ids = table, ids is not None
        self.rows = np.arange(1, table.n_rows + 1) if ids is None else np.asarray(ids)
        self.found: dict[str, dict[str, str]] = {kind: {} for kind in _ADVICE}

    def plan(self, name: str, *, hot: bool, impute: str | None) -> PreparedColumn:
        """How a column of the table is prepared, when the preparation is fitted."""
        cells = self.table.columns[name]
        if hot:
            values = _categories(cells)[0]
            if len(values) > _MAX_VALUES:
                self.found["crowded"][name] = (
                    f"{name!r} has {len(values):,} different values, and one-hot makes a column "
                    f"of each; at most {_MAX_VALUES} make sense"
                )
            return PreparedColumn(name, values=tuple(values))
        if _is_text(cells):
            return PreparedColumn(name)  # an error: `_numbers` gives the reason
        known = as_numbers(cells)
        known = known[~np.isnan(known)]
        if not len(known):
            self.found["empty"][name] = f"{name!r} is empty throughout"
        if impute is None or not len(known):
            return PreparedColumn(name)
        return PreparedColumn(name, float(np.median(known) if impute == "median" else known.mean()))

    def text_plan(self, name: str, way: SentenceVectors | None) -> PreparedColumn:
        """How a column of sentences is prepared."""
        cells = self._texts(name)
        if not any(cell is not None and cell.strip() for cell in cells):
            self.found["empty"][name] = f"{name!r} is empty throughout"
            return PreparedColumn(name)
        return PreparedColumn(name, text=WordVectors.fitted(cells) if way is None else way)

    def matrix(self, plan: Sequence[PreparedColumn]) -> Floats:
        """The columns in their own units, or one error about all problems."""
        parts = [
            self._columns(column)
            for column in plan
            if not any(column.name in self.found[kind] for kind in ("empty", "crowded"))
        ]
        self._refuse()
        return np.concatenate(parts, axis=1)

    def _columns(self, column: PreparedColumn) -> Floats:
        """How one column of the table is prepared."""
        cells = self.table.columns[column.name]
        if column.text is not None:
            return column.text.vectors(self._texts(column.name))
        if column.values is not None:
            return self._indicators(column.name, cells, column.values)
        return self._numbers(column.name, cells, column.fill)[:, None]

    def _texts(self, name: str) -> list[str | None]:
        return as_texts(self.table.columns[name])

    def _numbers(self, name: str, cells: Column, fill: float | None) -> Floats:
        """A column of numbers without gaps."""
        if _is_text(cells):
            self._note_text(name, cells)
            return np.empty(self.table.n_rows)
        values = as_numbers(cells)
        missing = np.isnan(values)
        if missing.any() and fill is None:
            n_gaps = int(missing.sum())
            count = "1 missing value" if n_gaps == 1 else f"{n_gaps:,} missing values"
            self.found["missing"][name] = f"{name!r} has {count} (row {self._named(missing)})"
        wild = np.isinf(values)
        if wild.any():
            self.found["infinite"][name] = f"{name!r} is infinite in row {self._named(wild)}"
        huge = ~wild & (np.abs(values) > _MAX_NUMBER)
        if huge.any():
            self.found["huge"][name] = (
                f"{name!r} is too large to compute with in row {self._named(huge)}; numbers go to "
                f"{_MAX_NUMBER:g}"
            )
        return values if fill is None else np.where(missing, fill, values)

    def _indicators(self, name: str, cells: Column, values: Sequence[str]) -> Floats:
        """A column of zeros and ones for each known value."""
        found, codes = _categories(cells)
        place = {value: k for k, value in enumerate(values)}
        known = np.array([place.get(value, -1) for value in found])
        new = [value for value in found if value not in place]
        if new:
            shown = listed([value or "missing" for value in new], 3, quote=True)
            where = self._named(known[codes] < 0)
            self.found["new"][name] = f"{name!r} has values it did not have: {shown} (row {where})"
        return np.eye(len(values))[known[codes]]

    def _refuse(self) -> None:
        """Raise if anything was wrong."""
        sentences = [s for kind, told in self.found.items() if kind != "ids" for s in told.values()]
        if not sentences:
            return
        problems = {kind: list(told) for kind, told in self.found.items() if told}
        raise UnusableColumnsError(
            f"{self.table.path} cannot be used as it is.{_as_list(sentences)}",
            advice=" ".join(_ADVICE[kind] for kind in problems),
            problems=problems,
        )

    def _note_text(self, name: str, cells: Column) -> None:
        assert isinstance(cells, list)
        typos = _typos(cells)
        if typos.any():
            wrong = listed([cells[k] for k in np.flatnonzero(typos)[:3]], 3, quote=True)
            where = self._named(typos)
            self.found["typo"][name] = f"{name!r} is not a number in row {where} ({wrong})"
            return
        if _are_dates(cells):
            shown = listed(first_texts(cells), 2, quote=True)
            self.found["date"][name] = f"{name!r} holds dates ({shown})"
            return
        own = not self.has_ids and None not in cells and len(set(cells)) == self.table.n_rows
        if _are_sentences(cells):
            shown = listed([brief(text) for text in first_texts(cells)[:1]], 1, quote=True)
            self.found["sentences"][name] = f"{name!r} holds sentences ({shown})"
            return
        shown = listed(first_texts(cells), 3, quote=True)
        self.found["text"][name] = (
            f"{name!r} holds text ({shown}{', another in each row' if own else ''})"
        )
        if own:
            self.found["ids"][name] = ""

    def _named(self, wrong: NDArray[np.bool_]) -> str:
        return listed(self.rows[wrong], 5)


def _as_list(sentences: Sequence[str]) -> str:
    """A few problems as sentences, many as lines of their own."""
    if len(sentences) <= 3:
        return f" {'; '.join(sentences)}."
    shown = "".join(f"\n  {sentence}" for sentence in sentences[:_SHOWN])
    more = len(sentences) - _SHOWN
    return shown + (f"\n  and {more} more columns" if more > 0 else "") + "\n"


def _typos(cells: list[str | None]) -> NDArray[np.bool_]:
    """The cells that are not numbers, if they are few among many numbers; else none."""
    distinct = [cell for cell in dict.fromkeys(cells) if cell is not None]
    wrong = {cell for cell in distinct if to_numbers([cell]) is None}
    found = np.array([cell in wrong for cell in cells])
    n_known = sum(cell is not None for cell in cells)
    few = 0 < found.sum() <= max(1, _FEW * n_known) and len(wrong) <= 5
    return found if few and n_known >= 3 else np.zeros(len(cells), dtype=bool)


def _are_dates(cells: list[str | None]) -> bool:
    known = [cell for cell in dict.fromkeys(cells) if cell is not None]
    return bool(known) and all(map(_DATE.fullmatch, known))


def _are_sentences(cells: list[str | None]) -> bool:
    known = [cell for cell in dict.fromkeys(cells) if cell is not None]
    return sum(len(cell.split()) for cell in known) >= _WORDS * max(len(known), 1)


def _is_text(cells: Column) -> bool:
    return isinstance(cells, list) and any(cell is not None for cell in cells)


def as_numbers(cells: Column) -> Floats:
    """A column of numbers; a list has nothing but gaps."""
    return np.full(len(cells), np.nan) if isinstance(cells, list) else cells.astype(np.float64)


def _categories(cells: Column) -> tuple[list[str], NDArray[np.int64]]:
    """The different values as sorted texts, "" for a gap, and for each row the number of its own.

    A number has the same text in every table: a whole one is written without a point even where
    others of its column have one.
    """
    if isinstance(cells, list):
        distinct = list(dict.fromkeys(cells))
        place = {cell: k for k, cell in enumerate(distinct)}
        codes = np.fromiter(map(place.__getitem__, cells), dtype=np.int64, count=len(cells))
        texts = ["" if _is_gap(cell) else str(cell).strip() for cell in distinct]
    else:
        numbers, codes = np.unique(cells, return_inverse=True)
        texts = list(map(_number_text, numbers.tolist()))
    values, order = np.unique(np.array(texts, dtype=str), return_inverse=True)
    return values.tolist(), order[codes]


def _is_gap(cell: str | None) -> bool:
    return cell is None or cell.strip().lower() in MISSING


def _number_text(value: float) -> str:
    if value != value:
        return ""
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 2**53)
    return f"{value:.0f}" if whole else repr(value)
