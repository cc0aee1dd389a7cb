"""The users' own tables: CSV, TSV, Parquet, .npy, .npz and .h5ad, read and written by column."""

from sidelight.tables._h5ad import open_h5ad
from sidelight.tables._table import Table, check_output, read_table

__all__ = ["Table", "check_output", "open_h5ad", "read_table"]
