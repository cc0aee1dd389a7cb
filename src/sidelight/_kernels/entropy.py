"""Structural entropy of a partition: merging modules, moving nodes, and the sums behind both.

A module X costs  f(V, c) = V log2 V - c (log2 max(V, floor) - log2 total),  where V is its volume
and c its cut in both graphs; log_total is log2 of total. The objective is the sum of f over the
modules, divided by the total volume, plus a constant. A node is a row or, on a higher level, a
whole module.

The relation between groups of rows is never expanded. The common weight of two modules X and Y in
it is the sum over g in X and h in Y of amount_X(g) tie(g, h) amount_Y(h). It is computed when it is
needed, with the amounts of modules in a hash table.
"""

from collections import namedtuple

import numpy as np

from sidelight._kernels._jit import bare, inlined, jit

# Nodes and edges. CSR rows of both graphs (linked: an edge of the data); pull: the gain of two
# nodes if they are in one module, a number for each edge or empty; volume and cut of each node.
Graph = namedtuple("Graph", ["indptr", "near", "weight", "linked", "pull", "volume", "cut"])

# Groups of rows. CSR: the amount of each group in a node (owner: its indptr); CSR over groups: the
# weight of a pair of rows of two groups; own: the common weight of each node with itself.
Groups = namedtuple(
    "Groups", ["owner", "group", "amount", "tie_indptr", "tie_group", "tie", "own"]
)  # fmt: skip

# Amounts of groups in modules: a hash table, (module, group) -> amount.
Table = namedtuple("Table", ["keys", "held"])

# log2 of the volume of the whole graph, and the smallest volume whose logarithm is taken.
Scale = namedtuple("Scale", ["log_total", "floor"])

# Where nodes may go. smallest: the least gain of a move. order: of the sweep. fence (or empty):
# nodes with different values never share a module. home: the module that holds most of each group.
Rules = namedtuple(
    "Rules",
    ["everywhere", "may_open", "may_empty", "only_single", "smallest", "order", "fence", "home"],
)

# A partition that changes. modules: see VOLUME; size of each; active: the nodes to be tried.
Partition = namedtuple("Partition", ["labels", "modules", "size", "active", "table"])

# Work space, one entry per module. drawn (zeros): the pulls from the node that is tried; touched:
# the modules around it; free: the empty modules, the next one last; fence: of the nodes inside.
Scratch = namedtuple("Scratch", ["drawn", "touched", "free", "fence"])

# The data of a module that a test of a move reads, side by side, so that it waits for memory once
# and not four times. COMMON is the common weight with the node that is tried, and zero in between.
VOLUME, CUT, COST, COMMON = range(4)
# Above this number of modules their sums do not fit into the cache.
MANY = 1 << 15
AHEAD = 32  # nodes whose modules are prefetched


@inlined
def cost(volume, cut, scale):
    """f(V, c) of one module."""
    if volume < scale.floor:  # rows without neighbours, or no row at all
        return -cut * (np.log2(scale.floor) - scale.log_total)
    height = np.log2(volume)
    return volume * height - cut * (height - scale.log_total)


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


# The hash table: open addressing, a free slot has key -1


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
def put_amount(table, module, group, n_groups, change):
    """Change the amount of a group in a module; returns 1 if the key is new."""
    slot = slot_of(table.keys, module, group, n_groups)
    if table.keys[slot] == -1:
        table.keys[slot] = module * n_groups + group
        table.held[slot] = change
        return 1
    table.held[slot] += change
    return 0


@bare
def fill_table(groups, labels, table):
    """The amount of every group in every module. table: OUT. Returns the number of keys."""
    n_groups = len(groups.tie_indptr) - 1
    table.keys[:] = -1
    n_keys = 0
    for v in range(len(labels)):
        for e in range(groups.owner[v], groups.owner[v + 1]):
            n_keys += put_amount(table, labels[v], groups.group[e], n_groups, groups.amount[e])
    return n_keys


@inlined
def shared_with_module(groups, v, module, table):
    """The common weight of node v and a module in the relation between groups."""
    n_groups = len(groups.tie_indptr) - 1
    total = 0.0
    for e in range(groups.owner[v], groups.owner[v + 1]):
        g = groups.group[e]
        for t in range(groups.tie_indptr[g], groups.tie_indptr[g + 1]):
            slot = slot_of(table.keys, module, groups.tie_group[t], n_groups)
            if table.keys[slot] != -1:
                total += groups.amount[e] * groups.tie[t] * table.held[slot]
    return total


