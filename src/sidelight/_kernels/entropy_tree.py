"""Encoding trees: nodes from mergers, and the choice of nodes for a tree of limited height.

A tree is an array of parents in which every node comes before its parent: leaves 0 … n-1, the root
last, with parent -1. ``volume`` and ``cut`` belong to the nodes; the cut of a leaf is that of the
data alone, the cut of any other node is that of both graphs (Eq. 3.11). A node costs
-cut (log2 volume - log2 of its parent's volume), and L is the sum of these, divided by the total.
No function recurses: a tree may be as deep as it has leaves.

``tree`` is a namedtuple that has parent, volume, cut, pulled and n_leaves.
"""

from collections import namedtuple

import numpy as np

from sidelight._kernels._jit import bare, inlined, jit, part
from sidelight._kernels.merging import settle, sink

# A tree from which nodes are taken. up: the node itself if it stays, else a node above (`live` ends
# at one that stays). excess: the sum of the cuts of a node's children minus its own. The inner
# children of each node are a list: head, tail, before, after. tall: height of a node, at most the
# limit; n_tallest: the number of inner children of that height.
Pruning = namedtuple(
    "Pruning", ["up", "excess", "head", "tail", "before", "after", "tall", "n_tallest"]
)

# Leaves united to sets, the smaller under the larger: up, and the node that took this step.
# standing (by node): a leaf of the set that is under it.
Sets = namedtuple("Sets", ["standing", "up", "when", "size"])


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


@part
def live(node, up):
    """The first node at or above this one that was not removed; shortens the path for later."""
    top = node
    while up[top] != top:
        top = up[top]
    while up[node] != top:
        up[node], node = top, up[node]
    return top


@part
def measure_height(x, limit, pruning):
    """Height of node x, and how many inner children make it so tall. pruning: OUT."""
    most, count = 0, 0
    child = pruning.head[x]
    while child >= 0:
        height = min(pruning.tall[child], limit - 1)
        if height > most:
            most, count = height, 0
        count += height == most
        child = pruning.after[child]
    pruning.tall[x], pruning.n_tallest[x] = most + 1, count


@part
def is_deep(x, limit, parent, pruning):
    """Whether a path through node x is longer than ``limit``."""
    root = len(parent) - 1
    steps = pruning.tall[x]
    while x != root and steps <= limit:
        x = live(parent[x], pruning.up)
        steps += 1
    return steps > limit


@inlined
def removal_gain(x, above, volume, pruning):
    """The gain if node x, whose parent is ``above``, is removed; below zero if it costs."""
    return pruning.excess[x] * (np.log2(volume[x]) - np.log2(volume[above]))


