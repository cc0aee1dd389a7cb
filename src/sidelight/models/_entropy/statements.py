"""The relation graph G': statements about pairs of rows, as weights beside similarities.

Positive weights hold rows together, negative ones apart. A stated pair keeps its own weight.
Implied pairs (must-links chain, labels tie and separate whole classes, cannot-links spread to
groups) are one number for each pair of groups and never expanded: 100,000 labels in 10 classes
entail 4.5e9 pairs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.exceptions import SideInformationError
from sidelight.models._entropy.search import Ties
from sidelight.models._relation import row_amounts, symmetric
from sidelight.side import CANNOT, LABEL, Closure, SideInformation, Statements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_EXPANDED = 5_000_000  # pairs of rows, when entailed pairs are expanded as in the paper
MOST_GROUP_PAIRS = 20_000_000
_SAMPLE = 20_000  # entailed pairs from which their mean weight is taken


class Strengths(NamedTuple):
    """How strong a must-link and a cannot-link of two rows is, before all weights.

    ``similarity(i, j)`` of pairs; a must-link weighs highest − similarity, a cannot-link
    lowest − similarity.
    """

    similarity: Callable[[Ints, Ints], Floats]
    highest: float
    lowest: float

    def of(self, i: Ints, j: Ints, is_must: bool) -> Floats:
        """The γ of pairs, without ρ."""
        likeness = self.similarity(i, j)
        return (
            np.maximum(self.highest - likeness, 0)
            if is_must
            else np.minimum(self.lowest - likeness, 0)
        )


class Relation(NamedTuple):
    """G' with the side weight folded in: weights of single pairs, and of pairs of groups."""

    pairs: sparse.csr_array
    group: Ints
    amount: Floats
    ties: Ties

    @classmethod
    def none(cls, n_samples: int) -> "Relation":
        """A relation without statements."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(
            sparse.csr_array((n_samples, n_samples)),
            np.full(n_samples, -1),
            np.ones(n_samples),
            Ties(np.zeros(1, dtype=np.int64), nothing, np.empty(0)),
        )


def relation_graph(
    side: SideInformation, strengths: Strengths, side_weight: float, *, expand: bool
) -> Relation:
    """All statements as one relation graph.

    Parameters
    ----------
    side : SideInformation
        Statements of all kinds. One that is repeated counts once, with its largest weight.
    strengths : Strengths
        Of pairs of rows.
    side_weight : float
        φ, folded into the weights.
    expand : bool
        Give every entailed pair a weight of its own, as in the paper, instead of the mean.
    """
    said = side.once
    if not len(said.kind):
        return Relation.none(side.n_samples)
    facts = _Facts.of(side, said)
    balance = facts.n_must / facts.n_apart if facts.n_must and facts.n_apart else 1.0
    scale = side_weight * np.array([1.0, balance])
    if expand:
        return _expanded(said, facts, strengths, scale)
    return _by_groups(said, facts, strengths, scale)


def stated_relation(side: SideInformation, strengths: Strengths, side_weight: float) -> Relation:
    """A relation graph of `stated_pairs` only: each has its own weight."""
    pairs = stated_pairs(side)
    i = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    j = pairs.indices.astype(np.int64)
    must, cannot = (strengths.of(i, j, is_must) for is_must in (True, False))
    pairs.data = side_weight * np.where(pairs.data > 0, pairs.data * must, -pairs.data * cannot)
    return Relation.none(side.n_samples)._replace(pairs=pairs)


def stated_pairs(side: SideInformation) -> sparse.csr_array:
    """Statements about pairs of rows: the sum of the weights, those of cannot-links below zero.

    A label ties its row to the first row of its class, a negative label separates the two, and the
    first rows of two classes are apart. Pairs implied by chains are left out, so that there are no
    more pairs than statements and pairs of classes.
    """
    said = side.once
    columns, has = side.class_columns, said.kind == LABEL
    column = columns.find(said.vocabulary, said.class_code)
    classes, start, place, n_rows = np.unique(
        column[has], return_index=True, return_inverse=True, return_counts=True
    )
    first = np.full(len(columns) + 1, -1, dtype=np.int64)  # -1 where no row has the class
    first[classes] = said.i[has][start]
    other = np.where(said.is_class, first[column], said.j)
    keep = (other >= 0) & (said.i != other)
    mean = np.bincount(place, said.weight[has], minlength=len(classes)) / n_rows
    a, b = np.triu_indices(len(classes), 1)
    first, vocabulary = first[classes], columns.group[classes]
    differ = (vocabulary[a] == vocabulary[b]) & (first[a] != first[b])
    a, b = a[differ], b[differ]
    return symmetric(
        side.n_samples,
        np.concatenate([said.i[keep], first[a]]),
        np.concatenate([other[keep], first[b]]),
        np.concatenate([said.signed_weight[keep], -np.sqrt(mean[a] * mean[b])]),
    )


def exceptions(side: SideInformation) -> sparse.csr_array:
    """`stated_pairs`, weighed by how many rows are in the wrong place if a statement is broken.

    If two groups are kept apart by statements and end up together, the rows of the smaller group
    are in the wrong place, however often that was stated; at least one row for each statement.
    """
    pairs = stated_pairs(side)
    group = np.asarray(side.groups())
    one = np.repeat(group, np.diff(pairs.indptr))
    other = group[pairs.indices]
    apart = (pairs.data < 0) & (one != other)
    low, high = np.minimum(one, other)[apart], np.maximum(one, other)[apart]
    _, inverse, count = np.unique(low * len(group) + high, return_inverse=True, return_counts=True)
    size = np.bincount(group)
    n_said = count[inverse] / 2  # a symmetric matrix has each twice
    pairs.data[apart] *= np.maximum(np.minimum(size[low], size[high]) / n_said, 1.0)
    return pairs


# What follows from the statements


class _Facts(NamedTuple):
    """Groups of rows that belong together, and which of them are apart."""

    group: Ints  # of each row
    size: Ints
    members: Ints  # rows by group
    first: Ints  # where a group starts in members
    amount: Floats  # what a row counts in its group
    apart: Ints  # (m, 2), the lower group first
    apart_weight: Floats

    @classmethod
    def of(cls, side: SideInformation, said: Statements) -> "_Facts":
        closure = side.closure()
        apart, weight = _apart(said, closure)
        size = closure.sizes
        return cls(
            closure.groups,
            size,
            np.argsort(closure.groups, kind="stable"),
            np.concatenate([[0], np.cumsum(size)[:-1]]),
            row_amounts(said, side.n_samples),
            apart,
            weight,
        )

    @property
    def n_must(self) -> int:
        """The number of pairs of rows that belong together."""
        return int((self.size * (self.size - 1) // 2).sum())

    @property
    def n_apart(self) -> int:
        """The number of pairs of rows that do not."""
        return int(self.size[self.apart].prod(axis=1).sum())

    def must_pairs(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Pairs of rows that belong together, by their number in 0 … n_must − 1."""
        rank = np.arange(len(self.members)) - self.first[self.group[self.members]]
        end = np.cumsum(rank)  # the member of rank r goes with the r members before it
        second = np.searchsorted(end, chosen, side="right")
        back = chosen - (end[second] - rank[second])
        first = self.first[self.group[self.members[second]]] + back
        return self.members[first], self.members[second]

    def apart_pairs(self, chosen: Ints) -> tuple[Ints, Ints, Ints]:
        """Pairs of rows that do not, by their number, and the pair of groups of each."""
        a, b = self.apart.T
        count = self.size[a] * self.size[b]
        end = np.cumsum(count)
        pair = np.searchsorted(end, chosen, side="right")
        place, other = np.divmod(chosen - (end[pair] - count[pair]), self.size[b[pair]])
        i = self.members[self.first[a[pair]] + place]
        j = self.members[self.first[b[pair]] + other]
        return i, j, pair


