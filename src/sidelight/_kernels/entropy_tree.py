"""Encoding trees: nodes from mergers, and which of them to keep in a tree of limited height.

A tree is an array of parents in which every node comes before its parent: leaves 0 … n-1, the root
last, with parent -1. ``volume`` and ``cut`` belong to the nodes; the cut of a leaf is that of the
data alone, the cut of any other node is that of both graphs (Eq. 3.11). A node costs
-cut (log2 volume - log2 of its parent's volume), and L is the sum of these, divided by the total.
No function recurses: a tree may be as deep as it has leaves.
"""

import numpy as np

from sidelight._kernels._jit import jit
from sidelight._kernels.merging import settle, sink


@jit
def build_tree(into, gone, first, parent, volume, node):
    """Nodes from number ``first`` on, one for each merger: gone[t] went into into[gone[t]].

    parent, volume: IN/OUT, those of the nodes before are set; node: IN/OUT, that of each module.
    """
    for t in range(len(gone)):
        x, new = gone[t], first + t
        y = into[x]
        parent[node[x]] = parent[node[y]] = new
        volume[new] = volume[node[x]] + volume[node[y]]
        node[y] = new


@jit
def live(node, up):
    """The first node at or above this one that is not gone; shortens the way for the next time."""
    top = node
    while up[top] != top:
        top = up[top]
    while up[node] != top:
        up[node], node = top, up[node]
    return top


@jit
def measure_height(x, limit, head, after, tall, n_tallest):
    """Height of node x, at most ``limit``, and how many inner children make it so tall.

    tall, n_tallest: OUT.
    """
    most, count = 0, 0
    child = head[x]
    while child >= 0:
        height = min(tall[child], limit - 1)
        if height > most:
            most, count = height, 0
        count += height == most
        child = after[child]
    tall[x], n_tallest[x] = most + 1, count


@jit
def is_deep(x, limit, root, parent, up, tall):
    """Whether a path through node x is longer than ``limit``."""
    steps = tall[x]
    while x != root and steps <= limit:
        x = live(parent[x], up)
        steps += 1
    return steps > limit


