"""Mean shift in which cannot-links keep modes apart."""

import math

from sidelight._kernels._jit import jit

FAR = 6.9  # above this, exp(-x) is below a thousandth and taken as zero


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
