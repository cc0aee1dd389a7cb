"""Where members start: partitions found by other models, their clusters matched to the classes."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.models._registry import find_model
from sidelight.side import LABEL, SideInformation, match_classes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def fitted_labels(other: Any, X: NDArray[Any], side: SideInformation) -> Ints:
    """Labels by another model, whose warnings are about a start and nobody's concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(other.fit(X, side=side).labels_)


def starting_partitions(
    X: NDArray[Any], side: SideInformation, classes: Ints, n_clusters: int, seed: int
) -> list[Ints]:
    """Partitions in the given metric: by k-means with labels held, and by structural entropy.

    Column c of each is class ``classes[c]``, as far as these go.
    """
    entropy = find_model("StructuralEntropyClustering")(n_clusters, random_state=seed)
    tree = find_model("StructuralEntropyTree")(n_clusters, random_state=seed)
    found = [
        in_columns(fitted_labels(other, X, side), side, classes, n_clusters)
        for other in (entropy, tree)
    ]
    return [_seeded_k_means(X, side, classes, n_clusters, found[0], seed), *found]


def number_found(X: NDArray[Any], side: SideInformation, n_named: int, seed: int) -> int:
    """The number of clusters where nobody gave one: what StructuralEntropyTree finds."""
    labels = fitted_labels(find_model("StructuralEntropyTree")(random_state=seed), X, side)
    return max(n_named, int(labels.max()) + 1, min(2, len(X)))


def in_columns(labels: Ints, side: SideInformation, classes: Ints, n_clusters: int) -> Ints:
    """Cluster numbers as columns: those of classes by their labels, the others in order.

    Rows without a cluster, and those of clusters beyond ``n_clusters``, are -1.
    """
    n_found = max(int(labels.max()) + 1, n_clusters)
    column = np.full(n_found, -1, dtype=np.int64)
    if len(classes):
        cluster_of = match_classes(side, labels, n_found)[side.leading_vocabulary][classes]
        some = np.flatnonzero(cluster_of >= 0)
        column[cluster_of[some]] = some
    free = np.setdiff1d(np.arange(n_found), column)
    column[column < 0] = free[: int((column < 0).sum())]
    column[column >= n_clusters] = -1
    return np.where(labels >= 0, column[labels], -1)


def _seeded_k_means(
    X: NDArray[Any],
    side: SideInformation,
    classes: Ints,
    n_clusters: int,
    others: Ints,
    seed: int,
) -> Ints:
    """K-means in which labels hold; clusters that nobody named start from another partition."""
    said = side.statements
    lead = side.leading_vocabulary
    label = (said.kind == LABEL) & said.binding & (said.vocabulary == lead)
    place = np.full(len(side.classes) + 1, -1, dtype=np.int64)  # the last for pairs
    place[classes] = np.arange(len(classes))
    label &= place[said.class_code] >= 0
    labels_only = side.only(kind="label")
    settings: dict[str, Any] = {"side_weight": 1e3, "random_state": seed}
    if len(classes) and len(classes) < n_clusters:
        centers = _means(X, others, n_clusters)
        at, row = place[said.class_code[label]], said.i[label]
        named = _means(X[row], at, len(classes))
        centers[: len(classes)] = named
        settings |= {"init": centers, "n_init": 1}
    k_means = find_model("PartitionLevelKMeans")(n_clusters, **settings)
    return in_columns(fitted_labels(k_means, X, labels_only), side, classes, n_clusters)


def _means(X: NDArray[Any], labels: Ints, n_clusters: int) -> Floats:
    """Mean of each cluster; of an empty one the mean of all rows."""
    X, labels = X[labels >= 0], labels[labels >= 0]
    counts = np.bincount(labels, minlength=n_clusters)
    means = np.zeros((n_clusters, X.shape[1]))
    np.add.at(means, labels, X)
    means[counts > 0] /= counts[counts > 0, None]
    means[counts == 0] = X.mean(axis=0)
    return means
