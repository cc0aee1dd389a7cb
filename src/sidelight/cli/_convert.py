"""``sidelight convert``: statements from one kind of file to another."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sidelight._wording import counted
from sidelight.cli._options import (
    About,
    Id,
    KeepFormulas,
    Overwrite,
    OwnPairs,
    Rows,
    SelfPairs,
    SkipUnknown,
)


class Format(StrEnum):
    """The formats of files of statements."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    pairs = "pairs"
    graph = "graph"
    label_studio = "label-studio"
    prodigy = "prodigy"
    dedupe = "dedupe"


class Target(StrEnum):
    """The formats that are written."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    pairs = "pairs"
    label_studio = "label-studio"
    prodigy = "prodigy"
    dedupe = "dedupe"


class PairKind(StrEnum):
    """What the pairs of a file without that column are."""

    must = "must"
    cannot = "cannot"


def convert(
    source: Annotated[Path, typer.Argument(help="File of statements to read.")],
    target: Annotated[Path, typer.Argument(help="File to write: .csv, .tsv, .jsonl, .parquet.")],
    source_format: Annotated[
        Format | None,
        typer.Option("--from", help="Format of the source; by default from its suffix."),
    ] = None,
    target_format: Annotated[
        Target | None,
        typer.Option("--to", help="Format of the target; by default from its suffix."),
    ] = None,
    kind: Annotated[
        PairKind | None, typer.Option(help="Kind of the pairs, if the file has no column for it.")
    ] = None,
    first_row: Annotated[int, typer.Option(help="Number of the first row in the source.")] = 0,
    self_pairs: OwnPairs = SelfPairs.stop,
    skip_unknown: SkipUnknown = False,
    row_field: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Field with the ids of rows, in files of other tools; two, with a comma, for "
            "pairs.",
        ),
    ] = None,
    data: About = None,
    id: Id = None,
    rows: Rows = None,
    overwrite: Overwrite = False,
    keep_formulas: KeepFormulas = False,
) -> None:
    """Turn a file of statements into another format.

    It reads tables (csv, tsv), JSON lines, Parquet, files of pairs, weighted graphs, and files of
    Label Studio (JSON), Prodigy (JSON lines) and dedupe (training file). Other columns are kept
    in csv, tsv, jsonl and parquet. Without --data or --rows the data has the rows
    that the file mentions.
    """
    from sidelight.side import held_by
    from sidelight.study import collect

    found = collect(
        source,
        data,
        id=id,
        n_rows=rows,
        format=source_format and source_format.value,
        kind=kind and kind.value,
        first_row=first_row,
        self_pairs=self_pairs.value,
        skip_unknown=skip_unknown,
        row_field=row_field,
    )
    format = target_format and target_format.value
    known, extra = found.side, found.extra
    kinds = held_by(target, format)
    notes = [note for note in found.notes if not (extra and kinds is None and "not used" in note)]
    if kinds is not None:
        left = known.n_statements - known.only(kind=kinds).n_statements
        known, extra = known.only(kind=kinds), {}
        notes += [
            f"{counted(left, 'statement', 'was')} left out: the format holds {', '.join(kinds)}."
        ] * (left > 0)
    elif extra:
        notes.append(f"Other columns were kept: {', '.join(extra)}.")
    known.write(
        target, format=format, extra=extra, overwrite=overwrite, keep_formulas=keep_formulas
    )
    for note in notes:
        typer.echo(note)
    typer.echo(f"{target}: {known!r}")
