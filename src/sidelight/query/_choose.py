"""The value of a question: by how much its answer is expected to bring the chains together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import committee as kernels
from sidelight.query._committee import N_CHAINS, Committee
from sidelight.query._display import smallest
from sidelight.query._structure import Floats, Ints

N_WORST = 64  # items of largest error
N_PARTNERS = 64  # items with most answers, then mass
N_PAIRS = 2_500  # pairs whose value is computed
N_NAMED = 48  # items whose label is considered
CERTAIN = 1e-9


class Pairs(NamedTuple):
    """Pairs of items that could be asked about, the most valuable first."""

    first: Ints
    second: Ints
    value: Floats  # pairs of rows that are expected to become right by the answer
    p: Floats  # probability that the two belong together

    def take(self, which: Ints) -> "Pairs":
        return Pairs(self.first[which], self.second[which], self.value[which], self.p[which])


def speakers(committee: Committee, rows: Ints) -> Ints:
    """The row that represents each item: the one asked about most so far, else the medoid.

    ``rows``: every row of every answer, repeated as often as it was asked about.
    """
    chosen = committee.items.medoid.copy()
    if len(rows):
        row, count = np.unique(rows, return_counts=True)
        item = committee.items.of_slot[committee.structure.row_leaf[row]]
        order = np.lexsort((-row, count, item))  # the last of each item: most asked, lowest row
        last = np.append(item[order][1:] != item[order][:-1], True)
        chosen[item[order][last]] = row[order][last]
    return chosen


def pair_keys(i: Ints, j: Ints, n_rows: int) -> Ints:
    """One number for an unordered pair of rows."""
    return np.minimum(i, j) * n_rows + np.maximum(i, j)


def rank_pairs(
    committee: Committee, rows: Ints, speaker: Ints, asked: Ints, accuracy: float
) -> Pairs:
    """Pairs of items on which chains differ and whose rows were not asked about, by value."""
    items, n_rows = committee.items, committee.structure.n_rows
    _, error = committee.spread
    real = np.flatnonzero(~items.is_anchor)
    n_told = np.zeros(len(items.node))
    np.add.at(n_told, items.of_slot[committee.structure.row_leaf[rows]], 1.0)
    worst = real[np.argsort(-error[real], kind="stable")[:N_WORST]]
    heavy = real[np.lexsort((-items.mass[real], -n_told[real]))[:N_PARTNERS]]
    partners = np.union1d(worst, heavy)
    first, second = (grid.ravel() for grid in np.meshgrid(worst, partners, indexing="ij"))
    low, high = np.minimum(first, second), np.maximum(first, second)
    key = np.unique((low * len(items.node) + high)[low != high])
    first, second = key // len(items.node), key % len(items.node)
    fresh = ~np.isin(pair_keys(speaker[first], speaker[second], n_rows), asked)
    first, second = first[fresh], second[fresh]
    p = np.empty(len(first))
    kernels.agreement(committee.z, committee.weights, first, second, p)
    open_ = np.flatnonzero((p > CERTAIN) & (p < 1 - CERTAIN))
    kept = np.sort(open_[np.argsort(-(p * (1 - p))[open_], kind="stable")[:N_PAIRS]])
    first, second, p = first[kept], second[kept], p[kept]
    value = pair_values(committee, first, second, accuracy, committee.weights)
    order = np.argsort(-value, kind="stable")
    return Pairs(first[order], second[order], value[order], p[order])


def pair_values(
    committee: Committee, first: Ints, second: Ints, accuracy: float, weights: Floats
) -> Floats:
    """The expected fall of L(w), the number of misjudged pairs of rows, for each pair of items."""
    G, _ = committee.spread
    value = np.empty(len(first))
    kernels.pair_values(committee.z, weights, G, G @ weights, accuracy, first, second, value)
    return value


def loss(G: NDArray[np.float64], weights: Floats) -> float:
    """L(w): pairs of rows on which two chains, drawn by their weights, are expected to differ."""
    return float(weights @ np.diag(G) - weights @ G @ weights)


def label_values(committee: Committee, items: Ints, accuracy: float) -> Floats:
    """The expected fall of L(w) when an item's row is named: a known class, or none of them."""
    G, _ = committee.spread
    weights = committee.weights
    anchors = committee.items.anchors(len(committee.vocabulary))
    with_anchor = committee.z[:, anchors][:, None, :] == committee.z[:, items][:, :, None]
    says = np.where(with_anchor.any(axis=2), with_anchor.argmax(axis=2), len(anchors))
    right = says.T[:, None, :] == np.arange(len(anchors) + 1)[:, None]  # (items, outcomes, chains)
    posterior = weights * np.where(right, accuracy, (1.0 - accuracy) / max(len(anchors), 1))
    chance = posterior.sum(axis=2)
    apart = posterior @ np.diag(G)
    together = ((posterior @ G) * posterior).sum(axis=2)
    left = apart - np.divide(together, chance, out=np.zeros_like(chance), where=chance > 0)
    return loss(G, weights) - left.sum(axis=1)


