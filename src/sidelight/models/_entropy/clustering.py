"""Structural entropy with constraints.   G. Zeng, H. Peng, A. Li, Z. Liu, R. Yang, C. Liu and
L. He, "Semi-supervised clustering via structural entropy with different constraints", SDM 2024.

Minimises  L(P) = H(P) + phi E(P),  in bits, over partitions P of the rows into modules X:

    H = - sum_X sum_{i in X} d_i / V log2(d_i / V_X) - sum_X g_X / V log2(V_X / V)
    E = - sum_X g'_X / V log2(V_X / V)

Paper    Here
G, W     the neighbour graph (`sidelight.graph`)      G', W'  Relation, with phi folded into it
phi      side_weight                                  d_i, V  degree of a row, volume of G
V_X      volume of a module                           g_X, g'_X  its cuts; kernels keep their sum

Departures from the paper, each settled by measurement or because the paper is silent:
- Eqs. 3.7 to 3.9 lack phi as printed; folded into W' they are exact differences of L.
- The lowest similarity in gamma_C is that of two different rows; the published program takes 0
  by accident (``lowest_similarity="zero"``).
- Entailed pairs weigh the mean of their kind, one number for each pair of groups
  (``entailed="each"`` expands them, as published).
- rho, the ratio of positive and negative pairs, is 1 where one kind is missing: as printed,
  cannot-links alone would weigh nothing.
- The published search stops early with many constraints; ``refine=True`` goes on with blocks of
  rows that belong together and on several levels.
- Rows that are all equal are one cluster. The objective would divide them: it prefers parts in any
  graph, also where there is nothing to tell them apart.
- A row without neighbours has no volume, and log2 0 is not a number: volumes below the smallest
  degree count as that in the logarithm of the cut's term.
"""

