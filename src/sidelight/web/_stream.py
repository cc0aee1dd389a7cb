"""Server-sent events: what has happened since, a few times a second."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool

from sidelight.store import Person
from sidelight.web._bench import Bench

INTERVAL = 0.5
QUIET = 15.0  # seconds after which an empty line keeps the connection open


async def stream(
    request: Any, bench: Bench, project: int, person: Person, *, interval: float = INTERVAL
) -> AsyncIterator[str]:
    """Changes of a project as lines of server-sent events, until the browser leaves."""
    seen: dict[str, Any] = {}
    silent = 0.0
    with bench.presence.here(project, person.name):
        while not await request.is_disconnected():
            now = await run_in_threadpool(snapshot, bench, project, person)
            news = {name: value for name, value in now.items() if seen.get(name) != value}
            seen = now
            for name, value in news.items():
                yield f"event: {name}\ndata: {json.dumps(value)}\n\n"
            silent = 0.0 if news else silent + interval
            if silent >= QUIET:
                silent = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(interval)


def snapshot(bench: Bench, project: int, person: Person) -> dict[str, Any]:
    """The events for a browser: annotators get only the fact that something happened."""
    found: dict[str, Any] = {
        "log": {"last": bench.store.last_event(project)},
        "withdrawn": bench.store.withdrawn(project, person.id),
    }
    if person.role == "annotator":
        return found
    found["here"] = bench.presence.of(project)
    jobs = bench.store.jobs.all(project, limit=5)
    found["jobs"] = [
        {"id": job.id, "kind": job.kind, "state": job.state, "progress": job.progress}
        for job in jobs
    ]
    last = bench.store.last_run(project)
    found["run"] = {"last": None if last is None else last["id"]}
    return found
