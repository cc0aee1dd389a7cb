"""From the columns of a table to a matrix, and the same way again for rows to come."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.exceptions import DataError, UnusableColumnsError
from sidelight.tables._columns import MISSING, Column, first_texts, listed, to_numbers
from sidelight.tables._table import Table, as_table

Floats = NDArray[np.float64]

SCALES = ("standard", "minmax", "none")
FILLS = ("median", "mean")
# More columns of zeros and ones than this drown all the others.
_MAX_VALUES = 200
# The limit of models, here before scaling, which would overflow or hide the row.
_MAX_NUMBER = 1e130
_SHOWN = 20  # problems that an error lists
_FEW = 0.02  # the share of cells that may be typing errors in a column of numbers
_DATE = re.compile(
    r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?\s*"
)
_ADVICE = {
    "text": "Text: leave the column out (drop=), or give each value a column (one_hot=).",
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
    """What becomes of one column of a table.

    ``fill`` stands in for a missing number, None if a number may not be missing. ``values`` are
    the texts of a column that became one column of zeros and ones for each of them ("" for a
    missing one); None for a column of numbers.

    Examples
    --------
    >>> PreparedColumn("town", values=("Bonn", "Rome")).values
    ('Bonn', 'Rome')
    """

    name: str
    fill: float | None = None
    values: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Preparation:
    """How a table becomes a matrix: fitted to one table, applied to others in the same way.

    It is plain data: texts, numbers and tuples. `prepare` makes one.

    Parameters
    ----------
    columns : tuple of PreparedColumn
        The columns to use, in their order.
    scale : {"standard", "minmax", "none"}
        How the columns of the matrix are made comparable: ``(x - offset) / factor`` (mean 0 and
        standard deviation 1), ``x * factor + offset`` (from 0 to 1), or as they are.
    offset, factor : tuple of float
        The numbers of that, one for each column of the matrix; empty where nothing is scaled.

    Examples
    --------
    >>> import json
    >>> import pandas as pd
    >>> people = pd.DataFrame({"height": [1.5, None, 2.0], "town": ["Bonn", "Rome", "Bonn"]})
    >>> prepared = prepare(people, one_hot=["town"], impute="mean", scale="minmax")
    >>> prepared.names
    ['height', 'town=Bonn', 'town=Rome']
    >>> kept = json.dumps(prepared.preparation.to_dict())
    >>> new = pd.DataFrame({"town": ["Rome", "Rome"], "height": [1.75, None]})
    >>> Preparation.from_dict(json.loads(kept)).apply(new)
    array([[0.5, 0. , 1. ],
           [0.5, 0. , 1. ]])
    """

    columns: tuple[PreparedColumn, ...]
    scale: str = "none"
    offset: tuple[float, ...] = ()
    factor: tuple[float, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns of the matrix."""
        names: list[str] = []
        for name, _, values in self.columns:
            names += [name] if values is None else [f"{name}={v or 'missing'}" for v in values]
        return names

    def apply(self, table: Any, *, ids: ArrayLike | None = None) -> Floats:
        """The matrix of a table that has these columns, among others and in any order.

        Parameters
        ----------
        table : Table, data frame or path
            The rows.
        ids : array, optional
            The ids by which errors name rows; by default their numbers, counted from 1.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        texts = [column.name for column in self.columns if column.values is not None]
        table = as_table(table, text=texts)
        table.check_names(column.name for column in self.columns)
        return self._scaled(_Reader(table, ids).matrix(self.columns))

    def _scaled(self, X: Floats) -> Floats:
        if self.scale == "none":
            return X
        offset, factor = np.array(self.offset), np.array(self.factor)
        return (X - offset) / factor if self.scale == "standard" else X * factor + offset

    def to_dict(self) -> dict[str, Any]:
        """The preparation as texts, numbers, lists and dicts, ready for JSON."""
        columns = [
            {"name": name, "fill": fill, "values": None if values is None else list(values)}
            for name, fill, values in self.columns
        ]
        scaling = {"offset": list(self.offset), "factor": list(self.factor)}
        return {"columns": columns, "scale": self.scale, **scaling}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Preparation":
        """The preparation that `to_dict` wrote, perhaps read from JSON since.

        Parameters
        ----------
        plain : dict
            What `to_dict` returned.

        Returns
        -------
        Preparation
        """
        try:
            columns = tuple(
                PreparedColumn(
                    str(column["name"]),
                    None if column["fill"] is None else float(column["fill"]),
                    None if column["values"] is None else tuple(map(str, column["values"])),
                )
                for column in plain["columns"]
            )
            offset, factor = (tuple(map(float, plain[key])) for key in ("offset", "factor"))
            found = cls(columns, str(plain["scale"]), offset, factor)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this is not a preparation that to_dict wrote: {error!r}.") from None
        _check_choice("scale", found.scale, SCALES)
        n_numbers = 0 if found.scale == "none" else len(found.names)
        if not len(offset) == len(factor) == n_numbers:
            raise DataError(
                f"the preparation has {len(offset)} offsets and {len(factor)} factors; "
                f"{len(found.names)} columns with scale {found.scale!r} need {n_numbers} of each."
            )
        return found


class Prepared(NamedTuple):
    """A table as a matrix: how it came about, the matrix, its columns, and notes in sentences.

    ``unscaled`` is the matrix in the units of the table, for profiles and pictures.

    Examples
    --------
    >>> import pandas as pd
    >>> prepare(pd.DataFrame({"x": [1.0, 3.0]}), scale="none").X
    array([[1.],
           [3.]])
    """

    preparation: Preparation
    X: Floats
    names: list[str]
    unscaled: Floats
    notes: list[str]


def prepare(
    table: Any,
    *,
    columns: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    aside: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    impute: str | None = None,
    scale: str = "standard",
    ids: ArrayLike | None = None,
) -> Prepared:
    """Turn the columns of a table into a matrix of comparable numbers.

    Parameters
    ----------
    table : Table, data frame or path
        The rows. A data frame may be of pandas, polars or pyarrow.
    columns : str or sequence of str
        The columns to use; by default all that hold data.
    drop : str or sequence of str
        Columns to leave out.
    aside : str or sequence of str
        Columns to leave out unless ``columns`` names them: ids, labels, true classes.
    one_hot : str or sequence of str
        Columns whose values become columns of zeros and ones, named ``column=value``; a missing
        value is a value.
    impute : {"median", "mean"}, optional
        What stands in for a missing number; without it one is an error.
    scale : {"standard", "minmax", "none"}, default="standard"
        Mean 0 and standard deviation 1, from 0 to 1, or in their own units.
    ids : array, optional
        The ids by which errors name rows; by default their numbers, counted from 1.

    Returns
    -------
    Prepared
        The preparation, the matrix, the names of its columns, the matrix before it was scaled, and
        notes.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"height": [1.5, None, 2.0], "name": ["ann", "bob", "cy"]})
    >>> prepared = prepare(people, drop=["name"], impute="median", scale="minmax")
    >>> prepared.X.ravel()
    array([0. , 0.5, 1. ])
    >>> prepared.notes
    ['table: 3 rows, clustered by 1 columns.', 'Not used to cluster: name.',
     '1 missing values were replaced by the median of their column.',
     'Columns were scaled to run from 0 to 1.']
    """
    table = as_table(table)
    _check_choice("scale", scale, SCALES)
    if impute is not None:
        _check_choice("impute", impute, FILLS)
    columns, drop, aside, one_hot = map(_as_names, (columns, drop, aside, one_hot))
    used = _used_columns(table, columns, drop, [*aside, *one_hot])
    # A column with one value says nothing; one that was asked for by name stays.
    constant = [] if columns else [name for name in used if _is_constant(table.columns[name])]
    if len(constant) < len(used):
        used = [name for name in used if name not in constant]
    used += [name for name in one_hot if name not in used]
    table.check_names(used)
    if not used:
        raise DataError(f"{table.path}: no column is left to cluster by.")
    reader = _Reader(table, ids)
    plan = tuple(reader.plan(name, hot=name in one_hot, impute=impute) for name in used)
    unscaled = reader.matrix(plan)
    preparation = Preparation(plan, scale, *_fit_scale(unscaled, scale))
    X, names = preparation._scaled(unscaled), preparation.names
    notes = [*_notes(table, preparation, impute), *table.notes]
    if constant and constant[0] not in used:
        notes.append(f"Left out, because they have one value throughout: {listed(constant, 10)}.")
    return Prepared(preparation, X, names, unscaled, notes)


# The steps of prepare


def _check_choice(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise DataError(f"unknown {what} {value!r}; known: {', '.join(known)}.")


def _as_names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _used_columns(
    table: Table, columns: Sequence[str], drop: Sequence[str], aside: Sequence[str]
) -> list[str]:
    """The columns to cluster by, each once, in the order given or in that of the table."""
    table.check_names([*columns, *drop, *aside])
    if columns:
        return [name for name in dict.fromkeys(columns) if name not in drop]
    left_out = {*drop, *aside, *table.aside}
    return [name for name in table.columns if name not in left_out]


def _is_constant(cells: Column) -> bool:
    """Whether a column of numbers without gaps has one value, in more than one row."""
    if isinstance(cells, list) or len(cells) < 2:
        return False
    return bool((cells == cells[0]).all())


def _fit_scale(X: Floats, scale: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Offsets and factors, as scikit-learn computes them."""
    if scale == "none":
        return (), ()
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    if scale == "standard":
        standard = StandardScaler().fit(X)
        return tuple(standard.mean_.tolist()), tuple(standard.scale_.tolist())
    minmax = MinMaxScaler().fit(X)
    return tuple(minmax.min_.tolist()), tuple(minmax.scale_.tolist())


