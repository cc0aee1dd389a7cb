"""Slow, obvious versions of the k-means models: objectives as their pages write them."""

from itertools import combinations, permutations

from oracles import related_rows
from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL


def squared(x, m):
    return sum((a - b) ** 2 for a, b in zip(x, m, strict=True))


def k_means_objective(X, centers, labels, weight=None):
    """The weighted sum of squared distances to the own centre."""
    weight = [1.0] * len(X) if weight is None else weight
    return sum(w * squared(x, centers[k]) for w, x, k in zip(weight, X, labels, strict=True))


def means_of(X, labels, n_clusters):
    """The mean of each cluster; every cluster has a row."""
    found = []
    for k in range(n_clusters):
        own = [x for x, label in zip(X, labels, strict=True) if label == k]
        found.append([sum(column) / len(own) for column in zip(*own, strict=True)])
    return found


def broken_pairs(side, labels, must_price, cannot_price):
    """The price of the given pairs that a partition breaks."""
    said, total = side.statements, 0.0
    for kind, i, j, weight in zip(said.kind, said.i, said.j, said.weight, strict=True):
        if kind == MUST and labels[i] != labels[j]:
            total += must_price * weight
        if kind == CANNOT and labels[i] == labels[j]:
            total += cannot_price * weight
    return total


def broken_labels(side, labels, n_clusters, must_price, cannot_price):
    """The price of the labels that a partition breaks, for the best clusters of the classes.

    One vocabulary, at most as many classes as clusters.
    """
    said, best = side.statements, float("inf")
    for cluster in permutations(range(n_clusters), len(side.classes)):
        total = 0.0
        for kind, i, c, weight in zip(said.kind, said.i, said.class_code, said.weight, strict=True):
            if kind == LABEL and labels[i] != cluster[c]:
                total += must_price * weight
            if kind == NOT_LABEL and labels[i] == cluster[c]:
                total += cannot_price * weight
        best = min(best, total)
    return best


def broken_closure(side, labels, must_price, cannot_price):
    """The price of all pairs that follow from the statements and that a partition breaks."""
    together, apart = related_rows(side)
    total = 0.0
    for i, j in combinations(range(side.n_samples), 2):
        if together[i, j] and labels[i] != labels[j]:
            total += must_price
        if apart[i, j] and labels[i] == labels[j]:
            total += cannot_price
    return total
