"""From the columns of a file to statements, with errors that name the lines of the file."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, repeat
from operator import index as to_index
from operator import is_, is_not
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from sidelight._wording import counted
from sidelight.exceptions import (
    SideInformationError,
    UnknownNumberOfRowsError,
    UnknownRowsError,
)
from sidelight.side._cells import (
    from_cell,
    is_whole,
    map_distinct,
    plain_whole_numbers,
    text_from_cell,
    texts_from_cells,
    to_text,
    to_whole,
)
from sidelight.side._kinds import KINDS
from sidelight.side._names import as_column, brief
from sidelight.side._spelling import nearest
from sidelight.side._statements import SelfPairs

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

COLUMNS = ("kind", "i", "j", "class", "weight", "annotator", "vocabulary")
VERSION = 1

_KIND_CODES = {name: code for code, name in enumerate(KINDS)}
_NOT_CONVERTED = object()
_STATEMENT = re.compile(r"statement (\d+)")


@dataclass(frozen=True)
class Source:
    """The contents of a file, column by column, before anything is checked."""

    name: str
    columns: Mapping[str, Sequence[Any]]
    text: bool  # cells of text, to be read by the rules of _cells; otherwise values with types
    lines: Callable[[], Sequence[int]]  # the line of each statement; called for errors only
    unit: str = "line"
    header: Mapping[str, Any] | None = None
    kinds: Mapping[str, int] | None = None  # the words for kinds, if they are not the usual ones
    twice_on_diagonal: bool = False  # an adjacency matrix holds A_ii = 2 w for a self pair
    extra: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # columns that are not ours
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["i"])

    def take(self, kept: NDArray[np.bool_]) -> "Source":
        """The same without some statements."""
        numbers = list(compress(self.lines(), kept))
        return replace(
            self,
            columns={name: list(compress(cells, kept)) for name, cells in self.columns.items()},
            extra={name: list(compress(cells, kept)) for name, cells in self.extra.items()},
            lines=lambda: numbers,
        )

    def refuse(
        self,
        wrong: NDArray[np.bool_],
        problem: str,
        remedy: str,
        *,
        error: Callable[..., SideInformationError] = SideInformationError,
    ) -> None:
        """Raise if any statement is wrong, naming the first five lines and the count."""
        bad = np.flatnonzero(wrong)
        if len(bad):
            lines = self.lines()
            where = [lines[k] for k in bad.tolist()]
            fail(self.name, where, problem, remedy, unit=self.unit, error=error)

    def wrong_cells(self, column: str, wrong: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """The statements whose cell is wrong."""
        cells = self.columns[column]
        return np.fromiter(map_distinct(wrong, cells), dtype=bool, count=len(cells))


def fail(
    name: str,
    lines: Sequence[int],
    problem: str,
    remedy: str,
    *,
    unit: str,
    error: Callable[..., SideInformationError] = SideInformationError,
) -> NoReturn:
    """Raise the error of a file: where (five lines and the count), what, and what to do."""
    first = ", ".join(map(str, lines[:5]))
    more = f" and {len(lines) - 5:,} more" if len(lines) > 5 else ""
    plural = unit if len(lines) == 1 else f"{unit}s"
    raise error(f"{name}, {plural} {first}{more}: {problem}.", advice=f"What to do: {remedy}")


def check_columns(
    name: str, columns: Sequence[str], hint: str = "", *, others: bool = False
) -> None:
    """Refuse unknown, repeated and missing columns of a table of statements.

    Parameters
    ----------
    name : str
        What the table is called in the error message.
    columns : sequence of str
        The names of its columns.
    hint : str
        A sentence for the end of the message.
    others : bool
        Whether there may be other columns: files of tools have them.

    Examples
    --------
    >>> check_columns("table", ["kind", "i", "j"])
    >>> check_columns("table", ["kind", "row"])
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SideInformationError: table: unknown column 'row'; missing column 'i'. ...
    """
    unknown = [] if others else [column for column in columns if column not in COLUMNS]
    twice = sorted({column for column in columns if list(columns).count(column) > 1})
    missing = [column for column in ("kind", "i") if column not in columns]
    problems = [
        f"{what} {', '.join(map(repr, found))}"
        for what, found in (
            ("unknown column", unknown),
            ("repeated column", twice),
            ("missing column", missing),
        )
        if found
    ]
    if not problems and not {"j", "class"} & set(columns):
        problems = ["neither column 'j' (for pairs) nor column 'class' (for labels)"]
    if problems:
        raise SideInformationError(
            f"{name}: {'; '.join(problems)}. A table of statements has the columns "
            f"{', '.join(COLUMNS)}; kind and i are needed, and j or class.{hint}"
        )


def build(
    source: Source,
    *,
    n_samples: int | str | None,
    index: Any,
    class_type: type | None,
    first_row: int,
    self_pairs: SelfPairs,
    skip_unknown: bool,
    classes: Any,
) -> "Reading":
    """Check a file's columns and pass them to the common check of statements."""
    from sidelight.side._information import SideInformation

    notes = [*source.notes, *_about_columns(source)]
    if skip_unknown:
        source, skipped = _without_unknown(source, n_samples, index, first_row)
        notes += skipped
    kind = _kinds(source)
    i, j, size, ids = _rows(source, n_samples, index, first_row)
    weight = _weights(source)
    if source.twice_on_diagonal and self_pairs == "keep":
        weight = np.where(np.equal(i, j), weight / 2, weight)
    try:
        side = SideInformation.from_columns(
            kind,
            i,
            j,
            class_=_names(source, "class", class_type),
            weight=weight,
            annotator=_names(source, "annotator", None),
            vocabulary=_names(source, "vocabulary", None),
            n_samples=size,
            index=ids,
            classes=classes,
            self_pairs=self_pairs,
        )
    except SideInformationError as error:
        message = f"{source.name}: {_with_lines(source, str(error.args[0]))}"
        raise error.reworded(message) from None
    extra = source.extra
    if len(source) > side.n_statements:  # pairs of a row with itself that were dropped
        kept = np.not_equal(_as_objects(i), _as_objects(j))
        extra = source.take(kept).extra
    return Reading(side, extra, notes)


