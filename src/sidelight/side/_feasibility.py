"""Can K clusters keep every statement? A graph colouring problem over groups.

Groups that must be apart are adjacent: by a cannot-link, by different labels of one vocabulary, or
by a label that the other group is said not to have. Groups with fewer than K neighbours never
hinder, whatever the others do, so they are peeled off first; what remains, the K-core, is coloured
by DSATUR (Brélaz 1979), and the peeled groups follow in reverse. With few cannot-links per row the
core is empty and the answer costs a few passes over the arrays.
"""

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from sidelight.exceptions import SideInformationError
from sidelight.side._statements import Ints

if TYPE_CHECKING:
    from sidelight.side._closure import Closure
    from sidelight.side._information import SideInformation

# How many groups a clique may grow from. Each try costs the neighbourhood of one group; a clique
# that so many tries among the best connected groups do not show is left as "unknown".
_CLIQUE_TRIES = 1000


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The answer of `SideInformation.feasible`.

    Attributes
    ----------
    answer : {"yes", "no", "unknown"}
        Deciding the question is hard in general; "unknown" says that neither a way nor an obstacle
        was found.
    colouring : ndarray of shape (n_samples,) or None
        With "yes": a cluster for every row that keeps every statement.
    witness : ndarray or None
        With "no": rows that show it. More than ``n_clusters`` rows that are all kept apart from
        each other, or, for two clusters, a cycle of an odd number of rows, each kept apart from the
        next; or the two rows of a contradiction.
    reason : str
        The answer in a sentence, with the user's own row ids.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> triangle = SideInformation.from_pairs(cannot=[(0, 1), (1, 2), (0, 2)], n_samples=4)
    >>> triangle.feasible(3).answer
    'yes'
    >>> triangle.feasible(2).reason
    'no: 3 rows are all kept apart from each other (0, 1, 2)'
    """

    answer: Literal["yes", "no", "unknown"]
    colouring: Ints | None
    witness: Ints | None
    reason: str


def colour(side: "SideInformation", n_clusters: int) -> Feasibility:
    """Decide whether ``n_clusters`` clusters can keep every statement."""
    if not isinstance(n_clusters, (int, np.integer)) or n_clusters < 1:
        raise SideInformationError(f"n_clusters is a whole number from 1, not {n_clusters!r}.")
    conflicts = side.conflicts(limit=1)
    if len(conflicts):
        said = side.statements
        rows = np.unique([said.i[conflicts[0].statement], said.j[conflicts[0].statement]])
        reason = f"no number of clusters will do: {conflicts[0]}"
        return Feasibility("no", None, rows[rows >= 0], reason)
    closure = side.closure()
    too_many = _too_many_classes(closure, n_clusters)
    if too_many is not None:
        return _no_by_clique(side, _first_rows(closure)[too_many])
    graph = _apart_graph(closure)
    colours = _colour_groups(graph, int(n_clusters))
    if colours is not None:
        return Feasibility("yes", colours[closure.groups], None, "yes")
    clique = _find_clique(graph, n_clusters + 1)
    if clique is not None:
        return _no_by_clique(side, _first_rows(closure)[clique])
    if n_clusters == 2:
        # DSATUR colours every bipartite graph, so this one is not: it has an odd cycle.
        cycle = _first_rows(closure)[_odd_cycle(graph)]
        reason = f"no: {len(cycle)} rows in a ring, each apart from the next ({_list(side, cycle)})"
        return Feasibility("no", None, cycle, reason)
    reason = (
        f"unknown: no way to keep the statements with {n_clusters} clusters was found, "
        f"and no {n_clusters + 1} rows that are all kept apart from each other"
    )
    return Feasibility("unknown", None, None, reason)


def _no_by_clique(side: "SideInformation", rows: Ints) -> Feasibility:
    rows = np.sort(rows)
    reason = f"no: {len(rows)} rows are all kept apart from each other ({_list(side, rows)})"
    return Feasibility("no", None, rows, reason)


def _list(side: "SideInformation", rows: Ints) -> str:
    named = ", ".join(side.row_name(row) for row in rows[:10])
    return f"{named}, …" if len(rows) > 10 else named


def _first_rows(closure: "Closure") -> Ints:
    return np.unique(closure.groups, return_index=True)[1]


def _too_many_classes(closure: "Closure", n_clusters: int) -> Ints | None:
    """Groups of more than K different labels of one vocabulary."""
    for code in np.unique(closure.labels[:, 1]):
        groups = np.unique(closure.labels[closure.labels[:, 1] == code, 0])
        if len(groups) > n_clusters:
            return groups[: n_clusters + 1]
    return None


def _apart_graph(closure: "Closure") -> sparse.csr_array:
    """Groups that must be apart; at most K classes per vocabulary, so their cliques are small."""
    pairs = [closure.cannot]
    for code in np.unique(closure.labels[:, 1]):
        groups = np.unique(closure.labels[closure.labels[:, 1] == code, 0])
        first, second = np.triu_indices(len(groups), k=1)
        pairs.append(np.stack([groups[first], groups[second]], axis=1))
    pairs.append(_label_against_not_label(closure))
    ends = np.concatenate(pairs)
    ends = np.concatenate([ends, ends[:, ::-1]])
    ones = np.ones(len(ends), dtype=np.int8)
    n = closure.n_groups
    return sparse.coo_array((ones, (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()


def _label_against_not_label(closure: "Closure") -> Ints:
    """Each "not c" against the group that is c: at most one, since equal labels make one group."""
    width = max(len(closure.source.classes), 1)
    holds = (closure.labels[:, 1] + 1) * width + closure.labels[:, 2]
    lacks = (closure.not_labels[:, 1] + 1) * width + closure.not_labels[:, 2]
    if not len(holds) or not len(lacks):
        return np.empty((0, 2), dtype=np.int64)
    order = np.argsort(holds)
    place = np.minimum(np.searchsorted(holds[order], lacks), len(holds) - 1)
    found = holds[order][place] == lacks
    return np.stack([closure.labels[order[place], 0], closure.not_labels[:, 0]], axis=1)[found]


def _colour_groups(graph: sparse.csr_array, n_colours: int) -> Ints | None:
    layer = _peel(graph, n_colours)
    colours = np.full(graph.shape[0], -1, dtype=np.int64)
    core = np.flatnonzero(layer < 0)
    if len(core):
        of_core = _dsatur(graph[core][:, core], n_colours)
        if of_core is None:
            return None
        colours[core] = of_core
    for depth in range(int(layer.max(initial=-1)), -1, -1):
        _colour_greedily(graph, np.flatnonzero(layer == depth), colours, n_colours)
    return colours


def _peel(graph: sparse.csr_array, n_colours: int) -> Ints:
    """In which round a group with fewer than K remaining neighbours leaves; −1: it stays."""
    layer = np.full(graph.shape[0], -1, dtype=np.int64)
    degree = np.diff(graph.indptr).astype(np.int64)
    leaving = np.flatnonzero(degree < n_colours)
    depth = 0
    while len(leaving):
        layer[leaving] = depth
        neighbours = graph[leaving].indices
        np.subtract.at(degree, neighbours, 1)
        touched = np.unique(neighbours)
        leaving = touched[(layer[touched] < 0) & (degree[touched] < n_colours)].astype(np.int64)
        depth += 1
    return layer


def _colour_greedily(graph: sparse.csr_array, waiting: Ints, colours: Ints, n_colours: int) -> None:
    """Give each waiting group the lowest colour that is free, many at a time. colours: IN/OUT.

    A group's turn comes when no waiting neighbour has a lower rank, so neighbours never choose at
    once; ranks are a fixed shuffle, which keeps the number of rounds logarithmic unless the groups
    are dense (a clique has one turn per round), and then they go one by one.
    """
    rank = np.empty(graph.shape[0], dtype=np.int64)
    rank[waiting] = np.random.default_rng(0).permutation(len(waiting))
    is_waiting = np.zeros(graph.shape[0], dtype=bool)
    is_waiting[waiting] = True
    while len(waiting):
        near = graph[waiting]
        owner = np.repeat(np.arange(len(waiting)), np.diff(near.indptr))
        blocks = is_waiting[near.indices] & (rank[near.indices] < rank[waiting[owner]])
        turn = np.bincount(owner[blocks], minlength=len(waiting)) == 0
        if turn.sum() < 0.01 * len(waiting):
            for v in waiting.tolist():
                taken = np.unique(colours[_neighbours(graph, v)])
                free = np.setdiff1d(np.arange(n_colours), taken, assume_unique=True)
                colours[v] = free[0]
            return
        seen = turn[owner] & (colours[near.indices] >= 0)
        colours[waiting[turn]] = _lowest_free(
            owner[seen], colours[near.indices[seen]], len(waiting), n_colours
        )[turn]
        is_waiting[waiting[turn]] = False
        waiting = waiting[~turn]


def _lowest_free(owner: Ints, taken: Ints, n_owners: int, n_colours: int) -> Ints:
    """The lowest colour that does not occur among an owner's, from sorted (owner, colour) pairs."""
    pairs = np.unique(owner * n_colours + taken)
    owner, taken = pairs // n_colours, pairs % n_colours
    begin = np.searchsorted(owner, np.arange(n_owners))
    place = np.arange(len(pairs)) - begin[owner]
    free = np.bincount(owner, minlength=n_owners)  # without a gap, the next one after all taken
    gap = np.flatnonzero(taken != place)
    np.minimum.at(free, owner[gap], place[gap])
    return free


