"""Pictures with error bars. Without matplotlib there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# name of a line -> points (x, mean, standard error)
Lines = Mapping[str, Sequence[tuple[float, float, float]]]


def panels(figure: Mapping[str, Lines], path: Path, *, x: str, y: str, log_x: bool = False) -> None:
    """One panel per data set, one line per method."""
    from matplotlib.figure import Figure

    # Not pyplot: it would keep the figure, and choose a window on a desktop.
    canvas = Figure(figsize=(3.8 * len(figure) + 2.2, 3.4), layout="constrained")
    axes: Any = canvas.subplots(1, len(figure), squeeze=False)[0]
    for axis, (title, lines) in zip(axes, figure.items(), strict=True):
        for name, points in lines.items():
            style = "--" if "published" in name else "-"
            xs, means, errors = zip(*points, strict=True) if points else ((), (), ())
            axis.errorbar(xs, means, yerr=errors, label=name, ls=style, marker="o", ms=3, capsize=2)
        axis.set(title=title, xlabel=x, ylabel=y, xscale="log" if log_x else "linear")
        axis.grid(alpha=0.3)
    canvas.legend(
        *axes[-1].get_legend_handles_labels(), loc="outside right upper", fontsize="small"
    )
    canvas.savefig(path, dpi=110)
