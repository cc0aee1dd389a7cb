"""Nearest neighbours: exact for small or low-dimensional data, inverted lists for the rest.

Either way the search only proposes candidates. Their distances are computed again, in double
precision and one pair at a time, so that the answer does not depend on threads, blocks or the
order of a matrix product, and d(i, j) = d(j, i) to the last bit.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import neighbors as kernels
from sidelight.blocks import in_order, in_parts, n_threads, one_blas_thread
from sidelight.exceptions import DataError
from sidelight.graph._ivf import ivf_candidates

EXACT_ROWS = 20_000  # above this, inverted lists are faster than all pairs
_TREE_FEATURES = 4  # up to here a k-d tree beats them at any size
_DENSE_CELLS = 30_000_000  # up to this size a sparse matrix is searched faster as an array
_PRODUCT_FEATURES = 15  # above this, products beat scikit-learn's trees
_ROWS = 128  # rows whose products with all others are held at a time
_FEW = 64  # up to this number, sorted candidates are faster than a heap
_QUERY_CELLS = 10_000_000  # candidates held at a time

Metric = Literal["euclidean", "cosine"]
Ties = Literal["lowest", "keep"]
Method = Literal["auto", "exact", "ivf"]
Progress = Callable[[int, int], object]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Neighbors(NamedTuple):
    """For row i the neighbours ``indices[indptr[i]:indptr[i + 1]]``, the nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> found = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 2)
    >>> found.indices[found.indptr[2] : found.indptr[3]].tolist()
    [1, 0]
    """

    indptr: Ints
    indices: Ints
    distances: Floats


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: Metric = "euclidean",
    ties: Ties = "lowest",
    method: Method = "auto",
    random_state: int = 0,
    progress: Progress | None = None,
) -> Neighbors:
    """The nearest other rows of every row.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data, finite.
    n_neighbors : int
        The number of neighbours of each row; all other rows if there are fewer.
    metric : {"euclidean", "cosine"}, default="euclidean"
        The cosine distance is 1 − cos. A row of zeros has no direction, and no neighbours.
    ties : {"lowest", "keep"}, default="lowest"
        "lowest": among rows at the same distance, those with the lowest numbers are taken. "keep":
        all of them (including distances that differ only by rounding), which may be more than
        ``n_neighbors``; the search is then always exact.
    method : {"auto", "exact", "ivf"}, default="auto"
        Exact search (by scikit-learn up to 15 features and for sparse data, by matrix products
        otherwise), or inverted lists around faiss' centres with a recall of 97 % or more on a
        sample. "auto" is exact up to 20,000 rows, up to 4 features, and for sparse data, for which
        time then grows with the square of the rows: a projection to few columns first
        (TruncatedSVD) is faster, but changes the distances.
    random_state : int, default=0
        Seed of the inverted lists.
    progress : callable, optional
        Called as ``progress(rows_done, all_rows)`` now and then.

    Returns
    -------
    Neighbors
        ``indptr, indices, distances``: of each row the neighbours by distance, then by number.

    Examples
    --------
    >>> import numpy as np
    >>> found = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> found.indices.tolist(), found.distances.tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    rows, real = _prepare(X, metric)
    n = rows.n_samples
    k = min(n_neighbors, n - 1)
    if k < 1:
        return _in_all_rows(_nothing(n), real, X.shape[0])
    if ties == "keep":
        found = _exact(rows, None, k, keep=True, progress=progress)
    else:
        group, first = _equal_rows(rows)
        distinct = rows if len(first) == n else rows.take(first)
        found = _search(distinct, None, min(k, len(first) - 1), method, random_state, progress)
        if len(first) < n:
            found = _spread(found, group, len(first), k)
    return _in_all_rows(found, real, X.shape[0])


