"""A metric learned from statements: directions along which rows of one group differ count less.

With groups g of rows that statements tie (equal labels, or must-links), after one scaling of all of
X to mean |x|² = d:

    SS = sum_g sum_{i in g} (x_i - m_g)(x_i - m_g)'     nu = sum_g (size - 1)
    M  = (SS + nu0 s I) / (nu + nu0)                    s = tr(SS) / (nu d),  nu0 = shrinkage d
    x -> (x - mean) M^(-1/2), rescaled to mean |x|² = d

The target of the shrinkage is the identity and not the covariance of all rows: with few statements
that would whiten X, and KMeans falls from .49 to .37 (2 % labels, mean ARI over tables).
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import Interval, Real, StrOptions, check_side, check_x
from sidelight.blocks import (
    BLOCK_ROWS,
    Block,
    Blocks,
    CSRRows,
    as_blocks,
    is_dask,
    lazily,
    one_blas_thread,
)
from sidelight.exceptions import DataError
from sidelight.side import LABEL, MUST, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class StatementMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Linear map of X in which rows that belong together are near each other.

    Statements that tie rows (labels, must-links) show along which directions rows of one class
    differ; these directions shrink. Put it before any model that works on distances.

    Parameters
    ----------
    shrinkage : float, default=1.0
        The number of pseudo-rows per column of X, with equal spread in all directions, that are
        added. A larger number makes the map more similar to the identity.
    min_freedom : float, default=12.0
        With fewer degrees of freedom (tied rows minus groups) the map only centres and scales.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of X.
    components_ : ndarray of shape (n_features, n_features)
        The symmetric matrix A of the map x -> (x - mean) A.
    freedom_ : float
        Degrees of freedom of the scatter within groups.
    learned_ : bool
        Whether there were enough degrees of freedom; if not, the map only centres and scales.
    n_features_in_ : int
        The number of columns of X.

    Notes
    -----
    All of X is divided by one number first, so that columns keep their relative scale: standardise
    them first if their units are not comparable.

    Wrong statements blur the metric. Measured and left out, since none helps: weights of must-links
    by a multivariate t distribution, or by the probability that a link is wrong (EM, with the
    scatter of all rows for wrong ones), lose .03 to .13 ARI of k-means in the metric where all
    links are right; must-links one by one instead of the groups that they form change
    `DiscriminativeClustering` by +.01 ± .01 (n pairs) and -.02 ± .02 (10 % of them wrong), 12
    tables. Cannot-links are not used: most random pairs are of different classes, so their scatter
    is close to that of all rows, which is the wrong target.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import StatementMetric
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = np.column_stack([y + 0.1 * rng.normal(size=200), 2 * rng.normal(size=200)])
    >>> Z = StatementMetric().fit_transform(X, np.where(np.arange(200) < 40, y, -1))
    >>> bool(X[:, 0].std() < X[:, 1].std()), bool(Z[:, 0].std() > Z[:, 1].std())
    (True, True)
    """

    on_dask: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
        "min_freedom": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, shrinkage: float = 1.0, min_freedom: float = 12.0) -> None:
        self.shrinkage = shrinkage
        self.min_freedom = min_freedom

    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Learn the map from partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            The data.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Labels and must-links are used; other kinds change nothing.

        Returns
        -------
        self
        """
        self._validate_params()
        index = side.index if isinstance(side, SideInformation) else None
        X = _dense(check_x(self, X, reset=True, index=index))
        return self._learn(as_blocks(X), check_side(X, y, side))

    def _learn(self, rows: Blocks, side: SideInformation, *, repeated: bool = True) -> Self:
        with one_blas_thread():
            learned = learn_metric(
                rows,
                tied_groups(side, repeated=repeated),
                shrinkage=self.shrinkage,
                min_freedom=self.min_freedom,
            )
        self.mean_, self.components_, self.freedom_, self.learned_ = learned
        return self

    def transform(self, X: Any) -> Any:
        """The rows of X in the learned metric.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or a Dask array
        """
        check_is_fitted(self)
        return self._mapped(X, self._map.rows)

    def inverse_transform(self, X: Any) -> Any:
        """Rows of the learned metric back in the columns of X.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            Mapped rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or a Dask array
        """
        check_is_fitted(self)
        return self._mapped(X, self._map.back)

    def _mapped(self, X: Any, function: Any) -> Any:
        if is_dask(X):
            dtype = np.float32 if X.dtype == np.float32 else np.float64
            return lazily(function, X, dtype=dtype, n_columns=self.n_features_in_)
        X = _dense(check_x(self, X, reset=False))
        with one_blas_thread():
            return function(X)

    @property
    def _map(self) -> "Learned":
        return Learned(self.mean_, self.components_, self.freedom_, self.learned_)

    @property
    def _n_features_out(self) -> int:
        return self.n_features_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dense(X: Any) -> Any:
    if sparse.issparse(X):
        raise DataError(
            "X is a sparse matrix, and StatementMetric mixes all columns. Reduce it first: "
            "make_pipeline(TruncatedSVD(50), StatementMetric())."
        )
    return X


# The parameter ``metric`` of models

METRIC: list[Any] = [StrOptions({"statements"}), StatementMetric, None]
SPARSE = "X is sparse, and it mixes all columns; reduce X by TruncatedSVD before"


def metric_of(model: Any, X: Any, side: SideInformation) -> StatementMetric:
    """The metric that a model's parameter ``metric`` asks for, learned from checked data."""
    name, reason = type(model).__name__, model._excludes_metric()
    rows = as_blocks(X)
    if not reason and rows.n_samples and isinstance(rows.block(0).X, CSRRows):
        reason = SPARSE
    if reason:
        raise DataError(f"{name}: metric={model.metric!r} cannot be used: {reason}.")
    learner = StatementMetric() if isinstance(model.metric, str) else clone(model.metric)
    learner._validate_params()
    for known in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, known):
            setattr(learner, known, getattr(model, known))
    return learner._learn(rows, side, repeated=model.repetition == "adds")


