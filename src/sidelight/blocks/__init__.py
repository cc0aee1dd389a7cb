"""The rows of a data set, block by block: one map-and-sum for arrays, CSR, memory maps and Dask."""

from sidelight.blocks._blocks import (
    BLOCK_ROWS,
    Block,
    Blocks,
    CSRRows,
    RowEntries,
    as_blocks,
    is_dask,
    part_of,
)
from sidelight.blocks._cluster import Cluster, active_client, setting
from sidelight.blocks._dask import check_dask, check_sizes, lazily
from sidelight.blocks._threads import in_order, in_parts, n_threads, one_blas_thread, threads

__all__ = [
    "BLOCK_ROWS",
    "Block",
    "Blocks",
    "CSRRows",
    "Cluster",
    "RowEntries",
    "active_client",
    "as_blocks",
    "check_dask",
    "check_sizes",
    "in_order",
    "in_parts",
    "is_dask",
    "lazily",
    "n_threads",
    "one_blas_thread",
    "part_of",
    "setting",
    "threads",
]
