"""Rows of a table as people and programs see them, and where they differ."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sidelight.tables import Table

# Characters that change the direction of a text, and could make it read as another.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


class Rows:
    """The rows of a table, for an interview.

    Parameters
    ----------
    table : Table
        The table.
    ids : ndarray or None
        The ids of its rows.
    id : str, optional
        The column with them, which need not be shown twice.
    show : sequence of str
        The columns to show; by default all, and of cells (.h5ad) what is known of them.
    hide : sequence of str
        Columns not to show.
    """

    def __init__(
        self,
        table: Table,
        ids: Any,
        *,
        id: str | None = None,
        show: Sequence[str] = (),
        hide: Sequence[str] = (),
    ) -> None:
        table.check_names([*show, *hide])
        self._table, self._ids = table, ids
        of_cells = [name for name in table.aside if name != "obs_names"]
        chosen = show or [name for name in of_cells or table.columns if name != id]
        self.columns = [name for name in chosen if name not in hide]

    def __len__(self) -> int:
        return self._table.n_rows

    def name(self, row: int) -> Any:
        """The row as files of statements name it: its id, or its number."""
        return row if self._ids is None else self._ids[row].item()

    def cells(self, row: int) -> dict[str, Any]:
        """The cells of a row: texts, numbers, and None where one is missing."""
        return {name: _plain(self._table.columns[name][row]) for name in self.columns}

    @cached_property
    def _spread(self) -> dict[str, float]:
        """The standard deviation of each column of numbers."""
        found = {}
        for name in self.columns:
            cells = self._table.columns[name]
            if not isinstance(cells, list):
                numbers = np.asarray(cells, dtype=np.float64)
                finite = numbers[np.isfinite(numbers)]
                found[name] = float(finite.std()) if len(finite) else 0.0
        return found

    def distances(self, i: int, j: int) -> dict[str, float]:
        """How far two rows are apart in each column: in standard deviations; texts 0 or infinity.

        A number and a gap differ as much as two different texts.
        """
        first, second = self.cells(i), self.cells(j)
        return {name: self._distance(name, first[name], second[name]) for name in self.columns}

    def _distance(self, name: str, one: Any, other: Any) -> float:
        if one == other:
            return 0.0
        if name not in self._spread or one is None or other is None:
            return math.inf
        return abs(one - other) / (self._spread[name] or 1.0)


def statement(
    question: Any, value: Any, names: Sequence[Any], annotator: str | None
) -> dict[str, Any]:
    """What an answer says, as the columns of a file of statements."""
    said: dict[str, Any] = {"i": names[0], "annotator": annotator}
    if question.kind == "pair":
        kind = "unsure" if value == "cannot_tell" else value
        return {"kind": kind, "j": names[1], **said}
    if value == "cannot_tell":
        return {"kind": "unsure", **said}
    if isinstance(value, str) and value.startswith("not:"):
        return {"kind": "not_label", "class": value[4:], **said}
    return {"kind": "label", "class": value, **said}


def written(value: Any) -> str:
    """A cell for the screen: nothing in it can move the cursor."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "".join(" " if c in "\n\t\r" else "\ufffd" if _is_control(c) else c for c in str(value))


def _is_control(character: str) -> bool:
    return character in _TURNS or unicodedata.category(character) in ("Cc", "Cs")


def _plain(value: Any) -> Any:
    """A cell as JSON can hold it."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def described(rows: Rows, question: Any) -> Mapping[str, Any]:
    """A question for a program: what an annotator may see, and the rows themselves."""
    return {
        **question.for_annotator(),
        "names": [rows.name(row) for row in question.rows],
        "cells": [rows.cells(row) for row in question.rows],
    }
