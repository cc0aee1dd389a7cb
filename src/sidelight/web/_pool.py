"""A pool of warm worker processes that take jobs from the store.

A thread watches each process: it claims a job, hands it over, writes progress into the job's row,
and ends the process when the job is cancelled or takes too much. A worker that
dies costs one retry.
"""

import multiprocessing as mp
import os
import platform
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any, Protocol

from sidelight.exceptions import SidelightError
from sidelight.store import Folder, Store, StoreDown
from sidelight.web._advice import in_page
from sidelight.web._settings import Settings

_WAIT = 0.2  # seconds between looks at the queue
_NICENESS = 5  # of processes that compute: a third of the weight of those that answer
_GRACE = 5.0  # seconds that a process has to end
DOWN = (StoreDown, OSError)  # the store is locked, full or away: it may come back
AGAIN = 1.0  # seconds until it is tried again


class Runner(Protocol):
    """Who runs jobs: a `Pool` of processes here, or the workers of a Dask cluster."""

    def start(self) -> None:
        """Begin to take jobs."""

    def wake(self) -> None:
        """Look at the queue now."""

    def stop(self) -> None:
        """End, and leave nothing running."""


def _work(pipe: Connection, store_address: str, bulk: str) -> None:
    """The loop of a worker process: a job comes in, progress and an outcome go out."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    step_back()
    store, folder = Store(store_address), Folder(bulk)
    from sidelight.web._work import run_job

    import_heavy()
    pipe.send(("ready", None))
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        if job is None:
            return
        told = [0.0]

        def tell(progress: float, message: str, told: list[float] = told) -> None:
            now = time.monotonic()
            if now - told[0] > 0.1:  # a row of the database is not written for every iteration
                told[0] = now
                pipe.send(("progress", (progress, message)))

        try:
            pipe.send(("done", run_job(store, folder, job, tell)))
        except SidelightError as error:
            pipe.send(("refused", str(in_page(error))))
        except Exception:
            pipe.send(("failed", traceback.format_exc(limit=8)))


def step_back() -> None:
    """Lower the priority, so that requests go first: a fit still gets nearly all of the CPU."""
    if hasattr(os, "nice"):  # Windows has none
        os.nice(_NICENESS)


def import_heavy() -> None:
    """Import what the first fit needs, so that it does not wait."""
    from sidelight import study
    from sidelight.models import find_model

    study.build(find_model("DiscriminativeClustering"))


class Pool:
    """Worker processes on this machine."""

    def __init__(self, store: Store, settings: Settings, bulk: str) -> None:
        self._store, self._settings, self._bulk = store, settings, bulk
        self._stopping = threading.Event()
        self._news = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._workers: dict[int, _Worker] = {}

    @property
    def processes(self) -> list[int]:
        """The numbers of the worker processes that run now."""
        return [worker.pid for worker in list(self._workers.values()) if worker.alive]

    def start(self) -> None:
        """Start the processes; jobs of a server on this machine that is gone are interrupted."""
        gone = [
            job.worker
            for job in self._store.jobs.all(states=("running",))
            if job.worker is not None and _is_gone(job.worker)
        ]
        self._store.jobs.interrupt(gone, "the server was restarted")
        for k in range(self._settings.workers):
            thread = threading.Thread(target=self._watch, args=(k,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def wake(self) -> None:
        """Look at the queue now."""
        with self._news:
            self._news.notify_all()

    def stop(self) -> None:
        """End all processes; their jobs are interrupted."""
        self._stopping.set()
        self.wake()
        for thread in self._threads:
            thread.join(_GRACE * 2)

    def _watch(self, k: int) -> None:
        name = f"{platform.node()}:{os.getpid()}:{k}"
        worker, lost = self._new_worker(k), None
        try:
            while not self._stopping.is_set():
                job = None
                try:
                    if lost is not None:
                        self._store.jobs.crashed(lost, "the store could not be reached")
                        lost = None
                    job = self._store.jobs.claim(name)
                    if job is not None:
                        if not worker.alive:
                            worker = self._new_worker(k)
                        self._run(worker, job)
                except DOWN:
                    if job is not None:  # what it does now could not be written down
                        worker.end()
                        lost = job.id
                    self._stopping.wait(AGAIN)
                    continue
                if job is None:
                    with self._news:
                        self._news.wait(_WAIT)
        finally:
            worker.end()

    def _new_worker(self, k: int) -> "_Worker":
        self._workers[k] = _Worker(self._settings.store_address, self._bulk)
        return self._workers[k]

    def _run(self, worker: "_Worker", job: Any) -> None:
        """One job in one process, until it ends in some way."""
        try:
            worker.send(job._asdict())
        except OSError:  # it died since the last check; the next job gets a new one
            self._store.jobs.crashed(job.id, "the worker process died")
            return
        begun = time.monotonic()
        while True:
            kind, what = worker.receive(_WAIT)
            if kind == "done":
                self._store.jobs.end(job.id, "done", message=told(what))
                return
            elif kind in ("refused", "failed"):
                self._store.jobs.end(job.id, "failed", error=what)
                return
            elif kind == "dead":
                self._store.jobs.crashed(job.id, "the worker process died")
                return
            if self._stopping.is_set():
                worker.end()
                self._store.jobs.end(job.id, "interrupted", error="the server was stopped")
                return
            if not self._store.jobs.pulse(job.id, *(what or ())):
                worker.end()  # cancelled
                return
            reason = self._too_much(worker, begun)
            if reason:
                worker.end()
                self._store.jobs.end(job.id, "failed", error=reason)
                return

    def _too_much(self, worker: "_Worker", begun: float) -> str | None:
        limit = self._settings.max_seconds
        if time.monotonic() - begun > limit:
            return f"stopped after {limit:,.0f} s, the time limit of a job."
        if worker.memory > self._settings.max_memory:
            return (
                f"stopped at {worker.memory / 1e9:.1f} GB, the memory limit of a worker is "
                f"{self._settings.max_memory / 1e9:.1f} GB."
            )
        return None


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, store_address: str, bulk: str) -> None:
        context = mp.get_context("spawn")  # a fork would share connections of the store
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, store_address, bulk), daemon=True
        )
        self._process.start()
        theirs.close()
        self._ready = False

    @property
    def pid(self) -> int:
        assert self._process.pid is not None  # it was started
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def memory(self) -> int:
        """Resident memory in bytes."""
        import psutil

        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def send(self, job: dict[str, Any]) -> None:
        self._pipe.send(job)

    def receive(self, seconds: float) -> tuple[str | None, Any]:
        """The next message: (None, None) if none comes in time, "dead" if none ever will."""
        try:
            if not self._pipe.poll(seconds):
                return (None, None) if self.alive else ("dead", None)
            kind, what = self._pipe.recv()
        except (EOFError, OSError):
            return "dead", None
        return (None, None) if kind == "ready" else (kind, what)

    def end(self) -> None:
        self._process.terminate()
        self._process.join(_GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(_GRACE)
        self._pipe.close()


def told(made: dict[str, Any]) -> str:
    """The result of a job, as its message, by which reports and comparisons are found."""
    return ", ".join(f"{name} {value}" for name, value in made.items())


def _is_gone(worker: str) -> bool:
    """Whether the server that a worker belongs to ran on this machine and has ended."""
    import psutil

    host, pid, _number = worker.rsplit(":", 2)
    return host == platform.node() and (int(pid) == os.getpid() or not psutil.pid_exists(int(pid)))
