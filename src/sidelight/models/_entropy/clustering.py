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
- A price for the names of clusters, price H(clusters), is added to L, and weights are scaled
  locally. As published (price 0, Gaussian) there are far too many clusters, and a sparse cluster
  may hold less than one per cent of the volume.
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
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._validation import HasMethods, Integral, Interval, Real, StrOptions
from sidelight.graph import EXACT_ROWS, nearby_order
from sidelight.models._entropy import search as search
from sidelight.models._entropy.graph import (
    ENTROPY_PARAMETERS,
    EntropyGraphModel,
    Insertion,
    Published,
    named,
)
from sidelight.models._entropy.statements import relation_graph
from sidelight.models._fitting import given_labels, is_small, never, warn
from sidelight.models._graph_base import RowGraph
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# If neither a number of clusters nor labels show how large clusters are. With pairs alone the
# number found was twice that of the classes and more. Mean ARI on 26 tables, draws 0 and 1: n/10
# pairs .327, .321 -> .373, .376; n/5 .344, .335 -> .393, .386; n .513, .532 -> .503, .565.
_FEWEST_NEIGHBORS = 15


class StructuralEntropyClustering(EntropyGraphModel):
    """Partition of a neighbour graph that describes a walk on it in the fewest bits.

    Finds the number of clusters, and takes must-links, cannot-links, labels and negative labels
    together, as weighted evidence that the data may outweigh.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default it is found.
    affinity : {"local", "gaussian", "cosine", "precomputed"}, default="local"
        Similarity of two rows: exp(−d²/(s_i s_j)) of their distance, where s is a row's distance to
        its 7th neighbour (the last one of fewer), so that dense and sparse clusters count equally;
        exp(−d²/bandwidth²); or their cosine (negative ones count as zero). With "precomputed", X is
        a symmetric matrix of similarities.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int or "auto", default="auto"
        The number of neighbours of each row; two rows are joined if one is a neighbour of the
        other. "auto" is `published_n_neighbors`, at most 30, for ``n_clusters`` clusters or the
        number of labelled classes. If neither is known, it is for √n clusters, and with a price at
        least 15 (a tenth of the rows below 150 rows).
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns first: to [0, 1], or to mean 0 and deviation 1.
    side_weight : float, default=2.0
        The weight of statements relative to the data, the paper's phi.
    lowest_similarity : {"observed", "zero"}, default="observed"
        A cannot-link weighs the similarity of its rows above the lowest one of all pairs, or above
        zero, as published (and as always with "local").
    entailed : {"mean", "each"}, default="mean"
        The weight of pairs that follow from statements. "mean": the mean of their kind, stored for
        pairs of groups. "each": its own weight for each pair, up to 5,000,000 pairs.
    must_first : bool, default=False
        Merge modules that are tied by must-links before others.
    price : float, default=0.5
        The cost of clusters: the share of the bits of their names that they have to save. A higher
        price gives fewer clusters; with ``n_clusters``, less even sizes. It is halved as long as
        half of the ``n_clusters`` (above 20,000 rows, one of them) are single rows, or annotated
        rows and hardly any other. 0 is the paper's objective.
    refine : bool or "published", default=True
        After merging, move blocks of rows that belong together, single rows and parts of clusters,
        on several levels, as long as that lowers the objective. "published" moves single rows only,
        and False does not move at all.
    init : array of shape (n_samples,) or fitted model, optional
        Clusters to start from instead of single rows (−1: a row on its own); a fitted model
        predicts them. With ``refine=True`` the search continues from there.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
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
        L + price_ H(clusters) of ``labels_``, in bits.
    price_ : float
        The price that was used: ``price``, or a lower one with ``n_clusters``.
    history_ : ndarray of shape (n_iter_,)
        The same after the start and after each round or sweep; it never rises.
    n_iter_ : int
        The length of ``history_``.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    StructuralEntropyTree : A hierarchy, guided by statements.
    ConstraintPropagation : Statements spread along a neighbour graph.
    MarkovAggregation : Aggregates the states of a Markov chain.

    Notes
    -----
    A must-link of rows i and j weighs ``max W − W_ij``, and a cannot-link ``rho (min W − W_ij)``,
    both times the weight of the statement. W_ij is the rows' similarity, neighbours or not, and rho
    balances the two kinds. Labels become must-links inside a class and cannot-links between
    classes. Repeating a statement does not make it count more; of different weights the largest
    counts.

    The number of clusters found depends on the price and on the graph: more neighbours give fewer
    and larger clusters. H(clusters) = −sum_X V_X/V log2(V_X/V) is the number of bits that name the
    cluster of a random step on the graph. At a price of 0 a sparse graph falls into many small
    modules: with Gaussian weights 3 to 5 times as many clusters as classes on 26 tables. The
    default price and weights were chosen there, see ``docs/decisions``. Labels help: with
    two classes or more, the automatic number of neighbours assumes as many clusters as labelled
    classes, and if more than twice as many are found, ``result_.advice`` says so.

    Up to 6,000 rows the published merging is one of the starts, so the objective is never above
    that of merging; on the nine data sets of the paper it is also below that of merging and moving.
    Above 6,000 rows merging is left out, which takes nine tenths of the time at 10,000 and had not
    ended after minutes at 100,000: the search starts from single rows and groups. Above 20,000
    rows it visits rows in an order in which neighbours are close together, and ends after one
    round. Then it also joins small modules of rows while the price rises: with ``n_clusters`` at
    one price after another, and rows move once at the end; else as a second start, of which the
    lower objective counts, unless single rows lead to a cluster for each labelled class.
    Neighbours are then approximate. Sparse data are an
    exception: each row is compared with all others, so time grows with the square of the rows;
    otherwise it grows with the edges.

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

    A must-link joins two of them:

    >>> side = SideInformation.from_pairs(must=[(0, 3), (1, 4)], n_samples=9)
    >>> model.fit_predict(X, side=side).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1]

    Equal rows are one cluster:

    >>> model.fit_predict(np.ones((4, 1))).tolist()
    [0, 0, 0, 0]
    """

    on_dask = True
    weight_unit = "similarity of the neighbour graph"
    scales = "Time and memory grow with the edges of the neighbour graph and with the statements."
    _published: ClassVar[dict[str, Any]] = {
        "affinity": "gaussian",
        "scaling": "min-max",
        "bandwidth": 10.0,
        "neighbor_ties": "keep",
        "lowest_similarity": "zero",
        "entailed": "each",
        "side_weight": 2.0,
        "price": 0.0,
        "refine": "published",
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ENTROPY_PARAMETERS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "entailed": [StrOptions({"mean", "each"})],
        "must_first": ["boolean"],
        "price": [Interval(Real, 0, None, closed="left")],
        "refine": ["boolean", StrOptions({"published"})],
        "init": ["array-like", HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: str = "local",
        bandwidth: float | str = "auto",
        n_neighbors: int | str = "auto",
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        side_weight: float = 2.0,
        lowest_similarity: str = "observed",
        entailed: str = "mean",
        must_first: bool = False,
        price: float = 0.5,
        refine: bool | str = True,
        init: Any = None,
        metric: Any = None,
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
        self.price = price
        self.refine = refine
        self.init = init
        self.metric = metric
        self.random_state = random_state

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The paper's setting; ``changes`` are parameters.

        Give ``n_neighbors=published_n_neighbors(n, k)`` with the true number of classes k, which
        the paper uses here and nowhere else, and for RNA-seq ``affinity="cosine"`` and
        ``must_first=True``. The unsupervised baseline of the tables is ``refine=False``.
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

    def _n_neighbors(self, n_samples: int, n_classes: int) -> int:
        if self.n_neighbors != "auto":
            return int(self.n_neighbors)
        k = self.n_clusters or (n_classes if n_classes > 1 else None)
        if k is not None:
            return min(self.published_n_neighbors(n_samples, k), 30)
        # Without any information √n assumes clusters that are too small: see _FEWEST_NEIGHBORS.
        fewest = min(_FEWEST_NEIGHBORS, n_samples // 10) if self.price else 1
        return min(max(self.published_n_neighbors(n_samples, math.sqrt(n_samples)), fewest), 30)

    def _search(
        self, X: Any, rows: RowGraph, side: SideInformation, step: Callable[[], bool]
    ) -> "_Run":
        relation = relation_graph(
            side, self._strengths(rows), self.side_weight, expand=self.entailed == "each"
        )
        begin = None
        if self.init is not None:
            begin = _numbered(given_labels(self.init, X.shape[0], X=self._from_metric(X)))
        level = search.priced(search.first_level(rows.by_mass(rows.graph), *relation), self.price)
        problem = Problem(
            level, relation.pairs, np.asarray(side.groups()),
            begin, rows.all_equal, self.n_clusters, self.must_first, self.refine, self.price,
            len(side.labelled_classes),
        )  # fmt: skip
        order = _order_in_memory(rows) if problem.climbs else None
        return run(problem, order, rows.seed, step)

    def _publish_found(self, found: "_Run", side: SideInformation, seed: int) -> Self:
        labels, naming = named(side, found.labels)
        modules = search.modules_of(found.level, labels[found.order], len(naming.names))
        self.price_ = found.price
        self._insertion = Insertion.into(found.level, modules, found.price)
        objective = search.costs_sum(found.level, modules)
        # The search sums gains; rounding must not make the last digit of the history rise.
        history = np.maximum.accumulate([objective, *found.history[-2::-1]])[::-1]
        published = Published(objective, history, len(history))
        self._publish(labels, naming, published, side, seed)
        n_classes = len(side.labelled_classes)
        if self.n_clusters is None and 1 < 2 * n_classes < self.n_clusters_:
            self.result_.provenance["advice"].append(
                f"{self.n_clusters_} clusters for {n_classes} labelled classes. If these are all "
                f"there are, give n_clusters={n_classes}, or more neighbours than the "
                f"{self.n_neighbors_} of this graph: that makes fewer and larger clusters."
            )
        return self


# The search

# A lower price changes almost nothing, so the next one is 0.
_LOWEST_PRICE = 0.1


class Problem(NamedTuple):
    """What is searched, and how."""

    level: search.Level
    pairs: sparse.csr_array  # statements about single pairs of rows
    groups: Ints  # of rows that belong together
    begin: Ints | None  # clusters to start from
    all_equal: bool
    n_clusters: int | None
    must_first: bool
    refine: bool | str
    price: float  # included in the cuts of the level
    n_classes: int = 0  # with labelled rows

    @property
    def climbs(self) -> bool:
        """Whether the search works on several levels."""
        return bool(self.refine) and self.refine != "published"

    def cheaper(self) -> "Problem":
        """The same at half the price, or without one."""
        price = self.price / 2 if self.price > _LOWEST_PRICE else 0.0
        level = search.priced(self.level, price - self.price)
        return self._replace(level=level, price=price)

    def reordered(self, order: Ints) -> "Problem":
        """The same with nodes in another order."""
        return self._replace(
            level=search.reordered(self.level, order),
            groups=self.groups[order],
            begin=None if self.begin is None else self.begin[order],
        )


class _Run(NamedTuple):
    """A partition of the rows, the history, and the level that was searched.

    Node k of the level is row order[k].
    """

    labels: Ints
    history: list[float]
    level: search.Level
    order: Any
    price: float


def run(
    problem: Problem, order: Ints | None, seed: int, each_round: Callable[[], bool] = never
) -> _Run:
    """Start, then refine; ``order`` is the order of the nodes in memory, and of the sweeps."""
    if order is not None:
        problem = problem.reordered(order)
    modules = None if problem.n_clusters is None else _condensed(problem)
    found = _found(problem, modules, order is None, seed, each_round)
    tried = [(problem, found)]
    while _is_torn(problem, found.labels):
        problem = problem.cheaper()
        found = _found(problem, modules, order is None, seed, each_round)
        tried.append((problem, found))
    if len(found.labels) > EXACT_ROWS:  # up to there the last
        problem, found = min(tried, key=lambda one: _number_torn(one[0], one[1].labels))
        if modules is not None and len(found.history) == 1:  # torn, and so not refined
            given = problem._replace(begin=found.labels)
            found = _found(given, None, order is None, seed, each_round)
    if order is None:
        return _Run(found.labels, found.history, problem.level, slice(None), problem.price)
    labels = np.empty_like(found.labels)
    labels[order] = found.labels
    return _Run(labels, found.history, problem.level, order, problem.price)


class _Condensed(NamedTuple):
    """Small modules of rows, as nodes of a level without a price; and the module of each row."""

    level: search.Level
    labels: Ints
    clusters: dict[float, Ints]  # of the modules, at each price so far


def _condensed(problem: Problem) -> _Condensed | None:
    """Small modules from which clusters of many rows are made; None: from rows."""
    level, n_wanted = problem.level, problem.n_clusters or 1
    if problem.begin is not None or not problem.climbs:
        return None
    if level.n_nodes <= EXACT_ROWS or problem.all_equal or not level.linked.any():
        return None
    level = search.priced(level, -problem.price)
    labels = search.small_modules(level, problem.groups, n_wanted)
    return None if labels is None else _Condensed(search.aggregate(level, labels), labels, {})


def _is_torn(problem: Problem, labels: Ints) -> bool:
    """Whether too many of the requested clusters are torn for this price.

    The purpose of the price is to find the number of clusters. With ten overlapping classes and
    ``n_clusters=10``, all rows but nine were one cluster; with many rows, the labelled rows of a
    class were a cluster without the other rows of the class. Up to 20,000 rows half of the clusters
    are too many, and a few such clusters do no harm: classes of real tables are uneven. A third
    instead of a half costs .01 with n pairs on the development tables. Above, one is: ten separate
    blobs of 3,000 rows were eight clusters, two blobs in one, and a single row.
    """
    asked = problem.n_clusters is not None and problem.begin is None and problem.climbs
    if not asked or problem.price == 0:
        return False
    n_torn = _number_torn(problem, labels)
    if len(labels) > EXACT_ROWS:
        return n_torn > 0
    return 2 * n_torn >= int(labels.max()) + 1


def _number_torn(problem: Problem, labels: Ints) -> int:
    """The clusters that are single rows, or annotated rows and hardly others."""
    stated = np.bincount(problem.groups)[problem.groups] > 1
    sizes = np.bincount(labels)
    share = np.bincount(labels, weights=stated) / np.maximum(sizes, 1)
    return int(((sizes == 1) | (share > (1.0 + stated.mean()) / 2.0)).sum())


def _found(
    problem: Problem,
    modules: _Condensed | None,
    shuffle: bool,
    seed: int,
    each_round: Callable[[], bool],
) -> search.Moved:
    """The partition of the nodes, with the history of the objective; shuffle: random sweeps.

    A partition made of ``modules`` is not refined if it is torn: a lower price comes next.
    """
    level = problem.level
    if not level.linked.any() or problem.all_equal:
        everyone = np.zeros(level.n_nodes, dtype=np.int64)
        labels = everyone if problem.all_equal else search.renumbered(problem.groups)
        labels = _exactly(level, labels, problem.n_clusters)
        return search.Moved(labels, [search.objective(level, labels)])
    turns = np.random.default_rng(seed).permutation(level.n_nodes) if shuffle else None
    room = search.Room()
    if modules is None:
        starts = _starts(problem, turns, room)
    else:
        starts = [_joined(problem, modules)]
        if _is_torn(problem, starts[0]):
            return search.Moved(starts[0], [search.objective(level, starts[0])])
    return _refined(problem, starts, turns, room, each_round)


def _order_in_memory(rows: RowGraph) -> Ints | None:
    """An order of many rows in which neighbours stand together; None: as they are.

    The search for a partition of many rows spends more time on waiting for memory than on sums.
    This is also the order of its sweeps, which has to be random to some degree.
    """
    if rows.X is None or sparse.issparse(rows.X) or rows.X.shape[0] <= EXACT_ROWS:
        return None
    turns = shuffled_blocks(rows.X.shape[0], np.random.default_rng(rows.seed))
    return nearby_order(rows.X, seed=rows.seed)[turns]


def _starts(problem: Problem, order: Ints | None, room: search.Room) -> list[Ints]:
    """Partitions to start from: the given one or the search on several levels, and merging.

    Of many rows the second one is made of small modules. Single rows have few edges to each
    other, and with a price they join whatever module is the largest: a million rows of ten separate
    blobs ended as one cluster. Modules that were found without a price do not. But they divide
    classes that have parts, so that they are not tried where single rows have found a cluster for
    each labelled class (10 % labels: pendigits .97, from modules .79; satimage .76 and .53).
    """
    level, begin = problem.level, problem.begin
    starts = []
    if problem.climbs:
        starts.append(search.climb(level, problem.groups, order, room) if begin is None else begin)
    if _merges(problem):
        merged = _merged(problem)
        starts.append(search.move(level, merged).labels if problem.climbs else merged)
    starts = [_exactly(level, labels, problem.n_clusters) for labels in starts]
    if problem.n_clusters is None and not _has_classes(problem, starts[0]):
        modules = _condensed(problem)
        if modules is not None:
            starts.append(_joined(problem, modules))
    return starts


def _has_classes(problem: Problem, labels: Ints) -> bool:
    """Whether there are labelled classes, and as many clusters that are not torn."""
    n_whole = int(labels.max()) + 1 - _number_torn(problem, labels)
    return 1 < problem.n_classes <= n_whole


def _joined(problem: Problem, modules: _Condensed) -> Ints:
    """Clusters put together from small modules at the problem's price; their number, if given.

    The price rises in steps. At the full price small modules would join the largest one, as single
    rows do. The steps were chosen on Gaussians of 30,000 to 300,000 rows: half of the price and
    then all of it ends up to 0.6 % higher, and a step at 0 takes twice the time. Half of a price
    that was tried before is one of its steps.
    """
    clusters = np.arange(modules.level.n_nodes)
    for price in (problem.price / 4, problem.price / 2, problem.price):
        if problem.price not in modules.clusters:
            clusters = search.climb(search.priced(modules.level, price), clusters)
            modules.clusters[price] = clusters
    level = search.priced(modules.level, problem.price)
    clusters = modules.clusters[problem.price]
    return _exactly(level, clusters, problem.n_clusters)[modules.labels]


def _merges(problem: Problem) -> bool:
    """Whether nodes are also merged best pair first: on small data, or where nothing else is done.

    It takes nine tenths of the time of a fit to 10,000 rows, and of 80 fits to Gaussians and tables
    of 4,435 to 12,000 rows, with labels or pairs, with and without a number, it changed none.
    """
    n = problem.level.n_nodes
    if not problem.climbs:
        return True
    return n <= EXACT_ROWS and (is_small(n) or problem.begin is not None)


def _merged(problem: Problem) -> Ints:
    """Nodes, or the clusters to start from, merged while that gains."""
    level = problem.level
    begin = np.arange(level.n_nodes) if problem.begin is None else problem.begin
    is_rows = len(begin) == int(begin.max(initial=-1)) + 1
    top = level if is_rows else search.aggregate(level, begin)
    relation = edge_relation(top, problem.pairs, begin) if problem.must_first else None
    return search.merge(top, n_wanted=problem.n_clusters or 1, relation=relation)[begin]


def _refined(
    problem: Problem,
    starts: list[Ints],
    order: Ints | None,
    room: search.Room,
    each_round: Callable[[], bool],
) -> search.Moved:
    """The best start, refined."""
    level, fixed = problem.level, problem.n_clusters is not None
    values = [search.objective(level, labels) for labels in starts]
    labels, value = starts[int(np.argmin(values))], min(values)
    if not problem.refine:
        return search.Moved(labels, [value])
    if problem.refine == "published":
        moved = search.move(
            level, labels, everywhere=True, may_open=False, may_empty=not fixed,
            each_sweep=each_round,
        )  # fmt: skip
        if len(moved.history) == 300:
            warn("moving rows had not ended after 300 sweeps.")
        return search.Moved(moved.labels, [value, *moved.history])
    # Of many rows the first round gains most: at 100,000, 0.9 % of L, later ones 0.1 and 0.02.
    rounds = 10 if level.n_nodes <= EXACT_ROWS else 1
    return search.improve(
        level, labels, problem.groups, order=order, fixed=fixed, max_rounds=rounds,
        each_round=each_round, room=room,
    )  # fmt: skip


def shuffled_blocks(n: int, rng: np.random.Generator) -> Ints:
    """0 … n − 1 in a random order, in which numbers that are close mostly stay so.

    Blocks of 512 in a random order, each shuffled: an order by rows alone ends 0.1 % higher. They
    leave their place by 16,384 at most: the data of that many rows fit into the cache.
    """
    number = np.arange(n)
    block = number // 512
    turn = rng.permutation(int(block[-1]) + 1)[block]
    return np.lexsort((rng.random(n), turn, number // 16_384))


def _numbered(labels: Ints) -> Ints:
    """Clusters to start from, numbered from 0; unknown rows (−1) are alone."""
    alone = labels < 0
    labels[alone] = labels.max(initial=0) + 1 + np.arange(int(alone.sum()))
    return search.renumbered(labels)


def edge_relation(level: search.Level, pairs: sparse.csr_array, labels: Ints) -> Floats:
    """For each edge of the level the statements about its ends (beside their groups)."""
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


def _exactly(level: search.Level, labels: Ints, n_wanted: int | None) -> Ints:
    """A partition into a given number of modules, if any: merged, or from smaller pieces."""
    if n_wanted is None:
        return labels
    n = int(labels.max()) + 1
    if n < n_wanted:
        pieces = search.move(
            level, np.arange(level.n_nodes), fence=labels, only_single=True, max_sweeps=1
        ).labels
        few = int(pieces.max()) + 1 < n_wanted
        labels = np.arange(level.n_nodes) if few else pieces
    return search.merge_down(level, labels, n_wanted)
