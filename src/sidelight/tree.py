"""ClusterTree: a hierarchy of rows, as arrays; levels, linkage, picture.

Nothing here recurses: a tree may be as deep as it has rows. Computations along whole paths take
steps of 1, 2, 4, … nodes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.exceptions import DataError
from sidelight.side import SideInformation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ClusterTree"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterTree:
    """A tree whose leaves are the rows; nodes may have any number of children.

    Parameters
    ----------
    parent : ndarray of shape (n_nodes,)
        The parent of each node, a later one, and −1 for the root, the last node. The first
        ``n_leaves`` nodes are the rows.
    heights : ndarray of shape (n_nodes,)
        How high each node is drawn: zero for rows, and no node above its parent.
    n_leaves : int
        The number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.tree import ClusterTree
    >>> tree = ClusterTree(np.array([4, 4, 5, 5, 5, -1]), np.array([0, 0, 0, 0, 1.0, 3.0]), 4)
    >>> tree
    ClusterTree(4 rows, 2 nodes above them, height 2)
    >>> tree.children_of(5).tolist()
    [2, 3, 4]
    >>> [labels.tolist() for labels in tree.levels()]
    [[0, 0, 1, 2], [0, 1, 2, 3]]
    """

    parent: Ints
    heights: Floats
    n_leaves: int

    def __post_init__(self) -> None:
        n = len(self.parent)
        later = self.parent[:-1] > np.arange(n - 1)
        if not (0 < self.n_leaves < n and self.parent[-1] == -1 and later.all()):
            raise DataError(
                f"parent has {n} entries for {self.n_leaves} rows; every node but the last, which "
                "is the root and has -1, needs a parent that comes after it."
            )
        if (self.parent[:-1] < self.n_leaves).any() or (self.parent[:-1] >= n).any():
            raise DataError(f"parents have to lie between {self.n_leaves} and {n - 1}.")
        if not (self.heights[:-1] <= self.heights[self.parent[:-1]]).all():
            raise DataError("a node is higher than its parent; heights have to rise to the root.")

    @property
    def n_nodes(self) -> int:
        """The number of nodes, rows and root included."""
        return len(self.parent)

    @property
    def children(self) -> tuple[Ints, Ints]:
        """All children: those of node x are ``indices[indptr[x]:indptr[x + 1]]``."""
        indices = np.argsort(self.parent[:-1], kind="stable")
        count = np.bincount(self.parent[:-1], minlength=self.n_nodes)
        return np.concatenate([[0], np.cumsum(count)]), indices

    def children_of(self, node: int) -> Ints:
        """The children of one node, in ascending order."""
        return np.flatnonzero(self.parent == node)

    @property
    def depths(self) -> Ints:
        """For each node the number of steps to the root."""
        steps = (self.parent >= 0).astype(np.int64)
        for above in _ancestors(_upward(self.parent)):
            steps = steps + np.append(steps, 0)[above[:-1]]
        return steps

    @property
    def sizes(self) -> Ints:
        """For each node the number of rows under it."""
        return lay_out(self.parent, self.n_leaves).size

    def labels_at(self, depth: int, *, split_rows: bool = True) -> Ints:
        """The node of each row at a given depth below the root.

        Parameters
        ----------
        depth : int
            0 is the root, 1 are its children.
        split_rows : bool, default=True
            Where a path is shorter, a row is its own node; otherwise the rows that hang directly
            from a node, other than the root, stay together.

        Returns
        -------
        ndarray of shape (n_leaves,)
            Numbered from 0 by first row.
        """
        return self._labels_at(depth, self.depths, split_rows)

    def levels(self) -> Iterator[Ints]:
        """The labels at depth 1, 2, … until every row is alone.

        Yields
        ------
        ndarray of shape (n_leaves,)
        """
        depths = self.depths
        for depth in range(1, int(depths.max()) + 1):
            yield self._labels_at(depth, depths, True)

    def _labels_at(self, depth: int, depths: Ints, split_rows: bool) -> Ints:
        if depth < 0:
            raise DataError(f"depth is {depth}; the root is at 0, its children at 1.")
        up = ends(np.where(depths <= depth, np.arange(self.n_nodes), self.parent))
        rows = np.arange(self.n_leaves)
        if not split_rows:
            rows = np.where(depths[rows] > 1, self.parent[rows], rows)
        _, first, inverse = np.unique(up[rows], return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[inverse]

    def to_linkage(self) -> Floats:
        """The tree as scipy's linkage matrix; the children of a larger family join one by one.

        scipy's own functions take it (``fcluster``, ``cophenet``, ``dendrogram``, which recurses
        and so fails on trees with paths of more than about a thousand nodes; `plot` does not).

        Returns
        -------
        ndarray of shape (n_leaves − 1, 4)
            The two that join, the height, the number of rows.

        Examples
        --------
        >>> import numpy as np
        >>> from sidelight.tree import ClusterTree
        >>> tree = ClusterTree(np.array([4, 4, 5, 5, 5, -1]), np.array([0, 0, 0, 0, 1.0, 3.0]), 4)
        >>> tree.to_linkage()
        array([[0., 1., 1., 2.],
               [2., 3., 3., 2.],
               [4., 5., 3., 4.]])
        """
        child = np.arange(self.n_nodes - 1)
        order = np.lexsort((child, self.parent[:-1], self.heights[self.parent[:-1]]))
        child, family = child[order], self.parent[order]
        first = np.append(True, family[1:] != family[:-1])
        joins = np.flatnonzero(~first)  # all but the first of a family join what is there
        name = np.arange(self.n_nodes)
        last = np.append(first[1:], True)
        row = np.cumsum(~first) - 1  # of the join at each place
        tail = np.flatnonzero(last)
        alone = first[tail]
        name[family[tail]] = np.where(alone, child[tail], self.n_leaves + row[tail])
        pointer = np.arange(self.n_nodes)  # an only child gives its node its name
        pointer[family[tail[alone]]] = child[tail[alone]]
        name = name[ends(pointer)]
        left = np.where(first[joins - 1], name[child[joins - 1]], self.n_leaves + row[joins] - 1)
        sizes = self.sizes[child]
        before = np.cumsum(sizes)
        start = before - sizes
        begin = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
        pairs = np.sort(np.stack([left, name[child[joins]]], axis=1), axis=1)
        count = before[joins] - start[begin[joins]]
        return np.column_stack([pairs, self.heights[family[joins]], count]).astype(np.float64)

    def plot(
        self,
        labels: ArrayLike | None = None,
        *,
        names: ArrayLike | None = None,
        side: SideInformation | None = None,
        max_leaves: int = 60,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw the tree: see `sidelight.report.plot_tree`."""
        from sidelight.report import plot_tree

        return plot_tree(self, labels, names=names, side=side, max_leaves=max_leaves, ax=ax)

    def __repr__(self) -> str:
        return (
            f"ClusterTree({self.n_leaves:,} rows, {self.n_nodes - self.n_leaves:,} nodes above "
            f"them, height {int(self.depths.max()):,})"
        )


