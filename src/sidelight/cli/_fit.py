"""``sidelight fit``: from a table to clusters, and to a page that can be shown."""

import shlex
import warnings
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sidelight import SideInformation
    from sidelight.tables import Table


class Scale(StrEnum):
    """What is done to columns before the clustering."""

    standard = "standard"
    minmax = "minmax"
    none = "none"


class Impute(StrEnum):
    """What stands in for a missing number."""

    median = "median"
    mean = "mean"


class Picture(StrEnum):
    """How rows come into a plane."""

    pca = "pca"
    tsne = "tsne"
    umap = "umap"


def fit(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="The table: .csv, .tsv, .parquet, .npz, .npy or .h5ad."
        ),
    ],
    model: Annotated[
        str, typer.Option(metavar="NAME", help="The model; 'sidelight models' lists them.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The table with clusters: .csv, .tsv or .parquet; .h5ad if the data is.",
        ),
    ],
    side: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="File of statements; may be given several times."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with the classes that are known, empty elsewhere."
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the row ids that the statements use; in .h5ad the names of cells.",
        ),
    ] = None,
    use_rep: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="What to cluster cells by (.h5ad): a key of obsm, or X."),
    ] = None,
    pairs_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Statements in the data (.h5ad): their key in uns."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column to cluster by (several times); by default all."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to leave out (several times)."),
    ] = None,
    one_hot: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Text column, each value of which becomes a column (several times).",
        ),
    ] = None,
    impute: Annotated[
        Impute | None, typer.Option(help="What stands in for missing numbers.")
    ] = None,
    scale: Annotated[
        Scale | None,
        typer.Option(
            help="Make columns comparable: mean 0 and deviation 1, or from 0 to 1. "
            "By default standard, and none for cells (.h5ad)."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the model, as name=value (several times).",
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="The number of clusters (or its upper limit)."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of everything random.")] = 0,
    use_what_fits: Annotated[
        bool,
        typer.Option("--use-what-fits", help="Leave out statements that the model cannot use."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page: FILE.html.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with true classes, to compare with; the model does not see it.",
        ),
    ] = None,
    stability: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="How many fits with other seeds to compare with."),
    ] = 0,
    picture: Annotated[
        Picture, typer.Option(help="The plane of the page's picture.")
    ] = Picture.pca,
    pictures: Annotated[bool, typer.Option(help="Draw pictures on the page.")] = True,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Begins the names of the new columns.")
    ] = "",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there already.")
    ] = False,
) -> None:
    """Cluster a table with the help of statements, and write it with its clusters.

    The output has the columns and the row order of the input, and four more: cluster (a number),
    cluster_name, confidence (the probability of the cluster, where the model gives one) and suspect
    (1 where a statement about the row is broken or probably wrong).
    """
    from sidelight.cli._models import build, set_up
    from sidelight.cli._progress import Stages
    from sidelight.models import find_model
    from sidelight.tables import read_table

    chosen = find_model(model)
    parameters = set_up(chosen, settings or [], clusters, seed)
    estimator = build(chosen, parameters)
    _check_files(side or [])
    _check_outputs(data, out, report, overwrite=overwrite, drawn=pictures, picture=picture)
    with Stages() as stages:
        with stages.stage(f"reading {data}"):
            cells = data.suffix.lower() == ".h5ad"
            scale = scale or (Scale.none if cells else Scale.standard)
            named = [name for name in (id, labels, truth) if name is not None]
            table = read_table(data, text=named, use_rep=use_rep)
            table.check_names(named)
            ids = table.ids(id)
            used = choose_columns(table, columns or [], drop or [], [*named, *(one_hot or [])])
            used += [name for name in one_hot or [] if name not in used]
            X, names = table.numbers(
                used, one_hot=one_hot or [], impute=impute and impute.value, ids=ids
            )
            known = gather(side or [], table, ids, labels)
            if pairs_key is not None:
                known += statements_inside(data, pairs_key)
        known, notes = fitting(known, estimator, use_what_fits)
        notes = [*_preparation(table, X, used, scale, impute), *notes]
        scaled = _scaled(X, scale)
        with stages.stage(f"fitting {chosen.__name__}"):
            found = _fitted(estimator.set_callbacks(stages), scaled, known)
        with stages.stage("fitting with other seeds"):
            others = [
                _fitted(build(chosen, {**parameters, "random_state": seed + k}), scaled, known)
                for k in range(1, stability + 1)
            ]
        answer = Answer(found.model, scaled, [*notes, *found.warnings])
        with stages.stage(f"writing {out}"):
            more = answer.columns(prefix)
            table.write(out, more, overwrite=overwrite)
        if report is not None:
            with stages.stage(f"writing {report}"):
                answer.write_page(
                    report,
                    X,
                    feature_names=names,
                    truth=None if truth is None else table.labels(truth),
                    stability=[other.model.labels_ for other in others],
                    command=command_of(context),
                    title=title or f"Clusters in {data.name}",
                    pictures=pictures,
                    picture=picture.value,
                    overwrite=overwrite,
                )
    for line in answer.in_words(out, report):
        typer.echo(line)


