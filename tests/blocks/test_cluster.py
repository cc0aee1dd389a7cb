"""Sums over rows on the workers of a cluster: each counted once, whatever gets lost on its way."""

import time
from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest
from distributed import Client
from distributed.diagnostics.plugin import SchedulerPlugin
from numpy.testing import assert_array_equal

from on_cluster import N, cluster_of, rows_of_blocks, some_rows
from sidelight.blocks import BLOCK_ROWS, RowEntries, _cluster, as_blocks


@pytest.fixture(scope="module")
def client():
    with cluster_of() as cluster, Client(cluster) as client:
        yield client


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