def label_to_ask(
    committee: Committee, shown: Ints, labelled: Ints, speaker: Ints, accuracy: float
) -> tuple[int, int, float, str] | None:
    """The item to be named, the row that represents it, its value and the reason in words.

    First a heavy cluster without a label, then the label of largest value, then
    the row that is misjudged most. None when every row has a label.
    """
    items, structure = committee.items, committee.structure
    _, error = committee.spread
    has_label = np.zeros(len(items.node), dtype=bool)
    has_label[items.of_slot[structure.row_leaf[labelled]]] = True
    real = ~items.is_anchor
    size = np.bincount(shown[real], weights=items.mass[real], minlength=shown.max() + 1)
    named = np.zeros(len(size), dtype=bool)
    named[shown[has_label & real]] = True
    unnamed = np.flatnonzero(~named & (size >= smallest(size)))
    if len(unnamed):
        k = unnamed[int(np.argmax(size[unnamed]))]
        s = int(np.argmax(np.where(real & (shown == k), items.mass, -1.0)))
        return s, int(speaker[s]), 0.0, "a large cluster in which no row has a name"
    free = np.flatnonzero(real & ~np.isin(speaker, labelled))
    worst = free[np.argsort(-error[free], kind="stable")[:N_NAMED]]
    if len(worst) and len(committee.vocabulary):
        value = label_values(committee, worst, accuracy)
        best = int(np.argmax(value))
        if value[best] > CERTAIN * structure.n_rows:
            s = int(worst[best])
            return s, int(speaker[s]), float(value[best]), "its name settles most pairs of rows"
    per_row = np.where(real, error / np.maximum(items.mass, 1.0), -1.0)
    for s in np.lexsort((-items.mass, -per_row)):
        if not real[s]:
            continue
        if speaker[s] not in labelled:
            return int(s), int(speaker[s]), float(error[s]), "the cluster of this row is unsure"
        rows = structure.rows(int(items.node[s])) if items.mass[s] > 1 else speaker[s : s + 1]
        left = np.setdiff1d(rows, labelled)
        if len(left):
            return int(s), int(left[0]), float(error[s]), "the cluster of this row is unsure"
    return None


def expected_error(committee: Committee, clusters: Ints) -> tuple[float, Floats]:
    """Expected share of pairs of rows that a partition of items misjudges; and by each chain."""
    mass, z = committee.items.mass, committee.z
    n = committee.structure.n_rows
    own = float((np.bincount(clusters, weights=mass) ** 2).sum())
    by_chain = np.empty(N_CHAINS)
    for m in range(N_CHAINS):
        joint = np.bincount(clusters * (z[m].max() + 1) + z[m], weights=mass)
        theirs = np.bincount(z[m], weights=mass)
        by_chain[m] = own + (theirs**2).sum() - 2 * (joint**2).sum()
    by_chain /= max(n * (n - 1), 1)
    return float(committee.weights @ by_chain), by_chain