class Reading(NamedTuple):
    r"""Contents of a file: statements, other columns, and notes about what was left out.

    ``extra`` has the columns that are not ours, an entry per statement.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sidelight.side import read_all
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "said.csv"
    >>> _ = path.write_text("kind,i,j,seconds\nmust,0,1,7\n")
    >>> found = read_all(path, n_samples=2)
    >>> found.extra, found.notes[0].split(": ")[1]
    ({'seconds': ['7']}, 'the column seconds is not used.')
    """

    side: "SideInformation"
    extra: Mapping[str, Sequence[Any]]
    notes: list[str]


def _as_objects(cells: Any) -> NDArray[Any]:
    column = np.empty(len(cells), dtype=object)
    column[:] = list(cells)
    return column


def _about_columns(source: Source) -> list[str]:
    """A sentence about columns that are not ours, and what they were perhaps meant to be."""
    if not source.extra:
        return []
    missing = [name for name in COLUMNS if not all(source.columns.get(name, [None]))]
    told = []
    for name in source.extra:
        meant = nearest(name, missing, limit=1)
        told.append(f"{name} (did you mean {meant[0]}?)" if meant else name)
    if len(told) == 1:
        return [f"{source.name}: the column {told[0]} is not used."]
    return [f"{source.name}: the columns {', '.join(told)} are not used."]


