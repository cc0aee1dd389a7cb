"""L-BFGS without bounds: every accepted step lowers the value.

J. Nocedal and S. Wright, "Numerical Optimization", chapter 7. scipy's L-BFGS-B is the same method
with bounds, and spends more time on checks of its own than small problems take.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Evaluate = Callable[[Floats], tuple[float, Floats]]

_MEMORY = 10  # pairs of steps and changes of the gradient that are remembered
_ENOUGH = 1e-4  # share of the predicted decrease that a step has to reach
_SHORTEST = 1e-10  # steps below this share of the full one are not tried


class Descent(NamedTuple):
    """Where a descent ended, and the value at its start and after each step."""

    x: Floats
    history: list[float]


def descend(
    evaluate: Evaluate,
    x: Floats,
    max_iter: int,
    each_step: Callable[[], bool] | None = None,
    tolerance: float = 1e-9,
) -> Descent:
    """Lower ``evaluate(x)``, a value and its gradient, until it no longer falls.

    each_step : called after each step; true ends the descent.
    tolerance : a fall of less than this share of the value ends it.
    """
    value, gradient = evaluate(x)
    history = [value]
    steps: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for _ in range(max_iter):
        direction = _direction(gradient, steps)
        slope = float(gradient @ direction)
        if not slope < 0:  # no further decrease but for rounding
            break
        found = _search(evaluate, x, value, direction, slope)
        if found is None:
            break
        x_new, new_value, new_gradient = found
        step, change = x_new - x, new_gradient - gradient
        curvature = float(step @ change)
        if curvature > 1e-10 * float(change @ change):
            steps.append((step, change, curvature))
        fall = value - new_value
        x, value, gradient = x_new, new_value, new_gradient
        history.append(value)
        if (each_step is not None and each_step()) or fall <= tolerance * max(abs(value), 1.0):
            break
    return Descent(x, history)


def _direction(gradient: Floats, steps: deque[tuple[Floats, Floats, float]]) -> Floats:
    """The quasi-Newton direction by two loops over the remembered steps."""
    if not steps:
        size = float(np.linalg.norm(gradient))
        return -gradient * min(1.0, 1.0 / size) if size else -gradient
    direction = -gradient
    shares = []
    for step, change, curvature in reversed(steps):
        share = float(step @ direction) / curvature
        direction = direction - share * change
        shares.append(share)
    _, change, curvature = steps[-1]
    direction *= curvature / float(change @ change)
    for (step, change, curvature), share in zip(steps, reversed(shares), strict=True):
        direction += (share - float(change @ direction) / curvature) * step
    return direction


def _search(
    evaluate: Evaluate, x: Floats, value: float, direction: Floats, slope: float
) -> tuple[Floats, float, Floats] | None:
    """A point along the direction that is lower by enough; None if there is none."""
    length = 1.0
    while length > _SHORTEST:
        x_new = x + length * direction
        new_value, gradient = evaluate(x_new)
        if new_value <= value + _ENOUGH * length * slope and new_value < value:
            return x_new, new_value, gradient
        # The lowest point of the parabola through what is known, within bounds.
        rise = new_value - value - length * slope
        best = -slope * length**2 / (2 * rise) if rise > 0 else length / 2
        length = min(max(best, 0.1 * length), 0.5 * length)
    return None
