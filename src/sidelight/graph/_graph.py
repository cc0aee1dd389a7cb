"""Neighbour graphs: symmetric CSR with the similarities of the rows that are near each other."""

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import neighbors as kernels
from sidelight.blocks import in_parts, n_threads
from sidelight.exceptions import DataError
from sidelight.graph._search import Method, Neighbors, Progress, Ties, nearest_neighbors

Rule = Literal["union", "mutual"]
Affinity = Literal["gaussian", "local", "cosine", "precomputed"]
Floats = NDArray[np.float64]

_PORTION = 50_000  # rows that a thread takes at a time, between two checks for an interrupt
_MOST_SHARES = 8  # each needs a number for every row


def neighbor_graph(
    X: Any,
    n_neighbors: int,
    *,
    affinity: Affinity = "gaussian",
    bandwidth: float | Literal["auto"] = "auto",
    rule: Rule = "union",
    ties: Ties = "lowest",
    method: Method = "auto",
    random_state: int = 0,
    progress: Progress | None = None,
) -> sparse.csr_array:
    """A weighted graph of the rows that are near each other.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data, or with ``affinity="precomputed"`` the graph itself, of shape (n_samples,
        n_samples): see `check_graph`; nothing else then matters.
    n_neighbors : int
        The number of neighbours of each row.
    affinity : {"gaussian", "local", "cosine", "precomputed"}, default="gaussian"
        exp(−d²/bandwidth²) of the Euclidean distance d; exp(−d²/(s_i s_j)) with a scale for each
        row, `local_scales`, its distance to the 7th neighbour; or the cosine. Neighbours whose
        cosine is negative or zero are not joined.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of joined rows.
    rule : {"union", "mutual"}, default="union"
        "union": two rows are joined if one is a neighbour of the other. "mutual": only if both are.
    ties, method, random_state, progress
        As in `nearest_neighbors`.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, weights above zero, no diagonal, sorted indices. Rows may have no neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> neighbor_graph(X, 1, bandwidth=1.0).toarray().round(3)
    array([[0.   , 0.368, 0.   ],
           [0.368, 0.   , 0.018],
           [0.   , 0.018, 0.   ]])
    >>> neighbor_graph(X, 1, rule="mutual").nnz
    2
    """
    if affinity == "precomputed":
        return check_graph(X)
    neighbors = nearest_neighbors(
        X,
        n_neighbors,
        metric="cosine" if affinity == "cosine" else "euclidean",
        ties=ties,
        method=method,
        random_state=random_state,
        progress=progress,
    )
    graph = join_neighbors(neighbors, rule)
    if affinity == "local":
        scales = local_scales(neighbors)
        row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        graph.data = local_weights(graph.data, scales[row], scales[graph.indices])
        return _only_positive(graph)
    if affinity == "cosine":
        graph.data = 1.0 - graph.data
        return _only_positive(graph)
    if bandwidth == "auto":
        bandwidth = median_bandwidth(graph.data)
    distances, graph.data = graph.data, gaussian_weights(graph.data, bandwidth)
    if len(distances) and not graph.data.any():
        warnings.warn(
            f"every similarity is zero: bandwidth={bandwidth:g} is far too small for data whose "
            f"neighbours are {distances.min():.3g} to {distances.max():.3g} apart (median "
            f"{np.median(distances):.3g}); give a bandwidth of that size, or 'auto'.",
            UserWarning,
            stacklevel=2,
        )
    return _only_positive(graph)


