"""Constrained vector quantisation error, and its linear form.

CVQE    I. Davidson and S. Ravi, "Clustering with constraints: feasibility issues and the k-means
        algorithm", SDM 2005.
LCVQE   D. Pelleg and D. Baras, "K-means with large and noisy constraint sets", ECML 2007.

Minimises  J = sum_k 1/2 [ sum_{i in k} |x_i - m_k|² + what violated pairs cost in k ]
    CVQE    a must-link with its first end in k: |m_k - m_other|²; a cannot-link in k: the squared
            distance of m_k to the nearest other centre
    LCVQE   a must-link with its other end in k: half of the squared distance of this end to m_k; a
            cannot-link whose far end is nearest to k, but for its own cluster: |x_far - m_k|²

Departures from the papers:
- The cost of a violated pair is multiplied by the weight of its statement, the heaviest one of
  those that say the same.
- A label is two pairs: its row belongs with the next labelled row of its class, and not with the
  next one of another class. pairs="closure" writes out all pairs that follow, as in the papers.
- Neither is monotone in J: the best iterate is kept, and a partition that returns ends the run.
- "The nearest other centre" of LCVQE is the nearest one other than the common centre. The public
  program takes the second nearest of all, which may be the common one: public_slip=True.
"""

from typing import Any, ClassVar

from sidelight._validation import StrOptions
from sidelight.models._kmeans.family import CenterModel, Given, Seeds
from sidelight.models._kmeans.seeds import label_seeds
from sidelight.models._kmeans.violations import CenterViolations, RowViolations, Violations
from sidelight.models._lloyd import Problem, Run, wander
from sidelight.models._naming import Naming


class VectorQuantiser(CenterModel):
    """The base of CVQE and LCVQE: pairs, given or all that follow, whose violation costs."""

    accepts = ("must", "cannot", "label", "not_label")
    repetition = "ignored"
    contradictions = "tolerated"
    _published: ClassVar[dict[str, Any]] = {"pairs": "closure", "init": "random", "n_init": 1}
    _loop = staticmethod(wander)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterModel._parameter_constraints,
        "pairs": [StrOptions({"given", "closure"})],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        pairs: str = "given",
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
        self.pairs = pairs

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        seeds = label_seeds(given.side, given.weight, given.n_clusters)
        return seeds, seeds

    def _describe(self, run: Run, naming: Naming, problem: Problem) -> Run:
        # The loop minimises 2 J: whole squared distances.
        return run._replace(objective=run.objective / 2.0, history=[j / 2.0 for j in run.history])


class CVQE(VectorQuantiser):
    """K-means in which a broken pair costs a distance between centres.

    A violated pair is assigned to the cheapest of all pairs of clusters, and the centres of its
    clusters are drawn towards the centres where it should be.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    pairs : {"given", "closure"}, default="given"
        "given": the given pairs, and two pairs for each label: a must-link to the next labelled row
        of its class, and a cannot-link to the next one of another class. "closure": all pairs that
        follow, as in the paper: n² / 2 of them for n labels.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, with k-means++ for the
        remaining clusters. An array of shape (n_clusters, n_features) gives centres, one of shape
        (n_samples,) cluster numbers (−1 is unknown), and a fitted model its centres.
    n_init : int or "auto", default="auto"
        The number of starts; the best is kept. A start without randomness is made once. "auto": 10;
        fewer above 10,000 rows, down to 3.
    max_iter : int, default=300
        The maximum number of iterations of one start.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts, and of the order of the pairs.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        The centres: means of rows, and of the centres that violated pairs draw them to.
    objective_ : float
        J of ``labels_`` and ``cluster_centers_``.
    history_ : ndarray of shape (n_iter_,)
        The lowest J so far, after each iteration of the best start.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    LCVQE : A broken pair costs distances of its rows to centres.
    PCKMeans : A broken statement has a fixed cost.
    COPKMeans : Every pair and label holds.

    Notes
    -----
    The time of an iteration grows with n d K, and with K² for each violated pair.

    References
    ----------
    I. Davidson and S. Ravi. Clustering with constraints: feasibility issues and the k-means
    algorithm. SDM 2005, 138-149.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import CVQE, SideInformation
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=6)
    >>> CVQE(3, random_state=0).fit_predict(X, side=side).tolist()
    [0, 0, 1, 1, 2, 2]
    """

    weight_unit = "squared distances between centres"
    scales = "An iteration takes n d K, and K² per violated pair."

    def _penalty(self, given: Given) -> Violations:
        return CenterViolations(given, self.pairs)


class LCVQE(VectorQuantiser):
    """K-means in which a broken pair costs distances of its rows to centres.

    In a violated cannot-link, the farther row goes to its next nearest centre. A must-link stays
    violated if joining either cluster costs more, and then draws both centres towards both rows.
    Fast, and robust to wrong pairs.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    pairs : {"given", "closure"}, default="given"
        "given": the given pairs, and two pairs for each label: a must-link to the next labelled row
        of its class, and a cannot-link to the next one of another class. "closure": all pairs that
        follow, as in the paper: n² / 2 of them for n labels.
    public_slip : bool, default=False
        Whether the far row of a cannot-link goes to its second nearest centre of all, as in the
        public program, even if that is the centre that it should leave.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, with k-means++ for the
        remaining clusters. An array of shape (n_clusters, n_features) gives centres, one of shape
        (n_samples,) cluster numbers (−1 is unknown), and a fitted model its centres.
    n_init : int or "auto", default="auto"
        The number of starts; the best is kept. A start without randomness is made once. "auto": 10;
        fewer above 10,000 rows, down to 3.
    max_iter : int, default=300
        The maximum number of iterations of one start.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts, and of the order of the pairs.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        The centres: means of rows, and of those that violated pairs draw them to.
    objective_ : float
        J of ``labels_`` and ``cluster_centers_``.
    history_ : ndarray of shape (n_iter_,)
        The lowest J so far, after each iteration of the best start.
    n_iter_ : int
        Iterations of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    CVQE : A broken pair costs distances between centres.
    PCKMeans : A broken statement has a fixed cost.
    COPKMeans : Every pair and label holds.

    Notes
    -----
    With a weight of 1, moving the far row of a cannot-link never costs more than
    keeping it, so only cannot-links with a weight below 1 may stay violated.

    References
    ----------
    D. Pelleg and D. Baras. K-means with large and noisy constraint sets. ECML 2007, 674-682.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import LCVQE, SideInformation
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=6)
    >>> LCVQE(3, random_state=0).fit_predict(X, side=side).tolist()
    [0, 0, 1, 1, 2, 2]
    """

    weight_unit = "squared distances of a row to a centre"
    scales = "An iteration takes n d K plus K per pair."
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **VectorQuantiser._parameter_constraints,
        "public_slip": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        pairs: str = "given",
        public_slip: bool = False,
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 300,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            pairs=pairs,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            metric=metric,
            random_state=random_state,
        )
        self.public_slip = public_slip

    def _penalty(self, given: Given) -> Violations:
        return RowViolations(given, self.pairs, self.public_slip)
