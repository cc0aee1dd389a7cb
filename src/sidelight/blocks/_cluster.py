"""Where tasks on Dask run: on this machine's threads or processes, or on a cluster.

A scheduler takes a graph of tasks and the keys that are wanted. `Local` answers with the results;
on a `Cluster` they stay with the workers, and what comes back here is gathered explicitly, in
bounded time. Dask is imported inside functions: it is an extra.
"""

import asyncio
import sys
import time
import warnings
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import TimeoutError as NotYet
from typing import Any, Protocol

from sidelight.blocks._threads import one_blas_thread
from sidelight.exceptions import WorkersLostError

Graph = dict[Hashable, Any]

# Of all memory: beyond it workers begin to write to disk (Dask's own default), and on one machine
# the results want a place too.
_ROOM = 0.6
# How often to ask whether the cluster still has workers, in seconds; asking takes a millisecond.
_LOOK_AGAIN = 1.0
# How long a cluster may be without any worker: a worker that died of memory is back in a few
# seconds. Queues of batch systems are slower, so it can be set.
_PATIENCE = 60.0
_PATIENCE_NAME = "sidelight.no-workers-timeout"


class Literal:
    """A value inside a graph, hidden from Dask, which looks for tasks in lists and tuples."""

    def __init__(self, value: Any) -> None:
        self.value = value


def value_of(reference: Any) -> Any:
    """What a task got for a reference that `Scheduler.refer` made."""
    return reference.value if isinstance(reference, Literal) else reference


class Scheduler(Protocol):
    """What `DaskBlocks` asks of the place where its tasks run."""

    copies: bool  # whether tasks must leave their inputs as they are: they may run again

    def start(self, graph: Graph, keys: Sequence[Hashable]) -> list[Any]:
        """The results of some tasks: values, or futures that stand for them."""

    def fetch(self, graph: Graph, keys: Sequence[Hashable]) -> list[Any]:
        """The values of some tasks, here."""

    def refer(self, graph: Graph, result: Any) -> Any:
        """How a task names an earlier result; graph: OUT, what it needs for that."""

    def has_room(self, n_bytes: float) -> bool:
        """Whether so much data fits into memory."""


class Local:
    """The threads or processes of this machine, or none (Dask's "synchronous" scheduler)."""

    copies = False

    def __init__(self, get: Callable[..., Any]) -> None:
        self._get = get

    def start(self, graph: Graph, keys: Sequence[Hashable]) -> list[Any]:
        with one_blas_thread():  # set once, not by every task
            return list(self._get(graph, list(keys)))

    fetch = start

    def refer(self, graph: Graph, result: Any) -> Any:
        return Literal(result)

    def has_room(self, n_bytes: float) -> bool:
        from distributed.system import MEMORY_LIMIT

        return bool(n_bytes <= _ROOM * MEMORY_LIMIT)


class Cluster:
    """The workers of a `distributed.Client`. Lost results are computed again, by Dask."""

    copies = True

    def __init__(self, client: Any) -> None:
        self._client = client

    def start(self, graph: Graph, keys: Sequence[Hashable]) -> list[Any]:
        with warnings.catch_warnings():
            # Statements and weights travel inside the graph, once, so that they survive a worker.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return list(self._client.get(graph, list(keys), sync=False))

    def fetch(self, graph: Graph, keys: Sequence[Hashable]) -> list[Any]:
        return self.gather(self.start(graph, keys))

    def refer(self, graph: Graph, result: Any) -> Any:
        graph[result.key] = result
        return result.key

    def gather(self, futures: list[Any]) -> list[Any]:
        """The values of futures, or an error if the cluster has been without workers for long."""
        import dask
        from distributed import KilledWorker

        patience = float(dask.config.get(_PATIENCE_NAME, _PATIENCE))
        client, since = self._client, time.monotonic()
        pending = asyncio.run_coroutine_threadsafe(
            client.gather(futures, asynchronous=True), client.loop.asyncio_loop
        )
        while True:
            try:
                return list(pending.result(timeout=_LOOK_AGAIN))
            except NotYet:
                if self._n_workers():
                    since = time.monotonic()
                elif time.monotonic() - since > patience:
                    pending.cancel()
                    raise _lost(patience) from None
            except KilledWorker as error:
                raise WorkersLostError(
                    f"the same task ended several workers, probably for want of memory: {error}. "
                    "Give smaller chunks, X.rechunk({0: rows}), or workers with more memory."
                ) from error

    def _n_workers(self) -> int:
        if self._client.status != "running":
            raise WorkersLostError(
                f"the Dask client is {self._client.status}: its scheduler is gone, or somebody "
                "closed it. Connect again with distributed.Client(address), and fit again."
            )
        asked = self._client.run_on_scheduler(_count_workers)
        return int(asked)

    def has_room(self, n_bytes: float) -> bool:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] for worker in workers]
        return not all(limits) or bool(n_bytes <= _ROOM * sum(limits))


def _count_workers(dask_scheduler: Any) -> int:
    return len(dask_scheduler.workers)


def _lost(patience: float) -> WorkersLostError:
    return WorkersLostError(
        f"the Dask cluster has had no workers for {patience:g} seconds, and the fit cannot go on. "
        "Start workers (cluster.scale(n)) and fit again; to wait longer for new ones: "
        f"dask.config.set({{{_PATIENCE_NAME!r}: seconds}})."
    )


def active_client() -> Any:
    """The `distributed.Client` that Dask would use now, or None; imports nothing.

    Inside a task there is none: a task that waits for tasks of its own would hold up the worker.

    Examples
    --------
    >>> active_client() is None
    True
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        distributed.get_worker()
    except ValueError:
        try:
            return distributed.default_client()
        except ValueError:
            return None
    return None


def scheduler_of(X: Any) -> Scheduler:
    """Where Dask would compute X now."""
    import dask.base

    base: Any = dask.base  # its functions have no types
    get = base.get_scheduler(collections=[X]) or X.__dask_scheduler__
    client = getattr(get, "__self__", None)
    return Local(get) if client is None else Cluster(client)
