"""Mean shift in which cannot-links keep modes apart."""

import math

from sidelight._kernels._jit import jit

_FAR = 6.9  # beyond, exp(-x) is below a thousandth and taken as zero


@jit
def block_pairs(distances, one, other, radius, power, starts, columns, near, listed, blocked):
    """Multiply blocked[i, j], IN/OUT, by what the cannot-links leave of it, where it is looked at.

    Pair p of modes leaves (1 - u_i v_j)^power[p], where u and v fall with the squared distance to
    its two modes over radius[p]²; and the same with the two exchanged. one[p] and other[p] are
    rows of distances, squared, to all modes. Looked at are columns[starts[i]:starts[i + 1]] of i.
    near (2, m), of zeros, and listed (2, m): scratch of one entry for each mode.
    """
    n = distances.shape[1]
    count = [0, 0]
    for p in range(len(one)):
        scale = 1.0 / (radius[p] * radius[p])
        for side, end in enumerate((one[p], other[p])):
            count[side] = 0
            for i in range(n):
                d = distances[end, i] * scale
                if d < _FAR:
                    listed[side, count[side]] = i
                    near[side, i] = math.exp(-d)
                    count[side] += 1
        for side in range(2):
            for s in range(count[side]):
                i = listed[side, s]
                for e in range(starts[i], starts[i + 1]):
                    j = columns[e]
                    if near[1 - side, j] > 0.0:
                        left = 1.0 - near[side, i] * near[1 - side, j]
                        blocked[i, j] *= left if power[p] == 1.0 else left ** power[p]
        for side in range(2):
            for s in range(count[side]):
                near[side, listed[side, s]] = 0.0
