"""Run the benchmarks: `make bench`, or `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy
import sklearn
from rich.console import Console

import sidelight
from benchmarks.harness import COLUMNS, Row, as_csv, as_markdown, judge, load, measure

HERE = Path(__file__).resolve().parent
SHOWN = tuple(c for c in COLUMNS if c not in {"case", "ratio_low", "ratio_high"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and leave one CSV and one Markdown file per benchmark."""
    names = sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}; all, if none is given")
    parser.add_argument("--sizes", help="only these numbers of rows, as 10000,100000")
    parser.add_argument("--repeats", type=int, default=5, help="turns per measurement (5)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder (results)")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"there is no benchmark {sorted(unknown)}; there are {names}")
    sizes = None if options.sizes is None else [int(float(s)) for s in options.sizes.split(",")]
    for name in options.names or names:
        run(HERE / f"bench_{name}.py", options.results / "benchmarks", sizes, options.repeats)
    return 0


def run(path: Path, folder: Path, sizes: list[int] | None, repeats: int) -> list[Row]:
    """One benchmark file: print its tables as they are ready and write them to `folder`."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    module = load(path)
    name = path.stem.removeprefix("bench_")
    pages = [f"# {name}\n", (module.__doc__ or "").strip() + "\n", _made_by(name, repeats)]
    console.print("\n".join(pages))
    rows: list[Row] = []
    for case, found in zip(module.CASES, measure(path, sizes=sizes, repeats=repeats), strict=True):
        if not found:
            continue
        rows += found
        page = f"## {case.name}\n\n{as_markdown(found, SHOWN)}"
        if targets := judge(case, found):
            page += "\n" + as_markdown(targets, [c for c in targets[0] if c != "case"])
        console.print(page)
        pages.append(page)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.csv").write_text(as_csv(rows))
    (folder / f"{name}.md").write_text("\n".join(pages))
    console.print(f"written to {folder / name}.csv and .md")
    return rows


def _made_by(name: str, repeats: int) -> str:
    versions = (
        f"sidelight {sidelight.__version__}, Python {platform.python_version()}, "
        f"numpy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    )
    return (
        f"Made by `python -m benchmarks {name} --repeats {repeats}` with {versions}; "
        f"{os.cpu_count()} cores. CPU seconds (user and system, all threads); ratios to the base "
        "line in the same process, median of the turns.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
