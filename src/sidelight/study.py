"""From a table and statements to an answer: what the command line and a notebook share.

``fit`` is the whole way. Its steps can be called alone: ``prepare`` turns a table into a matrix,
``gather`` collects statements about its rows, ``build`` sets up a model. ``compare`` sets models
beside each other.
"""

import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, reduce
from operator import add
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sidelight._reading import refuse_missing
from sidelight.exceptions import LostClassWarning, SidelightError, UnknownNumberOfRowsError
from sidelight.side import KINDS, SideInformation, usable_kinds
from sidelight.tables import (
    Preparation,
    Prepared,
    PreparedColumn,
    Table,
    as_table,
    open_h5ad,
    prepare,
)

if TYPE_CHECKING:
    from sidelight.report import Evidence
    from sidelight.results import ClusterResult, Verdict
    from sidelight.select import Comparison, HeldOut

__all__ = [
    "Answer",
    "Cluster",
    "Preparation",
    "Prepared",
    "PreparedColumn",
    "build",
    "compare",
    "fit",
    "gather",
    "prepare",
]

# The parameters that fix or limit the number of clusters, by whatever name a model has for it.
COUNTS = ("n_clusters", "n_components")
# Standard errors by which another model is called better.
CLEARLY = 2.0
_PLANES = {
    "pca": "The picture shows the first two principal components.",
    "tsne": "The picture is a t-SNE map: neighbours are near, distances say nothing.",
    "umap": "The picture is a UMAP map: neighbours are near, distances say nothing.",
}


class Progress(Protocol):
    """Who wants to know how far a study is; also a callback of scikit-learn for the fit."""

    def stage(self, description: str) -> AbstractContextManager[None]:
        """Show one step while it lasts."""


class _Nobody:
    """Nobody wants to know."""

    def stage(self, description: str) -> AbstractContextManager[None]:
        return nullcontext()


