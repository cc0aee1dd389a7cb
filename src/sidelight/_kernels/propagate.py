"""Spread values from a few rows along the edges of a graph; products of thin sparse matrices."""

from sidelight._kernels._jit import jit


@jit
def spread(
    indptr, indices, data, source_span, source_row, source_value, first, last, alpha, tolerance,
    span, row, value, held, left, waiting, queue, seen,
):  # fmt: skip
    """Columns first … last - 1 of (I - alpha S)^-1 P, without entries of little weight.

    S (indptr, indices, data) is symmetric, zero or more, and alpha times its largest eigenvalue is
    below 1; P has the columns source_row and source_value[source_span[c]:source_span[c + 1]], above
    zero. The remainder of a row is passed on to its neighbours until no row has more than tolerance
    times the largest source of the column. The column is then too small by (I - alpha S)^-1 times
    the remainders. span, row, value: OUT, the columns one after the other; column c is row[span[c -
    first]:...]. held, left (zeros), waiting (False), queue, seen: scratch of one entry for each
    row. Returns the first column for which there was no room: each needs up to n entries.
    """
    n = len(held)
    span[0] = 0
    filled = 0
    for c in range(first, last):
        if filled + n > len(row):
            return c
        head = tail = n_seen = n_waiting = 0
        largest = 0.0
        for t in range(source_span[c], source_span[c + 1]):
            u = source_row[t]
            left[u] = source_value[t]
            largest = max(largest, source_value[t])
            seen[n_seen] = u
            n_seen += 1
            queue[tail] = u
            tail = (tail + 1) % n
            n_waiting += 1
            waiting[u] = True
        limit = tolerance * largest
        while n_waiting > 0:
            u = queue[head]
            head = (head + 1) % n
            n_waiting -= 1
            waiting[u] = False
            moved = left[u]
            left[u] = 0.0
            held[u] += moved
            moved *= alpha
            for t in range(indptr[u], indptr[u + 1]):
                v = indices[t]
                more = moved * data[t]
                if more == 0.0:  # an underflow would list the row again and again
                    continue
                if left[v] == 0.0 and held[v] == 0.0:
                    seen[n_seen] = v
                    n_seen += 1
                left[v] += more
                if left[v] > limit and not waiting[v]:
                    waiting[v] = True
                    queue[tail] = v
                    tail = (tail + 1) % n
                    n_waiting += 1
        for t in range(n_seen):
            u = seen[t]
            if held[u] > 0.0:
                row[filled] = u
                value[filled] = held[u]
                filled += 1
            held[u] = 0.0
            left[u] = 0.0
        span[c - first + 1] = filled
    return last


@jit
def row_products(left_span, left_column, left, right_span, right_column, right, i, j, out):
    """out[t], OUT: the product of row i[t] of one CSR matrix and row j[t] of another.

    Columns ascend in every row.
    """
    for t in range(len(i)):
        a, a_end = left_span[i[t]], left_span[i[t] + 1]
        b, b_end = right_span[j[t]], right_span[j[t] + 1]
        total = 0.0
        while a < a_end and b < b_end:
            if left_column[a] < right_column[b]:
                a += 1
            elif left_column[a] > right_column[b]:
                b += 1
            else:
                total += left[a] * right[b]
                a += 1
                b += 1
        out[t] = total


@jit
def row_dots(X, i, j, out):
    """out[t], OUT: the product of rows i[t] and j[t] of a thin array."""
    n_columns = X.shape[1]
    for t in range(len(i)):
        total = 0.0
        for k in range(n_columns):
            total += X[i[t], k] * X[j[t], k]
        out[t] = total
