"""Move rows between Gaussian clusters, one by one, by the exact difference of the energy.

A cluster k has count[k] rows, mean[k], inverse[k] = A^-1 and log_det[k] = log |A|, where A is the
scatter about the mean plus strength times Psi. A row changes A by one square, so that log |A| and
A^-1 follow by the matrix determinant lemma and by Sherman and Morrison.
"""

import numpy as np

from sidelight._kernels._jit import bare, inlined, jit, part


@bare
def energy(count, log_det, entropy, n, d, strength, log_psi, beta):
    """N times the contribution of a cluster to E; 0 for an empty one."""
    if count <= 0.0:
        return 0.0
    rows = count + strength
    own = 0.5 * d * np.log(2.0 * np.pi * np.e) - np.log(count / n) + beta * entropy
    spread = 0.5 * rows * (log_det - d * np.log(rows))
    # The constant of an empty cluster, so that a dissolved cluster costs nothing.
    return count * own + spread - 0.5 * strength * log_psi


@part
def class_entropy(table, first, last, change, sign, column, weight, group, scratch, totals):
    """The entropy of classes, summed over vocabularies, after some labels come or go.

    Labels first:last with column and weight, times sign; scratch (C), totals (V): scratch.
    """
    for c in range(table.shape[0]):
        scratch[c] = table[c]
    if change:
        for t in range(first, last):
            scratch[column[t]] = max(scratch[column[t]] + sign * weight[t], 0.0)
    for v in range(totals.shape[0]):
        totals[v] = 0.0
    for c in range(table.shape[0]):
        totals[group[c]] += scratch[c]
    found = 0.0
    for c in range(table.shape[0]):
        if scratch[c] > 0.0:
            share = scratch[c] / totals[group[c]]
            found -= share * np.log(share)
    return found


@inlined
def quadratic(inverse, u, y):
    """U' inverse u, and y = inverse u, OUT.

    Four rows at a time, and many columns at once: y is read and written a quarter as often.
    """
    d = u.shape[0]
    for j in range(d):
        y[j] = 0.0
    whole = d - d % 4
    for i in range(0, whole, 4):
        a, b, c, e = u[i], u[i + 1], u[i + 2], u[i + 3]
        for j in range(d):
            y[j] += (
                a * inverse[i, j]
                + b * inverse[i + 1, j]
                + c * inverse[i + 2, j]
                + e * inverse[i + 3, j]
            )
    for i in range(whole, d):
        a = u[i]
        for j in range(d):
            y[j] += a * inverse[i, j]
    total = 0.0
    for j in range(d):
        total += y[j] * u[j]
    return total


@inlined
def change_square(inverse, y, factor):
    """A^-1 after A + factor u u', with y = A^-1 u / sqrt(|1 + factor u' A^-1 u|). OUT."""
    d = y.shape[0]
    for i in range(d):
        v = factor * y[i]
        for j in range(d):
            inverse[i, j] -= v * y[j]


@part
def put(x, k, sign, state, u, y):
    """Row x into cluster k (sign 1) or out of it (-1). state: OUT."""
    count, mean, inverse, log_det = state
    d = x.shape[0]
    n = count[k]
    for j in range(d):
        u[j] = x[j] - mean[k, j]
    factor = sign * n / (n + sign) if n + sign > 0.0 else 0.0
    if factor != 0.0:
        gain = 1.0 + factor * quadratic(inverse[k], u, y)
        log_det[k] += np.log(max(gain, 1e-300))
        change_square(inverse[k], y, factor / max(gain, 1e-300))
    count[k] = n + sign
    if count[k] > 0.0:
        for j in range(d):
            mean[k, j] += sign * u[j] / count[k]


@bare
def set_steps(k, state, entropy, constants, steps):
    """N times the difference of E if a row at the mean, without labels, joins or leaves cluster k.

    These logarithms are the same for all rows; computing them for each row took as long as the
    squares. steps (2, K): OUT.
    """
    count, _, _, log_det = state
    n, d, strength, log_psi, beta = constants
    before = energy(count[k], log_det[k], entropy[k], n, d, strength, log_psi, beta)
    for way in range(2):
        after = count[k] + 1.0 - 2.0 * way
        now = energy(after, log_det[k], entropy[k], n, d, strength, log_psi, beta)
        steps[way, k] = now - before


