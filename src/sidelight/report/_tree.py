"""A picture of a tree of clusters, however deep it is: the top is drawn, the rest is counted."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.exceptions import DataError
from sidelight.report._colours import COLOURS
from sidelight.report._figures import add_legend, counted, new_figure, sample, short
from sidelight.side import LABEL, SideInformation
from sidelight.tree import ClusterTree, ends, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Past this many arcs of one kind nothing can be made out.
_MAX_ARCS = 60

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def plot_tree(
    tree: ClusterTree,
    labels: ArrayLike | None = None,
    *,
    names: ArrayLike | None = None,
    side: SideInformation | None = None,
    max_leaves: int = 60,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the top of a tree as a dendrogram, with class colours and statements.

    Must-links are solid arcs below the tree, cannot-links dashed ones, red and thick if ``labels``
    break them; a triangle marks labelled rows.

    Parameters
    ----------
    tree : ClusterTree
        Of any depth: nothing recurses.
    labels : array of shape (n_leaves,), optional
        Classes or clusters; the bar under each branch shows which of them it holds, and a branch
        with only one of them has its colour.
    names : array of shape (n_leaves,), optional
        Names of the rows; their numbers by default (or the ids in ``side``).
    side : SideInformation, optional
        Statements to draw.
    max_leaves : int, default=60
        How many branches are drawn at most. Where there are more rows, the lowest joints are left
        out, a branch of several rows shows their number, and the title says so.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default (``ax.figure.savefig(...)`` writes it).

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.tree import ClusterTree
    >>> tree = ClusterTree(np.array([4, 4, 5, 5, 6, 6, -1]), np.array([0, 0, 0, 0, 1.0, 1, 3]), 4)
    >>> ax = plot_tree(tree, ["a", "a", "b", "b"], names=["ann", "bob", "cy", "dee"])
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['ann', 'bob', 'cy', 'dee']
    """
    if max_leaves < 2:
        raise DataError(f"max_leaves is {max_leaves}; a tree has two branches at least.")
    size = (float(np.clip(0.16 * min(tree.n_leaves, max_leaves), 5.0, 24.0)), 4.5)
    ax = new_figure(size=size).axes[0] if ax is None else ax
    top = _top(tree, max_leaves)
    codes, classes = _codes(labels, tree.n_leaves)
    colours = _draw_branches(ax, top, codes)
    low = _draw_bars(ax, top, codes, classes, colours)
    if side is not None:
        low = _draw_statements(ax, top, side, codes, low)
    ax.set_xticks(np.arange(top.n_branches), _branch_names(top, names, side), rotation=90)
    ax.tick_params(axis="x", length=0, labelsize="small")
    ax.set_ylim(low * 1.02, top.heights.max() * 1.03 or 1.0)
    ax.set_ylabel("bits")
    for edge in ("top", "right", "bottom"):
        ax.spines[edge].set_visible(False)
    if top.n_branches < tree.n_leaves:
        ax.set_title(f"the top {top.n_branches} branches of {tree.n_leaves:,} rows", fontsize=10)
    add_legend(ax, below=0.16)
    return ax


class _Top(NamedTuple):
    """The highest joints of a tree; branches are numbered from the left."""

    children: Ints  # (n_branches - 1, 2): branches, then joints in their order
    heights: Floats  # of the joints
    branch: Ints  # of each row
    n_branches: int


def _top(tree: ClusterTree, max_leaves: int) -> _Top:
    linkage = tree.to_linkage()
    n, n_joints = tree.n_leaves, min(max_leaves, tree.n_leaves) - 1
    first = 2 * n - 1 - n_joints  # the first joint that is drawn
    pairs = linkage[len(linkage) - n_joints :, :2].astype(np.int64)
    up = np.arange(2 * n - 1)  # rows below the drawn joints lead to their branch
    hidden = linkage[: len(linkage) - n_joints, :2].astype(np.int64)
    up[hidden.ravel()] = np.repeat(np.arange(n, n + len(hidden)), 2)
    branches = np.setdiff1d(pairs, np.arange(first, 2 * n - 1)) if n > 1 else np.array([0])
    number = np.full(2 * n - 1, -1)
    number[branches] = np.arange(len(branches))
    number[first:] = len(branches) + np.arange(n_joints)
    parent = np.full(len(branches) + n_joints, -1)
    joints = np.repeat(np.arange(n_joints), 2) + len(branches)
    parent[number[pairs].ravel()] = joints
    place = lay_out(parent, len(branches)).start[: len(branches)]
    renamed = np.append(place, np.arange(len(branches), len(parent)))
    branch = place[number[ends(up)[:n]]]
    heights = linkage[len(linkage) - n_joints :, 2]
    return _Top(renamed[number[pairs]].reshape(-1, 2), heights, branch, len(branches))


def _codes(labels: ArrayLike | None, n_leaves: int) -> tuple[Ints | None, list[Any]]:
    if labels is None:
        return None, []
    labels = np.asarray(labels)
    if labels.shape != (n_leaves,):
        raise DataError(f"labels have shape {labels.shape}; give one for each of {n_leaves} rows.")
    classes = sorted(set(labels.tolist()), key=lambda name: (type(name).__name__, name))
    number = {name: k for k, name in enumerate(classes)}
    return np.array([number[name] for name in labels.tolist()]), classes


