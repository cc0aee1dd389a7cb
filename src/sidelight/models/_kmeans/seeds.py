"""Where a start begins: the means of labelled classes, or of groups of rows that are tied."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.blocks import RowEntries
from sidelight.models._centers import group_sums
from sidelight.models._kmeans.family import Given, Seeds
from sidelight.side import LABEL, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Equally large groups that are compared for each cluster: enough that hardly any cluster has none,
# and so few that rows far from everything are rarely among them.
_CANDIDATES = 10


def label_seeds(side: SideInformation, weight: Any, n_clusters: int) -> Seeds:
    """The labelled rows of the leading vocabulary; of more classes than clusters the heaviest."""
    said = side.once
    said = said.take((said.kind == LABEL) & (said.vocabulary == side.leading_vocabulary))
    said = said.take(np.argsort(said.i, kind="stable"))
    counted = said.weight if weight is None else said.weight * weight[said.i]
    mass = np.bincount(said.class_code, counted, minlength=len(side.classes))
    heaviest = np.argsort(-mass, kind="stable")[: min(n_clusters, int((mass > 0).sum()))]
    center = np.full(len(side.classes), -1)
    center[np.sort(heaviest)] = np.arange(len(heaviest))
    used = (center[said.class_code] >= 0) & (counted > 0)
    return Seeds(said.i[used], center[said.class_code[used]], counted[used])


def largest_groups(given: Given) -> Seeds:
    """The largest groups that are tied, as many as clusters.

    Of equally large ones those that are far from each other: with few must-links nearly all are
    pairs, and the first of them may be of one cluster.
    """
    tied = _tied_groups(given)
    seeds = _of_groups(tied, _largest(given, tied))
    return seeds if seeds.n_centers == given.n_clusters else _and_a_row_apart(given, seeds)


def far_groups(given: Given) -> Seeds:
    """Groups that are tied: the largest one, then always the farthest, weighted by size."""
    tied = _tied_groups(given)
    filled = np.flatnonzero(np.bincount(tied.center, tied.weight) > 0)
    seeds = _and_a_row_apart(given, _of_groups(tied, filled))
    if not seeds.n_centers:
        return seeds
    sizes = np.bincount(seeds.center, seeds.weight).astype(np.float64)
    means = _means(given, seeds, np.arange(seeds.n_centers))
    chosen = _farthest_first(means, sizes, [int(sizes.argmax())], given.n_clusters)
    return _of_groups(seeds, np.sort(chosen))


def _and_a_row_apart(given: Given, seeds: Seeds) -> Seeds:
    """The same seeds and, as one more, the first row that is kept apart from all of them."""
    if not seeds.n_centers:
        return seeds
    closure = given.side.closure()
    groups = np.unique(closure.groups[seeds.row])
    free = closure.apart_graph()[groups].sum(axis=0) == len(groups)
    outside = np.flatnonzero(free[closure.groups])[:1]
    row = np.append(seeds.row, outside)
    order = np.argsort(row, kind="stable")
    center = np.append(seeds.center, np.full(len(outside), seeds.n_centers))
    weight = np.append(seeds.weight, np.ones(len(outside)))
    return Seeds(row[order], center[order], weight[order])


def _tied_groups(given: Given) -> Seeds:
    """All rows in groups of several, or with a label; ``center`` is the group, 0, 1, …

    A wrong must-link may tie two classes: labelled rows are grouped by their class all the same.
    """
    side, weight = given.side, given.weight
    closure, class_of = side.closure(), _heaviest_labels(side)
    tied = np.flatnonzero((closure.sizes[closure.groups] > 1) | (class_of >= 0))
    one_class = _class_of_groups(closure.groups, class_of, closure.n_groups)[closure.groups[tied]]
    class_of = np.where(class_of[tied] >= 0, class_of[tied], one_class)
    key = np.where(class_of >= 0, class_of, len(side.classes) + closure.groups[tied])
    _, group = np.unique(key, return_inverse=True)
    return Seeds(tied, group, np.ones(len(tied)) if weight is None else weight[tied])


def _of_groups(tied: Seeds, groups: Ints) -> Seeds:
    """The rows of some groups, ascending, which are then counted from 0."""
    number = np.full(tied.n_centers, -1, dtype=np.int64)
    number[groups] = np.arange(len(groups))
    used = (number[tied.center] >= 0) & (tied.weight > 0)
    return Seeds(tied.row[used], number[tied.center[used]], tied.weight[used])


def _means(given: Given, tied: Seeds, groups: Ints) -> Floats:
    """The means of some groups, ascending."""
    some = _of_groups(tied, groups)
    entries = RowEntries(some.row, (some.center, some.weight))
    sums, counts = group_sums(given.rows, entries, len(groups))
    return sums / counts[:, None]


def _largest(given: Given, tied: Seeds) -> Ints:
    """The largest groups, ascending; where the last of them have equals, those far apart."""
    sizes = np.bincount(tied.center, tied.weight)
    n = min(given.n_clusters, int((sizes > 0).sum()))
    order = np.argsort(-sizes, kind="stable")
    if n == 0 or n == len(sizes) or sizes[order[n]] < sizes[order[n - 1]]:
        return np.sort(order[:n])
    larger, equal = (
        np.flatnonzero(sizes > sizes[order[n]]),
        np.flatnonzero(sizes == sizes[order[n]]),
    )
    if len(equal) > _CANDIDATES * n:
        drawn = np.random.default_rng(given.seed).choice(equal, _CANDIDATES * n, replace=False)
        equal = np.sort(drawn)
    groups = np.sort(np.concatenate([larger, equal]))
    means = _means(given, tied, groups)
    first = np.searchsorted(groups, larger).tolist()
    if not first:
        first = [int(((means - means.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    return groups[np.sort(_farthest_first(means, np.ones(len(groups)), first, n))]


def _farthest_first(means: Floats, sizes: Floats, chosen: list[int], n: int) -> list[int]:
    """Beside those chosen always the farthest from them, weighted by size; none that is alike."""
    chosen = list(chosen)
    nearest = np.full(len(means), np.inf)
    for place in chosen:
        nearest = np.minimum(nearest, ((means - means[place]) ** 2).sum(axis=1))
    while len(chosen) < min(n, len(means)) and (sizes * nearest).max() > 0.0:
        chosen.append(int((sizes * nearest).argmax()))
        nearest = np.minimum(nearest, ((means - means[chosen[-1]]) ** 2).sum(axis=1))
    return chosen


def _heaviest_labels(side: SideInformation) -> Ints:
    """For each row the class of its heaviest label, the lowest of equals; −1 without one.

    Of the leading vocabulary, each label once: who repeats a label does not move the start.
    """
    said = side.once
    said = said.take((said.kind == LABEL) & (said.vocabulary == side.leading_vocabulary))
    said = said.take(np.lexsort((-said.class_code, said.weight)))  # the last one stays
    labels = np.full(side.n_samples, -1, dtype=np.int64)
    labels[said.i] = said.class_code
    return labels


def _class_of_groups(groups: Ints, class_of: Ints, n_groups: int) -> Ints:
    """The class of each group whose labelled rows have one and the same; −1 of the others."""
    known = np.flatnonzero(class_of >= 0)
    if not len(known):
        return np.full(n_groups, -1, dtype=np.int64)
    lowest = np.full(n_groups, np.iinfo(np.int64).max)
    highest = np.full(n_groups, -1, dtype=np.int64)
    np.minimum.at(lowest, groups[known], class_of[known])
    np.maximum.at(highest, groups[known], class_of[known])
    return np.where(lowest == highest, highest, -1)
