"""Gaussian clusters with annotators who are sometimes wrong.   D. Gribel, M. Gendreau and T. Vidal,
"Semi-supervised clustering with inaccurate pairwise annotations" (SSC-IPA).

Maximises, over partitions Z and with everything else at its best value,

    L(Z) = sum_r [ -SSE_r / (2 s_r) - (n_r D / 2) log s_r ]                          the data
         + sum_r [ -(a / 2) log s_r - a s0 / (2 s_r) ]                               variance prior
         + what people said: one of
           sum_e [ log B(c_e + 2, w_e + 1; > q_e) - log B(2, 1; > q_e) ]             "bernoulli"
           sum_g 1/2 sum_rs ( m_rs log omega_rs - n_r n_s omega_rs ), g = must, cannot       "sbm"

Paper          Here
Z, y_i         labels
mu_r, sigma_r² means[r], variances[r] (s_r)
A+, A-         the pairs: pull > 0, pull < 0
m_rs, omega    edges[g, r, s]; at their best values omega = m_rs / (n_r n_s), or Eq. 20 with priors
p              accuracy
-              q_e: what annotator e would get right by guessing; B(a, b; > q) is the integral of
               p^(a-1) (1-p)^(b-1) from q to 1
Pi_1, Pi_2     n_init, population_size

Departures from the paper:
- The log-likelihood has its true scale, half of Eqs. 12 and 19; sigma² = SSE / (n D), not 2 D n.
- Alg. 3 assigns by distance, which can lower the likelihood; here by likelihood. Its steps and all
  others are taken only where L rises, with everything re-estimated.
- Beside single rows, chunklets and Kempe chains move (``compound_moves``). The loss that the paper
  reports at p = 1 is a failure of moving rows one by one.
- The likelihood has no upper bound as a variance goes to 0. A weak inverse-gamma prior (a, s0)
  prevents that; without it (variance_prior=0, as published) no cluster is made smaller than two
  rows, and no variance falls below 1e-6 of the data's.
- An estimated accuracy is never below chance. Without that bound a wrong map from classes to
  clusters, in which nearly every label is wrong, explains the labels as well as the right map does.
- p = 1 stands for 1 - 1e-6, p = 0 for 1e-6. A layer without statements is left out.
"""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from sidelight._kernels.hard_gaussian import densities
from sidelight._validation import Integral, Interval, Real, StrOptions, prepare
from sidelight.blocks import Block, Blocks, as_blocks, one_blas_thread
from sidelight.exceptions import DataError, SidelightError
from sidelight.models._centers import as_dense, cluster_sizes
from sidelight.models._fitting import STARTS, Deadline, Task, budget, warn_fewer_clusters
from sidelight.models._gaussian.doubts import doubts
from sidelight.models._gaussian.search import (
    EVERY_ROW_UP_TO,
    Found,
    Problem,
    Seeds,
    gaussians_of,
    polish,
    search,
)
from sidelight.models._gaussian.statements import Annotations, statement_errors, weigh
from sidelight.models._metric import METRIC
from sidelight.models._naming import (
    Naming,
    about_annotated_rows,
    first_rows,
    names_array,
    new_names,
    number_of_clusters,
    numbered,
)
from sidelight.models._population import Plan
from sidelight.models._rows import RowMixture
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# A local search costs a few runs of k-means: 30 of them took 145 times KMeans at 10,000 rows.
_FULL_SEARCH_UP_TO = 3_000