def _without_unknown(
    source: Source, n_samples: int | str | None, index: Any, first_row: int
) -> tuple[Source, list[str]]:
    """The statements about rows that the data has, and a sentence about the others."""
    known = (source.header or {}).get("index") if index is None else as_column(index)
    columns = [name for name in ("i", "j") if name in source.columns]
    kept = np.ones(len(source), dtype=bool)
    lost: list[Any] = []
    if known is not None:
        there = {None, *(known.tolist() if isinstance(known, np.ndarray) else known)}
        for cells in filter(None, _ids(source, known)):
            found = np.fromiter(map(there.__contains__, cells), dtype=bool, count=len(cells))
            lost += [cells[k] for k in np.flatnonzero(~found).tolist()]
            kept &= found
    elif isinstance(n_samples, int):
        for column in columns:
            numbers, filled = _numbers(source, column)
            outside = filled & ((numbers < first_row) | (numbers >= first_row + n_samples))
            lost += numbers[outside].tolist()
            kept &= ~outside
    if kept.all():
        return source, []
    rows = list(dict.fromkeys(map(str, lost)))
    shown = ", ".join(map(brief, rows[:5])) + (
        f" and {len(rows) - 5:,} more" if len(rows) > 5 else ""
    )
    n_left = int((~kept).sum())
    return source.take(kept), [
        f"{source.name}: {counted(n_left, 'statement', 'was')} left out, about rows that the data "
        f"does not have ({shown})."
    ]


def _with_lines(source: Source, message: str) -> str:
    """Translate positions of statements in an error into lines of the file."""
    if not _STATEMENT.search(message):
        return message
    lines = source.lines()
    return _STATEMENT.sub(lambda found: f"{source.unit} {lines[int(found[1])]}", message)


def _kinds(source: Source) -> NDArray[np.int8]:
    codes = _KIND_CODES if source.kinds is None else source.kinds

    def code(cell: Any) -> int:
        return codes.get(cell.strip(), -1) if isinstance(cell, str) else -1

    cells = source.columns["kind"]
    found = np.fromiter(map_distinct(code, cells), dtype=np.int8, count=len(cells))
    if (found < 0).any():
        unknown = {cells[k]: None for k in np.flatnonzero(found < 0).tolist()}
        came = ", ".join(brief(repr(cell)) for cell in list(unknown)[:5])
        source.refuse(found < 0, f"the kind is {came}", f"a kind is one of {', '.join(codes)}.")
    return found


def _weights(source: Source) -> NDArray[np.float64]:
    """Weights, 1 where a cell is empty; whether a number makes sense is checked later."""
    cells = source.columns.get("weight")
    if cells is None:
        return np.ones(len(source))
    try:
        return np.array(list(map(float, cells)), dtype=np.float64)
    except (TypeError, ValueError):
        pass

    def number(cell: Any) -> float | None:
        try:
            return 1.0 if cell is None or cell == "" or str(cell).isspace() else float(cell)
        except (TypeError, ValueError):
            return None

    source.refuse(
        source.wrong_cells("weight", lambda cell: number(cell) is None),
        "the weight is not a number",
        "write a weight as 0.5, with a point, or leave it empty for 1.",
    )
    return np.array(map_distinct(number, cells), dtype=np.float64)


def _names(source: Source, column: str, wanted: type | None) -> list[Any] | None:
    """Names of classes, annotators or vocabularies; of the wanted type, if there is one."""
    cells = source.columns.get(column)
    if cells is None:
        return None
    if wanted is None:
        values = map_distinct(from_cell, cells) if source.text else list(cells)
        # A column without any name is common, and costs the gate as much as one with names.
        return None if set(map(type, values)) <= {type(None)} else values
    if wanted not in (str, int, float):
        raise SideInformationError(
            f"class_type is str, int, float or None (as the file says), not {wanted!r}."
        )

    def convert(cell: Any) -> Any:
        if wanted is str:
            return text_from_cell(cell) if source.text else to_text(cell)
        value = text_from_cell(cell) if source.text else cell
        if value is None:
            return None
        try:
            return float(value) if wanted is float else int(_whole_or_fail(value))
        except (TypeError, ValueError):
            return _NOT_CONVERTED

    values = map_distinct(convert, cells)
    source.refuse(
        np.fromiter(map(is_, values, repeat(_NOT_CONVERTED)), dtype=bool, count=len(values)),
        f"the class is no {wanted.__name__}",
        "correct it, or give class_type=str, or leave class_type out to read it as the file says.",
    )
    return values


