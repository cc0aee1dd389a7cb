"""What smaller budgets cost in quality: `python -m benchmarks.budget_quality MODEL …`.

Above 6,000 rows many defaults search less than on small data. Here each model is fitted with its
full budget and with that of larger data: to Gaussians and pendigits as they are, and to satimage
and optdigits as if 4,000 rows were many. Scores are adjusted Rand indices of rows without
statements, means over up to three draws of n/10 labels or pairs; the number of clusters is given
to models that take one. Lines of models that are not named stay as they are in the CSV file.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_peers import K, Task, score
from benchmarks.harness import as_markdown
from sidelight.datasets import load, make_blobs
from sidelight.models import _fitting, find_model, model_tags
from sidelight.side import sample_labels, sample_pairs

DRAWS = (0, 1, 2)
KINDS = {"labels": (sample_labels, {"label"}), "pairs": (sample_pairs, {"must", "cannot"})}
Data = tuple[np.ndarray, np.ndarray]


def blobs(n: int, seed: int) -> Callable[[], Data]:
    def make() -> Data:
        sample = make_blobs(n, 16, K, separation=4.0, random_state=seed)
        return sample.X, sample.y

    return make


def stretched(n: int, seed: int) -> Callable[[], Data]:
    """Eight Gaussians of unequal sizes and covariances, which overlap."""

    def make() -> Data:
        rng = np.random.default_rng(seed)
        y = rng.choice(8, n, p=rng.dirichlet(np.full(8, 3.0)))
        X = np.empty((n, 12))
        for k in range(8):
            shape = rng.normal(size=(12, 12)) / np.sqrt(12) * rng.gamma(2, 0.5, 12)
            here = y == k
            X[here] = rng.normal(size=(here.sum(), 12)) @ shape.T + 0.9 * rng.normal(size=12)
        return X, y

    return make


def table(name: str) -> Callable[[], Data]:
    def make() -> Data:
        data = load(name)
        return np.asarray(data.X, dtype=np.float64), data.y

    return make


DATA = {
    "ten Gaussians": blobs(10_000, 0),
    "ten Gaussians, other centres": blobs(10_000, 5),
    "stretched Gaussians": stretched(10_000, 100),
    "pendigits": table("pendigits"),
    "satimage": table("satimage"),
    "optdigits": table("optdigits"),
    "ten Gaussians, 100,000 rows": blobs(100_000, 0),
    "stretched Gaussians, 30,000 rows": stretched(30_000, 100),
}


def measure(name: str, data: str, kind: str, draw: int) -> dict[str, Any]:
    """One draw: the same fit with both budgets."""
    X, y = DATA[data]()
    task = Task(X, y, KINDS[kind][0](y, len(y) // 10, random_state=draw))
    row: dict[str, Any] = {"model": name, "data": data, "statements": kind, "draw": draw}
    known = {"n_clusters": len(np.unique(y)), "random_state": draw}
    small = _fitting.SMALL_UP_TO
    for budget, up_to in (("full", 10**9), ("now", small if len(y) > small else 4_000)):
        model = find_model(name)()
        model.set_params(**{key: known[key] for key in known.keys() & model.get_params().keys()})
        _fitting.SMALL_UP_TO = up_to
        begun = time.process_time()
        try:
            model.fit(X, side=task.side)
        finally:
            _fitting.SMALL_UP_TO = small
        row[f"seconds_{budget}"] = time.process_time() - begun
        row[f"objective_{budget}"] = float(getattr(model, "objective_", np.nan))
        row[f"ari_{budget}"] = score(task, model)["ari_unannotated"]
    return row


def as_page(rows: list[dict[str, Any]]) -> str:
    """Means over the draws."""
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["model"], row["statements"], row["data"]), []).append(row)
    lines = []
    for (model, kind, data), draws in sorted(cells.items()):
        mean = {key: np.mean([float(row[key]) for row in draws]) for key in draws[0] if "_" in key}
        change = [float(row["ari_now"]) - float(row["ari_full"]) for row in draws]
        lines.append(
            {
                "model": model,
                "statements": kind,
                "data": data,
                "draws": len(draws),
                "ari, full": f"{mean['ari_full']:.3f}",
                "now": f"{mean['ari_now']:.3f}",
                "change": f"{np.mean(change):+.3f}",
                "lowest, highest": f"{min(change):+.3f}, {max(change):+.3f}",
                "objective, full": f"{mean['objective_full']:.6g}",
                "objective now": f"{mean['objective_now']:.6g}",
                "cpu seconds": f"{mean['seconds_full']:.2f} → {mean['seconds_now']:.2f}",
            }
        )
    return f"# Smaller budgets above 6,000 rows\n\n{__doc__}\n" + as_markdown(lines, list(lines[0]))


def main() -> None:
    """Measure, print every draw, and leave a table and a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget_quality")
    parser.add_argument("models", nargs="+", help="names of models")
    parser.add_argument("--data", default=";".join(list(DATA)[:6]), help="names, by semicolons")
    parser.add_argument("--kinds", default="labels,pairs", help="labels, pairs (both)")
    parser.add_argument("--draws", type=int, default=len(DRAWS), help="(3)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder (results)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    file = options.results / "budget_quality.csv"
    key = ("model", "data", "statements", "draw")
    kept: dict[tuple[str, ...], dict[str, Any]] = {}
    if file.exists():
        with file.open(encoding="utf-8", newline="") as stream:
            kept = {tuple(row[k] for k in key): row for row in csv.DictReader(stream)}
    options.results.mkdir(parents=True, exist_ok=True)
    for name in options.models:
        for kind in options.kinds.split(","):
            if not KINDS[kind][1] <= set(model_tags(name).accepts):
                continue
            for data in options.data.split(";"):
                for draw in DRAWS[: options.draws]:
                    row = measure(name, data, kind, draw)
                    print(
                        {
                            k: v if isinstance(v, (str, int)) else round(v, 4)
                            for k, v in row.items()
                        },
                        flush=True,
                    )
                    kept[tuple(str(row[k]) for k in key)] = row
                    _write(kept, options.results)


def _write(kept: dict[tuple[str, ...], dict[str, Any]], folder: Path) -> None:
    """The table of all draws so far, and the page."""
    rows = [kept[k] for k in sorted(kept)]
    with (folder / "budget_quality.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (folder / "budget_quality.md").write_text(as_page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
