"""Factorisation with propagated labels.   J. Liu, Y. Wang, J. Ma, D. Han and Y. Huang, "Constrained
nonnegative matrix factorization based on label propagation for data representation" (LpCNMF),
IEEE TAI 2023.

    J = |X - F Z U'|² + alpha (tr(F' L F) + sum_{labelled} w_i |f_i - y_i|²),   F, Z, U >= 0

Paper   Here
F       memberships (n, K), drawn to the one-hot labels y and to each other along the graph
Z, U    (K, K), (d, K): `mixing_`, `components_`
alpha   side_weight

Choices of ours, where the paper's settings are unknown: X is shifted by the minimum of each column
where that is below zero and divided by the root of the mean squared length of its rows, so that
alpha means the same for ten columns and for a thousand (in the unit of the largest value, J fits X
at the expense of the labels: ARI 80 instead of 96 on the digits); the width of the heat kernel is
the median distance of neighbours; labels by k-means of FZ, as the authors do, or by the largest
entry of F.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._validation import Interval, Real, StrOptions
from sidelight.models._factorisation.family import (
    FACTOR_PARAMETERS,
    FLOOR,
    FactorModel,
    Few,
    Run,
    best_start,
    descend,
    finishing_steps,
    fitted_to_few,
    has_many,
    multiplied,
    start_of,
)
from sidelight.models._graph_base import RowGraph
from sidelight.models._spectral import cluster_vectors
from sidelight.side import LABEL, SideInformation, Statements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class LabelPropagationNMF(FactorModel):
    """Nonnegative factorisation of the rows; labels spread along a neighbour graph.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    side_weight : float, default=10.0
        The cost of memberships that differ from the labels and from those of neighbours, the
        paper's alpha, in units of the mean squared length of a row.
    assign : {"kmeans", "argmax"}, default="kmeans"
        How memberships become clusters: by k-means on FZ, or by the largest membership.
    affinity : {"gaussian", "local", "cosine"}, default="gaussian"
        Similarity of two rows: exp(−d²/bandwidth²) of their distance; exp(−d²/(s_i s_j)), where s
        is a row's distance to its 7th neighbour; or their cosine.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int, default=5
        The number of neighbours of each row.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns for the graph: to [0, 1], or to mean 0 and deviation 1.
    n_init : int, default=5
        The number of starts; the one with the lowest J is kept. Above 6,000 rows the
        best two after 50 steps go on, and after 100 the better of them, unless ``tol`` is 0. Above
        20,000 rows these are starts for a sample of 1,000 rows (50 for each cluster, if that is
        more), and its factors are the only start for all rows; not with ``tol=0``.
    max_iter : int, default=500
        The maximum number of steps of a start. Where a sample finds the start of more than 20,000
        rows, these make at most 20 steps.
    tol : float, default=1e-3
        A start ends when ten steps lower J by less than this share of it.
    init : array of shape (n_samples,) or fitted model, optional
        Clusters to start from (−1: unknown), instead of random factors.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels, and cluster the rows in that metric. Too few labels
        leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts, and seed of approximate neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    memberships_ : ndarray of shape (n_samples, n_columns)
        F; the first columns are the labelled classes, in sorted order.
    mixing_, components_ : ndarray of shape (n_columns, n_columns), (n_features, n_columns)
        Z and U.
    shift_ : ndarray of shape (n_features,)
        What was added to each column of X, so that no value is negative.
    graph_ : csr_array of shape (n_samples, n_samples)
        The neighbour graph.
    bandwidth_ : float
        The bandwidth that was used (NaN without a Gaussian).
    n_neighbors_ : int
        The number of neighbours that was used.
    objective_ : float
        J.
    history_ : ndarray
        J at the start and after every tenth step of the best start; it never rises.
    n_iter_ : int
        Steps of the best start.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    PropagatedSymmetricNMF : Factorises a graph; must-links spread.
    SelfSupervisedNMF : An ensemble of factorisations of a graph.

    Notes
    -----
    A step takes (n d + edges) K. If columns have negative values, ``shift_`` is not zero, which
    ``result_.provenance["shifted"]`` tells. If there are more classes than clusters, the classes
    with the most labels have columns.

    Without labels the graph is left out: its term could be made zero by shrinking F and enlarging
    Z.

    Our implementation; the graph of the paper's runs is not known.

    References
    ----------
    J. Liu, Y. Wang, J. Ma, D. Han and Y. Huang. Constrained nonnegative matrix factorization based
    on label propagation for data representation. IEEE TAI, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import LabelPropagationNMF
    >>> X = np.array([[0.0, 1], [0.1, 1], [0.2, 1], [5.0, 0], [5.1, 0], [5.2, 0]])
    >>> model = LabelPropagationNMF(n_neighbors=2, random_state=0)
    >>> model.fit_predict(X, ["a", None, None, "b", None, None]).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    accepts = ("label",)
    refuses: ClassVar[dict[str, str]] = dict.fromkeys(
        ("must", "cannot", "not_label"), "It knows the classes of rows, not pairs. "
    )
    takes_similarities: ClassVar[dict[str, Any]] = {}
    weight_unit = "mean squared lengths of a row"
    scales = "A step takes n d K, and the edges of the neighbour graph times K."
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FACTOR_PARAMETERS,
        "affinity": [StrOptions({"gaussian", "local", "cosine"})],
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "assign": [StrOptions({"kmeans", "argmax"})],
    }
    _published: ClassVar[dict[str, Any]] = {"tol": 0.0, "n_init": 1}

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        side_weight: float = 10.0,
        assign: str = "kmeans",
        affinity: str = "gaussian",
        bandwidth: float | str = "auto",
        n_neighbors: int = 5,
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        n_init: int = 5,
        max_iter: int = 500,
        tol: float = 1e-3,
        init: Any = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.side_weight = side_weight
        self.assign = assign
        self.affinity = affinity
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.neighbor_ties = neighbor_ties
        self.scaling = scaling
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.metric = metric
        self.random_state = random_state

    def _factorise(
        self,
        X: Any,
        rows: RowGraph,
        side: SideInformation,
        n_clusters: int,
        given: Ints | None,
        rngs: Sequence[np.random.Generator],
        step: Callable[[], bool],
    ) -> Run:
        data = Shifted.of(X)
        labelled = Labelled.of(side, n_clusters)
        problem = Problem.of(data, rows.graph, labelled, self.side_weight)
        at_zero = problem.squares + problem.alpha * problem.given
        few = None
        if has_many(X.shape[0]):
            # Of these alone: a vocabulary of many classes could lead in the sample.
            leading = side.where(side.statements.vocabulary == side.leading_vocabulary)
            few = fitted_to_few(self, rows, leading, n_clusters, given, rngs[0], unscaled=X)
        if few is not None:
            start = _of_few(few, leading, data.scale)
            found = descend(
                start, problem.step, problem.objective, finishing_steps(self.max_iter), self.tol,
                step, at_zero=at_zero,
            )  # fmt: skip
        else:
            starts = (problem.start(given, n_clusters, rng) for rng in rngs)
            found = best_start(
                starts, problem.step, problem.objective, self.max_iter, self.tol, step,
                at_zero=at_zero, n_samples=X.shape[0],
            )  # fmt: skip
        F, Z, U = found.factors
        self.memberships_, self.mixing_, self.shift_ = F, Z, data.shift * data.scale
        self.components_ = U * data.scale
        if self.assign == "argmax":
            return found._replace(labels=F.argmax(axis=1))
        divided = cluster_vectors(F @ Z, n_clusters, self.n_init, rngs[0])
        return found._replace(labels=divided.labels)

    def _publish(self, *args: Any, **more: Any) -> Any:
        super()._publish(*args, **more)
        n_shifted = int((self.shift_ > 0).sum())
        if n_shifted:
            self.result_.provenance["shifted"] = (
                f"{n_shifted} columns had negative values and were shifted to begin at zero."
            )
        return self


