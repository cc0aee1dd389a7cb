"""Blocks over Dask arrays: the same sums, columns and rows as in memory, on every scheduler."""

import sys
from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sidelight.blocks import (
    BLOCK_ROWS,
    CSRRows,
    RowEntries,
    as_blocks,
    check_dask,
    check_sizes,
    is_dask,
    lazily,
)
from sidelight.blocks._blocks import branches, joined, pairwise_sum, total_of
from sidelight.blocks._dask import _copied
from sidelight.exceptions import DataError

N = 5 * BLOCK_ROWS + 100
WHOLE_BLOCKS = [
    (N,),
    (2 * BLOCK_ROWS, 3 * BLOCK_ROWS, 100),
    (BLOCK_ROWS, 0, 3 * BLOCK_ROWS, BLOCK_ROWS + 100),
]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)) * 10.0 ** rng.integers(-8, 8, size=3)


def moments(block, shift, weight, label, entries):
    label += 1
    X = block.X
    if isinstance(X, CSRRows):
        X = sparse.csr_array(tuple(X), shape=(block.stop - block.start, 3)).toarray()
    return weight @ (X - shift), len(X), [(block.start + entries.row, entries.values[0])]


def all_of(rows):
    """Everything that `Blocks` offers, once: two passes over columns, and what is left of them."""
    weight = rows.given(np.linspace(0.0, 1.0, N))
    label = rows.column(-1, np.int32)
    entries = RowEntries(np.array([7, 2 * BLOCK_ROWS, N - 1]), (np.array([1.5, 2.5, 3.5]),))
    total, _, found = rows.sum(moments, 0.5, weight, label, entries)
    label[np.array([N - 2, 3])] = [40, 50]
    again, _, _ = rows.sum(moments, 0.5, weight, label, entries)
    other = label.copy()
    other[np.array([0])] = 9
    return {
        "total": total,
        "again": again,
        "rows of entries": np.concatenate([row for row, _ in found]),
        "values of entries": np.concatenate([value for _, value in found]),
        "label": label[np.array([N - 2, 0, 3, 1])],
        "copy": other[np.array([0, 3])],
        "weight": weight[np.array([N - 1, 5])],
        "take": rows.take(np.array([N - 1, 2, BLOCK_ROWS, 2])),
        "nothing": rows.take(np.empty(0, dtype=np.int64)),
        "renumbered": np.asarray(rows.relabelled(label, np.arange(60) ** 2)[np.array([3, 4])]),
        "first": rows.block(0).X,
    }


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("chunks", WHOLE_BLOCKS)
def test_rows_on_dask_give_the_same_bits_as_in_memory(X, chunks, scheduler):
    expected = all_of(as_blocks(X))
    with dask.config.set(scheduler=scheduler):
        found = all_of(as_blocks(da.from_array(X, chunks=(chunks, 3))))
    for name, value in expected.items():
        assert np.asarray(value).tobytes() == np.asarray(found[name]).tobytes(), name


def test_columns_come_back_from_processes(X):
    def passes(rows):
        label, entries = rows.column(5, np.int32), RowEntries(np.array([7]), (np.array([1.5]),))
        rows.sum(moments, 0.5, rows.given(np.ones(N)), label, entries)
        return *rows.sum(moments, 0.5, rows.given(np.ones(N)), label, entries)[:2], label

    with dask.config.set(scheduler="processes", num_workers=1):
        total, n, label = passes(as_blocks(da.from_array(X, chunks=(3 * BLOCK_ROWS, 3))))
        assert label[np.array([0, N - 1])].tolist() == [7, 7]
    assert n == N
    assert_array_equal(total, passes(as_blocks(X))[0])


def test_other_chunks_give_the_same_sums_up_to_rounding(X):
    expected = all_of(as_blocks(X))
    found = all_of(as_blocks(da.from_array(X, chunks=(10_007, 3))))
    for name, value in expected.items():
        assert_allclose(found[name], value, rtol=1e-12, err_msg=name)


def test_chunks_may_be_sparse(X):
    X[np.abs(X) < np.median(np.abs(X), axis=0)] = 0
    chunks = da.from_array(X, chunks=(2 * BLOCK_ROWS, 3)).map_blocks(sparse.csr_array)
    found, expected = all_of(as_blocks(chunks)), all_of(as_blocks(sparse.csr_array(X)))
    assert_array_equal(found["total"], expected["total"])
    assert_array_equal(found["take"].toarray(), expected["take"].toarray())


def test_a_pass_is_one_task_per_chunk(X):
    rows = as_blocks(da.from_array(X, chunks=(BLOCK_ROWS, 3)))
    label = rows.column(0, np.int32)
    entries = RowEntries(np.array([7]), (np.array([1.5]),))
    weight = rows.given(np.ones(N))
    rows.sum(moments, 0.5, weight, label, entries)
    ran = []
    with Callback(posttask=lambda key, *_: ran.append(key)):
        rows.sum(moments, 0.5, weight, label, entries)
    n_chunks = 6
    assert len([key for key in ran if "moments" in str(key)]) <= n_chunks + 1


def test_only_chunks_with_wanted_rows_or_blocks_are_visited(X):
    rows = as_blocks(da.from_array(X, chunks=(BLOCK_ROWS, 3)))
    ran = []
    with Callback(posttask=lambda key, *_: ran.append(key)):
        rows.take(np.array([1, 2, N - 1]))
    assert len([key for key in ran if "take" in str(key)]) == 2
    found = rows.visit([3, 1], lambda block, _: block.start, None)
    assert found == [3 * BLOCK_ROWS, BLOCK_ROWS]


