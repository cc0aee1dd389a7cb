"""The workbench under load: a start, an import, and people who answer beside a fit on all cores.

    python -m benchmarks.workbench_load --rows 100000 --people 20 --seconds 60

A server on loopback imports a table; people answer at their pace (4 answers a minute each), one
client as fast as it can; fits follow each other in a worker with a thread per core. Times are by
the clock, so they are worth something on an idle machine only: the load of the machine is printed
beside them, and the CPU time of the server, which does not depend on it. Everything is bounded: so
many seconds, at most so many answers.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from sidelight.datasets import make_gaussian_mixture
from sidelight.store import Store
from sidelight.web import Client

MOST_ANSWERS = 20_000  # of the client that does not wait


def main() -> int:
    """Measure, print, and end with 1 if a request failed or an acknowledged answer is lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--pause", type=float, default=15.0, help="seconds between two answers")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--model", default="DiscriminativeClustering", help="of the fits beside it")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        table = write_table(root / "table.csv", told.rows, told.columns)
        with server(root / "data", table) as (url, process, start):
            print(f"{told.rows:,} rows: {start}", flush=True)
            print(f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
            failed, acknowledged = answer_for(told, url, process, root / "data")
        lost = acknowledged - kept(root / "data")
    print(f"{len(acknowledged):,} answers acknowledged, {len(lost)} lost; {failed} errors")
    return int(bool(failed or lost))


def write_table(path: Path, n_rows: int, n_columns: int) -> Path:
    """A table of numbers with a column of ids."""
    X = make_gaussian_mixture(10, n_rows, n_columns, max_variance=0.5, random_state=0).X
    names = ",".join(["id", *(f"x{j}" for j in range(n_columns))])
    cells = np.column_stack([np.arange(n_rows), X])
    np.savetxt(
        path, cells, delimiter=",", header=names, comments="", fmt=["r%d"] + ["%.5g"] * n_columns
    )
    return path


@contextmanager
def server(folder: Path, table: Path) -> Iterator[tuple[str, psutil.Process, str]]:
    """``sidelight serve`` with one worker that may use every core, and what its start took."""
    cores = str(os.cpu_count() or 1)
    environment = {**os.environ, "OMP_NUM_THREADS": cores, "NUMBA_NUM_THREADS": cores}
    words = [str(table), "--id", "id", "--data-root", str(folder), "--port", "0", "--workers", "1"]
    begun = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-u", "-m", "sidelight", "serve", *words],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    lines = []
    for line in child.stdout or ():
        lines.append(line)
        if "Data and answers are in" in line:
            break
    process = psutil.Process(child.pid)
    took = time.perf_counter() - begun
    used = process.cpu_times()
    found = re.search(r"http://[^/]+", "".join(lines))
    if found is None:
        raise SystemExit("".join(lines))
    try:
        cpu = used.user + used.system
        yield found[0], process, f"imported and served after {took:.1f} s ({cpu:.1f} s of CPU)"
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(60)
        if child.stdout is not None:
            child.stdout.close()


def answer_for(
    told: argparse.Namespace, url: str, process: psutil.Process, folder: Path
) -> tuple[int, set[int]]:
    """Let people answer for a while; errors, and the events that were acknowledged."""
    store = Store(folder / "workbench.db")
    tokens = []
    for k in range(told.people + 2):
        person = store.people.add(f"p{k}", "editor" if k > told.people else "annotator")
        tokens.append(store.people.new_token("session", person=person.id))
    store.close()
    stop = threading.Event()
    people = [
        Answering(
            Client(url, token), told.pause * bool(k), stop, first=told.pause * k / told.people
        )
        for k, token in enumerate(tokens[:-1])
    ]
    fits = Fits(Client(url, tokens[-1]), told.model, stop)
    before = process.cpu_times()
    threads = [threading.Thread(target=one.run) for one in (*people, fits)]
    for thread in threads:
        thread.start()
    stop.wait(told.seconds)
    stop.set()
    for thread in threads:
        thread.join()
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    show("everybody, answer", [t for one in people for t in one.answers])
    show("everybody, next question", [t for one in people for t in one.questions])
    show("people, answer", [t for one in people[1:] for t in one.answers])
    show("people, next question", [t for one in people[1:] for t in one.questions])
    show("fast client, answer", people[0].answers)
    show("fast client, next question", people[0].questions)
    n = sum(len(one.answers) + len(one.questions) for one in people)
    print(f"server: {1000 * used / max(n, 1):.1f} ms of CPU a request; fits begun: {fits.n_begun}")
    errors = [error for one in (*people, fits) for error in one.errors]
    for error in errors[:5]:
        print(f"error: {error}")
    return len(errors), {event for one in people for event in one.events}


class Answering:
    """Somebody who asks for a question and answers it, with a pause or without."""

    def __init__(self, client: Client, pause: float, stop: threading.Event, first: float) -> None:
        self.client, self.pause, self.stop, self.first = client, pause, stop, first
        self.answers: list[float] = []
        self.questions: list[float] = []
        self.events: list[int] = []
        self.errors: list[str] = []

    def run(self) -> None:
        """Answer until told to stop; a question, then a pause, then the answer."""
        self.stop.wait(self.first if self.pause else 0.0)
        try:
            while not self.stop.is_set() and len(self.answers) < MOST_ANSWERS:
                (question,) = self._timed(self.questions, self.client.ask, 1, 1)
                if self.pause and self.stop.wait(self.pause):
                    break
                same = sum(row["row"] for row in question["rows"]) % 2 == 0
                body = [{"question": question["id"], "value": "must" if same else "cannot"}]
                self.events += self._timed(self.answers, self.client.answer, 1, body)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
        finally:
            self.client.close()

    def _timed(self, times: list[float], call: Any, *arguments: Any) -> Any:
        begun = time.perf_counter()
        found = call(*arguments)
        times.append(time.perf_counter() - begun)
        return found


class Fits:
    """Fit after fit, as long as people answer."""

    def __init__(self, client: Client, model: str, stop: threading.Event) -> None:
        self.client, self.model, self.stop = client, model, stop
        self.n_begun = 0
        self.errors: list[str] = []

    def run(self) -> None:
        """Begin a fit whenever none is queued or running."""
        try:
            while not self.stop.is_set():
                jobs = self.client.get("projects/1/jobs")
                if not any(job["state"] in ("queued", "running") for job in jobs):
                    body = {"kind": "fit", "model": self.model, "n_clusters": 10}
                    self.client.post("projects/1/jobs", body)
                    self.n_begun += 1
                self.stop.wait(0.5)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
        finally:
            self.client.close()


def show(what: str, seconds: list[float]) -> None:
    """One line: how many, the median, p95 and the longest, in milliseconds."""
    if not seconds:
        print(f"{what}: none")
        return
    middle, high = 1000 * np.quantile(seconds, [0.5, 0.95])
    most = 1000 * max(seconds)
    print(
        f"{what}: {len(seconds):,}, median {middle:.0f} ms, p95 {high:.0f} ms, most {most:.0f} ms"
    )


def kept(folder: Path) -> set[int]:
    """The events in the log; prints how many questions were chosen, not drawn for want of them."""
    store = Store(folder / "workbench.db")
    events = {event.id for event in store.events(1)}
    asked = store.questions(1, state=None)
    chosen = sum("slot" in question["body"] for question in asked)
    print(f"questions of the asker: {chosen:,} of {len(asked):,}")
    store.close()
    return events


if __name__ == "__main__":
    sys.exit(main())
