"""A fresh store for every test: a file, or a schema of a PostgreSQL database if there is one."""

import os
import secrets

import pytest

pytest.importorskip("sqlalchemy")
import sqlalchemy as sa

from sidelight.store import Store

POSTGRES = os.environ.get("SIDELIGHT_POSTGRES")


def fresh_address(folder):
    """The address of an empty store."""
    if not POSTGRES:
        return str(folder / "answers.db")
    name = f"t{secrets.token_hex(6)}"
    url = sa.make_url(POSTGRES).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url)
    with engine.begin() as c:
        c.execute(sa.text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    query = {"options": f"-csearch_path={name}"}
    return url.update_query_dict(query).render_as_string(hide_password=False)


@pytest.fixture
def address(tmp_path):
    return fresh_address(tmp_path)


@pytest.fixture
def store(address):
    store = Store(address)
    yield store
    store.close()
