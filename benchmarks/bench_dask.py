"""Row models on Dask: threads beside the plain array, worker processes beside threads.

    python -m benchmarks dask --sizes 1000000       CPU time on Dask's threads, as a ratio
    python -m benchmarks.bench_dask                 two worker processes, and what a block costs

The second one reads the clock, since the CPU time of other processes is not ours to see: run it on
a calm machine. An iteration is the difference between a long and a short fit, and every iteration
looks at all rows: the data have no clusters, so that bounds spare few of them.

Processes should take at most 1.2 times as long as threads, plus transfer. Transfer is measured on
the same workers: a pass over the same chunks, with parameters and sums of the same sizes, and a
function that does no work.
"""

from __future__ import annotations

import pickle
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Case, Target

K, D, WIDE = 10, 16, 100
MILLION = 1_000_000
BLOCK = 16_384
# 65 and 105 MB, as the page on large data advises: two and eight chunks of a million rows.
CHUNKS = {D: 31 * BLOCK, WIDE: 8 * BLOCK}
FEW, MANY = 2, 12
TURNS = 7
TARGET = 1.2  # of two worker processes over two threads, less transfer


class Rows(NamedTuple):
    """The same rows as an array and on Dask, and where to start."""

    X: np.ndarray
    chunked: Any
    init: np.ndarray


def noise(n: int, n_features: int = D) -> Rows:
    import dask.array as da

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    return Rows(X, da.from_array(X, chunks=(CHUNKS[n_features], n_features)), X[:K].copy())


def kmeans(on_dask: bool) -> Callable[..., Any]:
    def run(data: Rows, seed: int, max_iter: int = MANY) -> Any:
        return _kmeans(data.chunked if on_dask else data.X, data.init, max_iter)

    return run


def _kmeans(X: Any, init: np.ndarray, max_iter: int) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from sidelight import PartitionLevelKMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PartitionLevelKMeans(K, init=init, max_iter=max_iter).fit(X)


TARGETS = (Target("ratio", 1.3, MILLION), Target("ratio", 1.3, MILLION, "all"))
CASES = [
    Case(
        "one iteration of k-means, Dask's threads over the plain array",
        data=noise,
        run=kmeans(on_dask=True),
        baseline=kmeans(on_dask=False),
        sizes=(100_000, MILLION),
        iterations=(FEW, MANY),
        memory=False,
        time_limit=300.0,
        targets=TARGETS,
    ),
    Case(
        f"a fit of {MANY} iterations, Dask's threads over the plain array",
        data=noise,
        run=kmeans(on_dask=True),
        baseline=kmeans(on_dask=False),
        sizes=(100_000, MILLION),
        memory=False,
        time_limit=300.0,
        targets=TARGETS,
    ),
]


# By the clock


class Turn(NamedTuple):
    """Seconds of an iteration and of a whole fit."""

    iteration: float
    fit: float


def one_turn(X: Any, init: np.ndarray, clock: Callable[[], float] = time.perf_counter) -> Turn:
    """A short fit and a long one; an iteration is what they differ by."""
    began = clock()
    _kmeans(X, init, FEW)
    between = clock()
    _kmeans(X, init, MANY)
    ended = clock()
    return Turn((ended - between - (between - began)) / (MANY - FEW), ended - between)


def middle(turns: list[Turn]) -> Turn:
    """The medians."""
    return Turn(*map(statistics.median, zip(*turns, strict=True)))


def compare(data: Rows) -> None:
    """A fit on the plain array, on Dask's threads, and on two worker processes.

    They take turns, so that what slows the machine down for a while slows all of them.
    """
    import dask
    from distributed import Client, LocalCluster

    from sidelight.blocks import threads

    print("{:,} rows, {} columns, K = {}".format(*data.X.shape, K))
    _kmeans(data.X[:BLOCK], data.init, FEW)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    plain, threaded, found, transfers = [], [], [], []
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        began = time.perf_counter()
        there = sent(client, data)
        sending = time.perf_counter() - began
        n_passes = passes_of_a_fit(there, data.init)  # kernels are loaded now, on both
        for _ in range(TURNS):
            with threads(2):
                plain.append(one_turn(data.X, data.init))
            with dask.config.set(scheduler="threads", num_workers=2):
                threaded.append(one_turn(data.chunked, data.init))
            found.append(one_turn(there, data.init))
            transfers.append(transfer_of_a_pass(there, data.init))
    transfer = statistics.median(transfers)
    less = [Turn(t.iteration - transfer, t.fit - n_passes * transfer) for t in found]
    for name, turns in [
        ("plain array, two threads", plain),
        ("Dask, two threads", threaded),
        ("two worker processes", found),
    ]:
        taken = middle(turns)
        print(f"{name + ':':27} {taken.iteration:.4f} s an iteration, {taken.fit:.2f} s a fit")
    print(f"  transfer:                 {transfer:.4f} s a pass, of which a fit has {n_passes}")
    print(f"  to send the data, once:   {sending:.2f} s")
    print(f"Dask's threads over the plain array:   {ratios(threaded, plain)}")
    print(f"processes over Dask's threads:         {ratios(found, threaded)}")
    print(f"… less transfer (target {TARGET}):          {ratios(less, threaded)}")


