"""What a new process waits for: imports, and the first fit of every model.

`cold` is a process in which nothing has been called yet, with compiled kernels on the disk; `first`
is the same without them, once per installation. A first fit is that of 150 rows of 4 columns in
3 clusters, 30 of them labelled (`pairs`: 60 pairs instead), after the imports; `import and first
fit`, of three models, counts these too, and leaves out only the start of Python. The base lines are
importing scikit-learn's clustering, the first fit of its KMeans, and both.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Case, Target
from sidelight.models import model_names

K, ROWS, COLUMNS = 3, 150, 4
FIRST, COLD = 12.0, 0.8  # CPU seconds: with an empty cache, and with compiled kernels on the disk
SBM_FIRST = 18.0
WITH_IMPORTS = ("PartitionLevelKMeans", "BayesianMixture", "StructuralEntropyClustering")

# What is measured beside labels: other kinds of data and statements have kernels of their own.
VARIANTS: list[tuple[str, str, dict[str, Any], float]] = [
    *(
        (name, "pairs", {}, FIRST)
        for name in (
            "AnnotatedGaussianMixture",
            "BayesianMixture",
            "COPKMeans",
            "DiscriminativeClustering",
            "MarkovAggregation",
            "StructuralEntropyClustering",
            "StructuralEntropyTree",
        )
    ),
    ("AnnotatedGaussianMixture", "pairs", {"annotation_model": "sbm"}, SBM_FIRST),
    ("PartitionLevelKMeans", "sparse", {}, FIRST),
    ("PartitionLevelKMeans", "float32", {}, FIRST),
    ("AnnotatedGaussianMixture", "float32", {}, FIRST),
    ("StructuralEntropyClustering", "sparse", {}, FIRST),
]


class Rows(NamedTuple):
    X: Any
    side: Any


def rows(name: str, kind: str) -> Rows:
    from sidelight.models import find_model
    from sidelight.side import SideInformation

    rng = np.random.default_rng(0)
    truth = np.arange(ROWS) % K
    X: Any = 4.0 * rng.normal(size=(K, COLUMNS))[truth] + rng.normal(size=(ROWS, COLUMNS))
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "sparse":
        sparse = importlib.import_module("scipy.sparse")
        X = sparse.csr_array(np.maximum(X, 0.0))
    if "NMF" in name:
        X = abs(X)
    if kind == "pairs":
        i = np.arange(0, ROWS, 5)
        must, cannot = np.column_stack([i, (i + K) % ROWS]), np.column_stack([i, i + 1])
        side = SideInformation.from_pairs(must=must, cannot=cannot, n_samples=ROWS)
    else:
        side = SideInformation.from_labels(np.where(np.arange(ROWS) % 5 == 0, truth, -1))
    return Rows(X, side.only(kind=list(find_model(name).accepts)))


def after_importing(name: str, kind: str) -> Callable[[int], Rows]:
    def data(n: int) -> Rows:
        importlib.import_module("sklearn.cluster")
        return rows(name, kind)

    return data


def fit(name: str, data: Rows, seed: int, options: dict[str, Any]) -> Any:
    from sidelight.models import find_model

    model = find_model(name)
    if "n_clusters" in model().get_params():
        options = options | {"n_clusters": K}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are too few to converge in time
        return model(random_state=seed, **options).fit(data.X, side=data.side)


def first_fit(name: str, options: dict[str, Any]) -> Callable[[Rows, int], Any]:
    return lambda data, seed: fit(name, data, seed, options)


def import_and_fit(name: str) -> Callable[[None, int], Any]:
    return lambda data, seed: fit(name, rows(name, "labels"), seed, {})


def kmeans(data: Rows | None, seed: int) -> Any:
    from sklearn.cluster import KMeans

    X = data.X if data else np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    return KMeans(K, n_init=1, random_state=seed).fit(X)


def importing(module: str, name: str | None = None) -> Callable[[None, int], Any]:
    def run(data: None, seed: int) -> Any:
        found = importlib.import_module(module)
        return found if name is None else getattr(found, name)

    return run


def case(name: str, kind: str, options: dict[str, Any], limit: float) -> Case:
    extra = ", ".join([*([] if kind == "labels" else [kind]), *options.values()])
    return Case(
        f"first fit of {name}" + (f" ({extra})" if extra else ""),
        data=after_importing(name, kind),
        run=first_fit(name, options),
        baseline=kmeans,
        sizes=(ROWS,),
        threads=("one",),
        warm=False,
        cold=True,
        time_limit=600.0,
        targets=(
            Target("cpu_seconds", COLD, ROWS, state="cold"),
            Target("cpu_seconds", limit, ROWS, state="first"),
        ),
    )


CASES = [
    Case(
        "import sidelight",
        data=lambda n: None,
        run=importing("sidelight"),
        baseline=importing("sklearn.cluster", "KMeans"),
        sizes=(0,),
        threads=("one",),
        warm=False,
        cold=True,
        states=("cold",),
        time_limit=600.0,
    ),
    *(case(name, "labels", {}, FIRST) for name in model_names()),
    *(case(*variant) for variant in VARIANTS),
    *(
        Case(
            f"import and first fit of {name}",
            data=lambda n: None,
            run=import_and_fit(name),
            baseline=kmeans,
            sizes=(ROWS,),
            threads=("one",),
            warm=False,
            cold=True,
            states=("cold",),
            time_limit=600.0,
        )
        for name in WITH_IMPORTS
    ),
]
