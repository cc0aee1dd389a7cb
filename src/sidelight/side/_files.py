"""Side information in files: CSV, JSON lines, Parquet, and the pair and graph files of papers."""

import csv
import gc
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, compress, islice
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sidelight._formulas import quoted
from sidelight._reading import (
    long_cells,
    parquet_errors,
    read_parquet,
    refuse_encoding,
    refuse_missing,
)
from sidelight._writing import replacing
from sidelight.exceptions import SideInformationError
from sidelight.side import _frames
from sidelight.side._cells import to_cell
from sidelight.side._kinds import CANNOT, KINDS, MUST
from sidelight.side._sources import (
    COLUMNS,
    VERSION,
    Reading,
    Source,
    build,
    check_columns,
    fail,
)
from sidelight.side._statements import SelfPairs
from sidelight.side._tools import HOLDS, check_held, read_tool, recognise, write_tool

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".link": "graph",
    ".json": "json",  # of which tool is seen inside
}
_WHOLE = ("csv", "tsv", "jsonl", "parquet")  # formats that hold every statement
_WRITTEN = (*_WHOLE, *HOLDS)
_READ = (*_WRITTEN, "graph")
_TOOLS = ("label-studio", "prodigy", "dedupe")

# How people write must and cannot in plain files of pairs.
_PAIR_WORDS = {
    **dict.fromkeys(("must", "ml", "must-link", "must_link", "mustlink", "1", "+1"), MUST),
    **dict.fromkeys(("cannot", "cl", "cannot-link", "cannot_link", "cannotlink", "-1"), CANNOT),
}
# How people head two columns of rows.
_PAIR_NAMES = {
    *(
        ("i", "j"),
        ("id1", "id2"),
        ("id_1", "id_2"),
        ("row1", "row2"),
        ("a", "b"),
        ("left", "right"),
    ),
    *(("first", "second"), ("source", "target"), ("from", "to"), ("left_id", "right_id")),
    *(("id_left", "id_right"), ("id_a", "id_b"), ("idx1", "idx2"), ("item1", "item2")),
}
_NO_COMMENT = re.compile(r"[\s,]*[^\s,#]")  # nor a line of empty cells
# Files are parsed in pieces of this many lines: at once, a million records as lists or
# dictionaries would take half a gigabyte before they become columns.
_PIECE = 50_000


def read(path: str | os.PathLike[str], **how: Any) -> "SideInformation":
    """Read side information from a file; warn about everything that is left out.

    Parameters
    ----------
    path : str or path
        The file.
    **how
        Formats and options: see `read_all`, which also gives the columns that are not ours.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sidelight.side import read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.txt"
    >>> _ = path.write_text("0 1 must")
    >>> read(path, format="pairs", n_samples=4)
    SideInformation(4 rows; 1 must)
    """
    found = read_all(path, **how)
    for note in found.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return found.side


