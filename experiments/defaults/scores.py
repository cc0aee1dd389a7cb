"""Scores of the cells by table, setting and method, and which of our models fall too low."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.defaults.methods import METHODS
from experiments.runner import Outcome
from experiments.tables import markdown

Floats = NDArray[np.float64]

OURS = tuple(name for name, method in METHODS.items() if method.model)
OTHERS = tuple(name for name in METHODS if name not in OURS)
GIVEN, FOUND = "given", "found"
# How the number of clusters is known, the base line to keep, and how that knows it.
_LINES = (
    (GIVEN, "KMeans", GIVEN),
    (FOUND, "KMeans", GIVEN),
    (FOUND, "KMeans, K by silhouette", FOUND),
)
# A difference in ARI that the page speaks of as a loss.
LOSS = 0.05
_ERROR_LENGTH = 60


class Scores:
    """Scores by table, setting, method and way to the number of clusters; a failure scores 0."""

    def __init__(self, outcomes: Iterable[Outcome], measure: str = "ari") -> None:
        found: dict[tuple[str, ...], list[float]] = {}
        self.failed: dict[tuple[str, str], int] = {}
        worst = 0.0 if measure in ("ari", "nmi") else math.nan
        for outcome in outcomes:
            cell = outcome.cell
            key = tuple(cell[name] for name in ("dataset", "setting", "method", "clusters"))
            value = worst if outcome.error is not None else outcome.values[measure]
            found.setdefault(key, []).append(value)
            if outcome.error is not None:
                of = (cell["method"], outcome.error)
                self.failed[of] = self.failed.get(of, 0) + 1
        self.means = {key: float(np.mean(values)) for key, values in found.items()}
        self.datasets, self.settings, self.methods = (
            tuple(dict.fromkeys(key[i] for key in found)) for i in range(3)
        )

    def column(self, setting: str, method: str, clusters: str = GIVEN) -> Floats:
        """The scores of a method in a setting, table by table; NaN where it was not run."""
        keys = ((name, setting, method, clusters) for name in self.datasets)
        return np.array([self.means.get(key, math.nan) for key in keys])


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and standard error over the tables that have a value."""
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan, math.nan
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return float(values.mean()), error


def below_kmeans(scores: Scores) -> str:
    """Our models that are far below KMeans, which has no statements, in a mean; or that none is.

    A model that has to find the number of clusters is held against KMeans that is told the number,
    and against KMeans that has to find it too.
    """
    lines = []
    for method, (clusters, line, told) in product(OURS, _LINES):
        gaps = {
            setting: mean_and_error(
                scores.column(setting, method, clusters) - scores.column(setting, line, told)
            )[0]
            for setting in scores.settings
        }
        low = [f"{setting} {gap:+.3f}" for setting, gap in gaps.items() if gap < -LOSS]
        if low:
            lines.append([f"**{method}**", clusters, line, "; ".join(low)])
    if not lines:
        return f"\nNo model is more than {LOSS} below KMeans in the mean of a setting.\n"
    title = f"\nMore than {LOSS} below KMeans without statements in the mean of a setting"
    return f"{title}\n\n" + markdown(["method", "number of clusters", "line", "less it"], lines)


def failures(scores: Scores) -> str:
    """The errors of cells, counted by method; nothing if there are none."""
    if not scores.failed:
        return ""
    groups: dict[tuple[str, str], int] = {}
    for (method, error), n in scores.failed.items():
        kind = re.sub(r"\d+", "#", error)[:_ERROR_LENGTH]  # errors name rows and counts
        groups[method, kind] = groups.get((method, kind), 0) + n
    lines = [[method, str(n), error] for (method, error), n in groups.items()]
    return "\nErrors, each scored as 0:\n\n" + markdown(["method", "cells", "error"], lines)
