"""Pictures with matplotlib, which is imported where it is used."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sidelight.exceptions import DataError
from sidelight.side import CANNOT, MUST, SideInformation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, safe for colour-blind readers; the shapes tell clusters apart in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = "os^Dv<>Pp*"
# Past this many rows points hide each other, and a sample of them shows the same picture.
_MAX_POINTS = 20_000


def project(X: Any) -> NDArray[np.float64]:
    """The first two principal components of X, each pointing to its larger side.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, 2)

    Examples
    --------
    >>> project([[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [2.0, 0.0, 5.0]])[:, 0]
    array([-1.,  0.,  1.])
    """
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if dense.ndim != 2 or 0 in dense.shape:
        raise DataError(f"X has shape {dense.shape}; a picture needs rows and columns.")
    centred = dense - dense.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :2]
    axes = axes * np.where(np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0) < 0, -1, 1)
    plane = centred @ axes
    return plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])


def new_figure(n_pictures: int = 1) -> "Figure":
    """A figure for some pictures side by side; it belongs to no window and needs no closing.

    Examples
    --------
    >>> len(new_figure(2).axes)
    2
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * n_pictures, 4.5), layout="constrained")
    figure.subplots(1, n_pictures)
    return figure


def plot_clusters(
    X: Any,
    labels: ArrayLike | None = None,
    *,
    side: SideInformation | None = None,
    broken: ArrayLike | None = None,
    names: Any = None,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw rows in a plane, coloured by cluster, with the statements about them.

    Must-links are solid lines, cannot-links dashed ones, rows with a label have a ring; what is
    broken is red and thick.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
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
        Where to draw; a new figure by default (``ax.figure.savefig(...)`` writes it).

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> ax = plot_clusters([[0, 0], [1, 0], [9, 9]], [0, 0, 1], names=["near", "far"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['near', 'far']
    """
    ax = new_figure().axes[0] if ax is None else ax
    flat = not sparse.issparse(X) and np.shape(X)[1:] == (2,)
    plane = np.asarray(X, dtype=np.float64) if flat else project(X)
    _draw_rows(ax, plane, None if labels is None else np.asarray(labels), names)
    if side is not None:
        if broken is None:
            broken = _default_broken(side, labels)
        _draw_statements(ax, plane, side, np.asarray(broken, dtype=np.int64))
    ax.set(xticks=[], yticks=[], title=title)
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
    size = float(np.clip(15_000 / len(shown), 3, 36))
    if labels is None:
        x, y = plane[shown].T
        ax.scatter(x, y, s=size, c="#999999", linewidths=0, rasterized=True)
        return
    # With few clusters each has a shape of its own; with many, colour and shape go together.
    n_colours = len(COLOURS) if labels.max() >= len(COLOURS) else 1
    for cluster in np.unique(labels[shown]):
        x, y = plane[shown[labels[shown] == cluster]].T
        if cluster < 0:
            ax.scatter(x, y, s=size, c="#BBBBBB", marker="x", linewidths=0.8, label="noise")
            continue
        ax.scatter(
            x,
            y,
            s=size,
            c=COLOURS[cluster % len(COLOURS)],
            marker=MARKERS[cluster // n_colours % len(MARKERS)],
            linewidths=0,
            alpha=0.75,
            label=str(cluster if names is None else names[cluster]),
            rasterized=True,
        )


def _draw_statements(
    ax: "Axes", plane: NDArray[Any], side: SideInformation, broken: NDArray[np.int64]
) -> None:
    from matplotlib.collections import LineCollection

    said = side.statements
    is_broken = np.zeros(side.n_statements, dtype=bool)
    is_broken[broken] = True
    for wrong in (False, True):
        colour, suffix = ("#D00000", ", broken") if wrong else ("#555555", "")
        for kind, name, dashes in ((MUST, "must", "solid"), (CANNOT, "cannot", "dashed")):
            chosen = (said.kind == kind) & (is_broken == wrong)
            if chosen.any():
                lines = np.stack([plane[said.i[chosen]], plane[said.j[chosen]]], axis=1)
                width = 1.6 if wrong else 0.7
                drawn = LineCollection(
                    list(lines), colors=colour, linestyles=dashes, linewidths=width
                )
                drawn.set_label(name + suffix)
                ax.add_collection(drawn)
        rows = np.unique(said.i[(said.class_code >= 0) & (is_broken == wrong)])
        if len(rows):
            x, y = plane[rows].T
            rings = ax.scatter(x, y, s=70, c="none", edgecolors=colour, label="label" + suffix)
            rings.set_linewidth(2.0 if wrong else 0.9)
