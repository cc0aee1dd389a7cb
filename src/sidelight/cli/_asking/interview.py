"""The asker in a thread of its own, so that the person does not wait."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from sidelight.query import QuestionError

# Questions kept ready for the answers after which the asker needs longer.
_READY = 6
# Seconds to wait for the best next question; then one that was kept ready is asked.
PATIENCE = 0.12
# Askers kept for undo; further back, the answers are replayed.
_KEPT = 50
# "You may stop": the next ten answers move a smaller share of pairs, after at least ten answers.
_LITTLE, _SOME = 0.001, 10


@dataclass(frozen=True)
class Progress:
    """How far an interview is, as plain data."""

    answers: int
    statements: int
    clusters: int
    may_stop: bool
    sentence: str


class _Thought(NamedTuple):
    """The state of the asker after some answers."""

    n_answers: int
    asker: Any
    questions: tuple[Any, ...]
    progress: Progress


class Interview:
    """Questions for one person, each when it is wanted.

    Parameters
    ----------
    build : callable
        Makes the asker; called in the thread.
    n_known : int
        Statements that the asker is given at the start.
    annotator : str, optional
        Who answers.
    patience : float or None, default=None
        Seconds to wait for the best question; after that, a question prepared earlier is asked.
        None always waits, and the same answers get the same questions.
    """

    def __init__(
        self,
        build: Callable[[], Any],
        *,
        n_known: int = 0,
        annotator: str | None = None,
        patience: float | None = None,
    ) -> None:
        self._n_known, self._annotator, self._patience = n_known, annotator, patience
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="asker")
        self._askers: list[Any] = []  # used by the thread only
        self._answered: list[Any] = []
        self._next: Future[_Thought] = self._pool.submit(self._first, build)
        self._thought: _Thought | None = None

    def __enter__(self) -> "Interview":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    @property
    def n_answers(self) -> int:
        """Answers so far."""
        return len(self._answered)

    def wait(self) -> None:
        """Wait for the asker to be ready."""
        self._thought = self._next.result()

    def question(self) -> Any:
        """The next question, or None when nothing is left to ask."""
        if self._thought is None or self._patience is None:
            self.wait()
        else:
            try:
                self._thought = self._next.result(self._patience)
            except TimeoutError:
                ready = self._left()
                if ready is not None:
                    return ready
                self.wait()
        return self._left()

    def answer(self, question: Any, value: Any, seconds: float | None = None) -> None:
        """Give the asker one answer; it continues in the background."""
        self._answered.append(question)
        self._next = self._pool.submit(self._tell, question, value, seconds)

    def undo(self) -> Any:
        """Take the last answer back; its question, to be asked again."""
        if not self._answered:
            raise QuestionError("there is nothing to take back: no answer was given yet.")
        question = self._answered.pop()
        self._next = self._pool.submit(self._untell)
        return question

    @property
    def progress(self) -> Progress:
        """Progress at the last state of the asker."""
        assert self._thought is not None
        found, n = self._thought.progress, self.n_answers
        return Progress(n, self._n_known + n, found.clusters, found.may_stop, found.sentence)

    def _left(self) -> Any:
        """The first prepared question about rows without an answer since."""
        assert self._thought is not None
        since = self._answered[self._thought.n_answers :]
        busy = {row for question in since for row in question.rows}
        return next((q for q in self._thought.questions if not busy & set(q.rows)), None)

    # In the thread

    def _first(self, build: Callable[[], Any]) -> _Thought:
        self._askers = [build()]
        return self._think()

    def _tell(self, question: Any, value: Any, seconds: float | None) -> _Thought:
        asker = self._askers[-1].answer(question, value, annotator=self._annotator, seconds=seconds)
        self._askers = [*self._askers[-_KEPT:], asker]
        return self._think()

    def _untell(self) -> _Thought:
        if len(self._askers) > 1:
            self._askers.pop()
        else:
            last = self._askers[-1]
            self._askers = [last.retract(last.answers[-1].id)]
        return self._think()

    def _think(self) -> _Thought:
        asker = self._askers[-1]
        stopping, n = asker.stopping, len(asker.answers)
        questions: Sequence[Any] = asker.ask(_READY)
        enough = self._n_known + n >= _SOME and asker.trusted
        progress = Progress(
            n,
            self._n_known + n,
            int(asker.n_clusters),
            bool(enough and (stopping.share < _LITTLE or not questions)),
            _in_words(stopping) if asker.trusted else stopping.sentence,
        )
        return _Thought(n, asker, tuple(questions), progress)


def _in_words(stopping: Any) -> str:
    """The value of further answers and the quality of the clusters, in a line for a screen."""
    worth = (
        "Further answers are expected to change nothing."
        if stopping.next_ten < 0.5
        else f"The next ten answers are expected to correct {stopping.share:.2%} of all pairs."
    )
    if stopping.accuracy is None:
        return worth
    share, low, high = stopping.accuracy
    return (
        f"{worth} The clusters agree with {share:.0%} of {stopping.n_audit} answers about pairs "
        f"drawn at random ({low:.0%} to {high:.0%} of all pairs)."
    )
