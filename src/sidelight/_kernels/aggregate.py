"""Markov aggregation, one unit at a time: the change of C_beta when some rows change cluster.

A unit is a set of rows that move together. J is the joint distribution of X1 and X2, and h(x) is x
log2 x. The costs need three sums of h: over Q (K, K), the joint of Y1 and Y2; over R (n, K), the
joint of X1 and Y2; over p (K), the masses of the clusters. T (n, K) is the joint of Y1 and X2,
needed for chains that are not reversible; for the others T is R.

Dense chains keep R by columns (Fortran order), so that the loops over rows run along memory, and
sparse ones by rows; functions of both are compiled for each.
"""

import heapq
from collections import namedtuple

import numpy as np

from sidelight._kernels._jit import bare, jit, part

# Units: unit u has the rows members[span[u]:span[u + 1]]. inner: the mass from a unit to itself;
# mass: of its rows.
Units = namedtuple("Units", ["members", "span", "inner", "mass"])

# The statements. Partners (CSR over units): a weight above zero is a cannot-link, below zero a
# must-link. Rivals (CSR over units): the vocabularies in which a unit has a label; two units with a
# label of one vocabulary do not belong together. price[place[u]], unless place[u] is -1: the cost
# of each cluster for unit u.
Said = namedtuple(
    "Said",
    [
        "partner_span", "partner", "partner_weight", "rival_span", "rival", "rival_weight",
        "place", "price",
    ],
)  # fmt: skip

# hard: no cost outweighs a statement; otherwise a broken statement costs penalty. keep_all: no
# cluster is left empty.
Rules = namedtuple("Rules", ["beta", "reversible", "hard", "penalty", "keep_all"])

# A partition of the units. counts (K) of units; rival_mass (vocabularies, K): the weight of the
# rivals in each cluster.
State = namedtuple("State", ["labels", "counts", "R", "T", "Q", "hQ", "p", "rival_mass"])

# Work space. change, cost, gain, gain_p (K): of one unit in each cluster. out and into (K), one
# array if reversible: its masses to and from the clusters. small (6, K + 3, K) and flat, a view of
# it with one row each. column (n): the joint of all rows and the unit; touched (n): the places of
# column that are not zero, where the chain is sparse.
Work = namedtuple(
    "Work",
    ["change", "cost", "gain", "gain_p", "out", "into", "small", "flat", "column", "touched"],
)

# log2 R + log2 e, and 1 / R (huge where R is zero), by columns; lanes (2, LANES): scratch.
Logs = namedtuple("Logs", ["logs", "inverse", "lanes"])

LANES = 64  # rows that are handled at a time: wide enough for any vector unit
NEAR = 1.0 / 32.0  # below this ratio the series for h is exact to 1e-12 of the mass that moves
LOG2_E = 1.4426950408889634
# (1 + x) ln(1 + x) / x = 1 + x/2 - x²/6 + x³/12 - x⁴/20 + …, in bits.
C2, C3, C4, C5, C6, C7 = LOG2_E / 2, LOG2_E / 6, LOG2_E / 12, LOG2_E / 20, LOG2_E / 30, LOG2_E / 42

# The bits of a double: its exponent is moved by ROUND so that mantissas lie around one, and
# becomes a number by writing it into the last bits of 2**52.
ROUND = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)  # from 1 to the square root of 1/2
TWO_52 = np.uint64(0x4330000000000000)
EXPONENT, BIAS = np.uint64(52), np.uint64(1023)
A1, A3, A5, A7, A9 = 2 * LOG2_E, 2 * LOG2_E / 3, 2 * LOG2_E / 5, 2 * LOG2_E / 7, 2 * LOG2_E / 9
A11, A13, A15, A17 = 2 * LOG2_E / 11, 2 * LOG2_E / 13, 2 * LOG2_E / 15, 2 * LOG2_E / 17
A19 = 2 * LOG2_E / 19


