"""The address of an empty store: a file, or a schema of a PostgreSQL database if there is one."""

import os
import secrets

POSTGRES = os.environ.get("SIDELIGHT_POSTGRES")


def fresh_address(folder):
    """A file in a folder, or a new schema of the database that SIDELIGHT_POSTGRES names."""
    if not POSTGRES:
        return str(folder / "answers.db")
    import sqlalchemy as sa

    name = f"t{secrets.token_hex(6)}"
    url = sa.make_url(POSTGRES).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url)
    with engine.begin() as c:
        c.execute(sa.text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    query = {"options": f"-csearch_path={name}"}
    return url.update_query_dict(query).render_as_string(hide_password=False)
