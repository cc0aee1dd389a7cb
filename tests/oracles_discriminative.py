"""J of discriminative clustering, one statement and one row at a time."""

import math

import numpy as np


def softmax(row):
    e = [math.exp(v) for v in row]
    return [v / sum(e) for v in e]


def entropy(p):
    return -sum(v * math.log(v) for v in p if v > 0)


def objective_by_definition(phi, side, error, coef, K, C, u):
    """Classes are columns by their code."""
    p = [softmax(row) for row in phi @ coef[:-1] + coef[-1]]
    said = side.statements
    J = 0.0
    for s in range(side.n_statements):
        i, j, c, w, e = said.i[s], said.j[s], said.class_code[s], said.weight[s], error[s]
        kind = ("must", "cannot", "unsure", "label", "not_label")[said.kind[s]]
        together = sum(a * b for a, b in zip(p[i], p[j], strict=True))
        if kind == "label":
            J -= w * math.log((1 - e) * p[i][c] + e * (1 - p[i][c]) / (K - 1))
        elif kind == "not_label":
            J -= w * math.log((1 - e) * (1 - p[i][c]) + e * p[i][c])
        elif kind == "must":
            J -= w * math.log((1 - e) * together + e * (1 - together))
        elif kind == "cannot":
            J -= w * math.log((1 - e) * (1 - together) + e * together)
    J += u * sum(entropy(row) for row in p)
    J -= 0.6 * u * len(p) * entropy(np.mean(p, axis=0))
    return J + float((coef[:-1] ** 2).sum()) / (2 * C)
