"""How many of the true neighbours the inverted lists find: `python -m benchmarks.recall`.

Each data set is searched by lists (`method="ivf"`); for a sample of rows the answer is compared
with the exact one. A neighbour counts as found if it is no farther than the k-th true one, so that
it does not matter which of several equally near rows is taken.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import as_markdown
from sidelight.datasets import make_blobs
from sidelight.graph import nearest_neighbors, query_neighbors

NEIGHBORS = 15
SAMPLE = 1_000


class Data(NamedTuple):
    """Rows to make, and how they are compared."""

    name: str
    make: Callable[[np.random.Generator, int], np.ndarray]
    metric: Any = "euclidean"


def _manifold(rng: np.random.Generator, n: int) -> np.ndarray:
    """Three dimensions, bent into fifty."""
    return np.sin(rng.normal(size=(n, 3)) @ rng.normal(size=(3, 50)))


DATA = (
    Data("ten Gaussians, d = 16", lambda rng, n: make_blobs(n, 16, 10, random_state=0).X),
    Data("uniform, d = 8", lambda rng, n: rng.random((n, 8))),
    Data("a bent space of dimension 3, d = 50", _manifold),
    Data(
        "integers 0 to 4 (ties, equal rows), d = 6", lambda rng, n: rng.integers(5, size=(n, 6)) / 1
    ),
    Data("directions, cosine, d = 24", lambda rng, n: rng.normal(size=(n, 24)), "cosine"),
)


def recall(data: Data, n: int) -> dict[str, Any]:
    """Search by lists, and compare a sample of rows with the exact answer."""
    X = data.make(np.random.default_rng(0), n)
    found = nearest_neighbors(X, NEIGHBORS, metric=data.metric, method="ivf")
    some = np.sort(np.random.default_rng(1).choice(n, SAMPLE, replace=False))
    exact = query_neighbors(X[some], X, NEIGHBORS + 1, metric=data.metric, method="exact")
    farthest = exact.distances.reshape(SAMPLE, -1)[:, -1]  # the first one is the row itself
    near = found.distances.reshape(n, -1)[some]
    hits = (near <= farthest[:, None] * (1 + 1e-12) + 1e-15).mean(axis=1)
    return {
        "data": data.name,
        "rows": n,
        "recall": float(hits.mean()),
        "standard error": float(hits.std() / SAMPLE**0.5),
        "rows below 0.8": float((hits < 0.8).mean()),
    }


def main() -> None:
    """Measure, print, and leave a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="(100000)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder (results)")
    options = parser.parse_args()
    rows = [recall(data, options.rows) for data in DATA]
    table = as_markdown(rows, list(rows[0]))
    page = (
        f"# Recall of approximate neighbours\n\n{NEIGHBORS} neighbours by inverted lists; their "
        f"number of probes is chosen for a recall of 0.97 on a sample of 1,000 rows, the recall "
        f"here is measured on {SAMPLE:,} others. "
        f"`python -m benchmarks.recall --rows {options.rows}` made this.\n\n{table}"
    )
    print(page)
    folder = options.results / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recall.md").write_text(page)


if __name__ == "__main__":
    main()
