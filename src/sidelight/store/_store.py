"""The store of the workbench: projects, their logs, questions, runs."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from sidelight.exceptions import SidelightError
from sidelight.side import KINDS, SideInformation
from sidelight.store import _schema as t
from sidelight.store._engine import open_engine, reading
from sidelight.store._jobs import Jobs
from sidelight.store._log import (
    SAYING,
    Corrections,
    Event,
    Said,
    check_event,
    corrections,
    replay,
    statements_of,
)
from sidelight.store._migrations import migrate
from sidelight.store._people import People

EXPIRES = 600.0  # seconds for which a question stays open


class Project(NamedTuple):
    """A project: `config` is plain data, and `data_hash` names its rows in the folder.

    Examples
    --------
    >>> Project(1, "iris", 0.0, {}, 150, "", False).n_rows
    150
    """

    id: int
    name: str
    created: float
    config: dict[str, Any]
    n_rows: int
    data_hash: str
    archived: bool


class Entry(NamedTuple):
    """An event that is to be appended: see `Store.append_all`.

    Examples
    --------
    >>> Entry("retract", {}, parent=7).key is None
    True
    """

    kind: str
    body: Mapping[str, Any]
    parent: int | None = None
    key: str | None = None


class Store:
    """Projects and their append-only logs, in SQLite or PostgreSQL.

    The log is the truth. The table of statements is kept beside it for speed and can be rebuilt.

    Parameters
    ----------
    where : path or str
        A file for SQLite, which is made if it does not exist, or ``postgresql://…``.

    Examples
    --------
    >>> import tempfile
    >>> from sidelight.store import Store
    >>> store = Store(tempfile.mkdtemp() + "/answers.db")
    >>> project = store.create_project("iris", n_rows=150)
    >>> said = {"statements": {"kind": "must", "i": [0], "j": [1], "annotator": "ann"}}
    >>> event = store.append(project.id, "answer", said)
    >>> store.side(project.id)
    SideInformation(150 rows; 1 must; 1 annotator)
    >>> _ = store.append(project.id, "retract", {}, parent=event.id)
    >>> store.side(project.id)
    SideInformation(150 rows; nothing said)
    >>> store.close()
    """

    def __init__(self, where: str | Path) -> None:
        self._engine = open_engine(where)
        try:
            migrate(self._engine)
        except sa.exc.DatabaseError as error:
            self._engine.dispose()
            raise SidelightError(f"{where} cannot be opened as a store: {error.orig}.") from None
        self.people = People(self._engine)
        self.jobs = Jobs(self._engine)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    # Projects

    def create_project(
        self,
        name: str,
        *,
        n_rows: int,
        data_hash: str = "",
        config: Mapping[str, Any] | None = None,
    ) -> Project:
        """Add a project about `n_rows` rows; returns it."""
        row = {
            "name": name,
            "created": time.time(),
            "config_json": _dump(dict(config or {})),
            "n_rows": n_rows,
            "data_hash": data_hash,
            "archived": 0,
        }
        with self._engine.begin() as c:
            number = c.execute(sa.insert(t.project).values(row)).inserted_primary_key[0]  # type: ignore[index]
        return self.project(number)

    def project(self, number: int) -> Project:
        """One project; an unknown number is an error."""
        with reading(self._engine) as c:
            row = c.execute(sa.select(t.project).where(t.project.c.id == number)).one_or_none()
        if row is None:
            raise SidelightError(f"there is no project {number}.")
        return _as_project(row)

    def projects(self, *, archived: bool = False) -> list[Project]:
        """All projects, oldest first; the archived ones instead, if asked."""
        query = sa.select(t.project).where(t.project.c.archived == int(archived))
        with reading(self._engine) as c:
            return [_as_project(row) for row in c.execute(query.order_by(t.project.c.id))]

    def update_project(
        self,
        number: int,
        *,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        archived: bool | None = None,
    ) -> Project:
        """Change the name, the config or whether a project is archived.

        `config` is merged into the present one: dicts by their keys, everything else is replaced.
        So two people who change different things at once both get what they want.
        """
        row: dict[str, Any] = {}
        if name is not None:
            row["name"] = name
        if archived is not None:
            row["archived"] = int(archived)
        with self._engine.begin() as c:
            if config is not None:
                missing = f"there is no project {number}."
                old = _locked(c, t.project.c.config_json, t.project.c.id == number, missing)
                row["config_json"] = _dump(merged(old, config))
            if row:
                c.execute(sa.update(t.project).where(t.project.c.id == number).values(row))
        return self.project(number)

    # The log

    def append(
        self,
        project: int,
        kind: str,
        body: Mapping[str, Any],
        *,
        parent: int | None = None,
        key: str | None = None,
        person: int | None = None,
    ) -> Event:
        """Append one event: see `append_all`."""
        return self.append_all(project, [Entry(kind, body, parent, key)], person=person)[0]

    def append_all(
        self, project: int, entries: Iterable[Entry], *, person: int | None = None
    ) -> list[Event]:
        """Append events, all of them or none.

        Parameters
        ----------
        project : int
            The project.
        entries : iterable of Entry
            What to append: kind and body (see `sidelight.store`), the parent of a retraction, and
            the sender's own key: an event with a key that the log has already is returned as it
            is there, so that a request may be repeated.
        person : int, optional
            Who sent them.

        Returns
        -------
        list of Event
        """
        with self._engine.begin() as c:
            # The row of the project is the lock: events of a project are numbered as they commit.
            n_rows = c.execute(
                sa.select(t.project.c.n_rows).where(t.project.c.id == project).with_for_update()
            ).scalar()
            if n_rows is None:
                raise SidelightError(f"there is no project {project}.")
            return [self._append(c, project, n_rows, entry, person) for entry in entries]

    def _append(
        self, c: sa.Connection, project: int, n_rows: int, entry: Entry, person: int | None
    ) -> Event:
        if entry.key is not None:
            known = c.execute(
                sa.select(t.event).where(t.event.c.project == project, t.event.c.key == entry.key)
            ).one_or_none()
            if known is not None:
                return _as_event(known)
        check_event(entry.kind, entry.body, n_rows)
        if entry.kind == "retract":
            _check_retraction(c, project, entry)
        now, parent = time.time(), entry.parent if entry.kind == "retract" else None
        row = {
            "project": project,
            "at": now,
            "person": person,
            "kind": entry.kind,
            "body_json": _dump(entry.body),
            "parent": parent,
            "key": entry.key,
        }
        number = c.execute(sa.insert(t.event).values(row)).inserted_primary_key[0]  # type: ignore[index]
        event = Event(number, now, person, entry.kind, entry.body, parent, entry.key)
        _tell_statements(c, project, event)
        question = entry.body.get("question")
        if question is not None and entry.kind == "answer":
            _set_state(c, project, [question], "answered")
        return event

    def events(self, project: int, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log of a project from after an event on, in its order."""
        query = (
            sa.select(t.event)
            .where(t.event.c.project == project, t.event.c.id > after)
            .order_by(t.event.c.id)
            .limit(limit)
        )
        with reading(self._engine) as c:
            return [_as_event(row) for row in c.execute(query)]

    def event(self, project: int, number: int) -> Event | None:
        """One event, or None."""
        query = sa.select(t.event).where(t.event.c.project == project, t.event.c.id == number)
        with reading(self._engine) as c:
            row = c.execute(query).one_or_none()
        return None if row is None else _as_event(row)

    def last_event(self, project: int) -> int:
        """The number of the last event of a project, 0 if there is none."""
        query = sa.select(sa.func.max(t.event.c.id)).where(t.event.c.project == project)
        with reading(self._engine) as c:
            return c.execute(query).scalar() or 0

    # Statements

    def statements(self, project: int, *, retracted: bool = True) -> list[Said]:
        """The table of statements, those that were taken back too unless asked otherwise."""
        query = sa.select(t.statement).where(t.statement.c.project == project)
        if not retracted:
            query = query.where(t.statement.c.retracted_by.is_(None))
        query = query.order_by(t.statement.c.event, t.statement.c.position)
        with reading(self._engine) as c:
            return [_as_said(row) for row in c.execute(query)]

    def count_statements(self, project: int, *, annotator: str | None = None) -> dict[str, int]:
        """How many statements of each kind are in force, of one annotator or of all."""
        query = (
            sa.select(t.statement.c.kind, sa.func.count())
            .where(t.statement.c.project == project, t.statement.c.retracted_by.is_(None))
            .group_by(t.statement.c.kind)
            .order_by(t.statement.c.kind)
        )
        if annotator is not None:
            query = query.where(t.statement.c.annotator_json == _dump(annotator))
        with reading(self._engine) as c:
            return {kind: n for kind, n in c.execute(query)}

    def annotators(self, project: int) -> list[Any]:
        """Who made the statements that are in force."""
        query = (
            sa.select(t.statement.c.annotator_json)
            .distinct()
            .where(t.statement.c.project == project, t.statement.c.retracted_by.is_(None))
        )
        with reading(self._engine) as c:
            found = [json.loads(name) for name in c.execute(query).scalars()]
        return sorted((name for name in found if name is not None), key=str)

    def classes(self, project: int) -> list[Any]:
        """The classes that statements in force name, in the order of their texts."""
        query = (
            sa.select(t.statement.c.class_json)
            .distinct()
            .where(
                t.statement.c.project == project,
                t.statement.c.retracted_by.is_(None),
                t.statement.c.class_json != "null",
            )
        )
        with reading(self._engine) as c:
            return sorted(map(json.loads, c.execute(query).scalars()), key=str)

    def side(
        self, project: int, *, at_event: int | None = None, index: Any = None
    ) -> SideInformation:
        """The statements that are in force, as `SideInformation`.

        Parameters
        ----------
        project : int
            The project.
        at_event : int, optional
            What was in force after that event; by default what is in force now.
        index : sequence, optional
            The ids of the rows.
        """
        n_rows = self.project(project).n_rows
        if at_event is None:
            said = self.statements(project, retracted=False)
        else:
            said = [
                one
                for one in replay(e for e in self.events(project) if e.id <= at_event)
                if one.retracted_by is None
            ]
        return as_side(said, n_rows, index)

    def say(
        self,
        project: int,
        side: SideInformation,
        *,
        person: int | None = None,
        key: str | None = None,
        source: str | None = None,
    ) -> Event | None:
        """Append all statements of a `SideInformation` as one event; None if there are none."""
        n_rows = self.project(project).n_rows
        if side.n_samples != n_rows:
            raise SidelightError(
                f"the statements are about {side.n_samples:,} rows, the project has {n_rows:,}."
            )
        if not side.n_statements:
            return None
        body = {"statements": from_side(side), "source": source}
        return self.append(project, "import", body, key=key, person=person)

    def selections(self, project: int) -> list[dict[str, Any]]:
        """The selections that were kept and not taken back; the latest of each name."""
        query = (
            sa.select(t.event)
            .where(t.event.c.project == project, t.event.c.kind.in_(["select", "retract"]))
            .order_by(t.event.c.id)
        )
        with reading(self._engine) as c:
            log = [_as_event(row) for row in c.execute(query)]
        taken_back = corrections(log).whole
        kept = [event for event in log if event.kind == "select" and event.id not in taken_back]
        return list({e.body["name"]: {"event": e.id, **e.body} for e in kept}.values())

    def rebuild(self, project: int) -> None:
        """Rebuild the table of statements from the log."""
        with self._engine.begin() as c:
            rows = c.execute(
                sa.select(t.event).where(t.event.c.project == project).order_by(t.event.c.id)
            )
            said = replay(_as_event(row) for row in rows)
            c.execute(sa.delete(t.statement).where(t.statement.c.project == project))
            _insert_statements(c, project, said)

    # Questions

    def add_questions(
        self, project: int, questions: Sequence[Mapping[str, Any]], *, asked_of: int | None = None
    ) -> list[str]:
        """Keep questions that are about to be asked; returns their ids.

        A question is plain data: ``kind``, ``i``, ``j``, and what else the asker knows of it
        (``offered``, ``p_must``, ``value``, ``probability_asked``, ``audit``, ``body``). Its
        ``state`` is open, or waiting: then it is a pattern for questions, and is not asked.
        """
        now = time.time()
        rows = [
            {
                "id": question.get("id") or secrets.token_hex(12),
                "project": project,
                "asked_of": asked_of,
                "at": now,
                "kind": question["kind"],
                "i": question["i"],
                "j": question.get("j"),
                "offered_json": _dump(question.get("offered", [])),
                "p_must": question.get("p_must"),
                "value": question.get("value"),
                "probability_asked": question.get("probability_asked"),
                "audit": int(bool(question.get("audit"))),
                "state": question.get("state", "open"),
                "body_json": _dump(question.get("body", {})),
            }
            for question in questions
        ]
        if rows:
            with self._engine.begin() as c:
                c.execute(sa.insert(t.question), rows)
        return [row["id"] for row in rows]

    def questions(
        self, project: int, *, state: str | None = "open", asked_of: int | None = None
    ) -> list[dict[str, Any]]:
        """The questions of a project in a state, of one person or of all; oldest first."""
        query = sa.select(t.question).where(t.question.c.project == project)
        if state is not None:
            query = query.where(t.question.c.state == state)
        if asked_of is not None:
            query = query.where(t.question.c.asked_of == asked_of)
        with reading(self._engine) as c:
            rows = c.execute(query.order_by(t.question.c.at, t.question.c.id))
            return [_as_question(row) for row in rows]

    def asked(
        self, project: int, person: int, *, expired_after: float
    ) -> tuple[int, set[tuple[int, ...]]]:
        """How many questions a person was ever asked, and their rows, each tuple ascending.

        Without the rows of questions that expired and were asked before a moment. Only numbers are
        read: late in the day there are thousands.
        """
        c_ = t.question.c
        mine = (c_.project == project) & (c_.asked_of == person)
        kept = (c_.state != "expired") | (c_.at > expired_after)
        with reading(self._engine) as c:
            n = c.execute(sa.select(sa.func.count()).select_from(t.question).where(mine)).scalar()
            rows = c.execute(sa.select(c_.i, c_.j).where(mine & kept).distinct()).all()
        return int(n or 0), {(i,) if j is None else (min(i, j), max(i, j)) for i, j in rows}

    def question(self, project: int, number: str) -> dict[str, Any] | None:
        """One question, or None."""
        query = sa.select(t.question).where(
            t.question.c.project == project, t.question.c.id == number
        )
        with reading(self._engine) as c:
            row = c.execute(query).one_or_none()
        return None if row is None else _as_question(row)

    def answered_once(
        self, project: int, *, not_of: int, limit: int
    ) -> list[tuple[str, tuple[int, ...]]]:
        """Questions that one other person has answered and no second one: id and rows, ascending.

        Newest first. The database groups the numbers: late in the day there are thousands.
        """
        c_ = t.question.c
        low = sa.case((c_.j < c_.i, c_.j), else_=c_.i).label("low")
        high = sa.case((c_.j < c_.i, c_.i), else_=c_.j).label("high")
        query = (
            sa.select(sa.func.max(c_.id).label("number"), low, high)
            .where(c_.project == project, c_.state == "answered")
            .group_by(low, high)
            .having(sa.func.count(c_.asked_of.distinct()) == 1, sa.func.min(c_.asked_of) != not_of)
            .order_by(sa.func.max(c_.at).desc(), sa.func.max(c_.id).desc())
            .limit(limit)
        )
        with reading(self._engine) as c:
            rows = c.execute(query).all()
        return [(number, (i,) if j is None else (i, j)) for number, i, j in rows]

    def audits(self, project: int) -> set[str]:
        """The questions that were drawn at random, and so measure the result."""
        query = sa.select(t.question.c.id).where(
            t.question.c.project == project, t.question.c.audit == 1
        )
        with reading(self._engine) as c:
            return set(c.execute(query).scalars())

    def withdrawn(self, project: int, person: int, *, newer_than: float = EXPIRES) -> list[str]:
        """The questions of a person that were withdrawn lately: a browser may still hold them."""
        c_ = t.question.c
        query = sa.select(c_.id).where(
            c_.project == project,
            c_.asked_of == person,
            c_.state == "withdrawn",
            c_.at > time.time() - newer_than,
        )
        with reading(self._engine) as c:
            return sorted(c.execute(query).scalars())

    def set_question_state(self, project: int, questions: Sequence[str], state: str) -> None:
        """Open questions become answered, withdrawn or expired."""
        if questions:
            with self._engine.begin() as c:
                _set_state(c, project, questions, state)

    def expire_questions(self, project: int, *, older_than: float = EXPIRES) -> int:
        """Close questions that were not answered in time; returns how many."""
        late = sa.and_(
            t.question.c.project == project,
            t.question.c.state == "open",
            t.question.c.at < time.time() - older_than,
        )
        with reading(self._engine) as c:  # most often there are none, and no lock is needed
            if c.execute(sa.select(t.question.c.id).where(late).limit(1)).first() is None:
                return 0
        with self._engine.begin() as c:
            return c.execute(sa.update(t.question).where(late).values(state="expired")).rowcount

    # Runs

    def add_run(
        self,
        project: int,
        *,
        model: str,
        parameters: Mapping[str, Any],
        seed: int | None,
        at_event: int,
        labels_file: str,
        scores: Mapping[str, Any],
        versions: Mapping[str, Any],
        job: int | None = None,
    ) -> int:
        """Keep a finished fit; `at_event` says what it knew. Returns its number."""
        row = {
            "project": project,
            "job": job,
            "model": model,
            "params_json": _dump(parameters),
            "seed": seed,
            "at_event": at_event,
            "labels_file": labels_file,
            "scores_json": _dump(scores),
            "versions_json": _dump(versions),
            "pinned": 0,
            "created": time.time(),
        }
        with self._engine.begin() as c:
            number: int = c.execute(sa.insert(t.run).values(row)).inserted_primary_key[0]  # type: ignore[index]
        return number

    def runs(self, project: int) -> list[dict[str, Any]]:
        """All fits of a project, oldest first."""
        query = sa.select(t.run).where(t.run.c.project == project).order_by(t.run.c.id)
        with reading(self._engine) as c:
            return [_as_run(row) for row in c.execute(query)]

    def last_run(self, project: int) -> dict[str, Any] | None:
        """The latest fit of a project, or None."""
        query = (
            sa.select(t.run).where(t.run.c.project == project).order_by(t.run.c.id.desc()).limit(1)
        )
        with reading(self._engine) as c:
            row = c.execute(query).one_or_none()
        return None if row is None else _as_run(row)

    def run(self, project: int, number: int) -> dict[str, Any]:
        """One fit; an unknown number is an error."""
        query = sa.select(t.run).where(t.run.c.project == project, t.run.c.id == number)
        with reading(self._engine) as c:
            row = c.execute(query).one_or_none()
        if row is None:
            raise SidelightError(f"project {project} has no run {number}.")
        return _as_run(row)

    def add_scores(self, project: int, number: int, scores: Mapping[str, Any]) -> None:
        """Add scores that were measured after a run was made."""
        this = (t.run.c.project == project) & (t.run.c.id == number)
        with self._engine.begin() as c:
            missing = f"project {project} has no run {number}."
            found = {**_locked(c, t.run.c.scores_json, this, missing), **scores}
            c.execute(sa.update(t.run).where(this).values(scores_json=_dump(found)))

    def pin(self, project: int, number: int) -> None:
        """Make one run the answer of the project, and no other."""
        self.run(project, number)
        with self._engine.begin() as c:
            c.execute(
                sa.update(t.run)
                .where(t.run.c.project == project)
                .values(pinned=sa.case((t.run.c.id == number, 1), else_=0))
            )

    # Backup

    def backup(self, path: str | Path) -> None:
        """Copy the store to a file while it is in use; the copy is one moment of it."""
        if self._engine.dialect.name != "sqlite":
            raise SidelightError("a PostgreSQL store is backed up with pg_dump.")
        path = Path(path)
        if path.exists():
            raise SidelightError(f"{path} exists already; give another name.")
        with self._engine.connect() as c:
            source = c.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            target = sqlite3.connect(path)
            try:
                source.backup(target, pages=1024)
            finally:
                target.close()


