"""Structural entropy of a partition: merging modules, moving nodes, and the sums behind both.

A module X costs  f(V, c) = V log2 V - c (log2 max(V, floor) - log2 total),  where V is its volume
and c its cut in both graphs; log_total is log2 total. The objective is the sum of f over the
modules, divided by the total volume, plus a constant. A node is a row or, on a higher level, a
whole module.

The arrays of a level, in this order everywhere:
indptr, near, weight, linked   CSR rows, sorted, of both graphs; linked: an edge of the data
pull                           what two nodes gain by being together, whatever their module: empty,
                               or one number for each edge
volume, cut                    of each node
owner, group, amount           CSR: what a node holds of each group of rows (owner: its indptr)
tie_indptr, tie_group, tie     CSR over groups: what a pair of rows of two groups weighs

The relation between groups is never expanded: what two modules X and Y have in common there is the
sum over g in X and h in Y of amount_X(g) tie(g, h) amount_Y(h), and is computed when it is needed,
with the amounts of modules in a hash table.
"""

import numpy as np

from sidelight._kernels._jit import inlined, jit

# What a test of a move reads of a module, side by side: it waits for memory once, not four times.
# COMMON is what the module has in common with the node that is tried, and zero in between.
VOLUME, CUT, COST, COMMON = range(4)
# So many modules, and what is known of them does not fit into the cache.
MANY = 1 << 15
AHEAD = 32  # nodes for which it is read ahead


@inlined
def cost(volume, cut, log_total, floor):
    """f(V, c) of one module."""
    if volume < floor:  # rows without neighbours, or no row at all
        return -cut * (np.log2(floor) - log_total)
    height = np.log2(volume)
    return volume * height - cut * (height - log_total)


@jit
def number_by_first(labels, number, out):
    """Number values by where they first stand. number (-1): scratch, one per value; out: OUT.

    Returns how many there are.
    """
    n_found = 0
    for v in range(len(labels)):
        if number[labels[v]] < 0:
            number[labels[v]] = n_found
            n_found += 1
        out[v] = number[labels[v]]
    return n_found


# The hash table: (module, group) -> place; open addressing, a free slot has key -1