def _whole_or_fail(value: Any) -> int:
    """The whole number that a value stands for: 3, 3.0, "3", "3.0"."""
    whole = to_whole(from_cell(value) if isinstance(value, str) else value)
    if not is_whole(whole):
        raise ValueError(value)
    return int(whole)


# Rows. By position, or by id; ids take the type of the index, so that 123 finds "123".


def _rows(
    source: Source, n_samples: int | str | None, index: Any, first_row: int
) -> tuple[Any, Any, int | None, Any]:
    """Columns i and j as the gate takes them, the number of rows, and the index."""
    n_samples = _check_size(n_samples)
    header = source.header or {}
    size, known = header.get("n_samples"), header.get("index")
    if size is not None:
        if first_row:
            raise SideInformationError(
                f"{source.name} says itself how its rows are numbered; leave first_row out."
            )
        if n_samples not in (None, "infer", size):
            raise SideInformationError(
                f"{source.name} is about {size} rows, not about n_samples={n_samples}; "
                "leave n_samples out, or read the file that belongs to the data."
            )
        n_samples = size
        if known is None and index is not None:
            return _positions_to_ids(source, size, index)
    ids = known if index is None else as_column(index)
    if ids is not None:
        if first_row:
            raise SideInformationError(
                "first_row is for rows given by number; with index= rows are given by id."
            )
        count = n_samples if isinstance(n_samples, int) else None
        return *_ids(source, ids), count, ids
    if n_samples == "infer":
        return _inferred(source, first_row)
    if n_samples is None:
        raise UnknownNumberOfRowsError(
            f"{source.name} does not say how many rows the data has.",
            advice="Give n_samples=, or index= with the ids of all rows, "
            'or n_samples="infer" to check the file without its data.',
        )
    assert isinstance(n_samples, int)
    return *_positions(source, n_samples, first_row), n_samples, None


def _check_size(n_samples: Any) -> int | Literal["infer"] | None:
    if n_samples is None:
        return None
    if isinstance(n_samples, str) and n_samples == "infer":
        return "infer"
    try:
        size = -1 if isinstance(n_samples, bool) else to_index(n_samples)
    except TypeError:
        size = -1
    if size < 0:
        raise SideInformationError(
            f'n_samples is a number of rows, 0 or more, or "infer", not {n_samples!r}.'
        )
    return size


def _positions_to_ids(source: Source, size: int, index: Any) -> tuple[Any, Any, int, Any]:
    """A file by position, about data that has ids: the header's n_samples must fit them."""
    if len(index) != size:
        raise SideInformationError(
            f"{source.name} is about {size} rows by position, and index has {len(index)} ids; "
            "read it with the ids of the data that it was written for."
        )
    i, j = _positions(source, size, 0)
    names = np.array([*as_column(index).tolist(), None], dtype=object)  # j == −1 finds None
    partner = np.full(len(i), -1) if j is None else np.where(np.isnan(j), -1, j).astype(np.int64)
    return names[i].tolist(), names[partner].tolist(), size, index


def _ids(source: Source, ids: Any) -> tuple[list[Any], list[Any] | None]:
    """Columns i and j in the type of the index."""
    of_text = any(isinstance(name, str) for name in ids[:1])

    def convert(cells: Sequence[Any]) -> list[Any]:
        if source.text:
            return texts_from_cells(cells) if of_text else _whole_cells(cells)
        wanted = str if of_text else int
        if set(map(type, cells)) <= {wanted, type(None)}:
            return list(cells)
        return map_distinct(to_text if of_text else to_whole, cells)

    j = source.columns.get("j")
    return convert(source.columns["i"]), None if j is None else convert(j)


