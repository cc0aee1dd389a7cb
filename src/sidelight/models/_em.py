"""The EM loop over blocks of rows: memberships and sums block by block, then the best parameters.

A mixture gives an *emission*, with ``log_density(X, components)`` of shape (T, n) and
``statistics(X, memberships)``, sums over rows, and the step from statistics to parameters.
Memberships follow from the parameters and are never kept. Rows whose memberships depend on other
rows are kept *apart*: the model gives them memberships and adds their statistics.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import bayesian_mixture as kernels
from sidelight.blocks import Block, Blocks, RowEntries
from sidelight.models._fitting import never

Floats = NDArray[np.float64]
Statistics = tuple[Floats, ...]

# Scores to memberships, in their place, of a block: (block, scores, rows apart, labels) → evidence.
Soften = Callable[[Block, Floats, NDArray[np.int64], Any], float]
Parameters = TypeVar("Parameters")
Step = TypeVar("Step", bound=Any)  # what an E-step leaves for the M-step, with its ``bound``


class Start(NamedTuple):
    """Where a run begins: scores of the components, (T, rows), of which softmax makes memberships.

    ``scores`` gets a block and its part of ``column``, if there is one.
    """

    scores: Callable[[Block, Any], Floats]
    column: Any = None


class Expected(NamedTuple):
    """The sum of log sum exp over the rows, log densities of the rows apart, and statistics."""

    bound: float
    apart: Floats  # (rows apart, T)
    statistics: Statistics


class Ascent(NamedTuple, Generic[Parameters, Step]):
    """Where the loop ended: the parameters, the E-step with them, and the bounds on the way."""

    theta: Parameters
    step: Step
    history: list[float]
    n_iter: int
    converged: bool


def ascend(
    theta: Parameters,
    e_step: Callable[[Parameters], Step],
    m_step: Callable[[Step], Parameters],
    *,
    least_gain: float,
    max_iter: int,
    each_iteration: Callable[[], bool] = never,
    renew: Callable[[Parameters], None] | None = None,
) -> Ascent[Parameters, Step]:
    """Alternate both steps until an iteration gains less than ``least_gain``.

    It ends with an E-step, so that memberships belong to the parameters. If parameters have so few
    digits that the last step loses a little, that step is undone. ``renew`` changes the objective
    when nothing more is gained, and the loop continues until that has no effect; bounds before and
    after cannot be compared, so ``history`` begins at the last change.
    """
    history: list[float] = []
    n_iter, before = 0, theta
    while True:
        step = e_step(theta)
        lost = loses_by_rounding(step.bound, history, least_gain)
        if lost:
            theta, step = before, e_step(before)
        history.append(without_rounding(step.bound, history))
        n_iter += 1
        stop = each_iteration() or n_iter >= max_iter
        settled = lost or (len(history) > 1 and history[-1] - history[-2] < least_gain)
        converged = settled and (renew is None or len(history) == 2)
        if stop or converged:
            return Ascent(theta, step, history, n_iter, converged)
        if settled and renew is not None:
            renew(theta)
            history = []
        else:
            before, theta = theta, m_step(step)


def loses_by_rounding(bound: float, history: list[float], least_gain: float) -> bool:
    """Whether the bound fell by more than its own rounding, but by a negligible amount."""
    if not history:
        return False
    fall = history[-1] - bound
    return 1e-12 * abs(bound) < fall < max(least_gain, 1e-9 * abs(bound))


def without_rounding(bound: float, history: list[float]) -> float:
    """Rounding may lower the bound by its last digits where it should stay the same.

    A bound near zero is a difference of larger numbers, so that its digits count from 1.
    """
    if history and 0 < history[-1] - bound <= 1e-12 * max(abs(bound), 1.0):
        return history[-1]
    return bound


def soft(
    block: Block, scores: Floats, apart: NDArray[np.int64], labels: NDArray[np.int32]
) -> float:
    """Memberships by softmax; labels: OUT, the most probable component."""
    return float(kernels.memberships(scores, apart, scores, labels))


def expect(
    rows: Blocks,
    emission: Any,
    components: Any,
    log_weights: Floats,
    apart: RowEntries,
    labels: Any,
    soften: Soften = soft,
    held: RowEntries | None = None,
) -> Expected:
    """The E-step: memberships of all rows that are not apart, and their sums.

    labels: a column, OUT. Scores are log densities and ``log_weights`` (T). held: components in
    which rows are held, or that are forbidden to them (see `hold`).
    """
    how = (emission, components, log_weights, soften)
    bound, of_apart, *sums = rows.sum(_expect_in_block, how, apart, labels, held)
    return Expected(bound, np.concatenate(of_apart), tuple(sums))


def _expect_in_block(
    block: Block,
    how: tuple[Any, Any, Floats, Soften],
    apart: RowEntries,
    labels: NDArray[np.int32],
    held: RowEntries | None,
) -> tuple[Any, ...]:
    emission, components, log_weights, soften = how
    scores = emission.log_density(block.X, components)
    of_apart = scores[:, apart.row].T
    scores += log_weights[:, None]
    if held is not None:
        hold(scores, held)
    bound = soften(block, scores, apart.row, labels)
    return bound, [of_apart], *emission.statistics(block.X, scores)


def hold(scores: Floats, held: RowEntries) -> None:
    """Scores of components that a row may not have become -inf: of all but one, or of one.

    scores (T, rows): IN/OUT. held: for each entry a component, and whether it is the only one.
    """
    component, only = held.values
    row, own = held.row[only], component[only]
    kept = scores[own, row]
    scores[:, row] = -np.inf
    scores[own, row] = kept
    scores[component[~only], held.row[~only]] = -np.inf


def begin(rows: Blocks, emission: Any, start: Start) -> Statistics:
    """The statistics of the memberships that a start proposes."""
    return rows.sum(_begin_in_block, (start.scores, emission), start.column)


def _begin_in_block(block: Block, how: tuple[Any, Any], column: Any) -> Statistics:
    scores_of, emission = how
    scores = scores_of(block, column)
    nobody = np.empty(0, dtype=np.int64)
    soft(block, scores, nobody, np.empty(scores.shape[1], dtype=np.int32))
    statistics: Statistics = emission.statistics(block.X, scores)
    return statistics
