"""``sidelight predict``: the clusters of new rows, by a model that was saved."""

from pathlib import Path
from typing import Annotated

import typer

from sidelight._reading import refuse_missing
from sidelight.cli._options import (
    Data,
    Decimal,
    Id,
    KeepFormulas,
    Overwrite,
    Sep,
    Sheet,
    reading,
)
from sidelight.exceptions import SidelightError


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The file of 'sidelight fit --save'.")
    ],
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The table with clusters: .csv, .tsv or .parquet; .h5ad if the data is. By "
            "default predicted.csv next to the data.",
        ),
    ] = None,
    id: Id = None,
    sep: Sep = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Prefix of the names of the new columns.")
    ] = "",
    overwrite: Overwrite = False,
    keep_formulas: KeepFormulas = False,
) -> None:
    """Assign new rows to the clusters of a saved model, and write the table.

    The table needs the columns that the model was fitted to, in any order; they are prepared in
    the same way. Other columns are ignored.
    """
    for path in (model, data):  # before anything heavy is imported
        refuse_missing(path, SidelightError)
    from sidelight._writing import refuse_existing
    from sidelight.study import Saved, load
    from sidelight.tables import check_output

    out = data.parent / "predicted.csv" if out is None else out
    check_output(out, data)
    refuse_existing(out, overwrite=overwrite)
    saved = load(model)
    if not isinstance(saved, Saved):
        raise SidelightError(
            f"{model} holds a model without its preparation; save it by "
            "'sidelight fit --save', or use it in Python: sidelight.load."
        )
    found = saved.predict(data, id=id, reading=reading(sep, decimal, sheet))
    found.write(out, prefix=prefix, overwrite=overwrite, keep_formulas=keep_formulas)
    typer.echo(f"{model}: {saved!r}, saved by sidelight {saved.version}.")
    for line in (saved.quality, *found.notes):
        if line:
            typer.echo(line)
    typer.echo(f"{found!r}. The table is in {out}.")
