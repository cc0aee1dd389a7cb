"""Gaussian mixtures in which the classes of some rows are known, as in Rmixmod and MclustSSC.

Maximises  sum over unlabelled rows  log sum_k pi_k N(x_i; k)
         + sum over labelled rows    log pi_s(i) N(x_i; s(i))

D. Miller and H. Uyar, "A mixture of experts classifier with learning based on both labelled and
unlabelled data", NIPS 1996; C. Fraley and A. Raftery, "Model-based clustering, discriminant
analysis and density estimation", JASA 2002.

Departures from these programs:
- Components without a labelled class are free, so unnamed classes are found.
- "Is not class c" forbids the component of c to a row.
- A floor under the covariances; `Gaussians` says how it is chosen.
- ``labels_`` holds labelled rows in their classes. MclustSSC re-decides them.
"""

from typing import Any, ClassVar

import numpy as np

from sidelight.blocks import Blocks
from sidelight.models._keeping import check_classes, check_keepable, held_rows
from sidelight.models._mixtures.family import HeldMixture, Ties
from sidelight.side import SideInformation


class PartialLabelGaussianMixture(HeldMixture):
    """Gaussian mixture in which labelled rows stay in their components.

    Every label holds, right or wrong: class c is component c. Components beyond the labelled
    classes are free. "Is not class c" keeps a row out of the component of c.

    Parameters
    ----------
    n_clusters : int or "bic", optional
        The number of clusters: at least the number of labelled classes, which is the default.
        "bic": the number with the lowest BIC, from the number of labelled classes to
        ``max_clusters``.
    covariance_type : {"full", "tied", "diag", "spherical", "bic"}, default="full"
        The shape of clusters: "full" (each its own ellipse), "tied" (the same ellipse for all),
        "diag" (along the axes), "spherical" (round), or the shape with the lowest BIC.
    max_clusters : int, default=10
        The largest number that ``n_clusters="bic"`` tries.
    variance_prior : float or "auto", default="auto"
        The weight, in rows, of a floor under the covariance of each cluster. "auto": chosen by the
        density of left-out rows for full and tied covariances, and 1 for the others. 0 is the plain
        likelihood, which fails if a cluster has fewer rows than columns.
    init : {"seeded", "k-means++"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, k-means for other clusters. An
        array gives cluster numbers of the rows (−1 is unknown); a fitted model gives its clusters.
    n_init : int or "auto", default="auto"
        The number of starts; the best is kept. A start without randomness is made once. "auto": 10;
        fewer above 10,000 rows, down to 3.
    max_iter : int, default=500
        The maximum number of iterations of one start.
    tol : float, default=1e-5
        Stop when an iteration gains less than this per row.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults. Attributes of
        the clusters are in the metric; ``metric_.inverse_transform`` gives the columns of X.
    random_state : int, Generator or RandomState, optional
        Source of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; labelled rows are in their classes.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found.
    weights_ : ndarray of shape (n_clusters_,)
        Shares of the rows.
    means_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters.
    covariances_ : ndarray
        In scikit-learn's shapes: (K, d, d) full, (d, d) tied, (K, d) diagonal, (K,) spherical.
    covariance_type_ : str
        The shape that was chosen.
    log_likelihood_ : float
        Of the data and the labels.
    bic_ : float
        −2 log-likelihood + log n per parameter; lower is better.
    candidates_ : dict
        The best BIC of each (number of clusters, shape) that was tried.
    objective_ : float
        The log-likelihood with the term of the floor.
    history_ : ndarray of shape (n_iter_,)
        ``objective_`` after each iteration of the best start; it never falls.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    EquivalenceGaussianMixture : A mixture in which pairs and labels hold.
    BayesianMixture : Finds the number of clusters; counts and categories too.
    CrossEntropyClustering : Starts with many Gaussian clusters and removes some.

    Notes
    -----
    Without statements, with ``variance_prior=0`` and from the same start this is scikit-learn's
    GaussianMixture. ``predict`` uses only the data, and may assign a labelled row to another
    cluster. Weights and annotators of statements do not matter, because all statements hold.
    Densities are over the columns that vary.

    The floor: Sigma_k = (S_k + nu Psi) / (N_k + nu), the mode under an inverse Wishart prior, with
    S_k the scatter and N_k the rows of cluster k. Psi lies between the covariance within the
    clusters of the first start and a sphere with the same mean variance. Its place and nu maximise
    the density of rows that are left out one by one. With full covariances, the cluster of each
    labelled class has its own nu and its own spread of Psi. They are chosen by the rows of the
    class, by one row that varies as in all classes, and by the rows of all classes times (K - 2) /
    K. A column that is constant in a cluster at the start gets one additional row with its whole
    variance. With the floor, full covariances work with more columns than rows, dependent columns,
    and clusters of a few rows.

    References
    ----------
    C. Fraley and A. Raftery. Model-based clustering, discriminant analysis, and density estimation.
    JASA 97, 2002. R. Lebret et al. Rmixmod. Journal of Statistical Software 67, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartialLabelGaussianMixture
    >>> X = np.array([[0.0], [0.2], [0.4], [1.0], [1.2], [1.3], [7.0], [7.2], [7.1]])
    >>> y = ["a", None, None, "b", "b", None, None, None, None]
    >>> model = PartialLabelGaussianMixture(3, random_state=0).fit(X, y)
    >>> model.cluster_names_[model.labels_].tolist()
    ['a', 'a', 'a', 'b', 'b', 'b', 'new 1', 'new 1', 'new 1']
    """

    accepts = ("label", "not_label")
    refuses: ClassVar[dict[str, str]] = {
        kind: "It knows classes, not pairs. " for kind in ("must", "cannot")
    }
    weight_unit = "none: labels hold"
    scales = "An iteration takes n K d² with full and tied covariances, n K d with the others."
    _published: ClassVar[dict[str, Any]] = {"variance_prior": 0.01}

    def _ties(self, rows: Blocks, side: SideInformation, n_clusters: int) -> "Labels":
        return Labels(side, n_clusters)


class Labels(Ties):
    """Rows that are held in the component of their class, or kept out of one."""

    def __init__(self, side: SideInformation, n_clusters: int) -> None:
        check_classes(side, n_clusters)
        check_keepable(side, n_clusters)
        held = held_rows(side)
        cluster, only = held.values
        self.held = held if len(held.row) else None
        self.seeds = (held.row[only], cluster[only], np.ones(int(only.sum())))
