"""Folds of rows, made so that a held-out statement does not follow from those that stay.

A split of the statements themselves would leak: with a-b and b-c in the training part, a-c follows.
So rows are split, and a statement is held out only where all of its rows are in the fold;
statements across the border of a fold are used by neither. No statement that stays names a row of
the fold, so that nothing about these rows follows from it.

Rows dealt at random would lose a third of the statements to the borders and test a fifth of them.
Rows that stated pairs connect therefore share a fold where they fit into one, and what does not fit
is cut along its chains: with few pairs among many rows every one of them is held out once. Groups
tied by must-links are cut like the rest where they do not fit: a fold of whole groups would hold
back musts and hardly a cannot. Equal labels tie no rows, because a whole class held out could not
be judged by its name.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from sidelight.exceptions import SideInformationError
from sidelight.side import LABEL, MUST, SideInformation

Ints = NDArray[np.int64]

# Pieces of a group that is cut; in smaller ones there would be no pair left to hold out.
FEWEST_ROWS = 4


class SideKFold(BaseCrossValidator):
    """K folds over the annotated rows; rows that stated pairs connect stay together if they fit.

    A scikit-learn splitter: ``cross_validate(model, X, cv=SideKFold().set_split_request(side=True),
    params={"side": side})`` under metadata routing, or ``split(X, side=side)`` by hand. Rows
    without statements are in every training part. Labelled rows are dealt to the folds class by
    class, so that every class is in every training part where it can be.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds; fewer, with a warning, where there are fewer groups of connected rows.
    random_state : int, Generator or RandomState, optional
        Source of the order in which groups are dealt.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.select import SideKFold
    >>> side = SideInformation.from_pairs(must=[(0, 1), (2, 3)], cannot=[(0, 4)], n_samples=7)
    >>> for train, test in SideKFold(2, random_state=0).split(side=side):
    ...     print(train.tolist(), test.tolist())
    [2, 3, 5, 6] [0, 1, 4]
    [0, 1, 4, 5, 6] [2, 3]
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = None) -> None:
        if n_splits < 2:
            raise SideInformationError(f"n_splits is {n_splits}; there are at least 2 folds.")
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, **_: Any) -> int:
        """The number of folds asked for."""
        return self.n_splits

    def split(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        *,
        side: SideInformation | None = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield the rows of the training part and the annotated rows of the fold.

        Parameters
        ----------
        X, groups : ignored
            What scikit-learn passes.
        y : array of shape (n_samples,), optional
            Partial labels, joined to ``side``.
        side : SideInformation, optional
            The statements.

        Yields
        ------
        train, test : ndarray
            Row positions.
        """
        side = _joined(y, side)
        rows, fold = self.folds(side)
        for k in range(int(fold.max()) + 1):
            test = rows[fold == k]
            train = np.ones(side.n_samples, dtype=bool)
            train[test] = False
            yield np.flatnonzero(train), test

    def folds(self, side: SideInformation) -> tuple[Ints, Ints]:
        """The annotated rows, ascending, and the fold of each.

        In size it goes by the statements, however many rows there are.
        """
        rows, near = side.only(kind=["must", "cannot", "label", "not_label"]).condensed()
        graph = _graph(near)
        n_groups, group = csgraph.connected_components(graph, directed=False)
        n_splits = min(self.n_splits, max(n_groups, len(rows) // FEWEST_ROWS))
        if n_splits < 2:
            raise SideInformationError(
                f"the statements name {len(rows)} rows in {n_groups} group that pairs connect; "
                f"folds need two groups, or {2 * FEWEST_ROWS} rows. Ask about other rows."
            )
        if n_splits < self.n_splits:
            warnings.warn(
                f"{self.n_splits} folds were asked for, and the statements name {len(rows)} rows "
                f"in {n_groups} groups: {n_splits} folds are used.",
                UserWarning,
                stacklevel=3,
            )
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        unit = _units(graph, group, n_splits, rng)
        return rows, _deal(_class_of(near, unit), np.bincount(unit), n_splits, rng)[unit]


def _graph(side: SideInformation) -> sparse.csr_array:
    """Rows that a stated pair connects, symmetric."""
    one, other = np.concatenate([side.must, side.cannot]).T
    ends = np.concatenate([one, other]), np.concatenate([other, one])
    shape = (side.n_samples, side.n_samples)
    return sparse.coo_array((np.ones(len(ends[0])), ends), shape=shape).tocsr()


def _units(graph: sparse.csr_array, group: Ints, n_splits: int, rng: np.random.Generator) -> Ints:
    """For each row its unit: rows of one group that go to one fold, at most a fold's share."""
    n_rows = len(group)
    most = -(-n_rows // n_splits)
    order = rng.permutation(n_rows)  # cuts do not follow the order of rows
    # Neighbours come one after the other, so that a cut between two of them breaks few chains.
    chain = order[csgraph.reverse_cuthill_mckee(graph[order][:, order], symmetric_mode=True)]
    chain = chain[np.argsort(group[chain], kind="stable")]
    size, part = np.bincount(group), group[chain].astype(np.int64)
    inside = np.arange(n_rows) - (np.cumsum(size) - size)[part]
    piece = np.where(size[part] > most, inside // most, 0)
    unit = np.empty(n_rows, dtype=np.int64)
    unit[chain] = np.unique(part * (n_splits + 1) + piece, return_inverse=True)[1]
    return unit


def _deal(class_code: Ints, size: Ints, n_splits: int, rng: np.random.Generator) -> Ints:
    """The fold of each unit: large units to the emptiest fold, the others class by class."""
    fold = np.empty(len(size), dtype=np.int64)
    shuffled = rng.permutation(len(size))
    large = size[shuffled] > max(1.0, size.sum() / (20 * n_splits))
    load = np.zeros(n_splits)
    few = shuffled[large]
    for unit in few[np.lexsort((class_code[few], -size[few]))].tolist():
        lightest = int(load.argmin())
        fold[unit] = lightest
        load[lightest] += size[unit]
    many = shuffled[~large]
    many = many[np.argsort(class_code[many], kind="stable")]
    fold[many] = np.argsort(load, kind="stable")[np.arange(len(many)) % n_splits]
    return fold


def _joined(y: Any, side: SideInformation | None) -> SideInformation:
    labels = None if y is None else SideInformation.from_labels(y)
    if side is None and labels is None:
        raise SideInformationError("there are no statements to split; give side, or labels as y.")
    if side is None or labels is None:
        return labels if side is None else side  # type: ignore[return-value]
    return side + labels


def _class_of(side: SideInformation, unit: Ints) -> Ints:
    """A labelled class of each unit; −1 for a must-link without labels, −2 for neither."""
    said = side.statements
    of_unit = np.full(int(unit.max()) + 1, -2, dtype=np.int64)
    of_unit[unit[said.i[said.kind == MUST]]] = -1
    labelled = said.kind == LABEL
    of_unit[unit[said.i[labelled]]] = said.class_code[labelled]
    return of_unit


def hold_out(side: SideInformation, rows: Any) -> tuple[SideInformation, SideInformation]:
    """Split statements: those about none of the given rows, and those about only these rows.

    Parameters
    ----------
    side : SideInformation
        All statements.
    rows : array of int
        The rows of a fold.

    Returns
    -------
    kept, held : SideInformation
        Both about all rows. Statements about rows on both sides are in neither.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.select import hold_out
    >>> side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2), (2, 3)], n_samples=4)
    >>> hold_out(side, [2, 3])
    (SideInformation(4 rows; 1 must), SideInformation(4 rows; 1 cannot))
    """
    kept, held = held_out_masks(side, rows)
    return side.where(kept), side.where(held)


def held_out_masks(side: SideInformation, rows: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which statements are about none of the given rows, and which are about only these rows."""
    said = side.statements
    rows = np.unique(np.asarray(rows, dtype=np.int64))
    first = np.isin(said.i, rows)
    second = np.where(said.j >= 0, np.isin(said.j, rows), first)
    return ~first & ~second, first & second
