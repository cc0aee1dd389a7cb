"""PartitionLevelKMeans beside scikit-learn's KMeans(n_init=1).

Ten overlapping Gaussians in 16 dimensions, a tenth of the rows labelled. The targets hold for a
million rows on one thread. Peers: Seeded and Constrained K-means of the package
active-semi-supervised-clustering, at 10,000 rows (Python loops over the rows: more would time out).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs

K, D, LABELLED = 10, 16, 0.1
SIZES = (10_000, 100_000, 1_000_000)
MILLION = 1_000_000


class Rows(NamedTuple):
    """What every call takes: the data and partial labels, -1 where there is none."""

    X: np.ndarray
    y: np.ndarray


def gaussians(n: int) -> Rows:
    sample = make_blobs(n, D, K, random_state=0)
    labelled = np.random.default_rng(0).random(n) < LABELLED
    return Rows(sample.X, np.where(labelled, sample.y, -1))


def kmeans(data: Rows, seed: int) -> Any:
    return KMeans(K, n_init=1, random_state=seed).fit(data.X)


def kmeans_iterations(data: Rows, seed: int, max_iter: int) -> Any:
    model = KMeans(K, init="random", n_init=1, max_iter=max_iter, tol=0, random_state=seed)
    return model.fit(data.X)


def seeded_start(data: Rows, seed: int) -> Any:
    from sidelight.models import PartitionLevelKMeans

    return PartitionLevelKMeans(K, n_init=1, random_state=seed).fit(data.X, data.y)


def random_iterations(data: Rows, seed: int, max_iter: int) -> Any:
    from sidelight.models import PartitionLevelKMeans

    # Not a seeded start: it has converged before there is much to measure.
    options = {"init": "random", "n_init": 1, "max_iter": max_iter, "random_state": seed}
    return PartitionLevelKMeans(K, **options).fit(data.X, data.y)


def peer(name: str) -> Any:
    def run(data: Rows, seed: int) -> Any:
        import active_semi_clustering

        return getattr(active_semi_clustering, name)(n_clusters=K).fit(data.X, y=data.y)

    return run


CASES = [
    Case(
        "one seeded start",
        data=gaussians,
        run=seeded_start,
        baseline=kmeans,
        sizes=SIZES,
        cold=True,
        targets=(
            Target("ratio", 0.5, MILLION),
            Target("ratio_per_iteration", 0.6, MILLION),
            Target("extra_mb", 50, MILLION),
            # "Linear": the exponent from 10,000 rows; a tenth is left for caches and iterations.
            Target("growth", 1.1, MILLION),
        ),
    ),
    # What one more iteration costs, both from random rows. Ours grow cheaper as the centres settle,
    # KMeans's do not: the first ones are the hardest comparison. (`ratio_per_iteration` above is
    # the other reading of "per iteration": whole fits over their iterations.)
    *(
        Case(
            f"one iteration, {few} to {many}",
            data=gaussians,
            run=random_iterations,
            baseline=kmeans_iterations,
            sizes=SIZES,
            iterations=(few, many),
            memory=False,
            time_limit=300.0,
            targets=(Target("ratio", 0.6, MILLION), Target("growth", 1.1, MILLION)),
        )
        for few, many in ((2, 12), (2, 50))
    ),
    *(
        Case(
            f"peer: {name}",
            data=gaussians,
            run=peer(name),
            baseline=kmeans,
            sizes=(10_000,),
            threads=("one",),
        )
        for name in ("SeededKMeans", "ConstrainedKMeans")
    ),
]