def read_all(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    n_samples: int | str | None = None,
    index: Any = None,
    class_type: type | None = None,
    kind: str | None = None,
    first_row: int = 0,
    self_pairs: SelfPairs = "raise",
    skip_unknown: bool = False,
    row_field: str | None = None,
    classes: Any = None,
) -> Reading:
    r"""Read side information from a file, with its other columns and notes.

    Parameters
    ----------
    path : str or path
        The file.
    format : str, optional
        One of the formats below. By default the suffix decides: .csv, .tsv, .jsonl or .ndjson,
        .parquet, .link (graph); .json and .jsonl files of other tools are recognised by their
        contents.

        - ``csv`` and ``tsv``: a table with a line of column names: ``kind``, ``i`` and, as needed,
          ``j``, ``class``, ``weight``, ``annotator``, ``vocabulary``, in any order. Other columns
          are not used.
        - ``jsonl``: one JSON object per statement; the first line may say the number of rows and
          their ids. ``parquet`` (needs the extra ``parquet``) has the same in its metadata.
        - ``pairs``: lines ``i j must`` or ``i,j,cannot``, also ml/cl, must-link/cannot-link and
          1/-1; with ``kind=`` lines ``i j``. ``#`` begins a comment line; a first line
          ``i j kind``, or one of column names such as ``id1,id2``, is passed over.
        - ``graph``: lines ``i j weight`` of one ``kind=``, as in the files that the authors of
          ssc-ipa publish (numbered from 1: ``first_row=1``). There a self pair of weight w is
          written as 2 w, the diagonal entry of an undirected graph, and so it is read.
        - ``label-studio``: the JSON export; choices about one row are labels, "same" and
          "different" about two rows are pairs (also of a Pairwise tag with such classes).
          ``prodigy``: JSON lines of ``db-out``; labels and choices, accepted or not, and pairs.
          ``dedupe``: a training file; match and distinct pairs of records.
    n_samples : int or "infer", optional
        The number of rows of the data, where neither the file nor ``index`` says it. With
        ``"infer"`` the data has the rows that the file mentions, to check a file without its data.
    index : sequence, optional
        The ids of all rows, in their order. Ids in the file are read in the type of the index.
    class_type : {str, int, float}, optional
        The type of all classes; by default the file says it: in CSV a class ``3`` is the number
        and ``"3"``, with quotes that belong to the cell, is the text.
    kind : {"must", "cannot"}, optional
        The kind of the pairs in a graph file, or in a pairs file without a column for it.
    first_row : int
        The number of the first row in the file, when rows are given by number.
    self_pairs : {"raise", "drop", "keep"}
        What to do with a pair of a row with itself.
    skip_unknown : bool
        Whether to leave out statements about rows that the data does not have; otherwise they are
        an `UnknownRowsError` that suggests similar ids.
    row_field : str, optional
        The field of other tools' records that holds the id of a row ("id" and the like by
        default); two with a comma between them for pairs.
    classes : sequence, optional
        The classes that may occur; a label outside is an error.

    Returns
    -------
    Reading

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sidelight.side import read_all
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.txt"
    >>> _ = path.write_text("# asked on Monday\n0 1 must\n1 3 cannot\n1 9 must\n")
    >>> found = read_all(path, format="pairs", n_samples=4, skip_unknown=True)
    >>> found.side, found.notes[0].split(": ")[1]
    (SideInformation(4 rows; 1 must, 1 cannot), '1 statement was left out, about rows ...')
    """
    path = Path(path)
    refuse_missing(path, SideInformationError)
    format = _format(path, format, _READ)
    if kind is not None and format not in ("pairs", "graph"):
        raise SideInformationError(
            f"kind= is for pairs and graph files; a {format} file has a column for it."
        )
    if kind not in (None, "must", "cannot"):
        raise SideInformationError(f'kind is "must" or "cannot", not {kind!r}.')
    if row_field is not None and format not in _TOOLS:
        raise SideInformationError(f"row_field= is for files of {', '.join(_TOOLS)}.")
    with _no_garbage_collection(), long_cells():
        return build(
            _read(path, format, kind, row_field),
            n_samples=n_samples,
            index=index,
            class_type=class_type,
            first_row=first_row,
            self_pairs=self_pairs,
            skip_unknown=skip_unknown,
            classes=classes,
        )


def write(
    side: "SideInformation",
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    extra: Mapping[str, Sequence[Any]] | None = None,
    overwrite: bool = False,
    keep_formulas: bool = False,
) -> None:
    """Write side information to a file, completely or not at all.

    CSV, TSV, JSON lines and Parquet give back exactly what was written. JSON lines and Parquet
    carry the number of rows and their ids; CSV is a plain table for any spreadsheet, and `read` has
    to be told ``n_samples`` or ``index``. The files of other tools hold what these have a place
    for: other statements are an error.

    Parameters
    ----------
    side : SideInformation
        What to write.
    path : str or path
        The file.
    format : {"csv", "tsv", "jsonl", "parquet", "pairs", "label-studio", "prodigy", "dedupe"}, \
optional
        By default the suffix decides.
    extra : dict, optional
        Further columns of csv, tsv, jsonl and parquet, an entry per statement: see `Reading`.
    overwrite : bool
        Whether a file of that name may be replaced.
    keep_formulas : bool
        A name that a spreadsheet would execute (it begins with ``=``, ``+``, ``-``, ``@``, a tab or
        a carriage return) is put in quotes in .csv and .tsv, which `read` takes off again. With
        True it is written as it is, for programs that do not know these quotes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sidelight.side import SideInformation, write
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "known.csv"
    >>> write(SideInformation.from_labels(["cat", None, "3", 3]), path)
    >>> print(path.read_text())
    kind,i,j,class,weight,annotator,vocabulary
    label,0,,cat,1.0,,
    label,2,,\"\"\"3\"\"\",1.0,,
    label,3,,3,1.0,,
    <BLANKLINE>
    """
    path = Path(path)
    format = _format(path, format, _WRITTEN)
    if format in HOLDS:
        check_held(side, format)
    extra = _check_extra(side, extra or {}, format)
    with replacing(path, overwrite=overwrite, error=SideInformationError) as temporary:
        if format == "parquet":
            _write_parquet(side, temporary, path, extra)
        elif format == "jsonl":
            _write_json_lines(side, temporary, extra)
        elif format in HOLDS:
            write_tool(side, temporary, format)
        else:
            _write_table(side, temporary, "," if format == "csv" else "\t", extra, keep_formulas)


