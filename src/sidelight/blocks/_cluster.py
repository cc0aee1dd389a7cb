"""Where tasks on Dask run: on this machine's threads or processes, or on a cluster.

A scheduler takes a graph of tasks and the keys that are wanted. `Local` answers with the results;
on a `Cluster` they stay with the workers, and what comes back here is gathered explicitly, in
bounded time. Dask is imported inside functions: it is an extra.
"""

import asyncio
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol
from uuid import uuid4
from weakref import WeakKeyDictionary

from sidelight.blocks._threads import one_blas_thread
from sidelight.exceptions import WorkersLostError

Graph = dict[Hashable, Any]

# Of all memory: above it workers begin to write to disk (Dask's own default), and on one machine
# the results need memory too.
_ROOM = 0.6
# How often to ask whether the cluster still has workers, in seconds; asking takes a millisecond.
_LOOK_AGAIN = 1.0
# How long a cluster may be without any worker that works: one that died of memory is back in a few
# seconds, as is one that is paused until it has written to disk. Queues of batch systems are
# slower, so it can be set.
_PATIENCE = 60.0
_PATIENCE_NAME = "sidelight.no-workers-timeout"
# A task sends results up to this size in bytes; larger ones are gathered. Scheduler and workers
# remember the last thousand messages (Dask's low-level-log-length), so that it is 20 MB at most.
_TOLD = 20_000


class Literal:
    """A value inside a graph, hidden from Dask, which looks for tasks in lists and tuples."""

    def __init__(self, value: Any) -> None:
        self.value = value


def value_of(reference: Any) -> Any:
    """The value that a task received for a reference made by `Scheduler.refer`."""
    return reference.value if isinstance(reference, Literal) else reference


class Scheduler(Protocol):
    """What `DaskBlocks` needs from the place where its tasks run."""

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


class Sender(NamedTuple):
    """How a task sends its result to the client, with the message that it is done.

    Otherwise the client would have to ask for it: a second task without the columns, and four
    messages.
    """

    topic: str
    name: str

    def tell(self, number: int, value: Any) -> None:
        """Send a value, if it is small; the client knows it by the number."""
        from distributed import get_worker
        from distributed.protocol import pickle

        dumps: Any = pickle.dumps  # it has no types
        message = dumps(value)
        if len(message) <= _TOLD:
            get_worker().log_event(self.topic, [self.name, number, message])


class Told:
    """Results sent by tasks so far, by task number; perhaps twice, if Dask ran a task again."""

    def __init__(self, sender: Sender, n_tasks: int) -> None:
        self.sender = sender
        self.messages: dict[int, bytes] = {}
        self.all_here = asyncio.Event()
        self._n_tasks = n_tasks

    def put(self, number: int, message: bytes) -> None:
        """Take a message in; called by the client's own thread."""
        self.messages[number] = message
        if len(self.messages) == self._n_tasks:
            self.all_here.set()


class _Mailbox:
    """Where a client receives the results of tasks."""

    def __init__(self, client: Any) -> None:
        self._topic = f"sidelight-{client.id}"
        self._expected: dict[str, Told] = {}
        client.subscribe_topic(self._topic, self._put)

    def _put(self, event: tuple[float, Any]) -> None:
        name, number, message = event[1]
        told = self._expected.get(name)
        if told is not None:
            told.put(number, message)

    @contextmanager
    def expecting(self, n_tasks: int) -> Iterator[Told]:
        """Collects the results of a number of tasks with its sender, as they arrive."""
        sender = Sender(self._topic, uuid4().hex)
        self._expected[sender.name] = told = Told(sender, n_tasks)
        try:
            yield told
        finally:
            del self._expected[sender.name]


# One for all fits of a client: a scheduler never forgets a topic.
_mailboxes: WeakKeyDictionary[Any, _Mailbox] = WeakKeyDictionary()
_mailboxes_lock = threading.Lock()


