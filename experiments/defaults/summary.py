"""The page in short: means by setting, and the default beside the best of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from experiments.defaults.scores import (
    FOUND,
    GIVEN,
    OTHERS,
    OURS,
    Scores,
    below_kmeans,
    failures,
    mean_and_error,
)
from experiments.defaults.settings import LABELS
from experiments.runner import Outcome
from experiments.tables import markdown

_SHORT_NAMES = {
    "labels 2 %": "L 2 %",
    "labels 5 %": "L 5 %",
    "labels 10 %": "L 10 %",
    "labels 20 %": "L 20 %",
    "labels 10 %, 10 % wrong": "L 10 % w",
    "labels 20 %, 10 % wrong": "L 20 % w",
    "half of the classes, 10 %": "half",
    "labels 5 %, n/5 pairs": "L 5 %, n/5",
    "n/10 pairs": "n/10",
    "n/5 pairs": "n/5",
    "n/5 pairs, 10 % wrong": "n/5 w",
    "n pairs": "n",
    "n pairs, 10 % wrong": "n w",
}
_HALVES = (LABELS, tuple(name for name in _SHORT_NAMES if name not in LABELS))


def render_summary(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    """Means by setting, the best first; then the default beside the best of the others."""
    scores = Scores(outcomes)
    text = "L: share of labelled rows; half: 10 % of half of the classes; n: as many pairs as rows;"
    text += " w: 10 % of the statements wrong. Bold: the best of a setting, on all tables.\n"
    for clusters, settings in product((GIVEN, FOUND), _HALVES):
        text += _means(scores, clusters, [s for s in settings if s in scores.settings])
    rows = _beside_the_best(scores)
    for settings in _HALVES:
        text += _differences([row for row in rows if row["setting"] in settings])
    return rows, text + below_kmeans(scores) + failures(scores)


def _means(scores: Scores, clusters: str, settings: Sequence[str]) -> str:
    """Methods down, settings across; on fewer tables a method is not the best.

    Methods that were run in all settings come first, the best first.
    """
    found: dict[str, tuple[int, list[float]]] = {}
    for method in scores.methods:
        values = np.array([scores.column(s, method, clusters) for s in settings])
        n_tables = int((~np.isnan(values)).any(axis=0).sum()) if len(settings) else 0
        if n_tables:
            found[method] = n_tables, [mean_and_error(column)[0] for column in values]
    whole = [means for n_tables, means in found.values() if n_tables == len(scores.datasets)]
    if not whole:
        return ""
    best = np.nanmax(whole, axis=0)

    def place(method: str) -> tuple[int, float]:
        means = found[method][1]
        return int(np.isnan(means).sum()), -float(np.nanmean(means))

    lines = []
    for method in sorted(found, key=place):
        n_tables, means = found[method]
        complete = n_tables == len(scores.datasets)
        name = f"`{method}`" if method in OURS else method
        lines.append([
            name if complete else f"{name}, {n_tables} of {len(scores.datasets)} tables",
            *(_digits(mean, bold=complete and mean == top)
              for mean, top in zip(means, best, strict=True)),
        ])  # fmt: skip
    table = markdown(["", *(_SHORT_NAMES[setting] for setting in settings)], lines)
    return f"\nNumber of clusters {clusters}\n\n{table}"


def _digits(value: float, *, bold: bool) -> str:
    if np.isnan(value):
        return "–"
    text = f"{value:.3f}".replace("0.", ".", 1)
    return f"**{text}**" if bold else text


def _differences(rows: Sequence[Mapping[str, Any]]) -> str:
    """The default less the best of the others, settings across."""
    if not rows:
        return ""
    header = ["`DiscriminativeClustering` less", *(_SHORT_NAMES[r["setting"]] for r in rows)]
    table = markdown(header, [
        ["the best other by mean", *(f"{r['less_best']:+.3f} ± {r['se']:.3f}" for r in rows)],
        ["which is", *(r["best"] for r in rows)],
        ["the best base line of each table, in hindsight",
         *(f"{r['less_base_lines']:+.3f}" for r in rows)],
        ["the best other of each table, in hindsight",
         *(f"{r['less_hindsight']:+.3f}" for r in rows)],
    ])  # fmt: skip
    return f"\n{table}"


def _beside_the_best(scores: Scores) -> list[dict[str, Any]]:
    """The default, number of clusters given, less the best of the others in each setting."""
    default, rows = "DiscriminativeClustering", []
    for setting in (s for s in _SHORT_NAMES if s in scores.settings):
        mine = scores.column(setting, default)
        others = {m: scores.column(setting, m) for m in scores.methods if m != default}
        others = {m: values for m, values in others.items() if not np.isnan(values).any()}
        if not others or np.isnan(mine).any():
            continue
        best = max(others, key=lambda name: float(others[name].mean()))
        base = [values for name, values in others.items() if name in OTHERS]
        less, error = mean_and_error(mine - others[best])
        rows.append({
            "setting": setting, "best": best, "less_best": less, "se": error,
            "less_base_lines": float((mine - np.max(base, axis=0)).mean()),
            "less_hindsight": float((mine - np.max(list(others.values()), axis=0)).mean()),
        })  # fmt: skip
    return rows
