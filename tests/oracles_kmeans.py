"""Slow, obvious versions of the k-means models: objectives as their pages write them."""


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
