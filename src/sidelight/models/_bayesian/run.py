"""One run of BayesianMixture: coordinate ascent on the bound, from memberships to parameters.

An iteration gives every row its memberships and adds up statistics (blocks for the rows without
neighbours, a sweep for the others), evaluates the bound, and updates the posteriors of components
and weights. Memberships of rows without neighbours follow from the parameters and are never kept.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, softmax

from sidelight.blocks import Block, Blocks, RowEntries
from sidelight.models._bayesian.statements import Couplings, SomeCouplings
from sidelight.models._em import Expected, Start, ascend, begin, expect, without_rounding
from sidelight.models._emissions import Emission, Posterior, Statistics
from sidelight.models._fitting import never

Floats = NDArray[np.float64]


class Problem(NamedTuple):
    """All that is fixed during a fit. ``near`` are the rows with neighbours, gathered once.

    ``is_field``: statements are the paper's random field, in which rows with neighbours have no
    mixture weight of their own, and only the others count for the weights.
    """

    rows: Blocks
    near: Blocks
    near_rows: RowEntries
    couplings: Couplings | SomeCouplings
    emission: Emission
    weights: "Callable[[Floats], Weights]"
    is_field: bool


class Weights(NamedTuple):
    """The posterior of the mixture weights: E log pi, E pi, and KL(posterior || prior)."""

    log: Floats
    mean: Floats
    divergence: float


class Theta(NamedTuple):
    """The posteriors of the components and of the weights."""

    components: Posterior
    weights: Weights


class Run(NamedTuple):
    """Result of one start; labels follow from theta (and near_phi, for rows with neighbours)."""

    labels: Any
    theta: Theta
    objective: float
    history: list[float]
    n_iter: int
    converged: bool
    step: "Step"
    near_phi: Floats
    estimates: Sequence[float] = ()


def stick_breaking(mass: Floats, concentration: float) -> Weights:
    """Dirichlet process, truncated: beta_k ~ Beta(1, concentration) along the sticks.

    The sticks are in the order of decreasing mass, the best of all orders; the result is in the
    order of the components, which does not change.
    """
    order = np.argsort(-mass, kind="stable")
    sizes = mass[order]
    a = 1.0 + sizes
    rest = np.append(np.cumsum(sizes[:0:-1])[::-1], 0.0)
    b = concentration + rest
    both = digamma(a + b)
    log_rest = digamma(b) - both
    log = np.empty_like(mass)
    log[order] = digamma(a) - both + np.append(0.0, np.cumsum(log_rest)[:-1])
    mean = np.empty_like(mass)
    mean[order] = a / (a + b) * np.append(1.0, np.cumprod(b / (a + b))[:-1])
    # Written with differences, because a large concentration absorbs the digits of the masses.
    divergence = log_gamma_ratio(b, a) - np.log(concentration) - gammaln(a)
    divergence += sizes * digamma(a) + rest * digamma(b) - (sizes + rest) * both
    return Weights(log, mean, float(divergence.sum()))


def finite_dirichlet(mass: Floats, concentration: float) -> Weights:
    """Dirichlet with the same concentration for every component."""
    a = concentration + mass
    prior_total = concentration * len(mass)
    total = prior_total + mass.sum()
    log = digamma(a) - digamma(total)
    divergence = log_gamma_ratio(prior_total, mass.sum()) + (mass * log).sum()
    divergence -= log_gamma_ratio(concentration, mass).sum()
    return Weights(log, a / total, float(divergence))


def log_gamma_ratio(x: Any, more: Any) -> Floats:
    """Log Gamma(x + more) - log Gamma(x), by Stirling's series where the difference loses digits.

    For x = 1e15 each of the two has an error of 4, and the difference of 35 none.
    """
    x, more = np.broadcast_arrays(np.asarray(x, dtype=np.float64), more)
    large = np.maximum(x, 100.0)
    after = large + more
    # Of the terms beyond 1 / 12x the first is 3e-9 at 100, the next 8e-14; their difference less.
    tail = (1 / after - 1 / large) / 12 - (after**-3.0 - large**-3.0) / 360
    series = (large - 0.5) * np.log1p(more / large) + more * np.log(after) - more + tail
    return np.where(x < 100.0, gammaln(x + more) - gammaln(x), series)


def run(
    problem: Problem,
    start: Start,
    *,
    potential: str,
    max_iter: int,
    tol: float,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Ascend until an iteration gains less than ``tol`` per row.

    With the potential "kl", V follows from the components; it is frozen while the bound rises, then
    computed again, until nothing changes. Bounds with different V cannot be compared, so
    ``history`` is that of the last V.
    """
    state = State.new(problem.rows)
    statistics = begin(problem.rows, problem.emission, start)
    theta = update(problem, statistics[0], statistics)
    is_potts = potential == "potts" or not len(problem.couplings.rows)
    V = None if is_potts else potential_between(problem, theta)

    def renew(theta: Theta) -> None:
        nonlocal V
        V = potential_between(problem, theta)

    found = ascend(
        theta,
        lambda theta: memberships(problem, theta, state, V),
        lambda step: update(problem, step.mass, step.statistics),
        least_gain=tol * problem.rows.n_samples,
        max_iter=max_iter,
        each_iteration=each_iteration,
        renew=None if is_potts else renew,
    )
    if len(problem.couplings.rows):
        state.labels[problem.couplings.rows] = state.near_phi.argmax(axis=1)
    theta, step, history, n_iter, converged = found
    return Run(state.labels, theta, history[-1], history, n_iter, converged, step, state.near_phi)


