"""Folds of rows, made so that a held-out statement does not follow from those that stay.

A split of the statements themselves would leak: with a-b and b-c in the training part, a-c is no
question. Rows that are tied by must-links therefore share a fold, and a statement is held out only
where all of its rows are in the fold; statements across the border of a fold are used by neither.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from sidelight.exceptions import SideInformationError
from sidelight.side import LABEL, SideInformation

Ints = NDArray[np.int64]


class SideKFold(BaseCrossValidator):
    """K folds over the annotated rows, by groups that must-links tie together.

    A scikit-learn splitter: ``cross_validate(model, X, cv=SideKFold().set_split_request(side=True),
    params={"side": side})`` under metadata routing, or ``split(X, side=side)`` by hand. Rows
    without statements are in every training part. Groups are dealt to the folds class by class, so
    that every class is in every training part where it can be.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds; fewer, with a warning, where there are fewer groups.
    random_state : int, Generator or RandomState, optional
        Source of the order in which groups are dealt.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.select import SideKFold
    >>> side = SideInformation.from_pairs(must=[(0, 1), (2, 3)], cannot=[(0, 4)], n_samples=7)
    >>> for train, test in SideKFold(3, random_state=0).split(side=side):
    ...     print(train.tolist(), test.tolist())
    [2, 3, 4, 5, 6] [0, 1]
    [0, 1, 2, 3, 5, 6] [4]
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
        group = near.only(kind="must").groups()
        n_groups = int(group.max(initial=-1)) + 1
        if n_groups < 2:
            raise SideInformationError(
                f"the statements name {len(rows)} rows in {n_groups} groups tied by must-links; "
                "folds need two groups at least. Ask about other rows."
            )
        n_splits = min(self.n_splits, n_groups)
        if n_splits < self.n_splits:
            warnings.warn(
                f"{self.n_splits} folds were asked for, and the statements name {n_groups} groups "
                f"of rows: {n_splits} folds are used.",
                UserWarning,
                stacklevel=3,
            )
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        shuffled = rng.permutation(n_groups)
        dealt = shuffled[
            np.argsort(_class_of_groups(near, group, n_groups)[shuffled], kind="stable")
        ]
        fold = np.empty(n_groups, dtype=np.int64)
        fold[dealt] = np.arange(n_groups) % n_splits
        return rows, fold[group]


def _joined(y: Any, side: SideInformation | None) -> SideInformation:
    labels = None if y is None else SideInformation.from_labels(y)
    if side is None and labels is None:
        raise SideInformationError("there are no statements to split; give side, or labels as y.")
    if side is None or labels is None:
        return labels if side is None else side  # type: ignore[return-value]
    return side + labels


def _class_of_groups(side: SideInformation, group: Ints, n_groups: int) -> Ints:
    """A labelled class of each group, -1 where there is none."""
    said = side.statements
    of_group = np.full(n_groups, -1, dtype=np.int64)
    labelled = said.kind == LABEL
    of_group[group[said.i[labelled]]] = said.class_code[labelled]
    return of_group


def hold_out(side: SideInformation, rows: Any) -> tuple[SideInformation, SideInformation]:
    """The statements that name none of some rows, and those that name no others.

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
    said = side.statements
    rows = np.unique(np.asarray(rows, dtype=np.int64))
    first = np.isin(said.i, rows)
    second = np.where(said.j >= 0, np.isin(said.j, rows), first)
    return side.where(~first & ~second), side.where(first & second)
