"""What a default fit costs: every model, n/10 labels or pairs, as a ratio to KMeans(n_init=1).

Ten overlapping Gaussians in 16 dimensions, as in `peers`; one thread. Our models have their
defaults, the number of clusters apart. Pairs are given to the models that take must- and
cannot-links. At most 100 times KMeans is asked for at 10,000 rows, 60 at 100,000 and a million; of
models that build a neighbour graph or search all rows for neighbours, at most 180 s of CPU at a
million. A model that refuses so many rows, or takes more than 200 s of CPU with the making of the
data, is a row that says so. `ari unannotated` is of rows without statements.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench_peers import Fit, K, Task, kmeans, score, task
from benchmarks.harness import Case, Target
from sidelight.models import find_model, model_names, model_tags

SIZES = (10_000, 100_000, 1_000_000)
TIMES = {10_000: 100.0, 100_000: 60.0, 1_000_000: 60.0}
ON_A_GRAPH = {
    "ConstrainedMeanShift",
    "ConstrainedSpectral",
    "ConstraintPropagation",
    "LabelPropagationNMF",
    "MarkovAggregation",
    "PropagatedSymmetricNMF",
    "RelationSpectral",
    "SelfSupervisedNMF",
    "StructuralEntropyClustering",
    "StructuralEntropyTree",
}


def default(name: str) -> Fit:
    def fit(task: Task, seed: int) -> Any:
        model = find_model(name)()
        known = {"n_clusters": K, "random_state": seed}
        model.set_params(**{key: known[key] for key in known.keys() & model.get_params().keys()})
        return model.fit(task.X, side=task.side)

    return fit


def budgets(name: str) -> tuple[Target, ...]:
    ratios = tuple(Target("ratio", limit, n) for n, limit in TIMES.items())
    if name in ON_A_GRAPH:
        return *ratios[:2], Target("cpu_seconds", 180.0, SIZES[-1])
    return ratios


def case(name: str, kind: str) -> Case:
    return Case(
        f"{name}, {kind}",
        data=task(kind, 1.0),
        run=default(name),
        baseline=kmeans,
        sizes=SIZES,
        score=score,
        warm_up_rows=300,
        threads=("one",),
        time_limit=3_000.0,
        cpu_limit=200,
        targets=budgets(name),
    )


CASES = [
    case(name, kind)
    for name in model_names()
    for kind, needed in (("labels", {"label"}), ("pairs", {"must", "cannot"}))
    if needed <= set(model_tags(name).accepts)
]