@part
def log2_all(values, logs, mantissas):
    """Logarithms of numbers that are zero or more, exact to 2e-16; -1023 for zero. logs: OUT.

    The loops have no branch and no call, so the compiler vectorises them: three times faster than
    one logarithm at a time. log2 m = 2 log2(e) artanh((m - 1) / (m + 1)).
    """
    bits, exponents, parts = values.view(np.uint64), logs.view(np.uint64), mantissas.view(np.uint64)
    for i in range(values.shape[0]):
        e = (bits[i] + ROUND) >> EXPONENT
        exponents[i] = e | TWO_52
        parts[i] = bits[i] - ((e - BIAS) << EXPONENT)
    for i in range(values.shape[0]):
        t = (mantissas[i] - 1.0) / (mantissas[i] + 1.0)
        u = t * t
        high = A11 + u * (A13 + u * (A15 + u * (A17 + u * A19)))
        low = A1 + u * (A3 + u * (A5 + u * (A7 + u * (A9 + u * high))))
        logs[i] = (logs[i] - 4503599627371519.0) + t * low


@part
def plogp(x):
    """h(x) = x log2 x, and 0 where rounding has made x negative."""
    return x * np.log2(x) if x > 0.0 else 0.0


@jit
def sum_plogp(values):
    """The sum of h over an array of two dimensions, by the first one."""
    total = 0.0
    for i in range(values.shape[0]):
        part = 0.0
        for j in range(values.shape[1]):
            part += plogp(values[i, j])
        total += part
    return total


@jit
def sum_by_cluster(R, labels, Q):
    """The sum of the rows of R in each cluster. Q (K, K), zero before: OUT."""
    for i in range(R.shape[0]):
        for k in range(R.shape[1]):
            Q[labels[i], k] += R[i, k]


@part
def unit_flow(R, members, start, stop, flow):
    """The mass between a unit and each cluster: the sum of the rows of R. flow (K): OUT."""
    for k in range(R.shape[1]):
        flow[k] = 0.0
    for t in range(start, stop):
        for k in range(R.shape[1]):
            flow[k] += R[members[t], k]


@part
def sum_changes(with_unit, logs, h0, by_rows, gain):
    """The sum over z of h(with_unit[z, k]) less h0[k, z] (by rows) or h0[z, k]. gain (K): OUT."""
    n_clusters = gain.shape[0]
    for k in range(n_clusters):
        gain[k] = 0.0
    for z in range(n_clusters):
        for k in range(n_clusters):
            before = h0[k, z] if by_rows else h0[z, k]
            gain[k] += with_unit[z, k] * logs[z, k] - before


@part
def joining_gains(u, own, units, reversible, state, work):
    """The change of the sums of h(Q) and h(p) if a unit is in each cluster.

    The unit is in cluster own now; work.out and work.into are set. work.gain, work.gain_p: OUT.
    The innermost loops run over the cluster k that is tried, along memory, so that the compiler
    vectorises them.
    """
    inner, mass, Q, hQ, p = units.inner[u], units.mass[u], state.Q, state.hQ, state.p
    out, into, gain, gain_p = work.out, work.into, work.gain, work.gain_p
    small, flat = work.small, work.flat
    K = p.shape[0]
    Q0, h0, with_unit, logs, more = small[0], small[1], small[2], small[3], small[5, 0]
    some, cells = 4 * K, K * K
    for z in range(K):
        for k in range(K):
            Q0[z, k] = Q[z, k]
            h0[z, k] = hQ[z, k]
    for z in range(K):
        Q0[own, z] -= out[z]
        Q0[z, own] -= into[z]
    Q0[own, own] += inner
    for z in range(K):  # what the unit leaves behind, and the masses of clusters without it
        with_unit[0, z] = max(Q0[own, z], 0.0)
        with_unit[1, z] = max(Q0[z, own], 0.0)
        with_unit[2, z] = p[z]
    with_unit[2, own] = max(p[own] - mass, 0.0)
    for z in range(K):
        with_unit[3, z] = with_unit[2, z] + mass
    log2_all(flat[2, :some], flat[3, :some], flat[4, :some])
    for z in range(K):
        h0[own, z] = with_unit[0, z] * logs[0, z]
        h0[z, own] = with_unit[1, z] * logs[1, z]
        gain_p[z] = with_unit[3, z] * logs[3, z] - with_unit[2, z] * logs[2, z]
    stays = 0.0 if reversible else inner
    out[own] -= inner
    into[own] -= stays
    for z in range(K):
        for k in range(K):
            with_unit[z, k] = max((Q0[z, k] if reversible else Q0[k, z]) + out[z], 0.0)
    for k in range(K):
        with_unit[k, k] = max(Q0[k, k] + out[k] + into[k] + inner, 0.0)
    log2_all(flat[2, :cells], flat[3, :cells], flat[4, :cells])
    sum_changes(with_unit, logs, h0, not reversible, gain)
    if reversible:
        for k in range(K):
            diagonal = with_unit[k, k] * logs[k, k] - h0[k, k]
            gain[k] = 2.0 * gain[k] - diagonal
    else:
        for z in range(K):
            for k in range(K):
                with_unit[z, k] = max(Q0[z, k] + into[z], 0.0)
        for k in range(K):  # counted already
            with_unit[k, k], h0[k, k] = 0.0, 0.0
        log2_all(flat[2, :cells], flat[3, :cells], flat[4, :cells])
        sum_changes(with_unit, logs, h0, False, more)
        for k in range(K):
            gain[k] += more[k]
    out[own] += inner
    into[own] += stays


