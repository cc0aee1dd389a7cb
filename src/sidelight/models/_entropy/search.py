"""How partitions of low structural entropy are found: merging, moving, and both on several levels.

A `Level` is a graph of nodes: the rows, or the modules of a partition of the level below. The
objective of a partition of modules is the objective of the partition of rows that it stands for, so
that every operation works on every level.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import entropy, merging
from sidelight._work import count_work
from sidelight.blocks import in_parts
from sidelight.graph import EXACT_ROWS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A change of the objective smaller than this is rounding: sums of a million terms of size one.
SMALLEST = 1e-12
# A round that gains less than this part of the objective is the last one: on six data sets another
# one gained 0.02 % at most, and mostly nothing.
_ROUND = 1e-4
# Entries of rows that mergers look at in one call of the kernel: tenths of a second.
_PORTION = 1_000_000
# Nodes that a thread takes at a time. Graphs of fewer are not divided.
_NODES = 32_768
# Small modules for each cluster; of fewer, clusters cannot be put together.
_FEWEST = 5


class Ties(NamedTuple):
    """The relation between groups of rows, one number for each pair of groups: CSR, symmetric."""

    indptr: Ints
    group: Ints
    weight: Floats

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.indptr) - 1


class Level(NamedTuple):
    """Nodes with the edges of both graphs, and what each holds of every group of rows."""

    indptr: Ints
    near: NDArray[np.int32]
    weight: Floats
    linked: NDArray[np.bool_]
    pull: Floats  # the gain of an edge's two ends if they share a module; or empty
    volume: Floats
    cut: Floats
    owner: Ints
    group: Ints
    amount: Floats
    ties: Ties
    own: Floats  # the common weight of each node with itself in the relation between groups
    total: float  # volume of the whole graph
    floor: float  # the smallest volume whose logarithm is taken
    constant: float  # the part of the objective that no partition changes, times the total

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.volume)

    @property
    def graph(self) -> entropy.Graph:
        """Nodes and edges, as kernels take them."""
        return entropy.Graph(
            self.indptr, self.near, self.weight, self.linked, self.pull, self.volume, self.cut
        )

    @property
    def groups(self) -> entropy.Groups:
        """What nodes hold, and the relation between groups, as kernels take them."""
        return entropy.Groups(self.owner, self.group, self.amount, *self.ties, self.own)

    @property
    def scale(self) -> entropy.Scale:
        """The scale for logarithms of volumes, as kernels take it."""
        return entropy.Scale(float(np.log2(self.total)), self.floor)

    def table(self) -> entropy.Table:
        """An empty hash table for what modules hold of groups."""
        size = 8 << len(self.group).bit_length()
        return entropy.Table(np.full(size, -1, dtype=np.int64), np.zeros(size))


def first_level(
    data: sparse.csr_array,
    relation: sparse.csr_array,
    group: Ints,
    amount: Floats,
    ties: Ties,
) -> Level:
    """The rows as nodes.

    Parameters
    ----------
    data : csr_array
        Similarities: symmetric, above zero, no diagonal.
    relation : csr_array
        Statements about single pairs, besides those of their groups: symmetric, no diagonal.
    group, amount : ndarray of shape (n_samples,)
        The group of each row, −1 for none, and what it counts there.
    ties : Ties
        The relation between groups.
    """
    n = data.shape[0]
    degree = np.asarray(data.sum(axis=1)).ravel()
    total = float(degree.sum()) or 1.0
    positive = degree[degree > 0]
    indptr, near, weight, linked = _both_graphs(data, relation)
    owner = np.concatenate([[0], np.cumsum(group >= 0)]).astype(np.int64)
    held = group[group >= 0].astype(np.int64), amount[group >= 0].astype(np.float64)
    cut = degree + np.asarray(relation.sum(axis=1)).ravel()
    cut = cut + _cut_between_groups(n, group, amount, ties)
    return Level(
        indptr, near, weight, linked, np.empty(0), degree, cut, owner, *held, ties,
        _shared_inside(owner, *held, ties), total, float(positive.min()) if len(positive) else 1.0,
        -float((positive * np.log2(positive)).sum()),
    )  # fmt: skip


def pulled_level(data: sparse.csr_array, pull: sparse.csr_array) -> Level:
    """The rows as nodes of the data alone; ``pull`` is added to the objective, not to the cuts.

    Parameters
    ----------
    data : csr_array
        Similarities: symmetric, above zero, no diagonal.
    pull : csr_array
        What two rows gain by sharing a module, in bits times weight: symmetric, no diagonal.
    """
    n = data.shape[0]
    nothing = Ties(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    level = first_level(data, 0.0 * pull, np.full(n, -1), np.ones(n), nothing)
    if not pull.nnz:
        return level
    return level._replace(pull=_both_graphs(0.0 * data, pull)[2])


def _both_graphs(data: sparse.csr_array, relation: sparse.csr_array) -> tuple[Any, ...]:
    """CSR rows of the sum of both graphs, sums of zero kept, and which entries are in ``data``."""
    if not relation.nnz:
        return (
            data.indptr.astype(np.int64),
            data.indices.astype(np.int32, copy=False),
            data.data.astype(np.float64, copy=False),
            np.ones(data.nnz, dtype=np.bool_),
        )
    relation = sparse.csr_array(relation)
    relation.sort_indices()
    n, room = data.shape[0], data.nnz + relation.nnz
    indptr = np.zeros(n + 1, dtype=np.int64)
    edges = np.empty(room, dtype=np.int32), np.empty(room), np.empty(room, dtype=np.bool_)
    begin = np.append(np.arange(0, n, _NODES), n)
    first = data.indptr[begin[:-1]].astype(np.int64) + relation.indptr[begin[:-1]]
    n_made = np.empty_like(first)

    def rows(graph: sparse.csr_array, start: int, stop: int) -> tuple[Any, ...]:
        return graph.indptr[start : stop + 1], graph.indices, graph.data

    def part(start: int, stop: int) -> None:
        number, ends = start // _NODES, np.empty(stop - start + 1, dtype=np.int64)
        out = (values[first[number] :] for values in edges)
        n_made[number] = entropy.add_graphs(
            *rows(data, start, stop), *rows(relation, start, stop), ends, *out
        )
        indptr[start + 1 : stop + 1] = ends[1:]

    in_parts(part, n, _NODES)
    made = _close_gaps(edges, first, n_made)
    for number, start in enumerate(begin[:-1]):
        indptr[start + 1 : begin[number + 1] + 1] += made[number]
    near, weight, linked = (values[: made[-1]] for values in edges)
    return indptr, near, weight, linked


def _close_gaps(columns: tuple[Any, ...], first: Ints, count: Ints) -> Ints:
    """Push the parts of some columns together; where each part begins then, and the last ends.

    columns: IN/OUT. A part begins at ``first`` and has ``count`` entries.
    """
    new = np.concatenate([[0], np.cumsum(count)])
    for old, start, stop in zip(first.tolist(), new[:-1].tolist(), new[1:].tolist(), strict=True):
        if old != start:
            for values in columns:
                values[start:stop] = values[old : old + stop - start]
    return new


def _cut_between_groups(n: int, group: Ints, amount: Floats, ties: Ties) -> Floats:
    """The common weight of each row with all others in the relation between groups."""
    cut = np.zeros(n)
    inside = group >= 0
    if not inside.any():
        return cut
    g, a = group[inside], amount[inside]
    size = np.bincount(g, a, minlength=ties.n_groups)
    matrix = sparse.csr_array(
        (ties.weight, ties.group, ties.indptr), shape=(ties.n_groups, ties.n_groups)
    )
    cut[inside] = a * (matrix @ size)[g] - a * a * matrix.diagonal()[g]
    return cut


# The objective


class Modules(NamedTuple):
    """Volume, cut and size of each module of a partition."""

    volume: Floats
    cut: Floats
    size: Ints


def priced(level: Level, price: float) -> Level:
    """The level whose cuts hold the price, so that its objective is L + price H."""
    return level._replace(cut=level.cut + price * level.volume)


def modules_of(level: Level, labels: Ints, n_modules: int | None = None) -> Modules:
    """The modules, summed from scratch."""
    n_modules = level.n_nodes if n_modules is None else n_modules
    found = Modules(np.empty(n_modules), np.empty(n_modules), np.empty(n_modules, dtype=np.int64))
    table = level.table()
    entropy.fill_table(level.groups, labels, table)
    inside = np.empty(level.n_nodes)

    def part(start: int, stop: int) -> None:
        entropy.weights_inside(level.graph, level.groups, labels, table, start, stop, inside)

    in_parts(part, level.n_nodes, _NODES)
    entropy.sum_modules(level.volume, level.cut, inside, labels, *found)
    return found


def objective(level: Level, labels: Ints) -> float:
    """L of Eq. 3.5 for a partition of the level's nodes, from its definition, minus the pulls."""
    return costs_sum(level, modules_of(level, labels)) - _pull_inside(level, labels) / level.total


