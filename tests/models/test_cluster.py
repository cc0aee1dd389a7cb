"""Fits on a real cluster of worker processes: the same answer, also when workers die."""

import gc
import os
import pickle
import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client
from distributed.core import Status
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from experiments.runner import run_cells
from on_cluster import N, cluster_of, rows_of_blocks, some_rows
from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    ConstraintPropagation,
    MarkovAggregation,
    PartitionLevelKMeans,
    SideInformation,
    StructuralEntropyClustering,
)
from sidelight.blocks import (
    BLOCK_ROWS,
    active_client,
    as_blocks,
    n_threads,
)
from sidelight.exceptions import WorkersLostError
from sidelight.models import _condensing, _fitting
from sidelight.models._fitting import Deadline, elsewhere
from sidelight.models._gaussian import search as annotated_search

MODELS = {
    "kmeans": PartitionLevelKMeans(3, n_init=1, random_state=0),
    "bayesian": BayesianMixture(4, n_init=1, max_iter=4, tol=1.0, random_state=0),
    "annotated": AnnotatedGaussianMixture(3, n_init=1, n_generations=1, random_state=0),
}

# One model shows what a cluster does; that all do it takes longer.
EACH = pytest.mark.parametrize(
    "name",
    ["kmeans", *(pytest.param(name, marks=pytest.mark.slow) for name in list(MODELS)[1:])],
)


@pytest.fixture(scope="module")
def side():
    y = np.full(N, -1)
    some = np.random.default_rng(1).choice(N, size=60, replace=False)
    y[some] = some * 7919 % 3
    pairs = some[:40].reshape(-1, 2)
    apart = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]]
    return SideInformation.from_labels(y) + SideInformation.from_pairs(cannot=apart, n_samples=N)


@pytest.fixture(scope="module")
def expected(side):
    X = rows_of_blocks(N, BLOCK_ROWS).compute(scheduler="synchronous")
    return cache(lambda name: refit(MODELS[name], X, side))


@pytest.fixture(scope="module")
def client():
    with cluster_of() as cluster, Client(cluster) as client:
        yield client


