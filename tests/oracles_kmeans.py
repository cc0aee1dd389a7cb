"""Slow, obvious versions of the k-means models: objectives as their pages write them."""

from itertools import combinations, permutations
from math import log, sqrt

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


def lcvqe_objective(X, centers, labels, must, cannot):
    """J of LCVQE; must, cannot: (i, j, weight)."""
    total = sum(squared(x, centers[k]) for x, k in zip(X, labels, strict=True))
    for i, j, w in must:
        if labels[i] != labels[j]:
            total += w / 2 * squared(X[i], centers[labels[j]])
            total += w / 2 * squared(X[j], centers[labels[i]])
    for i, j, w in cannot:
        k = labels[i]
        if k == labels[j]:
            far = i if squared(X[i], centers[k]) >= squared(X[j], centers[k]) else j
            total += w * min(squared(X[far], m) for h, m in enumerate(centers) if h != k)
    return total / 2


def cvqe_objective(X, centers, labels, must, cannot):
    """J of CVQE; must, cannot: (i, j, weight)."""
    total = sum(squared(x, centers[k]) for x, k in zip(X, labels, strict=True))
    for i, j, w in must:
        if labels[i] != labels[j]:
            total += w * squared(centers[labels[i]], centers[labels[j]])
    for i, j, w in cannot:
        k = labels[i]
        if k == labels[j]:
            total += w * min(squared(centers[k], m) for h, m in enumerate(centers) if h != k)
    return total / 2


def lcvqe_placement(X, centers, labels, i, j, is_must, slip=False):
    """Where LCVQE puts one violated pair: the cheapest of its three or two cases."""
    a, b = labels[i], labels[j]
    d = [[squared(X[row], m) for m in centers] for row in (i, j)]
    if is_must:
        stay = d[0][a] / 2 + d[1][b] / 2 + d[0][b] / 4 + d[1][a] / 4
        cases = [(stay, (a, b)), (d[0][a] / 2 + d[1][a] / 2, (a, a))]
        cases.append((d[0][b] / 2 + d[1][b] / 2, (b, b)))
        return min(cases, key=lambda case: case[0])[1]
    far = 0 if d[0][a] >= d[1][a] else 1
    order = sorted(range(len(centers)), key=lambda k: d[far][k])
    near = order[1] if slip else next(k for k in order if k != a)
    return (near, a) if far == 0 else (a, near)


def mpck_objective(X, centers, metrics, labels, must, cannot, weight=None):
    """J of MPCK-means with diagonal metrics; must, cannot: (i, j, weight)."""

    def norm(x, y, a):
        return sum(c * (p - q) ** 2 for p, q, c in zip(x, y, a, strict=True))

    weight = [1.0] * len(X) if weight is None else weight
    low = [min(column) for column in zip(*X, strict=True)]
    high = [max(column) for column in zip(*X, strict=True)]
    total = 0.0
    for x, k, v in zip(X, labels, weight, strict=True):
        total += v * (norm(x, centers[k], metrics[k]) - sum(log(a) for a in metrics[k]))
    for i, j, w in must:
        if labels[i] != labels[j]:
            total += w / 2 * norm(X[i], X[j], metrics[labels[i]])
            total += w / 2 * norm(X[i], X[j], metrics[labels[j]])
    for i, j, w in cannot:
        k = labels[i]
        if k == labels[j]:
            total += w * (norm(low, high, metrics[k]) - norm(X[i], X[j], metrics[k]))
    return total


def distortion(kind, x, m, columns):
    """D(x, m) of HMRF-k-means."""
    terms = list(zip(x, m, columns, strict=True))
    if kind == "euclidean":
        return sum(a * (p - q) ** 2 for p, q, a in terms)
    if kind == "kl":
        return sum(a * ((p * log(p / q) if p > 0 else 0.0) - p + q) for p, q, a in terms)
    inner = sum(a * p * q for p, q, a in terms)
    lengths = sum(a * p * p for p, _, a in terms) * sum(a * q * q for _, q, a in terms)
    return 1.0 - inner / sqrt(lengths)


def pair_distortion(kind, x, y, columns):
    """phi of two rows; the divergence is that of both from their mean."""
    if kind != "kl":
        return distortion(kind, x, y, columns)
    middle = [max((p + q) / 2, 1e-300) for p, q in zip(x, y, strict=True)]
    return distortion(kind, x, middle, columns) + distortion(kind, y, middle, columns)


def hmrf_objective(kind, X, centers, columns, labels, must, cannot, learned):
    """J of HMRF-k-means; must, cannot: (i, j, weight)."""
    low = [min(column) for column in zip(*X, strict=True)]
    high = [max(column) for column in zip(*X, strict=True)]
    most = 2.0 if kind == "cosine" else pair_distortion(kind, low, high, columns)
    total = sum(distortion(kind, x, centers[k], columns) for x, k in zip(X, labels, strict=True))
    for i, j, w in must:
        if labels[i] != labels[j]:
            total += w * pair_distortion(kind, X[i], X[j], columns)
    for i, j, w in cannot:
        if labels[i] == labels[j]:
            total += w * (most - pair_distortion(kind, X[i], X[j], columns))
    if learned and kind != "cosine":
        total -= len(X) * sum(log(a) for a in columns)
    return total


def utility_cost(utility, p, column, profile):
    """What a one-hot row with a 1 at ``column`` costs beside a profile."""
    g = profile[column]
    if utility == "category":
        return sum(((c == column) - q) ** 2 for c, q in enumerate(profile))
    if utility == "entropy":
        return -log(max(g, 1e-12))
    power = 2 if utility == "cosine" else p
    length = sum(q**power for q in profile) ** (1 / power)
    return 1.0 - (g / length) ** (power - 1) if length else 1.0


def consensus_objective(members, classes, labels, utility, p, side_weight):
    """J of KCC; members: clusters of each row in each partition, classes: its label, −1 unknown."""
    total = 0.0
    weighted = [(column, 1.0) for column in zip(*members, strict=True)] + [(classes, side_weight)]
    for column, weight in weighted:
        width = max(column) + 1
        for k in set(labels):
            inside = [c for c, label in zip(column, labels, strict=True) if label == k and c >= 0]
            profile = [inside.count(c) / max(len(inside), 1) for c in range(width)]
            total += weight * sum(utility_cost(utility, p, c, profile) for c in inside)
    return total
