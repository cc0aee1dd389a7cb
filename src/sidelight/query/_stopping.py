"""When to stop: the value of the next questions, and the quality of the result by the audit."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sidelight.query._questions import Answer
from sidelight.query._structure import Ints

Z = 1.959963984540054  # a normal interval of 95 %


class Interval(NamedTuple):
    """An estimate and the ends of its interval.

    Examples
    --------
    >>> from sidelight.query import Interval
    >>> Interval(0.9, 0.8, 0.95).value
    0.9
    """

    value: float
    low: float
    high: float


class Stopping(NamedTuple):
    """Whether more answers are worth the effort.

    Attributes
    ----------
    next_ten : float
        Pairs of rows that the next ten questions are expected to put right.
    share : float
        The same as a share of all pairs.
    accuracy : Interval or None
        Share of pairs that the result judges as annotators do, by the audit; a Wilson interval of
        95 %. None before the first audit answer.
    n_audit : int
        Audit answers so far.
    sentence : str
        All of it in words.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import Asker
    >>> stopping = Asker(np.arange(12.0).reshape(6, 2), random_state=0).stopping
    >>> stopping.accuracy is None, stopping.n_audit
    (True, 0)
    """

    next_ten: float
    share: float
    accuracy: Interval | None
    n_audit: int
    sentence: str


def wilson(share: float, n: float) -> Interval:
    """The Wilson interval of a share of n draws; n need not be whole.

    Parameters
    ----------
    share : float
        Observed share.
    n : float
        Effective number of draws.

    Returns
    -------
    Interval

    Examples
    --------
    >>> from sidelight.query import wilson
    >>> [round(end, 3) for end in wilson(0.9, 20)]
    [0.9, 0.699, 0.972]
    """
    if n <= 0:
        return Interval(share, 0.0, 1.0)
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return Interval(share, float(min(low, share)), float(max(high, share)))


def audit_accuracy(answers: Sequence[Answer], labels: Ints) -> tuple[Interval | None, int]:
    """Share of pairs judged as annotators do, each audit answer weighted by 1 / its probability.

    Audit answers never enter the model, so they are a fair test of any of its results.
    """
    audits = [a for a in answers if a.question.audit and a.binds]
    if not audits:
        return None, 0
    i, j = (np.array([a.question.rows[side] for a in audits]) for side in (0, 1))
    together = np.array([a.value == "must" for a in audits])
    weight = 1.0 / np.array([a.question.probability for a in audits])
    right = (labels[i] == labels[j]) == together
    share = float(weight @ right / weight.sum())
    n_effective = float(weight.sum() ** 2 / (weight**2).sum())
    return wilson(share, n_effective), len(audits)


def in_words(
    next_ten: float,
    share: float,
    accuracy: Interval | None,
    n_audit: int,
    *,
    trusted: bool,
    is_done: bool,
) -> str:
    """A sentence or two for people."""
    if not trusted:
        return (
            "The answers do not fit what was predicted better than guesses would: the partition "
            f"from before the first answer is shown ({n_audit} audit answers). Look at who "
            "answers, and how."
        )
    worth = (
        "The members of the committee agree: further questions are expected to change nothing."
        if next_ten < 0.5
        else f"The next ten questions are expected to put {next_ten:,.0f} pairs of rows right "
        f"({share:.2%} of all)."
    )
    if is_done:
        worth = "Nothing is left to ask."
    if accuracy is None:
        return f"{worth} No audit answer yet: how good the result is has not been measured."
    return (
        f"{worth} By {n_audit} audit answers the result judges {accuracy.value:.0%} of all pairs "
        f"as annotators do (95 % interval {accuracy.low:.0%} to {accuracy.high:.0%})."
    )
