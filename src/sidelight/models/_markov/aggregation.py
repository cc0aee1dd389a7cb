"""Constrained Markov clustering.   S. Steger, B. C. Geiger and M. Smieja, "Semi-supervised
clustering via Markov chain aggregation", 2021 (CoMaC).

Minimises  C_beta = (1 - 2 beta) (H(Y2|Y1) - H(Y2|X1)) - beta I(Y1; Y2)
                  = (1 - 2 beta) I(X1; Y2) - (1 - beta) I(Y1; Y2)        in bits

Paper       Here
P, pi       Chain: the joint J = diag(pi) P, an array or CSR
g           labels
sigma_k     sigma_, from n_neighbors (the paper's k)
M_x, N_x    Units: groups that move as one, and what keeps them apart
Delta       annealing_step

Departures from the paper, each with a parameter or for a reason:
- sigma_k: the published program counts a row among its own neighbours (``count_self``).
- The cost is updated from move to move instead of recomputed; the moves are the same.
- A row moves only where the cost falls; ties stay, then go to the lowest cluster.
- The last rows of a cluster stay in it (``allow_empty``).
- Colours of the start follow an unsupervised solution (``init``), because two rows that a
  cannot-link keeps apart can never change places later when there are but two clusters. That
  solution is found from coarse to fine: from random colours the search ends in a patchwork.
  Statements are imposed on it at once, and also with a rising cost: if many rows are kept apart,
  the first free colours are far from any good partition.
- Labels tie and separate groups; they are never written out as m (m - 1) / 2 pairs.
- Statements that may be wrong have a cost instead (``constraints="soft"``).
"""

from collections.abc import Sequence
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
from sidelight.blocks import Blocks
from sidelight.exceptions import DataError
from sidelight.models._condensing import CondensingModel, Points
from sidelight.models._fitting import (
    STARTS,
    best_of_starts,
    given_labels,
    n_starts,
    never,
    warn,
    warn_fewer_clusters,
)
from sidelight.models._markov import chain as chains
from sidelight.models._markov import starts as starts
from sidelight.models._markov.search import Run, State, betas_down_to, order_of, run
from sidelight.models._markov.statements import Units, hard_units, no_statements, soft_units
from sidelight.models._metric import METRIC
from sidelight.models._naming import name_clusters, number_of_clusters
from sidelight.side import LABEL, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Up to this size the kernel on all pairs (32 MB) costs about as much as finding neighbours.
_DENSE_ROWS = 2_000
# Up to this size five solutions without statements are found, fewer above: without statements a
# start takes a quarter of the time.
_FREE_ROWS = 10_000
# Up to this size each of them is changed to keep the statements, above it only the best.
_BOUND_ROWS = 5_000
_COARSE_STARTS = 4  # starts of each of several solutions
_SWEEPS = 3  # of more rows at each price on the way to hard statements
_GIVEN = ("similarity", "transition")


