"""The development tables: prepared once, the same X for every method.

A table is cut to 800 random rows; classes with fewer than 5 of these are left out. Columns are
standardised and constant ones dropped. Above 100 columns, 50 principal components are taken.
Counts of RNA are scaled to the median depth and logged instead of standardised. Sentence embeddings
have unit length and stay as they are.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA

from experiments.runner import seed_of
from sidelight.datasets import load

SMALL = ("iris", "wine", "diabetes", "thyroid", "glass", "segmentation", "heart", "user")
MEDIUM = ("vertebral", "ecoli", "ionosphere", "breast", "australian")
LARGE = ("yeast", "satimage", "pendigits", "optdigits")
WIDE = ("yale", "orl", "coil20", "isolet1")
RNA = ("pbmc_10x", "mouse_bladder", "worm_neuron", "human_kidney")
TEXT = ("bank77",)
MANY_CLASSES = ("orl", "bank77")  # more than 30
TABLES = (*SMALL, *MEDIUM, *LARGE, *WIDE, *RNA, *TEXT)

MOST_ROWS = 800
FEWEST_ROWS_OF_A_CLASS = 5
MOST_COLUMNS = 100
COMPONENTS = 50


class Development(NamedTuple):
    """Rows that every method sees, and the truth that none sees."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1


@lru_cache(maxsize=4)
def development_table(name: str, draw: int) -> Development:
    """The rows of one draw of a table."""
    variant = "sscipa" if name == "breast" else None  # rows without gaps
    home = None
    if name in TEXT and "SIDELIGHT_DATA" in os.environ:
        home = Path(os.environ["SIDELIGHT_DATA"]) / "text"
    data = load(name, variant, data_home=home)
    kind = "rna" if name in RNA else "text" if name in TEXT else "table"
    return prepared(data.X, data.y, kind=kind, seed=seed_of(dataset=name, draw=draw))


def prepared(X: Any, y: NDArray[np.int64], *, kind: str, seed: int) -> Development:
    """Cut rows, leave small classes out, scale and reduce the columns."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(y))[:MOST_ROWS])
    sizes = np.bincount(y[rows], minlength=int(y.max()) + 1)
    rows = rows[sizes[y[rows]] >= FEWEST_ROWS_OF_A_CLASS]
    X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    if kind == "rna":
        depth = dense.sum(axis=1, keepdims=True)
        dense = np.log1p(dense / np.maximum(depth, 1.0) * np.median(depth))
    elif kind == "table":
        dense = dense[:, dense.std(axis=0) > 0]
        dense = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    if dense.shape[1] > MOST_COLUMNS:
        n_components = min(COMPONENTS, len(dense) - 1)
        dense = PCA(n_components, svd_solver="full").fit_transform(dense)
    return Development(np.ascontiguousarray(dense), y.astype(np.int64))