@bare
def shared_inside(groups):
    """The common weight of each node with itself, counted from both sides. groups.own: OUT."""
    owner, group = groups.owner, groups.group
    for v in range(len(owner) - 1):
        total = 0.0
        for e in range(owner[v], owner[v + 1]):
            g = group[e]
            for t in range(groups.tie_indptr[g], groups.tie_indptr[g + 1]):
                for other in range(owner[v], owner[v + 1]):
                    if group[other] == groups.tie_group[t]:
                        total += groups.amount[e] * groups.tie[t] * groups.amount[other]
        groups.own[v] = total


@bare
def add_shared_edges(indptr, near, groups, table, weight):
    """Add to each edge the common weight of its ends in the relation of groups. weight: IN/OUT.

    The table has the amounts of nodes: every node is a module of its own.
    """
    owner = groups.owner
    for v in range(len(indptr) - 1):
        if owner[v] == owner[v + 1]:
            continue
        for e in range(indptr[v], indptr[v + 1]):
            u = np.int64(near[e])
            if owner[u] < owner[u + 1]:
                weight[e] += shared_with_module(groups, v, u, table)


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
def module_costs(volume, cut, scale, costs):
    """f(V, c) of every module. costs: OUT."""
    for x in range(len(volume)):
        costs[x] = cost(volume[x], cut[x], scale)


@bare
def weights_inside(graph, groups, labels, table, start, stop, inside):
    """The common weight of each node, from start to stop, and the others of its module.

    The table has to be filled. inside: OUT.
    """
    for v in range(start, stop):
        x = labels[v]
        total = 0.0
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            if labels[graph.near[e]] == x:
                total += graph.weight[e]
        if groups.owner[v] < groups.owner[v + 1]:
            total -= groups.own[v]
            total += shared_with_module(groups, v, x, table)
        inside[v] = total


@jit
def sum_modules(volume, cut, inside, labels, module_volume, module_cut, module_size):
    """Volumes, cuts and sizes of modules, from those of nodes and from `weights_inside`.

    module_volume, module_cut, module_size: OUT.
    """
    module_volume[:] = 0.0
    module_cut[:] = 0.0
    module_size[:] = 0
    for v in range(len(labels)):
        x = labels[v]
        module_volume[x] += volume[v]
        module_cut[x] += cut[v] - inside[v]
        module_size[x] += 1


# Moving


@inlined
def read_ahead(nodes, graph, fence, partition):
    """Prefetch the modules around some nodes, so that all reads wait at the same time.

    Returns 0 in a way that the compiler cannot foresee; otherwise it would drop the reads.
    """
    lowest = 0.0
    for at in range(len(nodes)):
        v = nodes[at]
        if partition.active[v]:
            for e in range(graph.indptr[v], graph.indptr[v + 1]):
                u = graph.near[e]
                if len(fence) == 0 or fence[u] == fence[v]:
                    lowest = min(lowest, partition.modules[partition.labels[u], COMMON])
    return int(lowest < 0.0)


@inlined
def list_modules(rules, partition, scratch):
    """The empty modules, and the fence of the others. scratch: OUT. Returns how many are empty."""
    n_free = 0
    scratch.fence[:] = -1
    for v in range(len(rules.fence)):
        scratch.fence[partition.labels[v]] = rules.fence[v]
    for x in range(len(partition.size) - 1, -1, -1):
        if partition.size[x] == 0:
            scratch.free[n_free] = x
            n_free += 1
    return n_free


@inlined
def gather_edges(v, graph, fence, partition, scratch):
    """The common weight of node v and the modules around it, by edges. Returns their number.

    The COMMON of modules, scratch.drawn, scratch.touched: OUT.
    """
    modules, touched = partition.modules, scratch.touched
    n_touched = 0
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        if len(fence) and fence[graph.near[e]] != fence[v]:
            continue
        y = partition.labels[graph.near[e]]
        # Without a branch, which could not be predicted. If a sum returns to zero, touched may list
        # a module twice, which does no harm.
        touched[n_touched] = y
        n_touched += modules[y, COMMON] == 0.0
        modules[y, COMMON] += graph.weight[e]
        if len(graph.pull):
            scratch.drawn[y] += graph.pull[e]
    return n_touched


@inlined
def forget_edges(n_touched, graph, partition, scratch):
    """Reset what `gather_edges` has filled in to zero."""
    for t in range(n_touched):
        partition.modules[scratch.touched[t], COMMON] = 0.0
        if len(graph.pull):
            scratch.drawn[scratch.touched[t]] = 0.0


@inlined
def without_node(v, graph, groups, scale, partition):
    """Volume, cut and cost of the module of node v when v has left it."""
    x = partition.labels[v]
    own = partition.modules[x, COMMON]
    if groups.owner[v] < groups.owner[v + 1]:
        own -= groups.own[v]
        own += shared_with_module(groups, v, x, partition.table)
    volume = partition.modules[x, VOLUME] - graph.volume[v]
    cut = partition.modules[x, CUT] - graph.cut[v] + 2.0 * own
    if partition.size[x] == 1:
        volume = cut = 0.0
    return volume, cut, cost(volume, cut, scale)


