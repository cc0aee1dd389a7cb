"""Exact moves of single rows: the change of J with centres and profiles re-estimated."""

import numpy as np

from sidelight._kernels._jit import jit, part


@part
def impurity_change(number, total, k, row_number, row_total, sign):
    """Change of the sum of number - number²/total when a row joins (sign 1) or leaves (-1)."""
    change = 0.0
    for c in range(row_total.shape[0]):
        if row_total[c] == 0.0:
            continue
        before = number[k, c]
        if total[k, c] > 0.0:
            before -= number[k, c] * number[k, c] / total[k, c]
        after = number[k, c] + sign * row_number[c]
        rest = total[k, c] + sign * row_total[c]
        # A total that is zero but for rounding would make the quotient huge.
        after = after - after * after / rest if rest > 1e-12 * row_total[c] else 0.0
        change += after - before
    return change


@part
def move_costs(
    lengths, weight, partner, partner_weight, partner_span, i, own, side_weight,
    number, total, row_number, row_total, has_statements,
    labels, lengths_k, counts, dots, change,
):  # fmt: skip
    """The change of J if linked row i moves from its cluster to each other one. change (K): OUT.

    dots[k] is the product of the row with the sum of cluster k, lengths_k[k] that sum's squared
    length. A cluster of weight n that the row joins gains n w / (n + w) |x - mean|², the one that
    it leaves loses n w / (n - w) |x - mean|².
    """
    n_clusters = counts.shape[0]
    w = weight[i]
    for k in range(n_clusters):
        n = counts[k]
        rest = n - w if k == own else n + w
        change[k] = 0.0
        if w > 0.0 and n > 0.0 and rest > 1e-12 * w:
            away = lengths[i] - 2.0 * dots[k] / n + lengths_k[k] / (n * n)
            change[k] = n * w / rest * max(away, 0.0)
        if has_statements:
            sign = -1.0 if k == own else 1.0
            step = side_weight * impurity_change(number, total, k, row_number, row_total, sign)
            change[k] += -step if k == own else step
    for t in range(partner_span[i], partner_span[i + 1]):
        if partner[t] != i:  # a cannot-link of a row with itself is broken everywhere
            change[labels[partner[t]]] += side_weight * partner_weight[t]
    released = change[own]
    for k in range(n_clusters):
        change[k] -= released
    change[own] = 0.0


@part
def gather_statements(first, last, entry, entry_weight, vocabulary, w, row_number, row_total):
    """The contribution of a row to sum W s and sum W, by column. row_number, row_total: OUT.

    Entry c is "is column c", which observes all columns of its vocabulary; C + c is "is not c".
    """
    n_columns = vocabulary.shape[0]
    for c in range(n_columns):
        row_number[c] = 0.0
        row_total[c] = 0.0
    for t in range(first, last):
        c = entry[t] % n_columns
        if entry[t] >= n_columns:
            row_total[c] += w * entry_weight[t]
            continue
        row_number[c] += w * entry_weight[t]
        for other in range(n_columns):
            if vocabulary[other] == vocabulary[c]:
                row_total[other] += w * entry_weight[t]


@jit
def relocate(
    data, indices, indptr, lengths, weight, first, last, entry, entry_weight, vocabulary,
    partner, partner_weight, partner_span, side_weight, tolerance,
    labels, sums_t, lengths_k, counts, number, total,
):  # fmt: skip
    """One sweep over the linked rows, in order: each moves to the cluster with the lowest J.

    A row stays unless J falls by more than tolerance; ties go to the lowest cluster. The linked
    rows are CSR arrays with their squared lengths; row i has the statements first[i]:last[i] and
    the cannot-links partner_span[i]:partner_span[i + 1]; partners beyond the rows stay where they
    are. labels, sums_t (d, K), lengths_k (squared lengths of the sums), counts, number (K, C),
    total (K, C): OUT. Returns (the decrease of J, moves).
    """
    n_clusters = counts.shape[0]
    dots = np.empty(n_clusters)
    change = np.empty(n_clusters)
    row_number = np.zeros(number.shape[1])
    row_total = np.zeros(number.shape[1])
    fall = 0.0
    n_moves = 0
    for i in range(weight.shape[0]):
        own = labels[i]
        w = weight[i]
        has_statements = last[i] > first[i]
        for k in range(n_clusters):
            dots[k] = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            for k in range(n_clusters):
                dots[k] += data[t] * sums_t[indices[t], k]
        if has_statements:
            gather_statements(
                first[i], last[i], entry, entry_weight, vocabulary, w, row_number, row_total
            )
        move_costs(
            lengths, weight, partner, partner_weight, partner_span, i, own, side_weight,
            number, total, row_number, row_total, has_statements,
            labels, lengths_k, counts, dots, change,
        )  # fmt: skip
        best = own
        for k in range(n_clusters):
            if change[k] < change[best] - tolerance:
                best = k
        if best == own:
            continue
        fall -= change[best]
        n_moves += 1
        labels[i] = best
        counts[own] -= w
        counts[best] += w
        lengths_k[own] += w * w * lengths[i] - 2.0 * w * dots[own]
        lengths_k[best] += w * w * lengths[i] + 2.0 * w * dots[best]
        for t in range(indptr[i], indptr[i + 1]):
            sums_t[indices[t], own] -= w * data[t]
            sums_t[indices[t], best] += w * data[t]
        if has_statements:
            for c in range(row_total.shape[0]):
                number[own, c] -= row_number[c]
                number[best, c] += row_number[c]
                total[own, c] -= row_total[c]
                total[best, c] += row_total[c]
    return fall, n_moves