def _apart(said: Statements, closure: Closure) -> tuple[Ints, Floats]:
    """Pairs of groups that are apart, each once, and the mean weight of what parts them.

    Two groups with labels of one vocabulary are apart with weight 1: the weights of labels are in
    the amounts of their rows.
    """
    said = said.take(said.sign < 0)
    group, n_groups = closure.groups, closure.n_groups
    of_class = closure.group_of_class(said.vocabulary, said.class_code)
    one, other = group[said.i], np.where(said.is_pair, group[said.j], of_class)
    keep = (other >= 0) & (one != other)
    keys = np.minimum(one, other)[keep] * n_groups + np.maximum(one, other)[keep]
    distinct, inverse = np.unique(keys, return_inverse=True)
    total = np.bincount(inverse, said.weight[keep], minlength=len(distinct))
    mean = total / np.bincount(inverse, minlength=len(distinct))
    by_label = _label_keys(closure.labels, n_groups)
    new = ~np.isin(distinct, by_label)
    keys = np.concatenate([by_label, distinct[new]])
    weights = np.concatenate([np.ones(len(by_label)), mean[new]])
    order = np.argsort(keys)
    return np.stack(np.divmod(keys[order], n_groups), axis=1), weights[order]


def _label_keys(labels: Ints, n_groups: int) -> Ints:
    """Pairs of groups that have labels in one vocabulary, as numbers."""
    parts = [np.empty(0, dtype=np.int64)]
    for vocabulary in np.unique(labels[:, 1]):
        labelled = np.unique(labels[labels[:, 1] == vocabulary, 0])
        if len(labelled) ** 2 / 2 > MOST_GROUP_PAIRS:
            raise SideInformationError(
                f"{len(labelled):,} groups of rows have different labels; more than "
                f"{int((2 * MOST_GROUP_PAIRS) ** 0.5):,} make too many pairs of groups that are "
                "apart. Such labels say little: leave out classes with a single row."
            )
        first, second = np.triu_indices(len(labelled), 1)
        parts.append(labelled[first] * n_groups + labelled[second])
    return np.unique(np.concatenate(parts))