def held_by(path: str | os.PathLike[str], format: str | None = None) -> list[str] | None:
    """The kinds of statement that a file format can hold; None if it holds all.

    Parameters
    ----------
    path : str or path
        The file.
    format : str, optional
        See `write`.

    Returns
    -------
    list of str or None

    Examples
    --------
    >>> from sidelight.side import held_by
    >>> held_by("training.json", "dedupe"), held_by("said.csv")
    (['must', 'cannot'], None)
    """
    kinds = HOLDS.get(_format(Path(path), format, _WRITTEN))
    return None if kinds is None else list(kinds)


def _check_extra(
    side: "SideInformation", extra: Mapping[str, Sequence[Any]], format: str
) -> Mapping[str, Sequence[Any]]:
    """Refuse further columns that have no place, or another length."""
    taken = [name for name in extra if name in COLUMNS]
    if taken or (extra and format not in _WHOLE):
        where = f"a column {taken[0]!r} of their own" if taken else f"{format} files, none"
        raise SideInformationError(f"extra columns cannot be written: there is {where}.")
    wrong = [name for name, cells in extra.items() if len(cells) != side.n_statements]
    if wrong:
        raise SideInformationError(
            f"the extra column {wrong[0]!r} has {len(extra[wrong[0]])} entries for "
            f"{side.n_statements} statements; give one each."
        )
    return extra


def _read(path: Path, format: str, kind: str | None, row_field: str | None) -> Source:
    if format in _TOOLS:
        return read_tool(path, _open(path), format, row_field)
    if format in ("csv", "tsv"):
        return _read_table(path, delimiter="," if format == "csv" else "\t")
    if format == "jsonl":
        return _read_json_lines(path)
    if format == "parquet":
        return _read_parquet(path)
    return _read_plain(path, format, kind)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause garbage collection: a search of millions of objects for cycles takes a third more."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _format(path: Path, format: str | None, allowed: Sequence[str]) -> str:
    told = format or _SUFFIXES.get(path.suffix.lower())
    if format is None and told in ("json", "jsonl") and allowed is _READ:
        told = recognise(path, _first_line(path) if told == "jsonl" else _open(path)) or told
    if told is not None and told in allowed:
        return told
    if told == "json":
        raise SideInformationError(
            f"{path.name}: a .json file is of Label Studio or dedupe; give format=, one of "
            f"{', '.join(_TOOLS)} (--from or --to on the command line)."
        )
    came = f"format={format!r}" if format else f"the suffix of {path.name!r}"
    if told in _READ:
        raise SideInformationError(
            f"{told} files are read and not written, since they cannot hold every statement; "
            f"write one of {', '.join(allowed)}."
        )
    raise SideInformationError(
        f"{came} names no format; give format=, one of {', '.join(allowed)}, "
        f"or a suffix: {', '.join(s for s, f in _SUFFIXES.items() if f in allowed)}."
    )


# Out: columns as lists, then one C-level pass that joins them


