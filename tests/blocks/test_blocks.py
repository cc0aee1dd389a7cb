"""Blocks: the same sum to the bit, whatever the threads, the order in memory or the storage."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from sidelight.blocks import BLOCK_ROWS, CSRRows, as_blocks, n_threads, one_blas_thread, threads
from sidelight.blocks._blocks import pairwise_sum
from sidelight.blocks._threads import in_order, in_parts


class Moments(NamedTuple):
    count: int
    total: np.ndarray


def moments(block, shift):
    X = block.X
    if isinstance(X, CSRRows):
        X = sparse.csr_array(tuple(X), shape=(block.stop - block.start, 3)).toarray()
    return Moments(len(X), (X - shift).sum(axis=0))


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3 * BLOCK_ROWS + 17, 3)) * 10.0 ** rng.integers(-8, 8, size=3)
    X[rng.random(X.shape) < 0.3] = 0
    return X


def test_every_row_is_in_one_block_of_fixed_size(X):
    rows = as_blocks(X)
    blocks = [rows.block(b) for b in range(len(rows))]
    assert [b.stop - b.start for b in blocks] == [BLOCK_ROWS] * 3 + [17]
    assert_array_equal(np.concatenate([b.X for b in blocks]), X)
    assert_array_equal(blocks[1].of(np.arange(len(X))), np.arange(BLOCK_ROWS, 2 * BLOCK_ROWS))


def test_sum_over_blocks_is_the_sum_over_rows(X):
    total = as_blocks(X).sum(moments, 0.5)
    assert isinstance(total, Moments)
    assert total.count == len(X)
    assert_allclose(total.total, (X - 0.5).sum(axis=0), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_sum_has_the_same_bits_for_any_number_of_threads(X, n):
    with threads(1):
        one = as_blocks(X).sum(moments, 0.5)
    with threads(n):
        many = as_blocks(X).sum(moments, 0.5)
    assert one.total.tobytes() == many.total.tobytes()


def test_storage_does_not_change_the_sum(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    expected = as_blocks(X).sum(moments, 0.0).total
    for other in (
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        sparse.csr_matrix(X),
    ):
        assert_array_equal(as_blocks(other).sum(moments, 0.0).total, expected)


def test_memory_map_is_read_one_block_at_a_time(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    rows = as_blocks(mapped)
    assert isinstance(rows._X, np.memmap)
    assert rows.block(1).X.nbytes == BLOCK_ROWS * 3 * 8
    assert not isinstance(rows.block(1).X.base, np.memmap)


def test_block_of_a_writable_array_is_a_view(X):
    assert np.shares_memory(as_blocks(X).block(1).X, X)


def test_sparse_rows_with_entries_given_twice_are_summed_once():
    X = sparse.csr_array(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3]), shape=(2, 3))
    block = as_blocks(X).block(0).X
    assert_array_equal(block.data, [3, 5])
    assert X.nnz == 3
    assert block.indices.dtype == np.int32
    assert block.indptr.dtype == np.int64


def test_take_gives_rows_in_the_given_order(X):
    chosen = np.array([5, 40_000, 2])
    assert_array_equal(as_blocks(X).take(chosen), X[chosen])
    assert_array_equal(as_blocks(sparse.csr_array(X)).take(chosen).toarray(), X[chosen])


def test_pairwise_sum_is_a_tree_over_the_order():
    class Trace(tuple):
        def __add__(self, other):
            return Trace((self, other))

    leaves = [(Trace((k,)),) for k in range(6)]
    a, b, c, d, e, f = (leaf[0] for leaf in leaves)
    assert pairwise_sum(leaves)[0] == (((a, b), (c, d)), (e, f))


def test_pairwise_sum_is_more_exact_than_a_running_one():
    terms = np.full(2**16, 0.1)
    running = 0.0
    for term in terms:
        running += term
    exact = 0.1 * 2**16
    assert abs(pairwise_sum((t,) for t in terms)[0] - exact) < abs(running - exact)


def test_error_inside_a_block_reaches_the_caller(X):
    def broken(block, _):
        raise RuntimeError(f"block at {block.start}")

    for n in (1, 2):
        with threads(n), pytest.raises(RuntimeError, match="block at 0"):
            as_blocks(X).sum(broken, None)


def test_a_block_is_aligned_whatever_it_lies_on(X):
    raw = np.empty(X.nbytes + 4, dtype=np.uint8)[4:]
    shifted = np.frombuffer(raw.data, dtype=X.dtype).reshape(X.shape)
    shifted[:] = X
    assert not shifted.flags.aligned
    block = as_blocks(shifted).block(1).X
    assert block.flags.aligned
    assert_array_equal(block, as_blocks(X).block(1).X)


def blas_threads():
    # faiss has a BLAS of its own (OpenMP, so limited thread by thread), which blocks never use.
    blas = [p for p in threadpool_info() if p["user_api"] == "blas"]
    return {p["num_threads"] for p in blas if "faiss" not in p["filepath"]}


def test_blas_has_one_thread_inside_a_block(X):
    seen = []

    def look(block, _):
        seen.append(blas_threads())
        return (0,)

    with threads(2):
        as_blocks(X).sum(look, None)
    assert seen
    assert set.union(*seen) == {1}


def test_any_thread_may_limit_blas_and_the_last_one_gives_it_back():
    def inside():
        with one_blas_thread():
            return blas_threads()

    with threadpool_limits(2, "blas"):  # now this thread is the one that threadpoolctl listens to
        with ThreadPoolExecutor(1) as other:
            assert other.submit(inside).result() == {1}
            assert blas_threads() == {2}
            assert inside() == {1}
            assert other.submit(inside).result() == {1}
        assert blas_threads() == {2}


def test_number_of_threads_comes_from_the_closest_source(monkeypatch):
    monkeypatch.delenv("SIDELIGHT_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert 1 <= n_threads() <= (os.cpu_count() or 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert n_threads() == 3
    monkeypatch.setenv("SIDELIGHT_NUM_THREADS", "5")
    assert n_threads() == 5
    with threads(7):
        assert n_threads() == 7
    assert n_threads() == 5
    with pytest.raises(ValueError, match="at least 1"), threads(0):
        pass


@pytest.mark.parametrize("n", [0, 1, 6, 7, 20])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_every_number_is_in_one_part(n, n_workers):
    times, parts = np.zeros(n, dtype=int), []

    def count(start, stop):
        times[start:stop] += 1
        parts.append((start, stop))

    with threads(n_workers):
        in_parts(count, n, 7)
    assert (times == 1).all()
    assert all(start % 7 == 0 and stop - start <= 7 for start, stop in parts)


def test_an_error_in_one_part_is_raised():
    def fail(start, stop):
        if start == 4:
            raise RuntimeError("the third part")

    with threads(2), pytest.raises(RuntimeError, match="third"):
        in_parts(fail, 10, 2)


def test_an_interrupt_does_not_wait_for_tasks_that_have_not_begun():
    begun = []

    def task(number):
        begun.append(number)
        time.sleep(0.05)
        return number

    with threads(2):
        results = in_order(task, 1_000)
        assert next(results) == 0
        with pytest.raises(KeyboardInterrupt):
            results.throw(KeyboardInterrupt)
    assert len(begun) < 8  # nine had been handed to the pool
