"""Graph models on Dask arrays: rows that nobody holds, condensed on two worker processes.

    python -m benchmarks.graph_on_dask --rows 20000000 --row-models PartitionLevelKMeans
    python -m benchmarks.graph_on_dask --rows 1000000 --in-memory      beside the fit to all rows
    python -m benchmarks.graph_on_dask --rows 1000000 --kill           workers die in the middle

Ten blobs in 16 columns of single precision, made where they are needed, and 1,000 labels. Blobs of
separation 8 hardly touch, those of separation 4 overlap. Printed are the CPU seconds of the client
and of the workers for each step and the seconds by the clock; an iteration of k-means (K = 10) on
the same rows and workers as a unit; the most memory that all processes had at once; and the
adjusted Rand index of rows without statements, on the first rows.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

D, K, BLOCK = 16, 10, 16_384
CHUNK = 16 * BLOCK
MODELS = ("StructuralEntropyClustering", "MarkovAggregation", "ConstraintPropagation")
ROW_MODELS = ("PartitionLevelKMeans", "BayesianMixture", "AnnotatedGaussianMixture")
ITERATIONS = (2, 10)


# The data


def centers(separation: float) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(K, D)) * separation / np.sqrt(2 * D)


def truth(start: int, stop: int) -> np.ndarray:
    """The blob of each row."""
    return np.random.default_rng([1, start // CHUNK]).integers(K, size=stop - start)


def rows(start: int, stop: int, separation: float) -> np.ndarray:
    """The rows of one chunk, whoever asks."""
    rng = np.random.default_rng([2, start // CHUNK])
    X = rng.standard_normal((stop - start, D), dtype=np.float32)
    return X + centers(separation).astype(np.float32)[truth(start, stop)]


def bounds(n: int) -> list[tuple[int, int]]:
    return [(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]


def on_dask(n: int, separation: float) -> Any:
    import dask.array as da

    def read(block_info: Any = None) -> np.ndarray:
        return rows(*block_info[None]["array-location"][0], separation)

    chunks = (tuple(stop - start for start, stop in bounds(n)), (D,))
    return da.map_blocks(read, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))


def statements(n: int, n_labels: int) -> Any:
    from sidelight import SideInformation

    some = np.sort(np.random.default_rng(3).choice(n, n_labels, replace=False))
    known = [truth(a, b)[some[(some >= a) & (some < b)] - a] for a, b in bounds(n)]
    return SideInformation.from_columns(
        ["label"] * n_labels, some, class_=np.concatenate(known).tolist(), n_samples=n
    )


def score(labels: np.ndarray, side: Any) -> float:
    from sklearn.metrics import adjusted_rand_score

    y = np.concatenate([truth(a, b) for a, b in bounds(side.n_samples) if b <= len(labels)])
    free = np.ones(len(y), dtype=bool)
    free[side.annotated_rows[side.annotated_rows < len(y)]] = False
    return float(adjusted_rand_score(y[free], labels[: len(y)][free]))


# What is measured


class Used(NamedTuple):
    """CPU seconds of all processes, and seconds by the clock."""

    cpu: float
    clock: float

    def __add__(self, other: Any) -> Used:
        return Used(self.cpu + other.cpu, self.clock + other.clock)

    def over(self, unit: Used) -> str:
        """In passes of k-means."""
        return f"{self.cpu / unit.cpu:.1f} passes of CPU, {self.clock / unit.clock:.1f} by clock"


def cpu_of_process() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Meter:
    """What client and workers use between two looks."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.look()

    def look(self) -> tuple[float, float, float]:
        """Seconds since the last look: of the client, of all workers, by the clock."""
        now = (cpu_of_process(), sum(self._client.run(cpu_of_process).values()), time.monotonic())
        before, self._last = getattr(self, "_last", now), now
        return tuple(b - a for a, b in zip(before, now, strict=True))  # type: ignore[return-value]

    def tell(self, what: str) -> Used:
        """Print it."""
        here, there, clock = self.look()
        print(f"{what:52} client {here:6.1f}  workers {there:6.1f}  clock {clock:6.1f}", flush=True)
        return Used(here + there, clock)


