"""Where members start: partitions found by other models, their clusters matched to the classes."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sidelight.models._discriminative.statements import Votes
from sidelight.models._registry import find_model
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def starting_partitions(
    X: NDArray[Any],
    side: SideInformation,
    votes: Votes,
    n_clusters: int,
    seed: int,
    *,
    quick: bool = False,
) -> list[Ints]:
    """Partitions in the given metric: by k-means with labels held, and by structural entropy.

    Their numbers are columns. quick : only one of them.
    """
    named = np.unique(votes.column[votes.weight > 0])
    some_unnamed = 0 < len(named) < n_clusters
    found: list[Ints] = []
    for name in ("StructuralEntropyClustering", "StructuralEntropyTree"):
        if quick and not (some_unnamed and not found):
            continue
        labels = fitted_labels(_other(name, n_clusters, seed), X, side)
        found.append(in_columns(labels, votes, n_clusters))
    settings: dict[str, Any] = {"side_weight": 1e3, "random_state": seed}
    if some_unnamed:  # unnamed clusters start from another partition
        settings |= {"init": _centers(X, found[0], votes, n_clusters), "n_init": 1}
    elif quick:
        settings |= {"n_init": 2}
    k_means = find_model("PartitionLevelKMeans")(n_clusters, **settings)
    seeded = in_columns(fitted_labels(k_means, X, side.only(kind="label")), votes, n_clusters)
    return [seeded] if quick else [seeded, *found]


def number_found(X: NDArray[Any], side: SideInformation, n_named: int, seed: int) -> int:
    """The default number of clusters: that of StructuralEntropyTree."""
    labels = fitted_labels(_other("StructuralEntropyTree", None, seed), X, side)
    return max(n_named, int(labels.max()) + 1, min(2, len(X)))


# The committee was measured with starts of these weights. Scaled columns would undo the metric: the
# tree alone has .56, .46 and .49 ARI with them and .59, .54 and .56 without (10 % labels, half of
# the classes, n/5 pairs; 24 tables).
_SETTINGS: dict[str, dict[str, Any]] = {
    "StructuralEntropyClustering": {"affinity": "gaussian", "price": 0.0},
    "StructuralEntropyTree": {"scaling": None},
}


def _other(name: str, n_clusters: int | None, seed: int) -> Any:
    """Another model, set up as a start."""
    return find_model(name)(n_clusters, random_state=seed, **_SETTINGS[name])


def fitted_labels(other: Any, X: NDArray[Any], side: SideInformation) -> Ints:
    """Labels by another model."""
    return np.asarray(fitted(other, X, side).labels_)


def fitted(other: Any, X: NDArray[Any], side: SideInformation) -> Any:
    """Another model, fitted; its warnings are of no use to the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return other.fit(X, side=side)


def in_columns(labels: Ints, votes: Votes, n_clusters: int) -> Ints:
    """Cluster numbers as columns: those of classes by their labels, the others in order.

    Rows without a cluster, and those of clusters from ``n_clusters`` on, are -1.
    """
    n_found = max(int(labels.max()) + 1, n_clusters)
    column = np.full(n_found, -1, dtype=np.int64)
    known = labels[votes.row] >= 0
    row, at, weight = votes.row[known], votes.column[known], votes.weight[known]
    counts = np.bincount(at * n_found + labels[row], weight, minlength=n_clusters * n_found)
    spoken = np.unique(at)
    which, cluster = linear_sum_assignment(
        counts.reshape(n_clusters, n_found)[spoken], maximize=True
    )
    column[cluster] = spoken[which]
    free = np.setdiff1d(np.arange(n_found), column)
    column[column < 0] = free
    column[column >= n_clusters] = -1
    return np.where(labels >= 0, column[labels], -1)


def _centers(X: NDArray[Any], partition: Ints, votes: Votes, n_clusters: int) -> Floats:
    """Means of the labels of each class; without labels, of the cluster of a partition."""
    centers = _means(X, partition, n_clusters)
    said = votes.weight > 0
    row, column = votes.row[said], votes.column[said]
    named = np.unique(column)
    centers[named] = _means(X[row], column, n_clusters)[named]
    return centers


def _means(X: NDArray[Any], labels: Ints, n_clusters: int) -> Floats:
    """Mean of each cluster; of an empty one the mean of all rows."""
    X, labels = X[labels >= 0], labels[labels >= 0]
    counts = np.bincount(labels, minlength=n_clusters)
    means = np.zeros((n_clusters, X.shape[1]))
    np.add.at(means, labels, X)
    means[counts > 0] /= counts[counts > 0, None]
    means[counts == 0] = X.mean(axis=0)
    return means
