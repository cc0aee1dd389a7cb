"""Self-supervised factorisations.   J. Chavoshinejad, S. A. Seyedi, F. Akhlaghian Tab and N.
Salahian, "Self-supervised semi-supervised nonnegative matrix factorization for data clustering"
(S4NMF), Pattern Recognition 2023.

    member   |A - HH'|² + lambda1 sum_{apart} (HH')_ij + lambda2 sum_{together} |h_i - h_j|²
    round    A := sum_e a_e Y_e Y_e' / max,   Y_e = one-hot argmax of H_e,   a_e ~ 1 / its objective

Paper     Here                                   Paper     Here
A         `Graph`, then `Consensus`              H         one array for all members (n, members, K)
lambda1   cannot_weight                          lambda2   side_weight

Departures and choices of ours: the paper says that the consensus is fed back, the published program
never uses it, ours feeds it back. The paper does not say how rows get their last labels; ours is
spectral clustering of the consensus. Sums are over ordered pairs, as in the update.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sidelight._validation import Integral, Interval, Real
from sidelight.models._factorisation.family import (
    FACTOR_PARAMETERS,
    LONG,
    FactorModel,
    Run,
    descend,
    fitted_to_few,
    has_many,
    multiplied,
    start_of,
)
from sidelight.models._graph_base import RowGraph
from sidelight.models._relation import Relation, relation_of
from sidelight.models._spectral import cluster_vectors, unit_rows
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Long steps of many rows. With 25,000 rows (two sets of ten Gaussians and a stretched one, pairs
# and labels, one draw of each) the objective is within 5e-5 of that of 110 to 190 short steps.
_FINISH = 40


class SelfSupervisedNMF(FactorModel):
    """Ensemble of symmetric factorisations of a graph that learns from its consensus.

    Each member factorises the graph, with a cost for broken statements. The share of members that
    put two rows together is the graph of the next round. At the end, spectral clustering divides
    this consensus.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    side_weight : float, default=0.001
        The cost of different rows of H for rows that belong together, the paper's lambda2.
    cannot_weight : float, default=10.0
        The cost of similarity for rows that are apart, the paper's lambda1.
    n_members : int, default=10
        The number of factorisations; 20 in the paper.
    n_rounds : int, default=3
        The number of times that the ensemble is fitted; 10 in the paper. Above 6,000 rows these are
        rounds of a sample of 1,000 rows (50 for each cluster, if that is more), from whose members
        one round of all rows starts, in single precision, and above 20,000 rows of at most 40
        longer steps; not with ``tol=0`` or precomputed similarities.
    affinity : {"local", "gaussian", "cosine", "precomputed"}, default="local"
        Similarity of two rows: exp(−d²/(s_i s_j)) of their distance, where s is a row's distance to
        its 7th neighbour; exp(−d²/bandwidth²); or their cosine. With "precomputed", X is a
        symmetric matrix of similarities, which are divided by the largest one.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int, default=8
        The number of neighbours of each row.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns first: to [0, 1], or to mean 0 and deviation 1.
    n_init : int, default=20
        The number of starts of k-means, which divides the eigenvectors of the consensus.
    max_iter : int, default=1000
        The maximum number of steps of a round; 500 in the paper.
    tol : float, default=1e-3
        A round ends when ten steps lower the sum of the objectives by less than this share of it,
        and of what the members explain of it.
    init : array of shape (n_samples,) or fitted model, optional
        Clusters to start from (−1: unknown), instead of random factors.
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
    member_labels_ : ndarray of shape (n_samples, n_members)
        The cluster of each row in each member of the last round.
    member_weights_ : ndarray of shape (n_members,)
        The weight of each member in the consensus; their sum is 1.
    graph_ : csr_array of shape (n_samples, n_samples)
        The neighbour graph.
    bandwidth_ : float
        The bandwidth that was used (NaN without a Gaussian).
    n_neighbors_ : int
        The number of neighbours that was used (0 for a precomputed graph).
    objective_ : float
        The sum of the objectives of all members in the last round.
    history_ : ndarray
        The same at the start and after every tenth step of the last round; it never rises.
    n_iter_ : int
        Steps of all rounds.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    PropagatedSymmetricNMF : Factorises a graph; must-links spread.
    LabelPropagationNMF : Factorises the rows; labels spread.
    SemiMultiCons : One partition from several, on several levels.

    Notes
    -----
    The consensus is a product of one-hot blocks and is never expanded; labels enter as sums over
    groups. A step takes n (edges of a row + members K) K members.

    Our implementation; the last labelling of the paper is not known.

    References
    ----------
    J. Chavoshinejad, S. A. Seyedi, F. Akhlaghian Tab and N. Salahian. Self-supervised
    semi-supervised nonnegative matrix factorization for data clustering. Pattern Recognition 137,
    2023.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import SelfSupervisedNMF
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    >>> model = SelfSupervisedNMF(n_neighbors=2, n_clusters=3, random_state=0)
    >>> model.fit_predict(X, ["a", None, None, "b", None, None, None, None, None]).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]
    """

    accepts = ("must", "cannot", "label", "not_label")
    weight_unit = "squared similarities"
    scales = "A step takes time in proportion to the edges, times the members and the clusters."
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FACTOR_PARAMETERS,
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "cannot_weight": [Interval(Real, 0, None, closed="left")],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
    }
    _published: ClassVar[dict[str, Any]] = {
        "n_members": 20,
        "n_rounds": 10,
        "max_iter": 500,
        "tol": 0.0,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        side_weight: float = 0.001,
        cannot_weight: float = 10.0,
        n_members: int = 10,
        n_rounds: int = 3,
        affinity: str = "local",
        bandwidth: float | str = "auto",
        n_neighbors: int = 8,
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        n_init: int = 20,
        max_iter: int = 1000,
        tol: float = 1e-3,
        init: Any = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.side_weight = side_weight
        self.cannot_weight = cannot_weight
        self.n_members = n_members
        self.n_rounds = n_rounds
        self.affinity = affinity
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.neighbor_ties = neighbor_ties
        self.scaling = scaling
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.metric = metric
        self.random_state = random_state

    def _factorise(
        self,
        X: Any,
        rows: RowGraph,
        side: SideInformation,
        n_clusters: int,
        given: Ints | None,
        rngs: Sequence[np.random.Generator],
        step: Callable[[], bool],
    ) -> Run:
        n, relation = rows.graph.shape[0], relation_of(side)
        similar: Similar = Graph.of(rows.graph)
        members = rngs[0].spawn(self.n_members)
        n_iter, all_converged = 0, True
        few = fitted_to_few(self, rows, side, n_clusters, given, rngs[0])
        firsts: Sequence[Ints | None] = [given] * self.n_members
        if few is not None:
            firsts = [few.of_all(labels) for labels in few.model.member_labels_.T]
        for _ in range(self.n_rounds if few is None else 1):
            problem = Problem.of(similar, relation, self.side_weight, self.cannot_weight)
            if few is not None or self._is_start:
                problem = problem.single()
            starts = [
                start_of(first, (n, n_clusters), rng)
                for first, rng in zip(firsts, members, strict=True)
            ]
            start = np.stack(starts, axis=1).astype(problem.ties.dtype, copy=False)
            finishes = few is not None and has_many(n)
            found = descend(
                problem.start(start), problem.long_step if finishes else problem.step,
                problem.total, min(self.max_iter, _FINISH) if finishes else self.max_iter,
                self.tol, step, at_zero=self.n_members * problem.squares,
                shorter=problem.step if finishes else None,
            )  # fmt: skip
            n_iter, all_converged = n_iter + found.n_iter, all_converged and found.converged
            self.member_labels_ = found.factors.argmax(axis=2)
            weight = 1.0 / np.maximum(problem.objectives(found.factors), 1e-12)
            self.member_weights_ = weight / weight.sum()
            similar = Consensus.of(self.member_labels_, self.member_weights_, n_clusters)
        vectors = unit_rows(similar.leading_vectors(n_clusters))
        labels = cluster_vectors(vectors, n_clusters, self.n_init, rngs[0]).labels
        return found._replace(labels=labels, n_iter=n_iter, converged=all_converged)


# What is factorised


class Graph(NamedTuple):
    """Similarities of neighbours."""

    matrix: sparse.csr_array

    @classmethod
    def of(cls, graph: sparse.csr_array) -> "Graph":
        """Divided by the largest, if that is above 1."""
        return cls(graph / max(float(graph.data.max(initial=0.0)), 1.0))

    def times(self, V: Floats) -> Floats:
        """The product with thin arrays."""
        return np.asarray(self.matrix @ V)

    @property
    def squares(self) -> float:
        """The sum of the squares of all entries."""
        return float((self.matrix.data**2).sum())


class Consensus(NamedTuple):
    """B B': how much of the members' weight puts two rows together."""

    blocks: sparse.csr_array  # B (n, members K), entries the roots of weights

    @classmethod
    def of(cls, labels: Ints, weight: Floats, n_clusters: int) -> "Consensus":
        """From the labels (n, members); a row is with itself in all of them, which is 1."""
        n, n_members = labels.shape
        column = labels + n_clusters * np.arange(n_members)
        data = np.tile(np.sqrt(weight), n)
        indptr = np.arange(0, n * n_members + 1, n_members)
        shape = (n, n_clusters * n_members)
        return cls(sparse.csr_array((data, column.ravel(), indptr), shape=shape))

    def times(self, V: Floats) -> Floats:
        """The product with thin arrays."""
        return np.asarray(self.blocks @ (self.blocks.T @ V))

    @property
    def squares(self) -> float:
        """The sum of the squares of all entries."""
        inner = self.blocks.T @ self.blocks
        return float((inner.data**2).sum())

    def leading_vectors(self, n_vectors: int) -> Floats:
        """The leading eigenvectors of D^−1/2 B B' D^−1/2, by the small matrix B' D^−1 B."""
        degree = self.times(np.ones(self.blocks.shape[0]))
        scaled = sparse.csr_array(sparse.diags_array(1.0 / np.sqrt(degree)) @ self.blocks)
        values, vectors = linalg.eigh((scaled.T @ scaled).toarray(), driver="evd")
        leading = vectors[:, ::-1][:, :n_vectors]
        return np.asarray(scaled @ leading) / np.sqrt(np.maximum(values[::-1][:n_vectors], 1e-12))


Similar = Any  # a Graph or a Consensus


class Problem(NamedTuple):
    """The objective of all members; H has shape (n, members, K)."""

    similar: Similar
    members: sparse.csr_array  # of the groups
    together: sparse.csr_array  # between groups, zero or more
    apart: sparse.csr_array
    own: Floats  # the diagonal of `together`, which is not a pair
    ties: Floats  # the sum of what a row is tied by
    side_weight: float
    cannot_weight: float
    squares: float
    said: Ints  # the annotated rows: elsewhere nothing is tied or apart
    said_members: sparse.csr_array  # of the groups, these rows alone

    @classmethod
    def of(
        cls, similar: Similar, relation: Relation, side_weight: float, cannot_weight: float
    ) -> "Problem":
        """From similarities and statements."""
        P, G = relation.members, relation.between
        together, apart = G.maximum(0), (-G).maximum(0)
        own = np.asarray((P @ together).multiply(P).sum(axis=1)).ravel()
        # Rounding of heavy statements may leave less than nothing.
        ties = np.maximum(np.asarray(P @ (together @ P.sum(axis=0))).ravel() - own, 0.0)
        said = np.flatnonzero(np.diff(P.indptr))
        return cls(
            similar, P, together, apart, own, ties, side_weight, cannot_weight, similar.squares,
            said, sparse.csr_array(P[said]),
        )  # fmt: skip

    def single(self) -> "Problem":
        """The same in single precision; sums over all rows stay double."""
        return Problem(*(_single(part) for part in self))

    def start(self, H: Floats) -> Floats:
        """H scaled so that HH' is as large as the similarities."""
        scale = self._with(H, self.similar.times) / np.maximum(_gram_squares(H), 1e-300)
        return H * np.sqrt(np.maximum(scale, 1e-6)).astype(H.dtype, copy=False)[None, :, None]

    def step(self, H: Floats) -> Floats:
        """One step of all members; no objective rises."""
        return self._step(H, 0.25)

    def long_step(self, H: Floats) -> Floats:
        """One step that may raise objectives."""
        return self._step(H, LONG)

    def _step(self, H: Floats, power: float) -> Floats:
        flat = H.reshape(len(H), -1)
        above, below = self.similar.times(flat), _times_gram(H).reshape(flat.shape)
        if len(self.said):
            V, P, said = flat[self.said], self.said_members, self.said
            inner = P.T @ V
            tied = np.maximum(P @ (self.together @ inner) - self.own[said, None] * V, 0.0)
            above[said] += self.side_weight * tied
            below[said] += self.side_weight * self.ties[said, None] * V
            below[said] += 0.5 * self.cannot_weight * (P @ (self.apart @ inner))
        return multiplied(flat, above, below, power).reshape(H.shape)

    def objectives(self, H: Floats) -> Floats:
        """The objective of each member."""
        fit = self.squares - 2.0 * self._with(H, self.similar.times) + _gram_squares(H)
        same = self._with(H, lambda V: self.ties[:, None] * V - self._tied(V))
        apart = self._with(H, self._apart)
        return fit + self.cannot_weight * apart + 2.0 * self.side_weight * same

    def total(self, H: Floats) -> float:
        """The sum over the members."""
        return float(self.objectives(H).sum())

    def _tied(self, V: Floats) -> Floats:
        inner: Floats = self.members @ (self.together @ (self.members.T @ V))
        return np.maximum(inner - self.own[:, None] * V, 0.0)

    def _apart(self, V: Floats) -> Floats:
        return np.asarray(self.members @ (self.apart @ (self.members.T @ V)))

    def _with(self, H: Floats, times: Callable[[Floats], Floats]) -> Floats:
        """tr(H' M H) of each member."""
        flat = H.reshape(len(H), -1)
        return np.asarray((flat * times(flat)).reshape(H.shape).sum(axis=(0, 2), dtype=np.float64))


def _single(part: Any) -> Any:
    """Arrays of floats in single precision, anything else as it is."""
    if isinstance(part, Graph | Consensus):
        return type(part)(part[0].astype(np.float32))
    is_array = isinstance(part, np.ndarray) or sparse.issparse(part)
    return part.astype(np.float32) if is_array and part.dtype == np.float64 else part


def _times_gram(H: Floats) -> Floats:
    """H H' H of each member."""
    by_member, product = H.transpose(1, 0, 2), np.empty_like(H)
    inner = by_member.transpose(0, 2, 1) @ by_member
    np.matmul(by_member, inner, out=product.transpose(1, 0, 2))
    return product


def _gram_squares(H: Floats) -> Floats:
    """|H'H|² of each member, which is |HH'|²."""
    by_member = H.transpose(1, 0, 2)
    inner = (by_member.transpose(0, 2, 1) @ by_member).astype(np.float64, copy=False)
    return np.asarray((inner**2).sum(axis=(1, 2)))