@contextmanager
def watching_memory() -> Iterator[list[float]]:
    """The most GB that this process and its children had at once, so far, as a list of one.

    Pages that processes share count in each of them.
    """
    import psutil

    me, most, done = psutil.Process(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.25):
            total = 0
            for process in [me, *me.children(recursive=True)]:
                with suppress(psutil.Error):  # it has just ended
                    total += process.memory_info().rss
            most[0] = max(most[0], total / 2**30)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


@contextmanager
def before_condensing(call: Any) -> Iterator[None]:
    """Call something when a fit has checked the rows and begins to condense them."""
    from sidelight.models import _condensing

    condense = _condensing.representatives

    def watched(*given: Any, **more: Any) -> Any:
        after = call()
        found = condense(*given, **more)
        if after is not None:
            after(found)
        return found

    _condensing.representatives = watched
    try:
        yield
    finally:
        _condensing.representatives = condense


# The command


def main() -> None:
    """Print all of it."""
    parse = argparse.ArgumentParser()
    parse.add_argument("--rows", type=int, default=2_000_000)
    parse.add_argument("--separation", type=float, default=8.0)
    parse.add_argument("--labels", type=int, default=1_000)
    parse.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    parse.add_argument("--row-models", nargs="*", default=[], choices=ROW_MODELS)
    parse.add_argument("--representatives", type=int, default=50_000)
    parse.add_argument("--memory", default="8GB", help="limit of each of the two workers")
    parse.add_argument("--scored", type=int, default=2_000_000, help="rows that get their labels")
    parse.add_argument("--in-memory", action="store_true", help="the fit to all rows instead")
    parse.add_argument("--kill", action="store_true", help="fit again while workers are killed")
    asked = parse.parse_args()
    side = statements(asked.rows, asked.labels)
    shown = f"separation {asked.separation:g}, {asked.labels:,} labels"
    print(f"{asked.rows:,} rows x {D}, {shown}", flush=True)
    if asked.in_memory:
        in_memory(asked, side)
        return
    import dask

    with (
        dask.config.set({"sidelight.representatives": asked.representatives}),
        watching_memory() as most,
    ):
        on_workers(asked, side)
    print(f"most memory of all processes at once: {most[0]:.1f} GB")


def model(name: str, seed: int = 0) -> Any:
    import sidelight

    size = "n_components" if name == "BayesianMixture" else "n_clusters"
    return getattr(sidelight, name)(random_state=seed, **{size: K})


def scored_rows(asked: argparse.Namespace) -> int:
    """Whole chunks of the rows whose labels are wanted; the first one at least."""
    return sum(b - a for a, b in bounds(asked.rows) if b <= asked.scored) or min(CHUNK, asked.rows)


def in_memory(asked: argparse.Namespace, side: Any) -> None:
    X = np.concatenate([rows(*part, asked.separation) for part in bounds(asked.rows)])
    for name in [*asked.models, *asked.row_models]:
        began = cpu_of_process()
        found = np.asarray(model(name).fit(X, side=side).labels_)
        used = cpu_of_process() - began
        index = score(found[: scored_rows(asked)], side)
        print(f"{name} in memory: {used:.1f} CPU s, ARI {index:.4f}", flush=True)


def on_workers(asked: argparse.Namespace, side: Any) -> None:
    from distributed import Client, LocalCluster, wait

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, memory_limit=asked.memory) as cluster, Client(cluster) as client:
        load_kernels(asked)
        meter = Meter(client)
        X = client.persist(on_dask(asked.rows, asked.separation))
        wait(X)
        meter.tell("rows are made")
        a_pass = pass_of_kmeans(X, meter)
        for name in asked.models:
            graph_model(name, X, side, asked, meter, a_pass)
        for name in asked.row_models:
            row_model(name, X, side, asked, meter, a_pass)
        if asked.kill:
            for name in asked.models:
                killed(name, X, side, asked, client)


