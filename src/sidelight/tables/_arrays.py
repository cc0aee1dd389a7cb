"""Files of numpy arrays (.npy, .npz)."""

from pathlib import Path

import numpy as np

from sidelight.exceptions import DataError
from sidelight.tables._columns import UNREADABLE, Column, Contents, check_header, numbered


def read_arrays(path: Path) -> Contents:
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            parts = {"X": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except UNREADABLE as error:
        raise DataError(f"{path} is no file of plain numpy arrays ({error}).") from None
    if {"data", "indices", "indptr"} <= set(parts):
        raise DataError(
            f"{path} holds a sparse matrix, which is no table; cluster it in Python, where models "
            "take CSR matrices (sidelight.datasets.load reads such files)."
        )
    X = parts.get("X")
    if X is None or X.ndim != 2 or X.dtype.kind not in "fiub":
        came = ", ".join(f"{key} {part.shape}" for key, part in parts.items())
        raise DataError(
            f"{path} holds {came}; it must hold numbers in rows and columns, in an .npz file as X."
        )
    given = parts.get("feature_names", np.empty(0))
    names = [str(n) for n in given] if len(given) == X.shape[1] else numbered(X.shape[1])
    check_header(path, names)
    columns: dict[str, Column] = {name: X[:, k] for k, name in enumerate(names)}
    truth, aside = parts.get("y"), "y" if "y" not in columns else "class"
    if truth is None or truth.shape != (len(X),) or aside in columns:
        return Contents(columns, len(X))
    classes = parts.get("class_names")
    if classes is None or truth.dtype.kind not in "iu":
        columns[aside] = truth if truth.dtype.kind in "iuf" else list(map(str, truth))
    else:
        columns[aside] = [str(classes[k]) if 0 <= k < len(classes) else None for k in truth]
    return Contents(columns, len(X), (aside,))