@jit
def compress_tree(
    parent, height, n_leaves, volume, cut, up, excess,
    head, tail, before, after, tall, n_tallest, sign, gain, name, heap, where,
):  # fmt: skip
    """Remove inner nodes on paths longer than ``height``, the one that costs least first.

    up: OUT, itself for nodes that stay, else a node above (`live` ends at the one that stays).
    excess: OUT, what the cuts of a node's children exceed its own, which its removal costs times
    log2 of its parent's volume over its own. Gains only fall where excess is positive, so a node is
    looked at again when it comes up; the few others are kept up to date. The lists head, tail,
    before, after hold the inner children of each node; the heap holds inner nodes but for the root,
    less n_leaves. All other arrays are scratch, one entry per node.
    """
    n, root = len(parent), len(parent) - 1
    up[:] = np.arange(n)
    excess[:] = -cut
    head[:] = tail[:] = before[:] = after[:] = -1
    for x in range(n - 1):
        above = parent[x]
        excess[above] += cut[x]
        if x >= n_leaves:
            measure_height(x, height, head, after, tall, n_tallest)
            before[x] = tail[above]
            if tail[above] >= 0:
                after[tail[above]] = x
            else:
                head[above] = x
            tail[above] = x
            gain[x] = excess[x] * (np.log2(volume[x]) - np.log2(volume[above]))
    measure_height(root, height, head, after, tall, n_tallest)
    sign[:] = 0
    for k in range(len(heap)):
        heap[k] = n_leaves + k
        where[n_leaves + k] = k
    for k in range(len(heap) // 2 - 1, -1, -1):
        sink(k, heap, where, sign, gain, name, name)
    while len(heap):
        x = heap[0]
        if sign[x] < 0:
            break
        above = live(parent[x], up)
        now = excess[x] * (np.log2(volume[x]) - np.log2(volume[above]))
        deep = is_deep(x, height, root, parent, up, tall)
        if deep and now < gain[x]:  # out of date
            gain[x] = now
            sink(0, heap, where, sign, gain, name, name)
            continue
        sign[x] = -3  # never again: paths only get shorter
        sink(0, heap, where, sign, gain, name, name)
        if deep:
            up[x] = above
            excess[above] += excess[x]
            hand_over(x, above, height, root, parent, volume, up, excess, head, tail, before, after,
                      tall, n_tallest, sign, gain, name, heap, where)  # fmt: skip


@jit
def hand_over(
    x, above, height, root, parent, volume, up, excess, head, tail, before, after, tall, n_tallest,
    sign, gain, name, heap, where,
):  # fmt: skip
    """Give the children of node x, which goes, to the node above, and correct gains and heights."""
    tallest = tall[above] - 1
    count = 0
    child = head[x]
    while child >= 0:
        count += tall[child] >= tallest
        if excess[child] < 0 and sign[child] == 0:
            gain[child] = excess[child] * (np.log2(volume[child]) - np.log2(volume[above]))
            settle(where[child], heap, where, sign, gain, name, name)
        child = after[child]
    if excess[x] < 0 and above != root and sign[above] == 0:
        higher = live(parent[above], up)
        gain[above] = excess[above] * (np.log2(volume[above]) - np.log2(volume[higher]))
        settle(where[above], heap, where, sign, gain, name, name)
    # In the list of the node above, the children take the place of x.
    first, last = head[x], tail[x]
    if first < 0:
        first, last = after[x], before[x]
    else:
        before[first], after[last] = before[x], after[x]
    if before[x] >= 0:
        after[before[x]] = first
    else:
        head[above] = first
    if after[x] >= 0:
        before[after[x]] = last
    else:
        tail[above] = last
    n_tallest[above] += count - (tall[x] >= tallest)
    # A node whose tallest child is gone is less tall, and so may be the nodes above it.
    while n_tallest[above] == 0 and tall[above] > 1:
        old = tall[above]
        measure_height(above, height, head, after, tall, n_tallest)
        if above == root or tall[above] == old:
            break
        new = tall[above]
        above = live(parent[above], up)
        if old >= tall[above] - 1 > new:
            n_tallest[above] -= 1


@jit
def sum_below(parent, n_leaves, indptr, near, weight, pull, cut, pulled, standing, up, when, size):
    """Cuts of all nodes from those of the leaves, and the sums of the pulls below them.

    cut: IN/OUT, that of the leaves is set; pulled: OUT. Leaves are united in the order of the
    nodes, the smaller set under the larger, so that a leaf has at most log2 n steps to the top of
    its set, however deep the tree is; ``when`` is the node that took a step, and the highest one on
    the way from leaf to leaf is where they meet. standing (of nodes), up, when, size (of leaves):
    scratch.
    """
    n = len(parent)
    cut[n_leaves:] = 0.0
    pulled[:] = 0.0
    standing[:] = -1
    for i in range(n_leaves):
        standing[i], up[i], when[i], size[i] = i, i, n, 1
    for x in range(n - 1):
        a, b = standing[parent[x]], standing[x]
        if a < 0:
            standing[parent[x]] = b
            continue
        if size[a] < size[b]:
            a, b = b, a
        up[b], when[b] = a, parent[x]
        size[a] += size[b]
        standing[parent[x]] = a
    for i in range(n_leaves):
        for e in range(indptr[i], indptr[i + 1]):
            if near[e] <= i:  # each pair once
                continue
            a, b, meet = i, np.int64(near[e]), 0
            while a != b:
                if when[a] < when[b]:
                    meet, a = when[a], up[a]
                else:
                    meet, b = when[b], up[b]
            cut[meet] -= 2.0 * weight[e]
            if len(pull):
                pulled[meet] += pull[e]
    for x in range(n - 1):
        cut[parent[x]] += cut[x]
        pulled[parent[x]] += pulled[x]
    for x in range(n_leaves, n):
        cut[x] = max(cut[x], 0.0)  # but for rounding
    cut[n - 1] = 0.0


@jit
def prune_tree(
    parent, n_leaves, volume, cut, pulled, top, price, may_be_whole,
    chosen, best, spread, held, open_,
):  # fmt: skip
    """Which nodes make the cheapest set of modules inside each node that is the top of others.

    top[x] is the node in whose inside node x may be a module, -1 if nowhere. A module X inside R
    costs the code of its leaves, -sum cut_i log2(d_i / V_X), its own, -cut_X log2(V_X / V_R), its
    price, -price V_X log2(V_X / V_R), less what pulls its leaves together. The best set is exact:
    from the leaves up, a node is one module or what is best below it; ties go to the larger module.
    chosen: OUT, the modules; a top is chosen itself if it is best left whole, and may be. best,
    spread, held, open_: scratch, one entry per node.
    """
    n = len(parent)
    best[:] = 0.0  # until a node's turn: the sum of what is best for its children
    spread[:] = 0.0  # sum of cut_i log2 d_i over the leaves
    held[:] = 0.0  # sum of cut_i
    for x in range(n):
        is_leaf = x < n_leaves
        height = np.log2(volume[x]) if volume[x] > 0 else 0.0
        if is_leaf:
            spread[x], held[x] = cut[x] * height, cut[x]
        above = parent[x]
        if above >= 0:
            spread[above] += spread[x]
            held[above] += held[x]
        root = top[x]
        own = held[x] * height - spread[x] - pulled[x]
        if root >= 0 and volume[root] > 0:
            own -= (cut[x] + price * volume[x]) * (height - np.log2(volume[root]))
        if root < 0 and not is_leaf:  # not a candidate, but perhaps a top
            # Strictly: a component that holds all volume costs the same without lonely rows.
            chosen[x] = may_be_whole and own < best[x]
            continue
        chosen[x] = is_leaf or own <= best[x]
        if is_leaf or chosen[x]:
            best[x] = own
        if root >= 0 and above >= 0:
            best[above] += best[x]
    for x in range(n - 1, -1, -1):
        above = parent[x]
        if top[x] < 0:
            open_[x] = not chosen[x]
        else:
            chosen[x] = chosen[x] and open_[above]
            open_[x] = open_[above] and not chosen[x]
