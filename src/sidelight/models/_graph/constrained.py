"""Constrained spectral clustering, similarities and penalties together.   After P. Qian et al.,
"Affinity and penalty jointly constrained spectral clustering with all-compatibility, flexibility,
and robustness", IEEE TNNLS 2017.

    W_ij := max(W) for must, 0 for cannot;  A = (1 - w) L~ + w P~;  the K smallest eigenvectors of A

L~ is the normalised Laplacian of W. The penalty of the paper is not known to us. Ours is the signed
Laplacian, x'Px = sum over must-links (x_i - x_j)² + sum over cannot-links (x_i + x_j)², normalised
like L~ so that both lie in one range: positive semidefinite, sparse, exact for two clusters.

Paper   Here
eta     1 - side_weight
P       D - R, of `Relation`: what is entailed is a product of thin matrices, and never expanded
"""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._validation import Interval, Real
from sidelight.blocks import one_blas_thread
from sidelight.graph import Spectrum, largest_eigenvectors, normalized_adjacency
from sidelight.models._graph.relation import with_statements
from sidelight.models._graph.spectral import SPECTRAL_PARAMETERS, Embedding, SpectralModel
from sidelight.models._graph_base import RowGraph
from sidelight.models._relation import Relation, relation_of
from sidelight.models._spectral import candidate_numbers
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ConstrainedSpectral(SpectralModel):
    """Spectral clustering with statements in the graph and as a penalty.

    Must-links become the strongest edges, and cannot-links remove edges. In addition, a penalty on
    the eigenvectors grows if their values differ at the ends of a must-link or agree at the ends of
    a cannot-link.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default it is found, as in `ConstraintPropagation`.
    side_weight : float, default=0.5
        The share of the penalty, from 0 (statements only change the graph) to below 1.
    affinity : {"local", "gaussian", "cosine", "precomputed"}, default="local"
        Similarity of two rows: exp(−d²/(s_i s_j)) of their distance, where s is a row's distance to
        its 7th neighbour; exp(−d²/bandwidth²); or their cosine. With "precomputed", X is a
        symmetric matrix of similarities.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int or "auto", default="auto"
        The number of neighbours of each row; "auto" is ⌈log2 n⌉ + 1.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns first: to [0, 1], or to mean 0 and deviation 1.
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
        The neighbour graph, without and with the statements.
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
    ConstraintPropagation : Statements spread along a neighbour graph.

    Notes
    -----
    Our implementation; the penalty of the paper is not known to us. The signed Laplacian wants
    opposite values at the ends of a cannot-link. Two clusters can have these and three cannot, so
    with more than two clusters a large ``side_weight`` helps less.

    References
    ----------
    P. Qian et al. Affinity and penalty jointly constrained spectral clustering with
    all-compatibility, flexibility, and robustness. IEEE TNNLS 28, 2017, 1123-1138.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import ConstrainedSpectral, SideInformation
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    >>> side = SideInformation.from_pairs(must=[(0, 3)], cannot=[(4, 7)], n_samples=9)
    >>> ConstrainedSpectral(2, n_neighbors=2, random_state=0).fit_predict(X, side=side).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1]
    """

    weight_unit = "similarity of the neighbour graph, and shares of a penalty"
    scales = "Time and memory grow with the edges of the neighbour graph and with the statements."
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SPECTRAL_PARAMETERS,
        "side_weight": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        side_weight: float = 0.5,
        affinity: str = "local",
        bandwidth: float | str = "auto",
        n_neighbors: int | str = "auto",
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        n_init: int = 20,
        init: Any = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.side_weight = side_weight
        self.affinity = affinity
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.neighbor_ties = neighbor_ties
        self.scaling = scaling
        self.n_init = n_init
        self.init = init
        self.metric = metric
        self.random_state = random_state

    def _embedding(self, rows: RowGraph, side: SideInformation) -> Embedding:
        relation = relation_of(side)
        graph = with_statements(rows.graph, {None: side}, {None: 1.0})
        if relation.is_empty or not self.side_weight:
            return self._of_graph(graph, rows.seed, side)
        self.adapted_graph_ = graph
        candidates = candidate_numbers(self.n_clusters, side, graph.shape[0])
        n_vectors = candidates[1] + (self.n_clusters is None)
        spectrum = penalised_eigenvectors(graph, relation, self.side_weight, n_vectors)
        return self._chosen(spectrum, candidates, rows.seed, side)


def penalised_eigenvectors(
    graph: sparse.csr_array, relation: Relation, side_weight: float, n_vectors: int
) -> Spectrum:
    """The largest eigenvectors of I − A/2, A = (1 − w) L~ + w P~: those smallest for A.

    Separately in each connected part of the graph and the statements: Lanczos iterations see an
    eigenvalue that several parts share only once.
    """
    n = graph.shape[0]
    n_vectors = min(n_vectors, n)
    S, size = normalized_adjacency(graph), _signed_degrees(relation)
    root = np.divide(1.0, np.sqrt(size), out=np.zeros(n), where=size > 0)
    members = sparse.csr_array(sparse.diags_array(root) @ relation.members)
    # The diagonal of R is not a pair of rows, and a row without a statement has no cost.
    own = root**2 * _diagonal(relation)
    stated = (size > 0).astype(np.float64)
    has_edges = (np.asarray(graph.sum(axis=1)).ravel() > 0).astype(np.float64)

    def times(rows: Ints, v: Floats) -> Floats:
        P, one = members[rows], (len(rows), *[1] * (v.ndim - 1))
        R = P @ (relation.between @ (P.T @ v)) - own[rows].reshape(one) * v
        penalty = stated[rows].reshape(one) * v - R
        laplace = has_edges[rows].reshape(one) * v - inside(rows) @ v
        return v - 0.5 * ((1.0 - side_weight) * laplace + side_weight * penalty)

    blocks: dict[int, sparse.csr_array] = {}

    def inside(rows: Ints) -> sparse.csr_array:
        if rows[0] not in blocks:
            blocks[rows[0]] = S if len(rows) == n else S[rows][:, rows]
        return blocks[rows[0]]

    found: list[tuple[float, Ints, Floats]] = []
    with one_blas_thread():
        for rows in _parts(graph, relation):
            values, vectors = largest_eigenvectors(partial(times, rows), len(rows), n_vectors)
            found += [(float(x), rows, vectors[:, k]) for k, x in enumerate(values)]
    found = sorted(found, key=lambda one: -one[0])[:n_vectors]
    vectors = np.zeros((n, len(found)))
    for k, (_, rows, vector) in enumerate(found):
        vectors[rows, k] = vector
    return Spectrum(np.array([one[0] for one in found]), vectors)


def _signed_degrees(relation: Relation) -> Floats:
    """sum_j |R_ij| over other rows, from the groups."""
    between = abs(relation.between)
    total = relation.members @ (between @ relation.members.sum(axis=0))
    return np.maximum(np.asarray(total).ravel() - np.abs(_diagonal(relation)), 0.0)


def _diagonal(relation: Relation) -> Floats:
    P = relation.members
    return np.asarray((P @ relation.between).multiply(P).sum(axis=1)).ravel()


def _parts(graph: sparse.csr_array, relation: Relation) -> list[Ints]:
    """The rows of each connected part of the graph and the relation, in the order of first rows."""
    n = graph.shape[0]
    both = sparse.block_array(
        [[graph, relation.members], [relation.members.T, abs(relation.between)]]
    )
    part = connected_components(both, directed=False)[1][:n]
    order = np.argsort(part, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