@inlined
def candidate(c, v, n_touched, n_candidates, n_free, groups, rules, partition, scratch):
    """Candidate number c among the modules for node v; -1 if it is not allowed.

    First those around it, then all or the homes of its groups, last an empty one.
    """
    if c < n_touched:
        y = scratch.touched[c]
    elif c == n_candidates:
        y = scratch.free[n_free - 1]
    elif rules.everywhere:
        y = c - n_touched
    else:
        y = rules.home[groups.group[groups.owner[v] + c - n_touched]]
    if y == partition.labels[v] or y < 0:
        return -1
    if n_touched <= c < n_candidates and (
        partition.size[y] == 0 or (len(rules.fence) > 0 and scratch.fence[y] != rules.fence[v])
    ):
        return -1
    return y


@inlined
def best_module(v, left_cost, n_touched, n_free, graph, groups, scale, rules, partition, scratch):
    """The best module for node v: its number, gain, volume, cut and cost; and the tests made.

    Its own unless another gains more than ``rules.smallest``; ties go to the lowest number.
    """
    modules, x = partition.modules, partition.labels[v]
    has_groups = groups.owner[v] < groups.owner[v + 1]
    stay = modules[x, COST] - left_cost
    if len(graph.pull):
        stay -= scratch.drawn[x]
    best, best_gain = x, rules.smallest
    best_volume = best_cut = best_cost = 0.0
    n_candidates = n_touched
    if rules.everywhere:
        n_candidates += len(modules)
    elif has_groups:
        n_candidates += groups.owner[v + 1] - groups.owner[v]
    opens = rules.may_open and partition.size[x] > 1 and n_free > 0
    n_tests = 0
    for c in range(n_candidates + opens):
        y = candidate(c, v, n_touched, n_candidates, n_free, groups, rules, partition, scratch)
        if y < 0:
            continue
        shared = 0.0
        if c < n_candidates:
            shared = modules[y, COMMON]
            if has_groups:
                shared += shared_with_module(groups, v, y, partition.table)
        n_tests += 1
        new_volume = modules[y, VOLUME] + graph.volume[v]
        new_cut = modules[y, CUT] + graph.cut[v] - 2.0 * shared
        new_cost = cost(new_volume, new_cut, scale)
        gain = stay + modules[y, COST] - new_cost
        if len(graph.pull):
            gain += scratch.drawn[y]
        if gain > best_gain or (gain == best_gain and best != x and y < best):
            best, best_gain = y, gain
            best_volume, best_cut, best_cost = new_volume, new_cut, new_cost
    return best, best_gain, best_volume, best_cut, best_cost, n_tests


@inlined
def set_module(modules, x, volume, cut, module_cost):
    """Store the new sums of a module. modules: OUT."""
    modules[x, VOLUME], modules[x, CUT], modules[x, COST] = volume, cut, module_cost


@inlined
def move_node(v, best, n_free, n_keys, graph, groups, rules, partition, scratch):
    """Move node v to another module, and wake its neighbours elsewhere. partition: OUT.

    Returns the number of empty modules and that of keys in the table.
    """
    x, size, table = partition.labels[v], partition.size, partition.table
    if size[best] == 0:
        n_free -= 1
        if len(rules.fence):
            scratch.fence[best] = rules.fence[v]
    size[x] -= 1
    size[best] += 1
    if size[x] == 0:
        scratch.free[n_free] = x
        n_free += 1
    partition.labels[v] = best
    n_groups = len(groups.tie_indptr) - 1
    for e in range(groups.owner[v], groups.owner[v + 1]):
        g, amount = groups.group[e], groups.amount[e]
        put_amount(table, x, g, n_groups, -amount)
        n_keys += put_amount(table, best, g, n_groups, amount)
    if 2 * n_keys > len(table.keys):  # remove the keys of amounts that are gone
        n_keys = fill_table(groups, partition.labels, table)
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        if partition.labels[graph.near[e]] != best:
            partition.active[graph.near[e]] = True
    return n_free, n_keys


