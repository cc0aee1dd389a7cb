"""Shared by the fits of all models: starts and the best of them, callbacks, ``init``, warnings, and
starts on the workers of a cluster.
"""

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from types import FrameType
from typing import Any, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import Interval, StrOptions
from sidelight._wording import counted
from sidelight.blocks import Cluster, active_client, as_blocks, one_blas_thread, threads
from sidelight.exceptions import DataError

T = TypeVar("T")

_NO_ROWS = as_blocks(np.empty((0, 0)))  # stands for the data while a problem is sent


# Callbacks


class Task:
    """A task of a fit, as scikit-learn's callbacks follow it; ``with`` begins and ends it.

    ``stopped`` says after its end whether a callback wants to stop.
    """

    def __init__(self, model: Any, context: Any) -> None:
        self._model, self._context = model, context
        self.stopped = False

    @classmethod
    def of_fit(cls, model: Any, n_parts: int | None = None) -> Self:
        """The whole fit of a model, with its number of parts (None: unknown)."""
        return cls(model, model._init_callback_context(max_subtasks=n_parts))

    def __enter__(self) -> Self:
        self._context.call_on_fit_task_begin(estimator=self._model)
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is None:
            self.stopped = bool(self._context.call_on_fit_task_end(estimator=self._model))

    def part(self, name: str, n_parts: int | None = None) -> "Task":
        """A task inside this one."""
        return Task(self._model, self._context.subcontext(task_name=name, max_subtasks=n_parts))

    def step(self, name: str = "iteration") -> bool:
        """One more step is done; whether a callback wants to stop."""
        with Task(self._model, self._context.subcontext(task_name=name)) as done:
            pass
        return done.stopped


def never() -> bool:
    """The ``each_iteration`` of a run without a callback: do not stop."""
    return False


# Starts


