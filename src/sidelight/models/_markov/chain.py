"""Rows as states of a Markov chain: kernels on all pairs or on neighbours, or a given matrix."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from sidelight import _memory
from sidelight._kernels import aggregate as kernels
from sidelight.blocks import in_order
from sidelight.exceptions import DataError
from sidelight.graph import join_neighbors, nearest_neighbors, query_neighbors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TILE = 512  # rows of the dense kernel that are computed at a time
# The exact elimination costs n³; above this size a sparse factorisation takes over.
_MOST_ELIMINATED = 1_000
# Steps that the sparse chain may have on few rows, where k neighbours of each are not enough: they
# hold but 20 to 70 % of the kernel's mass on sets of 150 to 400 rows. So many are all of 512 rows.
_STEPS = 2**18


class CSR(NamedTuple):
    """A sparse matrix as kernels take it."""

    data: Floats
    indices: NDArray[np.int32]
    indptr: Ints

    @classmethod
    def of(cls, matrix: Any) -> "CSR":
        """The parts of a matrix in CSR form."""
        return cls(matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64))


class Chain(NamedTuple):
    """A stationary Markov chain, as the joint J of two successive states.

    J[i, j] = pi_i P_ij, an array or a CSR matrix; Jt is its transpose, the same object where the
    chain is reversible. pi are the masses of the states; where some are zero, because the chain
    leaves these states for ever, P is kept to tell where it goes.
    """

    J: Any
    Jt: Any
    pi: Floats
    P: Any = None

    @property
    def n_states(self) -> int:
        """The number of states."""
        return len(self.pi)

    @property
    def is_reversible(self) -> bool:
        """Whether J is symmetric."""
        return self.J is self.Jt

    @property
    def is_dense(self) -> bool:
        """Whether J is an array."""
        return not isinstance(self.J, CSR)

    def matrix(self, *, transposed: bool = False) -> Any:
        """J, or its transpose, as something that can be multiplied."""
        J = self.Jt if transposed else self.J
        if self.is_dense:
            return J
        return sparse.csr_array(tuple(J), shape=(self.n_states, self.n_states))


# From data


def dense_chain(
    X: Any, n_neighbors: int, count_self: bool, mass: Floats | None = None
) -> tuple[Chain, float]:
    """The kernel on all pairs of rows, and its sigma.

    mass: how many rows each stands for. A step counts for as many as the smaller of its ends has.
    """
    _check_memory(X.shape[0])
    distances = _squared_distances(X)
    sigma = _mean_nearest(distances, n_neighbors, count_self)

    def weigh(tile: int) -> None:
        here = distances[tile * _TILE : (tile + 1) * _TILE]
        with np.errstate(over="ignore"):  # infinitely distant rows have no similarity
            np.divide(here, -sigma, out=here)
        np.exp(here, out=here)
        if mass is not None:
            here *= np.minimum(mass[tile * _TILE : (tile + 1) * _TILE, None], mass)

    _for_tiles(weigh, len(distances))
    return _reversible(distances), sigma


def _check_memory(n_rows: int) -> None:
    """Refuse an array of all pairs that memory does not hold, before it is asked for."""
    needed, free = 8 * n_rows**2, _memory.available()
    if free is not None and needed > free:
        raise DataError(
            f"the dense chain of {n_rows:,} rows needs {_memory.in_words(needed)} of memory, and "
            f"{_memory.in_words(free)} are free. chain='sparse' steps between neighbours only and "
            "needs a small share of that; 'auto' chooses it above 2,000 rows."
        )


def sparse_chain(
    X: Any, n_neighbors: int, count_self: bool, seed: int, mass: Floats | None = None
) -> tuple[Chain, float]:
    """The kernel on the neighbour graph, the diagonal kept, and its sigma.

    Where all rows are neighbours it is the dense chain, as an array: shorter, and equal to the bit.
    """
    n = X.shape[0]
    if reach(n, n_neighbors) == n - 1:
        return dense_chain(X, n_neighbors, count_self, mass)
    found = nearest_neighbors(X, reach(n, n_neighbors), random_state=seed)
    graph = join_neighbors(found)
    k = min(n_neighbors, n - 1)
    place = np.arange(len(found.distances)) - np.repeat(found.indptr[:-1], np.diff(found.indptr))
    used = found.distances[place < k - count_self]  # neighbours come sorted
    total = float((used**2).sum())
    sigma = _positive(total / (n * k) if k else 1.0)
    graph.data = _kernel(graph.data**2, sigma)
    weights = sparse.csr_array(graph + sparse.eye_array(n, format="csr"))
    weights.sort_indices()
    if mass is not None:
        row = np.repeat(np.arange(n), np.diff(weights.indptr))
        weights.data *= np.minimum(mass[row], mass[weights.indices])
    return _reversible(weights), sigma


def reach(n_rows: int, n_neighbors: int) -> int:
    """To how many neighbours a row of the sparse chain steps: more than k while rows are few."""
    return min(n_rows - 1, max(n_neighbors, _STEPS // n_rows))


def _squared_distances(X: Any) -> Floats:
    """All squared distances, exactly symmetric, tile by tile above the diagonal."""
    if sparse.issparse(X):
        rows = sparse.csr_array(X, dtype=np.float64)
        lengths = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    else:
        rows = np.asarray(X, dtype=np.float64)
        rows = rows - rows.mean(axis=0)  # squared lengths lose digits far from the origin
        lengths = np.einsum("ij,ij->i", rows, rows)
    n = rows.shape[0]
    distances = np.empty((n, n))
    starts = [(a, b) for a in range(0, n, _TILE) for b in range(a, n, _TILE)]

    def fill(tile: int) -> None:
        a, b = starts[tile]
        product = rows[a : a + _TILE] @ rows[b : b + _TILE].T
        product = product.toarray() if sparse.issparse(product) else product
        product *= -2.0
        product += lengths[a : a + _TILE, None]
        product += lengths[b : b + _TILE]
        np.maximum(product, 0.0, out=product)
        if a == b:  # a product of a matrix with itself is symmetric only to rounding
            product = np.maximum(product, product.T)
            np.fill_diagonal(product, 0.0)
        distances[a : a + _TILE, b : b + _TILE] = product
        distances[b : b + _TILE, a : a + _TILE] = product.T

    for _ in in_order(fill, len(starts)):
        pass
    return distances


def _mean_nearest(distances: Floats, n_neighbors: int, count_self: bool) -> float:
    """sigma_k: the mean squared distance of a row to its k nearest, over all rows.

    The row itself is left out or, with ``count_self``, is one of the k.
    """
    n = len(distances)
    k = min(n_neighbors, n - 1)
    if k == 0:
        return 1.0
    n_nearest = k if count_self else k + 1  # in a row of distances the row itself comes first
    sums = np.empty(n)

    def add(tile: int) -> None:
        here = distances[tile * _TILE : (tile + 1) * _TILE]
        nearest = np.partition(here, n_nearest - 1, axis=1)[:, :n_nearest]
        sums[tile * _TILE : (tile + 1) * _TILE] = nearest.sum(axis=1)

    _for_tiles(add, n)
    return _positive(float(sums.mean() / k))


def _for_tiles(function: Any, n: int) -> None:
    for _ in in_order(function, -(-n // _TILE)):
        pass


def _positive(sigma: float) -> float:
    """Where all neighbours are equal, sigma is the least number: only equal rows are similar."""
    return max(sigma, float(np.finfo(np.float64).tiny))


def _kernel(squared: Floats, sigma: float) -> Floats:
    with np.errstate(over="ignore"):
        weights: Floats = np.exp(-squared / sigma)
    return weights


def _reversible(weights: Any) -> Chain:
    """The chain of symmetric similarities: pi is the share of a row's sum, exactly."""
    total = float(weights.sum())
    if sparse.issparse(weights):
        weights.data /= total
        pi = np.asarray(weights.sum(axis=1)).ravel()
        J: Any = CSR.of(weights)
    else:
        weights /= total
        pi = weights.sum(axis=1)
        J = weights
    return Chain(J, J, pi)


