"""Bayesian mixtures with statements.   A. Echraibi, J. Flocon-Cholet, S. Gosselin and S. Vaton,
"Bayesian mixture models for semi-supervised clustering", 2019 (SS-DPGMM).

Maximises the bound  sum_nk phi_nk (E log p(x_n | theta_k) + E log pi_k - log phi_nk)
    - sum over must pairs lambda_M w phi_n' V phi_m - sum over cannot pairs lambda_C w phi_n' phi_m
    - KL(q(pi) || p(pi)) - sum_k KL(q(theta_k) || p(theta_k))

Paper          Here
T              n_components
phi_n          memberships; kept only for rows with neighbours
lambda, V      side_weight, potential
gamma_1,2      stick_breaking
L, nu, kappa   NormalWishart in _emissions/_gaussian.py

Departures from the paper, each decided by measurement; ``as_published`` reverts the last five:
- nu_k = nu_0 + N_k, without the printed + 1, which lowers the bound. The mean part of the KL
  potential has its two halves and its kappa. Sticks are sorted by size. Rows with neighbours are
  updated one after the other: all at once, two rows with a must-link swap places for ever.
- V is frozen while the bound rises: if V follows the posterior, the steps are not coordinate
  ascent.
- Statements are observations of the memberships, each right with odds e^lambda: every row has its
  mixture weight. In the paper's random field rows with neighbours have none ("field").
- Different labels repel. If only equal labels attract, merging two classes costs nothing.
- A label weighs lambda as a whole, not lambda times the size of its group; with the latter, wrong
  labels win as soon as there are many.
- V is 1 for different components (Potts) by default; the KL potential is divided by its mean.
- The prior knows the covariance of the data; the K-means of the start measures in standard
  deviations and begins at the labelled classes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from sidelight._validation import (
    HasMethods,
    Integral,
    Interval,
    Real,
    StrOptions,
    prepare,
)
from sidelight.blocks import Block, Blocks, RowEntries, as_blocks, is_dask, one_blas_thread
from sidelight.exceptions import DataError
from sidelight.models._bayesian.run import (
    Problem,
    Run,
    Theta,
    Weights,
    finite_dirichlet,
    go_on,
    log_densities,
    row_evidence,
    run,
    stick_breaking,
)
from sidelight.models._bayesian.start import (
    ROOM,
    check_readable,
    from_centers,
    from_labels,
    from_model,
    number_found,
    number_in,
    start_centers,
)
from sidelight.models._bayesian.statements import Couplings, Strength
from sidelight.models._bayesian.stochastic import StepSizes, run_stochastic
from sidelight.models._bayesian.stream import Arrival, Stream, advance
from sidelight.models._em import Start, soft
from sidelight.models._emissions import EMISSIONS, Emission, make, of_components
from sidelight.models._fitting import (
    STARTS,
    best_of_starts,
    is_model,
    is_small,
    n_starts,
    never,
    race,
    warn_not_converged,
)
from sidelight.models._metric import METRIC
from sidelight.models._naming import clusters_for, name_clusters
from sidelight.models._rows import RowMixture, named
from sidelight.side import SideInformation

Floats = NDArray[np.float64]

_NOBODY = np.empty(0, dtype=np.int64)

# Gains per row at which a start has converged, on small data and on larger data, and at which
# starts are compared (docs/results/benchmarks has the effect on quality).
_TIGHT, _LOOSE, _RACE = 1e-6, 3e-5, 1e-4


class BayesianMixture(RowMixture):
    """Mixture that finds the number of clusters; labels and pairs may be wrong.

    ``n_components`` is an upper limit: components that the data do not need stay empty. Clusters
    without labels are found like the others. A statement counts ``side_weight`` nats, and stronger
    evidence in the data overrules it.

    Parameters
    ----------
    n_components : int, optional
        The largest number of clusters. By default it is 10 without statements. With statements it
        is the number that `StructuralEntropyTree` finds (in a sample of 4,000 rows, if there are
        more), at least the number of labelled classes and, if there are labels, at most twice that.
        With pairs only, it may be larger: the number at which k-means agrees best with the pairs,
        if the difference is clear. With ``init`` it is the number in ``init``; in the first batch
        of ``partial_fit`` at least 10.
    emission : str, list or Emission class, default="gaussian"
        The distribution of the rows of a cluster: "gaussian" (full covariances, Normal-Wishart
        prior), "gaussian_diag" (diagonal ones, Normal-Gamma), "poisson" (counts, Gamma),
        "multinomial" (counts whose total has no meaning, such as the words of a text; Dirichlet) or
        "categorical" (a Dirichlet per column). For columns of several kinds, a list of pairs
        (emission, columns), with columns by number or name; columns that are not named are left
        out. Or a class of your own, derived from `Emission`.
    weights : {"dirichlet_process", "dirichlet"}, default="dirichlet_process"
        The prior of the mixture weights: stick-breaking, or a finite Dirichlet.
    concentration : float, optional
        The concentration of that prior; a larger one gives more clusters. By default 1 for the
        process and 1 / n_components for the finite Dirichlet.
    potential : {"potts", "kl"}, default="potts"
        The cost of a broken must-link: the same for any two components, or proportional to the
        symmetric KL divergence of their posteriors.
    statements : {"observed", "field"}, default="observed"
        How statements enter. "observed": as noisy observations; a label counts ``side_weight`` as a
        whole. "field": the paper's Markov random field; every pair of equal labels counts, the KL
        potential is taken as it is, and rows with neighbours do not count in the mixture weights.
    side_weight : float or dict, default=3.0
        Nats per broken must-link or label: the log-odds that a statement is right (3: wrong in 1 of
        20 cases). A dict gives one per annotator, with None for statements without an annotator.
    cannot_weight : float or dict, optional
        The same for cannot-links, different labels and negative labels; by default ``side_weight``.
    prior : dict, list or "published", optional
        Of the components. Gaussians: a dict with some of the keys ``mean`` (default: the mean of
        the data), ``mean_precision`` (kappa, 1), ``degrees_of_freedom`` (nu; the number of columns
        that vary, 1 if diagonal) and ``covariance``: what a cluster's covariance is expected to be,
        as a factor of the data's (0.5; 1 if diagonal), as variances, or as a matrix. The data's
        covariance is shrunk to its diagonal by d / (n + d), for n rows of d columns.
        "poisson": ``mean`` (the columns' means) and ``shape`` (1) of the Gamma. "multinomial":
        ``concentration`` (1), pseudo-counts per column, half of them flat and half like the shares
        of all rows, or an array of them. "categorical": the same for each category, and
        ``categories``, those of each column as a list or of some as a dict, besides those in X.
        For a list of emissions, a list of dicts, with None for the default.
        "published", for Gaussians: unit scale matrix, and the K-means centres of the start as means
        (where ``init`` gives the start, the mean of the data).
    init : {"seeded", "k-means"}, array, or fitted model, default="seeded"
        Where to start: K-means with ``n_components`` clusters, begun at the means of the labelled
        classes ("seeded") or not. An array of shape (n_samples,) gives component numbers (−1 is
        unknown), and a fitted BayesianMixture its components: a warm restart after a few more
        statements. Inside scikit-learn's searches, which clone, wrap the fitted model in
        `sklearn.frozen.FrozenEstimator`.
    n_init : int or "auto", default="auto"
        The number of starts; the one with the highest bound is kept. A given start is made once.
        "auto": 3; fewer above 10,000 rows, down to 1. Above 6,000 rows, starts (with the potential
        "potts", without ``batch_size``) are compared when an iteration gains less than 1e-4 per
        row, and only the best goes on.
    max_iter : int, default=500
        The maximum number of iterations of one start.
    tol : float or "auto", default="auto"
        A start has converged when an iteration gains less than this per row; with ``batch_size``
        when an epoch does, by the estimate of its batches. "auto": 1e-6, and 3e-5 above 6,000 rows
        without ``batch_size``.
    batch_size : int, optional
        Rows per step of stochastic variational inference, for data so large that there is time for
        a few passes only. The posteriors are updated after every batch, ``max_iter`` counts epochs
        over all rows, and the fit ends with one ordinary iteration. Rows may be sorted: short runs
        of neighbouring rows are spread over the batches. By default, and if there are no more rows
        than this, all iterations are over all rows.
    learning_offset : float, default=1.0
        The step after batch t has the size (t + offset)^-decay, both in ``fit`` with a
        ``batch_size`` and in ``partial_fit``, where t is the number of rows so far in batches of
        the present size.
    learning_decay : float, default=0.6
        The decay of these steps, above 0.5 and at most 1.
    total_samples : int, optional
        For ``partial_fit``, the number of rows that the posteriors stand for; by default the number
        of rows so far. Give it if the same rows come several times.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults. Attributes of
        the clusters are in the metric; ``metric_.inverse_transform`` gives the columns of X.
    random_state : int, Generator or RandomState, optional
        Source of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row: its most probable component.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_components_ : int
        The limit that was used: ``n_components``, or the one found.
    n_clusters_ : int
        The number of components with rows. All arrays below refer to these.
    weights_ : ndarray of shape (n_clusters_,)
        Expected mixture weights. If their sum is below 1, the rest belongs to empty components.
    means_ : ndarray of shape (n_clusters_, n_features)
        Expected means of Gaussians.
    covariances_ : ndarray of shape (n_clusters_, n_features, n_features) or (n_clusters_, \
n_features)
        Inverses of the expected precisions of Gaussians; 0 for constant columns.
    rates_ : ndarray of shape (n_clusters_, n_features)
        Expected rates of "poisson".
    probabilities_ : ndarray of shape (n_clusters_, n_features), or list of arrays
        Expected probabilities of "multinomial"; of "categorical" a list, per column an array with
        a column per category.
    categories_ : list of arrays
        The categories of each column, for "categorical".
    parts_ : list of dict
        For a list of emissions the parameters of each, by the names above without underscore.
    objective_ : float
        The bound, in nats, without the normaliser of the statements, which is constant: compare
        bounds at equal weights of the statements.
    history_ : ndarray
        The bound after each iteration of the best start; it never falls. With the KL potential,
        only the iterations since that potential was last computed.
    n_iter_ : int
        Iterations of the best start.
    epoch_bounds_ : ndarray
        With ``batch_size``, the estimate of the bound from the batches of each epoch; it is noisy
        and may fall. ``history_`` then holds the ordinary iteration at the end. Empty otherwise.
    n_samples_seen_ : int
        The number of rows in ``fit`` and in all later calls of ``partial_fit``.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    AnnotatedGaussianMixture : Estimates the accuracy of annotators.
    PartialLabelGaussianMixture : A mixture in which labels hold.
    StructuralEntropyTree : A hierarchy, guided by statements.

    Notes
    -----
    Constant columns are left out, because they do not distinguish clusters ("multinomial" leaves
    out columns of zeros; a row of zeros is placed by the mixture weights and statements only).
    Sparse counts stay sparse; sparse rows of Gaussians are made dense a few at a time. More classes
    than components, labels used once, and more columns than rows are all allowed. In the paper's
    "field" the omitted normaliser is log Gamma, which depends only on the potential and the number
    of labels. With a few dozen rows the prior weighs as much as a cluster. It expects clusters with
    half the variance of the data, so small blobs in few dimensions may be merged;
    ``prior={"covariance": 0.1}`` keeps more of them apart. Rows with statements are updated one by
    one, in the order of the rows. `score_samples` returns the contribution of a row to the bound:
    an expected log-density that includes empty components. The cost of an iteration grows with n T
    d² (n T d if diagonal or categorical, T times the number of nonzeros for counts), plus T for
    every statement (T² with the KL potential).

    References
    ----------
    A. Echraibi, J. Flocon-Cholet, S. Gosselin, S. Vaton. Bayesian mixture models for
    semi-supervised clustering. 2019, hal-02372337.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import BayesianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.5, (50, 2)) for c in (0, 4, 8)])
    >>> model = BayesianMixture(random_state=0).fit(X)
    >>> model.n_clusters_
    3

    Labels name clusters; a cluster without labels is found too:

    >>> y = np.full(150, None)
    >>> y[[0, 1, 50, 51]] = ["low", "low", "middle", "middle"]
    >>> model = BayesianMixture(random_state=0).fit(X, y)
    >>> model.cluster_names_[model.labels_[[2, 60, 120]]].tolist()
    ['low', 'middle', 'new 1']

    One annotator is right nearly always, another hardly more often than by chance:

    >>> model = BayesianMixture(side_weight={"ann": 5.0, "bob": 0.2})

    A table of a measurement, a category and a count:

    >>> table = np.column_stack([X[:, 0], np.arange(150) // 50 == 1, rng.poisson(3, 150)])
    >>> parts = [("gaussian", [0]), ("categorical", [1]), ("poisson", [2])]
    >>> BayesianMixture(emission=parts, random_state=0).fit(table).n_clusters_
    3
    """

    accepts = ("must", "cannot", "label", "not_label")
    finds_k = True
    weight_unit = "nats: the log-odds that a statement is right"
    takes_sparse = True
    repetition = "adds"
    contradictions = "tolerated"
    objective_sense = "max"
    scales = (
        "An iteration takes n T d² (n T d if diagonal, nnz T for counts) for T components; memory "
        "grows with n."
    )
    _auto_starts: ClassVar[tuple[int, int]] = (3, 1)
    _published: ClassVar[dict[str, Any]] = {
        "n_components": 10,
        "weights": "dirichlet",
        "potential": "kl",
        "statements": "field",
        "side_weight": 1e-3,
        "cannot_weight": 0.0,
        "prior": "published",
        "init": "k-means",
        "n_init": 1,
        "tol": 1e-6,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "emission": [StrOptions(set(EMISSIONS)), HasMethods(["of"]), list],
        "weights": [StrOptions({"dirichlet_process", "dirichlet"})],
        "concentration": [Interval(Real, 0, None, closed="neither"), None],
        "potential": [StrOptions({"potts", "kl"})],
        "statements": [StrOptions({"observed", "field"})],
        "side_weight": [Interval(Real, 0, None, closed="left"), dict],
        "cannot_weight": [Interval(Real, 0, None, closed="left"), dict, None],
        "prior": [dict, list, StrOptions({"published"}), None],
        "init": [StrOptions({"seeded", "k-means"}), "array-like", HasMethods(["fit", "predict"])],
        "n_init": STARTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "learning_offset": [Interval(Real, 0, None, closed="left")],
        "learning_decay": [Interval(Real, 0.5, 1.0, closed="right")],
        "total_samples": [Interval(Integral, 1, None, closed="left"), None],
        "metric": METRIC,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        emission: Any = "gaussian",
        weights: str = "dirichlet_process",
        concentration: float | None = None,
        potential: str = "potts",
        statements: str = "observed",
        side_weight: Any = 3.0,
        cannot_weight: Any = None,
        prior: Any = None,
        init: Any = "seeded",
        n_init: int | str = "auto",
        max_iter: int = 500,
        tol: float | str = "auto",
        batch_size: int | None = None,
        learning_offset: float = 1.0,
        learning_decay: float = 0.6,
        total_samples: int | None = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.emission = emission
        self.weights = weights
        self.concentration = concentration
        self.potential = potential
        self.statements = statements
        self.side_weight = side_weight
        self.cannot_weight = cannot_weight
        self.prior = prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.total_samples = total_samples
        self.metric = metric
        self.random_state = random_state

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The paper's setting as its program has it; ``changes`` are parameters.

        A random field with the KL potential and lambda = 0.001, a finite Dirichlet(1 / T), and the
        K-means centres as prior means. The update equations are the corrected ones, and the
        potential is frozen while the bound rises.
        """
        return super().as_published(**changes)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix, data frame or Dask array of shape (n_samples, n_features)
            The data. Memory maps are read block by block; a Dask array is worked on where it is,
            and ``labels_`` is a Dask array too.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of any kind.

        Returns
        -------
        self
        """
        return self._fit(*prepare(self, X, y, side))

    @with_callbacks
    def partial_fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Continue with more rows, which need not be kept: a step of stochastic inference.

        The first batch is fitted as by ``fit`` and sets the scale of the prior, so it should be
        large and cover the range of all data. A later cluster is found if it lies in that range;
        rows far outside are taken for distant members of the existing clusters. A fitted model
        continues from its fit.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The rows of this batch.
        y : array of shape (n_samples,), optional
            Partial labels of these rows, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements about these rows. Labels are remembered by their class; pairs are about rows
            of the same batch.

        Returns
        -------
        self
            ``labels_`` and ``result_`` are about this batch; ``objective_`` is an estimate of the
            bound from this batch, and ``history_`` has only this number.

        Examples
        --------
        >>> import numpy as np
        >>> from sidelight import BayesianMixture
        >>> rng = np.random.default_rng(0)
        >>> model = BayesianMixture(5, random_state=0)
        >>> for _ in range(20):
        ...     truth = rng.integers(2, size=100)
        ...     model = model.partial_fit(rng.normal(size=(100, 2)) + 6 * truth[:, None])
        >>> model.n_clusters_, model.n_samples_seen_
        (2, 2000)
        """
        if is_dask(X):
            raise DataError(
                "partial_fit takes a batch in the memory of this machine, and X is a Dask array; "
                "give it chunk by chunk, model.partial_fit(X.blocks[k].compute()), or call fit."
            )
        if not hasattr(self, "_stream"):
            return self._fit(*prepare(self, X, y, side), stream=True)
        X, side, seed = prepare(self, X, y, side, reset=False)
        check_readable(as_blocks(X), self._emission, side.index)
        problem = self._problem_of(as_blocks(X), SideInformation.empty(0), self._emission)
        arrival = advance(
            self._stream,
            problem,
            self._theta,
            X,
            side,
            strength=self._strength(),
            potential=self.potential,
            step_sizes=StepSizes(self.learning_offset, self.learning_decay),
            total=self.total_samples,
        )
        return self._publish_arrival(arrival, side, seed)

    def _excludes_metric(self) -> str:
        emission = self.emission
        if isinstance(emission, list) or (isinstance(emission, str) and "gaussian" not in emission):
            return f"emission={emission!r} is not about distances along the columns"
        if is_model(self.init):
            return "init is a model, whose clusters are in another metric; give init=model.labels_"
        return ""

    def _fit(self, X: Any, side: SideInformation, seed: int, stream: bool = False) -> Self:
        rows = as_blocks(X)
        problem = self._problem(rows, side, seed, stream)
        rng = np.random.default_rng(seed)
        n_tries = n_starts(self, rows.n_samples)
        starts = rng.spawn(n_tries) if isinstance(self.init, str) else [rng]
        bare = type(self)(**self.get_params(deep=False))
        bare.n_components_ = self.n_components_
        options: dict[str, Any] = {"cost": _cost, "n_steps": self.max_iter}
        how = (bare, side, self._tolerance(rows.n_samples))
        if self._is_race(rows.n_samples, n_tries):
            how = (bare, side, max(_RACE, how[-1]))
            best, emission = race(self, _run_start, _run_on, problem, how, starts, **options)
        else:
            best, emission = best_of_starts(self, _run_start, problem, how, starts, **options)
        warn_not_converged(best, self.max_iter, "raise max_iter or tol")
        self._stream = Stream.after(best, problem, side, self._strength())
        return self._publish_run(best, emission, rows, side, seed)

    def _predict(self, rows: Blocks) -> NDArray[np.int32]:
        labels = np.empty(rows.n_samples, dtype=np.int32)

        def use(block: Block, scores: Floats) -> None:
            soft(block, scores, _NOBODY, block.of(labels))

        log_densities(rows, self._emission, self._of_clusters(), use)
        return self._cluster_number[labels]

    def _predict_proba(self, rows: Blocks) -> Floats:
        shares = np.empty((rows.n_samples, self.n_clusters_))

        def use(block: Block, scores: Floats) -> None:
            soft(block, scores, _NOBODY, np.empty(scores.shape[1], dtype=np.int32))
            block.of(shares)[:, self._cluster_number] = scores.T

        log_densities(rows, self._emission, self._of_clusters(), use)
        return shares

    def _score_samples(self, rows: Blocks) -> Floats:
        evidence = np.empty(rows.n_samples)

        def use(block: Block, scores: Floats) -> None:
            block.of(evidence)[:] = row_evidence(scores)

        log_densities(rows, self._emission, self._theta, use)
        return evidence

    def _tolerance(self, n_samples: int) -> float:
        """The gain per row at which a start has converged."""
        if not isinstance(self.tol, str):
            return self.tol
        return _TIGHT if is_small(n_samples) or self.batch_size is not None else _LOOSE

    def _is_race(self, n_samples: int, n_starts: int) -> bool:
        """Whether starts are compared early. Bounds with different V cannot be compared."""
        by_size = self.n_init == "auto" and n_starts > 1 and not is_small(n_samples)
        return by_size and self.potential == "potts" and self.batch_size is None

    def _strength(self) -> Strength:
        cannot = self.side_weight if self.cannot_weight is None else self.cannot_weight
        return Strength(self.side_weight, cannot, per_label=self.statements == "observed")

    def _problem(
        self, rows: Blocks, side: SideInformation, seed: int, stream: bool = False
    ) -> Problem:
        # A stream needs spare components: later batches may have more clusters than the first.
        self.n_components_ = self._limit(rows, side, seed, ROOM if stream else 1)
        emission = self._emission_of(rows, side, self.n_components_)
        return self._problem_of(rows, side, emission.for_stream() if stream else emission)

    def _limit(self, rows: Blocks, side: SideInformation, seed: int, room: int) -> int:
        """The number of components: as given, as in ``init``, or found, then at least ``room``."""
        if self.n_components is not None:
            return self.n_components
        if not isinstance(self.init, str):
            return number_in(self.init, rows.n_samples)
        return max(room, number_found(rows, side, self._emission_of(rows, side, 1), seed))

    def _emission_of(self, rows: Blocks, side: SideInformation, n_components: int) -> Emission:
        names = getattr(self, "feature_names_in_", None)
        emission = make(self.emission, rows, self.prior, n_components, names)
        check_readable(rows, emission, side.index)
        return emission

    def _problem_of(self, rows: Blocks, side: SideInformation, emission: Emission) -> Problem:
        couplings = Couplings.of(side, self._strength())
        concentration = self.concentration
        if self.weights == "dirichlet_process":
            weights = partial(stick_breaking, concentration=concentration or 1.0)
        else:
            concentration = concentration or 1.0 / self.n_components_
            weights = partial(finite_dirichlet, concentration=concentration)
        near = as_blocks(rows.take(couplings.rows))
        of_near = RowEntries(couplings.rows)
        is_field = self.statements == "field"
        return Problem(rows, near, of_near, couplings, emission, weights, is_field)

    def _start(
        self, problem: Problem, side: SideInformation, rng: np.random.Generator
    ) -> tuple[Start, Emission]:
        """Where a run begins, and the emission with the prior that belongs to it."""
        if not isinstance(self.init, str):
            if is_model(self.init):
                return from_model(self.init, self.n_components_), problem.emission
            return from_labels(self.init, problem.rows, self.n_components_), problem.emission
        seeds = side if self.init == "seeded" else SideInformation.empty(side.n_samples)
        centers = start_centers(problem.rows, seeds, problem.emission, self.n_components_, rng)
        emission = problem.emission.with_centers(centers)
        return from_centers(centers, emission, self.n_components_), emission

    def _run(
        self,
        problem: Problem,
        side: SideInformation,
        rng: np.random.Generator,
        tol: float,
        each_iteration: Callable[[], bool] = never,
    ) -> tuple[Run, Emission]:
        """One start from its beginning to its end."""
        begin, emission = self._start(problem, side, rng)
        with one_blas_thread():  # set once, not for every pass over the blocks
            found = self._ascent(problem.rows.n_samples)(
                problem._replace(emission=emission),
                begin,
                rng,
                potential=self.potential,
                max_iter=self.max_iter,
                tol=tol,
                each_iteration=each_iteration,
            )
        return found, emission

    def _go_on(
        self, problem: Problem, found: tuple[Run, Emission], each_iteration: Callable[[], bool]
    ) -> tuple[Run, Emission]:
        """The winner of a race until it has converged."""
        run_so_far, emission = found
        n_left = self.max_iter - run_so_far.n_iter
        if n_left < 1:
            return found
        with one_blas_thread():
            end = go_on(
                problem._replace(emission=emission),
                run_so_far,
                max_iter=n_left,
                tol=self._tolerance(problem.rows.n_samples),
                each_iteration=each_iteration,
            )
        return end, emission

    def _ascent(self, n_samples: int) -> Callable[..., Run]:
        """How a run is done: in batches if there is more than one of them."""
        if self.batch_size is None or self.batch_size >= n_samples:
            return lambda problem, begin, _, **options: run(problem, begin, **options)
        return partial(
            run_stochastic,
            batch_size=self.batch_size,
            step_sizes=StepSizes(self.learning_offset, self.learning_decay),
        )

    def _publish_run(
        self, best: Run, emission: Emission, rows: Blocks, side: SideInformation, seed: int
    ) -> Self:
        naming, labels = named(rows, best.labels, self.n_components_, side)
        present = np.sort(naming.order)
        self._emission = emission
        self._show(best.theta, present, np.searchsorted(present, naming.order))
        self.epoch_bounds_ = np.array(best.estimates)
        return self._publish(labels, naming, best, side, seed)

    def _publish_arrival(self, arrival: Arrival, side: SideInformation, seed: int) -> Self:
        self._stream = arrival.stream
        # A component is a cluster if it holds a row of this batch, or a mass of one row in total.
        here = np.bincount(arrival.labels, minlength=self.n_components_) > 0
        mass = arrival.stream.n_rows * arrival.stream.averages.statistics[0]
        present = np.flatnonzero(here | (mass >= 1.0))
        votes = arrival.stream.groups.as_side(self.n_components_)[present]
        naming = name_clusters(votes, np.arange(len(present)), len(present))
        naming = naming._replace(clusters=clusters_for(side, votes, naming.clusters))
        self._show(arrival.theta, present, naming.order)
        labels = self._cluster_number[np.searchsorted(present, arrival.labels)]
        step = _Step(arrival.bound, [arrival.bound], arrival.stream.n_batches)
        return self._publish(labels, naming, step, side, seed)

    def _show(self, theta: Theta, present: NDArray[Any], order: NDArray[np.int64]) -> None:
        """Set the attributes of the clusters, in their order, and the state for `predict`."""
        number = np.empty(len(order), dtype=np.int32)
        number[order] = np.arange(len(order))
        self._theta, self._present, self._cluster_number = theta, present, number
        self.n_samples_seen_ = self._stream.n_rows
        self.weights_ = theta.weights.mean[present[order]]
        shown = self._emission.parameters(of_components(theta.components, present[order]))
        for name, value in shown.items():
            setattr(self, f"{name}_", value)

    def _of_clusters(self) -> Theta:
        """Theta of the components that hold rows, in the order of the components.

        Their order decides ties, so it has to be the order in ``fit``.
        """
        components, weights = self._theta
        kept = of_components(components, self._present)
        return Theta(kept, Weights(weights.log[self._present], weights.mean[self._present], 0.0))

    def _new_rows(self, X: Any) -> Blocks:
        rows = super()._new_rows(X)
        check_readable(rows, self._emission, None)
        return rows


class _Step(NamedTuple):
    """Set the attributes after one step of `partial_fit`."""

    objective: float
    history: list[float]
    n_iter: int


def _run_start(
    problem: Problem,
    how: tuple[BayesianMixture, SideInformation, float],
    rng: np.random.Generator,
    each_iteration: Callable[[], bool] = never,
) -> tuple[Run, Emission]:
    """One start from its beginning to its end."""
    model, side, tol = how
    return model._run(problem, side, rng, tol, each_iteration)


def _run_on(
    problem: Problem,
    how: tuple[BayesianMixture, SideInformation, float],
    found: tuple[Run, Emission],
    each_iteration: Callable[[], bool] = never,
) -> tuple[Run, Emission]:
    """The best start to its end."""
    return how[0]._go_on(problem, found, each_iteration)


def _cost(found: tuple[Run, Emission]) -> float:
    return -found[0].objective
