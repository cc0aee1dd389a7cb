"""A workbench in this process: no port is opened, no worker started unless asked."""

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from sidelight.web import Client, Settings, create_app
from store_address import fresh_address
from web_table import write_table


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "people.csv")


@pytest.fixture
def app(tmp_path):
    (tmp_path / "data").mkdir()
    address = fresh_address(tmp_path / "data")
    app = create_app(Settings(tmp_path / "data", store=address, workers=0))
    yield app
    app.state.bench.stop()


@pytest.fixture
def bench(app):
    return app.state.bench


@pytest.fixture
def as_person(app, bench):
    """A client of the API for a person with a role, and that person."""

    def make(name, role):
        person = bench.store.people.add(name, role)
        token = bench.store.people.new_token("session", person=person.id)
        http = TestClient(app, base_url="http://127.0.0.1:8765")
        return Client("", token, transport=http), person

    return make


@pytest.fixture
def owner(as_person):
    return as_person("ann", "owner")[0]


@pytest.fixture
def project(owner, table):
    return owner.create_project(table, "people", id="id", drop=["town"])["id"]
