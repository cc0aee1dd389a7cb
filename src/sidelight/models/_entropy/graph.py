"""What the models of structural entropy share: rows, their neighbour graph, and new rows.

A model scales the rows, joins neighbours in a graph, and finds clusters there; `predict` puts a new
row where it raises the objective of that partition least.
"""

import math
import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import check_x, prepare
from sidelight.exceptions import DataError
from sidelight.graph import (
    check_graph,
    gaussian_weights,
    join_neighbors,
    largest_distance,
    median_bandwidth,
    nearest_neighbors,
    pair_distances,
    query_neighbors,
)
from sidelight.models._base import SideClusterer
from sidelight.models._entropy import search as search
from sidelight.models._entropy.statements import Strengths
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class EntropyGraphModel(SideClusterer):
    """A model of the neighbour graph. A subclass has the parameters that are read here.

    These are n_clusters, affinity, bandwidth, n_neighbors, neighbor_ties, scaling and
    lowest_similarity.
    """

    n_clusters: int | None
    affinity: str
    bandwidth: float | str
    n_neighbors: int | str
    neighbor_ties: str
    scaling: str | None
    lowest_similarity: str

    takes_similarities: ClassVar[dict[str, Any]] = {"affinity": "precomputed"}
    takes_sparse = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster that takes each row of X at the lowest cost, judged by its neighbours.

        A row that stands in the fitted data is where its twin is. A row that is like no other goes
        to the cluster of the nearest one.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New data; with ``affinity="precomputed"`` the similarities of new rows (n_samples) and
            fitted rows (n_features).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = check_x(self, X, reset=False)
        nearest = np.full(X.shape[0], int(self._volume.argmax()))
        twin = np.zeros(X.shape[0], dtype=bool)
        if self.affinity == "precomputed":
            similar = sparse.csr_array(X)
            similar.data = np.maximum(similar.data, 0.0)
        else:
            metric: Any = "cosine" if self.affinity == "cosine" else "euclidean"
            found = query_neighbors(
                self._scaled(X), self._fit_X, self.n_neighbors_, metric=metric,
                random_state=self._seed,
            )  # fmt: skip
            some = np.flatnonzero(np.diff(found.indptr))
            nearest[some] = self.labels_[found.indices[found.indptr[some]]]
            # The cosine of a row with itself is 1 but for rounding.
            twin[some] = found.distances[found.indptr[some]] <= (1e-15 if metric == "cosine" else 0)
            shape = (X.shape[0], len(self.labels_))
            weights = self._weights(found.distances)
            similar = sparse.csr_array((weights, found.indices, found.indptr), shape=shape)
        labels = self._best_insertion(similar, nearest)
        return np.where(twin, nearest, labels)

    # The data and their graph

    def _begin(self, X: Any, y: Any, side: SideInformation | None) -> "Begun":
        """Check what came, scale the rows and build their graph."""
        X, side, seed = prepare(self, X, y, side)
        self._check_n_clusters(X.shape[0])
        fit = self._init_callback_context(max_subtasks=2)
        fit.call_on_fit_task_begin(estimator=self)
        X = self._fit_scaling(X)
        with Task(fit, "neighbours", self) as task:
            self._build_graph(X, seed, task, len(side.labelled_classes))
        return Begun(side, seed, self._strengths(X), fit)

    def _check_n_clusters(self, n_samples: int) -> None:
        if self.n_clusters is not None and n_samples < self.n_clusters:
            raise DataError(
                f"X has n_samples={n_samples}, fewer than n_clusters={self.n_clusters}; "
                "ask for fewer clusters or give more rows."
            )

    def _fit_scaling(self, X: Any) -> Any:
        self._shift, self._scale = None, None
        if self.scaling is None or self.affinity == "precomputed":
            return X
        shift, scale = _mean_and_deviation(X) if self.scaling == "z-score" else _low_and_range(X)
        self._shift, self._scale = shift, np.where(scale > 0, scale, 1.0)
        return self._scaled(X)

    def _scaled(self, X: Any) -> Any:
        if self._shift is None or self._scale is None:
            return X
        if not sparse.issparse(X):
            return (X - self._shift) / self._scale
        if self._shift.any():  # zeros do not stay zeros
            return (X.toarray() - self._shift) / self._scale
        X = sparse.csr_array(X)
        return sparse.csr_array((X.data / self._scale[X.indices], X.indices, X.indptr), X.shape)

    def _build_graph(self, X: Any, seed: int, task: "Task", n_classes: int) -> None:
        """Leave graph_, n_neighbors_, bandwidth_, and the rows for `predict`.

        ``n_classes`` are labelled, for the choice of the number of neighbours.
        """
        n = X.shape[0]
        self._seed = seed
        self._all_equal = False
        self.bandwidth_ = math.nan
        if self.affinity == "precomputed":
            self.n_neighbors_ = 0
            self.graph_ = check_graph(X)
            return
        self._fit_X = X
        self.n_neighbors_ = self._n_neighbors(n, n_classes)
        graph = join_neighbors(
            nearest_neighbors(
                X,
                self.n_neighbors_,
                metric="cosine" if self.affinity == "cosine" else "euclidean",
                ties="keep" if self.neighbor_ties == "keep" else "lowest",
                random_state=seed,
                progress=lambda done, of: task.step(),
            )
        )
        if self.affinity == "gaussian":
            auto = self.bandwidth == "auto"
            self.bandwidth_ = median_bandwidth(graph.data) if auto else float(self.bandwidth)
        self._all_equal = n > 1 and not graph.data.any() and _one_row(X)
        distances, graph.data = graph.data, self._weights(graph.data)
        if len(distances) and not graph.data.any():
            _warn_no_similarity(self.affinity, self.bandwidth_, distances)
        graph.eliminate_zeros()
        self.graph_ = graph

    def _n_neighbors(self, n_samples: int, n_classes: int) -> int:
        """How many neighbours each of n rows names, of which so many classes are labelled."""
        return int(self.n_neighbors)

    def _weights(self, distances: Floats) -> Floats:
        if self.affinity == "cosine":
            return np.maximum(1.0 - distances, 0.0)
        return gaussian_weights(distances, self.bandwidth_)

    def _strengths(self, X: Any) -> Strengths:
        """Similarities of any two rows, and the highest and lowest of all."""
        graph = self.graph_
        highest = float(graph.data.max(initial=0.0))
        if self.affinity == "precomputed":
            lowest = 0.0
            if graph.nnz == graph.shape[0] * (graph.shape[0] - 1) and graph.nnz:
                lowest = float(graph.data.min())
            return Strengths(lambda i, j: _entries(graph, i, j), highest, lowest)
        metric: Any = "cosine" if self.affinity == "cosine" else "euclidean"

        def similarity(i: Ints, j: Ints) -> Floats:
            distances = pair_distances(X, i, j, metric=metric)
            if metric == "cosine":
                return 1.0 - distances
            return gaussian_weights(distances, self.bandwidth_)

        if self.lowest_similarity == "zero":
            return Strengths(similarity, highest, 0.0)
        return Strengths(similarity, highest, self._lowest(X, metric))

    def _lowest(self, X: Any, metric: Any) -> float:
        """The lowest similarity of two rows."""
        if metric == "cosine":
            return 1.0 - largest_distance(X, metric=metric)
        # Beyond five bandwidths a similarity is zero for all purposes, below 2e-11.
        largest = largest_distance(X, enough=5 * self.bandwidth_)
        return float(np.exp(-((largest / self.bandwidth_) ** 2)))

    def _fit_X_or_graph(self) -> Any:
        return self.graph_ if self.affinity == "precomputed" else self._fit_X

    # The partition and new rows

    def _keep_modules(self, level: search.Level, labels: Ints, n_modules: int) -> search.Modules:
        """Leave what `predict` needs of a partition."""
        modules = search.modules_of(level, labels, n_modules)
        self._volume, self._cut = modules.volume, modules.cut
        self._total, self._floor = level.total, level.floor
        return modules

    def _best_insertion(self, similar: sparse.csr_array, otherwise: Ints) -> Ints:
        """For each row of similarities the cheapest module among those of its neighbours."""
        n_modules = self.n_clusters_
        of = sparse.csr_array(
            (np.ones(len(self.labels_)), (np.arange(len(self.labels_)), self.labels_)),
            shape=(len(self.labels_), n_modules),
        )
        shared = sparse.csr_array(similar @ of)
        shared.eliminate_zeros()
        shared.sort_indices()
        row = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
        degree = np.bincount(row, shared.data, minlength=shared.shape[0])[row]
        module = shared.indices
        volume, cut = self._volume[module], self._cut[module]
        rise = self._cost(volume + degree, cut + degree - 2 * shared.data)
        rise = rise - self._cost(volume, cut)
        best = np.lexsort((module, rise, row))
        first = np.flatnonzero(np.diff(row[best], prepend=-1))
        labels = otherwise.copy()
        labels[row[best][first]] = module[best][first]
        return labels

    def _cost(self, volume: Floats, cut: Floats) -> Floats:
        inside = volume * np.log2(np.where(volume > 0, volume, 1.0))
        cost: Floats = inside - cut * np.log2(np.maximum(volume, self._floor) / self._total)
        return cost


