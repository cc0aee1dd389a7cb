"""Moves of single rows: which rows are tried."""

import numpy as np
import pytest
from scipy import sparse

from sidelight.blocks import as_blocks
from sidelight.models._kmeans.relocation import near_ties
from sidelight.models._lloyd import Problem, State, Theta, assign


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_all_rows_that_gain_are_tried_and_few_others(seed, weighted, kind):
    """One row far off is a cluster: for the others it is too far, however small it is."""
    rng = np.random.default_rng(seed)
    n = 600
    X = rng.normal(size=(n, 2)) + np.array([4.0, 0.0]) * rng.integers(3, size=(n, 1))
    X[0] = [4.0, 60.0]
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if weighted else None
    w = np.ones(n) if weight is None else weight
    theta = Theta(np.array([[0.0, 0.0], [4.0, 0.0], [8.0, 0.0], X[0], [-9.0, -9.0]]))
    rows = as_blocks(kind(X))
    problem, state, cost = Problem(rows, weight), State.new(rows), rows.column(0.0)
    tally = assign(problem, theta, state, cost=cost)
    tried = near_ties(problem, theta, tally, state, cost)
    squared = ((X[:, None] - theta.centers) ** 2).sum(axis=2)
    counts, labels = tally.counts, state.labels
    gains = []
    for i in range(n):
        h = labels[i]
        if counts[h] <= w[i]:
            continue
        leaving = counts[h] / (counts[h] - w[i]) * squared[i, h]
        joining = counts / (counts + w[i]) * squared[i]
        if any(joining[k] < leaving for k in range(4) if k != h):
            gains.append(i)
    assert set(gains) <= set(tried.tolist())
    assert len(tried) < n / 20