import math
import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from sidelight._validation import (
    HasMethods,
    Integral,
    Interval,
    Real,
    StrOptions,
)
from sidelight.exceptions import DataError
from sidelight.graph import EXACT_ROWS, nearby_order
from sidelight.models._entropy import search as search
from sidelight.models._entropy.graph import EntropyGraphModel, Task
from sidelight.models._entropy.statements import relation_graph
from sidelight.models._naming import name_clusters
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class StructuralEntropyClustering(EntropyGraphModel):
    """Clusters of a neighbour graph that describe it in the fewest bits, with any statements.

    Finds the number of clusters by itself, takes must-links, cannot-links, labels and negative
    labels together, and treats all of them as evidence, with weights, that the data may outvote.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default it is found.
    affinity : {"gaussian", "cosine", "precomputed"}, default="gaussian"
        How alike two rows are: exp(−d²/bandwidth²) of their distance, or their cosine (negative
        ones count as zero). With "precomputed", X is a symmetric matrix of similarities.
    bandwidth : float or "auto", default="auto"
        Of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int or "auto", default="auto"
        How many neighbours each row names; rows are joined if one of them names the other. "auto"
        is `published_n_neighbors`, at most 30, for as many clusters as ``n_clusters`` says, or as
        there are labelled classes, or √n.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Of several equally near rows, take those with the lowest numbers, or all.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns first: to [0, 1], or to mean 0 and deviation 1.
    side_weight : float, default=2.0
        What statements count against the data, the paper's phi.
    lowest_similarity : {"observed", "zero"}, default="observed"
        A cannot-link weighs the similarity of its rows above the lowest one of all pairs, or above
        zero, as published.
    entailed : {"mean", "each"}, default="mean"
        Pairs that follow from statements weigh the mean of their kind, held for pairs of groups, or
        each its own weight, which takes memory for each: up to 5,000,000 pairs.
    must_first : bool, default=False
        Merge modules that are tied by must-links before others.
    refine : bool or "published", default=True
        After merging, move blocks of rows that belong together, single rows and parts of clusters,
        on several levels, as long as that lowers the objective. "published" moves single rows only,
        and False does not move at all.
    init : array of shape (n_samples,) or fitted model, optional
        Clusters to start from instead of single rows (−1: a row on its own); a fitted model
        predicts them. With ``refine=True`` the search goes on from there and does not begin anew.
    random_state : int, Generator or RandomState, optional
        Order of the rows in the search on several levels, and seed of approximate neighbours.

    Attributes
    ----------
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
        L of ``labels_``, in bits.
    history_ : ndarray of shape (n_iter_,)
        L after the start and after each round or sweep; it never rises.
    n_iter_ : int
        The length of ``history_``.
    result_ : ClusterResult
        All of this, with the broken statements and where it came from.

    Notes
    -----
    A must-link of rows i and j weighs ``max W − W_ij``, a cannot-link ``rho (min W − W_ij)``, times
    its weight, where W_ij is the rows' similarity, neighbours or not, and rho balances the two
    kinds. Labels become must-links inside a class and cannot-links between classes. Repeating a
    statement does not make it count more; of different weights the largest counts.

    How many clusters are found depends on the graph: more neighbours, fewer and larger clusters
    (on the digits 77 with 9 neighbours, 29 with 30, 17 with 60). There is no number that suits all
    data: give ``n_clusters`` if you know it, or try several ``n_neighbors``. Labels help: with two
    classes or more, the automatic number takes the clusters for as large as these, and if there
    are still more than twice as many clusters, ``result_.provenance["advice"]`` says so.

    Up to 20,000 rows merging as published is one of the starts, so that the objective is never
    above that of merging alone; on the nine data sets of the paper it is also below that of merging
    and moving. Beyond, merging is left out (at 100,000 rows it had not ended after minutes): the
    search starts from single rows and groups, takes rows in an order in which neighbours stand
    together, and ends after one round. Neighbours are then approximate, unless the data are sparse:
    those are compared with all others, block by block, in a time that grows with the square of the
    rows. Otherwise time grows with the edges.

    References
    ----------
    G. Zeng et al. Semi-supervised clustering via structural entropy with different constraints. SDM
    2024, 163-171.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import SideInformation, StructuralEntropyClustering
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    >>> model = StructuralEntropyClustering(n_neighbors=2, random_state=0)
    >>> model.fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]

    Somebody knows that two of them are one:

    >>> side = SideInformation.from_pairs(must=[(0, 3), (1, 4)], n_samples=9)
    >>> model.fit_predict(X, side=side).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1]

    Rows that are all alike are one cluster:

    >>> model.fit_predict(np.ones((4, 1))).tolist()
    [0, 0, 0, 0]
    """

    accepts = ("must", "cannot", "label", "not_label")
    finds_k = True
    weight_unit = "similarity of the neighbour graph"
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "min"
    scales = "Time and memory grow with the edges of the neighbour graph and with the statements."
    _published: ClassVar[dict[str, Any]] = {
        "scaling": "min-max",
        "bandwidth": 10.0,
        "neighbor_ties": "keep",
        "lowest_similarity": "zero",
        "entailed": "each",
        "side_weight": 2.0,
        "refine": "published",
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "affinity": [StrOptions({"gaussian", "cosine", "precomputed"})],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "neighbor_ties": [StrOptions({"lowest", "keep"})],
        "scaling": [StrOptions({"min-max", "z-score"}), None],
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "lowest_similarity": [StrOptions({"observed", "zero"})],
        "entailed": [StrOptions({"mean", "each"})],
        "must_first": ["boolean"],
        "refine": ["boolean", StrOptions({"published"})],
        "init": ["array-like", HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: str = "gaussian",
        bandwidth: float | str = "auto",
        n_neighbors: int | str = "auto",
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        side_weight: float = 2.0,
        lowest_similarity: str = "observed",
        entailed: str = "mean",
        must_first: bool = False,
        refine: bool | str = True,
        init: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.neighbor_ties = neighbor_ties
        self.scaling = scaling
        self.side_weight = side_weight
        self.lowest_similarity = lowest_similarity
        self.entailed = entailed
        self.must_first = must_first
        self.refine = refine
        self.init = init
        self.random_state = random_state

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The paper's setting; ``changes`` are parameters.

        Give ``n_neighbors=published_n_neighbors(n, k)`` with the true number of classes k, which
        the paper uses here and nowhere else, and for RNA-seq ``affinity="cosine"`` and
        ``must_first=True``. The unsupervised base line of the tables is ``refine=False``.
        """
        return super().as_published(**changes)

    @staticmethod
    def published_n_neighbors(n_samples: int, n_classes: float) -> int:
        """The paper's number of neighbours, for n rows in k classes: ⌈20 (n/k) / log2(n)²⌉ + 1.

        The formula as printed has k in the place of n/k, and does not give the paper's figures.

        Examples
        --------
        >>> from sidelight import StructuralEntropyClustering
        >>> StructuralEntropyClustering.published_n_neighbors(1797, 10)
        32
        """
        if n_samples < 3:
            return 1
        return math.ceil(20 * (n_samples / n_classes) / math.log2(n_samples) ** 2) + 1

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

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
        relation = relation_graph(side, strengths, self.side_weight, expand=self.entailed == "each")
        level = search.first_level(self.graph_, *relation)
        order = self._order_in_memory(level.n_nodes, seed)
        if order is not None:
            level = search.reordered(level, order)
        with Task(context, "search", self) as task:
            found = self._search(level, order, relation.pairs, side, seed, task)
        context.call_on_fit_task_end(estimator=self)
        return self._publish_partition(level, order, found, side, seed)

    # The search

    def _n_neighbors(self, n_samples: int, n_classes: int) -> int:
        if self.n_neighbors != "auto":
            return int(self.n_neighbors)
        k = self.n_clusters or (n_classes if n_classes > 1 else math.sqrt(n_samples))
        return min(self.published_n_neighbors(n_samples, k), 30)

    def _search(
        self,
        level: search.Level,
        order: Ints | None,
        pairs: sparse.csr_array,
        side: SideInformation,
        seed: int,
        task: "Task",
    ) -> search.Moved:
        """Start, then refine; with the history of the objective. Labels are those of nodes.

        Nodes stand in the order given, or are the rows as they are.
        """
        groups = np.asarray(side.groups())
        if order is not None:
            groups = groups[order]
        if not self.graph_.nnz or self._all_equal:
            labels = np.zeros_like(groups) if self._all_equal else search.renumbered(groups)
            if self.n_clusters is not None:
                labels = _exactly(level, labels, self.n_clusters)
            return search.Moved(labels, [search.objective(level, labels)])
        begin = None
        if self.init is not None:
            begin = _given(self.init, self._fit_X_or_graph(), level.n_nodes)
            begin = begin if order is None else begin[order]
        turns = None
        if order is None:
            turns = np.random.default_rng(seed).permutation(level.n_nodes)
        room = search.Room()
        starts = self._starts(level, pairs, groups, begin, turns, room)
        return self._refined(level, groups, starts, turns, room, task)

    def _order_in_memory(self, n_samples: int, seed: int) -> Ints | None:
        """An order of many rows in which neighbours stand together; None: as they are.

        The search for a partition of many rows spends more time on waiting for memory than on sums.
        This is also the order of its sweeps, which has to be random to some degree.
        """
        has_rows = self.affinity != "precomputed" and not sparse.issparse(self._fit_X)
        if not (self._climbs and has_rows and n_samples > EXACT_ROWS):
            return None
        turns = _shuffled_blocks(n_samples, np.random.default_rng(seed))
        return nearby_order(self._fit_X, seed=seed)[turns]

    @property
    def _climbs(self) -> bool:
        """Whether the search works on several levels."""
        return bool(self.refine) and self.refine != "published"

    def _refined(
        self,
        level: search.Level,
        groups: Ints,
        starts: list[Ints],
        order: Ints | None,
        room: search.Room,
        task: "Task",
    ) -> search.Moved:
        """The best start, refined."""
        values = [search.objective(level, labels) for labels in starts]
        labels, value = starts[int(np.argmin(values))], min(values)
        if not self.refine:
            return search.Moved(labels, [value])
        fixed = self.n_clusters is not None
        if self.refine == "published":
            moved = search.move(
                level, labels, everywhere=True, may_open=False, may_empty=not fixed,
                each_sweep=task.step,
            )  # fmt: skip
            if len(moved.history) == 300:
                warnings.warn(
                    "moving rows had not ended after 300 sweeps.", ConvergenceWarning, stacklevel=5
                )
            return search.Moved(moved.labels, [value, *moved.history])
        # Of many rows the first round gains most: at 100,000, 0.9 % of L, later ones 0.1 and 0.02.
        rounds = 10 if level.n_nodes <= EXACT_ROWS else 1
        return search.improve(
            level, labels, groups, order=order, fixed=fixed, max_rounds=rounds,
            each_round=task.step, room=room,
        )  # fmt: skip

    def _starts(
        self,
        level: search.Level,
        pairs: sparse.csr_array,
        groups: Ints,
        begin: Ints | None,
        order: Ints | None,
        room: search.Room,
    ) -> list[Ints]:
        """Partitions to start from: the given one or the search on several levels, and merging."""
        n = level.n_nodes
        starts = []
        if self._climbs:
            starts.append(search.climb(level, groups, order, room) if begin is None else begin)
        if n <= EXACT_ROWS or not self._climbs:
            merged = self._merged(level, pairs, np.arange(n) if begin is None else begin)
            starts.append(search.move(level, merged).labels if self._climbs else merged)
        if self.n_clusters is not None:
            starts = [_exactly(level, labels, self.n_clusters) for labels in starts]
        return starts

    def _merged(self, level: search.Level, pairs: sparse.csr_array, begin: Ints) -> Ints:
        n_wanted = 1 if self.n_clusters is None else self.n_clusters
        is_rows = len(begin) == int(begin.max(initial=-1)) + 1
        top = level if is_rows else search.aggregate(level, begin)
        relation = edge_relation(top, pairs, begin) if self.must_first else None
        return search.merge(top, n_wanted=n_wanted, relation=relation)[begin]

    # What is left after the fit

    def _publish_partition(
        self,
        level: search.Level,
        order: Ints | None,
        found: search.Moved,
        side: SideInformation,
        seed: int,
    ) -> Self:
        labels = found.labels
        if order is not None:
            labels = np.empty_like(labels)
            labels[order] = found.labels
        labels = search.renumbered(labels)
        naming = name_clusters(side, labels, int(labels.max()) + 1)
        ranked, names, _ = naming
        number = np.empty(len(ranked), dtype=np.int64)
        number[ranked] = np.arange(len(ranked))
        labels = number[labels]
        modules = self._keep_modules(level, labels if order is None else labels[order], len(names))
        objective = search.costs_sum(level, modules)
        # The search adds up gains; rounding must not make the last digit of the history rise.
        history = np.maximum.accumulate([objective, *found.history[-2::-1]])[::-1]
        run = _Run(objective, history, len(history))
        self._publish(labels, naming, run, side, seed)
        n_classes = len(side.labelled_classes)
        if self.n_clusters is None and 1 < 2 * n_classes < self.n_clusters_:
            self.result_.provenance["advice"] = (
                f"{self.n_clusters_} clusters for {n_classes} labelled classes. If these are all "
                f"there are, give n_clusters={n_classes}, or more neighbours than the "
                f"{self.n_neighbors_} of this graph: that makes fewer and larger clusters."
            )
        return self


class _Run(NamedTuple):
    objective: float
    history: Floats
    n_iter: int


def _shuffled_blocks(n: int, rng: np.random.Generator) -> Ints:
    """0 … n − 1 in a random order, in which numbers that are close mostly stay so.

    Blocks of 512 in a random order, each shuffled: an order by rows alone ends 0.1 % higher. They
    leave their place by 16,384 at most: what is known of so many rows fits into the cache.
    """
    number = np.arange(n)
    block = number // 512
    turn = rng.permutation(int(block[-1]) + 1)[block]
    return np.lexsort((rng.random(n), turn, number // 16_384))


def _given(init: Any, X: Any, n_samples: int) -> Ints:
    """The clusters to start from, numbered from 0."""
    if hasattr(init, "predict"):
        fitted = getattr(init, "labels_", None)
        labels = fitted if fitted is not None and len(fitted) == n_samples else init.predict(X)
    else:
        labels = init
    labels = np.asarray(labels)
    if labels.shape != (n_samples,) or labels.dtype.kind not in "iu":
        raise DataError(
            f"init has shape {labels.shape} and type {labels.dtype}; give the number of a cluster "
            f"for each of the {n_samples} rows (−1: a row on its own), or a fitted model."
        )
    alone = labels < 0
    labels = labels.astype(np.int64)
    labels[alone] = labels.max(initial=0) + 1 + np.arange(int(alone.sum()))
    return search.renumbered(labels)


def edge_relation(level: search.Level, pairs: sparse.csr_array, labels: Ints) -> Floats:
    """For each edge of the level what statements say of its ends (beside their groups)."""
    pairs = pairs.tocoo()
    n = level.n_nodes
    row = np.repeat(np.arange(n), np.diff(level.indptr))
    both = sparse.coo_array(
        (
            np.concatenate([pairs.data, np.zeros(len(row))]),
            (
                np.concatenate([labels[pairs.row], row]),
                np.concatenate([labels[pairs.col], level.near]),
            ),
        ),
        shape=(n, n),
    ).tocsr()
    both.sort_indices()
    off = both.indices != np.repeat(np.arange(n), np.diff(both.indptr))
    return np.ascontiguousarray(both.data[off])


def _exactly(level: search.Level, labels: Ints, n_wanted: int) -> Ints:
    """A partition into so many modules: merged down, or merged anew from smaller pieces."""
    n = int(labels.max()) + 1
    if n < n_wanted:
        pieces = search.move(
            level, np.arange(level.n_nodes), fence=labels, only_single=True, max_sweeps=1
        ).labels
        few = int(pieces.max()) + 1 < n_wanted
        labels = np.arange(level.n_nodes) if few else pieces
    return search.merge_down(level, labels, n_wanted)