def load_kernels(asked: argparse.Namespace) -> None:
    """Compile kernels where that is to be done, and load them, here and on the workers."""
    import dask

    small, few = on_dask(2 * CHUNK, asked.separation), statements(2 * CHUNK, 100)
    iterate(small, 2)
    with dask.config.set({"sidelight.representatives": 21_000}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few labels: classes may be lost
        for name in asked.models:
            found = model(name).fit(small, side=few)
            found.predict(small[::50].rechunk({0: 2_000})).compute()
    for name in asked.row_models:
        model(name).fit(small, side=few)


def iterate(X: Any, n_iter: int) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    from sidelight import PartitionLevelKMeans

    # Centres that are no rows of the data: they move for more than ten iterations.
    init = np.random.default_rng(4).normal(size=(K, D))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PartitionLevelKMeans(K, init=init, max_iter=n_iter).fit(X)


def pass_of_kmeans(X: Any, meter: Meter) -> Used:
    """One iteration: what a long fit and a short one differ by."""
    used = []
    for n_iter in ITERATIONS:
        found = iterate(X, n_iter)
        used.append(meter.tell(f"k-means, {found.n_iter_} iterations"))
        assert found.n_iter_ == n_iter
    few, many = ITERATIONS
    one = Used(*((b - a) / (many - few) for a, b in zip(*used, strict=True)))
    print(f"one iteration of k-means: {one.cpu:.2f} CPU s, {one.clock:.2f} s by the clock")
    return one


def graph_model(
    name: str, X: Any, side: Any, asked: argparse.Namespace, meter: Meter, a_pass: Used
) -> None:
    over_rows = []

    def begin() -> Any:
        over_rows.append(meter.tell(f"{name}: rows are checked"))
        return lambda found: over_rows.append(
            meter.tell(f"{name}: condensed to {len(found.X):,} points")
        )

    with before_condensing(begin):
        found = model(name).fit(X, side=side)
    on_points = meter.tell(f"{name}: the model on them")
    print(f"{name}: over the rows {(over_rows[0] + over_rows[1]).over(a_pass)}")
    print(f"{name}: on the points {on_points.over(a_pass)}", flush=True)
    n = scored_rows(asked)
    labels = found.labels_[:n].compute()
    used = meter.tell(f"{name}: labels of {n:,} rows")
    print(f"{name}: {1e6 * used.cpu / n:.1f} microseconds of CPU a label, ", end="")
    print(f"ARI {score(labels, side):.4f}", flush=True)


def row_model(
    name: str, X: Any, side: Any, asked: argparse.Namespace, meter: Meter, a_pass: Used
) -> None:
    found = model(name).fit(X, side=side)
    used = meter.tell(f"{name}: fit, {found.n_iter_} iterations")
    labels = found.labels_[: scored_rows(asked)].compute()
    print(f"{name}: {used.over(a_pass)}, ARI {score(labels, side):.4f}", flush=True)
    meter.look()


def kill_one(client: Any) -> None:
    client.wait_for_workers(2)  # one that was killed before may still be on its way back
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def killed(name: str, X: Any, side: Any, asked: argparse.Namespace, client: Any) -> None:
    """Fit twice; the second time a worker dies before rows are condensed, one when labels are made.

    It takes its share of the rows with it.
    """
    n = scored_rows(asked)
    expected = model(name).fit(X, side=side)
    labels = expected.labels_[:n].compute()
    with before_condensing(lambda: kill_one(client)):
        found = model(name).fit(X, side=side)
    later = threading.Timer(5.0, kill_one, [client])
    later.start()
    again = found.labels_[:n].compute()
    assert not later.is_alive(), "labels were made before the worker died; give more rows"
    same = np.array_equal(labels, again) and found.objective_ == expected.objective_
    equal = "equal" if same else "NOT EQUAL"
    print(f"{name}, two workers killed: objective and labels of {n:,} rows {equal}", flush=True)


if __name__ == "__main__":
    main()
