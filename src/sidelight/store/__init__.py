"""The workbench's log: projects, answers, people, jobs; SQLite by default, PostgreSQL by URL.

Every change of the statements is an event of an append-only log; the table of statements is derived
from it. Nothing here computes clusters, and scikit-learn is not imported.
"""

from sidelight.store._engine import StoreDown as StoreDown  # SQLAlchemy's error, for the server
from sidelight.store._folder import Folder
from sidelight.store._jobs import Job
from sidelight.store._log import EVENT_KINDS, Event, Said, replay
from sidelight.store._people import ROLES, Person
from sidelight.store._store import EXPIRES, Entry, Project, Store, as_side, from_side

__all__ = [
    "EVENT_KINDS",
    "EXPIRES",
    "ROLES",
    "Entry",
    "Event",
    "Folder",
    "Job",
    "Person",
    "Project",
    "Said",
    "Store",
    "as_side",
    "from_side",
    "replay",
]
