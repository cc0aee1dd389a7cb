"""Groups that may not share a component: exact sums over their placements, and mean field.

    P(z) ∝ prod_g exp(s_g,z_g) prod over cannot pairs [z_a != z_b]

The graph of cannot-links falls into parts. A part is summed exactly: by eliminating one group after
the other (tables over at most six groups), or, where all of its groups are apart from each other,
as labelled classes are, by sums over the sets of components that are taken. Parts of the same shape
are summed together. Larger parts are treated by mean field, with a cost for broken pairs.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.special import logsumexp

from sidelight._kernels.cliques import place_apart
from sidelight._kernels.mean_field import mean_field

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_TABLE = 6  # groups in a table: K^6 numbers
_MOST_NUMBERS = 4_000_000  # in all tables that are held at once
_LARGEST_PART = 64  # groups; larger parts hardly ever have small tables
_MOST_SETS = 16  # components of which all sets are listed: 65,536 sets
# What a broken cannot-link costs in nats where it cannot be excluded: hardly any posterior breaks
# one at that price, and the groups still move.
PRICE = 10.0


class Shape(NamedTuple):
    """Parts that look the same: their groups (parts, groups), and who is apart from whom."""

    groups: Ints
    apart: NDArray[np.bool_]
    order: tuple[int, ...]  # of elimination; empty where all are apart from each other


class Field(NamedTuple):
    """The parts of a cannot graph: summed exactly by shapes, or groups in mean field."""

    shapes: list[Shape]
    loose: Ints  # groups without a cannot-link
    rough: Ints  # groups in mean field, with their links among them
    span: Ints
    near: Ints

    @classmethod
    def of(cls, graph: sparse.csr_array, n_clusters: int) -> "Field":
        """The parts of a symmetric matrix of groups by groups."""
        n_parts, part = csgraph.connected_components(graph, directed=False)
        sizes = np.bincount(part, minlength=n_parts)
        by_part = np.argsort(part, kind="stable")
        first = np.cumsum(sizes) - sizes
        pairs = by_part[first[sizes == 2][:, None] + np.arange(2)]
        shapes = []
        if len(pairs):
            shapes.append(Shape(pairs, ~np.eye(2, dtype=bool), (0, 1)))
        rough: list[Ints] = [np.empty(0, dtype=np.int64)]
        alike: dict[bytes, list[Ints]] = {}
        looks: dict[bytes, NDArray[np.bool_]] = {}
        sorted_graph = sparse.csr_array(graph[by_part][:, by_part])
        for begin, size in zip(first[sizes > 2], sizes[sizes > 2], strict=True):
            groups = by_part[begin : begin + size]
            if size > _LARGEST_PART:
                rough.append(groups)
                continue
            order, apart = in_shape(sorted_graph, int(begin), int(size))
            alike.setdefault(apart.tobytes(), []).append(groups[order])
            looks[apart.tobytes()] = apart
        for key, found in alike.items():
            elimination = exact_order(looks[key], n_clusters)
            if elimination is None:
                rough += found
            else:
                shapes.append(Shape(np.array(found), looks[key], elimination))
        in_field = np.sort(np.concatenate(rough))
        among = sparse.csr_array(graph[in_field][:, in_field])
        span, near = among.indptr.astype(np.int64), among.indices.astype(np.int64)
        return cls(shapes, np.flatnonzero(sizes[part] == 1), in_field, span, near)

    def marginals(self, scores: Floats, rough: Floats) -> tuple[float, Floats]:
        """The log of the sum over all placements, and how probable each component is.

        scores (G, K). rough (groups in mean field, K): their memberships, IN/OUT; their part of the
        sum is a lower bound, at a price for broken pairs.
        """
        out = np.empty_like(scores)
        total = logsumexp(scores[self.loose], axis=1)
        out[self.loose] = np.exp(scores[self.loose] - total[:, None])
        value = float(total.sum())
        for shape in self.shapes:
            summed, found = placements(scores[shape.groups], shape)
            value += float(summed.sum())
            out[shape.groups] = found
        if len(self.rough):
            value += mean_field(scores[self.rough], self.span, self.near, PRICE, rough)
            out[self.rough] = rough
        return value, out

    def normaliser(self, log_weights: Floats) -> tuple[float, Floats]:
        """Log Z of the exact parts, in which each group has these weights, and its gradient."""
        value, gradient = 0.0, np.zeros_like(log_weights)
        for shape in self.shapes:
            n_parts, n_groups = shape.groups.shape
            one = np.broadcast_to(log_weights, (1, n_groups, len(log_weights)))
            summed, found = placements(one, shape)
            value += n_parts * float(summed[0])
            gradient += n_parts * found[0].sum(axis=0)
        return value, gradient

    @property
    def n_normalised(self) -> int:
        """The number of groups in exact parts."""
        return int(sum(shape.groups.size for shape in self.shapes))


def in_shape(graph: sparse.csr_array, begin: int, size: int) -> tuple[Ints, NDArray[np.bool_]]:
    """The groups of a part by their links, so that parts of one shape mostly look the same."""
    span = graph.indptr[begin : begin + size + 1]
    near = graph.indices[span[0] : span[-1]] - begin
    apart = np.zeros((size, size), dtype=bool)
    apart[np.repeat(np.arange(size), np.diff(span)), near] = True
    degree = apart.sum(axis=1)
    order = np.lexsort((apart @ degree**2, apart @ degree, degree))
    return order, apart[np.ix_(order, order)]


def exact_order(apart: NDArray[np.bool_], n_clusters: int) -> tuple[int, ...] | None:
    """An order of elimination whose tables are small enough; () for sets; None if neither is."""
    n = len(apart)
    is_clique = bool(apart.sum() == n * (n - 1))
    if is_clique and n_clusters <= _MOST_SETS and _n_sets(n, n_clusters) <= n_clusters**n:
        return ()
    left, graph, order = list(range(n)), apart.copy(), []
    np.fill_diagonal(graph, False)
    largest = 0
    while left:
        v = min(left, key=lambda g: (int(graph[g, left].sum()), g))  # the fewest neighbours
        near = [g for g in left if graph[v, g]]
        largest = max(largest, len(near) + 1)
        graph[np.ix_(near, near)] = True
        np.fill_diagonal(graph, False)
        left.remove(v)
        order.append(v)
    if largest <= LARGEST_TABLE and n_clusters**largest <= _MOST_NUMBERS:
        return tuple(order)
    return None


def _n_sets(n_groups: int, n_clusters: int) -> int:
    """How many sums the sets of components need, beside n_clusters**n_groups placements."""
    return n_clusters * sum(comb(n_clusters, size) for size in range(n_groups + 1))


def placements(scores: Floats, shape: Shape) -> tuple[Floats, Floats]:
    """For parts of one shape (parts, groups, K): log sums over their placements, and marginals."""
    if not shape.order:
        return by_sets(scores)
    size = scores.shape[2] ** min(LARGEST_TABLE, scores.shape[1])
    step = max(1, _MOST_NUMBERS // size)
    parts = [
        by_elimination(scores[first : first + step], shape.apart, shape.order)
        for first in range(0, len(scores), step)
    ]
    return np.concatenate([s for s, _ in parts]), np.concatenate([m for _, m in parts])


def by_elimination(
    scores: Floats, apart: NDArray[np.bool_], order: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Sum out one group after the other, then tell each what the others say (a junction tree).

    A table of a group is over it and its neighbours that are still there, in the order of their
    elimination, so that its axis is the first of them.
    """
    n_parts, n_groups, K = scores.shape
    place = {g: p for p, g in enumerate(order)}
    differ = np.where(np.eye(K, dtype=bool), -np.inf, 0.0)
    waiting: dict[int, list[tuple[list[int], Floats, int]]] = {g: [] for g in order}
    tables: dict[int, tuple[list[int], Floats]] = {}
    sent: dict[int, Floats] = {}
    total = np.zeros(n_parts)
    for v in order:
        scope = {g for g in range(n_groups) if apart[v, g] and place[g] > place[v]}
        scope.update(g for names, _, _ in waiting[v] for g in names if g != v)
        names = [v, *sorted(scope, key=place.__getitem__)]
        table = np.zeros((n_parts, *([K] * len(names))))
        table += spread_out(scores[:, v], [v], names)
        for g in names[1:]:
            if apart[v, g]:
                table += spread_out(differ[None], [v, g], names)
        for of, message, _ in waiting[v]:
            table += spread_out(message, of, names)
        tables[v] = names, table
        message = log_sum(table, 1)
        if len(names) == 1:
            total += message
        else:
            sent[v] = message
            waiting[names[1]].append((names[1:], message, v))
    marginals = np.empty(scores.shape)
    for v in reversed(order):
        names, table = tables[v]
        if len(names) > 1:
            of, belief = tables[names[1]]
            kept = [g for g in of if g in names]
            for axis in reversed([p + 1 for p, g in enumerate(of) if g not in names]):
                belief = log_sum(belief, axis)
            known = np.isfinite(sent[v])
            back = np.where(known, belief - np.where(known, sent[v], 0.0), -np.inf)
            table = table + spread_out(back, kept, names)
            tables[v] = names, table
        alone = table
        for axis in range(len(names), 1, -1):
            alone = log_sum(alone, axis)
        marginals[:, v] = np.exp(alone - log_sum(alone, 1)[:, None])
    return total, marginals


