"""The parts of ``sidelight ask``: a file that is added to, an interview, a screen and a pipe."""

from sidelight.cli._asking.book import Book
from sidelight.cli._asking.interview import PATIENCE, Interview, Progress
from sidelight.cli._asking.pipe import talk
from sidelight.cli._asking.rows import Rows, statement
from sidelight.cli._asking.terminal import converse

__all__ = ["PATIENCE", "Book", "Interview", "Progress", "Rows", "converse", "statement", "talk"]
