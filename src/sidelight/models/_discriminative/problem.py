"""The problem of one fit, solved in full, or quickly for cross-fitting."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.blocks import as_blocks
from sidelight.graph import query_neighbors
from sidelight.models._discriminative.committee import (
    FAST,
    FULL,
    FULL_ROWS,
    QUICK,
    Committee,
    Said,
    fit_committee,
)
from sidelight.models._discriminative.starts import in_columns, starting_partitions
from sidelight.models._discriminative.statements import statement_terms, votes_of
from sidelight.models._fitting import is_small
from sidelight.models._metric import Learned, learn_metric, tied_groups
from sidelight.models._sample import fitted_rows, has_pairs, said_about
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Rows from which starts are found, above 6,000 (50 for each cluster, if that is more). ARI was
# within .002 of that with starts from all rows (labels, two draws of five data sets).
_START_ROWS = 1_500


class Problem(NamedTuple):
    """Rows to fit to, and the statements about them.

    column : of each statement the column of its class, -1 for none.
    annotator : of each statement the number of its annotator.
    """

    X: NDArray[Any]
    side: SideInformation
    column: Ints
    annotator: Ints
    n_clusters: int
    seed: int


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
    if init is None:
        starts = _starts(problem, Z, use)
    else:
        starts = [in_columns(init, votes_of(side, column, use), K)]
    terms = statement_terms(side, error, column, K)
    steps = FULL if len(Z) <= FULL_ROWS else FAST
    committee, said = fit_committee(Z, terms, starts, problem.seed, steps, each_step=each_step)
    return committee, said.mean


def _starts(problem: Problem, Z: NDArray[Any], use: Bools) -> list[Ints]:
    """Partitions to start from; above 6,000 rows, those of a sample, handed to the nearest rows.

    They are only starts, and took a quarter of the time at 10,000 rows. Not with pairs: stretched
    Gaussians fell from .98 to .94 and pendigits from .82 to .78.
    """
    side, seed = problem.side, problem.seed
    chosen = None
    if not is_small(len(Z)) and not has_pairs(side):
        size = max(_START_ROWS, 50 * problem.n_clusters)
        n_annotated = min(size // 2, len(side.annotated_rows))
        draw = np.random.default_rng(seed)
        chosen = fitted_rows(side, len(Z), draw, n_annotated, size - n_annotated)
    inside, about = said_about(side, chosen)
    votes = votes_of(about, problem.column[inside], use[inside])
    rows = Z if chosen is None else Z[chosen]
    found = starting_partitions(rows, about.where(use[inside]), votes, problem.n_clusters, seed)
    if chosen is None:
        return found
    near = query_neighbors(Z, rows, 1, random_state=seed).indices.ravel()
    return [labels[near] for labels in found]


def fit_quickly(problem: Problem, error: Floats, see: Bools, use: Bools, rows: Ints) -> Said:
    """A committee fitted to some statements, in few steps; its memberships of some rows.

    see : the statements of J; use : those that the metric and the start may see too.
    """
    side, column, K = problem.side, problem.column, problem.n_clusters
    learned = side.where(see & use)
    Z = learn_metric(as_blocks(problem.X), tied_groups(learned))(problem.X)
    votes = votes_of(side, column, see & use)
    starts = starting_partitions(Z, learned, votes, K, problem.seed, quick=True)
    terms = statement_terms(side, error, column, K, see)
    return fit_committee(Z, terms, starts, problem.seed, QUICK, some=rows)[1]