def _pull_inside(level: Level, labels: Ints) -> float:
    """The sum of the pulls inside modules."""
    if not len(level.pull):
        return 0.0
    if level.n_nodes > EXACT_ROWS:
        # Few edges pull. Another order of the sum: with fewer nodes the last digit would change.
        some = np.flatnonzero(level.pull)
        row = np.searchsorted(level.indptr, some, side="right") - 1
        return float(level.pull[some][labels[row] == labels[level.near[some]]].sum()) / 2
    row = np.repeat(np.arange(level.n_nodes), np.diff(level.indptr))
    return float(level.pull[labels[row] == labels[level.near]].sum()) / 2


def costs_sum(level: Level, found: Modules) -> float:
    """L from the volumes and cuts of the modules."""
    costs = np.empty(len(found.volume))
    costs_of(level, found, costs)
    return float(costs.sum() + level.constant) / level.total


def costs_of(level: Level, found: Modules, costs: Floats) -> None:
    """What each module costs, times the total. costs: OUT."""
    entropy.module_costs(found.volume, found.cut, level.scale, costs)


def _shared_inside(owner: Ints, group: Ints, amount: Floats, ties: Ties) -> Floats:
    out = np.zeros(len(owner) - 1)
    if len(group):
        entropy.shared_inside(entropy.Groups(owner, group, amount, *ties, out))
    return out


