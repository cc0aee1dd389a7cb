"""K-means in a hidden Markov random field.   S. Basu, M. Bilenko and R. Mooney, "A probabilistic
framework for semi-supervised clustering", KDD 2004.

Minimises  J = sum_i D(x_i, m_z(i)) + w sum_M w_ij phi(x_i, x_j) [z_i != z_j]
               + w sum_C w_ij (phi_max - phi(x_i, x_j)) [z_i = z_j]
with D = phi one of three distortions, each with a weight a_d for every column (distortions.py).

Departures from the paper:
- log Z is dropped, as in the paper's algorithm. Where weights of columns are learned and phi is
  linear in them, -sum_i sum_d log a_d stands for it, as in MPCK-means, and the best weights have a
  closed form. For the cosine they are gradient steps that are taken only where J falls.
- phi_max comes from the box of the data, and is 2 for the cosine.
- A label is two pairs: its row belongs with the next labelled row of its class, and not with the
  next one of another class.
- Labels of the previous pass stay in force while a row is decided again, so that J never rises.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._validation import Interval, Real, StrOptions
from sidelight.blocks import Block, Blocks, is_dask
from sidelight.exceptions import DataError
from sidelight.models._kmeans.distortions import (
    DISTORTIONS,
    Bounds,
    SquaredEuclidean,
    check_rows,
)
from sidelight.models._kmeans.family import CenterModel, Given, Seeds
from sidelight.models._kmeans.field import Field, fit_distortion
from sidelight.models._kmeans.metric import Pairs
from sidelight.models._kmeans.seeds import far_groups, label_seeds
from sidelight.models._lloyd import Problem, Run, Theta
from sidelight.models._naming import Naming

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class HMRFKMeans(CenterModel):
    """K-means with a choice of distances, in which broken statements cost distances.

    Squared distances for measurements, the Kullback-Leibler divergence for counts and shares, the
    cosine for texts. A broken must-link costs the distance of its rows; a broken cannot-link costs
    the largest distance minus that of its rows.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    distortion : {"euclidean", "kl", "cosine"}, default="euclidean"
        Squared distance, generalised Kullback-Leibler divergence (no value below 0), or 1 minus
        the cosine (no row of zeros).
    side_weight : float, default=1.0
        The cost of a broken statement, as a multiple of the distortion.
    learn_metric : bool, default=False
        Whether columns get weights.
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
        The centres; for the cosine mean directions.
    column_weights_ : ndarray of shape (n_features,)
        The weights a_d; ones unless ``learn_metric``.
    objective_ : float
        J of ``labels_``, ``cluster_centers_`` and ``column_weights_``.
    history_ : ndarray of shape (n_iter_,)
        J after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    MPCKMeans : Also learns weights of the columns.
    PCKMeans : A broken statement has a fixed cost.
    BayesianMixture : Finds the number of clusters; counts and categories too.

    Notes
    -----
    The divergence of two rows is that of both from their mean, which is symmetric. With
    ``learn_metric`` the term -sum_i sum_d log a_d is added to J; for the cosine, the weights have a
    mean of 1 instead.

    References
    ----------
    S. Basu, M. Bilenko and R. Mooney. A probabilistic framework for semi-supervised clustering. KDD
    2004, 59-68.

    Examples
    --------
    Directions, not lengths:

    >>> import numpy as np
    >>> from sidelight import HMRFKMeans, SideInformation
    >>> X = np.array([[1.0, 0.1], [9.0, 1.0], [0.1, 1.0], [0.5, 8.0]])
    >>> HMRFKMeans(2, distortion="cosine", random_state=0).fit_predict(X).tolist()
    [0, 0, 1, 1]
    >>> side = SideInformation.from_pairs(must=[(1, 2)], n_samples=4)
    >>> model = HMRFKMeans(2, distortion="cosine", side_weight=10, random_state=0)
    >>> model.fit(X, side=side).result_.violated.tolist()
    [False]
    """

    accepts = ("must", "cannot", "label", "not_label")
    weight_unit = "distortions of a pair"
    takes_sparse = False
    repetition = "ignored"
    contradictions = "tolerated"
    scales = "An iteration takes n d K, and K per statement."
    _published: ClassVar[dict[str, Any]] = {"n_init": 1, "learn_metric": True}
    _loop = staticmethod(fit_distortion)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterModel._parameter_constraints,
        "distortion": [StrOptions(set(DISTORTIONS))],
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "learn_metric": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distortion: str = "euclidean",
        side_weight: float = 1.0,
        learn_metric: bool = False,
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
        self.distortion = distortion
        self.side_weight = side_weight
        self.learn_metric = learn_metric

    def _penalty(self, given: Given) -> Field | Pairs:
        if sparse.issparse(given.rows.take(np.array([0]))):
            raise DataError(
                "X is a sparse matrix, and HMRFKMeans takes dense data only; give X.toarray(), or "
                "use PCKMeans, which takes sparse data."
            )
        low, high = given.rows.sum(_box, None)
        bounds = Bounds(np.min(low, axis=0), np.max(high, axis=0), given.mean)
        distortion = DISTORTIONS[self.distortion](bounds)
        self._distortion = distortion
        if self.distortion == "euclidean":
            return Pairs(given, self.side_weight, learned=self.learn_metric)
        given.rows.sum(_check_block, (distortion, self.distortion))
        return Field(given, distortion, self.side_weight, self.learn_metric)

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        return far_groups(given), label_seeds(given.side, given.weight, given.n_clusters)

    def _excludes_metric(self) -> str:
        if self.distortion == "euclidean":
            return ""
        return f"distortion={self.distortion!r} is not about distances along the columns"

    def _describe(self, run: Run, naming: Naming, problem: Problem) -> Run:
        self.column_weights_ = np.atleast_2d(run.theta.side)[0]
        return run

    def _predict(self, rows: Blocks) -> NDArray[np.int32]:
        labels = rows.column(0, np.int32)
        theta = Theta(self._to_metric(self.cluster_centers_), self.column_weights_)
        rows.sum(_predict_block, (self._distortion, self.distortion, theta), labels)
        return np.asarray(labels)

    def transform(self, X: Any) -> Any:
        """The distortions of each row of X from the centres.

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
        theta = Theta(self._to_metric(self.cluster_centers_), self.column_weights_)
        rows.sum(_transform_block, (self._distortion, self.distortion, theta), out)
        return out.astype(rows.block(0).X.dtype, copy=False)  # type: ignore[union-attr]


def _box(block: Block, _: None) -> tuple[list[Floats], list[Floats]]:
    X = np.asarray(block.X, dtype=np.float64)
    return [X.min(axis=0)], [X.max(axis=0)]


def _check_block(block: Block, how: tuple[SquaredEuclidean, str]) -> tuple[int]:
    check_rows(how[0], np.asarray(block.X), how[1])
    return (0,)


def _predict_block(
    block: Block, how: tuple[SquaredEuclidean, str, Theta], labels: NDArray[np.int32]
) -> tuple[int]:
    distortion, name, theta = how
    X = np.asarray(block.X, dtype=np.float64)
    check_rows(distortion, X, name)
    labels[:] = distortion.costs(X, theta.centers, theta.side).argmin(axis=1)
    return (0,)


def _transform_block(
    block: Block, how: tuple[SquaredEuclidean, str, Theta], out: Floats
) -> tuple[int]:
    distortion, name, theta = how
    X = np.asarray(block.X, dtype=np.float64)
    check_rows(distortion, X, name)
    out[:] = distortion.costs(X, theta.centers, theta.side)
    return (0,)
