"""Map a function over fixed blocks of rows and sum what it returns, in an order that never changes.

A row model writes ``statistics(block, parameters)``, which returns a tuple of arrays or numbers,
and gets the sum over all rows from `Blocks.sum`. The blocks have 16,384 rows whatever the number of
threads, and sums are taken pairwise in the order of the blocks: the same bits for one thread and
for many. Rows elsewhere, such as a Dask array, are one more subclass of `Blocks`: its `block` and
`take` fetch rows, and where the data live on several machines its `sum` runs over there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks._threads import in_order

# Small enough for a core's second-level cache at a few dozen features, large enough that a call
# from Python (some 20 microseconds) costs a few per cent of the work inside.
BLOCK_ROWS = 16_384

Stats = TypeVar("Stats", bound=tuple[Any, ...])


class CSRRows(NamedTuple):
    """Some rows of a sparse matrix: what kernels take."""

    data: NDArray[Any]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]


class Block(NamedTuple):
    """Rows ``start`` to ``stop`` of the data; X is a C-ordered array or `CSRRows`."""

    start: int
    stop: int
    X: NDArray[Any] | CSRRows

    def of(self, column: NDArray[Any]) -> NDArray[Any]:
        """The part of an array with one entry per row that belongs to this block (a view)."""
        return column[self.start : self.stop]


class Blocks(ABC):
    """The rows of a data set in blocks of `BLOCK_ROWS`; made by `as_blocks`.

    Attributes
    ----------
    n_samples, n_features : int
        The shape of the data.
    """

    n_samples: int
    n_features: int

    def __len__(self) -> int:
        return -(-self.n_samples // BLOCK_ROWS)

    def block(self, number: int) -> Block:
        """One block, by its number."""
        start = number * BLOCK_ROWS
        stop = min(start + BLOCK_ROWS, self.n_samples)
        return Block(start, stop, self._rows(start, stop))

    def sum(self, statistics: Callable[[Block, Any], Stats], parameters: Any) -> Stats:
        """The sum of ``statistics(block, parameters)`` over all blocks.

        Parameters
        ----------
        statistics : callable
            Returns a tuple (or named tuple) of arrays or numbers, of the same shapes for every
            block. It may also write to the block's own part of arrays with one entry per row.
        parameters : object
            Handed through.

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
        return pairwise_sum(in_order(lambda b: statistics(self.block(b), parameters), len(self)))

    @abstractmethod
    def _rows(self, start: int, stop: int) -> NDArray[Any] | CSRRows: ...

    @abstractmethod
    def take(self, rows: NDArray[Any]) -> Any:
        """Some rows, in the given order, as an array or a CSR array."""


class _ArrayBlocks(Blocks):
    """An array in memory or a memory map: a block is read when it is needed, and only then."""

    def __init__(self, X: NDArray[Any]) -> None:
        self.n_samples, self.n_features = X.shape
        self._X = X

    def _rows(self, start: int, stop: int) -> NDArray[Any]:
        return _for_kernels(self._X[start:stop])

    def take(self, rows: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._X[rows])


class _CSRBlocks(Blocks):
    """A sparse matrix, row by row."""

    def __init__(self, X: Any) -> None:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.n_samples, self.n_features = X.shape
        self._X = X

    def _rows(self, start: int, stop: int) -> CSRRows:
        indptr = self._X.indptr[start : stop + 1].astype(np.int64)
        here = slice(indptr[0], indptr[-1])
        # One integer type each, so that kernels are compiled once.
        indices = self._X.indices[here].astype(np.int32, copy=False)
        return CSRRows(_for_kernels(self._X.data[here]), _for_kernels(indices), indptr - indptr[0])

    def take(self, rows: NDArray[Any]) -> sparse.csr_array:
        return sparse.csr_array(self._X[rows])


def as_blocks(X: Any) -> Blocks:
    """The rows of X in blocks: an array, a memory map or a CSR matrix.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
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
    if sparse.issparse(X):
        return _CSRBlocks(X.tocsr())
    return _ArrayBlocks(X)


def _for_kernels(part: NDArray[Any]) -> NDArray[Any]:
    """A C-ordered, writable block: a view where it can be, else a copy of this block alone.

    Nobody writes to it. But numba compiles every kernel once more for read-only arrays, such as
    memory maps opened for reading: seconds, where the copy costs a few per cent.
    """
    part = np.asarray(part)
    return np.array(part, order="C", copy=None if part.flags.writeable else True)


def pairwise_sum(terms: Iterable[Stats]) -> Stats:
    """Sum tuples pairwise, like a tree over their order, holding as few as a tree is high.

    Rounding errors grow with the logarithm of the number of terms, and the result depends on their
    order alone.
    """
    waiting: list[tuple[int, Stats]] = []  # (terms inside, their sum), as the digits of a counter
    for term in terms:
        size = 1
        while waiting and waiting[-1][0] == size:
            term = _add(waiting.pop()[1], term)
            size *= 2
        waiting.append((size, term))
    total = waiting.pop()[1]
    while waiting:
        total = _add(waiting.pop()[1], total)
    return total


def _add(first: Stats, second: Stats) -> Stats:
    summed = [a + b for a, b in zip(first, second, strict=True)]
    return type(first)(*summed) if hasattr(first, "_fields") else type(first)(summed)
