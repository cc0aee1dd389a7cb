"""Moves of annotated rows that raise the objective: one by one, or several of them together.

Rows, statements and partitions as in ``annotated``. Where a state is OUT, the edges of the block
models are too.
"""

import numpy as np

from sidelight._kernels._jit import bare, inlined, part
from sidelight._kernels.annotated import (
    add_ends,
    annotator_term,
    cluster_term,
    layers_value,
    move_gains,
    move_row,
    objective,
)

# The maximum number of sweeps of a climb.
MOST_ROUNDS = 2000


@inlined
def wake(rows, i, margin):
    """Mark row i, which has moved, and its partners to be visited again. margin: OUT."""
    margin[i] = 0.0
    for t in range(rows.span[i], rows.span[i + 1]):
        if rows.partner[t] >= 0:
            margin[rows.partner[t]] = 0.0


@part
def sweep(rows, order, cluster_of, model, tolerance, patience, margin, state, layers, scratch):
    """Move each row, in the given order, to its best cluster if it gains above tolerance.

    A cluster keeps at least model.min_size rows. Ties go to the lowest cluster. margin (n): OUT,
    the loss of the best move of each row when it was last visited; rows that would have lost more
    than ``patience`` are skipped. state: OUT. Returns (gain, moves, tests).
    """
    n_clusters = state.counts.shape[0]
    total = 0.0
    n_moves = 0
    n_tests = 0
    for t in range(order.shape[0]):
        i = order[t]
        own = state.labels[i]
        if state.counts[own] <= model.min_size or margin[i] > patience:
            continue
        move_gains(rows, cluster_of, model, state, i, layers, scratch)
        n_tests += n_clusters - 1
        best = own
        highest = -np.inf
        for k in range(n_clusters):
            if k != own and scratch.gain[k] > highest:
                best = k
                highest = scratch.gain[k]
        margin[i] = -highest
        if highest > tolerance:
            move_row(rows, cluster_of, model, state, i, best, layers)
            wake(rows, i, margin)
            total += highest
            n_moves += 1
    return total, n_moves, n_tests


# Several rows together: scratch.members[:n], each of them to scratch.goes_to[row]


@inlined
def add_deviations(x, mean, sign, sums, squares):
    """Add the deviation of one row from a mean, and its square (in total or by feature): OUT."""
    total = 0.0
    for j in range(x.shape[0]):
        away = x[j] - mean[j]
        sums[j] += sign * away
        if squares.shape[0] > 1:
            squares[j] += sign * away * away
        else:
            total += away * away
    if squares.shape[0] == 1:
        squares[0] += sign * total


@inlined
def joint_cluster_gain(rows, model, n, state, scratch):
    """The gain of the clusters' terms; -inf if a cluster would become too small. scratch: OUT."""
    counts, sums, squares, touched = (
        scratch.counts, scratch.sums, scratch.squares, scratch.touched,
    )  # fmt: skip
    for k in range(counts.shape[0]):
        touched[k] = False
        counts[k] = state.counts[k]
    n_features = rows.X.shape[1]
    diagonal = squares.shape[1] > 1
    for t in range(n):
        i = scratch.members[t]
        for joins in range(2):
            k = scratch.goes_to[i] if joins else state.labels[i]
            sign = 1.0 if joins else -1.0
            if not touched[k]:
                touched[k] = True
                sums[k] = 0.0
                squares[k] = 0.0
            counts[k] += sign
            add_deviations(rows.X[i], state.means[k], sign, sums[k], squares[k])
    gain = 0.0
    for k in range(counts.shape[0]):
        if not touched[k]:
            continue
        if counts[k] < min(state.counts[k], model.min_size):
            return -np.inf
        for v in range(squares.shape[1]):
            scratch.spread[v] = state.sse[k, v] + squares[k, v] if counts[k] > 0.0 else 0.0
        if counts[k] > 0.0:
            for j in range(n_features):
                scratch.spread[j if diagonal else 0] -= sums[k, j] * sums[k, j] / counts[k]
        gain += cluster_term(model, counts[k], scratch.spread, scratch.spread, 0.0)
        gain -= state.terms[k]
    return gain


@inlined
def copy_edges(edges, out):
    """The edges of both layers. out: OUT."""
    for r in range(edges.shape[1]):
        for s in range(edges.shape[1]):
            out[0, r, s] = edges[0, r, s]
            out[1, r, s] = edges[1, r, s]


