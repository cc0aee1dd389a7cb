"""Which classes name clusters, how many clusters there are, and in which order."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import DataError, MissingNumberOfClustersError
from sidelight.side import SideInformation, match_classes


def number_of_clusters(asked: int | None, n_samples: int, side: SideInformation) -> int:
    """As many clusters as asked for, or as there are labelled classes; no more than rows."""
    n_clusters = len(side.labelled_classes) if asked is None else asked
    if n_clusters == 0:
        raise MissingNumberOfClustersError(
            "n_clusters is None, which means the number of labelled classes, and no row is "
            "labelled.",
            advice="Give n_clusters, or labels as y or in side.",
        )
    if n_samples < n_clusters:
        raise DataError(
            f"X has n_samples={n_samples}, fewer than n_clusters={n_clusters}; "
            "ask for fewer clusters or give more rows."
        )
    return n_clusters


def about_annotated_rows(
    side: SideInformation, labels: Any
) -> tuple[SideInformation, NDArray[Any]]:
    """The statements and the labels of their rows; on Dask, only of the annotated rows."""
    if isinstance(labels, np.ndarray):
        return side, labels
    rows, condensed = side.condensed()
    return condensed, labels[rows]


class Naming(NamedTuple):
    """Numbers and names of clusters; a model passes it to ``_publish``.

    ``order[k]`` is the number, during the fit, of the cluster that becomes k, and ``names[k]`` its
    name. ``clusters`` (vocabularies with the shared one last, classes) is the cluster of each
    class, by its final number, and −1 where a class has none.
    """

    order: NDArray[np.int64]
    names: NDArray[Any]
    clusters: NDArray[np.int64]


def name_clusters(
    side: SideInformation, labels: Any, n_clusters: int, n_present: int | None = None
) -> Naming:
    """The order in which clusters are numbered, and their names; labels: an array or a column.

    Given classes come first, sorted, each the cluster that `match_classes` gives it; then the other
    clusters by their first row. These get new names: whole numbers above all given ones where the
    classes are whole numbers (or none were given), else "new 1", "new 2", … . Clusters without rows
    are left out; ``n_present``, if fewer have rows, spares a search for the others.
    """
    order: list[int] = []
    names: list[Any] = []
    matched = np.full((len(side.vocabularies) + 1, len(side.classes)), -1, dtype=np.int64)
    if side.classes:
        about, known = about_annotated_rows(side, labels)
        matched = match_classes(about, known, n_clusters)
        cluster_of = matched[side.leading_vocabulary]
        named = np.flatnonzero(cluster_of >= 0)
        order = cluster_of[named].tolist()
        names = [side.classes[c] for c in named]
    first_row = first_rows(labels, n_clusters, n_clusters if n_present is None else n_present)
    by_first_row = np.argsort(first_row, kind="stable")[: int((first_row < len(labels)).sum())]
    order += [int(k) for k in by_first_row if k not in set(order)]
    names += new_names(side.classes, len(order) - len(names))
    return numbered(np.array(order, dtype=np.int64), names_array(names), matched, n_clusters)


def numbered(
    order: NDArray[np.int64], names: NDArray[Any], matched: NDArray[Any], n_clusters: int
) -> Naming:
    """A naming from the clusters of classes by their numbers during the fit."""
    number = np.full(n_clusters + 1, -1, dtype=np.int64)  # the last serves −1
    number[order] = np.arange(len(order))
    return Naming(order, names, number[matched])


def named_labels(side: SideInformation, labels: NDArray[np.int64]) -> tuple[Any, Naming]:
    """Labels in the order of the clusters' names, and the names; clusters may have any numbers."""
    naming = name_clusters(side, labels, int(labels.max()) + 1)
    number = np.full(int(labels.max()) + 1, -1, dtype=np.int64)
    number[naming.order] = np.arange(len(naming.order))
    return number[labels], naming


def clusters_for(
    side: SideInformation, votes: SideInformation, clusters: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The clusters of the classes of ``side``, from those of the classes of ``votes``."""

    def keys(known: SideInformation) -> list[list[Any]]:
        # True, 1 and 1.0 are different classes, and the same key without their types.
        return [[(v, type(c), c) for c in known.classes] for v in (*known.vocabularies, None)]

    rows = zip(keys(votes), clusters.tolist(), strict=True)
    cluster_of = {key: k for row in rows for key, k in zip(*row, strict=True)}
    found = [[cluster_of.get(key, -1) for key in row] for row in keys(side)]
    return np.array(found, dtype=np.int64).reshape(len(side.vocabularies) + 1, len(side.classes))


def first_rows(labels: Any, n_clusters: int, n_present: int) -> NDArray[np.int64]:
    """The first row of each cluster; usually all are among the first few thousand rows."""
    if not isinstance(labels, np.ndarray):
        of_column: NDArray[np.int64] = labels.first_rows(n_clusters, n_present)
        return of_column
    first = np.full(n_clusters, len(labels))
    for start in range(0, len(labels), 16_384):
        present, place = np.unique(labels[start : start + 16_384], return_index=True)
        fresh = first[present] == len(labels)
        first[present[fresh]] = start + place[fresh]
        if (first < len(labels)).sum() == n_present:
            break
    return first


def new_names(given: tuple[Any, ...], n_new: int) -> list[Any]:
    if all(type(name) is int for name in given):
        start = max(given, default=-1) + 1
        return list(range(start, start + n_new))
    fresh = (f"new {k}" for k in range(1, n_new + len(given) + 1))
    return [name for name in fresh if name not in given][:n_new]


def names_array(names: list[Any]) -> NDArray[Any]:
    if len({type(name) for name in names}) == 1 and not isinstance(names[0], str):
        return np.array(names)
    array = np.empty(len(names), dtype=object)  # 3 stays 3 beside "3"
    array[:] = names
    return array