@part
def shift_joint(u, own, best, units, state, work):
    """Move a unit from cluster own to best in Q, h(Q) and p. state: OUT."""
    inner, mass, Q, hQ, p = units.inner[u], units.mass[u], state.Q, state.hQ, state.p
    out, into = work.out, work.into
    n_clusters = p.shape[0]
    for z in range(n_clusters):
        Q[own, z] -= out[z]
        Q[z, own] -= into[z]
    Q[own, own] += inner
    for z in range(n_clusters):
        Q[best, z] += out[z] - (inner if z == own else 0.0)
        Q[z, best] += into[z] - (inner if z == own else 0.0)
    Q[best, best] += inner
    p[own] -= mass
    p[best] += mass
    for z in range(n_clusters):
        for k in (own, best):
            Q[k, z] = max(Q[k, z], 0.0)
            Q[z, k] = max(Q[z, k], 0.0)
            hQ[k, z] = plogp(Q[k, z])
            hQ[z, k] = plogp(Q[z, k])


@part
def changes_between(u, own, units, rules, state, work):
    """The part of C_beta that is between clusters, with unit u in each. work.change: OUT.

    Left for `shift_joint`: work.out and work.into.
    """
    unit_flow(state.R, units.members, units.span[u], units.span[u + 1], work.out)
    if not rules.reversible:
        unit_flow(state.T, units.members, units.span[u], units.span[u + 1], work.into)
    joining_gains(u, own, units, rules.reversible, state, work)
    for k in range(state.p.shape[0]):
        work.change[k] = -(1.0 - rules.beta) * (work.gain[k] - 2.0 * work.gain_p[k])


# Statements


@part
def broken_weights(u, labels, said, rival_mass, cost):
    """The weight of the statements that unit u breaks in each cluster, up to a constant.

    Unassigned units (-1) count nowhere. cost: OUT.
    """
    n_clusters = cost.shape[0]
    for k in range(n_clusters):
        cost[k] = 0.0 if said.place[u] < 0 else said.price[said.place[u], k]
    for t in range(said.partner_span[u], said.partner_span[u + 1]):
        if labels[said.partner[t]] >= 0:
            cost[labels[said.partner[t]]] += said.partner_weight[t]
    for t in range(said.rival_span[u], said.rival_span[u + 1]):
        w = said.rival_weight[t]
        for k in range(n_clusters):
            others = rival_mass[said.rival[t], k]
            if k == labels[u]:
                others -= w
            cost[k] += w * others


