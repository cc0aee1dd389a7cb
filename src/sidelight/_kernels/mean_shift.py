"""Mean shift in which cannot-links keep modes apart."""

import math

import numpy as np

from sidelight._kernels._jit import jit

FAR = 6.9  # above this, exp(-x) is below a thousandth and taken as zero


# The steps of many rows: only what a mode sees, and factors of many pairs at once.


@jit
def squared_distances(A, B_columns, out):
    """Squared distances, OUT, of the rows of A and B, which is given by columns."""
    for i in range(A.shape[0]):
        row = out[i]
        row[:] = 0.0
        for f in range(A.shape[1]):
            column, value = B_columns[f], A[i, f]
            for j in range(B_columns.shape[1]):
                row[j] += (column[j] - value) * (column[j] - value)


@jit
def mark_needed(away, mode_of, reach, needed):
    """Mark the pairs of modes i <= k in needed, OUT and false before, whose factor is needed.

    Mode i sees the points j with away[i, j] <= reach; k is the mode of j. A mode that sees only one
    point moves there, whatever the factor is.
    """
    for i in range(away.shape[0]):
        row, seen = away[i], 0
        for j in range(away.shape[1]):
            seen += row[j] <= reach
        if seen > 1:
            for j in range(away.shape[1]):
                if row[j] <= reach:
                    needed[min(i, mode_of[j]), max(i, mode_of[j])] = True


@jit
def multiply_factors(
    near, exchanged, power, one, other, least, is_plain, products, left, n_left, scratch
):
    """Multiply products, IN/OUT, by the factors of some pairs; return how many are above least.

    near[i] has u and then v of mode i for all pairs, exchanged[i] v and then u. power is of one
    pair after another; is_plain if all are 1. left[:n_left], IN/OUT: the entries (one[e], other[e])
    that are not yet below least. scratch: as long as power, which is a power of two above 4.
    """
    kept, n_pairs = 0, len(scratch)
    for s in range(n_left):
        e = left[s]
        u, v = near[one[e], :n_pairs], exchanged[other[e], :n_pairs]
        u_too, v_too = near[one[e], n_pairs:], exchanged[other[e], n_pairs:]
        for q in range(n_pairs):
            first = np.float32(1.0) - u[q] * v[q]
            scratch[q] = first * (np.float32(1.0) - u_too[q] * v_too[q])
        if not is_plain:
            for q in range(n_pairs):
                scratch[q] = scratch[q] ** power[q]
        width = n_pairs // 2
        while width > 2:  # halves times halves: the compiler does it for many at once
            head, tail = scratch[:width], scratch[width : 2 * width]
            for q in range(width):
                head[q] *= tail[q]
            width //= 2
        product = (scratch[0] * scratch[1]) * (scratch[2] * scratch[3])
        products[e] *= product
        if products[e] > least:
            left[kept] = e
            kept += 1
    return kept


@jit
def shift_seen(away, mode_of, reach, scale, X, weight, factor, modes, moved):
    """The mean of the points that each mode sees, OUT; a mode that sees nothing stays.

    A point counts by its weight, by exp(-scale * away) and by the factor of the two modes.
    """
    for i in range(away.shape[0]):
        row, here = away[i], moved[i]
        seen, last = 0, 0
        for j in range(away.shape[1]):
            seen += row[j] <= reach
        total = 0.0
        here[:] = 0.0
        for j in range(away.shape[1]):
            if row[j] > reach:
                continue
            last = j
            blocked = factor[i, mode_of[j]]
            if seen > 1 and blocked > 0.0:
                share = math.exp(-scale * row[j]) * weight[j] * blocked
                total += share
                for f in range(X.shape[1]):
                    here[f] += share * X[j, f]
        if seen == 1:
            here[:] = X[last]
        elif total > 0.0:
            for f in range(X.shape[1]):
                here[f] /= total
        else:
            here[:] = modes[i]


# The steps of few rows, whose last bits tables of results depend on.


@jit
def block_pairs(
    distances, one, other, radius, power, starts, columns, around, listed, near, blocked
):
    """Multiply the needed entries of blocked, IN/OUT, by the factors of the cannot-links.

    Pair p of modes gives the factor (1 - u_i v_j)^power[p] for entry (i, j), where u and v fall
    with the squared distance to its two modes over radius[p]²; and the same with the two exchanged.
    one[p] and other[p] are rows of distances, squared, to all modes; listed[around[e]:around[e +
    1]] are the modes that row e may reach with the largest radius. The needed entries of row i are
    columns[starts[i]:starts[i + 1]]; other entries may change too. near (2, m): scratch, of zeros.
    """
    ends = [0, 0]
    for p in range(len(one)):
        scale = 1.0 / (radius[p] * radius[p])
        ends[0], ends[1] = one[p], other[p]
        for side in range(2):
            for e in range(around[ends[side]], around[ends[side] + 1]):
                d = distances[ends[side], listed[e]] * scale
                near[side, listed[e]] = math.exp(-d) if d < FAR else 0.0
        for side in range(2):
            first, last = around[ends[1 - side]], around[ends[1 - side] + 1]
            for s in range(around[ends[side]], around[ends[side] + 1]):
                i = listed[s]
                if near[side, i] == 0.0:
                    continue
                # The shorter of two lists: the modes that the other mode reaches, or the entries
                # needed for i.
                if last - first < starts[i + 1] - starts[i]:
                    for e in range(first, last):
                        j = listed[e]
                        left = 1.0 - near[side, i] * near[1 - side, j]
                        blocked[i, j] *= left if power[p] == 1.0 else left ** power[p]
                else:
                    for e in range(starts[i], starts[i + 1]):
                        j = columns[e]
                        if near[1 - side, j] > 0.0:
                            left = 1.0 - near[side, i] * near[1 - side, j]
                            blocked[i, j] *= left if power[p] == 1.0 else left ** power[p]
        for side in range(2):
            for e in range(around[ends[side]], around[ends[side] + 1]):
                near[side, listed[e]] = 0.0
