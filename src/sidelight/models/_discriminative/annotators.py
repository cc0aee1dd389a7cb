"""Error rates of annotators, cross-fitted because a committee memorises the statements it sees.

The annotated rows fall into four folds. For each, metric, start and members are fitted without all
statements about its rows; q_s is the smoothed probability that they give to a held-out statement.
Then, again and again,

    h_s = P(statement s is wrong)  by Bayes' rule from q_s and eps of its annotator
    eps_a = (2 + sum of h_s) / (20 + number of statements of annotator a)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.models._discriminative.problem import Problem, fit_quickly
from sidelight.models._discriminative.statements import chance_of, error_of
from sidelight.side import SideInformation, Statements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

USUAL = 0.1  # from .02 to .2 clean figures do not move, and those with wrong statements rise
_FOLDS = 4
_ROUNDS = 2
_ITERATIONS = 20  # of h and eps in a round
_PRIOR_WRONG, _PRIOR = 2.0, 20.0
_LEAST, _MOST = 0.02, 0.9
# With few statements the prior pulls estimates towards .1: an annotator who is wrong in 40 % of
# cases is estimated at .16 to .3. With a limit of .25, wrong must-links of such annotators shrank
# the directions that separate classes. Chosen on draw 0 of 14 tables, level or better on draw 1.
_TRUSTED = 0.15
_CERTAIN = 1e-6  # stands for 0, whose logarithm is not a number


class Rates(NamedTuple):
    """For each annotator how often wrong, and whether that is to be estimated.

    The last one stands for statements without annotator.
    """

    error: Floats
    free: Bools

    @classmethod
    def given(cls, side: SideInformation, accuracy: float | Mapping[Any, float] | None) -> "Rates":
        """As given; the others are estimated if there are two or more annotators."""
        names = (*side.annotators, None)
        error = np.full(len(names), USUAL)
        free = np.ones(len(names), dtype=bool)
        if isinstance(accuracy, Mapping):
            for k, name in enumerate(names):
                if name in accuracy:
                    error[k], free[k] = 1.0 - accuracy[name], False
        elif accuracy is not None:
            error[:], free[:] = 1.0 - accuracy, False
        if len(np.unique(side.statements.annotator[side.statements.binding])) < 2:
            free[:] = False
        return cls(np.clip(error, _CERTAIN, 1 - _CERTAIN), free)

    def of(self, said: Statements, annotator: Ints, n_clusters: int) -> Floats:
        """For each statement the probability that it is wrong; estimates are not below chance."""
        chance = np.where(_is_label(said), (n_clusters - 1) / max(n_clusters, 2), 0.5)
        error = self.error[annotator]
        return np.where(self.free[annotator], np.minimum(error, chance), error)

    def trusted(self, annotator: Ints) -> Bools:
        """Which statements are good enough for the metric and the starts."""
        speaks = np.unique(annotator)
        if not len(speaks):
            return np.ones(0, dtype=bool)
        limit = max(_TRUSTED, float(self.error[speaks].min()) + 0.05)
        return self.error[annotator] <= limit


def estimate_rates(problem: Problem, rates: Rates) -> tuple[Rates, Floats]:
    """Estimate the rates that are free; also, for each statement, the probability that it is wrong.

    That is NaN for statements that bind nothing.
    """
    side, K = problem.side, problem.n_clusters
    said, who = side.statements, problem.annotator
    spoken = said.binding
    rows = np.unique(np.concatenate([said.i[spoken], said.j[spoken & (said.j >= 0)]]))
    place = np.full(side.n_samples, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    fold = _folds(problem, rows)
    fold_i, fold_j = fold[said.i], np.where(said.j >= 0, fold[said.j], -1)
    others = np.where(_is_label(said), K, 2)
    chance = np.full(side.n_statements, np.nan)
    for _ in range(_ROUNDS):
        error = rates.of(said, who, K)
        for k in range(_FOLDS):
            see = (fold_i != k) & (fold_j != k)
            P = fit_quickly(problem, error, see, rates.trusted(who), rows).each.mean(axis=0)
            held = spoken & (fold_i == k)
            # A class named by one annotator only has a column by chance.
            named = np.isin(problem.column, problem.column[see & _is_label(said)])
            known = named | (problem.column < 0)
            chance[held] = np.where(known, chance_of(side, problem.column, place, P), np.nan)[held]
        for _ in range(_ITERATIONS):
            smooth = 0.95 * chance + 0.05 / others
            wrong = error_of(side, smooth, rates.of(said, who, K), K)
            rates = rates._replace(error=np.where(rates.free, _new(who, wrong, rates), rates.error))
    # If nothing is known about a statement, use the error rate of its annotator.
    return rates, np.where(spoken & np.isnan(wrong), rates.of(said, who, K), wrong)


def _folds(problem: Problem, rows: Ints) -> Ints:
    """The fold of each annotated row, -1 for others; rows of one class are spread over folds."""
    said = problem.side.statements
    first_class = np.full(problem.side.n_samples, -1, dtype=np.int64)
    label = said.binding & _is_label(said)
    np.maximum.at(first_class, said.i[label], problem.column[label])
    turn = np.random.default_rng(problem.seed).permutation(rows)
    turn = turn[np.argsort(first_class[turn], kind="stable")]
    fold = np.full(problem.side.n_samples, -1, dtype=np.int64)
    fold[turn] = np.arange(len(turn)) % _FOLDS
    return fold


def _new(who: Ints, wrong: Floats, rates: Rates) -> Floats:
    known = ~np.isnan(wrong)
    total = np.bincount(who[known], wrong[known], minlength=len(rates.error))
    count = np.bincount(who[known], minlength=len(rates.error))
    return np.clip((_PRIOR_WRONG + total) / (_PRIOR + count), _LEAST, _MOST)


def _is_label(said: Statements) -> Bools:
    return said.is_class & (said.sign > 0)
