"""Greedy merging of modules, best pair first, for the structural entropy of a partition.

Every module knows its best partner, and a heap over the modules knows the best of all. A merge
builds one row from two, renames the merged module in the rows of its neighbours, and looks again at
the pairs that changed. Rows lie in one pool; they only ever shrink in total, so that a pool with
some room to spare is compacted now and then and never grows. Arrays are named as in ``entropy``.
"""

import numpy as np

from sidelight._kernels._jit import jit
from sidelight._kernels.entropy import cost, slot_of


@jit
def pair_gain(x, y, weight, volume, cut, costs, log_total, floor, stretching):
    """How much the sum of costs falls if x and y merge, or if they get a node of their own."""
    both_volume, both_cut = volume[x] + volume[y], cut[x] + cut[y] - 2.0 * weight
    if stretching:
        depth = log_total - np.log2(max(both_volume, floor))
        gain = (costs[x] + costs[y] - both_cut) * depth
        # A sum of many weak edges must not make a large module swallow all others, one by one.
        return gain if stretching == 1 else gain / np.sqrt(volume[x] * volume[y])
    return costs[x] + costs[y] - cost(both_volume, both_cut, log_total, floor)


@jit
def comes_before(x, y, sign, gain, partner, name):
    """Whether the best pair of module x goes before that of y: by sign, gain, lowest names."""
    if sign[x] != sign[y]:
        return sign[x] > sign[y]
    if gain[x] != gain[y]:
        return gain[x] > gain[y]
    if partner[x] < 0 or partner[y] < 0:
        return False
    low_x, high_x = min(name[x], name[partner[x]]), max(name[x], name[partner[x]])
    low_y, high_y = min(name[y], name[partner[y]]), max(name[y], name[partner[y]])
    return low_x < low_y or (low_x == low_y and high_x < high_y)


@jit
def sink(place, heap, where, sign, gain, partner, name):
    """Move the module at this place of the heap down, below all that come before it."""
    x = heap[place]
    while True:
        child = 2 * place + 1
        if child >= len(heap):
            break
        if child + 1 < len(heap) and comes_before(
            heap[child + 1], heap[child], sign, gain, partner, name
        ):
            child += 1
        if not comes_before(heap[child], x, sign, gain, partner, name):
            break
        heap[place] = heap[child]
        where[heap[place]] = place
        place = child
    heap[place] = x
    where[x] = place


@jit
def settle(place, heap, where, sign, gain, partner, name):
    """Put the module at this place of the heap where it belongs, up or down."""
    x = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not comes_before(x, heap[parent], sign, gain, partner, name):
            break
        heap[place] = heap[parent]
        where[heap[place]] = place
        place = parent
    heap[place] = x
    where[x] = place
    sink(place, heap, where, sign, gain, partner, name)


@jit
def find_best(
    x, start, length, near, weight, linked, relation, must_first,
    volume, cut, costs, name, log_total, floor, stretching, lowest, sign, gain, partner,
):  # fmt: skip
    """Look for the best linked partner of module x, with a gain of ``lowest`` or more.

    sign, gain, partner: OUT.
    """
    sign[x], gain[x], partner[x] = -2, -np.inf, -1
    for e in range(start[x], start[x] + length[x]):
        if not linked[e]:
            continue
        y = near[e]
        new_gain = pair_gain(x, y, weight[e], volume, cut, costs, log_total, floor, stretching)
        if not new_gain >= lowest:
            continue
        new_sign = 0
        if must_first:
            new_sign = 1 if relation[e] > 0 else (-1 if relation[e] < 0 else 0)
        better = new_sign > sign[x] or (new_sign == sign[x] and new_gain > gain[x])
        if new_sign == sign[x] and new_gain == gain[x]:
            better = name[y] < name[partner[x]]
        if better:
            sign[x], gain[x], partner[x] = new_sign, new_gain, y


@jit
def shared_by_modules(
    x, y, head, following, entry_group, entry_amount, n_entries,
    tie_indptr, tie_group, tie, n_groups, keys, entry,
):  # fmt: skip
    """What two modules have in common in the relation between groups."""
    if n_entries[x] == 0 or n_entries[y] == 0:
        return 0.0
    if n_entries[y] < n_entries[x]:
        x, y = y, x
    total = 0.0
    e = head[x]
    while e >= 0:
        g = entry_group[e]
        for t in range(tie_indptr[g], tie_indptr[g + 1]):
            slot = slot_of(keys, y, tie_group[t], n_groups)
            if keys[slot] != -1:
                total += entry_amount[e] * tie[t] * entry_amount[entry[slot]]
        e = following[e]
    return total