@part
def begin_pruning(tree, height, pruning, queue):
    """All nodes in their lists, and inner nodes but for the root in the heap. pruning: OUT."""
    parent, head, tail = tree.parent, pruning.head, pruning.tail
    n = len(parent)
    for x in range(n):
        pruning.up[x] = x
        pruning.excess[x] = -tree.cut[x]
        head[x] = tail[x] = pruning.before[x] = pruning.after[x] = -1
        queue.sign[x] = 0
    for x in range(n - 1):
        above = parent[x]
        pruning.excess[above] += tree.cut[x]
        if x >= tree.n_leaves:
            measure_height(x, height, pruning)
            pruning.before[x] = tail[above]
            if tail[above] >= 0:
                pruning.after[tail[above]] = x
            else:
                head[above] = x
            tail[above] = x
            queue.gain[x] = removal_gain(x, above, tree.volume, pruning)
    measure_height(n - 1, height, pruning)
    for k in range(len(queue.heap)):
        queue.heap[k] = tree.n_leaves + k
        queue.where[tree.n_leaves + k] = k
    for k in range(len(queue.heap) // 2 - 1, -1, -1):
        sink(k, queue)


@bare
def compress_tree(tree, height, pruning, queue):
    """Remove inner nodes on paths longer than ``height``, the one that costs least first.

    pruning: OUT. Gains only fall if excess is positive, so a node is checked again when it reaches
    the top of the heap; the few others are kept up to date. queue: scratch, its heap as long as
    there are inner nodes but for the root, its partners and names equal.
    """
    begin_pruning(tree, height, pruning, queue)
    while len(queue.heap):
        x = queue.heap[0]
        if queue.sign[x] < 0:
            break
        above = live(tree.parent[x], pruning.up)
        now = removal_gain(x, above, tree.volume, pruning)
        deep = is_deep(x, height, tree.parent, pruning)
        if deep and now < queue.gain[x]:  # out of date
            queue.gain[x] = now
            sink(0, queue)
            continue
        queue.sign[x] = -3  # never again: paths only get shorter
        sink(0, queue)
        if deep:
            pruning.up[x] = above
            pruning.excess[above] += pruning.excess[x]
            correct_gains(x, above, tree, pruning, queue)
            hand_over(x, above, height, tree.parent, pruning)


@part
def correct_gains(x, above, tree, pruning, queue):
    """Update gains that rise when node x is removed: of its children, and above. queue: OUT."""
    child = pruning.head[x]
    while child >= 0:
        if pruning.excess[child] < 0 and queue.sign[child] == 0:
            queue.gain[child] = removal_gain(child, above, tree.volume, pruning)
            settle(queue.where[child], queue)
        child = pruning.after[child]
    if pruning.excess[x] < 0 and above != len(tree.parent) - 1 and queue.sign[above] == 0:
        higher = live(tree.parent[above], pruning.up)
        queue.gain[above] = removal_gain(above, higher, tree.volume, pruning)
        settle(queue.where[above], queue)


@part
def hand_over(x, above, height, parent, pruning):
    """Give the children of node x, which is removed, to the node above, and correct heights."""
    head, tail, before, after = pruning.head, pruning.tail, pruning.before, pruning.after
    tall, n_tallest = pruning.tall, pruning.n_tallest
    tallest = tall[above] - 1
    count = 0
    child = head[x]
    while child >= 0:
        count += tall[child] >= tallest
        child = after[child]
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
        measure_height(above, height, pruning)
        if above == len(parent) - 1 or tall[above] == old:
            break
        new = tall[above]
        above = live(parent[above], pruning.up)
        if old >= tall[above] - 1 > new:
            n_tallest[above] -= 1


@inlined
def unite_leaves(parent, n_leaves, sets):
    """Unite the leaves under each node, in the order of the nodes. sets: OUT."""
    n = len(parent)
    standing, size = sets.standing, sets.size
    standing[:] = -1
    for i in range(n_leaves):
        standing[i], sets.up[i], sets.when[i], size[i] = i, i, n, 1
    for x in range(n - 1):
        a, b = standing[parent[x]], standing[x]
        if a < 0:
            standing[parent[x]] = b
            continue
        if size[a] < size[b]:
            a, b = b, a
        sets.up[b], sets.when[b] = a, parent[x]
        size[a] += size[b]
        standing[parent[x]] = a


@bare
def sum_below(tree, graph, sets):
    """Cuts of all nodes from those of the leaves, and the sums of the pulls below them.

    tree.cut: IN/OUT, that of the leaves is set; tree.pulled: OUT. A leaf has at most log2 n steps
    to the top of its set, however deep the tree is, and the highest ``when`` on the way from leaf
    to leaf is where they meet. sets: scratch.
    """
    parent, cut, pulled, n_leaves = tree.parent, tree.cut, tree.pulled, tree.n_leaves
    n = len(parent)
    cut[n_leaves:] = 0.0
    pulled[:] = 0.0
    unite_leaves(parent, n_leaves, sets)
    for i in range(n_leaves):
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            if graph.near[e] <= i:  # each pair once
                continue
            a, b, meet = i, np.int64(graph.near[e]), 0
            while a != b:
                if sets.when[a] < sets.when[b]:
                    meet, a = sets.when[a], sets.up[a]
                else:
                    meet, b = sets.when[b], sets.up[b]
            cut[meet] -= 2.0 * graph.weight[e]
            if len(graph.pull):
                pulled[meet] += graph.pull[e]
    for x in range(n - 1):
        cut[parent[x]] += cut[x]
        pulled[parent[x]] += pulled[x]
    for x in range(n_leaves, n):
        cut[x] = max(cut[x], 0.0)  # but for rounding
    cut[n - 1] = 0.0


@bare
def prune_tree(tree, top, price, may_be_whole, chosen, best, spread, held, open_):
    """Find the cheapest set of modules inside each node that is the top of others.

    top[x] is the node in whose inside node x may be a module, -1 if nowhere. A module X inside R
    costs the code of its leaves, -sum cut_i log2(d_i / V_X), its own, -cut_X log2(V_X / V_R), its
    price, -price V_X log2(V_X / V_R), less what pulls its leaves together. The best set is exact:
    from the leaves up, a node is one module or what is best below it; ties go to the larger module.
    chosen: OUT, the modules; a top is chosen itself if it is best left whole, and may be. best,
    spread, held, open_: scratch, one entry per node.
    """
    parent, volume, cut, n_leaves = tree.parent, tree.volume, tree.cut, tree.n_leaves
    n = len(parent)
    best[:] = 0.0  # before a node's turn: the sum of the best costs of its children
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
        own = held[x] * height - spread[x] - tree.pulled[x]
        if root >= 0 and volume[root] > 0:
            own -= (cut[x] + price * volume[x]) * (height - np.log2(volume[root]))
        if root < 0 and not is_leaf:  # not a candidate, but perhaps a top
            # Strictly lower: a component that holds all volume costs the same without isolated
            # rows.
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