# As weights


def _expanded(said: Statements, facts: _Facts, strengths: Strengths, scale: Floats) -> Relation:
    """Every entailed pair with its own weight, as published."""
    n_pairs = facts.n_must + facts.n_apart
    if n_pairs > MOST_EXPANDED:
        raise SideInformationError(
            f"the statements entail {n_pairs:,} pairs of rows, and paper mode gives each a weight "
            f"of its own, up to {MOST_EXPANDED:,}; use entailed='mean', which keeps one weight "
            "for each pair of groups."
        )
    i, j = facts.must_pairs(np.arange(facts.n_must))
    must = scale[0] * strengths.of(i, j, True) * facts.amount[i] * facts.amount[j]
    k, m, pair = facts.apart_pairs(np.arange(facts.n_apart))
    apart = scale[1] * strengths.of(k, m, False) * facts.amount[k] * facts.amount[m]
    apart *= facts.apart_weight[pair]
    # Stated to be apart and implied to be together: both count.
    clash = said.take((said.kind == CANNOT) & (facts.group[said.i] == facts.group[said.j]))
    against = scale[1] * clash.weight * strengths.of(clash.i, clash.j, False)
    pairs = symmetric(
        len(facts.group),
        np.concatenate([i, k, clash.i]),
        np.concatenate([j, m, clash.j]),
        np.concatenate([must, apart, against]),
    )
    return Relation.none(len(facts.group))._replace(pairs=pairs)


