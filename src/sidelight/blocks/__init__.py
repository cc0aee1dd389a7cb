"""The rows of a data set, block by block: one map-and-sum for arrays, CSR and memory maps."""

from sidelight.blocks._blocks import BLOCK_ROWS, Block, Blocks, CSRRows, as_blocks
from sidelight.blocks._threads import n_threads, one_blas_thread, threads

__all__ = [
    "BLOCK_ROWS",
    "Block",
    "Blocks",
    "CSRRows",
    "as_blocks",
    "n_threads",
    "one_blas_thread",
    "threads",
]
