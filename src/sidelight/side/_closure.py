"""Implications of a set of statements: which rows belong together, and which do not.

Must-links chain, and equal labels of one vocabulary tie their rows together too. Both are edges of
one graph, the bonds: its vertices are the rows and, after them, one vertex for each class of each
vocabulary, so that ten thousand rows with one label cost ten thousand edges and not 5e7 pairs.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from sidelight.side._kinds import CANNOT, KINDS, LABEL, MUST, NOT_LABEL
from sidelight.side._statements import Ints, distinct, row_positions
from sidelight.side._views import class_keys, find

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation


class Bonds(NamedTuple):
    """The edges that tie rows together, directly or through a class."""

    n_vertices: int
    class_vertex: Ints  # of each statement: the vertex of its class, −1 if it binds none
    left: Ints
    right: Ints
    statement: Ints  # which statement an edge comes from


def bonds(side: "SideInformation") -> Bonds:
    """The graph of must-links and labels that bind."""
    said, columns = side.statements, side.class_columns
    column = columns.find(said.vocabulary, said.class_code)
    class_vertex = np.where(column >= 0, side.n_samples + column, -1)
    ties = np.flatnonzero(said.binding & (said.sign > 0))
    right = np.where(said.is_pair, said.j, class_vertex)
    return Bonds(
        side.n_samples + len(columns),
        class_vertex,
        said.i[ties],
        right[ties],
        ties,
    )


def components(n_vertices: int, left: Ints, right: Ints) -> Ints:
    """Connected components, numbered by their first vertex."""
    edges = (np.ones(len(left), dtype=np.int8), (left, right))
    graph = sparse.coo_array(edges, shape=(n_vertices, n_vertices))
    # scipy walks through the vertices in order, so its numbers are those of the first vertices.
    return csgraph.connected_components(graph, directed=False)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Closure:
    """Everything that a set of statements entails, kept per group and never per pair of rows.

    Attributes
    ----------
    groups : ndarray of shape (n_samples,)
        Rows of one group belong together. Groups are numbered by their first row.
    cannot : ndarray of shape (n, 2)
        Pairs of groups that a cannot-link keeps apart, each once, the lower number first. A pair
        ``(g, g)`` is a contradiction: see `SideInformation.conflicts`.
    labels, not_labels : ndarray of shape (n, 3)
        Group, code of the vocabulary and code of the class, for every class that a group has or
        has not. Two groups with labels of one vocabulary are apart, whichever labels these are,
        because equal labels make one group.
    source : SideInformation
        Without its statements, the rows and names that the numbers refer to.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(2, 3)], n_samples=5)
    >>> closure = side.closure()
    >>> closure.groups.tolist(), closure.cannot.tolist()
    ([0, 0, 0, 1, 2], [[0, 1]])
    """

    groups: Ints
    cannot: Ints
    labels: Ints
    not_labels: Ints
    source: "SideInformation"

    def __post_init__(self) -> None:
        # SideInformation caches its closure, so all callers get the same arrays.
        for column in (self.groups, self.cannot, self.labels, self.not_labels):
            column.flags.writeable = False

    @property
    def n_groups(self) -> int:
        """The number of groups, rows that are tied to no other row included."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0

    @property
    def sizes(self) -> Ints:
        """The number of rows in each group."""
        return np.bincount(self.groups, minlength=self.n_groups)

    @property
    def n_must_pairs(self) -> int:
        """The number of pairs of rows that belong together: counted, not listed."""
        sizes = self.sizes
        return int((sizes * (sizes - 1) // 2).sum())

    def together(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.bool_]:
        """Whether rows i and j belong together, for arrays of rows."""
        return np.asarray(self._groups_of(i) == self._groups_of(j))

    def apart(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.bool_]:
        """Whether rows i and j do not belong together, for arrays of rows.

        Both `together` and `apart` hold where the statements contradict each other.
        """
        first, second = self._groups_of(i), self._groups_of(j)
        low, high = np.minimum(first, second), np.maximum(first, second)
        found = np.isin(
            low * self.n_groups + high, self.cannot[:, 0] * self.n_groups + self.cannot[:, 1]
        )
        has, classes, barred = self._incidence()
        found |= _meet(has, first, has, second) & (first != second)
        found |= _meet(classes, first, barred, second) | _meet(classes, second, barred, first)
        twice = np.flatnonzero((has > 1).sum(axis=1)) if has.nnz else np.empty(0, dtype=np.int64)
        return np.asarray(found | ((first == second) & np.isin(first, twice)))

    def group_of_class(self, vocabulary: ArrayLike, class_code: ArrayLike) -> Ints:
        """The group of each class, by codes; −1 if no row has a label of it."""
        keys = self._keys(self.labels)
        order = np.argsort(keys)
        wanted = class_keys(self.source.classes, np.asarray(vocabulary), np.asarray(class_code))
        return np.append(self.labels[order, 0], -1)[find(keys[order], wanted)]

    def labelled_groups(self) -> list[Ints]:
        """For each vocabulary the groups that have a label of it: all apart from each other."""
        order = np.argsort(self.labels[:, 1], kind="stable")
        groups, codes = self.labels[order, 0], self.labels[order, 1]
        return [distinct(own) for own in np.split(groups, np.flatnonzero(np.diff(codes)) + 1)]

    def apart_graph(self) -> sparse.csr_array:
        """Which groups must be apart, as a symmetric matrix of groups by groups.

        By a cannot-link, by different labels of one vocabulary, or by a label that the other group
        has as a negative label. A contradiction is an entry on the diagonal.
        """
        pairs = [self.cannot]
        for groups in self.labelled_groups():
            first, second = np.triu_indices(len(groups), k=1)
            pairs.append(np.stack([groups[first], groups[second]], axis=1))
        # Each "not c" against the group that is c: at most one, since equal labels make one group.
        lacking = self.not_labels
        having = self.group_of_class(lacking[:, 1], lacking[:, 2])
        pairs.append(np.stack([having, lacking[:, 0]], axis=1)[having >= 0])
        facts = self.labels[np.lexsort((self.labels[:, 1], self.labels[:, 0]))]
        twice = facts[1:][(facts[1:, :2] == facts[:-1, :2]).all(axis=1), 0]
        pairs.append(np.stack([twice, twice], axis=1))
        ends = np.concatenate(pairs)
        ends = np.concatenate([ends, ends[:, ::-1]])
        ones = np.ones(len(ends), dtype=np.int8)
        n = self.n_groups
        return sparse.coo_array((ones, (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()

    def __getitem__(self, rows: Any) -> "Closure":
        """The same knowledge about fewer rows: ties through the rows that are gone remain."""
        chosen = row_positions(rows, len(self.groups))
        # Not source[chosen] itself: it would forget names that no statement uses, and so the codes.
        source = replace(self.source, n_samples=len(chosen), index=self.source[chosen].index)
        kept, first, groups = np.unique(self.groups[chosen], return_index=True, return_inverse=True)
        by_first_row = np.argsort(np.argsort(first))
        new = np.full(self.n_groups, -1, dtype=np.int64)
        new[kept] = by_first_row
        return Closure(
            by_first_row[groups],
            _distinct_rows(np.sort(_survivors(new[self.cannot]), axis=1)),
            _distinct_rows(_survivors(_renumbered(self.labels, new))),
            _distinct_rows(_survivors(_renumbered(self.not_labels, new))),
            source,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Closure):
            return NotImplemented
        # Compare statements and not arrays: codes of classes depend on which names are in use.
        return self.to_side() == other.to_side()

    __hash__ = None  # type: ignore[assignment]

    def to_side(self) -> "SideInformation":
        """Few equivalent statements: a star of must-links per group, one cannot per pair of groups.

        Returns
        -------
        SideInformation
            Its closure is this closure again.
        """
        n = len(self.groups)
        _, first = np.unique(self.groups, return_index=True)
        members = np.setdiff1d(np.arange(n), first)
        facts = np.concatenate([self.labels, self.not_labels])
        kinds = np.repeat(
            [MUST, CANNOT, LABEL, NOT_LABEL],
            [len(members), len(self.cannot), len(self.labels), len(self.not_labels)],
        )
        i = np.concatenate(
            [first[self.groups[members]], first[self.cannot[:, 0]], first[facts[:, 0]]]
        )
        j = np.concatenate([members, first[self.cannot[:, 1]], np.full(len(facts), -1)])
        n_pairs = len(kinds) - len(facts)
        ids = self.source.index
        return type(self.source).from_columns(
            np.array(KINDS)[kinds],
            i if ids is None else ids[i],
            j if ids is None else np.where(j < 0, None, ids.astype(object)[j]),
            class_=_names(self.source.classes, facts[:, 2], n_pairs),
            vocabulary=_names(self.source.vocabularies, facts[:, 1], n_pairs),
            n_samples=n,
            index=ids,
            self_pairs="keep",
        )

    def _groups_of(self, rows: ArrayLike) -> Ints:
        rows = np.asarray(rows)
        return self.groups[rows if rows.size else rows.astype(np.int64)]  # [] is of floats

    def _incidence(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """Groups against vocabularies (number of labels), classes, and excluded classes."""
        vocabularies = len(self.source.vocabularies) + 1  # code −1, the shared one, comes first
        cells = vocabularies * max(len(self.source.classes), 1)

        def table(facts: Ints, columns: Ints, width: int) -> sparse.csr_array:
            ones = np.ones(len(facts), dtype=np.int64)
            return sparse.coo_array((ones, (facts[:, 0], columns)), (self.n_groups, width)).tocsr()

        return (
            table(self.labels, self.labels[:, 1] + 1, vocabularies),
            table(self.labels, self._keys(self.labels), cells),
            table(self.not_labels, self._keys(self.not_labels), cells),
        )

    def _keys(self, facts: Ints) -> Ints:
        return class_keys(self.source.classes, facts[:, 1], facts[:, 2])


def close(side: "SideInformation") -> Closure:
    """Spread must-links through chains and labels, and lift the rest to whole groups."""
    said, tied = side.canonical, bonds(side)
    groups = components(tied.n_vertices, tied.left, tied.right)[: side.n_samples]
    facts = np.stack([groups[said.i], said.vocabulary, said.class_code], axis=1)
    pairs = np.sort(groups[np.stack([said.i, said.j], axis=1)[said.kind == CANNOT]], axis=1)
    return Closure(
        groups,
        _distinct_rows(pairs),
        _distinct_rows(facts[said.kind == LABEL]),
        _distinct_rows(facts[said.kind == NOT_LABEL]),
        _without_statements(side),
    )


def _without_statements(side: "SideInformation") -> "SideInformation":
    nothing = side.statements.take(np.empty(0, dtype=np.int64))
    return type(side)(nothing, side.n_samples, side.classes, (), side.vocabularies, side.index)


def _survivors(table: Ints) -> Ints:
    """The lines whose groups (all columns but the codes of names) are still there."""
    return table[(table[:, 0] >= 0) & ((table.shape[1] == 3) | (table[:, 1] >= 0))]


def _renumbered(facts: Ints, new: Ints) -> Ints:
    return np.stack([new[facts[:, 0]], facts[:, 1], facts[:, 2]], axis=1)


def _distinct_rows(table: Ints) -> Ints:
    """Sorted lines, each once. One number per line: np.unique(axis=0) is ten times slower."""
    if not len(table):
        return table
    low = table.min(axis=0)
    shape = tuple((table.max(axis=0) - low + 1).tolist())
    lines = distinct(np.ravel_multi_index(tuple((table - low).T), shape))
    return np.stack(np.unravel_index(lines, shape), axis=1) + low


def _meet(
    left: sparse.csr_array, first: Ints, right: sparse.csr_array, second: Ints
) -> NDArray[np.bool_]:
    """Row by row, whether a row of one table and a row of another have an entry in common."""
    shared = left[first.ravel()].multiply(right[second.ravel()])
    return np.asarray(shared.sum(axis=1) > 0).reshape(first.shape)


def _names(names: tuple[Any, ...], codes: Ints, n_before: int) -> NDArray[Any]:
    column = np.full(n_before + len(codes), None, dtype=object)
    lookup = np.full(len(names) + 1, None, dtype=object)
    lookup[:-1] = names
    column[n_before:] = lookup[codes]
    return column