# Merging


class Merged(NamedTuple):
    """Where each module went (itself if it is left), those that went in order, cuts after that."""

    parent: Ints
    gone: Ints
    cut: Floats


def merge(
    level: Level,
    *,
    n_wanted: int = 1,
    only_gains: bool = True,
    relation: Floats | None = None,
) -> Ints:
    """Merge connected nodes, best pair first; the module of each node, numbered from 0.

    Parameters
    ----------
    level : Level
        Every node starts as a module.
    n_wanted : int, default=1
        Stop at this number of modules.
    only_gains : bool, default=True
        Stop also when no merger lowers the objective.
    relation : ndarray, optional
        For each edge, rows sorted, its part in the constraints (beside the groups'): merge pairs
        that belong together first.
    """
    lowest = -SMALLEST * level.total if only_gains else -np.inf
    return _roots(mergers(level, n_wanted=n_wanted, lowest=lowest, relation=relation).parent)


def mergers(
    level: Level,
    *,
    n_wanted: int = 1,
    lowest: float = -np.inf,
    relation: Floats | None = None,
    leaf_cut: Floats | None = None,
    relative: bool = False,
) -> Merged:
    """Merge connected nodes, best pair first, while the gain (times the total) is not too low.

    With ``leaf_cut``, what counts as the cut of each single node, the gain is that of a new node
    above two modules (Eq. 3.12), and otherwise that of one module in the place of two (Eq. 3.7).
    ``relative`` puts first what gains most for its size, the geometric mean of the two volumes.
    """
    n = level.n_nodes
    must_first = relation is not None
    level = _sorted_rows(level)
    pool = _pool(level, level.pull if relation is None else relation)
    if len(level.group):
        table = level.table()
        entropy.fill_table(level.groups, np.arange(n), table)
        for target in (pool.weight, pool.relation) if must_first else (pool.weight,):
            entropy.add_shared_edges(level.indptr, level.near, level.groups, table, target)
    costs = np.empty(n) if leaf_cut is None else leaf_cut.copy()
    sums = merging.Sums(level.volume.copy(), level.cut.copy(), costs)
    stretching = 0 if leaf_cut is None else 1 + relative
    rules = merging.Rules(level.scale, must_first, stretching, n_wanted, float(lowest))
    of_module = iter(np.empty((7, n), dtype=np.int64))
    heap, where, sign, partner, name, parent, gone = of_module
    queue = merging.Queue(heap, where, sign, np.empty(n), partner, name)
    found = merging.Mergers(parent, gone, np.empty(n))
    chains, progress = _chains(level), np.array([len(level.near), n, 0, -1])
    while merging.merge_modules(pool, sums, chains, rules, queue, found, _PORTION, progress):
        pass  # in portions, so that Ctrl-C works
    _, n_left, _, n_steps = progress.tolist()
    count_work("heap steps", n_steps)
    return Merged(parent, gone[: n - n_left], found.cut_then[: n - n_left])


