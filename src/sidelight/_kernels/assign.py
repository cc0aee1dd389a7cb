"""Nearest centre with penalties, and the sums that go with it, for one block of rows.

Rows are gathered into tiles of 128, one feature after the other, so that the compiler works on many
rows at once. All lanes of a tile run the same instructions: a row's distance does not depend on the
rows beside it, which is what makes ``predict`` agree with ``fit`` bit by bit. Squared distances are
sums of squared differences, not |x|² - 2xc + |c|², so data far from the origin lose no digits; rows
of a sparse matrix are the exception.

A row whose assignment cannot have changed is skipped: ``slack`` is a lower bound of
(distance to the second centre) - (distance to the own centre), and moving the centres lowers it by
at most ``drift``. For rows with statements the penalty is part of the distance: it is a squared
distance too, between the statements about the row and those in the cluster, so the triangle
inequality holds for both together. A slack of +inf marks a held row, which keeps its label.
"""

import numpy as np

from sidelight._kernels._jit import jit, part

TILE = 128
FEATURES = 32  # a tile of 128 rows and 32 features is 32 kB, as large as the first-level cache


@part
def distances_dense(X, active, n_active, centers, D, tile):
    """Squared distances of the active rows to all centres. D (K or K + 1, TILE): OUT.

    centers is padded with zeros to an even number of rows and a multiple of four columns: two
    centres and four features at a time keep the arithmetic busy between loads (measured).
    """
    n_features = X.shape[1]
    for k in range(D.shape[0]):
        for r in range(TILE):
            D[k, r] = 0.0
    for first in range(0, centers.shape[1], FEATURES):
        n_here = min(FEATURES, centers.shape[1] - first)
        fill_tile(X, active, n_active, first, min(first + n_here, n_features), tile)
        for j in range(n_features - first, n_here):
            for r in range(TILE):
                tile[j, r] = 0.0
        add_squares(tile, centers, first, n_here, D)


@part
def fill_tile(X, active, n_active, first, last, tile):
    """Copy the features first:last of the active rows. tile (FEATURES, TILE): OUT."""
    for r in range(n_active):
        row = X[active[r], first:last]  # a view: the index arithmetic is done once per row
        for j in range(last - first):
            tile[j, r] = row[j]


@part
def add_squares(tile, centers, first, n_here, D):
    """Add the squared differences over the features of one tile to D: OUT."""
    for k in range(0, centers.shape[0], 2):
        one, two = centers[k, first : first + n_here], centers[k + 1, first : first + n_here]
        for j in range(0, n_here, 4):
            c0, c1, c2, c3 = one[j], one[j + 1], one[j + 2], one[j + 3]
            b0, b1, b2, b3 = two[j], two[j + 1], two[j + 2], two[j + 3]
            for r in range(TILE):
                t0, t1, t2, t3 = tile[j, r], tile[j + 1, r], tile[j + 2, r], tile[j + 3, r]
                p = D[k, r]
                q = D[k + 1, r]
                a = t0 - c0
                p += a * a
                a = t1 - c1
                p += a * a
                a = t2 - c2
                p += a * a
                a = t3 - c3
                p += a * a
                a = t0 - b0
                q += a * a
                a = t1 - b1
                q += a * a
                a = t2 - b2
                q += a * a
                a = t3 - b3
                q += a * a
                D[k, r] = p
                D[k + 1, r] = q


@part
def distances_csr(data, indices, indptr, active, n_active, centers_t, norms, D, dots):
    """Squared distances of the active sparse rows to all centres. D (K, TILE): OUT.

    centers_t (n_features, K) are the transposed centres, norms their squared lengths.
    """
    n_clusters = norms.shape[0]
    for r in range(n_active):
        i = active[r]
        for k in range(n_clusters):
            dots[k] = 0.0
        length = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[t])
            length += x * x
            for k in range(n_clusters):
                dots[k] += x * centers_t[indices[t], k]
        for k in range(n_clusters):
            D[k, r] = max(0.0, length - 2.0 * dots[k] + norms[k])


@part
def nearest(D, n_clusters, nearest_k, nearest_d, gap):
    """Per lane the nearest centre, its squared distance, and how much farther the next one is: OUT.

    The numbers of the clusters are kept as floats and the second distance in ``gap``: with one type
    and no branches the loops compile to vector instructions.
    """
    for r in range(TILE):
        nearest_k[r] = 0.0
        nearest_d[r] = D[0, r]
        gap[r] = np.inf
    for k in range(1, n_clusters):
        number = np.float64(k)
        for r in range(TILE):
            d = D[k, r]
            best = nearest_d[r]
            second = gap[r]
            loser = best if d < best else d
            gap[r] = loser if loser < second else second
            nearest_k[r] = number if d < best else nearest_k[r]
            nearest_d[r] = d if d < best else best
    for r in range(TILE):
        gap[r] = np.sqrt(gap[r]) - np.sqrt(nearest_d[r])


