"""The problem of one fit, solved in full, or quickly for cross-fitting."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.blocks import as_blocks
from sidelight.models._discriminative.committee import (
    FAST,
    FULL,
    FULL_ROWS,
    LARGE,
    QUICK,
    Committee,
    Said,
    Starts,
    fit_committee,
)
from sidelight.models._discriminative.sample import MOST_ROWS
from sidelight.models._discriminative.starts import in_columns, starting_partitions
from sidelight.models._discriminative.statements import statement_terms, votes_of
from sidelight.models._fitting import is_small
from sidelight.models._metric import Learned, learn_metric, tied_groups
from sidelight.models._sample import fitted_rows, has_pairs, said_about
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Above 6,000 rows a sample finds and compares the starts: of 1,500 rows (50 for each cluster, if
# that is more), half of them annotated. With pairs it needs more, above all rows without
# statements: with 1,500 of them one draw of satimage was .09 below the search of all rows, though
# the means of ten draws were level (two to ten draws of six data sets).
_START_ROWS = 1_500
_PAIRED_START_ROWS = (3_000, 3_000)  # annotated and others


class Problem(NamedTuple):
    """Rows to fit to, and the statements about them.

    column : of each statement the column of its class, -1 for none.
    annotator : of each statement the number of its annotator.
    n_samples : rows of the data, of which these may be a sample.
    """

    X: NDArray[Any]
    side: SideInformation
    column: Ints
    annotator: Ints
    n_clusters: int
    seed: int
    n_samples: int


def fit_in_full(
    problem: Problem,
    metric: Learned,
    error: Floats,
    use: Bools,
    init: Ints | None,
    each_step: Callable[[], bool],
) -> tuple[Committee, Floats]:
    """All members from the best of several starts, or from ``init``; the memberships of all rows.

    error : of each statement; use : which statements the starts may see.
    """
    side, column, K = problem.side, problem.column, problem.n_clusters
    Z = metric(problem.X)
    terms = statement_terms(side, error, column, K)
    if init is None:
        starts = _starts(problem, Z, error, use)
    else:
        starts = Starts([in_columns(init, votes_of(side, column, use), K)], None, terms)
    steps = FULL if len(Z) <= FULL_ROWS else FAST
    committee, said = fit_committee(
        Z, terms, starts, problem.seed, steps if is_small(problem.n_samples) else LARGE,
        stand_for=min(problem.n_samples, MOST_ROWS) / len(Z), each_step=each_step,
    )  # fmt: skip
    return committee, said.mean


def _starts(problem: Problem, Z: NDArray[Any], error: Floats, use: Bools) -> Starts:
    """Partitions to start from; above 6,000 rows a sample finds and compares them."""
    side, seed, K = problem.side, problem.seed, problem.n_clusters
    chosen = None
    if not is_small(problem.n_samples):
        size = max(_START_ROWS, 50 * K)
        n_annotated, n_others = _PAIRED_START_ROWS if has_pairs(side) else (size // 2, size // 2)
        n_annotated = min(n_annotated, len(side.annotated_rows))
        n_others = max(n_others, size - n_annotated)
        chosen = fitted_rows(side, len(Z), np.random.default_rng(seed), n_annotated, n_others)
    inside, about = said_about(side, chosen)
    column, see = problem.column[inside], use[inside]
    rows = Z if chosen is None else Z[chosen]
    found = starting_partitions(rows, about.where(see), votes_of(about, column, see), K, seed)
    weight = side.statements.weight * side.statements.binding
    share = float(weight[inside].sum() / weight.sum()) if weight[inside].any() else 1.0
    return Starts(found, chosen, statement_terms(about, error[inside], column, K), share)


def fit_quickly(problem: Problem, error: Floats, see: Bools, use: Bools, rows: Ints) -> Said:
    """A committee fitted to some statements, in few steps; its memberships of some rows.

    see : the statements of J; use : those that the metric and the start may see too.
    """
    side, column, K = problem.side, problem.column, problem.n_clusters
    learned = side.where(see & use)
    Z = learn_metric(as_blocks(problem.X), tied_groups(learned))(problem.X)
    votes = votes_of(side, column, see & use)
    terms = statement_terms(side, error, column, K, see)
    found = starting_partitions(Z, learned, votes, K, problem.seed, quick=True)
    starts = Starts(found, None, terms)
    return fit_committee(Z, terms, starts, problem.seed, QUICK, some=rows)[1]