def _of_few(few: Few, side: SideInformation, scale: float) -> "Factors":
    """The factors of a sample for all rows, in their unit and in the order of their classes."""
    F, Z, U = few.model.memberships_, few.model.mixing_, few.model.components_ / scale
    n_columns = F.shape[1]
    wanted, there = (
        [about.classes[code] for code in _chosen_classes(about, n_columns)]
        for about in (side, side[few.chosen])
    )
    order = [there.index(name) if name in there else -1 for name in wanted]
    order += [-1] * (n_columns - len(order))
    # A class that the sample does not have takes a column that is no other class's.
    free = iter(sorted(set(range(n_columns)) - set(order)))
    order = [next(free) if column < 0 else column for column in order]
    return Factors(few.of_all(F[:, order]), Z[order], np.maximum(U, FLOOR))


class Shifted(NamedTuple):
    """The rows, divided by a scale and with a shift of the columns that is never written out."""

    X: Any
    shift: Floats
    scale: float

    @classmethod
    def of(cls, X: Any) -> "Shifted":
        """No value is below zero, and rows have a mean squared length of 1."""
        low, high = (_ends(X, name) for name in ("min", "max"))
        shift = np.maximum(-low, 0.0)
        # Of the values as they are too: a constant column far below zero is all zeros when shifted.
        largest = float(np.maximum(np.abs(low), high + shift).max(initial=0.0)) or 1.0
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        X = X.astype(np.float64) / largest  # which may exceed single precision
        found = cls(X, shift / largest, largest)
        length = np.sqrt(found.squares / X.shape[0]) or 1.0
        return cls(X / length, found.shift / length, largest * length)

    def times(self, U: Floats) -> Floats:
        """The product with (d, K)."""
        return np.asarray(self.X @ U) + self.shift @ U

    def transposed_times(self, F: Floats) -> Floats:
        """The product of the transpose with (n, K)."""
        return np.asarray(self.X.T @ F) + np.outer(self.shift, F.sum(axis=0))

    @property
    def squares(self) -> float:
        """The sum of the squares of all values; 0 where only rounding is left of them."""
        data = self.X.data if sparse.issparse(self.X) else self.X
        sums = np.asarray(self.X.sum(axis=0)).ravel()
        own = float((data**2).sum())
        cross = 2.0 * float(self.shift @ sums) + self.X.shape[0] * float(self.shift @ self.shift)
        return own + cross if own + cross > 1e-13 * own else 0.0


