"""K-means with statements beside scikit-learn's KMeans(n_init=1), and beside other packages.

Ten overlapping Gaussians in 16 dimensions; a tenth of the rows labelled, or as many pairs as a
tenth of the rows, all of them right. One start each. `HMRFKMeans` learns its metric.

Peers of the package active-semi-supervised-clustering start from the same centres as ours, at 1,000
and 10,000 rows: the base line of these cases is the peer, whose adjusted Rand index is `peer_ari`,
and `objective_ratio` is our objective over its own, both by our formula for the stated pairs. Both
programs move rows with pairs one by one in a random order, and end in one of several local minima:
no start decides which. The case with 12 starts and three orders of each has the highest ratio of
all, and in `above_peer` the share of them in which ours is above.
k-means-constrained is the base line of the case with sizes. A peer that is not done within the time
limit is said to be so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs
from sidelight.metrics import adjusted_rand
from sidelight.side import SideInformation, sample_labels, sample_pairs

K, D, STATED = 10, 16, 0.1
N_STARTS, N_ORDERS = 12, 3  # of PCKMeans and its peer
SIZES = (100_000, 1_000_000)
PEER_SECONDS = 300.0  # of a measurement with both, so that it ends
WITH_LABELS = {"SeededKMeans": 1.0, "ConstrainedKMeans": 1.0}
WITH_PAIRS = {"PCKMeans": 3.0, "COPKMeans": 3.0, "LCVQE": 3.0, "MPCKMeans": 6.0, "HMRFKMeans": 6.0}
OPTIONS: dict[str, dict[str, Any]] = {"HMRFKMeans": {"learn_metric": True}}


class Task(NamedTuple):
    """Data, the truth, statements about it, and centres to start from."""

    X: np.ndarray
    truth: np.ndarray
    side: SideInformation
    start: np.ndarray


def task(kind: str) -> Callable[[int], Task]:
    def make(n: int) -> Task:
        sample = make_blobs(n, D, K, random_state=0)
        draw = sample_labels if kind == "labels" else sample_pairs
        side = draw(sample.y, int(STATED * n), random_state=1)
        rows = np.random.default_rng(2).choice(n, K, replace=False)
        start = sample.X[rows]
        if kind == "labels":
            y = side.to_labels()
            start = np.stack([sample.X[y == k].mean(axis=0) for k in range(K)])
        return Task(sample.X, sample.y, side, start)

    return make


def fresh(task: Task) -> Task:
    """The same with statements that have not yet computed their closure."""
    return task._replace(side=task.side[np.arange(len(task.X))])


def kmeans(task: Task, seed: int) -> Any:
    return KMeans(K, n_init=1, random_state=seed).fit(task.X)


def ours(name: str, **options: Any) -> Callable[[Task, int], Any]:
    def fit(task: Task, seed: int) -> Any:
        import sidelight

        given = {"n_init": 1, **OPTIONS.get(name, {}), **options}
        return getattr(sidelight, name)(K, random_state=seed, **given).fit(task.X, side=task.side)

    return fit


# The packages


def from_the_same_start(name: str) -> Callable[[Task, int], Any]:
    def fit(task: Task, seed: int) -> Any:
        options = {"side_weight": 1.0, "weight_units": "absolute"} if name == "PCKMeans" else {}
        return ours(name, init=task.start, **options)(task, seed)

    return fit


def peer(name: str) -> Callable[[Task, int], Any]:
    def fit(task: Task, seed: int) -> Any:
        import active_semi_clustering

        np.random.seed(seed)  # noqa: NPY002 (the package draws from numpy's global state alone)
        model = getattr(active_semi_clustering, name)(n_clusters=K)
        if name in WITH_LABELS:  # both start from the means of the classes
            return model.fit(task.X, y=task.side.to_labels())
        for method in ("_initialize_cluster_centers", "_init_cluster_centers"):
            setattr(model, method, lambda *_: task.start)
        must, cannot = (list(map(tuple, p.tolist())) for p in (task.side.must, task.side.cannot))
        return model.fit(task.X, ml=must, cl=cannot)

    return fit


def objective(name: str, task: Task, labels: np.ndarray) -> float:
    centers = np.stack([task.X[labels == k].mean(axis=0) for k in range(K)])
    within = float(((task.X - centers[labels]) ** 2).sum())
    if name == "PCKMeans":
        return 0.5 * within + float(task.side.violated(labels).sum())
    return within


def beside(name: str) -> Callable[[Task, Any], Mapping[str, float]]:
    def score(task: Task, fitted: Any) -> Mapping[str, float]:
        theirs = np.asarray(peer(name)(task, 0).labels_)
        labels = np.asarray(fitted.labels_)
        return {
            "ari": adjusted_rand(task.truth, labels),
            "kept": float(1 - task.side.violated(labels).mean()),
            "peer_ari": adjusted_rand(task.truth, theirs),
            "peer_kept": float(1 - task.side.violated(theirs).mean()),
            "objective_ratio": objective(name, task, labels) / objective(name, task, theirs),
        }

    return score


def from_other_starts(task: Task, _: Any) -> Mapping[str, float]:
    """The highest ratio of our objective to the peer's, and how often ours is above."""
    ratios = []
    for start, order in itertools.product(range(N_STARTS), range(N_ORDERS)):
        rows = np.random.default_rng(2 + start).choice(len(task.X), K, replace=False)
        at = task._replace(start=task.X[rows])
        ours, theirs = (
            objective("PCKMeans", at, np.asarray(fit("PCKMeans")(at, order).labels_))
            for fit in (from_the_same_start, peer)
        )
        ratios.append(ours / theirs)
    return {"objective_ratio": max(ratios), "above_peer": float(np.mean(np.array(ratios) > 1))}


