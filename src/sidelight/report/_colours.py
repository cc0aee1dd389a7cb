"""Colours of clusters: twenty-four different ones, and grey for further clusters."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from sidelight.exceptions import DataError

# The first six are Okabe and Ito's, safe for colour-blind readers. The others were added one by
# one, each as far as possible from all before it in OKLab, also as a deuteranope sees them, with
# contrast to white and to a dark page.
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#9000FC", "#605400"),
    *("#9C0C78", "#E400E4", "#00D86C", "#7878FC", "#603CA8", "#905460", "#FC3C6C", "#D8B4A8"),
    *("#FC90FC", "#C00024", "#0048D8", "#A854C0", "#84843C", "#30CCB4", "#90B43C", "#006054"),
)
GREY = "#8A8F98"


def colours_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """For each cluster the number of its colour; −1, grey, for all but the 24 largest.

    Up to 24 clusters have the colours of their numbers, so that a cluster keeps its colour when
    sizes change.
    """
    sizes = np.asarray(sizes)
    if len(sizes) <= len(COLOURS):
        return np.arange(len(sizes))
    found = np.full(len(sizes), -1)
    largest = np.sort(np.argsort(-sizes, kind="stable")[: len(COLOURS)])
    found[largest] = np.arange(len(COLOURS))
    return found


def align_clusters(labels: ArrayLike, reference: ArrayLike) -> NDArray[np.int64]:
    """Renumber the clusters of a partition to match another one, by shared rows.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        The clusters to renumber; negative ones stay.
    reference : array of shape (n_samples,)
        The clusters whose numbers they take, one to one, for the most shared rows in all. Clusters
        left over get numbers that the reference does not have.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> align_clusters([7, 7, 7, 3, 3, 5], [0, 0, 1, 1, 1, 1]).tolist()
    [0, 0, 0, 1, 1, 2]
    """
    labels, reference = np.asarray(labels), np.asarray(reference)
    if labels.shape != reference.shape:
        raise DataError(
            f"the clusters are of {len(labels):,} rows, and those to align them with of "
            f"{len(reference):,}; give two partitions of the same rows."
        )
    both = (labels >= 0) & (reference >= 0)
    own = np.unique(labels[labels >= 0])
    n_reference = int(reference.max(initial=-1)) + 1
    codes = np.searchsorted(own, labels[both])
    shared = np.zeros((len(own), n_reference))
    np.add.at(shared, (codes, reference[both]), 1)
    mine, theirs = linear_sum_assignment(shared, maximize=True)
    number = np.full(len(own), -1)
    meets = shared[mine, theirs] > 0
    number[mine[meets]] = theirs[meets]
    left = np.flatnonzero(number < 0)
    number[left] = n_reference + np.arange(len(left))
    found = labels.astype(np.int64)
    found[labels >= 0] = number[np.searchsorted(own, labels[labels >= 0])]
    return found
