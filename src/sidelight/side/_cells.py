"""One value as the text of one cell, and back, so that class 3 is not class "3".

A cell holds its text as it is, unless that text is itself a JSON literal (a number, true, false,
null, or something in quotes): then it is the JSON literal. So ``3`` is the number three, ``"3"``
with its quotes is a text, ``007`` and ``B-cell`` are texts, and an empty cell is a missing value.
A text that a spreadsheet would execute, such as ``=1+1``, is written as a JSON literal too.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight._formulas import BEGINNINGS

_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_LEADING_ZERO = re.compile(r"(?:^| )0[0-9]")
_WHOLE = re.compile(r"[+-]?[0-9]+")
# A line break inside a cell is legal CSV but breaks every tool that counts lines, and a lone
# surrogate is no UTF-8: such texts go into JSON quotes, where both are escaped.
_UNSAFE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_MAX_DIGITS = sys.int_info.default_max_str_digits


def to_cell(value: Any, *, keep_formulas: bool = False) -> str:
    """Write one value (None, bool, int, float or text) so that :func:`from_cell` restores it.

    Parameters
    ----------
    value : None, bool, int, float or str
        The value.
    keep_formulas : bool
        Whether a text that a spreadsheet would take for a formula stays without quotes.

    Returns
    -------
    str

    Examples
    --------
    >>> [to_cell(value) for value in (3, "3", "three", None)]
    ['3', '"3"', 'three', '']
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = value.strip() == value != "" and value[0] != '"'
    if not keep_formulas and value.startswith(BEGINNINGS):
        plain = False
    if plain and not _LITERAL.fullmatch(value) and not _UNSAFE.search(value):
        return value
    return json.dumps(value)


def from_cell(cell: str) -> Any:
    """Read one cell: the value of a JSON literal, the text of anything else, None when empty.

    Parameters
    ----------
    cell : str
        The cell, as :func:`to_cell` writes it.

    Returns
    -------
    None, bool, int, float or str

    Examples
    --------
    >>> [from_cell(cell) for cell in ("3", '"3"', "three", "")]
    [3, '3', 'three', None]
    """
    text = cell.strip()
    if not text:
        return None
    if text[0] == '"' or _LITERAL.fullmatch(text):
        try:
            return json.loads(text)
        except ValueError:  # "Big" Joe, where the quote is part of a name; 4,301 digits and more
            return text
    return text


def text_from_cell(cell: str) -> str | None:
    """Read a cell that is known to hold text: 123 is "123", and so is "123" in its quotes."""
    text = cell.strip()
    if text[:1] == '"':
        value = from_cell(text)
        return value if isinstance(value, str) else text
    return text or None


def to_text(value: Any) -> Any:
    """Turn a number into the text that a person would write for it; the rest stays as it is."""
    if isinstance(value, bool):
        return json.dumps(value)
    whole = to_whole(value)
    return str(whole) if isinstance(value, (int, float)) else value


def to_whole(value: Any) -> Any:
    """Turn 3.0, "3" and "003" into 3; other values stay as they are, for the error.

    Tables with gaps make floats of whole numbers, which is where 3.0 comes from.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) <= _MAX_DIGITS and _WHOLE.fullmatch(value):
        return int(value)
    return value


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def map_distinct(function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """Apply a function to every value, computing it once per distinct value.

    Parameters
    ----------
    function : callable
        Of one value.
    values : iterable
        Hashable values; 1, 1.0 and True are different.

    Returns
    -------
    list

    Examples
    --------
    >>> map_distinct(repr, [1, True, 1])
    ['1', 'True', '1']
    """
    values = values if isinstance(values, list) else list(values)
    # The type is part of the key only where it has to be: text equals nothing but text.
    if set(map(type, values)) <= {str}:
        of_text = {value: function(value) for value in dict.fromkeys(values)}
        return list(map(of_text.__getitem__, values))
    keys = list(zip(map(type, values), values, strict=True))
    of_key = {key: function(key[1]) for key in dict.fromkeys(keys)}
    return list(map(of_key.__getitem__, keys))


def plain_whole_numbers(cells: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Whole numbers and which cells are filled, when every filled cell is a plain whole number.

    The quick way for the common file; None when a cell needs a closer look.
    """
    filled = list(filter(None, cells))
    joined = " ".join(filled)
    digits = joined.replace(" ", "")
    if filled and not (digits.isascii() and digits.isdecimal()):
        return None
    # 18 digits always fit; a leading zero makes a text; a blank inside a cell changes the count
    if max(map(len, filled), default=0) > 18 or _LEADING_ZERO.search(joined):
        return None
    values = np.fromstring(joined, dtype=np.int64, sep=" ")
    if len(values) != len(filled):
        return None
    mask = np.fromiter(map(bool, cells), dtype=bool, count=len(cells))
    spread = np.full(len(cells), -1, dtype=np.int64)
    spread[mask] = values
    return spread, mask


def texts_from_cells(cells: Sequence[str]) -> list[str | None]:
    """Every cell by :func:`text_from_cell`, quickly where no cell has quotes."""
    stripped = list(map(str.strip, cells))
    if '"' in "".join(stripped):
        return map_distinct(text_from_cell, stripped)
    return list(map({"": None}.get, stripped, stripped))
