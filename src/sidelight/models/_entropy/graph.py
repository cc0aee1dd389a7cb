"""Shared by the models of structural entropy: the fit around the search, and new rows.

`predict` puts a new row where it raises the objective of the partition least.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from sidelight._validation import Interval, Real, StrOptions, prepare
from sidelight.graph import largest_distance
from sidelight.models._entropy import search as search
from sidelight.models._entropy.statements import Strengths
from sidelight.models._fitting import Task
from sidelight.models._graph_base import GRAPH_PARAMETERS, GraphModel, RowGraph
from sidelight.models._naming import Naming, named_labels
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENTROPY_PARAMETERS: dict[str, list[Any]] = {
    **GRAPH_PARAMETERS,
    "side_weight": [Interval(Real, 0, None, closed="left")],
    "lowest_similarity": [StrOptions({"observed", "zero"})],
}


class Insertion(NamedTuple):
    """A partition as new rows see it: its modules, and the scale of its graph."""

    volume: Floats
    cut: Floats
    total: float
    floor: float
    price: float  # that the cuts hold

    @classmethod
    def into(cls, level: search.Level, modules: search.Modules, price: float = 0.0) -> "Insertion":
        """The modules of a level whose cuts hold a price."""
        return cls(modules.volume, modules.cut, level.total, level.floor, price)

    def rise(self, module: Ints, degree: Floats, shared: Floats) -> Floats:
        """The increase of the objective if a row of some degree joins a module."""
        volume, cut = self.volume[module], self.cut[module]
        new = self._cost(volume + degree, cut + (1 + self.price) * degree - 2 * shared)
        rise: Floats = new - self._cost(volume, cut)
        return rise

    def _cost(self, volume: Floats, cut: Floats) -> Floats:
        inside = volume * np.log2(np.where(volume > 0, volume, 1.0))
        cost: Floats = inside - cut * np.log2(np.maximum(volume, self.floor) / self.total)
        return cost


class Published(NamedTuple):
    """What the base publishes of a fit."""

    objective: float
    history: Floats
    n_iter: int


class EntropyGraphModel(GraphModel, ABC):
    """A model of low structural entropy. A subclass has the `ENTROPY_PARAMETERS`."""

    side_weight: float
    lowest_similarity: str
    accepts = ("must", "cannot", "label", "not_label")
    finds_k = True
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "min"

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
            with fit.part("search") as task:
                found = self._search(X, rows, side, task.step)
        self._keep_rows(rows)
        return self._publish_found(found, side, seed)

    @abstractmethod
    def _search(
        self, X: Any, rows: RowGraph, side: SideInformation, step: Callable[[], bool]
    ) -> Any:
        """State the problem and run the search."""

    @abstractmethod
    def _publish_found(self, found: Any, side: SideInformation, seed: int) -> Self:
        """Set the attributes of the model."""

    def _strengths(self, rows: RowGraph) -> Strengths:
        """Similarities of any two rows, and the highest and lowest of all."""
        highest = float(rows.graph.data.max(initial=0.0))
        return Strengths(rows.similarity, highest, self._lowest(rows))

    def _lowest(self, rows: RowGraph) -> float:
        """The lowest similarity of two rows."""
        graph = rows.graph
        if rows.affinity == "precomputed":
            is_full = graph.nnz and graph.nnz == graph.shape[0] * (graph.shape[0] - 1)
            return float(graph.data.min()) if is_full else 0.0
        # With local scales it is practically zero: most rows are many scales apart.
        if self.lowest_similarity == "zero" or rows.affinity == "local":
            return 0.0
        if rows.affinity == "cosine":
            return 1.0 - largest_distance(rows.X, metric="cosine")
        # Above five bandwidths a similarity is below 2e-11 and taken as zero.
        largest = largest_distance(rows.X, enough=5 * rows.bandwidth)
        return float(np.exp(-((largest / rows.bandwidth) ** 2)))

    def _attraction(self, row: Ints, cluster: Ints, shared: Floats) -> Floats:
        degree = np.bincount(row, shared)[row] if len(row) else shared
        return -self._insertion.rise(cluster, degree, shared)

    def _largest(self) -> int:
        return int(self._insertion.volume.argmax())


def named(side: SideInformation, labels: Ints) -> tuple[Ints, Naming]:
    """Clusters in the order of their names, from modules numbered in any way."""
    return named_labels(side, search.renumbered(labels))
