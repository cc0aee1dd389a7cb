"""Data sets by name: from files that the user has, or from scikit-learn's own copies."""

import os
import re
import zlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from sidelight.datasets._catalogue import ENTRIES, Entry, Size
from sidelight.datasets._recipes import Arrays
from sidelight.exceptions import DataError, DatasetNotFoundError

_SPARSE = ("data", "indices", "indptr", "shape")

# What numpy raises for files that are empty, cut off, no archive, a lone array, or pickled.
_UNREADABLE = (ValueError, OSError, EOFError, AttributeError, TypeError, BadZipFile, zlib.error)


class Dataset(NamedTuple):
    """A data set with its truth.

    ``X`` is an array (n_samples, n_features), or CSR for sparse sets; ``y`` holds class numbers
    0 ... K-1, and ``class_names[y]`` the names; ``feature_names`` may be empty.

    Examples
    --------
    >>> from sidelight.datasets import load
    >>> data = load("wine")
    >>> data
    Dataset('wine': 178 x 13, 3 classes)
    >>> str(data.class_names[data.y][0])
    'cultivar_1'
    """

    X: Any
    y: npt.NDArray[np.int64]
    class_names: npt.NDArray[np.str_]
    feature_names: npt.NDArray[np.str_]
    name: str
    variant: str | None

    def __repr__(self) -> str:
        n, d = self.X.shape
        variant = f", variant={self.variant!r}" if self.variant else ""
        return f"Dataset({self.name!r}{variant}: {n} x {d}, {len(self.class_names)} classes)"


class DatasetInfo(NamedTuple):
    """One line of the list of data sets; ``variant`` is None for the file as it is.

    Examples
    --------
    >>> from sidelight.datasets import list_datasets
    >>> next(info.n_samples for info in list_datasets() if info.name == "wine")
    178
    """

    name: str
    variant: str | None
    n_samples: int
    n_features: int
    n_classes: int
    paper: str | None
    what: str
    needs_file: bool


def list_datasets() -> list[DatasetInfo]:
    """The known data sets: names, variants, sizes, and the paper that used each variant.

    Returns
    -------
    list of DatasetInfo
        One per data set and variant, sorted by name. ``needs_file`` is False for the sets that
        come with scikit-learn. A list of named tuples is also what a data frame can be made from.

    Examples
    --------
    >>> from sidelight.datasets import list_datasets
    >>> [info.variant for info in list_datasets() if info.name == "ecoli"]
    [None, 'sscipa', 'plsi', 'comac']
    """
    infos = []
    for name in sorted(ENTRIES):
        entry = ENTRIES[name]
        needs_file = entry.bundled is None
        infos.append(DatasetInfo(name, None, *entry.size, None, entry.source, needs_file))
        for key, variant in entry.variants.items():
            size = variant.size or entry.size
            infos.append(DatasetInfo(name, key, *size, variant.paper, variant.what, needs_file))
    return infos