def _pool(level: Level, relation: Floats) -> merging.Pool:
    """Copies of the edges with room to spare, in which mergers build new rows."""
    n_edges = len(level.near)
    room = n_edges // 2 + 64

    def roomy(values: Any) -> Any:
        return np.concatenate([values, np.zeros(room, dtype=values.dtype)])

    return merging.Pool(
        level.indptr[:-1].copy(), np.diff(level.indptr), roomy(level.near), roomy(level.weight),
        roomy(level.linked), roomy(relation) if len(relation) else np.empty(0),
        np.empty(n_edges + room, dtype=np.int64), np.empty(level.n_nodes, dtype=np.int64),
    )  # fmt: skip


def _chains(level: Level) -> merging.Chains:
    """The amounts of groups in each node, as a linked list: first entry, and the next of each."""
    owner = level.owner
    head = np.where(np.diff(owner) > 0, owner[:-1], -1)
    following = np.arange(1, owner[-1] + 1)
    following[owner[1:][np.diff(owner) > 0] - 1] = -1
    keys = level.table().keys
    return merging.Chains(
        head, following, level.group, level.amount.copy(), np.diff(owner), *level.ties, keys,
        np.empty(len(keys), dtype=np.int64),
    )  # fmt: skip


def _sorted_rows(level: Level) -> Level:
    row = np.repeat(np.arange(level.n_nodes), np.diff(level.indptr))
    key = row * level.n_nodes + level.near
    if (key[1:] > key[:-1]).all():
        return level
    order = np.argsort(key)
    pull = level.pull[order] if len(level.pull) else level.pull
    return level._replace(
        near=level.near[order], weight=level.weight[order], linked=level.linked[order], pull=pull
    )


def _roots(parent: Ints) -> Ints:
    """Where each chain of parents ends, numbered by the first node that leads there."""
    while True:
        higher = parent[parent]
        if np.array_equal(higher, parent):
            break
        parent = higher
    return renumbered(parent)


