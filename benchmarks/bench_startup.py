"""What a new process waits for: imports, and the first fit of every model.

`cold` is a process in which nothing has been called yet, with compiled kernels on the disk; `first`
is the same without them, once per installation. A first fit is that of 1,000 rows, 100 of them
labelled, after the imports; the base lines are importing scikit-learn's clustering and the first
fit of its KMeans.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Case, Target

K, ROWS = 4, 1_000
MODELS = {
    "PartitionLevelKMeans": {"n_clusters": K},
    "BayesianMixture": {},
    "AnnotatedGaussianMixture": {"n_clusters": K},
    "StructuralEntropyClustering": {},
    "StructuralEntropyTree": {},
    "MarkovAggregation": {"n_clusters": K},
}


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def after_importing(name: str) -> Callable[[int], Rows]:
    def data(n: int) -> Rows:
        getattr(importlib.import_module("sidelight"), name)
        importlib.import_module("sklearn.cluster")
        rng = np.random.default_rng(0)
        y = rng.integers(K, size=n)
        X = rng.normal(size=(K, 8))[y] * 2.0 + rng.normal(size=(n, 8))
        return Rows(X, np.where(np.arange(n) % 10 == 0, y, -1))

    return data


def first_fit(name: str, options: dict[str, Any]) -> Callable[[Rows, int], Any]:
    def run(data: Rows, seed: int) -> Any:
        import sidelight

        return getattr(sidelight, name)(random_state=seed, **options).fit(data.X, data.y)

    return run


def kmeans(data: Rows, seed: int) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(K, n_init=1, random_state=seed).fit(data.X)


def importing(module: str, name: str | None = None) -> Callable[[None, int], Any]:
    def run(data: None, seed: int) -> Any:
        found = importlib.import_module(module)
        return found if name is None else getattr(found, name)

    return run


CASES = [
    *(
        Case(
            f"import {name or 'sidelight'}",
            data=lambda n: None,
            run=importing("sidelight", name),
            baseline=importing("sklearn.cluster", "KMeans"),
            sizes=(0,),
            threads=("one",),
            warm=False,
            cold=True,
        )
        for name in (None, *MODELS)
    ),
    *(
        Case(
            f"first fit of {name}",
            data=after_importing(name),
            run=first_fit(name, options),
            baseline=kmeans,
            sizes=(ROWS,),
            threads=("one",),
            warm=False,
            cold=True,
            targets=(
                Target("cpu_seconds", 2, ROWS, state="cold"),
                Target("cpu_seconds", 20, ROWS, state="first"),
            ),
        )
        for name, options in MODELS.items()
    ),
]
