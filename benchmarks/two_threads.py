"""StructuralEntropyClustering by the clock on two threads: `python -m benchmarks.two_threads`.

Ten Gaussians in 16 dimensions, n/10 correct pairs, the number of clusters given and not given. The
fits take turns in one process. Needs two idle cores: `load` is that of the machine at the start of
a turn. `main thread` is the CPU time of the thread that called `fit`: what no other thread can take
over, and its share of the work of faiss. All turns have to give the same bits.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np

from benchmarks.bench_structural_entropy import D, K
from benchmarks.harness import as_markdown
from sidelight import StructuralEntropyClustering
from sidelight.blocks import threads
from sidelight.datasets import make_blobs
from sidelight.metrics import adjusted_rand
from sidelight.side import sample_pairs


def turn(n: int, n_clusters: int | None, n_threads: int) -> dict[str, Any]:
    """One fit."""
    sample = make_blobs(n, D, K, random_state=0)
    side = sample_pairs(sample.y, n // 10, random_state=0)
    load = os.getloadavg()[0]
    clock, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
    with threads(n_threads):
        model = StructuralEntropyClustering(n_clusters, random_state=0).fit(sample.X, side=side)
    return {
        "rows": n,
        "n_clusters": n_clusters or "found",
        "threads": n_threads,
        "seconds": time.perf_counter() - clock,
        "cpu seconds": time.process_time() - cpu,
        "main thread": time.thread_time() - own,
        "load": load,
        "clusters": model.n_clusters_,
        "ari": adjusted_rand(sample.y, model.labels_),
        "bits": hash((model.labels_.tobytes(), model.history_.tobytes())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    table = []
    for n_clusters in (K, None):
        for n_threads in (1, 2):  # kernels of many rows are compiled and loaded
            turn(25_000, n_clusters, n_threads)
        turns = [
            turn(options.rows, n_clusters, n_threads)
            for _ in range(options.repeats)
            for n_threads in (1, 2)
        ]
        assert len({done.pop("bits") for done in turns}) == 1, "another answer with two threads"
        table += turns
        one, two = (
            float(np.median([t["seconds"] for t in turns if t["threads"] == k])) for k in (1, 2)
        )
        print(f"n_clusters={n_clusters}: {one:.1f} s and {two:.1f} s, {one / two:.2f} times faster")
    print(as_markdown(table, tuple(table[0])))


if __name__ == "__main__":
    main()
