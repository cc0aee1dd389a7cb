"""Which question next, for whom, and when to stop: an asker, and clients that answer it."""

from sidelight.query._asker import Asker
from sidelight.query._programs import Program, converse
from sidelight.query._questions import Answer, Question, QuestionError
from sidelight.query._simulate import Curve, Oracle, simulate
from sidelight.query._stopping import Interval, Stopping, wilson
from sidelight.query._strategies import (
    CobraAsker,
    CobrasAsker,
    NeighborhoodAsker,
    RandomAsker,
    SequentialAsker,
)

__all__ = [
    "Answer",
    "Asker",
    "CobraAsker",
    "CobrasAsker",
    "Curve",
    "Interval",
    "NeighborhoodAsker",
    "Oracle",
    "Program",
    "Question",
    "QuestionError",
    "RandomAsker",
    "SequentialAsker",
    "Stopping",
    "converse",
    "simulate",
    "wilson",
]
