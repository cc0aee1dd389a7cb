"""The users' own tables: CSV, TSV, Parquet, .npy, .npz and .h5ad, read and written by column."""

from sidelight.tables._h5ad import open_h5ad
from sidelight.tables._preparation import Preparation, Prepared, PreparedColumn, prepare
from sidelight.tables._table import Table, as_table, check_output, read_table

__all__ = [
    "Preparation",
    "Prepared",
    "PreparedColumn",
    "Table",
    "as_table",
    "check_output",
    "open_h5ad",
    "prepare",
    "read_table",
]
