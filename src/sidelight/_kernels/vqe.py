"""Assign the rows of pairs again, pair by pair: the assignment steps of CVQE and LCVQE."""

import numpy as np

from sidelight._kernels._jit import jit, part


@jit
def lcvqe_sweep(distances, row_weight, first, second, is_must, weight, slip, labels):
    """Go once through the pairs, in their order. labels: IN the nearest centres, OUT.

    distances (m, K) are squared. A broken must-link is kept broken, or both rows join the cluster
    of one of them, whichever is cheapest. Of a broken cannot-link the row that is farther from the
    common centre goes to the nearest other one, unless staying is cheaper, which takes a weight
    below 1. With slip that is the second nearest centre of all, also where this is the common one.
    """
    for p in range(first.shape[0]):
        a, b, w = first[p], second[p], weight[p]
        i, j = labels[a], labels[b]
        if is_must[p]:
            if i == j:
                continue
            at_a, at_b = row_weight[a] * distances[a, i], row_weight[b] * distances[b, j]
            stay = at_a + at_b + 0.5 * w * (distances[a, j] + distances[b, i])
            to_i = at_a + row_weight[b] * distances[b, i]
            to_j = row_weight[a] * distances[a, j] + at_b
            if to_i < stay and to_i <= to_j:
                labels[b] = i
            elif to_j < stay:
                labels[a] = j
        elif i == j and a != b:
            far = a if distances[a, i] >= distances[b, i] else b
            near = second_nearest(distances[far]) if slip else nearest_other(distances[far], i)
            if near < 0:
                continue
            v = row_weight[far]
            if v * distances[far, near] <= v * distances[far, i] + w * distances[far, near]:
                labels[far] = near


@part
def nearest_other(distances, k):
    """The nearest centre other than k, the lowest of equals; -1 if there is none."""
    best = -1
    for h in range(distances.shape[0]):
        if h != k and (best < 0 or distances[h] < distances[best]):
            best = h
    return best


@part
def second_nearest(distances):
    """The second nearest centre of all; -1 if there is none."""
    return nearest_other(distances, np.argmin(distances))


@jit
def cvqe_sweep(distances, row_weight, between, first, second, is_must, weight, labels):
    """Go once through the pairs: the cheapest of all placements of a broken one. labels: IN/OUT.

    between (K, K) are the squared distances of the centres: what a must-link costs between two
    clusters, and on the diagonal, the distance to the nearest other centre, a cannot-link inside.
    """
    n_clusters = distances.shape[1]
    for p in range(first.shape[0]):
        a, b, w = first[p], second[p], weight[p]
        if a == b or (labels[a] == labels[b]) == is_must[p]:
            continue
        best_i, best_j, lowest = labels[a], labels[b], np.inf
        for i in range(n_clusters):
            for j in range(n_clusters):
                cost = row_weight[a] * distances[a, i] + row_weight[b] * distances[b, j]
                if (i == j) != is_must[p]:
                    cost += w * between[i, j]
                if cost < lowest:
                    best_i, best_j, lowest = i, j, cost
        labels[a], labels[b] = best_i, best_j