class AnnotatedGaussianMixture(RowMixture):
    """Gaussian clusters with annotators whose accuracy is estimated.

    Every statement is evidence that counts by the accuracy of its annotator. The accuracies are
    estimated together with the clusters: see `annotator_accuracy_`. `statement_error_` has the
    probability that each statement is wrong.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    annotation_model : {"bernoulli", "sbm"}, default="bernoulli"
        "bernoulli": every statement of an annotator is right with the same probability. "sbm": the
        paper's model of the pairs, two Poisson block models, which does not tell annotators apart;
        labels are treated as under "bernoulli".
    accuracy : float or dict, optional
        The accuracy of the annotators; by default it is estimated. Under "bernoulli": one number
        for all, or a dict by name (the key None is for statements without annotator; annotators who
        are not in the dict are estimated). Under "sbm": a number gives the paper's model with
        priors, and None the one without. With an accuracy below 0.5 a statement counts as its
        opposite; at 0.5 it has no effect; 0 and 1 stand for 1e-6 and 1 − 1e-6.
    covariance_type : {"diag", "spherical"}, default="diag"
        "diag": one variance per cluster and feature. "spherical": one per cluster, as in the paper.
    variance_prior : float, default=1.0
        The weight, in rows, of the pooled variance within the first k-means start, which keeps
        variances from shrinking to nothing. 0 is the plain likelihood; a very large value makes all
        variances equal, which is k-means.
    n_init : int or "auto", default="auto"
        The number of starts, and of solutions that survive a generation. "auto": 10, and fewer
        above 3,000 rows, down to 1.
    n_generations : int or "auto", default="auto"
        The number of generations. "auto": 10, and fewer above 3,000 rows, down to none.
        A local search costs about as much as one run of k-means; there are
        n_init + n_generations * (population_size − n_init) of them.
    compound_moves : bool, default=True
        Whether rows tied by statements also move together, as chunklets and Kempe chains, and in
        data of at most 4,096 rows those without statements one by one. False is the paper's local
        search: annotated rows one by one, all others at once.
    population_size : int, optional
        The number of solutions before selection in each generation; by default twice ``n_init``.
    max_time : float, optional
        The time limit in seconds; the search then ends with the best solution so far. One start is
        always completed.
    n_jobs : int, optional
        The number of local searches to run at the same time, in threads; the answer does not depend
        on it. With an active Dask client they run on its workers instead, if the data are in
        memory.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults. Attributes of
        the clusters are in the metric; ``metric_.inverse_transform`` gives the columns of X.
    random_state : int, Generator or RandomState, optional
        Seed or source of random numbers.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters found; fewer than asked for only if there are too few distinct rows.
    means_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters.
    variances_ : ndarray of shape (n_clusters_, n_features), or (n_clusters_,) if spherical
        Variances of the clusters.
    annotator_accuracy_ : dict
        How often each annotator is right: as given, or the mean of the posterior under a
        Beta(2, 1) prior above chance. The key None stands for statements without annotator.
    statement_error_ : ndarray of shape (n_statements,)
        For each statement of ``result_.side`` the probability that it is wrong; 0 for "unsure".
    population_scores_ : ndarray
        The objectives of the last population, best first.
    objective_ : float
        L of the best partition, without the constants of the data.
    history_ : ndarray of shape (n_iter_,)
        The best objective after the starts and after each generation; it never falls.
    n_iter_ : int
        The number of generations, plus one for the starts.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    DiscriminativeClustering : The default; takes every kind of statement.
    BayesianMixture : Finds the number of clusters; counts and categories too.
    EquivalenceGaussianMixture : A mixture in which pairs and labels hold.

    Notes
    -----
    Written for "spherical"; with "diag" every feature has such a term of its own, in which D is 1.
    With s_r = (SSE_r + a s0) / (n_r D + a) and a = ``variance_prior`` × D, c_e and w_e the weights
    of the statements of annotator e that the partition agrees with and violates,

        L = sum_r [ -(SSE_r + a s0) / (2 s_r) - (n_r D + a) / 2 log s_r ]
            + sum_e [ log B(c_e + 2, w_e + 1; > q_e) - log B(2, 1; > q_e) ],

    where B(a, b; > q) is the integral of p^(a−1) (1−p)^(b−1) from q to 1; for a given p it is
    c_e log p + w_e log(1 − p). The accuracy that guessing would have, q_e, is the mean over the
    statements of annotator e: 1/2 for pairs and negative labels, 1/C for labels of C classes (of
    K, if there are more clusters). So no estimate is below chance; give ``accuracy`` for an
    annotator who is worse.

    An accuracy compares an annotator with the clusters. If the clusters do not correspond to the
    classes, it says nothing about people. ``result_.advice`` warns in two cases: if two annotators
    agree on rows that both labelled and the clusters contradict them, and if labels fit the
    clusters little better than guesses and no other annotator labelled the same rows.

    A label "is c" agrees with the cluster of class c; a wrong one had K − 1 alternatives, which
    costs log(K − 1) more. The matching of classes and clusters is part of the search. Only the K
    heaviest classes have a cluster. Repeated statements add up; a weight multiplies a statement's
    log-likelihood. A pair of a row and itself counts as right (must) or wrong (cannot).

    `statement_error_` follows Bayes: with the statement removed and everything else fixed, P is the
    probability that it agrees with the clusters of its rows, and p the accuracy of its annotator
    without it; the probability of an error is (1 − p)(1 − P) / ((1 − p)(1 − P) + p P).

    `predict`, `predict_proba` and `score_samples` assume equally frequent clusters.
    Dense data only. Memory grows with the rows and the statements.

    References
    ----------
    D. Gribel, M. Gendreau and T. Vidal. Semi-supervised clustering with inaccurate pairwise
    annotations. D. Gribel and T. Vidal. HG-means: a scalable hybrid genetic algorithm for minimum
    sum-of-squares clustering. Pattern Recognition 88, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import AnnotatedGaussianMixture, SideInformation
    >>> X = np.array([[0.0], [0.3], [0.1], [5.0], [5.2], [5.1]])
    >>> side = SideInformation.from_pairs(
    ...     must=[(0, 1), (3, 4), (2, 3)], cannot=[(0, 3), (1, 4), (2, 5)], n_samples=6)
    >>> model = AnnotatedGaussianMixture(2, random_state=0).fit(X, side=side)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> side.describe(int(model.statement_error_.argmax()))
    '2 with 3 (must)'

    Without statements it is an unsupervised mixture:

    >>> AnnotatedGaussianMixture(2, random_state=0).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]

    An annotator who is known to be always wrong is as useful as one who is always right:

    >>> side = SideInformation.from_pairs(must=[(2, 3)], n_samples=6, annotator="bob")
    >>> bad = AnnotatedGaussianMixture(2, accuracy={"bob": 0.01}, random_state=0).fit(X, side=side)
    >>> bad.labels_.tolist(), bad.statement_error_.round(3).tolist()
    ([0, 0, 0, 1, 1, 1], [1.0])
    """

    accepts = ("must", "cannot", "label", "not_label")
    finds_errors = True
    weight_unit = "a probability; estimated for each annotator by default"
    repetition = "adds"
    contradictions = "tolerated"
    objective_sense = "max"
    _label_type = np.int64
    scales = (
        "A local search takes n d K a pass, and d K per annotated row; memory n d plus statements."
    )
    _published: ClassVar[dict[str, Any]] = {
        "annotation_model": "sbm",
        "covariance_type": "spherical",
        "variance_prior": 0.0,
        "n_init": 10,
        "n_generations": 50,
        "compound_moves": False,
        "population_size": 20,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "annotation_model": [StrOptions({"bernoulli", "sbm"})],
        "accuracy": [Interval(Real, 0, 1, closed="both"), dict, None],
        "covariance_type": [StrOptions({"diag", "spherical"})],
        "variance_prior": [Interval(Real, 0, None, closed="left")],
        "n_init": STARTS,
        "n_generations": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "compound_moves": ["boolean"],
        "population_size": [Interval(Integral, 2, None, closed="left"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "metric": METRIC,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        annotation_model: str = "bernoulli",
        accuracy: float | Mapping[Any, float] | None = None,
        covariance_type: str = "diag",
        variance_prior: float = 1.0,
        n_init: int | str = "auto",
        n_generations: int | str = "auto",
        compound_moves: bool = True,
        population_size: int | None = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.annotation_model = annotation_model
        self.accuracy = accuracy
        self.covariance_type = covariance_type
        self.variance_prior = variance_prior
        self.n_init = n_init
        self.n_generations = n_generations
        self.compound_moves = compound_moves
        self.population_size = population_size
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.metric = metric
        self.random_state = random_state

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The paper's model and budget; ``accuracy=p`` for its model with priors.

        Block models, no prior on the variances, 10 starts and 50 generations of 10 children, each
        improved by moving annotated rows one by one. It departs from the paper only where the paper
        is wrong: see the head of the module. ``compound_moves=True`` is the paper's model, searched
        as by default.
        """
        return super().as_published(**changes)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            The data. Memory maps are read block by block; of a Dask array only the annotated rows
            come here, and ``labels_`` is a Dask array too.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Pairs, labels and negative labels, with weights and annotators.

        Returns
        -------
        self
        """
        began = time.monotonic()
        _refuse_sparse(X)
        X, side, seed = prepare(self, X, y, side)
        rows = as_blocks(X)
        n_clusters = number_of_clusters(self.n_clusters, rows.n_samples, side)
        n_init, n_generations = self._budget(rows.n_samples)
        self._check_settings(n_init)
        said = Annotations.of(
            side,
            n_clusters,
            self.annotation_model,
            self.accuracy,
            every_row_up_to=EVERY_ROW_UP_TO if self.compound_moves else 0,
        )
        problem = Problem.of(
            rows, n_clusters, self.covariance_type, said, compound=self.compound_moves
        )
        plan = Plan(
            n_init,
            n_generations,
            2 * n_init if self.population_size is None else self.population_size,
            Deadline(np.inf if self.max_time is None else began + self.max_time),
            self.n_jobs,
        )
        found = self._search(problem, plan, _seeds(said), np.random.default_rng(seed))
        return self._publish_found(found, problem, side, seed)

    def _predict(self, rows: Blocks) -> Ints:
        return self._log_densities(rows).argmax(axis=1)

    def _predict_proba(self, rows: Blocks) -> Floats:
        log_density = self._log_densities(rows)
        probabilities: Floats = np.exp(log_density - logsumexp(log_density, axis=1, keepdims=True))
        return probabilities

    def _score_samples(self, rows: Blocks) -> Floats:
        evidence: Floats = logsumexp(self._log_densities(rows), axis=1)
        return evidence - np.log(self.n_clusters_)

    def _new_rows(self, X: Any) -> Blocks:
        check_is_fitted(self)
        _refuse_sparse(X)
        return super()._new_rows(X)

    def _log_densities(self, rows: Blocks) -> Floats:
        return _log_densities(rows, self.means_, self.variances_)

    def _budget(self, n_samples: int) -> tuple[int, int]:
        """Starts and generations."""
        n_init = budget(self.n_init, n_samples, full=10, least=1, up_to=_FULL_SEARCH_UP_TO)
        return n_init, budget(
            self.n_generations, n_samples, full=10, least=0, up_to=_FULL_SEARCH_UP_TO
        )

    def _check_settings(self, n_init: int) -> None:
        """Refuse parameters that contradict each other."""
        if self.population_size is not None and self.population_size <= n_init:
            raise SidelightError(
                f"population_size={self.population_size} leaves no room for children beside "
                f"n_init={n_init} survivors; give more than n_init, or None."
            )
        if not isinstance(self.accuracy, Mapping):
            return
        if self.annotation_model == "sbm":
            raise SidelightError(
                'accuracy is a dict, and annotation_model="sbm" does not tell annotators apart; '
                'give one number, or annotation_model="bernoulli".'
            )
        given: Mapping[Any, Any] = self.accuracy
        for name, p in given.items():
            if not (isinstance(p, Real) and 0 <= float(p) <= 1):
                raise SidelightError(
                    f"the accuracy of {name!r} is {p!r}; give a number between 0 and 1."
                )

    def _search(
        self,
        problem: Problem,
        plan: Plan,
        seeds: Seeds,
        rng: np.random.Generator,
    ) -> Found:
        with Task.of_fit(self, plan.n_generations + 1) as fit, one_blas_thread():
            problem, found = search(
                problem, plan, self.variance_prior, seeds, rng, partial(fit.step, "generation")
            )
            if problem.annotations.is_silent:
                found = polish(problem, found)
        return found

    def _publish_found(
        self, found: Found, problem: Problem, side: SideInformation, seed: int
    ) -> Self:
        best, said = found.best, problem.annotations
        sizes = cluster_sizes(problem.rows, best.labels, problem.n_clusters)
        present = np.flatnonzero(sizes)
        warn_fewer_clusters(len(present), problem.n_clusters)
        naming = _name_clusters(side, said, best, present, problem.n_clusters)
        order = naming.order
        number = np.full(problem.n_clusters, -1, dtype=np.int32)
        number[order] = np.arange(len(order))
        labels = problem.rows.relabelled(best.labels, number)
        self.means_ = best.means[order]
        variances = best.variances[order]
        self.variances_ = variances[:, 0] if self.covariance_type == "spherical" else variances
        self.population_scores_ = found.scores
        error, accuracy = self._judge_statements(problem, side, labels, naming.clusters)
        self._publish(labels, naming, found, side, seed, error=error, accuracy=accuracy)
        chances = zip((*side.annotators, None), said.chance, said.given, strict=True)
        chance = {name: float(q) for name, q, given in chances if not given and name in accuracy}
        estimated = {name: accuracy[name] for name in chance}
        told = doubts(side, self.result_.violated, estimated, chance)
        self.result_.provenance["advice"].extend(told)
        return self

    def _judge_statements(
        self, problem: Problem, side: SideInformation, labels: Any, cluster_of: Ints
    ) -> tuple[Floats, dict[Any, float]]:
        """The probability that each statement is wrong, and the accuracies of the annotators."""
        about, labels = about_annotated_rows(side, labels)
        told = about.statements
        stated = told.take(told.sign != 0).rows
        rows = stated if about is side else side.condensed()[0][stated]
        taken = as_blocks(as_dense(problem.rows.take(rows)))
        log_density = _log_densities(taken, self.means_, self.variances_)
        known = weigh(about, labels, cluster_of, stated, log_density, problem.annotations)
        names = (*side.annotators, None)
        spoke = np.bincount(told.annotator % len(names), minlength=len(names)) > 0
        accuracy = {
            name: float(p)
            for name, p, any_said in zip(names, known.accuracy, spoke, strict=True)
            if any_said
        }
        return statement_errors(about, known), accuracy


def _refuse_sparse(X: Any) -> None:
    if sparse.issparse(X):
        raise DataError(
            "X is a sparse matrix, and this model takes dense data only: a Gaussian has no zeros. "
            "Reduce it first, for example with sklearn.decomposition.TruncatedSVD."
        )


def _seeds(said: Annotations) -> Seeds:
    """The labels of the classes that have a cluster, numbered without gaps."""
    labels = said.said
    of_class = said.lead[labels.label_column]
    used = np.flatnonzero((of_class >= 0) & (labels.label_pull > 0))
    used = used[np.argsort(labels.label_row[used], kind="stable")]
    _, number = np.unique(of_class[used], return_inverse=True)
    return Seeds(
        said.annotated[labels.label_row[used]],
        number,
        labels.label_pull[used],
        labels.label_who[used],
    )


def _name_clusters(
    side: SideInformation, said: Annotations, best: Any, present: Ints, n_clusters: int
) -> Naming:
    """The clusters in their final order, and their names: class c is the name of cluster c.

    Not by the majority of the labels, as elsewhere: these may be wrong.
    """
    lead = np.flatnonzero((said.column_vocabulary == said.lead_vocabulary) & (said.lead >= 0))
    lead = lead[np.isin(said.lead[lead], present)]
    order = said.lead[lead].tolist()
    names = [side.classes[c] for c in said.column_class[lead]]
    by_first_row = np.argsort(first_rows(best.labels, n_clusters, len(present)), kind="stable")
    order += [int(k) for k in by_first_row[: len(present)] if k not in order]
    names += new_names(side.classes, len(order) - len(names))
    matched = np.full((len(side.vocabularies) + 1, len(side.classes)), -1, dtype=np.int64)
    matched[said.column_vocabulary, said.column_class] = best.cluster_of
    return numbered(np.array(order, dtype=np.int64), names_array(names), matched, n_clusters)


def _log_densities(rows: Blocks, means: Floats, variances: Floats) -> Floats:
    """The log-density of every row under each Gaussian."""
    n_clusters, n_features = means.shape
    gaussians = gaussians_of(means, variances.reshape(n_clusters, -1))
    out = np.empty((rows.n_samples, n_clusters))

    def statistics(block: Block, _: None) -> tuple[int]:
        densities(block.X, *gaussians, block.of(out))
        return (0,)

    if rows.n_samples:
        rows.sum(statistics, None)
    return -out - 0.5 * n_features * np.log(2 * np.pi)
