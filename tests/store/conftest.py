"""A fresh store for every test."""

import pytest

pytest.importorskip("sqlalchemy")
from sidelight.store import Store
from store_address import fresh_address


@pytest.fixture
def address(tmp_path):
    return fresh_address(tmp_path)


@pytest.fixture
def store(address):
    store = Store(address)
    yield store
    store.close()
