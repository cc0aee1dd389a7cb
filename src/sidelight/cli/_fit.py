"""``sidelight fit``: from a table to clusters and a report."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight._reading import refuse_missing
from sidelight.cli._options import (
    Columns,
    Data,
    Decimal,
    Drop,
    Id,
    Imputed,
    KeepFormulas,
    Labels,
    OneHot,
    Overwrite,
    OwnPairs,
    PairsKey,
    Scaled,
    Seed,
    SelfPairs,
    Sep,
    Sheet,
    Side,
    SkipUnknown,
    Text,
    TextModel,
    TimeLimit,
    UseRep,
    reading,
)
from sidelight.exceptions import SidelightError


class Picture(StrEnum):
    """How rows are drawn in a plane."""

    pca = "pca"
    tsne = "tsne"
    umap = "umap"


def fit(
    context: typer.Context,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The table with clusters: .csv, .tsv or .parquet; .h5ad if the data is. By "
            "default answer.csv next to the data.",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The model: 'sidelight models' lists them; best is what 'sidelight compare' "
            "chooses.",
        ),
    ] = "DiscriminativeClustering",
    side: Side = None,
    labels: Labels = None,
    id: Id = None,
    use_rep: UseRep = None,
    pairs_key: PairsKey = None,
    skip_unknown: SkipUnknown = False,
    self_pairs: OwnPairs = SelfPairs.stop,
    columns: Columns = None,
    drop: Drop = None,
    one_hot: OneHot = None,
    text: Text = None,
    text_model: TextModel = "auto",
    impute: Imputed = None,
    scale: Scaled = None,
    sep: Sep = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the model, as name=value (may be repeated).",
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            metavar="K",
            help="The number of clusters (or its upper limit); held-out: the one that does best "
            "by statements held back.",
        ),
    ] = None,
    seed: Seed = 0,
    use_what_fits: Annotated[
        bool,
        typer.Option("--use-what-fits", help="Leave out statements that the model cannot use."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a report: FILE.html.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also save the model, for 'sidelight predict': FILE.sidelight.",
        ),
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
        typer.Option(metavar="N", min=0, help="Number of fits with other seeds to compare with."),
    ] = 0,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="How often to fit without a part of the statements, to judge the answer by them; "
            "by default 5, fewer for many rows, none for fewer than 20 statements.",
        ),
    ] = None,
    beside_others: Annotated[
        bool,
        typer.Option(
            "--beside-others", help="Compare with other models, and say if one is clearly better."
        ),
    ] = False,
    time_limit: TimeLimit = None,
    picture: Annotated[
        Picture, typer.Option(help="How the rows are drawn on the page.")
    ] = Picture.pca,
    pictures: Annotated[bool, typer.Option(help="Draw pictures on the page.")] = True,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Prefix of the names of the new columns.")
    ] = "",
    overwrite: Overwrite = False,
    keep_formulas: KeepFormulas = False,
) -> None:
    """Cluster a table with the help of statements, and write it with its clusters.

    The output has the columns and the row order of the input, and up to five more: cluster (a
    number), cluster_name, membership (the model's own probability of the cluster), confidence (the
    probability that the name is right, judged by held-out statements) and suspect (1 if a statement
    about the row is broken or probably wrong).
    """
    for path in (data, *(side or ())):  # before anything heavy is imported
        refuse_missing(path, SidelightError)
    from sidelight.cli._models import read_settings
    from sidelight.cli._progress import Stages
    from sidelight.study import fit as study
    from sidelight.study import save as save_model

    out = data.parent / "answer.csv" if out is None else out
    plane = picture.value if pictures else None
    _check_outputs(data, out, report, save, overwrite=overwrite, picture=plane)
    with Stages() as stages:
        answer = study(
            data,
            model,
            side=side or (),
            labels=labels,
            id=id,
            columns=columns or (),
            drop=drop or (),
            one_hot=one_hot or (),
            text=text or (),
            text_model=text_model,
            impute=impute and impute.value,
            scale=scale and scale.value,
            n_clusters=_number(clusters),
            parameters=read_settings(settings or []),
            seed=seed,
            use_what_fits=use_what_fits,
            truth=truth,
            stability=stability,
            folds="auto" if folds is None else folds,
            beside_others=beside_others,
            time_limit=time_limit,
            use_rep=use_rep,
            pairs_key=pairs_key,
            skip_unknown=skip_unknown,
            self_pairs=self_pairs.value,
            reading=reading(sep, decimal, sheet),
            progress=stages,
        )
        with stages.stage(f"writing {out}"):
            answer.write(out, prefix=prefix, overwrite=overwrite, keep_formulas=keep_formulas)
        if save is not None:
            with stages.stage(f"writing {save}"):
                save_model(answer, save, overwrite=overwrite)
        if report is not None:
            with stages.stage(f"writing {report}"):
                answer.write_page(
                    report,
                    title=title,
                    picture=plane,
                    command=command_of(context),
                    overwrite=overwrite,
                )
    typer.echo(answer.in_words())
    places = [f"The table is in {out}"]
    places += [f"the report in {report}"] if report else []
    places += [f"the model in {save}"] if save else []
    typer.echo(f"\n{', '.join(places)}.")


def _number(text: str | None) -> Any:
    """A number of clusters, or the word that stands for one."""
    if text is None or text == "held-out":
        return text
    if not text.isdigit() or int(text) < 1:
        raise SidelightError(f"--clusters {text!r}: give a whole number from 1 on, or held-out.")
    return int(text)


def _check_outputs(
    data: Path,
    out: Path,
    report: Path | None,
    save: Path | None,
    *,
    overwrite: bool,
    picture: str | None,
) -> None:
    """Refuse at the beginning what would fail at the end."""
    from sidelight._writing import refuse_existing
    from sidelight.report import check_pictures
    from sidelight.tables import check_output

    check_output(out, data)
    if out.resolve() == data.resolve():
        raise SidelightError(f"--out is the data itself, {data}; give another name.")
    for path in filter(None, (out, report, save)):
        refuse_existing(path, overwrite=overwrite)
    if report is not None:
        if report.suffix.lower() not in (".html", ".htm"):
            raise SidelightError(f"--report {report}: the page is HTML; name it .html.")
        if picture is not None:
            check_pictures(picture)


def command_of(context: typer.Context) -> str:
    """The command that repeats this one, without parameters that have their default."""
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
