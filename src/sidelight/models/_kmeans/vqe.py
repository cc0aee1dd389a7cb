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

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from sidelight._kernels.vqe import cvqe_sweep, lcvqe_sweep
from sidelight._validation import StrOptions
from sidelight._work import count_work
from sidelight.blocks import RowEntries
from sidelight.models._centers import group_sums
from sidelight.models._kmeans.family import CenterModel, Given, Seeds
from sidelight.models._kmeans.seeded import label_seeds
from sidelight.models._kmeans.statements import closure_pairs, given_pairs
from sidelight.models._lloyd import (
    Held,
    Penalty,
    Problem,
    Run,
    State,
    Tally,
    Theta,
    nothing,
    wander,
)
from sidelight.models._naming import Naming

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class CVQE(CenterModel):
    """K-means in which a violated pair costs the distance of the centres involved.

    A violated pair is placed anew in the cheapest of all pairs of clusters, and the centres that it
    is in are drawn towards the centres where it should be.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    pairs : {"given", "closure"}, default="given"
        Whether each given pair is one, and each label two (with the next labelled row of its class,
        and apart from the next of another), or all pairs that follow are written out, as in the
        paper: n² / 2 of them for n labels.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, with k-means++ for the
        remaining clusters. An array of shape (n_clusters, n_features) gives centres, one of shape
        (n_samples,) cluster numbers (−1 is unknown), and a fitted model its centres.
    n_init : int, default=10
        The number of starts, of which the best by J is kept. A start in which nothing is random is
        tried once.
    max_iter : int, default=300
        The limit on the iterations of one start.
    metric : {"statements"} or StatementMetric, optional
        Work on the rows in the metric that `StatementMetric` learns from labels and must-links,
        unless these are too few. "statements" is one with its defaults.
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
        All of this, with the broken statements and where it came from.

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

    accepts: ClassVar[tuple[str, ...]] = ("must", "cannot", "label", "not_label")
    weight_unit = "squared distances between centres"
    on_dask = False
    repetition = "ignored"
    contradictions = "tolerated"
    scales = "An iteration takes n d K, and K² per violated pair."
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
        n_init: int = 10,
        max_iter: int = 300,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.pairs = pairs
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.metric = metric
        self.random_state = random_state

    def _penalty(self, given: Given) -> "Violations":
        return CenterViolations(given, self.pairs)

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        seeds = label_seeds(given.side, given.weight, given.n_clusters)
        return seeds, seeds

    def _describe(self, run: Run, naming: Naming, problem: Problem) -> Run:
        # The loop minimises 2 J: whole squared distances.
        return run._replace(objective=run.objective / 2.0, history=[j / 2.0 for j in run.history])


class LCVQE(CVQE):
    """K-means in which a violated pair costs the distance of its rows to the centres involved.

    Of a violated cannot-link the farther row goes to its next centre; a must-link stays violated
    where joining either cluster is dearer, and then draws both centres towards both rows. Quick,
    and hardly harmed by wrong pairs.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    pairs : {"given", "closure"}, default="given"
        Whether each given pair is one, and each label two (with the next labelled row of its class,
        and apart from the next of another), or all pairs that follow are written out, as in the
        paper: n² / 2 of them for n labels.
    public_slip : bool, default=False
        Whether the far row of a cannot-link goes to its second nearest centre of all, as in the
        public program, also where that is the centre which it should leave.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where to start. "seeded": the means of the labelled classes, with k-means++ for the
        remaining clusters. An array of shape (n_clusters, n_features) gives centres, one of shape
        (n_samples,) cluster numbers (−1 is unknown), and a fitted model its centres.
    n_init : int, default=10
        The number of starts, of which the best by J is kept. A start in which nothing is random is
        tried once.
    max_iter : int, default=300
        The limit on the iterations of one start.
    metric : {"statements"} or StatementMetric, optional
        Work on the rows in the metric that `StatementMetric` learns from labels and must-links,
        unless these are too few. "statements" is one with its defaults.
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
        All of this, with the broken statements and where it came from.

    Notes
    -----
    With weights of 1, moving the far row of a cannot-link is never dearer than keeping it, so that
    only weights below 1 leave one violated by choice.

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
    _published: ClassVar[dict[str, Any]] = {"pairs": "closure", "init": "random", "n_init": 1}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CVQE._parameter_constraints,
        "public_slip": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        pairs: str = "given",
        public_slip: bool = False,
        init: Any = "seeded",
        n_init: int = 10,
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

    def _penalty(self, given: Given) -> "Violations":
        return RowViolations(given, self.pairs, self.public_slip)