def ratios(turns: list[Turn], base: list[Turn]) -> str:
    """Medians over the turns, and their range."""
    said = []
    for number, name in enumerate(Turn._fields):
        each = [turn[number] / other[number] for turn, other in zip(turns, base, strict=True)]
        middle, least, most = statistics.median(each), min(each), max(each)
        said.append(f"{name} {middle:.2f} ({least:.2f} to {most:.2f})")
    return ", ".join(said)


def sent(client: Any, data: Rows) -> Any:
    """The rows as a Dask array whose chunks lie with the workers."""
    import dask.array as da
    from distributed import wait

    n_rows = CHUNKS[data.X.shape[1]]
    chunks = [data.X[start : start + n_rows] for start in range(0, len(data.X), n_rows)]
    futures = client.scatter(chunks, hash=False)
    there = [
        da.from_delayed(future, chunk.shape, chunk.dtype)
        for future, chunk in zip(futures, chunks, strict=True)
    ]
    there = client.persist(da.concatenate(there))
    wait(there)
    return there


def transfer_of_a_pass(X: Any, centers: np.ndarray) -> float:
    """Seconds of a pass that does nothing; without columns, which stay where they are."""
    from sidelight.blocks import as_blocks
    from sidelight.models._centers import Centers

    rows = as_blocks(X)
    parameters = (Centers.of(centers), np.zeros((0, K)), np.zeros((2, K)), False)
    times = []
    for _ in range(13):
        time.sleep(0.03)  # in a row they would wait for each other: a client sends every 10 ms
        began = time.perf_counter()
        rows.sum(_no_work, parameters)
        times.append(time.perf_counter() - began)
    return statistics.median(times[3:])


def _no_work(block: Any, parameters: Any) -> tuple[Any, ...]:
    n_features, n_clusters = parameters[0].transposed.shape
    sums, counts = np.zeros((n_clusters, n_features)), np.zeros(n_clusters)
    return 0.0, 0, sums, counts, np.zeros((0, n_clusters))


def passes_of_a_fit(X: Any, init: np.ndarray) -> int:
    """How often a fit goes over the data."""
    from sidelight._work import counted

    with counted() as work:
        _kmeans(X, init, MANY)
    return work["passes over the data"]


def cost_of_a_block() -> None:
    """Bytes and seconds of one block of 100 columns, for projections; CPU time of one core."""
    import dask

    n_blocks = 16
    data = noise(n_blocks * BLOCK, WIDE)
    with dask.config.set(scheduler="synchronous"):
        turns = [one_turn(data.chunked, data.init, time.process_time) for _ in range(3)]
    iteration = middle(turns).iteration
    sums = (np.zeros((K, WIDE)), np.zeros(K), 0.0, 0)
    print(f"a block of {BLOCK:,} x {WIDE}: {BLOCK * WIDE * 8:,} bytes of data, 12 a row of state,")
    print(f"  {iteration / n_blocks:.4f} CPU seconds an iteration of K = {K},")
    print(f"  {len(pickle.dumps(sums)):,} bytes of sums a chunk and pass, whatever its size")


def cost_of_a_task() -> None:
    """What one more chunk costs the process of client and scheduler, in CPU seconds a pass."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from sidelight.blocks import as_blocks

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        passes = {}
        for n_chunks in (16, 144):
            rows = as_blocks(da.ones((n_chunks, 2), chunks=(1, 2)))
            column, times = rows.column(0.0), []
            for _ in range(5):
                began = time.process_time()
                rows.sum(_nothing, None, column)
                times.append(time.process_time() - began)
            passes[n_chunks] = min(times)
    more = (passes[144] - passes[16]) / 128
    print(f"client and scheduler: {passes[16]:.4f} CPU seconds a pass over 16 chunks,")
    print(f"  {more:.5f} for one more chunk")


def _nothing(block: Any, _: None, column: np.ndarray) -> tuple[int]:
    return (0,)


def main() -> None:
    """Print all of it."""
    for n_features in CHUNKS:
        compare(noise(MILLION, n_features))
    cost_of_a_block()
    cost_of_a_task()


if __name__ == "__main__":
    main()