def renumbered(labels: Ints) -> Ints:
    """The same partition with modules numbered by their first node."""
    n, largest = len(labels), int(labels.max(initial=0))
    if largest > 4 * n:
        labels = np.unique(labels, return_inverse=True)[1]
        largest = int(labels.max(initial=0))
    out = np.empty(n, dtype=np.int64)
    labels = np.require(labels, requirements="W")  # the kernel is compiled for one kind of array
    entropy.number_by_first(labels, np.full(largest + 1, -1), out)
    return out


# Moving


class Moved(NamedTuple):
    """A partition after moving nodes, and the objective after each sweep."""

    labels: Ints
    history: list[float]


def move(
    level: Level,
    labels: Ints,
    *,
    everywhere: bool = False,
    may_open: bool = True,
    may_empty: bool = True,
    fence: Ints | None = None,
    only_single: bool = False,
    order: Ints | None = None,
    max_sweeps: int = 300,
    each_sweep: Callable[[], object] | None = None,
) -> Moved:
    """Move single nodes to better modules, sweep after sweep, until nothing gains.

    Parameters
    ----------
    level : Level
        The nodes.
    labels : ndarray of shape (n_nodes,)
        The module of each node to start from.
    everywhere : bool, default=False
        Try all modules for all nodes in every sweep, as published. Otherwise a node is tried only
        where it has edges, and again only after a neighbour has moved.
    may_open, may_empty : bool, default=True
        Whether a node may leave for a module of its own, and whether the last node of a module may.
    fence : ndarray of shape (n_nodes,), optional
        Nodes with different values never share a module.
    only_single : bool, default=False
        Move only nodes that are alone.
    order : ndarray of shape (n_nodes,), optional
        The order of a sweep; 0, 1, … by default.
    max_sweeps : int, default=300
        The limit.
    each_sweep : callable, optional
        Called after each sweep; true ends the search.
    """
    labels = renumbered(labels)
    n_slots = level.n_nodes if may_open else int(labels.max(initial=0)) + 1
    partition = _partition(level, labels, n_slots)
    value = float(partition.modules[:, entropy.COST].sum() + level.constant)
    value = (value - _pull_inside(level, labels)) / level.total
    n_groups = level.ties.n_groups
    home, most = np.full(n_groups, -1, dtype=np.int64), np.zeros(n_groups)
    rules = entropy.Rules(
        everywhere, may_open, may_empty, only_single, SMALLEST * level.total,
        np.arange(level.n_nodes) if order is None else order,
        np.empty(0, dtype=np.int64) if fence is None else fence, home,
    )  # fmt: skip
    widest = int(np.diff(level.indptr).max(initial=0))
    scratch = entropy.Scratch(
        np.zeros(n_slots if len(level.pull) else 0),
        np.empty(max(n_slots, widest) + 1, dtype=np.int64),
        np.empty(n_slots, dtype=np.int64),
        np.empty(0 if fence is None else n_slots, dtype=np.int64),
    )
    history: list[float] = []
    for _ in range(max_sweeps):
        if n_groups and not only_single:
            entropy.find_homes(level.groups, labels, partition.table, home, most)
        if everywhere:
            partition.active[:] = True
        gained, n_moves, n_tests = entropy.move_nodes(
            level.graph, level.groups, level.scale, rules, partition, scratch
        )
        count_work("relocation tests", n_tests)
        value -= gained / level.total
        history.append(value)
        if (each_sweep is not None and each_sweep()) or not n_moves:
            break
    return Moved(renumbered(labels), history)


def _partition(level: Level, labels: Ints, n_slots: int) -> entropy.Partition:
    """A mutable partition with room for a number of modules; all nodes are to be tried."""
    n = level.n_nodes
    if int(labels.max(initial=-1)) + 1 == n:  # every node alone
        found = Modules(level.volume, level.cut, np.ones(n, dtype=np.int64))
    else:
        found = modules_of(level, labels, n_slots)
    costs = np.empty(n_slots)
    costs_of(level, found, costs)
    modules = np.stack([found.volume, found.cut, costs, np.zeros(n_slots)], axis=1)
    active = np.ones(n, dtype=np.bool_)
    return entropy.Partition(labels, modules, found.size, active, level.table())


