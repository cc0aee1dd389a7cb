"""How encoding trees are found: stretching, compressing, and pruning at a price.

`Nodes` holds a tree in which every node comes before its parent. The binary tree comes from
stretching (Algorithm 2 of the paper). A tree of limited height keeps some of its nodes: those that
`compress` leaves, one by one at the lowest cost, as published; or those that `prune` chooses, the
exact minimum over all sets of nodes that are modules of

    J = H(data) + price H(modules) + bits of the broken statements.

H(data) is L without statements. H(modules) is the entropy of the module that a step of a random
walk is in, so that a module has to save a share of the bits that it takes to name it. It is the
same as a larger cut,

    H(data) + price H(modules) = - sum ... - sum_X (g_X + price V_X) / V log2(V_X / V),

and so every operation of `search` minimises it on a level whose cuts are `search.priced`.

In L itself a cannot-link is a negative weight g'_X, which counts more in a smaller module, without
limit; and m statements in a chain imply m² pairs. So at the minimum of L every must-linked group is
a module of its own. In J a broken statement costs the same in clusters of any size, and implied
statements are in the tree: rows that belong together are a node.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import entropy_tree, merging
from sidelight.graph import EXACT_ROWS
from sidelight.models._entropy import search as search
from sidelight.models._entropy.search import Level
from sidelight.tree import ends

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_STEPS = 40  # prices from 2 to 0 that are tried for a number of clusters


class Nodes(NamedTuple):
    """A tree: leaves 0 … n_leaves − 1 are the rows, the last node is the root, of parent −1.

    The cut of a leaf is that in the data alone (Eq. 3.11), that of others is in both graphs, or in
    the data alone if the nodes are `judged`.
    """

    parent: Ints
    volume: Floats
    cut: Floats
    n_leaves: int
    total: float
    pulled: Floats  # sum of the pulls between leaves below a node; zero unless judged

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


def stretch(
    level: Level, leaf_cut: Floats, partitions: Sequence[Ints] = (), *, relative: bool = False
) -> tuple[Nodes, Ints]:
    """Join the best connected pair of nodes under the root, again and again: the binary tree.

    Nodes that no edge joins in the end are children of the root, or of the node of their part.

    Parameters
    ----------
    level : Level
        The rows.
    leaf_cut : ndarray of shape (n_samples,)
        The cut of each row in the data.
    partitions : sequence of ndarray of shape (n_samples,), default=()
        Nested ones, the finest first, whose parts (numbered from 0) are to be nodes: rows are
        joined inside the parts of the first one, these inside those of the next, and so on.
    relative : bool, default=False
        Whether the best pair is the one that gains most for its size, or, as published, most.

    Returns
    -------
    nodes : Nodes
    top : ndarray
        The nodes of the last partition's parts; the rows if there is none.
    """
    nodes, top = _leaves(level, leaf_cut), np.arange(level.n_nodes)
    upper, cut, of_row = level, leaf_cut, top  # of_row: the node of ``upper`` that holds a row
    for parts in partitions:
        part = np.empty(upper.n_nodes, dtype=np.int64)
        part[of_row] = parts
        if level.n_nodes > EXACT_ROWS:
            # No merger needs the other edges. Lengths of rows decide which module goes into which,
            # and so the last digit of sums: smaller trees stay the same bits.
            inside = search.within(upper, part)
        else:
            row = np.repeat(np.arange(upper.n_nodes), np.diff(upper.indptr))
            inside = upper._replace(linked=upper.linked & (part[row] == part[upper.near]))
        found = search.mergers(inside, leaf_cut=cut, relative=relative)
        nodes, top = _gathered(_grown(nodes, found, top), level, parts)
        upper, of_row = search.aggregate(upper, part), parts
        # A part of one row is a leaf, whose statements do not count.
        cut = np.where(top < level.n_nodes, nodes.cut[top], upper.cut)
    found = search.mergers(upper, leaf_cut=cut, relative=relative)
    return _rooted(_grown(nodes, found, top)), top


def _leaves(level: Level, leaf_cut: Floats) -> Nodes:
    n = level.n_nodes
    return Nodes(np.full(n, -1), level.volume, leaf_cut, n, level.total, np.empty(0))


def _grown(nodes: Nodes, found: search.Merged, start: Ints) -> Nodes:
    """The same nodes and one for each merger above; start: the node of each module."""
    n_new = len(found.gone)
    node = start.copy()
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
    """A single root that is not a leaf."""
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
    n = nodes.n_nodes
    up, head, tail, before, after, tall, n_tallest, sign, where = np.empty((9, n), dtype=np.int64)
    pruning = entropy_tree.Pruning(up, np.empty(n), head, tail, before, after, tall, n_tallest)
    heap, name = np.empty(n - nodes.n_leaves - 1, dtype=np.int64), np.arange(n)
    queue = merging.Queue(heap, where, sign, np.empty(n), name, name)
    entropy_tree.compress_tree(nodes, height, pruning, queue)
    return up == np.arange(n)


def judged(nodes: Nodes, data: Level) -> Nodes:
    """The same tree with the cuts of the data alone, and what statements pull together."""
    n, n_leaves = nodes.n_nodes, nodes.n_leaves
    nodes = nodes._replace(cut=np.empty(n), pulled=np.empty(n))
    nodes.cut[:n_leaves] = data.cut
    sets = entropy_tree.Sets(np.empty(n, np.int64), *np.empty((3, n_leaves), dtype=np.int64))
    entropy_tree.sum_below(nodes, data.graph, sets)
    return nodes


def prune(nodes: Nodes, top: Ints, price: float, *, may_be_whole: bool = True) -> Bools:
    """The cheapest modules inside each node that is the ``top`` of others, or it as a whole."""
    n = nodes.n_nodes
    chosen, open_ = np.empty((2, n), dtype=np.bool_)
    entropy_tree.prune_tree(nodes, top, price, may_be_whole, chosen, *np.empty((3, n)), open_)
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


def clusters_of(nodes: Nodes, chosen: Bools) -> Ints:
    """The partition into chosen nodes, numbered by first row."""
    return search.renumbered(nodes.at_or_above(chosen))


def cheapest(nodes: Nodes, data: Level, price: float, blocks: Ints) -> Ints:
    """The clusters of lowest J that are found from several cuts of a judged tree.

    A coarse cut may join too much, and a fine cut may end where no single merger gains: J decides.
    """
    level = search.priced(data, price)
    starts = [modules_below_root(nodes, p) for p in _around(price)]
    if starts[0][-1]:
        # Statements may tie what no edge joins, and then no node but the root holds it all.
        starts.append(modules_below_root(nodes, price, may_be_whole=False))
    found = [settle(level, clusters_of(nodes, start), blocks) for start in starts]
    return min(found, key=lambda labels: search.objective(level, labels))


def _around(price: float) -> tuple[float, ...]:
    """The price, one half-way to 1, where no partition of the data gains, and two lower ones."""
    return price, (1 + price) / 2, 0.75 * price, 0.5 * price


def settle(level: Level, labels: Ints, blocks: Ints) -> Ints:
    """Move modules, merge pairs, then move blocks and rows, while the objective falls.

    Rows of a block in one module move together. At the end no row with neighbours stands alone.
    """
    upper = search.aggregate(level, labels)
    labels = search.move(upper, np.arange(upper.n_nodes), may_open=False).labels[labels]
    labels = search.merge(search.aggregate(level, labels))[labels]
    labels = search.improve(level, labels, blocks, may_open=False).labels
    n_modules = -1
    while n_modules != len(size := np.bincount(labels)):  # a row may have joined another one
        n_modules = len(size)
        labels = _absorbed(level, labels, size == 1)
    return labels


def exactly(nodes: Nodes, data: Level, n_wanted: int, blocks: Ints | None = None) -> Ints:
    """Find ``n_wanted`` clusters: cut the tree into at least as many nodes, and merge.

    The cut is made at the highest price at which the tree has that many. Modules with less than a
    twentieth of an even share do not count, if possible, and join the most similar one first: a
    user who asks for ten clusters does not want three, and seven single rows far from all. With
    ``blocks``, blocks and rows move after that. Of several cuts the one is taken that ends with the
    fewest single rows, then with the fewest clusters that are so small, and then with the lowest J.
    With a price it can pay to empty a cluster except for a few rows. If that happened in all cuts,
    the search is repeated without a price, where even clusters are cheaper, and from the finest cut
    too: in a large graph the nodes of the tree are far from its clusters.
    """
    smallest = _smallest(nodes.total, n_wanted)
    price = _highest_price(nodes, n_wanted, smallest)
    if price is None:
        smallest = 0.0
        price = _highest_price(nodes, n_wanted, smallest)
    if price is None:
        return search.merge_down(data, np.arange(nodes.n_leaves), n_wanted)
    several = blocks is not None and price > 0
    prices = (price, 0.75 * price, 0.5 * price) if several else (price,)
    starts = [clusters_of(nodes, modules_below_root(nodes, p)) for p in prices]
    starts = [_absorbed(data, x, np.bincount(x, data.volume) < smallest) for x in starts]
    starts = [x for x in starts if x.max() + 1 >= n_wanted]  # at lower prices more are small
    for level in (search.priced(data, max(price, 0.0)), data):
        if several and level is data:
            starts.append(clusters_of(nodes, modules_below_root(nodes, 0.0)))
        found = [search.merge_down(level, start, n_wanted) for start in starts]
        if blocks is not None:
            found = [search.improve(level, x, blocks, fixed=True).labels for x in found]
        faults = [_faults(data, labels, smallest) for labels in found]
        worth = [(*f, search.objective(level, x)) for f, x in zip(faults, found, strict=True)]
        best = min(range(len(found)), key=worth.__getitem__)
        if not any(faults[best]):
            break
    return found[best]


class Condensed(NamedTuple):
    """Small modules of rows, as nodes of the data; and the module of each row."""

    data: Level
    labels: Ints


def condensed(data: Level, n_wanted: int, blocks: Ints) -> Condensed | None:
    """Small modules of many rows in which blocks stay whole; None if there are too few."""
    upper = search.aggregate(data, blocks)
    # The graph has few edges for each row, and after two sweeps modules are of eight rows or less.
    labels = search.small_modules(upper, np.arange(upper.n_nodes), n_wanted, n_sweeps=4)
    if labels is None:
        return None
    labels = search.renumbered(labels[blocks])
    return Condensed(search.aggregate(data, labels), labels)


def exactly_of_modules(modules: Condensed, data: Level, n_wanted: int, blocks: Ints) -> Ints:
    """Put ``n_wanted`` clusters together from small modules; then blocks and rows move.

    The price is the highest one, from 1 down, at which there are that many and none is a single row
    or too small (see `exactly`); the last one is 0. Prices found in a tree of the modules were a
    quarter of those in a tree of rows, and divided the large clusters of uneven data: ARI .36, not
    .57, with labels of 25,000 rows in twelve Gaussians.
    """
    smallest = _smallest(data.total, n_wanted)
    for price in np.linspace(1.0, 0.0, _STEPS // 2 + 1).tolist():
        joined = _joined(modules.data, n_wanted, price, smallest)
        if joined is None:
            continue
        labels = joined[modules.labels]
        if price and any(_faults(data, labels, smallest)):
            continue
        labels = search.improve(search.priced(data, price), labels, blocks, fixed=True).labels
        if not any(_faults(data, labels, smallest)):
            break
    return labels


def _joined(data: Level, n_wanted: int, price: float, smallest: float) -> Ints | None:
    """Clusters of modules; None where too few are large enough, except without a price."""
    level, alone = search.priced(data, price), np.arange(data.n_nodes)
    labels = search.climb(level, alone)
    small = np.bincount(labels, data.volume) < smallest
    if (~small).sum() >= n_wanted:
        labels = _absorbed(data, labels, small)
    elif price:
        return None
    elif len(small) < n_wanted:
        labels = alone
    labels = search.merge_down(level, labels, n_wanted)
    return search.improve(level, labels, alone, fixed=True).labels


def _smallest(total: float, n_wanted: int) -> float:
    """The volume of a cluster that counts: a twentieth of an even share."""
    return total / (20 * n_wanted)


def _faults(data: Level, labels: Ints, smallest: float) -> tuple[int, int]:
    """How many clusters are single rows, and how many have less than the smallest volume."""
    small = np.bincount(labels, data.volume) < smallest
    return int((np.bincount(labels) == 1).sum()), int(small.sum())


def _highest_price(nodes: Nodes, n_wanted: int, smallest: float) -> float | None:
    """The highest price, up to 2, with enough modules of that volume; None if there is none.

    The number of modules grows as the price falls, but not the number of large modules: at low
    prices a large graph has only small ones. So prices are tried in small steps down to 0.
    """

    def enough(price: float) -> bool:
        labels = clusters_of(nodes, modules_below_root(nodes, price))
        volume = np.bincount(labels, nodes.volume[: nodes.n_leaves])
        return bool((volume >= smallest).sum() >= n_wanted)

    tried = (*np.linspace(2.0, 0.0, _STEPS + 1).tolist(), -1.0, -3.0, -7.0, -15.0, -31.0, -63.0)
    place = next((i for i, price in enumerate(tried) if enough(price)), None)
    if place is None:  # at the last price every row is a module
        return None
    if place == 0:
        return tried[0]
    high, low = tried[place - 1], tried[place]
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def _absorbed(level: Level, labels: Ints, small: Bools) -> Ints:
    """Merge small modules into the most similar module that is not small, or into a larger one."""
    upper = search.aggregate(level, labels)
    row = np.repeat(np.arange(upper.n_nodes), np.diff(upper.indptr))
    near = upper.near.astype(np.int64)
    larger = upper.volume[near] > upper.volume[row]
    some = upper.linked & small[row] & (larger | ~small[near])
    alike = upper.weight + (upper.pull if len(upper.pull) else 0.0)
    row, near, alike = row[some], near[some], alike[some]
    order = np.lexsort((near, -alike, row))
    first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
    up = np.arange(upper.n_nodes)
    up[row[first]] = near[first]
    return search.renumbered(ends(up)[labels])