def fit(
    data: Any,
    model: Any = "DiscriminativeClustering",
    *,
    side: Any = (),
    labels: str | None = None,
    id: str | None = None,
    columns: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    impute: str | None = None,
    scale: str | None = None,
    n_clusters: int | Literal["held-out"] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    use_what_fits: bool = False,
    truth: str | None = None,
    stability: int = 0,
    folds: int | Literal["auto"] = "auto",
    beside_others: bool = False,
    time_limit: float | None = None,
    use_rep: str | None = None,
    pairs_key: str | None = None,
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> "Answer":
    """Cluster a table with the help of statements.

    Parameters
    ----------
    data : path, data frame or Table
        The rows: a file as `sidelight.tables.read_table` reads it, or a data frame of pandas,
        polars or pyarrow.
    model : str, class or model, default="DiscriminativeClustering"
        A name of `sidelight.models.model_names`, or a model, which is copied and not changed.
        "best" is the choice of `compare`, and the notes say why.
    side : path, SideInformation, or several of them
        What people know about the rows.
    labels : str, optional
        Column with the classes that are known, empty elsewhere.
    id : str, optional
        Column with the row ids that the statements use; cells (.h5ad) have their names.
    columns, drop, one_hot, impute
        How the table becomes a matrix: see `prepare`.
    scale : {"standard", "minmax", "none"}, optional
        See `prepare`; by default "standard", and "none" for cells.
    n_clusters : int or "held-out", optional
        The number of clusters, or its upper limit where a model has one. "held-out" is the number
        with which the model does best by statements held back.
    parameters : dict, optional
        Further parameters of the model, by name.
    seed : int, default=0
        Seed of everything random, unless the model has one.
    use_what_fits : bool
        Whether to leave out statements of kinds that the model cannot use, and say so in the
        notes. Otherwise they are an `UnsupportedStatementError`.
    truth : str, optional
        Column with true classes, to compare with; the model does not see it.
    stability : int
        How many fits with other seeds to compare with.
    folds : int or "auto", default="auto"
        How often to fit without a part of the statements, which then tell how good the answer is
        and how far its probabilities can be trusted. "auto": 5, above 10,000 rows 3, above 100,000
        none, and none for fewer than 20 statements. 0 for none.
    beside_others : bool
        Whether to `compare` the model with others; the notes name one that is better by more than
        two standard errors.
    time_limit : float, optional
        Seconds after which a comparison begins no further fit.
    use_rep : str, optional
        What to cluster cells by (.h5ad): a key of ``obsm``, or "X".
    pairs_key : str, optional
        Key of ``uns`` with statements that an .h5ad file holds.
    reading : dict, optional
        How the file is read, where looking finds it wrong: ``sep``, ``decimal``, ``sheet`` as in
        `sidelight.tables.read_table`.
    progress : object, optional
        Its method ``stage(description)`` is a context around each step, and the fit reports to it
        as to a callback of scikit-learn.

    Returns
    -------
    Answer

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> people = pd.DataFrame({"who": ["ann", "bob", "cy", "di"], "age": [31, 33, 68, 71],
    ...                        "known": ["young", None, "old", None]})
    >>> answer = study.fit(people, "PartitionLevelKMeans", id="who", labels="known")
    >>> answer
    Answer(PartitionLevelKMeans: 4 rows in 2 clusters; 0 of 2 statements broken)
    >>> answer.to_frame()[["who", "cluster_name"]].values.tolist()
    [['ann', 'young'], ['bob', 'young'], ['cy', 'old'], ['di', 'old']]
    """
    best = isinstance(model, str) and model == "best"
    if best and parameters:
        raise SidelightError(
            f'model="best" is not known yet, and parameters are given ({", ".join(parameters)}); '
            "name the model that they are for."
        )
    estimator: Any = None
    if not best:
        estimator = build(model, n_clusters=n_clusters, parameters=parameters, seed=seed)
    told: Progress = _Nobody() if progress is None else progress
    opened = _open(
        data, side, told, labels=labels, id=id, truth=truth, columns=columns, drop=drop,
        one_hot=one_hot, impute=impute, scale=scale, use_rep=use_rep, pairs_key=pairs_key,
        reading=reading,
    )  # fmt: skip
    X, known, notes = opened.prepared.X, opened.known, list(opened.prepared.notes)
    comparison = None
    if best or beside_others:
        candidates = ["default"] if estimator is None else [estimator, "default"]
        number = None if n_clusters == "held-out" else n_clusters
        how = {"n_clusters": number, "time_limit": time_limit, "random_state": seed}
        comparison = _compared(X, known, told, models=candidates, **how)
        if estimator is None:
            estimator, why = _best_of_ours(comparison)
        else:
            why = _beside(comparison, type(estimator).__name__)
        notes += [*why, *comparison.notes]
    if use_what_fits:
        known, left_out = _usable(known, estimator)
        notes += left_out
    others = [_reseeded(estimator, seed + k) for k in range(1, stability + 1)]
    with told.stage(f"fitting {type(estimator).__name__}"):
        if progress is not None:
            estimator.set_callbacks(progress)
        notes += _fit(estimator, X, known)
        notes += estimator.result_.advice
    with told.stage("fitting with other seeds"):
        for other in others:
            _fit(other, X, known)
    with told.stage("fitting without a part of the statements"):
        held_out, judgement = _hold_out(estimator, X, known, folds)
    return Answer(
        estimator,
        table=opened.table,
        ids=opened.ids,
        prepared=opened.prepared,
        notes=[*judgement, *notes],
        held_out=held_out,
        truth=None if truth is None else opened.table.labels(truth),
        stability=[other.labels_ for other in others],
        comparison=comparison,
        quality=judgement[0] if judgement else None,
    )


def compare(
    data: Any,
    models: Any = "default",
    *,
    side: Any = (),
    labels: str | None = None,
    id: str | None = None,
    columns: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    impute: str | None = None,
    scale: str | None = None,
    n_clusters: Any = None,
    n_splits: int = 5,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
    use_rep: str | None = None,
    pairs_key: str | None = None,
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> "Comparison":
    """Set models beside each other on a table, by statements that are held back.

    Parameters
    ----------
    data, side, labels, id, columns, drop, one_hot, impute, scale, use_rep, pairs_key, reading
        The table and what people know about it: see `fit`.
    models : "default" or a sequence of names, classes and estimators, default="default"
        Who takes part: see `sidelight.select.compare`.
    n_clusters : int or sequence of int, optional
        The number of clusters, or those to try.
    n_splits : int, default=5
        The number of folds.
    time_limit : float, optional
        Seconds after which no further fit begins.
    n_jobs : int, optional
        Fits at a time.
    seed : int, default=0
        Seed of everything random.
    progress : object, optional
        As in `fit`; its method ``count(done, total, name)``, if any, is called after each fit.

    Returns
    -------
    sidelight.select.Comparison

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3],
    ...                       "known": ["low"] * 4 + ["high"] * 4})
    >>> found = study.compare(table, ["SeededKMeans", "ConstrainedKMeans"], labels="known",
    ...                       n_splits=2)
    >>> found.choice.model, found.choice.score
    ('SeededKMeans', 1.0)
    """
    told: Progress = _Nobody() if progress is None else progress
    opened = _open(
        data, side, told, labels=labels, id=id, columns=columns, drop=drop, one_hot=one_hot,
        impute=impute, scale=scale, use_rep=use_rep, pairs_key=pairs_key, reading=reading,
    )  # fmt: skip
    return _compared(
        opened.prepared.X, opened.known, told, models=models, n_clusters=n_clusters,
        n_splits=n_splits, time_limit=time_limit, n_jobs=n_jobs, random_state=seed,
    )  # fmt: skip


def gather(
    side: Any,
    data: Any = None,
    *,
    id: str | None = None,
    labels: str | None = None,
    pairs_key: str | None = None,
    n_rows: int | None = None,
    **how: Any,
) -> SideInformation:
    """Collect statements: about the rows of a table, or about the rows that they name.

    Parameters
    ----------
    side : path, SideInformation, or several of them
        The statements.
    data : path, data frame or Table, optional
        The table that they are about.
    id : str, optional
        Column of the table with the row ids that the statements use; cells (.h5ad) have names.
    labels : str, optional
        Column of the table with the classes that are known.
    pairs_key : str, optional
        Key of ``uns`` with statements that an .h5ad file holds.
    n_rows : int, optional
        The number of rows, if there is no table; by default those that one file names.
    **how
        How files are read: see `SideInformation.read`.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import SideInformation, study
    >>> people = pd.DataFrame({"who": ["ann", "bob", "cy"], "known": ["young", None, "old"]})
    >>> said = SideInformation.from_pairs(must=[("ann", "bob")], index=people["who"])
    >>> study.gather(said, people, id="who", labels="known")
    SideInformation(3 rows; 1 must, 2 label; 2 classes)
    """
    sources = list(_sources(side))
    if data is not None:
        if n_rows is not None:
            raise SidelightError(
                f"{n_rows:,} rows and a table are given; a table has its own rows, leave one out."
            )
        named = [name for name in (id, labels) if name is not None]
        table = as_table(data, text=named)
        return _about(table, table.ids(id), sources, labels=labels, pairs_key=pairs_key, **how)
    for name in (id, labels, pairs_key):
        if name is not None:
            raise SidelightError(f"{name!r} is a part of the table, and no table is given.")
    if len(sources) != 1 and n_rows is None:
        problem = "several files may number rows differently" if sources else "no file is given"
        raise UnknownNumberOfRowsError(f"{problem}.", advice="Give data (and id), or n_rows.")
    if n_rows is None:
        return _read(sources[0], n_samples="infer", **how)
    found = [_read(source, n_samples=n_rows, **how) for source in sources]
    return _joined([SideInformation.empty(n_rows), *found])


def build(
    model: Any,
    *,
    n_clusters: int | Literal["held-out"] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> Any:
    """Set up a model, and check its parameters before any data is read.

    Parameters
    ----------
    model : str, class or model
        A name of `sidelight.models.model_names`, or a model, which is copied and not changed.
    n_clusters : int or "held-out", optional
        The number of clusters, or its upper limit: whichever the model has a parameter for.
    parameters : dict, optional
        Further parameters, by name.
    seed : int, optional
        The ``random_state``, unless the model or the parameters have one.

    Returns
    -------
    model

    Examples
    --------
    >>> from sidelight import study
    >>> study.build("bayesian-mixture", n_clusters=5, seed=0)
    BayesianMixture(n_components=5, random_state=0)
    """
    from sklearn.base import clone

    from sidelight.models import find_model

    model = find_model(model) if isinstance(model, str) else model
    built = model() if isinstance(model, type) else clone(model)
    name, given = type(built).__name__, dict(parameters or {})
    allowed = list(inspect.signature(type(built)).parameters)
    unknown = [key for key in given if key not in allowed]
    if unknown:
        near = get_close_matches(unknown[0], allowed, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SidelightError(
            f"{name} has no parameter {', '.join(map(repr, unknown))}.{hint} "
            f"It has {', '.join(allowed)}."
        )
    if n_clusters is not None:
        count = next((key for key in COUNTS if key in allowed), None)
        if count is None:
            raise SidelightError(
                f"{name} finds the number of clusters itself; leave {n_clusters} out."
            )
        if count in given:
            raise SidelightError(
                f"the number of clusters is given twice: {n_clusters}, and {count}={given[count]}."
            )
        given[count] = n_clusters
    if seed is not None and "random_state" in allowed and built.random_state is None:
        given.setdefault("random_state", seed)
    built.set_params(**given)
    try:
        built._validate_params()
    except ValueError as error:  # scikit-learn's, which names the parameter and what is allowed
        raise SidelightError(str(error)) from None
    return built


class Cluster(NamedTuple):
    """One cluster of an answer: its number, its name, how many rows it has, and their share.

    Examples
    --------
    >>> Cluster(0, "stable", 30, 0.25).name
    'stable'
    """

    number: int
    name: str
    size: int
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What a study found: clusters with names, what became of the statements, and notes.

    `fit` makes one.

    Parameters
    ----------
    model : fitted model
        Its ``result_`` has the verdict on every statement.
    table : Table
        The rows, as they were given.
    ids : ndarray or None
        The ids of the rows, if they have any.
    prepared : Prepared
        The matrix that the model saw, and how it came about.
    notes : list of str
        How good the answer is, what was done and what to beware of, in sentences.
    held_out : HeldOut or None
        What fits without a part of the statements say about these.
    truth : list or None
        The true classes, where there are any to compare with.
    stability : list of ndarray
        The labels of fits with other seeds.
    comparison : Comparison or None
        The model beside others, where that was asked for.
    quality : str or None
        How good the answer is by statements held back, in a sentence, or what to ask to find out;
        the first of the notes.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "known": ["low", None, "high", None]})
    >>> answer = study.fit(table, "PartitionLevelKMeans", labels="known")
    >>> [(cluster.name, cluster.size) for cluster in answer.clusters]
    [('high', 2), ('low', 2)]
    >>> answer.columns()["cluster_name"]
    ['low', 'low', 'high', 'high']
    >>> print(answer.in_words())
    2 statements are too few to hold some back: how good the answer is remains open. Ask for 18...
    table: 4 rows, clustered by 1 columns.
    Not used to cluster: known.
    Columns were standardised (mean 0, standard deviation 1).
    PartitionLevelKMeans: ClusterResult(4 rows in 2 clusters; 0 of 2 statements broken)
    <BLANKLINE>
      high         2 rows   50.0%
      low          2 rows   50.0%
    """

    model: Any
    table: Table
    ids: NDArray[Any] | None
    prepared: Prepared
    notes: list[str]
    held_out: "HeldOut | None"
    truth: list[Any] | None
    stability: list[NDArray[Any]]
    comparison: "Comparison | None" = None
    quality: str | None = None

    def __repr__(self) -> str:
        told = repr(self.result).removeprefix("ClusterResult(")
        return f"Answer({type(self.model).__name__}: {told}"

    @property
    def result(self) -> "ClusterResult":
        """Labels, names, verdict, objective and provenance of the fit."""
        result: ClusterResult = self.model.result_
        return result

    @property
    def verdict(self) -> "Verdict":
        """What the fit says about every statement: kept or broken, and how probably wrong."""
        return self.result.verdict

    @property
    def clusters(self) -> list[Cluster]:
        """The clusters, in the order of their numbers."""
        n_rows = max(len(self.result.labels), 1)
        named = zip(self.result.cluster_names, self.result.sizes.tolist(), strict=True)
        return [Cluster(k, str(name), size, size / n_rows) for k, (name, size) in enumerate(named)]

    @cached_property
    def _evidence(self) -> "Evidence":
        from sidelight.report import Evidence

        found = Evidence.of(
            self.model,
            self.prepared.X,
            truth=self.truth,
            stability=self.stability,
            quality=self.quality,
            notes=self.notes,
        )
        return found._replace(confidence=self._calibrated(found.probabilities))

    def _calibrated(self, probabilities: Any) -> NDArray[np.float64] | None:
        calibration = None if self.held_out is None else self.held_out.calibration
        if calibration is None or probabilities is None:
            return None
        labels, clusters = self.result.labels, self.result.verdict.clusters
        sure = calibration.confidence(probabilities, labels)
        return (
            sure if calibration.line is None else np.where(np.isin(labels, clusters), sure, np.nan)
        )

    @property
    def membership(self) -> NDArray[np.float64] | None:
        """The probability of each cluster for each row, where the model gives one."""
        membership: NDArray[np.float64] | None = self._evidence.probabilities
        return membership

    @property
    def confidence(self) -> NDArray[np.float64] | None:
        """For each row how probably the name of its cluster is right.

        Calibrated on statements that were held back; None where there are too few, or where the
        model has no probabilities. NaN in clusters that no label names.
        """
        confidence: NDArray[np.float64] | None = self._evidence.confidence
        return confidence

    @cached_property
    def suspect(self) -> NDArray[np.bool_]:
        """For each row whether a statement about it is broken or probably wrong."""
        from sidelight.report import suspect_rows

        return suspect_rows(self.result)

    def columns(self, prefix: str = "") -> dict[str, list[Any]]:
        """The answer as columns: cluster, cluster_name, membership, confidence, suspect.

        membership is the model's own probability of the row's cluster, and confidence how probably
        the name of the cluster is right; each is there where the model and the statements allow.
        """
        from sidelight.report import own_membership

        columns: dict[str, list[Any]] = {
            "cluster": self.result.labels.tolist(),
            "cluster_name": [str(name) for name in self.result.names.tolist()],
        }
        if self.membership is not None:
            own = own_membership(self.result, self.membership)
            columns["membership"] = [round(value, 6) for value in own.tolist()]
        if self.confidence is not None:
            told = np.round(self.confidence, 6).tolist()
            columns["confidence"] = [None if value != value else value for value in told]
        columns["suspect"] = self.suspect.astype(int).tolist()
        return {f"{prefix}{name}": values for name, values in columns.items()}

    def to_frame(
        self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas", *, prefix: str = ""
    ) -> Any:
        """The table with the columns of the answer, as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            The library of the frame.
        prefix : str
            Begins the names of the new columns.

        Returns
        -------
        data frame
        """
        import narwhals as nw

        known = ("pandas", "polars", "pyarrow")
        if backend not in known:
            raise SidelightError(f"unknown backend {backend!r}; known: {', '.join(known)}.")
        added = self.columns(prefix)
        self.table.check_new_names(added)
        columns: dict[str, Any] = {**self.table.columns, **added}
        return nw.from_dict(columns, backend=backend).to_native()

    def write(
        self,
        path: str | PathLike[str],
        *,
        prefix: str = "",
        overwrite: bool = False,
        keep_formulas: bool = False,
    ) -> None:
        """Write the table with the columns of the answer: see `sidelight.tables.Table.write`.

        Parameters
        ----------
        path : str or path
            The file: .csv, .tsv or .parquet; .h5ad if the data is.
        prefix : str
            Begins the names of the new columns.
        overwrite : bool
            Whether a file of that name may be replaced.
        keep_formulas : bool
            Whether texts that a spreadsheet would execute are written without quotes.
        """
        self.table.write(
            Path(path), self.columns(prefix), overwrite=overwrite, keep_formulas=keep_formulas
        )

    def write_page(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        picture: str | None = "pca",
        command: str | None = None,
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Write one HTML page about the answer: see `sidelight.report.write_report`.

        Parameters
        ----------
        path : str or path
            The file.
        title : str, optional
            Its title; by default the name of the table.
        picture : {"pca", "tsne", "umap"} or None, default="pca"
            How rows come into a plane; None for a page without pictures.
        command : str, optional
            The command that repeats the study.
        overwrite : bool
            Whether a file of that name may be replaced.

        Returns
        -------
        dict
            The summary that the page shows, as plain data.
        """
        from sidelight.report import check_pictures, project

        if picture is not None:
            check_pictures(picture)
        shown = [] if picture is None else [_PLANES[picture]]
        evidence = self._evidence._replace(notes=[*self.notes, *shown], command=command)
        return self.result.report(
            path,
            self.prepared.unscaled,
            feature_names=self.prepared.names,
            evidence=evidence,
            plane=None if picture is None else project(self.prepared.X, method=picture),
            title=title or f"Clusters in {self.table.path.name}",
            pictures=picture is not None,
            overwrite=overwrite,
        )

    def summary(self) -> dict[str, Any]:
        """The answer and its preparation as texts, numbers, lists and dicts, ready for JSON.

        The keys are those of `sidelight.report.summarize`, and ``preparation``.
        """
        from sidelight.report import summarize

        found = summarize(
            self.result,
            self.prepared.unscaled,
            feature_names=self.prepared.names,
            evidence=self._evidence,
        )
        return {**found, "preparation": self.prepared.preparation.to_dict()}

    def in_words(self) -> str:
        """Notes, clusters and broken statements as a text for a terminal."""
        result, clusters = self.result, self.clusters
        lines = [*self.notes, f"{type(self.model).__name__}: {result!r}", ""]
        width = max(len(cluster.name) for cluster in clusters)
        lines += [f"  {c.name:{width}s}{c.size:10,d} rows{c.share:8.1%}" for c in clusters]
        clashes = len(result.side.conflicts(limit=0).broken)
        if clashes:
            lines += ["", f"{clashes:,} statements contradict others; 'sidelight check' explains."]
        broken = result.broken()
        if broken:
            lines += ["", f"{len(broken):,} statements are broken, the first ones:"]
            lines += [f"  {sentence}" for sentence in broken[:5]]
        return "\n".join(lines)


# Statements


def _sources(side: Any) -> Iterator[Any]:
    """Files that are there, and SideInformation."""
    several = isinstance(side, Sequence) and not isinstance(side, str)
    for source in side if several else [side]:
        if isinstance(source, SideInformation):
            yield source
            continue
        if not isinstance(source, (str, PathLike)):
            raise SidelightError(
                f"side is a {type(source).__name__}; give files of statements or SideInformation."
            )
        refuse_missing(Path(source), SidelightError)
        yield Path(source)


def _read(source: Any, **how: Any) -> SideInformation:
    return SideInformation.read(source, **how) if isinstance(source, Path) else source


def _joined(parts: Iterable[SideInformation]) -> SideInformation:
    return reduce(add, parts)


def _about(
    table: Table,
    ids: NDArray[Any] | None,
    sources: Iterable[Any],
    *,
    labels: str | None,
    pairs_key: str | None,
    **how: Any,
) -> SideInformation:
    """All statements about the rows of a table: files, a column of labels, those inside .h5ad."""
    parts = [SideInformation.empty(table.n_rows, index=ids)]
    parts += [_read(source, n_samples=table.n_rows, index=ids, **how) for source in sources]
    if labels is not None:
        parts.append(SideInformation.from_labels(table.labels(labels), index=ids))
    if pairs_key is not None:
        parts.append(_inside(table.path, pairs_key))
    return _joined(parts)


def _inside(path: Path, pairs_key: str) -> SideInformation:
    """The statements that an .h5ad file keeps about its cells."""
    from sidelight.bio import get_statements

    if not _is_cells(path):
        raise SidelightError(
            f"statements inside the data ({pairs_key!r}) are for .h5ad files; give statements "
            f"about {path} as files."
        )
    adata = open_h5ad(path, backed="r")
    try:
        return get_statements(adata, pairs_key=pairs_key)
    finally:
        adata.file.close()


def _is_cells(path: Path) -> bool:
    return path.suffix.lower() == ".h5ad"


def _usable(known: SideInformation, model: Any) -> tuple[SideInformation, list[str]]:
    """The statements that a model can use, and a sentence about those that are left out."""
    fits = usable_kinds(model.accepts)
    usable = known.only(kind=fits)
    n_left = known.n_statements - usable.n_statements
    if not n_left:
        return known, []
    left = sorted({KINDS[code] for code in known.statements.kind}.difference(fits))
    return usable, [
        f"{n_left:,} statements ({', '.join(left)}) were left out: "
        f"{type(model).__name__} cannot use them."
    ]


# The table


class _Opened(NamedTuple):
    table: Table
    ids: NDArray[Any] | None
    prepared: Prepared
    known: SideInformation


def _open(
    data: Any,
    side: Any,
    progress: Progress,
    *,
    labels: str | None,
    id: str | None,
    truth: str | None = None,
    scale: str | None,
    use_rep: str | None,
    pairs_key: str | None,
    reading: Mapping[str, Any] | None,
    **how: Any,
) -> _Opened:
    """Read a table, make a matrix of it, and collect the statements about its rows."""
    sources = list(_sources(side))
    with progress.stage("reading the table"):
        named = [name for name in (id, labels, truth) if name is not None]
        table = as_table(data, text=named, use_rep=use_rep, **(reading or {}))
        table.check_names(named)
        ids = table.ids(id)
        scale = scale or ("none" if _is_cells(table.path) else "standard")
        prepared = prepare(table, aside=named, scale=scale, ids=ids, **how)
        known = _about(table, ids, sources, labels=labels, pairs_key=pairs_key)
    return _Opened(table, ids, prepared, known)


# The fit


def _compared(
    X: NDArray[Any], known: SideInformation, progress: Progress, **how: Any
) -> "Comparison":
    from sidelight.select import compare as compare_models

    with progress.stage("comparing models"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare_models(X, side=known, progress=getattr(progress, "count", None), **how)


def _best_of_ours(comparison: "Comparison") -> tuple[Any, list[str]]:
    """The best model of sidelight, and why; who else does better is said."""
    ours = [k for k, model in enumerate(comparison.models) if hasattr(model, "accepts")]
    if not ours or np.isnan(comparison.rows[ours[0]].score):
        raise SidelightError(
            f"{comparison.reason} None of our models could be judged; name one, or give more time."
        )
    row, model = comparison.rows[ours[0]], comparison.models[ours[0]]
    if row is comparison.choice:
        return model, [comparison.reason]
    return model, [
        f"{row.model} with {row.n_clusters} clusters is the best model of sidelight by statements "
        f"held back ({row.score:.2f} ± {row.standard_error:.2f}); {comparison.choice.model} "
        f"reaches {comparison.choice.score:.2f}, {row.behind:.1f} standard errors more."
    ]


def _beside(comparison: "Comparison", name: str) -> list[str]:
    """That another model is clearly better, if one is."""
    own = next((row for row in comparison.rows if row.model == name), None)
    first = comparison.choice
    if own is None or not own.behind > CLEARLY:
        return []
    return [
        f"{first.model} with {first.n_clusters} clusters does better by the statements held back: "
        f"{first.score:.2f} beside {own.score:.2f}, a difference of {own.behind:.1f} standard "
        "errors."
    ]


def _reseeded(model: Any, seed: int) -> Any:
    from sklearn.base import clone

    return clone(model).set_params(random_state=seed)


def _fit(model: Any, X: NDArray[Any], known: SideInformation) -> list[str]:
    """Fit the model; what it warns of, as sentences, unless its result has them as advice."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, side=known)
    told = dict.fromkeys(
        str(w.message) for w in caught if not issubclass(w.category, LostClassWarning)
    )
    return [f"{text[:1].upper()}{text[1:]}" for text in told]


def _hold_out(
    model: Any, X: NDArray[Any], known: SideInformation, folds: int | Literal["auto"]
) -> tuple["HeldOut | None", list[str]]:
    """How good the answer is by statements that were held back, and a sentence about it."""
    from sidelight.select import ENOUGH, cross_validate_statements

    n_rows, n_statements = X.shape[0], int(known.statements.binding.sum())
    if folds == "auto":
        folds = 5 if n_rows <= 10_000 else 3 if n_rows <= 100_000 else 0
        if 0 < n_statements < ENOUGH:
            folds = 0
            return None, [
                f"{n_statements} statements are too few to hold some back: how good the answer is "
                f"remains open. Ask for {ENOUGH - n_statements} more."
            ]
    if not (folds and n_statements):
        return None, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit with all statements has said it
        try:
            found = cross_validate_statements(model, X, side=known, n_splits=folds)
        except SidelightError as error:
            return None, [f"No statements could be held back to judge by: {error}"]
    return found, [found.in_words()]
