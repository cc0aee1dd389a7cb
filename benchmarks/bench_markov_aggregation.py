"""The search of MarkovAggregation beside the building of its chain.

The chain is what cannot be avoided: the kernel on all pairs of 2,000 rows, or the neighbour graph
of 100,000. Ten overlapping Gaussians in 16 dimensions; n/10 statements, half pairs and half labels,
for the sparse chain. Whole fits with the default settings stand beside KMeans(n_init=1), on the
data of the benchmark `peers`: n/10 labels, or n/10 pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.bench_peers import kmeans, ours, score, task
from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs
from sidelight.side import SideInformation, sample_labels, sample_pairs

K, D, NEIGHBORS = 10, 16, 20


class Problem(NamedTuple):
    """The rows, and the chain that the search is given."""

    X: np.ndarray
    chain: Any
    side: SideInformation


def dense(n: int) -> Problem:
    from sidelight.models._markov import chain as chains

    X = make_blobs(n, D, K, random_state=0).X
    chain, _ = chains.dense_chain(X, NEIGHBORS, False)
    return Problem(X, chain, SideInformation.empty(n))


def sparse(n: int) -> Problem:
    from sidelight.models._markov import chain as chains

    sample = make_blobs(n, D, K, random_state=0)
    chain, _ = chains.sparse_chain(sample.X, NEIGHBORS, False, 0)
    side = sample_pairs(sample.y, n // 20, random_state=0)
    return Problem(sample.X, chain, side + sample_labels(sample.y, n // 20, random_state=0))


def kernel(data: Problem, seed: int) -> Any:
    from sidelight.models._markov import chain as chains

    return chains.dense_chain(data.X, NEIGHBORS, False)


def graph(data: Problem, seed: int) -> Any:
    from sidelight.graph import join_neighbors, nearest_neighbors

    return join_neighbors(nearest_neighbors(data.X, NEIGHBORS, random_state=0))


def search(annealing_step: float | None, init: str) -> Any:
    def run(data: Problem, seed: int) -> Any:
        from sidelight.models._markov import aggregation as parts

        units = parts.hard_units(data.side)
        problem = parts.Problem(data.chain, units, K, 0.5, annealing_step, 100, True)
        start = parts.Start(np.random.default_rng(seed), init == "coloring")
        return parts.run_start(None, problem, start)

    return run


CASES = (
    [
        Case(
            f"dense, {name}, {init} start",
            data=dense,
            run=search(step, init),
            baseline=kernel,
            sizes=(2_000,),
            threads=("one",),
            memory=False,
            targets=(Target("ratio", limit, 2_000),),
        )
        for init in ("repaired", "coloring")
        for name, step, limit in (("beta = 1/2", None, 1.0), ("annealed", 0.1, 60.0))
    ]
    + [
        Case(
            "sparse, annealed, n/10 statements",
            data=sparse,
            run=search(0.1, "repaired"),
            baseline=graph,
            sizes=(10_000, 100_000),
            threads=("one",),
            time_limit=900.0,
            targets=(Target("ratio", 10.0, 100_000),),
        )
    ]
    + [
        Case(
            f"whole fit, n/10 {kind}",
            data=task(kind, 1.0),
            run=ours("MarkovAggregation", n_clusters=K),
            baseline=kmeans,
            sizes=(10_000, 100_000),
            score=score,
            warm_up_rows=2_500,
            threads=("one",),
            memory=False,
            time_limit=900.0,
            targets=(Target("ratio", 60.0, 10_000), Target("cpu_seconds", 60.0, 100_000)),
        )
        for kind in ("labels", "pairs")
    ]
)
