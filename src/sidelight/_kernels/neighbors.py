"""Neighbour lists: exact distances of listed pairs, ties, equal rows, and the symmetric graph.

Squared Euclidean distances are sums of squared differences in the order of the columns, so that the
distance of (i, j) and of (j, i) are the same bits; the same holds for dot products.
"""

import numpy as np

from sidelight._kernels._jit import bare, inlined, jit


@jit
def hash_rows(X, bits, key):
    """Give equal rows equal keys, 0 and -0 being equal. bits: X as unsigned integers; key: OUT."""
    for i in range(X.shape[0]):
        h = np.uint64(1469598103934665603)
        for c in range(X.shape[1]):
            value = np.uint64(bits[i, c]) if X[i, c] != 0.0 else np.uint64(0)
            h = (h ^ value) * np.uint64(1099511628211)
            h ^= h >> np.uint64(29)
        key[i] = h


@jit
def pair_distances(A, B, i, j, is_cosine, out):
    """Distances of the rows i of A and j of B, squared unless cosine (1 - dot). out: OUT."""
    for p in range(len(i)):
        a, b = i[p], j[p]
        total = 0.0
        if is_cosine:
            for c in range(A.shape[1]):
                total += np.float64(A[a, c]) * np.float64(B[b, c])
            out[p] = max(0.0, 1.0 - total)
        else:
            for c in range(A.shape[1]):
                difference = np.float64(A[a, c]) - np.float64(B[b, c])
                total += difference * difference
            out[p] = total


@jit
def pair_distances_csr(
    a_data, a_indices, a_indptr, b_data, b_indices, b_indptr, i, j, is_cosine, out
):
    """The same for sparse rows with sorted columns. out: OUT."""
    for p in range(len(i)):
        s, s_end = a_indptr[i[p]], a_indptr[i[p] + 1]
        t, t_end = b_indptr[j[p]], b_indptr[j[p] + 1]
        total = 0.0
        while s < s_end or t < t_end:
            a = b = 0.0
            column = a_indices[s] if s < s_end else np.int64(9223372036854775807)
            other = b_indices[t] if t < t_end else np.int64(9223372036854775807)
            if column <= other:
                a = np.float64(a_data[s])
                s += 1
            if other <= column:
                b = np.float64(b_data[t])
                t += 1
            total += a * b if is_cosine else (a - b) * (a - b)
        out[p] = max(0.0, 1.0 - total) if is_cosine else total


@jit
def nearest_by_products(products, squares, nearest, worst, distance):
    """The nearest rows of each query by their products, the last one's |x|^2 - 2 xq in worst.

    nearest, worst: OUT. distance: scratch, one for each of the nearest.
    """
    k = nearest.shape[1]
    for i in range(products.shape[0]):
        distance[:] = np.inf
        limit = distance[k - 1]
        for j in range(len(squares)):
            d = squares[j] - np.float32(2.0) * products[i, j]
            if d < limit:
                p = k - 1
                while p > 0 and distance[p - 1] > d:
                    distance[p], nearest[i, p] = distance[p - 1], nearest[i, p - 1]
                    p -= 1
                distance[p], nearest[i, p] = d, j
                limit = distance[k - 1]
        worst[i] = limit


@jit
def sort_candidates(candidates, distances):
    """Sort each row by distance, then by number. Both: IN/OUT, of the same shape."""
    for i in range(candidates.shape[0]):
        for c in range(1, candidates.shape[1]):
            j, d = candidates[i, c], distances[i, c]
            p = c
            while p > 0 and (
                distances[i, p - 1] > d or (distances[i, p - 1] == d and candidates[i, p - 1] > j)
            ):
                candidates[i, p], distances[i, p] = candidates[i, p - 1], distances[i, p - 1]
                p -= 1
            candidates[i, p], distances[i, p] = j, d


# Inverted lists: rows minus the centre of their list, so that products in single precision lose
# little. A list is padded to a multiple of 16 with places that are infinitely far away, so that
# loops over it need no remainder.


@jit
def columns_of_lists(X, members, first, centres, columns, squares):
    """The rows of each list, column after column, and their squared lengths: for `products_of_two`.

    List b is members[first[b]:first[b + 1]], -1 for padding. columns: OUT, list b from d * first[b]
    on; squares: OUT.
    """
    d = X.shape[1]
    for b in range(len(first) - 1):
        size = first[b + 1] - first[b]
        for m in range(size):
            i = members[first[b] + m]
            total = np.float32(0.0 if i >= 0 else np.inf)
            for c in range(d):
                value = X[i, c] - centres[b, c] if i >= 0 else np.float32(0.0)
                columns[d * first[b] + c * size + m] = value
                total += value * value
            squares[first[b] + m] = total


