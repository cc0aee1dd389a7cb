"""The answer of a study, as columns, a frame, a file, a page, or in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._wording import counted
from sidelight.exceptions import SidelightError
from sidelight.side import SideInformation
from sidelight.study._build import COUNTS, reseeded
from sidelight.study._gather import is_cells
from sidelight.tables import Prepared, Table, read_expression

if TYPE_CHECKING:
    from sidelight.report import Evidence
    from sidelight.results import ClusterResult, Verdict
    from sidelight.select import Comparison, HeldOut

PLANES = {
    "pca": "The picture shows the first two principal components.",
    "tsne": "The picture is a t-SNE map: neighbours are near, distances say nothing.",
    "umap": "The picture is a UMAP map: neighbours are near, distances say nothing.",
}


# Rows up to which the page also shows clusters without statements, which cost another fit.
_MAX_BEFORE = 20_000
# Cells that a rank test of genes looks at.
_MAX_CELLS = 20_000


class Cluster(NamedTuple):
    """One cluster of an answer: number, name, number and share of rows.

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
    """Result of a study: named clusters, kept and broken statements, and notes.

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
        The quality of the answer, what was done, and warnings, in sentences.
    held_out : HeldOut or None
        The quality by held-out statements; None if there are too few.
    truth : list or None
        The true classes, where there are any to compare with.
    stability : list of ndarray
        The labels of fits with other seeds.
    comparison : Comparison or None
        The model beside others, where that was asked for.
    quality : str or None
        The quality of the answer by held-out statements, in a sentence, or what to ask to find out;
        the first of the notes.
    origin : dict
        How the table was read, if given: ``id``, ``use_rep``.

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
    2 statements are too few to hold some back, so the quality of the answer is unknown. Ask ...
    table: 4 rows, clustered by 1 column.
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
    origin: Mapping[str, Any] = field(default_factory=dict)

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
        """For every statement: kept or broken, and the probability that it is wrong."""
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
            texts=self.texts,
            held_out=self.held_out,
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

    @cached_property
    def texts(self) -> list[list[dict[str, Any]]]:
        """For each cluster what its texts have in common: column, words, typical sentences.

        A list per cluster with a dict per column of texts; empty lists where there is none.
        """
        from sidelight.study._texts import texts_of_clusters

        labels, n_clusters = self.result.labels, len(self.result.cluster_names)
        return texts_of_clusters(self.table, self.prepared, labels, n_clusters)

    @property
    def _in_units(self) -> tuple[NDArray[np.float64] | None, list[str] | None]:
        """The columns that mean something by themselves, in the units of the table."""
        of_texts = self.prepared.preparation.of_texts
        if of_texts.all():
            return None, None
        names = [name for name, text in zip(self.prepared.names, of_texts, strict=True) if not text]
        return self.prepared.unscaled[:, ~of_texts], names

    @property
    def membership(self) -> NDArray[np.float64] | None:
        """The probability of each cluster for each row, where the model gives one."""
        membership: NDArray[np.float64] | None = self._evidence.probabilities
        return membership

    @property
    def confidence(self) -> NDArray[np.float64] | None:
        """For each row the probability that the name of its cluster is right.

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

        membership is the model's own probability of the row's cluster, and confidence the
        probability that the name of the cluster is right; each is there if the model and the
        statements allow it.
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
            Prefix of the names of the new columns.

        Returns
        -------
        data frame
        """
        return self.table.to_frame(self.columns(prefix), backend=backend)

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
            Prefix of the names of the new columns.
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
            The projection of the rows to a plane; None for a page without pictures.
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
        shown = [] if picture is None else [PLANES[picture]]
        evidence = self._evidence._replace(
            notes=[*self.notes, *shown],
            command=command,
            before=None if picture is None else self._without_statements(),
            markers=self._markers(),
        )
        X, names = self._in_units
        return self.result.report(
            path,
            X,
            feature_names=names,
            evidence=evidence,
            plane=None if picture is None else project(self.prepared.X, method=picture),
            title=title or f"Clusters in {self.table.path.name}",
            pictures=picture is not None,
            overwrite=overwrite,
        )

    def _without_statements(self) -> NDArray[Any] | None:
        """Clusters by the same model, as many, without statements."""
        from sidelight.study._fit import fit_with

        n_rows = len(self.result.labels)
        if not self.result.side.n_statements or n_rows > _MAX_BEFORE:
            return None
        other = reseeded(self.model, self.result.provenance.get("seed") or 0)
        count = next((name for name in COUNTS if name in other.get_params()), None)
        if count is not None:
            other.set_params(**{count: len(self.result.cluster_names)})
        try:
            fit_with(other, self.prepared.X, SideInformation.empty(n_rows))
        except SidelightError:  # a model that needs statements
            return None
        return np.asarray(other.labels_)

    def _markers(self) -> list[list[dict[str, Any]]]:
        """The genes that set clusters of cells apart; people cannot read principal components."""
        from sidelight.report import rank_features

        expression = None
        if is_cells(self.table.path):
            expression = read_expression(self.table.path, limit=_MAX_CELLS)
        if expression is None:
            return []
        labels, n_clusters = self.result.labels[expression.rows], len(self.result.cluster_names)
        found = rank_features(expression.X, labels, expression.names)
        return [*found, *([] for _ in range(n_clusters - len(found)))]

    def summary(self) -> dict[str, Any]:
        """The answer and its preparation as texts, numbers, lists and dicts, ready for JSON.

        The keys are those of `sidelight.report.summarize`, and ``preparation``.
        """
        from sidelight.report import summarize

        X, names = self._in_units
        found = summarize(self.result, X, feature_names=names, evidence=self._evidence)
        return {**found, "preparation": self.prepared.preparation.to_dict()}

    def in_words(self) -> str:
        """Quality, notes, clusters, truth, stability and broken statements, for a terminal."""
        result, clusters = self.result, self.clusters
        lines = [*self.notes, f"{type(self.model).__name__}: {result!r}", ""]
        width = max(len(cluster.name) for cluster in clusters)
        lines += [f"  {c.name:{width}s}{c.size:10,d} rows{c.share:8.1%}" for c in clusters]
        if self.truth is not None or len(self.stability):
            lines += ["", *_comparisons(self.summary())]
        clashes = len(result.side.conflicts(limit=0).broken)
        if clashes:
            count = counted(clashes, "statement", "is")
            lines += ["", f"{count} contradicted by others: see 'sidelight check'."]
        broken = result.broken()
        if broken:
            lines += ["", f"{counted(len(broken), 'statement', 'is')} broken:"]
            lines += [f"  {sentence}" for sentence in broken[:5]]
        return "\n".join(lines)


_SCORES = {
    "nmi": "normalised mutual information",
    "ari": "adjusted Rand index",
    "pairwise_f": "pairwise F",
}


def _comparisons(summary: dict[str, Any]) -> list[str]:
    """The answer beside the truth and beside fits with other seeds, in lines for a terminal."""
    lines, truth, stability = [], summary["truth"], summary["stability"]
    if truth is not None:
        counts = truth["n_rows"], truth["n_unannotated"]
        lines.append(f"Against the true classes{'all rows':>26s}{'rows without statements':>26s}")
        lines.append(f"  {'rows':36s}{counts[0]:12,d}{counts[1]:26,d}")
        for name, value in truth["all_rows"].items():
            told = (_score_text(value), _score_text(truth["unannotated"][name]))
            lines.append(f"  {_SCORES.get(name, name):36s}{told[0]:>12s}{told[1]:>26s}")
    if stability is not None:
        fits = counted(stability["n_fits"], "fit")
        lines.append(
            f"Adjusted Rand index with {fits} with other seeds: {stability['mean']:.3f} on "
            f"average, {stability['min']:.3f} at worst (1: the same clusters)."
        )
    return lines


def _score_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
