"""Mean shift in which cannot-links keep modes apart."""

import math

from sidelight._kernels._jit import jit

_FAR = 6.9  # beyond, exp(-x) is below a thousandth and taken as zero


@jit
def block_pairs(modes, one, other, radius, power, near_one, near_other, listed, blocked):
    """Multiply blocked[i, j], IN/OUT, by what the cannot-links leave of it.

    Pair p of modes one[p] and other[p] leaves (1 - u_i v_j)^power[p], where u and v fall with the
    squared distance to the two modes over radius[p]²; and the same with the two exchanged.
    near_one, near_other, listed (2, m): scratch of one entry for each mode.
    """
    n, n_columns = modes.shape
    for p in range(len(one)):
        scale = 1.0 / (radius[p] * radius[p])
        n_one = n_other = 0
        for i in range(n):
            d, e = 0.0, 0.0
            for k in range(n_columns):
                d += (modes[i, k] - modes[one[p], k]) ** 2
                e += (modes[i, k] - modes[other[p], k]) ** 2
            if d * scale < _FAR:
                listed[0, n_one] = i
                near_one[n_one] = math.exp(-d * scale)
                n_one += 1
            if e * scale < _FAR:
                listed[1, n_other] = i
                near_other[n_other] = math.exp(-e * scale)
                n_other += 1
        for s in range(n_one):
            i = listed[0, s]
            for t in range(n_other):
                j = listed[1, t]
                left = 1.0 - near_one[s] * near_other[t]
                factor = left if power[p] == 1.0 else left ** power[p]
                blocked[i, j] *= factor
                blocked[j, i] *= factor


@jit
def shift(modes, X, weight, mode_of, blocked, scale, truncation, out):
    """out, OUT: the mean of the rows X that each mode sees, by kernel, weight and blocked.

    The kernel exp(-d² scale) counts as zero below truncation. mode_of is the mode of each row.
    A mode that sees no row stays where it is.
    """
    n_columns = X.shape[1]
    for i in range(len(modes)):
        total = 0.0
        for k in range(n_columns):
            out[i, k] = 0.0
        for j in range(len(X)):
            d = 0.0
            for k in range(n_columns):
                d += (modes[i, k] - X[j, k]) ** 2
            kernel = math.exp(-d * scale)
            if kernel < truncation:
                continue
            seen = kernel * blocked[i, mode_of[j]] * weight[j]
            total += seen
            for k in range(n_columns):
                out[i, k] += seen * X[j, k]
        for k in range(n_columns):
            out[i, k] = out[i, k] / total if total > 0.0 else modes[i, k]
