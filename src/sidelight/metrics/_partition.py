"""Scores of one partition against another.

All of them see the contingency table only, never pairs of rows: a million rows cost the two
sorts that number the labels. Every distinct value is a cluster of its own, and so is -1 (noise)
in ``labels_pred``: a method may not raise its score by refusing rows.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from sidelight.exceptions import DataError
from sidelight.metrics._labels import as_codes, paired_codes

AVERAGES = ("arithmetic", "geometric", "min", "max")

# Above this many cells (80 MB) the table of classes by clusters stays sparse: deduplication
# easily has 1e5 classes and 1e5 clusters, which no machine holds densely.
_DENSE_CELLS = 10_000_000

# A chain of ties is undone from its ends only, one cell a round: stop before that gets long.
_SURE_ROUNDS = 50

Ints = npt.NDArray[np.int64]


class PairwiseScores(NamedTuple):
    """How well the pairs of rows that share a cluster are those that share a class.

    Examples
    --------
    >>> scores = pairwise_scores([0, 0, 1, 1], [0, 0, 0, 1])
    >>> round(scores.precision, 2), scores.recall
    (0.33, 0.5)
    """

    precision: float
    recall: float
    f: float


def normalized_mutual_info(
    labels_true: npt.ArrayLike,
    labels_pred: npt.ArrayLike,
    *,
    average: Literal["arithmetic", "geometric", "min", "max"] = "arithmetic",
) -> float:
    """Mutual information of two partitions, divided by an average of their entropies.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Numbers or names. ``-1`` is a cluster like any other; missing values raise.
    average : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        Papers differ: SSC-IPA, SSE and CoMaC use the arithmetic mean, PLSI the geometric one.

    Returns
    -------
    float
        1 for equal partitions, 0 for independent ones (and when only one of the two has a single
        cluster).

    Examples
    --------
    >>> from sidelight.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info(["a", "a", "b", "b"], [0, 0, 1, 2]), 4)
    0.8
    >>> round(normalized_mutual_info(["a", "a", "b", "b"], [0, 0, 1, 2], average="max"), 4)
    0.6667
    """
    if average not in AVERAGES:
        raise DataError(f"average is {average!r}; it must be one of {', '.join(AVERAGES)}.")
    true, pred = paired_codes(labels_true, labels_pred)
    return float(normalized_mutual_info_score(true, pred, average_method=average))


def adjusted_rand(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> float:
    """Adjusted Rand index: agreement on pairs of rows, corrected for chance.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Numbers or names. ``-1`` is a cluster like any other; missing values raise.

    Returns
    -------
    float
        1 for equal partitions, about 0 for random ones; it can be negative.

    Examples
    --------
    >>> from sidelight.metrics import adjusted_rand
    >>> adjusted_rand(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    true, pred = paired_codes(labels_true, labels_pred)
    return float(adjusted_rand_score(true, pred))


def accuracy(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> float:
    """Share of rows in the cluster of their class, for the best one-to-one matching of the two.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Numbers or names. ``-1`` is a cluster like any other; missing values raise.

    Returns
    -------
    float
        In (0, 1]. Names do not matter: cluster "a" need not be matched to class "a". With more
        clusters than classes the clusters left over count as wrong, and the other way round.

    Examples
    --------
    >>> from sidelight.metrics import accuracy
    >>> accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    """
    table = _contingency(*paired_codes(labels_true, labels_pred))
    return _matched(table) / int(table.sum())


def purity(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> float:
    """Share of rows that belong to the largest class of their cluster.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Numbers or names. ``-1`` is a cluster like any other; missing values raise.

    Returns
    -------
    float
        In (0, 1]. It never falls when a cluster is split, and is 1 for clusters of single rows:
        compare it at equal numbers of clusters only.

    Examples
    --------
    >>> from sidelight.metrics import purity
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    table = _contingency(*paired_codes(labels_true, labels_pred))
    largest = int(table.max(axis=0).sum())
    return largest / int(table.sum())


def pairwise_scores(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> PairwiseScores:
    """Precision, recall and F of the pairs of rows that are put together.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Numbers or names. ``-1`` is a cluster like any other; missing values raise.

    Returns
    -------
    PairwiseScores
        ``precision``: of the pairs in one cluster, the share in one class; ``recall``: of the
        pairs in one class, the share in one cluster; ``f``: their harmonic mean. A share of no
        pairs at all is 1 (nothing was claimed, so nothing is wrong).

    Examples
    --------
    >>> from sidelight.metrics import pairwise_scores
    >>> pairwise_scores(["a", "a", "b", "b"], [0, 0, 0, 1])
    PairwiseScores(precision=0.3333333333333333, recall=0.5, f=0.4)
    """
    true, pred = paired_codes(labels_true, labels_pred)
    (_, wrong), (missed, right) = pair_confusion_matrix(true, pred).tolist()
    return PairwiseScores(
        precision=_share(right, right + wrong),
        recall=_share(right, right + missed),
        f=_share(2 * right, 2 * right + wrong + missed),
    )


def class_size_variation(labels: npt.ArrayLike) -> float:
    """Coefficient of variation of the class sizes: how unbalanced a partition is.

    The standard deviation of the sizes (with K - 1 in the denominator) over their mean.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Numbers or names; missing values raise.

    Returns
    -------
    float
        0 for classes of equal size, and for a single class.

    Examples
    --------
    >>> from sidelight.metrics import class_size_variation
    >>> round(class_size_variation(["benign"] * 458 + ["malignant"] * 241), 4)
    0.439
    """
    sizes = np.bincount(as_codes(labels, "labels"))
    return float(sizes.std(ddof=1) / sizes.mean()) if len(sizes) > 1 else 0.0


def _contingency(true: Ints, pred: Ints) -> Any:
    """Classes by clusters, sparse."""
    return csr_array(contingency_matrix(true, pred, sparse=True, dtype=np.int64))


def _matched(table: Any) -> int:
    """The largest number of rows that a one-to-one matching of classes and clusters can keep."""
    if table.shape[0] * table.shape[1] <= _DENSE_CELLS:
        dense = table.toarray()
        return int(dense[linear_sum_assignment(dense, maximize=True)].sum())
    return _matched_sparse(table)


def _matched_sparse(table: Any) -> int:
    """The same from only the nonzero cells.

    A cell that is worth at least the best other cell of its class and the best other cell of its
    cluster together is in some best matching, because they are all it can displace. Taking such
    cells first leaves almost nothing when the partitions have something to do with each other.
    The matching of the rest takes time quadratic in what is left of the smaller side.
    """
    cells = table.tocoo()
    i, j, count = cells.row, cells.col, cells.data
    kept = 0
    for _ in range(_SURE_ROUNDS):
        rival = _best_other(i, count, table.shape[0]) + _best_other(j, count, table.shape[1])
        sure = np.flatnonzero(count >= rival)
        sure = sure[np.unique(i[sure], return_index=True)[1]]
        sure = sure[np.unique(j[sure], return_index=True)[1]]
        if len(sure) == 0:
            break
        kept += int(count[sure].sum())
        left = ~(np.isin(i, i[sure]) | np.isin(j, j[sure]))
        i, j, count = i[left], j[left], count[left]
    return kept + _matched_rest(i, j, count)


def _best_other(group: Ints, count: Ints, n_groups: int) -> Ints:
    """For each cell the largest count among the other cells of its group, or 0."""
    order = np.lexsort((-count, group))
    ordered = group[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]][: len(order)]
    second = np.flatnonzero(first[:-1] & ~first[1:]) + 1
    largest, runner_up = np.zeros((2, n_groups), dtype=np.int64)
    largest[ordered[first]] = count[order][first]
    runner_up[ordered[second]] = count[order][second]
    other = largest[group]
    other[order[first]] = runner_up[ordered[first]]
    return other


def _matched_rest(i: Ints, j: Ints, count: Ints) -> int:
    """The best matching of a few cells."""
    if len(count) == 0:
        return 0
    i, j = (np.unique(side, return_inverse=True)[1] for side in (i, j))
    if i.max() > j.max():
        i, j = j, i
    n_rows, n_columns = int(i.max()) + 1, int(j.max()) + 1
    # A matching of every row must exist, so each gets a private column that means "unmatched".
    # All weights are one too large, because this function takes a weight of 0 for no edge.
    spare = np.arange(n_rows)
    padded = csr_array(
        (
            np.r_[count + 1, np.ones(n_rows, dtype=np.int64)],
            (np.r_[i, spare], np.r_[j, n_columns + spare]),
        )
    )
    pairs = min_weight_full_bipartite_matching(padded, maximize=True)
    return int(padded[pairs].sum()) - n_rows


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
