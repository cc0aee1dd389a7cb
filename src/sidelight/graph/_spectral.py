"""The spectral step: leading eigenvectors of the normalised adjacency of a sparse graph."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from sidelight.blocks import one_blas_thread

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DENSE_ROWS = 500  # up to here all eigenvectors of an array take no longer than Lanczos' few
_TOLERANCE = 1e-9  # of the residual: vectors are then exact to about 1e-9 over the eigengap
_SINGLE_TOLERANCE = 1e-5  # the same in single precision, which rounds to 6e-8
_NEAR = 1e-6  # entries that differ by less are equally large, when a sign is chosen


class Spectrum(NamedTuple):
    """Eigenvalues, the largest first, and one column for the eigenvector of each.

    Examples
    --------
    >>> from scipy import sparse
    >>> graph = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> leading_eigenvectors(graph, 2).vectors.shape
    (3, 2)
    """

    values: Floats
    vectors: Floats


def normalized_adjacency(graph: sparse.csr_array) -> sparse.csr_array:
    """S = D^−1/2 W D^−1/2 of a symmetric graph; D has the sums of the rows of W.

    Parameters
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric, weights zero or more, as `neighbor_graph` gives it.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric to the last bit. Rows without neighbours are zero.

    Examples
    --------
    >>> from scipy import sparse
    >>> normalized_adjacency(sparse.csr_array([[0.0, 4.0], [4.0, 0.0]])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    root = np.sqrt(_degrees(graph))
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    both = root[row] * root[graph.indices]
    data = np.divide(graph.data, both, out=np.zeros(len(both)), where=both > 0)
    return sparse.csr_array((data, graph.indices, graph.indptr), shape=graph.shape)


def leading_eigenvectors(
    graph: sparse.csr_array, n_vectors: int, *, single: bool = False
) -> Spectrum:
    """The eigenvectors of the normalised adjacency S with the largest eigenvalues.

    Parameters
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        The graph W, symmetric, weights zero or more, as `neighbor_graph` gives it; it may fall
        into parts and have rows without neighbours.
    n_vectors : int
        How many; all where there are fewer rows.
    single : bool, default=False
        Whether to iterate in single precision: half of the time, and vectors that are exact to
        about 1e-5 over the eigengap. Where that does not converge, double precision is used.

    Returns
    -------
    Spectrum
        ``values`` of shape (n_vectors,), the largest first, and ``vectors`` of shape (n_samples,
        n_vectors), orthonormal. The entry of largest size in each vector is above zero.

    Notes
    -----
    The eigenvalue 1 belongs to the components of the graph. Its vectors are known: the roots of the
    degrees inside one component, zero elsewhere, the component with the most rows first. So for a
    connected graph the first vector is the trivial one. The others are found separately in each
    component, because Lanczos iterations from one vector find an eigenvalue that several components
    share only once. They start from a fixed vector; up to 500 rows a dense solver is used. Rows
    without neighbours belong to the eigenvalue 0, and are zero in all vectors of others.

    The result is the same for any number of threads.

    Examples
    --------
    Two pairs of rows, joined weakly:

    >>> from scipy import sparse
    >>> W = sparse.csr_array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> values, vectors = leading_eigenvectors(W, 2)
    >>> values.round(3).tolist()
    [1.0, 0.909]
    >>> (vectors[:, 1] > 0).tolist()
    [True, True, False, False]
    """
    n_vectors = min(n_vectors, graph.shape[0])
    parts, alone = _components(graph)
    parts, n_left = parts[:n_vectors], n_vectors - len(parts)
    S, degree = normalized_adjacency(graph), _degrees(graph)
    trivial = [_unit(np.sqrt(degree[rows])) for rows in parts]
    found = [(1.0, rows, vector) for rows, vector in zip(parts, trivial, strict=True)]
    if n_left > 0:
        more = [(0.0, alone[i : i + 1], np.ones(1)) for i in range(min(n_left, len(alone)))]
        with one_blas_thread():  # sums in another order would be other bits
            for rows, vector in zip(parts, trivial, strict=True):
                inside = S if len(rows) == S.shape[0] else S[rows][:, rows]
                values, vectors = _beside(inside, vector, min(n_left, len(rows) - 1), single)
                more += [(v, rows, vectors[:, k]) for k, v in enumerate(values)]
        found += sorted(more, key=lambda pair: -pair[0])[:n_left]
    values, vectors = np.array([pair[0] for pair in found]), np.zeros((S.shape[0], len(found)))
    for k, (_, rows, vector) in enumerate(found):
        vectors[rows, k] = _with_sign(vector)
    return Spectrum(values, vectors)


def _degrees(graph: sparse.csr_array) -> Floats:
    return np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / np.linalg.norm(vector)
    return unit


def _components(graph: sparse.csr_array) -> tuple[list[Ints], Ints]:
    """The rows of each component that has edges, the largest first; and the rows without edges."""
    has_edges = _degrees(graph) > 0
    _, component = connected_components(graph, directed=False)
    size = np.bincount(component, has_edges)
    by_size = np.argsort(-size, kind="stable")  # equal ones by their first row
    order = np.argsort(component, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(component))[:-1])
    return [rows[c] for c in by_size[: int((size > 0).sum())]], np.flatnonzero(~has_edges)