# From a given matrix


def similarity_chain(X: Any) -> Chain:
    """The chain of a symmetric matrix of similarities."""
    weights = _checked_matrix(X, "similarities")
    difference = abs(weights - weights.T)
    if difference.max() > 1e-8 * weights.max():
        i, j = np.unravel_index(int(difference.argmax()), weights.shape)
        raise DataError(
            f"X is not symmetric: the similarity of states {i} and {j} is {weights[i, j]}, and of "
            f"{j} and {i} it is {weights[j, i]}. Give the mean of X and its transpose, or, if X "
            "holds transitions, chain='transition'."
        )
    return _reversible((weights + weights.T) / 2)


def transition_chain(X: Any) -> Chain:
    """The chain of a matrix of transition probabilities, or of counts of transitions."""
    weights = _checked_matrix(X, "transitions")
    P = sparse.csr_array(weights)
    P.eliminate_zeros()
    P = sparse.csr_array(sparse.diags_array(1.0 / P.sum(axis=1)) @ P)
    pi = stationary_distribution(P)
    joint = sparse.csr_array(sparse.diags_array(pi) @ P)
    rest = P if (pi == 0).any() else None
    if sparse.issparse(X):
        joint.eliminate_zeros()
        return Chain(CSR.of(joint), CSR.of(joint.T.tocsr()), pi, rest)
    J = joint.toarray()
    return Chain(J, np.ascontiguousarray(J.T), pi, rest)


