"""What a fit has to do, counted: passes over the data, tests of moves, steps in a heap.

Seconds belong to a machine, and counts to an algorithm: `tests/test_work.py` holds them to what was
recorded, so that a change which makes a model work harder is noticed on any machine. Nothing is
counted, and next to nothing spent, outside of `counted`.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_now: Counter[str] | None = None


def count_work(what: str, amount: int = 1) -> None:
    """Add to what is being counted, if anything is."""
    if _now is not None:
        _now[what] += int(amount)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the work inside, in this process.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> with counted() as work:
    ...     _ = PartitionLevelKMeans(2, n_init=1, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> work["passes over the data"] > 0
    True
    """
    global _now
    before, _now = _now, Counter()
    try:
        yield _now
    finally:
        _now = before