@part
def settle(
    D, active, n_active, weight, stated, span, entry, entry_weight, penalty, look_at_all, pointer,
    labels, slack, cost, counts, mass, moves, nearest_k, gap,
):  # fmt: skip
    """Give the active rows their labels and bounds; say which rows move.

    labels, slack, cost, counts, mass: OUT. moves (3, TILE): OUT, the rows that move, the clusters
    that they leave (-1 for none) and join. Returns (amount as in ``assign_dense``, the number of
    moves, the pointer into ``stated``).
    """
    amount = 0.0
    n_moves = 0
    for r in range(n_active):
        i = active[r]
        k = np.int64(nearest_k[r])
        old = np.int64(labels[i])
        w = weight[i]
        held = slack[i] == np.inf
        while pointer < stated.shape[0] and stated[pointer] < i:
            pointer += 1
        first, last = 0, 0
        if pointer < stated.shape[0] and stated[pointer] == i:
            first, last = span[pointer], span[pointer + 1]
        if held:
            k = old
        elif last > first:
            lowest = np.inf
            second = np.inf
            for h in range(penalty.shape[1]):
                c = D[h, r]
                for t in range(first, last):
                    c += entry_weight[t] * penalty[entry[t], h]
                if c < lowest:
                    second = lowest
                    lowest = c
                    k = h
                elif c < second:
                    second = c
            slack[i] = np.sqrt(second) - np.sqrt(lowest)
        else:
            slack[i] = gap[r]
        if look_at_all:
            amount += w * D[k, r]
            cost[i] = w * D[k, r]
            for t in range(first, last):
                cost[i] += w * entry_weight[t] * penalty[entry[t], k]
        if k == old:
            continue
        labels[i] = k
        moves[0, n_moves] = i
        moves[1, n_moves] = old
        moves[2, n_moves] = k
        n_moves += 1
        counts[k] += w
        for t in range(first, last):
            mass[entry[t], k] += w * entry_weight[t]
        if old >= 0:
            counts[old] -= w
            for t in range(first, last):
                mass[entry[t], old] -= w * entry_weight[t]
            if not look_at_all:
                amount += w * (D[old, r] - D[k, r])
    return amount, n_moves, pointer


@jit
def assign_dense(
    X, weight, stated, span, entry, entry_weight, centers, penalty, drift, look_at_all,
    labels, slack, cost, sums, counts, mass,
):  # fmt: skip
    """Assign the rows of a dense block. labels, slack, cost, sums, counts, mass: OUT.

    stated: the rows with statements, ascending; row stated[p] has the entries span[p]:span[p + 1],
    each a row of the table ``penalty`` (entries, K) and a weight. drift (2, K) is for rows without
    and with statements. sums (K, d), counts (K) and mass (entries, K) are the changes by the rows
    whose label changes; a row whose label was -1 only joins. Returns (amount, changed labels):
    amount is the decrease of the data part of the cost. With look_at_all no row is skipped, the
    costs are filled in, and amount is the data part itself.
    """
    n_samples, n_features = X.shape
    D = np.zeros((centers.shape[0], TILE))
    tile = np.zeros((FEATURES, TILE))
    active = np.empty(TILE, np.int64)
    moves = np.empty((3, TILE), np.int64)
    nearest_k = np.empty(TILE)
    nearest_d = np.empty(TILE)
    gap = np.empty(TILE)
    amount = 0.0
    n_changed = 0
    pointer, start, next_stated = np.int64(0), np.int64(0), np.int64(0)
    while start < n_samples:
        start, next_stated, n_active = gather_active(
            start, stated, next_stated, labels, drift, look_at_all, slack, active
        )
        if n_active == 0:
            break
        distances_dense(X, active, n_active, centers, D, tile)
        nearest(D, counts.shape[0], nearest_k, nearest_d, gap)
        a, n_moves, pointer = settle(
            D, active, n_active, weight, stated, span, entry, entry_weight, penalty, look_at_all,
            pointer, labels, slack, cost, counts, mass, moves, nearest_k, gap,
        )  # fmt: skip
        amount += a
        n_changed += n_moves
        for m in range(n_moves):
            i, leaves, joins = moves[0, m], moves[1, m], moves[2, m]
            w = weight[i]
            for j in range(n_features):
                sums[joins, j] += w * X[i, j]
            if leaves >= 0:
                for j in range(n_features):
                    sums[leaves, j] -= w * X[i, j]
    return amount, n_changed


