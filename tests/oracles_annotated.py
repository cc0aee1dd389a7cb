"""The objective of AnnotatedGaussianMixture from its definition, statement by statement."""

import numpy as np
from scipy.special import betaln

from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL


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
                same = (said.vocabulary == said.vocabulary[t]) & (said.kind >= LABEL)
                same &= said.weight > 0
                n_classes = len(np.unique(said.class_code[same]))
                alternatives = max(max(n_classes, n_clusters) - 1, 1)
                total -= said.weight[t] * np.log(alternatives)
        if name in accuracy:
            p = np.clip(accuracy[name], 1e-6, 1 - 1e-6)
            total += agreed * np.log(p) + violated * np.log(1 - p)
        else:
            total += betaln(agreed + 2, violated + 1) - betaln(2, 1)
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
