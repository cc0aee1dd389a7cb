"""Repeat the papers' experiments: `make reproduce`, or `python -m experiments --help`."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import sidelight
from experiments import expected, index
from experiments.runner import HERE, Cell, Experiment, Outcome, Table, load, papers, run_cells
from experiments.stamps import PAGES, Stamp, commit, pages, stamp
from experiments.tables import write_csv


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen tables of the chosen papers and write them to a folder per paper."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--paper", help=f"one of {', '.join(papers())} (all)")
    parser.add_argument("--table", help="only this table or figure of the paper, as 2 or fig3")
    parser.add_argument("--repeats", type=int, help="draws per setting (as many as the paper)")
    parser.add_argument(
        "--datasets", help="only cells of these data sets, names with commas between (all)"
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes (one per core)")
    parser.add_argument(
        "--scheduler", help="address of a Dask scheduler whose workers see these folders (none)"
    )
    parser.add_argument("--results", type=Path, help="folder (results)")
    parser.add_argument(
        "--cache", type=Path, default=Path("results/cache"), help="folder (results/cache)"
    )
    parser.add_argument(
        "--record", action="store_true", help="write expected.csv anew, and nothing else"
    )
    parser.add_argument("--folder", type=Path, default=HERE, help="where the experiments lie")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="list the pages of results, their stamps, and which are older than the sources; "
        "nothing else (of --results, or docs/results)",
    )
    parser.add_argument(
        "--index",
        action="store_true",
        help="write the tables of the index page from the figures of the pages; nothing else (of "
        "--results, or docs/results)",
    )
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    if options.stale:
        shown = PAGES if options.results is None else options.results
        list_pages(folder, shown, Console(highlight=False))
        return 0
    if options.index:
        index.write(PAGES if options.results is None else options.results)
        return 0
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
    options.results = options.results or Path("results")
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
        )
    return 0


def command_of(paper: str, options: argparse.Namespace) -> str:
    """What to type for the same figures; where they are written does not matter."""
    more = {"--table": options.table, "--repeats": options.repeats, "--datasets": options.datasets}
    words = [str(w) for name, value in more.items() if value is not None for w in (name, value)]
    return shlex.join(["python", "-m", "experiments", "--paper", paper, *words])


def reproduce(
    experiment: Experiment,
    paper: str,
    tables: dict[str, Table],
    *,
    options: argparse.Namespace,
) -> None:
    """Run the cells of all tables, then write each table and the page that holds them all."""
    console = Console(stderr=True, highlight=False)
    wanted = {name: _chosen(table, options) for name, table in tables.items()}
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
    used = experiment.used_by(c for cells in wanted.values() for c in cells)
    mark = stamp(options.folder.resolve(), paper, command_of(paper, options), used)
    page = [f"# {experiment.title}\n", mark.line()]
    page.append(f"\nMade by `{mark.command}`, {versions(mark)}.\n")
    for name, table in tables.items():
        mine = [outcomes[_key(cell)] for cell in needed[name]]
        page.append(write(name, table, mine, target, console))
    path = target / ("tables.md" if options.table is None else f"{_stem(options.table)}.md")
    path.write_text("\n".join(page))
    console.print(f"written to {path}")


def write(name: str, table: Table, outcomes: list, target: Path, console: Console) -> str:
    """Write the CSV file and the picture of one table; its part of the page comes back."""
    stem = _stem(name)
    part = [f"## {table.title}\n", *(f"- {line}" for line in table.protocol), ""]
    if not outcomes:
        return "\n".join([*part, "Nothing to show: its data sets are not on this machine.\n"])
    part[-1:] = [f"- {budget(table, outcomes)}", ""]
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


def versions(mark: Stamp) -> str:
    """What made the figures: our version and commit, the hash of the sources, the libraries."""
    libraries = ", ".join(f"{name} {version}" for name, version in mark.libraries.items())
    return (
        f"sidelight {sidelight.__version__} (commit {mark.commit}, sources {mark.sources}), "
        f"Python {platform.python_version()}, {libraries}"
    )


def budget(table: Table, outcomes: Sequence[Outcome]) -> str:
    """How much was run for a table, of how much there is, and the CPU time that it took."""
    whole = len(table.cells(None))
    part = f"all {whole:,}" if len(outcomes) == whole else f"{len(outcomes):,} of {whole:,}"
    seconds = sum(outcome.seconds for outcome in outcomes)
    spent = f"{seconds / 60:,.1f} CPU minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"
    text = f"Budget: {part} cells, {spent}"
    for name in ("draw", "rerun"):
        drawn = {outcome.cell[name] for outcome in outcomes if name in outcome.cell}
        if drawn:
            text += f"; {len(drawn)} {name}{'s' if len(drawn) > 1 else ''} per setting at most"
    return f"{text}."


def list_pages(folder: Path, results: Path, console: Console) -> int:
    """Print every page, what made it, and whether it is stale; how many are."""
    listed = pages(folder, results)
    for page in listed:
        place = f"{page.path.parent.name}/{page.path.name}"
        made = "text" if page.stamp is None else f"{page.stamp.commit}, {page.stamp.sources}"
        state = f"stale: {page.why}" if page.why else "up to date"
        console.print(f"{place:32} {made:36} {state}", soft_wrap=True, markup=False)
    stale = sum(bool(page.why) for page in listed)
    console.print(f"{stale} of {len(listed)} pages are stale; the sources of today: {commit()}")
    return stale


def _chosen(table: Table, options: argparse.Namespace) -> list[Cell]:
    cells = table.cells(options.repeats)
    if options.datasets is None:
        return cells
    return [c for c in cells if c.get("dataset") in options.datasets.split(",")]


def _stem(name: str) -> str:
    return f"table{name}" if name[0].isdigit() else name


def _key(cell: Cell) -> tuple:
    return tuple(sorted(cell.items()))


if __name__ == "__main__":
    sys.exit(main())
