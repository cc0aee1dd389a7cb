"""K-means consensus clustering.   J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen, "K-means-based
consensus clustering: a unified view", IEEE TKDE 27, 2015.

Minimises  J = sum_k sum_{i in k} sum_v a_v [v covers i] f(b_i^v, g_k^v)

Paper        Here
pi_v         a partition, a vocabulary of the table of entries; the labels are one more
a_v          1, and side_weight for the labels
b_i^v        the one-hot row of i in partition v
g_k^v        the mean of b^v over the members of k that v covers: profiles[k]
f, U         category |b - g|², entropy KL(b || g), cosine 1 - b'g / |g|, and
             lp 1 - sum_j b_j g_j^(p-1) / |g|_p^(p-1)

This is PartitionLevelKMeans (impurity.py) on rows without any data of their own: every partition is
what an annotator with a vocabulary of their own says. A partition that misses a row costs nothing
there. The mean is the best profile for each of the four, so that J never rises.

Departures from the paper:
- A cluster without covered members has the zero vector as g. For KL, g is at least 1e-12.
- "Is not class c" is (0 - g_c)². Only for the category utility is the mean then the best profile:
  labels of a vocabulary with negative labels are measured by it.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sidelight._validation import Integral, Interval, Real, RealNotInt, StrOptions
from sidelight.blocks import Blocks, as_blocks
from sidelight.models._fitting import given_labels
from sidelight.models._kmeans.agreement import Agreement, agree, utility_prices
from sidelight.models._kmeans.family import CenterModel, Given, Seeds
from sidelight.models._kmeans.partitions import (
    Codes,
    Quantisers,
    first_columns,
    one_hot_rows,
    with_partitions,
)
from sidelight.models._kmeans.seeds import label_seeds
from sidelight.models._kmeans.statements import LabelTable
from sidelight.models._lloyd import Problem, Run, Theta
from sidelight.models._naming import Naming

Floats = NDArray[np.float64]


class ConsensusKMeans(CenterModel):
    """Partition that agrees best with several others, and with labels.

    The others are given, one column each and with gaps, or made from the data by k-means.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    partitions : {"kmeans", "precomputed"}, default="kmeans"
        "kmeans": the partitions are made by k-means from the rows of X. "precomputed": X is a table
        of partitions, one column each, with cluster numbers from 0 and −1 where a partition does
        not contain the row.
    n_partitions : int, default=10
        The number of partitions to make. Above 20,000 rows each ends when an iteration of k-means
        lowers the sum of squares by less than 1e-5 of it.
    partition_clusters : int or float, default=2.0
        The number of clusters of the partitions that are made; a float is a multiple of
        ``n_clusters``.
    partition_init : {"k-means++", "random"}, default="k-means++"
        How k-means starts for a partition: "random" means random rows, as published.
    utility : {"category", "entropy", "cosine", "lp"}, default="category"
        How agreement is measured: see Notes.
    p : float, default=5.0
        The power of the utility "lp", above 1.
    side_weight : float, default=100.0
        The weight of a label; membership in one partition has a weight of 1.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels, and make the partitions in that metric. Too few
        labels leave the rows unchanged. "statements": with its defaults.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, with k-means++ for the
        remaining clusters. An array gives the cluster numbers of all rows (−1 is unknown), and a
        fitted model its clusters of them.
    n_init : int or "auto", default="auto"
        The number of starts; the best is kept. A start without randomness is made once. "auto": 10;
        fewer above 10,000 rows, down to 3.
    max_iter : int, default=300
        The maximum number of iterations of one start.
    random_state : int, Generator or RandomState, optional
        Source of the partitions and of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found.
    cluster_centers_ : ndarray of shape (n_clusters_, n_columns)
        For each cluster, the share of its rows in each cluster of each partition, side by side.
    class_profiles_ : ndarray of shape (n_clusters_, n_classes)
        For each cluster the share of each class among its labels.
    class_columns_ : list of (vocabulary, class)
        The class of each column of ``class_profiles_``; the shared vocabulary is None.
    objective_ : float
        J of ``labels_`` and the profiles.
    history_ : ndarray of shape (n_iter_,)
        J after each iteration of the best start; it never rises.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    SemiMultiCons : One partition from several, on several levels.
    PartitionLevelKMeans : Labels count, and the data can outweigh them.

    Notes
    -----
    A row in cluster c of a partition costs, in a consensus cluster whose rows have the
    shares g in that partition, |b - g|² ("category", b being 1 at c and 0 elsewhere), −log g_c
    ("entropy"), 1 − g_c / |g| ("cosine") or 1 − (g_c / |g|_p)^(p−1) ("lp"); a label,
    ``side_weight`` times its weight of that. New rows are assigned by their partitions to the
    cluster with the lowest cost.

    References
    ----------
    J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen. K-means-based consensus clustering: a unified view.
    IEEE Transactions on Knowledge and Data Engineering 27, 2015, 155-169.

    Examples
    --------
    Three partitions of six rows; the second lacks a row, and the third is wrong about one:

    >>> import numpy as np
    >>> from sidelight import ConsensusKMeans
    >>> X = np.array([[0, 7, 0], [0, 7, 0], [0, -1, 1], [1, 3, 1], [1, 3, 1], [1, 3, 1]])
    >>> model = ConsensusKMeans(2, partitions="precomputed", random_state=0).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.predict([[-1, 3, -1]]).tolist()
    [1]
    """

    accepts = ("label", "not_label")
    refuses: ClassVar[dict[str, str]] = {
        kind: "Partitions say which rows are in one cluster, and not which pairs are. "
        for kind in ("must", "cannot")
    }
    weight_unit = "disagreements with one partition"
    on_dask = False
    repetition = "adds"
    contradictions = "tolerated"
    scales = "As k-means for each partition; then n K per partition and iteration."
    _published: ClassVar[dict[str, Any]] = {
        "n_partitions": 1,
        "partition_clusters": 1.0,
        "partition_init": "random",
        "init": "random",
    }
    _loop = staticmethod(agree)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterModel._parameter_constraints,
        "partitions": [StrOptions({"kmeans", "precomputed"})],
        "n_partitions": [Interval(Integral, 1, None, closed="left")],
        "partition_clusters": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, None, closed="neither"),
        ],
        "partition_init": [StrOptions({"k-means++", "random"})],
        "utility": [StrOptions({"category", "entropy", "cosine", "lp"})],
        "p": [Interval(Real, 1, None, closed="neither")],
        "side_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        partitions: str = "kmeans",
        n_partitions: int = 10,
        partition_clusters: float = 2.0,
        partition_init: str = "k-means++",
        utility: str = "category",
        p: float = 5.0,
        side_weight: float = 100.0,
        metric: Any = None,
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            random_state=random_state,
        )
        self.partitions = partitions
        self.n_partitions = n_partitions
        self.partition_clusters = partition_clusters
        self.partition_init = partition_init
        self.utility = utility
        self.p = p
        self.side_weight = side_weight

    def _excludes_metric(self) -> str:
        if self.partitions == "precomputed":
            return 'partitions="precomputed" has no rows to measure'
        return ""

    def _structure(self, given: Given) -> tuple[Given, Agreement]:
        rows, n_clusters = given.rows, given.n_clusters
        if self.partitions == "precomputed":
            self._base: Codes | Quantisers = Codes.of(rows)
        else:
            k: Any = self.partition_clusters
            k *= 1 if isinstance(k, Integral) else n_clusters
            sizes = [int(np.clip(round(k), 1, rows.n_samples))] * self.n_partitions
            # A stream of its own: starts of the consensus do not follow those of the partitions.
            rng = np.random.default_rng([given.seed, 1])
            self._base = Quantisers.of(rows, given.weight, sizes, rng, self.partition_init)
        labels = LabelTable.of(given.side)
        labels = labels._replace(weight=self.side_weight * labels.weight)
        table = with_partitions(labels, self._base.assign(rows), self._base.sizes)
        init = given.init
        if not isinstance(init, str):
            X = rows.data if self._map is None else self._from_metric(rows.data)
            init = given_labels(init, rows.n_samples, n_clusters, X=X)
        one_hot = as_blocks(one_hot_rows(table, rows.n_samples))
        return given._replace(rows=one_hot, init=init), Agreement(table, self.utility, self.p)

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        seeds = label_seeds(given.side, given.weight, given.n_clusters)
        return seeds, seeds

    def _leave_centers(self, theta: Theta, naming: Naming) -> None:
        profiles = np.split(theta.side[naming.order], [sum(self._base.sizes)], axis=1)
        self.cluster_centers_, self.class_profiles_ = profiles

    def _describe(self, run: Run, naming: Naming, problem: Problem) -> Run:
        self.class_columns_ = problem.penalty.said.column_names[self.cluster_centers_.shape[1] :]
        return run

    def _costs(self, rows: Blocks) -> Floats:
        """The cost of each row in each cluster, (n, K), by its partitions only."""
        first = first_columns(self._base.sizes)
        prices = utility_prices(self.cluster_centers_, first[:-1], self.utility, self.p)
        # A last row of zeros: a partition that misses a row costs nothing.
        prices = np.vstack([prices.T, np.zeros(self.n_clusters_)])
        members = self._base.assign(rows)
        costs = np.zeros((rows.n_samples, self.n_clusters_))
        for v, start in enumerate(first[:-1]):  # in this order, as the loop adds them up
            costs += prices[np.where(members[:, v] >= 0, start + members[:, v], -1)]
        return costs

    def _predict(self, rows: Blocks) -> NDArray[np.int32]:
        return self._costs(rows).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> NDArray[Any]:
        """The cost of each row of X in each cluster, by its partitions.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters_)
        """
        rows = self._new_rows(X)
        return self._costs(rows).astype(rows.data.dtype, copy=False)
