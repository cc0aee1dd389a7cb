"""Pairwise constrained k-means.   S. Basu, A. Banerjee and R. Mooney, "Active semi-supervision for
pairwise constrained clustering", SDM 2004.

Minimises  J = 1/2 sum_i |x_i - m_z(i)|² + w sum_M w_ij [z_i != z_j] + w sum_C w_ij [z_i = z_j]

Paper          Here
M, C, w_ij     must- and cannot-links, with the weights of the statements
w              side_weight, cannot_weight, in mean squared deviations unless "absolute"
lambda         neighbourhoods: groups of rows that must-links and labels tie

Departures from the paper:
- Each given statement costs its weight. The paper counts every pair that follows from them, so
  that a group of 100 rows weighs 4,950; pairs="closure" does that.
- A label is broken if its row is not in the cluster of its class, and then costs as much as a
  must-link. The minimum is also over which cluster belongs to which class. Labels are never
  expanded into pairs.
- Labels of the previous pass stay in force while a row is decided again, so that J never rises.
- With up to 5,000 rows in pairs, rows still move, where none gains at the given centres, if J falls
  once the centres have followed (relocation.py).
- Prices in mean squared deviations, 0.3 by default: mean ARI over eight tables with n/3 pairs, all
  right or 15 % wrong, is .46/.45, .46/.44, .42/.38, .42/.35 and .41/.35 at 0.1, 0.3, 1, 3 and 10.
- The first start is the paper's, from the largest groups; the others are k-means++. Of equally
  large groups those far from each other are taken: the first ones by row number may be of one
  cluster, and took up to five times the iterations. Clusters that are left come by k-means++;
  init="perturbed" moves the mean of all rows a little, as in the paper.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sidelight._validation import HasMethods, Interval, Real, StrOptions
from sidelight.exceptions import SidelightError
from sidelight.models._kmeans.family import Given, Seeds, SizedModel
from sidelight.models._kmeans.pairs import ClosurePairs, GivenPairs, PairPenalty
from sidelight.models._kmeans.seeds import label_seeds, largest_groups
from sidelight.models._lloyd import Problem, Run
from sidelight.models._naming import Naming

Floats = NDArray[np.float64]


class PCKMeans(SizedModel):
    """K-means in which every broken statement has a cost.

    Must-links, cannot-links, labels and negative labels all count. The data can outweigh each of
    them: a statement is broken where keeping it would cost more squared distance than breaking it.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    side_weight : float, default=0.3
        The cost of a broken must-link or label.
    cannot_weight : float, optional
        The cost of a broken cannot-link or negative label; by default that of a must-link.
    weight_units : {"relative", "absolute"}, default="relative"
        "relative": the weights are in units of the mean squared deviation of a row, so that they
        mean the same for every data set (if all rows are equal, the unit is 1). "absolute": the
        paper's w.
    pairs : {"given", "closure"}, default="given"
        "given": each given statement costs its weight. "closure": each pair of rows that follows
        from the statements costs 1, as in the paper.
    init : {"seeded", "perturbed", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the first start uses the means of the largest groups of rows tied
        by must-links and labels (among groups of equal size, those far apart), and a row that is
        kept apart from all of them; the other starts use the means of the labelled classes. The
        remaining centres are drawn by k-means++. "perturbed": the same groups; the remaining
        centres are the mean of all rows, moved a little at random. An array of shape (n_clusters,
        n_features) gives centres, one of shape (n_samples,) cluster numbers (−1 is unknown), and a
        fitted model its centres.
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
        Source of the starts, and of the order in which rows with pairs are decided.

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
    side_weight_, cannot_weight_ : float
        The costs that were used, in absolute units.
    objective_ : float
        J of ``labels_`` and ``cluster_centers_``.
    history_ : ndarray of shape (n_iter_,)
        J after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    COPKMeans : Every pair and label holds.
    LCVQE : A broken pair costs distances of its rows to centres.
    MPCKMeans : Also learns weights of the columns.
    DiscriminativeClustering : The default; takes every kind of statement.

    Notes
    -----
    With row weights v, J = 1/2 sum_i v_i |x_i - m_z(i)|² + the costs of all broken statements. A
    label counts v_i times. An iteration moves rows without pairs to their cheapest cluster all at
    once, and rows with pairs one by one until none gains by moving. At the end, if at
    most 5,000 rows have pairs, no row gains by moving even if the centres follow; pairs="closure"
    stops before that, as the paper does.

    References
    ----------
    S. Basu, A. Banerjee and R. Mooney. Active semi-supervision for pairwise constrained clustering.
    SDM 2004, 333-344.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PCKMeans, SideInformation
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2), (4, 5)], n_samples=6)
    >>> model = PCKMeans(3, random_state=0).fit(X, side=side)
    >>> model.labels_.tolist()
    [0, 0, 1, 1, 2, 2]
    >>> print(model.result_.broken()[0])
    4 apart from 5 (cannot)
    """

    accepts = ("must", "cannot", "label", "not_label")
    weight_unit = "mean squared deviations of a row"
    repetition = "adds"
    contradictions = "tolerated"
    scales = "An iteration takes n d K plus K per statement, and less as centres settle."
    _published: ClassVar[dict[str, Any]] = {
        "side_weight": 1.0,
        "weight_units": "absolute",
        "pairs": "closure",
        "init": "perturbed",
        "n_init": 1,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SizedModel._parameter_constraints,
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "cannot_weight": [Interval(Real, 0, None, closed="left"), None],
        "weight_units": [StrOptions({"relative", "absolute"})],
        "pairs": [StrOptions({"given", "closure"})],
        "init": [
            StrOptions({"seeded", "perturbed", "k-means++", "random"}),
            "array-like",
            HasMethods(["fit", "predict"]),
        ],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        side_weight: float = 0.3,
        cannot_weight: float | None = None,
        weight_units: str = "relative",
        pairs: str = "given",
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 300,
        min_size: Any = None,
        max_size: Any = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            min_size=min_size,
            max_size=max_size,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            metric=metric,
            random_state=random_state,
        )
        self.side_weight = side_weight
        self.cannot_weight = cannot_weight
        self.weight_units = weight_units
        self.pairs = pairs

    def _penalty(self, given: Given) -> PairPenalty:
        unit = given.deviation if self.weight_units == "relative" and given.deviation > 0 else 1.0
        cannot = self.side_weight if self.cannot_weight is None else self.cannot_weight
        self.side_weight_, self.cannot_weight_ = self.side_weight * unit, cannot * unit
        if self.pairs == "closure" and not (self.min_size is None and self.max_size is None):
            raise SidelightError(
                'min_size and max_size need pairs="given": sizes are kept by moving rows with '
                "stated pairs one by one."
            )
        kind = GivenPairs if self.pairs == "given" else ClosurePairs
        # The loop minimises 2 J: whole squared distances, and twice the prices.
        return kind(given, 2.0 * self.side_weight_, 2.0 * self.cannot_weight_)

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        by_label = label_seeds(given.side, given.weight, given.n_clusters)
        return largest_groups(given), by_label

    def _describe(self, run: Run, naming: Naming, problem: Problem) -> Run:
        return run._replace(objective=run.objective / 2.0, history=[j / 2.0 for j in run.history])
