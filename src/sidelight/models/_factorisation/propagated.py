"""Symmetric factorisation with propagated pairs.   W. Wu, Y. Jia, S. Kwong and J. Hou, "Pairwise
constraint propagation-induced symmetric nonnegative matrix factorization", IEEE TNNLS 2018.

    J = |T - VV'|² + mu tr(L T) + alpha |T - Z|²,   T = T',   Z = I, and 1 for must-links

Paper   Here
W       the neighbour graph, L = D - W          mu      smoothness
T       `State`: on edges of W, on pairs that people tied and on the diagonal; elsewhere W and Z are
        zero, and its step gives VV' / (1 + alpha) exactly, which is never written out
V       one column for each cluster             alpha   side_weight, times the weight of a statement

Departures from the published program, which uses a normalised L in the objective and another one in
the update, spectral norms for Frobenius norms, and later starts only after an improvement: one L,
one J, all starts, and enough steps: VV' explains little of J, so that 500 are often too few. Pairs
that only follow from must-links are not in Z: a group of them, tied by many pairs, would be worth a
column of V more than a cluster is. The settings of the paper's runs are not all known to us.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels.propagate import row_dots
from sidelight._validation import Interval, Real
from sidelight.models._factorisation.family import (
    FACTOR_PARAMETERS,
    FLOOR,
    LONG,
    FactorModel,
    Few,
    Run,
    best,
    descend,
    finishing_steps,
    fitted_to_few,
    has_many,
    multiplied,
    start_of,
)
from sidelight.models._graph_base import RowGraph, entries
from sidelight.models._relation import Relation, relation_of, symmetric
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PropagatedSymmetricNMF(FactorModel):
    """Symmetric nonnegative factorisation of a graph; must-links spread along it.

    A matrix T of similarities is fitted to the graph, to the must-links and to a product VV' with a
    column of V for each cluster. T and V are updated alternately until they agree.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    side_weight : float, default=1.0
        The cost of similarities that contradict the statements, the paper's alpha.
    smoothness : float, default=0.5
        The weight of similarity between neighbours, the paper's mu.
    affinity : {"local", "gaussian", "cosine", "precomputed"}, default="local"
        Similarity of two rows: exp(−d²/(s_i s_j)) of their distance, where s is a row's distance to
        its 7th neighbour; exp(−d²/bandwidth²); or their cosine. With "precomputed", X is a
        symmetric matrix of similarities, which are divided by the largest one.
    bandwidth : float or "auto", default="auto"
        The width of the Gaussian; "auto" is the median distance of neighbours.
    n_neighbors : int, default=10
        The number of neighbours of each row.
    neighbor_ties : {"lowest", "keep"}, default="lowest"
        Among equally near rows, take those with the lowest row numbers, or all of them.
    scaling : {"min-max", "z-score"}, optional
        Scale the columns first: to [0, 1], or to mean 0 and deviation 1.
    n_init : int, default=5
        The number of starts; the one with the lowest J is kept. Above 6,000 rows these are starts
        for a sample of 1,000 rows (50 for each cluster, if that is more), and its clusters are the
        only start for all rows; not with ``tol=0`` or precomputed similarities.
    max_iter : int, default=2000
        The maximum number of steps of a start; 500 in the paper. Where a sample finds the start of
        more than 20,000 rows, these make at most 20 longer steps, in single precision.
    tol : float, default=1e-6
        A start ends when ten steps lower J by less than this share of what V explains of it.
    init : array of shape (n_samples,) or fitted model, optional
        Clusters to start from (−1: unknown), instead of random factors.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts, and seed of approximate neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row: the largest entry of its row of V, columns scaled to length 1.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    factor_ : ndarray of shape (n_samples, n_columns)
        V.
    graph_ : csr_array of shape (n_samples, n_samples)
        The neighbour graph.
    bandwidth_ : float
        The bandwidth that was used (NaN without a Gaussian).
    n_neighbors_ : int
        The number of neighbours that was used (0 for a precomputed graph).
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
    SelfSupervisedNMF : An ensemble of factorisations of a graph.
    LabelPropagationNMF : Factorises the rows; labels spread.
    ConstraintPropagation : Statements spread along a neighbour graph.

    Notes
    -----
    T is kept for edges, stated pairs and the diagonal; elsewhere it is a share of VV', so a step is
    linear in these. Only must-links that were stated count, and all pairs of rows with the same
    label. A few must-linked rows may still take up a column of V instead of a cluster, because J is
    lower then. More steps or starts do not help in that case.

    A cannot-link would be a zero of Z, like two rows without a statement. It would have no effect
    and is refused. Labels of different classes are zeros, too.

    Our implementation; the settings of the paper are not all known.

    References
    ----------
    W. Wu, Y. Jia, S. Kwong and J. Hou. Pairwise constraint propagation-induced symmetric
    nonnegative matrix factorization. IEEE TNNLS 29, 2018, 6348-6361.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PropagatedSymmetricNMF, SideInformation
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    >>> side = SideInformation.from_pairs(must=[(0, 1), (6, 8)], n_samples=9)
    >>> model = PropagatedSymmetricNMF(3, n_neighbors=2, random_state=0).fit(X, side=side)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]
    """

    accepts = ("must", "label")
    refuses: ClassVar[dict[str, str]] = dict.fromkeys(
        ("cannot", "not_label"), "What is apart is a zero in it, like what is unknown. "
    )
    weight_unit = "squared differences of similarities"
    scales = "A step takes time and memory in proportion to the edges of the neighbour graph."
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FACTOR_PARAMETERS,
        "side_weight": [Interval(Real, 0, None, closed="left")],
        "smoothness": [Interval(Real, 0, None, closed="left")],
    }
    _published: ClassVar[dict[str, Any]] = {"max_iter": 500, "tol": 0.0}

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        side_weight: float = 1.0,
        smoothness: float = 0.5,
        affinity: str = "local",
        bandwidth: float | str = "auto",
        n_neighbors: int = 10,
        neighbor_ties: str = "lowest",
        scaling: str | None = None,
        n_init: int = 5,
        max_iter: int = 2000,
        tol: float = 1e-6,
        init: Any = None,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.side_weight = side_weight
        self.smoothness = smoothness
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
        few = fitted_to_few(self, rows, side, n_clusters, given, rngs[0])
        is_direct = few is not None and has_many(rows.graph.shape[0])
        problem = Problem.of(
            rows.graph, together(side), self.side_weight, self.smoothness, laid_out=not is_direct
        )
        if few is not None and is_direct:
            return self._finished(Direct.of(problem), few, step)
        runs = []
        if few is not None:
            given, rngs = few.of_all(few.model.labels_), rngs[:1]
        for rng in rngs:
            start = problem.start(start_of(given, (rows.graph.shape[0], n_clusters), rng))
            run = descend(
                start, problem.step, problem.objective, self.max_iter, self.tol, step,
                at_zero=problem.at_zero,
            )  # fmt: skip
            runs.append(run)
        return self._labelled(best(runs))

    def _finished(self, direct: "Direct", few: Few, step: Callable[[], bool]) -> Run:
        """A few long steps of many rows, from the factors of the few."""
        found = descend(
            direct.start(few.of_all(few.model.factor_)), direct.step, direct.objective,
            finishing_steps(self.max_iter), self.tol, step,
            at_zero=direct.problem.at_zero, shorter=direct.short_step,
        )  # fmt: skip
        return self._labelled(found._replace(factors=direct.state(found.factors)))

    def _labelled(self, found: Run) -> Run:
        self.factor_ = V = found.factors.V
        length = np.linalg.norm(V, axis=0)
        return found._replace(labels=np.argmax(V / length, axis=1))


def together(side: SideInformation) -> Relation:
    """Stated must-links, and rows with the same label; no more than that."""
    n, labels = side.n_samples, relation_of(side.only(kind="label"))
    said = side.once
    said = said.take(said.is_pair & (said.sign > 0) & (said.i != said.j))
    rows, place = np.unique(np.concatenate([said.i, said.j]), return_inverse=True)
    i, j = place.reshape(2, -1)
    member = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (n, len(rows)))
    pairs = symmetric(len(rows), i, j, said.weight)
    return Relation(
        sparse.csr_array(sparse.hstack([labels.members, member])),
        sparse.csr_array(sparse.block_diag([labels.between, pairs])),
        sparse.csr_array(labels.ties + symmetric(n, said.i, said.j, np.ones(len(i)))),
    )


class Problem(NamedTuple):
    """T on its places: the pairs i < j first, then the diagonal."""

    n_samples: int
    i: Ints
    j: Ints
    W: Floats
    Z: Floats
    alpha: Floats
    mu: float
    side_weight: float
    degree: Floats  # of the diagonal, 0 elsewhere
    first: Floats  # T to start from
    # Of T as a matrix: its entries in order, columns and rows' ends. None where T is not needed.
    layout: tuple[Ints, Ints, Ints] | None

    @classmethod
    def of(
        cls,
        graph: sparse.csr_array,
        relation: Relation,
        side_weight: float,
        smoothness: float,
        *,
        laid_out: bool = True,
    ) -> "Problem":
        """From a graph with similarities of at most 1 after scaling, and the must-links."""
        n = graph.shape[0]
        i, j = relation.places(graph)
        W = entries(graph, i, j) / max(float(graph.data.max(initial=0.0)), 1.0)
        stated = np.maximum(relation.at(i, j), 0.0) if len(i) else np.empty(0)
        ends = np.concatenate([i, j])
        degree = np.bincount(ends, np.tile(W, 2), minlength=n).astype(np.float64)
        own = np.arange(n)
        Z = np.concatenate([(stated > 0).astype(np.float64), np.ones(n)])
        # The weight of a statement multiplies what it costs; pairs without one cost as one.
        alpha = side_weight * np.concatenate([np.where(stated > 0, stated, 1.0), np.ones(n)])
        W = np.concatenate([W, np.zeros(n)])
        first = np.maximum(np.maximum(W, Z), 1e-3)
        degree = np.concatenate([np.zeros(len(i)), degree])
        i, j = np.concatenate([i, own]), np.concatenate([j, own])
        layout = _layout(n, i, j) if laid_out else None
        return cls(n, i, j, W, Z, alpha, smoothness, side_weight, degree, first, layout)

    @property
    def share(self) -> float:
        """T off its places, as a share of VV'."""
        return 1.0 / (1.0 + self.side_weight)

    def start(self, V: Floats) -> "State":
        """V scaled so that VV' is as large as the first T."""
        T = self.matrix(self.first)
        V = V * np.sqrt(float((T @ V * V).sum()) / _squares(V.T @ V))
        return State(self.first, V, V)

    @property
    def at_zero(self) -> float:
        """J without V, at the best T."""
        best_T = 2.0 * self.alpha * self.Z + self.mu * (self.W - self.degree)
        best_T = np.maximum(best_T, 0.0) / (2.0 * (1.0 + self.alpha))
        V = np.zeros((self.n_samples, 1))
        return self.objective(State(best_T, V, V))

    def matrix(self, T: Floats) -> sparse.csr_array:
        """T as a symmetric matrix."""
        assert self.layout is not None
        entry, column, ends = self.layout
        return sparse.csr_array((T[entry], column, ends), shape=(self.n_samples, self.n_samples))

    def inner(self, V: Floats) -> Floats:
        """VV' on the places."""
        out = np.empty(len(self.i))
        row_dots(np.ascontiguousarray(V), self.i, self.j, out)
        return out

    def step(self, state: "State") -> "State":
        """One step of T, then one of V."""
        T, _, V = state
        inner = self.inner(V)
        above = 2.0 * inner + 2.0 * self.alpha * self.Z + self.mu * self.W
        T = multiplied(T, above, 2.0 * (1.0 + self.alpha) * T + self.mu * self.degree)
        cubic = V @ (V.T @ V)
        # T off its places is a share of VV', by the V before this step.
        near: Floats = self.matrix(T - self.share * inner) @ V
        product = np.maximum(near + self.share * cubic, 0.0)
        # The fourth root is what a quartic in V asks for; the square root, often used, may raise J.
        return State(T, V, multiplied(V, product, cubic, 0.25))

    def objective(self, state: "State") -> float:
        """J; the other entries of the products are added as a whole."""
        T, before, V = state
        off = len(self.i) - self.n_samples
        count = np.append(np.full(off, 2.0), np.ones(self.n_samples))
        c, now, then = self.share, self.inner(V), self.inner(before)
        old = c**2 * _squares(before.T @ before)
        far = old - 2 * c * _squares(before.T @ V) + _squares(V.T @ V)
        far -= float(count @ (c * then - now) ** 2)
        far += self.side_weight * (old - float(count @ (c * then) ** 2))
        near = float(count @ (T - now) ** 2) + float(count @ (self.alpha * (T - self.Z) ** 2))
        smooth = float(self.degree @ T - count @ (self.W * T))
        return near + max(far, 0.0) + self.mu * smooth