@bare
def changes(
    x, row, own, said, state, entropy, table, alive, constants, steps, u, y, scratch, totals, cost
):
    """N times the difference of E if row x goes into each cluster, from no cluster; cost: OUT.

    In ``own`` (-1: none) it is minus the difference if the row leaves. inf where nothing is alive.
    ``steps``: see `set_steps`.
    """
    span, column, weight, group = said
    count, mean, inverse, _ = state
    strength, beta = constants[2], constants[4]
    first, last = span[row], span[row + 1]
    labelled = last > first
    for k in range(count.shape[0]):
        if not alive[k]:
            cost[k] = np.inf
            continue
        sign = -1.0 if k == own else 1.0
        for j in range(x.shape[0]):
            u[j] = x[j] - mean[k, j]
        after = count[k] + sign
        factor = sign * count[k] / after if after > 0.0 else 0.0
        gain = 1.0
        if factor != 0.0:
            gain += factor * quadratic(inverse[k], u, y)
        change = steps[0 if sign > 0.0 else 1, k]
        # E is linear in log |A| and in the entropy.
        if after > 0.0:
            change += 0.5 * (after + strength) * np.log(max(gain, 1e-300))
            if labelled:
                moved = class_entropy(
                    table[k], first, last, True, sign, column, weight, group, scratch, totals
                )
                change += after * beta * (moved - entropy[k])
        cost[k] = sign * change


@part
def take_labels(row, k, sign, said, entropy, table, scratch, totals):
    """The labels of a row into cluster k, or out of it. entropy, table: OUT."""
    span, column, weight, group = said
    for t in range(span[row], span[row + 1]):
        table[k, column[t]] = max(table[k, column[t]] + sign * weight[t], 0.0)
    if span[row + 1] > span[row]:
        entropy[k] = class_entropy(
            table[k], 0, 0, False, 0.0, column, weight, group, scratch, totals
        )


@jit
def move_rows(
    X, rows, said, alive, constants, least, tolerance, labels, state, entropy, table, margin
):
    """Each row, in the given order, to the cluster for which E is lowest. Returns the moves.

    A cluster of ``least`` rows gives none away. A row without a cluster (-1) goes to the cheapest.
    labels, state, entropy, table: IN/OUT. Ties to the lowest. margin, OUT: N times the difference
    of E between the cluster of a row and the best other, or the one that it left.
    """
    n_clusters, d = state[1].shape
    u, y = np.empty(d), np.empty(d)
    cost = np.empty(n_clusters)
    scratch, totals = np.empty(table.shape[1]), np.empty(table.shape[1] + 1)
    steps = np.empty((2, n_clusters))
    for k in range(n_clusters):
        set_steps(k, state, entropy, constants, steps)
    n_moves = 0
    for p in range(rows.shape[0]):
        i = rows[p]
        own = labels[i]
        if own >= 0 and state[0][own] <= least:
            continue
        changes(
            X[i], i, own, said, state, entropy, table, alive, constants, steps,
            u, y, scratch, totals, cost,
        )  # fmt: skip
        best, lowest = -1, np.inf
        for k in range(n_clusters):
            if cost[k] < lowest and k != own:
                best, lowest = k, cost[k]
        margin[i] = abs(lowest - cost[own]) if own >= 0 else 0.0
        if best < 0 or (own >= 0 and lowest >= cost[own] - tolerance):
            continue
        if own >= 0:
            put(X[i], own, -1.0, state, u, y)
            take_labels(i, own, -1.0, said, entropy, table, scratch, totals)
            set_steps(own, state, entropy, constants, steps)
        put(X[i], best, 1.0, state, u, y)
        take_labels(i, best, 1.0, said, entropy, table, scratch, totals)
        set_steps(best, state, entropy, constants, steps)
        labels[i] = best
        n_moves += 1
    return n_moves
