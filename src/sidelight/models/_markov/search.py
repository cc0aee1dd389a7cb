"""The search of Markov aggregation: the cost of a partition of the units, and one run."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sidelight._kernels import aggregate as kernels
from sidelight._kernels import stars as star_kernels
from sidelight._work import count_work
from sidelight.blocks import in_order
from sidelight.models._fitting import never
from sidelight.models._markov.chain import Chain, mass_by, one_hot
from sidelight.models._markov.statements import Units

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TILE = 512
# Entries of the chain, times clusters, that a sweep looks at in one call of a kernel.
_PORTION = 2**24


# The cost


class State(NamedTuple):
    """A partition of the units and its sums; kernels change it in place.

    R (n, K), T (n, K), Q (K, K), p (K): see the kernels. ``cluster_of`` is the cluster of each
    class of ``Units.priced``, -1 for none.
    """

    labels: Ints
    counts: Ints
    R: Floats
    T: Floats
    Q: Floats
    hQ: Floats
    p: Floats
    rival_mass: Floats
    cluster_of: Ints

    @classmethod
    def of(cls, chain: Chain, units: Units, labels: Ints, n_clusters: int) -> "State":
        """Compute all sums from the labels of the units."""
        of_row = labels[units.of_row]
        R = joint_with(chain, of_row, n_clusters)
        T = R if chain.is_reversible else joint_with(chain, of_row, n_clusters, transposed=True)
        Q = np.zeros((n_clusters, n_clusters))
        kernels.sum_by_cluster(R, of_row, Q)
        hQ = np.where(Q > 0, Q * np.log2(np.where(Q > 0, Q, 1.0)), 0.0)
        mass = np.zeros((units.n_rival_vocabularies, n_clusters))
        span, vocabulary, weight = units.rivals
        unit = np.repeat(np.arange(units.n_units), np.diff(span))
        np.add.at(mass, (vocabulary, labels[unit]), weight)
        state = cls(
            labels,
            np.bincount(labels, minlength=n_clusters),
            R,
            T,
            Q,
            hQ,
            mass_by(of_row, chain.pi, n_clusters),
            mass,
            np.full(len(units.column_vocabulary), -1, dtype=np.int64),
        )
        match(units, state)
        return state

    def cost(self, chain: Chain, beta: float) -> float:
        """C_beta in bits: (1 - 2 beta) I(X1; Y2) - (1 - beta) I(Y1; Y2)."""
        h_p = kernels.sum_plogp(self.p[:, None])
        between = kernels.sum_plogp(self.Q) - 2.0 * h_p
        if beta == 0.5:
            return float(-0.5 * between)
        rows = kernels.sum_plogp(self.R) - kernels.sum_plogp(chain.pi[:, None]) - h_p
        return float((1.0 - 2.0 * beta) * rows - (1.0 - beta) * between)

    def broken(self, units: Units) -> float:
        """The weight of the broken statements; among rivals, of the pairs of labels."""
        total = 0.0
        if not (len(units.partners[1]) or len(units.rivals[1]) or len(units.priced[0])):
            return total
        span, partner, weight = units.partners
        unit = np.repeat(np.arange(units.n_units), np.diff(span))
        same = self.labels[unit] == self.labels[partner]
        total += float(np.where(same, np.maximum(weight, 0), np.maximum(-weight, 0)).sum()) / 2
        weight = units.rivals[2]
        total += (float((self.rival_mass**2).sum()) - float((weight**2).sum())) / 2
        row, column, weight = units.priced
        inside = self.labels[row] == self.cluster_of[column]
        total += float(np.where(inside, np.maximum(-weight, 0), np.maximum(weight, 0)).sum())
        return total


def joint_with(chain: Chain, labels: Ints, n_clusters: int, *, transposed: bool = False) -> Floats:
    """R = J V, or T = J'V: by columns for a dense chain, by rows for a sparse one."""
    J = chain.matrix(transposed=transposed)
    V = one_hot(labels, n_clusters)
    if not chain.is_dense:
        return np.ascontiguousarray(J @ V)
    R = np.empty((chain.n_states, n_clusters), order="F")

    def multiply(tile: int) -> None:
        here = slice(tile * _TILE, (tile + 1) * _TILE)
        R[here] = J[here] @ V

    for _ in in_order(multiply, -(-chain.n_states // _TILE)):
        pass
    return R


def match(units: Units, state: State) -> None:
    """Give every class the cluster that breaks the least, one to one within a vocabulary."""
    row, column, weight = units.priced
    if not len(row):
        return
    n_clusters = len(state.p)
    score = np.zeros((len(units.column_vocabulary), n_clusters))
    np.add.at(score, (column, state.labels[row]), weight)
    for vocabulary in np.unique(units.column_vocabulary):
        here = np.flatnonzero(units.column_vocabulary == vocabulary)
        worth = np.maximum(score[here], 0.0)
        a, b = linear_sum_assignment(worth, maximize=True)
        found = np.full(len(here), -1)
        found[a] = np.where(score[here[a], b] >= 0, b, -1)
        state.cluster_of[here] = found


def prices(units: Units, state: State) -> tuple[Ints, Floats]:
    """Costs of each cluster for the units of ``priced``, and their places."""
    row, column, weight = units.priced
    place = np.full(units.n_units, -1, dtype=np.int64)
    if not len(row):
        return place, np.zeros((0, len(state.p)))
    stated, number = np.unique(row, return_inverse=True)
    place[stated] = np.arange(len(stated))
    price = np.zeros((len(stated), len(state.p)))
    cluster = state.cluster_of[column]
    real = cluster >= 0
    np.add.at(price, (number[real], cluster[real]), -weight[real])
    return place, price


# One run


class Run(NamedTuple):
    """Result of one start: labels of the rows, and the history at the last beta.

    ``cut_short``: the limit on sweeps ended it, at the last beta, and not that nothing moved.
    """

    labels: Ints
    objective: float
    broken: float
    history: list[float]
    n_iter: int
    cut_short: bool


def order_of(found: Run, units: Units) -> tuple[float, float]:
    """The key by which runs are compared: broken statements if they are hard, then cost."""
    return found.broken if units.is_hard else 0.0, found.objective


def betas_down_to(beta: float, step: float | None) -> list[float]:
    """From 1 down to beta in steps; beta alone where there is no step."""
    if step is None:
        return [beta]
    n_steps = int(np.ceil((1.0 - beta) / step - 1e-9))
    return [1.0 - k * step for k in range(n_steps)] + [beta]


def run(
    chain: Chain,
    units: Units,
    labels: Ints,
    n_clusters: int,
    betas: Sequence[float],
    max_iter: int,
    keep_all: bool,
    each_sweep: Callable[[], bool] = never,
) -> Run:
    """Sweep over the units at each beta until nothing moves, from the labels of the units."""
    moving, stars = moving_units(chain, units), moving_stars(chain, units)
    n_iter, n_moves, stop = 0, -1, False
    labels = labels.astype(np.int64)
    trace: list[tuple[float, float]] = []
    for beta in betas:
        state = State.of(chain, units, labels, n_clusters)  # so that rounding does not accumulate
        trace, n_moves = [], -1
        seen = {state.labels.tobytes()} if stars is not None else set()
        while n_moves and len(trace) < max_iter and not stop:
            match(units, state)
            n_moves = sweep(chain, units, state, moving, beta, keep_all, stars)
            if stars is not None:
                # Stars that share a unit may pull it back and forth: a repeated partition would
                # repeat for ever.
                n_moves *= state.labels.tobytes() not in seen
                seen.add(state.labels.tobytes())
            broken = state.broken(units)
            trace.append((broken, state.cost(chain, beta) + units.penalty * broken))
            n_iter += 1
            stop = each_sweep()
        labels = state.labels
    match(units, state)
    broken = state.broken(units)
    objective = state.cost(chain, betas[-1]) + units.penalty * broken
    # Hard constraints come first: before the last statement is kept the cost may rise.
    costs = [cost for b, cost in trace if not units.is_hard or b <= broken * (1 + 1e-9)]
    # Rounding may raise a cost by its last digit where it should stay the same.
    history = np.maximum(np.minimum.accumulate([*costs[:-1], np.inf])[:-1], objective)
    cut_short = n_moves > 0 and len(trace) == max_iter
    return Run(labels[units.of_row], objective, broken, [*history, objective], n_iter, cut_short)


def moving_units(chain: Chain, units: Units) -> kernels.Units:
    """The units as kernels take them, with J(S, S) and pi(S) of each."""
    inner = np.zeros(units.n_units)
    if chain.is_dense:
        kernels.inner_masses_dense(chain.J, units.members, units.span, inner)
    else:
        kernels.inner_masses(chain.J, units.of_row, inner)
    mass = mass_by(units.of_row, chain.pi, units.n_units)
    return kernels.Units(units.members, units.span, inner, mass)


def moving_stars(chain: Chain, units: Units) -> star_kernels.Stars | None:
    """Every unit with those that it is tied to, as kernels take them; None where none is tied."""
    if units.ties is None or not len(units.ties[1]):
        return None
    n = units.n_units
    span, partner, _ = units.ties
    tied = sparse.csr_array((np.ones(len(partner)), partner, span), shape=(n, n))
    star = sparse.csr_array(tied + sparse.eye_array(n, format="csr"))
    star.sort_indices()
    rows = np.arange(chain.n_states)
    holds = sparse.csr_array((np.ones(len(rows)), (units.of_row, rows)), shape=(n, len(rows)))
    inside = sparse.csr_array(star @ holds)
    inside.sort_indices()
    members, row_span = inside.indices.astype(np.int64), inside.indptr.astype(np.int64)
    inner = np.zeros(n)
    if chain.is_dense:
        kernels.inner_masses_dense(chain.J, members, row_span, inner)
    else:
        inner = np.asarray((inside @ chain.matrix()).multiply(inside).sum(axis=1)).ravel()
    of_rows = kernels.Units(members, row_span, inner, inside @ chain.pi)
    return star_kernels.Stars(star.indices.astype(np.int64), star.indptr.astype(np.int64), of_rows)


def sweep(
    chain: Chain,
    units: Units,
    state: State,
    moving: kernels.Units,
    beta: float,
    keep_all: bool,
    stars: star_kernels.Stars | None = None,
) -> int:
    """Move every unit, or star, in order, to its best cluster; the number that moved."""
    if len(state.p) == 1:  # a matrix of one column has no order, for which all would be compiled
        return 0
    count_work("relocation tests", units.n_units * (len(state.p) - 1))
    rules = kernels.Rules(float(beta), chain.is_reversible, units.is_hard, units.penalty, keep_all)
    said, joint = units.said(*prices(units, state)), kernels.State(*state[:-1])
    rest = (said, rules, joint, work_space(chain, len(state.p)))
    logs = logs_of(state.R, needed=beta != 0.5) if chain.is_dense else None
    kernel: Any
    how: tuple[Any, ...]
    if stars is not None:
        dense = star_kernels.Dense(chain.J, chain.Jt, logs) if chain.is_dense else None
        others = None if chain.is_dense else star_kernels.Sparse(chain.J, chain.Jt)
        kernel, how = star_kernels.sweep, (dense, others, moving, stars, *rest)
    elif chain.is_dense:
        kernel, how = kernels.sweep_dense, (chain.J, chain.Jt, moving, *rest, logs)
    else:
        kernel, how = kernels.sweep_sparse, (chain.J, chain.Jt, moving, *rest)
    n_reached = chain.n_states if chain.is_dense else -(-len(chain.J.data) // chain.n_states)
    # In portions, so that Ctrl-C works.
    portion = max(1, _PORTION // (n_reached * len(state.p)))
    return sum(
        int(kernel(first, min(first + portion, units.n_units), *how))
        for first in range(0, units.n_units, portion)
    )


def work_space(chain: Chain, n_clusters: int) -> kernels.Work:
    """What the kernels need to judge a unit, so that they allocate nothing."""
    change, cost, gain, gain_p, out, into = np.zeros((6, n_clusters))
    small = np.zeros((6, n_clusters + 3, n_clusters))
    touched = np.zeros(0 if chain.is_dense else chain.n_states, dtype=np.int64)
    into = out if chain.is_reversible else into
    column = np.zeros(chain.n_states)
    flat = small.reshape(6, -1)
    return kernels.Work(change, cost, gain, gain_p, out, into, small, flat, column, touched)


def logs_of(R: Floats, *, needed: bool = True) -> kernels.Logs:
    """Logarithms and inverses of the columns of R; only allocated if they are not needed."""
    logs, inverse, scratch = np.empty_like(R), np.empty_like(R), np.empty(len(R))
    if needed:
        kernels.refresh_all_logs(R, logs, inverse, scratch)
    return kernels.Logs(logs, inverse, np.zeros((2, kernels.LANES)))
