"""Single-cell data: clusters of the cells of an AnnData object (needs the extra ``bio``).

What people know about cells is stored with the cells: known cell types in a column of ``obs``, and
statements in ``uns`` as a table that refers to cells by their names.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._wording import counted
from sidelight.exceptions import DataError, SideInformationError, SidelightError
from sidelight.side import SideInformation, check_columns, from_cell, map_distinct, to_cell

if TYPE_CHECKING:
    from anndata import AnnData

    from sidelight.models import SideClusterer

__all__ = ["add_statements", "cluster", "get_statements"]

_TEXTS = ("kind", "i", "j", "class", "annotator", "vocabulary")


def cluster(
    adata: "AnnData",
    model: "SideClusterer | str" = "DiscriminativeClustering",
    *,
    labels_key: str | None = None,
    pairs_key: str | None = None,
    use_rep: str = "X_pca",
    neighbors_key: str | None = None,
    unlabeled_category: Any = None,
    key_added: str = "sidelight",
) -> "SideClusterer":
    """Cluster cells with the help of known cell types and statements about cells.

    Parameters
    ----------
    adata : AnnData
        The cells. Changed in place: ``obs[key_added]`` is a categorical column with the names of
        the clusters, ``uns[key_added]`` records how they were made; its ``lost_classes`` lists
        known cell types without a cluster, if any.
    model : model or str, default="DiscriminativeClustering"
        A model of `sidelight.models`, or its name for one with default parameters and the seed 0.
    labels_key : str, optional
        Column of ``obs`` with the cell types that are known, missing elsewhere. Clusters keep
        these names.
    pairs_key : str, optional
        Key of ``uns`` with a table of statements, as `add_statements` writes it. Statements about
        cells that are not in ``adata`` are left out.
    use_rep : str, default="X_pca"
        The key of ``obsm`` to cluster by, or "X" for ``adata.X``.
    neighbors_key : str, optional
        Cluster an existing neighbour graph instead of ``use_rep``: the key that
        ``scanpy.pp.neighbors`` wrote to ``uns``, usually "neighbors", or a key of ``obsp``. The
        model must take similarities, such as `StructuralEntropyClustering` or `MarkovAggregation`;
        its parameters are set accordingly.
    unlabeled_category : value, optional
        A value of ``obs[labels_key]`` that also means that the cell type is unknown.
    key_added : str, default="sidelight"
        Where the results go.

    Returns
    -------
    model
        The fitted model: ``result_.broken()`` names broken statements by their cells, and
        ``predict_proba``, if the model has it, gives the probability of each cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from sidelight import MarkovAggregation, SideInformation, bio
    >>> X = np.repeat([[0.0, 0.0], [5.0, 1.0], [9.0, 5.0]], 50, axis=0)
    >>> adata = AnnData(X + np.random.default_rng(0).normal(scale=0.3, size=X.shape))
    >>> adata.obs["known"] = ["B cell"] + 49 * [None] + ["T cell"] + 99 * [None]
    >>> _ = bio.cluster(adata, labels_key="known", use_rep="X")
    >>> adata.obs["sidelight"].value_counts(sort=False).to_dict()
    {'B cell': 50, 'T cell': 50, 'new 1': 50}
    >>> adata.uns["sidelight"]["params"]["model"]
    'DiscriminativeClustering'

    With statements, which stay with the cells:

    >>> pairs = [("50", "100"), ("51", "101")]
    >>> said = SideInformation.from_pairs(must=pairs, index=adata.obs_names)
    >>> bio.add_statements(adata, said)
    >>> model = MarkovAggregation(2, random_state=0)
    >>> bio.cluster(adata, model, pairs_key="statements", use_rep="X").result_
    ClusterResult(150 rows in 2 clusters; 0 of 2 statements broken)
    """
    names = _names_of(adata)
    if key_added == pairs_key:
        raise SidelightError(
            f"key_added and pairs_key are both {pairs_key!r}; the result would take the place of "
            "the statements. Give another key_added."
        )
    side = SideInformation.empty(adata.n_obs, index=names)
    if labels_key is not None:
        side += _known_labels(adata, labels_key, unlabeled_category)
    if pairs_key is not None:
        side += get_statements(adata, pairs_key=pairs_key)
    if isinstance(model, str):
        from sidelight.models import find_model

        model = find_model(model)(random_state=0)
    if neighbors_key is None:
        X = _representation(adata, use_rep)
    else:
        X = _neighbor_graph(adata, neighbors_key)
        _expect_graph(model)
    model.fit(X, side=side)
    source = {"use_rep": use_rep} if neighbors_key is None else {"neighbors_key": neighbors_key}
    asked = {**source, "labels_key": labels_key, "pairs_key": pairs_key}
    _leave_results(adata, model, asked, key_added)
    return model


def add_statements(
    adata: "AnnData", side: SideInformation, *, pairs_key: str = "statements"
) -> None:
    """Store statements with the cells, after those that are stored already.

    ``uns[pairs_key]`` becomes a table with one statement in each line and the columns of files of
    statements: kind, i, j, class, weight, annotator, vocabulary. Cells are identified by their
    names, so the table stays valid when cells are left out, reordered, or written to .h5ad.

    Parameters
    ----------
    adata : AnnData
        The cells.
    side : SideInformation
        Statements about all cells in their order, or by their names
        (``index=adata.obs_names``).
    pairs_key : str, default="statements"
        The key of ``uns``.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from sidelight import SideInformation, bio
    >>> adata = AnnData(np.eye(4))
    >>> adata.obs_names = ["AAAC", "AAAG", "AACA", "AACC"]
    >>> said = SideInformation.from_pairs(
    ...     must=[("AAAC", "AACC")], index=adata.obs_names, annotator="ann")
    >>> bio.add_statements(adata, said)
    >>> adata.uns["statements"][["kind", "i", "j", "annotator"]]
       kind     i     j annotator
    0  must  AAAC  AACC       ann
    """
    import pandas as pd

    names = _names_of(adata)
    if side.index is None:
        side = SideInformation.empty(adata.n_obs, index=names) + side
    fresh = side.to_frame("pandas")
    fresh["class"] = fresh["class"].map(to_cell, na_action="ignore")
    fresh[list(_TEXTS)] = fresh[list(_TEXTS)].astype(object).fillna("").astype(str)
    told = pd.Index(fresh["i"]).append(pd.Index(fresh["j"]))
    unknown = told[~told.isin(adata.obs_names) & (told != "")].unique()
    if len(unknown):
        raise SideInformationError(
            f"side names {counted(len(unknown), 'cell')} not in adata.obs_names: "
            f"{_listed(unknown)}. Name cells as adata does, or leave these statements out."
        )
    if pairs_key in adata.uns:
        fresh = pd.concat([_table(adata, pairs_key), fresh], ignore_index=True)
    fresh.index = fresh.index.astype(str)
    adata.uns[pairs_key] = fresh


def get_statements(adata: "AnnData", *, pairs_key: str = "statements") -> SideInformation:
    """The stored statements about the present cells; others are left out.

    Parameters
    ----------
    adata : AnnData
        The cells, some of them perhaps left out since the statements were added.
    pairs_key : str, default="statements"
        The key of ``uns``. The table may also have been written by hand: ``kind``, ``i`` and ``j``
        are enough for pairs. Classes stand in it as in files of statements, where ``3`` is the
        number three and ``"3"``, with its quotes, a text.

    Returns
    -------
    SideInformation
        Its rows are the cells, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from sidelight import SideInformation, bio
    >>> adata = AnnData(np.eye(4))
    >>> said = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 3)], n_samples=4)
    >>> bio.add_statements(adata, said)
    >>> bio.get_statements(adata[["3", "0"]])
    SideInformation(2 rows; 1 cannot)
    """
    names = _names_of(adata)
    frame = _table(adata, pairs_key)
    here = frame["i"].isin(adata.obs_names)
    if "j" in frame:
        here &= frame["j"].isin(adata.obs_names) | (frame["j"] == "")
    if len(frame) and not here.any():
        warnings.warn(
            f"no statement of adata.uns[{pairs_key!r}] is about these cells; the first one is "
            f"about {frame['i'].iloc[0]!r}, and adata.obs_names begins with {names[0]!r}. Have the "
            "cells been renamed since?",
            stacklevel=2,
        )
    columns: dict[str, Any] = {name: frame.loc[here, name].tolist() for name in frame.columns}
    for name in set(columns) - {"kind", "i", "weight"}:
        read = _class if name == "class" else (lambda text: text or None)
        columns[name] = map_distinct(read, columns[name])
    columns["class_"] = columns.pop("class", None)
    return SideInformation.from_columns(**columns, index=names)


def _class(cell: Any) -> Any:
    """A class of the table; a hand-written one may be a number."""
    return from_cell(cell) if isinstance(cell, str) else cell


# What AnnData holds


def _names_of(adata: Any) -> NDArray[Any]:
    """The names of the cells, which must be unique."""
    try:
        from anndata import AnnData
    except ModuleNotFoundError:
        raise SidelightError(
            'single-cell data needs anndata: pip install "sidelight[bio]"'
        ) from None
    if not isinstance(adata, AnnData):
        raise DataError(f"adata is a {type(adata).__name__}; give an AnnData object.")
    if not adata.obs_names.is_unique:
        twice = adata.obs_names[adata.obs_names.duplicated()].unique()
        raise DataError(
            f"some names in adata.obs_names belong to more than one cell: {_listed(twice)}. "
            "Call adata.obs_names_make_unique()."
        )
    return np.asarray(adata.obs_names, dtype=str)


def _listed(names: Any) -> str:
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return ", ".join(map(repr, list(names[:5]))) + more


def _known_labels(adata: Any, key: str, unlabeled: Any) -> SideInformation:
    if key not in adata.obs:
        raise DataError(
            f"adata.obs has no column {key!r}; its columns are {_listed(adata.obs.columns)}."
        )
    values = adata.obs[key].astype(object)
    labels = values.where(values.notna() & (values != unlabeled), None)
    return SideInformation.from_labels(labels.to_numpy(), index=_names_of(adata))


def _table(adata: Any, key: str) -> Any:
    """The table of statements, its texts as texts and "" where there is none."""
    import pandas as pd

    where = f"adata.uns[{key!r}]"
    if key not in adata.uns:
        raise DataError(
            f"there is no {where}; sidelight.bio.add_statements puts statements there. "
            f"The keys of uns are {_listed(list(adata.uns))}."
        )
    table = adata.uns[key]
    if not isinstance(table, pd.DataFrame):
        raise SideInformationError(
            f"{where} is a {type(table).__name__}; statements are a data frame with a line each."
        )
    check_columns(where, [str(name) for name in table.columns])
    texts = [name for name in _TEXTS if name in table]
    cells = table[texts].astype(object)
    return table.assign(**{name: cells[name].where(cells[name].notna(), "") for name in texts})


def _representation(adata: Any, key: str) -> Any:
    if key in adata.obsm:
        X = adata.obsm[key]
        return X if sparse.issparse(X) else np.asarray(X)  # a data frame, too
    if key != "X":
        hint = "scanpy.pp.pca(adata) makes it, " if key == "X_pca" else ""
        raise DataError(
            f"adata.obsm has no {key!r}; {hint}and use_rep='X' clusters by adata.X. "
            f"The keys of obsm are {_listed(list(adata.obsm))}."
        )
    if adata.isbacked:
        raise DataError(
            "adata.X is on disk; read it with adata.to_memory(), or cluster by a representation "
            "in obsm (use_rep)."
        )
    if adata.X is None:
        raise DataError("adata.X is None; cluster by a representation in obsm (use_rep).")
    return adata.X


def _neighbor_graph(adata: Any, key: str) -> Any:
    """The connectivities, by the key that scanpy has left in uns or by their own in obsp."""
    noted = adata.uns.get(key, {})
    own = noted.get("connectivities_key", key) if hasattr(noted, "get") else key
    if own not in adata.obsp:
        raise DataError(
            f"there are no neighbours {key!r} in adata; scanpy.pp.neighbors(adata) finds them. "
            f"The keys of obsp are {_listed(list(adata.obsp))}."
        )
    return adata.obsp[own]


# The model and its results


def _expect_graph(model: Any) -> None:
    """Set the model to take similarities."""
    from sklearn.utils import get_tags

    from sidelight.models import model_names, model_tags

    if get_tags(model).input_tags.pairwise:
        return
    told = model_tags(model).takes_similarities
    if not told:
        able = model_names(takes_similarities=True)
        raise DataError(
            f"{type(model).__name__} clusters rows and cannot use a neighbour graph; leave "
            f"neighbors_key out, or take one of {', '.join(able)}."
        )
    model.set_params(**told)


def _leave_results(adata: Any, model: Any, asked: dict[str, Any], key: str) -> None:
    import pandas as pd

    result = model.result_
    given = result.cluster_names.tolist()
    names = list(map(str, given))
    if len(set(names)) < len(names):  # 3 beside "3"
        names = list(map(to_cell, given))
    found = pd.Categorical.from_codes(result.labels, categories=pd.Index(names, dtype=object))
    adata.obs[key] = pd.Series(found, index=adata.obs_names)
    come = result.provenance
    lost = list(dict.fromkeys(str(name) for _, name in result.lost_classes))
    params = {"model": come["model"], **asked, **come["parameters"]}
    adata.uns[key] = {
        # h5ad has no None: what was not given is not there.
        "params": {name: value for name, value in params.items() if value is not None},
        "seed": come["seed"],
        "objective": result.objective,
        "n_statements": result.side.n_statements,
        "n_broken": int(result.violated.sum()),
        **({"lost_classes": np.array(lost)} if lost else {}),
        "versions": come["versions"],
    }