@inlined
def distances_to_list(x, columns, out):
    """Squared distances of a row and the rows of a list, given by its columns. out: OUT."""
    size = len(out)
    out[:] = 0.0
    for c in range(0, len(x), 4):  # a multiple of four: one pass over out for four columns
        # Views, because indices that might be negative keep the compiler from using vectors.
        e, f = columns[c * size : (c + 1) * size], columns[(c + 1) * size : (c + 2) * size]
        g, h = columns[(c + 2) * size : (c + 3) * size], columns[(c + 3) * size : (c + 4) * size]
        p, q, r, s = x[c], x[c + 1], x[c + 2], x[c + 3]
        for m in range(size):
            out[m] += ((e[m] - p) * (e[m] - p) + (f[m] - q) * (f[m] - q)) + (
                (g[m] - r) * (g[m] - r) + (h[m] - s) * (h[m] - s)
            )


@inlined
def smallest(values, n, k):
    """The k-th smallest of the first n values (k = 0: the smallest). values: used up."""
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@bare
def choose_lists(distance, share, some, picked, probes):
    """The lists with the smallest distances, the very nearest first. probes: OUT.

    Returns the distance of the last one, as a share of the mean distance of the first lists, which
    are those nearest to the home. A guess of it (from a nearby row) saves time: only lists up to
    1.1 times as far are examined, and more if these are too few. some, picked: scratch, for each
    list.
    """
    n_probes, n_some = len(probes), 0
    mean, n_first = np.float32(0.0), 0
    for b in range(0, min(2 * n_probes, len(distance)), 4):  # a few of them are enough
        mean += distance[b]
        n_first += 1
    mean /= np.float32(n_first)
    guess = share * mean
    while n_some < n_probes:
        guess = guess * np.float32(1.1) if guess > 0.0 else np.float32(np.inf)
        n_some = 0
        for b in range(len(distance)):
            some[n_some], picked[n_some] = b, distance[b]
            n_some += distance[b] <= guess
    limit = smallest(picked, n_some, n_probes - 1)
    n_chosen = 0
    for exact in (False, True):  # lists at exactly the limit fill the remaining places
        for t in range(n_some):
            b = some[t]
            if (distance[b] == limit if exact else distance[b] < limit) and n_chosen < n_probes:
                probes[n_chosen] = b
                n_chosen += 1
                if distance[b] < distance[probes[0]]:
                    probes[n_chosen - 1], probes[0] = probes[0], b
    return limit / mean if mean > 0.0 else np.float32(0.0)


@inlined
def products_of_two(a, b, columns, squares, one, two):
    """|y|^2 - 2 xy for two rows x and all y of a list; a, b: -2 x. one, two: OUT."""
    size = len(squares)
    for m in range(size):
        one[m] = two[m] = squares[m]
    for c in range(0, len(a), 4):  # as in `distances_to_list`
        e, f = columns[c * size : (c + 1) * size], columns[(c + 1) * size : (c + 2) * size]
        g, h = columns[(c + 2) * size : (c + 3) * size], columns[(c + 3) * size : (c + 4) * size]
        p, q, r, s = a[c], a[c + 1], a[c + 2], a[c + 3]
        t, u, v, w = b[c], b[c + 1], b[c + 2], b[c + 3]
        for m in range(size):
            one[m] = (((one[m] + p * e[m]) + q * f[m]) + r * g[m]) + s * h[m]
            two[m] = (((two[m] + t * e[m]) + u * f[m]) + v * g[m]) + w * h[m]


@inlined
def less_centre(x, centre, out):
    """-2 (x - centre), and the squared length of x - centre. out: OUT."""
    total = np.float32(0.0)
    for c in range(len(x)):
        value = x[c] - centre[c]
        out[c] = np.float32(-2.0) * value
        total += value * value
    return total


