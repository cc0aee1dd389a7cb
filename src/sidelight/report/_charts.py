"""Pictures of a result's numbers: objective, annotators, confusion, profiles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.report._colours import COLOURS
from sidelight.report._figures import check_matplotlib, new_figure, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches: a wider picture is too small to read on any screen.
_WIDEST = 14.0


def plot_history(history: ArrayLike, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the objective after each iteration.

    Parameters
    ----------
    history : array
        A result's ``history``.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> plot_history([3.0, 2.0, 1.9]).get_ylabel()
    'objective'
    """
    check_matplotlib()
    from matplotlib.ticker import MaxNLocator

    ax = new_figure(size=(5.0, 3.0)).axes[0] if ax is None else ax
    values = np.asarray(history, dtype=np.float64)
    ax.plot(np.arange(1, len(values) + 1), values, color=COLOURS[0], marker="o", markersize=3)
    ax.set(xlabel="iteration", ylabel="objective")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.ticklabel_format(axis="y", useOffset=False)
    return ax


def plot_annotators(
    names: Sequence[str],
    kept: ArrayLike,
    counts: ArrayLike,
    *,
    accuracy: ArrayLike | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw for each annotator the share of statements that the answer keeps, and the accuracy.

    Bars show the share, with Wilson's 95 % interval; diamonds show accuracies that a model has
    estimated.

    Parameters
    ----------
    names : sequence of str
        The annotators.
    kept, counts : array
        For each the number of statements that are kept, and of all that bind.
    accuracy : array, optional
        For each the estimated accuracy, NaN where there is none.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> ax = plot_annotators(["ann", "bob"], [9, 6], [10, 10], accuracy=[0.95, 0.55])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['ann (10)', 'bob (10)']
    """
    if ax is None:
        ax = new_figure(size=(6.0, 1.2 + 0.35 * len(names))).axes[0]
    n = np.maximum(np.asarray(counts, dtype=np.float64), 1)
    share = np.asarray(kept, dtype=np.float64) / n
    place = np.arange(len(names))
    z2 = 1.96**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * n)) / n) / (1 + z2 / n)
    reach = np.stack([share - (middle - half), middle + half - share]).clip(0)
    ax.barh(
        place,
        share,
        xerr=reach,
        color=COLOURS[4],
        ecolor="black",
        capsize=3,
        label="statements kept",
    )
    if accuracy is not None:
        ax.scatter(
            accuracy,
            place,
            marker="D",
            c="white",
            edgecolors="black",
            zorder=3,
            label="estimated accuracy",
        )
    told = [
        f"{short(name)} ({int(c):,})" for name, c in zip(names, np.asarray(counts), strict=True)
    ]
    ax.set(yticks=place, yticklabels=told, xlim=(0, 1.02))
    ax.set_xlabel("share of the statements that are kept")
    ax.invert_yaxis()
    if accuracy is not None:
        ax.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, fontsize="small", frameon=False
        )
    return ax


def plot_confusion(
    truth: Any,
    labels: ArrayLike,
    *,
    names: Sequence[Any] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how given classes and found clusters meet: counts, darker for a larger share of a class.

    Parameters
    ----------
    truth : sequence
        The class of each row, None or NaN where unknown.
    labels : array of shape (n_samples,)
        The cluster of each row.
    names : sequence, optional
        Names of the clusters.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> ax = plot_confusion(["a", "a", "b", None], [0, 0, 1, 1])
    >>> [text.get_text() for text in ax.texts]
    ['2', '0', '0', '1']
    """
    from sidelight.report._summary import confusion

    labels = np.asarray(labels)
    names = list(range(int(labels.max(initial=0)) + 1)) if names is None else list(names)
    classes, table = confusion(truth, labels, len(names))
    if ax is None:
        size = (min(2.2 + 0.55 * len(names), _WIDEST), min(1.6 + 0.4 * len(classes), _WIDEST))
        ax = new_figure(size=size).axes[0]
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    _heat_map(ax, share, table.astype(str), cmap="Blues", limits=(0.0, 1.0))
    ax.set(xlabel="cluster", ylabel="given class")
    _name_cells(ax, list(map(short, names)), list(map(short, classes)))
    return ax


def plot_profiles(
    clusters: Sequence[dict[str, Any]], *, n_columns: int = 12, ax: "Axes | None" = None
) -> "Axes":
    """Draw which columns set the clusters apart: differences of means in standard deviations.

    Parameters
    ----------
    clusters : list of dict
        The clusters of a summary (see `summarize`).
    n_columns : int
        How many columns to show, those with the largest differences.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> profile = [{"column": "age", "difference": 1.5, "mean": 50.0, "others": 30.0}]
    >>> ax = plot_profiles([{"name": "old", "profile": profile}])
    >>> [text.get_text() for text in ax.texts]
    ['+1.5']
    """
    of = [{entry["column"]: entry["difference"] for entry in c["profile"]} for c in clusters]
    largest = {column: max(abs(cluster[column]) for cluster in of) for column in of[0]}
    columns = sorted(largest, key=lambda column: -largest[column])[:n_columns]
    table = np.array([[cluster[column] for cluster in of] for column in columns])
    if ax is None:
        size = (min(2.5 + 0.7 * len(of), _WIDEST), 1.2 + 0.33 * len(columns))
        ax = new_figure(size=size).axes[0]
    # The sign stands in the cell, because both ends of the scale are dark in print.
    rounded = np.round(table, 1) + 0.0  # no minus before a zero
    texts = np.array([[f"{value:+.1f}" for value in row] for row in rounded])
    reach = max(float(np.abs(table).max(initial=0)), 1e-9)
    _heat_map(ax, table, texts, cmap="PuOr_r", limits=(-reach, reach))
    _name_cells(ax, [short(c["name"]) for c in clusters], list(map(short, columns)))
    return ax


def _heat_map(
    ax: "Axes",
    values: NDArray[Any],
    texts: NDArray[Any],
    *,
    cmap: str,
    limits: tuple[float, float],
) -> None:
    """Cells with their texts, white on dark and black on light."""
    image = ax.imshow(values, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto")
    if values.size > 400:  # smaller than can be read
        return
    shades = np.asarray(image.cmap(image.norm(values)))[..., :3]
    dark = shades @ np.array([0.299, 0.587, 0.114]) < 0.5
    for (row, column), text in np.ndenumerate(texts):
        colour = "white" if dark[row, column] else "black"
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize="small")


def _name_cells(ax: "Axes", columns: list[str], rows: list[str]) -> None:
    ax.set(xticks=np.arange(len(columns)), yticks=np.arange(len(rows)), yticklabels=rows)
    slanted = max(map(len, columns), default=0) > 6
    turned: dict[str, Any] = (
        {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    )
    ax.set_xticklabels(columns, **turned)
