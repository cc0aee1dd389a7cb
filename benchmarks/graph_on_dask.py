"""Graph models on Dask arrays: rows that nobody holds, condensed on two worker processes.

    python -m benchmarks.graph_on_dask --rows 2000000
    python -m benchmarks.graph_on_dask --rows 1000000 --in-memory      beside the fit to all rows

Ten blobs in 16 columns of single precision, made where they are needed, and 1,000 labels. Printed
are the CPU seconds of the client and of the workers for each step, those of one iteration of
k-means (K = 10) on the same rows as a unit, the largest memory of each process, and the adjusted
Rand index of rows without statements, on the first two million rows.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import numpy as np

D, K, BLOCK = 16, 10, 16_384
CHUNK = 16 * BLOCK
MODELS = ("StructuralEntropyClustering", "MarkovAggregation", "ConstraintPropagation")
SCORED = 2_000_000


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


def cpu_of_process() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_of_process() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Meter:
    """CPU seconds of client and workers between two looks."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.look()

    def look(self) -> tuple[float, float, float]:
        """Seconds since the last look: of the client, of all workers, by the clock."""
        now = (cpu_of_process(), sum(self._client.run(cpu_of_process).values()), time.monotonic())
        before, self._last = getattr(self, "_last", now), now
        return tuple(b - a for a, b in zip(before, now, strict=True))  # type: ignore[return-value]

    def tell(self, what: str) -> float:
        here, there, clock = self.look()
        print(
            f"{what:42} client {here:7.1f}   workers {there:7.1f}   clock {clock:7.1f}", flush=True
        )
        return here + there


def score(labels: np.ndarray, side: Any) -> float:
    from sklearn.metrics import adjusted_rand_score

    y = np.concatenate([truth(a, b) for a, b in bounds(side.n_samples) if b <= len(labels)])
    free = np.ones(len(y), dtype=bool)
    free[side.annotated_rows[side.annotated_rows < len(y)]] = False
    return float(adjusted_rand_score(y[free], labels[: len(y)][free]))


def model(name: str, seed: int = 0) -> Any:
    import sidelight

    return getattr(sidelight, name)(K, random_state=seed)


def main() -> None:
    """Print all of it."""
    parse = argparse.ArgumentParser()
    parse.add_argument("--rows", type=int, default=2_000_000)
    parse.add_argument("--separation", type=float, default=8.0)
    parse.add_argument("--labels", type=int, default=1_000)
    parse.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    parse.add_argument("--representatives", type=int, default=50_000)
    parse.add_argument("--in-memory", action="store_true", help="the fit to all rows instead")
    asked = parse.parse_args()
    n, side = asked.rows, statements(asked.rows, asked.labels)
    print(f"{n:,} rows x {D}, separation {asked.separation:g}, {asked.labels:,} labels")
    if asked.in_memory:
        X = np.concatenate([rows(*part, asked.separation) for part in bounds(n)])
        for name in asked.models:
            began = cpu_of_process()
            found = model(name).fit(X, side=side).labels_
            used = cpu_of_process() - began
            print(f"{name} in memory: {used:.1f} CPU s, ARI {score(found, side):.4f}", flush=True)
        return
    import dask

    with dask.config.set({"sidelight.representatives": asked.representatives}):
        on_workers(asked, side)


def on_workers(asked: argparse.Namespace, side: Any) -> None:
    from distributed import Client, LocalCluster
    from sklearn.exceptions import ConvergenceWarning

    from sidelight import PartitionLevelKMeans

    X = on_dask(asked.rows, asked.separation)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        X = client.persist(X)
        small = on_dask(2 * BLOCK, asked.separation)
        for name in asked.models:  # kernels are loaded now
            model(name).fit(small).predict(small).compute()
        PartitionLevelKMeans(K, n_init=1, random_state=0).fit(small)
        meter = Meter(client)
        init = rows(0, min(CHUNK, asked.rows), asked.separation)[:K]
        used = []
        for n_iter in (1, 5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                PartitionLevelKMeans(K, init=init, max_iter=n_iter).fit(X)
            used.append(meter.tell(f"k-means, {n_iter} iterations"))
        print(f"one iteration of k-means: {(used[1] - used[0]) / 4:.2f} CPU s", flush=True)
        for name in asked.models:
            found = model(name).fit(X, side=side)
            meter.tell(f"{name}: fit")
            some = found.labels_[: sum(b - a for a, b in bounds(asked.rows) if b <= SCORED)]
            labels = some.compute()
            meter.tell(f"{name}: labels of {len(labels):,} rows")
            print(f"{name}: ARI {score(labels, side):.4f}", flush=True)
        peaks = [peak_of_process(), *client.run(peak_of_process).values()]
        print("largest memory, client and workers: " + ", ".join(f"{p:.1f} GB" for p in peaks))


if __name__ == "__main__":
    main()
