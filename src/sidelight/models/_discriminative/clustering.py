"""Discriminative clustering with statements: a metric, four views of the data, and a committee.

Steps of a fit
1  scale      all of X by one number
2  metric     `StatementMetric`: directions along which tied rows differ count less
3  features   X itself, Gaussian kernels, eigenvectors of the neighbour graph (features.py)
4  member     softmax classifier, p_i = softmax(W' phi_i + b); minimise by L-BFGS (run.py)

      J = - sum over statements of w log(probability of the statement given p, eps)
          + u sum_i H(p_i) - 0.6 u n H(mean_i p_i) + |W|² / (2 C)

5  starts     partitions by other models, the one with the lowest J per block (starts.py)
6  committee  mean of p over three blocks times (C, u) = (10, .1), (100, .05) (committee.py)
7  mixture    of Gaussians, with a quarter of the weight (mixture.py)

eps is the probability that a statement is wrong (statements.py).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import (
    HasMethods,
    Integral,
    Interval,
    Real,
    check_x,
    prepare,
)
from sidelight.blocks import (
    Block,
    Blocks,
    CSRRows,
    RowEntries,
    as_blocks,
    is_dask,
    one_blas_thread,
)
from sidelight.exceptions import DataError, SidelightError
from sidelight.models._base import SideClusterer
from sidelight.models._discriminative.annotators import Rates, estimate_rates
from sidelight.models._discriminative.committee import Committee
from sidelight.models._discriminative.mixture import Mixture, fit_mixture
from sidelight.models._discriminative.problem import Problem, fit_in_full
from sidelight.models._discriminative.sample import (
    Projection,
    fit_projection,
    sizes,
)
from sidelight.models._discriminative.starts import number_found
from sidelight.models._discriminative.statements import (
    chance_of,
    classes_with_columns,
    columns_of,
    error_of,
)
from sidelight.models._fitting import Task, given_labels, is_model, is_small, warn_fewer_clusters
from sidelight.models._metric import Learned, learn_metric, tied_groups
from sidelight.models._naming import name_clusters
from sidelight.models._sample import fitted_rows, said_about
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class DiscriminativeClustering(SideClusterer):
    """Committee of classifiers whose clusters agree with all kinds of statements.

    Learns from the statements which directions of the data matter, takes every kind of statement,
    forms clusters for unnamed classes, and tolerates wrong statements.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default it is found.
    accuracy : float or dict, optional
        The probability that a statement is right: a number for all, or a dict by annotator (None
        stands for statements without annotator). By default it is 0.9 for one annotator; for two
        or more it is estimated for each who is not in the dict. With an accuracy below 0.5 a pair
        counts as its opposite.
    init : array of shape (n_samples,) or fitted model, optional
        Clusters to start from (−1 is unknown); a fitted model predicts them.
    random_state : int, Generator or RandomState, optional
        Source of starts, landmarks and approximate neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    annotator_accuracy_ : dict
        How often each annotator is right: as given, or as estimated. The key None stands for
        statements without annotator.
    statement_error_ : ndarray of shape (n_statements,)
        For each statement of ``result_.side`` the probability that it is wrong; 0 for "unsure",
        and the share of errors of its annotator for labels of classes that have no column.
    objective_ : float
        Mean of J over the six classifiers.
    history_ : ndarray
        Mean of J over the classifiers after each iteration; it never rises.
    n_iter_ : int
        The length of ``history_``.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    AnnotatedGaussianMixture : Estimates the accuracy of annotators.
    BayesianMixture : Finds the number of clusters; counts and categories too.
    StructuralEntropyTree : A hierarchy, guided by statements.
    PCKMeans : A broken statement has a fixed cost.

    Notes
    -----
    Each of six classifiers, three blocks of features (the columns in the learned metric, Gaussian
    kernels, eigenvectors of the neighbour graph) times (C, u) = (10, 0.1) and (100, 0.05), C times
    K/10 above ten clusters, minimises over W and b, with p_i = softmax(W' phi_i + b),

        J = - sum over statements of w log(probability of the statement by p and the accuracy)
            + u sum_i H(p_i) - 0.6 u n H(mean_i p_i) + |W|² / (2 C).

    The answer is the mean of their p with a weight of three quarters, and that of a
    `BayesianMixture` with the rest, which sees classes that differ in covariance (up to 100
    columns; fitted to at most 5,000 rows; above 6,000 rows from one start, with pairs the
    committee's answer, and to a looser tolerance).
    Columns of X keep their relative scale: standardise them first if their units are not
    comparable. Above 6,000 rows the classifiers are fitted to at most 10,000 annotated rows and to
    others, 2,500 or as many as make 7,500, each of which has the weight in J of all rows (15,000 at
    most) that it stands for; a sample of these (1,500 rows, with pairs up to 6,000) finds and
    compares the starts; and all rows are assigned in one pass. Sparse rows of more than 256 columns
    are projected to 100 singular vectors. There is no paper: `as_published` gives the defaults.

    With two or more annotators, ``statement_error_`` and ``annotator_accuracy_`` are cross-fitted.
    With one annotator, ``statement_error_`` comes from classifiers that have seen the statement, so
    it is too low, and the accuracy is the assumed 0.9.

    Measured and left out: C that grows as rows become fewer (up to -.04 ARI), the mean of log p, a
    second round whose metric also learns from the rows of which the first is sure (2 % labels
    +.003 ± .007, 10 % +.002 ± .003, 10 % of them wrong +.006 ± .004, half of the classes
    -.008 ± .012, n/5 pairs -.010 ± .015, n pairs -.005 ± .008, on 8 to 24 tables; half as much
    time again); the mixture's partition as a fourth start, and classifiers of products of columns
    (docs/decisions/008-the-defaults.md has the figures).

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import DiscriminativeClustering
    >>> from sidelight.datasets import make_blobs
    >>> sample = make_blobs(150, 2, 3, separation=12.0, random_state=0)
    >>> X, truth = sample.X, sample.y
    >>> y = np.where((np.arange(150) < 20) & (truth < 2), truth, -1)  # class 2 has no label
    >>> model = DiscriminativeClustering(3, random_state=0).fit(X, y)
    >>> bool((model.cluster_names_[model.labels_] == truth).mean() > 0.95)
    True
    """

    accepts = ("must", "cannot", "label", "not_label")
    repetition = "adds"
    contradictions = "tolerated"
    objective_sense = "min"
    finds_k = True
    finds_errors = True
    gives_probabilities = True
    weight_unit = "a probability; estimated for each annotator where there are two or more"
    takes_sparse = True
    on_dask = True
    scales = "A fit takes 2 to 6 s; above 6,000 rows it uses a sample of at most 12,500 of them."
    _published: ClassVar[dict[str, Any]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "accuracy": [Interval(Real, 0, 1, closed="both"), dict, None],
        "init": ["array-like", HasMethods(["fit", "predict"]), None],
        "random_state": [
            "random_state",
            np.random.Generator,
            Interval(Integral, 0, None, closed="left"),
        ],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        accuracy: float | Mapping[Any, float] | None = None,
        init: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.accuracy = accuracy
        self.init = init
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The data.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of all kinds.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        self._check_accuracy()
        rows = as_blocks(X)
        n = rows.n_samples
        if self.n_clusters is not None and n < self.n_clusters:
            raise DataError(
                f"X has n_samples={n}, fewer than n_clusters={self.n_clusters}; "
                "ask for fewer clusters or give more rows."
            )
        with Task.of_fit(self) as task, one_blas_thread():
            run = self._fit_committee(rows, side, seed, task)
        return self._publish_committee(run, rows, side, seed)

    def predict(self, X: Any) -> Any:
        """The most probable cluster of each row of X.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if is_dask(X):
            return self._lazily("predict", X, np.int64)
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each cluster for each row of X.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters_)
        """
        if is_dask(X):
            return self._lazily("predict_proba", X, np.float64, by_cluster=True)
        check_is_fitted(self)
        X = check_x(self, X, reset=False)
        with one_blas_thread():
            P = self._views(X)[:, self._columns]
        return P / P.sum(axis=1, keepdims=True)

    # The steps of fit

    def _check_accuracy(self) -> None:
        if not isinstance(self.accuracy, Mapping):
            return
        given: Mapping[Any, Any] = self.accuracy
        for name, p in given.items():
            if not (isinstance(p, Real) and 0 <= float(p) <= 1):
                raise SidelightError(
                    f"the accuracy of {name!r} is {p!r}; give a number between 0 and 1."
                )

    def _fit_committee(self, rows: Blocks, side: SideInformation, seed: int, task: Task) -> "_Run":
        """Learn the metric, find the number of clusters, judge annotators, fit the members."""
        n = rows.n_samples
        chosen = fitted_rows(side, n, np.random.default_rng(seed), *sizes(side, n))
        if chosen is None and rows.data is None:  # few rows on Dask
            chosen = np.arange(n)
        sample = rows.data if chosen is None else rows.take(chosen)
        projection = fit_projection(sample, seed) if sparse.issparse(sample) else None
        X = sample if projection is None else projection(sample)
        inside, about = said_about(side, chosen)
        rates = Rates.given(side, self.accuracy)
        who = side.statements.annotator % len(rates.error)  # no annotator, -1, is the last

        def learn(use: NDArray[np.bool_]) -> Learned:
            if projection is None:
                return learn_metric(rows, tied_groups(side.where(use)))
            return learn_metric(as_blocks(X), tied_groups(about.where(use[inside])))

        metric = learn(rates.trusted(who))
        K = self.n_clusters or number_found(metric(X), about, len(about.labelled_classes), seed)
        column = columns_of(side, classes_with_columns(side, K))
        problem = Problem(X, about, column[inside], who[inside], K, seed, n)
        wrong = np.full(side.n_statements, np.nan)
        if rates.free.any():
            rates, wrong[inside] = estimate_rates(problem, rates)
            metric = learn(rates.trusted(who))
        init = None if self.init is None else self._start(sample, chosen, n)
        error = rates.of(side.statements, who, K)
        trusted = rates.trusted(problem.annotator)
        committee, P = fit_in_full(problem, metric, error[inside], trusted, init, task.step)
        believed = about.where(trusted & (error[inside] < 0.5))
        warm = init is not None
        mixture = fit_mixture(X, believed, P, seed, warm=warm, of_small=is_small(n))
        self._views = Views(projection, metric, committee, mixture)
        if mixture is not None:
            P = mixture.join(X, P)
        return _Run(rates, wrong, P if chosen is None else None, K)

    def _start(self, sample: Any, chosen: Ints | None, n_samples: int) -> Ints:
        """Clusters of the fitted rows as ``init`` gives them."""
        if is_model(self.init) or chosen is None:
            return given_labels(self.init, sample.shape[0], X=sample)
        return given_labels(self.init, n_samples)[chosen]

    def _publish_committee(
        self, run: "_Run", rows: Blocks, side: SideInformation, seed: int
    ) -> Self:
        """Labels of all rows, names of the clusters, and the mean history of the members."""
        annotated, _ = side.condensed()
        if run.P is not None:
            labels = run.P.argmax(axis=1)
            P, sizes = run.P[annotated], np.bincount(labels, minlength=run.n_clusters)
        else:
            labels = rows.column(0, np.int64)
            sizes, parts = rows.sum(_assign, self._views, labels, RowEntries(annotated))
            P = np.concatenate(parts)
        present = np.flatnonzero(sizes)
        if self.n_clusters is not None:
            warn_fewer_clusters(
                len(present), self.n_clusters, "data and statements give no reason for more"
            )
        naming = name_clusters(side, labels, run.n_clusters, len(present))
        self._columns = naming.order
        number = np.full(run.n_clusters, -1, dtype=np.int64)
        number[naming.order] = np.arange(len(naming.order))
        histories = [member.history for member in self._views.committee.members]
        longest = max(map(len, histories))
        history = np.mean([np.pad(h, (0, longest - len(h)), "edge") for h in histories], axis=0)
        done = _Done(float(history[-1]), history, len(history))
        error, accuracy = _judged(run, side, annotated, P)
        return self._publish(
            rows.relabelled(labels, number), naming, done, side, seed,
            error=error, accuracy=accuracy,
        )  # fmt: skip


class _Run(NamedTuple):
    """Result of a fit. P: memberships of all rows, None if it was fitted to a sample."""

    rates: Rates
    wrong: Floats
    P: Floats | None
    n_clusters: int


class _Done(NamedTuple):
    objective: float
    history: Floats
    n_iter: int


class Views(NamedTuple):
    """The predictor: the committee, in the metric, and the mixture."""

    projection: Projection | None
    metric: Learned
    committee: Committee
    mixture: Mixture | None

    def __call__(self, X: Any) -> Floats:
        """The membership of each row in each column."""
        if self.projection is not None:
            X = self.projection(X)
        P = self.committee.memberships(self.metric(X))
        return P if self.mixture is None else self.mixture.join(X, P)


def _judged(
    run: "_Run", side: SideInformation, annotated: Ints, P: Floats
) -> tuple[Floats, dict[Any, float]]:
    """For each statement the probability that it is wrong, and how often annotators are right.

    P : memberships of the annotated rows.
    """
    said = side.statements
    place = np.full(side.n_samples, -1, dtype=np.int64)
    place[annotated] = np.arange(len(annotated))
    column = columns_of(side, classes_with_columns(side, run.n_clusters))
    chance = chance_of(side, column, place, P)
    error = run.rates.of(said, said.annotator, run.n_clusters)
    fitted = error_of(side, chance, error, run.n_clusters)
    # Cross-fitted where there is such an estimate: a committee is too sure about statements that it
    # was fitted to.
    wrong = np.where(np.isnan(run.wrong), fitted, run.wrong)
    wrong = np.where(np.isnan(wrong), error, wrong)  # for some classes there is no other estimate
    names = (*side.annotators, None)
    speaks = np.unique(said.annotator % len(names))
    accuracy = {names[k]: float(1.0 - run.rates.error[k]) for k in speaks}
    return np.where(said.sign != 0, wrong, 0.0), accuracy


def _assign(
    block: Block, views: Views, labels: Ints, annotated: RowEntries
) -> tuple[Ints, list[Floats]]:
    """Write the labels of a block; their counts, and the memberships of its annotated rows."""
    X: Any = block.X
    if isinstance(X, CSRRows):
        assert views.projection is not None
        X = sparse.csr_array(tuple(X), shape=(len(X.indptr) - 1, views.projection.n_columns))
    P = views(X)
    labels[:] = P.argmax(axis=1)
    return np.bincount(labels, minlength=P.shape[1]), [P[annotated.row]]
