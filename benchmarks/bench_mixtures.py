"""Gaussian mixtures with labels beside scikit-learn's GaussianMixture, and CEC-IB beside KMeans.

Ten overlapping Gaussians in 16 dimensions. Both mixtures begin at the same partition, and one
iteration is the difference between a long and a short fit. Cross-entropy clustering and k-means are
whole fits with as many starts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs

K, D, LABELLED = 10, 16, 0.1
SIZES = (10_000, 100_000)


class Rows(NamedTuple):
    """What every call takes: the data, a partition to begin with, and partial labels."""

    X: Any
    start: np.ndarray
    y: np.ndarray


def gaussians(n: int) -> Rows:
    """Begin at the truth, of which three in ten rows are put anywhere."""
    sample = make_blobs(n, D, K, random_state=0)
    rng = np.random.default_rng(0)
    start = np.where(rng.random(n) < 0.3, rng.integers(K, size=n), sample.y)
    return Rows(sample.X, start, np.where(rng.random(n) < LABELLED, sample.y, -1))


class _FromLabels(GaussianMixture):
    """Scikit-learn's mixture, begun at a partition."""

    def _initialize_parameters(self, X: np.ndarray, *args: Any, **kwargs: Any) -> None:
        self._initialize(X, np.eye(self.n_components)[self.start])


def theirs(data: Rows, seed: int, max_iter: int) -> Any:
    model = _FromLabels(K, covariance_type="full", max_iter=max_iter, tol=0.0)
    model.start = data.start
    return model.fit(data.X)


def ours(labelled: bool) -> Any:
    def run(data: Rows, seed: int, max_iter: int) -> Any:
        from sidelight.models import PartialLabelGaussianMixture

        model = PartialLabelGaussianMixture(
            K, init=data.start, max_iter=max_iter, tol=0.0, variance_prior=1.0, random_state=seed
        )
        return model.fit(data.X, data.y if labelled else None)

    return run


def cross_entropy(data: Rows, seed: int) -> Any:
    from sidelight.models import CrossEntropyClustering

    return CrossEntropyClustering(K, n_init=3, random_state=seed).fit(data.X, data.y)


def k_means(data: Rows, seed: int) -> Any:
    return KMeans(K, n_init=3, random_state=seed).fit(data.X)


CASES = [
    Case(
        "one iteration, full covariances",
        data=gaussians,
        run=ours(labelled=False),
        baseline=theirs,
        sizes=SIZES,
        iterations=(2, 8),
        memory=False,
        time_limit=300.0,
        targets=(Target("ratio", 0.5, 100_000),),
    ),
    Case(
        "one iteration with 10 % labels, over one without",
        data=gaussians,
        run=ours(labelled=True),
        baseline=ours(labelled=False),
        sizes=SIZES,
        iterations=(2, 8),
        memory=False,
        time_limit=300.0,
        targets=(Target("ratio", 1.1, 100_000),),
    ),
    Case(
        "cross-entropy clustering over k-means, three starts each",
        data=gaussians,
        run=cross_entropy,
        baseline=k_means,
        sizes=(10_000,),
        memory=False,
        time_limit=300.0,
        targets=(Target("ratio", 20.0, 10_000),),
    ),
]