def _checked_matrix(X: Any, what: str) -> Any:
    """A square matrix of nothing below zero, in which every state leads somewhere."""
    if X.shape[0] != X.shape[1]:
        raise DataError(
            f"X has shape {X.shape}; a matrix of {what} has one row and one column per state. "
            "For rows of features leave chain at 'auto'."
        )
    matrix = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.array(X, float)
    refuse_negative(matrix, what)
    empty = np.flatnonzero(np.asarray(matrix.sum(axis=1)).ravel() == 0)
    if len(empty):
        named = ", ".join(map(str, empty[:5])) + (", …" if len(empty) > 5 else "")
        raise DataError(
            f"state {named} has no transition: all entries of its row of X are zero. Leave "
            "such states out, or let each lead to itself by a one on the diagonal."
        )
    return matrix


def refuse_negative(matrix: Any, what: str) -> None:
    """Raise an error that names the lowest entry of a matrix where it is below zero."""
    if matrix.min() < 0:
        i, j = np.unravel_index(int(matrix.argmin()), matrix.shape)
        raise DataError(
            f"X has {matrix[i, j]} at ({i}, {j}); {what} are zero or more. "
            "Shift or clip the values first."
        )


def stationary_distribution(P: sparse.csr_array) -> Floats:
    """The long-run share of time in each state, for a start in a state drawn uniformly.

    For an irreducible chain the start does not matter. Otherwise every recurrent class has its own
    distribution, weighted by the probability of ending there; states that are left for ever have
    none.
    """
    n = P.shape[0]
    _, class_of = csgraph.connected_components(P, directed=True, connection="strong")
    order = np.argsort(class_of, kind="stable")
    edges = P.tocoo()
    crosses = class_of[edges.row] != class_of[edges.col]
    is_left = np.zeros(class_of.max() + 1, dtype=bool)
    is_left[class_of[edges.row[crosses]]] = True
    transient = np.flatnonzero(is_left[class_of])
    arriving = np.full(n, 1.0 / n)
    if len(transient):
        stay = np.flatnonzero(~is_left[class_of])
        inside = sparse.eye_array(len(transient)) - P[transient][:, transient].T
        visits = sparse_linalg.splu(inside.tocsc()).solve(arriving[transient])
        arriving[stay] += P[transient][:, stay].T @ visits
        arriving[transient] = 0.0
    in_order_of_class = P[order][:, order]
    bounds = np.searchsorted(class_of[order], np.arange(len(is_left) + 1))
    pi = np.zeros(n)
    for number in np.flatnonzero(~is_left):
        a, b = bounds[number], bounds[number + 1]
        share = arriving[order[a:b]].sum()
        pi[order[a:b]] = share * (_of_class(in_order_of_class[a:b, a:b]) if b - a > 1 else 1.0)
    return pi / pi.sum()