@inlined
def slot_of(keys, module, group, n_groups):
    """Where the key is, or where it would go."""
    key = module * n_groups + group
    mask = len(keys) - 1
    slot = ((key * np.int64(-7046029254386353131)) >> np.int64(20)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@inlined
def put_amount(keys, held, module, group, n_groups, change):
    """Change what a module holds of a group; returns 1 if the key is new."""
    slot = slot_of(keys, module, group, n_groups)
    if keys[slot] == -1:
        keys[slot] = module * n_groups + group
        held[slot] = change
        return 1
    held[slot] += change
    return 0


@jit
def fill_table(owner, group, amount, n_groups, labels, keys, held):
    """What every module holds of every group. keys, held: OUT. Returns the number of keys."""
    keys[:] = -1
    n_keys = 0
    for v in range(len(labels)):
        for e in range(owner[v], owner[v + 1]):
            n_keys += put_amount(keys, held, labels[v], group[e], n_groups, amount[e])
    return n_keys


@inlined
def shared_with_module(
    owner, group, amount, tie_indptr, tie_group, tie, v, module, n_groups, keys, held
):
    """What node v and a module have in common in the relation between groups."""
    total = 0.0
    for e in range(owner[v], owner[v + 1]):
        g = group[e]
        for t in range(tie_indptr[g], tie_indptr[g + 1]):
            slot = slot_of(keys, module, tie_group[t], n_groups)
            if keys[slot] != -1:
                total += amount[e] * tie[t] * held[slot]
    return total


@jit
def shared_inside(owner, group, amount, tie_indptr, tie_group, tie, out):
    """What each node has in common with itself, counted from both sides. out: OUT."""
    for v in range(len(owner) - 1):
        total = 0.0
        for e in range(owner[v], owner[v + 1]):
            g = group[e]
            for t in range(tie_indptr[g], tie_indptr[g + 1]):
                for other in range(owner[v], owner[v + 1]):
                    if group[other] == tie_group[t]:
                        total += amount[e] * tie[t] * amount[other]
        out[v] = total


@jit
def add_shared_edges(
    indptr, near, owner, group, amount, tie_indptr, tie_group, tie, n_groups, keys, held, weight
):
    """Add to each edge what its ends have in common between groups. weight: IN/OUT.

    The table holds what each node holds: every node a module of its own.
    """
    for v in range(len(indptr) - 1):
        if owner[v] == owner[v + 1]:
            continue
        for e in range(indptr[v], indptr[v + 1]):
            u = near[e]
            if owner[u] < owner[u + 1]:
                weight[e] += shared_with_module(
                    owner, group, amount, tie_indptr, tie_group, tie, v, u, n_groups, keys, held
                )


@jit
def add_graphs(
    indptr, indices, data, other_indptr, other_indices, other_data,
    out_indptr, out_near, out_weight, out_linked,
):  # fmt: skip
    """The sum of two graphs with sorted rows, sums of zero kept; linked: edges of the first.

    out_*: OUT, as long as both. Returns the number of edges.
    """
    filled = 0
    out_indptr[0] = 0
    for i in range(len(indptr) - 1):
        s, t = indptr[i], other_indptr[i]
        s_end, t_end = indptr[i + 1], other_indptr[i + 1]
        while s < s_end or t < t_end:
            here = s < s_end and (t == t_end or indices[s] <= other_indices[t])
            there = t < t_end and (s == s_end or other_indices[t] <= indices[s])
            out_near[filled] = indices[s] if here else other_indices[t]
            out_weight[filled] = (data[s] if here else 0.0) + (other_data[t] if there else 0.0)
            out_linked[filled] = here
            filled += 1
            s += here
            t += there
        out_indptr[i + 1] = filled
    return filled


@jit
def module_costs(volume, cut, log_total, floor, costs):
    """f(V, c) of every module. costs: OUT."""
    for x in range(len(volume)):
        costs[x] = cost(volume[x], cut[x], log_total, floor)


# Moving


@jit
def sum_modules(volume, cut, indptr, near, weight, owner, group, amount,
                tie_indptr, tie_group, tie, self_shared, labels, keys, held,
                n_groups, module_volume, module_cut, module_size):  # fmt: skip
    """Volumes, cuts and sizes of modules, from scratch; the table has to be filled.

    module_volume, module_cut, module_size: OUT.
    """
    module_volume[:] = 0.0
    module_cut[:] = 0.0
    module_size[:] = 0
    for v in range(len(labels)):
        x = labels[v]
        module_volume[x] += volume[v]
        inside = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            if labels[near[e]] == x:
                inside += weight[e]
        if owner[v] < owner[v + 1]:
            inside -= self_shared[v]
            inside += shared_with_module(
                owner, group, amount, tie_indptr, tie_group, tie, v, x, n_groups, keys, held
            )
        module_cut[x] += cut[v] - inside
        module_size[x] += 1


@inlined
def read_ahead(nodes, active, indptr, near, fence, labels, modules):
    """Bring the modules around some nodes into the cache: here all reads wait at the same time.

    Returns 0, which the compiler does not know: it would leave the reading out.
    """
    lowest = 0.0
    for at in range(len(nodes)):
        v = nodes[at]
        if active[v]:
            for e in range(indptr[v], indptr[v + 1]):
                if len(fence) == 0 or fence[near[e]] == fence[v]:
                    lowest = min(lowest, modules[labels[near[e]], COMMON])
    return int(lowest < 0.0)


@jit
def move_nodes(
    indptr, near, weight, linked, pull, volume, cut, owner, group, amount,
    tie_indptr, tie_group, tie, self_shared, order, fence, home, log_total, floor, smallest,
    everywhere, may_open, may_empty, only_single,
    labels, modules, size, active, keys, held, drawn, touched, free,
):  # fmt: skip
    """Move each active node, in the given order, to its best module: one sweep.

    Candidates are the modules that the node has an edge to, ``home`` of its groups (the module
    that holds most of a group), an empty one if ``may_open``, and all modules if ``everywhere``.
    With a fence, a module is a candidate only for nodes with its fence, equal for all its nodes.
    Ties go to the lowest number, and staying wins unless the gain exceeds ``smallest``.
    labels, modules (see ``VOLUME``), their size, active, keys, held: IN/OUT. drawn (zeros, one for
    each module if anything pulls), touched, free: scratch; free lists empty modules. Returns the
    sum of the gains, the moves and the tests of moves.
    """
    n, n_modules, n_groups = len(labels), len(modules), len(tie_indptr) - 1
    module_fence = np.full(n_modules if len(fence) else 0, -1, dtype=np.int64)
    n_free = 0
    for v in range(len(fence)):
        module_fence[labels[v]] = fence[v]
    for x in range(n_modules - 1, -1, -1):
        if size[x] == 0:
            free[n_free] = x
            n_free += 1
    n_keys = fill_table(owner, group, amount, n_groups, labels, keys, held)
    gained, n_moves, n_tests = 0.0, 0, 0
    for at in range(n):
        if n_modules > MANY and at % AHEAD == 0:
            n_tests += read_ahead(
                order[at : at + AHEAD], active, indptr, near, fence, labels, modules
            )
        v = order[at]
        if not active[v]:
            continue
        active[v] = False
        x = labels[v]
        if size[x] == 1 and not may_empty:
            continue
        if only_single and size[x] > 1:
            continue
        has_groups = owner[v] < owner[v + 1]
        n_touched = 0
        for e in range(indptr[v], indptr[v + 1]):
            if len(fence) and fence[near[e]] != fence[v]:
                continue
            y = labels[near[e]]
            # Counted, not decided: new or not is anybody's guess. A sum may come back to zero:
            # touched may then list a module twice, harmless.
            touched[n_touched] = y
            n_touched += modules[y, COMMON] == 0.0
            modules[y, COMMON] += weight[e]
            if len(pull):
                drawn[y] += pull[e]
        own = modules[x, COMMON]
        if has_groups:
            own -= self_shared[v]
            own += shared_with_module(
                owner, group, amount, tie_indptr, tie_group, tie, v, x, n_groups, keys, held
            )
        left_volume = modules[x, VOLUME] - volume[v]
        left_cut = modules[x, CUT] - cut[v] + 2.0 * own
        if size[x] == 1:
            left_volume = left_cut = 0.0
        left_cost = cost(left_volume, left_cut, log_total, floor)
        stay = modules[x, COST] - left_cost
        if len(pull):
            stay -= drawn[x]
        best, best_gain = x, smallest
        best_volume = best_cut = best_cost = 0.0
        n_candidates = n_touched
        if everywhere:
            n_candidates += n_modules
        elif has_groups:
            n_candidates += owner[v + 1] - owner[v]
        opens = may_open and size[x] > 1 and n_free > 0
        for c in range(n_candidates + opens):
            if c < n_touched:
                y = touched[c]
            elif c == n_candidates:
                y = free[n_free - 1]
            elif everywhere:
                y = c - n_touched
            else:
                y = home[group[owner[v] + c - n_touched]]
            if y == x or y < 0:
                continue
            if n_touched <= c < n_candidates and (
                size[y] == 0 or (len(fence) > 0 and module_fence[y] != fence[v])
            ):
                continue
            shared = 0.0
            if c < n_candidates:
                shared = modules[y, COMMON]
                if has_groups:
                    shared += shared_with_module(
                        owner, group, amount, tie_indptr, tie_group, tie, v, y, n_groups, keys, held
                    )
            n_tests += 1
            new_volume = modules[y, VOLUME] + volume[v]
            new_cut = modules[y, CUT] + cut[v] - 2.0 * shared
            new_cost = cost(new_volume, new_cut, log_total, floor)
            gain = stay + modules[y, COST] - new_cost
            if len(pull):
                gain += drawn[y]
            if gain > best_gain or (gain == best_gain and best != x and y < best):
                best, best_gain = y, gain
                best_volume, best_cut, best_cost = new_volume, new_cut, new_cost
        for t in range(n_touched):
            modules[touched[t], COMMON] = 0.0
            if len(pull):
                drawn[touched[t]] = 0.0
        if best == x:
            continue
        if size[best] == 0:
            n_free -= 1
            if len(fence):
                module_fence[best] = fence[v]
        modules[x, VOLUME], modules[x, CUT], modules[x, COST] = left_volume, left_cut, left_cost
        modules[best, VOLUME], modules[best, CUT] = best_volume, best_cut
        modules[best, COST] = best_cost
        size[x] -= 1
        size[best] += 1
        if size[x] == 0:
            free[n_free] = x
            n_free += 1
        labels[v] = best
        gained += best_gain
        n_moves += 1
        for e in range(owner[v], owner[v + 1]):
            put_amount(keys, held, x, group[e], n_groups, -amount[e])
            n_keys += put_amount(keys, held, best, group[e], n_groups, amount[e])
        if 2 * n_keys > len(keys):  # keys of amounts that went away: clear them out
            n_keys = fill_table(owner, group, amount, n_groups, labels, keys, held)
        for e in range(indptr[v], indptr[v + 1]):
            if labels[near[e]] != best:
                active[near[e]] = True
    return gained, n_moves, n_tests


@jit
def find_homes(owner, group, amount, n_groups, labels, keys, held, home, most):
    """For each group the module that holds most of it, the lowest on a tie. home: OUT."""
    fill_table(owner, group, amount, n_groups, labels, keys, held)
    home[:] = -1
    most[:] = 0.0
    for slot in range(len(keys)):
        if keys[slot] == -1:
            continue
        x, g = keys[slot] // n_groups, keys[slot] % n_groups
        if held[slot] > most[g] or (held[slot] == most[g] and x < home[g]):
            home[g], most[g] = x, held[slot]


# The same level in another order, and the next one


@jit
def reorder_rows(indptr, order, values, out_indptr, out):
    """The rows of CSR data in another order. out_indptr, out: OUT."""
    filled = 0
    out_indptr[0] = 0
    for k in range(len(order)):
        v = order[k]
        for e in range(indptr[v], indptr[v + 1]):
            out[filled] = values[e]
            filled += 1
        out_indptr[k + 1] = filled


@jit
def aggregate_edges(
    indptr, near, weight, linked, pull, volume, cut, labels, members, member_indptr,
    out_indptr, out_near, out_weight, out_linked, out_pull, out_volume, out_cut, place,
):  # fmt: skip
    """Edges between modules, rows not sorted, and what modules have of both graphs' edges.

    out_*: OUT, as long as the edges, or one per module; the cuts are those without what nodes of a
    module have in common between groups. place (-1): scratch, one per module. Returns the number of
    edges.
    """
    filled = 0
    out_indptr[0] = 0
    for x in range(len(member_indptr) - 1):
        first = filled
        out_volume[x] = out_cut[x] = 0.0
        for m in range(member_indptr[x], member_indptr[x + 1]):
            v = members[m]
            inside = 0.0
            for e in range(indptr[v], indptr[v + 1]):
                y = labels[near[e]]
                if y == x:
                    inside += weight[e]
                    continue
                if place[y] < first:  # from a module before, or from none
                    place[y] = filled
                    out_near[filled], out_weight[filled], out_linked[filled] = y, 0.0, False
                    if len(pull):
                        out_pull[filled] = 0.0
                    filled += 1
                p = place[y]
                out_weight[p] += weight[e]
                out_linked[p] |= linked[e]
                if len(pull):
                    out_pull[p] += pull[e]
            out_volume[x] += volume[v]
            out_cut[x] += cut[v] - inside
        out_indptr[x + 1] = filled
    return filled


@jit
def aggregate_entries(
    owner, group, amount, members, member_indptr, out_owner, out_group, out_amount, place
):
    """What modules hold of each group. Returns the number of entries.

    out_owner, out_group, out_amount: OUT, the last two as long as the entries. place (-1): scratch,
    one per group.
    """
    filled = 0
    out_owner[0] = 0
    for x in range(len(member_indptr) - 1):
        first = filled
        for m in range(member_indptr[x], member_indptr[x + 1]):
            v = members[m]
            for e in range(owner[v], owner[v + 1]):
                g = group[e]
                if place[g] < first:  # from a module before, or from none
                    place[g] = filled
                    out_group[filled], out_amount[filled] = g, 0.0
                    filled += 1
                out_amount[place[g]] += amount[e]
        out_owner[x + 1] = filled
    return filled