@part
def choose(cost, change, own, hard, penalty):
    """The best cluster for a unit, own unless another is better; ties go to the lowest.

    Hard: among the clusters that break the least, the one of lowest cost. Soft: the lowest sum.
    """
    n_clusters = cost.shape[0]
    least = cost[0]
    for k in range(1, n_clusters):
        least = min(least, cost[k])
    slack = 1e-9 * (1.0 + abs(least))
    best = -1
    if hard:
        if cost[own] <= least + slack:
            best = own
        for k in range(n_clusters):
            if cost[k] <= least + slack and (best < 0 or change[k] < change[best] - 1e-12):
                best = k
        return best
    best = own
    for k in range(n_clusters):
        if change[k] + penalty * cost[k] < change[best] + penalty * cost[best] - 1e-12:
            best = k
    return best


@part
def move_rivals(u, said, own, best, rival_mass):
    """Move the labels of unit u to its new cluster. rival_mass: OUT."""
    for t in range(said.rival_span[u], said.rival_span[u + 1]):
        if own >= 0:
            rival_mass[said.rival[t], own] -= said.rival_weight[t]
        rival_mass[said.rival[t], best] += said.rival_weight[t]


@part
def best_cluster(u, own, said, rules, state, work):
    """Find the best cluster for unit u; if it is new, update all but R and T. state: OUT."""
    broken_weights(u, state.labels, said, state.rival_mass, work.cost)
    best = choose(work.cost, work.change, own, rules.hard, rules.penalty)
    if best != own:
        state.labels[u] = best
        state.counts[own] -= 1
        state.counts[best] += 1
        move_rivals(u, said, own, best, state.rival_mass)
    return best


# Dense chains


@part
def sum_rows(J, members, start, stop, column):
    """The sum of some rows of J. column (n): OUT."""
    first = J[members[start]]
    for i in range(column.shape[0]):
        column[i] = first[i]
    for t in range(start + 1, stop):
        row = J[members[t]]
        for i in range(column.shape[0]):
            column[i] += row[i]


@part
def row_gain_dense(column, sign, R, logs, inverse, part, total):
    """The change of the sum of h(R) over a column of it when sign * column is added to it.

    With x = c / R it is c (log2 R + (1 + x) ln(1 + x) / x log2 e), by a series where x is small.
    logs is log2 R + log2 e, inverse 1 / R (huge where R is zero). part, total (LANES): scratch.
    """
    n = column.shape[0]
    for lane in range(LANES):
        total[lane] = 0.0
    rest = 0.0
    for first in range(0, n, LANES):
        # Slices, and loops that do one thing each: the compiler vectorises these.
        c, at = column[first : first + LANES], logs[first : first + LANES]
        per = inverse[first : first + LANES]
        n_far = 0
        for lane in range(c.shape[0]):
            n_far += c[lane] * per[lane] > NEAR
        for lane in range(c.shape[0]):
            x = sign * c[lane] * per[lane]
            series = C2 - x * (C3 - x * (C4 - x * (C5 - x * (C6 - x * C7))))
            part[lane] = sign * c[lane] * (at[lane] + x * series)
        if n_far > 0:
            for lane in range(c.shape[0]):
                if c[lane] * per[lane] > NEAR:
                    r = R[first + lane]
                    part[lane] = 0.0
                    rest += plogp(r + sign * c[lane]) - r * (at[lane] - LOG2_E)
        for lane in range(c.shape[0]):
            total[lane] += part[lane]
    for lane in range(LANES):
        rest += total[lane]
    return rest


@part
def refresh_logs(R, logs, inverse, scratch):
    """log2 R + log2 e and 1 / R of a column, as `row_gain_dense` takes them. logs, inverse: OUT."""
    log2_all(R, logs, scratch)
    for i in range(R.shape[0]):
        logs[i] += LOG2_E
        inverse[i] = min(1.0 / R[i], 1e300)


@jit
def refresh_all_logs(R, logs, inverse, scratch):
    """`refresh_logs` of every column of R. logs, inverse: OUT."""
    for k in range(R.shape[1]):
        refresh_logs(R[:, k], logs[:, k], inverse[:, k], scratch)


@part
def add_column(column, own, best, R):
    """Move a column of J from cluster own to best. R: OUT."""
    left, joined = R[:, own], R[:, best]  # one loop each: they might overlap
    for i in range(column.shape[0]):
        left[i] = max(left[i] - column[i], 0.0)
    for i in range(column.shape[0]):
        joined[i] += column[i]


