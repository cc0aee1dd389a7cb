"""Structural entropy of trees with constraints.   G. Zeng, H. Peng, A. Li, Z. Liu, R. Yang, C. Liu
and L. He, "Semi-supervised clustering via structural entropy with different constraints", SDM 2024;
the hierarchical part.

Minimises  L(T) = H(T) + phi E(T)  (Eqs. 3.10, 3.11), in bits, over trees T of the rows:

    H = - sum_a g_a / V log2(V_a / V_{a-}),  over all nodes a but the root; a- is the parent of a
    E = - sum_a g'_a / V log2(V_a / V_{a-}),  over those that are no leaves either

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
  few chained statements entail so many pairs that L is theirs alone.
- Compressing, as published, leaves single rows beside the clusters and swings with the statements:
  it removes the cheapest node, wherever it is, and rows that join late stand near the root. Here
  the clusters are those of lowest J, the data's own entropy, a price for naming clusters, and the
  bits of the broken statements (`_tree_search`): first the partition into nodes of the tree, found
  exactly; then clusters merge and rows move as long as J falls, and the tree is stretched anew
  inside them (``refine``), so that every cluster is a node of the binary tree. L is no judge of
  clusters: it rewards a cannot-link the more the smaller the clusters are that it parts.
- What is said of entailed pairs, and rho, with "mean" and "each": as in
  `StructuralEntropyClustering`. With "none" there is no rho: a statement weighs its own.
"""

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import Integral, Interval, Real, StrOptions
from sidelight.exceptions import DataError
from sidelight.models._entropy import search as search
from sidelight.models._entropy import tree_search as trees
from sidelight.models._entropy.graph import EntropyGraphModel, Task
from sidelight.models._entropy.statements import (
    Relation,
    Strengths,
    exceptions,
    relation_graph,
    stated_relation,
)
from sidelight.models._naming import name_clusters
from sidelight.side import SideInformation
from sidelight.tree import ClusterTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class StructuralEntropyTree(EntropyGraphModel):
    """A tree of clusters that describes a neighbour graph in few bits, with any statements.

    Takes must-links, cannot-links, labels and negative labels together, as evidence that the data
    may outvote; finds the number of clusters; and says how they fall into parts and join.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters, children of the root; by default it is found.
    height : int, default=2
        The most steps from the root of ``tree_`` to a row: 2 are clusters, 3 are clusters and
        their parts, for which the price is half as high, and so on.
    affinity : {"cosine", "gaussian", "precomputed"}, default="cosine"
        How alike two rows are: their cosine (negative ones count as zero), or exp(−d²/bandwidth²)
        of their distance. With "precomputed", X is a symmetric matrix of similarities.
    bandwidth : float or "auto", default="auto"
        Of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int, default=5
        How many neighbours each row names; rows are joined if one of them names the other.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Of several equally near rows, take those with the lowest numbers, or all.
    scaling : {"z-score", "min-max"}, optional, default="z-score"
        Scale the columns first: to mean 0 and deviation 1, which the cosine needs unless zero has
        a meaning of its own, or to [0, 1]. Sparse data become dense by it; None leaves all as is.
    side_weight : float, default=2.0
        What statements count against the data, the paper's phi. A broken statement costs so many
        times log2 n bits, with 2 what it takes to name the two rows of an exception; one that two
        groups are apart costs that for each row of the smaller.
    lowest_similarity : {"observed", "zero"}, default="observed"
        A cannot-link weighs the similarity of its rows above the lowest one of all pairs, or above
        zero.
    entailed : {"none", "mean", "each"}, default="none"
        What pairs that follow from statements weigh in L: nothing, since rows that belong together
        are nodes of the tree; the mean of their kind, held for pairs of groups; or each its own
        weight, which takes memory for each: up to 5,000,000 pairs.
    self_loops : bool, default=False
        Add 1, the similarity of a row with itself, to the volume of each row. With 5 neighbours
        that is a sixth of the volume, which never leaves its row: lower the price then.
    stretching : {"relative", "published"}, default="relative"
        Which pair of nodes is joined next: that whose joint lowers L most for the size of the two
        (the geometric mean of their volumes), rows that belong together before others; or just
        most. The first gives the lower L in the end, and trees that are not as deep; with the
        other, in large graphs, one node swallows the rest.
    cutting : {"priced", "published"}, default="priced"
        Which nodes of the binary tree are kept: the cheapest modules at a price for their number,
        or those that are left when nodes on long paths are removed, the cheapest first.
    price : float, default=0.8
        What clusters have to save of each bit that it takes to name them: more, fewer clusters. It
        matters for ``cutting="priced"``; a number of clusters is cut at a price of its own, the
        highest at which the tree has so many.
    refine : bool, default=True
        Merge the clusters, and move rows between them, as long as the objective of the cut falls,
        and stretch the binary tree again inside them. Not for ``cutting="published"``.
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
        The tree from which it was cut: every node has two children, but for nodes whose parts no
        edge joins, such as the root of several components, or rows that only statements join.
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
        All of this, with the broken statements and where it came from.

    Notes
    -----
    A cut into clusters is judged by J = H(data) + price H(clusters) + bits of broken statements.
    The price has an easy reading. H(data), which is L without statements, is what it takes to
    follow a random walk on the graph, in bits per step, if a cluster's name is said only when the
    walk enters it. With a price, a share of these names is said at every step. At a price of 1 no
    partition gains by the data alone, at 0 the sparse graph falls into many small modules. 0.8 was
    chosen on five data sets, see ``docs/results/sse``. Where classes are small and not well apart
    in the graph (faces), the clusters that are found are unions of classes, and pairs do not tell:
    give ``n_clusters`` if you know it, or a lower price.

    With ``refine`` a cluster is never a single row that has neighbours, unless ``n_clusters`` asks
    for so many.

    Rows without neighbours stay alone unless statements put them somewhere.

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

    Somebody knows that two of them are one:

    >>> side = SideInformation.from_pairs(must=[(0, 3), (1, 4), (2, 5)], n_samples=10)
    >>> model.fit_predict(X, side=side).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    >>> model.cut(height=2).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 2, 2]
    >>> model.tree_
    ClusterTree(10 rows, 5 nodes above them, height 3)
    """

    accepts = ("must", "cannot", "label", "not_label")
    finds_k = True
    weight_unit = "log2 n bits, what it takes to name a row"
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "min"
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
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "height": [Interval(Integral, 2, None, closed="left")],
        "affinity": [StrOptions({"gaussian", "cosine", "precomputed"})],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbor_ties": [StrOptions({"lowest", "keep"})],
        "scaling": [StrOptions({"min-max", "z-score"}), None],
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "lowest_similarity": [StrOptions({"observed", "zero"})],
        "entailed": [StrOptions({"none", "mean", "each"})],
        "self_loops": ["boolean"],
        "stretching": [StrOptions({"relative", "published"})],
        "cutting": [StrOptions({"priced", "published"})],
        "price": [Interval(Real, 0, None, closed="left")],
        "refine": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        height: int = 2,
        affinity: str = "cosine",
        bandwidth: float | str = "auto",
        n_neighbors: int = 5,
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
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Build the tree of X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The data, or with ``affinity="precomputed"`` similarities (n_samples, n_samples).
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of all kinds.

        Returns
        -------
        self
        """
        side, seed, strengths, context = self._begin(X, y, side)
        self._level = search.first_level(self.graph_, *self._relation(side, strengths))
        self._leaf_cut = self._level.volume
        self._data = search.pulled_level(self.graph_, self._exception_bits(side))
        if self.self_loops:
            self._level, self._data = map(_with_self_loops, (self._level, self._data))
        nobody = np.arange(side.n_samples)  # statements that weigh nothing tie nobody
        self._groups = search.renumbered(np.asarray(side.groups())) if self.side_weight else nobody
        with Task(context, "tree", self) as task:
            found = self._build_tree(task)
        context.call_on_fit_task_end(estimator=self)
        return self._publish_tree(found, side, seed)

    def cut(self, n_clusters: int | None = None, *, height: int | None = None) -> Ints:
        """Other clusters from the same tree: so many, or those so many steps below the root.

        Parameters
        ----------
        n_clusters : int, optional
            The cheapest partition into nodes of the tree with at least so many, clusters merged
            down to exactly that number, and with ``refine`` rows moved. Partitions of different
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
        return self._exactly(self._nodes, n_clusters)

    # The tree

    def _relation(self, side: SideInformation, strengths: Strengths) -> Relation:
        """The paper's G', with or without what follows from the statements."""
        if self.entailed == "none":
            return stated_relation(side, strengths, self.side_weight)
        return relation_graph(side, strengths, self.side_weight, expand=self.entailed == "each")

    def _exception_bits(self, side: SideInformation) -> sparse.csr_array:
        """What it saves to keep what is said of two rows, in bits times the weight of an edge.

        A broken statement is an exception, told by naming its rows: log2 n bits for each, and two
        of them, the paper's phi.
        """
        pairs = exceptions(side)
        edge = float(self.graph_.data.mean()) if self.graph_.nnz else 1.0
        return pairs * (self.side_weight * math.log2(max(side.n_samples, 2)) * edge)

    def _build_tree(self, task: Task) -> "_Found":
        """Stretch, choose the clusters, and keep the nodes of a tree of the asked height."""
        nodes, _ = self._stretched([])
        task.step()
        if self.n_clusters is not None:
            labels = self._exactly(nodes, self.n_clusters)
        elif self._all_equal or not self.graph_.nnz:
            # Nothing tells rows apart, or nothing joins them but statements.
            labels = np.zeros_like(self._groups) if self._all_equal else self._groups
        elif self.cutting == "published":
            kept = trees.compress(nodes, self.height)
            return _Found(trees.restrict(nodes, kept), nodes)
        else:
            known = trees.judged(nodes, self._data)
            if not self.refine:
                return self._layered(nodes, trees.modules_below_root(known, self.price))
            labels = trees.cheapest(known, self._data, self.price, self._groups)
        task.step()
        nodes, top = self._stretched([labels])
        return self._layered(nodes, np.isin(np.arange(nodes.n_nodes), top))

    def _stretched(self, clusters: list[Ints]) -> tuple[trees.Nodes, Ints]:
        """The binary tree that has what belongs together as nodes, and the clusters, if any."""
        relative = self.stretching == "relative"
        parts = [self._groups] if relative and self._groups.max() + 1 < len(self._groups) else []
        if parts and clusters:
            parts = [search.renumbered(clusters[0] * len(self._groups) + self._groups)]
        return trees.stretch(self._level, self._leaf_cut, [*parts, *clusters], relative=relative)

    def _layered(self, nodes: trees.Nodes, chosen: NDArray[np.bool_]) -> "_Found":
        """The tree that has the chosen nodes, and parts of them, below its root."""
        whole, chosen = trees.below_a_root(nodes, chosen)
        kept = trees.layers(trees.judged(whole, self._data), chosen, self.height, self.price)
        return _Found(trees.restrict(whole, kept), nodes)

    def _exactly(self, nodes: trees.Nodes, n_wanted: int) -> Ints:
        blocks = self._groups if self.refine else None
        known = trees.judged(nodes, self._data)
        return search.renumbered(trees.exactly(known, self._data, n_wanted, blocks))

    # What is left after the fit

    def _publish_tree(self, found: "_Found", side: SideInformation, seed: int) -> Self:
        low = found.low
        node = low.at_or_above(low.parent == low.n_nodes - 1)
        labels = search.renumbered(node)
        naming = name_clusters(side, labels, int(labels.max()) + 1)
        order, names, _ = naming
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        labels = number[labels]
        self.cluster_nodes_ = np.empty(len(order), dtype=np.int64)
        self.cluster_nodes_[labels] = node
        self.tree_, self.binary_tree_ = _cluster_tree(low), _cluster_tree(found.binary)
        self.binary_objective_ = trees.entropy(found.binary)
        self._nodes = found.binary
        self._keep_modules(self._data, labels, len(names))
        objective = trees.entropy(low)
        return self._publish(labels, naming, _Run(objective, np.array([objective]), 1), side, seed)


class _Found(NamedTuple):
    low: trees.Nodes  # of the asked height
    binary: trees.Nodes


class _Run(NamedTuple):
    objective: float
    history: Floats
    n_iter: int


def _with_self_loops(level: search.Level) -> search.Level:
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
