"""The search of Markov aggregation: what moves together, what it costs, and one run.

A unit is what moves: a group of rows that must be together where constraints are hard, a row
where they are soft.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sidelight._kernels import aggregate as kernels
from sidelight._work import count_work
from sidelight.blocks import in_order
from sidelight.models._markov.chain import Chain, mass_by, one_hot
from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TILE = 512


# What moves, and what people say about it


class Units(NamedTuple):
    """What moves together, and the statements between units.

    Rows members[span[u]:span[u + 1]] are unit u. Partners are units that cannot (weight above
    zero) or should (below) be with u; rivals are labels of one vocabulary, by (vocabulary, weight):
    units with labels of one vocabulary have different ones, so no two of them belong together.
    ``priced`` are statements about classes whose cluster changes during the search: columns row,
    column and weight, above zero for "is" and below for "is not".
    """

    of_row: Ints
    members: Ints
    span: Ints
    partners: tuple[Ints, Ints, Floats]
    rivals: tuple[Ints, Ints, Floats]
    n_rival_vocabularies: int
    priced: tuple[Ints, Ints, Floats]
    column_vocabulary: Ints
    penalty: float

    @property
    def n_units(self) -> int:
        """The number of units."""
        return len(self.span) - 1

    @property
    def is_hard(self) -> bool:
        """Whether no cost outweighs a statement."""
        return self.penalty == 0.0

    @property
    def is_stated(self) -> NDArray[np.bool_]:
        """Which units a statement binds to others or to a class."""
        bound = (np.diff(self.partners[0]) > 0) | (np.diff(self.rivals[0]) > 0)
        bound[self.priced[0]] = True
        return bound


def hard_units(side: SideInformation) -> Units:
    """Groups that must be together; everything else that is said is between groups.

    Labels that others outvote are left out first: they would tie two classes into one group.
    """
    said = side.statements
    keep = said.binding
    outvoted = side.conflicts(limit=0).broken
    keep[outvoted[said.kind[outvoted] == LABEL]] = False
    side = replace(side, statements=said.take(keep))
    said, closure = side.statements, side.closure()
    groups, n_units = closure.groups.astype(np.int64), closure.n_groups
    n_classes = max(len(side.classes), 1)
    holder = np.full((len(side.vocabularies) + 1) * n_classes, -1, dtype=np.int64)
    holder[(closure.labels[:, 1] + 1) * n_classes + closure.labels[:, 2]] = closure.labels[:, 0]
    cut, barred, label = (said.kind == kind for kind in (CANNOT, NOT_LABEL, LABEL))
    # A class that nobody is said to have is no cluster that a row could be kept out of.
    barring = holder[(said.vocabulary[barred] + 1) * n_classes + said.class_code[barred]]
    partners = _symmetric(
        np.concatenate([groups[said.i[cut]], groups[said.i[barred]]]),
        np.concatenate([groups[said.j[cut]], barring]),
        np.concatenate([said.weight[cut], said.weight[barred]]),
        n_units,
    )
    vocabulary, rival = np.unique(said.vocabulary[label], return_inverse=True)
    table = sparse.coo_array(
        (said.weight[label], (groups[said.i[label]], rival)), shape=(n_units, len(vocabulary) or 1)
    ).tocsr()
    # The only class of a vocabulary has no rivals.
    table = sparse.csr_array(table * (np.diff(table.tocsc().indptr) > 1))
    table.eliminate_zeros()
    order = np.argsort(groups, kind="stable")
    return Units(
        groups,
        order,
        np.searchsorted(groups[order], np.arange(n_units + 1)),
        partners,
        _parts(table),
        table.shape[1],
        _NOTHING,
        np.empty(0, dtype=np.int64),
        0.0,
    )


def soft_units(side: SideInformation, penalty: float) -> Units:
    """Every row by itself; each statement that is broken costs its weight times ``penalty``."""
    said = side.statements.take(side.statements.binding)
    n = side.n_samples
    pairs = np.isin(said.kind, (MUST, CANNOT))
    sign = np.where(said.kind[pairs] == MUST, -1.0, 1.0)
    partners = _symmetric(said.i[pairs], said.j[pairs], sign * said.weight[pairs], n)
    about = np.isin(said.kind, (LABEL, NOT_LABEL))
    n_classes = max(len(side.classes), 1)
    keys, column = np.unique(
        said.vocabulary[about] * n_classes + said.class_code[about], return_inverse=True
    )
    weight = np.where(said.kind[about] == LABEL, said.weight[about], -said.weight[about])
    # Sorted by everything, so that the order of the statements does not change a bit.
    order = np.lexsort((weight, column, said.i[about]))
    return no_statements(n)._replace(
        partners=partners,
        priced=(said.i[about][order], column[order], weight[order]),
        column_vocabulary=np.floor_divide(keys, n_classes),
        penalty=penalty,
    )


def no_statements(n_rows: int) -> Units:
    """Every row by itself, and nothing said."""
    everyone = np.arange(n_rows)
    nobody = (np.zeros(n_rows + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    none = np.empty(0, dtype=np.int64)
    return Units(everyone, everyone, np.arange(n_rows + 1), nobody, nobody, 1, _NOTHING, none, 0.0)


_NOTHING = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


def _symmetric(i: Ints, j: Ints, weight: Floats, n: int) -> tuple[Ints, Ints, Floats]:
    """Pairs of different units, in both directions, weights of equal pairs summed."""
    real = (i != j) & (j >= 0)
    i, j, weight = i[real], j[real], weight[real]
    order = np.lexsort((weight, np.maximum(i, j), np.minimum(i, j)))
    i, j, weight = i[order], j[order], weight[order]
    pairs = sparse.coo_array((weight, (np.minimum(i, j), np.maximum(i, j))), shape=(n, n)).tocsr()
    both = sparse.csr_array(pairs + pairs.T)
    both.eliminate_zeros()
    return _parts(both)


def _parts(table: Any) -> tuple[Ints, Ints, Floats]:
    table.sort_indices()
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data


# The cost


class State(NamedTuple):
    """A partition of the units and what it adds up to; kernels change it in place.

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
        """Add everything up from the labels of the units."""
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
    """For the units that ``priced`` speaks of, what each cluster costs; and their places."""
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