def _of_class(P: sparse.csr_array) -> Floats:
    """The stationary distribution of an irreducible chain."""
    n = P.shape[0]
    masses = np.empty(n)
    if n <= _MOST_ELIMINATED:
        kernels.eliminate_states(P.toarray(), masses)
        return masses
    balance = sparse.csc_array(sparse.eye_array(n) - P.T)
    masses[-1] = 1.0
    right = -balance[:-1, [n - 1]].toarray().ravel()
    masses[:-1] = np.maximum(sparse_linalg.splu(balance[:-1, :-1].tocsc()).solve(right), 0.0)
    return masses / masses.sum()


def settle(chain: Chain, labels: Ints, n_clusters: int, free: NDArray[np.bool_]) -> Ints:
    """Put states that are left for ever, where free, into the cluster where the walk ends up."""
    transient = np.flatnonzero((chain.pi == 0) & free)
    if chain.P is None or not len(transient):
        return labels
    fixed = np.flatnonzero((chain.pi > 0) | ~free)
    onto = chain.P[transient][:, fixed] @ one_hot(labels[fixed], n_clusters)
    inside = sparse.eye_array(len(transient)) - chain.P[transient][:, transient]
    ends = sparse_linalg.splu(inside.tocsc()).solve(np.asarray(onto))
    labels = labels.copy()
    labels[transient] = ends.argmax(axis=1)
    return labels


def one_hot(labels: Ints, n_clusters: int) -> Floats:
    """V, with a one in the column of each row's cluster."""
    V = np.zeros((len(labels), n_clusters))
    V[np.arange(len(labels)), labels] = 1.0
    return V


def mass_by(number: Ints, mass: Floats, n: int) -> Floats:
    """The sum of the masses with each number."""
    return np.asarray(np.bincount(number, mass, minlength=n), dtype=np.float64)


# New rows


def dense_votes(X_new: Any, X: Any, labels: Ints, n_clusters: int, sigma: float) -> Floats:
    """For each new row the share of its transitions to each cluster, up to a factor per row."""
    if sparse.issparse(X):
        new, old = (sparse.csr_array(rows, dtype=np.float64) for rows in (X_new, X))
    else:
        new = np.asarray(X_new.toarray() if sparse.issparse(X_new) else X_new, dtype=np.float64)
        mean = X.mean(axis=0, dtype=np.float64)
        new, old = new - mean, X - mean
    lengths = np.asarray((old.multiply(old) if sparse.issparse(old) else old**2).sum(axis=1))
    V = one_hot(labels, n_clusters)
    votes = np.empty((new.shape[0], n_clusters))

    def vote(tile: int) -> None:
        here = slice(tile * _TILE, (tile + 1) * _TILE)
        product = new[here] @ old.T
        product = product.toarray() if sparse.issparse(product) else product
        nearer = lengths.ravel() - 2.0 * product
        # The nearest row has weight 1, so that a row far from everything still has a neighbour.
        votes[here] = _kernel(nearer - nearer.min(axis=1, keepdims=True), sigma) @ V

    _for_tiles(vote, new.shape[0])
    return votes


def sparse_votes(
    X_new: Any, X: Any, labels: Ints, n_clusters: int, sigma: float, n_neighbors: int, seed: int
) -> Floats:
    """The same from the nearest of the old rows."""
    found = query_neighbors(X_new, X, n_neighbors, random_state=seed)
    row = np.repeat(np.arange(X_new.shape[0]), np.diff(found.indptr))
    nearest = found.distances[found.indptr[:-1]]  # neighbours come sorted
    weight = _kernel(found.distances**2 - nearest[row] ** 2, sigma)
    cell = row * n_clusters + labels[found.indices]
    n_cells = X_new.shape[0] * n_clusters
    return mass_by(cell, weight, n_cells).reshape(-1, n_clusters)
