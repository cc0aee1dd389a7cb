"""Slow, obvious versions of what the committee of askers computes."""

import itertools

import numpy as np


def partitions(n):
    """All partitions of n things, as label vectors numbered in order of appearance."""
    if n == 1:
        yield (0,)
        return
    for z in partitions(n - 1):
        for k in range(max(z) + 2):
            yield (*z, k)


def log_p(z, J, r, d, price):
    """The log probability of a partition, up to a constant."""
    together = sum(
        J[s, t] - r * d[s] * d[t]
        for s, t in itertools.combinations(range(len(z)), 2)
        if z[s] == z[t]
    )
    return together + price * len(set(z))


def exact(J, r, d, price):
    """Every partition and its probability."""
    every = list(partitions(len(d)))
    score = np.array([log_p(z, J, r, d, price) for z in every])
    p = np.exp(score - score.max())
    return every, p / p.sum()


def misjudged(z, other, mass):
    """Pairs of rows that two partitions judge differently, each pair once."""
    z, other = np.asarray(z), np.asarray(other)
    differ = (z[:, None] == z) != (other[:, None] == other)
    return (differ * np.outer(mass, mass)).sum() / 2


def loss(z, mass, weights):
    """Expected number of pairs on which two members, drawn by weight, differ."""
    return sum(
        weights[a] * weights[b] * misjudged(z[a], z[b], mass)
        for a in range(len(z))
        for b in range(len(z))
    )


def pair_value(z, mass, weights, s, t, accuracy):
    """Expected fall of the loss when the pair (s, t) is asked, over both answers."""
    left = 0.0
    for says_must in (True, False):
        fits = np.array([(member[s] == member[t]) == says_must for member in z])
        posterior = weights * np.where(fits, accuracy, 1 - accuracy)
        left += posterior.sum() * loss(z, mass, posterior / posterior.sum())
    return loss(z, mass, weights) - left


def item_error(z, mass, weights, s):
    """Expected misjudged pairs at one item, from its definition."""
    n = len(mass)
    own = sum(
        weights[a] * sum(mass[t] for t in range(n) if z[a][t] == z[a][s]) for a in range(len(z))
    )
    shared = sum(
        weights[a]
        * weights[b]
        * sum(mass[t] for t in range(n) if z[a][t] == z[a][s] and z[b][t] == z[b][s])
        for a in range(len(z))
        for b in range(len(z))
    )
    return mass[s] * (own - shared)


def cluster_says(z, at, class_, counts, anchors, book):
    """Whether the row's cluster in each chain has the name of each label: (chains, labels)."""
    says = np.empty((len(z), len(at)))
    for m, k in np.ndindex(says.shape):
        same_book = [c for c in range(len(book)) if book[c] == book[class_[k]]]
        inside = z[m] == z[m, at[k]]
        held = [c for c in same_book if inside[anchors[c]]]
        others = [i for i in range(len(at)) if i != k and counts[i] and inside[at[i]]]
        votes = {c: sum(class_[i] == c for i in others) for c in same_book}
        if held:
            votes = {c: int(c in held) for c in same_book}
        mine = votes.pop(class_[k])
        rival = max(votes.values(), default=0)
        says[m, k] = 1.0 / len(book) if mine == rival else float(mine > rival)
    return says
