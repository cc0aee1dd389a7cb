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
from distributed import Client, LocalCluster
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from experiments.runner import run_cells
from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    PartitionLevelKMeans,
    SideInformation,
)
from sidelight.blocks import (
    BLOCK_ROWS,
    RowEntries,
    _cluster,
    active_client,
    as_blocks,
    n_threads,
)
from sidelight.exceptions import WorkersLostError
from sidelight.models import _fitting
from sidelight.models._fitting import Deadline, elsewhere
from sidelight.models._gaussian import search as annotated_search

N = 4 * BLOCK_ROWS + 77
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


def some_rows(start, stop):
    """Rows as a file would give them: the same ones whoever reads, and whenever."""
    truth = np.arange(start, stop) * 7919 % 3
    noise = np.random.default_rng(start).normal(size=(stop - start, 4))
    return noise + 3.0 * truth[:, None]


def rows_of_blocks(n_rows, rows_per_chunk):
    """A Dask array that is read where it is needed, block by block."""

    def read(block_info=None):
        first, last = block_info[None]["array-location"][0]
        starts = range(first, last, BLOCK_ROWS)
        return np.concatenate([some_rows(a, min(a + BLOCK_ROWS, last)) for a in starts])

    sizes = [min(rows_per_chunk, n_rows - a) for a in range(0, n_rows, rows_per_chunk)]
    return da.map_blocks(read, chunks=(tuple(sizes), (4,)), dtype=float, meta=np.empty((0, 0)))


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


def cluster_of(**options):
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        protocol="tcp",
        silence_logs=50,
        **options,
    )


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


def count_done(dask_scheduler):
    """How many tasks of sidelight the scheduler has seen done."""
    return dask_scheduler.plugins["count-tasks"].n_done


class CountTasks(SchedulerPlugin):
    name = "count-tasks"

    def __init__(self):
        self.n_done = 0

    def transition(self, key, start, finish, *args, **kwargs):
        self.n_done += (start, finish) == ("processing", "memory") and "sidelight" in str(key)


def moments(block, shift, label, entries):
    label += 1
    return (block.X - shift).sum(axis=0), len(entries.row)


NO_ENTRIES = RowEntries(np.empty(0, dtype=np.int64))


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


def large_moments(block, shift, label, entries):
    """More than a task would tell: the sums have to be taken out of what it leaves."""
    total, n_entries = moments(block, shift, label, entries)
    return total, n_entries, np.ones(10_000)


def test_the_scheduler_sees_one_task_per_chunk_and_pass_or_two_where_sums_are_large_or_many(
    client, monkeypatch
):
    n_chunks = 40
    client.register_plugin(CountTasks())
    # Two: beside the work the sums without the columns, and three sums of sixteen chunks.
    two = 2 * n_chunks + 3
    for statistics, most_chunks, n_tasks in [
        (moments, n_chunks, n_chunks),
        (large_moments, n_chunks, two),
        (moments, n_chunks - 1, two),
    ]:
        monkeypatch.setattr("sidelight.blocks._dask._TELLING", most_chunks)
        rows = as_blocks(da.ones((n_chunks * 100, 3), chunks=(100, 3)))
        label, entries = rows.column(0, np.int32), RowEntries(np.array([7, 3999]))
        rows.sum(statistics, 0.5, label, entries)
        before = client.run_on_scheduler(count_done)
        total, n_entries, *_ = rows.sum(statistics, 0.25, label, entries)
        assert client.run_on_scheduler(count_done) - before <= n_tasks + 1  # and the parameters
        assert_array_equal(total, 0.75 * n_chunks * 100)
        assert n_entries == 2
        assert label[np.array([0, 3999])].tolist() == [2, 2]


@contextmanager
def mail(put):
    """With another way of what tasks tell to the client; afterwards as usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cluster._Mailbox, "_put", put)
        _cluster._mailboxes.clear()
        yield
    _cluster._mailboxes.clear()


def test_sums_that_are_told_twice_late_or_never_are_counted_once(client):
    put, first = _cluster._Mailbox._put, []

    def twice_and_one_of_an_earlier_pass(self, event):
        first.append(event)
        for one in (event, first[0], event):
            put(self, one)

    def all_but_one(self, event):
        if event[1][1] != 1:
            put(self, event)

    for lost_or_not in (put, twice_and_one_of_an_earlier_pass, all_but_one, lambda *_: None):
        with mail(lost_or_not):
            rows = as_blocks(rows_of_blocks(N, BLOCK_ROWS))
            label = rows.column(0, np.int32)
            found = [rows.sum(moments, 0.25, label, NO_ENTRIES)[0] for _ in range(2)]
        assert label[np.array([0, N - 1])].tolist() == [2, 2]
        expected = as_blocks(rows_of_blocks(N, N).compute()).sum(
            moments, 0.25, np.zeros(N, dtype=np.int32), NO_ENTRIES
        )
        assert_array_equal(found, [expected[0]] * 2)


def test_clients_of_one_cluster_get_their_own_sums(client):
    with Client(client.scheduler.address, set_as_default=False) as other:
        shifts = {}
        for who, shift in [(client, 0.25), (other, 0.75)]:
            with who.as_current():
                rows = as_blocks(da.ones((20, 3), chunks=(5, 3)))
            shifts[shift] = rows, rows.column(0, np.int32)
        for _ in range(3):
            for shift, (rows, label) in shifts.items():
                total, _ = rows.sum(moments, shift, label, NO_ENTRIES)
                assert_array_equal(total, 20 * (1.0 - shift))


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


def test_replaced_columns_are_given_up_one_pass_later(client):
    n_chunks = 3
    rows = as_blocks(da.ones((n_chunks, 2), chunks=(1, 2)))
    column = rows.column(0, np.int32)
    before = len(client.futures)
    for _ in range(5):
        rows.sum(moments, 0.5, column, NO_ENTRIES)
    deadline = time.monotonic() + 10.0
    # What two passes have left, and the statements, which were sent once.
    while len(client.futures) > before + 3 * n_chunks and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(client.futures) <= before + 3 * n_chunks
    assert column[np.arange(n_chunks)].tolist() == [5] * n_chunks


def test_parameters_travel_with_the_tasks_or_alone_and_the_sums_are_the_same(client):
    n_chunks = 20
    rows = as_blocks(da.ones((n_chunks, 3), chunks=(1, 3)))
    with pytest.MonkeyPatch.context() as patch:
        small = rows.sum(moments, np.full(3, 0.25), rows.column(0, np.int32), NO_ENTRIES)
        patch.setattr("sidelight.blocks._dask._SMALL", 0)
        large = rows.sum(moments, np.full(3, 0.25), rows.column(0, np.int32), NO_ENTRIES)
    assert_array_equal(small[0], 0.75 * n_chunks)
    assert_array_equal(large[0], small[0])


def alignment(block, _):
    return (int(block.X.flags.aligned and block.X.base is not None),)  # a view of the chunk


def test_chunks_that_were_sent_are_aligned_once(client):
    X = da.from_array(some_rows(0, 3 * BLOCK_ROWS), chunks=(BLOCK_ROWS, 4)).persist()
    assert as_blocks(X).sum(alignment, None) == (3,)


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
            ("gone with data of this fit", lambda: cluster.scale(0)),
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