def go_on(
    problem: Problem,
    so_far: Run,
    *,
    max_iter: int,
    tol: float,
    each_iteration: Callable[[], bool] = never,
) -> Run:
    """Ascend further from where a run with the potential "potts" ended."""
    state = State.new(problem.rows)
    state.near_phi = so_far.near_phi
    theta, step, history, n_iter, converged = ascend(
        update(problem, so_far.step.mass, so_far.step.statistics),
        lambda theta: memberships(problem, theta, state, None),
        lambda step: update(problem, step.mass, step.statistics),
        least_gain=tol * problem.rows.n_samples,
        max_iter=max_iter,
        each_iteration=each_iteration,
    )
    if len(problem.couplings.rows):
        state.labels[problem.couplings.rows] = state.near_phi.argmax(axis=1)
    first = without_rounding(history[0], so_far.history)
    history = [*so_far.history, first, *history[1:]]
    n_iter += so_far.n_iter
    return Run(state.labels, theta, history[-1], history, n_iter, converged, step, state.near_phi)


class State:
    """What is kept per row: labels, and for rows with neighbours their memberships."""

    def __init__(self, labels: Any) -> None:
        self.labels = labels
        self.near_phi: Floats = np.empty((0, 0))

    @classmethod
    def new(cls, rows: Blocks) -> "State":
        """The state before the first iteration."""
        return cls(rows.column(0, np.int32))


class Step(NamedTuple):
    """The bound with new memberships, the masses that enter the weights, and the statistics."""

    bound: float
    mass: Floats
    statistics: Statistics


def memberships(problem: Problem, theta: Theta, state: State, V: Floats | None) -> Step:
    """Give every row its best memberships, and return the bound; state: OUT."""
    step = expected(problem, theta, state, V)
    return step._replace(bound=step.bound - divergence(problem, theta))


def divergence(problem: Problem, theta: Theta) -> float:
    """KL(posterior || prior) of components and weights."""
    return float(problem.emission.divergence(theta.components).sum()) + theta.weights.divergence


def expected(problem: Problem, theta: Theta, state: State, V: Floats | None) -> Step:
    """Give every row its best memberships; the bound is that of the rows alone. state: OUT."""
    # Labels follow from theta alone, so the column does not need its old values.
    state.labels = problem.rows.column(0, np.int32)
    step = expect(
        problem.rows,
        problem.emission,
        theta.components,
        theta.weights.log,
        problem.near_rows,
        state.labels,
    )
    return with_near(problem, theta, state, V, step)


def with_near(
    problem: Problem, theta: Theta, state: State, V: Floats | None, step: Expected
) -> Step:
    """The same step with the rows that have neighbours, which move in turn; state: OUT."""
    bound, scores, sums = step
    mass = sums[0]
    if len(problem.couplings.rows):
        if not problem.is_field:
            scores += theta.weights.log
        if not len(state.near_phi):
            state.near_phi = softmax(scores, axis=1)
        bound += problem.couplings.sweep(scores, state.near_phi, V)
        phi = np.ascontiguousarray(state.near_phi.T)
        near = problem.near.sum(
            lambda block, _: problem.emission.statistics(
                block.X, np.ascontiguousarray(phi[:, block.start : block.stop])
            ),
            None,
        )
        sums = tuple(a + b for a, b in zip(sums, near, strict=True))
        mass = mass if problem.is_field else sums[0]
    return Step(float(bound), mass, sums)


def update(problem: Problem, mass: Floats, statistics: Statistics) -> Theta:
    """The best posteriors for given memberships."""
    return Theta(problem.emission.posterior(statistics), problem.weights(mass))


def log_densities(
    rows: Blocks, emission: Emission, theta: Theta, use: Callable[[Block, Floats], None]
) -> None:
    """Call ``use`` with E log p(x | theta_k) + E log pi_k of every block, (T, rows)."""

    def each(block: Block, _: None) -> tuple[int]:
        scores = emission.log_density(block.X, theta.components)
        scores += theta.weights.log[:, None]
        use(block, scores)
        return (0,)

    rows.sum(each, None)


def row_evidence(scores: Floats) -> Floats:
    """The log of the sum of exp(score) over the components, for each row."""
    evidence: Floats = logsumexp(scores, axis=0)
    return evidence


def potential_between(problem: Problem, theta: Theta) -> Floats:
    """V by the symmetric KL divergence; on average 1 nat per nat, except in the paper's field."""
    V = problem.emission.symmetric_divergence(theta.components)
    if problem.is_field or len(V) == 1:
        return V
    mean = V.sum() / (len(V) * (len(V) - 1))
    return V / mean if mean > 0 else V