def _whole_cells(cells: Sequence[str]) -> list[Any]:
    plain = plain_whole_numbers(cells)
    if plain is None:
        return map_distinct(_whole_cell, cells)
    numbers, filled = plain
    values = numbers.astype(object)
    values[~filled] = None
    return list(values)


def _whole_cell(cell: str) -> Any:
    return to_whole(from_cell(cell))


def _numbers(source: Source, column: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Row numbers as the file has them, and which cells are filled."""
    values = cells = source.columns[column]
    if source.text:
        plain = plain_whole_numbers(cells)
        if plain is not None:
            return plain
        values = map_distinct(_whole_cell, cells)
    elif not set(map(type, cells)) <= {int, type(None)}:
        values = map_distinct(to_whole, cells)
    filled = np.fromiter(map(is_not, values, repeat(None)), dtype=bool, count=len(values))
    told = list(compress(values, filled))
    try:
        if not set(map(type, told)) <= {int}:
            raise OverflowError
        numbers = np.full(len(values), -1, dtype=np.int64)
        numbers[filled] = told
    except OverflowError:
        odd = filled & ~np.fromiter(map(_fits, values), dtype=bool, count=len(values))
        came = ", ".join(brief(repr(values[k])) for k in np.flatnonzero(odd)[:5].tolist())
        source.refuse(
            odd,
            f"column {column} is {came}, which is not a row number",
            "give index= with the ids of all rows, in their order, if rows have ids.",
            error=_unknown_rows(values[k] for k in np.flatnonzero(odd).tolist()),
        )
    return numbers, filled


def _unknown_rows(rows: Iterable[Any]) -> Callable[..., SideInformationError]:
    return partial(UnknownRowsError, rows=map(str, rows), by_id=False)


def _fits(value: Any) -> bool:
    return is_whole(value) and -(2**63) <= value < 2**63


def _positions(
    source: Source, n_samples: int, first_row: int
) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
    """Columns i and j as positions from 0; an empty cell of j is NaN."""
    columns = []
    for column in ("i", "j"):
        if column not in source.columns:
            columns.append((np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)))
            continue
        numbers, filled = _numbers(source, column)
        outside = filled & ((numbers < first_row) | (numbers >= first_row + n_samples))
        came = ", ".join(map(str, numbers[outside][:5].tolist()))
        source.refuse(
            outside,
            f"column {column} names row {came}, and the {n_samples} rows are numbered "
            f"{first_row} … {first_row + n_samples - 1}",
            "correct the rows, or n_samples=; rows numbered from 1 need first_row=1.",
            error=_unknown_rows(numbers[outside].tolist()),
        )
        columns.append((numbers - first_row, filled))
    (i, told), (j, partner) = columns
    source.refuse(~told, "column i is empty", "every statement names a row in column i.")
    if "j" not in source.columns:
        return i, None
    return i, j if partner.all() else np.where(partner, j, np.nan)


def _inferred(source: Source, first_row: int) -> tuple[Any, Any, int, Any]:
    """As many rows as the file mentions: by number, or by id in order of first appearance."""
    try:
        largest = max(
            int(_numbers(source, column)[0].max(initial=first_row - 1))
            for column in ("i", "j")
            if column in source.columns
        )
    except SideInformationError:
        if first_row:
            raise
        i, j = _ids(source, [""])
        mentioned = dict.fromkeys(i if j is None else _interleave(i, j))
        mentioned.pop(None, None)
        return i, j, len(mentioned), list(mentioned)
    size = max(largest - first_row + 1, 0)
    return *_positions(source, size, first_row), size, None


def _interleave(first: list[Any], second: list[Any]) -> list[Any]:
    both: list[Any] = [None] * (2 * len(first))
    both[::2], both[1::2] = first, second
    return both
