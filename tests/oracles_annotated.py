"""The objective of AnnotatedGaussianMixture from its definition, statement by statement."""

import numpy as np
from scipy.special import betaincc, betaln

from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL, UNSURE


def gaussian_part(X, labels, n_clusters, *, diagonal, prior_weight, prior_variance, floor):
    """Clusters with their best variances, variance prior included."""
    total = 0.0
    for k in range(n_clusters):
        members = X[labels == k]
        away = members - members.mean(axis=0) if len(members) else members
        sse = (away**2).sum(axis=0) if diagonal else np.array([(away**2).sum()])
        width = 1 if diagonal else X.shape[1]
        a = prior_weight * width
        for v, deviation in enumerate(sse):
            if len(members) * width + a == 0:
                continue
            s = (deviation + a * prior_variance[v]) / (len(members) * width + a)
            s = max(s, floor)
            total += -deviation / (2 * s) - len(members) * width / 2 * np.log(s)
            total += -a / 2 * np.log(s) - a * prior_variance[v] / (2 * s)
    return total


def agrees(side, t, labels, cluster_of):
    """Whether statement t agrees with a partition; cluster_of: (vocabulary, class) -> cluster."""
    said = side.statements
    if said.kind[t] in (MUST, CANNOT):
        return (labels[said.i[t]] == labels[said.j[t]]) == (said.kind[t] == MUST)
    home = cluster_of.get((int(said.vocabulary[t]), int(said.class_code[t])), -1)
    return (labels[said.i[t]] == home) == (said.kind[t] == LABEL)


def n_choices(side, t, n_clusters):
    """Among how many classes the label t chose."""
    said = side.statements
    same = (said.vocabulary == said.vocabulary[t]) & np.isin(said.kind, (LABEL, NOT_LABEL))
    return max(len(np.unique(said.class_code[same & (said.weight > 0)])), n_clusters, 2)


def chance(side, code, n_clusters):
    """What the annotator would get right by guessing: the mean over the statements, by weight."""
    said = side.statements
    by_statement = [
        (said.weight[t], 1 / n_choices(side, t, n_clusters) if said.kind[t] == LABEL else 0.5)
        for t in range(side.n_statements)
        if said.annotator[t] == code and said.kind[t] != UNSURE and said.i[t] != said.j[t]
    ]
    total = sum(weight for weight, _ in by_statement)
    return sum(weight * right for weight, right in by_statement) / total if total else 0.0


def mean_above(agreed, violated, chance):
    """The mean of an accuracy with the prior Beta(2, 1) above chance."""
    a, b = agreed + 2, violated + 1
    whole = betaln(a, b) + np.log(betaincc(a, b, chance))
    return np.exp(betaln(a + 1, b) + np.log(betaincc(a + 1, b, chance)) - whole)


def bernoulli_part(side, labels, n_clusters, cluster_of, accuracy, kinds):
    """Statements of some kinds, annotator by annotator; accuracy: name -> p, others estimated."""
    said = side.statements
    total = 0.0
    for e, name in enumerate((*side.annotators, None)):
        agreed = violated = 0.0
        code = e if name is not None else -1
        for t in range(side.n_statements):
            if said.annotator[t] != code or said.kind[t] not in kinds or said.weight[t] == 0:
                continue
            if agrees(side, t, labels, cluster_of):
                agreed += said.weight[t]
                continue
            violated += said.weight[t]
            if said.kind[t] == LABEL:
                total -= said.weight[t] * np.log(n_choices(side, t, n_clusters) - 1)
        if name in accuracy:
            p = np.clip(accuracy[name], 1e-6, 1 - 1e-6)
            total += agreed * np.log(p) + violated * np.log(1 - p)
        else:
            least = chance(side, code, n_clusters)
            total += betaln(agreed + 2, violated + 1) - betaln(2, 1)
            total += np.log(betaincc(agreed + 2, violated + 1, least) / betaincc(2, 1, least))
    return total