def _texts(
    side: "SideInformation", form: Callable[[Any], str], missing: str
) -> dict[str, list[str] | NDArray[Any]]:
    """The columns as they stand in a text file; `form` writes one name."""
    said = side.statements

    def take(texts: Iterable[str], codes: NDArray[Any]) -> list[str]:
        table = np.array([*texts, missing], dtype=object)  # code −1 finds the last
        return list(table[codes])

    def named(codes: NDArray[Any], names: Iterable[Any]) -> list[str]:
        return take(map(form, names), codes)

    if side.index is None:
        i = list(map(str, said.i.tolist()))
        j = list(map(str, said.j.tolist()))
        alone = np.flatnonzero(said.j < 0).tolist()
        if alone:
            cells = np.array(j, dtype=object)
            cells[alone] = missing
            j = cells.tolist()
    else:
        ids = list(map(str if side.index.dtype.kind in "iu" else form, side.index.tolist()))
        i, j = take(ids, said.i), take(ids, said.j)
    return {
        "kind": named(said.kind, KINDS),
        "i": i,
        "j": j,
        "class": named(said.class_code, side.classes),
        "weight": list(map(repr, said.weight.tolist())),
        "annotator": named(said.annotator, side.annotators),
        "vocabulary": named(said.vocabulary, side.vocabularies),
    }