class Begun(NamedTuple):
    """What a fit knows when it has its graph."""

    side: SideInformation
    seed: int
    strengths: Strengths
    context: Any  # of the callbacks, for tasks


class Task:
    """A part of the fit that callbacks can follow, step by step."""

    def __init__(self, parent: Any, name: str, model: Any) -> None:
        self._context = parent.subcontext(task_name=name, max_subtasks=None)
        self._model = model

    def __enter__(self) -> Self:
        self._context.call_on_fit_task_begin(estimator=self._model)
        return self

    def step(self) -> bool:
        """One more step is done; true if a callback wants to stop."""
        iteration = self._context.subcontext(task_name="iteration")
        iteration.call_on_fit_task_begin(estimator=self._model)
        return bool(iteration.call_on_fit_task_end(estimator=self._model))

    def __exit__(self, *exception: object) -> None:
        if exception[0] is None:
            self._context.call_on_fit_task_end(estimator=self._model)


def _entries(graph: sparse.csr_array, i: Ints, j: Ints) -> Floats:
    """Entries of a sparse matrix with sorted rows."""
    n = graph.shape[1]
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    keys = np.append(row * n + graph.indices, -1)
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
    warnings.warn(text, UserWarning, stacklevel=4)


def _low_and_range(X: Any) -> tuple[Floats, Floats]:
    ends = [X.min(axis=0), X.max(axis=0)]
    low, high = (np.asarray(e.toarray() if sparse.issparse(e) else e, float) for e in ends)
    return low.ravel(), (high - low).ravel()


def _mean_and_deviation(X: Any) -> tuple[Floats, Floats]:
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        return mean.astype(np.float64), np.sqrt(variance.astype(np.float64))
    X = np.asarray(X, dtype=np.float64)
    return X.mean(axis=0), X.std(axis=0)
