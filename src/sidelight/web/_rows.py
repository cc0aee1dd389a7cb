"""The rows of a project: a table becomes files of the project's folder, and rows come back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import SidelightError, UnusableColumnsError
from sidelight.store import Folder, Project
from sidelight.tables import Table, prepare, read_table
from sidelight.web._advice import in_page
from sidelight.web._pictures import PictureError, contents_of, is_inside, problem_of

TEXTS = (".csv", ".tsv")
PREVIEW = 8  # rows of an import that are shown before anything is written
# The options of `prepare`.
_HOW = ("columns", "drop", "one_hot", "text", "text_model", "impute", "scale")


def preview(
    path: Path,
    *,
    id: str | None = None,
    reading: Mapping[str, str] | None = None,
    images: Sequence[str] = (),
    root: Path | None = None,
    archive: Path | None = None,
    **how: Any,
) -> dict[str, Any]:
    """The contents of a table and its problems, before anything is written.

    Pictures of the columns `images` are looked for in an archive, else below `root`.
    """
    try:
        table = read_table(path, text=[id] if id else [], **(reading or {}))
    except SidelightError as error:
        if path.suffix not in TEXTS:
            raise
        # Another separator may solve it, so it is shown as a problem and not raised.
        problem = {"message": _unnamed(str(error), path)}
        return {"n_rows": 0, "columns": [], "rows": [], "problems": [problem], "notes": []}
    problems, notes = [], []
    try:
        ids = table.ids(id)
        notes = prepare(table, aside=[id] if id else [], ids=ids, **_told(how)).notes
    except UnusableColumnsError as error:
        problems = [{"message": str(in_page(error)), **_plain_problems(error.problems)}]
    except SidelightError as error:
        problems = [{"message": str(error)}]
    if root is not None:
        told = [
            problem_of(list(table.columns[name]), name, root=root, archive=archive)
            for name in images
            if name in table.columns
        ]
        problems += [{"message": text} for text in told if text is not None]
    return {
        "n_rows": table.n_rows,
        "columns": [_described(name, cells) for name, cells in table.columns.items()],
        "rows": [_shown(table, k) for k in range(min(PREVIEW, table.n_rows))],
        "problems": [{**one, "message": _unnamed(one["message"], path)} for one in problems],
        "notes": [_unnamed(note, path) for note in notes],
        "separator": None if table.dialect is None else table.dialect.separator,
        "decimal": None if table.dialect is None else table.dialect.decimal,
    }


def import_table(
    folder: Folder,
    path: Path,
    *,
    id: str | None = None,
    show: Sequence[str] = (),
    source: str | None = None,
    reading: Mapping[str, str] | None = None,
    images: Sequence[str] = (),
    archive: Path | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Read a table and put what the workbench needs of it into a folder.

    Returns the config of the project: files by name, notes. Nothing is left if the
    table cannot be used.
    """
    table = read_table(path, text=[id] if id else [], **(reading or {}))
    table.check_names([*show, *images, *([id] if id else [])])
    ids = table.ids(id)
    prepared = prepare(table, aside=[id] if id else [], ids=ids, **_told(how))
    files = {
        "rows": _as_parquet(folder, table),
        "X": folder.put_array(prepared.X),
        "layout": folder.put_array(plane(prepared.X)),
    }
    # Of texts it is megabytes, which every request would read in the config.
    how_prepared = json.dumps(prepared.preparation.to_dict()).encode()
    files["preparation"] = folder.put(how_prepared, ".json")
    if archive is not None:
        files["pictures"] = folder.put_file(archive, ".zip")
    if ids is not None:
        files["ids"] = folder.put(json.dumps(ids.tolist()).encode(), ".json")
    return {
        "n_rows": table.n_rows,
        "source": source or path.name,
        "id": id,
        "show": list(show),
        "images": list(images),
        "how": _told(how),
        "reading": dict(reading or {}),
        "features": prepared.names,
        "notes": [_unnamed(note, path) for note in prepared.notes],
        "files": files,
        "layout": "pca",
        "words": {"must": "same kind", "cannot": "different kind", "unsure": "can't tell"},
    }


def plane(X: NDArray[Any], method: str = "pca") -> NDArray[np.float32]:
    """Rows in a plane, as the map draws them: between -1 and 1."""
    from sidelight.report import project

    found = project(X, method=method) if X.shape[1] > 1 else np.column_stack([X[:, 0], X[:, 0] * 0])
    found = found - np.median(found, axis=0)  # the mean follows a far row
    far = np.abs(found).max()
    bulk = np.quantile(np.abs(found), 0.999) if len(found) > 1000 else far
    if far <= 3.0 * bulk:
        return (found / (far or 1.0)).astype(np.float32)
    # Far rows would squeeze all others into the middle. They keep their order in a margin.
    inner = 0.9
    scaled = found * (inner / bulk) if bulk else np.zeros_like(found)
    beyond = np.maximum(np.abs(scaled) - inner, 0.0) / (1.0 - inner)
    squeezed = inner + (1.0 - inner) * beyond / (1.0 + beyond)
    return np.where(beyond > 0, np.sign(scaled) * squeezed, scaled).astype(np.float32)