# Rows of the tables as plain data


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """One plain dict over another: dicts are merged by their keys, everything else is replaced."""
    return {
        **old,
        **{
            name: merged(old[name], value)
            if isinstance(value, Mapping) and isinstance(old.get(name), Mapping)
            else value
            for name, value in new.items()
        },
    }


def _locked(c: sa.Connection, column: Any, where: Any, missing: str) -> dict[str, Any]:
    """A dict that this transaction is about to change, locked until it ends."""
    text = c.execute(sa.select(column).where(where).with_for_update()).scalar()
    if text is None:
        raise SidelightError(missing)
    found: dict[str, Any] = json.loads(text)
    return found


@lru_cache(maxsize=4096)  # 100,000 statements name a few classes and people
def _load_name(text: str) -> Any:
    return json.loads(text)


def _as_project(row: Any) -> Project:
    return Project(
        row.id,
        row.name,
        row.created,
        json.loads(row.config_json),
        row.n_rows,
        row.data_hash,
        bool(row.archived),
    )


def _as_event(row: Any) -> Event:
    return Event(
        row.id, row.at, row.person, row.kind, json.loads(row.body_json), row.parent, row.key
    )


def _as_said(row: Any) -> Said:
    return Said(
        row.event,
        row.position,
        row.kind,
        row.i,
        row.j,
        _load_name(row.said_json),
        _load_name(row.class_json),
        row.weight,
        _load_name(row.annotator_json),
        _load_name(row.vocabulary_json),
        row.seconds,
        row.question,
        row.retracted_by,
    )