def join_neighbors(neighbors: Neighbors, rule: Rule = "union") -> sparse.csr_array:
    """Make neighbour lists symmetric: a graph of distances.

    Parameters
    ----------
    neighbors : Neighbors
        From `nearest_neighbors`.
    rule : {"union", "mutual"}, default="union"
        "union": two rows are joined if one is a neighbour of the other. "mutual": only if both are.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Sorted indices. The distance of equal rows is stored, as a zero.

    Examples
    --------
    >>> import numpy as np
    >>> found = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> join_neighbors(found).toarray()
    array([[0., 1., 0.],
           [1., 0., 2.],
           [0., 2., 0.]])
    """
    n = len(neighbors.indptr) - 1
    small = np.int32 if max(2 * len(neighbors.indices), n) < 2**31 else np.int64
    naming = _transposed(neighbors, small)  # sorted, since rows come in their order
    named = _transposed(naming, small)
    both = rule == "mutual"
    count = np.empty(n, dtype=np.int64)

    def rows(lists: Neighbors, start: int, stop: int) -> Neighbors:
        return lists._replace(indptr=lists.indptr[start : stop + 1])

    def count_part(start: int, stop: int) -> None:
        one, other = rows(named, start, stop), rows(naming, start, stop)
        kernels.count_joined(*one[:2], *other[:2], both, count[start:stop])

    in_parts(count_part, n, _PORTION)
    indptr = np.concatenate([[0], np.cumsum(count)]).astype(small)
    indices, data = np.empty(indptr[-1], dtype=small), np.empty(indptr[-1])

    def join_part(start: int, stop: int) -> None:
        one, other = rows(named, start, stop), rows(naming, start, stop)
        kernels.join_rows(*one, *other, both, indptr[start : stop + 1], indices, data)

    in_parts(join_part, n, _PORTION)
    return sparse.csr_array((data, indices, indptr), shape=(n, n))


