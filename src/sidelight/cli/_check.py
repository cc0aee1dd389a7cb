"""``sidelight check``: the contents of files of statements, and their contradictions."""

from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from sidelight._wording import counted
from sidelight.cli._options import About, Id, OwnPairs, Rows, SelfPairs, SkipUnknown


def check(
    side: Annotated[
        list[Path], typer.Argument(help="Files of statements: .csv, .tsv, .jsonl, .parquet.")
    ],
    data: About = None,
    id: Id = None,
    rows: Rows = None,
    skip_unknown: SkipUnknown = False,
    self_pairs: OwnPairs = SelfPairs.stop,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, help="Check whether this number of clusters can keep every statement."),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many conflicts to explain.")] = 10,
) -> None:
    """Count statements and explain contradictions.

    Without --data or --rows the data has the rows that the file mentions. Ends with exit code 1 if
    there are conflicts, or if the clusters cannot keep everything, so that a script can stop.
    """
    from sidelight.report import summarize_side
    from sidelight.study import collect

    found = collect(
        side,
        data,
        id=id,
        n_rows=rows,
        skip_unknown=skip_unknown,
        self_pairs=self_pairs.value,
    )
    summary = summarize_side(found.side, clusters=clusters, limit=limit)
    for note in found.notes:
        typer.echo(note)
    typer.echo(in_words(summary))
    impossible = summary["feasible"] is not None and summary["feasible"]["answer"] == "no"
    if summary["conflicts"]["n_broken"] or impossible:
        raise typer.Exit(1)


def in_words(summary: dict[str, Any]) -> str:
    """The check in words: counts, groups, disagreements, conflicts and feasibility."""
    lines = [
        f"{counted(summary['n_statements'], 'statement')} about "
        f"{summary['n_rows_in_statements']:,} of {counted(summary['n_rows'], 'row')}",
        "",
        *_count_table(summary),
        "",
        *_classes(summary),
        _groups(summary["groups"]),
        *_disagreements(summary["disagreements"]),
        *_conflicts(summary["conflicts"]),
    ]
    feasible = summary["feasible"]
    if feasible is not None:
        clusters = counted(feasible["clusters"], "cluster")
        lines.append(f"Can {clusters} keep every statement? {feasible['reason']}")
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


def _classes(summary: dict[str, Any]) -> list[str]:
    """All classes with the number of their labels, and classes that may be the same."""
    told = [f"{row['class']} {row['n']:,}" for row in summary["class_counts"]]
    lines = fill(", ".join(told), 96, initial_indent="  ", subsequent_indent="  ").split("\n")
    lines = [f"classes: {len(told):,}", *lines, ""] if told else []
    for group in summary["alike"]:
        lines.append(f"spelling: are {', '.join(map(repr, group))} one class?")
    return lines


def _groups(groups: dict[str, int]) -> str:
    if not groups["n"]:
        return "groups: none"
    return (
        f"groups: {groups['n']:,} of more than one row, the largest of {groups['largest']:,} rows"
    )


def _disagreements(found: list[dict[str, Any]]) -> list[str]:
    lines = []
    for pair in found:
        first, second = pair["annotators"]
        lines.append(
            f"disagreement: {first} and {second} both judged {pair['n_both']:,} rows or pairs, "
            f"and differ on {pair['n_differ']:,}"
        )
        lines += [f"  {example}" for example in pair["examples"]]
    return lines


def _conflicts(conflicts: dict[str, Any]) -> list[str]:
    broken, chains = conflicts["n_broken"], conflicts["chains"]
    if not broken:
        return ["conflicts: none"]
    count = counted(broken, "statement", "is")
    lines = [f"conflicts: {count} contradicted by others"]
    lines += [f"  {chain}" for chain in chains]
    if broken > len(chains):
        lines.append(f"  and {broken - len(chains):,} more (--limit)")
    return lines