@bare
def move_nodes(graph, groups, scale, rules, partition, scratch):
    """Move each active node, in the given order, to its best module: one sweep.

    Candidates are the modules that the node has an edge to, ``home`` of its groups (the module
    that holds most of a group), an empty one if ``may_open``, and all modules if ``everywhere``.
    With a fence, a module is a candidate only for nodes with its fence, equal for all its nodes.
    Ties go to the lowest number, and staying wins unless the gain exceeds ``smallest``.
    partition: IN/OUT. Returns the sum of the gains, the moves and the tests of moves.
    """
    modules, size = partition.modules, partition.size
    n_free = list_modules(rules, partition, scratch)
    n_keys = fill_table(groups, partition.labels, partition.table)
    gained, n_moves, n_tests = 0.0, 0, 0
    for at in range(len(partition.labels)):
        if len(modules) > MANY and at % AHEAD == 0:
            n_tests += read_ahead(rules.order[at : at + AHEAD], graph, rules.fence, partition)
        v = rules.order[at]
        if not partition.active[v]:
            continue
        partition.active[v] = False
        x = partition.labels[v]
        if (size[x] == 1 and not rules.may_empty) or (rules.only_single and size[x] > 1):
            continue
        n_touched = gather_edges(v, graph, rules.fence, partition, scratch)
        volume, cut, left_cost = without_node(v, graph, groups, scale, partition)
        best, gain, new_volume, new_cut, new_cost, n_more = best_module(
            v, left_cost, n_touched, n_free, graph, groups, scale, rules, partition, scratch
        )
        n_tests += n_more
        forget_edges(n_touched, graph, partition, scratch)
        if best == x:
            continue
        set_module(modules, x, volume, cut, left_cost)
        set_module(modules, best, new_volume, new_cut, new_cost)
        n_free, n_keys = move_node(
            v, best, n_free, n_keys, graph, groups, rules, partition, scratch
        )
        gained += gain
        n_moves += 1
    return gained, n_moves, n_tests


@bare
def find_homes(groups, labels, table, home, most):
    """For each group the module that holds most of it, the lowest on a tie. home: OUT."""
    n_groups = len(home)
    fill_table(groups, labels, table)
    home[:] = -1
    most[:] = 0.0
    for slot in range(len(table.keys)):
        if table.keys[slot] == -1:
            continue
        x, g = table.keys[slot] // n_groups, table.keys[slot] % n_groups
        held = table.held[slot]
        if held > most[g] or (held == most[g] and x < home[g]):
            home[g], most[g] = x, held


# The same level in another order, and the next one


@jit
def reorder_rows(indptr, order, values, out):
    """The rows of CSR data in another order, or some of them. out: OUT."""
    filled = 0
    for k in range(len(order)):
        v = order[k]
        for e in range(indptr[v], indptr[v + 1]):
            out[filled] = values[e]
            filled += 1


@bare
def aggregate_edges(graph, labels, members, start, stop, filled, out, place):
    """Edges between modules, rows not sorted, and volumes and cuts of modules.

    members: the nodes, module by module, of which those from start to stop are used; filled: where
    their edges begin, or go on. out (a Graph): OUT, one entry per edge, or one per
    module; the cuts do not include the relation between groups inside a module. place (-1):
    scratch, one per module. Returns where the edges end.
    """
    current = labels[members[start - 1]] if start > 0 else -1
    for m in range(start, stop):
        v = members[m]
        x = labels[v]
        if x != current:
            current = x
            out.indptr[x] = filled
            out.volume[x] = out.cut[x] = 0.0
        first = out.indptr[x]
        inside = 0.0
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            y = labels[graph.near[e]]
            if y == x:
                inside += graph.weight[e]
                continue
            if place[y] < first:  # from a module before, or from none
                place[y] = filled
                out.near[filled], out.weight[filled], out.linked[filled] = y, 0.0, False
                if len(graph.pull):
                    out.pull[filled] = 0.0
                filled += 1
            p = place[y]
            out.weight[p] += graph.weight[e]
            out.linked[p] |= graph.linked[e]
            if len(graph.pull):
                out.pull[p] += graph.pull[e]
        out.volume[x] += graph.volume[v]
        out.cut[x] += graph.cut[v] - inside
    return filled


@bare
def aggregate_entries(groups, members, member_indptr, out, place):
    """The amounts of each group in modules. Returns the number of entries.

    out.owner, out.group, out.amount: OUT, the last two as long as the entries. place (-1): scratch,
    one per group.
    """
    filled = 0
    out.owner[0] = 0
    for x in range(len(member_indptr) - 1):
        first = filled
        for m in range(member_indptr[x], member_indptr[x + 1]):
            v = members[m]
            for e in range(groups.owner[v], groups.owner[v + 1]):
                g = groups.group[e]
                if place[g] < first:  # from a module before, or from none
                    place[g] = filled
                    out.group[filled], out.amount[filled] = g, 0.0
                    filled += 1
                out.amount[place[g]] += groups.amount[e]
        out.owner[x + 1] = filled
    return filled
