"""Shared by the spectral models: the fit around an embedding of the rows.

A model changes the neighbour graph according to the statements; k-means then divides the rows of
its leading eigenvectors, scaled to length 1.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks

from sidelight._validation import HasMethods, Integral, Interval, StrOptions, prepare
from sidelight.graph import Spectrum, leading_eigenvectors
from sidelight.models._fitting import Task, given_labels, warn_fewer_clusters
from sidelight.models._graph_base import GRAPH_PARAMETERS, GraphModel, RowGraph
from sidelight.models._naming import named_labels
from sidelight.models._spectral import (
    Clusters,
    Number,
    candidate_numbers,
    choose_number,
    cluster_vectors,
    place_rest,
    unit_rows,
)
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPECTRAL_PARAMETERS: dict[str, list[Any]] = {
    **GRAPH_PARAMETERS,
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "init": ["array-like", HasMethods(["fit", "predict"]), None],
}


class Embedding(NamedTuple):
    """A vector for each row, and the number of clusters."""

    number: Number
    vectors: Floats


class SpectralModel(GraphModel, ABC):
    """K-means of eigenvectors. A subclass has the `SPECTRAL_PARAMETERS`."""

    n_init: int
    init: Any
    finds_k = True
    accepts = ("must", "cannot", "label", "not_label")
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "min"
    _published: ClassVar[dict[str, Any]] = {}

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The data, or with ``affinity="precomputed"`` similarities (n_samples, n_samples); a Dask
            array where the tag ``on_dask`` says so.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of all kinds.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        X, side, mass = self._points(X, side, seed)
        with Task.of_fit(self, 2) as fit:
            with fit.part("neighbours") as task:
                n_classes = len(side.labelled_classes)
                rows = self._row_graph(X, seed, n_classes, task.step, mass=mass)
            with fit.part("eigenvectors and k-means") as task:
                found, number = self._divide(X, rows, side, seed, task.step)
        self._keep_rows(rows)
        labels, naming = named_labels(side, found.labels)
        warn_fewer_clusters(len(naming.names), number.n_clusters)
        self.n_clusters_rule_ = number.rule
        return self._publish(labels, naming, found, side, seed)

    def _divide(
        self,
        X: Any,
        rows: RowGraph,
        side: SideInformation,
        seed: int,
        step: Callable[[], bool],
    ) -> tuple[Clusters, Number]:
        n = rows.graph.shape[0]
        if rows.all_equal and self.n_clusters is None and not len(side.annotated_rows):
            return Clusters(np.zeros(n, dtype=np.int64), 0.0, [0.0], 1), Number(1, "eigengap")
        number, vectors = self._embedding(rows, side)
        start = None if self.init is None else given_labels(self.init, n, X=self._from_metric(X))
        if start is not None:  # the largest clusters, if there are more than are asked for
            size = np.bincount(start[start >= 0])
            start = np.where(np.isin(start, np.argsort(-size)[: number.n_clusters]), start, -1)
        rng = np.random.default_rng(seed)
        found = cluster_vectors(
            vectors, number.n_clusters, self.n_init, rng, start=start, each_iteration=step
        )
        has_vector: NDArray[np.bool_] = np.abs(vectors).sum(axis=1) > 0
        labels = place_rest(rows, found.labels, has_vector, number.n_clusters)
        return found._replace(labels=labels), number

    @abstractmethod
    def _embedding(self, rows: RowGraph, side: SideInformation) -> Embedding:
        """A vector for each row, from the graph and the statements; leaves adapted_graph_."""

    def _of_graph(self, graph: sparse.csr_array, seed: int, side: SideInformation) -> Embedding:
        """The leading eigenvectors of a graph that statements have changed."""
        self.adapted_graph_ = graph
        low, high = candidate_numbers(self.n_clusters, side, graph.shape[0])
        more = self.n_clusters is None
        return self._chosen(leading_eigenvectors(graph, high + more), (low, high), seed, side)

    def _chosen(
        self, spectrum: Spectrum, candidates: tuple[int, int], seed: int, side: SideInformation
    ) -> Embedding:
        """As many vectors as clusters."""
        rng = np.random.default_rng([seed, 1])
        number = choose_number(self.n_clusters, side, spectrum, candidates, rng)
        return Embedding(number, unit_rows(spectrum.vectors[:, : number.n_clusters]))

    def _n_neighbors(self, n_samples: int, n_classes: int) -> int:
        if self.n_neighbors != "auto":
            return int(self.n_neighbors)
        return math.ceil(math.log2(max(n_samples, 2))) + 1
