"""Spectral clustering of similarities and statements of several sources.   After L. Bai, J. Liang
and F. Cao, "Semi-supervised clustering with constraints of different types from multiple
information sources" (SC-MPI), IEEE TPAMI 2020.

    W~ = max(0, W + sum_e a_e R^e),   R_ij = max(W) - W_ij for must, min(W) - W_ij for cannot

and the leading eigenvectors of W~. Of the paper only the abstract and what others say about it are
known to us, so the rule for the weights a_e is ours, and so is the name: this is not the SC-MPI of
published tables, and far above it with pairs.

Here: sources are annotators, a_e is `source_weights`, R^e is `Relation` of what one of them said;
min(W) is 0, since rows that are not neighbours have no similarity.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._validation import StrOptions
from sidelight.exceptions import DataError
from sidelight.models._graph.spectral import SPECTRAL_PARAMETERS, Embedding, SpectralModel
from sidelight.models._graph_base import RowGraph, entries
from sidelight.models._relation import relation_of, symmetric
from sidelight.models._spectral import broken_share, cluster_vectors
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RelationSpectral(SpectralModel):
    """Spectral clustering of a neighbour graph in which statements are edges.

    A must-link becomes as strong as the strongest edge, and a cannot-link removes an edge.
    Statements of each annotator are added separately, with a weight for each annotator, together
    with the pairs that follow from them. Takes every kind of statement, and finds the number of
    clusters.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default it is found, as in `ConstraintPropagation`.
    source_weights : {"equal", "agreement"} or dict, default="equal"
        The weight of each annotator's statements. "equal": 1. "agreement": the share of them that a
        first clustering with equal weights keeps, above chance. A dict: a number for each annotator
        (the key None is for statements without annotator; annotators who are missing have 1).
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
    source_weights_ : dict
        The weight of each annotator's statements.
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
    ConstrainedSpectral : Statements in the graph and as a penalty.
    ConstraintPropagation : Statements spread along a neighbour graph.

    Notes
    -----
    Our implementation: we know only the abstract of the paper, which does not give its rule for the
    weights of sources. Statements only change edges of their own rows; in `ConstraintPropagation`
    they spread further.

    References
    ----------
    L. Bai, J. Liang and F. Cao. Semi-supervised clustering with constraints of different types from
    multiple information sources. IEEE TPAMI 43, 2021, 3247-3258.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import RelationSpectral, SideInformation
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    >>> side = SideInformation.from_pairs(must=[(0, 3), (1, 4)], n_samples=9, annotator="ann")
    >>> model = RelationSpectral(2, n_neighbors=2, random_state=0).fit(X, side=side)
    >>> model.labels_.tolist(), model.source_weights_
    ([0, 0, 0, 0, 0, 0, 1, 1, 1], {'ann': 1.0})
    """

    weight_unit = "similarity of the neighbour graph"
    scales = "Time and memory grow with the edges of the neighbour graph and with the statements."
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SPECTRAL_PARAMETERS,
        "source_weights": [StrOptions({"equal", "agreement"}), dict],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        source_weights: str | dict[Any, float] = "equal",
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
        self.source_weights = source_weights
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
        sources = _sources(side)
        given = self.source_weights if isinstance(self.source_weights, dict) else {}
        wrong = [w for w in given.values() if not (np.isfinite(w) and w >= 0)]
        if wrong:
            raise DataError(
                f"source_weights has {wrong[0]!r}; the weight of an annotator is a finite number, "
                "zero or more."
            )
        self.source_weights_ = {name: float(given.get(name, 1.0)) for name in sources}
        found = self._weighed(rows, sources, side)
        if self.source_weights == "agreement" and len(sources) > 1:
            rng = np.random.default_rng(rows.seed)
            first = cluster_vectors(found.vectors, found.number.n_clusters, self.n_init, rng)
            self.source_weights_ = agreement(sources, first.labels)
            found = self._weighed(rows, sources, side)
        return found

    def _weighed(
        self, rows: RowGraph, sources: dict[Any, SideInformation], side: SideInformation
    ) -> Embedding:
        """The embedding with the current weights of the sources."""
        graph = with_statements(rows.graph, sources, self.source_weights_)
        return self._of_graph(graph, rows.seed, side)


def _sources(side: SideInformation) -> dict[Any, SideInformation]:
    """The statements of each annotator who said something that binds."""
    said = side.statements
    codes = np.unique(said.annotator[said.binding])
    names = (*side.annotators, None)
    return {names[code]: side.where(said.annotator == code) for code in codes}


def with_statements(
    graph: sparse.csr_array, sources: dict[Any, SideInformation], weights: dict[Any, float]
) -> sparse.csr_array:
    """W~ = max(0, W + sum_e a_e R^e) on the edges and on the pairs that people tied."""
    highest = float(graph.data.max(initial=0.0)) or 1.0
    change = sparse.csr_array(graph.shape)
    for name, side in sources.items():
        relation = relation_of(side)
        i, j = relation.places(graph)
        likeness, sign = entries(graph, i, j), relation.at(i, j)
        strength = np.where(sign > 0, highest - likeness, likeness)
        change = change + symmetric(graph.shape[0], i, j, weights[name] * sign * strength)
    W = sparse.csr_array(graph + change)
    W.data = np.maximum(W.data, 0.0)
    W.eliminate_zeros()
    W.sort_indices()
    return W


def agreement(sources: dict[Any, SideInformation], labels: Ints) -> dict[Any, float]:
    """The share of each annotator's statements that a partition keeps, 0 at what chance keeps.

    Chance: the same statements, with the labels of rows exchanged at random.
    """
    drawn = np.random.default_rng(0).permutation(labels)
    weights = {}
    for name, side in sources.items():
        kept, chance = (1.0 - broken_share(side, found) for found in (labels, drawn))
        weights[name] = max(kept - chance, 0.0) / (1.0 - chance) if chance < 1 else 0.0
    return weights
