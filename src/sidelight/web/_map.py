"""Data for the map of many rows: a sample, a density, the rows of a view, and selections.

A selection is a list of steps, in order. Each step chooses rows
(inside a polygon, of a cluster, that contain a text, …) and is added to what was selected before,
taken away from it, or intersected with it. The steps are stored with the statements about the rows.
"""

import base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import SidelightError
from sidelight.store import Said
from sidelight.web._bench import Bench

SHOWN = 300_000  # points that are drawn; above it a sample stands for the rows
GRID = 256  # cells of the density on each side
FIRST = 200  # rows of a selection that are listed
OPERATIONS = ("add", "subtract", "intersect")
Mask = NDArray[np.bool_]


@lru_cache(maxsize=4)
def _shuffled(n_rows: int) -> NDArray[np.int32]:
    """All rows in an order that never changes, so that a sample is the same every time."""
    return np.random.default_rng(0).permutation(n_rows).astype(np.int32)


def points(
    layout: NDArray[np.float32], box: Sequence[float] | None = None, most: int = SHOWN
) -> NDArray[np.int32]:
    """The rows to draw, ascending: all of a view, or a fixed sample of `most` of them."""
    n_rows = len(layout)
    if box is None:
        return np.sort(_shuffled(n_rows)[:most]) if n_rows > most else _all(n_rows)
    inside = _in_box(layout, box)
    if int(inside.sum()) > most:
        order = _shuffled(n_rows)
        return np.sort(order[inside[order]][:most])
    return np.flatnonzero(inside).astype(np.int32)


def _all(n_rows: int) -> NDArray[np.int32]:
    return np.arange(n_rows, dtype=np.int32)


def _in_box(layout: NDArray[np.float32], box: Sequence[float]) -> Mask:
    left, bottom, right, top = box
    x, y = layout[:, 0], layout[:, 1]
    inside: Mask = (x >= left) & (x <= right) & (y >= bottom) & (y <= top)
    return inside


def density(layout: NDArray[np.float32], n: int = GRID) -> NDArray[np.float32]:
    """How many rows lie in each cell of a grid over the map, from its lower left corner on."""
    cell = np.clip(((layout + 1) / 2 * n).astype(np.int64), 0, n - 1)
    counts = np.bincount(cell[:, 1] * n + cell[:, 0], minlength=n * n)
    return counts.astype(np.float32)


