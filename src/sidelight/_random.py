"""One integer seed from the user's ``random_state``; all random numbers follow from it."""

from operator import index
from typing import Any

import numpy as np

from sidelight.exceptions import SidelightError


def draw_seed(random_state: Any) -> int:
    """The seed: a given integer, one draw from a given generator, or a fresh one for None."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    try:
        seed = index(random_state)
    except TypeError:
        seed = -1
    if seed < 0:
        raise SidelightError(
            f"random_state is {random_state!r}; give a whole number, 0 or more, a numpy Generator "
            "or RandomState, or None for a fresh start each time."
        )
    return seed


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator of our own, so that drawing from it does not advance the caller's."""
    return np.random.default_rng(draw_seed(random_state))