@inlined
def shrink(distance, place, n, k, picked):
    """Keep the k nearest of the first n candidates, or all of fewer. distance, place: IN/OUT.

    Returns the new upper limit on the distance of a candidate. picked: scratch.
    """
    if n < k:
        return np.float32(np.inf)
    for m in range(n):
        picked[m] = distance[m]
    limit = smallest(picked, n, k - 1)
    n_ties = k
    for m in range(n):
        n_ties -= distance[m] < limit
    n_kept = 0
    for m in range(n):
        is_tie = distance[m] == limit
        if distance[m] < limit or (is_tie and n_ties > 0):
            distance[n_kept], place[n_kept] = distance[m], place[m]
            n_kept += 1
            n_ties -= is_tie
    return limit


@inlined
def keep_nearest(products, square, first, k, n, limit, distance, place, picked):
    """Add the rows of a list below the limit to a row's candidates; square: of the row itself.

    When there is no room for 16 more, only the k nearest stay. That is rare, and adding a candidate
    needs no branch. Returns the number of candidates and the limit. distance, place: IN/OUT.
    """
    any_near = False
    for m in range(len(products)):  # mostly none
        any_near |= products[m] + square < limit
    if not any_near:
        return n, limit
    for start in range(0, len(products), 16):
        some = products[start : start + 16]
        n_near = 0
        for m in range(len(some)):  # mostly none: counting them takes a few instructions
            n_near += some[m] + square < limit
        if n_near == 0:
            continue
        for m in range(len(some)):
            distance[n], place[n] = some[m] + square, first + start + m
            n += some[m] + square < limit
        if n > len(distance) - 16:
            limit = shrink(distance, place, n, k, picked)
            n = k
    return n, limit


@inlined
def sort_by_distance(distance, place, n, nearest):
    """The first n places, the nearest first, and -1 from there on. nearest: OUT; others used up."""
    nearest[:] = -1
    for m in range(n):
        p, far = m, distance[m]
        while p > 0 and distance[p - 1] > far:
            distance[p], nearest[p] = distance[p - 1], nearest[p - 1]
            p -= 1
        distance[p], nearest[p] = far, place[m]


@inlined
def scan_list(
    i, j, b, X, centres, columns, squares, first, k, n_found, limit, distance, place,
    shifted, products, picked,
):  # fmt: skip
    """Compare the rows i and j (or one row, twice) with list b: candidates are IN/OUT.

    Two at a time, so that the list is read once for both.
    """
    d, start, stop = X.shape[1], first[b], first[b + 1]
    size = stop - start
    square_i = less_centre(X[i], centres[b], shifted[0])
    square_j = less_centre(X[j], centres[b], shifted[1])
    products_of_two(
        shifted[0], shifted[1], columns[d * start : d * stop], squares[start:stop],
        products[0, :size], products[1, :size],
    )  # fmt: skip
    n_found[i], limit[i] = keep_nearest(
        products[0, :size], square_i, start, k, n_found[i], limit[i], distance[i], place[i], picked
    )
    if j != i:
        n_found[j], limit[j] = keep_nearest(
            products[1, :size], square_j, start, k, n_found[j], limit[j], distance[j], place[j],
            picked,
        )  # fmt: skip


