"""Rows to the Gaussian under which they are likeliest, and the sums that go with it."""

import numpy as np

from sidelight._kernels._jit import jit


@jit
def row_costs(x, means_t, scale_t, constant, costs):
    """Minus the log density of a row under each Gaussian, without common constants. costs: OUT.

    means_t (d, K) and scale_t (1 or d, K), one over twice the variances, are transposed so that the
    inner loop runs over the clusters, side by side.
    """
    n_features, n_clusters = means_t.shape
    if scale_t.shape[0] == 1:
        for k in range(n_clusters):
            costs[k] = 0.0
        for j in range(n_features):
            value = np.float64(x[j])
            for k in range(n_clusters):
                away = value - means_t[j, k]
                costs[k] += away * away
        for k in range(n_clusters):
            costs[k] = costs[k] * scale_t[0, k] + constant[k]
    else:
        for k in range(n_clusters):
            costs[k] = constant[k]
        for j in range(n_features):
            value = np.float64(x[j])
            for k in range(n_clusters):
                away = value - means_t[j, k]
                costs[k] += away * away * scale_t[j, k]


@jit
def densities(X, means_t, scale_t, constant, costs):
    """``row_costs`` of every row of a block. costs (n, K): OUT."""
    for i in range(X.shape[0]):
        row_costs(X[i], means_t, scale_t, constant, costs[i])


@jit
def assign_likeliest(
    X, fixed, labels, means_t, scale_t, constant, held, new, counts, sums, squares, lowest
):
    """Give each row that is not fixed, and not in a held cluster, its likeliest cluster.

    new (labels), lowest (cost of each row), and the totals over the rows that are not fixed: counts
    (K), sums (K, d) of x - means[k], squares (K, 1 or d) of the same: OUT. Ties go to the lowest
    cluster. Returns the number of changed labels.
    """
    n_features, n_clusters = means_t.shape
    costs = np.empty(n_clusters)
    diagonal = squares.shape[1] > 1
    n_changed = 0
    for i in range(X.shape[0]):
        if fixed[i]:
            new[i] = labels[i]
            continue
        k = labels[i]
        if k < 0 or not held[k]:
            row_costs(X[i], means_t, scale_t, constant, costs)
            k = 0
            for h in range(1, n_clusters):
                if costs[h] < costs[k]:
                    k = h
            lowest[i] = costs[k]
        n_changed += k != labels[i]
        new[i] = k
        counts[k] += 1.0
        for j in range(n_features):
            away = X[i, j] - means_t[j, k]
            sums[k, j] += away
            squares[k, j if diagonal else 0] += away * away
    return n_changed