def _transposed(lists: Neighbors, dtype: Any) -> Neighbors:
    """The rows whose lists contain each row, in their order.

    A thread takes a share of the lists; its entries come after those of the lists before.
    """
    n = len(lists.indptr) - 1
    # One type of numbers for both calls, so that the kernel is compiled once.
    lists = lists._replace(
        indptr=lists.indptr.astype(dtype, copy=False),
        indices=lists.indices.astype(dtype, copy=False),
    )
    size = max(-(-n // min(n_threads(), _MOST_SHARES)), _PORTION)
    n_shares = -(-n // size)
    places = np.empty((n_shares + 1, n), dtype=dtype)
    places[0] = 0
    for share, start in enumerate(range(0, n, size)):
        entries = slice(lists.indptr[start], lists.indptr[min(start + size, n)])
        places[share + 1] = np.bincount(lists.indices[entries], minlength=n)
    np.cumsum(places, axis=0, out=places)
    indptr = np.concatenate([[0], np.cumsum(places[-1], dtype=dtype)]).astype(dtype)
    places += indptr[:-1]
    indices, distances = np.empty(indptr[-1], dtype=dtype), np.empty(indptr[-1])

    def portion(begin: int) -> Callable[[int, int], None]:
        def of_share(share: int, _: int) -> None:
            start = share * size + begin
            stop = min(start + _PORTION, (share + 1) * size, n)
            kernels.transpose_rows(*lists, start, stop, places[share], indices, distances)

        return of_share

    for begin in range(0, size, _PORTION):  # so that Ctrl-C works
        in_parts(portion(begin), n_shares, 1)
    return Neighbors(indptr, indices, distances)


def gaussian_weights(distances: Floats, bandwidth: float) -> Floats:
    """exp(−d²/bandwidth²): similarities from distances, without a factor of 2.

    Parameters
    ----------
    distances : array
        Distances, zero or more.
    bandwidth : float
        The distance at which the similarity is 1/e.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> gaussian_weights(np.array([0.0, 10.0]), 10.0).round(3).tolist()
    [1.0, 0.368]
    """
    if not bandwidth > 0:
        raise DataError(f"bandwidth={bandwidth!r}; it is a distance, and has to be above zero.")
    weights: Floats = np.asarray(distances / bandwidth)
    np.square(weights, out=weights)
    np.negative(weights, out=weights)
    return np.exp(weights, out=weights)


def local_scales(neighbors: Neighbors, nth: int = 7) -> Floats:
    """The distance of each row to its ``nth`` neighbour: a scale that follows the density.

    Parameters
    ----------
    neighbors : Neighbors
        From `nearest_neighbors` or `query_neighbors`.
    nth : int, default=7
        Which neighbour; the last one of a row that has fewer.

    Returns
    -------
    ndarray of shape (n_samples,)
        Above zero. A row with as many copies takes the first neighbour that differs; where all are
        equal, or there are none, it takes the smallest scale of the others (1 if there is none).

    References
    ----------
    L. Zelnik-Manor and P. Perona. Self-tuning spectral clustering. NIPS 2004.

    Examples
    --------
    >>> import numpy as np
    >>> found = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 2)
    >>> local_scales(found, nth=1).tolist(), local_scales(found, nth=2).tolist()
    ([1.0, 1.0, 2.0], [3.0, 2.0, 3.0])
    """
    start, n_near = neighbors.indptr[:-1], np.diff(neighbors.indptr)
    row = np.repeat(np.arange(len(n_near)), n_near)
    n_equal = np.bincount(row[neighbors.distances <= 0], minlength=len(n_near))
    place = np.clip(np.maximum(nth - 1, n_equal), 0, n_near - 1)
    scales = np.zeros(len(n_near))
    some = n_near > 0
    scales[some] = neighbors.distances[(start + place)[some]]
    positive = scales > 0
    smallest = scales[positive].min() if positive.any() else 1.0
    return np.where(positive, scales, smallest)


def local_weights(distances: Floats, scales: Floats, other_scales: Floats) -> Floats:
    """exp(−d²/(s t)): similarities of pairs of rows that have a scale each, `local_scales`.

    Parameters
    ----------
    distances : array
        Distances of pairs, zero or more.
    scales, other_scales : array
        The scales of the two rows of each pair, above zero; exchanging the two gives the same bits.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> local_weights(np.array([2.0]), np.array([1.0]), np.array([4.0])).round(3).tolist()
    [0.368]
    """
    # A quotient at a time: the square of a tiny distance would be zero.
    weights: Floats = (distances / scales) * (distances / other_scales)
    np.negative(weights, out=weights)
    return np.exp(weights, out=weights)


def median_bandwidth(distances: Floats) -> float:
    """The median of the distances above zero, 1 if there are none: a bandwidth of the data's size.

    Parameters
    ----------
    distances : array
        Distances of neighbours.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> median_bandwidth(np.array([0.0, 1.0, 2.0, 9.0]))
    2.0
    """
    positive = distances
    if len(distances) and not distances.min() > 0:
        positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def check_graph(graph: Any, n_samples: int | None = None) -> sparse.csr_array:
    """A graph that was computed elsewhere, as `neighbor_graph` gives it.

    Parameters
    ----------
    graph : array or sparse matrix of shape (n_samples, n_samples)
        Similarities: symmetric, finite, zero or more. The diagonal is left out.
    n_samples : int, optional
        The number of rows that it has to have.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        A copy: symmetric, weights above zero, no diagonal, sorted indices.

    Examples
    --------
    >>> import numpy as np
    >>> check_graph(np.array([[1.0, 0.5], [0.5, 1.0]])).toarray()
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    given = sparse.coo_array(graph)
    n = given.shape[0] if n_samples is None else n_samples
    if given.shape != (n, n):
        raise DataError(
            f"the graph has shape {given.shape}; it has to be square, one row and one column for "
            f"each of the {n} rows of data."
        )
    if not np.isfinite(given.data).all() or (given.data < 0).any():
        raise DataError(
            f"the graph has weights from {given.data.min()} to {given.data.max()}; similarities "
            "have to be finite and zero or more (set negative ones to zero, or add a constant)."
        )
    off = given.row != given.col
    result = sparse.csr_array(
        (given.data[off].astype(np.float64), (given.row[off], given.col[off])), shape=(n, n)
    )
    difference = abs(result - result.T)
    if difference.nnz and difference.max() > 1e-8 * result.max():
        at = int(difference.argmax())
        i, j = divmod(at, n)
        raise DataError(
            f"the graph is not symmetric: weight ({i}, {j}) is {result[i, j]} and ({j}, {i}) is "
            f"{result[j, i]}; give graph.maximum(graph.T), or the mean of both."
        )
    if difference.nnz:  # symmetric but for rounding
        result = sparse.csr_array((result + result.T) / 2)
    return _only_positive(result)


def _only_positive(graph: sparse.csr_array) -> sparse.csr_array:
    if len(graph.data) and not graph.data.min() > 0:
        graph.data = np.maximum(graph.data, 0.0)
        graph.eliminate_zeros()
    graph.sort_indices()
    return graph
