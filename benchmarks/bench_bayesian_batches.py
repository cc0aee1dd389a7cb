"""BayesianMixture in batches: the cost of one epoch over that of one ordinary iteration.

Both see every row once. Twenty overlapping Gaussians in 16 dimensions, texts of 20 topics (1,000
words, sparse), and tables of 16 columns with 5 categories each; 20 components. Both begin at the
same partition. One epoch, and one iteration, is the difference between a long and a short fit.
"""

from __future__ import annotations

import numpy as np

from benchmarks.bench_bayesian_mixture import D, Rows, T, gaussians, ours, with_start
from benchmarks.harness import Case, Target
from sidelight.datasets import make_documents

ROWS = 100_000
BATCH = 10_000


def texts(n: int) -> Rows:
    sample = make_documents(n, 1000, T, length=40.0, random_state=0)
    return with_start(sample.X, sample.y)


def tables(n: int) -> Rows:
    rng = np.random.default_rng(0)
    truth = rng.integers(T, size=n)
    below = rng.dirichlet(np.ones(5), size=(T, D)).cumsum(axis=2)[:, :, :-1]
    X = (rng.random((n, D, 1)) > below[truth]).sum(axis=2).astype(float)
    return with_start(X, truth)


CASES = [
    Case(
        f"one epoch in batches of {BATCH:,}, over one iteration, {emission}{with_labels}",
        data=data,
        run=ours(emission, bool(with_labels), BATCH),
        baseline=ours(emission, bool(with_labels)),
        sizes=(ROWS,),
        iterations=(2, 6),
        threads=("one",),
        memory=False,
        warm_up_rows=2 * BATCH,  # more than a batch: compiles what both call
        time_limit=300.0,
        targets=(Target("ratio", 1.0, ROWS),),
    )
    for emission, data, with_labels in (
        ("gaussian", gaussians, ""),
        ("gaussian", gaussians, ", 10 % labels"),
        ("gaussian_diag", gaussians, ""),
        ("gaussian_diag", gaussians, ", 10 % labels"),
        ("multinomial", texts, ""),
        ("poisson", texts, ""),
        ("categorical", tables, ""),
    )
]