class Cluster:
    """The workers of a `distributed.Client`. Lost results are computed again, by Dask.

    Parameters
    ----------
    client : distributed.Client
        Such as `active_client` gives.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     workers = Cluster(client)
    ...     workers.call(lambda: "what waits here ends when the last worker is gone")
    'what waits here ends when the last worker is gone'
    """

    copies = True

    def __init__(self, client: Any) -> None:
        self._client = client
        # A client sends a message at most every 10 ms, and releasing results is a message. So the
        # last results are released only after the next graph was sent; otherwise that would have to
        # wait.
        self._recent: deque[list[Any]] = deque(maxlen=2)

    def start(self, graph: Graph, keys: Sequence[Hashable]) -> list[Any]:
        from dask.highlevelgraph import HighLevelGraph

        # In one named layer: for a plain graph Dask would compute a name from all of its contents.
        name = f"sidelight-graph-{uuid4().hex}"
        layers: Any = {name: graph}
        layered = HighLevelGraph(layers, {name: set()})
        with warnings.catch_warnings():
            # Statements and weights travel inside the graph, once, so that they survive a worker.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            futures = list(self._client.get(layered, list(keys), sync=False))
        self._recent.append(futures)
        return futures

    def fetch(self, graph: Graph, keys: Sequence[Hashable]) -> list[Any]:
        return self.gather(self.start(graph, keys))

    def refer(self, graph: Graph, result: Any) -> Any:
        graph[result.key] = result
        return result.key

    def gather(self, futures: list[Any]) -> list[Any]:
        """The values of futures."""
        return list(self.wait(self._begin(self._client.gather(futures, asynchronous=True))))

    def mailbox(self) -> _Mailbox:
        """Mailbox for the messages of tasks with a `Sender`."""
        with _mailboxes_lock:
            if self._client not in _mailboxes:
                _mailboxes[self._client] = _Mailbox(self._client)
            return _mailboxes[self._client]

    def hear(self, futures: list[Any], told: Told) -> list[Any] | None:
        """The messages of tasks, in the order of their numbers, or None if some are missing.

        A task sends its result before the message that it is done, on the same channel, so nothing
        is missing after that message. When all results are there, the client does not wait for the
        messages, which saves five milliseconds.
        """
        from distributed.protocol import pickle

        loads: Any = pickle.loads  # it has no types
        self.wait(self._begin(self._told_or_done(futures, told)))
        if not told.all_here.is_set():
            return None
        return [loads(told.messages[number]) for number in sorted(told.messages)]

    async def _told_or_done(self, futures: list[Any], told: Told) -> None:
        waiting = [
            asyncio.ensure_future(told.all_here.wait()),
            asyncio.ensure_future(self._all_done(futures)),
        ]
        ended, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
        for one in ended:
            one.result()  # raises what is wrong with a task

    async def _all_done(self, futures: list[Any]) -> None:
        await asyncio.gather(*map(self._done, futures))

    async def _done(self, future: Any) -> None:
        await future.exception(asynchronous=True)
        if future.status != "finished":
            await self._client.gather(future, asynchronous=True)  # raises what is wrong with it

    def send(self, value: Any) -> Any:
        """A future of a local value that is sent to every worker."""
        # With a unique name (hash=False): under a name by content the same value might just be
        # released.
        sending = self._client.scatter(
            [value], broadcast=True, hash=False, timeout=_patience(), asynchronous=True
        )
        return self.wait(self._begin(sending), dask_gives_up=True)[0]

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function that waits for the cluster without a time limit."""
        pending: Future[Any] = Future()
        pending.set_running_or_notify_cancel()  # it cannot be cancelled

        def fill() -> None:
            try:
                pending.set_result(function(*arguments))
            except BaseException as error:
                pending.set_exception(error)  # the waiting thread would not see it otherwise

        threading.Thread(target=fill, daemon=True).start()
        return self.wait(pending, dask_gives_up=True)

    def wait(self, pending: "Future[Any]", *, dask_gives_up: bool = False) -> Any:
        """The result of what is under way, or an error if no worker has worked for long.

        dask_gives_up: a `TimeoutError` inside is Dask's own, for lack of workers.
        """
        from distributed import KilledWorker

        patience, since = _patience(), time.monotonic()
        while True:
            try:
                return pending.result(timeout=_LOOK_AGAIN)
            except TimeoutError as error:
                n_workers, n_able = self._workers()
                if pending.done() and pending.exception() is error:
                    if dask_gives_up:
                        raise _lost(n_workers, patience) from error
                    raise
                if n_able:
                    since = time.monotonic()
                elif time.monotonic() - since > patience:
                    pending.cancel()
                    raise _lost(n_workers, patience) from None
            except CancelledError as error:
                raise WorkersLostError(
                    "workers are gone, with data that exist nowhere else; fit again, with "
                    f"workers that stay. Dask says: {error}"
                ) from error
            except KilledWorker as error:
                raise WorkersLostError(
                    f"the same task ended several workers, probably for lack of memory: {error}. "
                    "Give smaller chunks, X.rechunk({0: rows}), or workers with more memory."
                ) from error

    def _begin(self, waiting: Any) -> "Future[Any]":
        """Let the client's own thread wait for something."""
        return asyncio.run_coroutine_threadsafe(waiting, self._client.loop.asyncio_loop)

    def _workers(self) -> tuple[int, int]:
        """The number of workers, and of those that are not paused or still have a task to end."""
        if self._client.status != "running":
            raise WorkersLostError(
                f"the Dask client is {self._client.status}: its scheduler is gone, or someone "
                "closed it. Connect again with distributed.Client(address), and fit again."
            )
        n_workers, n_able = self._client.run_on_scheduler(_count_workers)
        return n_workers, n_able

    def has_room(self, n_bytes: float) -> bool:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] for worker in workers]
        return not all(limits) or bool(n_bytes <= _ROOM * sum(limits))


def _count_workers(dask_scheduler: Any) -> tuple[int, int]:
    workers = dask_scheduler.workers.values()
    return len(workers), sum(w in dask_scheduler.running or bool(w.executing) for w in workers)


def setting(name: str, default: float) -> float:
    """A number that the user may set in Dask's configuration.

    Examples
    --------
    >>> setting("sidelight.not-set", 3.0)
    3.0
    """
    import dask

    return float(dask.config.get(name, default))


def _patience() -> float:
    return setting(_PATIENCE_NAME, _PATIENCE)


def _lost(n_workers: int, patience: float) -> WorkersLostError:
    wait_longer = f"dask.config.set({{{_PATIENCE_NAME!r}: seconds}})"
    if n_workers:
        return WorkersLostError(
            f"the Dask cluster has {n_workers} workers, and all of them have been paused for "
            f"{patience:g} seconds, as Dask does when their memory is nearly full: the fit cannot "
            "go on. Give workers more memory, or X smaller chunks, X.rechunk({0: rows}), and fit "
            f"again; to wait longer: {wait_longer}."
        )
    return WorkersLostError(
        f"the Dask cluster has had no workers for {patience:g} seconds, and the fit cannot go on. "
        "Start workers (cluster.scale(n)) and fit again; to wait longer for new ones: "
        f"{wait_longer}."
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
