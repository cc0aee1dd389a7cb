"""Approximate neighbours of many rows: faiss' inverted lists, tuned by measuring their recall.

Inverted lists and not a navigable graph (HNSW), whose build depends on the number of threads.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.blocks import n_threads

RECALL = 0.97
_SAMPLE = 1_000  # rows on which the recall is measured: a standard error below half a per cent
_BATCH = 65_536  # rows between two reports of progress


def ivf_candidates(
    X: NDArray[Any],
    queries: NDArray[Any] | None,
    n_candidates: int,
    *,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[np.int64]:
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
    asked = rows if queries is None else _single(queries, mean)
    found = np.empty((len(asked), n_candidates), dtype=np.int64)
    with _faiss_threads():
        index = _lists(rows, seed)
        index.nprobe = _probes(index, rows, asked, n_candidates, seed)
        for start in range(0, len(asked), _BATCH):
            part = slice(start, start + _BATCH)
            found[part] = index.search(asked[part], n_candidates)[1]
            if progress is not None:
                progress(min(start + _BATCH, len(asked)), len(asked))
    return found


def _single(X: NDArray[Any], mean: NDArray[np.float64]) -> NDArray[np.float32]:
    rows = np.empty(X.shape, dtype=np.float32)
    return np.subtract(X, mean, out=rows, casting="unsafe")


def _lists(rows: NDArray[np.float32], seed: int) -> Any:
    """The index: about 4 √n lists around centres that k-means finds on a sample."""
    import faiss

    n, d = rows.shape
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, max(1, min(int(4 * n**0.5), n // 40)))
    index.cp.seed = seed % 2**31
    # 50 rows for each centre and ten iterations: more cost seconds and do not change the recall.
    index.cp.max_points_per_centroid = 50
    index.cp.min_points_per_centroid = 1
    index.cp.niter = 10
    index.train(rows)
    index.add(rows)
    return index


def _probes(
    index: Any, rows: NDArray[np.float32], asked: NDArray[np.float32], k: int, seed: int
) -> int:
    """How many lists to look through, so that the recall on a sample of queries is enough."""
    import faiss

    chosen = np.random.default_rng(seed).permutation(len(asked))[:_SAMPLE]
    sample = np.ascontiguousarray(asked[np.sort(chosen)])
    flat = faiss.IndexFlatL2(rows.shape[1])
    flat.add(rows)
    # By distance and not by number: which of several equally near rows is found does not matter.
    farthest = flat.search(sample, k)[0][:, -1:] * (1 + 1e-5)
    n_probes = 2
    while n_probes < index.nlist:
        index.nprobe = n_probes
        if (index.search(sample, k)[0] <= farthest).mean() >= RECALL:
            return n_probes
        n_probes += max(1, n_probes // 2)
    return int(index.nlist)


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
