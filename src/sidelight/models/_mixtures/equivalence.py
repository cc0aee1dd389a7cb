"""Gaussian mixtures with equivalence constraints.   N. Shental, A. Bar-Hillel, T. Hertz and
D. Weinshall, "Computing Gaussian mixture models with EM using equivalence constraints", NIPS 2004.

Maximises  sum over parts of the cannot graph  log sum_z prod_g pi_z(g) prod_{i in g} N(x_i; z_g)
               prod over cannot pairs [z_a != z_b]  -  log Z(pi)

Paper          Here
chunklet X_j   a group: rows that must-links and equal labels tie
alpha_l        weights_
Z              Field.normaliser: the chance that groups drawn by pi keep the cannot-links

Groups are drawn, not rows: pi_k is the mean over groups, and a group of 100 rows counts once.
Departures from the paper:
- Cannot-links of any graph: exact by elimination while tables are over at most six groups, and
  where all groups of a part are apart from each other, as labelled classes are. Above that, mean
  field at a price of 10 nats per pair, and then the sum is not a likelihood; ``inference_`` says
  which.
- With cannot-links the best pi has no closed form. Its part of the bound is concave in log pi, and
  is climbed by L-BFGS; the paper takes the formula without them.
- A floor under the covariances (`Gaussians`): a group of equal rows would collapse.
- ``labels_`` keep every statement: the most probable placement that exchanges along chains find.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from sidelight.blocks import Blocks, RowEntries, as_blocks
from sidelight.exceptions import SideInformationError
from sidelight.models._em import Expected, Statistics
from sidelight.models._fitting import fewer_starts
from sidelight.models._keeping import TiedGroups
from sidelight.models._mixtures.family import Candidate, HeldMixture, Theta, Ties
from sidelight.models._mixtures.fields import Field
from sidelight.models._mixtures.gaussian import Gaussians
from sidelight.models._mixtures.starts import squared_distances
from sidelight.side import LABEL, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class EquivalenceGaussianMixture(HeldMixture):
    """Gaussian mixture in which must-links and cannot-links hold.

    Every statement holds, right or wrong. Rows tied by must-links or equal labels form a group,
    which belongs to one component; groups with cannot-links between them are placed jointly. Labels
    form groups too, and classes are matched to clusters at the end.

    Parameters
    ----------
    n_clusters : int or "bic", optional
        The number of clusters; by default the number of labelled classes. "bic": the number with
        the lowest BIC, from the number of labelled classes to ``max_clusters``.
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
        fewer above 6,000 rows, down to 3.
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
        Cluster of each row; every statement is kept.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found.
    weights_ : ndarray of shape (n_clusters_,)
        Shares of the groups (a row without statements is a group of its own).
    means_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters.
    covariances_ : ndarray
        In scikit-learn's shapes: (K, d, d) full, (d, d) tied, (K, d) diagonal, (K,) spherical.
    covariance_type_ : str
        The shape that was chosen.
    inference_ : {"exact", "mean field"}
        Whether all cannot-links were summed exactly. With mean field ``objective_`` and
        ``log_likelihood_`` hold a lower bound for those groups without their normaliser, and are
        not likelihoods.
    mean_field_rows_ : ndarray
        The rows of groups that were treated by mean field.
    log_likelihood_ : float
        The log-likelihood of the data given the statements.
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
    PartialLabelGaussianMixture : A mixture in which labels hold.
    COPKMeans : Every pair and label holds.
    BayesianMixture : Finds the number of clusters; counts and categories too.

    Notes
    -----
    A group g has log r_gk = log pi_k + sum over its rows of log N(x_i; k). Groups in cannot-links
    have the marginals of P(z) ∝ prod r prod [z_a != z_b], and the likelihood is divided by the
    chance Z(pi) that groups drawn by pi keep these links (1 − sum pi² for a pair). The floor is
    described in `PartialLabelGaussianMixture`. Weights and annotators of statements do not matter,
    because all statements hold. Densities are over the columns that vary.

    References
    ----------
    N. Shental, A. Bar-Hillel, T. Hertz and D. Weinshall. Computing Gaussian mixture models with EM
    using equivalence constraints. NIPS 2003, 465-472.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import EquivalenceGaussianMixture, SideInformation
    >>> X = np.array([[0.0], [0.2], [0.4], [1.0], [1.2], [7.0], [7.2], [7.3]])
    >>> side = SideInformation.from_pairs(must=[(3, 5)], cannot=[(0, 3)], n_samples=8)
    >>> model = EquivalenceGaussianMixture(2, random_state=0).fit(X, side=side)
    >>> labels = model.labels_
    >>> labels[3] == labels[5], labels[0] != labels[3], model.inference_
    (np.True_, np.True_, 'exact')
    """

    accepts = ("must", "cannot", "label")
    refuses: ClassVar[dict[str, str]] = {
        "not_label": "A class is a group of rows here, and has no cluster of its own. "
    }
    weight_unit = "none: statements hold"
    scales = "An iteration takes n K d² (diagonal: n K d), and K^6 where cannot-links are dense."
    _published: ClassVar[dict[str, Any]] = {"init": "k-means++", "variance_prior": 0.01}

    def _ties(self, rows: Blocks, side: SideInformation, n_clusters: int) -> "Groups":
        return Groups(rows, side, n_clusters)

    def _fewest(self, side: SideInformation) -> int:
        fewest = super()._fewest(side)
        while fewest < self.max_clusters and side.feasible(fewest).answer == "no":
            fewest += 1
        return fewest

    def _n_tries(self, n_samples: int) -> int:
        return fewer_starts(self, n_samples)

    def _describe(self, ties: Any) -> None:
        self.mean_field_rows_ = ties.mean_field_rows
        self.inference_ = "mean field" if len(ties.mean_field_rows) else "exact"

    def _missing(self, candidate: Candidate) -> str:
        n_groups = candidate.ties.n_groups or candidate.n_clusters
        if n_groups < candidate.n_clusters:
            return f"must-links and labels tie the rows into {n_groups} groups"
        return super()._missing(candidate)


class Groups(Ties):
    """Rows that share a component, and groups of them that may not."""

    def __init__(self, rows: Blocks, side: SideInformation, n_clusters: int) -> None:
        self.groups = TiedGroups.of(side, n_clusters)
        self.n_groups = rows.n_samples - len(self.groups.rows) + len(self.groups.first)
        if self.n_groups == 1 < n_clusters:
            raise SideInformationError(
                f"must-links and labels tie all {rows.n_samples} rows into one group, and "
                f"n_clusters={n_clusters}; every cluster needs a group.",
                advice="Ask for n_clusters=1, or give fewer statements.",
            )
        self.apart = RowEntries(self.groups.rows)
        self.near = as_blocks(rows.take(self.groups.rows))
        links = self.groups.apart
        shape = (len(links.span) - 1,) * 2
        graph = sparse.csr_array((np.ones(len(links.near)), links.near, links.span), shape=shape)
        self.field = Field.of(graph, n_clusters)
        self.n_clusters = n_clusters
        self._last: tuple[Floats, tuple[float, Floats]] | None = None
        rough = np.isin(self.groups.group, self.field.rough)
        self.mean_field_rows = self.groups.rows[rough]
        said = side.once
        said = said.take((said.kind == LABEL) & (said.vocabulary == side.leading_vocabulary))
        said = said.take(np.argsort(said.i, kind="stable"))
        code = np.searchsorted(side.labelled_classes, said.class_code)
        self.seeds = (said.i, code, np.ones(len(code)))

    def fresh(self) -> Floats:
        """Memberships of the groups in mean field, alike at first."""
        return np.full((len(self.field.rough), self.n_clusters), 1.0 / self.n_clusters)

    def first_held(self, emission: Gaussians, centers: Floats) -> RowEntries | None:
        """Every group where its rows are nearest, with the statements kept."""
        if not len(self.groups.rows):
            return None
        parts = [
            squared_distances(emission.coordinates(self.near.block(b).X), centers)
            for b in range(len(self.near))
        ]
        cost = np.asarray(self.groups.members @ np.concatenate(parts, axis=1).T)
        return self._held(cost - cost.min())

    def _held(self, cost: Floats) -> RowEntries:
        """The rows of the groups in the cheapest placement that is found."""
        _, labels = self.groups.apart.improved(cost, self.groups.apart.placed(cost))
        component = labels[self.groups.group]
        return RowEntries(self.groups.rows, (component, np.ones(len(component), dtype=bool)))

    def joined(
        self, expected: Expected, theta: Theta, emission: Gaussians, state: Any
    ) -> tuple[float, Floats, Statistics]:
        """The groups beside the rows without statements; state: IN/OUT."""
        value, mass, sums = super().joined(expected, theta, emission, state)
        if not len(self.groups.rows):
            return value, mass, sums
        scores = self._scores(expected, theta)
        own, shares = self.field.marginals(scores, state)
        value += own - self._normaliser(theta.log_weights)[0]
        phi = np.ascontiguousarray(shares[self.groups.group].T)
        near = self.near.sum(
            lambda block, _: emission.statistics(
                block.X, np.ascontiguousarray(phi[:, block.start : block.stop])
            ),
            None,
        )
        both = tuple(a + b for a, b in zip(sums, near, strict=True))
        return value, mass + shares.sum(axis=0), both

    def _scores(self, expected: Expected, theta: Theta) -> Floats:
        return np.asarray(self.groups.members @ expected.apart) + theta.log_weights

    def _normaliser(self, log_weights: Floats) -> tuple[float, Floats]:
        """As of the field; the last is kept: the search for weights begins where it was asked."""
        if self._last is None or not np.array_equal(self._last[0], log_weights):
            self._last = (log_weights.copy(), self.field.normaliser(log_weights))
        return self._last[1]

    def log_weights(self, mass: Floats, theta: Theta | None) -> Floats:
        """The mean over groups, or with cannot-links the best of the concave part of the bound."""
        plain = super().log_weights(mass, theta)
        if not self.field.shapes or theta is None:
            return plain
        others = mass.sum() - self.field.n_normalised
        possible = np.isfinite(plain)

        def cost(eta: Floats) -> tuple[float, Floats]:
            full = np.full(len(mass), -np.inf)
            full[possible] = eta
            top = logsumexp(eta)
            log_z, expected = self._normaliser(full)
            value = mass[possible] @ eta - others * top - log_z
            slope = mass[possible] - others * np.exp(eta - top) - expected[possible]
            return -value, -slope

        before = np.maximum(theta.log_weights[possible], -700.0)
        # A few steps are enough: the next iterations gain the rest.
        found = minimize(cost, before, jac=True, method="L-BFGS-B", options={"maxiter": 3})
        best = found.x if np.isfinite(found.fun) else before
        plain[possible] = log_softmax(best)
        return plain

    def settled(self, labels: Any, expected: Expected, theta: Theta) -> None:
        """Every statement is kept; labels: IN/OUT."""
        if len(self.groups.rows):
            scores = np.maximum(self._scores(expected, theta), -1e300)
            held = self._held(scores.max() - scores)
            labels[held.row] = held.values[0]
