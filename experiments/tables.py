"""From outcomes to tables: means, standard errors, and the distance to the published value."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.runner import Outcome

Row = dict[str, Any]


def summarise(outcomes: Iterable[Outcome], by: Sequence[str], value: str) -> list[Row]:
    """One row per group: mean, standard deviation and error, number of runs, and what failed.

    What a cell does not say is None, and what it has not measured is not part of a mean.
    """
    groups: dict[tuple[Any, ...], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(tuple(outcome.cell.get(name) for name in by), []).append(outcome)
    rows = []
    for key, members in groups.items():
        values = np.array([m.values[value] for m in members if value in m.values])
        errors = [m.error for m in members if m.error is not None]
        row: Row = dict(zip(by, key, strict=True))
        row["mean"] = float(values.mean()) if len(values) else None
        row["std"] = float(values.std(ddof=1)) if len(values) > 1 else None
        row["se"] = None if row["std"] is None else row["std"] / math.sqrt(len(values))
        row["runs"] = len(values)
        row["failed"] = f"{len(errors)} failed: {errors[0]}" if errors else ""
        rows.append(row)
    return rows


def compare(
    row: Row, published: float | None, published_std: float | None, *, runs: int, unit: float
) -> Row:
    """The row with the published value beside it, and the difference in standard errors.

    The error is of both means, theirs from the printed deviation and number of runs, and of the
    rounding in print to `unit`, which keeps it above zero where both are constant.
    """
    row = row | {"published": published, "difference": None, "difference_in_se": None}
    if published is None or row["mean"] is None:
        return row
    row["difference"] = row["mean"] - published
    if row["se"] is not None and published_std is not None:
        error = math.sqrt(row["se"] ** 2 + published_std**2 / runs + unit**2 / 12)
        row["difference_in_se"] = row["difference"] / error
    return row


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The rows with all their digits; columns in the order in which they first appear."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, as text."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table; numbers are text by now."""
    table = [header, ["---"] + ["---:"] * (len(header) - 1), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in table) + "\n"


def shown(row: Row | None, digits: int = 2) -> str:
    """`mean ± standard error`, or what stands in its place."""
    if row is None:
        return ""
    note = f" ({row['failed']})" if row["failed"] else ""
    if row["mean"] is None:
        return f"failed{note}" if note else ""
    error = "" if row["se"] is None else f" ± {row['se']:.{digits}f}"
    return f"{row['mean']:.{digits}f}{error}{note}"


def signed(value: float | None, digits: int = 2) -> str:
    """A difference with its sign, or nothing."""
    return "" if value is None else f"{value:+.{digits}f}"
