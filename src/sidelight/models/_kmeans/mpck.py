"""Metric pairwise constrained k-means.   M. Bilenko, S. Basu and R. Mooney, "Integrating
constraints and metric learning in semi-supervised clustering", ICML 2004.

Minimises  J = sum_i ( |x_i - m_z|²_A_z - log det A_z )
               + w sum_M w_ij f_M [z_i != z_j] + w sum_C w_ij f_C [z_i = z_j]
    f_M = |x_i - x_j|²_A / 2 in the metrics of both clusters, added
    f_C = |range|²_A - |x_i - x_j|²_A

Paper          Here
A_h            metric[h], the diagonal; the same row for all clusters unless per_cluster
x', x''        the farthest pair: the corners of the box of the data, so that f_C is never negative

Departures from the paper:
- The metric is diagonal. Where its closed form is negative or huge it is held at a variance of a
  thousandth of the column's: the best value with that limit, so that J never rises.
- A label is two pairs: its row belongs with the next labelled row of its class, and not with the
  next one of another class.
- Labels of the previous pass stay in force while a row is decided again.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._validation import Interval, Real
from sidelight.blocks import Block, Blocks, is_dask
from sidelight.exceptions import DataError
from sidelight.models._kmeans.family import CenterModel, Given, Seeds
from sidelight.models._kmeans.metric import Pairs, Place, learn, metric_costs, place
from sidelight.models._kmeans.seeds import far_groups, label_seeds
from sidelight.models._lloyd import Problem, Run, Theta
from sidelight.models._naming import Naming

Floats = NDArray[np.float64]


class MPCKMeans(CenterModel):
    """K-means that learns from the statements which columns matter.

    A broken statement has a cost. It is larger for distant rows that should be together, and for
    near rows that should be apart. Columns in which clusters and must-linked rows vary little count
    more, in all clusters alike or in each separately.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    side_weight : float, default=1.0
        The cost of a broken statement, as a multiple of the squared distance in the learned metric.
    per_cluster : bool, default=False
        Whether every cluster has a metric of its own.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the first start uses the means of large groups of rows, tied by
        must-links and labels, that are far from each other; the other starts use the means of the
        labelled classes. The remaining centres are drawn by k-means++. An array of shape
        (n_clusters, n_features) gives centres, one of shape (n_samples,) cluster numbers (−1 is
        unknown), and a fitted model its centres.
    n_init : int or "auto", default="auto"
        The number of starts; the best by J is kept. A given start is made once. "auto": 10; fewer
        above 10,000 rows, down to 3, or 1 there if every cluster has a label.
    max_iter : int, default=300
        The maximum number of iterations of one start.
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
    metrics_ : ndarray of shape (n_clusters_, n_features)
        The weight of each column in each cluster: equal rows unless ``per_cluster``.
    objective_ : float
        J of ``labels_``, ``cluster_centers_`` and ``metrics_``.
    history_ : ndarray of shape (n_iter_,)
        J after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    PCKMeans : A broken statement has a fixed cost.
    HMRFKMeans : Other distances: divergences of counts, the cosine.
    DiscriminativeClustering : The default; takes every kind of statement.

    Notes
    -----
    New rows go to the cluster with the lowest |x - m_k|²_A - log det A, in the metric
    of that cluster. A constant column keeps a weight of 1.

    References
    ----------
    M. Bilenko, S. Basu and R. Mooney. Integrating constraints and metric learning in
    semi-supervised clustering. ICML 2004, 81-88.

    Examples
    --------
    The second column is noise, with a larger range than the first, which separates the rows:

    >>> import numpy as np
    >>> from sidelight import MPCKMeans, SideInformation
    >>> X = np.array([[0.0, 0.0], [0.1, 9.0], [0.2, 3.0], [2.0, 1.0], [2.1, 8.0], [2.2, 5.0]])
    >>> side = SideInformation.from_pairs(must=[(0, 1), (3, 4)], cannot=[(1, 4)], n_samples=6)
    >>> MPCKMeans(2, random_state=0).fit_predict(X, side=side).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    accepts = ("must", "cannot", "label", "not_label")
    weight_unit = "squared distances in the learned metric"
    takes_sparse = False
    repetition = "ignored"
    contradictions = "tolerated"
    scales = "An iteration takes n d K, and K per statement."
    _published: ClassVar[dict[str, Any]] = {"n_init": 1, "per_cluster": True}
    _loop = staticmethod(learn)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterModel._parameter_constraints,
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "per_cluster": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        side_weight: float = 1.0,
        per_cluster: bool = False,
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 300,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            metric=metric,
            random_state=random_state,
        )
        self.side_weight = side_weight
        self.per_cluster = per_cluster

    def _penalty(self, given: Given) -> Pairs:
        if sparse.issparse(given.rows.take(np.array([0]))):
            raise DataError(
                "X is a sparse matrix, and MPCKMeans takes dense data only; give X.toarray(), or "
                "use PCKMeans, which takes sparse data and learns no metric."
            )
        return Pairs(given, self.side_weight, per_cluster=self.per_cluster)

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        by_label = label_seeds(given.side, given.weight, given.n_clusters)
        return far_groups(given), by_label

    def _describe(self, run: Run, naming: Naming, problem: Problem) -> Run:
        self.metrics_ = run.theta.side[naming.order]
        return run

    def _predict(self, rows: Blocks) -> NDArray[np.int32]:
        labels = rows.column(0, np.int32)
        at = place(Theta(self._to_metric(self.cluster_centers_), self.metrics_))
        rows.sum(_predict_block, at, labels)
        return np.asarray(labels)

    def transform(self, X: Any) -> Any:
        """The distances of each row of X to the centres, in the metric of each cluster.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters_), or a Dask array
        """
        if is_dask(X):
            dtype = np.float32 if X.dtype == np.float32 else np.float64
            return self._lazily("transform", X, dtype, by_cluster=True)
        rows = self._new_rows(X)
        out = np.empty((rows.n_samples, self.n_clusters_))
        rows.sum(
            _transform_block,
            place(Theta(self._to_metric(self.cluster_centers_), self.metrics_)),
            out,
        )
        return out.astype(rows.block(0).X.dtype, copy=False)  # type: ignore[union-attr]


def _transform_block(block: Block, at: Place, out: Floats) -> tuple[int]:
    squared = metric_costs(np.asarray(block.X), at) - at.constant
    out[:] = np.sqrt(np.maximum(squared, 0.0))
    return (0,)


def _predict_block(block: Block, at: Place, labels: NDArray[np.int32]) -> tuple[int]:
    labels[:] = metric_costs(np.asarray(block.X), at).argmin(axis=1)
    return (0,)
