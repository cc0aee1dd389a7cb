"""Constraint propagation.   Z. Lu and H. H. S. Ip, "Constrained spectral clustering via exhaustive
and efficient constraint propagation", ECCV 2010 (the closed form); Y. Jia, H. Liu, J. Hou and
S. Kwong, "Pairwise constraint propagation with dual adversarial manifold regularization" and its
one-step form (OneStepPCP), 2020 (the nuclear norm).

    closed form   F = (1 - a)² (I - a S)^-1 R (I - a S)^-1,    S = D^-1/2 W D^-1/2
    nuclear       F = argmin |F|_* + b tr(F L F')   s.t.  F = F', F_ij = ±1 where given, 1 on the
                  diagonal, -1 <= F <= 1
    then          W_ij := 1 - (1 - F_ij)(1 - W_ij) where F > 0,   (1 + F_ij) W_ij where F < 0

and spectral clustering of the last W.

Paper   Here                                Paper   Here
a       propagation                         b       smoothness
R       Relation: P G P'                    K       n_clusters, given or by the eigengap

Departures and choices of ours (the settings of the published runs are not public):
- F is scaled to a largest size of 1 where it is read: on the edges of W and on pairs that people
  tied. Without it a large ``propagation`` makes all of F small. It was chosen on 16 tables.
- (I - a S)^-1 P is kept as a sparse matrix; entries below ``tol`` of a column's source are left
  out, so that the cost of a statement does not grow with n.
- The diagonal of R is 1 for rows that belong to others.
- The published program takes the first K eigenvectors, in the order of its solver; these are the
  leading ones.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sidelight._kernels.propagate import spread
from sidelight._validation import Integral, Interval, Real, StrOptions
from sidelight.blocks import in_order, one_blas_thread
from sidelight.exceptions import DataError
from sidelight.graph import normalized_adjacency
from sidelight.models._graph.spectral import SPECTRAL_PARAMETERS, Embedding, SpectralModel
from sidelight.models._graph_base import RowGraph, entries
from sidelight.models._relation import Relation, products, relation_of, symmetric
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DENSE = 2_000  # rows of the nuclear norm: its arrays are n x n, its steps n³
_COLUMNS = 512  # that one task spreads
_ROOM = 1 << 21  # entries that a task has room for, or 2 n


class ConstraintPropagation(SpectralModel):
    """Spectral clustering after statements have spread along a neighbour graph.

    A statement about two rows also concerns their neighbours. It spreads along the edges of the
    neighbour graph with decreasing strength, and raises or lowers the similarities around it. Then
    the graph is divided by its leading eigenvectors. Finds clusters of any shape, and their number.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default it is found: see Notes.
    method : {"closed", "nuclear"}, default="closed"
        How statements spread: in closed form, or by the matrix of low nuclear norm that keeps them
        and is smooth on the graph (up to 2,000 rows; the answers hardly differ).
    propagation : float, default=0.6
        How far statements reach in closed form: at 0 only to their own rows, towards 1 through the
        whole graph.
    smoothness : float, default=0.1
        The weight of smoothness relative to the nuclear norm.
    n_rounds : int, default=1
        The number of times that statements spread, each time along the graph changed by the last.
    affinity : {"local", "gaussian", "cosine", "precomputed"}, default="local"
        Similarity of two rows: exp(−d²/(s_i s_j)) of their distance, where s is a row's distance to
        its 7th neighbour; exp(−d²/bandwidth²); or their cosine. With "precomputed", X is a
        symmetric matrix of similarities, which are divided by the largest one.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int or "auto", default="auto"
        The number of neighbours of each row; "auto" is ⌈log2 n⌉ + 1.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns first: to [0, 1], or to mean 0 and deviation 1.
    tol : float, default=1e-3
        Parts of a statement below this share of it do not spread further.
    n_init : int, default=20
        The number of starts of k-means.
    init : array of shape (n_samples,) or fitted model, optional
        Clusters from which k-means starts (−1: unknown): a warm restart.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts, and seed of approximate neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    n_clusters_rule_ : {"given", "eigengap", "statements"}
        What decided the number of clusters.
    graph_, adapted_graph_ : csr_array of shape (n_samples, n_samples)
        The neighbour graph, before and after statements have changed it.
    bandwidth_ : float
        The bandwidth that was used (NaN without a Gaussian).
    n_neighbors_ : int
        The number of neighbours that was used (0 for a precomputed graph).
    objective_ : float
        The cost of k-means: squared distances of the rows' eigenvectors, scaled to length 1, to
        their means.
    history_ : ndarray of shape (n_iter_,)
        The same after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    RelationSpectral : Statements are edges of the graph.
    ConstrainedSpectral : Statements in the graph and as a penalty.
    StructuralEntropyClustering : Fewest bits for a walk on a neighbour graph.

    Notes
    -----
    R contains the statements and the pairs that follow from them, each with its weight; where
    statements contradict each other, only the given ones. It is a product P G P' with a column of P
    for each group of rows, so F needs one sparse solution for each group. Weights are relative: the
    largest entry of F counts as 1.

    If ``n_clusters`` is not given, every number is tried from the smallest that the statements
    allow (labelled classes, groups that are all apart; at least 2) to 30 or √n. The score of a
    number is the share of broken statements minus 0.05 times the eigengap, log((1 − λ_(k+1)) / (1 −
    λ_k)), relative to the largest eigengap; the lowest score is taken. ``n_clusters_rule_`` says
    whether the eigengap alone would have chosen the same number, or statements decided.

    Our implementation; the settings of the published runs are unknown. With the number of clusters
    given it is a strong and cheap baseline.

    References
    ----------
    Z. Lu and H. H. S. Ip. Constrained spectral clustering via exhaustive and efficient constraint
    propagation. ECCV 2010, 1-14.

    Examples
    --------
    Two rings, one inside the other, and labels of every tenth row:

    >>> import numpy as np
    >>> from sidelight import ConstraintPropagation, SideInformation
    >>> from sidelight.datasets import make_concentric_circles
    >>> X, y = make_concentric_circles(50, radii=(5, 15), random_state=0)
    >>> side = SideInformation.from_labels(np.where(np.arange(100) % 10 == 0, y, -1))
    >>> model = ConstraintPropagation(random_state=0).fit(X, side=side)
    >>> model.n_clusters_, model.n_clusters_rule_
    (2, 'eigengap')
    >>> (model.cluster_names_[model.labels_] == y).all()
    np.True_
    """

    on_dask = True
    weight_unit = "similarity of the neighbour graph"
    scales = (
        "Time and memory grow with the edges of the neighbour graph and with the groups of "
        "annotated rows."
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SPECTRAL_PARAMETERS,
        "method": [StrOptions({"closed", "nuclear"})],
        "propagation": [Interval(Real, 0, 1, closed="left")],
        "smoothness": [Interval(Real, 0, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
    }
    _published: ClassVar[dict[str, Any]] = {"method": "nuclear"}

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        method: str = "closed",
        propagation: float = 0.6,
        smoothness: float = 0.1,
        n_rounds: int = 1,
        affinity: str = "local",
        bandwidth: float | str = "auto",
        n_neighbors: int | str = "auto",
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        tol: float = 1e-3,
        n_init: int = 20,
        init: Any = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.propagation = propagation
        self.smoothness = smoothness
        self.n_rounds = n_rounds
        self.affinity = affinity
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.neighbor_ties = neighbor_ties
        self.scaling = scaling
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.metric = metric
        self.random_state = random_state

    def _embedding(self, rows: RowGraph, side: SideInformation) -> Embedding:
        graph = rows.by_mass(self._adapted(rows, relation_of(side)))
        return self._of_graph(graph, rows.seed, side)

    def _adapted(self, rows: RowGraph, relation: Relation) -> sparse.csr_array:
        """The graph with all of F in it."""
        graph = rows.graph.copy()
        graph.data /= max(float(graph.data.max(initial=0.0)), 1.0)
        if self.method == "nuclear":
            _check_size(graph.shape[0])
        if relation.is_empty:
            return graph
        for _ in range(self.n_rounds):
            i, j = relation.places(graph)
            if self.method == "nuclear":
                F = nuclear(graph, relation, self.smoothness)[i, j]
            else:
                F = closed_form(graph, relation, self.propagation, self.tol, i, j)
            graph = adapted(graph, i, j, F)
        return graph


def _check_size(n: int) -> None:
    if n > MOST_DENSE:
        raise DataError(
            f"method='nuclear' works with arrays of n x n, and X has n={n:,} rows; at most "
            f"{MOST_DENSE:,} are allowed. Use method='closed', whose answers hardly differ."
        )


# From statements to F, on the edges


def closed_form(
    graph: sparse.csr_array, relation: Relation, alpha: float, tol: float, i: Ints, j: Ints
) -> Floats:
    """F of pairs of rows, scaled to a largest size of 1."""
    reach = propagated(normalized_adjacency(graph), relation.members, alpha, tol)
    value = products(reach, sparse.csr_array(reach @ relation.between), i, j)
    largest = float(np.abs(value).max(initial=0.0))
    return value / largest if largest > 0 else value


def propagated(
    S: sparse.csr_array, sources: sparse.csr_array, alpha: float, tol: float
) -> sparse.csr_array:
    """(I − αS)^−1 P, without the contributions of remainders below ``tol``."""
    n, n_columns = sources.shape
    S = sparse.csr_array((S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)), S.shape)
    by_column = sources.tocsc()
    by_column.eliminate_zeros()
    source = (by_column.indptr.astype(np.int64), by_column.indices.astype(np.int64), by_column.data)

    def task(number: int) -> list[tuple[Ints, Ints, Floats]]:
        first, last = number * _COLUMNS, min((number + 1) * _COLUMNS, n_columns)
        held, left = np.zeros(n), np.zeros(n)
        waiting, queue, seen = np.zeros(n, dtype=bool), np.empty(n, np.int64), np.empty(n, np.int64)
        room = max(_ROOM, 2 * n)
        row, value = np.empty(room, dtype=np.int32), np.empty(room)
        parts = []
        while first < last:
            span = np.empty(last - first + 1, dtype=np.int64)
            done = spread(
                S.indptr, S.indices, S.data, *source, first, last, alpha, tol,
                span, row, value, held, left, waiting, queue, seen,
            )  # fmt: skip
            span = span[: done - first + 1]
            parts.append((np.diff(span), row[: span[-1]].copy(), value[: span[-1]].copy()))
            first = done
        return parts

    found = [p for parts in in_order(task, -(-n_columns // _COLUMNS)) for p in parts]
    count = np.concatenate([p[0] for p in found])
    columns = sparse.csc_array(
        (
            np.concatenate([p[2] for p in found]),
            np.concatenate([p[1] for p in found]),
            np.append(0, np.cumsum(count)),
        ),
        shape=(n, n_columns),
    )
    return columns.tocsr()


def nuclear(graph: sparse.csr_array, relation: Relation, smoothness: float) -> Floats:
    """F of low nuclear norm, of all pairs of rows."""
    given = np.sign((relation.members @ relation.between @ relation.members.T).toarray())
    np.fill_diagonal(given, 1.0)
    S = normalized_adjacency(graph).toarray()
    return low_rank(np.eye(len(S)) - S, given, smoothness)


def low_rank(
    L: Floats,
    given: Floats,
    smoothness: float,
    *,
    tau: float = 0.1,
    growth: float = 1.05,
    most: float = 1e6,
    max_iter: int = 500,
    tol: float = 1e-4,
) -> Floats:
    """The F of least |F|_* + smoothness tr(F L F'), symmetric, in [−1, 1], as given where not 0.

    Alternating directions: a copy A for the nuclear norm (eigenvalues shrink by 1/tau), a copy B
    for the trace (a solve with 2 smoothness L + tau I), F clipped between them.
    """
    with one_blas_thread():
        values, vectors = linalg.eigh(L)
        known = given != 0
        F = np.where(known, given, 0.0)
        U, V = np.zeros_like(F), np.zeros_like(F)
        for _ in range(max_iter):
            w, Q = linalg.eigh(F - U)
            A = (Q * (np.sign(w) * np.maximum(np.abs(w) - 1.0 / tau, 0.0))) @ Q.T
            solve = tau / (2.0 * smoothness * values + tau)
            B = ((F - V) @ vectors * solve) @ vectors.T
            before, F = F, (A + U + B + V) / 2.0
            F = np.clip((F + F.T) / 2.0, -1.0, 1.0)
            F[known] = given[known]
            U += A - F
            V += B - F
            gap = max(np.abs(A - F).max(), np.abs(B - F).max(), np.abs(F - before).max())
            if gap < tol:
                break
            rise = min(growth, most / tau)
            tau *= rise
            U /= rise
            V /= rise
    return F


def adapted(graph: sparse.csr_array, i: Ints, j: Ints, F: Floats) -> sparse.csr_array:
    """1 − (1 − F)(1 − W) where F > 0 and (1 + F) W elsewhere; W between 0 and 1, i < j."""
    W = entries(graph, i, j)
    value = np.where(F > 0, F + W - F * W, (1.0 + F) * W)
    keep = value > 0
    return symmetric(graph.shape[0], i[keep], j[keep], value[keep])