def sizes_within(room: float) -> tuple[Callable[[Task, int], Any], Callable[[Task, int], Any]]:
    """Ours and the peer's fit with clusters that differ from n / K by at most this share."""

    def limits(task: Task) -> tuple[int, int]:
        mean = len(task.X) // K
        return int((1 - room) * mean), int((1 + room) * mean)

    def run(task: Task, seed: int) -> Any:
        from sidelight import ConstrainedKMeans

        low, high = limits(task)
        return ConstrainedKMeans(K, init=task.start, min_size=low, max_size=high).fit(task.X)

    def base(task: Task, seed: int) -> Any:
        from k_means_constrained import KMeansConstrained

        low, high = limits(task)
        model = KMeansConstrained(K, size_min=low, size_max=high, init=task.start, n_init=1)
        return model.fit(task.X)

    return run, base


CASES = [
    *(
        Case(
            name,
            data=task("labels" if name in WITH_LABELS else "pairs"),
            run=ours(name),
            baseline=kmeans,
            prepare=fresh,
            sizes=SIZES,
            threads=("one",),
            time_limit=600.0,
            targets=(
                *(Target("ratio", limit, n) for n in SIZES if n > 100_000 or limit > 1.0),
                Target("extra_mb", 100, SIZES[-1]),
            ),
        )
        for name, limit in (WITH_LABELS | WITH_PAIRS).items()
    ),
    *(
        Case(
            f"{name} beside active-semi-supervised-clustering",
            data=task("labels" if name in WITH_LABELS else "pairs"),
            run=from_the_same_start(name),
            baseline=peer(name),
            prepare=fresh,
            sizes=(1_000, 10_000),
            score=beside(name),
            warm_up_rows=300,
            threads=("one",),
            memory=False,
            time_limit=PEER_SECONDS,
            targets=tuple(
                Target(measure, limit, n)
                for n in (1_000, 10_000)
                for measure, limit in (("ratio", 0.02), ("objective_ratio", 1.0))
            ),
        )
        for name in ("SeededKMeans", "ConstrainedKMeans", "PCKMeans", "COPKMeans")
    ),
    Case(
        f"PCKMeans, {N_STARTS * N_ORDERS} starts and orders, "
        "beside active-semi-supervised-clustering",
        data=task("pairs"),
        run=from_the_same_start("PCKMeans"),
        baseline=peer("PCKMeans"),
        prepare=fresh,
        sizes=(1_000,),
        score=from_other_starts,
        warm_up_rows=300,
        threads=("one",),
        memory=False,
        time_limit=3 * PEER_SECONDS,
        targets=(Target("objective_ratio", 1.0, 1_000),),
    ),
    *(
        Case(
            f"{how} beside k-means-constrained",
            data=task("pairs"),
            run=sizes_within(room)[0],
            baseline=sizes_within(room)[1],
            sizes=(10_000,),
            threads=("one",),
            memory=False,
            time_limit=PEER_SECONDS,
            targets=(Target("ratio", 1.0, 10_000),),
        )
        for how, room in (("sizes within a fifth", 0.2), ("equal sizes", 0.0))
    ),
]