def query_neighbors(
    X_new: Any,
    X: Any,
    n_neighbors: int,
    *,
    metric: Metric = "euclidean",
    method: Method = "auto",
    random_state: int = 0,
) -> Neighbors:
    """The rows of X nearest to each row of X_new: for prediction.

    Parameters
    ----------
    X_new : array or CSR matrix of shape (n_queries, n_features)
        The rows whose neighbours are wanted; a row that is also in X finds itself there.
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows to find.
    n_neighbors, metric, method, random_state
        As in `nearest_neighbors`. "auto" is also exact for up to 1,000 new rows.

    Returns
    -------
    Neighbors
        With numbers of rows in X.

    Examples
    --------
    >>> import numpy as np
    >>> query_neighbors(np.array([[2.0]]), np.array([[0.0], [1.0], [4.0]]), 2).indices.tolist()
    [1, 0]
    """
    rows, real = _prepare(X, metric)
    asked, real_asked = _prepare(X_new, metric)
    k = min(n_neighbors, rows.n_samples)
    if k < 1 or not asked.n_samples:
        return _nothing(X_new.shape[0])
    if method == "auto" and asked.n_samples <= 1_000:  # building the lists would cost more
        method = "exact"
    found = _search(rows, asked, k, method, random_state, None)
    found = found._replace(indices=real[found.indices])
    counts = np.zeros(X_new.shape[0], dtype=np.int64)
    counts[real_asked] = np.diff(found.indptr)
    return found._replace(indptr=_indptr(counts))


def pair_distances(X: Any, i: Ints, j: Ints, *, metric: Metric = "euclidean") -> Floats:
    """Distances of pairs of rows, to the last bit those of `nearest_neighbors`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data.
    i, j : ndarray of int
        The rows of each pair.
    metric : {"euclidean", "cosine"}, default="euclidean"
        A row of zeros is at cosine distance 1 from all others.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> pair_distances(np.array([[0.0], [1.0], [3.0]]), np.array([0, 2]), np.array([2, 1])).tolist()
    [3.0, 2.0]
    """
    involved, places = np.unique(np.concatenate([i, j]), return_inverse=True)
    rows, real = _prepare(X[involved], metric)
    place = np.full(len(involved), -1, dtype=np.int64)
    place[real] = np.arange(len(real))
    first, second = place[places[: len(i)]], place[places[len(i) :]]
    distances = np.ones(len(i))
    there = (first >= 0) & (second >= 0)
    distances[there] = rows.distances_to(rows, first[there], second[there])
    return _true_distances(rows, distances)


def largest_distance(X: Any, *, metric: Metric = "euclidean", enough: float = np.inf) -> float:
    """The distance of the two rows that are farthest apart, or a bound above it.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data.
    metric : {"euclidean", "cosine"}, default="euclidean"
        As in `nearest_neighbors`.
    enough : float, default=inf
        The search may end with any two rows that are at least this far apart.

    Returns
    -------
    float
        Exact up to 20,000 rows. Above, the diagonal of the bounding box, and for the cosine 1 if
        no value is negative and 2 otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> largest_distance(np.array([[0.0], [1.0], [3.0]]))
    3.0
    """
    n = X.shape[0]
    if n > EXACT_ROWS:
        if metric == "cosine":
            return 2.0 if X.min() < 0 else 1.0
        low, high = (_as_row(end) for end in (X.min(axis=0), X.max(axis=0)))
        return float(np.sqrt(((high - low) ** 2).sum()))
    data, real = X, np.arange(n)
    if sparse.issparse(X) or metric == "cosine":
        rows, real = _prepare(X, metric)
        data = rows.X
    if len(real) < 2:
        return 1.0 if metric == "cosine" and n > 1 else 0.0
    if not sparse.issparse(data):  # products lose digits far away
        data = np.subtract(data, data.mean(axis=0, dtype=np.float64), order="C")
    # Of rows of length 1, 1 - cos is half the squared distance.
    squared = _largest_squared(data, 2 * enough if metric == "cosine" else enough**2)
    if metric == "cosine":
        return max(squared / 2, 1.0 if len(real) < n else 0.0)
    return float(np.sqrt(squared))


def _largest_squared(data: Any, enough: float) -> float:
    """The largest squared distance of two rows (or one that is enough), without most pairs.

    Two rows are no farther apart than the sum of their lengths. So the longest rows come first,
    and each block is only compared with rows that are long enough to be farther from it than the
    best pair so far.
    """
    length = _lengths(data)
    order = np.argsort(-length, kind="stable")
    data, length = data[order], length[order]
    squares = length**2
    largest, start, size = 0.0, 0, 32  # a few rows at first, for a bound
    with one_blas_thread():
        while start < len(length) and largest < enough:
            # Rounding must not leave out a pair that is as far apart as its lengths allow.
            shortest = (1 - 1e-9) * largest**0.5 - length[start]
            stop = int(np.searchsorted(-length, -shortest, side="right"))
            if stop <= start:
                break
            part = slice(start, min(start + size, stop))
            product = data[part] @ data[start:stop].T  # each pair once
            product = product.toarray() if sparse.issparse(product) else product
            product *= -2.0
            product += squares[start:stop]
            largest = max(largest, float((product.max(axis=1) + squares[part]).max()))
            start, size = start + size, 256
    return largest


