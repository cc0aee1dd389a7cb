"""Iterated conditional modes: rows with must- and cannot-links, moved one by one."""

import numpy as np

from sidelight._kernels._jit import jit


@jit
def icm_sweep(unary, partner, weight, span, order, tolerance, waiting, labels):
    """Move each waiting row, in the given order, to its cheapest cluster. waiting, labels: IN/OUT.

    Minimises  sum_i unary[i, labels[i]] + sum of the weights of the broken pairs, each pair once.
    unary (m, K) is the cost of a row in each cluster by itself. Row i has the pairs span[i]:span[i
    + 1]; each pair is listed at both of its rows: a weight above 0 is a must-link, one below 0 a
    cannot-link; a pair of a row and itself never changes anything. A row leaves its cluster only if
    that saves more than tolerance; ties go to the lowest cluster. The labels of the other rows stay
    fixed during a move, so no move raises the sum. After a pass, only rows whose partners moved
    after them are waiting: the others would decide the same again. Returns (the change of the sum,
    the number of moves).
    """
    n_clusters = unary.shape[1]
    cost = np.empty(n_clusters)
    change = 0.0
    n_moves = 0
    for i in order:
        if not waiting[i]:
            continue
        waiting[i] = False
        for k in range(n_clusters):
            cost[k] = unary[i, k]
        # A must-link is broken in all clusters but that of its other row, a cannot-link only there.
        # Up to a constant over clusters, both are minus the weight in that cluster.
        for t in range(span[i], span[i + 1]):
            if partner[t] != i:
                cost[labels[partner[t]]] -= weight[t]
        own = labels[i]
        best = 0
        for k in range(1, n_clusters):
            if cost[k] < cost[best]:
                best = k
        if cost[best] < cost[own] - tolerance:
            change += cost[best] - cost[own]
            labels[i] = best
            n_moves += 1
            for t in range(span[i], span[i + 1]):
                waiting[partner[t]] = partner[t] != i
    return change, n_moves


@jit
def icm_groups(
    unary, group, apart_span, apart, order, must_weight, cannot_weight, tolerance, table, labels
):
    """``icm_sweep`` for all pairs that follow from groups, without listing the pairs.

    Every two rows of one group are a must-link, and every row of group g with every row of the
    groups apart[apart_span[g]:apart_span[g + 1]] a cannot-link; a group apart from itself is both.
    table (G, K), the number of rows of each group in each cluster, and labels: IN/OUT.
    """
    n_clusters = unary.shape[1]
    cost = np.empty(n_clusters)
    change = 0.0
    n_moves = 0
    for i in order:
        g = group[i]
        own = labels[i]
        table[g, own] -= 1.0  # the row is not its own partner
        for k in range(n_clusters):
            cost[k] = unary[i, k] - must_weight * table[g, k]
        for t in range(apart_span[g], apart_span[g + 1]):
            for k in range(n_clusters):
                cost[k] += cannot_weight * table[apart[t], k]
        best = 0
        for k in range(1, n_clusters):
            if cost[k] < cost[best]:
                best = k
        if cost[best] < cost[own] - tolerance:
            change += cost[best] - cost[own]
            labels[i] = own = best
            n_moves += 1
        table[g, own] += 1.0
    return change, n_moves


@jit
def icm_metric(unary, partner, pair, weight, span, apart, box, order, tolerance, waiting, labels):
    """``icm_sweep`` with prices that depend on distances, in the metric of each cluster.

    Pair p of rows that are apart[p, k] in the metric of cluster k costs, if its weight w is above 0
    and the rows are in clusters h and k, w (apart[p, h] + apart[p, k]) / 2, and if it is below 0
    and both are in k, -w (box[k] - apart[p, k]). pair[t] is the number of entry t. One metric for
    all clusters needs one column of apart.
    """
    n_clusters = unary.shape[1]
    cost = np.empty(n_clusters)
    step = 1 if apart.shape[1] > 1 else 0
    change = 0.0
    n_moves = 0
    for i in order:
        if not waiting[i]:
            continue
        waiting[i] = False
        for k in range(n_clusters):
            cost[k] = unary[i, k]
        for t in range(span[i], span[i + 1]):
            p, h, w = pair[t], labels[partner[t]], weight[t]
            if partner[t] == i:
                continue
            if w < 0.0:
                cost[h] -= w * (box[h] - apart[p, step * h])
                continue
            for k in range(n_clusters):
                if k != h:
                    cost[k] += 0.5 * w * (apart[p, step * h] + apart[p, step * k])
        own = labels[i]
        best = 0
        for k in range(1, n_clusters):
            if cost[k] < cost[best]:
                best = k
        if cost[best] < cost[own] - tolerance:
            change += cost[best] - cost[own]
            labels[i] = best
            n_moves += 1
            for t in range(span[i], span[i + 1]):
                waiting[partner[t]] = partner[t] != i
    return change, n_moves


@jit
def icm_sized(
    unary, size, partner, weight, span, order, lowest, highest, tolerance, counts, labels
):
    """``icm_sweep`` over all units, of several rows each, that keeps the sizes of clusters.

    size (m) is the number of rows of a unit, counts (K) that of all rows in a cluster: OUT. A unit
    moves only if both clusters stay within lowest and highest; they have to be so at the start.
    """
    n_clusters = unary.shape[1]
    cost = np.empty(n_clusters)
    change = 0.0
    n_moves = 0
    for i in order:
        own = labels[i]
        if counts[own] - size[i] < lowest[own]:
            continue
        for k in range(n_clusters):
            cost[k] = unary[i, k]
        for t in range(span[i], span[i + 1]):
            if partner[t] != i:
                cost[labels[partner[t]]] -= weight[t]
        best = own
        for k in range(n_clusters):
            fits = k == own or counts[k] + size[i] <= highest[k]
            if fits and cost[k] < cost[best] - (tolerance if best == own else 0.0):
                best = k
        if best != own:
            change += cost[best] - cost[own]
            counts[own] -= size[i]
            counts[best] += size[i]
            labels[i] = best
            n_moves += 1
    return change, n_moves