@inlined
def joint_statement_gain(rows, cluster_of, model, n, state, layers, scratch):
    """The gain of the annotators' terms; layers.after, the edges after the move: OUT."""
    labels, goes_to, change = state.labels, scratch.goes_to, scratch.change
    n_who = 0
    gain = 0.0
    if layers is not None:
        copy_edges(layers.edges, layers.after)
    for u in range(n):
        i = scratch.members[u]
        own, to = labels[i], goes_to[i]
        if layers is not None:
            for g in range(2):
                layers.after[g, own, own] -= layers.loops[i, g]
                layers.after[g, to, to] += layers.loops[i, g]
        for t in range(rows.span[i], rows.span[i + 1]):
            j, e = rows.partner[t], rows.who[t]
            if j >= 0:
                if goes_to[j] >= 0 and j < i:
                    continue  # a pair of which both rows move is counted once
                before = labels[j]
                after = goes_to[j] if goes_to[j] >= 0 else before
            else:
                before = after = cluster_of[rows.column[t]]
            if e < 0:
                if layers is not None:
                    g, weight = 0 if rows.pull[t] > 0.0 else 1, abs(rows.pull[t])
                    layers.after[g, own, before] -= weight
                    layers.after[g, before, own] -= weight
                    layers.after[g, to, after] += weight
                    layers.after[g, after, to] += weight
                continue
            turn = int(to == after) - int(own == before)
            if turn != 0:
                if not scratch.listed[e]:
                    scratch.listed[e] = True
                    scratch.who[n_who] = e
                    n_who += 1
                change[e] += turn * rows.pull[t]
                gain += turn * rows.bonus[t]
    for u in range(n_who):
        e = scratch.who[u]
        agreed, violated = state.tally[e, 0], state.tally[e, 1]
        gain += annotator_term(model, e, agreed + change[e], violated - change[e])
        gain -= annotator_term(model, e, agreed, violated)
        change[e] = 0.0
        scratch.listed[e] = False
    return gain


@inlined
def joint_gain(rows, cluster_of, model, n, state, layers, scratch):
    """The exact gain of moving n rows together; -inf if they must not. scratch: OUT."""
    gain = joint_cluster_gain(rows, model, n, state, scratch)
    if gain == -np.inf:
        return gain
    gain += joint_statement_gain(rows, cluster_of, model, n, state, layers, scratch)
    if layers is not None:
        add_ends(layers.after, layers.ends_after)
        gain += layers_value(layers, scratch.counts, layers.after, layers.ends_after)
        gain -= layers_value(layers, state.counts, layers.edges, layers.ends)
    return gain


@part
def try_together(rows, cluster_of, model, tolerance, n, margin, state, layers, scratch):
    """Move n rows, all or none. state, margin, scratch.goes_to (-1 again): OUT.

    Returns the gain, 0 if they stay.
    """
    gain = joint_gain(rows, cluster_of, model, n, state, layers, scratch)
    moves = gain > tolerance
    for t in range(n):
        i = scratch.members[t]
        if moves:
            move_row(rows, cluster_of, model, state, i, scratch.goes_to[i], layers)
            wake(rows, i, margin)
        scratch.goes_to[i] = -1
    return gain if moves else 0.0


@part
def move_chunklets(
    rows, chunk_span, chunk_rows, cluster_of, model, tolerance, margin, state, layers, scratch
):
    """Move each scattered chunklet (rows tied by must-links) into one cluster. state: OUT.

    A chunklet that is together already is a chain without cannot-links: see ``swap_chains``.
    Returns (gain, moves).
    """
    total = 0.0
    n_moves = 0
    for c in range(chunk_span.shape[0] - 1):
        size = chunk_span[c + 1] - chunk_span[c]
        for to in range(state.counts.shape[0]):
            scattered = False
            n = size - size  # 0, of the type of a number of rows: compiles once
            for u in range(size):
                i = chunk_rows[chunk_span[c] + u]
                scattered |= state.labels[i] != state.labels[chunk_rows[chunk_span[c]]]
                if state.labels[i] != to:
                    scratch.members[n] = i
                    n += 1
            if scattered:
                for u in range(n):
                    scratch.goes_to[scratch.members[u]] = to
                gain = try_together(
                    rows, cluster_of, model, tolerance, n, margin, state, layers, scratch
                )
                total += gain
                n_moves += gain > 0.0
    return total, n_moves


@inlined
def gather_chain(rows, state, start, r, s, with_cannot, limit, stamp, scratch):
    """The rows of r and s that are connected with ``start`` by statements that hold now.

    Must-links inside a cluster and, with_cannot, cannot-links between r and s: swapping the two
    clusters along such a chain keeps them all. scratch.members, scratch.seen: OUT. Returns the
    length, or limit + 1 for a longer chain, all of which is marked as seen; and whether the chain
    would be the same with and without cannot-links.
    """
    n = 1
    head = 0
    same = True
    scratch.members[0] = start
    scratch.seen[start] = stamp
    while head < n:
        i = scratch.members[head]
        head += 1
        for t in range(rows.span[i], rows.span[i + 1]):
            j = rows.partner[t]
            if j < 0 or scratch.seen[j] == stamp:
                continue
            if rows.tie[t] > 0:
                tied = state.labels[j] == state.labels[i]
            else:
                tied = rows.tie[t] < 0 and state.labels[j] == r + s - state.labels[i]
                same &= not tied
                tied &= with_cannot
            if tied:
                scratch.seen[j] = stamp
                scratch.members[n] = j
                n += 1
    return min(n, limit + 1), same


