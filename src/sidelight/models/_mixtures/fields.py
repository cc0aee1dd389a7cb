"""Groups that may not share a component: exact sums over their placements, and mean field.

    P(z) ∝ prod_g exp(s_g,z_g) prod over cannot pairs [z_a != z_b]

The graph of cannot-links falls into parts. A part is summed exactly: by eliminating one group after
the other (tables over at most six groups), or, where all of its groups are apart from each other,
as labelled classes are, by sums over the sets of components that are taken. Parts of the same shape
are summed together. Larger parts are treated by mean field, with a cost for broken pairs.
"""

from functools import lru_cache
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
# The cost of a broken cannot-link in nats where it cannot be excluded: at that cost hardly any
# posterior breaks one, and groups can still move.
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
    """Eliminate one group after the other, then pass the messages back (a junction tree)."""
    n_parts, _, K = scores.shape
    differ = np.where(np.eye(K, dtype=bool), -np.inf, 0.0)
    tables: dict[int, Floats] = {}
    sent: dict[int, Floats] = {}
    total = np.zeros(n_parts)
    plan = _elimination(apart.tobytes(), order)
    with np.errstate(divide="ignore"):
        for v, rivals, children, parent, *_ in plan:
            table = np.zeros((n_parts, *([K] * len(rivals))))
            table += scores[:, v].reshape(
                _spread(n_parts, K, (True, *(False,) * (len(rivals) - 1)))
            )
            for place, is_apart in enumerate(rivals):
                if is_apart:
                    axes = (True, *(p == place for p in range(1, len(rivals))))
                    table += differ.reshape(_spread(1, K, axes))
            for child, axes in children:
                table += sent[child].reshape(_spread(n_parts, K, axes))
            tables[v] = table
            message = log_sum(table, 1)
            if parent is None:
                total += message
            else:
                sent[v] = message
        marginals = np.empty(scores.shape)
        for v, rivals, _, parent, gone, kept in reversed(plan):
            table = tables[v]
            if parent is not None:
                belief = tables[parent]
                for axis in gone:
                    belief = log_sum(belief, axis)
                known = np.isfinite(sent[v])
                back = np.where(known, belief - np.where(known, sent[v], 0.0), -np.inf)
                table = table + back.reshape(_spread(n_parts, K, kept))
                tables[v] = table
            alone = table
            for axis in range(len(rivals), 1, -1):
                alone = log_sum(alone, axis)
            marginals[:, v] = np.exp(alone - log_sum(alone, 1)[:, None])
    return total, marginals


class _Step(NamedTuple):
    """The table of a group: over it and its neighbours that are still there.

    Its axes are in the order of elimination, so that its own is the first, and so are those of
    every other table: what is sent from one to another only lacks axes.
    """

    group: int
    rivals: tuple[bool, ...]  # of each axis, whether a cannot-link is between it and the first
    children: tuple[tuple[int, tuple[bool, ...]], ...]  # who sends to it, and over which axes
    parent: int | None
    gone: tuple[int, ...]  # axes of the parent's table that this one lacks, the last first
    kept: tuple[bool, ...]  # the axes that it shares with its parent


@lru_cache(maxsize=1024)
def _elimination(apart: bytes, order: tuple[int, ...]) -> tuple[_Step, ...]:
    """Who is in which table: the same in every iteration."""
    n = len(order)
    near = np.frombuffer(apart, dtype=bool).reshape(n, n)
    place = {g: p for p, g in enumerate(order)}
    names: dict[int, list[int]] = {}
    senders: dict[int, list[int]] = {g: [] for g in order}
    for v in order:
        scope = {g for g in range(n) if near[v, g] and place[g] > place[v]}
        scope.update(g for child in senders[v] for g in names[child][1:] if g != v)
        names[v] = [v, *sorted(scope, key=place.__getitem__)]
        if len(names[v]) > 1:
            senders[names[v][1]].append(v)
    steps = []
    for v, own in names.items():
        parent = own[1] if len(own) > 1 else None
        of = names[parent] if parent is not None else []
        steps.append(
            _Step(
                v,
                tuple(bool(near[v, g]) and g != v for g in own),
                tuple((c, tuple(g in names[c][1:] for g in own)) for c in senders[v]),
                parent,
                tuple(p + 1 for p, g in reversed(list(enumerate(of))) if g not in own),
                tuple(g in of for g in own),
            )
        )
    return tuple(steps)


def _spread(n_parts: int, K: int, axes: tuple[bool, ...]) -> tuple[int, ...]:
    """The shape of a table that has only these axes."""
    return (n_parts, *(K if has else 1 for has in axes))


def log_sum(table: Floats, axis: int) -> Floats:
    """Log sum exp along an axis; -inf where all is impossible. Scipy's takes five times as long.

    The caller ignores divisions by zero: to do that here takes longer than a small sum.
    """
    top = table.max(axis=axis, keepdims=True)
    top[top == -np.inf] = 0.0
    summed = np.log(np.exp(table - top).sum(axis=axis))
    return np.asarray(summed + top.squeeze(axis))


def by_sets(scores: Floats) -> tuple[Floats, Floats]:
    """All groups of a part apart from each other (parts, groups, K): sums over the sets taken."""
    n_parts, _, K = scores.shape
    sizes = np.bitwise_count(np.arange(2**K)).astype(np.int64)
    totals, marginals = np.empty(n_parts), np.empty(scores.shape)
    before, after = np.empty(2**K), np.empty(2**K)
    place_apart(np.ascontiguousarray(scores), sizes, before, after, totals, marginals)
    return totals, marginals
