"""Pictures of rows, clusters and statements; matplotlib is imported where it is used."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sidelight.exceptions import DataError
from sidelight.report._colours import COLOURS
from sidelight.side import SideInformation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The shapes tell clusters apart in print.
MARKERS = "os^Dv<>Pp*"
# Past this many rows points hide each other, and a sample of them shows the same picture.
_MAX_POINTS = 20_000
# Past this many lines or rings of one kind nothing can be made out.
_MAX_LINES = 100
# Past this many marks a legend explains nothing.
_MAX_LEGEND = 40
# A map by neighbours takes seconds for this number of rows; others are not drawn.
_MAX_MAPPED = 5_000
_METHODS = ("pca", "tsne", "umap")


def project(X: Any, *, method: str = "pca") -> NDArray[np.float64]:
    """Two coordinates for each row, to draw it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The data, scaled as for the clustering.
    method : {"pca", "tsne", "umap"}
        The first two principal components, each pointing to its larger side, or a map that keeps
        neighbours together but not distances. Maps are made of at most 5,000 rows, always the same
        ones; the others are NaN. "umap" needs the package umap-learn.

    Returns
    -------
    ndarray of shape (n_samples, 2)

    Examples
    --------
    >>> project([[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [2.0, 0.0, 5.0]])[:, 0]
    array([-1.,  0.,  1.])
    """
    _check_method(method)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if dense.ndim != 2 or 0 in dense.shape:
        raise DataError(f"X has shape {dense.shape}; a picture needs rows and columns.")
    if method != "pca" and len(dense) > 3:  # fewer rows have too few neighbours
        return _map(dense, method)
    centred = dense - dense.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :2]
    axes = axes * np.where(np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0) < 0, -1, 1)
    plane = centred @ axes
    return plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])


def _map(X: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    """A map of a fixed sample of the rows."""
    from threadpoolctl import threadpool_limits

    shown = sample(np.arange(len(X)), _MAX_MAPPED)
    if method == "tsne":
        from sklearn.manifold import TSNE

        perplexity = min(30.0, (len(shown) - 1) / 3)
        mapper = TSNE(perplexity=perplexity, init="pca", random_state=0)
    else:
        check_umap()
        from umap import UMAP  # type: ignore[import-not-found]

        mapper = UMAP(n_neighbors=min(15, len(shown) - 1), random_state=0, n_jobs=1)
    plane = np.full((len(X), 2), np.nan)
    # t-SNE starts from two principal components, which a single column does not have.
    rows = X[shown] if X.shape[1] > 1 else np.repeat(X[shown], 2, axis=1)
    # One thread: the same picture everywhere, and hundreds of tiny steps do not wait for others.
    with threadpool_limits(1):
        plane[shown] = mapper.fit_transform(rows)
    return plane


def check_pictures(method: str = "pca") -> None:
    """Refuse a picture that cannot be made, before the work begins.

    Parameters
    ----------
    method : {"pca", "tsne", "umap"}
        The projection to the plane: see `project`.

    Examples
    --------
    >>> check_pictures("map")
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DataError: method is 'map'; it is one of pca, tsne, umap.
    """
    _check_method(method)
    if method == "umap":
        check_umap()


def _check_method(method: str) -> None:
    if method not in _METHODS:
        raise DataError(f"method is {method!r}; it is one of {', '.join(_METHODS)}.")


def check_umap() -> None:
    """Refuse to go on without umap-learn."""
    from importlib.util import find_spec

    if find_spec("umap") is None:
        raise DataError('a UMAP needs umap-learn: pip install umap-learn, or choose "tsne".')


def check_matplotlib() -> None:
    """Refuse to go on without matplotlib."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise DataError(
            "pictures need matplotlib: pip install matplotlib. The page of a report does without."
        )


def sample(rows: NDArray[Any], limit: int) -> NDArray[Any]:
    """At most this number of rows, always the same ones, in order."""
    if len(rows) <= limit:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))


