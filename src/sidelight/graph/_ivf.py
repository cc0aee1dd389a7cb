"""Approximate neighbours of many rows: inverted lists around faiss' centres, searched by us.

A list holds the rows nearest to a centre, and a row is compared with all rows of the lists whose
centres are nearest to it; the number of lists is chosen by measuring the recall. These lists are
found around the row's own list, not among all. faiss finds the centres. It would also search the
lists, row by row; our search handles many rows that need the same list together, while that list is
in the cache: 5 instead of 12 s at 100,000 rows, when it was measured.

Inverted lists and not a navigable graph (HNSW), whose build depends on the number of threads.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import neighbors as kernels
from sidelight.blocks import in_order, n_threads

RECALL = 0.97
_SAMPLE = 1_000  # rows on which the recall is measured: a standard error of 0.2 per cent or less
_PORTION = 100  # of these rows are asked for at a time
_BATCH = 65_536  # rows between two reports of progress
_BLOCK = 1_024  # rows that search the lists together
_REACH = 512  # lists around a list from which its rows take the nearest, at first
_FILL = 16  # places in a list are a multiple of it, for vectors of any width

Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


def ivf_candidates(
    X: NDArray[Any],
    queries: NDArray[Any] | None,
    n_candidates: int,
    *,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
) -> Ints:
    """For each query (None: each row of X) the numbers of its nearest rows in X, −1 where missing.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows to find.
    queries : array of shape (n_queries, n_features), optional
        The rows whose neighbours are wanted.
    n_candidates : int
        How many, a row itself included.
    seed : int
        For the centres of the lists and for the sample that measures the recall.
    progress : callable, optional
        Called with the number of rows done and of all rows.

    Returns
    -------
    ndarray of shape (n_queries, n_candidates)
    """
    mean = X.mean(axis=0, dtype=np.float64)
    rows = _single(X, mean)  # centred: single precision loses digits far from the origin
    with _faiss_threads():
        lists = _Lists.of(rows, seed)
        asked = rows if queries is None else _single(queries, mean)
        # Put rows that search the same lists one after the other.
        home = lists.home if queries is None else lists.nearest(asked)
        order = np.argsort(home, kind="stable")
        n_sure = int(queries is None)  # a row always finds itself, which does not count
        around, n_probes = lists.probes_needed(rows, asked, home, n_candidates, n_sure, seed)
        small = np.int32 if len(rows) < 2**31 else np.int64
        found = np.empty((len(asked), n_candidates), dtype=small)
        for start in range(0, len(asked), _BATCH):
            part = order[start : start + _BATCH]
            found[part] = lists.search(asked[part], home[part], around, n_candidates, n_probes)
            if progress is not None:
                progress(min(start + _BATCH, len(asked)), len(asked))
    return found


def nearby_order(X: NDArray[Any], *, seed: int) -> Ints:
    """An order of the rows in which near rows are mostly close to each other.

    By some hundred cells around faiss' centres, and cells in the order of a tree of their centres.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least two rows.
    seed : int
        Of the centres.

    Returns
    -------
    ndarray of shape (n_samples,)
        Row numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([[0.0], [9.0]], (4, 1))
    >>> X[nearby_order(X, seed=0), 0].tolist() in ([0.0] * 4 + [9.0] * 4, [9.0] * 4 + [0.0] * 4)
    True
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    rows = _single(X, X.mean(axis=0, dtype=np.float64))
    n_cells = max(2, min(512, len(rows) // 1_000))
    with _faiss_threads():
        means = _k_means(rows, n_cells, 5, 50, seed)
        cell = means.index.search(rows, 1)[1][:, 0]
    place = np.empty(n_cells, dtype=np.int64)
    place[leaves_list(linkage(means.index.reconstruct_n(0, n_cells), "average"))] = np.arange(
        n_cells
    )
    return np.argsort(place[cell], kind="stable")


def micro_clusters(X: NDArray[Any], n_cells: int, *, seed: int, n_iter: int = 8) -> Ints:
    """Many small cells of near rows, by a few steps of faiss' k-means on a sample.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        More rows than cells.
    n_cells : int
        How many; some may stay empty and are left out.
    seed : int
        Of the sample and the first centres.
    n_iter : int, default=8
        Steps of k-means.

    Returns
    -------
    ndarray of shape (n_samples,)
        The cell of each row, numbered from 0 without gaps.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [90.0], [91.0], [92.0], [93.0]])
    >>> cell = micro_clusters(X, 2, seed=0)
    >>> bool(cell[0] == cell[3] != cell[4] == cell[7])
    True
    """
    rows = _single(X, X.mean(axis=0, dtype=np.float64))
    with _faiss_threads():
        cell = _k_means(rows, n_cells, n_iter, 64, seed).index.search(rows, 1)[1][:, 0]
    return np.unique(cell, return_inverse=True)[1].astype(np.int64)


def _k_means(rows: Singles, n_cells: int, n_iter: int, per_cell: int, seed: int) -> Any:
    """Train faiss' k-means on at most ``per_cell`` rows for each cell."""
    import faiss

    means = faiss.Kmeans(
        rows.shape[1], n_cells, niter=n_iter, seed=seed % 2**31,
        max_points_per_centroid=per_cell, min_points_per_centroid=1,
    )  # fmt: skip
    means.train(rows)
    return means


def _single(X: NDArray[Any], mean: NDArray[np.float64]) -> Singles:
    """Centred rows in single precision, with columns of zeros up to a multiple of four."""
    rows = np.zeros((X.shape[0], -(-X.shape[1] // 4) * 4), dtype=np.float32)
    np.subtract(X, mean, out=rows[:, : X.shape[1]], casting="unsafe")
    return rows


class _Lists(NamedTuple):
    """Rows by the centre that is nearest to them."""

    index: Any  # faiss', of the centres
    centres: Singles
    home: Ints  # the list of each row
    members: Ints  # rows by list, each filled up with −1
    first: Ints  # where a list starts in members
    columns: Singles  # the rows of each list, column by column
    squares: Singles  # their squared lengths

    @classmethod
    def of(cls, rows: Singles, seed: int) -> "_Lists":
        """About 4 √n lists around centres that k-means finds on a sample."""
        n, d = rows.shape
        n_lists = max(1, min(int(4 * n**0.5), n // 40))
        # 40 rows for each centre and five iterations: more takes seconds and does not find more.
        means = _k_means(rows, n_lists, 5, 40, seed)
        centres = means.index.reconstruct_n(0, n_lists)
        home = means.index.search(rows, 1)[1][:, 0]
        size = np.bincount(home, minlength=n_lists)
        first = np.concatenate([[0], np.cumsum(-(-size // _FILL) * _FILL)])
        members = np.full(first[-1], -1)
        by_list = np.argsort(home, kind="stable")
        filled = first[:-1] - (np.cumsum(size) - size)  # places that come before each list
        members[np.arange(n) + filled[home[by_list]]] = by_list
        columns = np.empty(len(members) * d, dtype=np.float32)
        squares = np.empty(len(members), dtype=np.float32)
        kernels.columns_of_lists(rows, members, first, centres, columns, squares)
        return cls(means.index, centres, home, members, first, columns, squares)

    def nearest(self, asked: Singles) -> Ints:
        """The list of each row."""
        nearest: Ints = self.index.search(asked, 1)[1][:, 0]
        return nearest

    def around(self, reach: int) -> Ints:
        """For each list the numbers of those with the nearest centres, itself among them."""
        around: Ints = self.index.search(self.centres, min(reach, len(self.centres)))[1]
        return around

    def probes_needed(
        self, rows: Singles, asked: Singles, home: Ints, k: int, n_sure: int, seed: int
    ) -> tuple[Ints, int]:
        """The number of lists to search for a sufficient recall on a sample of queries.

        Of the k nearest rows the first n_sure do not count, if there are others. And the lists
        around each list from which a row of it takes the nearest: as many as leave it a choice.
        """
        import faiss

        chosen = np.sort(np.random.default_rng(seed).permutation(len(asked))[:_SAMPLE])
        # In portions, since faiss checks for Ctrl-C only between thousands of queries.
        parts = np.array_split(chosen, max(1, len(chosen) // _PORTION))
        nearest = np.vstack([faiss.knn(asked[part], rows, k)[1] for part in parts])
        wanted = self.home[nearest[:, min(n_sure, k - 1) :]]
        reach = _REACH
        while True:
            around = self.around(reach)
            ranks = np.sort(self._ranks(around, asked[chosen], home[chosen], wanted), axis=None)
            n_probes = int(ranks[int(np.ceil(RECALL * len(ranks))) - 1]) + 1
            if 2 * n_probes <= reach or reach >= len(self.centres):
                return around, n_probes
            reach *= 2

    def _ranks(self, around: Ints, asked: Singles, home: Ints, wanted: Ints) -> Ints:
        """The places of the wanted lists by distance from the query; not around its own: the last.

        For each query a line of wanted lists.
        """
        last = len(self.centres) - 1
        place, ranks = np.full(len(self.centres), last), np.empty_like(wanted)
        for i, near in enumerate(around[home]):
            distance = ((self.centres[near] - asked[i]) ** 2).sum(axis=1)
            place[near[np.argsort(distance, kind="stable")]] = np.arange(len(near))
            ranks[i] = place[wanted[i]]
            place[near] = last
        return ranks

    def search(self, asked: Singles, home: Ints, around: Ints, k: int, n_probes: int) -> Ints:
        """The k nearest rows in the n_probes nearest lists of each query, the nearest first."""
        found = np.empty((len(asked), k), dtype=np.int64)
        n_lists, d = self.centres.shape
        reach = around.shape[1]
        longest = max(int(np.diff(self.first).max()), reach)
        room = 2 * k + 32  # for candidates

        def block(number: int) -> None:
            part = slice(number * _BLOCK, (number + 1) * _BLOCK)
            n = len(asked[part])
            kernels.scan_lists(
                asked[part], home[part], around, self.centres, self.columns, self.squares,
                self.first, found[part],
                np.empty((n, n_probes), dtype=np.int64), np.zeros(n, dtype=np.int64),
                np.full(n, np.inf, dtype=np.float32), np.empty((n, room), dtype=np.float32),
                np.empty((n, room), dtype=np.int32),
                np.empty((2, d), dtype=np.float32), np.empty((2, longest), dtype=np.float32),
                np.empty(reach * d, dtype=np.float32), np.empty(reach, dtype=np.int64),
                np.empty(max(reach, room), dtype=np.float32),
                np.zeros(n_lists + 1, dtype=np.int64), np.empty(n * n_probes, dtype=np.int64),
            )  # fmt: skip

        for _ in in_order(block, -(-len(asked) // _BLOCK)):
            pass
        return np.where(found < 0, -1, self.members[found])


@contextmanager
def _faiss_threads() -> Iterator[None]:
    """As many threads as sidelight uses; the setting is put back."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads())
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