def _as_row(values: Any) -> Floats:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, float).ravel()


# The rows as the search takes them


class _Rows(NamedTuple):
    """Rows to search: as they are, or of length 1 for the cosine."""

    X: Any
    is_cosine: bool

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Ints) -> "_Rows":
        return _Rows(self.X[rows], self.is_cosine)

    def distances_to(self, other: "_Rows", i: Ints, j: Ints) -> Floats:
        """Distances of pairs of rows; squared unless cosine."""
        out = np.empty(len(i))
        if sparse.issparse(self.X):
            parts = [
                part
                for X in (self.X, other.X)
                for part in (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
            ]
            kernels.pair_distances_csr(*parts, i, j, self.is_cosine, out)
        else:
            kernels.pair_distances(self.X, other.X, i, j, self.is_cosine, out)
        return out


def _prepare(X: Any, metric: Metric) -> tuple[_Rows, Ints]:
    """The rows that have neighbours at all, and their numbers in X."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if X.shape[0] * X.shape[1] <= _DENSE_CELLS:
            X = X.toarray()
        elif not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X)
        X = X if X.flags.writeable else X.copy()  # kernels are compiled once, for writable arrays
    real = np.arange(X.shape[0])
    if metric == "cosine":
        length = _lengths(X)
        real = np.flatnonzero(length > 0)
        X, length = (X, length) if len(real) == len(length) else (X[real], length[real])
        X = _divided(X, length)
    return _Rows(X, metric == "cosine"), real


def _divided(X: Any, length: Floats) -> Any:
    if not sparse.issparse(X):
        return X / length[:, None]
    per_entry = np.repeat(length, np.diff(X.indptr))
    return sparse.csr_array((X.data / per_entry, X.indices, X.indptr), shape=X.shape)


def _lengths(X: Any) -> Floats:
    if sparse.issparse(X):
        return np.sqrt(np.asarray(X.power(2, dtype=np.float64).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def _equal_rows(rows: _Rows) -> tuple[Ints, Ints]:
    """The number of each row's group of equal rows, and the first row of each group."""
    n = rows.n_samples
    everyone = np.arange(n)
    if sparse.issparse(rows.X):
        return everyone, everyone
    key = np.empty(n, dtype=np.uint64)
    kernels.hash_rows(rows.X, rows.X.view(f"u{rows.X.itemsize}"), key)
    ascending = np.sort(key)
    if (ascending[1:] != ascending[:-1]).all():  # mostly: all rows differ
        return everyone, everyone
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)  # groups in the order of their first rows
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    first, group = first[order], number[group]
    twins = np.flatnonzero(first[group] != everyone)
    apart = twins[(rows.X[twins] != rows.X[first[group[twins]]]).any(axis=1)]
    group[apart] = len(first) + np.arange(len(apart))  # equal keys, different rows: by chance
    return group, np.append(first, apart)


# The search


def _search(
    rows: _Rows,
    asked: _Rows | None,
    k: int,
    method: Method,
    seed: int,
    progress: Progress | None,
) -> Neighbors:
    if k < 1:
        return _nothing(rows.n_samples)
    n, d = rows.X.shape
    if method == "ivf" and sparse.issparse(rows.X):
        raise DataError(
            f"method='ivf' needs an array, and X is sparse with {n:,} x {d:,} cells; use "
            "method='exact', or reduce X first (sklearn.decomposition.TruncatedSVD)."
        )
    is_small = n <= EXACT_ROWS or d <= _TREE_FEATURES or sparse.issparse(rows.X)
    if method == "exact" or (method == "auto" and is_small):
        return _exact(rows, asked, k, keep=False, progress=progress)
    n_candidates = min(k + (asked is None), n)
    candidates = ivf_candidates(
        rows.X, None if asked is None else asked.X, n_candidates, seed=seed, progress=progress
    )
    queries = rows if asked is None else asked
    indices = np.empty((len(candidates), k), dtype=np.int64)
    distances = np.empty((len(candidates), k))

    def part(start: int, stop: int) -> None:
        near, far = _by_distance(
            queries, rows, np.arange(start, stop), candidates[start:stop].astype(np.int64), asked
        )
        indices[start:stop], distances[start:stop] = near[:, :k], far[:, :k]

    in_parts(part, len(candidates), _portion_size(n_candidates))
    return _cut(rows, indices, distances)