# Levels


def reordered(level: Level, order: Ints) -> Level:
    """The same nodes in another order: node k is the old node order[k]."""
    place = np.empty(level.n_nodes, dtype=np.int32)
    place[order] = np.arange(level.n_nodes, dtype=np.int32)
    indptr, (near, weight, linked, pull) = _reordered_rows(
        level.indptr, order, (level.near, level.weight, level.linked, level.pull)
    )

    def rename(start: int, stop: int) -> None:
        near[start:stop] = place[near[start:stop]]

    in_parts(rename, len(near), _PORTION)
    owner, (group, amount) = _reordered_rows(level.owner, order, (level.group, level.amount))
    return level._replace(
        indptr=indptr, near=near, weight=weight, linked=linked, pull=pull,
        volume=level.volume[order], cut=level.cut[order], own=level.own[order],
        owner=owner, group=group, amount=amount,
    )  # fmt: skip


def _reordered_rows(indptr: Ints, order: Ints, columns: tuple[Any, ...]) -> tuple[Ints, list[Any]]:
    """Several columns of CSR data with their rows in another order; empty ones stay empty."""
    new = np.concatenate([[0], np.cumsum(np.diff(indptr)[order])])
    found = [np.empty_like(values) for values in columns]

    def part(start: int, stop: int) -> None:
        for values, out in zip(columns, found, strict=True):
            if len(values):
                entropy.reorder_rows(indptr, order[start:stop], values, out[new[start] : new[stop]])

    in_parts(part, len(order), _NODES)
    return new, found


class Room:
    """Memory for the edges of levels, of which two are in use: one is read, the next is written.

    With many rows, allocating new memory for every level can take as long as the sums.
    """

    def __init__(self) -> None:
        self._edges: list[tuple[Any, ...]] = []

    def beside(self, level: Level) -> tuple[Any, ...]:
        """Arrays for as many edges as a level has, none of which it uses itself."""
        n_edges, n_pulls = len(level.near), len(level.pull)
        in_use = []
        for edges in self._edges:
            if np.may_share_memory(edges[0], level.near):
                in_use.append(edges)
            elif len(edges[0]) >= n_edges and len(edges[3]) >= n_pulls:
                return edges
        self._edges = in_use  # the others are too small: free them first
        self._edges.append((
            np.empty(n_edges, dtype=np.int32), np.empty(n_edges),
            np.empty(n_edges, dtype=np.bool_), np.empty(n_pulls),
        ))  # fmt: skip
        return self._edges[-1]


def aggregate(level: Level, labels: Ints, room: Room | None = None) -> Level:
    """The modules of a partition, numbered from 0 without gaps, as the nodes of the next level.

    Its rows are not sorted. With a room, its edges stay only until the one after it is made.
    """
    n = int(labels.max(initial=-1)) + 1
    members = np.argsort(labels, kind="stable")
    size = np.bincount(labels, minlength=n)
    member_indptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    indptr = np.empty(n + 1, dtype=np.int64)
    near, weight, linked, pull = (room or Room()).beside(level)
    volume, cut = np.empty(n), np.empty(n)
    out = entropy.Graph(indptr, near, weight, linked, pull, volume, cut)
    indptr[n] = n_edges = _aggregate_edges(level, labels, members, member_indptr, out)
    owner, own = np.zeros(n + 1, dtype=np.int64), np.zeros(n)
    group, amount = level.group, level.amount
    if len(level.group):
        group, amount = np.empty_like(level.group), np.empty_like(level.amount)
        held = level.groups._replace(owner=owner, group=group, amount=amount)
        place = np.full(level.ties.n_groups, -1, dtype=np.int64)
        n_held = entropy.aggregate_entries(level.groups, members, member_indptr, held, place)
        group, amount = group[:n_held].copy(), amount[:n_held].copy()
        own = _shared_inside(owner, group, amount, level.ties)
        cut -= own - np.bincount(labels, level.own, minlength=n)
    return level._replace(
        indptr=indptr, near=near[:n_edges], weight=weight[:n_edges], linked=linked[:n_edges],
        pull=pull[: n_edges if len(level.pull) else 0], volume=volume, cut=cut,
        owner=owner, group=group, amount=amount, own=own,
        constant=level.constant - _pull_inside(level, labels),
    )  # fmt: skip