class Layout(NamedTuple):
    """A tree whose leaves are so ordered that those of every node lie side by side."""

    parent: Ints  # -1 for the root
    size: Ints  # leaves under the node
    start: Ints  # position of the first of them


def lay_out(parent: Ints, n_leaves: int) -> Layout:
    """Sizes and leaf intervals of all nodes, by pointer doubling.

    After r rounds ``size`` counts the leaves fewer than 2^r steps below a node, and ``start`` sums
    the offsets of the node and its next 2^r - 1 ancestors. A spare last entry is the parent of
    the root and of itself: it absorbs what leaves the top.
    """
    n = len(parent)
    up = _upward(parent)
    size = np.append((np.arange(n) < n_leaves).astype(np.int64), 0)
    for above in _ancestors(up):
        size += np.bincount(above, weights=size, minlength=n + 1).astype(np.int64)
        size[n] = 0
    start = _offsets_among_siblings(up, size)
    for above in _ancestors(up):
        start += start[above]
    return Layout(parent, size[:-1], start[:-1])


def ends(up: Ints) -> Ints:
    """Where each chain of steps ends: a step to itself is an end."""
    while True:
        further = up[up]
        if np.array_equal(further, up):
            return up
        up = further


def _upward(parent: Ints) -> Ints:
    n = len(parent)
    return np.append(np.where(parent < 0, n, parent), n)


def _ancestors(up: Ints) -> Iterator[Ints]:
    """Each node's ancestor 1, 2, 4, 8 ... steps up, until all are above the root."""
    top = len(up) - 1
    above = up
    for _ in range(top.bit_length() + 1):
        if (above == top).all():
            return
        yield above
        above = above[above]
    raise DataError("tree has a cycle; every node must lead up to one root.")


def _offsets_among_siblings(up: Ints, size: Ints) -> Ints:
    """Leaves under the siblings that come before a node."""
    order = np.argsort(up, kind="stable")
    before = np.cumsum(size[order]) - size[order]
    families = up[order]
    first = np.searchsorted(families, families)  # where the node's family begins
    offsets = np.empty_like(size)
    offsets[order] = before - before[first]
    offsets[-1] = 0
    return offsets