def _dsatur(graph: sparse.csr_array, n_colours: int) -> Ints | None:
    """Colour the group with the most colours around it next; None if K do not suffice."""
    n = graph.shape[0]
    neighbours = np.split(graph.indices, graph.indptr[1:-1])
    taken: list[set[int]] = [set() for _ in range(n)]
    colours = np.full(n, -1, dtype=np.int64)
    heap = [(0, -len(neighbours[v]), v) for v in range(n)]
    heapq.heapify(heap)
    while heap:
        saturation, _, v = heapq.heappop(heap)
        if colours[v] >= 0 or -saturation != len(taken[v]):
            continue  # an older entry of the same group
        free = next((c for c in range(n_colours) if c not in taken[v]), None)
        if free is None:
            return None
        colours[v] = free
        for u in neighbours[v].tolist():
            if colours[u] < 0 and free not in taken[u]:
                taken[u].add(free)
                heapq.heappush(heap, (-len(taken[u]), -len(neighbours[u]), u))
    return colours


def _find_clique(graph: sparse.csr_array, size: int) -> Ints | None:
    """Grow cliques greedily from the best connected groups."""
    degree = np.diff(graph.indptr)
    for v in np.argsort(-degree, kind="stable")[:_CLIQUE_TRIES]:
        if degree[v] < size - 1:
            return None
        clique, candidates = [int(v)], _neighbours(graph, v)
        while len(candidates):
            inside = graph[candidates][:, candidates]
            best = candidates[int(np.diff(inside.indptr).argmax())]
            clique.append(int(best))
            if len(clique) == size:
                return np.array(clique)
            candidates = np.intersect1d(candidates, _neighbours(graph, best))
    return None


def _neighbours(graph: sparse.csr_array, v: int) -> NDArray[np.integer]:
    return graph.indices[graph.indptr[v] : graph.indptr[v + 1]]


def _odd_cycle(graph: sparse.csr_array) -> Ints:
    """A cycle of odd length: two adjacent groups at one depth of a search tree, and ways up."""
    # In the double cover every edge changes sides; only an odd cycle leads back to the other side.
    cover = sparse.block_array([[None, graph], [graph, None]]).tocsr()
    n = graph.shape[0]
    component = csgraph.connected_components(cover, directed=False)[1]
    root = int(np.flatnonzero(component[:n] == component[n:])[0])
    depth, parent = csgraph.dijkstra(graph, indices=root, unweighted=True, return_predecessors=True)
    edges = graph.tocoo()
    level = np.isfinite(depth[edges.row]) & (depth[edges.row] == depth[edges.col])
    first = int(np.flatnonzero(level)[0])
    left, right = [int(edges.row[first])], [int(edges.col[first])]
    while left[-1] != right[-1]:
        left.append(int(parent[left[-1]]))
        right.append(int(parent[right[-1]]))
    return np.array(left + right[-2::-1])
