"""AnnotatedGaussianMixture: relocation tests, a fit of the paper's size, and one local search.

A million exact relocation tests at 20,000 rows (D = 10, K = 4, two statements per row) must take
two seconds at most, for every annotation model: the figure is `cpu seconds`. A fit of the paper's
size (200 rows, 510 local searches) is measured against one spherical GaussianMixture of
scikit-learn, one local search of ten clusters, with a tenth as many statements as rows, against
KMeans(n_init=1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs, make_gaussian_mixture
from sidelight.side import SideInformation, sample_pairs

MILLION = 1_000_000
ACCURACY = 0.9


class Rows(NamedTuple):
    """What every call takes."""

    X: np.ndarray
    side: SideInformation


def paper_mixture(statements_per_row: float) -> Any:
    def data(n: int) -> Rows:
        sample = make_gaussian_mixture(4, n, random_state=0)
        n_pairs = round(statements_per_row * n)
        return Rows(sample.X, sample_pairs(sample.y, n_pairs, accuracy=ACCURACY, random_state=0))

    return data


def ten_blobs(n: int) -> Rows:
    sample = make_blobs(n, 10, 10, random_state=0)
    return Rows(sample.X, sample_pairs(sample.y, n // 10, accuracy=ACCURACY, random_state=0))


def search_of(annotation_model: str, accuracy: float | None) -> Any:
    """A partition by k-means and everything that a sweep over its annotated rows needs."""

    def prepare(data: Rows) -> Any:
        from sidelight.blocks import as_blocks
        from sidelight.models._gaussian import search as steps
        from sidelight.models._gaussian.statements import Annotations

        said = Annotations.of(data.side, 4, annotation_model, accuracy)
        problem = steps.Problem.of(as_blocks(data.X), 4, "spherical", said)
        centers = steps.start_centers(problem, [], 0, np.random.default_rng(0))
        labels, sse = steps.kmeans(problem, centers)
        problem = problem.with_model(1.0, sse)
        return steps._Search(problem, labels, np.arange(len(said.annotated)))

    return prepare


def million_tests(search: Any, seed: int) -> None:
    from sidelight._kernels.annotated_moves import relocate

    n_tests = 0
    while n_tests < MILLION:
        # Nothing gains this much, so every test is made and no row moves.
        n_tests += relocate(
            search.rows, search.order, search.cluster_of, search.model, 1e18, np.inf,
            search.margin, search.state, search.layers, search.scratch,
        )[2]  # fmt: skip


def nothing(search: Any, seed: int) -> Any:
    return sum(range(10**6))


def paper_fit(data: Rows, seed: int) -> Any:
    from sidelight.models import AnnotatedGaussianMixture

    # The warm-up on 1,000 rows needs no generation.
    generations = 50 if len(data.X) == 200 else 0
    model = AnnotatedGaussianMixture(4, n_generations=generations, random_state=seed)
    return model.fit(data.X, side=data.side)


def one_mixture(data: Rows, seed: int) -> Any:
    return GaussianMixture(4, covariance_type="spherical", random_state=seed).fit(data.X)


def local_search(data: Rows, seed: int) -> Any:
    from sidelight.models import AnnotatedGaussianMixture

    model = AnnotatedGaussianMixture(10, n_init=1, n_generations=0, random_state=seed)
    return model.fit(data.X, side=data.side)


def kmeans(data: Rows, seed: int) -> Any:
    return KMeans(10, n_init=1, random_state=seed).fit(data.X)


# Compiling all of it, or reading what was compiled before; the fit included.
FIRST_CALLS = (
    Target("cpu_seconds", 20.0, 200, state="first"),
    Target("cpu_seconds", 3.0, 200, state="cold"),
)

MODELS = {
    "bernoulli": ("bernoulli", None),
    "bernoulli, accuracy given": ("bernoulli", ACCURACY),
    "block models": ("sbm", None),
    "block models with priors": ("sbm", ACCURACY),
}

CASES = [
    *(
        Case(
            f"a million tests, {name}",
            data=paper_mixture(2.0),
            prepare=search_of(*setting),
            run=million_tests,
            baseline=nothing,
            sizes=(20_000,),
            threads=("one",),
            memory=False,
            targets=(Target("cpu_seconds", 2.0, 20_000),),
        )
        for name, setting in MODELS.items()
    ),
    *(
        Case(
            f"510 local searches, {per_row:g} statements per row",
            data=paper_mixture(per_row),
            run=paper_fit,
            baseline=one_mixture,
            sizes=(200,),
            threads=("one",),
            memory=False,
            cold=per_row == 2.0,
            time_limit=300.0,
            targets=(
                Target("ratio", 100.0, 200),
                *(FIRST_CALLS if per_row == 2.0 else ()),
            ),
        )
        for per_row in (0.0, 0.5, 2.0)
    ),
    Case(
        "one local search",
        data=ten_blobs,
        run=local_search,
        baseline=kmeans,
        sizes=(10_000, 100_000, MILLION),
        threads=("one",),
        time_limit=300.0,
        targets=(Target("ratio", 10.0, MILLION), Target("growth", 1.2, MILLION)),
    ),
]
