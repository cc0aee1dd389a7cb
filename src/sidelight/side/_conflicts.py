"""Where statements contradict each other, and why: the shortest chain of statements that shows it.

A cannot-link is broken when its rows are in one group; a "not c" when the group has the label c.
A label is broken when its row is tied to rows of another class by something else than that
vocabulary's own labels, and more weight there speaks for the other class. (If rows of class A are
tied to rows of class B anywhere, equal labels tie *all* of A to all of B; blaming every label of
both classes for one wrong must-link would help nobody, so a label is broken only where the two
classes meet.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from sidelight.exceptions import SideInformationError
from sidelight.side._closure import Bonds, bonds, components
from sidelight.side._statements import CANNOT, LABEL, NOT_LABEL, Ints

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

# Chains are short in practice, and a search from both ends then looks at few rows. Past this many
# steps (a chain of hundreds of must-links) one sweep over the whole group is cheaper.
_MAX_STEPS = 64


class Conflict(NamedTuple):
    """One broken statement and the chain of statements that breaks it."""

    statement: int
    chain: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
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
        return _explain(self.side, self._search, int(statement))

    @cached_property
    def _search(self) -> "_ChainSearch":
        return _ChainSearch(self.side)

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

    def __str__(self) -> str:
        if not len(self.broken):
            return "no conflicts"
        count = (
            "1 broken statement"
            if len(self.broken) == 1
            else f"{len(self.broken):,} broken statements"
        )
        lines = [f"{count}:"] + [f"  {conflict}" for conflict in self.explained]
        if len(self.broken) > len(self):
            lines.append(f"  and {len(self.broken) - len(self):,} more (see `broken` and `chain`)")
        return "\n".join(lines)


def find_conflicts(side: "SideInformation", limit: int) -> Conflicts:
    """Every broken statement, in linear time, and a chain for the first ``limit``."""
    if limit < 0:
        raise SideInformationError(f"limit is a number of chains, 0 or more, not {limit}.")
    broken = np.flatnonzero(_broken_pairs(side) | _broken_labels(side) | _broken_not_labels(side))
    found = Conflicts(broken, (), side)
    if not len(broken) or limit == 0:
        return found
    search = _ChainSearch(side)
    explained = tuple(_explain(side, search, int(k)) for k in broken[:limit])
    return Conflicts(broken, explained, side)


def _broken_pairs(side: "SideInformation") -> NDArray[np.bool_]:
    said, groups = side.statements, side.groups()
    return said.binding & (said.kind == CANNOT) & (groups[said.i] == groups[said.j])


def _broken_not_labels(side: "SideInformation") -> NDArray[np.bool_]:
    said, groups = side.statements, side.groups()
    key = (groups[said.i] * (len(side.vocabularies) + 1) + said.vocabulary + 1) * max(
        len(side.classes), 1
    ) + said.class_code
    held = key[said.binding & (said.kind == LABEL)]
    return said.binding & (said.kind == NOT_LABEL) & np.isin(key, held)


def _broken_labels(side: "SideInformation") -> NDArray[np.bool_]:
    said = side.statements
    broken = np.zeros(side.n_statements, dtype=bool)
    for code, members in _where_classes_meet(side):
        here = np.flatnonzero(said.binding & (said.kind == LABEL) & (said.vocabulary == code))
        winner = _heaviest_class(side, here, members)
        broken[here] = said.class_code[here] != winner[members[said.i[here]]]
    return broken


def _where_classes_meet(side: "SideInformation") -> Iterator[tuple[int, Ints]]:
    """For each vocabulary in conflict: its code, and the rows' groups without its own labels.

    A vocabulary whose groups all have one class is left out, so the usual case, no conflict among
    labels, costs nothing; otherwise each vocabulary takes one pass over the bonds.
    """
    facts = side.closure().labels
    tied = bonds(side)
    for code in np.unique(facts[:, 1]):
        of_group = facts[facts[:, 1] == code, 0]
        if len(np.unique(of_group)) == len(of_group):
            continue
        own = tied.right >= side.n_samples
        own[own] = tied.vocabulary[tied.right[own] - side.n_samples] == code
        yield int(code), components(tied.n_vertices, tied.left[~own], tied.right[~own])


def _heaviest_class(side: "SideInformation", labels: Ints, members: Ints) -> Ints:
    """For each group the class with the largest total weight, the lowest code on a tie."""
    said = side.statements
    votes = sparse.coo_array(
        (said.weight[labels], (members[said.i[labels]], said.class_code[labels])),
        shape=(int(members.max()) + 1, len(side.classes)),
    ).tocsr()
    groups = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    order = np.lexsort((-votes.indices, votes.data, groups))
    winner = np.full(votes.shape[0], -1, dtype=np.int64)
    winner[groups[order]] = votes.indices[order]
    return winner


def _explain(side: "SideInformation", search: "_ChainSearch", statement: int) -> Conflict:
    chain = search.chain(statement)
    said = side.statements
    row = side.row_name(said.i[statement])
    if said.kind[statement] == CANNOT:
        claim = f"{row} and {side.row_name(said.j[statement])} are kept apart"
    else:
        verb = "is" if said.kind[statement] == LABEL else "is not"
        claim = f"row {row} {verb} {side.classes[said.class_code[statement]]!r}"
    links = [side.describe(link, start=near) for near, link in chain]
    reason = f"yet {', '.join(links)}" if links else "yet it is the same row"
    return Conflict(statement, tuple(link for _, link in chain), f"{claim}, {reason}")


class _ChainSearch:
    """Shortest paths in the bonds, for one conflict after the other."""

    def __init__(self, side: "SideInformation") -> None:
        self.side = side
        self.bonds: Bonds = bonds(side)
        n = self.bonds.n_vertices
        ends = (
            np.concatenate([self.bonds.left, self.bonds.right]),
            np.concatenate([self.bonds.right, self.bonds.left]),
        )
        self.graph = sparse.coo_array((np.ones(len(ends[0]), np.int8), ends), (n, n)).tocsr()
        self.degree = np.diff(self.graph.indptr)
        key = self.bonds.left * n + self.bonds.right
        order = np.argsort(key, kind="stable")
        self.edge_key, self.edge_statement = key[order], self.bonds.statement[order]
        self.members: dict[int, Ints] = {}

    def chain(self, statement: int) -> list[tuple[int, int]]:
        """The statements from the row to where the contradiction lies, each with its near vertex."""
        said = self.side.statements
        start = int(said.i[statement])
        blocked = np.empty(0, dtype=np.int64)
        if said.kind[statement] == CANNOT:
            goal = int(said.j[statement])
        elif said.kind[statement] == NOT_LABEL:
            goal = int(self.bonds.class_vertex[statement])
        else:
            goal, blocked = self._rival(statement)
        path = self._shortest_path(start, goal, blocked)
        return [(a, self._statement_on(a, b)) for a, b in zip(path[:-1], path[1:], strict=True)]

    def _rival(self, statement: int) -> tuple[int, Ints]:
        """The vertex of the class that outweighs a broken label, and the classes not to pass through."""
        said = self.side.statements
        code = int(said.vocabulary[statement])
        if code not in self.members:
            self.members.update(_where_classes_meet(self.side))
        members = self.members[code]
        here = np.flatnonzero(said.binding & (said.kind == LABEL) & (said.vocabulary == code))
        here = here[members[said.i[here]] == members[said.i[statement]]]
        weight = np.bincount(said.class_code[here], weights=said.weight[here])
        rival = here[said.class_code[here] == weight.argmax()][0]
        goal = int(self.bonds.class_vertex[rival])
        same = self.side.n_samples + np.flatnonzero(self.bonds.vocabulary == code)
        return goal, same[same != goal]

    def _statement_on(self, a: int, b: int) -> int:
        key = min(a, b) * self.bonds.n_vertices + max(a, b)
        return int(self.edge_statement[np.searchsorted(self.edge_key, key)])

    def _shortest_path(self, start: int, goal: int, blocked: Ints) -> list[int]:
        if start == goal:
            return [start]
        path = self._from_both_ends(start, goal, blocked)
        return path if path else self._by_one_sweep(start, goal, blocked)

    def _from_both_ends(self, start: int, goal: int, blocked: Ints) -> list[int]:
        """Breadth-first search from both ends in turn, the smaller front first; [] if it takes long."""
        n = self.bonds.n_vertices
        parents = (np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64))
        fronts = [np.array([start]), np.array([goal])]
        for side, vertex in enumerate((start, goal)):
            parents[side][blocked] = n  # visited, by nobody
            parents[side][vertex] = vertex
        for _ in range(_MAX_STEPS):
            side = 0 if len(fronts[0]) <= len(fronts[1]) else 1
            front = self._step(fronts[side], parents[side])
            if not len(front):
                return []
            met = front[parents[1 - side][front] >= 0]
            if len(met):
                middle = int(met.min())
                back = _walk_back(parents[0], middle)[::-1]
                return back + _walk_back(parents[1], middle)[1:]
            fronts[side] = front
        return []

    def _step(self, front: Ints, parent: Ints) -> Ints:
        """The unvisited neighbours of a front; each remembers who reached it."""
        counts = self.degree[front]
        origin = np.repeat(front, counts)
        begins = np.repeat(self.graph.indptr[front] - np.cumsum(counts) + counts, counts)
        reached = self.graph.indices[begins + np.arange(len(origin))].astype(np.int64)
        fresh = parent[reached] < 0
        reached, origin = reached[fresh], origin[fresh]
        parent[reached] = origin
        return np.unique(reached)

    def _by_one_sweep(self, start: int, goal: int, blocked: Ints) -> list[int]:
        """scipy's breadth-first search over the vertices that may be passed."""
        free = np.setdiff1d(np.arange(self.bonds.n_vertices), blocked)
        new = np.full(self.bonds.n_vertices, -1, dtype=np.int64)
        new[free] = np.arange(len(free))
        graph = self.graph if not len(blocked) else self.graph[free][:, free]
        _, before = csgraph.breadth_first_order(graph, int(new[start]), directed=True)
        path = [int(new[goal])]
        while path[-1] != new[start]:
            path.append(int(before[path[-1]]))
        return free[path[::-1]].tolist()


def _walk_back(parent: Ints, vertex: int) -> list[int]:
    """From a vertex to the start of its search."""
    path = [vertex]
    while parent[path[-1]] != path[-1]:
        path.append(int(parent[path[-1]]))
    return path