@dataclass(frozen=True)
class Rows:
    """The rows of one project, read when they are asked for."""

    project: Project
    folder: Folder

    @cached_property
    def ids(self) -> list[Any] | None:
        """The ids of the rows, or None."""
        name = self.project.config["files"].get("ids")
        return None if name is None else list(json.loads(self.folder.path(name).read_bytes()))

    @cached_property
    def X(self) -> NDArray[np.float64]:
        """The matrix that models see, mapped into memory."""
        return self.folder.array(self.project.config["files"]["X"])

    @property
    def table_path(self) -> Path:
        """The table as Parquet."""
        return self.folder.path(self.project.config["files"]["rows"])

    @cached_property
    def _arrow(self) -> Any:
        from pyarrow import parquet

        return parquet.read_table(self.table_path, memory_map=True)

    def shown(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Rows as people see them: position, id, and the cells of the columns to show."""
        n_rows = self.project.n_rows
        wrong = [row for row in rows if not 0 <= row < n_rows]
        if wrong:
            raise SidelightError(f"row {wrong[0]}: the project has rows 0 to {n_rows - 1:,}.")
        if not rows:
            return []
        config = self.project.config
        names = config["show"] or [n for n in self._arrow.column_names if n != config["id"]]
        cells = self._arrow.select(names).take(list(rows)).to_pylist()
        return [
            {
                "row": row,
                "id": self.ids[row] if self.ids else row,
                "cells": _finite(
                    {k: "picture" if k in self.images and is_inside(v) else v for k, v in c.items()}
                ),
            }
            for row, c in zip(rows, cells, strict=True)
        ]

    @property
    def images(self) -> list[str]:
        """The columns that name or hold pictures."""
        found: list[str] = self.project.config.get("images", [])
        return found

    def picture(self, row: int, column: str, root: Path) -> bytes:
        """The picture of a row, as it came."""
        if column not in self.images or not 0 <= row < self.project.n_rows:
            raise PictureError("there is no such picture.")
        name = self.project.config["files"].get("pictures")
        cell = self._arrow.column(column)[row].as_py()
        return contents_of(
            cell, root=root, archive=None if name is None else self.folder.path(name)
        )

    @cached_property
    def spread(self) -> dict[str, float]:
        """The standard deviation of each column of numbers."""
        from pyarrow import compute, types

        found = {}
        for name in self._arrow.column_names:
            column = self._arrow.column(name)
            if types.is_floating(column.type) or types.is_integer(column.type):
                value = compute.stddev(column).as_py()
                found[name] = 0.0 if value is None or not np.isfinite(value) else float(value)
        return found

    def differ(self, shown: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
        """For each column whether rows differ there: texts at all, numbers by a deviation."""
        first, *others = (row["cells"] for row in shown)
        found = {}
        for name, cell in first.items():
            if name in self.images:
                found[name] = False  # people compare pictures by eye; names of files say nothing
                continue
            far = self.spread.get(name)
            found[name] = any(
                abs(cell - other[name]) > far
                if far is not None and None not in (cell, other[name])
                else cell != other[name]
                for other in others
            )
        return found

    def search(self, text: str, limit: int = 50) -> list[int]:
        """The first rows whose id or cells contain a text, whatever its case."""
        from pyarrow import compute, types

        found: set[int] = set()
        wanted = text.casefold()
        if self.ids:
            found.update(k for k, name in enumerate(self.ids) if wanted in str(name).casefold())
        for column in self._arrow.itercolumns():
            if types.is_string(column.type) or types.is_large_string(column.type):
                hits = compute.match_substring(column, text, ignore_case=True)
                found.update(np.flatnonzero(hits.to_numpy(zero_copy_only=False)).tolist())
        return sorted(found)[:limit]


def _told(how: Mapping[str, Any]) -> dict[str, Any]:
    """The options for `prepare`; empty ones keep their defaults."""
    unknown = set(how) - set(_HOW)
    if unknown:
        raise SidelightError(f"unknown option {sorted(unknown)[0]!r}; known: {', '.join(_HOW)}.")
    return {name: value for name, value in how.items() if value}


def _unnamed(text: str, path: Path) -> str:
    """A text without the internal name of an upload."""
    return text.replace(str(path), "the table").replace(path.name, "the table")


def _as_parquet(folder: Folder, table: Table) -> str:
    with TemporaryDirectory(dir=folder.root) as place:
        path = Path(place) / "rows.parquet"
        table.write(path, {})
        return folder.put(path.read_bytes(), ".parquet")


def _described(name: str, cells: Any) -> dict[str, Any]:
    is_text = isinstance(cells, list)
    missing = sum(c is None for c in cells) if is_text else int(np.isnan(cells).sum())
    return {"name": name, "type": "text" if is_text else "number", "missing": missing}


def _shown(table: Table, row: int) -> dict[str, Any]:
    return _finite(
        {
            name: cells[row] if isinstance(cells, list) else cells[row].item()
            for name, cells in table.columns.items()
        }
    )


def _finite(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Cells that JSON can hold: what is not a number is missing."""
    return {
        name: None if isinstance(v, float) and not np.isfinite(v) else _simple(v)
        for name, v in cells.items()
    }


def _simple(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _plain_problems(problems: Mapping[str, Any]) -> dict[str, Any]:
    return {"columns": {kind: [str(name) for name in names] for kind, names in problems.items()}}