def block_part(side, labels, n_clusters, p):
    """The two Poisson block models; p is None without priors (Eq. 12), else Eq. 19, half scale."""
    said = side.statements
    counts = np.array([(labels == k).sum() for k in range(n_clusters)], dtype=float)
    total = 0.0
    for kind in (MUST, CANNOT):
        m = np.zeros((n_clusters, n_clusters))
        weight = 0.0
        for t in range(side.n_statements):
            if said.kind[t] == kind and said.weight[t] > 0:
                # A_ij and A_ji; a self pair of weight w has A_ii = 2 w
                m[labels[said.i[t]], labels[said.j[t]]] += said.weight[t]
                m[labels[said.j[t]], labels[said.i[t]]] += said.weight[t]
                weight += said.weight[t]
        if weight == 0:
            continue
        if p is not None:
            inside = sum(n * (n + 1) / 2 for n in counts)
            outside = sum(
                counts[r] * counts[s] for r in range(n_clusters) for s in range(r + 1, n_clusters)
            )
            q = np.clip(p, 1e-6, 1 - 1e-6)
            odds = (1 - q) / q if kind == MUST else q / (1 - q)
            f_in = weight / (inside + odds * outside)
            f_out = odds * f_in
        for r in range(n_clusters):
            for s in range(n_clusters):
                pairs = counts[r] * counts[s]
                if p is None:
                    omega = m[r, s] / pairs if pairs else 0.0
                else:
                    rate = 1 / f_in if r == s else 1 / f_out
                    omega = m[r, s] / (pairs + (2 * rate if r == s else rate))
                    if r <= s:
                        total += np.log(rate) - rate * omega
                total += 0.5 * (m[r, s] * np.log(omega) if m[r, s] > 0 else 0.0)
                total -= 0.5 * pairs * omega
    return total


def annotated_objective(
    X, side, labels, n_clusters, cluster_of, *, annotation_model, accuracy, **gaussian
):
    """The whole objective; accuracy as the parameter of the model."""
    value = gaussian_part(X, labels, n_clusters, **gaussian)
    names = (*side.annotators, None)
    if isinstance(accuracy, dict):
        given = accuracy
    else:
        given = {} if accuracy is None else dict.fromkeys(names, accuracy)
    about = (LABEL, NOT_LABEL)
    if annotation_model == "sbm":
        value += block_part(side, labels, n_clusters, accuracy)
    else:
        about = (MUST, CANNOT, LABEL, NOT_LABEL)
    return value + bernoulli_part(side, labels, n_clusters, cluster_of, given, about)


def statement_errors(X, side, labels, means, variances, cluster_of, accuracy):
    """For each statement the probability that it is wrong, by enumerating the clusters of its rows.

    accuracy: the annotators' accuracies as a model reports them, or as they are given (given=True).
    """
    said = side.statements
    n_clusters = len(means)
    # One variance per cluster, or one per cluster and column.
    variances = np.broadcast_to(np.transpose(variances), means.shape[::-1]).T
    names = (*side.annotators, None)
    errors = []
    for t in range(side.n_statements):
        rows = sorted({int(said.i[t]), int(said.j[t])} - {-1})
        weights = {True: 0.0, False: 0.0}
        for clusters in np.ndindex(*(n_clusters,) * len(rows)):
            trial = labels.copy()
            trial[rows] = clusters
            log_weight = sum(
                -0.5 * ((X[i] - means[trial[i]]) ** 2 / variances[trial[i]]).sum()
                - 0.5 * np.log(variances[trial[i]]).sum()
                for i in rows
            )
            for u in range(side.n_statements):
                if u != t and {int(said.i[u]), int(said.j[u])} & set(rows) and said.weight[u]:
                    p = accuracy[names[said.annotator[u]]]
                    log_weight += _log_statement(side, u, trial, cluster_of, p, n_clusters)
            weights[bool(agrees(side, t, trial, cluster_of))] += np.exp(log_weight)
        agreed = sum(
            said.weight[u]
            for u in range(side.n_statements)
            if u != t
            and said.annotator[u] == said.annotator[t]
            and agrees(side, u, labels, cluster_of)
        )
        others = sum(
            said.weight[u]
            for u in range(side.n_statements)
            if u != t and said.annotator[u] == said.annotator[t]
        )
        least = chance(side, said.annotator[t], n_clusters)
        p = mean_above(agreed, others - agreed, least)
        wrong = (1 - p) ** said.weight[t] * weights[False]
        if said.kind[t] == LABEL:
            wrong /= max(n_clusters - 1, 1) ** said.weight[t]
        errors.append(wrong / (wrong + p ** said.weight[t] * weights[True]))
    return np.array(errors)


def _log_statement(side, u, labels, cluster_of, p, n_clusters):
    said = side.statements
    if agrees(side, u, labels, cluster_of):
        return said.weight[u] * np.log(p)
    wrong = (1 - p) / ((n_clusters - 1) if said.kind[u] == LABEL else 1)
    return said.weight[u] * np.log(wrong)
