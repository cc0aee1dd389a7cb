"""Markov aggregation without propagation of must-links: a unit moves with its direct partners.

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

# The chain, in one of two forms: the other is None, and numba drops the code for it.
Dense = namedtuple("Dense", ["J", "Jt", "logs"])
Sparse = namedtuple("Sparse", ["J", "Jt"])


@part
def rename(u, own, best, said, state):
    """Move unit u to another cluster in everything but the joints. state: OUT."""
    state.labels[u] = best
    state.counts[own] -= 1
    state.counts[best] += 1
    move_rivals(u, said, own, best, state.rival_mass)


@part
def star_weights(s, own, stars, said, state, work):
    """The weight of the statements that a star in cluster own breaks in each. work.cost: OUT.

    Statements between its own units are broken wherever it goes, so they count nowhere: its units
    are taken out of the partition meanwhile. work.gain is used up.
    """
    n_clusters = work.cost.shape[0]
    for k in range(n_clusters):
        work.cost[k] = 0.0
    for t in range(stars.span[s], stars.span[s + 1]):
        u = stars.unit[t]
        state.labels[u] = -1
        for r in range(said.rival_span[u], said.rival_span[u + 1]):
            state.rival_mass[said.rival[r], own] -= said.rival_weight[r]
    for t in range(stars.span[s], stars.span[s + 1]):
        broken_weights(stars.unit[t], state.labels, said, state.rival_mass, work.gain)
        for k in range(n_clusters):
            work.cost[k] += work.gain[k]
    for t in range(stars.span[s], stars.span[s + 1]):
        state.labels[stars.unit[t]] = own
        move_rivals(stars.unit[t], said, -1, own, state.rival_mass)


@part
def set_flows(u, units, rules, state, work):
    """The masses between a unit and the clusters, for `shift_joint`. work.out, work.into: OUT."""
    unit_flow(state.R, units.members, units.span[u], units.span[u + 1], work.out)
    if not rules.reversible:
        unit_flow(state.T, units.members, units.span[u], units.span[u + 1], work.into)


@part
def is_last(s, own, stars, rules, state):
    """Whether a star in one cluster is all of that cluster, which must not become empty."""
    return rules.keep_all and state.counts[own] == stars.span[s + 1] - stars.span[s]


@part
def changes(s, own, stars, rules, dense, sparse, state, work):
    """C_beta with a star in each cluster, up to a constant. work.change: OUT."""
    if dense is not None:
        changes_dense(s, own, dense.Jt, stars.rows, rules, state, work, dense.logs)
    if sparse is not None:
        clear(changes_sparse(s, own, sparse.Jt, stars.rows, rules, state, work), work)


@part
def shift_dense(u, own, best, units, rules, dense, state, work):
    """Move rows in R and T. state, dense.logs: OUT."""
    first, last, logs = units.span[u], units.span[u + 1], dense.logs
    sum_rows(dense.Jt, units.members, first, last, work.column)
    add_column(work.column, own, best, state.R)
    if rules.beta != 0.5:
        for k in (own, best):
            refresh_logs(state.R[:, k], logs.logs[:, k], logs.inverse[:, k], work.column)
    if not rules.reversible:
        sum_rows(dense.J, units.members, first, last, work.column)
        add_column(work.column, own, best, state.T)


@part
def shift_sparse(u, own, best, units, rules, sparse, state, work):
    """The same for a chain in CSR form; work.column is zero before and after."""
    n_touched = gather_rows(sparse.Jt, u, units, work.column, work.touched)
    scatter_rows(n_touched, own, best, work, state.R)
    clear(n_touched, work)
    if not rules.reversible:
        n_touched = gather_rows(sparse.J, u, units, work.column, work.touched)
        scatter_rows(n_touched, own, best, work, state.T)
        clear(n_touched, work)


@part
def shift(u, own, best, units, rules, dense, sparse, state, work):
    """Move a unit or a star in Q, p, R and T; its flows are set. state, dense.logs: OUT."""
    shift_joint(u, own, best, units, state, work)
    if dense is not None:
        shift_dense(u, own, best, units, rules, dense, state, work)
    if sparse is not None:
        shift_sparse(u, own, best, units, rules, sparse, state, work)


@bare
def sweep(first, last, dense, sparse, units, stars, said, rules, state, work):
    """Bring stars first … last - 1 together, in order, and move each to its best cluster.

    The number of stars of which some unit moved. state, dense.logs: OUT.
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
            shift(u, k, own, units, rules, dense, sparse, state, work)
            rename(u, k, own, said, state)
            moved = True
        if not blocked and not is_last(s, own, stars, rules, state):
            changes(s, own, stars, rules, dense, sparse, state, work)
            star_weights(s, own, stars, said, state, work)
            best = choose(work.cost, work.change, own, rules.hard, rules.penalty)
            if best != own:
                shift(s, own, best, stars.rows, rules, dense, sparse, state, work)
                for t in range(stars.span[s], stars.span[s + 1]):
                    rename(stars.unit[t], own, best, said, state)
                moved = True
        n_moves += moved
    return n_moves