@jit
def assign_csr(
    data, indices, indptr, weight, stated, span, entry, entry_weight, centers_t, norms, penalty,
    drift, look_at_all, labels, slack, cost, sums, counts, mass,
):  # fmt: skip
    """Assign the rows of a sparse block: ``assign_dense`` for CSR arrays and transposed centres."""
    n_samples = indptr.shape[0] - 1
    D = np.zeros((norms.shape[0], TILE))
    dots = np.empty(norms.shape[0])
    active = np.empty(TILE, np.int64)
    moves = np.empty((3, TILE), np.int64)
    nearest_k = np.empty(TILE)
    nearest_d = np.empty(TILE)
    gap = np.empty(TILE)
    amount = 0.0
    n_changed = 0
    pointer, start, next_stated = np.int64(0), np.int64(0), np.int64(0)
    while start < n_samples:
        start, next_stated, n_active = gather_active(
            start, stated, next_stated, labels, drift, look_at_all, slack, active
        )
        if n_active == 0:
            break
        distances_csr(data, indices, indptr, active, n_active, centers_t, norms, D, dots)
        nearest(D, counts.shape[0], nearest_k, nearest_d, gap)
        a, n_moves, pointer = settle(
            D, active, n_active, weight, stated, span, entry, entry_weight, penalty, look_at_all,
            pointer, labels, slack, cost, counts, mass, moves, nearest_k, gap,
        )  # fmt: skip
        amount += a
        n_changed += n_moves
        for m in range(n_moves):
            i, leaves, joins = moves[0, m], moves[1, m], moves[2, m]
            w = weight[i]
            for t in range(indptr[i], indptr[i + 1]):
                sums[joins, indices[t]] += w * data[t]
                if leaves >= 0:
                    sums[leaves, indices[t]] -= w * data[t]
    return amount, n_changed


@part
def gather_active(start, stated, next_stated, labels, drift, look_at_all, slack, active):
    """Lower the bounds from row start on, until TILE rows have to be visited.

    slack, active: OUT. Returns (the next start, the pointer into ``stated``, the number of rows).
    """
    n_samples = labels.shape[0]
    n_active = 0
    i = start
    while i < n_samples and n_active < TILE:
        if not look_at_all:
            is_stated = 0
            if next_stated < stated.shape[0] and stated[next_stated] == i:
                is_stated = 1
                next_stated += 1
            slack[i] -= drift[is_stated, labels[i]]
        if look_at_all or slack[i] <= 0.0:
            active[n_active] = i
            n_active += 1
        i += 1
    return i, next_stated, n_active


@jit
def closest_dense(X, weight, centers, keep, closest, potential):
    """Sum of min(closest, squared distance) for each centre. closest, potential (K): OUT.

    With keep, closest is lowered to the distance to the (only) centre: one step of k-means++.
    """
    n_samples = X.shape[0]
    D = np.zeros((centers.shape[0], TILE))
    tile = np.zeros((FEATURES, TILE))
    active = np.empty(TILE, np.int64)
    for first in range(0, n_samples, TILE):
        n_active = min(TILE, n_samples - first)
        for r in range(n_active):
            active[r] = first + r
        distances_dense(X, active, n_active, centers, D, tile)
        gather_potential(D, first, n_active, weight, keep, closest, potential)


@jit
def closest_csr(data, indices, indptr, weight, centers_t, norms, keep, closest, potential):
    """``closest_dense`` for the rows of a sparse block."""
    n_samples = indptr.shape[0] - 1
    D = np.zeros((norms.shape[0], TILE))
    dots = np.empty(norms.shape[0])
    active = np.empty(TILE, np.int64)
    for first in range(0, n_samples, TILE):
        n_active = min(TILE, n_samples - first)
        for r in range(n_active):
            active[r] = first + r
        distances_csr(data, indices, indptr, active, n_active, centers_t, norms, D, dots)
        gather_potential(D, first, n_active, weight, keep, closest, potential)


@part
def gather_potential(D, first, n_active, weight, keep, closest, potential):
    """The common end of ``closest_dense`` and ``closest_csr``. closest, potential: OUT."""
    for k in range(potential.shape[0]):
        for r in range(n_active):
            d = min(D[k, r], closest[first + r])
            potential[k] += weight[first + r] * d
            if keep:
                closest[first + r] = d