class Pair(NamedTuple):
    """V, and the V by which T is known."""

    before: Floats
    V: Floats


class Direct(NamedTuple):
    """Steps of many rows, in which T is the best for V, and only V is kept.

    Off the diagonal the published step gives that T: (VV' + alpha Z + mu W / 2) / (1 + alpha). So T
    less its share of VV' is the same at every step, except on the diagonal and for statements whose
    weight is not 1. Steps of V are long, with the exponent 3/4, and in single precision.
    """

    problem: Problem
    fixed: sparse.csr_array  # T less its share of VV'
    own: Floats  # of the diagonal, without VV' and before T is cut at zero
    odd: Ints  # places off the diagonal with another weight
    more: Floats  # by how much their share of VV' differs

    @classmethod
    def of(cls, problem: Problem) -> "Direct":
        """From all places."""
        n, alpha = problem.n_samples, problem.alpha
        off = len(problem.i) - n
        rest = (alpha * problem.Z + 0.5 * problem.mu * (problem.W - problem.degree)) / (1.0 + alpha)
        fixed = symmetric(n, problem.i[:off], problem.j[:off], rest[:off].astype(np.float32))
        more = 1.0 / (1.0 + alpha[:off]) - problem.share
        odd = np.flatnonzero(more)
        return cls(problem, fixed, rest[off:], odd, more[odd])

    def start(self, V: Floats) -> Pair:
        """V scaled so that VV' is as large as its T."""
        size = float((V * self._near(np.zeros_like(V), V)).sum())
        scale = size / (max(1.0 - self.problem.share, 0.1) * max(_squares(V.T @ V), 1e-300))
        V = np.maximum(V * np.sqrt(max(scale, 1e-6)), FLOOR).astype(np.float32)
        return Pair(V, V)

    def step(self, pair: Pair) -> Pair:
        """One long step, which may raise J."""
        return self._step(pair.V, LONG)

    def short_step(self, pair: Pair) -> Pair:
        """One step that does not."""
        return self._step(pair.V, 0.25)

    def _step(self, V: Floats, power: float) -> Pair:
        cubic = V @ (V.T @ V)
        near = self._near(V, V)
        near += V.dtype.type(self.problem.share) * cubic
        return Pair(V, multiplied(V, np.maximum(near, 0.0, out=near), cubic, power))

    def _near(self, before: Floats, V: Floats) -> Floats:
        """T less its share of VV', by the V before, times V."""
        share, inner = self.problem.share, np.einsum("ik,ik->i", before, before)
        own = np.maximum(share * inner + self.own, 0.0) - share * inner
        near: Floats = self.fixed @ V
        near += own.astype(V.dtype)[:, None] * V
        if len(self.odd):
            i, j = self.problem.i[self.odd], self.problem.j[self.odd]
            inner = np.empty(len(i))
            row_dots(before.astype(np.float64), i, j, inner)
            near += symmetric(len(V), i, j, (self.more * inner).astype(V.dtype)) @ V
        return near

    def state(self, pair: Pair) -> "State":
        """With T on its places, in double precision."""
        before, V = (x.astype(np.float64) for x in pair)
        p = self.problem
        T = p.inner(before) + p.alpha * p.Z + 0.5 * p.mu * (p.W - p.degree)
        return State(np.maximum(T / (1.0 + p.alpha), 0.0), before, V)

    def objective(self, pair: Pair) -> float:
        """J."""
        return self.problem.objective(self.state(pair))


def _layout(n_samples: int, i: Ints, j: Ints) -> tuple[Ints, Ints, Ints]:
    """Where each entry of a symmetric CSR matrix is among the places: the same at every step."""
    off = len(i) - n_samples
    row, column = np.concatenate([i, j[:off]]), np.concatenate([j, i[:off]])
    order = np.lexsort((column, row))
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_samples))])
    place = np.append(np.arange(len(i)), np.arange(off))
    return place[order], column[order].astype(np.int32), ends.astype(np.int32)


class State(NamedTuple):
    """T on its places, the V by which it is known elsewhere, and V."""

    T: Floats
    before: Floats
    V: Floats


def _squares(matrix: Floats) -> float:
    return float((matrix**2).sum())