def _aggregate_edges(
    level: Level, labels: Ints, members: Ints, member_indptr: Ints, out: entropy.Graph
) -> int:
    """The rows of the next level, out: OUT; returns the number of edges.

    Each thread takes some modules, and writes from where it would if no edges of the modules before
    had been added up. Then the gaps are closed.
    """
    n = len(member_indptr) - 1
    # Parts begin with a module, where the first, the hundred thousandth … of the members is.
    begin = np.searchsorted(member_indptr, np.arange(0, len(members), _NODES), side="left")
    begin = np.unique(np.append(begin, n))
    room = np.cumsum(np.diff(level.indptr)[members])[member_indptr[begin[1:]] - 1]
    first = np.concatenate([[0], room[:-1]])
    n_made = np.empty_like(first)

    def part(number: int, _: int) -> None:
        start, stop = member_indptr[begin[number]], member_indptr[begin[number + 1]]
        place = np.full(n, -1)
        end = entropy.aggregate_edges(
            level.graph, labels, members, int(start), int(stop), int(first[number]), out, place
        )
        n_made[number] = end - first[number]

    in_parts(part, len(first), 1)
    columns = (out.near, out.weight, out.linked, out.pull)[: 4 if len(level.pull) else 3]
    made = _close_gaps(columns, first, n_made)
    out.indptr[:n] -= np.repeat(first - made[:-1], np.diff(begin))
    return int(made[-1])


def within(level: Level, parts: Ints) -> Level:
    """The same nodes with only the edges inside parts; cuts count the others as before."""
    row = np.repeat(np.arange(level.n_nodes), np.diff(level.indptr))
    keep = parts[row] == parts[level.near]
    n_kept = np.bincount(row[keep], minlength=level.n_nodes)
    return level._replace(
        indptr=np.concatenate([[0], np.cumsum(n_kept)]), near=level.near[keep],
        weight=level.weight[keep], linked=level.linked[keep],
        pull=level.pull[keep] if len(level.pull) else level.pull,
    )  # fmt: skip


def climb(level: Level, labels: Ints, order: Ints | None = None, room: Room | None = None) -> Ints:
    """Move nodes, then parts of modules, then parts of these, until nothing gains on any level.

    As in the Leiden algorithm, what moves on the next level are not whole modules but parts of
    modules that hold together by themselves, so that a module can still be divided.
    """
    room = room or Room()
    parts: list[Ints] = []
    while True:
        labels = move(level, labels, order=order).labels
        part = move(
            level, np.arange(level.n_nodes), fence=labels, only_single=True, max_sweeps=1,
            order=order,
        ).labels  # fmt: skip
        n_parts = int(part.max(initial=-1)) + 1
        if n_parts == level.n_nodes:
            break
        above = np.empty(n_parts, dtype=np.int64)
        above[part] = labels
        parts.append(part)
        level, labels, order = aggregate(level, part, room), above, None
    for part in reversed(parts):
        labels = labels[part]
    return renumbered(labels)


