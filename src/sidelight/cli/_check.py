"""``sidelight check``: what a file of statements says, and where it contradicts itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sidelight import SideInformation


def check(
    side: Annotated[Path, typer.Argument(help="File of statements: .csv, .tsv, .jsonl, .parquet.")],
    rows: Annotated[
        int | None,
        typer.Option(min=0, help="Number of rows of the data; without it, those that are named."),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(min=1, help="Ask whether so many clusters can keep everything.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many conflicts to explain.")] = 10,
) -> None:
    """Count the statements of a file and explain where they contradict each other.

    Ends with exit code 1 if there are conflicts, so that a script can stop there.
    """
    from sidelight.side import SideInformation

    known = SideInformation.read(side, n_samples="infer" if rows is None else rows)
    typer.echo(describe(known, limit=limit, clusters=clusters))
    if len(known.conflicts(limit=0).broken):
        raise typer.Exit(1)


def describe(side: "SideInformation", *, limit: int, clusters: int | None) -> str:
    """The check in words: counts, groups, conflicts and, if asked, feasibility."""
    import numpy as np

    from sidelight.side import KINDS

    lines = [str(side)]
    if side.annotators:
        lines.append("")
        lines.append(f"  {'annotator':20s}" + "".join(f"{kind:>11s}" for kind in KINDS))
        for code, name in [*enumerate(side.annotators), (-1, "(not told)")]:
            kinds = side.statements.kind[side.statements.annotator == code]
            counts = np.bincount(kinds, minlength=len(KINDS))
            if counts.any():
                cells = "".join(f"{count:11,d}" for count in counts)
                lines.append(f"  {name!s:20.20s}{cells}")
    sizes = side.closure().sizes
    lines.append("")
    lines.append(
        f"groups: {int((sizes > 1).sum()):,} of more than one row"
        + (f", the largest of {sizes.max():,} rows" if (sizes > 1).any() else "")
    )
    lines.append(f"conflicts: {side.conflicts(limit=limit)}")
    if clusters is not None:
        lines.append(
            f"{clusters} clusters can keep every statement: {side.feasible(clusters).reason}"
        )
    return "\n".join(lines)