def in_polygon(layout: NDArray[np.float32], polygon: Sequence[Sequence[float]]) -> Mask:
    """Which points lie inside a polygon: a ray from them crosses its edges an odd number of times.

    Only points in the polygon's bounding box are tested; the loop is over edges.
    """
    corners = np.asarray(polygon, dtype=np.float64)
    low, high = corners.min(axis=0), corners.max(axis=0)
    inside = _in_box(layout, (low[0], low[1], high[0], high[1]))
    candidates = np.flatnonzero(inside)
    x, y = layout[candidates].T.astype(np.float64)
    odd = np.zeros(len(candidates), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y1 == y2:
            continue
        odd ^= ((y1 > y) != (y2 > y)) & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    inside[candidates] = odd
    return inside


def selected(bench: Bench, project: int, steps: Sequence[Mapping[str, Any]]) -> Mask:
    """The rows of a selection."""
    mask = np.zeros(bench.store.project(project).n_rows, dtype=bool)
    for step in steps:
        chosen = _chosen(bench, project, step)
        if step["op"] == "add":
            mask |= chosen
        elif step["op"] == "subtract":
            mask &= ~chosen
        elif step["op"] == "intersect":
            mask &= chosen
        else:
            raise SidelightError(
                f"unknown operation {step['op']!r} of a selection; known: {', '.join(OPERATIONS)}."
            )
    return mask


def _chosen(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    """The rows that one step chooses."""
    by = step["by"]
    if by not in _CHOOSERS:
        raise SidelightError(
            f"a selection is made by {', '.join(_CHOOSERS)}; {by!r} is not one of them."
        )
    return _CHOOSERS[by](bench, project, step)


def _by_polygon(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    found = bench.store.project(project)
    layout = bench.folder.array(step.get("layout") or found.config["files"]["layout"])
    if layout.shape != (found.n_rows, 2):
        raise SidelightError("the polygon was drawn on the map of another project.")
    if len(step.get("polygon") or []) < 3:
        raise SidelightError("a polygon has three corners or more.")
    return in_polygon(layout, step["polygon"])


def _by_rows(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    n_rows = bench.store.project(project).n_rows
    wrong = [row for row in step.get("rows") or [] if not 0 <= row < n_rows]
    if wrong:
        raise SidelightError(f"row {wrong[0]}: the project has rows 0 to {n_rows - 1:,}.")
    return _mask(n_rows, step.get("rows") or [])


def _by_cluster(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    run = _run(bench, project, step)
    return np.isin(bench.folder.array(run["labels_file"]), step.get("clusters") or [])


def _by_confidence(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    name = _run(bench, project, step)["scores"].get("membership")
    if name is None:
        raise SidelightError("the model of this run gives no confidence.")
    below: Mask = np.asarray(bench.folder.array(name)) < (step.get("below") or 0.0)
    return below


def _by_moved(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    first, second = (step.get("runs") or [None, None])[:2]
    return moved(bench, project, _number(first), _number(second))


def moved(bench: Bench, project: int, first: int, second: int) -> Mask:
    """Which rows have another colour in the second of two runs."""
    colours = []
    for number in (first, second):
        run = bench.store.run(project, number)
        of = np.array([cluster["colour"] for cluster in run["scores"]["clusters"]])
        colours.append(of[np.asarray(bench.folder.array(run["labels_file"]))])
    other: Mask = colours[0] != colours[1]
    return other


def _by_text(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    rows = bench.rows(project)
    return _mask(rows.project.n_rows, rows.search(step.get("text") or "", rows.project.n_rows))


def _by_class(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    named = [
        one.i
        for one in _said(bench, project)
        if one.kind == "label" and one.class_ == step.get("class")
    ]
    return _mask(bench.store.project(project).n_rows, named)


def _by_annotator(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    said = (one for one in _said(bench, project) if one.annotator == step.get("annotator"))
    return _mask(bench.store.project(project).n_rows, _rows_of(said))


def _unlabelled(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    named = [one.i for one in _said(bench, project) if one.kind == "label"]
    return ~_mask(bench.store.project(project).n_rows, named)


def _all_rows(bench: Bench, project: int, step: Mapping[str, Any]) -> Mask:
    return np.ones(bench.store.project(project).n_rows, dtype=bool)


_CHOOSERS = {
    "polygon": _by_polygon,
    "rows": _by_rows,
    "cluster": _by_cluster,
    "confidence": _by_confidence,
    "moved": _by_moved,
    "text": _by_text,
    "class": _by_class,
    "annotator": _by_annotator,
    "unlabelled": _unlabelled,
    "all": _all_rows,
}


def _mask(n_rows: int, rows: Sequence[int]) -> Mask:
    mask = np.zeros(n_rows, dtype=bool)
    mask[np.asarray(rows, dtype=np.int64)] = True
    return mask


def _rows_of(said: Any) -> list[int]:
    return [row for one in said for row in (one.i, one.j) if row is not None]


def _said(bench: Bench, project: int) -> list[Said]:
    return bench.store.statements(project, retracted=False)


def _number(run: Any) -> int:
    if not isinstance(run, int):
        raise SidelightError("give the numbers of the two runs.")
    return run


def _run(bench: Bench, project: int, step: Mapping[str, Any]) -> dict[str, Any]:
    return bench.store.run(project, _number(step.get("run")))


def described(
    bench: Bench, project: int, steps: Sequence[Mapping[str, Any]], run: int | None = None
) -> dict[str, Any]:
    """A selection as the page shows it: its rows, the first of them, what they have in common."""
    mask = selected(bench, project, steps)
    chosen = np.flatnonzero(mask)
    rows = bench.rows(project)
    return {
        "n": len(chosen),
        "bits": base64.b64encode(np.packbits(mask, bitorder="little").tobytes()).decode(),
        "rows": rows.shown(chosen[:FIRST].tolist()),
        "clusters": _cluster_counts(bench, project, chosen, run),
        "classes": _class_counts(bench, project, mask),
        "profile": profile(rows.X, chosen, rows.project.config["features"]),
    }


def _cluster_counts(
    bench: Bench, project: int, chosen: NDArray[np.int64], run: int | None
) -> list[dict[str, Any]]:
    if run is None or not len(chosen):
        return []
    found = bench.store.run(project, run)
    clusters = found["scores"]["clusters"]
    labels = np.asarray(bench.folder.array(found["labels_file"]))[chosen]
    counts = np.bincount(labels[labels >= 0], minlength=len(clusters))
    return [
        {"name": cluster["name"], "colour": cluster["colour"], "n": int(n)}
        for cluster, n in zip(clusters, counts, strict=True)
        if n
    ]


def _class_counts(bench: Bench, project: int, mask: Mask) -> list[dict[str, Any]]:
    counts: dict[Any, int] = {}
    for one in _said(bench, project):
        if one.kind == "label" and mask[one.i]:
            counts[one.class_] = counts.get(one.class_, 0) + 1
    return [{"name": str(name), "colour": None, "n": n} for name, n in counts.items()]


def profile(
    X: NDArray[np.float64], chosen: NDArray[np.int64], names: Sequence[str], most: int = 8
) -> list[dict[str, Any]]:
    """The features in which a selection lies farthest from all rows, in standard deviations."""
    if not len(chosen):
        return []
    sample = X if len(X) <= 100_000 else X[:: len(X) // 100_000]
    few = chosen if len(chosen) <= 100_000 else chosen[:: len(chosen) // 100_000]
    mean, spread = sample.mean(axis=0), sample.std(axis=0)
    far = (X[few].mean(axis=0) - mean) / np.where(spread > 0, spread, 1.0)
    order = np.argsort(-np.abs(far), kind="stable")[:most]
    return [{"name": names[k], "deviations": float(far[k])} for k in order]