class MarkovAggregation(CondensingModel):
    """Clusters of the states of a Markov chain with similar transitions.

    A random walk steps from row to row, mostly to near ones. Clusters are chosen so that the walk
    between clusters is as predictable as possible, which finds clusters of any shape. Statements
    hold (``constraints="hard"``) or have a cost (``"soft"``). It also aggregates any Markov chain
    that is given as a matrix.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    beta : float, default=0.5
        The objective, between 0 and 1. At 0 the walk between clusters should be a Markov chain; at
        1 it should keep the information that a row has about the next cluster. At 1/2 it should be
        predictable: the information I(Y1; Y2) between successive clusters is maximised.
    n_neighbors : int, default=20
        The range of a step: the width of the kernel is the mean squared distance of a row to this
        number of neighbours. The sparse chain has steps to this number of neighbours, or to 2¹⁸ / n
        if that is more; up to 512 rows these are all other rows, so it equals the dense chain.
    chain : {"auto", "dense", "sparse", "similarity", "transition"}, default="auto"
        How X becomes a chain. "dense": the kernel exp(−d²/sigma) between all rows, an array of
        n x n; "sparse": the same between neighbours; "auto": dense up to 2,000 rows. Or X is the
        chain itself, an array or sparse matrix of n x n: symmetric similarities (their row sums
        become the stationary distribution), or transition probabilities (or counts of transitions)
        from rows to columns.
    annealing_step : float or None, default=0.1
        The search starts at beta = 1 and lowers it in steps of this size, at least 0.001; None
        starts at ``beta``. For beta of 1/2 and more this is done on the coarse chain of ``init``
        "repaired", which has few states; only "coloring" does it with all rows.
    constraints : {"hard", "soft"}, default="hard"
        "hard": no cost outweighs a statement; see Notes for statements that cannot all hold.
        "soft": each broken statement costs its weight times log2(accuracy / (1 − accuracy)) / n.
    propagate : bool, default=True
        Whether hard must-links hold through chains: if a must be with b and b with c, all three
        move as one. Without it (the simpler version in the paper's Figure 6) a row moves only with
        the rows that it is directly tied to, and must-links can break.
    accuracy : float, default=2/3
        The share of right statements that soft constraints assume; above 1/2 and below 1. At 2/3 a
        broken statement costs one bit, divided by n.
    n_init : int or "auto", default="auto"
        The number of starts; the best is kept. "auto": 5 up to 2,000 rows. Above: 5 solutions
        without statements (fewer above 10,000 rows) are changed to keep the statements, above 5,000
        rows only the best of them. If labels name all clusters, there is also a start in which
        labels spread along the chain; above 25,000 rows it is the only one.
    max_iter : int, default=100
        The maximum number of sweeps at one value of beta.
    init : {"auto", "repaired", "coloring"}, array, or fitted model, default="auto"
        Where to start. "coloring": annotated rows get the first cluster that keeps the statements,
        other rows a random one (the paper's start). "repaired": a solution without statements,
        found from coarse to fine (with annealing, on a dense chain, also from random labels), is
        changed to keep the statements, at once and with a rising cost, and the better result is
        taken. "auto": "repaired"; up to 2,000 rows and with statements, one of the starts is a
        "coloring" (above, see ``n_init``). An array of shape (n_samples,) gives cluster numbers (−1
        is unknown), and a fitted model its labels; the search continues from these at ``beta``: a
        warm restart after a few more statements.
    count_self : bool, default=False
        Whether a row counts among its own neighbours for the width of the kernel.
    allow_empty : bool, default=False
        Whether clusters may become empty.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters found.
    aggregated_chain_ : ndarray of shape (n_clusters_, n_clusters_)
        The transition probabilities between clusters.
    cluster_masses_ : ndarray of shape (n_clusters_,)
        The share of time that the walk spends in each cluster.
    cost_ : float
        C_beta of ``labels_`` in bits.
    objective_ : float
        ``cost_``; with soft constraints plus the cost of broken statements.
    history_ : ndarray
        The objective after each sweep of the best start at the last beta; it never rises. Hard
        constraints come first, so it begins when the number of broken statements no longer changes.
    n_iter_ : int
        Sweeps of the best start, at all betas.
    sigma_ : float or None
        The width of the kernel; None for a given matrix.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    StructuralEntropyClustering : Fewest bits for a walk on a neighbour graph.
    ConstraintPropagation : Statements spread along a neighbour graph.

    Notes
    -----
    Hard: rows tied by must-links or equal labels move together. Among the clusters that break the
    least weight of statements (cannot-links, negative labels, and pairs of different labels as if
    labels were expanded into pairs), the one with the lowest cost is taken. So the pair (broken,
    C_beta) falls in lexicographic order. Must-links always hold; of labels that contradict each
    other on rows tied together the heaviest class is kept. What is broken is listed by
    ``result_.broken()``.

    Without ``propagate`` must-links may be broken, and the search, whose steps then need not lower
    the cost, ends when a sweep changes nothing or after ``max_iter`` of them.

    Soft: rows move one by one. Each broken statement has a cost. A label is broken if its row is
    not in the cluster matched to its class; classes are matched to clusters one to one, again
    whenever clusters change.

    A negative label has an effect only if some row has a label of that class.

    A sweep costs O(n K²) at beta = 1/2; otherwise O(n² K) dense, O(edges K) sparse. The chain may
    be reducible: outliers that only reach themselves form clusters or join any. Transient states of
    a given chain have no mass; unless statements hold them, they go to the cluster where the walk
    from them ends.

    References
    ----------
    S. Steger, B. C. Geiger and M. Smieja. Semi-supervised clustering via Markov chain aggregation.
    2021.

    Examples
    --------
    Two rings, one inside the other:

    >>> import numpy as np
    >>> from sidelight import MarkovAggregation, SideInformation
    >>> from sidelight.datasets import make_concentric_circles
    >>> X, y = make_concentric_circles(50, radii=(5, 15), random_state=0)
    >>> labels = MarkovAggregation(2, random_state=0).fit_predict(X)
    >>> (labels == y).all()
    np.True_

    Rows that are kept apart:

    >>> side = SideInformation.from_pairs(cannot=[(0, 1)], n_samples=100)
    >>> labels = MarkovAggregation(2, random_state=0).fit_predict(X, side=side)
    >>> labels[0] != labels[1]
    np.True_

    A chain of four states, given by counts of transitions; the walk stays in one half for long:

    >>> visits = [[5, 4, 1, 0], [4, 5, 0, 1], [0, 1, 5, 4], [0, 0, 4, 5]]
    >>> model = MarkovAggregation(2, chain="transition", random_state=0).fit(visits)
    >>> model.labels_.tolist()
    [0, 0, 1, 1]
    >>> model.aggregated_chain_.round(2)
    array([[0.9 , 0.1 ],
           [0.05, 0.95]])
    """

    accepts = ("must", "cannot", "label", "not_label")
    weight_unit = "a probability"
    takes_similarities: ClassVar[dict[str, Any]] = {"chain": "similarity"}
    takes_sparse = True
    on_dask = True
    repetition = "adds"
    contradictions = "tolerated"
    objective_sense = "min"
    _auto_starts: ClassVar[tuple[int, int]] = (5, 1)
    scales = "A sweep takes n K² at beta = 1/2, else n² K dense or edges times K sparse."
    _published: ClassVar[dict[str, Any]] = {
        "chain": "dense",
        "annealing_step": None,
        "constraints": "hard",
        "n_init": 5,
        "init": "coloring",
        "count_self": True,
        "allow_empty": True,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, 1, closed="both")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "chain": [StrOptions({"auto", "dense", "sparse", *_GIVEN})],
        "annealing_step": [Interval(Real, 1e-3, 1, closed="both"), None],
        "constraints": [StrOptions({"hard", "soft"})],
        "propagate": ["boolean"],
        "accuracy": [Interval(Real, 0.5, 1, closed="neither")],
        "n_init": STARTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "init": [
            StrOptions({"auto", "repaired", "coloring"}),
            "array-like",
            HasMethods(["fit", "predict"]),
        ],
        "count_self": ["boolean"],
        "allow_empty": ["boolean"],
        "metric": METRIC,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        beta: float = 0.5,
        n_neighbors: int = 20,
        chain: str = "auto",
        annealing_step: float | None = 0.1,
        constraints: str = "hard",
        propagate: bool = True,
        accuracy: float = 2 / 3,
        n_init: int | str = "auto",
        max_iter: int = 100,
        init: Any = "auto",
        count_self: bool = False,
        allow_empty: bool = False,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.n_neighbors = n_neighbors
        self.chain = chain
        self.annealing_step = annealing_step
        self.constraints = constraints
        self.propagate = propagate
        self.accuracy = accuracy
        self.n_init = n_init
        self.max_iter = max_iter
        self.init = init
        self.count_self = count_self
        self.allow_empty = allow_empty
        self.metric = metric
        self.random_state = random_state

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The paper's setting; ``annealing_step=0.1`` is its CoMaC-ann, None its CoMaC-seq.

        All pairs of rows, a row among its own neighbours, greedy colouring with random colours,
        five starts. It departs from the published program, whose colours are random nowhere and
        whose annealing forgets the solution of the last step: neither is what the paper says.
        """
        return super().as_published(**changes)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The data, also a Dask array; with ``chain="similarity"`` or ``"transition"`` of shape
            (n_samples, n_samples).
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Must- and cannot-links, labels and negative labels.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        points = self._points(X, side, seed)
        X, side = points.X, points.side
        n_clusters = number_of_clusters(self.n_clusters, X.shape[0], side)
        chain = self._build_chain(points, seed)
        if self.constraints == "soft":
            units = soft_units(side, np.log2(self.accuracy / (1 - self.accuracy)) / points.n_rows)
        else:
            units = hard_units(side, propagate=self.propagate)
        problem = Problem(
            chain, units, n_clusters, self.beta, self.annealing_step, self.max_iter,
            not self.allow_empty, soft_units(side, 1 / points.n_rows),
        )  # fmt: skip
        best = best_of_starts(
            self, run_start, None, problem, self._starts(X, problem, side, seed),
            cost=lambda found: order_of(found, units),
        )  # fmt: skip
        if best.cut_short:
            warn(
                f"the best start still moved rows after max_iter={self.max_iter} sweeps at "
                f"beta={self.beta}; raise max_iter."
            )
        return self._publish_run(best, problem, side, seed)

    def predict(self, X: Any) -> Any:
        """The cluster that the next step from each row of X most likely leads to.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New rows, also as a Dask array; for a given chain, their similarities or transitions to
            the states of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), or a Dask array
            For rows of ``fit`` it may differ from ``labels_``, which also keep the statements.
        """
        return super().predict(X)

    def _predict_rows(self, X: Any) -> Ints:
        labels = self._known_labels()
        if self.sigma_ is None:
            chains.refuse_negative(X, "similarities and transitions")
            votes = np.asarray(X @ chains.one_hot(labels, self.n_clusters_))
            lost = np.flatnonzero(votes.sum(axis=1) <= 0)
            if len(lost):
                raise DataError(
                    f"row {lost[0]} of X has no transition ({len(lost)} such rows); every row "
                    "needs an entry above zero."
                )
            return votes.argmax(axis=1)
        known = (X, self._rows, labels, self.n_clusters_, self.sigma_)
        if self._is_dense:
            return chains.dense_votes(*known).argmax(axis=1)
        n_neighbors = chains.reach(self._rows.shape[0], self.n_neighbors)
        return chains.sparse_votes(*known, n_neighbors, self._seed).argmax(axis=1)

    def _excludes_metric(self) -> str:
        return f"with chain={self.chain!r} X has no columns" if self.chain in _GIVEN else ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.chain in _GIVEN
        return tags

    # The steps of fit

    def _points(self, X: Any, side: SideInformation, seed: int) -> Points:
        if self.chain in _GIVEN and isinstance(X, Blocks):
            raise DataError(
                f"chain={self.chain!r} takes a matrix of all states at once, and X is a Dask "
                "array. Give the rows and another chain, or a sparse matrix in memory."
            )
        return super()._points(X, side, seed)

    def _build_chain(self, points: Points, seed: int) -> chains.Chain:
        X, _, mass = points
        self.sigma_: float | None = None
        if self.chain == "similarity":
            return chains.similarity_chain(X)
        if self.chain == "transition":
            return chains.transition_chain(X)
        self._rows, self._seed = X, seed
        if self.chain == "dense" or (self.chain == "auto" and X.shape[0] <= _DENSE_ROWS):
            chain, self.sigma_ = chains.dense_chain(X, self.n_neighbors, self.count_self, mass)
        else:
            chain, self.sigma_ = chains.sparse_chain(
                X, self.n_neighbors, self.count_self, seed, mass
            )
        self._is_dense = chain.is_dense
        return chain

    def _starts(
        self, X: Any, problem: "Problem", side: SideInformation, seed: int
    ) -> list["Start"]:
        """Where the runs begin, and the random numbers of each."""
        rng = np.random.default_rng(seed)
        n_init = n_starts(self, X.shape[0], up_to=_DENSE_ROWS)
        if not isinstance(self.init, str):
            given = given_labels(self.init, X.shape[0], problem.n_clusters, X=self._from_metric(X))
            return [Start(child, given=given) for child in rng.spawn(n_init)]
        if self.n_init == self.init == "auto" and X.shape[0] > _DENSE_ROWS:
            n_free = n_starts(self, X.shape[0], up_to=_FREE_ROWS)
            is_few = X.shape[0] <= _BOUND_ROWS
            n_bound = n_free if is_few else 1
            n_coarse = starts.COARSE_STARTS if is_few or n_free == 1 else _COARSE_STARTS
            found = [Start(rng, n_free=n_free, n_bound=n_bound, n_coarse=n_coarse)]
            classes = seeds(side, problem.n_clusters)
            if classes is None:
                return found
            grown = Start(rng, given=classes, is_grown=True)
            return [grown] if n_free == 1 else [*found, grown]
        last = n_init - 1 if bool(problem.units.is_stated.any()) else -1
        coloured = [
            self.init == "coloring" or (self.init == "auto" and k == last > 0)
            for k in range(n_init)
        ]
        children = rng.spawn(n_init)
        return [Start(child, is_coloured=c) for child, c in zip(children, coloured, strict=True)]

    def _publish_run(self, best: Run, problem: "Problem", side: SideInformation, seed: int) -> Self:
        chain, units, n_clusters = problem[:3]
        free = ~units.is_stated[units.of_row] & (np.diff(units.span) == 1)[units.of_row]
        found = chains.settle(chain, best.labels, n_clusters, free)
        present = np.flatnonzero(np.bincount(found, minlength=n_clusters))
        if not self.allow_empty:
            n_free = units.n_units if chain.P is None else int((chain.pi > 0).sum())
            what = "groups of rows that can be apart" if chain.P is None else "states that last"
            warn_fewer_clusters(len(present), n_clusters, f"there are {n_free} {what}")
        labels = np.searchsorted(present, found)
        naming = name_clusters(side, labels, len(present))
        order = naming.order
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        labels = number[labels]
        state = State.of(chain, no_statements(len(labels)), labels, len(present))
        self.cost_ = state.cost(chain, self.beta)
        # Recomputed from the labels: the running values of the search differ in the last digits.
        exact = self.cost_ + units.penalty * best.broken
        history = [*np.maximum(best.history[:-1], exact), exact]
        best = best._replace(objective=exact, history=history)
        self.cluster_masses_ = state.p
        self.aggregated_chain_ = _rows_to_one(state.Q)
        return self._publish(labels, naming, best, side, seed)


# The steps of a start


def seeds(side: SideInformation, n_clusters: int) -> Ints | None:
    """The class of each labelled row, else -1; None unless labels name all clusters, once."""
    vocabulary = side.class_columns.vocabulary
    if len(vocabulary) != n_clusters or len(np.unique(vocabulary)) != 1:
        return None
    said = side.canonical.take(side.canonical.kind == LABEL)
    given = np.full(side.n_samples, -1, dtype=np.int64)
    given[said.i] = side.class_columns.find(said.vocabulary, said.class_code)
    return given if len(np.unique(given[given >= 0])) == n_clusters else None


class Problem(NamedTuple):
    """The common arguments of all starts."""

    chain: chains.Chain
    units: Units
    n_clusters: int
    beta: float
    annealing_step: float | None
    max_iter: int
    keep_all: bool  # no cluster is left by its last rows
    priced: Units  # rows by themselves, a broken statement at a bit for one of n rows

    @property
    def betas(self) -> list[float]:
        """The values of beta, down to the last one."""
        return betas_down_to(self.beta, self.annealing_step)

    def judge(self, rows: Ints) -> float:
        """The cost of a partition of the rows, statements that it breaks included."""
        state = State.of(self.chain, self.priced, rows, self.n_clusters)
        return state.cost(self.chain, self.beta) + self.priced.penalty * state.broken(self.priced)


class Start(NamedTuple):
    """Random numbers, and where they begin: ``given`` clusters, colours, or a free solution."""

    rng: np.random.Generator
    is_coloured: bool = False
    given: Ints | None = None
    is_grown: bool = False  # the given clusters are classes, as people have labelled rows
    n_free: int = 1  # free solutions, of which the n_bound best are made to keep the statements
    n_bound: int = 1
    n_coarse: int = starts.COARSE_STARTS  # of each free solution


def run_start(problem: None, common: Problem, start: Start, each_sweep: Any = never) -> Run:
    """One start; what it needs is common to all of them."""
    chain, units, n_clusters = common[:3]
    if start.given is not None:
        rows = starts.given_start(chain, start.given, n_clusters, start.rng)
        return _run_repaired(common, rows, each_sweep, at_once=start.is_grown)
    if start.is_coloured:
        labels = starts.coloured_start(units, n_clusters, start.rng)
        return _finish(common, labels, common.betas, each_sweep)
    streams = [start.rng] if start.n_free == 1 else start.rng.spawn(start.n_free)
    free = [_run_free(common, rng, each_sweep, start.n_coarse) for rng in streams]
    n_iter = sum(one.n_iter for one in free)
    if len(free) > 1:
        free = sorted(free, key=lambda one: common.judge(one.labels))[: start.n_bound]
    if units.n_units == chain.n_states and not units.is_stated.any():
        return free[0]._replace(n_iter=n_iter)
    bound = [_run_repaired(common, one.labels, each_sweep) for one in free]
    best = min(bound, key=lambda one: order_of(one, units))
    return best._replace(n_iter=n_iter + sum(one.n_iter for one in bound))


def _run_free(common: Problem, rng: np.random.Generator, each_sweep: Any, n_coarse: int) -> Run:
    """Without statements, from coarse to fine; a dense chain also from random labels.

    From beta = 1/2 on, annealing is for the coarse chain: repeated on the rows it costs ten
    times as much and ends at the same cost. A kernel so wide that every state reaches every
    other one misleads the coarse chain, and then random labels often end lower; not on a sparse
    chain, whose many states they leave in a patchwork. Below 1/2 labels that mean nothing cost
    the least, and only the way down from 1 avoids them.
    """
    chain, _, n_clusters, beta = common[:4]
    betas = common.betas
    alone = no_statements(chain.n_states)
    coarse = starts.coarse_start(chain, n_clusters, betas, common.max_iter, rng, n_coarse)
    labels = [coarse]
    if beta >= 0.5:
        if chain.is_dense and len(betas) > 1:
            drawn = rng.integers(n_clusters, size=chain.n_states)
            labels.append(starts.fill_clusters(alone, drawn, n_clusters))
        betas = betas[-1:]
    limits = (common.max_iter, common.keep_all, each_sweep)
    found = [run(chain, alone, start, n_clusters, betas, *limits) for start in labels]
    return min(found, key=lambda one: order_of(one, alone))


def _run_repaired(common: Problem, rows: Ints, each_sweep: Any, at_once: bool = False) -> Run:
    """From a partition of the rows, without annealing: that would forget it.

    Statements are imposed on it at once and, where they are hard, little by little; neither is
    always better. If the second way ends with more broken statements than necessary, it is
    repaired.
    """
    chain, units, n_clusters, beta = common[:4]

    def repaired(rows: Ints) -> Run:
        labels = starts.repaired_start(chain, units, rows, n_clusters)
        return _finish(common, labels, [beta], each_sweep)

    found = [repaired(rows)]
    if not at_once and units.is_hard and units.is_stated.any():
        sweeps, prices = common.max_iter, starts.PRICES
        if chain.n_states > _FREE_ROWS:
            sweeps, prices = _SWEEPS, prices[::2]
        labels = starts.hardened_start(chain, units, rows, n_clusters, beta, sweeps, prices)
        found.append(_finish(common, labels, [beta], each_sweep))
        if found[-1].broken > 0:
            found.append(repaired(found[-1].labels))
    return min(found, key=lambda one: order_of(one, units))


def _finish(common: Problem, labels: Ints, betas: Sequence[float], each_sweep: Any) -> Run:
    """Run from the labels of the units, with a unit in every cluster if none is to be empty."""
    chain, units, n_clusters = common[:3]
    if common.keep_all:
        labels = starts.fill_clusters(units, labels, n_clusters)
    limits = (common.max_iter, common.keep_all, each_sweep)
    return run(chain, units, labels, n_clusters, betas, *limits)


def _rows_to_one(Q: Floats) -> Floats:
    """Transition probabilities from a joint; a cluster without mass stays where it is."""
    sums = Q.sum(axis=1, keepdims=True)
    probabilities: Floats = np.where(sums > 0, Q / np.where(sums > 0, sums, 1.0), np.eye(len(Q)))
    return probabilities
