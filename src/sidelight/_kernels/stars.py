"""Markov aggregation where must-links are not propagated: a unit takes its partners along.

A star is a unit with the units that it is tied to by a statement, and no others: if a is tied to b
and b to c, the star of a holds b and not c. Stars overlap, so ties can break again. Everything else
as in ``aggregate``.
"""

from collections import namedtuple

from sidelight._kernels._jit import bare, part
from sidelight._kernels.aggregate import (
    add_column,
    broken_weights,
    changes_dense,
    changes_sparse,
    choose,
    clear,
    gather_rows,
    move_rivals,
    refresh_logs,
    scatter_rows,
    shift_joint,
    sum_rows,
    unit_flow,
)

# Star s has the units unit[span[s]:span[s + 1]], unit s among them. rows: the same as sets of rows,
# as aggregate.Units.
Stars = namedtuple("Stars", ["unit", "span", "rows"])


@part
def rename(u, own, best, said, state):
    """Give unit u another cluster in all but the joints. state: OUT."""
    state.labels[u] = best
    state.counts[own] -= 1
    state.counts[best] += 1
    move_rivals(u, said, own, best, state.rival_mass)


@part
def star_weights(s, stars, said, state, work):
    """The weight of the statements that the units of a star break in each cluster. work.cost: OUT.

    work.gain is used up.
    """
    n_clusters = work.cost.shape[0]
    for k in range(n_clusters):
        work.cost[k] = 0.0
    for t in range(stars.span[s], stars.span[s + 1]):
        broken_weights(stars.unit[t], state.labels, said, state.rival_mass, work.gain)
        for k in range(n_clusters):
            work.cost[k] += work.gain[k]


@part
def set_flows(u, units, rules, state, work):
    """The masses between a unit and the clusters, for `shift_joint`. work.out, work.into: OUT."""
    unit_flow(state.R, units.members, units.span[u], units.span[u + 1], work.out)
    if not rules.reversible:
        unit_flow(state.T, units.members, units.span[u], units.span[u + 1], work.into)


@part
def is_last(s, own, stars, rules, state):
    """Whether a star that is together holds all units of its cluster, which is to stay."""
    return rules.keep_all and state.counts[own] == stars.span[s + 1] - stars.span[s]


@bare
def shift_dense(u, own, best, J, Jt, units, rules, state, work, logs):
    """Move a unit or a star in Q, p, R and T; its flows are set. state, logs: OUT."""
    first, last = units.span[u], units.span[u + 1]
    shift_joint(u, own, best, units, state, work)
    sum_rows(Jt, units.members, first, last, work.column)
    add_column(work.column, own, best, state.R)
    if rules.beta != 0.5:
        for k in (own, best):
            refresh_logs(state.R[:, k], logs.logs[:, k], logs.inverse[:, k], work.column)
    if not rules.reversible:
        sum_rows(J, units.members, first, last, work.column)
        add_column(work.column, own, best, state.T)


@bare
def sweep_dense(first, last, J, Jt, units, stars, said, rules, state, work, logs):
    """Bring stars first … last - 1 together, in order, and move each to its best cluster.

    The number of stars of which some unit moved. state, logs: OUT.
    """
    n_moves = 0
    for s in range(first, last):
        own = state.labels[s]
        moved, blocked = False, False
        for t in range(stars.span[s], stars.span[s + 1]):
            u = stars.unit[t]
            k = state.labels[u]
            if k == own or blocked:
                continue
            if rules.keep_all and state.counts[k] == 1:
                blocked = True
                continue
            set_flows(u, units, rules, state, work)
            shift_dense(u, k, own, J, Jt, units, rules, state, work, logs)
            rename(u, k, own, said, state)
            moved = True
        if not blocked and not is_last(s, own, stars, rules, state):
            changes_dense(s, own, Jt, stars.rows, rules, state, work, logs)
            star_weights(s, stars, said, state, work)
            best = choose(work.cost, work.change, own, rules.hard, rules.penalty)
            if best != own:
                shift_dense(s, own, best, J, Jt, stars.rows, rules, state, work, logs)
                for t in range(stars.span[s], stars.span[s + 1]):
                    rename(stars.unit[t], own, best, said, state)
                moved = True
        n_moves += moved
    return n_moves


@bare
def shift_sparse(u, own, best, J, Jt, units, rules, state, work):
    """`shift_dense` for a chain in CSR form; work.column is zero before and after."""
    shift_joint(u, own, best, units, state, work)
    n_touched = gather_rows(Jt, u, units, work.column, work.touched)
    scatter_rows(n_touched, own, best, work, state.R)
    clear(n_touched, work)
    if not rules.reversible:
        n_touched = gather_rows(J, u, units, work.column, work.touched)
        scatter_rows(n_touched, own, best, work, state.T)
        clear(n_touched, work)


@bare
def sweep_sparse(first, last, J, Jt, units, stars, said, rules, state, work):
    """`sweep_dense` for a chain in CSR form."""
    n_moves = 0
    for s in range(first, last):
        own = state.labels[s]
        moved, blocked = False, False
        for t in range(stars.span[s], stars.span[s + 1]):
            u = stars.unit[t]
            k = state.labels[u]
            if k == own or blocked:
                continue
            if rules.keep_all and state.counts[k] == 1:
                blocked = True
                continue
            set_flows(u, units, rules, state, work)
            shift_sparse(u, k, own, J, Jt, units, rules, state, work)
            rename(u, k, own, said, state)
            moved = True
        if not blocked and not is_last(s, own, stars, rules, state):
            n_touched = changes_sparse(s, own, Jt, stars.rows, rules, state, work)
            clear(n_touched, work)
            star_weights(s, stars, said, state, work)
            best = choose(work.cost, work.change, own, rules.hard, rules.penalty)
            if best != own:
                shift_sparse(s, own, best, J, Jt, stars.rows, rules, state, work)
                for t in range(stars.span[s], stars.span[s + 1]):
                    rename(stars.unit[t], own, best, said, state)
                moved = True
        n_moves += moved
    return n_moves
