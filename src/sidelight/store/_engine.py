"""Connections: SQLite with a write-ahead log by default, PostgreSQL by its URL."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sidelight.exceptions import SidelightError

# What a full disk, a lock that is not given up or a lost connection raises.
StoreDown = sa.exc.OperationalError

_WAIT = 30_000  # milliseconds that a writer waits for another one


def open_engine(where: str | Path) -> sa.Engine:
    """An engine for a file of SQLite or the URL of a PostgreSQL database."""
    text = str(where)
    if text.startswith(("postgresql:", "postgresql+", "postgres:")):
        url = sa.make_url(text.replace("postgres:", "postgresql:", 1))
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        try:
            return sa.create_engine(url, pool_pre_ping=True)
        except ModuleNotFoundError as error:
            raise SidelightError(
                f"PostgreSQL needs {error.name}: pip install 'sidelight[postgresql]'."
            ) from None
    if "://" in text:
        raise SidelightError(
            f"{text.split(':', 1)[0]}: a store is a file (SQLite) or postgresql://…; give one."
        )
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise SidelightError(f"{path}: give the name of a file in a folder that exists.")
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)), connect_args={"timeout": _WAIT / 1000}
    )
    sa.event.listen(engine, "connect", _set_up)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _set_up(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where Python guesses
    for line in (
        f"PRAGMA busy_timeout = {_WAIT}",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",  # an acknowledged answer survives a power cut
        "PRAGMA foreign_keys = ON",
    ):
        connection.execute(line)


def _begin(connection: sa.Connection) -> None:
    # A transaction that reads first and writes later could not wait for another writer.
    reads = connection.get_execution_options().get("reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that only reads, and so never waits."""
    with engine.connect().execution_options(reads=True) as connection, connection.begin():
        yield connection
