"""Many small cells of nearby rows, by halving: a tree of planes, built on a sample, for all rows.

A node divides its rows by the plane between two means. It is found as in bisecting k-means: from
the direction of the largest variance, by a few steps of Lloyd's with two centres. A row then falls
from the root to its cell with one product per level: 16 for 50,000 cells, where k-means would have
to compare it with all of them.
"""

import numpy as np

from sidelight._kernels._jit import jit

_POWER = 4  # steps towards the direction of the largest variance
_LLOYD = 5  # steps of 2-means


@jit
def grow(X, number, n_cells, normal, offset, child, cell, waiting, room):
    """Halve rows until there are n_cells cells. X, number: IN/OUT, in the order of the cells.

    A node has the plane ``normal @ x <= offset``: OUT. child (n_cells, 2) is a node, or −1 − cell:
    OUT, as is ``cell`` of each row, in the new order. Each node gets cells in proportion to its
    rows, so that cells hold about equally many rows; equal rows are never divided. waiting (n_cells
    + 1, 5) and room (4, n_features) are scratch. Returns the number of nodes and of cells.
    """
    n_nodes, n_found, top = 0, 0, 1
    waiting[0] = (0, X.shape[0], n_cells, -1, 0)
    while top > 0:
        top -= 1
        start, stop, share, parent, which = waiting[top]
        middle = start
        if share > 1 and stop - start > 1:
            middle = halve(
                X, number, start, stop, normal[n_nodes], offset[n_nodes : n_nodes + 1], room
            )
        if middle in (start, stop):
            for t in range(start, stop):
                cell[t] = n_found
            if parent >= 0:
                child[parent, which] = -1 - n_found
            n_found += 1
            continue
        if parent >= 0:
            child[parent, which] = n_nodes
        n_left, n_right = middle - start, stop - middle
        left = int(np.rint(share * n_left / (stop - start)))
        left = min(max(left, 1), share - 1, n_left)
        waiting[top] = (middle, stop, min(share - left, n_right), n_nodes, 1)
        waiting[top + 1] = (start, middle, left, n_nodes, 0)
        top += 2
        n_nodes += 1
    return n_nodes, n_found


@jit
def halve(X, number, start, stop, normal, offset, room):
    """Divide rows start:stop; returns where the second half begins. normal, offset: OUT."""
    n_features, n = X.shape[1], stop - start
    mean, other = room[0], room[1]
    mean[:] = 0.0
    for t in range(start, stop):
        for j in range(n_features):
            mean[j] += X[t, j]
    for j in range(n_features):
        mean[j] /= n
    if not leading_direction(X, start, stop, mean, normal, other):
        return start
    offset[0] = 0.0
    for j in range(n_features):
        offset[0] += normal[j] * mean[j]
    for _ in range(_LLOYD):
        n_left = 0
        left, right = room[2], room[3]
        left[:] = 0.0
        right[:] = 0.0
        for t in range(start, stop):
            if product(X, t, normal) <= offset[0]:
                n_left += 1
                for j in range(n_features):
                    left[j] += X[t, j]
            else:
                for j in range(n_features):
                    right[j] += X[t, j]
        if n_left == 0 or n_left == n:
            break
        offset[0] = 0.0
        for j in range(n_features):
            low, high = left[j] / n_left, right[j] / (n - n_left)
            normal[j] = high - low
            offset[0] += (high - low) * (high + low) / 2.0
    return parted(X, number, start, stop, normal, offset[0])


@jit
def leading_direction(X, start, stop, mean, direction, other):
    """About the direction of the largest variance: OUT. Whether there is one."""
    n_features = X.shape[1]
    farthest, largest = start, 0.0
    for t in range(start, stop):
        length = 0.0
        for j in range(n_features):
            length += (X[t, j] - mean[j]) ** 2
        if length > largest:
            farthest, largest = t, length
    if largest == 0.0:
        return False
    for j in range(n_features):
        direction[j] = (X[farthest, j] - mean[j]) / np.sqrt(largest)
    for _ in range(_POWER):
        other[:] = 0.0
        for t in range(start, stop):
            along = 0.0
            for j in range(n_features):
                along += (X[t, j] - mean[j]) * direction[j]
            for j in range(n_features):
                other[j] += along * (X[t, j] - mean[j])
        length = 0.0
        for j in range(n_features):
            length += other[j] ** 2
        if length == 0.0:
            break
        for j in range(n_features):
            direction[j] = other[j] / np.sqrt(length)
    return True


@jit
def parted(X, number, start, stop, normal, offset):
    """Put the rows below a plane first; returns how far they go. X, number: IN/OUT."""
    low, high = start, stop - 1
    while low <= high:
        if product(X, low, normal) <= offset:
            low += 1
            continue
        for j in range(X.shape[1]):
            X[low, j], X[high, j] = X[high, j], X[low, j]
        number[low], number[high] = number[high], number[low]
        high -= 1
    return low


@jit
def product(X, i, normal):
    """The product of a row and a vector, always in the same order."""
    along = 0.0
    for j in range(X.shape[1]):
        along += X[i, j] * normal[j]
    return along


@jit
def fall(X, normal, offset, child, cell):
    """The cell of each row: OUT."""
    for i in range(X.shape[0]):
        node = 0 if child.shape[0] else -1
        while node >= 0:
            node = child[node, 0 if product(X, i, normal[node]) <= offset[node] else 1]
        cell[i] = -1 - node
