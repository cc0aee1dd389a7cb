"""Clusters of given sizes: a transportation problem in every iteration, solved by HiGHS.

Rows without pairs are placed all at once, as cheaply as the sizes allow; rows with pairs one by
one, each move within the sizes. Both lower J, so that it never rises, and every size holds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from sidelight._kernels.icm import icm_sized
from sidelight._work import count_work
from sidelight.exceptions import DataError, SideInformationError
from sidelight.models._fitting import never
from sidelight.models._lloyd import Held, Problem, Run, Theta, count, iterate, masses

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SAMPLE = 1000  # rows whose problem is solved first, for prices to start with
# The share of the rows whose clusters are not sure by given prices, and by those of the sample.
_CONTESTED, _CONTESTED_AT_FIRST, _CONTESTED_AT_MOST = 0.06, 0.15, 0.3
_ROUNDS = 50  # then all rows are contested
_PATIENCE = 60.0  # seconds for groups that are apart to fit into the sizes


class Sizes(NamedTuple):
    """The least and the most rows of each cluster, (K)."""

    lowest: Ints
    highest: Ints

    @classmethod
    def of(cls, min_size: Any, max_size: Any, n_clusters: int, n_samples: int) -> "Sizes | None":
        """From the parameters, or None where there are none; refuses what no partition has."""
        if min_size is None and max_size is None:
            return None
        lowest = _per_cluster("min_size", min_size, 1, n_clusters)
        highest = _per_cluster("max_size", max_size, n_samples, n_clusters)
        wrong = np.flatnonzero(lowest > highest)
        if len(wrong):
            k = wrong[0]
            raise DataError(
                f"min_size is {lowest[k]} and max_size {highest[k]} for cluster {k}; the first may "
                "not be above the second."
            )
        if lowest.sum() > n_samples or highest.sum() < n_samples:
            raise DataError(
                f"{n_clusters} clusters of at least {lowest.sum():,} rows together (min_size) and "
                f"at most {highest.sum():,} (max_size) cannot hold X, which has {n_samples:,} rows."
            )
        return cls(lowest, highest)

    def less(self, counts: Ints) -> "Sizes":
        """Sizes left for other rows, given the present sizes."""
        return Sizes(self.lowest - counts, self.highest - counts)

    def fit(self, n_rows: int) -> bool:
        """Whether this number of rows can have these sizes."""
        least, most = np.maximum(self.lowest, 0).sum(), self.highest.sum()
        return bool((self.highest >= 0).all() and least <= n_rows <= most)


def _per_cluster(name: str, given: Any, default: int, n_clusters: int) -> Ints:
    sizes = np.asarray(default if given is None else given)
    if sizes.dtype.kind not in "iu" or sizes.shape not in ((), (n_clusters,)) or (sizes < 0).any():
        raise DataError(
            f"{name} is {given!r}; give a whole number of rows, 0 or more, or one for each of the "
            f"{n_clusters} clusters."
        )
    return np.broadcast_to(sizes, n_clusters).astype(np.int64)


class Units(NamedTuple):
    """Rows that are placed one by one, or in groups: of each row its unit, and pairs of units.

    The pairs are those of ``icm_sweep``. With ``hard``, units are apart for good, by weights of
    -inf, and the penalty has to place them first.
    """

    unit: Ints
    partner: Ints
    weight: Floats
    span: Ints
    hard: bool = False

    @classmethod
    def none(cls) -> "Units":
        """No row has a pair."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, np.empty(0), np.zeros(1, dtype=np.int64))

    @property
    def sizes(self) -> Ints:
        """The number of rows of each unit."""
        return np.bincount(self.unit, minlength=len(self.span) - 1)


def in_sizes(problem: Problem, theta: Theta, *how: Any) -> Run:
    """The loop of k-means, with sizes where the penalty has them."""
    loop = iterate if problem.penalty.sizes is None else keep_sizes
    return loop(problem, theta, *how)


