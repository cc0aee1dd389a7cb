"""The measuring of all benchmarks: cases in, rows out.

A case names the data, the thing measured and the base line. Every measurement is a process of its
own (`benchmarks.worker`) with a time limit, so that one case can neither warm up, slow down nor
take down another. Times are CPU times, user and system, of all threads of that process, and are
read as a ratio to the base line on the same data in the same process: seconds belong to a machine.

    warm    after a small fit of both; the two take turns, the median of the ratios counts
    cold    the first call in a fresh process: lazy imports, and kernels loaded from the disk
    first   the same with an empty kernel cache: what a new user waits for, once
    memory  peak resident memory during the first of these calls, less what was resident before it
            (data and everything that a small warm-up fit leaves behind)
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "SIDELIGHT_NUM_THREADS",
)
COLUMNS = (
    "case",
    "rows",
    "threads",
    "state",
    "cpu_seconds",
    "baseline_cpu_seconds",
    "ratio",
    "ratio_low",
    "ratio_high",
    "ratio_per_iteration",
    "iterations",
    "baseline_iterations",
    "extra_mb",
    "growth",
    "nmi",
    "ari",
    "nmi_unannotated",
    "ari_unannotated",
    "kept",
    "peer_ari",
    "peer_kept",
    "objective_ratio",
    "above_peer",
    "status",
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """What a case must reach: `measure` is at most `limit` at this size, on these threads."""

    measure: str
    limit: float
    rows: int
    threads: str = "one"
    state: str = "warm"


@dataclass(frozen=True)
class Case:
    """One thing to measure.

    `data(n)` makes what the calls take, untimed. `run(data, seed)` is timed, `baseline(data, seed)`
    beside it. `prepare(data)` is called, untimed, before each timed call and its value is handed
    over instead of the data: for objects that remember what they have once computed. With
    `iterations = (few, many)` both also take `max_iter=`, and the figure is the cost of one
    iteration: the difference of the two calls over the difference of their `n_iter_`, which leaves
    out what is done once. `states` are those that are measured if `cold`. `score(data, fitted)`
    rates what the first timed call returned, in columns of COLUMNS. `time_limit` is in seconds by
    the clock, `cpu_limit` in seconds of CPU, with the making of the data: on a busy machine the
    clock says little.
    """

    name: str
    data: Callable[[int], Any]
    run: Callable[..., Any]
    baseline: Callable[..., Any]
    sizes: tuple[int, ...]
    prepare: Callable[[Any], Any] = field(default=lambda data: data)
    iterations: tuple[int, int] | None = None
    score: Callable[[Any, Any], Mapping[str, float]] | None = None
    warm_up_rows: int = 1_000
    threads: tuple[str, ...] = ("one", "all")
    memory: bool = True
    warm: bool = True
    cold: bool = False
    states: tuple[str, ...] = ("cold", "first")
    time_limit: float = 120.0
    cpu_limit: int | None = None
    targets: tuple[Target, ...] = ()


def load(path: Path) -> ModuleType:
    """The benchmark file at `path`, with its CASES."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def measure(
    path: Path,
    cases: Sequence[Case],
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 5,
    jobs: int = 1,
) -> Iterator[list[Row]]:
    """Measure cases of a benchmark file, `jobs` at once; yields the rows of one at a time."""

    def rows_of(case: Case) -> list[Row]:
        asked = [n for n in case.sizes if sizes is None or n in sizes]
        rows = [
            row
            for threads in case.threads
            for row in _growing(path, case, asked if case.warm else [], threads, repeats)
        ]
        add_growth(rows)
        if case.cold and asked:
            rows += [_cold_row(path, case, state, repeats) for state in case.states]
        return rows

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(rows_of, cases)


def judge(case: Case, rows: Sequence[Row]) -> list[Row]:
    """Each target of the case beside what was measured; `met` is None where nothing was."""
    judged = []
    for target in case.targets:
        at = (target.rows, target.threads, target.state)
        found = [r for r in rows if (r["rows"], r["threads"], r["state"]) == at]
        value = found[0][target.measure] if found else None
        judged.append(
            {
                "case": case.name,
                "measure": target.measure,
                "rows": target.rows,
                "threads": target.threads,
                "state": target.state,
                "target": target.limit,
                "measured": value,
                "met": None if value is None else value <= target.limit,
            }
        )
    return judged


# One row each


def _growing(
    path: Path, case: Case, sizes: Sequence[int], threads: str, repeats: int
) -> Iterator[Row]:
    """A row for each size, up to the one that is out of time; the others say that, at once."""
    reason = None
    for n in sizes:
        if reason is not None:
            yield _empty_row(case, n, threads, "warm") | {"status": reason}
            continue
        row = _warm_row(path, case, n, threads, repeats)
        if row["status"].startswith(("timed out", "out of CPU time")):
            reason = f"not tried: {row['status']} with {n:,} rows"
        yield row


