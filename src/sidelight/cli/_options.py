"""Options that several commands have, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

Id = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the table with the row ids that the statements use; in .h5ad the names "
        "of cells.",
    ),
]
About = Annotated[
    Path | None,
    typer.Option("--data", metavar="FILE", help="The table that the statements are about."),
]
Rows = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="Number of rows of the data, if there is no table."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that are there already.")
]
KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="Write texts that a spreadsheet would execute, such as =1+1, without quotes.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of everything random.")]
