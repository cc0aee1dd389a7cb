"""``sidelight data``: the data sets that sidelight knows, and tables of them to try things on."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidelight.cli._options import Overwrite, Seed
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.datasets import Dataset


def data(
    name: Annotated[str | None, typer.Argument(help="A data set, to write it as a table.")] = None,
    variant: Annotated[str | None, typer.Option(help="The variant that a paper used.")] = None,
    out: Annotated[Path | None, typer.Option(help="The table to write: .csv or .tsv.")] = None,
    side: Annotated[
        Path | None,
        typer.Option(help="Also write statements of two simulated people about some rows."),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """List the known data sets, or write one as a table with row ids and true classes.

    The simulated people give labels, must-links and cannot-links; bob is often wrong.
    """
    if name is None:
        _list_all()
        return
    from sidelight.datasets import load

    loaded = load(name, variant)
    if out is None:
        raise SidelightError(f"{loaded!r}: give --out FILE.csv to write it as a table.")
    _write(loaded, out, overwrite=overwrite)
    typer.echo(f"{out}: {loaded!r}")
    if side is not None:
        from sidelight.cli._demo import statements_about

        classes = loaded.class_names[loaded.y].astype(object)
        said = statements_about(classes, seed, share=0.2, n_pairs=max(len(classes) // 20, 1))
        said.write(side, overwrite=overwrite)
        typer.echo(f"{side}: {said!r}")


def _list_all() -> None:
    from rich.console import Console
    from rich.table import Table

    from sidelight.datasets import list_datasets

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "variant"):
        table.add_column(heading, no_wrap=True)
    for heading in ("rows", "columns", "classes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what it is")
    for info in list_datasets():
        where = "" if not info.needs_file or info.variant else " (needs its file)"
        size = (f"{n:,}" for n in (info.n_samples, info.n_features, info.n_classes))
        table.add_row(info.name, info.variant or "", *size, f"{info.paper or info.what}{where}")
    Console().print(table)
    typer.echo(
        "\nAs a table: sidelight data NAME --out FILE.csv. Files of data sets that do not come "
        "with\nscikit-learn are looked for in SIDELIGHT_DATA, else in ~/.local/share/sidelight."
    )


def _write(loaded: "Dataset", path: Path, *, overwrite: bool) -> None:
    """Columns row (the number), the features, class; numbers exactly, formulas in quotes."""
    from sidelight._formulas import quoted
    from sidelight._writing import replacing

    delimiters = {".csv": ",", ".tsv": "\t"}
    if path.suffix.lower() not in delimiters:
        raise SidelightError(f"{path}: a data set is written as .csv or .tsv; name it so.")
    X = loaded.X.toarray() if hasattr(loaded.X, "toarray") else loaded.X
    names = list(loaded.feature_names) or [f"x{k}" for k in range(X.shape[1])]
    with (
        replacing(path, overwrite=overwrite) as temporary,
        open(temporary, "x", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, delimiter=delimiters[path.suffix.lower()], lineterminator="\n")
        writer.writerow(["row", *map(quoted, map(str, names)), "class"])
        columns = [column.tolist() for column in X.T]
        names = [quoted(str(name)) for name in loaded.class_names]
        classes = [names[k] for k in loaded.y.tolist()]
        writer.writerows(zip(range(len(X)), *columns, classes, strict=True))
