"""The base of graph models: rows and their neighbour graph, given similarities, and new rows.

A graph model scales the rows, joins neighbours in a graph, and finds clusters there. `RowGraph`
holds the result as plain data: the graph for the fit, and what is needed to compare new rows with
the fitted ones. `GraphModel` reads the parameters that all of them have.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from sidelight._validation import Integral, Interval, Real, StrOptions
from sidelight.blocks import Block, Blocks, in_parts
from sidelight.exceptions import DataError
from sidelight.graph import (
    check_graph,
    gaussian_weights,
    join_neighbors,
    local_scales,
    local_weights,
    median_bandwidth,
    nearest_neighbors,
    pair_distances,
    query_neighbors,
)
from sidelight.models._condensing import CondensingModel, Points, most_points
from sidelight.models._fitting import warn
from sidelight.models._metric import METRIC
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PORTION = 1_000_000  # edges that a thread takes at a time, between two checks for an interrupt

# Constraints on the parameters of all graph models that need no data.
GRAPH_PARAMETERS: dict[str, list[Any]] = {
    "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
    "affinity": [StrOptions({"gaussian", "local", "cosine", "precomputed"})],
    "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "neighbor_ties": [StrOptions({"lowest", "keep"})],
    "scaling": [StrOptions({"min-max", "z-score"}), None],
    "metric": METRIC,
    "random_state": ["random_state", np.random.Generator],
}


class GraphModel(CondensingModel):
    """A model of the neighbour graph. A subclass has the `GRAPH_PARAMETERS`.

    Its fit calls `_row_graph` and `_keep_rows`; `predict` is then by neighbours. If it is to take
    Dask arrays too, it has the tag ``on_dask``, calls `_points` first, and counts edges by their
    `RowGraph.by_mass`.
    """

    n_clusters: int | None
    affinity: str
    bandwidth: float | str
    n_neighbors: int | str
    neighbor_ties: str
    scaling: str | None

    takes_similarities: ClassVar[dict[str, Any]] = {"affinity": "precomputed"}
    takes_sparse = True
    _not_for_prediction = ("graph_", "adapted_graph_")
    _scaled: "Scaling | None" = None  # of rows on Dask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def predict(self, X: Any) -> Any:
        """The cluster of each row of X, judged by its neighbours.

        A row that is equal to a fitted row gets its cluster. A row without similar rows gets the
        cluster of the nearest one.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New data; a Dask array where ``fit`` takes one; with ``affinity="precomputed"`` the
            similarities of new rows (n_samples) and fitted rows (n_features).

        Returns
        -------
        ndarray of shape (n_samples,), or a Dask array
        """
        return super().predict(X)

    def _predict_rows(self, X: Any) -> Ints:
        near, known = self._rows.near(X), self._known_labels()
        otherwise = np.where(near.nearest < 0, self._largest(), known[near.nearest])
        of = sparse.csr_array((np.ones(len(known)), (np.arange(len(known)), known)))
        shared = sparse.csr_array(near.similar @ of)
        shared.eliminate_zeros()
        shared.sort_indices()
        row = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
        cluster = shared.indices
        best = np.lexsort((cluster, -self._attraction(row, cluster, shared.data), row))
        first = best[np.flatnonzero(np.diff(row[best], prepend=-1))]
        labels = otherwise.copy()
        labels[row[first]] = cluster[first]
        return np.where(near.is_twin, otherwise, labels)

    def _excludes_metric(self) -> str:
        if self.affinity == "precomputed":
            return 'with affinity="precomputed" X has similarities and no columns'
        return ""

    def _learn_metric(self, X: Any, side: SideInformation) -> None:
        """Learned from the scaled columns; the map then scales too."""
        # Sparse rows are refused there; scaling could make them dense here.
        excluded = sparse.issparse(X) or self._excludes_metric()
        if self.metric is None or self.scaling is None or excluded:
            super()._learn_metric(X, side)
            return
        scaled = Scaling.of(X, self.scaling)
        super()._learn_metric(scaled.apply(X), side)
        if self._map is not None:
            self._map = self._map.after(scaled.shift, scaled.scale)

    def _attraction(self, row: Ints, cluster: Ints, shared: Floats) -> Floats:
        """The attraction of each cluster, given the similarity of its rows to a new row."""
        return shared

    def _largest(self) -> int:
        """The cluster of rows that are like no other and have no nearest one."""
        return int(np.bincount(self._known_labels()).argmax())

    def _points(self, X: Any, side: SideInformation, seed: int) -> Points:
        """The points to fit; on Dask rows are scaled before they are condensed."""
        self._scaled = None
        if not isinstance(X, Blocks):
            return super()._points(X, side, seed)
        if self.affinity == "precomputed":
            raise DataError(
                'affinity="precomputed" takes the similarities of all rows at once, and X is a '
                "Dask array. Give the rows and another affinity, or a sparse matrix in memory."
            )
        as_it_is = self._map is not None or X.n_samples <= most_points()
        if self.scaling is None or as_it_is or sparse.issparse(X.take(np.array([0]))):
            return super()._points(X, side, seed)  # which refuses sparse rows
        self._scaled = Scaling.of(X, self.scaling)
        points = super()._points(self._scaled.apply(X), side, seed)
        self._flows_to(X)
        return points._replace(X=self._scaled.back(points.X))

    def _row_graph(
        self,
        X: Any,
        seed: int,
        n_classes: int,
        step: Callable[[], object],
        *,
        mass: Floats | None = None,
    ) -> "RowGraph":
        """Scale the rows and build their graph; ``n_classes`` are labelled."""
        if self.n_clusters is not None and X.shape[0] < self.n_clusters:
            raise DataError(
                f"X has n_samples={X.shape[0]}, fewer than n_clusters={self.n_clusters}; "
                "ask for fewer clusters or give more rows."
            )
        if self.affinity == "precomputed":
            return RowGraph.given(X, seed)
        return RowGraph.of(
            X,
            self._n_neighbors(X.shape[0], n_classes),
            affinity=self.affinity,
            bandwidth=self.bandwidth,
            ties=self.neighbor_ties,
            scaling=self._scaled or (self.scaling if self._map is None else None),
            seed=seed,
            step=step,
        )._replace(mass=mass)

    def _n_neighbors(self, n_samples: int, n_classes: int) -> int:
        """Number of neighbours of each of n rows, given the number of labelled classes."""
        return int(self.n_neighbors)

    def _keep_rows(self, rows: "RowGraph") -> None:
        """Leave graph_, n_neighbors_, bandwidth_, and what `predict` needs."""
        self.graph_, self.bandwidth_ = rows.graph, rows.bandwidth
        self.n_neighbors_ = rows.n_neighbors
        self._rows = rows._replace(graph=None)


class Near(NamedTuple):
    """New rows beside the fitted ones."""

    similar: sparse.csr_array  # (new rows, fitted rows)
    nearest: Ints  # fitted row, -1 where none is known
    is_twin: NDArray[np.bool_]  # whether the nearest one is equal


class RowGraph(NamedTuple):
    """Rows, their neighbour graph, and what is needed to compare new rows with them."""

    graph: Any  # a csr_array; None when it is kept elsewhere
    X: Any = None  # the rows, scaled; None for given similarities
    scaling: "Scaling | None" = None
    affinity: str = "precomputed"
    bandwidth: float = math.nan
    n_neighbors: int = 0
    scales: Floats | None = None  # of the rows, for the locally scaled weights
    seed: int = 0
    all_equal: bool = False
    mass: Floats | None = None  # how many rows each stands for; None: one

    def by_mass(self, graph: sparse.csr_array) -> sparse.csr_array:
        """A graph of these rows in which the edges of a representative count for its rows.

        The edge of two representatives counts for as many rows as the smaller one has, so that a
        single row beside it has edges like those that it has among rows.
        """
        if self.mass is None:
            return graph
        count = np.minimum(self.mass[_rows_of(graph)], self.mass[graph.indices])
        return sparse.csr_array((graph.data * count, graph.indices, graph.indptr), graph.shape)

    @property
    def metric(self) -> Any:
        """The distance by which neighbours were found."""
        return _metric(self.affinity)

    @classmethod
    def given(cls, X: Any, seed: int) -> "RowGraph":
        """Similarities that were computed elsewhere."""
        return cls(check_graph(X), seed=seed)

    @classmethod
    def of(
        cls,
        X: Any,
        n_neighbors: int,
        *,
        affinity: str,
        bandwidth: float | str,
        ties: str,
        scaling: "str | Scaling | None",
        seed: int,
        step: Callable[[], object],
    ) -> "RowGraph":
        """The rows, scaled, and their graph; ``step`` is called now and then."""
        scaled = Scaling.of(X, scaling) if isinstance(scaling, str) else scaling
        X = X if scaled is None else scaled.apply(X)
        found = nearest_neighbors(
            X,
            n_neighbors,
            metric=_metric(affinity),
            ties="keep" if ties == "keep" else "lowest",
            random_state=seed,
            progress=lambda done, of: step(),
        )
        graph = join_neighbors(found)
        rows = cls(graph, X, scaled, affinity, math.nan, n_neighbors, seed=seed)
        if affinity == "gaussian":
            auto = bandwidth == "auto"
            rows = rows._replace(
                bandwidth=median_bandwidth(graph.data) if auto else float(bandwidth)
            )
        elif affinity == "local":
            rows = rows._replace(scales=local_scales(found))
        all_equal = X.shape[0] > 1 and not graph.data.any() and _one_row(X)
        distances = graph.data
        graph.data = rows._weights(distances, _rows_of(graph), graph.indices, rows.scales)
        if len(distances) and not graph.data.any():
            _warn_no_similarity(affinity, rows.bandwidth, distances)
        graph.eliminate_zeros()
        return rows._replace(all_equal=all_equal)

    def near(self, X: Any) -> Near:
        """New rows beside the fitted ones: similarities, the nearest one, whether it is equal."""
        nearest = np.full(X.shape[0], -1)
        is_twin = np.zeros(X.shape[0], dtype=bool)
        if self.X is None:
            similar = sparse.csr_array(X)
            similar.data = np.maximum(similar.data, 0.0)
            return Near(similar, nearest, is_twin)
        X = X if self.scaling is None else self.scaling.apply(X)
        metric = _metric(self.affinity)
        found = query_neighbors(X, self.X, self.n_neighbors, metric=metric, random_state=self.seed)
        some = np.flatnonzero(np.diff(found.indptr))
        nearest[some] = found.indices[found.indptr[some]]
        # The cosine of a row with itself is 1 but for rounding.
        is_twin[some] = found.distances[found.indptr[some]] <= (1e-15 if metric == "cosine" else 0)
        scales = local_scales(found) if self.affinity == "local" else None
        weights = self._weights(found.distances, _rows_of(found), found.indices, scales)
        shape = (X.shape[0], self.X.shape[0])
        similar = sparse.csr_array((weights, found.indices, found.indptr), shape=shape)
        return Near(similar, nearest, is_twin)

    def similarity(self, i: Ints, j: Ints) -> Floats:
        """The similarity of any two fitted rows; cosines may be below zero here."""
        if self.X is None:
            return entries(self.graph, i, j)
        distances = pair_distances(self.X, i, j, metric=_metric(self.affinity))
        if self.affinity == "cosine":
            return 1.0 - distances
        return self._weights(distances, i, j, self.scales)

    def _weights(self, distances: Floats, row: Ints, column: Ints, scales: Floats | None) -> Floats:
        """Similarities from distances of rows, which have ``scales``, and fitted rows."""
        if self.affinity == "cosine":
            return np.maximum(1.0 - distances, 0.0)
        if scales is None or self.scales is None:
            return gaussian_weights(distances, self.bandwidth)
        weights = np.empty(len(distances))
        own_scales = self.scales

        def portion(start: int, stop: int) -> None:
            part = slice(start, stop)
            weights[part] = local_weights(
                distances[part], scales[row[part]], own_scales[column[part]]
            )

        in_parts(portion, len(distances), _PORTION)
        return weights


class Scaling(NamedTuple):
    """The offset and the divisor of each column."""

    shift: Floats
    scale: Floats

    @classmethod
    def of(cls, X: Any, how: str) -> "Scaling":
        """To mean 0 and deviation 1 ("z-score"), or to [0, 1] ("min-max")."""
        shift, scale = _mean_and_deviation(X) if how == "z-score" else _low_and_range(X)
        return cls(shift, np.where(scale > 0, scale, 1.0))

    def back(self, X: Any) -> Any:
        """Scaled rows as they were."""
        return X * self.scale + self.shift

    def apply(self, X: Any) -> Any:
        """The rows, scaled; sparse ones stay sparse where zeros stay zeros."""
        if isinstance(X, Blocks):
            return X.mapped(self.apply)
        if not sparse.issparse(X):
            return (X - self.shift) / self.scale
        if self.shift.any():
            return (X.toarray() - self.shift) / self.scale
        X = sparse.csr_array(X)
        return sparse.csr_array((X.data / self.scale[X.indices], X.indices, X.indptr), X.shape)


def _metric(affinity: str) -> Any:
    return "cosine" if affinity == "cosine" else "euclidean"


def _rows_of(lists: Any) -> Ints:
    """The row of each entry of a CSR matrix, or of lists of neighbours."""
    return np.repeat(np.arange(len(lists.indptr) - 1), np.diff(lists.indptr))


def entries(graph: sparse.csr_array, i: Ints, j: Ints) -> Floats:
    """Entries of a sparse matrix with sorted rows."""
    n = graph.shape[1]
    keys = np.append(_rows_of(graph) * n + graph.indices, -1)
    place = np.searchsorted(keys[:-1], i * n + j)
    return np.where(keys[place] == i * n + j, np.append(graph.data, 0.0)[place], 0.0)


def _one_row(X: Any) -> bool:
    """Whether all rows are equal."""
    if sparse.issparse(X):
        return bool((X.max(axis=0) != X.min(axis=0)).nnz == 0)
    return bool((X[0] == X).all())


def _warn_no_similarity(affinity: str, bandwidth: float, distances: Floats) -> None:
    if affinity == "cosine":
        text = (
            "no two neighbours point in a similar direction (every cosine is zero or negative); "
            "every row stays alone."
        )
    else:
        text = (
            f"every similarity is zero: bandwidth={bandwidth:g} is far too small for data whose "
            f"neighbours are {distances.min():.3g} to {distances.max():.3g} apart (median "
            f"{np.median(distances):.3g}); give a bandwidth of that size, or 'auto'."
        )
    warn(text, UserWarning)


def _low_and_range(X: Any) -> tuple[Floats, Floats]:
    if isinstance(X, Blocks):
        low, high = (np.array(ends, dtype=np.float64) for ends in X.sum(_ends, None))
        return low.min(axis=0), high.max(axis=0) - low.min(axis=0)
    ends = [X.min(axis=0), X.max(axis=0)]
    low, high = (np.asarray(e.toarray() if sparse.issparse(e) else e, float) for e in ends)
    return low.ravel(), (high - low).ravel()


def _ends(block: Block, _: None) -> tuple[list[Any], list[Any]]:
    return [block.X.min(axis=0)], [block.X.max(axis=0)]  # type: ignore[union-attr]


def _sums(block: Block, _: None) -> tuple[int, Any]:
    return len(block.X), np.asarray(block.X, dtype=np.float64).sum(axis=0)


def _squares(block: Block, mean: Floats) -> tuple[Any]:
    return (((np.asarray(block.X, dtype=np.float64) - mean) ** 2).sum(axis=0),)


def _mean_and_deviation(X: Any) -> tuple[Floats, Floats]:
    if isinstance(X, Blocks):
        n, total = X.sum(_sums, None)
        (squares,) = X.sum(_squares, total / n)
        return total / n, np.sqrt(squares / n)
    if sparse.issparse(X):
        # Scikit-learn gives the precision of X, in which squares of float32 overflow.
        mean, variance = mean_variance_axis(X.astype(np.float64, copy=False), axis=0)
        return mean, np.sqrt(variance)
    X = np.asarray(X, dtype=np.float64)
    return X.mean(axis=0), X.std(axis=0)