@part
def changes_dense(u, own, Jt, units, rules, state, work, logs):
    """C_beta with unit u in each cluster, up to a constant. work.change: OUT.

    Left for `add_column`, unless beta is 1/2: work.column.
    """
    changes_between(u, own, units, rules, state, work)
    if rules.beta == 0.5:
        return
    sum_rows(Jt, units.members, units.span[u], units.span[u + 1], work.column)
    for k in range(state.p.shape[0]):
        sign = -1.0 if k == own else 1.0
        rows = sign * row_gain_dense(
            work.column, sign, state.R[:, k], logs.logs[:, k], logs.inverse[:, k],
            logs.lanes[0], logs.lanes[1],
        )  # fmt: skip
        work.change[k] += (1.0 - 2.0 * rules.beta) * (rows - work.gain_p[k])


@bare
def sweep_dense(first, last, J, Jt, units, said, rules, state, work, logs):
    """Move units first … last - 1, in order, to their best clusters; the number that moved.

    state, logs: OUT. With rules.keep_all the last unit of a cluster stays.
    """
    members, span, column = units.members, units.span, work.column
    n_moves = 0
    for u in range(first, last):
        own = state.labels[u]
        if rules.keep_all and state.counts[own] == 1:
            continue
        changes_dense(u, own, Jt, units, rules, state, work, logs)
        best = best_cluster(u, own, said, rules, state, work)
        if best == own:
            continue
        n_moves += 1
        shift_joint(u, own, best, units, state, work)
        if rules.beta == 0.5:
            sum_rows(Jt, members, span[u], span[u + 1], column)
        add_column(column, own, best, state.R)
        if rules.beta != 0.5:
            for k in (own, best):
                refresh_logs(state.R[:, k], logs.logs[:, k], logs.inverse[:, k], column)
        if not rules.reversible:
            sum_rows(J, members, span[u], span[u + 1], column)
            add_column(column, own, best, state.T)
    return n_moves


# Sparse chains


@part
def gather_rows(J, u, units, column, touched):
    """The sum of the rows of a unit of a CSR matrix: how many places of it are not zero.

    column (n), which is zero before, and touched (n), the places: OUT.
    """
    n_touched = 0
    for t in range(units.span[u], units.span[u + 1]):
        for e in range(J.indptr[units.members[t]], J.indptr[units.members[t] + 1]):
            i = J.indices[e]
            if column[i] == 0.0 and J.data[e] != 0.0:
                touched[n_touched] = i
                n_touched += 1
            column[i] += J.data[e]
    return n_touched


@part
def row_gains_sparse(n_touched, own, R, work):
    """The change of the sum of h(R) if a unit is in each cluster. work.gain: OUT."""
    n_clusters = R.shape[1]
    rows = work.gain
    for k in range(n_clusters):
        rows[k] = 0.0
    for t in range(n_touched):
        i = work.touched[t]
        c = work.column[i]
        alone = plogp(c)
        for k in range(n_clusters):
            r = R[i, k]
            if k == own:
                r -= c
            # Most rows have no mass in most clusters: one logarithm then serves them all.
            rows[k] += plogp(r + c) - plogp(r) if r > 0.0 else alone


@part
def scatter_rows(n_touched, own, best, work, R):
    """Move a gathered column of J from cluster own to best. R: OUT."""
    for t in range(n_touched):
        i = work.touched[t]
        c = work.column[i]
        left = R[i, own] - c
        # A remainder from rounding in a cluster that a row no longer reaches becomes zero.
        R[i, own] = left if left > 1e-13 * c else 0.0
        R[i, best] += c


@part
def clear(n_touched, work):
    """Make a gathered column zero again. work.column: OUT."""
    for t in range(n_touched):
        work.column[work.touched[t]] = 0.0