def _as_question(row: Any) -> dict[str, Any]:
    plain = dict(row._mapping)
    plain["offered"] = json.loads(plain.pop("offered_json"))
    plain["body"] = json.loads(plain.pop("body_json"))
    plain["audit"] = bool(plain["audit"])
    return plain


def _as_run(row: Any) -> dict[str, Any]:
    plain = dict(row._mapping)
    plain["parameters"] = json.loads(plain.pop("params_json"))
    plain["scores"] = json.loads(plain.pop("scores_json"))
    plain["versions"] = json.loads(plain.pop("versions_json"))
    plain["pinned"] = bool(plain["pinned"])
    return plain


# The table of statements follows the log


def _insert_statements(c: sa.Connection, project: int, said: Sequence[Said]) -> None:
    rows = [
        {
            "event": one.event,
            "position": one.position,
            "project": project,
            "kind": one.kind,
            "i": one.i,
            "j": one.j,
            "said_json": _dump(one.said),
            "class_json": _dump(one.class_),
            "weight": one.weight,
            "annotator_json": _dump(one.annotator),
            "vocabulary_json": _dump(one.vocabulary),
            "seconds": one.seconds,
            "question": one.question,
            "retracted_by": one.retracted_by,
        }
        for one in said
    ]
    if rows:
        c.execute(sa.insert(t.statement), rows)


