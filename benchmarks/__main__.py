"""Run the benchmarks: `make bench`, or `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
import sklearn
from rich.console import Console

import sidelight
from benchmarks.harness import COLUMNS, Row, as_csv, as_markdown, from_csv, judge, load, measure

HERE = Path(__file__).resolve().parent
SHOWN = tuple(c for c in COLUMNS if c not in {"ratio_low", "ratio_high"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and leave one CSV and one Markdown file per benchmark."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    names = sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}; all, if none is given")
    parser.add_argument("--sizes", help="only these numbers of rows, as 10000,100000")
    parser.add_argument(
        "--cases", default="", help="only cases with this in their names, or a,b,c (or a;b;c)"
    )
    parser.add_argument(
        "--keep", action="store_true", help="rows of earlier runs stay where these have none"
    )
    parser.add_argument("--repeats", type=int, default=5, help="turns per measurement (5)")
    parser.add_argument("--jobs", type=int, default=1, help="cases measured at once (1)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder (results)")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"there is no benchmark {sorted(unknown)}; there are {names}")
    sizes = None if options.sizes is None else [int(float(s)) for s in options.sizes.split(",")]
    made_by = _made_by(shlex.join(["python", "-m", "benchmarks", *arguments]))
    for name in options.names or names:
        path = HERE / f"bench_{name}.py"
        folder = options.results / "benchmarks"
        run(
            path, folder, sizes, options.repeats, made_by, options.jobs, options.cases,
            keep=options.keep,
        )  # fmt: skip
    return 0


def run(
    path: Path,
    folder: Path,
    sizes: list[int] | None,
    repeats: int,
    made_by: str,
    jobs: int = 1,
    part_of_name: str = "",
    *,
    keep: bool = False,
) -> None:
    """One benchmark file: print each case as it is ready, and write all of them to `folder`."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    module = load(path)
    name = path.stem.removeprefix("bench_")
    folder.mkdir(parents=True, exist_ok=True)
    title = f"# {name}\n\n{(module.__doc__ or '').strip()}\n\n{made_by}\n"
    table = folder / f"{name}.csv"
    rows = from_csv(table.read_text()) if keep and table.exists() else []
    if rows:
        title += "Rows that this run left out are those of earlier runs.\n\n"
    targets: list[Row] = []
    parts = re.split(r";|,(?! )", part_of_name)  # a name may have a comma and a space
    cases = [case for case in module.CASES if any(part in case.name for part in parts)]
    order = {case.name: place for place, case in enumerate(module.CASES)}
    measured = measure(path, cases, sizes=sizes, repeats=repeats, jobs=jobs)
    for case, found in zip(cases, measured, strict=True):
        if not found:
            continue
        rows = merged(rows, found, order)
        targets = [
            target
            for known in module.CASES
            if any(row["case"] == known.name for row in rows)
            for target in judge(known, [row for row in rows if row["case"] == known.name])
        ]
        console.print(f"{name}: {case.name}\n{as_markdown(found, SHOWN[1:])}")
        # After every case: what hours have measured is not lost with the last minute.
        table.write_text(as_csv(rows))
        short = module.summary(rows) + "\n" if hasattr(module, "summary") else ""
        page = f"{title}{short}{as_markdown(rows, SHOWN)}{_verdict(targets)}"
        (folder / f"{name}.md").write_text(page)
    if not rows:
        console.print(f"{name}: none of its cases and sizes is asked for")
        return
    console.print(_verdict(targets))
    if hasattr(module, "picture"):
        module.picture(rows, folder / f"{name}.png")
        with (folder / f"{name}.md").open("a") as file:
            file.write(f"\n![{name}]({name}.png)\n")
    console.print(f"written to {folder / name}.*")


def merged(rows: Sequence[Row], found: Sequence[Row], order: Mapping[str, int]) -> list[Row]:
    """Rows with those found now in the place of earlier ones, in the order of the cases."""
    key = ("case", "rows", "threads", "state")
    by_key = {tuple(row[k] for k in key): row for row in (*rows, *found) if row["case"] in order}
    return sorted(
        by_key.values(),
        key=lambda row: (
            order[row["case"]],
            row["state"] != "warm",
            row["threads"] != "one",
            row["rows"],
        ),
    )


def _verdict(targets: Sequence[Row]) -> str:
    return f"\n## Targets\n\n{as_markdown(targets, list(targets[0]))}" if targets else ""


def _made_by(command: str) -> str:
    versions = (
        f"sidelight {sidelight.__version__}, Python {platform.python_version()}, "
        f"numpy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    )
    return (
        f"Made by `{command}` with {versions}; {os.cpu_count()} cores. CPU seconds (user and "
        "system, all threads); ratios to the base line in the same process, median of the turns, "
        "so that a ratio of medians may differ a little; growth is the exponent of CPU time in the "
        "rows, from the smallest size.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
