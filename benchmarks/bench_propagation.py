"""ConstraintPropagation and a factorisation beside the building of their neighbour graph.

Ten Gaussians in 16 dimensions, n/10 correct pairs. What is to be kept: at 100,000 rows with 10,000
pairs a whole fit of ConstraintPropagation takes at most three times as long as its graph, and at
most 2 GB. A fixed number of steps of PropagatedSymmetricNMF grows with the edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs
from sidelight.side import SideInformation, sample_pairs

D, K = 16, 10
SIZES = (10_000, 100_000)
LARGE = 100_000


class Rows(NamedTuple):
    """What every call takes."""

    X: np.ndarray
    side: SideInformation


def gaussians(n: int) -> Rows:
    sample = make_blobs(n, D, K, random_state=0)
    return Rows(sample.X, sample_pairs(sample.y, n // 10, random_state=0))


def graph(data: Rows, seed: int) -> Any:
    from sidelight.graph import neighbor_graph

    n_neighbors = int(np.ceil(np.log2(len(data.X)))) + 1
    return neighbor_graph(data.X, n_neighbors, affinity="local", random_state=seed)


def propagate(data: Rows, seed: int) -> Any:
    from sidelight.models import ConstraintPropagation

    return ConstraintPropagation(K, random_state=seed).fit(data.X, side=data.side)


def factorise(data: Rows, seed: int) -> Any:
    from sidelight.models import PropagatedSymmetricNMF

    model = PropagatedSymmetricNMF(K, n_init=1, max_iter=20, tol=1.0, random_state=seed)
    return model.fit(data.X, side=data.side.only(kind="must"))


CASES = [
    Case(
        name="constraint propagation, n/10 pairs; baseline: its neighbour graph",
        data=gaussians,
        run=propagate,
        baseline=graph,
        sizes=SIZES,
        warm_up_rows=25_000,  # neighbours are approximate beyond 20,000: other kernels
        time_limit=600.0,
        targets=(
            Target("ratio", 3.0, LARGE),
            Target("extra_mb", 2_048.0, LARGE),
        ),
    ),
    Case(
        name="symmetric factorisation, ten steps; baseline: a neighbour graph",
        data=gaussians,
        run=factorise,
        baseline=graph,
        sizes=SIZES,
        warm_up_rows=25_000,  # neighbours are approximate beyond 20,000: other kernels
        time_limit=600.0,
    ),
]
