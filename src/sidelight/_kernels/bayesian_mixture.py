"""Rows of a Bayesian mixture: densities, memberships, sums, the sweep over rows with neighbours.

The arrays of a block are stored component by component, (T, rows), so that the compiler works on
many rows at once and reads the memberships of a component in one go. Rows with neighbours are few
and are visited one after the other, so their memberships are stored row by row, (rows, T).
"""

import numpy as np

from sidelight._kernels._jit import bare, jit, part

TILE = 64  # rows at a time: with 32 features they fill half of a first-level cache
FLOOR = -36.8  # log of 1e-16: a smaller share does not change the sum 1 of its row

# In a batch, whose sums are uncertain in their third digit, less precision suffices.
BATCH_FLOOR = -20.0  # log of 2e-9
LEAST = 1.0 / 32.0  # smaller shares are rounded at random: `drawn_memberships`
# Steps of the additive sequence that fills the unit square most evenly, by rows and by components.
STEP_ROW, STEP_COMPONENT = 0.7548776662466927, 0.5698402909980532


@part
def fill_tile(X, shift, start, n_here, tile):
    """Rows start:start + n_here less shift, feature by feature. tile (d, TILE): OUT."""
    for r in range(n_here):
        row = X[start + r]
        for j in range(row.shape[0]):
            tile[j, r] = row[j] - shift[j]


@jit
def log_density_full(X, shift, whiten, offset, constant, out, tile):
    """constant_k - |whiten_k (x - shift) - offset_k|² / 2, whiten triangular. out (T, n): OUT.

    Four features at a time keep the arithmetic busy between loads; whiten is zero above its
    diagonal and padded to a multiple of four columns, as are the rows of the tile.
    """
    n, d = X.shape
    distance = np.empty(TILE)
    y = np.empty(TILE)
    for start in range(0, n, TILE):
        n_here = min(TILE, n - start)
        fill_tile(X, shift, start, n_here, tile)
        for k in range(whiten.shape[0]):
            for r in range(TILE):
                distance[r] = 0.0
            for i in range(d):
                row = whiten[k, i]
                b = offset[k, i]
                for r in range(TILE):
                    y[r] = -b
                for j in range(0, i + 1, 4):
                    w0, w1, w2, w3 = row[j], row[j + 1], row[j + 2], row[j + 3]
                    x0, x1, x2, x3 = tile[j], tile[j + 1], tile[j + 2], tile[j + 3]
                    for r in range(TILE):
                        y[r] += (w0 * x0[r] + w1 * x1[r]) + (w2 * x2[r] + w3 * x3[r])
                for r in range(TILE):
                    distance[r] += y[r] * y[r]
            c = constant[k]
            for r in range(n_here):
                out[k, start + r] = c - 0.5 * distance[r]


@jit
def log_density_diag(X, shift, centers, precision, constant, out, tile):
    """constant_k - sum_j precision_kj (x_j - shift_j - centers_kj)² / 2. out (T, n): OUT."""
    n, d = X.shape
    distance = np.empty(TILE)
    for start in range(0, n, TILE):
        n_here = min(TILE, n - start)
        fill_tile(X, shift, start, n_here, tile)
        for k in range(centers.shape[0]):
            for r in range(TILE):
                distance[r] = 0.0
            for j in range(d):
                m = centers[k, j]
                p = precision[k, j]
                x = tile[j]
                for r in range(TILE):
                    distance[r] += p * (x[r] - m) * (x[r] - m)
            c = constant[k]
            for r in range(n_here):
                out[k, start + r] = c - 0.5 * distance[r]


@part
def add_evidence(best, held, start, n_here, bound, next_held, total):
    """The bound with best + log total of a tile's rows that are not held, and the next held one.

    total: IN/OUT, one over it, 0 for rows that are held.
    """
    for r in range(n_here):
        bound += best[r] + np.log(total[r])
        total[r] = 1.0 / total[r]
    while next_held < held.shape[0] and held[next_held] < start + n_here:
        r = held[next_held] - start
        bound -= best[r] - np.log(total[r])
        total[r] = 0.0
        next_held += 1
    return bound, next_held


