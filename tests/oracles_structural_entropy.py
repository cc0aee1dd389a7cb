"""Structural entropy of partitions, and relation graphs, from their definitions."""

import numpy as np

from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL


def entropy(W, R, labels):
    """L of Eq. 3.5 for dense similarities W and constraints R (the side weight folded in).

    In the logarithm of a cut's term, a volume below the smallest degree counts as that.
    """
    degree = W.sum(axis=1)
    total = degree.sum() or 1.0
    floor = min(degree[degree > 0], default=1.0)
    value = 0.0
    for x in set(labels.tolist()):
        inside = labels == x
        volume = degree[inside].sum()
        for d in degree[inside]:
            if d > 0:
                value -= d / total * np.log2(d / volume)
        cut = W[np.ix_(inside, ~inside)].sum() + R[np.ix_(inside, ~inside)].sum()
        value -= cut / total * np.log2(max(volume, floor) / total)
    return value


def merged_greedily(W, R, *, must_first=False, n_wanted=1, lowest=0.0):
    """Merge the best connected pair, recomputing L for every pair, until none gains."""
    labels = np.arange(len(W))
    while len(set(labels.tolist())) > n_wanted:
        now = entropy(W, R, labels)
        best = None
        names = sorted(set(labels.tolist()))
        for a in names:
            for b in names:
                block = np.ix_(labels == a, labels == b)
                if a >= b or not W[block].any():
                    continue
                gain = now - entropy(W, R, np.where(labels == b, a, labels))
                key = (
                    np.sign(R[block].sum().round(12)) if must_first else 0,
                    round(gain, 12),
                    -a,
                    -b,
                )
                if gain >= lowest - 1e-12 and (best is None or key > best):
                    best = key
        if best is None:
            break
        labels = np.where(labels == -best[3], -best[2], labels)
    return labels


def stated_relation(side, similarity, highest, lowest, side_weight):
    """The relation graph of the stated pairs alone, as a dense matrix; no labels."""
    R = np.zeros((side.n_samples, side.n_samples))
    said = side.statements
    pairs = {(k, i, j) for k, i, j in zip(said.kind, said.i, said.j, strict=True) if i != j}
    for kind, i, j in pairs:
        likeness = similarity[i, j]
        value = max(highest - likeness, 0) if kind == MUST else min(lowest - likeness, 0)
        R[i, j] += side_weight * value
        R[j, i] += side_weight * value
    return R


def relation(side, similarity, highest, lowest, side_weight, *, each):
    """The relation graph as a dense matrix, pair by pair."""
    n = side.n_samples
    said = side.statements
    facts = {}
    for k in np.flatnonzero(said.binding):
        if said.kind[k] <= CANNOT and said.i[k] == said.j[k]:
            continue
        what = (said.kind[k], said.i[k], said.j[k], said.vocabulary[k], said.class_code[k])
        facts[what] = max(facts.get(what, 0.0), said.weight[k])
    group = np.asarray(side.groups())
    weights = [[] for _ in range(n)]
    for (kind, i, j, _, _), weight in facts.items():
        if kind in (MUST, LABEL):
            weights[i].append(weight)
        if kind == MUST:
            weights[j].append(weight)
    amount = np.array([np.sqrt(np.mean(w)) if w else 1.0 for w in weights])
    together = {(i, j) for i in range(n) for j in range(i + 1, n) if group[i] == group[j]}
    apart = _apart(facts, group)
    n_apart = sum((group == a).sum() * (group == b).sum() for a, b in apart)
    rho = len(together) / n_apart if together and n_apart else 1.0
    must = {p: max(highest - similarity[p], 0.0) for p in together}
    cannot = {
        (i, j): min(lowest - similarity[i, j], 0.0)
        for i in range(n)
        for j in range(i + 1, n)
        if tuple(sorted((group[i], group[j]))) in apart
    }
    mean = [np.mean(list(g.values())) if g else 0.0 for g in (must, cannot)]
    R = np.zeros((n, n))
    for p in together:
        R[p] += (must[p] if each else mean[0]) * amount[p[0]] * amount[p[1]]
    for p in cannot:
        strength = cannot[p] if each else mean[1]
        held = apart[tuple(sorted((group[p[0]], group[p[1]])))]
        R[p] += rho * strength * held * amount[p[0]] * amount[p[1]]
    stated = {}
    for (kind, i, j, _, _), weight in facts.items():
        if kind == MUST:
            stated[i, j] = stated.get((i, j), 0.0) + weight * max(highest - similarity[i, j], 0.0)
        if kind == CANNOT:
            value = rho * weight * min(lowest - similarity[i, j], 0.0)
            stated[i, j] = stated.get((i, j), 0.0) + value
            if each and group[i] == group[j]:
                R[i, j] += value
    if not each:
        for p, value in stated.items():
            R[p] = value
    R *= side_weight
    return R + R.T


def _apart(facts, group):
    """Pairs of groups that are apart, and the mean weight of what parts them (1 for labels)."""
    said, by_label = {}, set()
    labels = [(v, c, group[i]) for (kind, i, _, v, c) in facts if kind == LABEL]
    for v, _, a in labels:
        by_label |= {tuple(sorted((a, b))) for w, _, b in labels if w == v and a != b}
    for (kind, i, j, v, c), weight in facts.items():
        if kind == CANNOT and group[i] != group[j]:
            said.setdefault(tuple(sorted((group[i], group[j]))), []).append(weight)
        if kind == NOT_LABEL:
            for b in {b for w, d, b in labels if (w, d) == (v, c) and b != group[i]}:
                said.setdefault(tuple(sorted((group[i], b))), []).append(weight)
    return {p: np.mean(w) for p, w in said.items()} | dict.fromkeys(by_label, 1.0)