def test_data_are_read_once_where_they_fit_and_in_every_pass_where_not(X, monkeypatch):
    reads = []

    def read(block_info=None):
        reads.append(1)
        start, stop = block_info[None]["array-location"][0]
        return X[start:stop]

    source = da.map_blocks(read, chunks=((3 * BLOCK_ROWS, N - 3 * BLOCK_ROWS), 3), dtype=float)
    reads.clear()
    rows = as_blocks(source)
    for _ in range(3):
        rows.sum(lambda block, _: (len(block.X),), None)
    assert len(reads) == 2
    monkeypatch.setattr("sidelight.blocks._cluster._ROOM", 0.0)
    reads.clear()
    rows = as_blocks(source)
    for _ in range(3):
        assert rows.sum(lambda block, _: (len(block.X),), None) == (N,)
    assert len(reads) == 6


def test_a_column_whose_first_block_tells_all_is_not_passed_over(X):
    rows = as_blocks(da.from_array(X, chunks=(2 * BLOCK_ROWS, 3)))
    label = rows.column(1, np.int32)
    label[np.array([4, 5])] = 0
    ran = []
    with Callback(posttask=lambda key, *_: ran.append(key)):
        assert label.first_rows(3, 2).tolist() == [4, 0, N]
    assert len([key for key in ran if "first_in_block" in str(key[0])]) == 1


def test_a_column_knows_the_first_row_of_each_number(X):
    rows = as_blocks(da.from_array(X, chunks=(30_000, 3)))
    label = rows.column(2, np.int32)
    label[np.array([N - 1, 70_000, 70_001])] = [0, 3, 3]
    assert label.first_rows(5, 3).tolist() == [N - 1, N, 0, 70_000, N]
    assert label.lazy().chunks == ((30_000, 30_000, N - 60_000),)
    assert_array_equal(np.flatnonzero(label.lazy().compute() != 2), [70_000, 70_001, N - 1])


@pytest.mark.parametrize("n", [0, 1, 7, 40_000])
def test_copies_of_columns_share_one_piece_of_memory_and_no_rows(n):
    columns = [np.arange(n, dtype=np.int32), np.linspace(0.0, 1.0, n), np.arange(n) % 2 == 0]
    copies = _copied(columns)
    for copy, column in zip(copies, columns, strict=True):
        assert_array_equal(copy, column, strict=True)
        assert copy.flags.behaved
        assert not np.shares_memory(copy, column)
    assert not any(np.shares_memory(a, b) for a, b in pairwise(copies))
    assert _copied([]) == []


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13, 64])
def test_branches_of_parts_make_the_same_tree(n):
    rng = np.random.default_rng(n)
    terms = [(x,) for x in rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, size=n)]
    expected = pairwise_sum(terms)
    for _ in range(20):
        cuts = [0, *np.sort(rng.integers(n + 1, size=3)).tolist(), n]
        parts = [branches(terms[a:b], a) for a, b in pairwise(cuts)]
        assert total_of(joined(parts)) == expected
        grouped = [joined(parts[:2]), joined(parts[2:], cuts[2])]
        assert total_of(joined(grouped)) == expected


# Bad input


def test_arrays_that_cannot_be_used_are_refused_with_what_to_call():
    with pytest.raises(DataError, match=r"columns .* \(2, 1\).*X.rechunk\(\{1: -1\}\)"):
        check_dask(da.ones((6, 3), chunks=(3, 2)))
    with pytest.raises(DataError, match="1 dimensions.*reshape"):
        check_dask(da.ones(6))
    with pytest.raises(DataError, match="<U1.*astype"):
        check_dask(da.from_array(np.array([["a"]])))
    with pytest.raises(DataError, match="Delayed.*dask.array"):
        check_dask(dask.delayed(3))
    unknown = da.ones((6, 3), chunks=(3, 3))
    unknown = unknown[unknown[:, 0] > 0]
    with pytest.raises(DataError, match="compute_chunk_sizes"):
        check_sizes(check_dask(unknown))
    with pytest.raises(DataError, match="0 rows"):
        check_sizes(da.ones((0, 3)))


def test_data_frames_are_told_to_become_arrays():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"a": np.arange(6.0)}), npartitions=2)
    with pytest.raises(DataError, match=r"Dask DataFrame.*X\.to_dask_array\(lengths=True\)"):
        check_dask(frame)
    assert check_dask(frame.to_dask_array(lengths=True)).shape == (6, 1)


def test_whole_numbers_become_floats_and_single_precision_stays():
    assert check_dask(da.ones((6, 3), dtype=int)).dtype == np.float64
    assert check_dask(da.ones((6, 3), dtype=np.float32)).dtype == np.float32


def test_an_error_in_a_lazy_function_names_its_chunk():
    def refuse(rows):
        if rows[0, 0] > 2:
            raise DataError("row 0 is bad")
        return rows[:, 0]

    lazy = lazily(refuse, da.from_array(np.arange(6.0)[:, None], chunks=(3, 1)), dtype=float)
    with pytest.raises(DataError, match="chunk 1 of X.*row 0 is bad"):
        lazy.compute()


def test_dask_is_told_by_its_type():
    assert is_dask(da.ones(3))
    assert not is_dask(np.ones(3))
    assert not is_dask(sys)
