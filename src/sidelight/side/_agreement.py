"""Agreement of a partition with statements, by pairs of rows; clusters need no names.

Stated pairs count as they are. Labels of one vocabulary imply pairs: equal labels belong together,
different ones do not. They are counted by class and cluster and never listed, and share the weight
of their labels, so that a label counts as much as a stated pair.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.side._kinds import LABEL, NOT_LABEL
from sidelight.side._matching import cluster_numbers
from sidelight.side._statements import Ints, Statements, distinct, heaviest_class

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

Floats = NDArray[np.float64]

# The outcomes of a pair, in the order of the columns of `Agreement`.
MUST_KEPT, MUST_BROKEN, CANNOT_BROKEN, CANNOT_KEPT = range(4)


class Agreement(NamedTuple):
    """Weights of must- and cannot-links that a partition keeps and breaks.

    Attributes
    ----------
    total : ndarray of shape (4,)
        Must-links kept, must-links broken, cannot-links broken, cannot-links kept.
    i, j : ndarray of int
        The rows of each part; j is −1 for a part that is all pairs of a labelled row i.
    parts : ndarray of shape (n_parts, 4)
        The weights of each part. A pair that labels imply is in the parts of both its rows.
    squares : ndarray of shape (4,)
        Sums of the squared weights of the single pairs that labels imply.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.side import Agreement
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 3)], n_samples=4)
    >>> agreement = Agreement.of(side, [0, 0, 1, 1])
    >>> agreement.total.tolist(), round(agreement.score, 3)
    ([1.0, 1.0, 0.0, 1.0], 0.667)
    """

    total: Floats
    i: Ints
    j: Ints
    parts: Floats
    squares: Floats

    @classmethod
    def of(
        cls, side: "SideInformation", labels: ArrayLike, *, weight: ArrayLike | None = None
    ) -> "Agreement":
        """Count the pairs of a partition.

        Parameters
        ----------
        side : SideInformation
            The statements.
        labels : array of shape (n_samples,)
            Cluster numbers; −1 means no cluster, and two such rows are not together.
        weight : array of float, optional
            For each statement what its own weight is multiplied by.

        Returns
        -------
        Agreement
        """
        clusters = cluster_numbers(side, labels)
        said = side.statements
        if weight is not None:
            said = said._replace(weight=said.weight * np.asarray(weight, dtype=np.float64))
        said = said.take(said.binding & (said.i != said.j))
        found = [_stated_pairs(said, clusters)]
        for code in distinct(said.vocabulary[said.is_class]):
            found.append(_implied_pairs(said.take(said.vocabulary == code), clusters))
        return cls.joined(found)

    @classmethod
    def joined(cls, several: "list[Agreement]") -> "Agreement":
        """Join several, such as those of the folds."""
        return cls(
            np.sum([one.total for one in several], axis=0),
            np.concatenate([one.i for one in several]),
            np.concatenate([one.j for one in several]),
            np.concatenate([one.parts for one in several]),
            np.sum([one.squares for one in several], axis=0),
        )

    @property
    def score(self) -> float:
        """Mean of two F-scores, with "together" and with "apart" as the positive answer.

        If only one kind was stated, its F-score; NaN without statements. Musts are rare (a
        tenth of random pairs with ten classes), and here they count as much as cannots.
        """
        return _mean_f(self.total)[0]

    def moves(self) -> Floats:
        """How far each part moves the score, to first order; the sum over all pairs is zero."""
        return self.parts @ _mean_f(self.total)[1]

    def standard_error(self) -> float:
        """Standard error of the score; pairs that share a row are dependent: see `dyadic_error`."""
        implied = float(self.squares @ _mean_f(self.total)[1] ** 2)
        return dyadic_error(self.moves(), self.i, self.j, implied=implied)


def dyadic_error(value: Floats, i: Ints, j: Ints, *, implied: float = 0.0) -> float:
    """The standard error of a sum of values of pairs, when pairs that share a row are dependent.

    The variance is the sum of all products of two values whose pairs share a row (the dyadic robust
    variance): squares of the rows' sums, less the squares of the pairs, which two rows count.

    Parameters
    ----------
    value : ndarray of float
        The deviation of each pair, or of all pairs of a row.
    i, j : ndarray of int
        Their rows; j is −1 for what is about one row.
    implied : float
        The sum of squares of the pairs inside values that are about one row.

    Returns
    -------
    float
        Never below that of independent pairs; NaN for fewer than two values.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.side import dyadic_error
    >>> dyadic_error(np.array([0.3, -0.4]), np.array([0, 2]), np.array([1, 3]))
    0.5
    """
    if len(value) < 2:
        return float("nan")
    pair = j >= 0
    row = np.unique(np.concatenate([i, j[pair]]), return_inverse=True)[1]
    sums = np.bincount(row, np.concatenate([value, value[pair]]))
    single = float((value[pair] ** 2).sum()) + implied
    return float(np.sqrt(max(float((sums**2).sum()) - single, single)))


def _mean_f(total: Floats) -> tuple[float, Floats]:
    """The mean of the two F-scores, and its slopes by the four weights."""
    a, b, c, d = total.tolist()
    scores, slopes = [], []
    for kept, column in ((a, MUST_KEPT), (d, CANNOT_KEPT)):
        said = a + b if column == MUST_KEPT else c + d
        if said <= 0:
            continue
        whole = 2 * kept + b + c
        slope = np.full(4, -2 * kept / whole**2)
        slope[[MUST_KEPT, CANNOT_KEPT]] = 0.0
        slope[column] = 2 * (b + c) / whole**2
        scores.append(2 * kept / whole)
        slopes.append(slope)
    if not scores:
        return float("nan"), np.zeros(4)
    return float(np.mean(scores)), np.mean(slopes, axis=0)


def _stated_pairs(said: Statements, clusters: Ints) -> Agreement:
    said = said.take(said.is_pair)
    together = (clusters[said.i] == clusters[said.j]) & (clusters[said.i] >= 0)
    column = np.where(
        said.sign > 0,
        np.where(together, MUST_KEPT, MUST_BROKEN),
        np.where(together, CANNOT_BROKEN, CANNOT_KEPT),
    )
    parts = np.zeros((len(said.i), 4))
    parts[np.arange(len(said.i)), column] = said.weight
    return Agreement(parts.sum(axis=0), said.i, said.j, parts, np.zeros(4))


def _implied_pairs(said: Statements, clusters: Ints) -> Agreement:
    """Pairs of labelled rows, and of rows that are not of a class with those that are."""
    rows, place = np.unique(said.i, return_inverse=True)
    label = said.kind == LABEL
    class_code = heaviest_class(place[label], said.class_code[label], said.weight[label], len(rows))
    weight = np.zeros(len(rows))
    agrees = label & (class_code[place] == said.class_code)
    np.add.at(weight, place[agrees], said.weight[agrees])
    known = np.flatnonzero(class_code >= 0)
    labelled = _labelled(rows[known], class_code[known], weight[known], clusters)
    return Agreement.joined([labelled, _excluded(said, rows[known], class_code[known], clusters)])


def _labelled(rows: Ints, class_code: Ints, weight: Floats, clusters: Ints) -> Agreement:
    """Every pair of labelled rows, by the table of classes and clusters.

    The factor gives all pairs together the weight of all labels.
    """
    total = weight.sum()
    pairs = (total**2 - (weight**2).sum()) / 2
    if len(rows) < 2 or pairs <= 0:
        rows, class_code, weight, pairs = rows[:0], class_code[:0], weight[:0], 1.0
    factor = total / pairs
    own = clusters[rows]
    # Rows of no cluster are alone: each has a number of its own.
    own = np.where(own >= 0, own, clusters.max(initial=-1) + 1 + np.arange(len(rows)))

    def others(key: Ints, w: Floats) -> Floats:
        """For each row the weight of the other rows with the same key."""
        at = np.unique(key, return_inverse=True)[1]
        return np.bincount(at, w)[at] - w if len(w) else w

    def columns(w: Floats) -> Floats:
        both = others(class_code * (own.max(initial=0) + 1) + own, w)
        same_class, same_cluster, everybody = others(class_code, w), others(own, w), w.sum() - w
        table = np.stack(
            [
                both,
                same_class - both,
                same_cluster - both,
                everybody - same_class - same_cluster + both,
            ],
            axis=1,
        )
        return w[:, None] * np.maximum(table, 0.0)

    parts = factor * columns(weight)
    squares = factor**2 * columns(weight**2).sum(axis=0) / 2
    return Agreement(
        parts.sum(axis=0) / 2, rows, np.full(len(rows), -1, dtype=np.int64), parts, squares
    )


def _excluded(said: Statements, rows: Ints, class_code: Ints, clusters: Ints) -> Agreement:
    """Rows that are not of a class, against the rows that are; they share one statement."""
    said = said.take(said.kind == NOT_LABEL)
    width = clusters.max(initial=0) + 1
    n_classes = max(said.class_code.max(initial=-1), class_code.max(initial=-1)) + 1
    of_class = np.bincount(class_code, minlength=n_classes).astype(np.float64)
    inside = clusters[rows] >= 0
    wanted = said.class_code * width + clusters[said.i]
    there, count = np.unique(
        class_code[inside] * width + clusters[rows[inside]], return_counts=True
    )
    place = np.searchsorted(there, wanted)
    found = np.append(there, -1)[place] == wanted
    meets = np.where(found & (clusters[said.i] >= 0), np.append(count, 0)[place], 0)
    keep = of_class[said.class_code] > 0
    said, meets = said.take(keep), meets[keep]
    broken = meets / of_class[said.class_code]
    parts = np.zeros((len(said.i), 4))
    parts[:, CANNOT_BROKEN] = said.weight * broken
    parts[:, CANNOT_KEPT] = said.weight * (1 - broken)
    return Agreement(
        parts.sum(axis=0), said.i, np.full(len(said.i), -1, dtype=np.int64), parts, np.zeros(4)
    )
