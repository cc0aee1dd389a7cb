"""Statements as couplings between the memberships of rows, kept as sums over label groups.

Rows of one class attract each other, rows of two classes of one vocabulary repel each other, and
"not c" repels the rows of c. The number of these pairs grows like n², so they are never listed: the
strength of a pair is a product of two numbers, one per statement, so that a row depends on the sum
over a group. Stated pairs are a sparse graph. Only rows with such dependences are kept here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import bayesian_mixture as kernels
from sidelight.exceptions import SideInformationError
from sidelight.side import SideInformation, Statements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Nats = float | Mapping[Any, float]


class Strength(NamedTuple):
    """What a statement counts: nats for a broken must, nats for a broken cannot.

    ``per_label``: a label pulls with its nats as a whole, whatever the size of its group. Otherwise
    each of the pairs that it implies counts as much as a stated pair.
    """

    must: Nats
    cannot: Nats
    per_label: bool


class Couplings(NamedTuple):
    """The rows with neighbours (ascending), and their statements as the kernels take them."""

    rows: Ints
    said: tuple[NDArray[Any], ...]
    vocabulary: Ints

    @classmethod
    def of(
        cls, side: SideInformation, strength: Strength, memory: "Memory | None" = None
    ) -> "Couplings":
        """The couplings that the statements of ``side`` imply.

        With a memory every annotated row is kept, as later batches may need it; the rows of the
        memory come after those of ``side``.
        """
        # Repeated statements add up annotator by annotator, in a fixed order.
        said = side.canonical.take(np.lexsort((side.canonical.weight, side.canonical.annotator)))
        must = said.weight * nats(side, said, strength.must, "side_weight", strength.per_label)
        cannot = said.weight * nats(
            side, said, strength.cannot, "cannot_weight", strength.per_label
        )
        labels = _Labels.of(side, said, must, cannot, memory, per_label=strength.per_label)
        graph = _pair_graph(said, must, cannot)
        rows = labels.rows_with_neighbours() if memory is None else labels.all_rows()
        rows = np.union1d(rows, graph.row)
        return cls(rows, (*labels.of_rows(rows), *graph.of_rows(rows)), labels.vocabulary)

    def sums(self, phi: Floats) -> tuple[Floats, ...]:
        """Per class the sums of memberships times strengths: attract, repel, deny, repel_all."""
        p_span, p_class, p_must, p_cannot, n_span, n_class, n_cannot = self.said[:7]
        n_classes = len(self.vocabulary)
        if not n_classes:  # pairs alone: making empty matrices takes as long as the sweep itself
            return tuple(np.zeros((0, phi.shape[1])) for _ in range(4))
        positive = (p_class, np.repeat(np.arange(len(phi)), np.diff(p_span)))
        negative = (n_class, np.repeat(np.arange(len(phi)), np.diff(n_span)))
        shape = (n_classes, len(phi))
        attract, repel, deny = (
            np.asarray(sparse.csr_array((value, where), shape=shape) @ phi)
            for value, where in ((p_must, positive), (p_cannot, positive), (n_cannot, negative))
        )
        repel_all = np.zeros((int(self.vocabulary.max(initial=-1)) + 1, phi.shape[1]))
        np.add.at(repel_all, self.vocabulary, repel)
        return attract, repel, deny, repel_all

    def sweep(self, scores: Floats, phi: Floats, potential: Floats | None) -> float:
        """Update phi row by row (IN/OUT); returns these rows' part of the bound.

        ``potential`` is V, None for Potts. No update lowers the bound.
        """
        self.sweep_some(np.arange(len(phi)), scores, phi, self.sums(phi), potential)
        return self.part_of_bound(scores, phi, potential)

    def sweep_some(
        self,
        which: Ints,
        scores: Floats,
        phi: Floats,
        sums: tuple[Floats, ...],
        potential: Floats | None,
    ) -> None:
        """Update some rows, given all others; scores are theirs. phi, sums: IN/OUT."""
        kernels.sweep(
            scores, which, self.said, self.vocabulary, *_as_kernels_take(potential), phi, sums,
            *_scratch(phi),
        )  # fmt: skip

    def part_of_bound(self, scores: Floats, phi: Floats, potential: Floats | None) -> float:
        """Expected scores plus entropy, less what the statements cost."""
        gain: float = kernels.expected_scores(scores, phi)
        return gain - self.cost(phi, potential)

    def cost(self, phi: Floats, potential: Floats | None) -> float:
        """What the statements cost."""
        n_vocabularies = int(self.vocabulary.max(initial=-1)) + 1
        sizes = (*(len(self.vocabulary),) * 3, n_vocabularies)
        nothing = tuple(np.zeros((size, phi.shape[1])) for size in sizes)
        cost: float = kernels.statement_cost(
            self.said, self.vocabulary, *_as_kernels_take(potential), phi, nothing, *_scratch(phi)
        )
        return cost


class SomeCouplings(NamedTuple):
    """A few of the coupled rows, which move while all others stay: those of a batch.

    ``rows`` are their places in the batch, ``which`` among the coupled rows; ``phi`` and ``sums``
    are of all coupled rows, and follow what happens to these.
    """

    rows: Ints
    which: Ints
    whole: Couplings
    phi: Floats
    sums: tuple[Floats, ...]

    def sweep(self, scores: Floats, phi: Floats, potential: Floats | None) -> float:
        """Update phi row by row (IN/OUT); returns expected scores plus entropy."""
        self.whole.sweep_some(self.which, scores, self.phi, self.sums, potential)
        phi[:] = self.phi[self.which]
        return float(kernels.expected_scores(scores, phi))


class Memory(NamedTuple):
    """Statements about rows of earlier batches: for each class the memberships of its rows.

    A row of another batch depends on the sum over a group, so a group is remembered as one row with
    the mean membership and the total strength. There are three per class: its labels as attraction,
    its labels as repulsion, and its negative labels.
    """

    keys: tuple[tuple[Any, Any], ...]  # (vocabulary, class) of each remembered row
    role: NDArray[np.int64]  # 0 attract, 1 repel, 2 deny
    strength: Floats
    phi: Floats

    @classmethod
    def of_tables(cls, keys: Any, tables: tuple[Floats, ...]) -> "Memory":
        """From the sums of memberships times strengths, (classes, T): attract, repel, deny."""
        stacked = np.concatenate(tables)
        strength = stacked.sum(axis=1)
        kept = np.flatnonzero(strength > 0)
        role, place = np.divmod(kept, max(len(keys), 1))
        phi = stacked[kept] / strength[kept, None]
        return cls(tuple(keys[c] for c in place), role, strength[kept], phi)


def _as_kernels_take(potential: Floats | None) -> tuple[Floats, bool]:
    return (np.zeros((0, 0)), True) if potential is None else (potential, False)


def _scratch(phi: Floats) -> tuple[Floats, Floats]:
    return np.empty(phi.shape[1]), np.empty(phi.shape[1])


def nats(
    side: SideInformation, said: Statements, given: Nats, name: str, per_label: bool
) -> Floats:
    """What each statement counts at weight 1: one number, or one per annotator."""
    if isinstance(given, Mapping):
        # More annotators than in the statements are allowed: side may be a slice.
        used = [(*side.annotators, None)[a] for a in np.unique(said.annotator)]
        missing = [a for a in used if a not in given]
        if missing:
            raise SideInformationError(
                f"{name} has no entry for {missing[0]!r}; it needs one for every annotator of a "
                f"statement (None: not told who), and has {list(given)}."
            )
        wrong = [a for a, value in given.items() if not (np.isfinite(value) and value >= 0)]
        if wrong:
            raise SideInformationError(
                f"{name} is {given[wrong[0]]} for {wrong[0]!r}; give the log-odds that the "
                "annotator is right, log(p / (1 - p)), zero or more."
            )
        value = np.array([given.get(a, 0.0) for a in (*side.annotators, None)])[said.annotator]
    else:
        value = np.full(len(said.kind), float(given))
    if not per_label:
        # A pair of labels multiplies both its ends; then it counts what one stated pair counts.
        value = np.where(said.is_class, np.sqrt(value), value)
    return value


class _Labels(NamedTuple):
    """Label statements, one per row and class: of n_samples rows, as spans (see kernels)."""

    vocabulary: Ints
    row: Ints
    column: Ints
    must: Floats
    cannot: Floats
    negative_row: Ints
    negative_column: Ints
    negative: Floats

    @classmethod
    def of(
        cls,
        side: SideInformation,
        said: Statements,
        must: Floats,
        cannot: Floats,
        memory: Memory | None,
        *,
        per_label: bool,
    ) -> "_Labels":
        is_label = said.is_class
        said, must, cannot = said.take(is_label), must[is_label], cannot[is_label]
        column = side.class_columns.find(said.vocabulary, said.class_code)
        vocabulary = side.class_columns.group.copy()  # kernels want writable arrays
        is_positive, is_negative = said.sign > 0, said.sign < 0
        row, positive, must, repel = _merged(
            said.i[is_positive], column[is_positive], must[is_positive], cannot[is_positive]
        )
        negative_row, negative, deny, _ = _merged(
            said.i[is_negative], column[is_negative], cannot[is_negative], cannot[is_negative]
        )
        if memory is not None:
            vocabulary, column_of = _with_memory(side.class_columns.names, memory)
            rows = side.n_samples + np.arange(len(column_of))
            says, denies = memory.role < 2, memory.role == 2
            row = np.append(row, rows[says])
            positive = np.append(positive, column_of[says])
            must = np.append(must, np.where(memory.role == 0, memory.strength, 0.0)[says])
            repel = np.append(repel, np.where(memory.role == 1, memory.strength, 0.0)[says])
            negative_row = np.append(negative_row, rows[denies])
            negative = np.append(negative, column_of[denies])
            deny = np.append(deny, memory.strength[denies])
        if per_label:
            must = must / _root_of_mean_group(vocabulary, positive, must)[positive]
            group = _root_of_mean_group(vocabulary, positive, repel)
            repel, deny = repel / group[positive], deny / group[negative]
        return cls(vocabulary, row, positive, must, repel, negative_row, negative, deny)

    def rows_with_neighbours(self) -> Ints:
        """Rows that attract or repel another row; a label used once may have none."""
        n_columns = len(self.vocabulary)
        attracting, repelling = self.must > 0, self.cannot > 0
        same = np.bincount(self.column[attracting], minlength=n_columns)
        said = np.bincount(self.column[repelling], minlength=n_columns)
        n_vocabularies = int(self.vocabulary.max(initial=-1)) + 1
        in_all = np.bincount(self.vocabulary, said, minlength=n_vocabularies)[self.vocabulary]
        denied = np.bincount(self.negative_column[self.negative > 0], minlength=n_columns)
        felt = attracting & (same[self.column] > 1)
        felt |= repelling & ((in_all - said + denied)[self.column] > 0)
        negative = (self.negative > 0) & (said[self.negative_column] > 0)
        return np.union1d(self.row[felt], self.negative_row[negative])

    def all_rows(self) -> Ints:
        """The annotated rows."""
        return np.union1d(self.row, self.negative_row)

    def of_rows(self, rows: Ints) -> tuple[NDArray[Any], ...]:
        """The spans of some rows, and the entries that they point to."""
        first = np.isin(self.row, rows)
        second = np.isin(self.negative_row, rows)
        return (
            _span(self.row[first], rows), self.column[first], self.must[first],
            self.cannot[first], _span(self.negative_row[second], rows),
            self.negative_column[second], self.negative[second],
        )  # fmt: skip


def _with_memory(names: list[tuple[Any, Any]], memory: Memory) -> tuple[Ints, Ints]:
    """The vocabulary of every class, also of those that are only remembered; the classes of these.

    Python takes 1, 1.0 and True for one key; with its type a class is itself.
    """
    place = {(v, type(c), c): j for j, (v, c) in enumerate(names)}
    columns = [place.setdefault((v, type(c), c), len(place)) for v, c in memory.keys]
    vocabularies: dict[Any, int] = {}
    codes = [vocabularies.setdefault(v, len(vocabularies)) for v, _, _ in place]
    return np.array(codes, dtype=np.int64), np.array(columns, dtype=np.int64)


def _merged(row: Ints, column: Ints, *values: Floats) -> tuple[Any, ...]:
    """Statements about the same row and class as one, sorted by row: repetition adds up."""
    order = np.lexsort((column, row))
    row, column = row[order], column[order]
    first = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (np.diff(column, prepend=-1) != 0))
    if not len(first):
        return row, column, *values
    return row[first], column[first], *(np.add.reduceat(v[order], first) for v in values)


def _root_of_mean_group(vocabulary: Ints, column: Ints, strength: Floats) -> Floats:
    """Per class the root of the mean strength of the groups in its vocabulary (1 where it is 0).

    Divided by it, a label pulls with its own strength times (its group / the mean group).
    """
    group = np.bincount(column, strength, minlength=len(vocabulary))
    total = np.bincount(vocabulary, group)
    count = np.bincount(vocabulary, group > 0)
    mean = np.divide(total, count, out=np.ones(len(total)), where=count > 0)
    return np.sqrt(mean)[vocabulary]


class _Graph(NamedTuple):
    """Stated pairs, from both ends, as a sparse graph."""

    row: Ints
    partner: Ints
    must: Floats
    cannot: Floats

    def of_rows(self, rows: Ints) -> tuple[NDArray[Any], ...]:
        """The same between some rows, which include all that have partners."""
        return _span(self.row, rows), np.searchsorted(rows, self.partner), self.must, self.cannot


def _pair_graph(said: Statements, must: Floats, cannot: Floats) -> _Graph:
    # A row is always together with itself: such a pair changes nothing.
    is_pair = said.is_pair & (said.i != said.j)
    attract = np.where(said.sign > 0, must, 0.0)
    repel = np.where(said.sign < 0, cannot, 0.0)
    is_pair &= attract + repel > 0
    i, j = said.i[is_pair], said.j[is_pair]
    ends, others = np.concatenate([i, j]), np.concatenate([j, i])
    both = (np.tile(attract[is_pair], 2), np.tile(repel[is_pair], 2))
    return _Graph(*_merged(ends, others, *both))


def _span(row: Ints, rows: Ints) -> Ints:
    return np.append(np.searchsorted(row, rows), len(row)).astype(np.int64)