@jit
def unite_entries(
    x, y, head, following, entry_group, entry_amount, n_entries, n_groups, keys, entry
):
    """Give all entries of module x to module y. Returns the number of new keys."""
    n_new = 0
    e = head[x]
    while e >= 0:
        after = following[e]
        slot = slot_of(keys, y, entry_group[e], n_groups)
        if keys[slot] != -1:
            entry_amount[entry[slot]] += entry_amount[e]
        else:
            keys[slot] = y * n_groups + entry_group[e]
            entry[slot] = e
            following[e] = head[y]
            head[y] = e
            n_entries[y] += 1
            n_new += 1
        e = after
    head[x] = -1
    n_entries[x] = 0
    return n_new


@jit
def rebuild_keys(head, following, entry_group, n_groups, keys, entry):
    """Forget the keys of modules that are gone. Returns the number of keys."""
    keys[:] = -1
    n_keys = 0
    for x in range(len(head)):
        e = head[x]
        while e >= 0:
            slot = slot_of(keys, x, entry_group[e], n_groups)
            keys[slot] = x * n_groups + entry_group[e]
            entry[slot] = e
            n_keys += 1
            e = following[e]
    return n_keys


@jit
def compact(start, length, near, weight, linked, relation, by_start):
    """Close the gaps in the pool; by_start: modules in the order of their rows. Returns its end."""
    end = 0
    for k in range(len(by_start)):
        x = by_start[k]
        s = start[x]
        start[x] = end
        for e in range(s, s + length[x]):
            near[end] = near[e]
            weight[end] = weight[e]
            linked[end] = linked[e]
            if len(relation):
                relation[end] = relation[e]
            end += 1
    return end


@jit
def place_of(near, low, high, y):
    """The first place in near[low:high], sorted, that is not below y."""
    while low < high:
        middle = (low + high) // 2
        if near[middle] < y:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def rename(z, x, y, new_weight, new_linked, new_relation, start, length, near, weight, linked,
           relation):  # fmt: skip
    """In the row of z, replace x and y by y alone, in its place."""
    first = start[z]
    last = first + length[z]
    gone = place_of(near, first, last, x)
    here = place_of(near, first, last, y)
    has_x = gone < last and near[gone] == x
    has_y = here < last and near[here] == y
    if has_x and has_y:
        for e in range(gone, last - 1):
            near[e], weight[e], linked[e] = near[e + 1], weight[e + 1], linked[e + 1]
            if len(relation):
                relation[e] = relation[e + 1]
        length[z] -= 1
        here -= gone < here
    elif has_x:  # shift what lies between the old place and the new one
        if gone < here:
            here -= 1
            for e in range(gone, here):
                near[e], weight[e], linked[e] = near[e + 1], weight[e + 1], linked[e + 1]
                if len(relation):
                    relation[e] = relation[e + 1]
        else:
            for e in range(gone, here, -1):
                near[e], weight[e], linked[e] = near[e - 1], weight[e - 1], linked[e - 1]
                if len(relation):
                    relation[e] = relation[e - 1]
    near[here], weight[here], linked[here] = y, new_weight, new_linked
    if len(relation):
        relation[here] = new_relation