@part
def changes_sparse(u, own, Jt, units, rules, state, work):
    """The same for a chain in CSR form; returns how many places of column are in use."""
    changes_between(u, own, units, rules, state, work)
    if rules.beta == 0.5:
        return 0
    n_touched = gather_rows(Jt, u, units, work.column, work.touched)
    row_gains_sparse(n_touched, own, state.R, work)
    for k in range(state.p.shape[0]):
        work.change[k] += (1.0 - 2.0 * rules.beta) * (work.gain[k] - work.gain_p[k])
    return n_touched


@bare
def sweep_sparse(first, last, J, Jt, units, said, rules, state, work):
    """`sweep_dense` for a chain in CSR form, with its transpose."""
    n_moves = 0
    for u in range(first, last):
        own = state.labels[u]
        if rules.keep_all and state.counts[own] == 1:
            continue
        n_touched = changes_sparse(u, own, Jt, units, rules, state, work)
        best = best_cluster(u, own, said, rules, state, work)
        if best != own:
            n_moves += 1
            shift_joint(u, own, best, units, state, work)
            if rules.beta == 0.5:
                n_touched = gather_rows(Jt, u, units, work.column, work.touched)
            scatter_rows(n_touched, own, best, work, state.R)
            if not rules.reversible:
                clear(n_touched, work)
                n_touched = gather_rows(J, u, units, work.column, work.touched)
                scatter_rows(n_touched, own, best, work, state.T)
        clear(n_touched, work)
    return n_moves


@jit
def inner_masses(J, unit, inner):
    """The mass that stays within each unit, of a CSR matrix. inner (units), zero before: OUT."""
    for i in range(J.indptr.shape[0] - 1):
        for e in range(J.indptr[i], J.indptr[i + 1]):
            if unit[J.indices[e]] == unit[i]:
                inner[unit[i]] += J.data[e]


@jit
def inner_masses_dense(J, members, span, inner):
    """The mass that stays within each unit. inner (units): OUT."""
    for u in range(inner.shape[0]):
        inner[u] = 0.0
        for s in range(span[u], span[u + 1]):
            for t in range(span[u], span[u + 1]):
                inner[u] += J[members[s], members[t]]


# Starts


@jit
def colour(said, random_labels, labels, rival_mass):
    """The paper's greedy colouring: units in order, each the first colour that breaks the least.

    A unit without statements takes its random label. labels (-1 before), rival_mass: OUT.
    """
    cost = np.zeros(rival_mass.shape[1])
    for u in range(labels.shape[0]):
        n_said = said.partner_span[u + 1] - said.partner_span[u]
        n_said += said.rival_span[u + 1] - said.rival_span[u]
        best = random_labels[u]
        if n_said > 0 or said.place[u] >= 0:
            broken_weights(u, labels, said, rival_mass, cost)
            best = np.int64(0)
            for k in range(1, cost.shape[0]):
                if cost[k] < cost[best] - 1e-12:
                    best = k
        labels[u] = best
        move_rivals(u, said, np.int64(-1), best, rival_mass)


@part
def clear_wish(wish):
    """By how much the best cluster of a unit is better than the next one."""
    if wish.shape[0] == 1:
        return 0.0
    first, second = -np.inf, -np.inf
    for k in range(wish.shape[0]):
        if wish[k] > first:
            first, second = wish[k], first
        elif wish[k] > second:
            second = wish[k]
    return first - second