@part
def swap_chains(
    rows, order, cluster_of, model, tolerance, with_cannot, limit, margin, state, layers, scratch
):
    """Swap two clusters along chains of statements that hold (Kempe chains). state: OUT.

    Chains longer than ``limit`` are left alone, and so are those of must-links that are Kempe
    chains too: they have been tried. Returns (gain, moves).
    """
    n_clusters = state.counts.shape[0]
    total = 0.0
    n_moves = 0
    stamp = 0
    scratch.seen[:] = 0
    for r in range(n_clusters):
        for s in range(r + 1, n_clusters):
            stamp += 1
            for t in range(order.shape[0]):
                i = order[t]
                own = state.labels[i]
                if scratch.seen[i] == stamp or (own != r and own != s):
                    continue
                n, same = gather_chain(rows, state, i, r, s, with_cannot, limit, stamp, scratch)
                if n == 1 or n > limit or (same and not with_cannot):
                    continue
                for u in range(n):
                    j = scratch.members[u]
                    scratch.goes_to[j] = r + s - state.labels[j]
                gain = try_together(
                    rows, cluster_of, model, tolerance, n, margin, state, layers, scratch
                )
                total += gain
                n_moves += gain > 0.0
    return total, n_moves


@part
def move_together(
    rows, order, chunk_span, chunk_rows, cluster_of, model, tolerance, limit,
    margin, state, layers, scratch,
):  # fmt: skip
    """Kempe chains, chains of must-links, scattered chunklets: the first kind that gains.

    The simple moves that may follow are cheaper than the kinds that are left. state: OUT. Returns
    (gain, moves).
    """
    for with_cannot in (True, False):
        gain, n_moves = swap_chains(
            rows, order, cluster_of, model, tolerance, with_cannot, limit,
            margin, state, layers, scratch,
        )  # fmt: skip
        if n_moves > 0:
            return gain, n_moves
    return move_chunklets(
        rows, chunk_span, chunk_rows, cluster_of, model, tolerance, margin, state, layers, scratch
    )


# To the end


@part
def is_known(known, value, counts, ranked):
    """Whether a partition has the objective and the sizes of one of ``known`` (P, 1 + K).

    ranked (K): work space, the sizes in ascending order.
    """
    n_clusters = counts.shape[0]
    for k in range(n_clusters):
        h = k
        while h > 0 and ranked[h - 1] > counts[k]:
            ranked[h] = ranked[h - 1]
            h -= 1
        ranked[h] = counts[k]
    for p in range(known.shape[0]):
        same = abs(known[p, 0] - value) <= 1e-9 * (1.0 + abs(value))
        for k in range(n_clusters):
            same &= known[p, 1 + k] == ranked[k]
        if same:
            return True
    return False


@bare
def climb(
    rows, order, chunk_span, chunk_rows, known, cluster_of, model, value, tolerance, patience,
    limit, margin, state, layers, scratch,
):  # fmt: skip
    """Move rows one by one and together until no move gains above tolerance. state: OUT.

    Rows that would have lost more than ``patience``, and whose partners stayed, are visited only
    when nothing else gains. Ends early at a partition that is ``known`` (P, 1 + K: objectives, and
    sizes in ascending order): those are the ends of earlier climbs. value is the objective at the
    beginning. Returns the objective at the end, and the number of relocation tests.
    """
    n_tests = 0
    full = False
    for _ in range(MOST_ROUNDS):
        gain, n_moves, tested = sweep(
            rows, order, cluster_of, model, tolerance, np.inf if full else patience,
            margin, state, layers, scratch,
        )  # fmt: skip
        n_tests += tested
        value += gain
        if n_moves == 0 and not full:
            if is_known(known, value, state.counts, scratch.counts):
                break
            full = True
            continue
        if n_moves == 0:
            gain, n_moves = move_together(
                rows, order, chunk_span, chunk_rows, cluster_of, model, tolerance, limit,
                margin, state, layers, scratch,
            )  # fmt: skip
            value += gain
        if n_moves == 0:
            break
        full = False
    return objective(model, state, layers), n_tests


# Entry points from Python for searches that do more than climb. They are compiled when called,
# because unpacking the tuples of every kernel would take longer to compile than the kernels.


@bare
def relocate(rows, order, cluster_of, model, tolerance, patience, margin, state, layers, scratch):
    """A ``sweep``. Returns (objective, moves, tests)."""
    _, n_moves, n_tests = sweep(
        rows, order, cluster_of, model, tolerance, patience, margin, state, layers, scratch
    )
    return objective(model, state, layers), n_moves, n_tests


@bare
def relocate_together(
    rows, order, chunk_span, chunk_rows, cluster_of, model, tolerance, limit,
    margin, state, layers, scratch,
):  # fmt: skip
    """``move_together``. Returns (objective, moves)."""
    _, n_moves = move_together(
        rows, order, chunk_span, chunk_rows, cluster_of, model, tolerance, limit,
        margin, state, layers, scratch,
    )  # fmt: skip
    return objective(model, state, layers), n_moves
