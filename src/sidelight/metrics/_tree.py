"""How well a tree keeps the classes together."""

import numpy as np
import numpy.typing as npt

from sidelight.exceptions import DataError
from sidelight.metrics._labels import as_codes
from sidelight.tree import ClusterTree, Layout, lay_out

Ints = npt.NDArray[np.int64]


def dendrogram_purity(tree: npt.ArrayLike | ClusterTree, labels_true: npt.ArrayLike) -> float:
    """Mean purity of the smallest subtree around each pair of rows of one class.

    For every pair of rows of the same class: the share of that class among the leaves under their
    lowest common ancestor; averaged over all such pairs (Heller & Ghahramani 2005).

    Parameters
    ----------
    tree : array-like or ClusterTree
        A `sidelight.tree.ClusterTree`, or one of three forms of array, in which the leaves
        0 ... n-1 are the rows:

        - a scipy linkage matrix, (n - 1, 4);
        - scikit-learn's ``children_``, (n - 1, 2): node ``n + i`` has the children ``tree[i]``;
        - the parent of each node, one-dimensional, -1 for the root; nodes of this form may have
          any number of children.
    labels_true : array-like of shape (n,)
        Numbers or names; missing values raise.

    Returns
    -------
    float
        In (0, 1]; 1 when every class is a subtree, and when no class has two rows.

    Notes
    -----
    Pairs are never listed. A node with n_c rows of class c is the lowest common ancestor of
    C(n_c, 2) pairs less those of its children, so class counts per node are enough:
    O(nodes x classes) time, O(nodes) memory, and no recursion, however deep the tree.

    References
    ----------
    K. Heller, Z. Ghahramani, "Bayesian hierarchical clustering", ICML 2005.

    Examples
    --------
    >>> from sidelight.metrics import dendrogram_purity
    >>> children = [[0, 1], [2, 3], [4, 5]]
    >>> dendrogram_purity(children, ["a", "a", "b", "b"])
    1.0
    >>> dendrogram_purity(children, ["a", "b", "a", "b"])
    0.5
    """
    classes = as_codes(labels_true, "labels_true")
    array = tree.parent if isinstance(tree, ClusterTree) else tree
    nodes = lay_out(_parents(array, len(classes)), len(classes))
    by_position = np.empty_like(classes)
    by_position[nodes.start[: len(classes)]] = classes
    members = np.bincount(classes)
    n_pairs = float((members * (members - 1) // 2).sum())
    if n_pairs == 0:
        return 1.0
    total = sum(_purity_sum(by_position == c, nodes) for c in np.flatnonzero(members > 1))
    return total / n_pairs


def _purity_sum(member: npt.NDArray[np.bool_], nodes: Layout) -> float:
    """Sum over one class's pairs of the purity of their lowest common ancestor."""
    running = np.concatenate(([0], np.cumsum(member)))
    count = running[nodes.start + nodes.size] - running[nodes.start]
    pairs = (count * (count - 1) // 2).astype(np.float64)
    child = nodes.parent >= 0
    in_children = np.bincount(nodes.parent[child], weights=pairs[child], minlength=len(pairs))
    return float(np.sum((pairs - in_children) * count / nodes.size))


def _parents(tree: npt.ArrayLike, n_leaves: int) -> Ints:
    """The parent array of any of the three forms, checked."""
    values = np.asarray(tree)
    if values.ndim == 2 and values.shape[1] in (2, 4):
        return _parents_of_children(values[:, :2], n_leaves)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise DataError(
            f"tree has shape {values.shape} and type {values.dtype}; give a linkage (n - 1, 4), "
            "children (n - 1, 2) or the parents of all nodes as integers."
        )
    return _checked_parents(values.astype(np.int64), n_leaves)


def _parents_of_children(children: npt.NDArray[np.generic], n_leaves: int) -> Ints:
    if children.dtype.kind not in "iuf":
        raise DataError(f"tree holds values of type {children.dtype}; node numbers are expected.")
    if len(children) != n_leaves - 1:
        raise DataError(
            f"tree has {len(children)} merges for {n_leaves} rows; a full tree has {n_leaves - 1}."
        )
    flat = children.astype(np.int64).ravel()
    if not np.array_equal(np.sort(flat), np.arange(2 * n_leaves - 2)):
        raise DataError(
            f"tree must name each of the nodes 0 ... {2 * n_leaves - 3} exactly once as a child."
        )
    parent = np.full(2 * n_leaves - 1, -1, dtype=np.int64)
    parent[flat] = np.repeat(np.arange(n_leaves, 2 * n_leaves - 1), 2)
    return parent


def _checked_parents(parent: Ints, n_leaves: int) -> Ints:
    n = len(parent)
    if n < n_leaves or (parent < -1).any() or (parent >= n).any():
        raise DataError(
            f"tree has {n} nodes for {n_leaves} rows; the first {n_leaves} must be the rows, and "
            f"parents must be -1 (the root) or below {n}."
        )
    inner = np.bincount(parent[parent >= 0], minlength=n)
    if n > 1 and inner[:n_leaves].any():
        raise DataError(f"row {int(inner[:n_leaves].argmax())} is a parent; rows must be leaves.")
    if not inner[n_leaves:].all():
        raise DataError(f"node {n_leaves + int(inner[n_leaves:].argmin())} has no children.")
    if (parent < 0).sum() != 1:
        raise DataError(f"tree has {int((parent < 0).sum())} roots; join them under one node.")
    return parent