def _ends(X: Any, name: str) -> Floats:
    ends = getattr(X, name)(axis=0)
    return np.asarray(ends.toarray() if sparse.issparse(ends) else ends, dtype=np.float64).ravel()


class Labelled(NamedTuple):
    """The rows with labels: their columns and weights, one entry for each label."""

    row: Ints
    column: Ints
    weight: Floats

    @classmethod
    def of(cls, side: SideInformation, n_clusters: int) -> "Labelled":
        """Of the leading vocabulary; of more classes than clusters the heaviest."""
        said = _leading_labels(side)
        chosen = _chosen_classes(side, n_clusters)
        column = np.full(len(side.classes), -1)
        column[chosen] = np.arange(len(chosen))
        used = column[said.class_code] >= 0
        return cls(said.i[used], column[said.class_code[used]], said.weight[used])


def _leading_labels(side: SideInformation) -> Statements:
    said = side.once
    return said.take((said.kind == LABEL) & (said.vocabulary == side.leading_vocabulary))


def _chosen_classes(side: SideInformation, n_clusters: int) -> Ints:
    """The classes that have columns, as codes."""
    said = _leading_labels(side)
    mass = np.bincount(said.class_code, said.weight, minlength=len(side.classes))
    return np.sort(np.argsort(-mass, kind="stable")[: min(n_clusters, (mass > 0).sum())])


class Factors(NamedTuple):
    """Memberships, mixing and components."""

    F: Floats
    Z: Floats
    U: Floats


class Problem(NamedTuple):
    """The objective."""

    data: Shifted
    graph: sparse.csr_array
    degree: Floats
    stated: Floats  # the weight of all labels of a row
    pull: sparse.csr_array  # (n, K), weights of labels
    alpha: float
    squares: float  # of the data
    given: float  # the part of J that labels are when F is zero

    @classmethod
    def of(
        cls, data: Shifted, graph: sparse.csr_array, labelled: Labelled, alpha: float
    ) -> "Problem":
        """From rows, graph and labels."""
        n = graph.shape[0]
        W = graph / max(float(graph.data.max(initial=0.0)), 1.0)
        n_columns = int(labelled.column.max(initial=-1)) + 1
        pull = sparse.coo_array(
            (labelled.weight, (labelled.row, labelled.column)), shape=(n, n_columns)
        ).tocsr()
        stated = np.bincount(labelled.row, labelled.weight, minlength=n).astype(np.float64)
        degree = np.asarray(W.sum(axis=1)).ravel()
        # Without labels F may shrink, and Z grow, until the graph costs nothing: plain factors.
        alpha = alpha if len(labelled.row) else 0.0
        return cls(data, W, degree, stated, pull, alpha, data.squares, float(stated.sum()))

    def start(self, given: Ints | None, n_clusters: int, rng: np.random.Generator) -> Factors:
        """Random positive factors: F in the unit of labels, and U as large as then fits X best.

        A smaller F would grow to fit X before the labels have spread, and its columns would be
        parts of X that are not classes.
        """
        F = start_of(given, (self.graph.shape[0], n_clusters), rng)
        Z = rng.uniform(0.01, 1.0, size=(n_clusters, n_clusters))
        U = rng.uniform(0.01, 1.0, size=(self.data.X.shape[1], n_clusters))
        FZ = F @ Z
        fit = float((self.data.times(U) * FZ).sum()) / float(((FZ.T @ FZ) * (U.T @ U)).sum())
        return Factors(F, Z, np.maximum(fit * U, FLOOR))

    def step(self, factors: Factors) -> Factors:
        """One step of U, of Z, and of F."""
        F, Z, U = factors
        FZ = F @ Z
        U = multiplied(U, self.data.transposed_times(FZ), U @ (FZ.T @ FZ))
        XU, UU = self.data.times(U), U.T @ U
        Z = multiplied(Z, F.T @ XU, (F.T @ F) @ Z @ UU)
        above = XU @ Z.T + self.alpha * (self.graph @ F)
        above[:, : self.pull.shape[1]] += self.alpha * self.pull.toarray()
        below = F @ (Z @ UU @ Z.T) + self.alpha * (self.degree + self.stated)[:, None] * F
        return Factors(multiplied(F, above, below), Z, U)

    def objective(self, factors: Factors) -> float:
        """J."""
        F, Z, U = factors
        FZ = F @ Z
        fit = self.squares - 2.0 * float((self.data.times(U) * FZ).sum())
        fit += float(((FZ.T @ FZ) * (U.T @ U)).sum())
        smooth = float((self.degree @ F**2).sum()) - float((F * (self.graph @ F)).sum())
        pulled = self.pull.multiply(F[:, : self.pull.shape[1]]).sum()
        label = float(self.stated @ (F**2).sum(axis=1)) - 2.0 * float(pulled) + self.given
        return max(fit, 0.0) + self.alpha * (smooth + label)
