"""DiscriminativeClustering beside one start of k-means on the same rows, and its growth.

Ten classes in 8 of 16 columns, the other 8 wide columns of noise, n/10 correct labels. Up to 15,000
rows it is fitted to all rows; above, to 15,000 of them, and all rows are assigned in one pass. To
be kept, on one thread: 10,000 rows in at most 20 s of CPU, a million with 100,000 labels in at most
90 s and 2 GB beyond the data. Sentences: 3,080 rows of 384 columns in 77 classes, half of which
have labels, in at most 7 s; the rows are drawn, not real.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Case, Target
from sidelight.metrics import adjusted_rand
from sidelight.side import SideInformation, sample_labels

K, INFORMATIVE, NOISE = 10, 8, 8
MILLION = 1_000_000


class Rows(NamedTuple):
    """What every call takes."""

    X: np.ndarray
    y: np.ndarray
    side: SideInformation
    n_clusters: int


def hidden_classes(n: int) -> Rows:
    """Classes in columns of small variance, beside wide columns of noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=n)
    centers = 1.5 * rng.normal(size=(K, INFORMATIVE))
    X = np.empty((n, INFORMATIVE + NOISE))
    X[:, :INFORMATIVE] = centers[y] + rng.normal(size=(n, INFORMATIVE))
    X[:, INFORMATIVE:] = 6 * rng.normal(size=(n, NOISE))
    return Rows(X, y, sample_labels(y, n // 10, random_state=0), K)


def sentences(n: int) -> Rows:
    """Unit rows of 384 columns around 77 directions; half of the classes have labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(77, size=n)
    X = rng.normal(size=(77, 384))[y] + 1.6 * rng.normal(size=(n, 384))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    labels = np.where((y < 38) & (rng.random(n) < 0.1), y, -1)
    return Rows(X, y, SideInformation.from_labels(labels), 77)


def fit(data: Rows, seed: int) -> Any:
    from sidelight import DiscriminativeClustering

    return DiscriminativeClustering(data.n_clusters, random_state=seed).fit(data.X, side=data.side)


def k_means(data: Rows, seed: int) -> Any:
    from sidelight import PartitionLevelKMeans

    model = PartitionLevelKMeans(data.n_clusters, n_init=1, random_state=seed)
    return model.fit(data.X, side=data.side)


def score(data: Rows, fitted: Any) -> Mapping[str, float]:
    without = np.setdiff1d(np.arange(len(data.y)), data.side.annotated_rows)
    return {"ari_unannotated": adjusted_rand(data.y[without], fitted.labels_[without])}


CASES = [
    Case(
        "fit with n/10 labels, beside k-means with labels",
        data=hidden_classes,
        run=fit,
        baseline=k_means,
        score=score,
        sizes=(1_000, 10_000, 100_000, MILLION),
        threads=("one",),
        time_limit=900.0,
        targets=(
            Target("cpu_seconds", 20.0, 10_000),
            Target("cpu_seconds", 90.0, MILLION),
            Target("extra_mb", 2_048.0, MILLION),
        ),
    ),
    Case(
        "sentences in 77 classes, half of them labelled, beside k-means with labels",
        data=sentences,
        run=fit,
        baseline=k_means,
        score=score,
        sizes=(3_080,),
        threads=("one",),
        targets=(Target("cpu_seconds", 7.0, 3_080),),
    ),
]