# Before the fit


def _check_files(paths: Iterable[Path]) -> None:
    for path in paths:
        if not path.is_file():
            raise SidelightError(f"{path}: there is no such file.")


def _check_outputs(
    data: Path, out: Path, report: Path | None, *, overwrite: bool, drawn: bool, picture: str
) -> None:
    """What can go wrong at the end is refused at the beginning."""
    from sidelight._writing import refuse_existing
    from sidelight.report._figures import check_matplotlib, check_umap
    from sidelight.tables import check_output

    check_output(out, data)
    if out.resolve() == data.resolve():
        raise SidelightError(f"--out is the data itself, {data}; give another name.")
    for path in filter(None, (out, report)):
        refuse_existing(path, overwrite=overwrite)
    if report is not None:
        if report.suffix.lower() not in (".html", ".htm"):
            raise SidelightError(f"--report {report}: the page is HTML; name it .html.")
        if drawn:
            check_matplotlib()
            if picture == "umap":
                check_umap()


def choose_columns(
    table: "Table", columns: Sequence[str], drop: Sequence[str], special: Sequence[str]
) -> list[str]:
    """The columns to cluster by, in the order of the table."""
    table.check_names([*columns, *drop])
    if columns:
        return [name for name in dict.fromkeys(columns) if name not in drop]
    left_out = {*drop, *special, *table.aside}
    return [name for name in table.columns if name not in left_out]


def gather(
    paths: Iterable[Path], table: "Table", ids: Any, labels: str | None
) -> "SideInformation":
    """All statements about the rows of a table: files, and the column of labels."""
    from sidelight.side import SideInformation

    known = SideInformation.empty(table.n_rows, index=ids)
    for path in paths:
        known += read_statements(path, table.n_rows, ids)
    if labels is not None:
        known += SideInformation.from_labels(table.labels(labels), index=ids)
    return known


def read_statements(path: Path, n_rows: int, ids: Any, **how: Any) -> "SideInformation":
    """Statements about the rows of a table; a missing --id is the usual mistake."""
    from sidelight.exceptions import SideInformationError
    from sidelight.side import SideInformation

    _check_files([path])
    try:
        return SideInformation.read(path, n_samples=n_rows, index=ids, **how)
    except SideInformationError as error:
        hint = _about_ids(path, ids, str(error), how)
        raise SideInformationError(f"{error}{hint}") from None


def statements_inside(data: Path, pairs_key: str) -> "SideInformation":
    """The statements that an .h5ad file keeps about its cells."""
    from sidelight.bio import get_statements
    from sidelight.tables import open_h5ad

    if data.suffix.lower() != ".h5ad":
        raise SidelightError(
            f"--pairs-key is for .h5ad files; give statements on {data} as --side."
        )
    adata = open_h5ad(data, backed="r")
    try:
        return get_statements(adata, pairs_key=pairs_key)
    finally:
        adata.file.close()


def _about_ids(path: Path, ids: Any, problem: str, how: dict[str, Any]) -> str:
    """Which ids are unknown, or that ids have to be told of; nothing for other problems."""
    from sidelight.side import SideInformation

    if ids is None:
        told = " On the command line: --id COLUMN names the column of the data with the ids."
        return told if "index=" in problem else ""
    if "not in the index" not in problem:
        return ""
    mentioned = SideInformation.read(path, n_samples="infer", **how)
    said = mentioned.statements  # where ids are numbers, the rows themselves are the ids
    rows = {*said.i.tolist(), *said.j.tolist()} - {-1}
    unknown = sorted({mentioned.row_name(row) for row in rows} - set(map(str, ids.tolist())))
    more = f" and {len(unknown) - 10:,} more" if len(unknown) > 10 else ""
    return f" The data has no row {', '.join(unknown[:10])}{more}."


def fitting(
    known: "SideInformation", model: Any, use_what_fits: bool
) -> tuple["SideInformation", list[str]]:
    """The statements that a model can use, and a sentence about those that are left out."""
    from sidelight._validation import check_kinds
    from sidelight.exceptions import UnsupportedStatementError
    from sidelight.side import KINDS, usable_kinds

    if not use_what_fits:
        try:
            check_kinds(model, known)
        except UnsupportedStatementError as error:
            reason = str(error).split(" To leave it out:")[0]
            raise UnsupportedStatementError(
                f"{reason} To go on without: --use-what-fits."
            ) from None
        return known, []
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


def _preparation(
    table: "Table", X: "NDArray[Any]", used: Sequence[str], scale: Scale, impute: Impute | None
) -> list[str]:
    """What was done to the table, in sentences."""
    words = {
        Scale.standard: "Columns were standardised (mean 0, standard deviation 1).",
        Scale.minmax: "Columns were scaled to run from 0 to 1.",
        Scale.none: "Columns were used in their own units.",
    }
    unused = [name for name in table.columns if name not in used]
    notes = [f"{table.path.name}: {X.shape[0]:,} rows, clustered by {X.shape[1]:,} columns."]
    if unused:
        shown = ", ".join(unused[:10]) + (", …" if len(unused) > 10 else "")
        notes.append(f"Not used to cluster: {shown}.")
    if impute is not None:
        gaps = sum(
            int((cells != cells).sum())
            for name, cells in table.columns.items()
            if name in used and not isinstance(cells, list)
        )
        notes.append(
            f"{gaps:,} missing values were replaced by the {impute.value} of their column."
        )
    return [*notes, words[scale]]


