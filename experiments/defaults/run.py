"""Defaults of all models beside what people would use instead: 26 tables, 13 settings.

See README.md. A method that fails scores 0.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.defaults.development import MANY_CLASSES, SMALL, TABLES, development_table
from experiments.defaults.methods import METHODS
from experiments.defaults.ranks import critical_difference, draw_diagrams, mean_ranks
from experiments.defaults.scores import (
    FOUND,
    GIVEN,
    LOSS,
    OURS,
    Scores,
    below_kmeans,
    failures,
    mean_and_error,
)
from experiments.defaults.settings import LABELS, PAIRS, SETTINGS, score, statements
from experiments.defaults.summary import render_summary
from experiments.runner import Cell, Experiment, Outcome, Table, seed_of
from experiments.tables import markdown
from sidelight.exceptions import DatasetNotFoundError

Floats = NDArray[np.float64]

# Draw 0 chose the defaults, so the tables show draw 1, which chose nothing.
CHOOSING, CONFIRMING = 0, 1
SHORT = ("labels 2 %", "labels 10 %", "half of the classes, 10 %", "n/5 pairs", "n pairs")
TIMED = ("satimage", "isolet1", "mouse_bladder", "wine")


# One cell


def run(cell: Cell) -> Mapping[str, float]:
    """Draw the statements of this cell, fit its method, score the rows without statements."""
    data = development_table(cell["dataset"], cell["draw"])
    draw = {name: cell[name] for name in ("dataset", "setting", "draw")}
    side = statements(data.y, SETTINGS[cell["setting"]], seed_of(**draw))
    method = METHODS[cell["method"]]
    given = side.only(kind=list(method.takes))
    k = data.n_classes if cell["clusters"] == GIVEN else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a base line that has not converged is scored all the same
        if cell.get("timed"):
            method.fit(data.X, given, k, seed_of(**cell))  # compiles, loads
            start = time.process_time()
            method.fit(data.X, given, k, seed_of(**cell))
            return {"seconds": time.process_time() - start}
        labels = method.fit(data.X, given, k, seed_of(**cell))
    return score(data.y, labels, side)


def uses(cell: Cell) -> tuple[str, ...]:
    """The model of ours that this cell fits."""
    name = METHODS[cell["method"]].model
    return (name,) if name else ()


def missing(cell: Cell) -> str | None:
    """Why this cell cannot run here: its table is not on this machine."""
    try:
        development_table(cell["dataset"], cell["draw"])
    except DatasetNotFoundError as error:
        return str(error)
    return None


# Which cells


def _cells(
    datasets: Sequence[str],
    settings: Sequence[str],
    draws: Sequence[int],
    **more: Any,
) -> list[Cell]:
    cells: list[Cell] = []
    for name, setting, (method, how), draw in product(datasets, settings, METHODS.items(), draws):
        if not how.suits(labels=SETTINGS[setting].labels > 0):
            continue
        if name in MANY_CLASSES and not how.many_classes:
            continue
        for clusters in (GIVEN,) * how.takes_k + (FOUND,) * how.finds_k:
            cell = {"dataset": name, "setting": setting, "method": method, "clusters": clusters}
            cells.append(cell | {"draw": draw} | more)
    return cells


def _draws(repeats: int | None, *usual: int) -> Sequence[int]:
    """The draws of a table: as many as asked for from the first on, or its own."""
    return usual if repeats is None else range(repeats)


def _all_cells(repeats: int | None) -> list[Cell]:
    return _cells(TABLES, tuple(SETTINGS), _draws(repeats, CONFIRMING))


def _given_cells(repeats: int | None) -> list[Cell]:
    return [cell for cell in _all_cells(repeats) if cell["clusters"] == GIVEN]


def _short_cells(repeats: int | None) -> list[Cell]:
    return _cells(SMALL, SHORT, _draws(repeats, CONFIRMING))


def _timed_cells(repeats: int | None) -> list[Cell]:
    draws = _draws(repeats, CONFIRMING)
    cells = _cells(TIMED, ("labels 10 %", "n pairs"), draws, timed=True)
    return [cell for cell in cells if cell["clusters"] == GIVEN]


# Means by setting


def _render_means(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows = _mean_rows(outcomes)
    text = f"Tables: {', '.join(Scores(outcomes).datasets)}.\n"
    for clusters, title in (
        (GIVEN, "ARI, number of clusters given"),
        (FOUND, "ARI, number of clusters found"),
    ):
        mine = [row for row in rows if row["clusters"] == clusters]
        for part, settings in (
            ("labels", LABELS),
            ("pairs", [s for s in SETTINGS if s not in LABELS]),
        ):
            table = _wide(mine, settings, lambda row: f"{row['ari']:.3f} ± {row['se']:.3f}")
            if table:
                text += f"\n{title}; {part}: mean over tables ± standard error\n\n{table}"
    found = [row for row in rows if row["clusters"] == FOUND]
    if found:
        text += (
            "\nMean of log2(clusters found / classes); 0 is the right number, 1 twice as many\n\n"
        )
        text += _wide(found, tuple(SETTINGS), lambda row: f"{row['log_ratio']:+.2f}")
    return rows, text + below_kmeans(Scores(outcomes)) + failures(Scores(outcomes))


def _mean_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    of = {measure: Scores(outcomes, measure) for measure in ("ari", "nmi", "clusters", "classes")}
    rows = []
    ari = of["ari"]
    for setting, clusters, method in product(ari.settings, (GIVEN, FOUND), ari.methods):
        values = ari.column(setting, method, clusters)
        if np.isnan(values).all():
            continue
        mean, error = mean_and_error(values)
        numbers = of["clusters"].column(setting, method, clusters)
        classes = of["classes"].column(setting, method, clusters)
        ratio = np.log2(numbers / classes)
        rows.append({
            "setting": setting, "clusters": clusters, "method": method, "ari": mean, "se": error,
            "nmi": mean_and_error(of["nmi"].column(setting, method, clusters))[0],
            "log_ratio": mean_and_error(ratio)[0],
            "tables": int((~np.isnan(values)).sum()),
        })  # fmt: skip
    return rows


def _wide(
    rows: Sequence[Mapping[str, Any]],
    settings: Sequence[str],
    show: Callable[[Mapping[str, Any]], str],
) -> str:
    """Methods down, settings across."""
    cells = {(row["method"], row["setting"]): row for row in rows}
    shown = [setting for setting in settings if any(s == setting for _, s in cells)]
    lines = []
    for method in METHODS:
        mine = [cells.get((method, setting)) for setting in shown]
        if any(row is not None for row in mine):
            name = f"**{method}**" if method in OURS else method
            lines.append([name, *("–" if row is None else show(row) for row in mine)])
    return markdown(["method", *shown], lines) if shown and lines else ""


# Ranks


def _render_ranks(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    scores = Scores(outcomes)
    rows: list[dict[str, Any]] = []
    for group, settings in (("labels", LABELS), ("pairs", PAIRS)):
        table = {method: _by_table(scores, settings, method) for method in scores.methods}
        table = {method: values for method, values in table.items() if not np.isnan(values).any()}
        matrix = np.column_stack(list(table.values()))
        difference = critical_difference(len(table), len(matrix))
        for method, rank, values in zip(table, mean_ranks(matrix), matrix.T, strict=True):
            rows.append({
                "group": group, "method": method, "rank": float(rank),
                "ari": float(values.mean()), "critical_difference": difference,
                "tables": len(matrix),
            })  # fmt: skip
    rows.sort(key=lambda row: (row["group"], row["rank"]))
    lines = [
        [row["group"], row["method"], f"{row['rank']:.2f}", f"{row['ari']:.3f}"] for row in rows
    ]
    names = "; ".join((*_complete(scores, LABELS), *_complete(scores, PAIRS)))
    text = f"Settings: {names}.\n\n"
    return rows, text + markdown(["settings", "method", "mean rank", "mean ARI"], lines)


def _by_table(scores: Scores, settings: Sequence[str], method: str) -> Floats:
    """The mean over the settings, table by table; NaN where the method was not run in all.

    A run that was stopped may lack a method in some settings; these are left out for all.
    """
    columns = [scores.column(s, method) for s in _complete(scores, settings)]
    mean: Floats = np.mean(columns, axis=0)
    return mean


def _complete(scores: Scores, settings: Sequence[str]) -> tuple[str, ...]:
    """Those of the settings in which every method was run that was run in any of them."""
    ran = {
        setting: {m for m in scores.methods if not np.isnan(scores.column(setting, m)).all()}
        for setting in settings
        if setting in scores.settings
    }
    every = set().union(*ran.values())
    return tuple(setting for setting, methods in ran.items() if methods == every)


def _draw_ranks(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    panels = {}
    for group in dict.fromkeys(row["group"] for row in rows):
        mine = [row for row in rows if row["group"] == group]
        title = f"{group}: mean ranks on {mine[0]['tables']} tables"
        ranks = {row["method"]: float(row["rank"]) for row in mine}
        panels[title] = ranks, float(mine[0]["critical_difference"])
    draw_diagrams(panels, path, bold=OURS)


# Table by table


def _render_tables(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    scores = Scores(outcomes)
    rows = []
    for group, settings in (("labels", LABELS), ("pairs", PAIRS)):
        for method in scores.methods:
            values = _by_table(scores, settings, method)
            if np.isnan(values).all():
                continue
            rows += [
                {"group": group, "dataset": name, "method": method, "ari": float(value)}
                for name, value in zip(scores.datasets, values, strict=True)
            ]
    return rows, "Mean ARI over the settings with labels, and over those with pairs.\n"


def _draw_tables(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Tables down, methods across, darker is better; a box marks the best of a table."""
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys(row["group"] for row in rows))
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    widths = [len({r["method"] for r in rows if r["group"] == group}) for group in groups]
    canvas = Figure(
        figsize=(0.42 * sum(widths) + 2.5, 0.24 * len(datasets) + 2.4), layout="constrained"
    )
    axes: Any = canvas.subplots(1, len(groups), squeeze=False, width_ratios=widths)[0]
    for axis, group in zip(axes, groups, strict=True):
        mine = {(r["dataset"], r["method"]): float(r["ari"]) for r in rows if r["group"] == group}
        methods = list(dict.fromkeys(method for _, method in mine))
        values = np.array([[mine[d, m] for m in methods] for d in datasets])
        axis.imshow(values, vmin=0, vmax=1, cmap="Blues", aspect="auto")
        for i, j in product(range(len(datasets)), range(len(methods))):
            if np.isnan(values[i, j]):
                continue
            best = values[i, j] >= np.nanmax(values[i]) - 1e-9
            axis.text(
                j, i, f"{values[i, j]:.2f}".replace("0.", "."), ha="center", va="center",
                fontsize=6, color="white" if values[i, j] > 0.6 else "black",
                fontweight="bold" if best else "normal",
            )  # fmt: skip
        axis.set_xticks(range(len(methods)), methods, rotation=90, fontsize=7)
        axis.set_yticks(range(len(datasets)), datasets, fontsize=7)
        axis.set_title(group, fontsize=9)
    canvas.savefig(path, dpi=60)


