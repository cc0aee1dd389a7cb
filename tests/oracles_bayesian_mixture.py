"""Slow, obvious versions of what BayesianMixture computes fast."""

from collections import defaultdict
from itertools import combinations

import numpy as np
from scipy.special import gammaln, multigammaln, psi

from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL


def shrunken_covariance(X):
    """The covariance of the data, shrunk to its diagonal by d / (n + d)."""
    n, d = X.shape
    S = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) / n
    share = d / (n + d)
    return (1 - share) * S + share * np.diag(np.diag(S))


def pair_strengths(side, must, cannot, per_label):
    """(attract, repel): the strength of every pair of rows, as two symmetric matrices.

    must, cannot: a number, or one per annotator. A label counts as a whole, or each of its pairs.
    """
    n = side.n_samples
    attract, repel = np.zeros((n, n)), np.zeros((n, n))
    positive = defaultdict(lambda: [0.0, 0.0])  # (vocabulary, class, row): must, cannot
    negative = defaultdict(float)
    said = side.statements
    who = [*side.annotators, None]
    for kind, i, j, c, weight, a, v in zip(*said, strict=True):
        if weight == 0:
            continue
        m, r = ((x[who[a]] if isinstance(x, dict) else x) for x in (must, cannot))
        if kind == MUST and i != j:
            attract[i, j] += m * weight
            attract[j, i] += m * weight
        elif kind == CANNOT and i != j:
            repel[i, j] += r * weight
            repel[j, i] += r * weight
        elif kind == LABEL:
            positive[v, c, i][0] += weight * (m if per_label else m**0.5)
            positive[v, c, i][1] += weight * (r if per_label else r**0.5)
        elif kind == NOT_LABEL:
            negative[v, c, i] += weight * (r if per_label else r**0.5)
    unit = [defaultdict(lambda: 1.0), defaultdict(lambda: 1.0)]
    if per_label:
        for which in (0, 1):
            for vocabulary in {key[0] for key in positive}:
                groups = defaultdict(float)
                for (v, c, _), value in positive.items():
                    if v == vocabulary and value[which] > 0:
                        groups[c] += value[which]
                if groups:
                    unit[which][vocabulary] = sum(groups.values()) / len(groups)
    for ((v, c, i), one), ((u, d, j), two) in combinations(positive.items(), 2):
        if v != u or i == j:
            continue
        which, table = (0, attract) if c == d else (1, repel)
        strength = one[which] * two[which] / unit[which][v]
        table[i, j] += strength
        table[j, i] += strength
    for (v, c, i), one in negative.items():
        for (u, d, j), two in positive.items():
            if (v, c) == (u, d) and i != j:
                repel[i, j] += one * two[1] / unit[1][v]
                repel[j, i] += one * two[1] / unit[1][v]
    return attract, repel


def statement_cost(attract, repel, phi, V):
    """What the statements cost, pair by pair. phi (n, T)."""
    total = 0.0
    for i, j in combinations(range(len(phi)), 2):
        total += attract[i, j] * phi[i] @ V @ phi[j] + repel[i, j] * phi[i] @ phi[j]
    return total


def normal_wishart_terms(X, phi, kappa0, nu0, m0, S0):
    """Posterior of one component from its memberships: kappa, nu, m, L^-1, around the mean."""
    N = phi.sum()
    kappa, nu = kappa0 + N, nu0 + N
    m = (kappa0 * m0 + phi @ X) / kappa
    S = S0 + kappa0 * np.outer(m - m0, m - m0)
    for x, p in zip(X, phi, strict=True):
        S = S + p * np.outer(x - m, x - m)
    return kappa, nu, m, S


def expected_log_density(X, kappa, nu, m, S):
    d = len(m)
    log_det = sum(psi((nu - i) / 2) for i in range(d)) + d * np.log(2) - np.linalg.slogdet(S)[1]
    L = np.linalg.inv(S)
    quadratic = np.array([(x - m) @ L @ (x - m) for x in X])
    return 0.5 * (log_det - d * np.log(2 * np.pi) - d / kappa - nu * quadratic)


def log_normalizer(kappa, nu, S):
    """Of the Normal-Wishart, without the powers of 2 pi."""
    d = len(S)
    log_z = 0.5 * nu * d * np.log(2) - 0.5 * nu * np.linalg.slogdet(S)[1]
    return log_z + multigammaln(nu / 2, d) - 0.5 * d * np.log(kappa)


def normal_wishart_divergence(q, p):
    """KL by the natural parameters of the exponential family."""
    kappa, nu, m, S = q
    kappa0, nu0, m0, S0 = p
    d = len(m)
    L = np.linalg.inv(S)
    log_det = sum(psi((nu - i) / 2) for i in range(d)) + d * np.log(2) - np.linalg.slogdet(S)[1]
    value = log_normalizer(kappa0, nu0, S0) - log_normalizer(kappa, nu, S)
    value += 0.5 * (nu - nu0) * log_det
    # E of -tr(Lambda S) / 2 - kappa (mu - m)' Lambda (mu - m) / 2, under q, of q less that of p.
    value -= 0.5 * (nu * d + d)
    shift = m - m0
    return value + 0.5 * (nu * np.trace(S0 @ L) + kappa0 * (d / kappa + nu * shift @ L @ shift))


def dirichlet_divergence(a, b):
    value = gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()) + gammaln(b).sum()
    return value + ((a - b) * (psi(a) - psi(a.sum()))).sum()
