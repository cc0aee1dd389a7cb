"""Tables of the user's own: CSV, TSV, Parquet, .npy, .npz and .h5ad, read by column.

A column is an array of numbers (NaN where a cell is missing) or a list of texts (None where it is).
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sidelight._formulas import BEGINNINGS, quoted
from sidelight._reading import refuse_missing
from sidelight._writing import replacing
from sidelight.exceptions import DataError, UnusableColumnsError
from sidelight.side import from_cell
from sidelight.tables._arrays import read_arrays
from sidelight.tables._columns import (
    MISSING,
    OBS_NAMES,
    Column,
    as_texts,
    listed,
    written,
)
from sidelight.tables._dialect import DELIMITERS, Dialect, find_dialect
from sidelight.tables._excel import read_excel
from sidelight.tables._frames import read_frame
from sidelight.tables._h5ad import read_h5ad, write_h5ad
from sidelight.tables._parquet import import_arrow, read_arrow, read_parquet
from sidelight.tables._text import body_rows, read_text

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_SUFFIXES = (*DELIMITERS, ".txt", ".xlsx", ".parquet", ".npy", ".npz", ".h5ad")


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    r"""A table: columns by name, all of the same length.

    Parameters
    ----------
    path : Path
        Where it came from.
    columns : dict
        By name: an array of numbers, NaN where one is missing, or a list of texts, None where one
        is missing.
    n_rows : int
        The number of rows.
    aside : tuple of str
        Columns that are only used on request: the truth of an .npz file, and the annotations of
        cells in an .h5ad file.
    typed : bool
        Whether a text is a text for certain, as in a data frame. In a file 3 is a number even in a
        column of texts.
    dialect : Dialect, optional
        How a text table is written; it is written back in the same way.
    notes : tuple of str
        What was detected in the file, in sentences.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sidelight.tables import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("who,height,town\nann,1.7,Bonn\nbob,,Rome\n")
    >>> table = read_table(path)
    >>> table
    Table(people.csv: 2 rows; who, height, town)
    >>> table.ids("who")
    array(['ann', 'bob'], dtype='<U3')
    >>> table.columns["height"]
    array([1.7, nan])
    """

    path: Path
    columns: dict[str, Column]
    n_rows: int
    aside: tuple[str, ...] = ()
    typed: bool = False
    dialect: Dialect | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Table({self.path.name}: {self.n_rows:,} rows; {', '.join(self.columns)})"

    def column(self, name: str) -> Column:
        """One column, or an error that lists those that are there."""
        self.check_names([name])
        return self.columns[name]

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse names of columns that the table does not have, with a suggestion."""
        from difflib import get_close_matches

        unknown = [name for name in names if name not in self.columns]
        if unknown:
            # Upper case and blanks at the ends are the most common mistakes.
            spelled = {name.strip().casefold(): name for name in self.columns}
            near = get_close_matches(unknown[0].strip().casefold(), spelled, n=1)
            several = [part.strip() for part in unknown[0].split(",")]
            hint = f" Did you mean {spelled[near[0]]!r}?" if near else ""
            if len(several) > 1 and all(part in self.columns for part in several):
                hint = f" Name each column on its own: {', '.join(several)}."
            raise UnusableColumnsError(
                f"{self.path} has no column {', '.join(map(repr, unknown))}.{hint} "
                f"Its columns are {listed(list(self.columns), 30)}.",
                problems={"absent": unknown},
            )

    def check_new_names(self, names: Iterable[str]) -> None:
        """Refuse names that columns of the table have already."""
        taken = [name for name in names if name in self.columns]
        if taken:
            raise DataError(f"{self.path} has a column {taken[0]!r} already.")

    def to_frame(
        self,
        more: Mapping[str, Sequence[Any]] | None = None,
        *,
        backend: Literal["pandas", "polars", "pyarrow"] = "pandas",
    ) -> Any:
        """The table with more columns, as a data frame.

        Parameters
        ----------
        more : dict, optional
            Further columns by name.
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            The library of the frame.

        Returns
        -------
        data frame
        """
        import narwhals as nw

        known = ("pandas", "polars", "pyarrow")
        if backend not in known:
            raise DataError(f"unknown backend {backend!r}; known: {', '.join(known)}.")
        self.check_new_names(more or ())
        columns: dict[str, Any] = {**self.columns, **(more or {})}
        return nw.from_dict(columns, backend=backend).to_native()

    def ids(self, name: str | None) -> NDArray[Any] | None:
        """A column of row ids, unique and none missing: whole numbers where all are, else texts.

        Without a column the rows have no ids, except cells, which have names.
        """
        if name is None:
            if OBS_NAMES not in self.aside:
                return None
            name = OBS_NAMES
        cells = self.column(name)
        if not isinstance(cells, list) and cells.dtype.kind in "iu":
            ids = cells
        else:
            texts = as_texts(cells)
            empty = np.flatnonzero([text is None for text in texts])
            if len(empty):
                raise DataError(
                    f"{self.path}: the id column {name!r} is empty in row "
                    f"{listed(empty + 1, 5)} (counted from 1); every row needs an id."
                )
            ids = np.array(texts, dtype=str)
            if name not in self.aside and all(map(_WHOLE.fullmatch, ids.tolist())):
                ids = ids.astype(np.int64)
        values, counts = np.unique(ids, return_counts=True)
        if (counts > 1).any():
            raise DataError(
                f"{self.path}: some ids in column {name!r} name more than one row: "
                f"{listed(values[counts > 1], 5)}; every row needs a unique id."
            )
        return ids

    def labels(self, name: str) -> list[Any]:
        """A column of partial labels, None where unknown, read as classes in files of statements.

        So 3 is the number three, and ``"3"`` with its quotes a text; in a data frame both are what
        they are.
        """
        cells = self.column(name)
        if isinstance(cells, list):
            if self.typed:
                return list(cells)
            gaps = dict.fromkeys(cells)
            class_of = {
                c: None if c is None or c.lower() in MISSING else from_cell(c) for c in gaps
            }
            return list(map(class_of.__getitem__, cells))
        return [None if text is None else from_cell(text) for text in as_texts(cells)]

    def write(
        self,
        path: str | Path,
        more: Mapping[str, Sequence[Any]],
        *,
        overwrite: bool = False,
        keep_formulas: bool = False,
    ) -> None:
        """Write the table with more columns, in its own row order, as .csv, .tsv or .parquet.

        The cells of a text file are written unchanged (but see ``keep_formulas``), and Parquet
        keeps its types. A table from an .h5ad file may also be written as .h5ad: its whole content,
        with the further columns in ``obs``.

        Parameters
        ----------
        path : str or path
            The file; it is written completely or not at all.
        more : dict
            The further columns, by name: lists of texts, numbers or None.
        overwrite : bool
            Whether a file of that name may be replaced.
        keep_formulas : bool
            A text that a spreadsheet would execute (it begins with ``=``, ``+``, ``-``, ``@``, a
            tab or a carriage return, and is not a number) is put in quotes in .csv and .tsv, which
            `read_table` takes off again. With True it is written as it is.
        """
        path = Path(path)
        check_output(path, self.path)
        self.check_new_names(more)
        with replacing(path, overwrite=overwrite, error=DataError) as temporary:
            if path.suffix.lower() == ".parquet":
                arrow = import_arrow()
                table = self._arrow(arrow, more)
                arrow.parquet.write_table(table, temporary, write_page_checksum=True)
                return
            if path.suffix.lower() == ".h5ad":
                write_h5ad(self.path, more, temporary)
                return
            delimiter = DELIMITERS[path.suffix.lower()]
            if self.dialect is not None and path.suffix.lower() == ".csv":
                delimiter = self.dialect.separator  # as the user's own programs expect it
            with open(temporary, "x", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
                names = [*self.columns, *more]
                writer.writerow(names if keep_formulas else map(quoted, names))
                writer.writerows(self._rows(more, keep_formulas))

    def _rows(self, more: Mapping[str, Sequence[Any]], keep_formulas: bool) -> Iterator[list[Any]]:
        """The rows as they stand in a text file, the further columns last."""
        if self.dialect is not None:
            rows: Iterator[list[Any]] = body_rows(self.path, self.dialect)
        else:
            rows = map(list, zip(*map(written, self.columns.values()), strict=True))
        if more:
            rows = map(add, rows, map(list, zip(*more.values(), strict=True)))
        # Columns of numbers hold nothing that could be executed.
        texts = [k for k, cells in enumerate(self.columns.values()) if isinstance(cells, list)]
        texts += range(len(self.columns), len(self.columns) + len(more))
        for row in rows:
            for k in () if keep_formulas else texts:
                if isinstance(row[k], str) and row[k].startswith(BEGINNINGS):
                    row[k] = quoted(row[k])
            yield row

    def _arrow(self, arrow: Any, more: Mapping[str, Sequence[Any]]) -> Any:
        """The table and the further columns as an Arrow table."""
        if self.path.suffix.lower() == ".parquet":
            table = read_arrow(self.path, arrow)
        else:
            table = arrow.table({name: arrow.array(cells) for name, cells in self.columns.items()})
        for name, values in more.items():
            table = table.append_column(name, arrow.array(values))
        return table


def check_output(path: Path, data: Path) -> None:
    """Refuse a file that cannot be written, before the work begins.

    Parameters
    ----------
    path : path
        The file to write; its suffix names the format.
    data : path
        The file that the table comes from: cells (.h5ad) can be written as cells too.

    Examples
    --------
    >>> from pathlib import Path
    >>> check_output(Path("answer.xls"), Path("table.csv"))
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DataError: answer.xls: a table is written as one of .csv, .tsv, ...
    """
    allowed = (*DELIMITERS, ".parquet")
    if data.suffix.lower() == ".h5ad":
        allowed += (".h5ad",)
    if path.suffix.lower() not in allowed:
        raise DataError(f"{path}: a table is written as one of {', '.join(allowed)}; name it so.")
    if path.suffix.lower() == ".parquet":
        import_arrow()


def read_table(
    path: str | Path,
    *,
    text: Sequence[str] = (),
    use_rep: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
) -> Table:
    r"""Read a table from a file: text, Excel, Parquet, .npy, .npz or .h5ad.

    Parameters
    ----------
    path : str or path
        A text table (.csv, .tsv, .txt) has column names in its first line, unless that holds
        numbers; its separator and its decimal and thousands signs are detected. An .xlsx
        file (extra ``excel``) has them in the first row of a sheet. Parquet needs the extra
        ``parquet``. An .npy file holds one array of rows and columns; an .npz file holds ``X``,
        and may hold ``y``, ``class_names`` and ``feature_names`` as `load` takes them. An .h5ad
        file (extra ``bio``) holds cells: their names in a column ``obs_names``, the columns of
        ``obs``, and those of ``use_rep``, which are the data.
    text : sequence of str
        Columns of a text table that are kept as texts whatever they look like: ids and classes.
    use_rep : str, optional
        The key of ``obsm`` in an .h5ad file to take as data, or "X" for its matrix; by default
        "X_pca".
    sep : {",", ";", "tab", "|"}, optional
        The separator of a text table, if the detection is wrong.
    decimal : {".", ","}, optional
        The decimal sign of a text table, likewise.
    sheet : str, optional
        The sheet of an Excel file; by default its first.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.tsv"
    >>> _ = path.write_text("x\ty\n1\t2\n")
    >>> read_table(path).columns
    {'x': array([1.]), 'y': array([2.])}
    """
    path = Path(path)
    suffix = path.suffix.lower()
    refuse_missing(path, DataError)
    if suffix not in _SUFFIXES:
        raise DataError(f"{path} has no suffix that names a table: {', '.join(_SUFFIXES)}.")
    if use_rep is not None and suffix != ".h5ad":
        raise DataError(f"{path}: representations (use_rep) are for .h5ad files; leave it out.")
    is_text = suffix in (*DELIMITERS, ".txt")
    if (sep or decimal) and not is_text:
        raise DataError(f"{path}: a separator and a decimal sign are for text tables.")
    if sheet and suffix != ".xlsx":
        raise DataError(f"{path}: sheets are for Excel files (.xlsx); leave the sheet out.")
    dialect: Dialect | None = None
    notes: tuple[str, ...] = ()
    if is_text:
        dialect = find_dialect(path, separator=sep, decimal=decimal)
        contents, notes = read_text(path, text, dialect), dialect.notes
    elif suffix == ".xlsx":
        contents, notes = read_excel(path, sheet)
    elif suffix == ".h5ad":
        contents = read_h5ad(path, use_rep or "X_pca")
    elif suffix == ".parquet":
        contents = read_parquet(path)
    else:
        contents = read_arrays(path)
    if contents.n_rows == 0:
        raise DataError(f"{path} has column names and no rows.")
    return Table(path, *contents, dialect=dialect, notes=notes)


def as_table(data: Any, **how: Any) -> Table:
    """A table from a file, a data frame, or a `Table`.

    Parameters
    ----------
    data : path, data frame or Table
        A file as `read_table` reads it, or a data frame of pandas, polars or pyarrow.
    **how
        Passed to `read_table` for a file; a data frame knows what is a text.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"height": [1.7, None], "town": ["Bonn", "Rome"]})).columns
    {'height': array([1.7, nan]), 'town': ['Bonn', 'Rome']}
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, PathLike)):
        return read_table(Path(data), **how)
    return Table(Path("table"), *read_frame(data), typed=True)
