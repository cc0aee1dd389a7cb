"""The number of threads that work on blocks. It changes the time, never the answer."""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")

_chosen: ContextVar[int | None] = ContextVar("sidelight_threads", default=None)


def n_threads() -> int:
    """The number of threads in use: what `threads` says, else the environment, else all cores.

    The environment variables are ``SIDELIGHT_NUM_THREADS`` and then ``OMP_NUM_THREADS``, which
    joblib sets in its workers so that processes and threads do not multiply.

    Examples
    --------
    >>> with threads(2):
    ...     n_threads()
    2
    """
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    for name in ("SIDELIGHT_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Work with ``n`` threads inside a ``with`` block.

    Parameters
    ----------
    n : int
        The number of threads, at least 1.

    Examples
    --------
    >>> from sidelight.blocks import threads
    >>> with threads(1):
    ...     pass  # fit models here
    """
    if n < 1:
        raise ValueError(f"the number of threads is at least 1, not {n!r}.")
    token = _chosen.set(n)
    try:
        yield
    finally:
        _chosen.reset(token)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    # Looking for the loaded libraries takes a millisecond, so it is done again only when modules
    # have been loaded since: scipy.linalg, for one, brings a BLAS of its own.
    return ThreadpoolController()


class _Limit:
    """The limit on BLAS, which holds for the whole process, and how many ask for it now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._n_inside:
                controller = _controller(len(sys.modules))
                with _from_any_thread(controller):
                    self._limiter = controller.limit(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                with _from_any_thread(_controller(len(sys.modules))):
                    self._limiter.restore_original_limits()


@contextmanager
def _from_any_thread(controller: ThreadpoolController) -> Iterator[None]:
    """Let this thread set the limit, and afterwards any other.

    From version 3.8 on, threadpoolctl takes the limit of OpenBLAS from the first thread that sets
    one, and silently ignores all others. Tasks on Dask are started by any thread, so BLAS kept its
    threads there, which changed bits and wasted ten times the CPU time of a pass in waiting.
    """
    _give_up_control(controller)
    try:
        yield
    finally:
        _give_up_control(controller)


def _give_up_control(controller: ThreadpoolController) -> None:
    for library in controller.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give BLAS one thread, because its sums change with its threads.

    Setting it takes as long as a pass over a thousand rows, so a model sets it once around its
    loop; inside, it is free. The last of all threads that are inside takes the limit back: the
    tasks of a Dask worker come and go side by side.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     float((np.ones((2, 3)) @ np.ones((3, 2)))[0, 0])
    3.0
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


def in_order(function: Callable[[int], T], n_tasks: int) -> Iterator[T]:
    """``function(0), function(1), …`` in this order, computed by `n_threads` threads.

    Kernels release the GIL, so plain threads use the cores. A few results per thread are in flight,
    never all of them. The pool lives for one call: one that outlives a fork would wait for threads
    that no longer exist.

    Parameters
    ----------
    function : callable
        From the number of a task to its result.
    n_tasks : int
        The number of tasks.

    Yields
    ------
    object
        The results, in the order of the tasks.

    Examples
    --------
    >>> list(in_order(lambda task: task**2, 4))
    [0, 1, 4, 9]
    """
    n_workers = min(n_threads(), n_tasks)
    with one_blas_thread():
        if n_workers <= 1:
            yield from map(function, range(n_tasks))
            return
        pool = ThreadPoolExecutor(n_workers)
        try:
            pending: deque[Future[Any]] = deque()
            for task in range(n_tasks):
                pending.append(pool.submit(function, task))
                if len(pending) > 4 * n_workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # after Ctrl-C or an error, work that has not begun is dropped
            pool.shutdown(cancel_futures=True)


def in_parts(function: Callable[[int, int], object], n: int, size: int) -> None:
    """``function(start, stop)`` for the parts of 0 … n, at the same time in `n_threads` threads.

    The function writes each part into memory of its own, so that neither the threads nor the parts
    change the answer. Ctrl-C works between parts.

    Parameters
    ----------
    function : callable
        From where a part starts and stops; what it returns is not used.
    n : int
        Where the last part stops.
    size : int
        The length of a part; the last one may be shorter.

    Examples
    --------
    >>> import numpy as np
    >>> squares = np.arange(5)
    >>> def square(start, stop):
    ...     squares[start:stop] **= 2
    >>> in_parts(square, 5, 2)
    >>> squares.tolist()
    [0, 1, 4, 9, 16]
    """
    if n <= size:  # nothing to divide: no pool, no limit on BLAS
        function(0, n)
        return
    for _ in in_order(lambda part: function(part * size, min((part + 1) * size, n)), -(-n // size)):
        pass