def _scaled(X: "NDArray[Any]", scale: Scale) -> "NDArray[Any]":
    if scale is Scale.none:
        return X
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    scaler = StandardScaler() if scale is Scale.standard else MinMaxScaler()
    scaled: NDArray[Any] = scaler.fit_transform(X)
    return scaled


# The fit, and what comes of it


class _Fitted(NamedTuple):
    model: Any
    warnings: list[str]


def _fitted(model: Any, X: "NDArray[Any]", known: "SideInformation") -> _Fitted:
    """The fitted model, and what it warned of, as sentences."""
    from sidelight.exceptions import SideInformationError

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, side=known)
        except SideInformationError as error:
            hint = " On the command line: --clusters, and --labels or --side."
            raise SideInformationError(
                f"{error}{hint if 'n_clusters' in str(error) else ''}"
            ) from None
    told = dict.fromkeys(str(warning.message) for warning in caught)
    return _Fitted(model, [f"{text[:1].upper()}{text[1:]}" for text in told])


_PLANES = {
    "pca": "The picture shows the first two principal components.",
    "tsne": "The picture is a t-SNE map: neighbours are near, distances say nothing.",
    "umap": "The picture is a UMAP map: neighbours are near, distances say nothing.",
}


class Answer:
    """A fitted model and what the command line makes of it.

    Parameters
    ----------
    model : fitted model
        The answer.
    X : array
        The data as the model saw it.
    notes : list of str
        What was done, in sentences.
    """

    def __init__(self, model: Any, X: "NDArray[Any]", notes: list[str]) -> None:
        from sidelight.report import Evidence, confidence, suspect_rows

        self.model, self.X, self.notes = model, X, notes
        self.result = model.result_
        self.evidence = Evidence.of(model, X)
        self.suspect = suspect_rows(self.result, self.evidence.statement_error)
        self.confidence = None
        if self.evidence.probabilities is not None:
            self.confidence = confidence(self.result, self.evidence.probabilities)

    def columns(self, prefix: str) -> dict[str, list[Any]]:
        """The new columns of the table."""
        columns = {
            "cluster": self.result.labels.tolist(),
            "cluster_name": [str(name) for name in self.result.names.tolist()],
        }
        if self.confidence is not None:
            columns["confidence"] = [round(value, 6) for value in self.confidence.tolist()]
        columns["suspect"] = self.suspect.astype(int).tolist()
        return {f"{prefix}{name}": values for name, values in columns.items()}

    def write_page(
        self, path: Path, X: "NDArray[Any]", *, picture: str, pictures: bool, **how: Any
    ) -> None:
        """The HTML page; X is in the units of the table."""
        from sidelight.report import project

        given = {key: how.pop(key) for key in ("truth", "stability", "command")}
        notes = [*self.notes, _PLANES[picture]] if pictures else self.notes
        self.result.report(
            path,
            X,
            evidence=self.evidence._replace(notes=notes, **given),
            plane=project(self.X, method=picture) if pictures else None,
            pictures=pictures,
            **how,
        )

    def in_words(self, out: Path, report: Path | None) -> list[str]:
        """What is told on the screen."""
        result = self.result
        lines = [*self.notes, f"{type(self.model).__name__}: {result!r}", ""]
        width = max(map(len, map(str, result.cluster_names)))
        for name, size in zip(result.cluster_names, result.sizes, strict=True):
            share = size / max(len(result.labels), 1)
            lines.append(f"  {name!s:{width}s}{size:10,d} rows{share:8.1%}")
        clashes = len(result.side.conflicts(limit=0).broken)
        if clashes:
            lines += ["", f"{clashes:,} statements contradict others; 'sidelight check' explains."]
        broken = result.broken()
        if broken:
            lines += ["", f"{len(broken):,} statements are broken, the first ones:"]
            lines += [f"  {sentence}" for sentence in broken[:5]]
        lines += ["", f"The table is in {out}" + (f", the report in {report}." if report else ".")]
        return lines


def command_of(context: typer.Context) -> str:
    """The command that repeats this one, from its parameters; what is default is left out."""
    words: list[str] = ["sidelight", str(context.info_name)]
    arguments, options = [], []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if value is None or value == parameter.get_default(context) or value in ([], ()):
            continue
        if parameter.param_type_name == "argument":
            arguments.append(str(value))
        elif isinstance(value, bool):
            flags = parameter.opts if value else (parameter.secondary_opts or parameter.opts)
            options.append(flags[0])
        else:
            for each in value if isinstance(value, (list, tuple)) else [value]:
                options += [parameter.opts[0], str(getattr(each, "value", each))]
    return shlex.join([*words, *arguments, *options])
