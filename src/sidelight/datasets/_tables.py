"""Tables of the user's own: CSV, TSV, Parquet, .npy, .npz and .h5ad, read by column.

A column is an array of numbers (NaN where a cell is missing) or a list of texts (None where it is).
"""

import csv
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice
from operator import add
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sidelight._writing import replacing
from sidelight.exceptions import DataError
from sidelight.side._cells import from_cell

Column = NDArray[Any] | list[str | None]

# How people and programs write "nothing here".
_MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", ".", "#n/a", "<na>")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NO_NUMBER = re.compile(r"^[ \t]*[+-]?0[0-9]|_", re.MULTILINE)
# Read in pieces: a million lines of cells as texts would take gigabytes before they are numbers.
_PIECE = 50_000
# More columns of zeros and ones than this drown all the others.
_MAX_VALUES = 200
_UNREADABLE = (ValueError, OSError, EOFError, AttributeError, TypeError, BadZipFile, zlib.error)
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SUFFIXES = (*_DELIMITERS, ".parquet", ".npy", ".npz", ".h5ad")
OBS_NAMES = "obs_names"  # the column with the names of cells


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    r"""A table of the user's: columns by name, all of one length.

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
        Columns that are no data unless asked for: the truth that an .npz file carries, and what an
        .h5ad file says of its cells.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sidelight.datasets import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("who,height,town\nann,1.7,Bonn\nbob,,Rome\n")
    >>> table = read_table(path)
    >>> table
    Table(people.csv: 2 rows; who, height, town)
    >>> table.ids("who")
    array(['ann', 'bob'], dtype='<U3')
    >>> table.numbers(["height"], impute="mean")[0]
    array([[1.7],
           [1.7]])
    """

    path: Path
    columns: dict[str, Column]
    n_rows: int
    aside: tuple[str, ...] = ()

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
            near = get_close_matches(unknown[0], self.columns, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise DataError(
                f"{self.path} has no column {', '.join(map(repr, unknown))}.{hint} "
                f"Its columns are {_listed(list(self.columns), 30)}."
            )

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
            texts = _as_texts(cells)
            empty = np.flatnonzero([text is None for text in texts])
            if len(empty):
                raise DataError(
                    f"{self.path}: the id column {name!r} is empty in row "
                    f"{_listed(empty + 1, 5)} (counted from 1); every row needs an id."
                )
            ids = np.array(texts, dtype=str)
            if name not in self.aside and all(map(_WHOLE.fullmatch, ids.tolist())):
                ids = ids.astype(np.int64)
        values, counts = np.unique(ids, return_counts=True)
        if (counts > 1).any():
            raise DataError(
                f"{self.path}: some ids in column {name!r} stand for more than one row: "
                f"{_listed(values[counts > 1], 5)}; every row needs an id of its own."
            )
        return ids

    def labels(self, name: str) -> list[Any]:
        """A column of partial labels, None where unknown, read as classes in files of statements.

        So 3 is the number three, and ``"3"`` with its quotes a text.
        """
        cells = self.column(name)
        if isinstance(cells, list):
            gaps = dict.fromkeys(cells)
            class_of = {
                c: None if c is None or c.lower() in _MISSING else from_cell(c) for c in gaps
            }
            return list(map(class_of.__getitem__, cells))
        return [None if text is None else from_cell(text) for text in _as_texts(cells)]

    def numbers(
        self,
        columns: Sequence[str],
        *,
        one_hot: Sequence[str] = (),
        impute: str | None = None,
        ids: NDArray[Any] | None = None,
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Columns as one matrix, and their names.

        Parameters
        ----------
        columns : sequence of str
            Which columns, in which order.
        one_hot : sequence of str
            Columns whose values become columns of zeros and ones, named ``column=value``; a missing
            value is a value.
        impute : {"mean", "median"}, optional
            What stands in for a missing number; without it one is an error.
        ids : array, optional
            The ids by which errors name rows; by default their numbers, counted from 1.

        Returns
        -------
        X : ndarray of shape (n_rows, n_columns)
        names : list of str
        """
        self.check_names([*columns, *one_hot])
        self._refuse_unusable(columns, one_hot, impute, ids)
        parts: list[NDArray[np.float64]] = []
        names: list[str] = []
        for name in columns:
            cells = self.columns[name]
            if name in one_hot:
                texts = np.array([text or "" for text in _as_texts(cells)], dtype=str)
                values, codes = np.unique(texts, return_inverse=True)
                if len(values) > _MAX_VALUES:
                    raise DataError(
                        f"{self.path}: {name!r} has {len(values):,} different values, and one-hot "
                        f"makes a column of each; at most {_MAX_VALUES} make sense. Drop it."
                    )
                parts.append(np.eye(len(values))[codes])
                names += [f"{name}={value or 'missing'}" for value in values.tolist()]
            else:
                assert not isinstance(cells, list)
                parts.append(_filled(cells, impute)[:, None])
                names.append(name)
        return np.concatenate(parts, axis=1), names

    def _refuse_unusable(
        self,
        columns: Sequence[str],
        one_hot: Sequence[str],
        impute: str | None,
        ids: NDArray[Any] | None,
    ) -> None:
        """One error for everything that is wrong with the columns, by name and with its rows."""
        if not columns:
            raise DataError(f"{self.path}: no column is left to cluster by.")
        rows = np.arange(1, self.n_rows + 1) if ids is None else ids
        text, missing, infinite, empty = [], [], [], []
        for name in columns:
            cells = self.columns[name]
            if name in one_hot:
                continue
            if isinstance(cells, list):
                own = ids is None and None not in cells and len(set(cells)) == self.n_rows
                hint = f", another in each row: row ids? Then --id {name}" if own else ""
                shown = _listed(_first_texts(cells), 3, quote=True)
                text.append(f"{name!r} holds text ({shown}{hint})")
                continue
            gaps = np.flatnonzero(np.isnan(cells))
            if len(gaps) == self.n_rows:
                empty.append(f"{name!r} is empty throughout")
            elif len(gaps) and impute is None:
                count = "1 missing value" if len(gaps) == 1 else f"{len(gaps):,} missing values"
                missing.append(f"{name!r} has {count} (row {_listed(rows[gaps], 5)})")
            wild = np.flatnonzero(np.isinf(cells))
            if len(wild):
                infinite.append(f"{name!r} is infinite in row {_listed(rows[wild], 5)}")
        remedies = [
            (text, "Text: leave the column out (--drop), or give each value a column (--one-hot)"),
            (empty, "Empty: leave the column out (--drop)"),
            (missing, "Missing: fill in (--impute median), or leave the column out (--drop)"),
            (infinite, "Infinite: correct the values"),
        ]
        found = [problem for problems, _ in remedies for problem in problems]
        if found:
            shown = "; ".join(found[:20]) + (f"; {len(found) - 20} more" if len(found) > 20 else "")
            advice = ". ".join(remedy for problems, remedy in remedies if problems)
            raise DataError(f"{self.path} cannot be used as it is. {shown}. {advice}.")

    def write(
        self, path: str | Path, more: Mapping[str, Sequence[Any]], *, overwrite: bool = False
    ) -> None:
        """Write the table with more columns, in its own row order, as .csv, .tsv or .parquet.

        The cells of a text file are given back as they were, and so are the types of Parquet. A
        table that came from .h5ad may also be written as .h5ad: all that it held, and the further
        columns in ``obs``.

        Parameters
        ----------
        path : str or path
            Where to; nothing is left there unless all went well.
        more : dict
            The further columns, by name: lists of texts, numbers or None.
        overwrite : bool
            Whether a file of that name may be replaced.
        """
        path = Path(path)
        check_output(path, self.path)
        taken = [name for name in more if name in self.columns]
        if taken:
            raise DataError(f"{self.path} has a column {taken[0]!r} already.")
        with replacing(path, overwrite=overwrite, error=DataError) as temporary:
            if path.suffix.lower() == ".parquet":
                arrow = _import_arrow()
                arrow.parquet.write_table(self._arrow(arrow, more), temporary)
                return
            if path.suffix.lower() == ".h5ad":
                _write_h5ad(self.path, more, temporary)
                return
            delimiter = _DELIMITERS[path.suffix.lower()]
            with open(temporary, "x", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
                writer.writerow([*self.columns, *more])
                added = map(list, zip(*more.values(), strict=True))
                writer.writerows(map(add, self._rows(), added) if more else self._rows())

    def _rows(self) -> Iterator[list[Any]]:
        """The rows as they stand in a text file."""
        if self.path.suffix.lower() in _DELIMITERS:
            return islice(_filled_rows(self.path), 1, None)
        return map(list, zip(*map(_written, self.columns.values()), strict=True))

    def _arrow(self, arrow: Any, more: Mapping[str, Sequence[Any]]) -> Any:
        """The table and the further columns as an Arrow table."""
        if self.path.suffix.lower() == ".parquet":
            table = arrow.parquet.read_table(self.path)
        else:
            table = arrow.table({name: arrow.array(cells) for name, cells in self.columns.items()})
        for name, values in more.items():
            table = table.append_column(name, arrow.array(values))
        return table


def check_output(path: Path, data: Path) -> None:
    """Refuse a file name that names no kind of table that is written, for data from that file."""
    allowed = (*_DELIMITERS, ".parquet")
    if data.suffix.lower() == ".h5ad":
        allowed += (".h5ad",)
    if path.suffix.lower() not in allowed:
        raise DataError(f"{path}: a table is written as one of {', '.join(allowed)}; name it so.")
    if path.suffix.lower() == ".parquet":
        _import_arrow()


def read_table(path: str | Path, *, text: Sequence[str] = (), use_rep: str | None = None) -> Table:
    r"""Read a table: .csv, .tsv, .parquet (extra ``parquet``), .npy, .npz or .h5ad (extra ``bio``).

    Parameters
    ----------
    path : str or path
        A text table has column names in its first line. An .npy file holds one array of rows and
        columns; an .npz file holds ``X``, and may hold ``y``, ``class_names`` and
        ``feature_names`` as `load` takes them. An .h5ad file holds cells: their names in a column
        ``obs_names``, the columns of ``obs``, and those of ``use_rep``, which are the data.
    text : sequence of str
        Columns of a text table that are kept as texts whatever they look like: ids and classes.
    use_rep : str, optional
        The key of ``obsm`` in an .h5ad file to take as data, or "X" for its matrix; by default
        "X_pca".

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
    if suffix not in _SUFFIXES:
        raise DataError(f"{path} has no suffix that names a table: {', '.join(_SUFFIXES)}.")
    if not path.is_file():
        raise DataError(f"{path}: there is no such file.")
    if use_rep is not None and suffix != ".h5ad":
        raise DataError(f"{path}: representations (use_rep) are for .h5ad files; leave it out.")
    if suffix in _DELIMITERS:
        table = _read_text(path, text)
    elif suffix == ".h5ad":
        table = _read_h5ad(path, use_rep or "X_pca")
    elif suffix == ".parquet":
        table = _read_parquet(path)
    else:
        table = _read_arrays(path)
    if table.n_rows == 0:
        raise DataError(f"{path} has column names and no rows.")
    return table


# Text: in pieces, each column of a piece by one C-level pass


def _filled_rows(path: Path) -> Iterator[list[str]]:
    """The lines of a text table that hold anything, the column names first."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=_DELIMITERS[path.suffix.lower()], strict=True)
            while piece := list(islice(rows, _PIECE)):
                yield from compress(piece, map(str.strip, map("".join, piece)))
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is no UTF-8 text (byte {error.start}); save it as UTF-8, in a spreadsheet as "
            '"CSV UTF-8".'
        ) from None
    except csv.Error as error:
        raise DataError(f"{path}: {error}; a cell with a quote in it is put in quotes.") from None


def _read_text(path: Path, text: Sequence[str]) -> Table:
    names = [name.strip() for name in next(_filled_rows(path), [])]
    _check_header(path, names)
    as_text = set(text)
    while True:
        columns, n_rows = _read_pieces(path, names, as_text, named=text)
        # Numbers in one piece and texts in another: once more, all of it as text.
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
    return Table(path, joined, n_rows)


def _check_header(path: Path, names: list[str]) -> None:
    if not names:
        raise DataError(f"{path} is empty; its first line has the names of the columns.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or "" in names:
        problem = (
            f"the name {twice[0]!r} twice" if twice and twice[0] else "a column without a name"
        )
        raise DataError(f"{path} has {problem} in its first line; every column needs its own name.")
    other = [mark for mark in ";\t," if mark in names[0]]
    if len(names) == 1 and other:
        raise DataError(
            f"{path} seems to be separated by {other[0]!r}; "
            "a .csv file has commas, a .tsv file has tabs."
        )


def _read_pieces(
    path: Path, names: list[str], as_text: set[str], *, named: Sequence[str]
) -> tuple[dict[str, list[Any]], int]:
    """For each column its pieces, numbers or texts, and the number of rows."""
    width, n_rows = len(names), 0
    columns: dict[str, list[Any]] = {name: [] for name in names}
    seen: dict[str, str] = {}  # one object for each distinct text
    rows = islice(_filled_rows(path), 1, None)
    while piece := list(islice(rows, _PIECE)):
        lengths = np.fromiter(map(len, piece), dtype=np.int64, count=len(piece))
        wrong = n_rows + 1 + np.flatnonzero(lengths != width)
        if len(wrong):
            raise DataError(
                f"{path}: row {_listed(wrong, 5)} (counted from 1, without the column names) has "
                f"{int(lengths[wrong[0] - 1 - n_rows])} cells where there are {width} columns."
            )
        n_rows += len(piece)
        flat = list(chain.from_iterable(piece))
        for k, name in enumerate(names):
            cells = flat[k::width]
            numbers = None if name in as_text else _to_numbers(cells)
            if numbers is None:
                # In a column of names "NA" may be one; in a column of measurements it is a gap.
                gaps = _MISSING[:1] if name in named else _MISSING
                columns[name].append(_to_texts(list(map(str.strip, cells)), gaps, seen))
            else:
                columns[name].append(numbers)
    return columns, n_rows


def _to_numbers(cells: list[str]) -> NDArray[np.float64] | None:
    """Cells as numbers, NaN where one is missing; None if they are texts."""
    # "007" is a name, which would lose its zeros, and Python alone takes 1_000 for a number.
    if _NO_NUMBER.search("\n".join(cells)):
        return None
    try:
        return np.array(list(map(float, cells)))
    except ValueError:
        gaps = {cell: "nan" for cell in dict.fromkeys(cells) if cell.strip().lower() in _MISSING}
    try:
        return np.array(list(map(float, map(gaps.get, cells, cells))))
    except ValueError:
        return None


def _to_texts(cells: list[str], gaps: Sequence[str], seen: dict[str, str]) -> list[str | None]:
    """Cells as texts, None where one is missing; the same text is the same object."""
    distinct = dict.fromkeys(cells)
    value = {c: None if c.lower() in gaps else seen.setdefault(c, c) for c in distinct}
    return list(map(value.__getitem__, cells))


# Parquet and arrays


def _import_arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise DataError(
            'Parquet files need pyarrow: pip install "sidelight[parquet]", or use .csv.'
        ) from None
    return pyarrow


def _read_parquet(path: Path) -> Table:
    arrow = _import_arrow()
    try:
        with open(path, "rb") as file:
            read = arrow.parquet.read_table(file)
    except ValueError as error:  # pyarrow's error for anything that is no Parquet
        raise DataError(f"{path} cannot be read as Parquet: {error}") from None
    _check_header(path, read.column_names)
    columns = {name: _from_arrow(arrow, read[name]) for name in read.column_names}
    return Table(path, columns, read.num_rows)


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


def _read_arrays(path: Path) -> Table:
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            parts = {"X": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except _UNREADABLE as error:
        raise DataError(f"{path} is no file of plain numpy arrays ({error}).") from None
    if {"data", "indices", "indptr"} <= set(parts):
        raise DataError(
            f"{path} holds a sparse matrix, which is no table; cluster it in Python, where models "
            "take CSR matrices (sidelight.datasets.load reads such files)."
        )
    X = parts.get("X")
    if X is None or X.ndim != 2 or X.dtype.kind not in "fiub":
        came = ", ".join(f"{key} {part.shape}" for key, part in parts.items())
        raise DataError(
            f"{path} holds {came}; it must hold numbers in rows and columns, in an .npz file as X."
        )
    given = parts.get("feature_names", np.empty(0))
    names = [str(n) for n in given] if len(given) == X.shape[1] else _numbered(X.shape[1])
    _check_header(path, names)
    columns: dict[str, Column] = {name: X[:, k] for k, name in enumerate(names)}
    truth, aside = parts.get("y"), "y" if "y" not in columns else "class"
    if truth is None or truth.shape != (len(X),) or aside in columns:
        return Table(path, columns, len(X))
    classes = parts.get("class_names")
    if classes is None or truth.dtype.kind not in "iu":
        columns[aside] = truth if truth.dtype.kind in "iuf" else list(map(str, truth))
    else:
        columns[aside] = [str(classes[k]) if 0 <= k < len(classes) else None for k in truth]
    return Table(path, columns, len(X), (aside,))


def _numbered(count: int, name: str = "x") -> list[str]:
    return [f"{name}{k}" for k in range(count)]


# Cells


def open_h5ad(path: Path, **how: Any) -> Any:
    """The AnnData object of a file, or an error that says how to install its library."""
    try:
        import anndata
    except ModuleNotFoundError:
        raise DataError('.h5ad files need anndata: pip install "sidelight[bio]"') from None
    try:
        return anndata.read_h5ad(path, **how)
    except (*_UNREADABLE, KeyError) as error:
        raise DataError(f"{path} cannot be read as .h5ad: {error}") from None


def _read_h5ad(path: Path, use_rep: str) -> Table:
    """Names of cells, what is said of them, and one representation; the matrix stays on disk."""
    adata = open_h5ad(path, backed="r")
    try:
        said = {str(name): _from_series(adata.obs[name]) for name in adata.obs.columns}
        names, X = _representation(path, adata, use_rep)
    finally:
        adata.file.close()
    columns: dict[str, Column] = {OBS_NAMES: adata.obs_names.astype(str).tolist(), **said}
    both = [name for name in names if name in columns]
    if both or OBS_NAMES in said:
        name = both[0] if both else OBS_NAMES
        raise DataError(f"{path}: {name!r} names two columns; rename the one in obs.")
    _check_header(path, [*columns, *names])
    aside = tuple(columns)
    columns |= {name: X[:, k] for k, name in enumerate(names)}
    return Table(path, columns, adata.n_obs, aside)


def _representation(path: Path, adata: Any, key: str) -> tuple[list[str], NDArray[Any]]:
    """The columns to cluster by, and their names."""
    if key in adata.obsm:
        X = np.asarray(adata.obsm[key])
        return _numbered(X.shape[1], key), X
    if key != "X":
        raise DataError(
            f"{path} has no representation {key!r} in obsm; there is: "
            f"{_listed([*adata.obsm, 'X'], 10)}. Choose with --use-rep, or run scanpy.pp.pca first."
        )
    X = adata.X[:]
    if not isinstance(X, np.ndarray):
        raise DataError(
            f"{path}: X is a sparse matrix, which is no table; run scanpy.pp.pca first, or cluster "
            "it in Python with sidelight.bio.cluster."
        )
    return adata.var_names.astype(str).tolist(), X


def _from_series(series: Any) -> Column:
    """A column of obs: numbers as they are, anything else as texts."""
    missing = series.isna().to_list()
    if series.dtype.kind in "iufb":
        if any(missing):  # whole numbers and truth values with gaps are a type of their own there
            return np.asarray(series.astype(object).where(series.notna(), np.nan), dtype=float)
        numbers = series.to_numpy()
        return numbers.astype(np.int8) if numbers.dtype.kind == "b" else numbers
    return [
        None if gap else str(value) for gap, value in zip(missing, series.to_list(), strict=True)
    ]


def _write_h5ad(source: Path, more: Mapping[str, Sequence[Any]], path: Path) -> None:
    """The cells of a file with further columns in obs; texts become categories, as usual there."""
    adata = open_h5ad(source)
    for name, values in more.items():
        text = all(isinstance(value, str) for value in values)
        adata.obs[name] = np.asarray(values)
        if text:
            adata.obs[name] = adata.obs[name].astype("category")
    adata.write_h5ad(path)


# Columns


def _as_texts(cells: Column) -> list[str | None]:
    """A column as texts: whole numbers without a point, None where one is missing."""
    if isinstance(cells, list):
        return cells
    return [text or None for text in _written(cells)]


def _written(cells: Column) -> list[str]:
    """A column as it stands in a text file; a missing value is an empty cell."""
    if isinstance(cells, list):
        return [text or "" for text in cells]
    if cells.dtype.kind == "f":
        # A gap makes floats of whole numbers; up to 2**53 they can be told apart.
        known = cells[np.isfinite(cells)]
        whole = np.all(np.mod(known, 1) == 0) and np.abs(known).max(initial=0) < 2**53
        form = "{:.0f}".format if whole else repr
        return ["" if value != value else form(value) for value in cells.tolist()]
    return list(map(str, cells.tolist()))


def _filled(cells: NDArray[Any], impute: str | None) -> NDArray[np.float64]:
    values = cells.astype(np.float64)
    gaps = np.isnan(values)
    if gaps.any():
        known = values[~gaps]
        values[gaps] = np.median(known) if impute == "median" else known.mean()
    return values


def _first_texts(cells: list[str | None]) -> list[str]:
    """The first few different texts that are no numbers."""
    distinct = [text for text in dict.fromkeys(cells) if text is not None]
    return [text for text in distinct if _to_numbers([text]) is None] or distinct


def _listed(values: Any, limit: int, *, quote: bool = False) -> str:
    """Some values in words, and how many more there are."""
    shown = ", ".join(repr(v) if quote else str(v) for v in list(values[:limit]))
    return f"{shown} and {len(values) - limit:,} more" if len(values) > limit else shown
