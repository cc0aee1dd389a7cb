"""Cells (.h5ad), by anndata."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import DataError
from sidelight.tables._columns import (
    OBS_NAMES,
    UNREADABLE,
    Column,
    Contents,
    check_header,
    listed,
    numbered,
)

# Columns with the symbols of genes, for files in which genes are named by database ids.
_SYMBOLS = ("feature_name", "gene_symbols", "gene_symbol", "gene_name")


def open_h5ad(path: Path, **how: Any) -> Any:
    """Open a file of cells, or raise an error that says what is wrong with it.

    Parameters
    ----------
    path : path
        The .h5ad file.
    **how
        Passed to ``anndata.read_h5ad``; ``backed="r"`` leaves the matrix on disk.

    Returns
    -------
    AnnData

    Examples
    --------
    >>> from pathlib import Path
    >>> open_h5ad(Path("missing.h5ad"))
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DataError: ...
    """
    try:
        import anndata
    except ModuleNotFoundError:
        raise DataError('.h5ad files need anndata: pip install "sidelight[bio]"') from None
    try:
        return anndata.read_h5ad(path, **how)
    except (*UNREADABLE, KeyError) as error:
        raise DataError(f"{path} cannot be read as .h5ad: {error}") from None


def read_h5ad(path: Path, use_rep: str) -> Contents:
    """Names of cells, their annotations, and one representation; the matrix stays on disk."""
    adata = open_h5ad(path, backed="r")
    try:
        said = {str(name): _from_series(adata.obs[name]) for name in adata.obs.columns}
        names, X = _representation(path, adata, use_rep)
    finally:
        adata.file.close()
    columns: dict[str, Column] = {OBS_NAMES: adata.obs_names.astype(str).tolist(), **said}
    both = [name for name in names if name in columns]
    if both or OBS_NAMES in said:
        name = both[0] if both else OBS_NAMES
        raise DataError(f"{path}: {name!r} names two columns; rename the one in obs.")
    check_header(path, [*columns, *names])
    aside = tuple(columns)
    columns |= {name: X[:, k] for k, name in enumerate(names)}
    return Contents(columns, adata.n_obs, aside)


class Expression(NamedTuple):
    """Some rows of the matrix of an .h5ad file, and the names of its genes.

    Examples
    --------
    >>> Expression(np.arange(2), np.eye(2), ["CD3", "CD8"]).names
    ['CD3', 'CD8']
    """

    rows: NDArray[np.int64]
    X: Any
    names: list[str]


def read_expression(path: Path, *, limit: int) -> Expression | None:
    """The genes of a limited number of cells, always the same; None if the file has no matrix.

    Parameters
    ----------
    path : path
        The .h5ad file.
    limit : int
        The number of cells.

    Returns
    -------
    Expression or None
        Of ``raw``, where there is one, since ``X`` is then often scaled, or has few genes. Names
        are symbols of genes, where ``var`` has them.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_expression(Path("missing.h5ad"), limit=100)
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DataError: ...
    """
    adata = open_h5ad(path, backed="r")
    try:
        source = adata if adata.raw is None else adata.raw
        if source.X is None or not source.n_vars:
            return None
        rows = np.arange(adata.n_obs)
        if len(rows) > limit:
            rows = np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))
        X = source.X[rows]
        found = next((name for name in _SYMBOLS if name in source.var), None)
        names = source.var_names if found is None else source.var[found]
        return Expression(rows, X, [str(name) for name in names])
    finally:
        adata.file.close()


def _representation(path: Path, adata: Any, key: str) -> tuple[list[str], NDArray[Any]]:
    """The columns to cluster by, and their names."""
    if key in adata.obsm:
        X = np.asarray(adata.obsm[key])
        return numbered(X.shape[1], key), X
    if key != "X":
        raise DataError(
            f"{path} has no representation {key!r} in obsm; known: "
            f"{listed([*adata.obsm, 'X'], 10)}. Choose with --use-rep, or run scanpy.pp.pca first."
        )
    X = adata.X[:]
    if not isinstance(X, np.ndarray):
        raise DataError(
            f"{path}: X is a sparse matrix, not a table; run scanpy.pp.pca first, or cluster "
            "it in Python with sidelight.bio.cluster."
        )
    return adata.var_names.astype(str).tolist(), X


def _from_series(series: Any) -> Column:
    """A column of obs: numbers as they are, anything else as texts."""
    missing = series.isna().to_list()
    if series.dtype.kind in "iufb":
        if any(missing):  # whole numbers and truth values with gaps are a type of their own there
            return np.asarray(series.astype(object).where(series.notna(), np.nan), dtype=float)
        numbers = series.to_numpy()
        return numbers.astype(np.int8) if numbers.dtype.kind == "b" else numbers
    return [
        None if gap else str(value) for gap, value in zip(missing, series.to_list(), strict=True)
    ]


def write_cells(
    path: Path,
    X: Any,
    *,
    names: Sequence[str],
    cells: Sequence[Any],
    obs: Mapping[str, Any],
    obsm: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write rows of any table as an .h5ad file, for scanpy and the tools around it.

    Parameters
    ----------
    path : path
        The file; it must not exist.
    X : array of shape (n_cells, n_features)
        The numbers.
    names : sequence of str
        Names of the features.
    cells : sequence
        Names of the cells; they become texts.
    obs : dict
        Columns about the cells, by name: numbers, or texts and None, which become categories.
    obsm : dict, optional
        Arrays about the cells, such as a map.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "few.h5ad"
    >>> write_cells(path, np.eye(2), names=["a", "b"], cells=[7, 8], obs={"kind": ["x", None]})
    >>> open_h5ad(path).obs["kind"].tolist()
    ['x', nan]
    """
    try:
        import anndata
        import pandas as pd
    except ModuleNotFoundError:
        raise DataError('.h5ad files need anndata: pip install "sidelight[bio]"') from None
    index = pd.Index([str(name) for name in cells])
    table = {
        name: pd.Categorical([None if v is None else str(v) for v in values])
        if isinstance(values, list) and any(isinstance(v, str) for v in values)
        else np.array([np.nan if v is None else v for v in values])
        for name, values in obs.items()
    }
    # A slash would be a folder inside the file.
    told = {name.replace("/", "_"): values for name, values in table.items()}
    features = pd.DataFrame(index=pd.Index([str(name) for name in names]))
    made = anndata.AnnData(
        np.asarray(X), obs=pd.DataFrame(told, index=index), var=features, obsm=dict(obsm or {})
    )
    made.write_h5ad(path)


def write_h5ad(source: Path, more: Mapping[str, Sequence[Any]], path: Path) -> None:
    """The cells of a file with further columns in obs; texts become categories, as usual there."""
    adata = open_h5ad(source)
    for name, values in more.items():
        if all(isinstance(value, str) for value in values):
            adata.obs[name] = np.asarray(values)
            adata.obs[name] = adata.obs[name].astype("category")
        else:  # numbers; a gap is NaN here
            adata.obs[name] = np.array([np.nan if value is None else value for value in values])
    adata.write_h5ad(path)