def best_of(runs: Iterable["Run"], units: Units) -> "Run":
    """The run that breaks the least, where statements are hard, then costs the least; the first."""
    return min(runs, key=lambda found: (found.broken if units.is_hard else 0.0, found.objective))


class Run(NamedTuple):
    """What one start led to: labels of the rows, and the way there at the last beta.

    ``cut_short``: the limit on sweeps ended it, at the last beta, and not that nothing moved.
    """

    labels: Ints
    objective: float
    broken: float
    history: list[float]
    n_iter: int
    cut_short: bool


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
    each_sweep: Callable[[], bool] = lambda: False,
) -> Run:
    """Sweep over the units at each beta until nothing moves, from the labels of the units."""
    inner, mass = unit_masses(chain, units)
    n_iter, n_moves, stop = 0, -1, False
    labels = labels.astype(np.int64)
    trace: list[tuple[float, float]] = []
    for beta in betas:
        state = State.of(chain, units, labels, n_clusters)  # anew: rounding does not add up
        trace, n_moves = [], -1
        while n_moves and len(trace) < max_iter and not stop:
            match(units, state)
            n_moves = sweep(chain, units, state, inner, mass, beta, keep_all)
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
    # Rounding may lift a cost by its last digit where the mathematics says that it stays.
    history = np.maximum(np.minimum.accumulate([*costs[:-1], np.inf])[:-1], objective)
    cut_short = n_moves > 0 and len(trace) == max_iter
    return Run(labels[units.of_row], objective, broken, [*history, objective], n_iter, cut_short)


def unit_masses(chain: Chain, units: Units) -> tuple[Floats, Floats]:
    """J(S, S) and pi(S) of each unit."""
    inner = np.zeros(units.n_units)
    if chain.is_dense:
        kernels.inner_masses_dense(chain.J, units.members, units.span, inner)
    else:
        kernels.inner_masses(*chain.J, units.of_row, inner)
    return inner, mass_by(units.of_row, chain.pi, units.n_units)


def sweep(
    chain: Chain,
    units: Units,
    state: State,
    inner: Floats,
    mass: Floats,
    beta: float,
    keep_all: bool,
) -> int:
    """Move every unit, in order, to its best cluster; the number of units that moved."""
    if len(state.p) == 1:  # a matrix of one column has no order, for which all would be compiled
        return 0
    count_work("relocation tests", units.n_units * (len(state.p) - 1))
    place, price = prices(units, state)
    said = (*units.partners, *units.rivals, place, price)
    how = (float(beta), chain.is_reversible, units.is_hard, units.penalty, keep_all)
    joint = state[:-1]
    if not chain.is_dense:
        return int(
            kernels.sweep_sparse(
                *chain.J, *chain.Jt, units.members, units.span, inner, mass, *said, *how, *joint
            )
        )
    logs, inverse = np.empty_like(state.R), np.empty_like(state.R)
    if beta != 0.5:
        scratch = np.empty(chain.n_states)
        for k in range(len(state.p)):
            kernels.refresh_logs(state.R[:, k], logs[:, k], inverse[:, k], scratch)
    return int(
        kernels.sweep_dense(
            chain.J, chain.Jt, units.members, units.span, inner, mass, *said, *how, *joint,
            logs, inverse,
        )
    )  # fmt: skip