@jit
def repair(said, wish, labels, rival_mass):
    """Colour the units without a colour (-1), each with its preferred colour if statements allow
    it.

    In the order of DSATUR: next comes the unit with the most coloured partners, then the one with
    the clearest preference. wish (units, K) is larger for a better cluster; a unit takes its best
    cluster among those that break the least. labels, rival_mass: OUT.
    """
    partner_span, partner = said.partner_span, said.partner
    cost = np.zeros(rival_mass.shape[1])
    pressed, clear = np.zeros(labels.shape[0], dtype=np.int64), np.zeros(labels.shape[0])
    heap = [(0, 0.0, 0)]
    heapq.heappop(heap)
    for u in range(labels.shape[0]):
        if labels[u] < 0:
            clear[u] = clear_wish(wish[u])
            for t in range(partner_span[u], partner_span[u + 1]):
                pressed[u] += labels[partner[t]] >= 0
            heapq.heappush(heap, (-pressed[u], -clear[u], u))
    while len(heap) > 0:
        n_pressing, _, u = heapq.heappop(heap)
        if labels[u] >= 0 or -n_pressing != pressed[u]:
            continue  # an older entry of the same unit
        broken_weights(u, labels, said, rival_mass, cost)
        best = np.int64(0)
        for k in range(1, cost.shape[0]):
            is_less = cost[k] < cost[best] - 1e-12
            if is_less or (cost[k] <= cost[best] + 1e-12 and wish[u, k] > wish[u, best]):
                best = k
        labels[u] = best
        move_rivals(u, said, np.int64(-1), best, rival_mass)
        for t in range(partner_span[u], partner_span[u + 1]):
            v = partner[t]
            if labels[v] < 0:
                pressed[v] += 1
                heapq.heappush(heap, (-pressed[v], -clear[v], v))


@part
def join_group(i, free, strongest, group):
    """Start a group with a free state, join the group of the strongest neighbour, or stay alone."""
    if free >= 0:
        group[i] = i
        group[free] = i
    elif strongest >= 0:
        group[i] = group[strongest]
    else:
        group[i] = i


@jit
def pair_up(J, pi, order, group):
    """Pair each state, in the given order, with the free state that receives most of its mass.

    A state all of whose neighbours are taken joins the group of the strongest one. group, named by
    one of its states and -1 before: OUT.
    """
    for i in order:
        if group[i] >= 0:
            continue
        free, strongest = np.int64(-1), np.int64(-1)
        free_weight, most = 0.0, 0.0
        for e in range(J.indptr[i], J.indptr[i + 1]):
            j = J.indices[e]
            if j == i or pi[j] == 0.0:
                continue
            w = J.data[e] / pi[j]
            if group[j] < 0 and w > free_weight:
                free, free_weight = j, w
            if w > most:
                strongest, most = j, w
        join_group(i, free, strongest, group)


@jit
def pair_up_dense(J, pi, order, group):
    """The same for an array; partners less than half as strong as the strongest are ignored."""
    for i in order:
        if group[i] >= 0:
            continue
        free, strongest = np.int64(-1), np.int64(-1)
        free_weight, most = 0.0, 0.0
        for j in range(J.shape[0]):
            if j == i or J[i, j] <= free_weight * pi[j] or J[i, j] == 0.0:
                continue
            w = J[i, j] / pi[j]
            if group[j] < 0:
                free, free_weight = j, w
            if w > most:
                strongest, most = j, w
        join_group(i, free if free_weight >= 0.5 * most else np.int64(-1), strongest, group)


@jit
def merge_dense(J, group, members, span, row, merged):
    """The masses between groups of states; members[span[g]:span[g + 1]] are those of group g.

    Rows are summed first, along memory; then the sums are distributed. merged, zero before, and row
    (n): OUT.
    """
    for g in range(span.shape[0] - 1):
        sum_rows(J, members, span[g], span[g + 1], row)
        here = merged[g]
        for j in range(row.shape[0]):
            here[group[j]] += row[j]


# Stationary distributions


@jit
def eliminate_states(P, masses):
    """The stationary distribution of an irreducible chain, by Grassmann, Taksar and Heyman.

    States are eliminated one by one without subtractions, so that every entry is accurate to its
    last digits even if the chain is nearly reducible. P is overwritten. masses (n): OUT.
    """
    n = P.shape[0]
    for last in range(n - 1, 0, -1):
        leaving = 0.0
        for j in range(last):
            leaving += P[last, j]
        for i in range(last):
            P[i, last] /= leaving
        for i in range(last):
            if P[i, last] > 0.0:
                for j in range(last):
                    P[i, j] += P[i, last] * P[last, j]
    masses[0] = 1.0
    total = 1.0
    for k in range(1, n):
        masses[k] = 0.0
        for i in range(k):
            masses[k] += masses[i] * P[i, k]
        total += masses[k]
    for k in range(n):
        masses[k] /= total
