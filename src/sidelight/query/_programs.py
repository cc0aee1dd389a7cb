"""Programs as annotators: a callable, or a process that reads questions and writes answers."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Timer
from typing import IO, Any, Self

from sidelight.query._questions import Question, QuestionError

Annotator = Callable[[Question], Any]


class Program:
    """A process that is sent one JSON line per question and writes one JSON line per answer.

    A question's line is ``Question.for_annotator()`` as JSON. An answer's line is
    ``{"id": ..., "value": ...}``, in any order; ``"seconds"`` may be added. A batch of questions
    is sent at once.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments; no shell is involved.
    timeout : float, default=60.0
        Seconds that it may take for a batch, before it is ended and an error is raised.

    Examples
    --------
    >>> import sys
    >>> from sidelight.query import Program, Question
    >>> code = "import sys,json;[print(json.dumps({'id': json.loads(l)['id'], 'value': 'must'}),"
    >>> code += " flush=True) for l in sys.stdin]"
    >>> with Program([sys.executable, "-c", code]) as program:
    ...     program.answer_many([Question("a", "pair", (0, 1)), Question("b", "pair", (1, 2))])
    ['must', 'must']
    """

    def __init__(self, command: Sequence[str], *, timeout: float = 60.0) -> None:
        if isinstance(command, str) or not command:
            raise QuestionError(
                f"command is {command!r}; give a list: the program, then its arguments."
            )
        self.command, self.timeout = list(command), timeout
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                encoding="utf-8",
            )  # fmt: skip
        except OSError as error:
            raise QuestionError(f"{self.command[0]!r} cannot be started: {error}.") from error
        return self

    def __exit__(self, *_: object) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # it ended with a question unread
                        pipe.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __call__(self, question: Question) -> Any:
        """The answer to one question."""
        return self.answer_many([question])[0]

    def answer_many(self, questions: Sequence[Question]) -> list[Any]:
        """The answers to a batch, in the order of the questions.

        Parameters
        ----------
        questions : sequence of Question
            What to ask.

        Returns
        -------
        list
        """
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise QuestionError("the program is not running; use it in a with statement.")
        late = Timer(self.timeout, process.kill)
        late.start()
        try:
            for question in questions:
                process.stdin.write(json.dumps(question.for_annotator()) + "\n")
            process.stdin.flush()
            wanted = {question.id for question in questions}
            found = dict(self._read(process.stdout, wanted) for _ in questions)
        except BrokenPipeError as error:
            raise QuestionError(f"{self.command[0]!r} ended before it was asked.") from error
        finally:
            late.cancel()
        if set(found) != wanted:
            raise QuestionError(f"{self.command[0]!r} answered a question twice.")
        return [found[question.id] for question in questions]

    def _read(self, pipe: IO[str], wanted: set[str]) -> tuple[str, Any]:
        line = pipe.readline()
        if not line:
            raise QuestionError(
                f"{self.command[0]!r} ended, or took more than {self.timeout:g} s, before it "
                "had answered."
            )
        try:
            said = json.loads(line)
            name, value = said["id"], said["value"]
        except (ValueError, TypeError, KeyError) as error:
            raise QuestionError(
                f"{self.command[0]!r} wrote {line.strip()[:80]!r}; an answer is a line "
                '{"id": ..., "value": ...}.'
            ) from error
        if name not in wanted:
            raise QuestionError(f"{self.command[0]!r} answered {name!r}, which it was not asked.")
        return name, value


def converse(
    asker: Any,
    annotators: Mapping[str, Annotator] | Annotator,
    *,
    n_answers: int | None = None,
    budget: float | None = None,
    batch: int = 1,
) -> Any:
    """Let programs answer an asker's questions.

    Parameters
    ----------
    asker : Asker or a strategy
        Who asks. It chooses among its annotators by value per cost.
    annotators : dict from str to callable, or callable
        Who answers: a callable is given a question and returns the value of the answer; one with
        ``answer_many`` is given a list. Without names, one callable answers everything.
    n_answers : int, optional
        How many answers at most.
    budget : float, optional
        What all answers may cost, by the costs that the asker was given (1 each).
    batch : int, default=1
        Questions that are asked at once.

    Returns
    -------
    Asker
        After the last answer; it ends early when nothing is left to ask.

    Examples
    --------
    >>> from sidelight.datasets import make_blobs
    >>> from sidelight.query import Asker, Oracle, converse
    >>> sample = make_blobs(60, 2, 3, separation=8.0, random_state=0)
    >>> asker = Asker(sample.X, annotators={"expert": 5.0, "crowd": 1.0}, random_state=0)
    >>> people = {"expert": Oracle(sample.y), "crowd": Oracle(sample.y, wrong=0.2, random_state=0)}
    >>> asker = converse(asker, people, n_answers=6, batch=3)
    >>> len(asker.answers)
    6
    """
    if n_answers is None and budget is None:
        raise QuestionError("give n_answers, budget or both: how long to go on.")
    for name, limit in (("n_answers", n_answers), ("budget", budget)):
        if limit is not None and not limit > 0:
            raise QuestionError(f"{name} is {limit!r}; give a number above zero.")
    costs = {person.name: person.cost for person in getattr(asker, "_people", ())}
    spent = sum(costs.get(answer.annotator, 1.0) for answer in asker.answers)
    n_before = len(asker.answers)
    while n_answers is None or len(asker.answers) - n_before < n_answers:
        wanted = batch if n_answers is None else n_answers - (len(asker.answers) - n_before)
        affordable = []
        for question in asker.ask(min(batch, wanted)):
            spent += costs.get(question.annotator, 1.0)
            if budget is None or spent <= budget:
                affordable.append(question)
        if not affordable:
            break
        for question, value in _collect(affordable, annotators):
            asker = asker.answer(question, value)
    return asker


def _collect(questions: list[Question], annotators: Any) -> list[tuple[Question, Any]]:
    """Every question with its answer, those of one annotator at once."""
    by_name: dict[str | None, list[Question]] = {}
    for question in questions:
        by_name.setdefault(question.annotator, []).append(question)
    found: dict[str, Any] = {}
    for name, mine in by_name.items():
        who = annotators
        if isinstance(annotators, Mapping):
            if name not in annotators:
                raise QuestionError(f"no program answers for {name!r}; known: {list(annotators)}.")
            who = annotators[name]
        if hasattr(who, "answer_many"):
            values = list(who.answer_many(mine))
        else:
            values = [who(question) for question in mine]
        if len(values) != len(mine):
            raise QuestionError(f"{name!r} gave {len(values)} answers to {len(mine)} questions.")
        found |= {question.id: value for question, value in zip(mine, values, strict=True)}
    return [(question, found[question.id]) for question in questions]
