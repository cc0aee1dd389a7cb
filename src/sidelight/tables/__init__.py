"""The users' own tables: CSV, TSV, Parquet, .npy, .npz and .h5ad, read and written by column."""

from sidelight.tables._columns import as_texts
from sidelight.tables._h5ad import Expression, open_h5ad, read_expression, write_cells
from sidelight.tables._preparation import Preparation, Prepared, prepare
from sidelight.tables._reader import PreparedColumn
from sidelight.tables._table import Table, as_table, check_output, read_table

__all__ = [
    "Expression",
    "Preparation",
    "Prepared",
    "PreparedColumn",
    "Table",
    "as_table",
    "as_texts",
    "check_output",
    "open_h5ad",
    "prepare",
    "read_expression",
    "read_table",
    "write_cells",
]
