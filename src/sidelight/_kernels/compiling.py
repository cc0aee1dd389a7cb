"""Notice when numba compiles, which takes seconds, once per installation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _Counter(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self.n_compiled, self._tell = 0, tell

    def on_start(self, event: Any) -> None:
        if not self.n_compiled:
            self._tell()
        self.n_compiled += 1

    def on_end(self, event: Any) -> None:
        """Nothing to do."""


def _say_nothing() -> None:
    """For callers who only count."""


@contextmanager
def when_compiling(tell: Callable[[], None] = _say_nothing) -> Iterator[_Counter]:
    """Call ``tell()`` when the first kernel is compiled inside the block; yields the count.

    Kernels that are found on disk do not count. ``tell`` is called in the thread that compiles.
    """
    with event.install_listener("numba:compile", _Counter(tell)) as counter:
        yield counter
