"""Pictures with matplotlib, which is imported where it is used."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.exceptions import DataError
from sidelight.side import CANNOT, MUST, SideInformation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, safe for colour-blind readers; the shapes tell clusters apart in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = "os^Dv<>Pp*"
# Past this many rows points hide each other, and a sample of them shows the same picture.
_MAX_POINTS = 20_000


def project(X: ArrayLike) -> NDArray[np.float64]:
    """The first two principal components of X, each pointing to its larger side.

    Examples
    --------
    >>> project([[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [2.0, 0.0, 5.0]])[:, 0]
    array([-1.,  0.,  1.])
    """
    from scipy import sparse

    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if dense.ndim != 2 or 0 in dense.shape:
        raise DataError(f"X has shape {dense.shape}; a picture needs rows and columns.")
    centred = dense - dense.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :2]
    axes = axes * np.where(np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0) < 0, -1, 1)
    plane = centred @ axes
    return plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])


def plot_clusters(
    X: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    side: SideInformation | None = None,
    broken: ArrayLike | None = None,
    names: Any = None,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw rows in a plane, coloured by cluster, with the statements about them.

    Must-links are solid lines, cannot-links dashed ones, rows with a label have a ring; what is
    broken is red and thick.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        More than two columns are projected on the first two principal components.
    labels : array of shape (n_samples,), optional
        Clusters; without them all rows look alike.
    side : SideInformation, optional
        Statements to draw.
    broken : array of statement positions, optional
        Statements to point out; by default those that ``labels`` breaks, or, without labels, those
        that the other statements contradict.
    names : sequence, optional
        Names of the clusters, for the legend.
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    import matplotlib.pyplot as plt

    X = np.asarray(X) if not hasattr(X, "toarray") else X
    plane = np.asarray(X, dtype=float) if X.ndim == 2 and X.shape[1] == 2 else project(X)
    if ax is None:
        ax = plt.subplots(figsize=(6, 5), layout="constrained")[1]
    _draw_rows(ax, plane, None if labels is None else np.asarray(labels), names)
    if side is not None:
        if broken is None:
            broken = _default_broken(side, labels)
        _draw_statements(ax, plane, side, np.asarray(broken, dtype=np.int64))
    ax.set(xticks=[], yticks=[], title=title or "")
    handles, _ = ax.get_legend_handles_labels()
    if 0 < len(handles) <= 16:
        ax.legend(loc="best", fontsize="small", framealpha=0.8)
    return ax


def _default_broken(side: SideInformation, labels: ArrayLike | None) -> NDArray[np.int64]:
    if labels is None:
        return side.conflicts(limit=0).broken
    return np.flatnonzero(side.violated(labels))


def _draw_rows(ax: "Axes", plane: NDArray[Any], labels: NDArray[Any] | None, names: Any) -> None:
    shown = np.arange(len(plane))
    if len(plane) > _MAX_POINTS:
        shown = np.sort(np.random.default_rng(0).choice(len(plane), _MAX_POINTS, replace=False))
    size = float(np.clip(4000 / len(shown), 4, 36))
    if labels is None:
        ax.scatter(*plane[shown].T, s=size, c="#999999", linewidths=0, rasterized=True)
        return
    for cluster in np.unique(labels[shown]):
        points = plane[shown[labels[shown] == cluster]]
        name = "noise" if cluster < 0 else cluster if names is None else names[cluster]
        ax.scatter(
            *points.T,
            s=size,
            c="#BBBBBB" if cluster < 0 else COLOURS[cluster % len(COLOURS)],
            marker="x"
            if cluster < 0
            else MARKERS[cluster // len(COLOURS) % len(MARKERS)]
            if np.unique(labels).size > len(COLOURS)
            else MARKERS[cluster % len(MARKERS)],
            linewidths=0.8 if cluster < 0 else 0,
            alpha=0.75,
            label=str(name),
            rasterized=True,
        )


def _draw_statements(
    ax: "Axes", plane: NDArray[Any], side: SideInformation, broken: NDArray[np.int64]
) -> None:
    from matplotlib.collections import LineCollection

    said = side.statements
    is_broken = np.zeros(side.n_statements, dtype=bool)
    is_broken[broken] = True
    for kind, dashes in ((MUST, "solid"), (CANNOT, (0, (4, 3)))):
        for wrong, style in (
            (False, {"colors": "#555555", "linewidths": 0.7, "alpha": 0.6}),
            (True, {"colors": "#D00000", "linewidths": 1.8, "alpha": 0.95}),
        ):
            chosen = (said.kind == kind) & (is_broken == wrong)
            if chosen.any():
                lines = np.stack([plane[said.i[chosen]], plane[said.j[chosen]]], axis=1)
                name = f"{'must' if kind == MUST else 'cannot'}{', broken' if wrong else ''}"
                ax.add_collection(LineCollection(lines, linestyles=[dashes], label=name, **style))
    about_class = said.class_code >= 0
    for wrong, colour, name in ((False, "#333333", "label"), (True, "#D00000", "label, broken")):
        rows = np.unique(said.i[about_class & (is_broken == wrong)])
        if len(rows):
            ax.scatter(
                *plane[rows].T, s=70, facecolors="none", edgecolors=colour,
                linewidths=2.0 if wrong else 0.9, label=name,
            )  # fmt: skip
