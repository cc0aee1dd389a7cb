"""Statements as models take them: sorted, each once, as columns of classes, as a signed graph.

SideInformation computes each view once and keeps it, so all arrays are read-only.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sidelight.side._kinds import LABEL
from sidelight.side._names import Name
from sidelight.side._statements import Ints, Statements, distinct

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation


def canonical(said: Statements) -> Statements:
    """The binding statements, sorted by kind, i, j, class, weight, annotator and vocabulary."""
    chosen = np.flatnonzero(said.binding)
    binding = said.take(chosen)
    order = np.lexsort(binding.columns[::-1])
    if np.array_equal(chosen[order], np.arange(len(said.kind))):
        return said  # labels of a table come in order; no need for a copy
    return _read_only(binding.take(order))


def once(said: Statements) -> Statements:
    """The heaviest of equal binding statements; no pair of a row with itself."""
    said = said.take(said.binding & (said.i != said.j))
    said = said.take(np.lexsort((-said.weight, *_content(said)[::-1])))
    same = np.all([column[1:] == column[:-1] for column in _content(said)], axis=0)
    return _read_only(said.take(np.append(True, ~same)[: len(said.kind)]))


def _content(said: Statements) -> tuple[Any, ...]:
    return said.kind, said.i, said.j, said.vocabulary, said.class_code


def _read_only(said: Statements) -> Statements:
    for column in said.columns:
        column.flags.writeable = False
    return said


def class_keys(classes: tuple[Name, ...], vocabulary: Ints, class_code: Ints) -> Ints:
    """One number for each class of each vocabulary, from 0; −1 where there is no class."""
    return (vocabulary + 1) * max(len(classes), 1) + class_code


@dataclass(frozen=True, eq=False)
class ClassColumns:
    """The classes that binding statements name, each once in every vocabulary that has it.

    Classes of different vocabularies are never compared, so a model gives each a column of its own.

    Attributes
    ----------
    vocabulary, class_code : ndarray of shape (n_columns,)
        Codes of each column, ascending; −1, the shared vocabulary, comes first.
    group : ndarray of shape (n_columns,)
        The vocabulary of each column as a number 0, 1, … without gaps.
    first : ndarray
        The first column of each group.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_labels(["cat", "dog", None])
    >>> side += SideInformation.from_labels([None, "cat", None], vocabulary="bob")
    >>> side.class_columns.names
    [(None, 'cat'), (None, 'dog'), ('bob', 'cat')]
    >>> side.class_columns.find(side.statements.vocabulary, side.statements.class_code)
    array([0, 1, 2])
    """

    keys: Ints
    vocabulary: Ints
    class_code: Ints
    group: Ints
    first: Ints
    classes: tuple[Name, ...]
    vocabularies: tuple[Name, ...]

    @classmethod
    def of(cls, side: "SideInformation") -> "ClassColumns":
        """The columns of the binding statements about classes."""
        said = side.statements
        said = said.take(said.binding & said.is_class)
        keys = distinct(class_keys(side.classes, said.vocabulary, said.class_code))
        vocabulary, class_code = np.divmod(keys, max(len(side.classes), 1))
        _, first, group = np.unique(vocabulary, return_index=True, return_inverse=True)
        columns = (keys, vocabulary - 1, class_code, group.astype(np.int64), first)
        for column in columns:
            column.flags.writeable = False
        return cls(*columns, side.classes, side.vocabularies)

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def names(self) -> list[tuple[Name | None, Name]]:
        """Vocabulary (None: the shared one) and class of each column."""
        vocabularies = (*self.vocabularies, None)
        codes = zip(self.vocabulary.tolist(), self.class_code.tolist(), strict=True)
        return [(vocabularies[v], self.classes[c]) for v, c in codes]

    def find(self, vocabulary: Ints, class_code: Ints) -> Ints:
        """The column of each class, −1 where there is none."""
        return find(self.keys, class_keys(self.classes, vocabulary, class_code))


def find(keys: Ints, wanted: Ints) -> Ints:
    """The position of each wanted number in sorted keys, −1 where it is missing."""
    place = np.searchsorted(keys, wanted)
    return np.where(np.append(keys, -2)[place] == wanted, place, -1)


def signed_graph(side: "SideInformation") -> sparse.csr_array:
    """Stated pairs of different rows: summed weights, those of cannot-links below zero."""
    said = side.canonical
    said = said.take(said.is_pair & (said.i != said.j))
    # The heaviest must first, the heaviest cannot last: sums do not depend on the order of
    # statements.
    said = said.take(np.lexsort((-said.signed_weight, said.j, said.i)))
    shape = (side.n_samples, side.n_samples)
    half = sparse.coo_array((said.signed_weight, (said.i, said.j)), shape=shape).tocsr()
    graph = sparse.csr_array(half + half.T)
    graph.eliminate_zeros()
    graph.sort_indices()
    for array in (graph.data, graph.indices, graph.indptr):
        array.flags.writeable = False
    return graph


def leading_vocabulary(side: "SideInformation") -> int:
    """The vocabulary with the most label weight; ties go to the shared one, then by name."""
    said = side.canonical
    said = said.take(said.kind == LABEL)
    totals = np.bincount(said.vocabulary + 1, said.weight, minlength=len(side.vocabularies) + 1)
    return int(totals.argmax()) - 1