def _warm_row(path: Path, case: Case, n: int, threads: str, repeats: int) -> Row:
    row = _empty_row(case, n, threads, "warm")
    times = _in_process(path, case, n, threads, "warm", repeats)
    if "error" in times:
        return row | {"status": times["error"]}
    ratios = [ours / theirs for ours, theirs in zip(times["run"], times["baseline"], strict=True)]
    row |= {
        "cpu_seconds": statistics.median(times["run"]),
        "baseline_cpu_seconds": statistics.median(times["baseline"]),
        "ratio": statistics.median(ratios),
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "status": "ok",
        "extra_mb": times["extra_mb"],
    } | times["score"]
    if None not in times["run_n_iter"] + times["baseline_n_iter"]:
        row["iterations"] = statistics.median(times["run_n_iter"])
        row["baseline_iterations"] = statistics.median(times["baseline_n_iter"])
    if row["iterations"] and case.iterations is None:
        # Whole calls over their iterations: what is done once is spread over all of them.
        counts = zip(times["run_n_iter"], times["baseline_n_iter"], strict=True)
        each = [r * theirs / ours for r, (ours, theirs) in zip(ratios, counts, strict=True)]
        row["ratio_per_iteration"] = statistics.median(each)
    return row


def _cold_row(path: Path, case: Case, state: str, repeats: int) -> Row:
    """Ours and the base line's first calls, each call in a process of its own."""
    n = case.sizes[0]
    row = _empty_row(case, n, case.threads[0], state)
    seconds: dict[str, list[float]] = {"run": [], "baseline": []}
    if state == "cold":  # compiled kernels are on the disk then, also the first time
        _in_process(path, case, n, case.threads[0], "cold run", 1)
    for _ in range(min(repeats, 3)):
        for who, taken in seconds.items():
            answer = _in_process(path, case, n, case.threads[0], f"{state} {who}", 1)
            if "error" in answer:
                return row | {"status": answer["error"]}
            taken.append(answer["cpu"])
    ours, theirs = statistics.median(seconds["run"]), statistics.median(seconds["baseline"])
    return row | {
        "cpu_seconds": ours,
        "baseline_cpu_seconds": theirs,
        "ratio": ours / theirs,
        "status": "ok",
    }


def _empty_row(case: Case, n: int, threads: str, state: str) -> Row:
    values = {"case": case.name, "rows": n, "threads": threads, "state": state}
    return {column: values.get(column) for column in COLUMNS}


def add_growth(rows: Sequence[Row]) -> None:
    """The exponent of CPU time in the rows, from the smallest size measured to this one."""
    first: dict[str, Row] = {}
    for row in rows:
        if row["cpu_seconds"] is None:
            continue
        start = first.setdefault(row["threads"], row)
        if row is not start:
            row["growth"] = math.log(row["cpu_seconds"] / start["cpu_seconds"]) / math.log(
                row["rows"] / start["rows"]
            )


def _in_process(
    path: Path, case: Case, n: int, threads: str, mode: str, repeats: int
) -> dict[str, Any]:
    """Run `benchmarks.worker`; what it measured, or {"error": why not}."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    for variable in THREAD_VARIABLES:
        environment.pop(variable, None)
        if threads == "one":
            environment[variable] = "1"
    with tempfile.TemporaryDirectory() as folder:
        if mode.startswith("first"):
            environment["NUMBA_CACHE_DIR"] = folder
        answer = Path(folder) / "answer.json"
        order = {"path": str(path), "case": case.name, "rows": n, "mode": mode, "repeats": repeats}
        order |= {"seconds": case.time_limit / 2, "cpu_limit": case.cpu_limit}
        command = [sys.executable, "-m", "benchmarks.worker", json.dumps(order), str(answer)]
        # A session of its own: at the time limit its children go with it.
        child = subprocess.Popen(
            command,
            env=environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _, complaint = child.communicate(timeout=case.time_limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return {"error": f"timed out after {case.time_limit:g} s"}
        if child.returncode == -signal.SIGXCPU:
            return {"error": f"out of CPU time after {case.cpu_limit} s"}
        if child.returncode != 0 or not answer.exists():
            lines = complaint.strip().splitlines() or [f"exit code {child.returncode}"]
            return {"error": f"failed: {textwrap.shorten(lines[-1], 120, placeholder=' ...')}"}
        result: dict[str, Any] = json.loads(answer.read_text())
        return result


# Out


def from_csv(text: str) -> list[Row]:
    """The rows that `as_csv` wrote."""
    numbers = set(COLUMNS) - {"case", "threads", "state", "status"}
    rows: list[Row] = []
    for line in csv.DictReader(io.StringIO(text)):
        row: Row = {c: float(v) if c in numbers and v else v or None for c, v in line.items()}
        rows.append(row | {"rows": int(line["rows"])})
    return rows


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows with all digits, one line each."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_markdown(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = COLUMNS) -> str:
    """The rows as a table to read, without the columns in which nothing was measured."""
    columns = [c for c in columns if any(row[c] is not None for row in rows)]
    lines = ["| " + " | ".join(c.replace("_", " ") for c in columns) + " |"]
    lines.append("|" + " --- |" * len(columns))
    lines += ["| " + " | ".join(_shown(row[c]) for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", "\\|")
