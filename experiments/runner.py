"""Run the cells of an experiment: in parallel, seeded each, cached on disk, resumable.

A cell is a flat dictionary that says everything about one run, such as
`{"dataset": "iris", "percent": 10, "method": "paper", "draw": 7}`. It is its own identity: the
seed and the place in the cache are hashes of it, so one cell run alone gives the number that it
gives among thousands, and a run that was killed goes on where it stopped.

An experiment is a folder with a `run.py` that defines `EXPERIMENT`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from experiments.stamps import HERE, code_version
from sidelight.blocks import active_client
from sidelight.exceptions import LostClassWarning

Cell = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: its values and CPU seconds, or the error that took their place."""

    cell: Cell
    values: dict[str, float]
    error: str | None = None
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Table:
    """One table or figure: which cells it needs, and how they are shown.

    `cells(repeats)` lists them (`None`: as many draws as the paper took). `render(outcomes)` gives
    the rows of the CSV file and the Markdown below the protocol; `draw(rows, path)` the picture.
    `serial` cells are timed and so have the machine to themselves.
    """

    title: str
    protocol: tuple[str, ...]
    cells: Callable[[int | None], list[Cell]]
    render: Callable[[Sequence[Outcome]], tuple[list[dict[str, Any]], str]]
    draw: Callable[[Sequence[Mapping[str, Any]], Path], None] | None = None
    serial: bool = False


@dataclass(frozen=True)
class Experiment:
    """A paper: how one cell is run, and its tables by their number in the paper.

    `missing(cell)` says what is not there that the cell needs (a data set), or None. `recorded`
    are the cells of `expected.csv`. `uses(cell)` names the models that the cell fits, and what it
    takes of `sidelight.query`, so that a change of other models leaves it alone (None: all).
    """

    title: str
    run: Callable[[Cell], Mapping[str, float]]
    tables: Mapping[str, Table]
    missing: Callable[[Cell], str | None] = lambda cell: None
    recorded: tuple[Cell, ...] = ()
    uses: Callable[[Cell], Iterable[str]] | None = None

    def used_by(self, cells: Iterable[Cell]) -> frozenset[str] | None:
        """What any of these cells uses."""
        if self.uses is None:
            return None
        return frozenset(name for cell in cells for name in self.uses(cell))


def papers(folder: Path = HERE) -> list[str]:
    """The names of the experiments in a folder."""
    return sorted(path.parent.name for path in folder.glob("*/run.py"))


@cache
def load(folder: Path, paper: str) -> Experiment:
    """The experiment in `folder/paper/run.py`."""
    path = folder / paper / "run.py"
    spec = importlib.util.spec_from_file_location(f"experiments_{paper}_run", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    experiment: Experiment = module.EXPERIMENT
    return experiment


# Identity


def seed_of(**identity: Any) -> int:
    """A seed of 32 bits from what identifies a cell, or a part of it that others share."""
    return int(_digest(identity)[:8], 16)


def _digest(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


# The run


def run_cells(
    paper: str,
    cells: Iterable[Cell],
    *,
    folder: Path = HERE,
    cache_folder: Path = Path("results/cache"),
    jobs: int = -1,
    console: Console | None = None,
) -> list[Outcome]:
    """Run the cells that the cache does not hold; all outcomes, in the order of the cells."""
    console = console or Console(stderr=True)
    by_key = {_digest(cell): cell for cell in cells}
    used = {key: load(folder, paper).used_by([cell]) for key, cell in by_key.items()}
    place = cache_folder.resolve() / paper
    stores = {of: place / code_version(folder, paper, of) for of in set(used.values())}
    for store in stores.values():
        store.mkdir(parents=True, exist_ok=True)
    paths = {key: stores[of] / f"{key}.json" for key, of in used.items()}
    outcomes = {key: _read(paths[key], cell) for key, cell in by_key.items()}
    # In the order of their hashes, which mixes small data sets with large ones, so that
    # the time left is told well from the first minute.
    to_do = sorted(key for key, outcome in outcomes.items() if outcome is None)
    work = partial(_work, folder, paper)
    with _progress(console) as progress:
        task = progress.add_task(paper, total=len(by_key), completed=len(by_key) - len(to_do))
        for key, outcome in _results(jobs, [delayed(work)(paths[k], by_key[k]) for k in to_do]):
            outcomes[key] = outcome
            progress.advance(task)
    return [outcome for outcome in outcomes.values() if outcome is not None]


def _results(jobs: int, calls: list[Any]) -> Iterable[Any]:
    """The results of some calls as they come; with a Dask client, all at once from its workers."""
    if jobs != 1 and active_client() is not None:
        with parallel_config(backend="dask"):
            return list(Parallel()(calls))
    found: Iterable[Any] = Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)
    return found


def _work(folder: Path, paper: str, path: Path, cell: Cell) -> tuple[str, Outcome]:
    """Run one cell, here in a worker, and store it at once: a kill loses only what is under way."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            # A class without a cluster costs a cell points: the table says it.
            warnings.simplefilter("ignore", LostClassWarning)
            values = {name: float(value) for name, value in load(folder, paper).run(cell).items()}
    except Exception as error:
        # Not stored: the next run tries again.
        return path.stem, Outcome(cell, {}, f"{type(error).__name__}: {error}".splitlines()[0])
    seconds = time.process_time() - start
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    scratch.write_text(json.dumps({"cell": cell, "values": values, "seconds": seconds}))
    scratch.replace(path)
    return path.stem, Outcome(cell, values, None, seconds)


def _read(path: Path, cell: Cell) -> Outcome | None:
    if not path.exists():
        return None
    stored = json.loads(path.read_text())
    return Outcome(cell, stored["values"], None, stored["seconds"])


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cells, elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
