"""Discriminative clustering with statements: a metric, three views of the data, and a committee.

Steps of a fit
1  scale      all of X by one number
2  metric     `StatementMetric`: directions along which tied rows differ count less
3  features   X itself, Gaussian kernels, eigenvectors of the neighbour graph (features.py)
4  member     softmax classifier, p_i = softmax(W' phi_i + b); minimise by L-BFGS (run.py)

      J = - sum over statements of w log(probability of the statement given p, eps)
          + u sum_i H(p_i) - 0.6 u n H(mean_i p_i) + |W|² / (2 C)

5  starts     partitions by other models, the one with the lowest J per block (starts.py)
6  committee  mean of p over three blocks times (C, u) = (10, .1), (100, .05) (committee.py)

eps is the probability that a statement is wrong (statements.py).
"""

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
from sidelight.blocks import Block, Blocks, CSRRows, as_blocks, is_dask, one_blas_thread
from sidelight.exceptions import DataError
from sidelight.models._base import SideClusterer
from sidelight.models._discriminative.committee import Committee, fit_committee
from sidelight.models._discriminative.sample import fit_projection, fitted_rows
from sidelight.models._discriminative.starts import (
    in_columns,
    number_found,
    starting_partitions,
)
from sidelight.models._discriminative.statements import statement_terms
from sidelight.models._fitting import Task, given_labels, is_model, warn_fewer_clusters
from sidelight.models._metric import learn_metric
from sidelight.models._naming import name_clusters
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class DiscriminativeClustering(SideClusterer):
    """Clusters that a classifier can tell apart, which agree with what people said.

    Learns from the statements which directions of the data matter, takes every kind of statement,
    forms clusters for classes that nobody named, and tolerates wrong statements.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default it is found.
    error_rate : float, default=0.1
        The probability that a statement is wrong.
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
    objective_ : float
        Mean of J over the members of the committee.
    history_ : ndarray
        Mean of J over the members after each iteration; it never rises.
    n_iter_ : int
        The length of ``history_``.
    result_ : ClusterResult
        All of this, with the broken statements and where it came from.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import DiscriminativeClustering
    >>> from sidelight.datasets import make_blobs
    >>> sample = make_blobs(150, 2, 3, separation=12.0, random_state=0)
    >>> X, truth = sample.X, sample.y
    >>> y = np.where((np.arange(150) < 20) & (truth < 2), truth, -1)  # nobody names class 2
    >>> model = DiscriminativeClustering(3, random_state=0).fit(X, y)
    >>> float((model.cluster_names_[model.labels_] == truth).mean())
    1.0
    """

    accepts = ("must", "cannot", "label", "not_label")
    repetition = "adds"
    contradictions = "tolerated"
    objective_sense = "min"
    finds_k = True
    gives_probabilities = True
    weight_unit = "a probability that a statement is wrong"
    takes_sparse = True
    on_dask = True
    scales = "A fit takes about 5 s per 10,000 rows; above 15,000 rows it uses a sample of them."
    _published: ClassVar[dict[str, Any]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "error_rate": [Interval(Real, 0, 0.5, closed="both")],
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
        error_rate: float = 0.1,
        init: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.error_rate = error_rate
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
        rows = as_blocks(X)
        n = rows.n_samples
        if self.n_clusters is not None and n < self.n_clusters:
            raise DataError(
                f"X has n_samples={n}, fewer than n_clusters={self.n_clusters}; "
                "ask for fewer clusters or give more rows."
            )
        chosen = fitted_rows(side, n, np.random.default_rng(seed))
        if chosen is None and rows.data is None:  # few rows on Dask
            chosen = np.arange(n)
        with Task.of_fit(self) as task, one_blas_thread():
            self._fit_map(rows, side, chosen, seed)
            sample = rows.data if chosen is None else rows.take(chosen)
            said = side if chosen is None else side[chosen]
            start = None if self.init is None else self._start(sample, chosen, n)
            committee, P = self._fit_committee(self._mapped(sample), said, start, seed, task)
        self._committee = committee
        return self._publish_committee(rows, P if chosen is None else None, side, seed)

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
            P = self._committee.memberships(self._mapped(X))[:, self._columns]
        return P / P.sum(axis=1, keepdims=True)

    # The steps of fit

    def _fit_map(self, rows: Blocks, side: SideInformation, chosen: Any, seed: int) -> None:
        """Leave the map from X to the learned metric; sparse rows are projected first."""
        self._projection = None
        if sparse.issparse(rows.data):
            sample = rows.data if chosen is None else rows.take(chosen)
            self._projection = fit_projection(sample, seed)
            said = side if chosen is None else side[chosen]
            self._metric = learn_metric(as_blocks(self._projection(sample)), said)
            return
        self._metric = learn_metric(rows, side)

    def _mapped(self, X: Any) -> Any:
        """Rows in the learned metric."""
        X = X if self._projection is None else self._projection(X)
        return (X - self._metric.mean) @ self._metric.matrix

    def _start(self, sample: Any, chosen: Ints | None, n_samples: int) -> Ints:
        """Clusters of the fitted rows as ``init`` gives them."""
        if is_model(self.init) or chosen is None:
            return given_labels(self.init, sample.shape[0], X=sample)
        return given_labels(self.init, n_samples)[chosen]

    def _fit_committee(
        self, Z: Floats, side: SideInformation, start: Ints | None, seed: int, task: Task
    ) -> tuple[Committee, Floats]:
        """Find the number of clusters and the starts, and fit the members."""
        classes = side.labelled_classes
        K = self.n_clusters or number_found(Z, side, len(classes), seed)
        classes = _heaviest(side, classes, K)
        error = np.full(side.n_statements, self.error_rate)
        terms = statement_terms(side, error, _columns(side, classes), K)
        if start is None:
            starts = starting_partitions(Z, side, classes, K, seed)
        else:
            starts = [in_columns(start, side, classes, K)]
        return fit_committee(Z, terms, starts, seed, task.step)

    def _publish_committee(
        self, rows: Blocks, P: Floats | None, side: SideInformation, seed: int
    ) -> Self:
        """Labels of all rows, names of the clusters, and the mean history of the members.

        P : memberships of all rows, or None where the committee was fitted to some rows only.
        """
        committee = self._committee
        n_columns = committee.by_graph.shape[1]
        if P is not None:
            labels = P.argmax(axis=1)
            sizes = np.bincount(labels, minlength=n_columns)
        else:
            labels = rows.column(0, np.int64)
            (sizes,) = rows.sum(_assign, self._assigner(), labels)
        present = np.flatnonzero(sizes)
        if self.n_clusters is not None:
            warn_fewer_clusters(
                len(present), self.n_clusters, "data and statements give no reason for more"
            )
        naming = name_clusters(side, labels, n_columns, len(present))
        order = naming.order
        self._columns = order
        number = np.full(n_columns, -1, dtype=np.int64)
        number[order] = np.arange(len(order))
        histories = [member.history for member in committee.members]
        longest = max(map(len, histories))
        history = np.mean([np.pad(h, (0, longest - len(h)), "edge") for h in histories], axis=0)
        run = _Run(float(history[-1]), history, len(history))
        return self._publish(rows.relabelled(labels, number), naming, run, side, seed)

    def _assigner(self) -> Any:
        """What a pass over all rows needs: no more than the committee and its map."""
        bare = object.__new__(type(self))
        bare._committee, bare._metric = self._committee, self._metric
        bare._projection = self._projection
        return bare


class _Run(NamedTuple):
    objective: float
    history: Floats
    n_iter: int


def _heaviest(side: SideInformation, classes: Ints, n_clusters: int) -> Ints:
    """The classes that get a column: all, or those with the most labels."""
    if len(classes) <= n_clusters:
        return classes
    said = side.statements
    here = said.binding & (said.vocabulary == side.leading_vocabulary) & said.is_class
    mass = np.bincount(said.class_code[here], said.weight[here], minlength=len(side.classes))
    return np.sort(classes[np.argsort(-mass[classes], kind="stable")[:n_clusters]])


def _columns(side: SideInformation, classes: Ints) -> Ints:
    """For each statement the column of its class, -1 for none."""
    said = side.statements
    column = np.full(len(side.classes) + 1, -1, dtype=np.int64)
    column[classes] = np.arange(len(classes))
    return np.where(said.vocabulary == side.leading_vocabulary, column[said.class_code], -1)


def _assign(block: Block, model: Any, labels: Ints) -> tuple[Ints]:
    """Write the labels of a block; their counts."""
    X = block.X
    if isinstance(X, CSRRows):
        X = sparse.csr_array(tuple(X), shape=(len(X.indptr) - 1, model._projection.n_columns))
    P = model._committee.memberships(model._mapped(X))
    labels[:] = P.argmax(axis=1)
    return (np.bincount(labels, minlength=P.shape[1]),)
