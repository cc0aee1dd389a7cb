"""Repeat the papers' experiments: `make reproduce`, or `python -m experiments --help`."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy
import scipy
import sklearn
from rich.console import Console

import sidelight
from experiments import expected
from experiments.runner import HERE, Cell, Experiment, Table, code_version, load, papers, run_cells
from experiments.tables import write_csv


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen tables of the chosen papers and write them to a folder per paper."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--paper", help=f"one of {', '.join(papers())} (all)")
    parser.add_argument("--table", help="only this table or figure of the paper, as 2 or fig3")
    parser.add_argument("--repeats", type=int, help="draws per setting (as many as the paper)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (one per core)")
    parser.add_argument(
        "--scheduler", help="address of a Dask scheduler whose workers see these folders (none)"
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder (results)")
    parser.add_argument(
        "--cache", type=Path, default=Path("results/cache"), help="folder (results/cache)"
    )
    parser.add_argument(
        "--record", action="store_true", help="write expected.csv anew, and nothing else"
    )
    parser.add_argument("--folder", type=Path, default=HERE, help="where the experiments lie")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    chosen = papers(folder) if options.paper is None else [options.paper]
    if unknown := set(chosen) - set(papers(folder)):
        parser.error(f"there is no experiment {sorted(unknown)}; there are {papers(folder)}")
    if options.record:
        for paper in chosen:
            expected.record(folder, paper)
        return 0
    if options.scheduler is not None:
        from distributed import Client

        Client(options.scheduler)  # from now on the active one
    command = f"python -m experiments {shlex.join(arguments)}".strip()
    for paper in chosen:
        experiment = load(folder, paper)
        if options.table is not None and options.table not in experiment.tables:
            parser.error(f"{paper} has no table {options.table}; it has {list(experiment.tables)}")
        names = list(experiment.tables) if options.table is None else [options.table]
        reproduce(
            experiment,
            paper,
            {name: experiment.tables[name] for name in names},
            options=options,
            made_by=f"Made by `{command}`, {versions(folder, paper)}.\n",
        )
    return 0


def reproduce(
    experiment: Experiment,
    paper: str,
    tables: dict[str, Table],
    *,
    options: argparse.Namespace,
    made_by: str,
) -> None:
    """Run the cells of all tables, then write each table and the page that holds them all."""
    console = Console(stderr=True, highlight=False)
    wanted = {name: table.cells(options.repeats) for name, table in tables.items()}
    why = {_key(c): experiment.missing(c) for cells in wanted.values() for c in cells}
    for reason in sorted({reason for reason in why.values() if reason is not None}):
        console.print(f"{paper}: skipped. {reason}", soft_wrap=True)
    needed = {n: [c for c in cells if why[_key(c)] is None] for n, cells in wanted.items()}
    outcomes = {}
    for serial in (False, True):
        cells = [c for n, t in tables.items() if t.serial is serial for c in needed[n]]
        if not cells:
            continue
        jobs = 1 if serial else options.jobs
        found = run_cells(
            paper,
            cells,
            folder=options.folder.resolve(),
            cache_folder=options.cache,
            jobs=jobs,
            console=console,
        )
        outcomes |= {_key(outcome.cell): outcome for outcome in found}
    target = options.results / paper
    target.mkdir(parents=True, exist_ok=True)
    pages = [f"# {experiment.title}\n", made_by]
    for name, table in tables.items():
        mine = [outcomes[_key(cell)] for cell in needed[name]]
        pages.append(write(name, table, mine, target, console))
    page = "tables.md" if options.table is None else f"{_stem(options.table)}.md"
    (target / page).write_text("\n".join(pages))
    console.print(f"written to {target / page}")


def write(name: str, table: Table, outcomes: list, target: Path, console: Console) -> str:
    """Write the CSV file and the picture of one table; its part of the page comes back."""
    stem = _stem(name)
    part = [f"## {table.title}\n", *(f"- {line}" for line in table.protocol), ""]
    if not outcomes:
        return "\n".join([*part, "Nothing to show: its data sets are not on this machine.\n"])
    rows, text = table.render(outcomes)
    write_csv(rows, target / f"{stem}.csv")
    if table.draw is not None:
        if importlib.util.find_spec("matplotlib") is None:
            console.print(f"{stem}: no picture, because matplotlib is missing (extra: plots)")
        else:
            table.draw(rows, target / f"{stem}.png")
            part += [f"![{table.title}]({stem}.png)\n"]
    errors = sum(outcome.error is not None for outcome in outcomes)
    if errors:
        console.print(f"{stem}: {errors} of {len(outcomes)} cells failed; the table says which")
    return "\n".join([*part, text, f"All digits: [{stem}.csv]({stem}.csv)\n"])


def versions(folder: Path, paper: str) -> str:
    """What made the figures: our version and commit, the hash in the cache, and the libraries."""
    describe = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--tags"]
    try:
        commit = subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    return (
        f"sidelight {sidelight.__version__} (commit {commit}, sources "
        f"{code_version(folder, paper)}), Python {platform.python_version()}, "
        f"numpy {numpy.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )


def _stem(name: str) -> str:
    return f"table{name}" if name.isdigit() else name


def _key(cell: Cell) -> tuple:
    return tuple(sorted(cell.items()))


if __name__ == "__main__":
    sys.exit(main())
