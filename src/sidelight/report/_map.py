"""An interactive drawing of the rows in a plane: plain SVG, and data for the script."""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._html import Html, tag
from sidelight.report._colours import colours_of
from sidelight.report._figures import sample
from sidelight.results import ClusterResult

WIDTH, HEIGHT, _EDGE = 1000, 700, 24
# More points hide each other, and a page with all of them would be too large.
MAX_POINTS = 6_000
# Pairs and labels that the script can show; doubtful ones come first.
_MAX_STATEMENTS = 3_000
_NAME = 40  # characters of a name
_NAMES = 250_000  # bytes of all names
_WRITTEN = 16  # clusters whose names stand in the drawing


class Drawn(NamedTuple):
    """The drawing, its data, and how many rows it shows."""

    svg: Html
    data: Html
    n_shown: int
    people: list[str]
    n_unnamed: int
    n_doubtful: int


def draw_map(
    result: ClusterResult,
    plane: NDArray[Any],
    *,
    doubtful: NDArray[np.bool_],
    before: NDArray[np.int64] | None = None,
) -> Drawn:
    """Draw rows by cluster; statements are data, which the script draws when they are wanted."""
    rows = _shown_rows(result, plane, doubtful)
    labels = result.labels[rows]
    rows = rows[np.argsort(labels, kind="stable")]
    labels = result.labels[rows]
    places = _places(plane, rows)
    colour = colours_of(result.sizes)
    parts = [_dots(places, labels, colour, "now")]
    if before is not None:
        sizes = np.bincount(before[before >= 0], minlength=len(colour))
        more = colours_of(sizes)
        more[: len(colour)] = colour  # a cluster has one colour, before and after
        free = np.setdiff1d(np.arange(24), colour)
        new = np.arange(len(colour), len(more))
        more[new] = -1
        more[new[: len(free)]] = free[: len(new)]
        parts.append(_dots(places, before[rows], more, "before"))
    names = [str(name) for name in result.cluster_names]
    if len(names) <= _WRITTEN:
        parts.append(_written(places, labels, names))
    lines = tag("g", class_="lines")
    ring = Html('<circle class="ring" r="9" cx="-99" cy="-99"></circle>')
    label = f"{len(rows):,} rows in a plane, coloured by cluster"
    svg = tag(
        "svg", lines, *parts, ring, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label
    )
    data, said = _data(result, rows, doubtful, names)
    people = [_short(str(result.side.annotators[k])) for k in sorted({s[3] for s in said} - {-1})]
    n_unnamed, n_doubtful = sum(s[3] < 0 for s in said), sum(s[4] for s in said)
    return Drawn(svg, data, len(rows), people, n_unnamed, n_doubtful)


def _shown_rows(
    result: ClusterResult, plane: NDArray[Any], doubtful: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """A sample of the rows that have a place; at most half of it are annotated ones."""
    placed = np.flatnonzero(np.isfinite(plane).all(axis=1))
    if len(placed) <= MAX_POINTS:
        return placed
    # Statements are drawn only where all of their rows are, so they are chosen, and not the rows.
    said = result.side.statements
    place = np.zeros(len(result.labels), dtype=bool)
    place[placed] = True
    seen = np.flatnonzero(said.binding & place[said.i] & ((said.j < 0) | place[said.j]))
    first = sample(seen[doubtful[seen]], MAX_POINTS // 6)
    more = sample(seen[~doubtful[seen]], MAX_POINTS // 4 - len(first))
    shown = np.concatenate([first, more])
    ends = np.concatenate([said.i[shown], said.j[shown]])
    chosen = np.unique(ends[ends >= 0])
    rest = np.setdiff1d(placed, chosen, assume_unique=True)
    return np.sort(np.concatenate([chosen, sample(rest, MAX_POINTS - len(chosen))]))


def _places(plane: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers inside the drawing; far rows stand at its edge."""
    at = np.asarray(plane, dtype=np.float64)[rows]
    if len(at) > 1_000:
        low, high = np.quantile(at, [0.001, 0.999], axis=0)
    else:
        low, high = at.min(axis=0, initial=np.inf), at.max(axis=0, initial=-np.inf)
    reach = np.where(high > low, high - low, 1.0)
    share = np.clip((at - low) / reach, 0, 1)
    share[:, high <= low] = 0.5
    inner = np.array([WIDTH - 2 * _EDGE, HEIGHT - 2 * _EDGE])
    share[:, 1] = 1 - share[:, 1]  # up is up
    return np.round(_EDGE + share * inner).astype(np.int64)


def _dots(
    places: NDArray[np.int64], labels: NDArray[Any], colour: NDArray[np.int64], name: str
) -> Html:
    """One path for each cluster: a dot is a line of no length with round ends."""
    found = []
    for k in np.unique(labels).tolist():
        dots = "".join(f"M{x} {y}h0" for x, y in places[labels == k].tolist())
        own = f"--k:var(--c{colour[k]})" if k >= 0 and colour[k] >= 0 else "--k:var(--grey)"
        found.append(Html(f'<path data-k="{k}" style="{own}" d="{dots}"></path>'))
    width = float(np.clip(500 / np.sqrt(max(len(places), 1)), 6, 16))
    return tag("g", *found, class_=name, style=f"stroke-width:{width:.1f}")


def _written(places: NDArray[np.int64], labels: NDArray[Any], names: list[str]) -> Html:
    """The names where the clusters are."""
    found = []
    for k in np.unique(labels[labels >= 0]).tolist():
        x, y = np.median(places[labels == k], axis=0)
        found.append(tag("text", _short(names[k], 24), x=f"{x:.0f}", y=f"{y:.0f}"))
    return tag("g", *found, class_="names")


def _short(text: str, limit: int = _NAME) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _data(
    result: ClusterResult, rows: NDArray[np.int64], doubtful: NDArray[np.bool_], names: list[str]
) -> tuple[Html, list[list[int]]]:
    """Data for the script: names of rows, and the statements between them."""
    side, said = result.side, result.side.statements
    at = np.full(len(result.labels), -1)
    at[rows] = np.arange(len(rows))
    here = (at[said.i] >= 0) & (~said.is_pair | (at[said.j] >= 0)) & said.binding
    order = np.lexsort((~doubtful,))  # stable: doubtful ones first
    chosen = order[here[order]][:_MAX_STATEMENTS]
    statements = [
        [
            int(at[said.i[k]]),
            int(at[said.j[k]]) if said.is_pair[k] else -1 - int(said.class_code[k]),
            int(said.sign[k]),
            int(said.annotator[k]),
            int(doubtful[k]),
        ]
        for k in chosen.tolist()
    ]
    data = {
        "rows": _names_of_rows(side, rows),
        "clusters": {k: _short(names[k]) for k in np.unique(result.labels[rows]).tolist()},
        "classes": [_short(str(name)) for name in side.classes],
        "people": [_short(str(name)) for name in side.annotators],
        "said": statements,
    }
    return as_data(data, "map-data"), statements


def _names_of_rows(side: Any, rows: NDArray[np.int64]) -> list[str]:
    names = [str(side.row_name(row)) for row in rows.tolist()]
    for limit in (_NAME, 20, 10):
        cut = [_short(name, limit) for name in names]
        if sum(len(name.encode("utf-8", "replace")) for name in cut) <= _NAMES:
            break
    return cut


def as_data(value: Any, id: str) -> Html:
    """Data for the script, written so that nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{id}">{text}</script>')