def load(
    name: str,
    variant: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a data set, unchanged or in the variant of a paper.

    Parameters
    ----------
    name : str
        One of `list_datasets`, or the name of your own file in the same format.
    variant : str, optional
        ``"sscipa"``, ``"plsi"``, ``"ssdpgmm"``, ``"sse"`` or ``"comac"`` for what that paper used
        (which may be the file as it is); a few sets have further ones, see `list_datasets`.
        Scaling that a paper's *method* does (SSE: min-max or standardisation) is left to the
        model.
    data_home : path, optional
        The folder with the files; by default the environment variable ``SIDELIGHT_DATA``, else
        ``sidelight`` in the user's data folder (``~/.local/share`` or ``XDG_DATA_HOME``).

    Returns
    -------
    Dataset
        X, y, class_names, feature_names, name, variant.

    Raises
    ------
    DatasetNotFoundError
        If there is no file; the message says what to put where.

    Notes
    -----
    The file ``<name>.npz`` is taken when it is there. Otherwise iris, wine, digits and
    breast_cancer come from scikit-learn, changed so that both sources give the same numbers:
    scikit-learn's iris differs from UCI's in three cells (``variant="sklearn"`` keeps them), and
    digits are the test rows of ``optdigits.npz``, in float32.

    A file holds ``X`` (n, d), or the parts of a CSR matrix ``data``, ``indices``, ``indptr`` and
    ``shape``; ``y`` (n,), class numbers from 0; ``class_names`` and ``feature_names``. Pickled
    objects are refused.

    Examples
    --------
    >>> from sidelight.datasets import load
    >>> load("wine", variant="sse")
    Dataset('wine', variant='sse': 175 x 13, 3 classes)
    """
    _check_name(name)
    home = _data_home(data_home)
    entry = ENTRIES.get(name)
    if entry is None:
        arrays = _own_file(name, variant, home)
    else:
        if variant is not None and variant not in entry.variants:
            raise DataError(_no_such_variant(name, variant, entry))
        arrays = _known(name, entry, home)
        if variant is not None:
            arrays = entry.variants[variant].recipe(arrays)
    return Dataset(*arrays, name, variant)


def _known(name: str, entry: Entry, home: Path) -> Arrays:
    """The whole data set, from its file or from scikit-learn."""
    path = home / f"{entry.file or name}.npz"
    if path.is_file():
        arrays = entry.part(_read(path))
    elif entry.bundled is not None:
        arrays = _bundled(name, entry)
    else:
        raise DatasetNotFoundError(_missing_file(name, entry, path))
    found = Size(arrays.X.shape[0], arrays.X.shape[1], len(arrays.class_names))
    if found != entry.size:
        raise DataError(
            f"{path} holds {_sizes(found)}, but the data set {name!r} has {_sizes(entry.size)}. "
            "Put the right file there, or give yours another name."
        )
    return arrays


def _own_file(name: str, variant: str | None, home: Path) -> Arrays:
    """A file that is not in the list."""
    path = home / f"{name}.npz"
    if not path.is_file():
        near = get_close_matches(name, ENTRIES, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise DatasetNotFoundError(
            f"No data set is called {name!r}, and there is no file {path}.{hint} "
            f"Known are {', '.join(sorted(ENTRIES))}; a file of your own must hold {_format()}."
        )
    if variant is not None:
        raise DataError(f"variant is {variant!r}, but {name!r} is your own file and has none.")
    return _read(path)


def _read(path: Path) -> Arrays:
    """The arrays of one file, checked."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            parts = {key: archive[key] for key in archive.files}
    except _UNREADABLE as error:
        raise DataError(f"{path} is not an .npz file of plain arrays ({error}).") from error
    dense, sparse = "X" in parts, all(key in parts for key in _SPARSE)
    named = "y" in parts and "class_names" in parts and "feature_names" in parts
    if not named or not (dense or sparse):
        raise DataError(f"{path} holds {', '.join(sorted(parts))}; it must hold {_format()}.")
    X = parts["X"] if dense else _csr(parts, path)
    y, classes, features = parts["y"], parts["class_names"], parts["feature_names"]
    if X.dtype.kind not in "fiu" or classes.ndim != 1 or features.ndim != 1:
        raise DataError(f"{path}: X must hold numbers, and the names must be in one dimension.")
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise DataError(f"{path}: X has shape {X.shape} and y {y.shape}; one y per row is needed.")
    if y.dtype.kind not in "iu" or y.min(initial=0) < 0 or y.max(initial=-1) >= len(classes):
        raise DataError(f"{path}: y must be class numbers from 0 to {len(classes) - 1}.")
    if len(features) not in (0, X.shape[1]):
        raise DataError(f"{path}: {len(features)} feature names for {X.shape[1]} columns.")
    return Arrays(X, y.astype(np.int64, copy=False), classes.astype(str), features.astype(str))


def _csr(parts: dict[str, npt.NDArray[Any]], path: Path) -> Any:
    from scipy.sparse import csr_array

    shape = tuple(int(n) for n in parts["shape"])
    try:
        X = csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        X.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{path} does not hold a valid CSR matrix ({error}).") from error
    return X


def _bundled(name: str, entry: Entry) -> Arrays:
    """scikit-learn's copy, with the names and types of the file."""
    from sklearn import datasets

    bunch = getattr(datasets, entry.bundled or "")()
    X = bunch.data.astype(np.float32) if name == "digits" else bunch.data
    classes = np.array([str(label) for label in bunch.target_names])
    if name == "wine":
        classes = np.array(["cultivar_1", "cultivar_2", "cultivar_3"])
    features = [feature.removesuffix(" (cm)") for feature in bunch.feature_names]
    names = np.array([re.sub(r"\W+", "_", feature) for feature in features])
    return entry.repair(Arrays(X, bunch.target.astype(np.int64), classes, names))


def _data_home(data_home: str | os.PathLike[str] | None) -> Path:
    """The folder of the data files."""
    if data_home is not None:
        return Path(data_home).expanduser()
    if os.environ.get("SIDELIGHT_DATA"):
        return Path(os.environ["SIDELIGHT_DATA"]).expanduser()
    user = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(user).expanduser() / "sidelight"


def _check_name(name: str) -> None:
    # A name becomes a file name: it may not lead out of the folder.
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise DataError(
            f"name is {name!r}; a data set's name has letters, digits, '_', '-' and '.' only. "
            "Give the folder as data_home."
        )


def _missing_file(name: str, entry: Entry, path: Path) -> str:
    hint = ""
    if name == "optdigits":
        hint = " Its test rows come with scikit-learn: load('digits') needs no file."
    return (
        f"The data set {name!r} needs the file {path.name}, which is not in {path.parent}. Put it "
        "there, or say where it is with data_home= or the environment variable SIDELIGHT_DATA. "
        f"It holds {_sizes(entry.size)} ({entry.source}), saved by numpy.savez as {_format()}."
        f"{hint}"
    )


def _no_such_variant(name: str, variant: str, entry: Entry) -> str:
    known = ", ".join(repr(key) for key in entry.variants) or "none"
    return f"variant is {variant!r}; {name!r} has the variants {known}; None is the unchanged file."


def _format() -> str:
    return (
        "the arrays X (n, d), or data, indices, indptr and shape of a CSR matrix; y (n,), class "
        "numbers from 0; class_names; feature_names (may be empty)"
    )


def _sizes(size: Size) -> str:
    return f"{size.n_samples} x {size.n_features} in {size.n_classes} classes"