# Where we lose


def _render_losses(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    scores = Scores(outcomes)
    rows = []
    for setting, method in product(scores.settings, OURS):
        mine = scores.column(setting, method)
        others = {o: scores.column(setting, o) for o in scores.methods if o != method}
        others = {o: v for o, v in others.items() if not np.isnan(v).any()}
        if np.isnan(mine).all() or "KMeans" not in others:
            continue
        single = max(others, key=lambda name: float(others[name].mean()))
        difference, error = mean_and_error(mine - others[single])
        best = np.max(list(others.values()), axis=0)
        beaten = [
            f"{name} {gap:+.2f}"
            for name, gap in zip(scores.datasets, mine - best, strict=True)
            if gap < -LOSS
        ]
        rows.append({
            "setting": setting, "method": method,
            "less_kmeans": mean_and_error(mine - others["KMeans"])[0],
            "best_single": single, "less_best_single": difference, "se": error,
            "less_hindsight": mean_and_error(mine - best)[0], "beaten": "; ".join(beaten),
        })  # fmt: skip
    text = "ARI less that of KMeans; of the best other method of the setting, by mean; and of the "
    text += "best other of each table, picked in hindsight.\n\n"
    header = ["setting", "method", "less KMeans", "less best other", "", "less hindsight"]
    lines = [
        [
            row["setting"], row["method"], f"{row['less_kmeans']:+.3f}",
            f"{row['less_best_single']:+.3f} ± {row['se']:.3f}", row["best_single"],
            f"{row['less_hindsight']:+.3f}",
        ]
        for row in rows
    ]  # fmt: skip
    return rows, text + markdown(header, lines)


# Time


def _render_time(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    found: dict[tuple[str, str, str], list[float]] = {}
    for outcome in outcomes:
        if outcome.error is None:
            cell = outcome.cell
            key = (cell["dataset"], cell["setting"], cell["method"])
            found.setdefault(key, []).append(outcome.values["seconds"])
    rows: list[dict[str, Any]] = [
        {"dataset": d, "setting": s, "method": m, "seconds": float(np.median(seconds))}
        for (d, s, m), seconds in found.items()
    ]
    places = list(dict.fromkeys((row["dataset"], row["setting"]) for row in rows))
    by = {(row["method"], row["dataset"], row["setting"]): row["seconds"] for row in rows}
    lines = []
    for method in METHODS:
        seconds = [by.get((method, *place)) for place in places]
        lines.append([method, *("–" if s is None else f"{s:.2f}" for s in seconds)])
    return rows, markdown(["method", *(f"{d}, {s}" for d, s in places)], lines)


_PROTOCOL = (
    "Draw 1 of each setting, which chose nothing; draw 0 chose defaults. A draw chooses rows and "
    "statements, the same for every method.",
    "At most 800 random rows of a table, classes with at least 5 of them; columns standardised "
    "(counts of RNA: scaled to equal depth, logarithm), 50 principal components of more than 100 "
    "columns.",
    "Scores are of the rows without statements. A method that ends with an error scores 0.",
    "Our models have their defaults; given the number of clusters, it is n_clusters, or "
    "n_components of BayesianMixture.",
    "Classifiers use the labels alone, PartitionLevelKMeans labels and cannot-links, KMeans "
    "nothing.",
)

_RECORDED = tuple(
    cell
    for cell in _cells(("iris", "wine"), ("labels 10 %", "n/5 pairs"), (CHOOSING,))
    if cell["method"] in (*OURS, "seeded k-means")
)

EXPERIMENT = Experiment(
    title="Defaults beside what people would use instead",
    run=run,
    missing=missing,
    recorded=_RECORDED,
    uses=uses,
    tables={
        "summary": Table("The whole in short", _PROTOCOL, _all_cells, render_summary),
        "means": Table("Means by setting", _PROTOCOL, _all_cells, _render_means),
        "ranks": Table(
            "Mean ranks, and which of them differ",
            (
                "A table counts once, by its mean over the settings with labels, or with pairs.",
                "Methods under one bar do not differ by Nemenyi's test at 5 %.",
            ),
            _given_cells,
            _render_ranks,
            _draw_ranks,
        ),
        "tables": Table(
            "Table by table",
            ("Number of clusters given. Bold: the best of a table.",),
            _given_cells,
            _render_tables,
            _draw_tables,
        ),
        "losses": Table(
            "Where we lose",
            (f"Tables where a model is more than {LOSS} below the best other: in the CSV file.",),
            _given_cells,
            _render_losses,
        ),
        "time": Table(
            "CPU seconds of one fit",
            ("The second of two fits, number of clusters given; median over draws.",),
            _timed_cells,
            _render_time,
            serial=True,
        ),
        "short": Table(
            "The version for ten minutes: small tables, five settings, one draw",
            _PROTOCOL[1:],
            _short_cells,
            _render_means,
        ),
    },
)