def _by_groups(said: Statements, facts: _Facts, strengths: Strengths, scale: Floats) -> Relation:
    """Stated pairs with their own weight, entailed ones with the mean of their kind."""
    mean_must = _mean_strength(facts, strengths, True)
    mean_apart = _mean_strength(facts, strengths, False)
    i, j, value = _stated_values(said, len(facts.group), strengths, scale)
    # Relations between groups that consist of stated pairs alone are left to these.
    low, high = np.sort(facts.group[np.stack([i, j])], axis=0)
    n_groups = len(facts.size)
    stated, n_stated = np.unique(low * n_groups + high, return_counts=True)
    large = np.flatnonzero(facts.size > 1)
    a = np.concatenate([large, facts.apart[:, 0]])
    b = np.concatenate([large, facts.apart[:, 1]])
    weight = np.concatenate(
        [
            np.full(len(large), scale[0] * mean_must),
            scale[1] * mean_apart * facts.apart_weight,
        ]
    )
    n_pairs = np.where(
        a == b, facts.size[a] * (facts.size[a] - 1) // 2, facts.size[a] * facts.size[b]
    )
    keys = a * n_groups + b
    place = np.minimum(np.searchsorted(stated, keys), max(len(stated) - 1, 0))
    here = np.zeros(len(keys), dtype=np.int64)
    if len(stated):
        here = np.where(stated[place] == keys, n_stated[place], 0)
    entails = here < n_pairs
    a, b, weight, keys = a[entails], b[entails], weight[entails], keys[entails]
    # The weight of a stated pair that its groups already have is subtracted.
    order = np.argsort(keys)
    place = np.searchsorted(keys[order], low * n_groups + high)
    found = np.append(keys[order], -1)[place] == low * n_groups + high
    of_groups = np.where(found, np.append(weight[order], 0.0)[place], 0.0)
    value = value - of_groups * facts.amount[i] * facts.amount[j]
    group, ties = _ties(facts, a, b, weight)
    return Relation(symmetric(len(group), i, j, value), group, facts.amount, ties)


def _stated_values(
    said: Statements, n_samples: int, strengths: Strengths, scale: Floats
) -> tuple[Ints, Ints, Floats]:
    """Stated pairs, each once, and their weights: the sum of both kinds if they contradict."""
    said = said.take(said.is_pair)
    is_must = said.sign > 0
    value = np.empty(len(said.kind))
    for chosen, must in ((is_must, True), (~is_must, False)):
        strength = strengths.of(said.i[chosen], said.j[chosen], must)
        value[chosen] = scale[0 if must else 1] * said.weight[chosen] * strength
    keys, inverse = np.unique(said.i * n_samples + said.j, return_inverse=True)
    i, j = np.divmod(keys, n_samples)
    return i, j, np.bincount(inverse, value, minlength=len(keys)).astype(np.float64)


def _mean_strength(facts: _Facts, strengths: Strengths, is_must: bool) -> float:
    """The mean γ of all pairs of a kind, entailed ones included, from a sample of fixed seed."""
    n_pairs = facts.n_must if is_must else facts.n_apart
    if not n_pairs:
        return 0.0
    chosen = np.arange(min(n_pairs, _SAMPLE))
    if n_pairs > _SAMPLE:
        chosen = np.random.default_rng(0).integers(n_pairs, size=_SAMPLE)
    i, j = facts.must_pairs(chosen) if is_must else facts.apart_pairs(chosen)[:2]
    return float(strengths.of(i, j, is_must).mean())


def _ties(facts: _Facts, a: Ints, b: Ints, weight: Floats) -> tuple[Ints, Ties]:
    """The groups that say anything, renumbered, and their relation."""
    present, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    number = np.full(len(facts.size), -1, dtype=np.int64)
    number[present] = np.arange(len(present))
    a, b = place[: len(a)], place[len(a) :]
    off = a != b
    matrix = sparse.coo_array(
        (
            np.concatenate([weight, weight[off]]),
            (np.concatenate([a, b[off]]), np.concatenate([b, a[off]])),
        ),
        shape=(len(present), len(present)),
    ).tocsr()
    matrix.sort_indices()
    ties = Ties(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    return number[facts.group], ties
