"""COP-k-means: every statement is kept.   K. Wagstaff, C. Cardie, S. Rogers and S. Schroedl,
"Constrained k-means clustering with background knowledge", ICML 2001.

Minimises  J = sum_i |x_i - m_z(i)|²   over all z that keep every must-link and every cannot-link

Departures from the paper, which assigns one row after the other to its nearest allowed centre and
fails if there is none:
- Rows that belong together are one group, with one cluster; labels are groups too.
- Keeping groups apart is graph colouring: the group with the fewest choices is placed first
  (DSATUR), and where none is left, neighbours make room (an ejection chain).
- After the first iteration groups move, and exchange clusters along chains, only where J falls. So
  J never rises; in the paper's loop it may.
- With up to 5,000 rows in statements, groups and rows also move where J falls once the centres have
  followed (relocation.py).
- A failure names the rows that show why, and says whether it is proven.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.models._centers import as_dense
from sidelight.models._keeping import TiedGroups
from sidelight.models._kmeans.family import Given, Seeds, SizedModel
from sidelight.models._kmeans.relocation import FEW_ROWS, move_units, near_ties
from sidelight.models._kmeans.seeds import label_seeds, largest_groups
from sidelight.models._kmeans.sizes import Units, placed_apart
from sidelight.models._lloyd import Held, Penalty, Problem, State, Tally, Theta, count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class COPKMeans(SizedModel):
    """K-means in which every statement holds.

    Must-links, cannot-links, labels and negative labels all hold, right or wrong. If statements
    contradict each other, or K clusters cannot keep them, an error names the rows.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the first start uses the means of the largest groups of rows tied
        by must-links and labels (among groups of equal size, those far apart), and a row that is
        kept apart from all of them; the other starts use the means of the labelled classes. The
        remaining centres are drawn by k-means++. An array of shape (n_clusters, n_features) gives
        centres, one of shape (n_samples,) cluster numbers (−1 is unknown), and a fitted model its
        centres.
    n_init : int or "auto", default="auto"
        The number of starts; the best by J is kept. A given start is made once. "auto": 10; fewer
        above 10,000 rows, down to 3, or 1 there if every cluster has a label.
    max_iter : int, default=300
        The maximum number of iterations of one start.
    min_size, max_size : int or array of shape (n_clusters,), optional
        The smallest and the largest number of rows in a cluster: one number for all clusters, or
        one for each. If either is given, no cluster is empty, and the rows must be in memory.
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
        The number of clusters found.
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
    PCKMeans : A broken statement has a fixed cost.
    ConstrainedKMeans : Labels hold.
    EquivalenceGaussianMixture : A mixture in which pairs and labels hold.

    Notes
    -----
    J = sum_i w_i |x_i - m_z(i)|², with row weights w; weights of statements do not
    matter. Whether K clusters can keep all statements is NP-hard to decide in general. If the error
    says "unknown", neither a solution nor a proof that there is none was found.

    References
    ----------
    K. Wagstaff, C. Cardie, S. Rogers and S. Schroedl. Constrained k-means clustering with
    background knowledge. ICML 2001, 577-584.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import COPKMeans, SideInformation
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> side = SideInformation.from_pairs(must=[(0, 4)], cannot=[(4, 5)], n_samples=6)
    >>> COPKMeans(2, random_state=0).fit_predict(X, side=side).tolist()
    [0, 0, 0, 0, 0, 1]
    >>> side = SideInformation.from_pairs(cannot=[(0, 1), (1, 2), (0, 2)], n_samples=6)
    >>> COPKMeans(2).fit(X, side=side)
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SideInformationError: ...no: 3 rows are all kept apart... (0, 1, 2)...
    """

    accepts = ("must", "cannot", "label", "not_label")
    weight_unit = "none: statements hold"
    repetition = "ignored"
    contradictions = "raises"
    scales = "An iteration takes n d K plus K per statement, and less as centres settle."
    _published: ClassVar[dict[str, Any]] = {"init": "random", "n_init": 1}

    def _penalty(self, given: Given) -> "KeepAll":
        return KeepAll(given)

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        by_label = label_seeds(given.side, given.weight, given.n_clusters)
        return largest_groups(given), by_label


class KeepAll(Penalty):
    """Groups of rows in one cluster each, no two that are apart in the same."""

    sweeps_at_centers = True

    def __init__(self, given: Given) -> None:
        self.groups = TiedGroups.of(given.side, given.n_clusters)
        self.held = self.groups.rows
        self.data = Held.of(given.rows, self.held, given.weight)
        self.finishes = 0 < len(self.held) <= FEW_ROWS  # of more rows, single ones hardly matter
        rng = np.random.default_rng(given.seed)
        self.order = rng.permutation(len(self.groups.first))  # of groups that keep sizes

    def units(self) -> Units:
        """Groups, no two that are apart in one cluster."""
        apart = self.groups.apart
        never = np.full(len(apart.near), -np.inf)
        return Units(self.groups.group, apart.near, never, apart.span, hard=len(self.held) > 0)

    def placed(self, cost: Floats, n_free: int) -> Ints:
        """A cluster for each group within the sizes, with room for the other rows."""
        labels, units = self.groups.apart.placed(cost), self.units()
        sizes = np.bincount(labels, units.sizes, minlength=cost.shape[1]).astype(np.int64)
        if self.sizes.less(sizes).fit(n_free):
            return labels
        return placed_apart(cost, units, self.sizes, n_free)

    def begin(self, problem: Problem, theta: Theta, tally: Tally, state: State) -> Tally:
        """The first assignment of the groups: by cost if that succeeds, else from a known way."""
        tally = super().begin(problem, theta, tally, state)
        if not len(self.held):
            return tally
        return self._placed(tally, state, self.groups.apart.placed(self._cost(theta)), theta)

    def sweep(
        self, problem: Problem, theta: Theta, tally: Tally, state: State
    ) -> tuple[int, Tally]:
        """Move groups to cheaper clusters, alone or along chains, until none gains."""
        if not len(self.held):
            return 0, tally
        labels = state.labels[self.held[self.groups.first]].astype(np.int64)
        n_all, labels = self.groups.apart.improved(self._cost(theta), labels)
        return n_all, self._placed(tally, state, labels, theta)

    def finish(
        self, problem: Problem, theta: Theta, tally: Tally, state: State, cost: Any
    ) -> tuple[int, Tally]:
        """Move groups and rows if J falls when the centres are updated with the move."""
        free, groups = near_ties(problem, theta, tally, state, cost), self.groups
        weight = np.asarray(groups.members @ self.data.weight)
        mass = sparse.csr_array(groups.members.multiply(self.data.weight))
        means = as_dense(mass @ self.data.data.data) / np.where(weight > 0, weight, 1.0)[:, None]
        n, near = len(weight), groups.apart.near
        span = np.append(groups.apart.span, np.full(len(free), len(near)))
        graph = sparse.csr_array((np.full(len(near), -np.inf), near, span), (n + len(free),) * 2)
        first = self.held[groups.first]
        labels = np.concatenate([state.labels[first], state.labels[free]]).astype(np.int64)
        units = np.vstack([means, as_dense(problem.rows.take(free))])
        own = np.ones(len(free)) if problem.weight is None else problem.weight[free]
        n_moved = move_units(units, np.concatenate([weight, own]), tally, graph, labels)
        if not n_moved:
            return 0, tally
        state.labels[self.held], state.labels[free] = labels[:n][groups.group], labels[n:]
        return n_moved, count(problem, state.labels, len(theta.centers))

    def _cost(self, theta: Theta) -> Floats:
        """The cost of each group in each cluster, (G, K)."""
        return np.asarray(self.groups.members @ self.data.distances(theta.centers))

    def _placed(self, tally: Tally, state: State, of_group: Ints, theta: Theta) -> Tally:
        """The tally after the groups went to clusters."""
        before = state.labels[self.held].astype(np.int64)
        after = of_group[self.groups.group]
        state.labels[self.held] = after
        return self.data.moved(tally, before, after, theta.centers)