@jit
def memberships(scores, held, phi, labels):
    """Softmax over the components; returns the sum of log sum exp over the rows.

    phi (T, n), may be scores itself; labels (n): OUT, ties to the lowest. Rows that are held
    (positions, ascending) get phi 0 and are not in the sum.
    """
    n_components, n = scores.shape
    best = np.empty(TILE)
    total = np.empty(TILE)
    bound = 0.0
    next_held = np.int64(0)
    for start in range(0, n, TILE):
        n_here = min(TILE, n - start)
        for r in range(n_here):
            best[r] = scores[0, start + r]
            labels[start + r] = 0
            total[r] = 0.0
        for k in range(1, n_components):
            row = scores[k, start : start + n_here]
            for r in range(n_here):
                if row[r] > best[r]:
                    best[r] = row[r]
                    labels[start + r] = k
        for k in range(n_components):
            row = scores[k, start : start + n_here]
            out = phi[k, start : start + n_here]
            for r in range(n_here):
                gap = row[r] - best[r]
                share = np.exp(gap) if gap > FLOOR else 0.0
                out[r] = share
                total[r] += share
        bound, next_held = add_evidence(best, held, start, n_here, bound, next_held, total)
        for k in range(n_components):
            out = phi[k, start : start + n_here]
            for r in range(n_here):
                out[r] *= total[r]
    return bound


@jit
def exponential(x):
    """e^x for BATCH_FLOOR <= x <= 0, to 2e-7 of it at that end and to 3e-9 above -12.

    (e^(x/64))^64 with seven terms of the series: plain arithmetic on many rows at once, where the
    library's function takes them one by one.
    """
    y = x * 0.015625
    e = 1.0 + y * (1.0 / 7.0)
    e = 1.0 + y * (1.0 / 6.0) * e
    e = 1.0 + y * (1.0 / 5.0) * e
    e = 1.0 + y * (1.0 / 4.0) * e
    e = 1.0 + y * (1.0 / 3.0) * e
    e = 1.0 + y * (1.0 / 2.0) * e
    e = 1.0 + y * e
    e *= e
    e *= e
    e *= e
    e *= e
    e *= e
    return e * e


@jit
def drawn_memberships(scores, held, first):
    """`memberships` of a batch in which most small shares are 0, so that sums over its rows are
    short.

    A share below LEAST becomes LEAST with probability share / LEAST, else 0, so that the
    expectation of every sum over rows does not change. The choice is made by an additive sequence
    that begins at ``first``, uniform in [0, 1). Returns the sum of log sum exp over the rows that
    are not held. scores (T, n), memberships in their place: IN/OUT. With two arrays the compiler
    would have to expect that they overlap, and take the rows one by one.
    """
    n_components, n = scores.shape
    best = np.empty(TILE)
    total = np.empty(TILE)
    chance = np.empty(TILE)
    bound = 0.0
    next_held = np.int64(0)
    for start in range(0, n, TILE):
        n_here = min(TILE, n - start)
        for r in range(n_here):
            best[r] = scores[0, start + r]
            total[r] = 0.0
            chance[r] = first
            first += STEP_ROW
            first = first - 1.0 if first >= 1.0 else first
        for k in range(1, n_components):
            row = scores[k, start : start + n_here]
            for r in range(n_here):
                best[r] = row[r] if row[r] > best[r] else best[r]
        for k in range(n_components):
            row = scores[k, start : start + n_here]
            for r in range(n_here):
                gap = row[r] - best[r]
                share = exponential(gap if gap > BATCH_FLOOR else BATCH_FLOOR)
                share = share if gap > BATCH_FLOOR else 0.0
                row[r] = share
                total[r] += share
        bound, next_held = add_evidence(best, held, start, n_here, bound, next_held, total)
        shift = 0.0
        for k in range(n_components):
            row = scores[k, start : start + n_here]
            for r in range(n_here):
                share = row[r] * total[r]
                u = chance[r] + shift
                u = u - 1.0 if u >= 1.0 else u
                whole = share if share > LEAST else LEAST
                row[r] = whole if share > LEAST * u else 0.0
            shift += STEP_COMPONENT
            shift = shift - 1.0 if shift >= 1.0 else shift
    return bound