def _exact(
    rows: _Rows, asked: _Rows | None, k: int, *, keep: bool, progress: Progress | None
) -> Neighbors:
    """Search for one more than needed; if the last ones cannot be distinguished, for more and more.

    Candidates are found by distances with rounding errors, which also break ties arbitrarily. So a
    row is finished only if every row outside its candidates is certainly farther than its last
    neighbour.
    """
    queries = rows if asked is None else asked
    n, n_queries = rows.n_samples, queries.n_samples
    X, Q = rows.X, queries.X
    if not sparse.issparse(X):
        mean = X.mean(axis=0, dtype=np.float64)
        X = np.subtract(X, mean, order="C")
        Q = X if asked is None else np.subtract(Q, mean, order="C")
    by_products = by_scikit_learn = None
    if not sparse.issparse(X) and X.shape[1] > _PRODUCT_FEATURES:
        by_products = _products_search(X, Q)  # None: no numbers for single precision
    parts: list[tuple[Ints, Ints, Ints, Floats]] = []
    open_rows, n_candidates, done = np.arange(n_queries), k + 1 + (asked is None), 0
    while len(open_rows):
        n_candidates = min(n_candidates, n)
        later = []
        for some in _portions(open_rows, n_candidates):
            find = by_products if n_candidates <= _FEW else None
            if find is None:
                find = by_scikit_learn = by_scikit_learn or _scikit_learn_search(X, Q)
            candidates, reach, doubt = find(some, n_candidates)
            indices, distances = _by_distance(queries, rows, some, candidates, asked)
            last = distances[:, k - 1]
            # Of rows of length 1, 1 - cos is half the squared distance.
            farthest = 2 * last if rows.is_cosine else last
            settled = (reach > farthest + doubt(farthest)) | (n_candidates == n)
            chosen = np.zeros(distances.shape, dtype=bool)
            if keep:
                chosen = distances <= last[:, None] * (1 + 1e-12)
            chosen[:, :k] = True
            chosen &= settled[:, None]
            parts.append(
                (some[settled], chosen[settled].sum(axis=1), indices[chosen], distances[chosen])
            )
            later.append(some[~settled])
            done += int(settled.sum())
            if progress is not None:
                progress(done, n_queries)
        open_rows, n_candidates = np.concatenate(later), 4 * n_candidates
    return _in_order(rows, parts, n_queries)


class _Candidates(NamedTuple):
    """Some of the nearest rows, and the squared distance up to which none is missing.

    ``doubt`` gives, for a squared distance, the largest possible rounding error.
    """

    indices: Ints
    reach: Floats
    doubt: Callable[[Floats], Floats]