class Violations(Penalty):
    """Pairs whose rows are held; the tables of a tally are what violated pairs add to each centre.

    These are sums (K, d) and weights (K); the last table is what the pairs cost, in terms of 2 J.
    """

    def __init__(self, given: Given, pairs: str) -> None:
        said = given_pairs(given.side) if pairs == "given" else closure_pairs(given.side)
        self.held = np.unique(np.concatenate([said.i, said.j]))
        self.data = Held.of(given.rows, self.held, given.weight)
        order = np.random.default_rng(given.seed).permutation(len(said.i))
        self.one = np.searchsorted(self.held, said.i)[order]
        self.two = np.searchsorted(self.held, said.j)[order]
        self.is_must, self.weight = said.is_must[order], said.weight[order]
        self.n_features = given.rows.n_features

    def tables(self, mass: Floats) -> tuple[Floats, ...]:
        """Passes over the data change nothing of what pairs add."""
        n_clusters = mass.shape[1]
        return np.zeros((n_clusters, self.n_features)), np.zeros(n_clusters), np.zeros(())

    def update(self, tally: Tally, theta: Theta) -> Theta:
        """Means of the rows and of what violated pairs add; an empty cluster stays."""
        extra, extra_weight, _ = tally.side
        weight = tally.counts + extra_weight
        centers = theta.centers.copy()
        filled = (tally.counts > nothing(tally.counts)) & (weight > 0)
        centers[filled] = (tally.sums + extra)[filled] / weight[filled, None]
        return Theta(centers)

    def sweep(
        self, problem: Problem, theta: Theta, tally: Tally, state: State
    ) -> tuple[int, Tally]:
        """Held rows to their nearest centres, then one pass over the pairs."""
        if not len(self.held):
            return 0, tally
        distances = self.data.squared(theta.centers)
        before = state.labels[self.held].astype(np.int64)
        after = distances.argmin(axis=1)
        count_work("relocation tests", len(self.one))
        self._place(distances, theta, after)
        state.labels[self.held] = after
        tally = self.data.moved(tally, before, after, self.data.weight[:, None] * distances)
        price = np.asarray(self._price(distances, theta, after))
        tally = tally._replace(side=(*self._drawn(distances, theta, after), price))
        return int((before != after).sum()), tally

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """What the violated pairs cost, as the last sweep left them."""
        return float(tally.side[2])

    def _violated(self, labels: Ints) -> tuple[Ints, Ints]:
        """Violated must-links, and violated cannot-links."""
        together = labels[self.one] == labels[self.two]
        return np.flatnonzero(self.is_must & ~together), np.flatnonzero(~self.is_must & together)

    def _place(self, distances: Floats, theta: Theta, labels: Ints) -> None:
        raise NotImplementedError

    def _drawn(self, distances: Floats, theta: Theta, labels: Ints) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _price(self, distances: Floats, theta: Theta, labels: Ints) -> float:
        raise NotImplementedError


class CenterViolations(Violations):
    """CVQE: violated pairs cost distances between centres, and draw centres to centres."""

    def _place(self, distances: Floats, theta: Theta, labels: Ints) -> None:
        between = _between(theta.centers)
        pairs = (self.one, self.two, self.is_must, self.weight)
        cvqe_sweep(distances, self.data.weight, between, *pairs, labels)

    def _drawn(self, distances: Floats, theta: Theta, labels: Ints) -> tuple[Floats, Floats]:
        centers = theta.centers
        must, cannot = self._violated(labels)
        near = _between(centers, np.inf).argmin(axis=1)
        here = np.concatenate([labels[self.one[must]], labels[self.one[cannot]]])
        there = np.concatenate([labels[self.two[must]], near[labels[self.one[cannot]]]])
        weight = np.zeros((len(centers), len(centers)))
        np.add.at(weight, (here, there), self.weight[np.concatenate([must, cannot])])
        return weight @ centers, weight.sum(axis=1)

    def _price(self, distances: Floats, theta: Theta, labels: Ints) -> float:
        violated = np.concatenate(self._violated(labels))
        one, two = labels[self.one[violated]], labels[self.two[violated]]
        return float(self.weight[violated] @ _between(theta.centers)[one, two])


def _between(centers: Floats, diagonal: float | None = None) -> Floats:
    """Squared distances of centres; on the diagonal that to the nearest other one, or a number."""
    apart: Floats = euclidean_distances(centers, squared=True)
    np.fill_diagonal(apart, np.inf)
    own = apart.min(axis=1) if len(centers) > 1 else np.zeros(1)
    np.fill_diagonal(apart, own if diagonal is None else diagonal)
    return apart


class RowViolations(Violations):
    """LCVQE: violated pairs cost distances of rows to centres, and draw centres to rows."""

    def __init__(self, given: Given, pairs: str, slip: bool) -> None:
        super().__init__(given, pairs)
        self.slip = slip

    def _place(self, distances: Floats, theta: Theta, labels: Ints) -> None:
        pairs = (self.one, self.two, self.is_must, self.weight)
        lcvqe_sweep(distances, self.data.weight, *pairs, self.slip, labels)

    def _terms(self, distances: Floats, labels: Ints) -> tuple[Ints, Ints, Floats]:
        """The rows that violated pairs add, the clusters that they are added to, and weights."""
        must, cannot = self._violated(labels)
        one, two = self.one[must], self.two[must]
        a, b = self.one[cannot], self.two[cannot]
        common = labels[a]
        far = np.where(distances[a, common] >= distances[b, common], a, b)
        others = distances[far].copy()
        others[np.arange(len(far)), common] = np.inf
        near = others.argmin(axis=1) if distances.shape[1] > 1 else common
        return (
            np.concatenate([one, two, far]),
            np.concatenate([labels[two], labels[one], near]),
            np.concatenate([np.tile(0.5 * self.weight[must], 2), self.weight[cannot]]),
        )

    def _drawn(self, distances: Floats, theta: Theta, labels: Ints) -> tuple[Floats, Floats]:
        row, cluster, weight = self._terms(distances, labels)
        order = np.argsort(row, kind="stable")
        entries = RowEntries(row[order], (cluster[order], weight[order]))
        return group_sums(self.data.data, entries, len(theta.centers))

    def _price(self, distances: Floats, theta: Theta, labels: Ints) -> float:
        row, cluster, weight = self._terms(distances, labels)
        return float(weight @ distances[row, cluster])
