"""Counts of the work of a fit: passes over the data, tests of moves, steps in a heap.

Seconds depend on the machine, counts only on the algorithm. `tests/test_work.py` compares them with
recorded numbers, so that a change that makes a model do more work is noticed on any machine.
Outside of `counted` nothing is counted, at almost no cost.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_now: Counter[str] | None = None


def count_work(what: str, amount: int = 1) -> None:
    """Add to a count, if anything is being counted."""
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