def keep_sizes(
    problem: Problem,
    theta: Theta,
    max_iter: int,
    smallest: float = 0.0,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Assign within the sizes, then update, until no label changes."""
    placing = _Placing(problem)
    labels = placing.first(theta)
    history: list[float] = []
    stop = converged = False
    while True:
        found = placing.objective(theta, labels)
        history.append(min([found, *history[-1:]]))
        stop = each_iteration()
        if converged or stop or len(history) == max_iter:
            # Rounding must not make an earlier J lower than the last one.
            history = [max(value, found) for value in history[:-1]] + [found]
            return Run(labels.astype(np.int32), theta, found, history, len(history), converged)
        tally = count(problem, labels, len(theta.centers))
        theta = problem.penalty.update(tally, theta)
        after = placing.again(theta, labels)
        converged = bool((labels == after).all())
        labels = after


class _Placing:
    """Rows to clusters within sizes; remembers prices of clusters, which change little."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.penalty = problem, problem.penalty
        self.sizes: Sizes = problem.penalty.sizes
        n = problem.rows.n_samples
        self.data = Held.of(problem.rows, np.arange(n), problem.weight)
        self.held = self.penalty.held
        self.free = np.setdiff1d(np.arange(n), self.held, assume_unique=True)
        self.units: Units = self.penalty.units()
        said = self.penalty.entries
        weight = said.weight * self.data.weight[said.row_of_entry]
        self.pick = sparse.csr_array(
            (weight, (said.row_of_entry, said.entry)), shape=(n, max(self.penalty.n_prices, 1))
        )
        self.prices: Floats | None = None

    def costs(self, theta: Theta) -> Floats:
        """What each row costs in each cluster by itself, (n, K); inf where it may not be."""
        costs = self.data.distances(theta.centers)
        if len(self.pick.data):
            costs += self.pick @ self.penalty.prices(theta)
        return costs

    def objective(self, theta: Theta, labels: Ints) -> float:
        """J of labels and theta, by its definition."""
        own = self.data.distances(theta.centers)[np.arange(len(labels)), labels]
        mass = masses(self.problem, labels, len(theta.centers))
        return float(own.sum()) + float(self.penalty.exact_cost(mass, theta, labels))

    def first(self, theta: Theta) -> Ints:
        """A partition within the sizes, from nothing."""
        costs = self.costs(theta)
        if self.units.hard:
            labels = np.empty(len(costs), dtype=np.int64)
            placed = self.penalty.placed(self._of_units(costs), len(self.free))
            labels[self.held] = placed[self.units.unit]
            self._place_free(costs, labels)
        else:
            labels, self.prices = transported(costs, self.sizes, None)
        self._sweep(costs, labels)
        return labels

    def again(self, theta: Theta, labels: Ints) -> Ints:
        """The same after a step of the parameters; no cost rises."""
        costs, labels = self.costs(theta), labels.copy()
        self._sweep(costs, labels)
        self._place_free(costs, labels)
        return labels

    def _of_units(self, costs: Floats) -> Floats:
        out = np.zeros((len(self.units.span) - 1, costs.shape[1]))
        np.add.at(out, self.units.unit, costs[self.held])
        return out

    def _place_free(self, costs: Floats, labels: Ints) -> None:
        """Rows without pairs, all at once. labels: OUT."""
        if len(self.free):
            left = self.sizes.less(np.bincount(labels[self.held], minlength=costs.shape[1]))
            labels[self.free], self.prices = transported(costs[self.free], left, self.prices)

    def _sweep(self, costs: Floats, labels: Ints) -> None:
        """Units with pairs, one by one until none gains by moving. labels: OUT."""
        if not len(self.held):
            return
        unary, sizes = self._of_units(costs), self.units.sizes
        _, first = np.unique(self.units.unit, return_index=True)
        of_unit = labels[self.held[first]]
        counts = np.bincount(labels, minlength=costs.shape[1])
        # Decreases within the rounding of J would make units move for ever.
        finite = unary[np.isfinite(unary)]
        tolerance = 1e-13 * float(finite.max(initial=0.0))
        _, partner, weight, span, _ = self.units
        how = (partner, weight, span, self.penalty.order, *self.sizes, tolerance)
        n_moved = -1
        while n_moved:
            count_work("relocation tests", unary.size)
            _, n_moved = icm_sized(unary, sizes, *how, counts, of_unit)
        labels[self.held] = of_unit[self.units.unit]


# The transportation problem


def transported(costs: Floats, sizes: Sizes, prices: Floats | None) -> tuple[Ints, Floats]:
    """The cheapest clusters of rows within the sizes, and the prices of the clusters that prove it.

    A row is where its cost less the price of the cluster is lowest; clusters with a price above 0
    have their least size, below 0 their largest. With nearly right prices most rows are certain,
    and HiGHS gets only the contested ones: if no price moves by more than half of ``reach``, no row
    leaves its cluster for one that costs it more than ``reach``. Sizes may be missed at a cost that
    limits the change of prices; while they are missed, the prices only get better.
    """
    n, n_clusters = costs.shape
    nearest = costs.argmin(axis=1)
    if sizes.less(np.bincount(nearest, minlength=n_clusters)).fit(0):
        return nearest, np.zeros(n_clusters)
    share = _CONTESTED
    if prices is None:
        prices, share = _first_prices(costs, sizes), _CONTESTED_AT_FIRST
    rows = np.arange(n)
    scale = float(np.abs(costs[np.isfinite(costs)]).max(initial=0.0)) or 1.0
    for _ in range(_ROUNDS):
        reduced = costs - prices
        best = reduced.argmin(axis=1)
        lowest = reduced[rows, best]
        room = np.partition(reduced, 1, axis=1)[:, 1] - lowest
        open_rooms = np.sort(room[np.isfinite(room)])  # the others have one cluster left
        n_open = min(len(open_rooms), max(int(share * n), 10 * n_clusters))
        if n_open == len(open_rooms):
            break
        reach = max(float(open_rooms[n_open]), 1e-12 * scale)
        some = np.flatnonzero(room <= reach)
        sure = np.ones(n, dtype=bool)
        sure[some] = False
        left = sizes.less(np.bincount(best[sure], minlength=n_clusters))
        arcs = reduced[some] - lowest[some, None] <= reach
        found = _solved(costs[some], arcs, left, (prices, 0.5 * reach))
        if found is None:
            break
        labels = best
        labels[some], prices, kept = found
        reduced = costs - prices
        if kept and (reduced[rows, labels] <= reduced.min(axis=1) + 1e-9 * scale).all():
            return labels, prices
        share = min(1.3 * share, _CONTESTED_AT_MOST)
    found = _solved(costs, np.isfinite(costs), sizes)
    if found is None:
        _refuse(sizes, n)
    return found[:2]


def _first_prices(costs: Floats, sizes: Sizes) -> Floats:
    """Prices of a sample of the rows, in which the sizes are as much smaller."""
    n, n_clusters = costs.shape
    if n <= 2 * _SAMPLE:
        return np.zeros(n_clusters)
    rows = np.random.default_rng(0).choice(n, _SAMPLE, replace=False)
    part = Sizes(sizes.lowest * (_SAMPLE / n), sizes.highest * (_SAMPLE / n))
    found = _solved(costs[rows], np.isfinite(costs[rows]), part)
    return np.zeros(n_clusters) if found is None else found[1]


def _solved(
    costs: Floats,
    arcs: NDArray[np.bool_],
    sizes: Sizes,
    around: tuple[Floats, float] | None = None,
) -> tuple[Ints, Floats, bool] | None:
    """The transportation problem of some rows along some arcs; None if it has no solution.

    around : prices, and how far new ones may exceed them: sizes may then be missed, at these
    prices. Returns (clusters, prices, whether all sizes are kept).
    """
    n, n_clusters = costs.shape
    row, cluster = np.nonzero(arcs & np.isfinite(costs))
    m = len(row)
    ones, number = np.ones(m), np.arange(m)
    each_row = sparse.csr_array((ones, (row, number)), shape=(n, m))
    each_cluster = sparse.csr_array((ones, (cluster, number)), shape=(n_clusters, m))
    limits = sparse.vstack([each_cluster, -each_cluster])
    objective = costs[row, cluster]
    if around is not None:
        prices, beyond = around
        limits = sparse.hstack([limits, -sparse.eye_array(2 * n_clusters)])
        each_row = sparse.hstack([each_row, sparse.csr_array((n, 2 * n_clusters))])
        missing = np.concatenate([np.maximum(-prices, 0.0), np.maximum(prices, 0.0)]) + beyond
        objective = np.concatenate([objective, missing])
    count_work("transported rows", n)
    found = linprog(
        objective,
        A_ub=limits,
        b_ub=np.concatenate([sizes.highest, -sizes.lowest]),
        A_eq=each_row,
        b_eq=np.ones(n),
        bounds=(0, None),
        method="highs-ds",  # the simplex method ends in a corner, where all amounts are whole
    )
    if found.status != 0:
        return None
    labels = np.zeros(n, dtype=np.int64)
    chosen = found.x[:m] > 0.5
    labels[row[chosen]] = cluster[chosen]
    above, below = np.split(found.ineqlin.marginals, 2)
    return labels, above - below, not (found.x[m:] > 1e-6).any()


def placed_apart(costs: Floats, units: Units, sizes: Sizes, n_free: int) -> Ints:
    """The cheapest clusters of groups that are apart, within the sizes: a mixed integer program.

    Rows outside of the groups fill what is left, wherever that is.
    """
    n_units, n_clusters = costs.shape
    one = np.repeat(np.arange(n_units), np.diff(units.span))
    edge = one < units.partner
    one, two = one[edge], units.partner[edge]
    n_edges, n_variables = len(one), n_units * n_clusters + n_clusters
    cell = np.arange(n_units * n_clusters)
    once = sparse.csr_array((np.ones(len(cell)), (cell // n_clusters, cell)),
                            shape=(n_units, n_variables))  # fmt: skip
    apart = sparse.csr_array(
        (
            np.ones(2 * n_edges * n_clusters),
            (
                np.tile(np.arange(n_edges * n_clusters), 2),
                np.concatenate([(n_clusters * end[:, None] + np.arange(n_clusters)).ravel()
                                for end in (one, two)]),
            ),
        ),
        shape=(n_edges * n_clusters, n_variables),
    )  # fmt: skip
    filled = np.arange(n_clusters)
    totals = sparse.csr_array(
        (
            np.concatenate([np.repeat(units.sizes, n_clusters), np.ones(n_clusters)]),
            (
                np.concatenate([cell % n_clusters, filled]),
                np.concatenate([cell, len(cell) + filled]),
            ),
        ),
        shape=(n_clusters, n_variables),
    )
    fill = sparse.csr_array(
        (np.ones(n_clusters), (np.zeros(n_clusters, dtype=int), len(cell) + filled)),
        shape=(1, n_variables),
    )
    found = milp(
        np.append(costs.ravel(), np.zeros(n_clusters)),
        integrality=np.append(np.ones(len(cell)), np.zeros(n_clusters)),
        bounds=Bounds(0, np.append(np.ones(len(cell)), np.full(n_clusters, float(n_free)))),
        constraints=[
            LinearConstraint(once, 1, 1),
            LinearConstraint(apart, 0, 1),
            LinearConstraint(totals, *sizes),
            LinearConstraint(fill, n_free, n_free),
        ],
        options={"time_limit": _PATIENCE, "mip_rel_gap": 0.05},
    )
    if found.x is None:
        _refuse(sizes, int(units.sizes.sum()) + n_free, proven=found.status == 2)
    return found.x[: len(cell)].reshape(n_units, n_clusters).argmax(axis=1)


def _refuse(sizes: Sizes, n_rows: int, *, proven: bool = True) -> NoReturn:
    said = (
        "This is proven" if proven else f"This is not proven: none was found in {_PATIENCE:.0f} s"
    )
    raise SideInformationError(
        f"no partition of {n_rows:,} rows keeps every statement and has at least "
        f"{sizes.lowest.tolist()} and at most {sizes.highest.tolist()} rows in its clusters. "
        f"{said}.",
        advice="Allow more room by min_size and max_size, or give the statements to PCKMeans, "
        "which may break some.",
    )
