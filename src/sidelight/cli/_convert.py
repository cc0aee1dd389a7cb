"""``sidelight convert``: statements from one kind of file to another."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sidelight.cli._options import About, Id, KeepFormulas, Overwrite, Rows


class Format(StrEnum):
    """The formats of files of statements."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    pairs = "pairs"
    graph = "graph"


class PairKind(StrEnum):
    """What the pairs of a file without that column are."""

    must = "must"
    cannot = "cannot"


class SelfPairs(StrEnum):
    """What to do with a pair of a row and itself."""

    stop = "raise"
    drop = "drop"
    keep = "keep"


def convert(
    source: Annotated[Path, typer.Argument(help="File of statements to read.")],
    target: Annotated[Path, typer.Argument(help="File to write: .csv, .tsv, .jsonl, .parquet.")],
    source_format: Annotated[
        Format | None,
        typer.Option("--from", help="Format of the source; by default its suffix says it."),
    ] = None,
    kind: Annotated[
        PairKind | None, typer.Option(help="What the pairs are, where the file has no column.")
    ] = None,
    first_row: Annotated[int, typer.Option(help="Number of the first row in the source.")] = 0,
    self_pairs: Annotated[
        SelfPairs, typer.Option(help="What to do with a pair of a row and itself.")
    ] = SelfPairs.stop,
    data: About = None,
    id: Id = None,
    rows: Rows = None,
    overwrite: Overwrite = False,
    keep_formulas: KeepFormulas = False,
) -> None:
    """Turn a file of statements into another format.

    Read are tables (csv, tsv), JSON lines, Parquet, plain files of pairs and weighted graphs.
    Without --data or --rows the data has the rows that the file mentions.
    """
    from sidelight.study import gather

    known = gather(
        source,
        data,
        id=id,
        n_rows=rows,
        format=source_format and source_format.value,
        kind=kind and kind.value,
        first_row=first_row,
        self_pairs=self_pairs.value,
    )
    known.write(target, overwrite=overwrite, keep_formulas=keep_formulas)
    typer.echo(f"{target}: {known!r}")
