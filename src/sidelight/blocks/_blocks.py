"""Map a function over fixed blocks of rows and sum the results, in an order that never changes.

A row model writes ``statistics(block, parameters)``, which returns a tuple of arrays or numbers,
and gets the sum over all rows from `Blocks.sum`. The blocks have 16,384 rows whatever the number of
threads, and sums are taken pairwise in the order of the blocks: the same bits for one thread and
for many.

Data per row (labels, bounds) are a column, made by `Blocks.column`: an array in memory or, on Dask,
an object stored beside the rows that supports ``column[rows]``. Functions receive the part for
their block. So the same model runs where the rows are, provided that its functions have no arrays
as long as the data in their closures: everything they need comes as parameters and columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._work import count_work
from sidelight.blocks._threads import in_order, one_blas_thread

# Small enough for a core's second-level cache at a few dozen features, large enough that a call
# from Python (some 20 microseconds) costs a few per cent of the work inside.
BLOCK_ROWS = 16_384

Stats = TypeVar("Stats", bound=tuple[Any, ...])


class CSRRows(NamedTuple):
    """Some rows of a sparse matrix: what kernels take.

    Examples
    --------
    >>> from scipy import sparse
    >>> as_blocks(sparse.csr_array([[0.0, 2.0], [3.0, 0.0]])).block(0).X.indices
    array([1, 0], dtype=int32)
    """

    data: NDArray[Any]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]


class Block(NamedTuple):
    """Rows ``start`` to ``stop`` of the data; X is a C-ordered array or `CSRRows`.

    Examples
    --------
    >>> import numpy as np
    >>> block = as_blocks(np.zeros((20_000, 3))).block(1)
    >>> block.start, block.stop, block.X.shape
    (16384, 20000, (3616, 3))
    """

    start: int
    stop: int
    X: NDArray[Any] | CSRRows

    def of(self, column: NDArray[Any]) -> NDArray[Any]:
        """The part of an array with one entry per row that belongs to this block (a view)."""
        return column[self.start : self.stop]


class RowEntries(NamedTuple):
    """Data about some rows, sorted by row and sent to the block of the row.

    Examples
    --------
    >>> import numpy as np
    >>> entries = RowEntries(np.array([2, 5, 5, 9]), (np.array([10.0, 20.0, 30.0, 40.0]),))
    >>> entries.within(4, 8).row.tolist(), entries.within(4, 8).values[0].tolist()
    ([1, 1], [20.0, 30.0])
    """

    row: NDArray[np.int64]
    values: tuple[NDArray[Any], ...] = ()

    def within(self, start: int, stop: int) -> "RowEntries":
        """The entries of some rows, which are counted from the first of them."""
        here = slice(*np.searchsorted(self.row, (start, stop)))
        return RowEntries(self.row[here] - start, tuple(v[here] for v in self.values))


def part_of(column: Any, start: int, stop: int) -> Any:
    """The part of a column that is about rows start to stop.

    Parameters
    ----------
    column : array, or an object with a method ``within``, or None
        A value for each row, or statements about rows.
    start, stop : int
        The rows.

    Returns
    -------
    the same kind of thing, or None

    Examples
    --------
    >>> import numpy as np
    >>> part_of(np.arange(10), 3, 6).tolist(), part_of(None, 3, 6)
    ([3, 4, 5], None)
    """
    if column is None:
        return None
    return column.within(start, stop) if hasattr(column, "within") else column[start:stop]


class Blocks(ABC):
    """The rows of a data set in blocks of `BLOCK_ROWS`; made by `as_blocks`.

    Attributes
    ----------
    n_samples, n_features : int
        The shape of the data.

    Examples
    --------
    >>> import numpy as np
    >>> rows = as_blocks(np.ones((40_000, 2)))
    >>> len(rows), rows.n_samples, rows.take([0, 39_999]).tolist()
    (3, 40000, [[1.0, 1.0], [1.0, 1.0]])
    """

    n_samples: int
    n_features: int

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the data."""
        return self.n_samples, self.n_features

    @property
    def data(self) -> Any:
        """All rows as one array or matrix, if they are in this machine's memory; else None."""
        return None

    def __len__(self) -> int:
        return -(-self.n_samples // BLOCK_ROWS)

    def block(self, number: int) -> Block:
        """One block, by its number."""
        start = number * BLOCK_ROWS
        stop = min(start + BLOCK_ROWS, self.n_samples)
        return Block(start, stop, self._rows(start, stop))

    def sum(self, statistics: Callable[..., Stats], parameters: Any, *columns: Any) -> Stats:
        """The sum of ``statistics(block, parameters, *parts)`` over all blocks.

        Parameters
        ----------
        statistics : callable
            Returns a tuple (or named tuple) of arrays or numbers, of the same shapes for every
            block; lists are joined in the order of the blocks. It may also write to the parts.
        parameters : object
            Handed through.
        *columns : array, column, object with a method ``within(start, stop)``, or None
            Of these every call gets the part that belongs to its block.

        Returns
        -------
        tuple
            Of the type that ``statistics`` returns.

        Examples
        --------
        >>> import numpy as np
        >>> rows = as_blocks(np.ones((40_000, 2)))
        >>> rows.sum(lambda block, shift: ((block.X - shift).sum(axis=0), len(block.X)), 1.0)
        (array([0., 0.]), 40000)
        """

        def one(number: int) -> Stats:
            block = self.block(number)
            parts = (part_of(column, block.start, block.stop) for column in columns)
            return statistics(block, parameters, *parts)

        count_work("passes over the data")
        if len(self) == 1:  # avoids the overhead of threads, which matters for small data
            with one_blas_thread():
                return one(0)
        return pairwise_sum(in_order(one, len(self)))

    def visit(
        self, numbers: Iterable[int], function: Callable[..., Any], parameters: Any, *columns: Any
    ) -> list[Any]:
        """``function(block, parameters, *parts)`` of some blocks, in the given order."""

        def one(block: Block) -> Any:
            parts = (part_of(column, block.start, block.stop) for column in columns)
            return function(block, parameters, *parts)

        return [one(self.block(number)) for number in numbers]

    def column(self, fill: float, dtype: Any = np.float64) -> Any:
        """A new column: one number per row, kept where the rows are."""
        return np.full(self.n_samples, fill, dtype=dtype)

    def given(self, values: NDArray[Any]) -> Any:
        """A column of given values, which functions only read."""
        return values

    def frozen(self, column: Any) -> Any:
        """A column that functions only read."""
        return column

    def relabelled(self, labels: Any, number: NDArray[Any]) -> Any:
        """``number[labels]``: a column of new numbers for the labels of the rows."""
        return number[labels]

    def lazily(self, function: Callable[[Any], NDArray[Any]], known: RowEntries, dtype: Any) -> Any:
        """``function(rows)`` of all rows, one number each, except rows whose numbers are known.

        Where the rows are on Dask it is a Dask array, which computes nothing yet.

        Examples
        --------
        >>> import numpy as np
        >>> known = RowEntries(np.array([1]), (np.array([9.0]),))
        >>> as_blocks(np.ones((3, 2))).lazily(lambda X: X.sum(axis=1), known, float).tolist()
        [2.0, 9.0, 2.0]
        """
        parts = [
            np.asarray(function(self._rows(start, min(start + BLOCK_ROWS, self.n_samples))), dtype)
            for start in range(0, self.n_samples, BLOCK_ROWS)
        ]
        values = np.concatenate(parts)
        values[known.row] = known.values[0]
        return values

    def mapped(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> "Blocks":
        """These rows through a function of dense rows, computed whenever a block is read.

        Examples
        --------
        >>> import numpy as np
        >>> as_blocks(np.ones((3, 2))).mapped(lambda X: 2 * X).take(np.array([0])).tolist()
        [[2.0, 2.0]]
        """
        return _MappedBlocks(self, function)

    @abstractmethod
    def _rows(self, start: int, stop: int) -> NDArray[Any] | CSRRows: ...

    def within_reach(self, rows: NDArray[Any]) -> tuple["Blocks", NDArray[Any]]:
        """Blocks from which these rows can be taken a few at a time, and their positions there.

        Rows in memory or in a file are within reach; others are fetched here, once and together.
        """
        return as_blocks(self.take(rows)), np.arange(len(rows))

    @abstractmethod
    def take(self, rows: NDArray[Any]) -> Any:
        """Some rows, in the given order, as an array or a CSR array."""


class _ArrayBlocks(Blocks):
    """An array in memory or a memory map: a block is read when it is needed, and only then."""

    def __init__(self, X: NDArray[Any]) -> None:
        self.n_samples, self.n_features = X.shape
        self._X = X

    @property
    def data(self) -> Any:
        return self._X

    def _rows(self, start: int, stop: int) -> NDArray[Any]:
        return _for_kernels(self._X[start:stop])

    def within_reach(self, rows: NDArray[Any]) -> tuple[Blocks, NDArray[Any]]:
        return self, rows

    def take(self, rows: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._X.take(rows, axis=0))  # four times as fast as X[rows]


class _CSRBlocks(Blocks):
    """A sparse matrix, row by row."""

    def __init__(self, X: Any) -> None:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.n_samples, self.n_features = X.shape
        self._X = X

    @property
    def data(self) -> Any:
        return self._X

    def _rows(self, start: int, stop: int) -> CSRRows:
        indptr = self._X.indptr[start : stop + 1].astype(np.int64)
        here = slice(indptr[0], indptr[-1])
        # One integer type each, so that kernels are compiled once.
        indices = self._X.indices[here].astype(np.int32, copy=False)
        return CSRRows(_for_kernels(self._X.data[here]), _for_kernels(indices), indptr - indptr[0])

    def within_reach(self, rows: NDArray[Any]) -> tuple[Blocks, NDArray[Any]]:
        return self, rows

    def take(self, rows: NDArray[Any]) -> sparse.csr_array:
        taken = sparse.csr_array(self._X[rows])
        taken.has_canonical_format = True  # as in X; checking costs as much as copying
        return taken


class _MappedBlocks(Blocks):
    """Rows that a function computes from others, for data too large to be stored twice."""

    def __init__(self, rows: Blocks, function: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        self.n_samples, self.n_features = rows.shape
        self._inner, self._function = rows, function

    def _rows(self, start: int, stop: int) -> NDArray[Any]:
        return _for_kernels(self._function(np.asarray(self._inner._rows(start, stop))))

    def take(self, rows: NDArray[Any]) -> NDArray[Any]:
        return self._function(self._inner.take(rows))


def as_blocks(X: Any) -> Blocks:
    """The rows of X in blocks: an array, a memory map, a CSR matrix or a Dask array.

    Parameters
    ----------
    X : array, CSR matrix, Dask array or Blocks of shape (n_samples, n_features)
        Already validated.

    Returns
    -------
    Blocks

    Examples
    --------
    >>> import numpy as np
    >>> len(as_blocks(np.zeros((20_000, 3))))
    2
    """
    if isinstance(X, Blocks):
        return X
    if is_dask(X):
        from sidelight.blocks._dask import DaskBlocks

        return DaskBlocks(X)
    if sparse.issparse(X):
        return _CSRBlocks(X.tocsr())
    return _ArrayBlocks(X)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; works without Dask.

    Examples
    --------
    >>> import numpy as np
    >>> is_dask(np.zeros((3, 2)))
    False
    """
    return type(X).__module__.partition(".")[0] == "dask"


def _for_kernels(part: NDArray[Any]) -> NDArray[Any]:
    """A C-ordered, writable, aligned block: a view if possible, otherwise a copy of this block.

    It is never written to. But numba compiles every kernel once more for read-only arrays, such as
    memory maps opened for reading, and for numbers that lie across the words of the machine, such
    as come over a network: seconds, where the copy costs a few per cent.
    """
    part = np.asarray(part)
    return np.array(part, order="C", copy=None if part.flags.behaved else True)


def pairwise_sum(terms: Iterable[Stats]) -> Stats:
    """Sum tuples pairwise, like a tree over their order, holding as few as a tree is high.

    Rounding errors grow with the logarithm of the number of terms, and the result depends on their
    order alone.
    """
    return total_of(branches(terms))


def branches(terms: Iterable[Stats], first: int = 0) -> list[tuple[int, Stats]]:
    """The largest parts of the tree that lie within some of its terms: (terms inside, their sum).

    ``first`` is the place of these terms among all. `total_of` makes the same sum of the branches
    of all parts as of all terms, bit by bit: a chunk of several blocks is summed where it lies.
    """
    return joined((((1, term),) for term in terms), first)


def joined(parts: Iterable[Iterable[tuple[int, Stats]]], first: int = 0) -> list[tuple[int, Stats]]:
    """The branches of neighbouring parts as those of one part; ``first``: the place of its term."""
    waiting: list[tuple[int, Stats]] = []
    end = first
    for part in parts:
        for size, term in part:
            end += size
            # Two branches are one when they are twins: of one size, the left one at an even place.
            while waiting and waiting[-1][0] == size and end % (2 * size) == 0:
                term = _add(waiting.pop()[1], term)
                size *= 2
            waiting.append((size, term))
    return waiting


def total_of(waiting: list[tuple[int, Stats]]) -> Stats:
    """The sum of the branches of a tree, the small ones at its end first."""
    total = waiting[-1][1]
    for _, term in reversed(waiting[:-1]):
        total = _add(term, total)
    return total


def _add(first: Stats, second: Stats) -> Stats:
    summed = [a + b for a, b in zip(first, second, strict=True)]
    return type(first)(*summed) if hasattr(first, "_fields") else type(first)(summed)
