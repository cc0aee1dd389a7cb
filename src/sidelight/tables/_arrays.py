"""Files of numpy arrays (.npy, .npz); only the needed arrays are read, if they fit in memory."""

import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sidelight import _memory
from sidelight.exceptions import DataError
from sidelight.tables._columns import UNREADABLE, Column, Contents, check_header, numbered

_NEEDED = ("X", "y", "class_names", "feature_names")
_SMALLER = (
    "Take fewer rows, or cluster it in Python as a memory map (numpy.load with mmap_mode) or a "
    "Dask array."
)
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_arrays(path: Path) -> Contents:
    try:
        parts = _read_members(path) if zipfile.is_zipfile(path) else {"X": _read_lone(path)}
    except DataError:
        raise
    except MemoryError as error:  # a limit of the process, such as ulimit -v
        raise DataError(f"{path} does not fit into memory ({error}). {_SMALLER}") from None
    except (*UNREADABLE, NotImplementedError, RuntimeError) as error:
        raise DataError(
            f"{path} is not a file of plain numpy arrays, or is damaged ({error})."
        ) from None
    X = parts["X"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        came = ", ".join(f"{key} {part.shape}" for key, part in parts.items())
        raise DataError(
            f"{path} holds {came}; it must hold numbers in rows and columns, in an .npz file as X."
        )
    given = parts.get("feature_names", np.empty(0))
    names = [str(n) for n in given] if given.shape == X.shape[1:] else numbered(X.shape[1])
    check_header(path, names)
    columns: dict[str, Column] = {name: X[:, k] for k, name in enumerate(names)}
    truth, aside = parts.get("y"), "y" if "y" not in columns else "class"
    if truth is None or truth.shape != (len(X),) or aside in columns:
        return Contents(columns, len(X))
    classes = parts.get("class_names")
    if classes is None or classes.ndim != 1 or truth.dtype.kind not in "iu":
        columns[aside] = truth if truth.dtype.kind in "iuf" else list(map(str, truth))
    else:
        columns[aside] = [str(classes[k]) if 0 <= k < len(classes) else None for k in truth]
    return Contents(columns, len(X), (aside,))


def _read_lone(path: Path) -> NDArray[Any]:
    with path.open("rb") as file:
        _check_memory(path, _claimed(path, "the array", file, os.path.getsize(path)))
        file.seek(0)
        lone: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return lone


def _read_members(path: Path) -> dict[str, NDArray[Any]]:
    """The members of an .npz file that a table is made of."""
    with zipfile.ZipFile(path) as archive:
        held = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if {"data", "indices", "indptr"} <= set(held):
            raise DataError(
                f"{path} holds a sparse matrix, not a table; cluster it in Python, where "
                "models take CSR matrices (sidelight.datasets.load reads such files)."
            )
        if "X" not in held:
            raise DataError(
                f"{path} holds {', '.join(held) or 'nothing'}; it must hold numbers in rows and "
                "columns, in an .npz file as X."
            )
        needed = {name: held[name] for name in _NEEDED if name in held}
        n_bytes = 0
        for name, info in needed.items():
            with archive.open(info) as file:
                n_bytes += _claimed(path, name, file, info.file_size)
        _check_memory(path, n_bytes)
        parts = {}
        for name, info in needed.items():
            with archive.open(info) as file:
                parts[name] = npy.read_array(file, allow_pickle=False)
    return parts


def _claimed(path: Path, name: str, file: IO[bytes], size: int) -> int:
    """The bytes of an array by its header, which the file must really hold."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"{name} has version {version} of numpy's format")
    shape, _, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise DataError(f"{path}: {name} is an array of Python objects; save numbers or texts.")
    n_bytes = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or n_bytes > size - file.tell():
        raise DataError(
            f"{path}: {name} claims to have the shape {shape}, and the file does not hold that "
            "much; it is damaged. Write it again."
        )
    return n_bytes


def _check_memory(path: Path, n_bytes: int) -> None:
    free = _memory.available()
    if free is not None and n_bytes > free:
        raise DataError(
            f"{path} needs {_memory.in_words(n_bytes)} of memory, and "
            f"{_memory.in_words(free)} are free. {_SMALLER}"
        )
