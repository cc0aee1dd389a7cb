"""Models and answers in files, and predictions for new rows, prepared as in the fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sidelight._saving import read_archive, write_archive
from sidelight._wording import counted
from sidelight.exceptions import SavedModelError, SidelightError
from sidelight.study._answer import Answer
from sidelight.tables import Preparation, Table, as_table

if TYPE_CHECKING:
    from sidelight.select import Calibration


def save(thing: Any, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Save a fitted model, or an answer with its preparation, in a file without any code.

    Parameters
    ----------
    thing : model, Answer or Saved
        A fitted model of sidelight; or the answer of `fit`, which is saved with its preparation, so
        that `Saved.predict` takes tables.
    path : str or path
        The file, usually ``….sidelight``: arrays and JSON in an archive that other programs can
        read too.
    overwrite : bool
        Whether a file of that name may be replaced.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sidelight
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.sidelight"
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> model = sidelight.SeededKMeans(random_state=0).fit(X, ["low", None, "high", None])
    >>> sidelight.save(model, path)
    >>> again = sidelight.load(path)
    >>> again.cluster_names_[again.predict([[4.0], [1.0]])].tolist()
    ['high', 'low']
    """
    if isinstance(thing, Answer):
        thing = Saved.of(thing)
    if isinstance(thing, Saved):
        parts = thing._parts()
    elif hasattr(thing, "accepts") and hasattr(thing, "get_params"):
        parts = {"kind": "model", "model": thing}
    else:
        raise SidelightError(
            f"a {type(thing).__name__} cannot be saved; give a fitted model of sidelight, or what "
            "study.fit returned."
        )
    if not hasattr(parts["model"], "result_"):
        raise SidelightError(f"this {type(thing).__name__} is not fitted; call fit first.")
    write_archive(path, parts, overwrite=overwrite)


def load(path: str | PathLike[str]) -> Any:
    """Load a file of `save`. No code in the file is executed.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model or Saved
        The model, if a model was saved; for an answer a `Saved`, which takes tables.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from sidelight import study
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.sidelight"
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "known": ["low", None, "high", None]})
    >>> study.save(study.fit(table, "SeededKMeans", labels="known"), path)
    >>> study.load(path)
    Saved(SeededKMeans: 4 rows in 2 clusters; 0 of 2 statements broken)
    """
    parts = read_archive(path)
    model = parts.get("model")
    if not hasattr(model, "accepts") or not hasattr(model, "result_"):
        raise SavedModelError(f"{path} holds no fitted model.")
    return model if parts.get("kind") == "model" else Saved._from_parts(path, parts)


