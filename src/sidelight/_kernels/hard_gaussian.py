"""Assign rows to the Gaussian under which they are likeliest, with the sums of the clusters."""

import numpy as np

from sidelight._kernels._jit import jit, part
from sidelight._kernels.assign import FEATURES, TILE, distances_dense, fill_tile


@part
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
        for r in range(TILE):
            costs[k, r] = 0.0
    for first in range(0, X.shape[1], FEATURES):
        last = min(first + FEATURES, X.shape[1])
        fill_tile(X, active, n_active, first, last, tile)
        for k in range(n_clusters):
            add_scaled_squares(tile, centers[k, first:last], scale[k, first:last], costs[k])
    for k in range(n_clusters):
        for r in range(TILE):
            costs[k, r] += constant[k]


@part
def add_scaled_squares(tile, center, scale, cost):
    """Add scaled squared differences over the features of one tile to cost (TILE): OUT."""
    n_here = center.shape[0]
    even = n_here - n_here % 4
    for j in range(0, even, 4):  # four features between a load and a store of the cost
        c0, c1, c2, c3 = center[j], center[j + 1], center[j + 2], center[j + 3]
        s0, s1, s2, s3 = scale[j], scale[j + 1], scale[j + 2], scale[j + 3]
        for r in range(TILE):
            a, b = tile[j, r] - c0, tile[j + 1, r] - c1
            c, d = tile[j + 2, r] - c2, tile[j + 3, r] - c3
            cost[r] += (a * a * s0 + b * b * s1) + (c * c * s2 + d * d * s3)
    for j in range(even, n_here):
        for r in range(TILE):
            a = tile[j, r] - center[j]
            cost[r] += a * a * scale[j]


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


@jit
def assign_in_metric(
    X, weight, free, centers, scale, constant, labels, cost, counts, sums, squares
):  # fmt: skip
    """Give each free row its cheapest cluster, and other rows one if they have none.

    labels, cost (weighted, of each row), and the weighted totals over the free rows: counts (K),
    sums (K, d) of x - centers[k] and squares (K, d) of the same: OUT. Ties go to the lowest
    cluster. Returns (the cost of the free rows, the number of their changed labels).
    """
    n_samples = X.shape[0]
    costs = np.zeros((centers.shape[0], TILE))
    tile = np.zeros((FEATURES, TILE))
    active = np.empty(TILE, np.int64)
    nearest_k, nearest_d = np.empty(TILE), np.empty(TILE)
    amount = 0.0
    n_changed = 0
    for first in range(0, n_samples, TILE):
        n_active = min(TILE, n_samples - first)
        for r in range(n_active):
            active[r] = first + r
        tile_costs(X, active, n_active, centers, scale, constant, costs, tile)
        cheapest(costs, constant.shape[0], nearest_k, nearest_d)
        for r in range(n_active):
            i, k, w = first + r, np.int64(nearest_k[r]), weight[first + r]
            cost[i] = w * nearest_d[r]
            if not free[i]:
                if labels[i] < 0:
                    labels[i] = k
                continue
            amount += cost[i]
            n_changed += labels[i] != k
            labels[i] = k
            add_moments(X[i], w, centers[k], k, counts, sums, squares)
    return amount, n_changed


@jit
def moments(X, weight, labels, centers, counts, sums, squares):
    """The totals of ``assign_in_metric`` for given labels. counts, sums, squares: OUT."""
    for i in range(X.shape[0]):
        k = labels[i]
        add_moments(X[i], weight[i], centers[k], k, counts, sums, squares)


@part
def add_moments(x, w, center, k, counts, sums, squares):
    """Add a row to cluster k. counts, sums, squares: OUT."""
    counts[k] += w
    for j in range(x.shape[0]):
        away = x[j] - center[j]
        sums[k, j] += w * away
        squares[k, j] += w * away * away


@part
def cheapest(costs, n_clusters, best_k, best):
    """Per lane the cheapest cluster, as a float, and its cost: OUT. Compiles to vectors."""
    for r in range(TILE):
        best_k[r] = 0.0
        best[r] = costs[0, r]
    for k in range(1, n_clusters):
        number = np.float64(k)
        for r in range(TILE):
            lower = costs[k, r] < best[r]
            best_k[r] = number if lower else best_k[r]
            best[r] = costs[k, r] if lower else best[r]
