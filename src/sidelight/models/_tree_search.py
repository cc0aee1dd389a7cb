"""How encoding trees are found: stretching, compressing, and pruning at a price.

`Nodes` holds a tree in which every node comes before its parent. The binary tree comes from
stretching (Algorithm 2 of the paper). A tree of limited height keeps some of its nodes: those that
`compress` leaves, one by one at the lowest cost, as published; or those that `prune` chooses, the
exact minimum of L + price H over all sets of nodes that are modules.

H is the entropy of the module that a step of a random walk is in, so that a module has to save a
share of the bits that it takes to name it. It is the same as a larger cut,

    L + price H = - sum ... - sum_X (g_X + g'_X + price V_X) / V log2(V_X / V),

and so every operation of `_entropy_search` minimises it on a level whose cuts are `priced`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import entropy_tree
from sidelight.models import _entropy_search as search
from sidelight.models._entropy_search import Level
from sidelight.tree import ends

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Nodes(NamedTuple):
    """A tree: leaves 0 … n_leaves − 1 are the rows, the last node is the root, of parent −1.

    The cut of a leaf is that in the data alone (Eq. 3.11), that of others is in both graphs.
    """

    parent: Ints
    volume: Floats
    cut: Floats
    n_leaves: int
    total: float

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.parent)

    def above(self, kept: Bools) -> Ints:
        """For each node but the root the first kept node above it; −1 for the root."""
        step = np.where(self.parent < 0, np.arange(self.n_nodes), self.parent)
        up = np.where(kept, np.arange(self.n_nodes), step)
        return np.where(self.parent < 0, -1, ends(up)[step])

    def at_or_above(self, kept: Bools) -> Ints:
        """For each leaf the first kept node at or above it; there has to be one."""
        step = np.where(kept | (self.parent < 0), np.arange(self.n_nodes), self.parent)
        return ends(step)[: self.n_leaves]


def entropy(nodes: Nodes) -> float:
    """L of Eq. 3.10, from the volumes and cuts of the nodes."""
    volume, above = nodes.volume[:-1], nodes.volume[nodes.parent[:-1]]
    some = volume > 0
    bits = np.log2(above[some] / volume[some])
    return float((nodes.cut[:-1][some] * bits).sum()) / nodes.total


# Stretching


def stretch(level: Level, leaf_cut: Floats, *, relative: bool = False) -> Nodes:
    """Join the best connected pair of nodes under the root, again and again: the binary tree.

    What no edge joins in the end hangs side by side under the root.

    Parameters
    ----------
    level : Level
        The rows.
    leaf_cut : ndarray of shape (n_samples,)
        The cut of each row in the data.
    relative : bool, default=False
        Whether the best pair is the one that gains most for its size, or, as published, most.
    """
    found = search.mergers(level, leaf_cut=leaf_cut, relative=relative)
    return _rooted(_grown(_leaves(level, leaf_cut), found))


def stretch_inside(
    level: Level, leaf_cut: Floats, clusters: Ints, *, relative: bool = False
) -> tuple[Nodes, Ints]:
    """The binary tree in which each cluster (numbered from 0) is a node; and these nodes.

    Rows are joined inside the clusters first, then the clusters are. Parts of a cluster that no
    edge joins hang side by side under its node.
    """
    row = np.repeat(np.arange(level.n_nodes), np.diff(level.indptr))
    inside = level._replace(linked=level.linked & (clusters[row] == clusters[level.near]))
    found = search.mergers(inside, leaf_cut=leaf_cut, relative=relative)
    nodes = _grown(_leaves(level, leaf_cut), found)
    nodes, top = _gathered(nodes, level, clusters)
    upper = search.aggregate(level, clusters)
    # A cluster of one row is a leaf, whose statements do not count.
    cut = np.where(top < level.n_nodes, nodes.cut[top], upper.cut)
    found = search.mergers(upper, leaf_cut=cut, relative=relative)
    return _rooted(_grown(nodes, found, top)), top


def _leaves(level: Level, leaf_cut: Floats) -> Nodes:
    n = level.n_nodes
    return Nodes(np.full(n, -1), level.volume, leaf_cut, n, level.total)


def _grown(nodes: Nodes, found: search.Merged, start: Ints | None = None) -> Nodes:
    """The same nodes and one for each merger above; start: the node of each module."""
    n_new = len(found.gone)
    node = np.arange(len(found.parent)) if start is None else start.copy()
    parent = np.concatenate([nodes.parent, np.full(n_new, -1)])
    volume = np.concatenate([nodes.volume, np.empty(n_new)])
    cut = np.concatenate([nodes.cut, found.cut])
    entropy_tree.build_tree(found.parent, found.gone, nodes.n_nodes, parent, volume, node)
    return nodes._replace(parent=parent, volume=volume, cut=cut)


def _gathered(nodes: Nodes, level: Level, clusters: Ints) -> tuple[Nodes, Ints]:
    """Parts of one cluster side by side under a node of its own; and the node of each cluster."""
    n_clusters = int(clusters.max()) + 1
    loose = np.flatnonzero(nodes.parent < 0)
    of_leaf = ends(np.where(nodes.parent < 0, np.arange(nodes.n_nodes), nodes.parent))
    cluster = np.empty(nodes.n_nodes, dtype=np.int64)
    cluster[of_leaf[: nodes.n_leaves]] = clusters
    n_parts = np.bincount(cluster[loose], minlength=n_clusters)
    several = np.flatnonzero(n_parts > 1)
    top = np.empty(n_clusters, dtype=np.int64)
    top[cluster[loose]] = loose
    top[several] = nodes.n_nodes + np.arange(len(several))
    parent = np.concatenate([nodes.parent, np.full(len(several), -1)])
    split = loose[n_parts[cluster[loose]] > 1]
    parent[split] = top[cluster[split]]
    # Volumes are sums of the parts', so that rounding makes no part larger than the whole.
    summed = np.bincount(cluster[loose], nodes.volume[loose], minlength=n_clusters)
    volume = np.concatenate([nodes.volume, summed[several]])
    modules = search.modules_of(level, clusters, n_clusters)
    cut = np.concatenate([nodes.cut, modules.cut[several]])
    return nodes._replace(parent=parent, volume=volume, cut=cut), top


def _rooted(nodes: Nodes) -> Nodes:
    """One root above all, which is no leaf."""
    parent, volume, cut = nodes.parent, nodes.volume, nodes.cut
    loose = np.flatnonzero(parent < 0)
    if len(loose) > 1 or nodes.n_nodes == nodes.n_leaves:
        parent = np.append(parent, -1)
        parent[loose] = nodes.n_nodes
        volume = np.append(volume, volume[loose].sum())
        cut = np.append(cut, 0.0)
    cut = cut.copy()
    cut[-1] = 0.0  # there is nothing outside; sums leave a rounding error
    return nodes._replace(parent=parent, volume=volume, cut=cut)


# A tree of limited height


def compress(nodes: Nodes, height: int) -> Bools:
    """Which nodes stay when those on paths longer than ``height`` go, the cheapest first."""
    n, n_leaves = nodes.n_nodes, nodes.n_leaves
    up, excess = np.empty(n, dtype=np.int64), np.empty(n)
    lists = (np.empty(n, dtype=np.int64) for _ in range(7))
    entropy_tree.compress_tree(
        nodes.parent, height, n_leaves, nodes.volume, nodes.cut, up, excess, *lists,
        np.empty(n), np.arange(n), np.empty(n - n_leaves - 1, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )  # fmt: skip
    return up == np.arange(n)


def prune(nodes: Nodes, top: Ints, price: float, *, may_be_whole: bool = True) -> Bools:
    """The cheapest modules inside each node that is the ``top`` of others, or it as a whole."""
    n = nodes.n_nodes
    chosen = np.empty(n, dtype=np.bool_)
    entropy_tree.prune_tree(
        nodes.parent, nodes.n_leaves, nodes.volume, nodes.cut, top, price, may_be_whole,
        chosen,
        *(np.empty(n) for _ in range(3)), np.empty(n, dtype=np.bool_),
    )  # fmt: skip
    return chosen


def modules_below_root(nodes: Nodes, price: float, *, may_be_whole: bool = True) -> Bools:
    """The cheapest partition into nodes of the tree: these nodes (the root: all rows together)."""
    top = np.full(nodes.n_nodes, nodes.n_nodes - 1)
    top[-1] = -1
    return prune(nodes, top, price, may_be_whole=may_be_whole)


def layers(nodes: Nodes, chosen: Bools, height: int, price: float) -> Bools:
    """Nodes to keep: the chosen ones, and below them, up to ``height``, modules of modules."""
    kept = chosen.copy()
    kept[-1] = True
    inner = np.arange(nodes.n_nodes) >= nodes.n_leaves
    for _ in range(height - 2):
        price /= 2  # parts of clusters are finer than clusters, or there would be none
        inside = _below(nodes, chosen & inner)
        if not (inside >= 0).any():
            break
        new = prune(nodes, inside, price) & (inside >= 0)
        kept |= new
        chosen = new
    kept[: nodes.n_leaves] = True
    return kept


def _below(nodes: Nodes, chosen: Bools) -> Ints:
    """For each node the chosen node above it, −1 where there is none."""
    stop = chosen.copy()
    stop[-1] = True
    above = nodes.above(stop)
    return np.where((above >= 0) & chosen[above], above, -1)


def below_a_root(nodes: Nodes, chosen: Bools) -> tuple[Nodes, Bools]:
    """The same, with another root above if the chosen node is the root itself."""
    if not chosen[-1]:
        return nodes, chosen
    parent = np.append(nodes.parent, -1)
    parent[-2] = nodes.n_nodes
    volume, cut = np.append(nodes.volume, nodes.volume[-1]), np.append(nodes.cut, 0.0)
    return nodes._replace(parent=parent, volume=volume, cut=cut), np.append(chosen, False)


def restrict(nodes: Nodes, kept: Bools) -> Nodes:
    """The tree of the kept nodes, leaves and root among them, renumbered in their order."""
    number = np.cumsum(kept) - 1
    above = nodes.above(kept)[kept]
    parent = np.where(above < 0, -1, number[above])
    return nodes._replace(parent=parent, volume=nodes.volume[kept], cut=nodes.cut[kept])


# Clusters


def priced(level: Level, price: float) -> Level:
    """The level whose cuts hold the price, so that its objective is L + price H."""
    return level._replace(cut=level.cut + price * level.volume)


def clusters_of(nodes: Nodes, chosen: Bools) -> Ints:
    """The partition into chosen nodes, numbered by first row."""
    return search.renumbered(nodes.at_or_above(chosen))


def exactly(nodes: Nodes, level: Level, n_wanted: int, price: float) -> Ints:
    """So many clusters: the cheapest partition into at least as many nodes, merged down.

    Modules with less than a twentieth of an even share do not count, if that is possible, and join
    the one they are most alike first: asked for ten clusters, nobody wants three and seven rows
    that are far from all.
    """
    smallest = nodes.total / (20 * n_wanted)
    labels = _finer(nodes, n_wanted, price, smallest)
    if labels is not None:
        labels = _absorbed(level, labels, smallest)
    else:
        labels = _finer(nodes, n_wanted, price, 0.0)
    labels = np.arange(nodes.n_leaves) if labels is None else labels
    return search.merge_down(level, labels, n_wanted)


def _absorbed(level: Level, labels: Ints, smallest: float) -> Ints:
    """Modules below a volume join the larger module with which they have most in common."""
    upper = search.aggregate(level, labels)
    row = np.repeat(np.arange(upper.n_nodes), np.diff(upper.indptr))
    near = upper.near.astype(np.int64)
    some = upper.linked & (upper.volume[row] < smallest) & (upper.volume[near] > upper.volume[row])
    row, near, weight = row[some], near[some], upper.weight[some]
    order = np.lexsort((near, -weight, row))
    first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
    up = np.arange(upper.n_nodes)
    up[row[first]] = near[first]
    return search.renumbered(ends(up)[labels])


def _finer(nodes: Nodes, n_wanted: int, price: float, smallest: float) -> Ints | None:
    """At the highest price with enough modules of that volume; None if no price leaves so many."""

    def at(price: float) -> Ints | None:
        labels = clusters_of(nodes, modules_below_root(nodes, price))
        volume = np.bincount(labels, nodes.volume[: nodes.n_leaves])
        return labels if (volume >= smallest).sum() >= n_wanted else None

    high, low, step = price, price, 0.125
    found = at(low)
    if found is not None:
        return found
    while found is None:
        if step > 64:  # by then every row is a module
            return None
        low, step = price - step, 2 * step
        found = at(low)
    for _ in range(20):
        middle = (low + high) / 2
        tried = at(middle)
        if tried is None:
            high = middle
        else:
            low, found = middle, tried
    return found


def settle(level: Level, labels: Ints) -> Ints:
    """Move whole modules to others, merge pairs, then move rows, while the objective falls."""
    upper = search.aggregate(level, labels)
    labels = search.move(upper, np.arange(upper.n_nodes), may_open=False).labels[labels]
    labels = search.merge(search.aggregate(level, labels))[labels]
    return search.renumbered(search.move(level, labels, may_open=False).labels)
