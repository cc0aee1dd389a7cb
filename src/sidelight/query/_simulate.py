"""Answers from a known truth, and the curve of a strategy over the number of answers."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sidelight._random import draw_seed
from sidelight.metrics import adjusted_rand
from sidelight.query._questions import CANNOT_TELL, Question, QuestionError
from sidelight.query._structure import Floats, Ints

BUDGETS = (0, 10, 25, 50, 100, 200)


class Curve(NamedTuple):
    """Quality of the result after given numbers of answers.

    Attributes
    ----------
    n_answers : ndarray
        The budgets that were reached; the last one smaller if nothing was left to ask.
    ari, ari_untouched : ndarray
        Adjusted Rand index on all rows, and on rows that no answer is about (NaN below two rows).
    n_clusters : ndarray
        Clusters shown.
    expected_error : ndarray
        The asker's estimate of its error; NaN for strategies without one.
    true_error : ndarray
        Share of pairs of rows that the shown partition misjudges.
    seconds : ndarray
        Time of every question, from one answer to the next question, without looking at labels.
    asker : object
        The asker after the last answer.

    Examples
    --------
    >>> from sidelight.datasets import make_blobs
    >>> from sidelight.query import Asker, simulate
    >>> sample = make_blobs(60, 2, 3, separation=8.0, random_state=0)
    >>> curve = simulate(Asker(sample.X, random_state=0), sample.y, budgets=(0, 5))
    >>> curve.n_answers.tolist(), len(curve.seconds)
    ([0, 5], 5)
    """

    n_answers: Ints
    ari: Floats
    ari_untouched: Floats
    n_clusters: Ints
    expected_error: Floats
    true_error: Floats
    seconds: Floats
    asker: Any


class Oracle:
    """A simulated annotator with given shares of wrong answers and of "can't tell".

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        The class of each row.
    wrong : float, default=0.0
        Probability of a wrong answer; a wrong label is drawn from the other classes.
    silent : float, default=0.0
        Probability of "can't tell".
    random_state : int, Generator or RandomState, optional
        Source of the mistakes. Whether a question is answered wrongly does not depend on the other
        questions.

    Examples
    --------
    >>> from sidelight.query import Oracle, Question
    >>> oracle = Oracle(["cat", "cat", "dog"], random_state=0)
    >>> oracle(Question("a", "pair", (0, 2))), oracle(Question("b", "label", (2,)))
    ('cannot', 'dog')
    """

    def __init__(
        self,
        truth: npt.ArrayLike,
        *,
        wrong: float = 0.0,
        silent: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.truth = np.asarray(truth).tolist()
        self.classes = sorted(set(self.truth))
        for name, share in (("wrong", wrong), ("silent", silent)):
            if not 0 <= share <= 1:
                raise QuestionError(f"{name} is {share!r}; give a probability.")
        self.wrong, self.silent = wrong, silent
        self.seed = draw_seed(random_state)

    def __call__(self, question: Question) -> Any:
        """The answer to a question."""
        rng = np.random.default_rng([self.seed, question.slot, *question.rows])
        is_silent, is_wrong = rng.random() < self.silent, rng.random() < self.wrong
        if is_silent:
            return CANNOT_TELL
        if question.kind == "pair":
            i, j = question.rows
            return "must" if (self.truth[i] == self.truth[j]) != is_wrong else "cannot"
        right = self.truth[question.rows[0]]
        others = [name for name in self.classes if name != right]
        return others[int(rng.integers(len(others)))] if is_wrong and others else right


def simulate(
    asker: Any,
    truth: npt.ArrayLike,
    *,
    budgets: Sequence[int] = BUDGETS,
    wrong: float = 0.0,
    random_state: Any = None,
) -> Curve:
    """Answer an asker's questions from a known truth, and measure its result on the way.

    Parameters
    ----------
    asker : Asker or a strategy
        Anything with ``ask``, ``answer`` and ``labels``.
    truth : array-like of shape (n_samples,)
        The class of each row.
    budgets : sequence of int
        Numbers of answers after which the result is measured, ascending.
    wrong : float, default=0.0
        Probability that an answer is wrong.
    random_state : int, Generator or RandomState, optional
        Source of the mistakes.

    Returns
    -------
    Curve

    Examples
    --------
    >>> from sidelight.datasets import make_blobs
    >>> from sidelight.query import Asker, simulate
    >>> sample = make_blobs(60, 2, 3, separation=8.0, random_state=0)
    >>> asker = Asker(sample.X, kinds=("pair",), random_state=0)
    >>> curve = simulate(asker, sample.y, budgets=(0, 20))
    >>> bool(curve.ari[-1] > curve.ari[0])
    True
    """
    y = np.unique(np.asarray(truth), return_inverse=True)[1]
    if len(y) != asker.n_samples:
        raise QuestionError(f"truth has {len(y)} entries for {asker.n_samples} rows.")
    oracle = Oracle(truth, wrong=wrong, random_state=random_state)
    marks = sorted(set(budgets))
    if not marks or marks[0] < 0:
        raise QuestionError(f"budgets is {budgets!r}; give numbers of answers, 0 or more.")
    found, seconds = [], []
    for t in range(marks[-1] + 1):
        if t in marks:
            found.append((t, *_measure(asker, y)))
        if t == marks[-1]:
            break
        began = time.process_time()
        questions = asker.ask()
        if not questions:
            found.append((t, *_measure(asker, y)))
            break
        asker = asker.answer(questions[0], oracle(questions[0]))
        seconds.append(time.process_time() - began)
    n, ari, untouched, k, expected, true = (np.array(column) for column in zip(*found, strict=True))
    return Curve(n, ari, untouched, k, expected, true, np.array(seconds), asker)


def _measure(asker: Any, y: Ints) -> tuple[float, float, int, float, float]:
    labels = np.asarray(asker.labels)
    untouched = np.ones(len(y), dtype=bool)
    untouched[[row for answer in asker.answers for row in answer.question.rows]] = False
    rest = adjusted_rand(y[untouched], labels[untouched]) if untouched.sum() > 1 else np.nan
    expected = asker.expected_error.value if hasattr(asker, "expected_error") else np.nan
    return adjusted_rand(y, labels), rest, asker.n_clusters, expected, _misjudged(y, labels)


def _misjudged(y: Ints, labels: Ints) -> float:
    """Share of pairs that two partitions judge differently."""
    n = len(y)
    joint = np.unique(np.column_stack([y, labels]), axis=0, return_counts=True)[1]
    sizes = [np.bincount(part).astype(float) for part in (y, labels)]
    differ = sum((size**2).sum() for size in sizes) - 2 * (joint.astype(float) ** 2).sum()
    return float(differ / max(n * (n - 1), 1))