@jit
def merge_modules(
    start, length, near, weight, linked, relation, end, volume, cut,
    head, following, entry_group, entry_amount, n_entries, tie_indptr, tie_group, tie,
    log_total, floor, must_first, stretching, n_wanted, lowest,
    parent, gone, cut_then, name, costs, sign, gain, partner, heap, where, keys, entry,
):  # fmt: skip
    """Merge linked modules, best pair first, until no pair is left or n_wanted modules remain.

    The pool (near, weight, linked, relation) holds the row of module x from start[x] on and is free
    from ``end``; relation is empty unless must_first, which merges pairs with more must-links than
    cannot-links before others. A pair merges only if its gain is at least ``lowest``. parent: OUT,
    the module into which each module went, itself if it remains; gone, cut_then: OUT, the modules
    that went, in their order, and the cut of the module that came out. All other arrays are used
    up.
    With ``stretching`` merged modules stay below the new one, as in a tree; costs then come in as
    the cuts that count for single nodes (Eq. 3.12).
    Returns the number of modules, the sum of the gains and the number of steps in the heap.
    """
    n, n_groups = len(start), len(tie_indptr) - 1
    n_keys = rebuild_keys(head, following, entry_group, n_groups, keys, entry)
    for x in range(n):
        parent[x] = name[x] = heap[x] = where[x] = x
        if not stretching:
            costs[x] = cost(volume[x], cut[x], log_total, floor)
    for x in range(n):
        find_best(x, start, length, near, weight, linked, relation, must_first, volume, cut,
                  costs, name, log_total, floor, stretching, lowest, sign, gain,
                  partner)  # fmt: skip
    for place in range(n // 2 - 1, -1, -1):
        sink(place, heap, where, sign, gain, partner, name)
    n_left, gained, n_steps = n, 0.0, n // 2
    while n_left > n_wanted:
        y = heap[0]
        x = partner[y]
        if x < 0:
            break
        if length[x] > length[y]:
            x, y = y, x  # x goes into y, the one with the longer row
        if end + length[x] + length[y] > len(near):
            live = np.flatnonzero(parent == np.arange(n))
            end = compact(start, length, near, weight, linked, relation,
                          live[np.argsort(start[live], kind="mergesort")])  # fmt: skip
        s, s_end, t, t_end = start[x], start[x] + length[x], start[y], start[y] + length[y]
        first, between = end, 0.0
        while s < s_end or t < t_end:
            here = s < s_end and (t == t_end or near[s] <= near[t])
            there = t < t_end and (s == s_end or near[t] <= near[s])
            z = near[s] if here else near[t]
            if z in (x, y):
                between = weight[s] if here else weight[t]
                s += here
                t += there
                continue
            value = (weight[s] if here else 0.0) + (weight[t] if there else 0.0)
            ties = 0.0
            if must_first:
                ties = (relation[s] if here else 0.0) + (relation[t] if there else 0.0)
            if not (here and there):
                extra = shared_by_modules(
                    y if here else x, z, head, following, entry_group, entry_amount, n_entries,
                    tie_indptr, tie_group, tie, n_groups, keys, entry,
                )  # fmt: skip
                value += extra
                ties += extra
            near[end] = z
            weight[end] = value
            linked[end] = (here and linked[s]) or (there and linked[t])
            if must_first:
                relation[end] = ties
            end += 1
            s += here
            t += there
        gained += pair_gain(x, y, between, volume, cut, costs, log_total, floor, stretching)
        start[y], length[y], length[x] = first, end - first, 0
        volume[y] += volume[x]
        cut[y] += cut[x] - 2.0 * between
        costs[y] = cut[y] if stretching else cost(volume[y], cut[y], log_total, floor)
        name[y] = min(name[x], name[y])
        parent[x] = y
        gone[n - n_left], cut_then[n - n_left] = x, cut[y]
        n_left -= 1
        n_keys += unite_entries(x, y, head, following, entry_group, entry_amount, n_entries,
                                n_groups, keys, entry)  # fmt: skip
        if 2 * n_keys > len(keys):
            n_keys = rebuild_keys(head, following, entry_group, n_groups, keys, entry)
        sign[x], gain[x], partner[x] = -3, -np.inf, -1
        settle(where[x], heap, where, sign, gain, partner, name)
        n_steps += 1
        for e in range(first, end):
            z = near[e]
            ties = relation[e] if must_first else 0.0
            rename(z, x, y, weight[e], linked[e], ties, start, length, near, weight, linked,
                   relation)  # fmt: skip
            if partner[z] == x or partner[z] == y:
                find_best(z, start, length, near, weight, linked, relation, must_first, volume, cut,
                          costs, name, log_total, floor, stretching, lowest, sign, gain,
                          partner)  # fmt: skip
            elif linked[e]:
                new_gain = pair_gain(
                    y, z, weight[e], volume, cut, costs, log_total, floor, stretching
                )
                new_sign = 0
                if must_first:
                    new_sign = 1 if ties > 0 else (-1 if ties < 0 else 0)
                better = new_sign > sign[z] or (new_sign == sign[z] and new_gain > gain[z])
                if new_sign == sign[z] and new_gain == gain[z]:
                    better = name[y] < name[partner[z]]
                if not (better and new_gain >= lowest):
                    continue
                sign[z], gain[z], partner[z] = new_sign, new_gain, y
            else:
                continue
            settle(where[z], heap, where, sign, gain, partner, name)
            n_steps += 1
        find_best(y, start, length, near, weight, linked, relation, must_first, volume, cut,
                  costs, name, log_total, floor, stretching, lowest, sign, gain,
                  partner)  # fmt: skip
        settle(where[y], heap, where, sign, gain, partner, name)
        n_steps += 1
    return n_left, gained, n_steps
