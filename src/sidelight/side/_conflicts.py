"""Where statements contradict each other, and why: the shortest chain of statements that shows it.

A cannot-link is broken when its rows are in one group; a "not c" when the group has the label c.
A label is broken when its row is tied to rows of another class by something else than that
vocabulary's own labels, and more weight there speaks for the other class. (If rows of class A are
tied to rows of class B anywhere, equal labels tie *all* of A to all of B; blaming every label of
both classes for one wrong must-link would not help, so a label is broken only where the two
classes meet.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from sidelight._wording import counted
from sidelight.exceptions import SideInformationError
from sidelight.side._closure import Bonds, bonds, components
from sidelight.side._kinds import IS_PAIR, LABEL, SIGN, TABLE
from sidelight.side._statements import Ints, distinct, heaviest_class

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

# Chains are short in practice, and a search from both ends then looks at few rows. Past this many
# steps (a chain of hundreds of must-links) one sweep over the whole group is cheaper.
_MAX_STEPS = 64
# A chain of more links than this is shortened in words.
_MAX_WORDS = 50


@dataclass(frozen=True)
class Conflict:
    """One broken statement and the chain of statements that breaks it.

    ``str()`` gives it in words, with the user's own row ids; `chain` holds every link.

    Attributes
    ----------
    statement : int
        Position of the broken statement in the table.
    chain : tuple of int
        Positions of the statements that contradict it, from its row onwards.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=3)
    >>> (conflict,) = side.conflicts()
    >>> conflict.statement, conflict.chain
    (2, (0, 1))
    >>> print(conflict)
    0 and 2 are kept apart, yet 0 with 1 (must), 1 with 2 (must)
    """

    statement: int
    chain: tuple[int, ...]
    side: "SideInformation" = field(repr=False, hash=False)

    def __str__(self) -> str:
        said = self.side.statements
        row = self.side.row_name(said.i[self.statement])
        kind = TABLE[said.kind[self.statement]]
        if kind.about == "pair":
            claim = f"{row} and {self.side.row_name(said.j[self.statement])} are kept apart"
        else:
            name = self.side.classes[said.class_code[self.statement]]
            claim = f"row {row} {kind.words} {name!r}"
        if not self.chain:
            return f"{claim}, yet it is the same row"
        links = self._links(self.chain[:_MAX_WORDS])
        hidden = len(self.chain) - _MAX_WORDS
        if hidden > 0:
            links.append(f"and {hidden:,} more links")
        return f"{claim}, yet {', '.join(links)}"

    def _links(self, chain: tuple[int, ...]) -> list[str]:
        """Each link in words, in the direction of the chain."""
        said = self.side.statements
        here, words = int(said.i[self.statement]), []
        for link in chain:
            words.append(self.side.describe(link, start=here))
            # A must-link leads to its other row. A label leads to its class, and from there the
            # next label leads to its own row.
            here = (
                int(said.i[link] + said.j[link] - here) if said.j[link] >= 0 else int(said.i[link])
            )
        return words


@dataclass(frozen=True, eq=False, repr=False)
class Conflicts(Sequence[Conflict]):
    """All broken statements, and explanations for the first of them.

    ``len()``, iteration and indexing are about the explained conflicts; `broken` holds every
    broken statement, explained or not.

    Attributes
    ----------
    broken : ndarray
        Positions, in the table of statements, of everything that the rest contradicts.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=3)
    >>> conflicts = side.conflicts()
    >>> conflicts.broken
    array([2])
    >>> print(conflicts[0])
    0 and 2 are kept apart, yet 0 with 1 (must), 1 with 2 (must)
    """

    broken: Ints
    explained: tuple[Conflict, ...]
    side: "SideInformation"

    def chain(self, statement: int) -> Conflict:
        """The shortest chain for any broken statement."""
        if statement not in self.broken:
            raise SideInformationError(
                f"statement {statement} is not broken; the broken ones are listed in `broken`."
            )
        return Conflict(int(statement), self._search.chain(int(statement)), self.side)

    @cached_property
    def _search(self) -> "_ChainSearch":
        return _ChainSearch(self.side, _winning_class(self.side))

    def __len__(self) -> int:
        return len(self.explained)

    def __iter__(self) -> Iterator[Conflict]:
        return iter(self.explained)

    @overload
    def __getitem__(self, k: int) -> Conflict: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Conflict, ...]: ...
    def __getitem__(self, k: int | slice) -> Conflict | tuple[Conflict, ...]:
        return self.explained[k]

    def __repr__(self) -> str:
        return f"Conflicts({self._count()}, {len(self):,} explained)"

    def _count(self) -> str:
        return counted(len(self.broken), "broken statement")

    def __str__(self) -> str:
        if not len(self.broken):
            return "no conflicts"
        lines = [f"{self._count()}:"] + [f"  {conflict}" for conflict in self.explained]
        if len(self.broken) > len(self):
            lines.append(f"  and {len(self.broken) - len(self):,} more (see `broken` and `chain`)")
        return "\n".join(lines)


def find_conflicts(side: "SideInformation", limit: int) -> Conflicts:
    """Every broken statement, in linear time, and a chain for the first ``limit``."""
    if limit < 0:
        raise SideInformationError(f"limit is a number of chains, 0 or more, not {limit}.")
    winner = _winning_class(side)
    broken_labels = (winner >= 0) & (side.statements.class_code != winner)
    broken = np.flatnonzero(broken_labels | _together_and_apart(side))
    if not len(broken) or limit == 0:
        return Conflicts(broken, (), side)
    search = _ChainSearch(side, winner)
    explained = tuple(Conflict(k, search.chain(k), side) for k in broken[:limit].tolist())
    return Conflicts(broken, explained, side)


def _together_and_apart(side: "SideInformation") -> NDArray[np.bool_]:
    """Which statements keep a row apart from its own group, or from the class of that group."""
    said, closure = side.statements, side.closure()
    of_class = closure.group_of_class(said.vocabulary, said.class_code)
    other = np.where(said.is_class, of_class, closure.groups[said.j])
    return said.binding & (said.sign < 0) & (closure.groups[said.i] == other)


def _winning_class(side: "SideInformation") -> Ints:
    """For each label the class with the most weight where its row's own class meets others.

    −1 for other statements, and for labels of vocabularies whose classes never meet.
    """
    said = side.statements
    winner = np.full(side.n_statements, -1, dtype=np.int64)
    members = _members_without_own_labels(side)
    labels = np.flatnonzero(members >= 0)
    if not len(labels):
        return winner
    keys = (said.vocabulary[labels] + 1) * (int(members.max()) + 1) + members[labels]
    places, place = np.unique(keys, return_inverse=True)
    of_place = heaviest_class(place, said.class_code[labels], said.weight[labels], len(places))
    winner[labels] = of_place[place]
    return winner


def _members_without_own_labels(side: "SideInformation") -> Ints:
    """For each label the group that its row is in if the labels of its vocabulary do not count.

    −1 for other statements, and for vocabularies whose classes meet nowhere. A pass over all bonds
    for each vocabulary would be too slow where each of a thousand people has their own. So the
    vocabularies are halved again and again: for one half, the bonds of the other are contracted,
    and only its own are left to look at.
    """
    members = np.full(side.n_statements, -1, dtype=np.int64)
    meeting = _meeting_vocabularies(side)
    if not len(meeting):
        return members
    said, tied = side.statements, bonds(side)
    vocabulary = said.vocabulary[tied.statement]
    own = (said.kind[tied.statement] == LABEL) & np.isin(vocabulary, meeting)
    group = components(tied.n_vertices, tied.left[~own], tied.right[~own])
    order = np.flatnonzero(own)[np.argsort(vocabulary[own], kind="stable")]
    waiting = [(group[tied.left[order]], group[tied.right[order]], tied.statement[order])]
    while waiting:
        left, right, statement = waiting.pop()
        codes = said.vocabulary[statement]
        if not len(codes) or codes[0] == codes[-1]:
            members[statement] = left
            continue
        cut = int(np.searchsorted(codes, codes[len(codes) // 2]))
        cut = cut or int(np.searchsorted(codes, codes[0], side="right"))
        vertices, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
        left, right = ends[: len(left)], ends[len(left) :]
        for half, other in ((slice(cut), slice(cut, None)), (slice(cut, None), slice(cut))):
            group = components(len(vertices), left[other], right[other])
            waiting.append((group[left[half]], group[right[half]], statement[half]))
    return members


def _meeting_vocabularies(side: "SideInformation") -> Ints:
    """Codes of the vocabularies of which some group has two classes."""
    facts = side.closure().labels
    keys = facts[:, 0] * (len(side.vocabularies) + 1) + facts[:, 1] + 1
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return np.unique(facts[first[counts > 1], 1])


class _Component(NamedTuple):
    """One connected part of the bonds, vertices numbered from 0: all that a search looks at."""

    indptr: Ints
    indices: Ints
    first: int  # number of its first vertex in the order of the whole


class _ChainSearch:
    """Shortest paths in the bonds, for one conflict after the other.

    Vertices are put in an order in which every component is a contiguous piece, so that a search
    costs at most the size of its component.
    """

    def __init__(self, side: "SideInformation", winner: Ints) -> None:
        self.side = side
        self.winner = winner
        self.bonds: Bonds = bonds(side)
        n = self.bonds.n_vertices
        of_vertex = components(n, self.bonds.left, self.bonds.right)
        self.vertex = np.argsort(of_vertex, kind="stable")
        self.place = np.empty(n, dtype=np.int64)
        self.place[self.vertex] = np.arange(n)
        self.component = of_vertex
        self.bounds = np.append(0, np.cumsum(np.bincount(of_vertex)))
        left, right = self.place[self.bonds.left], self.place[self.bonds.right]
        ends = np.concatenate([left, right]), np.concatenate([right, left])
        graph = sparse.coo_array((np.ones(2 * len(left), np.int8), ends), (n, n)).tocsr()
        self.indptr, self.indices = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
        key = np.minimum(left, right) * n + np.maximum(left, right)
        order = np.argsort(key, kind="stable")
        self.edge_key, self.edge_statement = key[order], self.bonds.statement[order]
        self.last: _Component | None = None  # one conflict's neighbour often lies in the same one

    def chain(self, statement: int) -> tuple[int, ...]:
        """The statements on a shortest path from the row to where the contradiction lies."""
        said = self.side.statements
        blocked = np.empty(0, dtype=np.int64)
        if IS_PAIR[said.kind[statement]]:
            goal = int(said.j[statement])
        elif SIGN[said.kind[statement]] < 0:
            goal = int(self.bonds.class_vertex[statement])
        else:
            goal, blocked = self._rival(statement)
        path = self._shortest_path(int(said.i[statement]), goal, blocked)
        near, far = path[:-1], path[1:]
        key = np.minimum(near, far) * self.bonds.n_vertices + np.maximum(near, far)
        return tuple(self.edge_statement[np.searchsorted(self.edge_key, key)].tolist())

    def _rival(self, statement: int) -> tuple[int, Ints]:
        """The vertex of the class that outweighs a broken label, and classes not to pass."""
        said = self.side.statements
        code = said.vocabulary[statement]
        columns = self.side.class_columns
        same = self.side.n_samples + np.flatnonzero(columns.vocabulary == code)
        goal = self.side.n_samples + columns.find(code, self.winner[statement])
        return int(goal), same[same != goal]

    def _shortest_path(self, start: int, goal: int, blocked: Ints) -> Ints:
        """Places of the vertices on a shortest path that passes no blocked vertex."""
        part = self._component_of(start)
        barred = self.place[blocked] - part.first
        barred = barred[(barred >= 0) & (barred < len(part.indptr) - 1)]
        source, target = int(self.place[start]) - part.first, int(self.place[goal]) - part.first
        path = _from_both_ends(part, source, target, barred)
        if not len(path):
            path = _by_one_sweep(part, source, target, barred)
        return path + part.first

    def _component_of(self, vertex: int) -> _Component:
        number = self.component[vertex]
        first, end = int(self.bounds[number]), self.bounds[number + 1]
        if self.last is None or self.last.first != first:
            edges = slice(self.indptr[first], self.indptr[end])
            self.last = _Component(
                self.indptr[first : end + 1] - edges.start, self.indices[edges] - first, first
            )
        return self.last


def _from_both_ends(part: _Component, start: int, goal: int, blocked: Ints) -> Ints:
    """Breadth-first search from both ends, the smaller front first; empty if it takes long."""
    if start == goal:
        return np.array([start])
    n = len(part.indptr) - 1
    parents = (np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64))
    fronts = [np.array([start]), np.array([goal])]
    for side, vertex in enumerate((start, goal)):
        parents[side][blocked] = n  # visited, by nobody
        parents[side][vertex] = vertex
    for _ in range(_MAX_STEPS):
        side = 0 if len(fronts[0]) <= len(fronts[1]) else 1
        fronts[side] = _step(part, fronts[side], parents[side])
        met = fronts[side][parents[1 - side][fronts[side]] >= 0]
        if len(met):
            # Whole levels are visited at once, so every meeting point lies on a shortest path.
            middle = int(met.min())
            return np.concatenate(
                [_walk_back(parents[0], middle)[::-1], _walk_back(parents[1], middle)[1:]]
            )
    return np.empty(0, dtype=np.int64)


def _step(part: _Component, front: Ints, parent: Ints) -> Ints:
    """The unvisited neighbours of a front; each remembers who reached it. parent: IN/OUT."""
    counts = part.indptr[front + 1] - part.indptr[front]
    origin = np.repeat(front, counts)
    begins = np.repeat(part.indptr[front] - np.cumsum(counts) + counts, counts)
    reached = part.indices[begins + np.arange(len(origin))]
    fresh = parent[reached] < 0
    reached, origin = reached[fresh], origin[fresh]
    parent[reached] = origin
    return distinct(reached)


def _by_one_sweep(part: _Component, start: int, goal: int, blocked: Ints) -> Ints:
    """Breadth-first search by scipy over all vertices that may be passed."""
    n = len(part.indptr) - 1
    passable = np.ones(n, dtype=bool)
    passable[blocked] = False
    row = np.repeat(np.arange(n), np.diff(part.indptr))
    kept = passable[row] & passable[part.indices]
    ones = np.ones(int(kept.sum()), dtype=np.int8)
    graph = sparse.coo_array((ones, (row[kept], part.indices[kept])), shape=(n, n)).tocsr()
    _, parent = csgraph.breadth_first_order(graph, start, directed=True)
    parent[start] = start
    return _walk_back(parent, goal)[::-1]


def _walk_back(parent: Ints, vertex: int) -> Ints:
    """From a vertex to the start of its search."""
    path, before = [vertex], parent.item(vertex)
    while before != path[-1]:
        path.append(before)
        before = parent.item(before)
    return np.array(path, dtype=np.int64)