def log_sum(table: Floats, axis: int) -> Floats:
    """Log sum exp along an axis; -inf where all is impossible. Scipy's takes five times as long."""
    top = table.max(axis=axis, keepdims=True)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore"):
        summed = np.log(np.exp(table - top).sum(axis=axis))
    return np.asarray(summed + top.squeeze(axis))


def spread_out(table: Floats, names: list[int], among: list[int]) -> Floats:
    """A table over some groups with an axis for each of ``among``, in their order."""
    axes = np.argsort([among.index(g) for g in names])
    table = np.transpose(table, (0, *(axes + 1)))
    ordered = {names[a] for a in axes}
    shape = [table.shape[0]] + [table.shape[1] if g in ordered else 1 for g in among]
    return table.reshape(shape)


def by_sets(scores: Floats) -> tuple[Floats, Floats]:
    """All groups of a part apart from each other (parts, groups, K): sums over the sets taken."""
    n_parts, _, K = scores.shape
    sizes = np.bitwise_count(np.arange(2**K)).astype(np.int64)
    totals, marginals = np.empty(n_parts), np.empty(scores.shape)
    before, after = np.empty(2**K), np.empty(2**K)
    place_apart(np.ascontiguousarray(scores), sizes, before, after, totals, marginals)
    return totals, marginals
