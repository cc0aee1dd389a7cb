"""Slow, obvious versions of what the package computes fast."""

from itertools import combinations

import numpy as np

from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL

# Side information


def _statements(side, *kinds):
    """(position, kind, i, j, (vocabulary, class), weight) of the statements that bind."""
    said = side.statements
    for k in range(side.n_statements):
        if said.kind[k] in kinds and said.weight[k] > 0:
            meaning = (int(said.vocabulary[k]), int(said.class_code[k]))
            yield k, said.kind[k], int(said.i[k]), int(said.j[k]), meaning, said.weight[k]


def _merged(n, joined):
    """Group numbers of n things by repeated relabelling."""
    group = list(range(n))
    for a, b in joined:
        old, new = group[a], group[b]
        group = [new if g == old else g for g in group]
    return group


def _joined_by(side, without_vocabulary=None):
    rows_of = {}
    for _, kind, i, j, meaning, _ in _statements(side, MUST, LABEL):
        if kind == MUST:
            yield i, j
        elif meaning[0] != without_vocabulary:
            yield i, rows_of.setdefault(meaning, i)


def related_rows(side):
    """Two boolean matrices: which rows belong together, which do not, from the definition."""
    n = side.n_samples
    group = _merged(n, _joined_by(side))
    together = np.equal.outer(group, group)
    apart = np.zeros((n, n), dtype=bool)
    facts = list(_statements(side, LABEL, NOT_LABEL, CANNOT))
    clashes = [(i, j) for _, kind, i, j, _, _ in facts if kind == CANNOT]
    for (_, kind, i, _, one, _), (_, other_kind, j, _, other, _) in combinations(facts, 2):
        if CANNOT in (kind, other_kind) or one[0] != other[0]:
            continue
        if kind == other_kind == LABEL and one != other:
            clashes.append((i, j))
        if kind != other_kind and one == other:
            clashes.append((i, j))
    for i, j in clashes:
        for a, b in ((i, j), (j, i)):
            apart |= np.outer(together[a], together[b])
    return together, apart


def broken_statements(side):
    """Positions of the statements that the others contradict, from the definition."""
    n = side.n_samples
    group = _merged(n, _joined_by(side))
    broken = []
    labels = list(_statements(side, LABEL))
    for k, kind, i, j, meaning, _ in _statements(side, CANNOT, NOT_LABEL, LABEL):
        if kind == CANNOT:
            broken += [k] if group[i] == group[j] else []
        elif kind == NOT_LABEL:
            held = {m for _, _, row, _, m, _ in labels if group[row] == group[i]}
            broken += [k] if meaning in held else []
        else:
            near = _merged(n, _joined_by(side, without_vocabulary=meaning[0]))
            votes = {}
            for _, _, row, _, (vocabulary, name), weight in labels:
                if vocabulary == meaning[0] and near[row] == near[i]:
                    votes[name] = votes.get(name, 0) + weight
            winner = min(name for name in votes if votes[name] == max(votes.values()))
            broken += [k] if meaning[1] != winner else []
    return broken


# Partition-level k-means


def partition_level_objective(X, labels, side, side_weight, sample_weight=None):
    """J of a partition from its definition: every row, every statement, every class in turn."""
    X = np.asarray(X, dtype=float)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    objective = 0.0
    for k in np.unique(labels):
        inside = labels == k
        if weight[inside].sum() > 0:
            center = np.average(X[inside], axis=0, weights=weight[inside])
            objective += (weight[inside] * ((X[inside] - center) ** 2).sum(axis=1)).sum()
    facts = list(_statements(side, LABEL, NOT_LABEL))
    columns = sorted({meaning for _, _, _, _, meaning, _ in facts})
    for k in np.unique(labels):
        for column in columns:
            seen = []  # (weight, 0 or 1): who says what about this class in this cluster
            for _, kind, i, _, meaning, w in facts:
                if labels[i] != k or meaning[0] != column[0]:
                    continue
                if kind == LABEL:
                    seen.append((weight[i] * w, float(meaning == column)))
                elif meaning == column:
                    seen.append((weight[i] * w, 0.0))
            total = sum(w for w, _ in seen)
            if total > 0:
                g = sum(w * s for w, s in seen) / total
                objective += side_weight * sum(w * (s - g) ** 2 for w, s in seen)
    for _, _, i, j, _, w in _statements(side, CANNOT):
        objective += side_weight * w * (labels[i] == labels[j])
    return objective


def nearest_with_penalties(X, centers, entries, penalty):
    """Per row the cheapest centre and its cost; entries[i] is a list of (entry, weight)."""
    labels, costs = [], []
    for x, said in zip(X, entries, strict=True):
        cost = [
            ((x - c) ** 2).sum() + sum(w * penalty[e][k] for e, w in said)
            for k, c in enumerate(centers)
        ]
        labels.append(int(np.argmin(cost)))
        costs.append(min(cost))
    return np.array(labels), np.array(costs)


def pairwise_objective(unary, pairs, weight, labels):
    """What rows cost by themselves, and the weights of broken pairs: > 0 must, < 0 cannot."""
    objective = sum(unary[i, k] for i, k in enumerate(labels))
    for (i, j), w in zip(pairs, weight, strict=True):
        apart = labels[i] != labels[j]
        objective += w * apart if w > 0 else -w * (not apart)
    return objective
