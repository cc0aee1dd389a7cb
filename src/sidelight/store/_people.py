"""People, their roles, and their tokens, of which only hashes are stored."""

import hashlib
import secrets
import time
from typing import NamedTuple

import sqlalchemy as sa

from sidelight.exceptions import SidelightError
from sidelight.store import _schema as t
from sidelight.store._engine import reading

ROLES = ("owner", "editor", "annotator", "viewer")


class Person(NamedTuple):
    """A person who may use the workbench; `name` is the annotator in their statements.

    Examples
    --------
    >>> import tempfile
    >>> from sidelight.store import Store
    >>> store = Store(tempfile.mkdtemp() + "/answers.db")
    >>> invitation = store.people.new_token("invitation", role="annotator", lasts=3600)
    >>> store.people.use_invitation(invitation, "bob").role
    'annotator'
    >>> store.close()
    """

    id: int
    name: str
    role: str
    created: float
    disabled: bool


class People:
    """The people of a store; a part of `Store`."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def add(self, name: str, role: str) -> Person:
        """Add a person; a name that is taken is an error, because answers carry it."""
        with self._engine.begin() as c:
            return self._add(c, name, role)

    def _add(self, c: sa.Connection, name: str, role: str) -> Person:
        name = name.strip()
        if role not in ROLES:
            raise SidelightError(f"unknown role {role!r}; known: {', '.join(ROLES)}.")
        if not 1 <= len(name) <= 80:
            raise SidelightError("a name has 1 to 80 characters.")
        taken = c.execute(sa.select(t.person.c.id).where(t.person.c.name == name)).scalar()
        if taken is not None:
            raise SidelightError(f"the name {name!r} is taken; choose another one.")
        now = time.time()
        row = {"name": name, "role": role, "created": now, "disabled": 0}
        number = c.execute(sa.insert(t.person).values(row)).inserted_primary_key[0]  # type: ignore[index]
        return Person(number, name, role, now, False)

    def all(self) -> list[Person]:
        """Everybody, in the order in which they came."""
        with reading(self._engine) as c:
            rows = c.execute(sa.select(t.person).order_by(t.person.c.id))
            return [_as_person(row) for row in rows]

    def get(self, number: int) -> Person | None:
        """One person, or None."""
        with reading(self._engine) as c:
            row = c.execute(sa.select(t.person).where(t.person.c.id == number)).one_or_none()
        return None if row is None else _as_person(row)

    def change(self, number: int, *, role: str | None = None, disabled: bool | None = None) -> None:
        """Change the role of a person, or remove the access; the last owner stays owner."""
        values: dict[str, object] = {}
        if role is not None:
            if role not in ROLES:
                raise SidelightError(f"unknown role {role!r}; known: {', '.join(ROLES)}.")
            values["role"] = role
        if disabled is not None:
            values["disabled"] = int(disabled)
        with self._engine.begin() as c:
            c.execute(sa.update(t.person).where(t.person.c.id == number).values(**values))
            owners = c.execute(
                sa.select(sa.func.count())
                .select_from(t.person)
                .where(t.person.c.role == "owner", t.person.c.disabled == 0)
            ).scalar()
            if not owners:
                raise SidelightError("a project needs an owner; name another one first.")

    # Tokens

    def new_token(
        self,
        purpose: str,
        *,
        person: int | None = None,
        role: str | None = None,
        lasts: float | None = None,
    ) -> str:
        """A new secret: a link to log in, an invitation, or a session."""
        token = secrets.token_urlsafe(32)
        now = time.time()
        row = {
            "hash": token_hash(token),
            "purpose": purpose,
            "person": person,
            "role": role,
            "created": now,
            "expires": None if lasts is None else now + lasts,
            "used": None,
        }
        with self._engine.begin() as c:
            c.execute(sa.insert(t.token).values(row))
        return token

    def of_session(self, token: str) -> Person | None:
        """Who a session belongs to, or None."""
        query = (
            sa.select(t.person)
            .join(t.token, t.token.c.person == t.person.c.id)
            .where(
                t.token.c.hash == token_hash(token),
                t.token.c.purpose == "session",
                t.token.c.used.is_(None),
                t.person.c.disabled == 0,
                sa.or_(t.token.c.expires.is_(None), t.token.c.expires > time.time()),
            )
        )
        with reading(self._engine) as c:
            row = c.execute(query).one_or_none()
        return None if row is None else _as_person(row)

    def use_link(self, token: str) -> Person | None:
        """The person of a login link, which works once; None if it is not valid."""
        with self._engine.begin() as c:
            found = self._use(c, token, "login")
            if found is None:
                return None
            row = c.execute(
                sa.select(t.person).where(t.person.c.id == found.person, t.person.c.disabled == 0)
            ).one_or_none()
        return None if row is None else _as_person(row)

    def use_invitation(self, token: str, name: str) -> Person | None:
        """Add an invited person under the name that they choose; the invitation works once."""
        with self._engine.begin() as c:
            found = self._use(c, token, "invitation")
            return None if found is None else self._add(c, name, found.role)

    def is_open(self, token: str, purpose: str) -> bool:
        """Whether a link or an invitation can still be used."""
        query = sa.select(t.token.c.hash).where(*_usable(token, purpose))
        with reading(self._engine) as c:
            return c.execute(query).scalar() is not None

    def end_session(self, token: str) -> None:
        """Log out."""
        with self._engine.begin() as c:
            c.execute(
                sa.update(t.token)
                .where(t.token.c.hash == token_hash(token))
                .values(used=time.time())
            )

    def _use(self, c: sa.Connection, token: str, purpose: str) -> sa.Row[tuple[object, ...]] | None:
        found = c.execute(sa.select(t.token).where(*_usable(token, purpose))).one_or_none()
        if found is not None:
            c.execute(
                sa.update(t.token).where(t.token.c.hash == found.hash).values(used=time.time())
            )
        return found


def _usable(token: str, purpose: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        t.token.c.hash == token_hash(token),
        t.token.c.purpose == purpose,
        t.token.c.used.is_(None),
        sa.or_(t.token.c.expires.is_(None), t.token.c.expires > time.time()),
    )


def token_hash(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _as_person(row: sa.Row[tuple[object, ...]]) -> Person:
    return Person(row.id, row.name, row.role, row.created, bool(row.disabled))
