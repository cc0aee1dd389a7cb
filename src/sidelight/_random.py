"""A generator from whatever the user gave as ``random_state``."""

from typing import Any

import numpy as np


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator of our own: from a seed, or from one integer of the caller's generator."""
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