@jit
def gather(X, shift, phi, rows, sums):
    """The rows with a share in one component, each times the root of its share.

    rows (n, d): OUT, the first of them; sums (d): OUT, sum of phi (x - shift). Returns how many.
    """
    d = X.shape[1]
    count = 0
    for i in range(X.shape[0]):
        share = phi[i]
        if share > 0.0:
            root = np.sqrt(share)
            x = X[i]
            out = rows[count]
            for j in range(d):
                v = (x[j] - shift[j]) * root
                out[j] = v
                sums[j] += root * v
            count += 1
    return count


@jit
def moments_diag(X, shift, phi, sums, squares):
    """Sums of phi (x - shift) and phi (x - shift)² per component. sums, squares (T, d): OUT."""
    d = X.shape[1]
    which = np.empty(TILE, dtype=np.int64)
    for start in range(0, X.shape[0], TILE):
        stop = min(start + TILE, X.shape[0])
        for k in range(phi.shape[0]):
            first = sums[k]
            second = squares[k]
            # Collected before they are used: an unpredictable branch costs as much as a row.
            count = 0
            for i in range(start, stop):
                which[count] = i
                count += 1 if phi[k, i] > 0.0 else 0
            for p in range(count):
                i = which[p]
                share = phi[k, i]
                x = X[i]
                for j in range(d):
                    v = x[j] - shift[j]
                    first[j] += share * v
                    second[j] += share * v * v


@jit
def invert_lower(factors, out):
    """The inverses of lower triangular matrices (T, d, d). out, zero at the start: OUT."""
    n, d, _ = factors.shape
    for k in range(n):
        C, W = factors[k], out[k]
        for i in range(d):
            scale = 1.0 / C[i, i]
            W[i, i] = scale
            for j in range(i):
                c = C[i, j] * scale
                for h in range(j + 1):
                    W[i, h] -= c * W[j, h]


@jit
def common(first, second, places):
    """Where equal numbers stand in two ascending arrays. places (2, at least that many): OUT.

    Returns how many there are.
    """
    i = j = count = 0
    while i < first.shape[0] and j < second.shape[0]:
        a, b = first[i], second[j]
        if a == b:
            places[0, count] = i
            places[1, count] = j
            count += 1
        i += 1 if a <= b else 0
        j += 1 if b <= a else 0
    return count


# Rows with neighbours. `said` has the statements about row i (see models/_bayesian/statements.py):
#   positive labels  p_span[i]:p_span[i + 1], classes p_class, strengths p_must and p_cannot
#   negative labels  n_span, n_class, n_cannot
#   pairs            indptr, partner, pair_must, pair_cannot
# Two rows of one class attract by p_must p_must, of two classes repel by p_cannot p_cannot, and
# "not c" repels the rows of c by n_cannot p_cannot. `sums` holds, per class, the sums of the
# memberships times these strengths: (attract, repel, deny), and over each vocabulary repel_all.


@part
def add_row(i, factor, said, vocabulary, phi, sums):
    """Add factor times the contribution of row i to the sums: OUT."""
    p_span, p_class, p_must, p_cannot, n_span, n_class, n_cannot = said[:7]
    attract, repel, deny, repel_all = sums
    n_components = phi.shape[1]
    for e in range(p_span[i], p_span[i + 1]):
        a, r = factor * p_must[e], factor * p_cannot[e]
        c = p_class[e]
        v = vocabulary[c]
        # One table per loop, so that the compiler vectorises it.
        for k in range(n_components):
            attract[c, k] += a * phi[i, k]
        if r != 0.0:
            for k in range(n_components):
                repel[c, k] += r * phi[i, k]
            for k in range(n_components):
                repel_all[v, k] += r * phi[i, k]
    for e in range(n_span[i], n_span[i + 1]):
        r = factor * n_cannot[e]
        c = n_class[e]
        for k in range(n_components):
            deny[c, k] += r * phi[i, k]