@bare
def scan_lists(
    X, home, around, centres, columns, squares, first, nearest, probes, n_found, limit, distance,
    place, shifted, products, centre_columns, some, picked, count, turn,
):  # fmt: skip
    """For each row the nearest rows in some lists, as places in the order of the lists.

    The lists are the ``probes.shape[1]`` with the nearest centres, of those around the home of the
    row; rows of a home stand together. All rows that search a list do so one after the other, while
    it is in the cache. Each row searches its own list first, so that few candidates are near enough
    later on. nearest: OUT, the nearest first, -1 where missing. The others are scratch: probes for
    the lists of each row; n_found (zeros), limit (infinity), distance and place for its candidates,
    with room for 16 more than are wanted; shifted and products for two rows (and the longest list,
    or the lists around one); centre_columns, some and picked for those (or for candidates); count
    (zeros) for each list and one more; turn for each probe.
    """
    (n, n_probes), k, n_lists = probes.shape, nearest.shape[1], len(first) - 1
    reach, before, share = around.shape[1], np.int64(-1), np.float32(0.0)
    for i in range(n):
        if home[i] != before:
            before = home[i]
            for m in range(reach):
                for c in range(X.shape[1]):
                    centre_columns[c * reach + m] = centres[around[before, m], c]
        distances_to_list(X[i], centre_columns, products[0, :reach])
        share = choose_lists(products[0, :reach], share, some, picked, probes[i])
        for p in range(n_probes):
            probes[i, p] = around[before, probes[i, p]]
            count[probes[i, p] + 1] += p > 0
    for b in range(1, len(count)):
        count[b] += count[b - 1]
    for i in range(n):
        for p in range(1, n_probes):
            turn[count[probes[i, p]]] = i
            count[probes[i, p]] += 1
    i = 0
    while i < n:
        j = i + 1 if i + 1 < n and probes[i + 1, 0] == probes[i, 0] else i
        scan_list(i, j, probes[i, 0], X, centres, columns, squares, first, k, n_found, limit,
                  distance, place, shifted, products, picked)  # fmt: skip
        for r in range(i, j + 1):
            if n_found[r] > k:
                limit[r], n_found[r] = shrink(distance[r], place[r], n_found[r], k, picked), k
        i = j + 1
    t = 0
    for b in range(n_lists):
        while t < count[b]:  # where the rows that search this list end
            scan_list(turn[t], turn[min(t + 1, count[b] - 1)], b, X, centres, columns, squares,
                      first, k, n_found, limit, distance, place, shifted, products,
                      picked)  # fmt: skip
            t += 2
        t = count[b]
    for i in range(n):
        shrink(distance[i], place[i], n_found[i], k, picked)
        sort_by_distance(distance[i], place[i], min(n_found[i], k), nearest[i])


@jit
def spread_to_equal_rows(
    indptr, indices, distances, group, member_indptr, members, k, out_indices, out_distances
):
    """Expand neighbours of distinct rows to neighbours of all rows; equal rows come first.

    Distinct row g stands for members[member_indptr[g]:member_indptr[g + 1]], ascending, and has the
    neighbours indptr[g]:indptr[g + 1]. out_indices, out_distances: OUT, of shape (n, k), -1 where
    there are no more rows.
    """
    for i in range(len(group)):
        g = group[i]
        filled = 0
        for m in range(member_indptr[g], member_indptr[g + 1]):
            if filled < k and members[m] != i:
                out_indices[i, filled] = members[m]
                out_distances[i, filled] = 0.0
                filled += 1
        for p in range(indptr[g], indptr[g + 1]):
            if filled == k:
                break
            h = indices[p]
            for m in range(member_indptr[h], member_indptr[h + 1]):
                if filled < k:
                    out_indices[i, filled] = members[m]
                    out_distances[i, filled] = distances[p]
                    filled += 1
        for p in range(filled, k):
            out_indices[i, p] = -1


@jit
def transpose_rows(indptr, indices, data, start, stop, place, out_indices, out_data):
    """Rows start to stop as columns, in their order. place (IN/OUT): where each column goes on."""
    for i in range(start, stop):
        for s in range(indptr[i], indptr[i + 1]):
            p = place[indices[s]]
            out_indices[p], out_data[p] = i, data[s]
            place[indices[s]] = p + 1


@jit
def count_joined(indptr, indices, other_indptr, other_indices, both, count):
    """How many entries each row of the joined graph has. Rows are sorted. count: OUT."""
    for i in range(len(indptr) - 1):
        s, t, shared = indptr[i], other_indptr[i], 0
        while s < indptr[i + 1] and t < other_indptr[i + 1]:
            a, b = indices[s], other_indices[t]
            shared += a == b
            s += a <= b
            t += b <= a
        either = indptr[i + 1] - indptr[i] + other_indptr[i + 1] - other_indptr[i] - shared
        count[i] = shared if both else either


@jit
def join_rows(
    indptr, indices, data, other_indptr, other_indices, other_data, both,
    out_indptr, out_indices, out_data,
):  # fmt: skip
    """Entries in either graph (or in both). Rows are sorted. out_indices, out_data: OUT."""
    for i in range(len(indptr) - 1):
        s, t, p = indptr[i], other_indptr[i], out_indptr[i]
        s_end, t_end = indptr[i + 1], other_indptr[i + 1]
        while s < s_end or t < t_end:
            here = s < s_end and (t == t_end or indices[s] <= other_indices[t])
            there = t < t_end and (s == s_end or other_indices[t] <= indices[s])
            if (here and there) or not both:
                out_indices[p] = indices[s] if here else other_indices[t]
                out_data[p] = data[s] if here else other_data[t]
                p += 1
            s += here
            t += there