def improve(
    level: Level,
    labels: Ints,
    blocks: Ints,
    *,
    order: Ints | None = None,
    fixed: bool = False,
    may_open: bool = True,
    max_rounds: int = 10,
    each_round: Callable[[], object] | None = None,
    room: Room | None = None,
) -> Moved:
    """Move blocks of rows that belong together, then single rows, in rounds until little gains.

    A row alone cannot leave a group of a hundred that are held together by must-links, and so the
    paper's search ends with far too many modules when there are many constraints.

    Parameters
    ----------
    level : Level
        The rows.
    labels : ndarray of shape (n_samples,)
        The partition to start from.
    blocks : ndarray of shape (n_samples,)
        Rows with the same number belong together; those of a block in one module move as one.
    order : ndarray of shape (n_samples,), optional
        The order of the first sweep over rows.
    fixed : bool, default=False
        Keep the number of modules.
    may_open : bool, default=True
        Whether there may be new modules, if the number is not fixed.
    max_rounds : int, default=10
        The limit.
    each_round : callable, optional
        Called after each round; true ends the search.
    room : Room, optional
        For the edges of the levels above.
    """
    room = room or Room()
    value = objective(level, labels)
    history = [value]
    for _ in range(max_rounds):
        joined = renumbered(labels * len(blocks) + blocks)
        upper = np.empty(int(joined.max(initial=-1)) + 1, dtype=np.int64)
        upper[joined] = labels
        coarse = aggregate(level, joined, room)
        if fixed or not may_open:
            new = move(coarse, upper, may_open=False, may_empty=not fixed).labels[joined]
            new = move(level, new, may_open=False, may_empty=not fixed, order=order).labels
        else:
            new = climb(level, climb(coarse, upper, room=room)[joined], order, room)
        new_value = objective(level, new)
        if new_value < value:
            labels = new
        gained, value = value - new_value, min(value, new_value)
        history.append(value)
        if (each_round is not None and each_round()) or gained <= _ROUND * abs(value):
            break
    return Moved(labels, history)


def small_modules(level: Level, labels: Ints, n_wanted: int, *, n_sweeps: int = 2) -> Ints | None:
    """Modules of few sweeps, from which ``n_wanted`` clusters of many nodes are made.

    Without a price they are smaller than clusters: ten Gaussians of 100,000 rows were 8,000
    modules. A search among these takes a tenth of the time, and so several prices can be tried.
    After refining, L was lower than after a search among all nodes at the same price, or at most
    0.003 % higher, with two sweeps as with four. None if there are too few modules.
    """
    labels = move(level, labels, max_sweeps=n_sweeps).labels
    return labels if int(labels.max()) + 1 >= _FEWEST * n_wanted else None


def merge_down(level: Level, labels: Ints, n_wanted: int) -> Ints:
    """Merge modules, best pair first and also at a loss, down to an exact number.

    Where no edges are left to merge along, all modules count as connected; above a thousand of
    them, each with the largest alone.
    """
    labels = renumbered(labels)
    top = aggregate(level, labels)
    labels = merge(top, n_wanted=n_wanted, only_gains=False)[labels]
    n = int(labels.max(initial=-1)) + 1
    if n <= n_wanted:
        return labels
    top = aggregate(level, labels)
    if n <= 1_000:
        first, second = np.triu_indices(n, 1)
    else:
        second = np.delete(np.arange(n), top.volume.argmax())
        first = np.full(n - 1, top.volume.argmax())
    row = np.repeat(np.arange(n), np.diff(top.indptr))
    rows = np.concatenate([row, first, second])
    columns = np.concatenate([top.near, second, first])

    def with_all(values: Floats) -> sparse.csr_array:
        values = np.concatenate([values, np.zeros(2 * len(first))])
        found = sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
        found.sort_indices()
        return found

    edges = with_all(top.weight)
    top = top._replace(
        indptr=edges.indptr.astype(np.int64), near=edges.indices.astype(np.int32),
        weight=edges.data, linked=np.ones(edges.nnz, dtype=np.bool_),
        pull=with_all(top.pull).data if len(top.pull) else top.pull,
    )  # fmt: skip
    return merge(top, n_wanted=n_wanted, only_gains=False)[labels]
