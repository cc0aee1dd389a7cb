"""Statements about rows: what they imply, and where they contradict each other."""

from sidelight.side._agreement import Agreement, dyadic_error
from sidelight.side._cells import from_cell, map_distinct, to_cell
from sidelight.side._closure import Closure
from sidelight.side._conflicts import Conflict, Conflicts
from sidelight.side._feasibility import Feasibility
from sidelight.side._files import held_by, read, read_all, write
from sidelight.side._information import SideInformation
from sidelight.side._kinds import (
    CANNOT,
    KINDS,
    LABEL,
    MUST,
    NOT_LABEL,
    UNSURE,
    Kind,
    usable_kinds,
)
from sidelight.side._matching import match_classes
from sidelight.side._names import brief
from sidelight.side._sampling import sample_labels, sample_pairs
from sidelight.side._sources import Reading, check_columns
from sidelight.side._spelling import alike, nearest
from sidelight.side._statements import Statements
from sidelight.side._views import ClassColumns

__all__ = [
    "CANNOT",
    "KINDS",
    "LABEL",
    "MUST",
    "NOT_LABEL",
    "UNSURE",
    "Agreement",
    "ClassColumns",
    "Closure",
    "Conflict",
    "Conflicts",
    "Feasibility",
    "Kind",
    "Reading",
    "SideInformation",
    "Statements",
    "alike",
    "brief",
    "check_columns",
    "dyadic_error",
    "from_cell",
    "held_by",
    "map_distinct",
    "match_classes",
    "nearest",
    "read",
    "read_all",
    "sample_labels",
    "sample_pairs",
    "to_cell",
    "usable_kinds",
    "write",
]