def _write_table(
    side: "SideInformation",
    path: Path,
    delimiter: str,
    extra: Mapping[str, Sequence[Any]],
    keep_formulas: bool,
) -> None:
    columns: dict[str, Any] = _texts(side, partial(to_cell, keep_formulas=keep_formulas), "")
    for name, cells in extra.items():
        texts = ["" if cell is None else str(cell) for cell in cells]
        columns[name] = texts if keep_formulas else list(map(quoted, texts))
    names = (*COLUMNS, *extra)
    with open(path, "x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names if keep_formulas else map(quoted, names))
        writer.writerows(zip(*(columns[name] for name in names), strict=True))


def _header(side: "SideInformation") -> dict[str, Any]:
    return {
        "sidelight": VERSION,
        "n_samples": side.n_samples,
        "index": None if side.index is None else side.index.tolist(),
    }


def _write_json_lines(
    side: "SideInformation", path: Path, extra: Mapping[str, Sequence[Any]]
) -> None:
    columns: dict[str, Any] = _texts(side, json.dumps, "null")
    columns |= {name: list(map(json.dumps, cells)) for name, cells in extra.items()}
    # An empty column is left out: the file is shorter and reads the same.
    said = side.statements
    empty = {
        "j": said.j,
        "class": said.class_code,
        "annotator": said.annotator,
        "vocabulary": said.vocabulary,
    }
    names = [name for name in COLUMNS if name not in empty or (empty[name] >= 0).any()]
    names += extra
    keys = [json.dumps(name).replace("%", "%%") for name in names]
    line = "{" + ", ".join(f"{key}: %s" for key in keys) + "}\n"
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(json.dumps(_header(side)) + "\n")
        file.writelines(map(line.__mod__, zip(*(columns[name] for name in names), strict=True)))


def _write_parquet(
    side: "SideInformation", temporary: Path, path: Path, extra: Mapping[str, Sequence[Any]]
) -> None:
    parquet = _frames.import_parquet()
    try:
        table = _frames.with_columns(_frames.arrow_table(side, _header(side)), extra)
    except UnicodeEncodeError as error:
        raise SideInformationError(
            f"{path}: the name {error.object!r} is not valid Unicode, which Parquet cannot hold; "
            "write .jsonl or .csv instead, or correct the name."
        ) from None
    with open(temporary, "xb") as file:
        parquet.write_table(table, file, write_page_checksum=True)


# In: a Source per format


def _open(path: Path) -> str:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:  # spreadsheets begin with a mark
            return file.read()
    except UnicodeDecodeError as error:
        refuse_encoding(path, error, SideInformationError)


def _first_line(path: Path) -> str:
    """The first line that holds anything: enough to see whose file it is."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return next(filter(str.strip, file), "")
    except UnicodeDecodeError as error:
        refuse_encoding(path, error, SideInformationError)


def _read_table(path: Path, delimiter: str) -> Source:
    text = _open(path)

    def reader() -> Any:
        source = io.StringIO(text, newline="")
        return csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=True)

    def lines() -> list[int]:
        """The line at which each statement begins; a cell may span several lines."""
        numbers, before, rows = [], 0, reader()
        for row in rows:
            if _is_filled(row):
                numbers.append(before + 1)
            before = rows.line_num
        return numbers[1:]

    rows = reader()
    try:
        names = [name.strip() for name in next(filter(_is_filled, rows), [])]
        _check_names(path, names, delimiter)
        columns = _columns(path, names, rows, lines)
    except csv.Error as error:
        raise SideInformationError(
            f"{path}: {error}; a cell with a quote in it is written in quotes, the quote twice."
        ) from None
    extra = {name: columns.pop(name) for name in names if name not in COLUMNS}
    return Source(str(path), columns, text=True, lines=lines, extra=extra)


def _is_filled(row: list[str]) -> bool:
    return bool("".join(row).strip())


def _check_names(path: Path, names: list[str], delimiter: str) -> None:
    if not names:
        raise SideInformationError(
            f"{path} is empty; its first line has the column names {', '.join(COLUMNS)}."
        )
    other = [mark for mark in ",;\t" if mark != delimiter and mark in "".join(names)]
    hint = f" Are the columns separated by {other[0]!r}? A csv file has commas." if other else ""
    check_columns(str(path), names, hint, others=True)


def _columns(
    path: Path, names: list[str], rows: Iterator[list[str]], lines: Callable[[], Sequence[int]]
) -> dict[str, list[str]]:
    """Rows of cells as columns; every row must have the same number of cells."""
    width, start = len(names), 0
    columns: dict[str, list[str]] = {name: [] for name in names}
    # Names repeat: one object for each spares half the memory, and later look-ups are quicker.
    seen: dict[str, str] = {}
    ragged: list[int] = []
    while piece := list(islice(rows, _PIECE)):
        piece = list(compress(piece, map(str.strip, map("".join, piece))))  # no blank lines
        lengths = np.fromiter(map(len, piece), dtype=np.int64, count=len(piece))
        ragged.extend((start + np.flatnonzero(lengths != width)).tolist())
        start += len(piece)
        flat = list(chain.from_iterable(piece))
        for k, name in enumerate(names):
            cells = flat[k::width]
            repeated = name not in ("i", "j", "weight")
            columns[name].extend(map(seen.setdefault, cells, cells) if repeated else cells)
    if ragged:
        numbers = lines()
        fail(
            str(path),
            [numbers[k] for k in ragged],
            f"not {width} cells, as there are columns",
            "give every line as many cells as there are columns, empty ones too.",
            unit="line",
        )
    return columns


def _read_plain(path: Path, format: str, kind: str | None) -> Source:
    """Pairs (i j kind, or i j) and graphs (i j weight): columns without names."""
    if format == "graph" and kind is None:
        raise SideInformationError(
            f'{path} is a graph of pairs of one kind; say which: kind="must" or kind="cannot".'
        )
    text = _open(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = list(map(bool, map(_NO_COMMENT.match, text)))
    numbers = list(compress(range(1, len(text) + 1), kept))
    data = list(compress(text, kept))
    rows: list[list[str]]
    if any("," in line for line in data[:1]):
        try:
            rows = list(csv.reader(data, skipinitialspace=True))
        except csv.Error as error:
            raise SideInformationError(
                f"{path}: {error}; is there a quote that opens only?"
            ) from None
    else:
        rows = list(map(str.split, data))
    third = "weight" if format == "graph" else "kind"
    names = ["i", "j"] if format == "pairs" and kind is not None else ["i", "j", third]
    if rows and _are_names([cell.strip().lower() for cell in rows[0]], names):
        rows, numbers = rows[1:], numbers[1:]
    columns = _columns(path, names, iter(rows), lambda: numbers)
    if kind is not None:
        columns["kind"] = [kind] * len(rows)
    else:
        columns["kind"] = list(map(str.lower, columns["kind"]))
    return Source(
        str(path),
        columns,
        text=True,
        lines=lambda: numbers,
        kinds=_PAIR_WORDS,
        twice_on_diagonal=format == "graph",
    )


def _are_names(cells: list[str], names: list[str]) -> bool:
    """Whether the first line of a file of pairs holds the names of its columns."""
    return cells == names or (len(cells) == len(names) and tuple(cells[:2]) in _PAIR_NAMES)


def _read_json_lines(path: Path) -> Source:
    text = _open(path).split("\n")
    filled = list(map(str.strip, text))
    numbers = list(compress(range(1, len(text) + 1), filled))
    lines = list(compress(filled, filled))
    header: Mapping[str, Any] | None = None
    if lines and lines[0][0] == "{":
        first = _parse_json(path, lines[:1], numbers[:1])[0]
        if "sidelight" in first:
            header = check_header(str(path), first)
            lines, numbers = lines[1:], numbers[1:]
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    extra: dict[str, list[Any]] = {}
    for start in range(0, len(lines), _PIECE):
        there = numbers[start : start + _PIECE]
        records = _parse_json(path, lines[start : start + _PIECE], there)
        for name in COLUMNS:
            columns[name].extend(map(methodcaller("get", name), records))
        for name in _other_keys(records):
            extra.setdefault(name, [None] * start)
        for name, values in extra.items():
            values.extend(map(methodcaller("get", name), records))
    for name, column in columns.items():
        if {list, dict} & set(map(type, column)):
            wrong = [n for n, v in zip(numbers, column, strict=True) if isinstance(v, (list, dict))]
            remedy = "a value is a text, a number, true, false or null."
            fail(str(path), wrong, f"{name} is a list or an object", remedy, unit="line")
    return Source(str(path), columns, text=False, lines=lambda: numbers, header=header, extra=extra)


def _other_keys(records: list[dict[str, Any]]) -> list[str]:
    """Keys of some records that are not ours, in the order in which they come."""
    forms = dict.fromkeys(map(tuple, records))
    return [key for key in dict.fromkeys(chain.from_iterable(forms)) if key not in COLUMNS]


def _parse_json(path: Path, lines: list[str], numbers: list[int]) -> list[dict[str, Any]]:
    """One object per line; parsed as one text, which is several times faster than line by line."""
    try:
        records: list[Any] = json.loads("[" + ",".join(lines) + "]")
    except (ValueError, RecursionError):  # brackets in brackets, thousands of them
        records = []
    if len(records) == len(lines) and set(map(type, records)) <= {dict}:
        return records
    wrong = [n for n, line in zip(numbers, lines, strict=True) if _is_object(line) is None]
    if wrong:
        remedy = "correct the number, or put it in quotes if it is a name."
        fail(str(path), wrong, "a number of more than 4,300 digits", remedy, unit="line")
    wrong = [n for n, line in zip(numbers, lines, strict=True) if not _is_object(line)]
    fail(
        str(path),
        wrong or numbers,
        "not one JSON object",
        "every line of a JSON lines file is one object in braces, such as "
        '{"kind": "must", "i": 0, "j": 1}.',
        unit="line",
    )


def _is_object(line: str) -> bool | None:
    """Whether a line is one JSON object; None if it has a number that Python does not read."""
    try:
        return isinstance(json.loads(line), dict)
    except (json.JSONDecodeError, RecursionError):
        return False
    except ValueError:
        return None


def check_header(name: str, header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse the header of a file that a later version has written, or that makes no sense."""
    version, size, index = (header.get(key) for key in ("sidelight", "n_samples", "index"))
    if version != VERSION:
        raise SideInformationError(
            f"{name} has version {version!r} of the format, and this sidelight reads version "
            f"{VERSION}; install a newer sidelight."
        )
    whole = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    if not (size is None or whole) or not (index is None or isinstance(index, list)):
        raise SideInformationError(
            f"{name} has a header with n_samples {size!r}; "
            "n_samples is a number of rows, and index a list of their ids, or null."
        )
    if index is not None and size is not None and len(index) != size:
        raise SideInformationError(
            f"{name} has a header with {len(index)} ids for {size} rows; there is one id per row."
        )
    return header


def _read_parquet(path: Path) -> Source:
    table = read_parquet(path, _frames.import_parquet(), SideInformationError)
    with parquet_errors(path, SideInformationError):  # some damage shows in the texts only
        check_columns(str(path), table.column_names, others=True)
        others = [name for name in table.column_names if name not in COLUMNS]
        extra = {name: table.column(name).to_pylist() for name in others}
        table = table.drop_columns(others)
        noted = _frames.metadata(table, str(path))
        header = check_header(str(path), noted) if "sidelight" in noted else None
        columns = _frames.arrow_columns(table, str(path))
    numbers = range(table.num_rows)
    return Source(
        str(path),
        columns,
        text=False,
        lines=lambda: numbers,
        unit="row",
        header=header,
        extra=extra,
    )