@dataclass(frozen=True, eq=False, repr=False)
class Saved:
    """A fitted model with its preparation, for new rows.

    `load` gives one for an answer that was saved.

    Parameters
    ----------
    model : fitted model
        It has ``labels_``, ``result_`` and all other attributes of the fit.
    preparation : Preparation
        How a table becomes a matrix.
    calibration : Calibration or None
        How probabilities become confidence, from statements that were held back.
    quality : str or None
        How good the answer was by these, in a sentence.
    origin : dict
        The column of row ids and the representation of cells at the fit, if any.
    version : str
        The sidelight that saved it.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "known": ["low", None, "high", None]})
    >>> saved = study.Saved.of(study.fit(table, "SeededKMeans", labels="known"))
    >>> saved.predict(pd.DataFrame({"who": ["ann", "bob"], "x": [4.0, 1.0]})).names.tolist()
    ['high', 'low']
    """

    model: Any
    preparation: Preparation
    calibration: "Calibration | None" = None
    quality: str | None = None
    origin: Mapping[str, Any] | None = None
    version: str | None = None

    @classmethod
    def of(cls, answer: Answer) -> "Saved":
        """The part of an answer that new rows need."""
        held = answer.held_out
        return cls(
            answer.model,
            answer.prepared.preparation,
            None if held is None else held.calibration,
            answer.quality,
            answer.origin,
        )

    def __repr__(self) -> str:
        told = repr(self.model.result_).removeprefix("ClusterResult(")
        return f"Saved({type(self.model).__name__}: {told}"

    def predict(
        self,
        data: Any,
        *,
        id: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> "Prediction":
        """The clusters of the rows of a table, prepared as those of the fit were.

        Parameters
        ----------
        data : path, data frame or Table
            The rows; columns may be in another order, and additional columns are ignored.
        id : str, optional
            Column by which errors name rows; by default that of the fit, where the table has it.
        reading : dict, optional
            How the file is read: see `fit`.

        Returns
        -------
        Prediction
        """
        told = dict(self.origin or {})
        columns = [column.name for column in self.preparation.columns]
        texts = [c.name for c in self.preparation.columns if c.values is not None or c.text]
        named = id or told.get("id")
        table = as_table(
            data,
            text=[*texts, *([named] if named else [])],
            use_rep=told.get("use_rep"),
            **(reading or {}),
        )
        if id is None and named is not None and named not in table.columns:
            named = None
        table.check_names([named] if named else [])
        X = self.preparation.apply(table, ids=table.ids(named))
        labels = np.asarray(self.model.predict(X))
        shares = self.model.predict_proba(X) if hasattr(self.model, "predict_proba") else None
        unused = [name for name in table.columns if name not in (*columns, named)]
        notes = [f"Not used: {', '.join(unused[:10])}{', …' if len(unused) > 10 else ''}."]
        return Prediction(
            table,
            labels,
            self.model.cluster_names_,
            None if shares is None else np.asarray(shares)[np.arange(len(labels)), labels],
            self._confidence(shares, labels),
            notes if unused else [],
        )

    def _confidence(self, shares: Any, labels: NDArray[Any]) -> NDArray[np.float64] | None:
        if self.calibration is None or shares is None:
            return None
        sure = self.calibration.confidence(shares, labels)
        if self.calibration.line is None:
            return sure
        named = np.isin(labels, self.model.result_.verdict.clusters)
        return np.where(named, sure, np.nan)

    def _parts(self) -> dict[str, Any]:
        line = None if self.calibration is None else self.calibration._asdict()
        return {
            "kind": "study",
            "model": self.model,
            "preparation": self.preparation.to_dict(),
            "calibration": line,
            "quality": self.quality,
            "origin": dict(self.origin or {}),
        }

    @classmethod
    def _from_parts(cls, path: Any, parts: Mapping[str, Any]) -> "Saved":
        from sidelight.select import Calibration

        try:
            told = parts["calibration"]
            return cls(
                parts["model"],
                Preparation.from_dict(parts["preparation"]),
                None if told is None else Calibration(**told),
                None if parts["quality"] is None else str(parts["quality"]),
                dict(parts["origin"]),
                str(parts["sidelight"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SavedModelError(f"{path} is damaged or not a saved model: {error}") from None


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """The clusters of new rows, with their table.

    `Saved.predict` makes one.

    Parameters
    ----------
    table : Table
        The rows.
    labels : ndarray of shape (n_rows,)
        The cluster of each row, numbered as in the fit.
    cluster_names : ndarray
        The names of the clusters.
    membership : ndarray or None
        The model's own probability of each row's cluster, where it has one.
    confidence : ndarray or None
        The probability that the name is right, if statements of the fit could be held back.
    notes : list of str
        Columns that were ignored, in sentences.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "known": ["low", None, "high", None]})
    >>> found = study.Saved.of(study.fit(table, "SeededKMeans", labels="known")).predict(table)
    >>> found.to_frame()["cluster_name"].tolist(), found.notes
    (['low', 'low', 'high', 'high'], ['Not used: known.'])
    """

    table: Table
    labels: NDArray[Any]
    cluster_names: NDArray[Any]
    membership: NDArray[np.float64] | None
    confidence: NDArray[np.float64] | None
    notes: list[str]

    def __repr__(self) -> str:
        n_clusters = len(np.unique(self.labels))
        return f"Prediction({counted(len(self.labels), 'row')} in {counted(n_clusters, 'cluster')})"

    @property
    def names(self) -> NDArray[Any]:
        """For each row the name of its cluster."""
        return self.cluster_names[self.labels]

    def columns(self, prefix: str = "") -> dict[str, list[Any]]:
        """The clusters as columns: cluster, cluster_name, membership, confidence."""
        columns: dict[str, list[Any]] = {
            "cluster": self.labels.tolist(),
            "cluster_name": [str(name) for name in self.names.tolist()],
        }
        for name, values in (("membership", self.membership), ("confidence", self.confidence)):
            if values is not None:
                told = np.round(values, 6).tolist()
                columns[name] = [None if value != value else value for value in told]
        return {f"{prefix}{name}": values for name, values in columns.items()}

    def to_frame(
        self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas", *, prefix: str = ""
    ) -> Any:
        """The table with these columns, as a data frame: see `Answer.to_frame`."""
        return self.table.to_frame(self.columns(prefix), backend=backend)

    def write(
        self,
        path: str | PathLike[str],
        *,
        prefix: str = "",
        overwrite: bool = False,
        keep_formulas: bool = False,
    ) -> None:
        """Write the table with these columns: see `sidelight.tables.Table.write`."""
        self.table.write(
            Path(path), self.columns(prefix), overwrite=overwrite, keep_formulas=keep_formulas
        )
