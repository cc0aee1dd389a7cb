"""Fixtures that every test may use."""

from pathlib import Path

import pytest
from hypothesis import settings

# The machines that run the tests are noisy: a deadline would test the machine, not the code.
settings.register_profile("sidelight", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("sidelight")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """The papers' data sets, which lie beside the project and not in it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the papers' data sets (../shared/data) are not on this machine")
    return SHARED_DATA
