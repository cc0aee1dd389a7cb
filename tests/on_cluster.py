"""Two workers in processes of their own, and rows that they read by themselves."""

import dask.array as da
import numpy as np
from distributed import LocalCluster

from sidelight.blocks import BLOCK_ROWS

N = 4 * BLOCK_ROWS + 77


def some_rows(start, stop):
    """Rows as a file would give them: the same ones whoever reads, and whenever."""
    truth = np.arange(start, stop) * 7919 % 3
    noise = np.random.default_rng(start).normal(size=(stop - start, 4))
    return noise + 3.0 * truth[:, None]


def rows_of_blocks(n_rows, rows_per_chunk):
    """A Dask array that is read where it is needed, block by block."""

    def read(block_info=None):
        first, last = block_info[None]["array-location"][0]
        starts = range(first, last, BLOCK_ROWS)
        return np.concatenate([some_rows(a, min(a + BLOCK_ROWS, last)) for a in starts])

    sizes = [min(rows_per_chunk, n_rows - a) for a in range(0, n_rows, rows_per_chunk)]
    return da.map_blocks(read, chunks=(tuple(sizes), (4,)), dtype=float, meta=np.empty((0, 0)))


def cluster_of(**options):
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        protocol="tcp",
        silence_logs=50,
        **options,
    )
