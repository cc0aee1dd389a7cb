"""How statements enter Markov aggregation: units that move together, and links between units.

Hard: rows that must be together are one unit, and all other statements are between units. Soft:
every row is a unit, and broken statements have a cost.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import aggregate as kernels
from sidelight.side import LABEL, MUST, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Units(NamedTuple):
    """Units of rows that move together, and the statements between units.

    Rows members[span[u]:span[u + 1]] are unit u. Partners are units that cannot (weight above
    zero) or should (below) be with u; rivals are labels of one vocabulary, by (vocabulary, weight):
    units with labels of one vocabulary have different ones, so no two of them belong together.
    ``priced`` are statements about classes whose cluster changes during the search: columns row,
    column and weight, above zero for "is" and below for "is not". ``ties`` (CSR over units) are
    must-links that are not propagated; None where units are all that moves together.
    """

    of_row: Ints
    members: Ints
    span: Ints
    partners: tuple[Ints, Ints, Floats]
    rivals: tuple[Ints, Ints, Floats]
    n_rival_vocabularies: int
    priced: tuple[Ints, Ints, Floats]
    column_vocabulary: Ints
    penalty: float
    ties: tuple[Ints, Ints, Floats] | None = None

    @property
    def n_units(self) -> int:
        """The number of units."""
        return len(self.span) - 1

    @property
    def is_hard(self) -> bool:
        """Whether no cost outweighs a statement."""
        return self.penalty == 0.0

    @property
    def is_stated(self) -> NDArray[np.bool_]:
        """Which units a statement binds to others or to a class."""
        bound = (np.diff(self.partners[0]) > 0) | (np.diff(self.rivals[0]) > 0)
        bound[self.priced[0]] = True
        return bound if self.ties is None else bound | (np.diff(self.ties[0]) > 0)

    def said(self, place: Ints, price: Floats) -> kernels.Said:
        """The statements as kernels take them, with what clusters cost those units in ``price``."""
        return kernels.Said(*self.partners, *self.rivals, place, price)


def hard_units(side: SideInformation, *, propagate: bool = True) -> Units:
    """Groups that must be together; all other statements are between groups.

    Labels that others outvote are left out first: they would tie two classes into one group. If
    must-links are not propagated, only equal labels make groups, and must-links are ties.
    """
    said = side.statements
    keep = said.binding
    outvoted = side.conflicts(limit=0).broken
    keep[outvoted[said.kind[outvoted] == LABEL]] = False
    if not propagate:
        must = said.take(keep & (said.kind == MUST))
        keep &= said.kind != MUST
    side = replace(side, statements=said.take(keep))
    said, closure = side.canonical, side.closure()
    groups, n_units = closure.groups.astype(np.int64), closure.n_groups
    apart, label = said.take(said.sign < 0), said.kind == LABEL
    # A class without labels has no cluster that a row could be kept out of.
    of_class = closure.group_of_class(apart.vocabulary, apart.class_code)
    other = np.where(apart.is_class, of_class, groups[apart.j])
    partners = _symmetric(groups[apart.i], other, apart.weight, n_units)
    vocabulary, rival = np.unique(said.vocabulary[label], return_inverse=True)
    table = sparse.coo_array(
        (said.weight[label], (groups[said.i[label]], rival)), shape=(n_units, len(vocabulary) or 1)
    ).tocsr()
    # The only class of a vocabulary has no rivals.
    table = sparse.csr_array(table * (np.diff(table.tocsc().indptr) > 1))
    table.eliminate_zeros()
    order = np.argsort(groups, kind="stable")
    ties = None
    if not propagate:
        ties = _symmetric(groups[must.i], groups[must.j], must.weight, n_units)
    return Units(
        groups,
        order,
        np.searchsorted(groups[order], np.arange(n_units + 1)),
        partners,
        _parts(table),
        table.shape[1],
        _NOTHING,
        np.empty(0, dtype=np.int64),
        0.0,
        ties,
    )


def soft_units(side: SideInformation, penalty: float) -> Units:
    """Every row by itself; each statement that is broken costs its weight times ``penalty``."""
    graph, columns = side.signed_graph, side.class_columns
    said = side.canonical.take(side.canonical.is_class)
    column, weight = columns.find(said.vocabulary, said.class_code), said.signed_weight
    order = np.lexsort((weight, column, said.i))
    return no_statements(side.n_samples)._replace(
        partners=(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), -graph.data),
        priced=(said.i[order], column[order], weight[order]),
        column_vocabulary=columns.vocabulary.copy(),
        penalty=penalty,
    )


def no_statements(n_rows: int) -> Units:
    """Every row by itself, without statements."""
    everyone = np.arange(n_rows)
    nobody = (np.zeros(n_rows + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    none = np.empty(0, dtype=np.int64)
    return Units(everyone, everyone, np.arange(n_rows + 1), nobody, nobody, 1, _NOTHING, none, 0.0)


_NOTHING = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


def _symmetric(i: Ints, j: Ints, weight: Floats, n: int) -> tuple[Ints, Ints, Floats]:
    """Pairs of different units, in both directions, weights of equal pairs summed."""
    real = (i != j) & (j >= 0)
    i, j, weight = i[real], j[real], weight[real]
    order = np.lexsort((weight, np.maximum(i, j), np.minimum(i, j)))
    i, j, weight = i[order], j[order], weight[order]
    pairs = sparse.coo_array((weight, (np.minimum(i, j), np.maximum(i, j))), shape=(n, n)).tocsr()
    both = sparse.csr_array(pairs + pairs.T)
    both.eliminate_zeros()
    return _parts(both)


def _parts(table: Any) -> tuple[Ints, Ints, Floats]:
    table.sort_indices()
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data
