"""Names that people give, to classes, annotators and rows, as integer codes and back."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import SideInformationError

Name = bool | int | float | str
Codes = NDArray[np.int64]

_TOO_LARGE = 10**sys.int_info.default_max_str_digits
_NO_ID = object()  # equal to no id, and not missing


def is_missing(value: object) -> bool:
    """Whether a value says "nothing here": None, NaN, or pandas' NA and NaT (not imported here)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def brief(text: str) -> str:
    """A value for an error message, shortened if it is long.

    Examples
    --------
    >>> from sidelight.side import brief
    >>> brief("x" * 100_000)
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'
    """
    return text if len(text) <= 60 else f"{text[:50]}…"


def is_known(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which partial labels say something: not −1, not missing, not a text of blanks."""
    if labels.dtype.kind in "biu":
        return np.asarray(labels != -1) if labels.dtype.kind == "i" else np.ones(len(labels), bool)
    if labels.dtype.kind == "f":
        return (labels != -1) & ~np.isnan(labels)
    if labels.dtype.kind == "U":
        return np.asarray(np.strings.strip(labels) != "")
    if labels.dtype != object:
        return np.ones(len(labels), dtype=bool)
    if set(map(type, labels)) <= {str, type(None)}:  # the usual column of names, the quick way
        said = (label is not None and bool(label.strip()) for label in labels)
        return np.fromiter(said, dtype=bool, count=len(labels))
    return ~np.fromiter(map(_is_unknown, labels), dtype=bool, count=len(labels))


def _is_unknown(label: object) -> bool:
    if is_missing(label):
        return True
    if isinstance(label, str):
        return not label.strip()
    return isinstance(label, (int, float, np.number)) and label == -1


def encode(values: Any, length: int, what: str) -> tuple[Codes, tuple[Name, ...]]:
    """Codes (−1 where missing) and sorted names of a column; a single value fills the column."""
    if is_missing(values) or isinstance(values, (str, bool, int, float, np.generic)):
        if is_missing(values):
            return np.full(length, -1, dtype=np.int64), ()
        return np.zeros(length, dtype=np.int64), (_plain(values, what),)
    column = as_column(values)
    if column.shape != (length,):
        came = f"{len(column)} entries" if column.ndim == 1 else f"shape {column.shape}"
        raise SideInformationError(
            f"{what} has {came} for {length} statements; give one per statement, "
            "or a single value for all."
        )
    return _encode_objects(column, what) if column.dtype == object else _encode_array(column, what)


def as_column(values: Any) -> NDArray[Any]:
    """A one-dimensional array that keeps 3 and "3" apart, which numpy's own conversion does not."""
    if isinstance(values, np.ndarray):
        return values.astype(object) if values.dtype.kind == "T" else values  # may hold gaps
    if not isinstance(values, (list, tuple)):  # a pandas or polars column knows its own type
        return np.asarray(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def union_names(
    first: Sequence[Name], second: Sequence[Name]
) -> tuple[tuple[Name, ...], Codes, Codes]:
    """Merge two sorted lists of names: the union, and where each old code now lies."""
    union = sort_names({_key(name): name for name in (*first, *second)}.values())
    position = {_key(name): code for code, name in enumerate(union)}
    moved = [
        np.array([position[_key(name)] for name in names] + [-1], dtype=np.int64)
        for names in (first, second)
    ]
    return union, moved[0], moved[1]  # the last entry sends code −1 to −1


def sort_names(names: Iterable[Name]) -> tuple[Name, ...]:
    """Sorted by type, then by value, so that mixed classes have an order too."""
    return tuple(sorted(names, key=_key))


def same_names(first: Sequence[Name], second: Sequence[Name]) -> bool:
    """Equality that does not take True for 1, nor 3.0 for 3."""
    return list(map(_key, first)) == list(map(_key, second))


def look_up(ids: NDArray[Any], position: Mapping[Name, int]) -> Codes:
    """Positions of the ids: −1 for an unknown id, −2 for a missing one."""
    wanted = ids.tolist()
    if not set(map(type, wanted)) <= {str, int, float, type(None)}:
        wanted = [value if _may_be_id(value) else _NO_ID for value in wanted]
    found = np.fromiter(map(position.get, wanted, repeat(-1)), dtype=np.int64, count=len(wanted))
    unknown = np.flatnonzero(found < 0)
    found[unknown[[is_missing(wanted[k]) for k in unknown.tolist()]]] = -2
    return found


def _may_be_id(value: object) -> bool:
    """Whether a value can be compared with ids: Python would find True among them as 1."""
    if isinstance(value, (bool, np.bool_)):
        return False
    return isinstance(value, (str, int, float, np.number)) or is_missing(value)


def _key(name: Name) -> tuple[str, Name]:
    return type(name).__name__, name


def _plain(value: Any, what: str) -> Name:
    """The Python value behind a numpy scalar; only booleans, numbers and texts are names."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not np.isfinite(plain):
        raise SideInformationError(f"{what} holds {plain}; a name has to be finite.")
    if isinstance(plain, int) and abs(plain) >= _TOO_LARGE:
        raise SideInformationError(
            f"{what} holds a whole number of more than 4,300 digits, which Python does not write "
            "down; give it as a text."
        )
    if isinstance(plain, (bool, int, float, str)):
        return plain
    raise SideInformationError(
        f"{what} holds {value!r} of type {type(value).__name__}; "
        "names are text, whole numbers, numbers or booleans."
    )


def _encode_array(column: NDArray[Any], what: str) -> tuple[Codes, tuple[Name, ...]]:
    if column.dtype.kind not in "biufU":
        raise SideInformationError(
            f"{what} is an array of {column.dtype}; names are text, numbers or booleans."
        )
    known = ~np.isnan(column) if column.dtype.kind == "f" else np.ones(len(column), dtype=bool)
    values = column[known]
    # A table turns whole numbers with gaps into floats: 0.0, 1.0, NaN means the classes 0 and 1.
    if values.dtype.kind == "f" and np.all(np.abs(values) < 2**63) and np.all(values % 1 == 0):
        values = values.astype(np.int64)
    names, inverse = np.unique(values, return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[known] = inverse
    return codes, tuple(_plain(name, what) for name in names)


def _encode_objects(column: NDArray[Any], what: str) -> tuple[Codes, tuple[Name, ...]]:
    # The type is part of the key, since Python takes True, 1 and 1.0 for equal.
    keys = list(zip(map(type, column), column, strict=True))
    try:
        distinct = dict.fromkeys(keys)
    except TypeError as error:
        raise SideInformationError(f"{what} holds values that are not names: {error}.") from None
    plain = {key: None if is_missing(key[1]) else _plain(key[1], what) for key in distinct}
    names = sort_names({_key(name): name for name in plain.values() if name is not None}.values())
    position = {_key(name): code for code, name in enumerate(names)}
    code_of = {key: -1 if name is None else position[_key(name)] for key, name in plain.items()}
    return np.fromiter(map(code_of.__getitem__, keys), dtype=np.int64, count=len(keys)), names
