"""K-means with labels: at the start only, or for good.   S. Basu, A. Banerjee and R. Mooney,
"Semi-supervised clustering by seeding", ICML 2002.

Minimises  J = sum_i |x_i - m_z(i)|²      Seeded: z is free after the start
                                         Constrained: z_i is the class of row i where it is labelled

Paper        Here
S_h          the labelled rows of class h
mu_h^(0)     means of the labelled rows

Departures from the paper, which has a seed for every cluster:
- Clusters without a label start by k-means++, given the means of the labelled classes.
- Negative labels forbid a cluster in ConstrainedKMeans.
- An empty cluster starts again at the costliest row without statements.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sidelight.models._keeping import check_classes, check_keepable, held_rows
from sidelight.models._kmeans.family import CenterModel, Given, Seeds, SizedModel
from sidelight.models._kmeans.seeds import label_seeds
from sidelight.models._kmeans.sizes import Units
from sidelight.models._lloyd import Entries, Penalty, Problem, State, Tally, Theta
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SeededKMeans(CenterModel):
    """K-means that starts at the means of the labelled classes.

    Labels only choose the start. A wrong label does little harm, and a row may leave the cluster of
    its label.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes (the heaviest ones if there are
        more classes than clusters), with k-means++ for the remaining clusters. The others ignore
        labels. An array of shape (n_clusters, n_features) gives centres, one of shape (n_samples,)
        cluster numbers (−1 is unknown), and a fitted model its centres.
    n_init : int or "auto", default="auto"
        The number of starts; the best by J is kept. A start without randomness (every cluster has
        a label, or the start is given) is made once. "auto": 10; fewer above 10,000 rows, down
        to 3.
    max_iter : int, default=300
        The maximum number of iterations of one start.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found; fewer than asked for only if there are too few distinct rows.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters, in double precision.
    objective_ : float
        J, the sum of squared distances to the centres.
    history_ : ndarray of shape (n_iter_,)
        J after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    ConstrainedKMeans : Labels hold.
    PartitionLevelKMeans : Labels count, and the data can outweigh them.
    HGMeans : Searches for the lowest sum of squares.

    Notes
    -----
    J = sum_i w_i |x_i - m_z(i)|², with row weights w. Without labels this is k-means. Repeating a
    label changes nothing; its weight counts in the mean of its class.

    References
    ----------
    S. Basu, A. Banerjee and R. Mooney. Semi-supervised clustering by seeding. ICML 2002, 27-34.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import SeededKMeans
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> model = SeededKMeans(3, random_state=0).fit(X, ["a", None, "b", None, None, None])
    >>> model.cluster_names_[model.labels_].tolist()
    ['a', 'a', 'b', 'b', 'new 1', 'new 1']
    """

    accepts = ("label",)
    refuses: ClassVar[dict[str, str]] = {
        kind: "Labels are its start, and nothing binds it later. "
        for kind in ("must", "cannot", "not_label")
    }
    weight_unit = "none: labels are only the start"
    repetition = "ignored"
    contradictions = "tolerated"
    scales = "An iteration takes n d K, and less as centres settle."
    _published: ClassVar[dict[str, Any]] = {}

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        seeds = label_seeds(given.side, given.weight, given.n_clusters)
        return seeds, seeds


class ConstrainedKMeans(SizedModel):
    """K-means in which labelled rows stay in the cluster of their class.

    Every label holds, right or wrong. "Is not class c" keeps a row out of the cluster of c.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters: at least the number of labelled classes, which is the default.
    min_size, max_size : int or array of shape (n_clusters,), optional
        The smallest and the largest number of rows in a cluster: one number for all clusters, or
        one for each, first the labelled classes in sorted order, then the new clusters. If either
        is given, no cluster is empty, and the rows must be in memory.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, with k-means++ for the
        remaining clusters. The others ignore labels; classes are then matched to centres so that
        the sum of the distances to the class means is smallest. An array of shape (n_clusters,
        n_features) gives centres, one of shape (n_samples,) cluster numbers (−1 is unknown), and a
        fitted model its centres.
    n_init : int or "auto", default="auto"
        The number of starts; the best by J is kept. A start without randomness (every cluster has
        a label, or the start is given) is made once. "auto": 10; fewer above 10,000 rows, down
        to 3.
    max_iter : int, default=300
        The maximum number of iterations of one start.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found; fewer than asked for only if there are too few distinct rows.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters, in double precision.
    objective_ : float
        J, the sum of squared distances to the centres.
    history_ : ndarray of shape (n_iter_,)
        J after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    SeededKMeans : Labels only choose the start.
    PartitionLevelKMeans : Labels count, and the data can outweigh them.
    COPKMeans : Every pair and label holds.

    Notes
    -----
    J = sum_i w_i |x_i - m_z(i)|², with row weights w, over all z that keep every
    statement. Without statements this is k-means. Contradictions, and statements that K clusters
    cannot keep, are errors; weights of statements do not matter. With sizes, every iteration solves
    a transportation problem exactly.

    References
    ----------
    S. Basu, A. Banerjee and R. Mooney. Semi-supervised clustering by seeding. ICML 2002, 27-34.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import ConstrainedKMeans
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> model = ConstrainedKMeans(random_state=0).fit(X, ["a", None, "b", None, "b", None])
    >>> model.cluster_names_[model.labels_].tolist()
    ['a', 'a', 'b', 'a', 'b', 'b']
    """

    accepts = ("label", "not_label")
    refuses: ClassVar[dict[str, str]] = {
        kind: "It knows classes, not pairs. " for kind in ("must", "cannot")
    }
    weight_unit = "none: labels hold"
    repetition = "ignored"
    contradictions = "raises"
    scales = "An iteration takes n d K, and less as centres settle."
    _matched = True
    _published: ClassVar[dict[str, Any]] = {}

    def _penalty(self, given: Given) -> "Hold":
        return Hold.of(given.side, given.n_clusters)

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        seeds = label_seeds(given.side, given.weight, given.n_clusters)
        return seeds, seeds


class Hold(Penalty):
    """Clusters that are forbidden to rows: all but one by a label, one by a negative label.

    The price is infinite. A row with one cluster left has an infinite slack, so that no pass ever
    looks at it again.
    """

    def __init__(self, entries: Entries, n_classes: int) -> None:
        self.entries, self.n_classes = entries, n_classes
        self.n_prices = 2 * n_classes

    @classmethod
    def of(cls, side: SideInformation, n_clusters: int) -> "Hold":
        """From statements that can be kept; class k, of those with a label, is cluster k."""
        check_classes(side, n_clusters)
        check_keepable(side, n_clusters)
        n_classes = len(side.labelled_classes)
        row, (cluster, positive) = held_rows(side)
        entry = cluster + n_classes * ~positive
        return cls(Entries.of(row, entry, np.ones(len(entry))), n_classes)

    @property
    def anchored(self) -> Ints:
        """Rows with statements start no empty cluster."""
        return self.entries.stated

    def prices(self, theta: Theta) -> Floats:
        """Infinite where a cluster is forbidden."""
        own = np.eye(self.n_classes, len(theta.centers), dtype=bool)
        return np.where(np.vstack([~own, own]), np.inf, 0.0)

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """No cost: forbidden assignments do not occur."""
        return 0.0

    def units(self) -> Units:
        """No row has pairs."""
        return Units.none()

    def begin(self, problem: Problem, theta: Theta, tally: Tally, state: State) -> Tally:
        """No row is held except by its price."""
        return tally