@part
def field(i, stop, said, vocabulary, phi, sums, potential, is_potts, near, cost):
    """The cost of each component for row i, given rows in the sums and partners before stop.

    cost (T): OUT. Row i itself is in no sum. potential (T, T) is V, the cost of a broken must; a
    broken cannot costs 1 in one component.
    """
    (
        p_span, p_class, p_must, p_cannot, n_span, n_class, n_cannot,
        indptr, partner, pair_must, pair_cannot,
    ) = said  # fmt: skip
    attract, repel, deny, repel_all = sums
    n_components = cost.shape[0]
    for k in range(n_components):
        near[k] = 0.0
        cost[k] = 0.0
    for e in range(p_span[i], p_span[i + 1]):
        a, r, c = p_must[e], p_cannot[e], p_class[e]
        v = vocabulary[c]
        for k in range(n_components):
            near[k] += a * attract[c, k]
        if r != 0.0:
            for k in range(n_components):
                cost[k] += r * (repel_all[v, k] - repel[c, k] + deny[c, k])
    for e in range(n_span[i], n_span[i + 1]):
        r, c = n_cannot[e], n_class[e]
        for k in range(n_components):
            cost[k] += r * repel[c, k]
    for e in range(indptr[i], indptr[i + 1]):
        if partner[e] >= stop:
            break  # partners are in ascending order
        j, a, r = partner[e], pair_must[e], pair_cannot[e]
        for k in range(n_components):
            near[k] += a * phi[j, k]
            cost[k] += r * phi[j, k]
    if is_potts:
        total = 0.0
        for k in range(n_components):
            total += near[k]
        for k in range(n_components):
            cost[k] += total - near[k]
    else:
        for k in range(n_components):
            for h in range(n_components):
                cost[k] += potential[k, h] * near[h]


@bare
def sweep(scores, order, said, vocabulary, potential, is_potts, phi, sums, near, cost):
    """Give some rows, one after the other, their best memberships given all others.

    scores are those of the rows in order. phi, sums (of all rows): IN/OUT.
    """
    n_components = scores.shape[1]
    n = phi.shape[0]
    for p in range(order.shape[0]):
        i = order[p]
        add_row(i, -1.0, said, vocabulary, phi, sums)
        field(i, n, said, vocabulary, phi, sums, potential, is_potts, near, cost)
        best = -np.inf
        for k in range(n_components):
            cost[k] = scores[p, k] - cost[k]
            best = max(best, cost[k])
        total = 0.0
        for k in range(n_components):
            gap = cost[k] - best
            share = np.exp(gap) if gap > FLOOR else 0.0
            phi[i, k] = share
            total += share
        for k in range(n_components):
            phi[i, k] /= total
        add_row(i, 1.0, said, vocabulary, phi, sums)


@bare
def statement_cost(said, vocabulary, potential, is_potts, phi, sums, near, cost):
    """The expected cost of the statements; sums begin at zero: OUT.

    Each row is charged for its pairs with the rows before it.
    """
    total = 0.0
    for i in range(phi.shape[0]):
        field(i, i, said, vocabulary, phi, sums, potential, is_potts, near, cost)
        add_row(i, 1.0, said, vocabulary, phi, sums)
        for k in range(phi.shape[1]):
            total += phi[i, k] * cost[k]
    return total


@jit
def expected_scores(scores, phi):
    """The sum over all rows of phi (score - log phi): expected scores plus entropy."""
    total = 0.0
    for i in range(phi.shape[0]):
        for k in range(phi.shape[1]):
            p = phi[i, k]
            if p > 0.0:
                total += p * (scores[i, k] - np.log(p))
    return total