def _beside(S: sparse.csr_array, known: Floats, n_vectors: int, single: bool) -> Spectrum:
    """The leading eigenvectors of a connected graph, except the first, which is known.

    S − 2 v v' moves its eigenvalue from 1 to −1, the lowest that there is.
    """

    def times(v: Floats) -> Floats:
        return np.asarray(S @ v - 2.0 * np.multiply.outer(known, known @ v))

    if single and _is_iterative(S.shape[0], n_vectors):
        T, first = S.astype(np.float32), known.astype(np.float32)
        try:
            found = _lanczos(
                lambda v: T @ v - (2.0 * (first @ v)) * first, S.shape[0], n_vectors,
                np.float32, _SINGLE_TOLERANCE,
            )  # fmt: skip
            return Spectrum(*(part.astype(np.float64) for part in found))
        except ArpackError:
            pass
    return largest_eigenvectors(times, S.shape[0], n_vectors)


def largest_eigenvectors(
    times: Callable[[Floats], Floats], n_samples: int, n_vectors: int
) -> Spectrum:
    """The eigenvectors with the largest eigenvalues of a symmetric matrix that is a function.

    Parameters
    ----------
    times : callable
        The product of the matrix with a vector (n_samples,), or with several (n_samples, m).
    n_samples : int
        The number of rows.
    n_vectors : int
        How many; all where there are fewer rows.

    Returns
    -------
    Spectrum
        By an array up to 500 rows; else by Lanczos iterations from a fixed vector, which see an
        eigenvalue that several parts of the matrix share only once. Call it inside
        `sidelight.blocks.one_blas_thread` for the same bits with any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> largest_eigenvectors(lambda v: 2.0 * v, 3, 1).values.tolist()
    [2.0]
    """
    n, n_vectors = n_samples, min(n_vectors, n_samples)
    if n_vectors == 0:
        return Spectrum(np.empty(0), np.empty((n, 0)))
    if not _is_iterative(n, n_vectors):
        full = times(np.eye(n))
        # By divide and conquer: the solver for a few of them fails where many are equal.
        values, vectors = linalg.eigh((full + full.T) / 2, driver="evd")
        return Spectrum(values[: -n_vectors - 1 : -1], vectors[:, : -n_vectors - 1 : -1])
    try:
        return _lanczos(lambda v: times(v.ravel()), n, n_vectors, np.float64, _TOLERANCE)
    except ArpackNoConvergence as stopped:
        values, vectors = stopped.eigenvalues, stopped.eigenvectors
        warnings.warn(
            f"{len(values)} of {n_vectors} eigenvectors of the graph converged; the others are "
            "left out. Ask for fewer, or for more neighbours.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return _sorted(values, vectors)


def _is_iterative(n_samples: int, n_vectors: int) -> bool:
    """Whether a few vectors of a large matrix are wanted."""
    return n_samples > _DENSE_ROWS and 0 < n_vectors < n_samples - 1


def _lanczos(
    times: Callable[[Any], Any], n_samples: int, n_vectors: int, dtype: Any, tolerance: float
) -> Spectrum:
    """Lanczos iterations from a fixed vector."""
    matrix = LinearOperator((n_samples, n_samples), matvec=times, dtype=dtype)
    start = np.random.default_rng(0).uniform(-1.0, 1.0, size=n_samples).astype(dtype)
    return _sorted(*eigsh(matrix, k=n_vectors, which="LA", v0=start, tol=tolerance))


def _sorted(values: Floats, vectors: Floats) -> Spectrum:
    order = np.argsort(-values, kind="stable")
    return Spectrum(values[order], vectors[:, order])


def _with_sign(vector: Floats) -> Floats:
    """The vector turned so that its largest entry, the first of those, is above zero."""
    size = np.abs(vector)
    first = int((size >= (1.0 - _NEAR) * size.max()).argmax())
    return -vector if vector[first] < 0 else vector
