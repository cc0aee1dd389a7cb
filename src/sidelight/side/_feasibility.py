"""Can K clusters keep every statement? A graph colouring problem over groups.

Groups that must be apart are adjacent: by a cannot-link, by different labels of one vocabulary, or
by a label that the other group has as a negative label. Groups with fewer than K neighbours can
always be placed, so they are removed first; what remains, the K-core, is coloured by DSATUR (Brélaz
1979), and the removed groups follow in reverse. With few cannot-links per row the core is empty and
the answer costs a few passes over the arrays. Two colours need no search: see `_two_colours`.
"""

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from sidelight.exceptions import SideInformationError
from sidelight.side._statements import Ints, distinct

if TYPE_CHECKING:
    from sidelight.side._closure import Closure
    from sidelight.side._information import SideInformation

# How many groups a clique may grow from. Each try costs the neighbourhood of one group; a clique
# that this number of tries among the best connected groups does not find is left as "unknown".
_CLIQUE_TRIES = 1000
# So few groups are coloured one by one sooner than by arrays.
_FEW_GROUPS = 16


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The answer of `SideInformation.feasible`.

    Attributes
    ----------
    answer : {"yes", "no", "unknown"}
        Deciding the question is hard in general; "unknown" means that neither a solution nor a
        proof that there is none was found.
    colouring : ndarray of shape (n_samples,) or None
        With "yes": a cluster for every row that keeps every statement.
    witness : ndarray or None
        With "no": rows that show it. More than ``n_clusters`` rows that are all kept apart from
        each other, or, for two clusters, a cycle of an odd number of rows, each kept apart from the
        next; or the two rows of a contradiction.
    core : ndarray or None
        With "unknown": the rows of the groups that are hard to place, each with ``n_clusters`` or
        more neighbours among them. All others can be placed whatever these do.
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
    colouring: NDArray[Any] | None
    witness: Ints | None
    reason: str
    core: Ints | None = None


def colour(side: "SideInformation", n_clusters: int) -> Feasibility:
    """Decide whether ``n_clusters`` clusters can keep every statement."""
    if not isinstance(n_clusters, (int, np.integer)) or n_clusters < 1:
        raise SideInformationError(f"n_clusters is a whole number from 1, not {n_clusters!r}.")
    conflicts = side.conflicts(limit=1)
    if len(conflicts):
        said = side.statements
        rows = np.unique([said.i[conflicts[0].statement], said.j[conflicts[0].statement]])
        reason = f"statements contradict each other for any number of clusters: {conflicts[0]}"
        return Feasibility("no", None, rows[rows >= 0], reason)
    closure = side.closure()
    too_many = _too_many_classes(closure, n_clusters)
    if too_many is not None:
        return _no_by_clique(side, _first_rows(closure)[too_many])
    graph = closure.apart_graph()
    colours: NDArray[Any] | None
    colours = _two_colours(graph) if n_clusters == 2 else _colour_groups(graph, int(n_clusters))
    if colours is not None:
        return Feasibility("yes", colours[closure.groups], None, "yes")
    clique = _find_clique(graph, n_clusters + 1)
    if clique is not None:
        return _no_by_clique(side, _first_rows(closure)[clique])
    if n_clusters == 2:
        cycle = _first_rows(closure)[_odd_cycle(graph)]
        reason = f"no: {len(cycle)} rows in a ring, each apart from the next ({_list(side, cycle)})"
        return Feasibility("no", None, cycle, reason)
    reason = (
        f"unknown: no way to keep the statements with {n_clusters} clusters was found, "
        f"and no {n_clusters + 1} rows that are all kept apart from each other"
    )
    core = np.flatnonzero((_peel(graph, int(n_clusters)) < 0)[closure.groups])
    reason += f"; {len(core):,} rows are hard to place ({_list(side, core)})"
    return Feasibility("unknown", None, None, reason, core)


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
    for groups in closure.labelled_groups():
        if len(groups) > n_clusters:
            return groups[: n_clusters + 1]
    return None


def _double_cover(graph: sparse.csr_array) -> Ints:
    """Components of two copies of the graph in which every edge changes from one to the other.

    Group v is vertices v and v + n. They are in one component only if an odd cycle leads back.
    """
    cover = sparse.block_array([[None, graph], [graph, None]]).tocsr()
    return csgraph.connected_components(cover, directed=False)[1].astype(np.int64)


def _two_colours(graph: sparse.csr_array) -> Ints | None:
    """Two colours that keep neighbours apart; None if an odd cycle forbids it."""
    here, there = np.split(_double_cover(graph), 2)
    return None if (here == there).any() else (here > there).astype(np.int64)


def _colour_groups(graph: sparse.csr_array, n_colours: int) -> NDArray[Any] | None:
    """Colours of all groups; most, as a rule, are apart from no other, and any colour will do."""
    some = np.flatnonzero(np.diff(graph.indptr))
    found = _colour_neighbours(sparse.csr_array(graph[some][:, some]), n_colours)
    if found is None:
        return None
    colours = np.zeros(graph.shape[0], dtype=np.int32)
    colours[some] = found
    return colours


def _colour_neighbours(graph: sparse.csr_array, n_colours: int) -> Ints | None:
    layer = _peel(graph, n_colours)
    colours = np.full(graph.shape[0], -1, dtype=np.int64)
    core = np.flatnonzero(layer < 0)
    if len(core):
        of_core = _dsatur(graph[core][:, core], n_colours)
        if of_core is None:
            return None
        colours[core] = of_core
    order = np.argsort(layer, kind="stable")[len(core) :]
    layers = np.split(order, np.flatnonzero(np.diff(layer[order])) + 1)
    rank = np.random.default_rng(0).permutation(len(colours))
    waits = np.zeros(len(colours), dtype=bool)
    for leaving in reversed(layers):
        _colour_greedily(graph, leaving, rank, n_colours, colours, waits)
    return colours


