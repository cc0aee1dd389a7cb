"""Rows to the Gaussian under which they are likeliest, and the sums that go with it."""

import numpy as np

from sidelight._kernels._jit import jit
from sidelight._kernels.assign import FEATURES, TILE, distances_dense


@jit
def tile_costs(X, active, n_active, centers, scale, constant, costs, tile):
    """Minus the log density of the active rows under each Gaussian. costs (K or K + 1, TILE): OUT.

    centers are the means, padded as ``distances_dense`` wants them; scale (K, 1 or d) is one over
    twice the variances; constant (K) is added.
    """
    n_clusters = constant.shape[0]
    if scale.shape[1] == 1:
        distances_dense(X, active, n_active, centers, costs, tile)
        for k in range(n_clusters):
            for r in range(TILE):
                costs[k, r] = costs[k, r] * scale[k, 0] + constant[k]
        return
    for k in range(n_clusters):
        for r in range(n_active):
            costs[k, r] = constant[k]
    for r in range(n_active):
        for k in range(n_clusters):
            total = 0.0
            for j in range(X.shape[1]):
                away = X[active[r], j] - centers[k, j]
                total += away * away * scale[k, j]
            costs[k, r] += total


@jit
def densities(X, centers, scale, constant, out):
    """``tile_costs`` of every row of a block. out (n, K): OUT."""
    costs = np.zeros((centers.shape[0], TILE))
    tile = np.zeros((FEATURES, TILE))
    active = np.empty(TILE, np.int64)
    for first in range(0, X.shape[0], TILE):
        n_active = min(TILE, X.shape[0] - first)
        for r in range(n_active):
            active[r] = first + r
        tile_costs(X, active, n_active, centers, scale, constant, costs, tile)
        for r in range(n_active):
            for k in range(constant.shape[0]):
                out[first + r, k] = costs[k, r]


@jit
def assign_likeliest(
    X, fixed, labels, centers, scale, constant, held, new, counts, sums, squares, lowest
):
    """Give each row that is not fixed, and not in a held cluster, its likeliest cluster.

    new (labels), lowest (cost of each row), and the totals over the rows that are not fixed: counts
    (K), sums (K, d) of x - means[k], squares (K, 1 or d) of the same: OUT. Ties go to the lowest
    cluster. Returns the number of changed labels.
    """
    n_samples, n_features = X.shape
    costs = np.zeros((centers.shape[0], TILE))
    tile = np.zeros((FEATURES, TILE))
    active = np.empty(TILE, np.int64)
    diagonal = squares.shape[1] > 1
    n_changed = 0
    n_active = 0
    for i in range(n_samples):
        new[i] = labels[i]
        if not fixed[i] and (labels[i] < 0 or not held[labels[i]]):
            active[n_active] = i
            n_active += 1
        if n_active == TILE or (i == n_samples - 1 and n_active > 0):
            tile_costs(X, active, n_active, centers, scale, constant, costs, tile)
            for r in range(n_active):
                k = 0
                for h in range(1, constant.shape[0]):
                    if costs[h, r] < costs[k, r]:
                        k = h
                lowest[active[r]] = costs[k, r]
                n_changed += k != labels[active[r]]
                new[active[r]] = k
            n_active = 0
    for i in range(n_samples):
        if fixed[i]:
            continue
        k = new[i]
        counts[k] += 1.0
        total = 0.0
        for j in range(n_features):
            away = X[i, j] - centers[k, j]
            sums[k, j] += away
            if diagonal:
                squares[k, j] += away * away
            else:
                total += away * away
        if not diagonal:
            squares[k, 0] += total
    return n_changed
