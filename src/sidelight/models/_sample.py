"""A sample of the rows that keeps statements whole."""

import numpy as np
from numpy.typing import NDArray

from sidelight.side import LABEL, SideInformation

Ints = NDArray[np.int64]

_PER_CLASS = 50  # labels of a class that come first


def fitted_rows(
    side: SideInformation,
    n_samples: int,
    rng: np.random.Generator,
    most_annotated: int,
    most_others: int,
) -> Ints | None:
    """Rows that stand for all of them, sorted; None for all.

    Of many rows, annotated ones first, statement by statement in a random order (so that pairs stay
    whole), the first labels of each class before others; then random rows.
    """
    if n_samples <= most_annotated + most_others:
        return None
    said = side.statements
    turn = rng.permutation(len(said.kind))
    turn = turn[said.binding[turn]]
    turn = turn[np.argsort(_late(said.kind[turn] == LABEL, said.class_code[turn]), kind="stable")]
    row = np.column_stack([said.i[turn], np.where(said.j[turn] < 0, said.i[turn], said.j[turn])])
    _, first = np.unique(row.ravel(), return_index=True)
    n_before = np.cumsum(np.bincount(first // 2, minlength=len(turn)))  # rows up to a statement
    annotated = np.unique(row[n_before <= most_annotated])
    drawn = min(n_samples, 2 * most_others + len(annotated))
    others = rng.choice(n_samples, drawn, replace=False)
    others = others[~np.isin(others, annotated)][:most_others]
    return np.sort(np.concatenate([annotated, others]))


def _late(is_label: NDArray[np.bool_], class_code: Ints) -> NDArray[np.bool_]:
    """Whether a statement comes after the first labels of its class."""
    late = np.ones(len(is_label), dtype=bool)
    label = np.flatnonzero(is_label)
    order = label[np.argsort(class_code[label], kind="stable")]
    counts = np.bincount(class_code[order]) if len(order) else np.empty(0, dtype=np.int64)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    late[order[place < _PER_CLASS]] = False
    return late


def has_pairs(side: SideInformation) -> bool:
    """Whether some statements are about two rows; a sample loses most of these."""
    return bool((side.statements.j >= 0).any())


def said_about(side: SideInformation, chosen: Ints | None) -> tuple[Ints, SideInformation]:
    """The statements about the chosen rows: their numbers, and themselves."""
    if chosen is None:
        return np.arange(side.n_statements), side
    there = np.zeros(side.n_samples, dtype=bool)
    there[chosen] = True
    said = side.statements
    inside = there[said.i] & ((said.j < 0) | there[said.j])
    return np.flatnonzero(inside), side[chosen]