def _draw_branches(ax: "Axes", top: _Top, codes: Ints | None) -> NDArray[Any]:
    """The joints as forks; returns the colour of each class."""
    from matplotlib.collections import LineCollection

    n_classes = 0 if codes is None else int(codes.max()) + 1
    colours = np.array([COLOURS[k % len(COLOURS)] for k in range(n_classes)], dtype=object)
    # For each branch, then each joint: its place, its height, and its class (-1: several).
    place, height = np.arange(top.n_branches, dtype=float).tolist(), [0.0] * top.n_branches
    only = [-1] * top.n_branches
    if codes is not None:
        for k in range(top.n_branches):
            here = np.unique(codes[top.branch == k])
            only[k] = int(here[0]) if len(here) == 1 else -1
    forks, paint = [], []
    for (a, b), y in zip(top.children.tolist(), top.heights.tolist(), strict=True):
        x, z = place[a], place[b]
        forks.append([(x, height[a]), (x, y), (z, y), (z, height[b])])
        same = only[a] if only[a] == only[b] else -1
        paint.append("#555555" if same < 0 else colours[same])
        place.append((x + z) / 2)
        height.append(y)
        only.append(same)
    ax.add_collection(LineCollection(forks, colors=paint, linewidths=1.0))
    ax.set_xlim(-0.8, top.n_branches - 0.2)
    return colours


def _draw_bars(
    ax: "Axes", top: _Top, codes: Ints | None, classes: list[Any], colours: NDArray[Any]
) -> float:
    """Which classes each branch holds, as a bar under it; returns how low the picture is."""
    unit = 0.06 * (top.heights.max(initial=0.0) or 1.0)
    if codes is None:
        return -0.2 * unit
    share = np.zeros((top.n_branches, len(classes)))
    np.add.at(share, (top.branch, codes), 1.0)
    share /= share.sum(axis=1, keepdims=True)
    start = np.cumsum(share, axis=1) - share
    for k, name in enumerate(classes):
        some = np.flatnonzero(share[:, k])
        bottom = -0.3 * unit - unit * (start + share)[some, k]
        ax.bar(some, unit * share[some, k], 0.8, bottom, color=colours[k], label=short(name))
    return -1.5 * unit


def _draw_statements(
    ax: "Axes", top: _Top, side: SideInformation, codes: Ints | None, low: float
) -> float:
    from matplotlib.patches import Arc

    said = side.statements
    broken = side.violated(codes) if codes is not None else np.zeros(side.n_statements, dtype=bool)
    labelled = np.unique(top.branch[said.i[(said.kind == LABEL) & said.binding]])
    unit = 0.06 * (top.heights.max(initial=0.0) or 1.0)
    if len(labelled):
        y = np.full(len(labelled), low - 0.3 * unit)
        ax.scatter(labelled, y, s=14, c="#555555", marker="^", label="label", linewidths=0)
        low -= unit
    deepest = 0.0
    for sign, name, dashes in ((1, "must", "solid"), (-1, "cannot", "dashed")):
        for wrong in (False, True):
            chosen = said.binding & said.is_pair & (said.sign == sign) & (broken == wrong)
            a, b = top.branch[said.i[chosen]], top.branch[said.j[chosen]]
            pairs = np.unique(np.sort(np.stack([a, b], axis=1), axis=1), axis=0)
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            shown = pairs[sample(np.arange(len(pairs)), _MAX_ARCS)]
            colour, width = ("#D00000", 1.5) if wrong else ("#777777", 0.7)
            for i, j in shown.tolist():
                tall = 6 * unit * (j - i) / top.n_branches
                deepest = max(deepest, tall)
                arc = Arc(((i + j) / 2, low), j - i, 2 * tall, theta1=180, theta2=360)
                arc.set(edgecolor=colour, linestyle=dashes, linewidth=width)
                ax.add_patch(arc)
            if len(shown):
                text = counted(name + ", broken" * wrong, len(shown), len(pairs))
                ax.plot([], [], color=colour, linestyle=dashes, linewidth=width, label=text)
    return low - deepest


def _branch_names(top: _Top, names: ArrayLike | None, side: SideInformation | None) -> list[str]:
    """Of branches of one row its name, of others how many rows they hold."""
    if names is None and side is not None:
        names = side.index
    rows = np.arange(len(top.branch)) if names is None else np.asarray(names)
    if rows.shape != top.branch.shape:
        raise DataError(f"names have shape {rows.shape}; give one for each row.")
    count = np.bincount(top.branch, minlength=top.n_branches)
    first = np.empty(top.n_branches, dtype=np.int64)
    first[top.branch[::-1]] = np.arange(len(top.branch))[::-1]
    return [
        short(rows[first[k]]) if count[k] == 1 else f"({count[k]:,})" for k in range(top.n_branches)
    ]