def _notes(table: Table, preparation: Preparation, impute: str | None) -> list[str]:
    """What was done to the table, in sentences."""
    n_columns = len(preparation.names)
    notes = [f"{table.path.name}: {table.n_rows:,} rows, clustered by {n_columns:,} columns."]
    used = {column.name for column in preparation.columns}
    unused = [name for name in table.columns if name not in used]
    if unused:
        shown = ", ".join(unused[:10]) + (", …" if len(unused) > 10 else "")
        notes.append(f"Not used to cluster: {shown}.")
    if impute is not None:
        numbers = (table.columns[c.name] for c in preparation.columns if c.values is None)
        gaps = sum(int(np.isnan(_as_numbers(cells)).sum()) for cells in numbers)
        notes.append(f"{gaps:,} missing values were replaced by the {impute} of their column.")
    words = {
        "standard": "Columns were standardised (mean 0, standard deviation 1).",
        "minmax": "Columns were scaled to run from 0 to 1.",
        "none": "Columns were used in their own units.",
    }
    return [*notes, words[preparation.scale]]


class _Reader:
    """Reads the columns of a table, and collects what is wrong with them for one error."""

    def __init__(self, table: Table, ids: ArrayLike | None) -> None:
        self.table, self.has_ids = table, ids is not None
        self.rows = np.arange(1, table.n_rows + 1) if ids is None else np.asarray(ids)
        self.found: dict[str, dict[str, str]] = {kind: {} for kind in _ADVICE}

    def plan(self, name: str, *, hot: bool, impute: str | None) -> PreparedColumn:
        """What is to become of a column of the table that the preparation is fitted to."""
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
            return PreparedColumn(name)  # which it cannot be: `_numbers` says why
        known = _as_numbers(cells)
        known = known[~np.isnan(known)]
        if not len(known):
            self.found["empty"][name] = f"{name!r} is empty throughout"
        if impute is None or not len(known):
            return PreparedColumn(name)
        return PreparedColumn(name, float(np.median(known) if impute == "median" else known.mean()))

    def matrix(self, plan: Sequence[PreparedColumn]) -> Floats:
        """The columns in their own units, or one error about all that is wrong with them."""
        parts = [
            self._numbers(name, self.table.columns[name], fill)[:, None]
            if values is None
            else self._indicators(name, self.table.columns[name], values)
            for name, fill, values in plan
            if not any(name in self.found[kind] for kind in ("empty", "crowded"))
        ]
        self._refuse()
        return np.concatenate(parts, axis=1)

    def _numbers(self, name: str, cells: Column, fill: float | None) -> Floats:
        """A column of numbers without gaps."""
        if _is_text(cells):
            self._note_text(name, cells)
            return np.empty(self.table.n_rows)
        values = _as_numbers(cells)
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


def _is_text(cells: Column) -> bool:
    return isinstance(cells, list) and any(cell is not None for cell in cells)


def _as_numbers(cells: Column) -> Floats:
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