def _peel(graph: sparse.csr_array, n_colours: int) -> Ints:
    """In which round a group with fewer than K remaining neighbours leaves; −1: it stays."""
    layer = np.full(graph.shape[0], -1, dtype=np.int64)
    degree = np.diff(graph.indptr).astype(np.int64)
    leaving = np.flatnonzero(degree < n_colours)
    depth = 0
    while len(leaving):
        layer[leaving] = depth
        neighbours = _all_neighbours(graph, leaving)[0]
        np.subtract.at(degree, neighbours, 1)
        touched = distinct(neighbours)
        leaving = touched[(layer[touched] < 0) & (degree[touched] < n_colours)].astype(np.int64)
        depth += 1
    return layer


def _colour_greedily(
    graph: sparse.csr_array,
    groups: Ints,
    rank: Ints,
    n_colours: int,
    colours: Ints,  # OUT
    waits: NDArray[np.bool_],  # scratch, all False
) -> None:
    """Give each group the lowest colour that is free, many at a time.

    A group's turn comes when no waiting neighbour has a lower rank, so neighbours never choose at
    once; ranks are a fixed shuffle, which keeps the number of rounds logarithmic unless the groups
    are dense (a clique has one turn per round), and then they go one by one.
    """
    waits[groups] = True
    while len(groups) > _FEW_GROUPS:
        near, owner = _all_neighbours(graph, groups)
        blocks = waits[near] & (rank[near] < rank[groups[owner]])
        turn = np.bincount(owner[blocks], minlength=len(groups)) == 0
        if turn.sum() < 0.01 * len(groups):
            break
        seen = turn[owner] & (colours[near] >= 0)
        free = _lowest_free(owner[seen], colours[near[seen]], len(groups), n_colours)
        colours[groups[turn]] = free[turn]
        waits[groups[turn]] = False
        groups = groups[~turn]
    waits[groups] = False
    for v in groups.tolist():
        taken = set(colours[_neighbours(graph, v)].tolist())
        colours[v] = next(c for c in range(n_colours) if c not in taken)


def _lowest_free(owner: Ints, taken: Ints, n_owners: int, n_colours: int) -> Ints:
    """The lowest colour that does not occur among an owner's, from sorted (owner, colour) pairs."""
    pairs = distinct(owner * n_colours + taken)
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
    for v in np.argsort(-degree, kind="stable")[:_CLIQUE_TRIES].tolist():
        if degree[v] < size - 1:
            return None
        clique = _grow_clique(graph, v, size)
        if clique is not None:
            return clique
    return None


def _grow_clique(graph: sparse.csr_array, start: int, size: int) -> Ints | None:
    """Add the neighbour with the most neighbours left, again and again; None if it ends early."""
    candidates = _neighbours(graph, start)
    inside = _among(graph, candidates)
    degree = np.diff(inside.indptr).astype(np.int64)
    left = np.ones(len(candidates), dtype=bool)
    chosen: list[int] = []
    while len(chosen) + 1 + np.count_nonzero(left) >= size:
        if len(chosen) + 1 == size:
            return np.append(start, candidates[chosen])
        best = int(np.where(left, degree, -1).argmax())
        chosen.append(best)
        keep = np.zeros(len(candidates), dtype=bool)
        keep[_neighbours(inside, best)] = True
        gone = np.flatnonzero(left & ~keep)
        left &= keep
        degree -= np.bincount(_all_neighbours(inside, gone)[0], minlength=len(degree))
    return None


def _among(graph: sparse.csr_array, groups: Ints) -> sparse.csr_array:
    """The graph of a few groups. Choosing columns of a CSR matrix would cost the size of it all."""
    near, owner = _all_neighbours(graph, groups)
    place = np.minimum(np.searchsorted(groups, near), len(groups) - 1)
    there = groups[place] == near
    ones = np.ones(int(there.sum()), dtype=np.int8)
    shape = (len(groups), len(groups))
    return sparse.coo_array((ones, (owner[there], place[there])), shape=shape).tocsr()


def _neighbours(graph: sparse.csr_array, v: int) -> Ints:
    return graph.indices[graph.indptr[v] : graph.indptr[v + 1]]


def _all_neighbours(graph: sparse.csr_array, groups: Ints) -> tuple[Ints, Ints]:
    """The neighbours of some groups, one after the other, and whose each one is."""
    begin, counts = graph.indptr[groups], graph.indptr[groups + 1] - graph.indptr[groups]
    owner = np.repeat(np.arange(len(groups)), counts)
    shift = np.repeat(begin - np.cumsum(counts) + counts, counts)
    return graph.indices[shift + np.arange(len(owner))], owner


def _odd_cycle(graph: sparse.csr_array) -> Ints:
    """A cycle of odd length: two adjacent groups at one depth of a search tree, and ways up."""
    here, there = np.split(_double_cover(graph), 2)
    root = int(np.flatnonzero(here == there)[0])
    depth, parent = csgraph.dijkstra(graph, indices=root, unweighted=True, return_predecessors=True)
    edges = graph.tocoo()
    level = np.isfinite(depth[edges.row]) & (depth[edges.row] == depth[edges.col])
    first = int(np.flatnonzero(level)[0])
    left, right = [int(edges.row[first])], [int(edges.col[first])]
    while left[-1] != right[-1]:
        left.append(int(parent[left[-1]]))
        right.append(int(parent[right[-1]]))
    return np.array(left + right[-2::-1])
