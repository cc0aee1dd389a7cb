"""Questions and answers: plain data that any client can show, send and store."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from numbers import Real
from typing import Any

import numpy as np

from sidelight.exceptions import SidelightError

PAIR_VALUES = ("must", "cannot")
CANNOT_TELL = "cannot_tell"
NOT = "not:"


class QuestionError(SidelightError):
    """A question or an answer that this asker cannot take.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import Asker
    >>> asker = Asker(np.arange(12.0).reshape(6, 2), random_state=0)
    >>> asker.answer(asker.ask()[0], "maybe")
    Traceback (most recent call last):
        ...
    sidelight.query._questions.QuestionError: the answer is 'maybe'; ...
    """


@dataclass(frozen=True)
class Question:
    """One question, as plain data.

    Parameters
    ----------
    id : str
        Made from the asker's seed and the question, so that an asker knows its own questions.
    kind : {"pair", "label"}
        "Do these two rows belong together?", or "What is this row?".
    rows : tuple of int
        Two rows, or one.
    classes : tuple
        The names used so far, to offer for a label.
    annotator : str, optional
        Who should answer.
    audit : bool
        Whether it was drawn at random to measure the result, and not chosen for its value.
    probability : float
        The probability of this question among all that could have stood here: 1 unless an audit.
    value : float
        Pairs of rows that are expected to be judged right because of the answer.
    reason : str
        Why it is asked, in words.
    prediction : dict
        What the asker expects. Kept apart: an annotator who sees it agrees with it too often.
    slot : int
        How many answers came before it.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import Asker, Question
    >>> question = Asker(np.arange(12.0).reshape(6, 2), random_state=0).ask()[0]
    >>> question.kind, len(question.rows)
    ('pair', 2)
    >>> Question.from_dict(question.to_dict()) == question
    True
    >>> "prediction" in question.for_annotator()
    False
    """

    id: str
    kind: str
    rows: tuple[int, ...]
    classes: tuple[Any, ...] = ()
    annotator: str | None = None
    audit: bool = False
    probability: float = 1.0
    value: float = 0.0
    reason: str = ""
    prediction: dict[str, float] = field(default_factory=dict)
    slot: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self) | {"rows": list(self.rows), "classes": list(self.classes)}

    def for_annotator(self) -> dict[str, Any]:
        """The part for the annotator: no prediction, and no mark of audits."""
        hidden = {"prediction", "value", "audit", "probability", "reason"}
        return {key: value for key, value in self.to_dict().items() if key not in hidden}

    def check(self, value: Any, *, seconds: Any = None) -> Any:
        """The value, if it answers this question in such a time; otherwise a QuestionError."""
        check_seconds(seconds)
        return check_value(self, value)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Question":
        """The question that `to_dict` wrote."""
        if not isinstance(data, Mapping):
            raise QuestionError(
                f"the question is {data!r}; give a Question from ask(), or its dict."
            )
        known = {f.name for f in fields(cls)}
        if unknown := set(data) - known or {"id", "kind", "rows"} - set(data):
            raise QuestionError(
                f"a question has the keys {sorted(known)}; wrong or missing: {sorted(unknown)}."
            )
        try:
            rows = tuple(int(row) for row in data["rows"])
            classes = tuple(data.get("classes", ()))
        except (TypeError, ValueError) as error:
            raise QuestionError(
                f"the rows or classes of question {data['id']!r} are not lists: {error}."
            ) from error
        return cls(**dict(data) | {"rows": rows, "classes": classes})


@dataclass(frozen=True)
class Answer:
    """One answer of the log.

    Parameters
    ----------
    id : str
        The question's, and the annotator's name if there is one.
    question : Question
        What was asked.
    value : object
        "must", "cannot", a class, "not:<class>" or "cannot_tell".
    annotator : str, optional
        Who answered.
    seconds : float, optional
        How long it took.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import Asker
    >>> asker = Asker(np.arange(12.0).reshape(6, 2), random_state=0)
    >>> asker = asker.answer(asker.ask()[0], "must", annotator="ann")
    >>> asker.answers[0].value, asker.answers[0].annotator
    ('must', 'ann')
    """

    id: str
    question: Question
    value: Any
    annotator: str | None = None
    seconds: float | None = None

    @property
    def binds(self) -> bool:
        """Whether it says anything."""
        return bool(self.value != CANNOT_TELL)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "question": self.question.to_dict(),
            "value": self.value,
            "annotator": self.annotator,
            "seconds": self.seconds,
        }


def question_id(seed: int, question: Question) -> str:
    """The id of a question: only the asker that asked it computes the same one."""
    told = [seed, question.slot, question.kind, question.rows, question.annotator, question.audit]
    text = json.dumps([*told, question.probability], default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def answer_to(question: Question, value: Any, annotator: Any, seconds: Any) -> Answer:
    """The answer to a question, if everything about it can be taken."""
    who = question.annotator if annotator is None else annotator
    if who is not None and not (isinstance(who, str) and who):
        raise QuestionError(f"the annotator is {who!r}; give a name.")
    name = question.id if who is None else f"{question.id}:{who}"
    return Answer(name, question, check_value(question, value), who, check_seconds(seconds))


def check_seconds(seconds: Any) -> float | None:
    """A time that an answer took, if it is known."""
    if seconds is None:
        return None
    is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if not (is_number and 0 <= seconds < np.inf):
        raise QuestionError(f"seconds is {seconds!r}; give a number, 0 or more.")
    return float(seconds)


def check_value(question: Question, value: Any) -> Any:
    """The value of an answer, if the question allows it; a class of an array as plain data."""
    if isinstance(value, np.integer | np.str_):
        value = value.item()
    if isinstance(value, str) and value == CANNOT_TELL:
        return value
    if question.kind == "pair":
        if not isinstance(value, str) or value not in PAIR_VALUES:
            raise QuestionError(
                f"the answer is {value!r}; a question about a pair takes 'must', 'cannot' or "
                "'cannot_tell'."
            )
        return value
    is_name = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    if not is_name or value in PAIR_VALUES or value == NOT:
        raise QuestionError(
            f"the answer is {value!r}; a question about a row takes the name of a class (text or "
            "a whole number), 'not:<class>' or 'cannot_tell'."
        )
    return value
