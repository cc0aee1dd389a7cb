"""Neighbour lists: exact distances of listed pairs, ties, equal rows, and the symmetric graph.

Squared Euclidean distances are sums of squared differences in the order of the columns, so that the
distance of (i, j) and of (j, i) are the same bits; the same holds for dot products.
"""

import numpy as np

from sidelight._kernels._jit import bare, inlined, jit


@jit
def hash_rows(X, key):
    """Give equal rows equal keys. X: rows as unsigned integers; key: OUT."""
    for i in range(X.shape[0]):
        h = np.uint64(1469598103934665603)
        for c in range(X.shape[1]):
            h = (h ^ np.uint64(X[i, c])) * np.uint64(1099511628211)
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


# Inverted lists


@jit
def columns_of_lists(X, members, first, columns):
    """The rows of each list, column after column: list b from d * first[b] on. columns: OUT."""
    d = X.shape[1]
    for b in range(len(first) - 1):
        size = first[b + 1] - first[b]
        for m in range(size):
            for c in range(d):
                columns[d * first[b] + c * size + m] = X[members[first[b] + m], c]


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
def choose_lists(x, centres, guess, distance, some, picked, probes):
    """The lists whose centres are nearest to a row, the very nearest first. probes: OUT.

    Returns the distance of the last one. A guess of it (from a row nearby) saves time: only lists
    up to 1.3 times as far are looked at, and more if these are too few. distance, some, picked:
    scratch, for each list.
    """
    distances_to_list(x, centres, distance)
    n_probes, n_some = len(probes), 0
    if not guess > 0.0:
        guess = np.float32(np.inf)
    while n_some < n_probes:
        guess *= np.float32(1.3)
        n_some = 0
        for b in range(len(distance)):
            if distance[b] <= guess:
                some[n_some], picked[n_some] = b, distance[b]
                n_some += 1
    limit = smallest(picked, n_some, n_probes - 1)
    n_chosen = 0
    for exact in (False, True):  # those at the limit fill what is left
        for t in range(n_some):
            b = some[t]
            if (distance[b] == limit if exact else distance[b] < limit) and n_chosen < n_probes:
                probes[n_chosen] = b
                n_chosen += 1
                if distance[b] < distance[probes[0]]:
                    probes[n_chosen - 1], probes[0] = probes[0], b
    return limit


@inlined
def scan_list(x, columns, place, nearest, distance, buffer):
    """Compare a row with a list, and keep the nearest. nearest, distance: IN/OUT, sorted."""
    k = len(nearest)
    distances_to_list(x, columns, buffer)
    worst = distance[k - 1]
    for start in range(0, len(buffer), 32):
        some = buffer[start : start + 32]
        n_near = 0
        for m in range(len(some)):  # mostly none: counting them takes a few instructions
            n_near += some[m] < worst
        if n_near == 0:
            continue
        for m in range(len(some)):
            if some[m] < worst:
                p = k - 1
                while p > 0 and distance[p - 1] > some[m]:
                    distance[p], nearest[p] = distance[p - 1], nearest[p - 1]
                    p -= 1
                distance[p], nearest[p] = some[m], place + start + m
                worst = distance[k - 1]


@bare
def scan_lists(
    X, columns, first, centres, nearest, distance, probes, buffer, some, picked, count, turn
):
    """For each row the nearest rows in some lists, as places in the order of the lists.

    The lists are the ``probes.shape[1]`` with the nearest centres. All rows that look into a list
    do so one after the other, while it is in the cache; each into its own first, so that few rows
    come near enough later on. nearest (-1 where missing), distance: OUT. probes, buffer, some,
    picked, count (zeros), turn: scratch, for the lists of each row, for the longest list or all
    centres, for each list, again, for each list and one more, and for each probe.
    """
    (n, n_probes), d, n_lists = probes.shape, X.shape[1], len(first) - 1
    nearest[:] = -1
    distance[:] = np.inf
    guess = np.float32(0.0)
    for i in range(n):
        guess = choose_lists(X[i], centres, guess, buffer[:n_lists], some, picked, probes[i])
        b = probes[i, 0]
        start, end = first[b], first[b + 1]
        scan_list(X[i], columns[d * start : d * end], start, nearest[i], distance[i],
                  buffer[: end - start])  # fmt: skip
        for p in range(1, n_probes):
            count[probes[i, p] + 1] += 1
    for b in range(1, len(count)):
        count[b] += count[b - 1]
    for i in range(n):
        for p in range(1, n_probes):
            turn[count[probes[i, p]]] = i * n_probes + p
            count[probes[i, p]] += 1
    for t in range(n * (n_probes - 1)):
        i = turn[t] // n_probes
        b = probes[i, turn[t] - i * n_probes]
        start, end = first[b], first[b + 1]
        scan_list(X[i], columns[d * start : d * end], start, nearest[i], distance[i],
                  buffer[: end - start])  # fmt: skip


@jit
def spread_to_equal_rows(
    indptr, indices, distances, group, member_indptr, members, k, out_indices, out_distances
):
    """From neighbours of distinct rows to neighbours of all rows: the equal ones come first.

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
