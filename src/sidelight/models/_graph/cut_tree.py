"""A tree of sparsest cuts.   S. Laenen, B.-A. Manghiuc and H. Sun, "Nearly-optimal hierarchical
clustering for well-clustered graphs", ICML 2023 (SpecWRSC).

Seeks a tree of low cost  sum_ij W_ij |rows under the lowest node above i and j|  (Dasgupta 2016):

    K parts by spectral clustering (eigenvectors divided by the roots of the degrees); each part
    split into classes of rows whose degrees differ by less than ``degree_ratio``; the graph of the
    parts cut again and again where w(A, B) / (|A| |B|) is lowest; inside a part, rows in the order
    of its Fiedler vector, halved again and again

Departures from the published program (public_slip=True does as it does):
- It never updates its running minimum, so that with more than two parts it takes the last of all
  bipartitions, the first part and the rest, and not the sparsest one. Here it is the sparsest.
- It divides eigenvectors of the weighted graph by the roots of the *numbers* of edges. Here it is
  by those of the weighted degrees, as in the paper, so that the first vector is constant.
- Above 12 parts, where there are too many bipartitions, the graph of the parts is cut by its own
  Fiedler vector, at the sparsest of the places along it.
- Clusters are the K parts. Statements change nothing; labels name clusters and say how many.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks

from sidelight._validation import Integral, Interval, Real, prepare
from sidelight.graph import leading_eigenvectors
from sidelight.models._fitting import Task, warn_fewer_clusters
from sidelight.models._graph.spectral import SPECTRAL_PARAMETERS
from sidelight.models._graph_base import GraphModel
from sidelight.models._naming import named_labels, number_of_clusters
from sidelight.models._spectral import cluster_vectors, place_rest
from sidelight.side import SideInformation
from sidelight.tree import ClusterTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_PARTS = 12  # whose bipartitions, 2^11, are all compared


class SparsestCutTree(GraphModel):
    """Hierarchy of sparsest cuts of a neighbour graph, without statements.

    A baseline for hierarchies that uses no statements. Labels only name the clusters and give their
    number.

    Parameters
    ----------
    n_clusters : int, optional
        The number of parts, which are the clusters; by default the number of labelled classes.
    degree_ratio : float, default=1048576.0
        If degrees within a part differ by more than this factor, the part is split into several
        nodes of the graph of parts. With the default this practically never happens.
    affinity : {"local", "gaussian", "cosine", "precomputed"}, default="local"
        Similarity of two rows: exp(−d²/(s_i s_j)) of their distance, where s is a row's distance to
        its 7th neighbour; exp(−d²/bandwidth²); or their cosine. With "precomputed", X is a
        symmetric matrix of similarities.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int, default=10
        The number of neighbours of each row.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns first: to [0, 1], or to mean 0 and deviation 1.
    n_init : int, default=20
        The number of starts of k-means.
    public_slip : bool, default=False
        Follow the published program, which made the published figures: divide eigenvectors by the
        roots of the numbers of edges instead of the degrees, and always cut the first part off the
        others instead of the sparsest cut.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels, and cluster the rows in that metric. Too few labels
        leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts, and seed of approximate neighbours.

    Attributes
    ----------
    tree_ : ClusterTree
        The hierarchy: cuts of the parts on top, halves of each part below. The height of a node is
        the number of steps to its lowest row.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    graph_ : csr_array of shape (n_samples, n_samples)
        The neighbour graph.
    bandwidth_ : float
        The bandwidth that was used (NaN without a Gaussian).
    n_neighbors_ : int
        The number of neighbours that was used (0 for a precomputed graph).
    objective_ : float
        Dasgupta's cost of the tree, divided by that of a single node for all rows: the mean share
        of the rows under the lowest common node of two joined rows.
    history_ : ndarray of shape (1,)
        The same.
    n_iter_ : int
        Iterations of k-means.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    StructuralEntropyTree : A hierarchy, guided by statements.

    References
    ----------
    S. Laenen, B.-A. Manghiuc and H. Sun. Nearly-optimal hierarchical clustering for well-clustered
    graphs. ICML 2023.

    S. Dasgupta. A cost function for similarity-based hierarchical clustering. STOC 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import SparsestCutTree
    >>> X = np.array([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3], [9.0], [9.1], [9.3]])
    >>> model = SparsestCutTree(3, n_neighbors=5, random_state=0).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> model.tree_
    ClusterTree(9 rows, 8 nodes above them, height 4)
    >>> model.tree_.labels_at(1).tolist()
    [0, 0, 0, 1, 1, 1, 1, 1, 1]
    """

    n_init: int
    accepts = ("label",)
    refuses: ClassVar[dict[str, str]] = dict.fromkeys(
        ("must", "cannot", "not_label"),
        "Statements change nothing; labels only name clusters. ",
    )
    weight_unit = "none: labels only name clusters"
    scales = "Time grows with the edges of the neighbour graph."
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "min"
    _published: ClassVar[dict[str, Any]] = {
        "affinity": "cosine",
        "n_neighbors": 5,
        "neighbor_ties": "keep",
        "scaling": "z-score",
        "public_slip": True,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: kinds for name, kinds in SPECTRAL_PARAMETERS.items() if name != "init"},
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "degree_ratio": [Interval(Real, 1, None, closed="neither")],
        "public_slip": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        degree_ratio: float = 1048576.0,
        affinity: str = "local",
        bandwidth: float | str = "auto",
        n_neighbors: int = 10,
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        n_init: int = 20,
        public_slip: bool = False,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.degree_ratio = degree_ratio
        self.affinity = affinity
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.neighbor_ties = neighbor_ties
        self.scaling = scaling
        self.n_init = n_init
        self.public_slip = public_slip
        self.metric = metric
        self.random_state = random_state

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """Z-scores, the cosine, 5 neighbours with ties, and the program's slips: its known figures.

        That is the graph of ``StructuralEntropyTree.as_published`` without its self-loops.
        """
        return super().as_published(**changes)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Build the tree of X; labels ``y`` and in ``side`` name clusters and say how many.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The data, or with ``affinity="precomputed"`` similarities (n_samples, n_samples).
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Labels.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        n_clusters = number_of_clusters(self.n_clusters, X.shape[0], side)
        with Task.of_fit(self, 2) as fit:
            with fit.part("neighbours") as task:
                rows = self._row_graph(X, seed, n_clusters, task.step)
            with fit.part("cuts") as task:
                spectrum = leading_eigenvectors(rows.graph, n_clusters)
                vectors = spectrum.vectors / _roots(rows.graph, self.public_slip)[:, None]
                rng = np.random.default_rng(seed)
                found = cluster_vectors(
                    vectors, n_clusters, self.n_init, rng, each_iteration=task.step
                )
                has_vector: NDArray[np.bool_] = np.abs(vectors).sum(axis=1) > 0
                parts = place_rest(rows, found.labels, has_vector, n_clusters)
                degree = np.asarray(rows.graph.sum(axis=1)).ravel()
                nodes = split_by_degree(parts, degree, self.degree_ratio)
                tree = cut_tree(rows.graph, nodes, self.public_slip)
        self._keep_rows(rows)
        self.tree_ = tree
        labels, naming = named_labels(side, parts)
        warn_fewer_clusters(len(naming.names), n_clusters)
        cost = dasgupta_cost(rows.graph, tree)
        return self._publish(labels, naming, _Run(cost, [cost], found.n_iter), side, seed)


class _Run(NamedTuple):
    objective: float
    history: list[float]
    n_iter: int


# The tree


def split_by_degree(parts: Ints, degree: Floats, ratio: float) -> Ints:
    """Parts split into classes of rows with degrees in [low ratio^t, low ratio^(t + 1))."""
    low = np.full(int(parts.max()) + 1, np.inf)
    np.minimum.at(low, parts[degree > 0], degree[degree > 0])
    known = np.where(degree > 0, degree, low[parts])
    known = np.where(np.isfinite(known), known, 1.0)
    base = np.where(np.isfinite(low), low, 1.0)[parts]
    level = np.floor(np.log(np.maximum(known / base, 1.0)) / np.log(ratio)).astype(np.int64)
    return np.unique(parts * (int(level.max()) + 1) + level, return_inverse=True)[1]


def _roots(graph: sparse.csr_array, by_count: bool) -> Floats:
    """The roots of the degrees, or of the numbers of edges; infinite for rows without edges."""
    degree = np.diff(graph.indptr) if by_count else np.asarray(graph.sum(axis=1)).ravel()
    return np.asarray(np.sqrt(np.where(degree > 0, degree, np.inf)))


def cut_tree(graph: sparse.csr_array, parts: Ints, public_slip: bool = False) -> ClusterTree:
    """The tree: cuts of the graph of the parts, and halves of each part below."""
    n = len(parts)
    n_parts = int(parts.max()) + 1
    pick = sparse.csr_array((np.ones(n), (parts, np.arange(n))), shape=(n_parts, n))
    between = (pick @ graph @ pick.T).toarray()
    np.fill_diagonal(between, 0.0)
    size = np.bincount(parts, minlength=n_parts).astype(np.float64)
    builder = _Builder(n)
    tops = [
        builder.halves(fiedler_order(graph, np.flatnonzero(parts == k), public_slip))
        for k in range(n_parts)
    ]
    # Cuts from the top down; joined from the bottom up.
    waiting, cuts = [np.arange(n_parts)], []
    while waiting:
        here = waiting.pop()
        if len(here) > 1:
            if public_slip:
                left = np.arange(len(here)) == 0
            else:
                left = sparsest_cut(between[np.ix_(here, here)], size[here])
            cuts.append((here, here[left], here[~left]))
            waiting += [here[left], here[~left]]
    top: dict[Any, int] = {(k,): tops[k] for k in range(n_parts)}
    for here, one, other in reversed(cuts):
        below = [top.pop(tuple(half.tolist())) for half in (one, other)]
        top[tuple(here.tolist())] = builder.join(*below)
    return builder.tree()


class _Builder:
    """A binary tree, joined from the rows up."""

    def __init__(self, n_leaves: int) -> None:
        self.n_leaves = n_leaves
        self.left: list[Ints] = []
        self.right: list[Ints] = []
        self.n_joined = 0

    def join(self, one: int, other: int) -> int:
        """A node above two others."""
        self.left.append(np.array([one]))
        self.right.append(np.array([other]))
        self.n_joined += 1
        return self.n_leaves + self.n_joined - 1

    def halves(self, order: Ints) -> int:
        """A node above rows in this order: halves of halves, a level of the tree at a time."""
        nodes = order
        bounds = [np.array([0, len(order)])]
        while np.diff(bounds[-1]).max() > 1:
            cut = bounds[-1]
            size = np.diff(cut)
            middle = (cut[:-1] + size // 2)[size > 1]
            bounds.append(np.sort(np.concatenate([cut, middle])))
        # Pieces of the finest level are rows; coarser pieces are the join of two finer ones.
        for coarse, fine in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
            first = np.searchsorted(fine, coarse[:-1])
            two = np.diff(np.append(first, len(fine) - 1)) == 2
            made = self.n_leaves + self.n_joined + np.arange(int(two.sum()))
            self.left.append(nodes[first[two]])
            self.right.append(nodes[first[two] + 1])
            self.n_joined += len(made)
            nodes = nodes[first].copy()
            nodes[two] = made
        return int(nodes[0])

    def tree(self) -> ClusterTree:
        """The tree, each node one step above the higher of its two."""
        if not self.n_joined:
            return ClusterTree(np.array([1, -1]), np.array([0.0, 1.0]), 1)
        children = np.column_stack([np.concatenate(self.left), np.concatenate(self.right)])
        n_nodes = self.n_leaves + self.n_joined
        parent = np.full(n_nodes, -1, dtype=np.int64)
        parent[children] = np.arange(self.n_leaves, n_nodes)[:, None]
        heights = np.zeros(n_nodes)
        for batch in np.split(children, np.cumsum([len(x) for x in self.left])[:-1]):
            # The children of a batch were made before it.
            above = parent[batch[:, 0]]
            heights[above] = heights[batch].max(axis=1) + 1
        return ClusterTree(parent, heights, self.n_leaves)


def fiedler_order(graph: sparse.csr_array, rows: Ints, by_count: bool = False) -> Ints:
    """Rows in the order of the second eigenvector of the graph between them."""
    if len(rows) < 3:
        return rows
    inside = sparse.csr_array(graph[rows][:, rows])
    vector = leading_eigenvectors(inside, 2).vectors[:, -1]
    return rows[np.argsort(vector / _roots(inside, by_count), kind="stable")]


def sparsest_cut(between: Floats, size: Floats) -> NDArray[np.bool_]:
    """The half, the first node in it, for which w(A, B) / (|A| |B|) is lowest; the first of equals.

    All halves of up to 12 nodes; else those along the Fiedler vector.
    """
    n = len(size)
    if n <= MOST_PARTS:
        codes = np.arange(2 ** (n - 1) - 1)[:, None]
        halves = np.concatenate([np.ones((len(codes), 1)), (codes >> np.arange(n - 1)) & 1], axis=1)
    else:
        order = fiedler_order(sparse.csr_array(between), np.arange(n))
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)
        halves = (place[None] < np.arange(1, n)[:, None]).astype(np.float64)
        halves = np.where(halves[:, :1] > 0, halves, 1.0 - halves)
    cut = np.einsum("ha,ab,hb->h", halves, between, 1.0 - halves)
    here = halves @ size
    best = int(np.argmin(cut / (here * (size.sum() - here))))
    return np.asarray(halves[best] > 0)


def dasgupta_cost(graph: sparse.csr_array, tree: ClusterTree) -> float:
    """The mean share of the rows under the lowest node above the ends of an edge."""
    upper = sparse.triu(graph, 1).tocoo()
    if not upper.nnz:
        return 0.0
    a, b = upper.row.astype(np.int64), upper.col.astype(np.int64)
    depth, parent, sizes = tree.depths, tree.parent, tree.sizes
    while True:
        apart = a != b
        if not apart.any():
            break
        # The deeper of the two goes up; of equally deep ones both.
        up_a, up_b = apart & (depth[a] >= depth[b]), apart & (depth[b] >= depth[a])
        a, b = np.where(up_a, parent[a], a), np.where(up_b, parent[b], b)
    return float(upper.data @ sizes[a] / (upper.data.sum() * tree.n_leaves))