def _scikit_learn_search(X: Any, Q: Any) -> Callable[[Ints, int], _Candidates]:
    """Search by trees, or of sparse rows by products, exact to about 1e-13 of the longest row."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_jobs=n_threads()).fit(X)
    doubt = 2e-12 * max(float(_lengths(X).max()), float(_lengths(Q).max())) ** 2

    def find(some: Ints, n_candidates: int) -> _Candidates:
        distances, indices = index.kneighbors(Q[some], n_candidates)
        return _Candidates(indices, distances[:, -1] ** 2, lambda last: np.full(len(last), doubt))

    return find


def _products_search(X: Floats, Q: Floats) -> Callable[[Ints, int], _Candidates] | None:
    """Search by matrix products in single precision: half the time of scikit-learn's.

    A product of d terms is off by d + 2 roundings of both lengths at most, and so a squared
    distance by 2 d + 8 of the squared sum of lengths. A row within the last neighbour's distance
    is no longer than the query and that distance.
    """
    length = _lengths(X)
    asked_length = length if Q is X else _lengths(Q)
    scale = float(length.max()) or 1.0  # squares of any size fit into single precision
    if not asked_length.max() < 1e15 * scale < np.inf:
        return None
    rows, squares = (X / scale).astype(np.float32), ((length / scale) ** 2).astype(np.float32)
    asked = rows if Q is X else (Q / scale).astype(np.float32)
    rounding = (2 * X.shape[1] + 12) * 2.0**-24

    def find(some: Ints, n_candidates: int) -> _Candidates:
        found = np.empty((len(some), n_candidates), dtype=np.int64)
        worst = np.empty(len(some), dtype=np.float32)

        def block(number: int) -> None:
            part = slice(number * _ROWS, (number + 1) * _ROWS)
            products = asked[some[part]] @ rows.T
            kernels.nearest_by_products(
                products, squares, found[part], worst[part],
                np.empty(n_candidates, dtype=np.float32),
            )  # fmt: skip

        for _ in in_order(block, -(-len(some) // _ROWS)):
            pass
        own = asked_length[some]
        reach = scale**2 * worst.astype(np.float64) + own**2
        return _Candidates(found, reach, lambda last: rounding * (own + np.sqrt(last)) ** 2)

    return find


def _portion_size(n_candidates: int) -> int:
    return max(1, min(_QUERY_CELLS // n_candidates, 16_384))


def _portions(rows: Ints, n_candidates: int) -> list[Ints]:
    size = _portion_size(n_candidates)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _by_distance(
    queries: _Rows, rows: _Rows, asked_rows: Ints, candidates: Ints, asked: _Rows | None
) -> tuple[Ints, Floats]:
    """Candidates sorted by exact distance, then by number; the row itself and −1 go to the end.

    The candidates are sorted where they are.
    """
    candidates = np.ascontiguousarray(candidates)
    i = np.repeat(asked_rows, candidates.shape[1])
    j = candidates.ravel()
    missing = j < 0
    if asked is None:
        missing |= i == j
    distances = queries.distances_to(rows, i, np.maximum(j, 0))
    distances[missing] = np.inf
    distances = distances.reshape(candidates.shape)
    kernels.sort_candidates(candidates, distances)
    return candidates, distances


# The answer


def _nothing(n: int) -> Neighbors:
    return Neighbors(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


def _indptr(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _true_distances(rows: _Rows, distances: Floats) -> Floats:
    """Distances from squared ones, in the same memory."""
    return distances if rows.is_cosine else np.sqrt(distances, out=distances)


def _cut(rows: _Rows, indices: Ints, distances: Floats) -> Neighbors:
    """Of a table with one line per row, what was found."""
    if np.isfinite(distances[:, -1]).all():  # the farthest of each row: nothing is missing
        counts = np.full(len(indices), indices.shape[1])
        indices, distances = indices.ravel(), distances.ravel()
    else:
        found = np.isfinite(distances)
        counts, indices, distances = found.sum(axis=1), indices[found], distances[found]
    return Neighbors(_indptr(counts), indices, _true_distances(rows, distances))


def _in_order(
    rows: _Rows, parts: list[tuple[Ints, Ints, Ints, Floats]], n_queries: int
) -> Neighbors:
    """Put together what was found for some rows at a time."""
    if len(parts) == 1:  # one portion, settled at once: already in order
        _, counts, indices, distances = parts[0]
        return Neighbors(_indptr(counts), indices, _true_distances(rows, distances))
    owner = np.concatenate([np.repeat(some, counts) for some, counts, _, _ in parts])
    order = np.argsort(owner, kind="stable")
    indices = np.concatenate([part[2] for part in parts])[order]
    distances = np.concatenate([part[3] for part in parts])[order]
    counts = np.bincount(owner, minlength=n_queries)
    return Neighbors(_indptr(counts), indices, _true_distances(rows, distances))


def _spread(found: Neighbors, group: Ints, n_groups: int, k: int) -> Neighbors:
    """From distinct rows to all rows: first the equal ones, then what the distinct row found."""
    n = len(group)
    members = np.argsort(group, kind="stable")
    member_indptr = _indptr(np.bincount(group, minlength=n_groups))
    indices = np.empty((n, k), dtype=np.int64)
    distances = np.empty((n, k))
    kernels.spread_to_equal_rows(*found, group, member_indptr, members, k, indices, distances)
    there = indices >= 0
    return Neighbors(_indptr(there.sum(axis=1)), indices[there], distances[there])


def _in_all_rows(found: Neighbors, real: Ints, n_samples: int) -> Neighbors:
    """With the numbers of all rows again; rows without direction have no neighbours."""
    if len(real) == n_samples:
        return found
    counts = np.zeros(n_samples, dtype=np.int64)
    counts[real] = np.diff(found.indptr)
    return Neighbors(_indptr(counts), real[found.indices], found.distances)
