"""Jobs on a Dask cluster instead of processes here, for fits that outgrow the machine.

The workers open the same store and the same folder, so both have to be within their reach: a
PostgreSQL store, and a folder on a file system that they share.
"""

import os
import platform
import threading
from typing import Any

from sidelight.exceptions import SidelightError
from sidelight.store import Folder, Store
from sidelight.web._advice import in_page
from sidelight.web._pool import AGAIN, DOWN, told
from sidelight.web._settings import Settings

_WAIT = 0.2


class Cancelled(Exception):
    """The job is not needed any more."""


def do(job: dict[str, Any], store_address: str, bulk: str) -> tuple[str, Any]:
    """Do one job on a worker of the cluster; progress goes straight into the job's row."""
    from sidelight.web._work import run_job

    store = Store(store_address)

    def tell(progress: float, message: str) -> None:
        if not store.jobs.pulse(job["id"], progress, message):
            raise Cancelled

    try:
        return "done", run_job(store, Folder(bulk), job, tell)
    except SidelightError as error:
        return "refused", str(in_page(error))
    except Cancelled:
        return "cancelled", None
    finally:
        store.close()


class DaskRunner:
    """Hands jobs to a Dask cluster, and writes down how they end."""

    def __init__(self, store: Store, settings: Settings, bulk: str) -> None:
        from distributed import Client

        self._store, self._settings, self._bulk = store, settings, bulk
        self._client = Client(settings.dask)
        self._stopping = threading.Event()
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin to take jobs."""
        self._thread.start()

    def wake(self) -> None:
        """Look at the queue now."""
        with self._news:
            self._news.notify_all()

    def stop(self) -> None:
        """End; jobs that run are interrupted."""
        self._stopping.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join(10)
        self._client.close()

    def _watch(self) -> None:
        name = f"{platform.node()}:{os.getpid()}:dask"
        running: dict[int, Any] = {}
        while not self._stopping.is_set():
            try:
                self._step(name, running)
            except DOWN:
                self._stopping.wait(AGAIN)
            with self._news:
                self._news.wait(_WAIT)
        for number, future in running.items():
            future.cancel()
            self._store.jobs.end(number, "interrupted", error="the server was stopped")

    def _step(self, name: str, running: dict[int, Any]) -> None:
        """Submit what waits, and write down what has ended."""
        while (job := self._store.jobs.claim(name)) is not None:
            running[job.id] = self._client.submit(
                do,
                job._asdict(),
                self._settings.store_address,
                self._bulk,
                pure=False,
                retries=0,
            )
        for number, future in list(running.items()):
            if future.done():
                self._end(number, future)
                del running[number]

    def _end(self, number: int, future: Any) -> None:
        if future.status != "finished":
            self._store.jobs.crashed(number, f"the worker failed: {future.exception()}")
            return
        kind, what = future.result()
        if kind == "done":
            self._store.jobs.end(number, "done", message=told(what))
        elif kind == "refused":
            self._store.jobs.end(number, "failed", error=what)
