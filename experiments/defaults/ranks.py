"""Mean ranks and critical differences.

J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

Floats = NDArray[np.float64]


def mean_ranks(scores: Floats) -> Floats:
    """Mean rank of each column over the rows: 1 is the highest score, ties share their ranks."""
    ranks: Floats = rankdata(-np.round(scores, 12), axis=1).mean(axis=0)
    return ranks


def critical_difference(n_methods: int, n_tables: int, level: float = 0.05) -> float:
    """How far two mean ranks must lie apart to differ, by Nemenyi's test."""
    # 100,000 degrees of freedom stand for infinitely many, for which scipy switches formulas.
    q = studentized_range.ppf(1 - level, n_methods, 100_000) / math.sqrt(2)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def cliques(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """The longest runs of sorted ranks that do not differ, as first and last position."""
    runs: list[tuple[int, int]] = []
    for first, low in enumerate(ranks):
        last = max(i for i, rank in enumerate(ranks) if rank - low <= difference)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw_diagrams(
    panels: Mapping[str, tuple[Mapping[str, float], float]], path: Path, *, bold: Sequence[str]
) -> None:
    """One critical difference diagram per panel: (mean ranks, critical difference) by title."""
    from matplotlib.figure import Figure

    height = [0.22 * (len(ranks) // 2 + 1) + 1.1 for ranks, _ in panels.values()]
    canvas = Figure(figsize=(9, sum(height)), layout="constrained")
    axes: Any = canvas.subplots(len(panels), 1, squeeze=False, height_ratios=height)[:, 0]
    for axis, (title, (ranks, difference)) in zip(axes, panels.items(), strict=True):
        _diagram(axis, title, ranks, difference, bold)
    canvas.savefig(path, dpi=110)


def _diagram(
    axis: Any, title: str, ranks: Mapping[str, float], difference: float, bold: Sequence[str]
) -> None:
    """A line of ranks, names at both sides, and bars over those that do not differ."""
    names = sorted(ranks, key=lambda name: ranks[name])
    values = [ranks[name] for name in names]
    low, high = 1, len(names)
    runs = cliques(values, difference)
    margin = 0.45 * (high - low)
    axis.set(xlim=(low - margin, high + margin), title=title)
    axis.axis("off")
    axis.plot([low, high], [0, 0], color="black", lw=1)
    for rank in range(low, high + 1):
        axis.plot([rank, rank], [0, 0.25], color="black", lw=1)
        if rank == low or rank % (1 if high <= 20 else 5) == 0:  # more would overlap
            axis.text(rank, 0.4, str(rank), ha="center", va="bottom", fontsize=8)
    axis.plot([low, low + difference], [1.6, 1.6], color="black", lw=1.5)
    axis.text(low + difference + 0.1, 1.6, f"critical difference {difference:.2f}", va="center",
              fontsize=8)  # fmt: skip
    for number, (first, last) in enumerate(runs):
        depth = -0.3 - 0.22 * number
        axis.plot([values[first] - 0.05, values[last] + 0.05], [depth, depth], color="black", lw=3)
    top = -0.9 - 0.22 * len(runs)
    left = (len(names) + 1) // 2
    for i, (name, rank) in enumerate(zip(names, values, strict=True)):
        on_left = i < left
        depth = top - 0.8 * (i if on_left else len(names) - 1 - i)
        end = low - 0.1 if on_left else high + 0.1
        axis.plot([rank, rank, end], [0, depth, depth], color="grey", lw=0.8)
        text = f"{name}  {rank:.1f}" if on_left else f"{rank:.1f}  {name}"
        axis.text(end, depth, text, ha="right" if on_left else "left", va="center", fontsize=8,
                  fontweight="bold" if name in bold else "normal")  # fmt: skip
    axis.set_ylim(top - 0.8 * left, 2.2)