# The steps


class Learned(NamedTuple):
    """A linear map, the degrees of freedom behind it, and whether they were enough to learn."""

    mean: Floats
    matrix: Floats
    freedom: float
    is_learned: bool

    def __call__(self, X: NDArray[Any]) -> NDArray[Any]:
        """Rows in the learned metric, in double precision."""
        return (X - self.mean) @ self.matrix

    def rows(self, X: NDArray[Any]) -> NDArray[Any]:
        """Any number of rows in the learned metric, in the precision they have."""
        return _by_block(self.__call__, X)

    def back(self, X: NDArray[Any]) -> NDArray[Any]:
        """Rows of the learned metric in the columns of X, in the precision they have."""
        inverse = np.linalg.inv(self.matrix)
        return _by_block(lambda part: part @ inverse + self.mean, X)

    def after(self, shift: Floats, scale: Floats) -> "Learned":
        """The same of columns from which ``shift`` is taken, and which ``scale`` divides."""
        return self._replace(mean=shift + scale * self.mean, matrix=self.matrix / scale[:, None])

    @property
    def log_stretch(self) -> float:
        """By how much log-densities are higher in the columns of X: log |det A|."""
        return float(np.linalg.slogdet(self.matrix)[1])


def _by_block(function: Callable[[NDArray[Any]], NDArray[Any]], X: NDArray[Any]) -> NDArray[Any]:
    """A function of rows, block by block: less memory, and the same bits as on Dask."""
    out = np.empty(X.shape, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    for start in range(0, len(X), BLOCK_ROWS):
        out[start : start + BLOCK_ROWS] = function(X[start : start + BLOCK_ROWS])
    return out


def learn_metric(
    rows: Blocks,
    groups: list[Ints],
    *,
    shrinkage: float = 1.0,
    min_freedom: float = 12.0,
) -> Learned:
    """The map x -> (x - mean) A of the header.

    groups : lists of the group of each row, -1 for none.
    """
    d = rows.n_features
    total, count = rows.sum(_sums, None)
    mean = total / count
    (spread,) = rows.sum(_squares, mean)  # d x d, around the mean
    scale = float(np.trace(spread) / count / d)
    if not scale > 0:  # all rows are alike
        return Learned(mean, np.eye(d), 0.0, False)
    scatter, freedom = np.zeros((d, d)), 0.0
    for group in groups:
        found, more = _scatter(rows, group, mean)
        scatter += found
        freedom += more
    within = float(np.trace(scatter))
    if freedom < min_freedom or not within > 0:
        return Learned(mean, np.eye(d) / np.sqrt(scale), freedom, False)
    nu0 = shrinkage * d
    least = nu0 * within / (freedom * d)
    values, vectors = np.linalg.eigh(scatter + least * np.eye(d))
    # No eigenvalue is below `least`, but for rounding where groups are far apart and narrow.
    values = np.maximum(values, max(0.5 * least, np.finfo(np.float64).eps * values[-1]))
    root = (vectors / np.sqrt(values)) @ vectors.T
    after = float(np.einsum("ij,ij->", root @ spread, root)) / count / d
    return Learned(mean, root / np.sqrt(after), freedom, True)


def tied_groups(side: SideInformation, *, repeated: bool = True) -> list[Ints]:
    """Groups of rows that statements tie, -1 for rows alone: by labels, then by must-links.

    Labels and must-links are kept apart, because one wrong must-link would join two classes.
    A row with several labels is in the group of the heaviest; repeated : whether it adds up if a
    label is repeated.
    """
    said = side.statements if repeated else side.once
    found = []
    for vocabulary in np.unique(said.vocabulary[said.kind == LABEL]):
        here = (said.kind == LABEL) & said.binding & (said.vocabulary == vocabulary)
        group = np.full(side.n_samples, -1, dtype=np.int64)
        votes = sparse.csr_array(
            (said.weight[here], (said.i[here], said.class_code[here])),
            shape=(side.n_samples, len(side.classes)),
        )
        some = np.unique(said.i[here])
        group[some] = np.asarray(votes[some].argmax(axis=1)).ravel()
        found.append(group)
    ties = (said.kind == MUST) & said.binding
    if ties.any():
        n = side.n_samples
        graph = sparse.csr_array((np.ones(ties.sum()), (said.i[ties], said.j[ties])), shape=(n, n))
        component = connected_components(graph, directed=False)[1]
        size = np.bincount(component)
        number = np.where(size > 1, np.cumsum(size > 1) - 1, -1)
        found.append(number[component].astype(np.int64))
    return found


def _scatter(rows: Blocks, group: Ints, mean: Floats) -> tuple[Floats, float]:
    """Scatter of the rows around the means of their groups, and its degrees of freedom."""
    n_groups = int(group.max(initial=-1)) + 1
    if not n_groups:
        return np.zeros((rows.n_features,) * 2), 0.0
    squares, sums, counts = rows.sum(_group_sums, (mean, n_groups), rows.given(group))
    some = counts > 0
    means = sums[some] / counts[some, None]
    between = (means * counts[some, None]).T @ means
    return squares - between, float(counts.sum() - some.sum())


def _sums(block: Block, _: None) -> tuple[Floats, int]:
    X = np.asarray(block.X)
    return X.sum(axis=0, dtype=np.float64), len(X)


def _squares(block: Block, mean: Floats) -> tuple[Floats]:
    X = block.X - mean
    return (X.T @ X,)


def _group_sums(
    block: Block, how: tuple[Floats, int], group: Ints
) -> tuple[Floats, Floats, Floats]:
    mean, n_groups = how
    tied = np.flatnonzero(group >= 0)
    X = np.asarray(block.X)[tied] - mean
    member = sparse.csr_array(
        (np.ones(len(tied)), (group[tied], np.arange(len(tied)))), shape=(n_groups, len(tied))
    )
    return X.T @ X, member @ X, np.bincount(group[tied], minlength=n_groups).astype(np.float64)
