"""Annotators: their costs, and how often they are right."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from sidelight.query._committee import (
    HIGHEST_ACCURACY,
    LOWEST_ACCURACY,
    Committee,
    right_chances,
)
from sidelight.query._questions import QuestionError
from sidelight.query._stopping import Interval

PRIOR_RIGHT, PRIOR_WRONG = 18.0, 2.0


class Person(NamedTuple):
    """A name and what one answer costs."""

    name: str | None
    cost: float = 1.0


def check_annotators(annotators: Any) -> tuple[Person, ...]:
    """Names, or names with costs; by default one annotator without a name."""
    if annotators is None:
        return (Person(None),)
    if isinstance(annotators, str):
        annotators = [annotators]
    if isinstance(annotators, Mapping):
        people = [Person(name, _cost(name, cost)) for name, cost in annotators.items()]
    elif isinstance(annotators, Sequence):
        people = [Person(name) for name in annotators]
    else:
        people = []
    names = [person.name for person in people]
    if not names or len(set(names)) < len(names) or not all(_is_name(name) for name in names):
        raise QuestionError(
            f"annotators is {annotators!r}; give different names, or a dict from name to cost."
        )
    return tuple(people)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name)


def _cost(name: Any, cost: Any) -> float:
    if not (isinstance(cost, int | float) and np.isfinite(cost) and cost > 0):
        raise QuestionError(
            f"annotator {name!r} costs {cost!r}; a cost is a number above zero, in any unit that "
            "all annotators share."
        )
    return float(cost)


def accuracy_counts(committee: Committee) -> tuple[Any, Any]:
    """For each annotator the prior plus expected right answers, and the same of wrong ones."""
    n = len(committee.accuracy)
    who = committee.facts.annotator
    right = np.bincount(who, weights=right_chances(committee), minlength=n) if len(who) else 0.0
    count = np.bincount(who, minlength=n)
    return PRIOR_RIGHT + right, PRIOR_WRONG + count - right


def accuracy_interval(committee: Committee, annotator: int) -> Interval:
    """Estimate and 90 % interval of the accuracy of one annotator."""
    right, wrong = (
        np.broadcast_to(counts, committee.accuracy.shape)[annotator]
        for counts in accuracy_counts(committee)
    )
    low, high = (float(betaincinv(right, wrong, end)) for end in (0.05, 0.95))
    value = float(committee.accuracy[annotator])
    return Interval(value, min(low, value), max(high, value))


def drawn_accuracy(committee: Committee, annotator: int | None, rng: np.random.Generator) -> float:
    """An accuracy drawn from its posterior, so that little-known annotators are asked too."""
    right, wrong = PRIOR_RIGHT, PRIOR_WRONG
    if annotator is not None and annotator < len(committee.accuracy):
        counts = accuracy_counts(committee)
        right, wrong = (np.broadcast_to(c, committee.accuracy.shape)[annotator] for c in counts)
    return float(np.clip(rng.beta(right, wrong), LOWEST_ACCURACY, HIGHEST_ACCURACY))
