"""Which cluster is which class, and which statements a partition breaks."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from sidelight.exceptions import SideInformationError
from sidelight.side._kinds import LABEL
from sidelight.side._statements import Ints

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation


def match_classes(side: "SideInformation", labels: ArrayLike, n_clusters: int) -> Ints:
    """Match the classes of each vocabulary to clusters, one to one, by the weight of their labels.

    Parameters
    ----------
    side : SideInformation
        Its label statements are counted, by weight.
    labels : array of shape (n_samples,)
        Cluster numbers from 0; −1 means no cluster.
    n_clusters : int
        The number of clusters.

    Returns
    -------
    ndarray of shape (n_vocabularies + 1, n_classes)
        The cluster of each class, or −1 where no labelled row of the class is in the cluster that
        would be left for it. The last row is the vocabulary that everybody shares, so that the
        code −1 finds it. Ties go to the lowest class and cluster.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_labels(["b", "a", None])
    >>> match_classes(side, [0, 1, 1], n_clusters=2)
    array([[1, 0]])
    """
    labels = cluster_numbers(side, labels)
    if labels.max(initial=-1) >= n_clusters:
        raise SideInformationError(
            f"labels has cluster {labels.max()}, and n_clusters={n_clusters} clusters are numbered "
            f"0 … {n_clusters - 1}; give the number of all clusters."
        )
    n_classes = len(side.classes)
    matched = np.full((len(side.vocabularies) + 1, n_classes), -1, dtype=np.int64)
    said = side._binding(LABEL)
    inside = labels[said.i] >= 0
    for code in np.unique(said.vocabulary):
        here = inside & (said.vocabulary == code)
        counts = np.bincount(
            said.class_code[here] * n_clusters + labels[said.i[here]],
            weights=said.weight[here],
            minlength=n_classes * n_clusters,
        ).reshape(n_classes, n_clusters)
        rows, columns = linear_sum_assignment(counts - _preference(counts), maximize=True)
        found = counts[rows, columns] > 0
        matched[code, rows[found]] = columns[found]
    return matched


def _preference(counts: NDArray[Any]) -> NDArray[np.float64]:
    """A price for high classes in high clusters, which settles ties and no difference in weight.

    Its total is a thousandth of the smallest difference between two weights. Relative to the
    largest weight instead, one statement of weight 1e12 would outweigh all others.
    """
    n_classes, n_clusters = counts.shape
    # Counted back from the end, so that a class without a cluster, which pays nothing, pays most. A
    # cluster without a row of the class is not better than none.
    cluster = np.where(counts > 0, np.arange(n_clusters) - n_clusters, 0)
    price = np.arange(n_classes, 0, -1.0)[:, None] * cluster
    gaps = np.diff(np.sort(counts, axis=None))
    largest = counts.max(initial=0)
    gaps = gaps[gaps > 16 * np.finfo(np.float64).eps * largest]  # less is rounding
    most = n_clusters * min(n_classes, n_clusters) * n_classes  # no assignment costs more
    return price * (1e-3 * gaps.min(initial=largest) / max(most, 1))


def violated(
    side: "SideInformation", labels: ArrayLike, clusters: ArrayLike | None = None
) -> NDArray[np.bool_]:
    """For each statement whether a partition breaks it; clusters of classes: given, or matched."""
    labels = cluster_numbers(side, labels)
    said = side.statements
    n_clusters = int(labels.max(initial=-1)) + 1
    of_i, of_j = labels[said.i], labels[said.j]
    of_class = np.full(len(said.kind), -1, dtype=np.int64)
    if n_clusters and side.classes:
        matched = match_classes(side, labels, n_clusters) if clusters is None else clusters
        of_class = np.asarray(matched)[said.vocabulary, said.class_code]
    other = np.where(said.is_class, of_class, of_j)
    # A row is with itself, also where it is noise.
    together = ((of_i == other) & (of_i >= 0)) | (said.i == said.j)
    return (said.sign != 0) & (together != (said.sign > 0))


def cluster_numbers(side: "SideInformation", labels: ArrayLike) -> Ints:
    """One whole number per row, whatever its type; negative means no cluster."""
    given = np.asarray(labels)
    if given.shape != side.shape:
        raise SideInformationError(
            f"labels has shape {given.shape}; the statements are about {side.n_samples} rows."
        )
    if not _holds_whole_numbers(given):
        raise SideInformationError(
            f"labels is an array of {given.dtype}; give whole numbers, the cluster of each row "
            "from 0, with -1 for none."
        )
    # A copy of a million labels, twice in a fit, would be a third of all its memory.
    return given if given.dtype.kind == "i" else given.astype(np.int64)


def _holds_whole_numbers(array: NDArray[np.generic]) -> bool:
    if array.dtype.kind == "f":
        return bool(np.isfinite(array).all() and (array % 1 == 0).all())
    return array.dtype.kind in "biu"