def _tell_statements(c: sa.Connection, project: int, event: Event) -> None:
    """Apply one more event to the table of statements."""
    if event.kind in SAYING:
        _insert_statements(c, project, statements_of(event))
        return
    if event.kind == "select":
        return
    rows = c.execute(
        sa.select(t.event)
        .where(t.event.c.project == project, t.event.c.kind.in_(["retract", "rename"]))
        .order_by(t.event.c.id)
    )
    log = [_as_event(row) for row in rows]
    by = corrections(log)
    of = {one.id: one for one in log}
    root = event
    while root.kind == "retract" and root.parent in of:  # a retraction of a retraction, and so on
        root = of[root.parent]
    if root.kind == "rename":
        _rename(c, project, by)
    else:
        _retract(c, root.parent, by)


def _retract(c: sa.Connection, event: int | None, by: Corrections) -> None:
    mine = (t.statement.c.event == event,)
    columns = (t.statement.c.event, t.statement.c.position, t.statement.c.retracted_by)
    for number, position, before in c.execute(sa.select(*columns).where(*mine)).all():
        now = by.retracted_by(number, position)
        if now != before:
            c.execute(
                sa.update(t.statement)
                .where(*mine, t.statement.c.position == position)
                .values(retracted_by=now)
            )


def _rename(c: sa.Connection, project: int, by: Corrections) -> None:
    columns = (
        t.statement.c.event,
        t.statement.c.position,
        t.statement.c.said_json,
        t.statement.c.class_json,
    )
    rows = c.execute(
        sa.select(*columns).where(
            t.statement.c.project == project, t.statement.c.said_json != "null"
        )
    ).all()
    changed = [
        {"e": row.event, "p": row.position, "now": now}
        for row in rows
        if (now := _dump(by.name_now(row.event, json.loads(row.said_json)))) != row.class_json
    ]
    if changed:
        c.execute(
            sa.update(t.statement)
            .where(
                t.statement.c.event == sa.bindparam("e"),
                t.statement.c.position == sa.bindparam("p"),
            )
            .values(class_json=sa.bindparam("now")),
            changed,
        )


