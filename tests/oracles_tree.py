"""Structural entropy of trees from its definition, and the two searches by trying everything."""

import itertools

import numpy as np


def leaves_under(parent, n_leaves):
    """For each node the set of rows below it, by walking up from every row."""
    under = [set() for _ in parent]
    for row in range(n_leaves):
        node = row
        while node >= 0:
            under[node].add(row)
            node = parent[node]
    return under


def entropy(W, R, parent, *, self_loops=False):
    """L of Eq. 3.10 of a tree, for dense similarities W and constraints R (with their weight)."""
    n = len(W)
    degree = W.sum(axis=1) + self_loops
    total = degree.sum() or 1.0
    under = leaves_under(parent, n)
    value = 0.0
    for node, above in enumerate(parent):
        if above < 0:
            continue
        inside = np.isin(np.arange(n), list(under[node]))
        volume = degree[inside].sum()
        if volume == 0:
            continue
        cut = W[np.ix_(inside, ~inside)].sum()
        if node >= n:
            cut += R[np.ix_(inside, ~inside)].sum()
        value -= cut / total * np.log2(volume / degree[list(under[above])].sum())
    return value


def stretched(W, R, *, self_loops=False):
    """Join the two children of the root whose new node lowers L most, until no edge joins any."""
    n = len(W)
    parts = {node: [node] for node in range(n)}
    trees = {}  # node -> its two children
    joined = {node: None for node in range(n)}

    def as_parents(extra=None):
        nodes = list(joined) + ([] if extra is None else [n + len(trees)])
        parent = {node: joined[node] for node in joined}
        if extra is not None:
            new = n + len(trees)
            parent[new] = None
            parent.update(dict.fromkeys(extra, new))
        root = len(nodes)
        return [root if parent[node] is None else parent[node] for node in nodes] + [-1]

    while True:
        now = entropy(W, R, as_parents(), self_loops=self_loops)
        best = None
        for a, b in itertools.combinations(sorted(parts), 2):
            if not W[np.ix_(parts[a], parts[b])].any():
                continue
            gain = now - entropy(W, R, as_parents((a, b)), self_loops=self_loops)
            low, high = sorted((min(parts[a]), min(parts[b])))
            key = (round(gain, 11), -low, -high)
            if best is None or key > best[0]:
                best = key, a, b
        if best is None:
            break
        new = n + len(trees)
        trees[new] = best[1:]
        joined[best[1]] = joined[best[2]] = new
        joined[new] = None
        parts[new] = parts.pop(best[1]) + parts.pop(best[2])
    parent = as_parents()
    if len(parts) == 1 and n > 1:
        parent = parent[:-1]
        parent[-1] = -1
    return np.array(parent)


def without(parent, node):
    """The tree without a node: its children go to its parent. Gone nodes have parent −2."""
    parent = np.array(parent)
    above = parent[node]
    parent[parent == node] = above
    parent[node] = -2
    return parent


def longest_path(parent, node, n_leaves):
    """Steps of the longest path from the root through a node to a row."""

    def steps_up(x):
        count = 0
        while parent[x] >= 0:
            x, count = parent[x], count + 1
        return count

    def passes(row):
        while row >= 0:
            if row == node:
                return True
            row = parent[row]
        return False

    return max((steps_up(row) for row in range(n_leaves) if passes(row)), default=0)


def compressed(W, R, parent, height, *, self_loops=False):
    """Remove the node on a path longer than ``height`` whose removal raises L least, and again."""
    n, parent = len(W), np.array(parent)

    def live(tree):
        kept = np.flatnonzero(tree != -2)
        number = {int(node): k for k, node in enumerate(kept)}
        return [number.get(int(tree[node]), -1) for node in kept]

    while True:
        best = None
        for node in range(n, len(parent) - 1):
            if parent[node] == -2 or longest_path(parent, node, n) <= height:
                continue
            value = entropy(W, R, live(without(parent, node)), self_loops=self_loops)
            if best is None or (round(value, 11), node) < best:
                best = round(value, 11), node
        if best is None:
            return parent != -2
        parent = without(parent, best[1])


def prunings(parent, n_leaves):
    """All sets of nodes, the root alone among them, that divide the rows."""
    children = {node: np.flatnonzero(np.array(parent) == node).tolist() for node in
                range(n_leaves, len(parent))}  # fmt: skip

    def below(node):
        yield [node]
        if node >= n_leaves:
            for combination in itertools.product(*(list(below(c)) for c in children[node])):
                yield [x for part in combination for x in part]

    return list(below(len(parent) - 1))


def judged(W, pull, parent, modules, price):
    """Entropy of the data in root - modules - rows, the modules' price, less the pulls inside."""
    n = len(W)
    under = leaves_under(parent, n)
    inner = [m for m in modules if m >= n]
    flat = np.full(n + len(inner) + 1, n + len(inner))
    for k, m in enumerate(inner):
        flat[list(under[m])] = n + k
    flat[-1] = -1
    degree = W.sum(axis=1)
    share = np.array([degree[list(under[m])].sum() for m in modules]) / degree.sum()
    share = share[share > 0]
    kept = sum(pull[np.ix_(list(under[m]), list(under[m]))].sum() / 2 for m in modules)
    value = entropy(W, np.zeros_like(W), flat.tolist()) - price * (share * np.log2(share)).sum()
    return value - kept / degree.sum()
