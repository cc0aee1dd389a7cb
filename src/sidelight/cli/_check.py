"""``sidelight check``: what files of statements say, and where they contradict themselves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sidelight import SideInformation


def check(
    side: Annotated[
        list[Path], typer.Argument(help="Files of statements: .csv, .tsv, .jsonl, .parquet.")
    ],
    data: Annotated[
        Path | None, typer.Option(help="The table that they are about: are all rows there?")
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column of the table with the row ids.")] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=0, help="Number of rows of the data, if there is no table."),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(min=1, help="Ask whether so many clusters can keep everything.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many conflicts to explain.")] = 10,
) -> None:
    """Count statements and explain where they contradict each other.

    Without --data or --rows the data has the rows that the file mentions. Ends with exit code 1 if
    there are conflicts, or if so many clusters cannot keep everything, so that a script can stop.
    """
    from sidelight.report import summarize_side

    known = read_all(side, data=data, id=id, rows=rows)
    summary = summarize_side(known, clusters=clusters, limit=limit)
    typer.echo(in_words(summary))
    impossible = summary["feasible"] is not None and summary["feasible"]["answer"] == "no"
    if summary["conflicts"]["n_broken"] or impossible:
        raise typer.Exit(1)


def read_all(
    paths: list[Path], *, data: Path | None, id: str | None, rows: int | None, **how: Any
) -> "SideInformation":
    """All statements of some files, about the rows of a table, or about those that are named."""
    from sidelight.cli._fit import read_statements
    from sidelight.exceptions import SidelightError
    from sidelight.side import SideInformation

    if data is not None:
        from sidelight.tables import read_table

        if rows is not None:
            raise SidelightError("give --data or --rows, not both: a table has its own rows.")
        table = read_table(data, text=[] if id is None else [id])
        ids = table.ids(id)
        found = [read_statements(path, table.n_rows, ids, **how) for path in paths]
    elif id is not None:
        raise SidelightError("--id names a column of the table; give the table as --data.")
    else:
        size: Any = "infer" if rows is None else rows
        if len(paths) > 1 and rows is None:
            raise SidelightError(
                "several files may number rows differently; give --data (and --id), or --rows."
            )
        found = [SideInformation.read(path, n_samples=size, **how) for path in paths]
    known, *more = found
    for other in more:
        known += other
    return known


def in_words(summary: dict[str, Any]) -> str:
    """The check in words: counts, groups, disagreements, conflicts and feasibility."""
    lines = [
        f"{summary['n_statements']:,} statements about {summary['n_rows_spoken_of']:,} of "
        f"{summary['n_rows']:,} rows",
        "",
        *_count_table(summary),
        "",
        _groups(summary["groups"]),
        *_disagreements(summary["disagreements"]),
        *_conflicts(summary["conflicts"]),
    ]
    feasible = summary["feasible"]
    if feasible is not None:
        lines.append(
            f"{feasible['clusters']} clusters can keep every statement: {feasible['reason']}"
        )
    return "\n".join(lines)


def _count_table(summary: dict[str, Any]) -> list[str]:
    from sidelight.side import KINDS

    people = [(row["annotator"], row["kinds"]) for row in summary["annotators"]]
    if len(people) > 1:
        people.append(("all", summary["kinds"]))
    width = max([len("annotator"), *(len(name[:30]) for name, _ in people)])
    lines = [f"  {'annotator':{width}s}" + "".join(f"{kind:>11s}" for kind in KINDS)]
    for name, kinds in people:
        cells = "".join(f"{kinds.get(kind, 0):11,d}" for kind in KINDS)
        lines.append(f"  {name[:30]:{width}s}{cells}")
    return lines


def _groups(groups: dict[str, int]) -> str:
    if not groups["n"]:
        return "groups: nothing ties rows together"
    return (
        f"groups: {groups['n']:,} of more than one row, the largest of {groups['largest']:,} rows"
    )


def _disagreements(found: list[dict[str, Any]]) -> list[str]:
    lines = []
    for pair in found:
        first, second = pair["annotators"]
        lines.append(
            f"disagreement: {first} and {second} judged {pair['n_both']:,} things both, "
            f"and differ on {pair['n_differ']:,}"
        )
        lines += [f"  {example}" for example in pair["examples"]]
    return lines


def _conflicts(conflicts: dict[str, Any]) -> list[str]:
    broken, chains = conflicts["n_broken"], conflicts["chains"]
    if not broken:
        return ["conflicts: no conflicts"]
    count = "1 statement is" if broken == 1 else f"{broken:,} statements are"
    lines = [f"conflicts: {count} contradicted by others"]
    lines += [f"  {chain}" for chain in chains]
    if broken > len(chains):
        lines.append(f"  and {broken - len(chains):,} more (--limit)")
    return lines
