"""Built once per asker: the row graph, leaves, and the tree whose cuts are the items.

Rows are leaves up to 4,000 rows; above, leaves are small cells of near rows. Items are always a cut
of the Ward tree over leaves, so an item splits by being replaced with its two children.

Weights are rounded to a grid on which sums are exact. So the weight between two items does not
depend on the order of the splits that made them: an update equals a computation from scratch, bit
for bit, and a replay equals the original.
"""

import heapq
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from sidelight._kernels import committee as kernels
from sidelight.exceptions import DataError
from sidelight.graph import (
    check_graph,
    leading_eigenvectors,
    local_scales,
    local_weights,
    micro_clusters,
    nearest_neighbors,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

N_NEIGHBORS = 10
MOST_LEAVES = 4_000  # the tree takes their square in memory and time
_DENSE_CELLS = 30_000_000  # up to this size sparse rows are held as an array
_COORDINATES = 10  # eigenvectors that stand for rows when only a graph is given


@dataclass(frozen=True, eq=False)
class Structure:
    """The graph of rows, the leaves, and the tree over them.

    ``edges`` are the directed edges of rows (CSR), ``leaves`` the symmetric summed graph of leaves
    with its diagonal. A leaf has a slot; node ``i`` covers the slots ``order[lo[i]:hi[i]]``.
    """

    X: Floats | None
    edges: sparse.csr_array
    row_leaf: Ints
    points: Floats
    mass: Floats
    medoids: Ints
    leaves: sparse.csr_array
    children: Ints
    height: Floats
    slot_node: Ints
    order: Ints
    lo: Ints
    hi: Ints

    @property
    def n_rows(self) -> int:
        return len(self.row_leaf)

    @property
    def root(self) -> int:
        return int(np.argmax(self.hi - self.lo))

    def slots(self, node: int) -> Ints:
        return self.order[self.lo[node] : self.hi[node]]

    def is_leaf(self, node: int) -> bool:
        return bool(self.children[node, 0] < 0)

    def node_mass(self, node: int) -> float:
        return float(self.mass[self.slots(node)].sum())

    def medoid(self, node: int) -> int:
        """The representative row of the leaf nearest to the mean of a node."""
        slots = self.slots(node)
        points, mass = self.points[slots], self.mass[slots]
        far = ((points - mass @ points / mass.sum()) ** 2).sum(axis=1)
        return int(self.medoids[slots[int(np.argmin(far))]])

    def rows(self, node: int) -> Ints:
        """The rows of a node, in ascending order."""
        inside = np.zeros(len(self.slot_node), dtype=bool)
        inside[self.slots(node)] = True
        return np.flatnonzero(inside[self.row_leaf])

    def cut(self, n_items: int) -> list[int]:
        """The nodes after splitting the highest one, again and again."""
        heap = [(-self.height[self.root], self.root)]
        done: list[int] = []
        while heap and len(heap) + len(done) < n_items:
            _, node = heapq.heappop(heap)
            if self.is_leaf(node):
                done.append(node)
                continue
            for child in self.children[node]:
                heapq.heappush(heap, (-self.height[child], int(child)))
        return sorted(done + [node for _, node in heap])

    def modules(self) -> Floats:
        """The masses of the parts of the cut whose modularity is the largest of all cuts.

        Modularity is a sum over parts, so the best cut of a node is the node itself or the best
        cuts of its children.
        """
        n_nodes, leaf_order = len(self.height), np.argsort(self.order)
        parent = np.full(n_nodes, -1, dtype=np.int64)
        inner = np.flatnonzero(self.children[:, 0] >= 0)
        parent[self.children[inner]] = inner[:, None]
        edges = self.leaves.tocoo()
        total = edges.data.sum()
        if total <= 0:
            return np.array([self.mass.sum()])
        joins, to = self.slot_node[edges.row], leaf_order[edges.col]  # climb to the common node
        while (outside := (to < self.lo[joins]) | (to >= self.hi[joins])).any():
            joins[outside] = parent[joins[outside]]
        inside = np.bincount(joins, weights=edges.data, minlength=n_nodes)
        volume = np.bincount(self.slot_node[edges.row], weights=edges.data, minlength=n_nodes)
        best, is_part = np.zeros(n_nodes), np.ones(n_nodes, dtype=bool)
        for node in np.argsort(self.hi - self.lo, kind="stable"):  # children before their parents
            apart = -np.inf
            if self.children[node, 0] >= 0:
                below = self.children[node]
                inside[node] += inside[below].sum()
                volume[node] = volume[below].sum()
                apart = best[below].sum()
            together = inside[node] / total - (volume[node] / total) ** 2
            is_part[node] = together >= apart
            best[node] = max(together, apart)
        found, waiting = [], [self.root]
        while waiting:
            node = waiting.pop()
            if is_part[node]:
                found.append(self.node_mass(node))
            else:
                waiting.extend(int(child) for child in self.children[node])
        return np.array(found)

    def split_leaf(self, slot: int, apart: tuple[int, int]) -> "Structure":
        """Replace a leaf of several rows by two: each row goes with the nearer of two rows."""
        rows = np.flatnonzero(self.row_leaf == slot)
        second = _nearer_to_second(self, rows, apart)
        node, n_nodes, new = int(self.slot_node[slot]), len(self.height), len(self.slot_node)
        row_leaf = self.row_leaf.copy()
        row_leaf[rows[second]] = new
        parts = [rows[~second], rows[second]]
        points = np.vstack([self.points, self.points[slot]])
        medoids = np.append(self.medoids, 0)
        for at, part, row in zip((slot, new), parts, apart, strict=True):
            if self.X is None:
                medoids[at] = row
            else:
                points[at] = self.X[part].mean(axis=0)
                far = ((self.X[part] - points[at]) ** 2).sum(axis=1)
                medoids[at] = part[int(np.argmin(far))]
        mass = np.append(self.mass, float(len(parts[1])))
        mass[slot] = len(parts[0])
        children = np.vstack([self.children, [[-1, -1], [-1, -1]]])
        children[node] = n_nodes, n_nodes + 1
        slot_node = np.append(self.slot_node, n_nodes + 1)
        slot_node[slot] = n_nodes
        height = np.append(self.height, [0.0, 0.0])
        order, lo, hi = _ranges(children, slot_node, self.root)
        return replace(
            self, row_leaf=row_leaf, points=points, mass=mass, medoids=medoids,
            leaves=_split_weights(self, row_leaf, slot, parts[1]), children=children,
            height=height, slot_node=slot_node, order=order, lo=lo, hi=hi,
        )  # fmt: skip


def effective_number(masses: NDArray[Any]) -> float:
    """How many equal parts are as uneven as these: 1 / sum of squared shares."""
    return float(masses.sum() ** 2 / (masses**2).sum())


def build_structure(
    data: Any, *, is_graph: bool, seed: int, leaves: int = MOST_LEAVES
) -> Structure:
    """The structure of a table of rows, or of a graph of similarities."""
    if is_graph:
        edges = check_graph(data)
        X, coordinates = None, _embedding(edges)
    else:
        X = coordinates = as_rows(data)
        edges = _row_graph(X, seed)
    edges = on_a_grid(edges)
    n = len(coordinates)
    if n <= leaves:
        row_leaf = np.arange(n)
        points, mass, medoids = coordinates, np.ones(n), np.arange(n)
    else:
        row_leaf = micro_clusters(coordinates, leaves, seed=seed)
        points, mass, medoids = _centres(coordinates, row_leaf)
    children, height = ward_tree(points, mass)
    slot_node = np.arange(len(mass))
    order, lo, hi = _ranges(children, slot_node, len(children) - 1)
    return Structure(
        X, edges, row_leaf, points, mass, medoids, _sum_to_leaves(edges, row_leaf, len(mass)),
        children, height, slot_node, order, lo, hi,
    )  # fmt: skip


def as_rows(data: Any) -> Floats:
    """The table as an array of finite numbers, at least two rows."""
    if sparse.issparse(data):
        if data.shape[0] * data.shape[1] > _DENSE_CELLS:
            raise DataError(
                f"X is sparse with {data.shape[0]:,} x {data.shape[1]:,} cells; reduce it to a few "
                "hundred columns first (sklearn.decomposition.TruncatedSVD)."
            )
        data = data.toarray()
    try:
        X = np.ascontiguousarray(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"X is not a table of numbers: {error}.") from error
    if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise DataError(
            f"X has shape {X.shape}; questions are about pairs of rows, so give a table with at "
            "least two rows and one column."
        )
    if not np.isfinite(X).all():
        raise DataError("X has values that are missing or infinite; fill or drop them first.")
    return X


def ward_tree(points: Floats, mass: Floats) -> tuple[Ints, Floats]:
    """Children of every node (−1 for leaves) and heights, of Ward linkage of weighted points."""
    n = len(points)
    children = np.full((2 * n - 1, 2), -1, dtype=np.int64)
    height = np.zeros(2 * n - 1)
    if n > 1:
        D = cdist(points, points, "sqeuclidean")
        D *= mass[:, None] * mass / (mass[:, None] + mass)
        merges, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
        kernels.ward(D, mass.copy(), np.empty(n, dtype=np.int64), merges, heights)
        children[n:], height[n:] = merges, heights
    return children, height


def metric_leaves(structure: Structure, coordinates: Floats) -> sparse.csr_array:
    """A second graph of leaves, by neighbours in other coordinates of the leaves."""
    heavy = np.sqrt(structure.mass)
    graph = _row_graph(coordinates, 0)
    row = np.repeat(np.arange(len(heavy)), np.diff(graph.indptr))
    graph.data = graph.data * heavy[row] * heavy[graph.indices]
    return _sum_to_leaves(on_a_grid(graph), np.arange(len(heavy)), len(heavy))


def _row_graph(X: Floats, seed: int) -> sparse.csr_array:
    """Directed: each row and its nearest others, weighted by exp(-d² / (s_i s_j))."""
    found = nearest_neighbors(X, N_NEIGHBORS, random_state=seed % 2**31)
    scales = local_scales(found)
    row = np.repeat(np.arange(len(X)), np.diff(found.indptr))
    weights = local_weights(found.distances, scales[row], scales[found.indices])
    return sparse.csr_array((weights, found.indices, found.indptr), shape=(len(X), len(X)))


def on_a_grid(edges: sparse.csr_array) -> sparse.csr_array:
    """Round weights to multiples of a power of two, so that all their sums are exact."""
    total = float(edges.data.sum()) if len(edges.data) else 0.0
    if total > 0:
        step = 2.0 ** (np.ceil(np.log2(total)) - 48)  # 52 bits, less halves and a margin
        edges.data = np.round(edges.data / step) * step
    return edges


def _sum_to_leaves(edges: sparse.csr_array, row_leaf: Ints, n_leaves: int) -> sparse.csr_array:
    """The symmetric graph of leaves: half of every edge in each direction."""
    source = np.repeat(row_leaf, np.diff(edges.indptr))
    summed = sparse.csr_array(
        (edges.data * 0.5, (source, row_leaf[edges.indices])), shape=(n_leaves, n_leaves)
    )
    summed = sparse.csr_array(summed + summed.T)
    summed.sort_indices()
    return summed


def _split_weights(
    structure: Structure, row_leaf: Ints, slot: int, moved: Ints
) -> sparse.csr_array:
    """The graph of leaves after some rows of a leaf moved to a new one; exact, as sums are."""
    edges, old = structure.edges, structure.leaves
    n = old.shape[0] + 1
    is_moved = np.zeros(len(row_leaf), dtype=bool)
    is_moved[moved] = True
    into = np.flatnonzero(is_moved[edges.indices])
    source = np.searchsorted(edges.indptr, into, side="right") - 1
    out = np.concatenate([np.arange(edges.indptr[r], edges.indptr[r + 1]) for r in moved])
    ends = np.concatenate([row_leaf[source], row_leaf[edges.indices[out]]])
    weight = np.concatenate([edges.data[into], edges.data[out]]) * 0.5
    new = np.bincount(ends, weights=weight, minlength=n)
    rest = np.append(old[[slot]].toarray().ravel(), 0.0) - new
    rest[slot] -= new[slot] + new[-1]  # what was inside the leaf lies in three parts now
    kept = old.tocoo()
    stay = (kept.row != slot) & (kept.col != slot)
    others = np.delete(np.arange(n), [slot, n - 1])
    row = [kept.row[stay], others, np.full(n - 2, slot), others, np.full(n - 2, n - 1)]
    col = [kept.col[stay], np.full(n - 2, slot), others, np.full(n - 2, n - 1), others]
    data = [kept.data[stay], rest[others], rest[others], new[others], new[others]]
    row.append(np.array([slot, slot, n - 1, n - 1]))
    col.append(np.array([slot, n - 1, slot, n - 1]))
    data.append(np.array([rest[slot], new[slot], new[slot], new[-1]]))
    joined = sparse.csr_array(
        (np.concatenate(data), (np.concatenate(row), np.concatenate(col))), shape=(n, n)
    )
    joined.eliminate_zeros()
    joined.sort_indices()
    return joined


def _embedding(graph: sparse.csr_array) -> Floats:
    """Coordinates of the rows of a graph: leading eigenvectors."""
    n = graph.shape[0]
    if n < 2:
        raise DataError(f"the graph has {n} rows; questions are about pairs: give at least two.")
    n_wanted = min(_COORDINATES, n - 1)
    return np.ascontiguousarray(leading_eigenvectors(graph, n_wanted).vectors)


def _centres(X: Floats, cell: Ints) -> tuple[Floats, Floats, Ints]:
    """Mean, size and medoid of every cell."""
    mass = np.bincount(cell).astype(float)
    by_cell = np.argsort(cell, kind="stable")
    start = np.concatenate([[0], np.cumsum(mass[:-1])]).astype(np.int64)
    points = np.add.reduceat(X[by_cell], start, axis=0) / mass[:, None]
    far = np.empty(len(X))
    for first in range(0, len(X), 100_000):
        part = slice(first, first + 100_000)
        far[part] = ((X[part] - points[cell[part]]) ** 2).sum(axis=1)
    nearest = np.lexsort((np.arange(len(X)), far, cell))[start]
    return points, mass, nearest


def _ranges(children: Ints, slot_node: Ints, root: int) -> tuple[Ints, Ints, Ints]:
    """Slots in the order of the tree, and the range of every node."""
    n_nodes = len(children)
    slot = np.full(n_nodes, -1, dtype=np.int64)
    slot[slot_node] = np.arange(len(slot_node))
    lo, hi = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    order: list[int] = []
    waiting = [(root, False)]
    pairs = children.tolist()
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            hi[node] = len(order)
            continue
        lo[node] = len(order)
        if pairs[node][0] < 0:
            order.append(int(slot[node]))
            hi[node] = len(order)
        else:
            waiting += [(node, True), (pairs[node][1], False), (pairs[node][0], False)]
    return np.array(order, dtype=np.int64), lo, hi


def _nearer_to_second(structure: Structure, rows: Ints, apart: tuple[int, int]) -> Any:
    """Which rows of a leaf go with the second of two rows; those two always part."""
    X = structure.X
    if X is None:
        second = rows == apart[1]
    else:
        near, far = (((X[rows] - X[row]) ** 2).sum(axis=1) for row in apart)
        second = far < near
        second[rows == apart[0]] = False
        second[rows == apart[1]] = True
    return second
