"""Markov aggregation from its definitions: whole matrices, nothing incremental."""

import numpy as np


def entropy(masses):
    """H in bits of a distribution of any shape."""
    masses = np.asarray(masses).ravel()
    masses = masses[masses > 0]
    return float(-(masses * np.log2(masses)).sum())


def aggregation_cost(J, labels, n_clusters, beta):
    """C_beta = (1 - 2 beta) (H(Y2|Y1) - H(Y2|X1)) - beta I(Y1; Y2), term by term."""
    V = np.eye(n_clusters)[labels]
    x1_y2, y1_y2 = J @ V, V.T @ J @ V
    y2_given_y1 = entropy(y1_y2) - entropy(y1_y2.sum(axis=1))
    y2_given_x1 = entropy(x1_y2) - entropy(J.sum(axis=1))
    information = entropy(y1_y2.sum(axis=1)) + entropy(y1_y2.sum(axis=0)) - entropy(y1_y2)
    return (1 - 2 * beta) * (y2_given_y1 - y2_given_x1) - beta * information


def stationary(P):
    """The long-run distribution of a walk from a state drawn uniformly: by walking."""
    pi = np.full(len(P), 1 / len(P))
    step = (P + np.eye(len(P))) / 2  # lazy, so that periods do not matter
    for _ in range(60):
        step = step @ step
        step /= step.sum(axis=1, keepdims=True)
    return pi @ step


def broken_weight(units, labels, cluster_of):
    """What a partition of the units breaks, statement by statement."""
    total = 0.0
    span, partner, weight = units.partners
    for u in range(units.n_units):
        for t in range(span[u], span[u + 1]):
            same = labels[u] == labels[partner[t]]
            if partner[t] > u:
                total += weight[t] if same and weight[t] > 0 else 0.0
                total -= weight[t] if not same and weight[t] < 0 else 0.0
    span, vocabulary, weight = units.rivals
    entries = [
        (u, vocabulary[t], weight[t])
        for u in range(units.n_units)
        for t in range(span[u], span[u + 1])
    ]
    for a, (u, one, w) in enumerate(entries):
        for v, other, x in entries[a + 1 :]:
            total += w * x if one == other and labels[u] == labels[v] else 0.0
    for row, column, w in zip(*units.priced, strict=True):
        inside = labels[row] == cluster_of[column]
        total += w if w > 0 and not inside else 0.0
        total -= w if w < 0 and inside else 0.0
    return total


def aggregation_sweep(J, units, labels, cluster_of, n_clusters, beta, keep_all):
    """One sweep, every candidate evaluated from scratch. Returns the new labels of the units."""
    labels = labels.copy()
    for u in range(units.n_units):
        own = labels[u]
        if keep_all and (labels == own).sum() == 1:
            continue
        keys = []
        for k in range(n_clusters):
            tried = labels.copy()
            tried[u] = k
            cost = aggregation_cost(J, tried[units.of_row], n_clusters, beta)
            broken = broken_weight(units, tried, cluster_of)
            keys.append((broken, cost) if units.is_hard else (0.0, cost + units.penalty * broken))
        least = min(broken for broken, _ in keys)
        allowed = [k for k in range(n_clusters) if keys[k][0] <= least + 1e-9]
        best = own if own in allowed else allowed[0]
        for k in allowed:
            if keys[k][1] < keys[best][1] - 1e-12:
                best = k
        labels[u] = best
    return labels


def star_sweep(J, units, labels, n_clusters, beta):
    """One sweep without propagation: a unit with those that it is tied to, from scratch."""
    labels = labels.copy()
    span, partner, _ = units.ties
    for s in range(units.n_units):
        star = [s, *partner[span[s] : span[s + 1]]]
        own = labels[s]
        keys = []
        for k in range(n_clusters):
            tried = labels.copy()
            tried[star] = k
            cost = aggregation_cost(J, tried[units.of_row], n_clusters, beta)
            keys.append((broken_weight(units, tried, np.empty(0)), cost))
        least = min(broken for broken, _ in keys)
        allowed = [k for k in range(n_clusters) if keys[k][0] <= least + 1e-9]
        best = own if own in allowed else allowed[0]
        for k in allowed:
            if keys[k][1] < keys[best][1] - 1e-12:
                best = k
        labels[star] = best
    return labels
