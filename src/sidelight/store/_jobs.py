"""The queue of jobs: one row each, claimed by a worker, with progress and a heartbeat.

A worker increments its heartbeat; it counts as alive while that number changes, without comparing
clocks.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from sidelight.store import _schema as t
from sidelight.store._engine import reading

ATTEMPTS = 2  # one retry after a crash


class Job(NamedTuple):
    """A job: states are queued, running, done, failed, cancelled and interrupted.

    Examples
    --------
    >>> import tempfile
    >>> from sidelight.store import Store
    >>> store = Store(tempfile.mkdtemp() + "/answers.db")
    >>> number = store.jobs.add(store.create_project("p", n_rows=3).id, "fit", {"seed": 0})
    >>> job = store.jobs.claim("worker 1")
    >>> job.id == number, job.state, job.body
    (True, 'running', {'seed': 0})
    >>> store.close()
    """

    id: int
    project: int
    person: int | None
    kind: str
    body: dict[str, Any]
    state: str
    progress: float
    message: str
    started: float | None
    heartbeat: int
    attempts: int
    worker: str | None
    error: str | None


class Jobs:
    """The jobs of a store; a part of `Store`."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def add(
        self, project: int, kind: str, body: Mapping[str, Any], *, person: int | None = None
    ) -> int:
        """Queue a job; returns its number."""
        row = {
            "project": project,
            "person": person,
            "kind": kind,
            "body_json": json.dumps(dict(body)),
            "state": "queued",
            "progress": 0.0,
            "message": "",
            "started": None,
            "heartbeat": 0,
            "attempts": 0,
            "worker": None,
            "error": None,
        }
        with self._engine.begin() as c:
            number: int = c.execute(sa.insert(t.job).values(row)).inserted_primary_key[0]  # type: ignore[index]
        return number

    def claim(self, worker: str) -> Job | None:
        """Claim the oldest waiting job, unless its person or project has one of its kind running.

        Two servers on one store never take the same job.
        """
        other = t.job.alias()
        busy = (
            sa.select(other.c.id)
            .where(
                other.c.state == "running",
                other.c.kind == t.job.c.kind,
                sa.or_(
                    other.c.project == t.job.c.project,
                    sa.and_(other.c.person.is_not(None), other.c.person == t.job.c.person),
                ),
            )
            .exists()
        )
        query = (
            sa.select(t.job.c.id)
            .where(t.job.c.state == "queued", ~busy)
            .order_by(t.job.c.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._engine.begin() as c:
            number = c.execute(query).scalar()
            if number is None:
                return None
            c.execute(
                sa.update(t.job)
                .where(t.job.c.id == number)
                .values(
                    state="running",
                    worker=worker,
                    started=time.time(),
                    attempts=t.job.c.attempts + 1,
                )
            )
            row = c.execute(sa.select(t.job).where(t.job.c.id == number)).one()
        return _as_job(row)

    def get(self, number: int) -> Job | None:
        """One job, or None."""
        with reading(self._engine) as c:
            row = c.execute(sa.select(t.job).where(t.job.c.id == number)).one_or_none()
        return None if row is None else _as_job(row)

    def all(
        self,
        project: int | None = None,
        *,
        states: tuple[str, ...] = (),
        kind: str | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """The latest jobs, newest first; of some states, of one kind."""
        query = sa.select(t.job).order_by(t.job.c.id.desc()).limit(limit)
        if project is not None:
            query = query.where(t.job.c.project == project)
        if states:
            query = query.where(t.job.c.state.in_(states))
        if kind is not None:
            query = query.where(t.job.c.kind == kind)
        with reading(self._engine) as c:
            return [_as_job(row) for row in c.execute(query)]

    def pulse(self, number: int, progress: float | None = None, message: str | None = None) -> bool:
        """Record that a job is alive and its progress; returns whether it is still wanted."""
        values: dict[str, Any] = {"heartbeat": t.job.c.heartbeat + 1}
        if progress is not None:
            values["progress"] = progress
        if message is not None:
            values["message"] = message
        with self._engine.begin() as c:
            found = c.execute(
                sa.update(t.job)
                .where(t.job.c.id == number, t.job.c.state == "running")
                .values(**values)
            )
            return found.rowcount == 1

    def end(self, number: int, state: str, *, error: str | None = None, message: str = "") -> bool:
        """End a running or waiting job: done, failed, cancelled or interrupted; True if it was one.

        A job that has ended stays as it ended.
        """
        values: dict[str, Any] = {"state": state, "error": error, "message": message}
        if state == "done":
            values["progress"] = 1.0
        with self._engine.begin() as c:
            found = c.execute(
                sa.update(t.job)
                .where(t.job.c.id == number, t.job.c.state.in_(["queued", "running"]))
                .values(**values)
            )
            return found.rowcount == 1

    def crashed(self, number: int, error: str) -> str:
        """After a worker died: try the job once more, then let it fail. Returns its state."""
        with self._engine.begin() as c:
            tried = c.execute(
                sa.select(t.job.c.attempts).where(t.job.c.id == number, t.job.c.state == "running")
            ).scalar()
            if tried is None:
                return "ended"
            state = "queued" if tried < ATTEMPTS else "failed"
            c.execute(
                sa.update(t.job)
                .where(t.job.c.id == number)
                .values(state=state, worker=None, progress=0.0, error=error)
            )
        return state

    def interrupt(self, workers: list[str], error: str) -> int:
        """Mark the running jobs of dead workers as interrupted; returns how many."""
        if not workers:
            return 0
        with self._engine.begin() as c:
            return c.execute(
                sa.update(t.job)
                .where(t.job.c.state == "running", t.job.c.worker.in_(workers))
                .values(state="interrupted", error=error)
            ).rowcount


def _as_job(row: sa.Row[tuple[Any, ...]]) -> Job:
    plain = dict(row._mapping)
    plain["body"] = json.loads(plain.pop("body_json"))
    return Job(**plain)