STARTS = [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")]  # of n_init
# Up to this size "auto" makes the full search; above it a further start is not worth its time.
FULL_SEARCH_UP_TO = 10_000


def budget(
    asked: int | str, n_samples: int, *, full: int, least: int, up_to: int = FULL_SEARCH_UP_TO
) -> int:
    """A number of starts or generations: as asked or, for "auto", ``full`` of them up to a size.

    Above it they become fewer in proportion to the rows, down to ``least``, so that the work of all
    of them together stays the same.
    """
    if asked != "auto":
        return int(asked)
    return max(least, min(full, full * up_to // max(n_samples, 1)))


def n_starts(
    model: Any, n_samples: int, *, settled: bool = False, up_to: int = FULL_SEARCH_UP_TO
) -> int:
    """The number of starts: ``n_init``, or one where ``init`` gives it.

    settled : whether every cluster has labels to start from. On large data that is one start.
    up_to : the most rows for which "auto" searches in full.
    """
    if not isinstance(model.init, str):
        return 1
    is_large = n_samples > up_to
    if model.n_init == "auto" and model.init == "seeded" and settled and is_large:
        return 1
    full, least = model._auto_starts
    return budget(model.n_init, n_samples, full=full, least=least, up_to=up_to)


def best_of_starts(
    model: Any,
    work: Callable[..., T],
    problem: Any,
    common: Any,
    starts: Sequence[Any],
    *,
    cost: Callable[[T], Any],
    n_steps: int | None = None,
) -> T:
    """Do ``work(problem, common, start, each_iteration)`` for every start; the cheapest result.

    The first of equals. With a cluster the starts run on its workers, where nobody calls
    ``each_iteration``: see `elsewhere`. Callbacks see a task per start, of ``n_steps`` at most.
    """
    best: T | None = None
    with Task.of_fit(model, len(starts)) as fit:
        there = elsewhere(problem, common, len(starts))
        done = None if there is None else there.run(work, starts)
        for number, start in enumerate(starts):
            with fit.part("start", n_steps) as task:
                found = done[number] if done else work(problem, common, start, task.step)
            best = found if best is None or cost(found) < cost(best) else best
            if task.stopped:
                break
    assert best is not None
    return best


# Up to this size defaults use their full budget: of the tables of docs/results only pendigits has
# more rows. Above it a budget may be smaller if that loses no quality.
SMALL_UP_TO = 6_000


def is_small(n_samples: int) -> bool:
    """Whether data are so small that every default has its full budget."""
    return n_samples <= SMALL_UP_TO


def fewer_starts(model: Any, n_samples: int) -> int:
    """The number of starts of a model that has its full search up to 6,000 rows only."""
    return n_starts(model, n_samples, up_to=SMALL_UP_TO)


def race(
    model: Any,
    begin: Callable[..., T],
    go_on: Callable[..., T],
    problem: Any,
    common: Any,
    starts: Sequence[Any],
    *,
    cost: Callable[[T], Any],
    n_steps: int | None = None,
) -> T:
    """Begin every start, and go on with the cheapest, the first of equals.

    ``begin(problem, common, start, each_iteration)`` is a short run, on the workers of a cluster if
    there is one, as in `best_of_starts`; ``go_on(problem, common, found, each_iteration)`` runs
    here. Callbacks see the second as one more start.
    """
    best: T | None = None
    with Task.of_fit(model, len(starts) + 1) as fit:
        there = elsewhere(problem, common, len(starts))
        done = None if there is None else there.run(begin, starts)
        for number, start in enumerate(starts):
            with fit.part("start", n_steps) as task:
                found = done[number] if done else begin(problem, common, start, task.step)
            best = found if best is None or cost(found) < cost(best) else best
            if task.stopped:
                return best
        assert best is not None
        with fit.part("start", n_steps) as task:
            best = go_on(problem, common, best, task.step)
    return best


# What ``init`` gives


def is_model(init: Any) -> bool:
    """Whether ``init`` is a model, and not an array."""
    return hasattr(init, "fit")


def given_labels(
    init: Any,
    n_samples: int,
    n_clusters: int | None = None,
    *,
    limit: str = "n_clusters",
    X: Any = None,
) -> NDArray[np.int64]:
    """``init`` as a cluster number of each row: from an array, or from a fitted model.

    −1 means the same in every model: ``init`` does not say where the row belongs, and the model
    treats it like a row without information. Of a fitted model these are ``labels_`` if they are as
    many as the rows, else what it predicts for ``X``. ``limit`` is the parameter that limits the
    numbers to ``n_clusters``; None: there is no limit.
    """
    if is_model(init):
        check_is_fitted(init)
        own = getattr(init, "labels_", None)
        given = np.asarray(own if own is not None and len(own) == n_samples else init.predict(X))
    else:
        given = np.asarray(init)
    if given.shape != (n_samples,) or given.dtype.kind not in "iu":
        raise DataError(
            f"init has shape {given.shape} and type {given.dtype}; give a whole number for each of "
            f"the {n_samples} rows, its cluster or -1 where it is unknown, or a fitted model."
        )
    highest = np.inf if n_clusters is None else n_clusters - 1
    if given.min() < -1 or given.max() > highest:
        allowed = "0 or more" if n_clusters is None else f"0 to {highest}"
        asked = "" if n_clusters is None else f" for {limit}={n_clusters}"
        raise DataError(
            f"init has cluster numbers from {given.min()} to {given.max()};{asked} give {allowed}, "
            "and -1 where it is unknown."
        )
    return given.astype(np.int64)


# Warnings


def warn(text: str | Warning, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn, pointing at the line of the caller: not ours, and not scikit-learn's."""
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_library(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def _is_library(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("sidelight", "sklearn")


def warn_not_converged(run: Any, max_iter: int, advice: str) -> None:
    """Warn if ``max_iter`` ended a run (``converged``, ``n_iter``)."""
    if not run.converged and run.n_iter == max_iter:
        warn(f"the best start had not converged after max_iter={max_iter} iterations; {advice}.")


def warn_fewer_clusters(
    n_found: int, n_asked: int, because: str = "too many rows are alike"
) -> None:
    """Warn if fewer clusters were found than asked for."""
    if n_found < n_asked:
        warn(f"found {counted(n_found, 'cluster')} where {n_asked} were asked for: {because}.")


# The workers of a cluster


class Elsewhere:
    """Jobs of one problem on the workers of a cluster; made by `elsewhere`.

    The data and the common arguments of all jobs are sent to every worker once.
    """

    def __init__(self, client: Any, problem: Any, common: Any) -> None:
        self._client, self._cluster = client, Cluster(client)
        # Sent separately: a `Deadline` must not be delayed by the data.
        X = self._cluster.send(problem.rows.data)
        self._sent = (X, self._cluster.send((problem._replace(rows=_NO_ROWS), common)))

    def run(self, work: Callable[..., T], jobs: Sequence[Any]) -> list[T]:
        """``work(problem, common, job)`` of every job, in their order, by joblib's Dask backend."""

        def run_all() -> list[T]:
            with parallel_config(backend="dask", client=self._client):
                return list(Parallel()(delayed(_alone)(work, *self._sent, job) for job in jobs))

        try:
            done: list[T] = self._cluster.call(run_all)
        except BaseException:
            if self._client.status == "running":
                self._client.cancel(list(self._sent))  # ends the remaining jobs and the wait
            raise
        return done


def elsewhere(problem: Any, common: Any, n_jobs: int) -> Elsewhere | None:
    """Where to run the jobs of a problem: a cluster if there is one; None to run them here.

    problem : a named tuple with ``rows``, or None for work that does not travel. Rows that are on
    Dask themselves stay where they are: their jobs follow one another, each with the whole cluster.
    """
    client = active_client()
    if client is None or problem is None or problem.rows.data is None or n_jobs < 2:
        return None
    if sum(client.nthreads().values()) == 1:  # joblib would do the jobs here, without their data
        return None
    return Elsewhere(client, problem, common)


def _alone(work: Callable[..., T], X: Any, sent: tuple[Any, Any], job: Any) -> T:
    """A job in one thread: a worker has as many jobs as threads."""
    problem, common = sent
    with one_blas_thread(), threads(1):
        return work(problem._replace(rows=as_blocks(X)), common, job)


class Deadline(float):
    """A moment of `time.monotonic`, which differs between machines, so the time left is sent.

    Examples
    --------
    >>> import math, pickle
    >>> there = pickle.loads(pickle.dumps(Deadline(time.monotonic() + 60)))
    >>> 59 < there - time.monotonic() <= 60
    True
    >>> pickle.loads(pickle.dumps(Deadline(math.inf)))
    Deadline(inf)
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _deadline_in, (self - time.monotonic(),)

    def __repr__(self) -> str:
        return f"Deadline({float(self)!r})"


def _deadline_in(seconds: float) -> Deadline:
    return Deadline(time.monotonic() + seconds)
