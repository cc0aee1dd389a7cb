"""Rows of counts and of categories: sums of products over nonzero entries.

A row is a list of (column, value). Sparse rows come as they are; dense rows have an empty list of
indices, and their zeros are skipped. `place` is the position of a column among those kept, -1 for
others. Densities of a block are stored component by component, (T, rows), and tables column by
column, (columns, T), so that the innermost loop runs along memory.
"""

import math

import numpy as np

from sidelight._kernels._jit import jit, part

# log v! for the counts that occur; larger ones are rare enough for the gamma function.
LOG_FACTORIALS = np.array([math.lgamma(v + 1.0) for v in range(256)])

FEW = 16  # up to this many categories, comparing with all of them is faster than halving


@part
def log_factorial(v, table):
    """The logarithm of v! for a whole number v."""
    return table[int(v)] if v < table.shape[0] else math.lgamma(v + 1.0)


@jit
def linear_density(data, indices, indptr, place, slope, constant, table, has_total, out, row):
    """constant_k + sum_j x_j slope_jk - sum_j log x_j!, plus log (sum_j x_j)! if has_total.

    out (T, n): OUT. row (T): scratch.
    """
    is_sparse = indices.shape[0] > 0
    n_components = constant.shape[0]
    for i in range(indptr.shape[0] - 1):
        for k in range(n_components):
            row[k] = constant[k]
        total = 0.0
        base = 0.0
        first = indptr[i]
        for e in range(first, indptr[i + 1]):
            v = np.float64(data[e])
            if v == 0.0:
                continue
            j = place[indices[e] if is_sparse else e - first]
            if j < 0:
                continue
            total += v
            if v != 1.0:
                base -= log_factorial(v, table)
            a = slope[j]
            for k in range(n_components):
                row[k] += v * a[k]
        if has_total:
            base += log_factorial(total, table)
        for k in range(n_components):
            out[k, i] = row[k] + base


@jit
def weighted_counts(data, indices, indptr, place, phi, sums, row, which):
    """Sums of phi x per kept column and component. sums (columns, T): OUT. row, which (T): scratch.

    If a row has shares in few components, only those are visited; otherwise all are, because the
    processor handles several neighbouring numbers at a time.
    """
    is_sparse = indices.shape[0] > 0
    n_components = phi.shape[0]
    for i in range(indptr.shape[0] - 1):
        n_parts = 0
        for k in range(n_components):
            if phi[k, i] != 0.0:
                which[n_parts] = k
                n_parts += 1
        is_few = 8 * n_parts <= n_components
        n_parts = n_parts if is_few else n_components
        for p in range(n_parts):
            row[p] = phi[which[p] if is_few else p, i]
        first = indptr[i]
        for e in range(first, indptr[i + 1]):
            v = np.float64(data[e])
            if v == 0.0:
                continue
            j = place[indices[e] if is_sparse else e - first]
            if j < 0:
                continue
            into = sums[j]
            if is_few:
                for p in range(n_parts):
                    into[which[p]] += v * row[p]
            else:
                for k in range(n_components):
                    into[k] += v * row[k]


@jit
def column_moments(data, indices, indptr, sums, squares):
    """Sums of x and x² per column. sums, squares (d): OUT."""
    is_sparse = indices.shape[0] > 0
    for i in range(indptr.shape[0] - 1):
        first = indptr[i]
        for e in range(first, indptr[i + 1]):
            v = np.float64(data[e])
            j = indices[e] if is_sparse else e - first
            sums[j] += v
            squares[j] += v * v


@jit
def encode(X, categories, starts, indices):
    """The position of every value among the categories of its column, -1 for unknown values.

    categories starts[j]:starts[j + 1] are those of column j, ascending. indices (n, d): OUT.
    """
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            v = X[i, j]
            low, high = starts[j], starts[j + 1]
            if high - low <= FEW:
                for c in range(low, high):
                    low += 1 if categories[c] < v else 0
                high = low
            while low < high:
                middle = (low + high) // 2
                if categories[middle] < v:
                    low = middle + 1
                else:
                    high = middle
            is_known = low < starts[j + 1] and categories[low] == v
            indices[i, j] = low if is_known else -1
