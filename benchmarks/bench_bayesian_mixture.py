"""BayesianMixture beside scikit-learn's BayesianGaussianMixture.

Twenty overlapping Gaussians in 16 dimensions, 20 components. Both begin at the same partition, so
that iterations are compared and not starts; scikit-learn's has no such option, and is handed the
partition in place of the one that its K-means would find. One iteration is the difference between
a long and a short fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.mixture import BayesianGaussianMixture

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs

T, D, LABELLED = 20, 16, 0.1
SIZES = (10_000, 100_000)
MILLION = 1_000_000


class Rows(NamedTuple):
    """What every call takes: the data, a partition to begin with, and partial labels."""

    X: Any
    start: np.ndarray
    y: np.ndarray


def gaussians(n: int) -> Rows:
    sample = make_blobs(n, D, T, random_state=0)
    return with_start(sample.X, sample.y)


def with_start(X: Any, truth: np.ndarray) -> Rows:
    """Begin at the truth, of which three in ten rows are put anywhere."""
    rng, n = np.random.default_rng(0), len(truth)
    start = np.where(rng.random(n) < 0.3, rng.integers(T, size=n), truth)
    return Rows(X, start, np.where(rng.random(n) < LABELLED, truth, -1))


class _FromLabels(BayesianGaussianMixture):
    """Scikit-learn's mixture, begun at a partition."""

    def _initialize_parameters(self, X: np.ndarray, *args: Any, **kwargs: Any) -> None:
        self._initialize(X, np.eye(self.n_components)[self.start])


def theirs(covariance_type: str) -> Any:
    def run(data: Rows, seed: int, max_iter: int) -> Any:
        model = _FromLabels(
            n_components=T, covariance_type=covariance_type, max_iter=max_iter, tol=0.0
        )
        model.start = data.start
        return model.fit(data.X)

    return run


def ours(emission: str, labelled: bool = False, batch_size: int | None = None) -> Any:
    def run(data: Rows, seed: int, max_iter: int) -> Any:
        from sidelight.models import BayesianMixture

        options = {"emission": emission, "init": data.start, "max_iter": max_iter, "tol": 0.0}
        options |= {"batch_size": batch_size, "random_state": seed}
        return BayesianMixture(T, **options).fit(data.X, data.y if labelled else None)

    return run


def whole_fit(data: Rows, seed: int) -> Any:
    from sidelight.models import BayesianMixture

    return BayesianMixture(T, n_init=1, max_iter=10, random_state=seed).fit(data.X, data.y)


def sum_of_rows(data: Rows, seed: int) -> Any:
    """Reading the data once, for a measurement that is about memory."""
    return data.X.sum()


CASES = [
    *(
        Case(
            f"one iteration, {emission}",
            data=gaussians,
            run=ours(emission),
            baseline=theirs(kind),
            sizes=SIZES,
            iterations=(2, 8),
            memory=False,
            time_limit=300.0,
            targets=(Target("ratio", 1.0, 100_000),),
        )
        for emission, kind in (("gaussian", "full"), ("gaussian_diag", "diag"))
    ),
    *(
        Case(
            f"one iteration with 10 % labels, over one without, {emission}",
            data=gaussians,
            run=ours(emission, labelled=True),
            baseline=ours(emission),
            sizes=SIZES,
            iterations=(2, 8),
            memory=False,
            time_limit=300.0,
            targets=(Target("ratio", 1.2, 100_000),),
        )
        for emission in ("gaussian", "gaussian_diag")
    ),
    Case(
        "ten iterations with 10 % labels",
        data=gaussians,
        run=whole_fit,
        baseline=sum_of_rows,
        sizes=(*SIZES, MILLION),
        threads=("one",),
        time_limit=300.0,
        # The data are 128 MB; the labelled rows are gathered, a tenth of them.
        targets=(Target("extra_mb", 128, MILLION), Target("growth", 1.1, MILLION)),
    ),
]
