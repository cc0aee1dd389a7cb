"""Structural entropy of trees with constraints.   G. Zeng, H. Peng, A. Li, Z. Liu, R. Yang, C. Liu
and L. He, "Semi-supervised clustering via structural entropy with different constraints", SDM 2024;
the hierarchical part.

Minimises  L(T) = H(T) + phi E(T)  (Eqs. 3.10, 3.11), in bits, over trees T of the rows:

    H = - sum_a g_a / V log2(V_a / V_{a-}),  over all nodes a but the root; a- is the parent of a
    E = - sum_a g'_a / V log2(V_a / V_{a-}),  over those that are not leaves either

Paper    Here
G, W     the neighbour graph (`sidelight.graph`)      G', W'  Relation, with phi folded into it
phi, K   side_weight, height                          V_a, g_a + g'_a  Nodes.volume, Nodes.cut
T_b      binary_tree_                                 T_K     tree_

Departures from the paper, each settled by measurement or because the paper is silent:
- Eq. 3.12 is wrong as printed when a leaf is joined: g' of leaves is dropped, as in Eq. 3.11.
- The published runs keep the similarity of a row with itself, 1, in every volume
  (``self_loops=True``).
- Stretching, as published, joins the pair that gains most. In large graphs sums of many weak edges
  win, and one node swallows all others row by row. Here the gain is divided by the geometric mean
  of the two volumes, which ends with a lower L.
- Rows that belong together are joined first, so that what follows from must-links and labels is in
  the tree: their groups are nodes. It needs no weights then (``entailed="none"``). With weights, a
  few chained statements entail so many pairs that these alone decide L.
- Compressing, as published, leaves single rows beside the clusters and swings with the statements:
  it removes the cheapest node, wherever it is, and rows that join late stand near the root. Here
  the clusters are those of lowest J, the data's own entropy, a price for naming clusters, and the
  bits of the broken statements (`_tree_search`): first the partition into nodes of the tree, found
  exactly; then clusters merge and rows move as long as J falls, and the tree is stretched again
  inside them (``refine``), so that every cluster is a node of the binary tree. L is not used to
  judge clusters: it rewards a kept cannot-link more if its clusters are small.
- Entailed pairs and rho, with "mean" and "each": as in `StructuralEntropyClustering`. With "none"
  there is no rho: a statement has its own weight.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import Integral, Interval, Real, StrOptions
from sidelight.exceptions import DataError
from sidelight.graph import EXACT_ROWS
from sidelight.models._entropy import search as search
from sidelight.models._entropy import tree_search as trees
from sidelight.models._entropy.graph import (
    ENTROPY_PARAMETERS,
    EntropyGraphModel,
    Insertion,
    Published,
    named,
)
from sidelight.models._entropy.statements import exceptions, relation_graph, stated_relation
from sidelight.models._fitting import never
from sidelight.models._graph_base import RowGraph
from sidelight.side import SideInformation
from sidelight.tree import ClusterTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Neighbours: measured with 5 on tables of up to 800 rows. In a large graph of so few, clusters that
# overlap are not told apart: on ten Gaussians the truth itself, improved until no row gains, has an
# ARI of .586 with 5, .598 with 10 and .603 with 15 neighbours of 20,000 rows.
_FEWEST, _MOST, _FEW_ROWS = 5, 15, 1_000


class StructuralEntropyTree(EntropyGraphModel):
    """Hierarchy of clusters of a neighbour graph in few bits, with any statements.

    Takes must-links, cannot-links, labels and negative labels together, as evidence that the data
    may outweigh. Finds the number of clusters, their parts, and how they join.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters, children of the root; by default it is found.
    height : int, default=2
        The maximum number of steps from the root of ``tree_`` to a row. 2: clusters; 3: clusters
        and their parts, for which the price is half as high; and so on.
    affinity : {"cosine", "gaussian", "local", "precomputed"}, default="cosine"
        Similarity of two rows: their cosine (negative ones count as zero); exp(−d²/bandwidth²) of
        their distance; or "local", exp(−d²/(s_i s_j)), where s is a row's distance to its 7th
        neighbour (the last one of fewer). With "precomputed", X is a symmetric matrix of
        similarities.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int or "auto", default="auto"
        The number of neighbours of each row; two rows are joined if one is a neighbour of the
        other. "auto": 5 up to 1,000 rows, two more for each doubling, at most 15.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"z-score", "min-max"}, optional, default="z-score"
        Scale the columns first: to mean 0 and deviation 1, which the cosine needs unless zero has a
        meaning of its own, or to [0, 1]. It makes sparse data dense; None leaves the columns as
        they are.
    side_weight : float, default=2.0
        Weight of statements against the data, the paper's phi. A broken statement costs this number
        times log2 n bits; 2 is the cost of naming the two rows of an exception. If two groups are
        said to be apart and are not, each row of the smaller group costs that much.
    lowest_similarity : {"observed", "zero"}, default="observed"
        A cannot-link weighs the similarity of its rows above the lowest one of all pairs, or above
        zero (as always with "local").
    entailed : {"none", "mean", "each"}, default="none"
        The weight in L of pairs that follow from statements. "none": nothing, since rows that
        belong together are nodes of the tree. "mean": the mean of their kind, stored for pairs of
        groups. "each": its own weight for each pair, up to 5,000,000 pairs.
    self_loops : bool, default=False
        Add 1, the similarity of a row with itself, to the volume of each row. With 5 neighbours
        that is a sixth of the volume, so use a lower price.
    stretching : {"relative", "published"}, default="relative"
        Which two nodes are joined next. "relative": those that lower L most relative to their size
        (the geometric mean of their volumes), rows that belong together first. "published": those
        that lower L most. The first ends with a lower L and a less deep tree; with the second, one
        node absorbs all others in large graphs.
    cutting : {"priced", "published"}, default="priced"
        Which nodes of the binary tree are kept. "priced": the modules with the lowest cost,
        including a price for naming them. "published": those that remain when nodes on long paths
        are removed, cheapest first.
    price : float, default=0.8
        The cost of clusters: the share of the bits of their names that they have to save. A higher
        price gives fewer clusters. It is used with ``cutting="priced"``; with ``n_clusters`` the
        price is the highest at which there are that many clusters, in the tree or, above 20,000
        rows, put together from small modules of rows.
    refine : bool, default=True
        Merge the clusters, and move rows between them, as long as the objective of the cut falls,
        and stretch the binary tree again inside them. Not for ``cutting="published"``.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Seed of approximate neighbours; nothing else is random.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    tree_ : ClusterTree
        The tree of at most ``height`` steps; the children of its root are the clusters.
    cluster_nodes_ : ndarray of shape (n_clusters_,)
        The node of each cluster in ``tree_``.
    binary_tree_ : ClusterTree
        The tree from which it was cut. Every node has two children, except nodes whose parts are
        not joined by an edge: the root of several components, or rows that only statements join.
        Heights are bits: log2 of the volume under the node, over that of the smallest row.
    graph_ : csr_array of shape (n_samples, n_samples)
        The neighbour graph.
    bandwidth_ : float
        The bandwidth that was used (NaN without a Gaussian).
    n_neighbors_ : int
        The number of neighbours that was used (0 for a precomputed graph).
    objective_ : float
        L of ``tree_``, in bits.
    binary_objective_ : float
        L of ``binary_tree_``.
    history_ : ndarray of shape (1,)
        ``objective_``: the tree is built once, not improved round by round.
    n_iter_ : int
        1, the length of ``history_``.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    StructuralEntropyClustering : Fewest bits for a walk on a neighbour graph.
    SparsestCutTree : A hierarchy without statements.
    BayesianMixture : Finds the number of clusters; counts and categories too.

    Notes
    -----
    A cut into clusters is judged by J = H(data) + price H(clusters) + bits of broken statements.
    H(data), which is L without statements, is the number of bits per step needed to describe a
    random walk on the graph if a cluster is named only when the walk enters it. With a price, a
    share of these names is paid at every step. At a price of 1 no partition is better than one
    cluster by the data; at 0 a sparse graph falls into many small modules. 0.8 was chosen on five
    data sets, see ``docs/results/sse``. If classes are small and not well separated in the graph
    (faces), the clusters found are unions of classes, even with pairs: give ``n_clusters`` if you
    know it, or a lower price.

    With ``refine`` a cluster is never a single row that has neighbours, unless ``n_clusters`` is
    that large.

    Rows without neighbours are clusters of their own unless statements tie them to others.

    References
    ----------
    G. Zeng et al. Semi-supervised clustering via structural entropy with different constraints. SDM
    2024, 163-171.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import SideInformation, StructuralEntropyTree
    >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0], [9.0], [9.1], [9.2], [9.3]])
    >>> model = StructuralEntropyTree(affinity="gaussian", n_neighbors=2, height=3, random_state=0)
    >>> model.fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]

    A must-link joins two of them:

    >>> side = SideInformation.from_pairs(must=[(0, 3), (1, 4), (2, 5)], n_samples=10)
    >>> model.fit_predict(X, side=side).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    >>> model.cut(height=2).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 2, 2]
    >>> model.tree_
    ClusterTree(10 rows, 5 nodes above them, height 3)
    """

    weight_unit = "log2 n bits, what it takes to name a row"
    scales = "Time and memory grow with the edges of the neighbour graph and with the statements."
    _published: ClassVar[dict[str, Any]] = {
        "height": 2,
        "affinity": "cosine",
        "n_neighbors": 5,
        "neighbor_ties": "keep",
        "scaling": "z-score",
        "side_weight": 2.0,
        "lowest_similarity": "observed",
        "entailed": "each",
        "self_loops": True,
        "stretching": "published",
        "cutting": "published",
        "refine": False,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ENTROPY_PARAMETERS,
        "height": [Interval(Integral, 2, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "entailed": [StrOptions({"none", "mean", "each"})],
        "self_loops": ["boolean"],
        "stretching": [StrOptions({"relative", "published"})],
        "cutting": [StrOptions({"priced", "published"})],
        "price": [Interval(Real, 0, None, closed="left")],
        "refine": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        height: int = 2,
        affinity: str = "cosine",
        bandwidth: float | str = "auto",
        n_neighbors: int | str = "auto",
        neighbor_ties: str = "lowest",
        scaling: str | None = "z-score",
        side_weight: float = 2.0,
        lowest_similarity: str = "observed",
        entailed: str = "none",
        self_loops: bool = False,
        stretching: str = "relative",
        cutting: str = "priced",
        price: float = 0.8,
        refine: bool = True,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.height = height
        self.affinity = affinity
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.neighbor_ties = neighbor_ties
        self.scaling = scaling
        self.side_weight = side_weight
        self.lowest_similarity = lowest_similarity
        self.entailed = entailed
        self.self_loops = self_loops
        self.stretching = stretching
        self.cutting = cutting
        self.price = price
        self.refine = refine
        self.metric = metric
        self.random_state = random_state

    def cut(self, n_clusters: int | None = None, *, height: int | None = None) -> Ints:
        """Other clusters from the same tree: a number of them, or those at a depth.

        Parameters
        ----------
        n_clusters : int, optional
            The cheapest partition into at least this number of nodes of the tree, merged down to
            exactly that number, and with ``refine`` rows moved. Partitions of different
            sizes need not be nested; for such use ``binary_tree_.to_linkage()``.
        height : int, optional
            Steps below the root of ``tree_``: 1 are the clusters, 2 their parts. Rows of a cluster
            that are in none of its parts stay together.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbered from 0 by first row.
        """
        check_is_fitted(self)
        if (n_clusters is None) == (height is None):
            raise DataError("cut needs n_clusters or height, and not both.")
        if n_clusters is None:
            return self.tree_.labels_at(int(height), split_rows=False)  # type: ignore[arg-type]
        n_samples = len(self.labels_)
        if not 1 <= n_clusters <= n_samples:
            raise DataError(
                f"n_clusters is {n_clusters}; it has to lie between 1 and {n_samples}, the number "
                "of rows."
            )
        data = self._data_level(self.graph_, self.result_.side)
        tree, nothing = self.binary_tree_, np.empty(0)  # cuts come from the data
        nodes = trees.Nodes(
            tree.parent, self._node_volumes, nothing, tree.n_leaves, data.total, nothing
        )
        return exactly(nodes, data, n_clusters, self._groups(self.result_.side), self.refine)

    def _n_neighbors(self, n_samples: int, n_classes: int) -> int:
        if self.n_neighbors != "auto":
            return int(self.n_neighbors)
        doublings = math.log2(max(n_samples, _FEW_ROWS) / _FEW_ROWS)
        return min(_FEWEST + round(2 * doublings), _MOST)

    def _search(
        self, X: Any, rows: RowGraph, side: SideInformation, step: Callable[[], bool]
    ) -> "_Run":
        if self.entailed == "none":
            relation = stated_relation(side, self._strengths(rows), self.side_weight)
        else:
            expand = self.entailed == "each"
            relation = relation_graph(side, self._strengths(rows), self.side_weight, expand=expand)
        level = search.first_level(rows.graph, *relation)
        problem = Problem(
            with_self_loops(level) if self.self_loops else level, level.volume,
            self._data_level(rows.graph, side), self._groups(side), rows.all_equal,
            self.n_clusters, self.height, self.stretching == "relative",
            self.cutting == "published", self.price, self.refine,
        )  # fmt: skip
        return run(problem, step)

    def _data_level(self, graph: sparse.csr_array, side: SideInformation) -> search.Level:
        """The data alone, with the bits saved by keeping each statement about two rows.

        A broken statement is an exception, described by naming its rows: log2 n bits for each, so
        2 log2 n with the default ``side_weight``, the paper's phi; times the weight of an edge.
        """
        edge = float(graph.data.mean()) if graph.nnz else 1.0
        bits = self.side_weight * math.log2(max(side.n_samples, 2)) * edge
        level = search.pulled_level(graph, exceptions(side) * bits)
        return with_self_loops(level) if self.self_loops else level

    def _groups(self, side: SideInformation) -> Ints:
        """Rows that belong together; statements of weight 0 tie no rows."""
        if not self.side_weight:
            return np.arange(side.n_samples)
        return search.renumbered(np.asarray(side.groups()))

    def _publish_found(self, found: "_Run", side: SideInformation, seed: int) -> Self:
        low = found.low
        node = low.at_or_above(low.parent == low.n_nodes - 1)
        labels, naming = named(side, node)
        self.cluster_nodes_ = np.empty(len(naming.names), dtype=np.int64)
        self.cluster_nodes_[labels] = node
        self.tree_, self.binary_tree_ = _cluster_tree(low), _cluster_tree(found.binary)
        self.binary_objective_ = trees.entropy(found.binary)
        self._node_volumes = found.binary.volume  # for `cut`: heights do not determine them exactly
        modules = search.modules_of(found.data, labels, len(naming.names))
        self._insertion = Insertion.into(found.data, modules)
        objective = trees.entropy(low)
        published = Published(objective, np.array([objective]), 1)
        return self._publish(labels, naming, published, side, seed)


# The tree


class Problem(NamedTuple):
    """The problem of a search, and its options."""

    level: search.Level  # both graphs
    leaf_cut: Floats  # of the rows, in the data
    data: search.Level  # the data alone, and what statements pull together
    groups: Ints  # of rows that belong together
    all_equal: bool
    n_clusters: int | None
    height: int
    relative: bool
    compress: bool  # as published
    price: float
    refine: bool


class _Run(NamedTuple):
    """The tree of the asked height, the binary one, and the data by which clusters are judged."""

    low: trees.Nodes
    binary: trees.Nodes
    data: search.Level


def run(problem: Problem, step: Callable[[], bool] = never) -> _Run:
    """Stretch, choose the clusters, and keep the nodes of a tree of the asked height."""
    data, groups = problem.data, problem.groups
    modules = _condensed(problem)
    if modules is not None and problem.n_clusters is not None:
        step()
        labels = trees.exactly_of_modules(modules, data, problem.n_clusters, groups)
        step()
        return _with_clusters(problem, search.renumbered(labels))
    nodes, _ = _stretched(problem, [])
    step()
    if problem.n_clusters is not None:
        labels = exactly(nodes, data, problem.n_clusters, groups, problem.refine)
    elif problem.all_equal or not problem.level.linked.any():
        # The rows are all alike, or only statements join them.
        labels = np.zeros_like(groups) if problem.all_equal else groups
    elif problem.compress:
        kept = trees.compress(nodes, problem.height)
        return _Run(trees.restrict(nodes, kept), nodes, data)
    else:
        known = trees.judged(nodes, data)
        if not problem.refine:
            return _layered(problem, nodes, trees.modules_below_root(known, problem.price))
        labels = trees.cheapest(known, data, problem.price, groups)
    step()
    return _with_clusters(problem, labels)


def _condensed(problem: Problem) -> trees.Condensed | None:
    """Small modules from which a given number of clusters of many rows is made; None: from rows.

    Otherwise the tree is stretched twice, to find the clusters and inside them.
    """
    level, n_wanted = problem.level, problem.n_clusters
    if n_wanted is None or not (problem.refine and problem.relative):
        return None
    if level.n_nodes <= EXACT_ROWS or problem.all_equal or not level.linked.any():
        return None
    return trees.condensed(problem.data, n_wanted, problem.groups)


def _with_clusters(problem: Problem, labels: Ints) -> _Run:
    """The tree that has the clusters below its root."""
    nodes, top = _stretched(problem, [labels])
    return _layered(problem, nodes, np.isin(np.arange(nodes.n_nodes), top))


def _stretched(problem: Problem, clusters: list[Ints]) -> tuple[trees.Nodes, Ints]:
    """The binary tree that has what belongs together as nodes, and the clusters, if any."""
    groups, relative = problem.groups, problem.relative
    parts = [groups] if relative and groups.max() + 1 < len(groups) else []
    if parts and clusters:
        parts = [search.renumbered(clusters[0] * len(groups) + groups)]
    return trees.stretch(problem.level, problem.leaf_cut, [*parts, *clusters], relative=relative)


def _layered(problem: Problem, nodes: trees.Nodes, chosen: NDArray[np.bool_]) -> _Run:
    """The tree that has the chosen nodes, and parts of them, below its root."""
    whole, chosen = trees.below_a_root(nodes, chosen)
    known = trees.judged(whole, problem.data)
    kept = trees.layers(known, chosen, problem.height, problem.price)
    return _Run(trees.restrict(whole, kept), nodes, problem.data)


def exactly(
    nodes: trees.Nodes, data: search.Level, n_wanted: int, groups: Ints, refine: bool
) -> Ints:
    """A given number of clusters from a tree, with rows moved between them by ``refine``."""
    known = trees.judged(nodes, data)
    return search.renumbered(trees.exactly(known, data, n_wanted, groups if refine else None))


def with_self_loops(level: search.Level) -> search.Level:
    """The level whose volumes count the similarity of each row with itself, 1."""
    volume = level.volume + 1.0
    return level._replace(
        volume=volume,
        total=float(volume.sum()),
        floor=float(volume.min()),
        constant=-float((volume * np.log2(volume)).sum()),
    )


def _cluster_tree(nodes: trees.Nodes) -> ClusterTree:
    """The tree without its graph; a node's height is the bits that tell a smallest row in it."""
    leaf = nodes.volume[: nodes.n_leaves]
    smallest = leaf[leaf > 0].min(initial=nodes.total)
    heights = np.log2(np.maximum(nodes.volume / smallest, 1.0))
    heights[: nodes.n_leaves] = 0.0
    return ClusterTree(nodes.parent, heights, nodes.n_leaves)
