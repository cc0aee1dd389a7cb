"""Which question next, for whom, and when to stop: an asker, and clients that answer it."""

from sidelight.query._asker import Asker
from sidelight.query._questions import Answer, Question, QuestionError
from sidelight.query._simulate import Curve, Oracle, simulate
from sidelight.query._stopping import Interval, Stopping, wilson

__all__ = [
    "Answer",
    "Asker",
    "Curve",
    "Interval",
    "Oracle",
    "Question",
    "QuestionError",
    "Stopping",
    "simulate",
    "wilson",
]
