"""Seconds to the first question, and to the next: `python -m benchmarks.query_sizes`.

Twenty Gaussians in 16 columns, one answer in ten wrong. CPU seconds of this process; the graph is
shown apart from what follows it.
"""

import argparse
import resource
import time
from typing import Any

import numpy as np

from sidelight.query import Asker, Oracle, _structure

DIMENSIONS, CLUSTERS = 16, 20


class Watch:
    """The neighbour search of the asker, timed: it is made once, and shown apart."""

    def __init__(self) -> None:
        self.search, self.seconds = _structure.nearest_neighbors, 0.0

    def __call__(self, *given: Any, **settings: Any) -> Any:
        began = time.process_time()
        found = self.search(*given, **settings)
        self.seconds += time.process_time() - began
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100000")
    parser.add_argument("--answers", type=int, default=60)
    given = parser.parse_args()
    warm = np.random.default_rng(0).normal(size=(200, DIMENSIONS))
    answer_some(Asker(warm, random_state=0), np.arange(200) % 3, 30)  # kernels are compiled
    for n in (int(float(size)) for size in given.sizes.split(",")):
        rng = np.random.default_rng(1)
        y = rng.integers(CLUSTERS, size=n)
        X = 4.0 * rng.normal(size=(CLUSTERS, DIMENSIONS))[y] + 2.0 * rng.normal(
            size=(n, DIMENSIONS)
        )
        _structure.nearest_neighbors = watch = Watch()  # type: ignore[assignment]
        began = time.process_time()
        asker = Asker(X, random_state=0, refit=None)
        asker.ask()
        graph, _structure.nearest_neighbors = watch.seconds, watch.search
        first = time.process_time() - began - graph
        ms = 1_000 * np.array(answer_some(asker, y, given.answers))
        print(
            f"{n:>9,} rows: graph {graph:.1f} s, first question {first:.1f} s later, then "
            f"{ms.mean():.0f} ms a question, p95 {np.quantile(ms, 0.95):.0f}, most {ms.max():.0f}, "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB at most",
            flush=True,
        )


def answer_some(asker: Asker, y: np.ndarray, n: int) -> list[float]:
    """CPU seconds from each answer to the next question."""
    oracle = Oracle(y, wrong=0.1, random_state=0)
    seconds, question = [], asker.ask()[0]
    for _ in range(n):
        value = oracle(question)
        began = time.process_time()
        asker = asker.answer(question, value)
        question = asker.ask()[0]
        seconds.append(time.process_time() - began)
    return seconds


if __name__ == "__main__":
    main()
