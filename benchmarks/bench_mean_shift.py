"""ConstrainedMeanShift with 1,000 labels beside KMeans.

Ten Gaussians in 16 dimensions. 4,000 rows shift by themselves or by the centres of their classes;
above 5,000 rows centres of k-means stand for the rows without statements, so that the time should
hardly grow with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.harness import Case, Target
from sidelight.datasets import make_blobs
from sidelight.metrics import adjusted_rand

D, K, LABELS = 16, 10, 1_000
SIZES = (4_000, 20_000, 100_000)


class Rows(NamedTuple):
    """What every call takes: the data, the truth, and 1,000 labels (fewer of few rows)."""

    X: np.ndarray
    truth: np.ndarray
    y: np.ndarray


def gaussians(n: int) -> Rows:
    sample = make_blobs(n, D, K, separation=6.0, random_state=0)
    some = np.random.default_rng(0).choice(n, min(LABELS, n // 2), replace=False)
    y = np.full(n, -1)
    y[some] = sample.y[some]
    return Rows(sample.X, sample.y, y)


def shift(data: Rows, seed: int) -> Any:
    from sidelight.models import ConstrainedMeanShift

    return ConstrainedMeanShift(random_state=seed).fit(data.X, data.y)


def k_means(data: Rows, seed: int) -> Any:
    return KMeans(K, n_init=1, random_state=seed).fit(data.X)


def score(data: Rows, fitted: Any) -> Mapping[str, float]:
    rest = data.y < 0
    return {"ari_unannotated": adjusted_rand(data.truth[rest], fitted.labels_[rest])}


CASES = [
    Case(
        name="constrained mean shift, 1,000 labels",
        data=gaussians,
        run=shift,
        baseline=k_means,
        sizes=SIZES,
        score=score,
        threads=("one",),
        time_limit=900.0,
        # Representatives: what is held does not grow with the square of the rows.
        targets=(Target("extra_mb", 1_024.0, SIZES[-1]),),
    )
]
