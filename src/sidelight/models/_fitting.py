"""Starts and members of a population on the workers of a cluster, for data in memory here."""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, parallel_config

from sidelight.blocks import active_client, as_blocks, one_blas_thread, threads
from sidelight.blocks._cluster import Cluster

T = TypeVar("T")

_NO_ROWS = as_blocks(np.empty((0, 0)))  # in the place of the data while a problem travels


class Elsewhere:
    """Jobs of one problem on the workers of a cluster; made by `elsewhere`.

    The data, and what all jobs have in common, travel to every worker once, however often it runs.
    """

    def __init__(self, client: Any, problem: Any, common: Any) -> None:
        self._client, self._cluster = client, Cluster(client)
        # One after the other: a `Deadline` must not wait on its way for the data.
        X = self._cluster.send(problem.rows.data)
        self._sent = (X, self._cluster.send((problem._replace(rows=_NO_ROWS), common)))

    def run(self, work: Callable[[Any, Any, Any], T], jobs: Sequence[Any]) -> list[T]:
        """``work(problem, common, job)`` of every job, in their order, by joblib's Dask backend."""

        def run_all() -> list[T]:
            with parallel_config(backend="dask", client=self._client):
                return list(Parallel()(delayed(_alone)(work, *self._sent, job) for job in jobs))

        try:
            done: list[T] = self._cluster.call(run_all)
        except BaseException:
            if self._client.status == "running":
                self._client.cancel(list(self._sent))  # ends the jobs that are left, and who waits
            raise
        return done


def elsewhere(problem: Any, common: Any, n_jobs: int) -> Elsewhere | None:
    """A place for the jobs of a problem, if there is a cluster; None to do them here.

    problem : a named tuple with ``rows``. Rows that are on Dask themselves stay where they are:
    their jobs follow one another, each with the whole cluster.
    """
    client = active_client()
    if client is None or problem.rows.data is None or n_jobs < 2:
        return None
    return Elsewhere(client, problem, common)


def _alone(work: Callable[[Any, Any, Any], T], X: Any, sent: tuple[Any, Any], job: Any) -> T:
    """A job in one thread: a worker has as many jobs as threads."""
    problem, common = sent
    with one_blas_thread(), threads(1):
        return work(problem._replace(rows=as_blocks(X)), common, job)


class Deadline(float):
    """A moment of `time.monotonic`, which differs between machines: what travels is the time left.

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