def new_figure(n_pictures: int = 1, *, size: tuple[float, float] = (5.0, 4.5)) -> "Figure":
    """A figure for some pictures side by side; it belongs to no window and needs no closing.

    Parameters
    ----------
    n_pictures : int
        How many.
    size : tuple of float
        Width and height of each, in inches.

    Returns
    -------
    matplotlib figure

    Examples
    --------
    >>> len(new_figure(2).axes)
    2
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * n_pictures, size[1]), layout="constrained")
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

    Must-links are solid lines, cannot-links are dashed lines, and rows with a label have a ring.
    Broken statements are red and thick.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        More than two columns are projected on the first two principal components.
    labels : array of shape (n_samples,), optional
        Clusters; without them all rows have the same colour.
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
    add_legend(ax)
    return ax


def add_legend(ax: "Axes", *, below: float = 0.0) -> None:
    """The legend, below the picture: a free place inside would need a search of all points."""
    handles, texts = ax.get_legend_handles_labels()
    if not 0 < len(handles) <= _MAX_LEGEND:
        return
    crowded = len(handles) > 16
    columns = 3 if max(map(len, texts)) > 12 else 4
    legend = ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -below),
        fontsize="x-small" if crowded else "small",
        ncols=min(len(handles), columns + 2 * crowded),
        frameon=False,
    )
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            # points may be too small and too pale to tell apart
            handle.set_sizes([36.0])
            handle.set_alpha(1)


def _default_broken(side: SideInformation, labels: ArrayLike | None) -> NDArray[np.int64]:
    if labels is None:
        return side.conflicts(limit=0).broken
    return np.flatnonzero(side.violated(labels))


def _draw_rows(ax: "Axes", plane: NDArray[Any], labels: NDArray[Any] | None, names: Any) -> None:
    shown = sample(np.flatnonzero(np.isfinite(plane).all(axis=1)), _MAX_POINTS)
    size = float(np.clip(15_000 / max(len(shown), 1), 3, 36))
    if labels is None:
        x, y = plane[shown].T
        ax.scatter(x, y, s=size, c="#999999", linewidths=0, rasterized=True)
        return
    # Colours and ten shapes, both in turn: 120 pairs, and in print ten shapes.
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
            marker=MARKERS[cluster % len(MARKERS)],
            linewidths=0,
            alpha=0.75 if len(shown) < 5_000 else 0.4,
            label=short(cluster if names is None else names[cluster]),
            rasterized=True,
        )
    if names is not None and len(names) <= 16:
        _write_names(ax, plane[shown], labels[shown], names)


def short(name: Any, limit: int = 24) -> str:
    """A name that fits into a picture. A dollar sign would start a formula."""
    text = str(name).replace("$", r"\$")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _write_names(ax: "Axes", plane: NDArray[Any], labels: NDArray[Any], names: Any) -> None:
    """The names where the clusters are: colours are lost in print and shapes in a crowd."""
    from matplotlib.patheffects import withStroke

    for cluster in np.unique(labels[labels >= 0]).tolist():
        x, y = np.median(plane[labels == cluster], axis=0)
        text = ax.text(x, y, short(names[cluster]), ha="center", va="center", weight="bold")
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
        text.set_zorder(10)


def _draw_statements(
    ax: "Axes", plane: NDArray[Any], side: SideInformation, broken: NDArray[np.int64]
) -> None:
    said = side.statements
    is_broken = np.zeros(side.n_statements, dtype=bool)
    is_broken[broken] = True
    for wrong in (False, True):
        colour, suffix = ("#D00000", ", broken") if wrong else ("#555555", "")
        for sign, name, dashes in ((1, "must", "solid"), (-1, "cannot", "dashed")):
            chosen = np.flatnonzero(said.is_pair & (said.sign == sign) & (is_broken == wrong))
            if len(chosen):
                _draw_pairs(ax, plane, side, chosen, (name + suffix, colour, dashes, wrong))
        rows = np.unique(said.i[said.is_class & (is_broken == wrong)])
        if len(rows):
            shown = sample(rows, _MAX_LINES)
            x, y = plane[shown].T
            label = counted("label" + suffix, len(shown), len(rows))
            size = 70 if len(plane) < 5_000 else 30
            rings = ax.scatter(x, y, s=size, c="none", edgecolors=colour, label=label)
            rings.set_linewidth(2.0 if wrong else 0.9)


def _draw_pairs(
    ax: "Axes",
    plane: NDArray[Any],
    side: SideInformation,
    chosen: NDArray[Any],
    style: tuple[str, str, str, bool],
) -> None:
    from matplotlib.collections import LineCollection

    said, (name, colour, dashes, wrong) = side.statements, style
    shown = sample(chosen, _MAX_LINES)
    lines = np.stack([plane[said.i[shown]], plane[said.j[shown]]], axis=1)
    lines = lines[np.isfinite(lines).all(axis=(1, 2))]
    width = 1.6 if wrong else 0.7
    drawn = LineCollection(list(lines), colors=colour, linestyles=dashes, linewidths=width)
    drawn.set_label(counted(name, len(shown), len(chosen)))
    ax.add_collection(drawn)


def counted(name: str, n_shown: int, n_all: int) -> str:
    """A name for the legend that says if not all are drawn."""
    return name if n_shown == n_all else f"{name} ({n_shown} of {n_all:,})"