def _check_retraction(c: sa.Connection, project: int, entry: Entry) -> None:
    kind = c.execute(
        sa.select(t.event.c.kind).where(t.event.c.project == project, t.event.c.id == entry.parent)
    ).scalar()
    if kind is None:
        raise SidelightError(f"there is no event {entry.parent} to take back in this project.")
    positions = entry.body.get("positions")
    if positions is None:
        return
    if kind not in SAYING or not positions:
        raise SidelightError("this event has no statements that could be taken back one by one.")
    there = set(
        c.execute(
            sa.select(t.statement.c.position).where(t.statement.c.event == entry.parent)
        ).scalars()
    )
    unknown = [p for p in positions if p not in there]
    if unknown:
        raise SidelightError(f"event {entry.parent} has no statement {unknown[0]!r}.")


def _set_state(c: sa.Connection, project: int, questions: Sequence[str], state: str) -> None:
    c.execute(
        sa.update(t.question)
        .where(
            t.question.c.project == project,
            t.question.c.id.in_(questions),
            t.question.c.state.in_(["open", "expired", "waiting", "withdrawn"]),
        )
        .values(state=state)
    )


# Statements and SideInformation


def as_side(said: Sequence[Said], n_rows: int, index: Any = None) -> SideInformation:
    """Statements of the log as `SideInformation`.

    Parameters
    ----------
    said : sequence of Said
        The statements that are in force.
    n_rows : int
        The number of rows.
    index : sequence, optional
        The ids of the rows; the log has their positions.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> from sidelight.store import Event, as_side, replay
    >>> said = {"statements": {"kind": "label", "i": [0, 2], "class": "cat"}}
    >>> as_side(replay([Event(1, 0.0, None, "bulk", said)]), 3)
    SideInformation(3 rows; 2 label; 1 class)
    """
    empty = SideInformation.empty(n_rows, index=index)
    if not said:
        return empty
    place = (lambda row: row) if index is None else list(index).__getitem__
    return empty + SideInformation.from_columns(
        [one.kind for one in said],
        [place(one.i) for one in said],
        [None if one.j is None else place(one.j) for one in said],
        class_=[one.class_ for one in said],
        weight=[one.weight for one in said],
        annotator=[one.annotator for one in said],
        vocabulary=[one.vocabulary for one in said],
        n_samples=None if index is not None else n_rows,
        index=index,
    )


def from_side(side: SideInformation) -> dict[str, list[Any]]:
    """`SideInformation` as the columns of an event, rows by position.

    Parameters
    ----------
    side : SideInformation
        The statements.

    Returns
    -------
    dict of str to list

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from_side(SideInformation.from_pairs(must=[(0, 2)], n_samples=3))["j"]
    [2]
    """
    table = side.statements
    return {
        "kind": [KINDS[k] for k in table.kind.tolist()],
        "i": table.i.tolist(),
        "j": [None if j < 0 else j for j in table.j.tolist()],
        "class": [_named(side.classes, code) for code in table.class_code.tolist()],
        "weight": table.weight.tolist(),
        "annotator": [_named(side.annotators, code) for code in table.annotator.tolist()],
        "vocabulary": [_named(side.vocabularies, code) for code in table.vocabulary.tolist()],
    }


def _named(names: Sequence[Any], code: int) -> Any:
    return None if code < 0 else names[code]
