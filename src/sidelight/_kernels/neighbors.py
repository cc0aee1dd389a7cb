"""Neighbour lists: exact distances of listed pairs, ties, equal rows, and the symmetric graph.

Squared Euclidean distances are sums of squared differences in the order of the columns, so that the
distance of (i, j) and of (j, i) are the same bits; the same holds for dot products.
"""

import numpy as np

from sidelight._kernels._jit import jit


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