@contextmanager
def nobody_connected():
    """Restarts as if there were no cluster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fitting, "active_client", lambda: None)
        yield


def assert_same(found, expected):
    assert found.objective_ == expected.objective_
    assert_array_equal(found.history_, expected.history_)
    assert_array_equal(found.labels_.compute(), expected.labels_)
    assert_array_equal(found.result_.violated, expected.result_.violated)


def refit(model, X, side):
    return clone(model).fit(X, side=side)


class AtIteration:
    """A callback that does something once, after some iterations (or generations)."""

    def __init__(self, number, action):
        self.left, self.action = number, action

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.left -= 1
        if self.left == 0:
            self.action()
        return False

    def teardown(self, estimator, context):
        pass


@EACH
def test_a_cluster_gives_the_bits_of_memory(client, side, expected, name):
    assert active_client() is client
    found = refit(MODELS[name], rows_of_blocks(N, 2 * BLOCK_ROWS), side)
    assert_same(found, expected(name))


def test_other_chunks_on_a_cluster_give_the_same_labels(client, side, expected):
    X = rows_of_blocks(N, BLOCK_ROWS).rechunk((30_007, 4))
    found = refit(MODELS["kmeans"], X, side)
    assert_allclose(found.objective_, expected("kmeans").objective_, rtol=1e-9)
    assert_array_equal(found.labels_.compute(), expected("kmeans").labels_)


def test_what_a_fit_leaves_on_the_cluster_goes_with_the_model(client):
    n_chunks = 4
    X = rows_of_blocks(n_chunks * BLOCK_ROWS, BLOCK_ROWS)

    def fit(max_iter):
        with pytest.warns(ConvergenceWarning):
            return PartitionLevelKMeans(9, init=some_rows(0, 9), max_iter=max_iter).fit(X)

    def settled(n_futures):
        """How many tasks the scheduler knows of, when all messages have come."""
        deadline = time.monotonic() + 10.0
        while len(client.futures) > n_futures and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(client.futures) == n_futures
        time.sleep(0.2)
        return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    assert settled(0) == 0
    known = []
    for max_iter in (2, 6):
        model = fit(max_iter)
        assert model.n_iter_ == max_iter
        known.append(settled(n_chunks))  # the labels, whatever the number of iterations
        del model
        gc.collect()
        assert settled(0) == 0
    # What it takes to compute lost labels again: of each pass a task per chunk.
    assert known[1] - known[0] == 4 * n_chunks


@pytest.mark.parametrize("init", ["seeded", "k-means++"])
def test_restarts_run_on_the_workers_and_give_the_same(client, init):
    X = some_rows(0, 3000)
    y = np.where(np.arange(3000) < 30, np.arange(3000) * 7919 % 3, -1)
    model = PartitionLevelKMeans(4, init=init, n_init=4, random_state=0)
    there = clone(model).fit(X, y)
    with nobody_connected():
        here = clone(model).fit(X, y)
    assert_array_equal(there.labels_, here.labels_)
    assert there.objective_ == here.objective_


def test_restarts_of_mixtures_run_on_the_workers_too(client):
    X = some_rows(0, 3000)
    model = BayesianMixture(4, n_init=2, max_iter=5, tol=1.0, random_state=0)
    there = clone(model).fit(X)
    with nobody_connected():
        here = clone(model).fit(X)
    assert_array_equal(there.means_, here.means_)


def annotated_rows():
    X = some_rows(0, 1000)
    y = np.where(np.arange(1000) < 30, np.arange(1000) * 7919 % 3, -1)
    return X, y


def test_members_of_a_population_are_made_on_the_workers_and_give_the_same(client, monkeypatch):
    X, y = annotated_rows()
    model = AnnotatedGaussianMixture(4, n_init=3, n_generations=2, random_state=0)
    with nobody_connected():
        here = clone(model).fit(X, y)
        in_threads = clone(model).set_params(n_jobs=2).fit(X, y)

    def not_here(*args):
        raise AssertionError("a local search ran on the client")

    sent = []
    scatter = client.scatter
    monkeypatch.setattr(annotated_search, "improve", not_here)
    monkeypatch.setattr(client, "scatter", lambda *a, **k: sent.append(a) or scatter(*a, **k))
    there = clone(model).fit(X, y)
    assert len(sent) == 2  # the data and the problem, once for three rounds of jobs
    for other in (there, in_threads):
        assert other.objective_ == here.objective_
        assert_array_equal(other.history_, here.history_)
        assert_array_equal(other.labels_, here.labels_)
        assert_array_equal(other.means_, here.means_)
        assert_array_equal(other.population_scores_, here.population_scores_)


def test_the_time_of_a_search_ends_on_the_workers_too(client):
    X, y = annotated_rows()
    model = AnnotatedGaussianMixture(4, n_init=3, max_time=1e-6, random_state=0)
    assert len(model.fit(X, y).population_scores_) == 1  # one start is always made


def test_a_deadline_travels_as_the_time_that_is_left(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(_fitting.time, "monotonic", lambda: clock[0])
    on_its_way = pickle.dumps(Deadline(1007.0))
    clock[0] = 5.0  # another machine
    assert pickle.loads(on_its_way) == 12.0
    assert pickle.loads(pickle.dumps(Deadline(np.inf))) == np.inf


class Nothing(NamedTuple):
    rows: Any
    more: int


def test_work_goes_elsewhere_only_with_a_cluster_and_data_in_memory(client):
    def who(problem, factor, job):
        assert active_client() is None  # a task does not wait for tasks of its own
        assert n_threads() == 1
        return os.getpid(), (job + problem.more) * problem.rows.n_samples * factor

    def place(X, n_jobs):
        return elsewhere(Nothing(as_blocks(X), 4), 2, n_jobs)

    found = place(np.ones((5, 2)), 3).run(who, [1, 2, 3])
    assert [value for _, value in found] == [50, 60, 70]
    assert os.getpid() not in {pid for pid, _ in found}
    assert place(np.ones((5, 2)), 1) is None
    assert place(da.ones((5, 2)), 2) is None
    with nobody_connected():
        assert place(np.ones((5, 2)), 2) is None


def test_experiments_run_on_the_workers(client, tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "run.py").write_text(
        "import os\n"
        "from experiments.runner import Experiment\n"
        "def run(cell):\n"
        "    return {'pid': os.getpid(), 'twice': 2 * cell['n']}\n"
        "EXPERIMENT = Experiment('toy', run, {})\n"
    )
    cells = [{"n": n} for n in range(4)]
    found = run_cells("toy", cells, folder=tmp_path, cache_folder=tmp_path / "cache")
    assert [outcome.values["twice"] for outcome in found] == [0, 2, 4, 6]
    assert os.getpid() not in {outcome.values["pid"] for outcome in found}


def test_an_error_of_the_readers_own_is_not_taken_for_lost_workers(client):
    def read(block_info=None):
        raise TimeoutError("the file server does not answer")

    X = da.map_blocks(read, chunks=((10, 10), (2,)), dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(TimeoutError, match="file server"):
        PartitionLevelKMeans(2).fit(X)


def kill_one(client):
    client.wait_for_workers(2)  # one that was killed before may still be on its way back
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@EACH
def test_a_worker_that_dies_in_the_middle_changes_nothing(client, side, expected, name):
    model = clone(MODELS[name])
    killer = AtIteration(1 if name == "annotated" else 2, lambda: kill_one(client))
    model.set_callbacks(killer)
    found = model.fit(rows_of_blocks(N, BLOCK_ROWS), side=side)
    assert killer.left <= 0
    assert_same(found, expected(name))
    kill_one(client)  # labels that are lost with a worker are computed again
    assert_array_equal(found.labels_.compute(), expected(name).labels_)


@pytest.mark.parametrize(
    "model",
    [
        StructuralEntropyClustering(random_state=0),
        pytest.param(MarkovAggregation(3, random_state=0), marks=pytest.mark.slow),
        pytest.param(ConstraintPropagation(3, random_state=0), marks=pytest.mark.slow),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_worker_that_dies_while_rows_are_condensed_changes_nothing(
    client, side, model, monkeypatch
):
    # Rows are counted by a share, as very many are.
    monkeypatch.setattr("sidelight.graph._representatives._COUNTED", N // 3)
    with dask.config.set({"sidelight.representatives": 500}):
        with dask.config.set(scheduler="synchronous"):
            expected = refit(model, rows_of_blocks(N, BLOCK_ROWS), side)
            labels = expected.labels_.compute()
        condense = _condensing.representatives
        monkeypatch.setattr(
            _condensing,
            "representatives",
            lambda *rows, **more: kill_one(client) or condense(*rows, **more),
        )
        found = refit(model, rows_of_blocks(N, BLOCK_ROWS), side)
    assert found.objective_ == expected.objective_
    assert_array_equal(found.result_.violated, expected.result_.violated)
    kill_one(client)  # rows and representatives are there again when labels are asked for
    assert_array_equal(found.labels_.compute(), labels)


@pytest.mark.slow
def test_data_larger_than_all_memory_are_read_again_in_every_pass():
    limit, n_features = 600_000_000, 64  # a worker needs 270 MB for itself
    n_rows = 150 * BLOCK_ROWS

    def read(block_info=None):
        first, last = block_info[None]["array-location"][0]
        return np.repeat(np.arange(first, last) % 2.0, n_features).reshape(-1, n_features)

    chunks = ((2 * BLOCK_ROWS,) * 75, (n_features,))
    X = da.map_blocks(read, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    with cluster_of(memory_limit=limit) as cluster, Client(cluster):
        assert X.nbytes > 2 * limit
        init = np.stack([np.full(n_features, 0.1), np.full(n_features, 0.7)])
        model = PartitionLevelKMeans(2, init=init, max_iter=3).fit(X)
        assert_array_equal(model.cluster_centers_, np.repeat([[0.0], [1.0]], n_features, axis=1))
        assert_array_equal(model.result_.sizes, [n_rows / 2, n_rows / 2])
        assert model.labels_[:3].compute().tolist() == [0, 1, 0]


def lost_within(seconds, said):
    """No more than so many seconds of patience, and an error that says this."""
    stack = ExitStack()
    stack.enter_context(dask.config.set({"sidelight.no-workers-timeout": seconds}))
    stack.enter_context(pytest.raises(WorkersLostError, match=said))
    return stack


def set_status(client, status):
    def change(dask_worker):
        dask_worker.status = status

    client.run(change)


def test_workers_that_are_paused_or_gone_are_an_error_and_no_hang(side):
    # Without a limit on memory nobody takes the pause back.
    with cluster_of(memory_limit=0) as cluster, Client(cluster) as client:
        began = time.monotonic()
        X, y = annotated_rows()
        starts = PartitionLevelKMeans(3, n_init=2, random_state=0)
        chunked = rows_of_blocks(N, BLOCK_ROWS)
        model = clone(MODELS["kmeans"]).set_callbacks(
            AtIteration(2, lambda: set_status(client, Status.paused))
        )
        with lost_within(2.0, r"2 workers, and all of them have been paused for 2 sec.*rechunk"):
            model.fit(chunked, side=side)
        with lost_within(1.0, r"2 workers, and all of them have been paused for 1 sec"):
            starts.fit(X, y)
        cluster.scale(0)
        while client.nthreads():  # with a single thread left, the starts would run here
            assert time.monotonic() - began < 60
            time.sleep(0.05)
        with lost_within(1.0, r"no workers for 1 seconds.*cluster.scale"):
            starts.fit(X, y)
        with lost_within(1.0, r"no workers for 1 seconds.*cluster.scale"):
            clone(MODELS["kmeans"]).fit(chunked, side=side)
        assert time.monotonic() - began < 60


@pytest.mark.slow
def test_workers_whose_memory_is_full_are_an_error_and_no_hang(side):
    # A worker alone takes more than this; it is paused, and would be ended but for the setting.
    limits = {"distributed.worker.memory.terminate": False, "sidelight.no-workers-timeout": 5.0}
    with (
        dask.config.set(limits),
        cluster_of(memory_limit=150_000_000) as cluster,
        Client(cluster),
        pytest.raises(WorkersLostError, match="have been paused for 5 seconds"),
    ):
        clone(MODELS["kmeans"]).fit(rows_of_blocks(N, BLOCK_ROWS), side=side)


@pytest.mark.slow
def test_a_cluster_that_loses_all_workers_in_the_middle_is_an_error_and_no_hang(side):
    with cluster_of() as cluster, Client(cluster):
        model = clone(MODELS["kmeans"]).set_callbacks(AtIteration(2, lambda: cluster.scale(0)))
        with lost_within(2.0, r"no workers for 2 seconds.*cluster.scale"):
            model.fit(rows_of_blocks(N, BLOCK_ROWS), side=side)


@pytest.mark.slow
def test_jobs_whose_workers_go_or_pause_are_an_error_and_no_hang():
    def slowly(problem, common, job):
        time.sleep(5.0)

    with cluster_of(memory_limit=0) as cluster, Client(cluster) as client:
        for said, lose in [
            (
                "2 workers, and all of them have been paused",
                lambda: set_status(client, Status.paused),
            ),
            ("gone, with data", lambda: cluster.scale(0)),
        ]:
            place = elsewhere(Nothing(as_blocks(np.ones((5, 2))), 0), None, 4)
            timer = threading.Timer(1.0, lose)
            timer.start()
            with lost_within(2.0, said):
                place.run(slowly, range(4))
            timer.join()
            set_status(client, Status.running)


@pytest.mark.slow
def test_a_task_that_ends_every_worker_is_an_error_that_says_what_to_do():
    def end(block_info=None):
        os._exit(1)

    X = da.map_blocks(end, chunks=((10, 10), (2,)), dtype=float, meta=np.empty((0, 0)))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster_of() as cluster,
        Client(cluster),
        pytest.raises(WorkersLostError, match=r"ended several workers.*smaller chunks"),
    ):
        PartitionLevelKMeans(2).fit(X)
