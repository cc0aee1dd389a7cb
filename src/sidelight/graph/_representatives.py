"""Representatives of rows on a cluster: the input of a graph model for data beyond memory.

A tree of planes is grown on a sample, where halving by 2-means gives many small cells. The mean of
a cell's sample represents its rows, and one pass over the data counts them, or a share of them
where there are very many. Annotated rows are represented by themselves.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import bisect as kernels
from sidelight.blocks import Block, Blocks, CSRRows, RowEntries
from sidelight.exceptions import DataError
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows of the sample for each cell. The mean of ten is off by a third of the width of the cell.
_PER_CELL = 10

# Rows that are counted: all up to the first number, then the second for each cell, so that a mass
# is off by a sixth or so. To find its cell costs a row as much as 25 iterations of k-means.
_COUNTED = 2_000_000
_COUNTED_PER_CELL = 40


class Representatives(NamedTuple):
    """Points that stand for rows, in the order of the first row that each is known to stand for.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.blocks import as_blocks
    >>> side = SideInformation.from_pairs(must=[(1, 3)], n_samples=6)
    >>> rows = as_blocks(np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]))
    >>> points = representatives(rows, side, 2, seed=0)
    >>> points.X.ravel().round(2).tolist(), points.mass.tolist()
    ([0.1, 0.1, 9.0, 9.15], [2.0, 1.0, 1.0, 2.0])
    >>> points.annotated.tolist(), points.side.must.tolist()
    ([1, 3], [[1, 2]])
    """

    X: Floats
    mass: Floats  # how many rows each stands for; of very many rows an estimate
    side: SideInformation  # the statements, about the points
    annotated: Ints  # the annotated rows, ascending
    place: Ints  # their points


def representatives(
    rows: Blocks, side: SideInformation, n_cells: int, *, seed: int
) -> Representatives:
    """Condense rows to about ``n_cells`` points, and one more for each annotated row.

    Parameters
    ----------
    rows : Blocks
        Dense rows, wherever they are; a sample of ten for each cell is brought here.
    side : SideInformation
        Statements about the rows.
    n_cells : int
        The most points for rows without statements; fewer if rows are equal.
    seed : int
        Of the sample.

    Returns
    -------
    Representatives

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.blocks import as_blocks
    >>> rows = as_blocks(np.repeat([[0.0], [4.0]], 50, axis=0))
    >>> representatives(rows, SideInformation.empty(100), 10, seed=0).mass.tolist()
    [50.0, 50.0]
    """
    annotated, about = side.condensed()
    drawn = _sample(rows.n_samples, _PER_CELL * n_cells, annotated, seed)
    known = rows.take(np.concatenate([drawn, annotated]))
    if sparse.issparse(known):
        raise DataError(
            "the chunks of X are sparse, and rows are condensed by their dense values. Give few "
            "columns, for example those of sklearn.decomposition.TruncatedSVD, as dense chunks."
        )
    X = np.asarray(known[: len(drawn)], dtype=np.float64)
    grown = _grown(X, n_cells)
    sums = [np.bincount(grown.cell, column, minlength=grown.n_cells) for column in X.T]
    n_drawn = np.bincount(grown.cell, minlength=grown.n_cells)
    means = np.stack(sums, axis=1) / n_drawn[:, None]
    share = min(1.0, max(_COUNTED, _COUNTED_PER_CELL * n_cells) / rows.n_samples)
    cells, early = rows.sum(_fall, _Falling(grown.tree, share, seed), RowEntries(annotated))
    count = np.bincount(np.concatenate(cells), minlength=grown.n_cells).astype(np.float64)
    if share < 1.0 and len(drawn):
        count = np.maximum(count / share, n_drawn)  # those of the sample are there, counted or not
        count *= (rows.n_samples - len(annotated)) / count.sum()
    first = np.full(grown.n_cells, rows.n_samples)
    np.minimum.at(first, grown.cell, drawn)
    for cell, row in early:
        first[cell] = np.minimum(first[cell], row)
    order = np.argsort(np.concatenate([first, annotated]), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    place = place[grown.n_cells :]
    return Representatives(
        np.concatenate([means, np.asarray(known[len(drawn) :], dtype=np.float64)])[order],
        np.concatenate([count, np.ones(len(annotated))])[order],
        about.placed(place, len(order)),
        np.asarray(annotated),
        place,
    )


class _Tree(NamedTuple):
    """Planes, and what lies below and above each: see the kernels."""

    normal: Floats
    offset: Floats
    child: Ints
    n_cells: int


class _Falling(NamedTuple):
    tree: _Tree
    share: float  # of the rows that are counted
    seed: int


class _Grown(NamedTuple):
    tree: _Tree
    cell: Ints  # of each row of the sample
    n_cells: int


def _sample(n: int, size: int, without: Ints, seed: int) -> Ints:
    """Numbers of rows, ascending, without the annotated ones."""
    rng = np.random.default_rng(seed)
    drawn = np.arange(n) if n <= size else rng.choice(n, size, replace=False, shuffle=False)
    found = np.setdiff1d(drawn, without, assume_unique=True)
    # Where nearly all rows are annotated, a draw may miss the few others.
    return found if len(found) else np.setdiff1d(np.arange(n), without)[:size]


def _grown(X: Floats, n_cells: int) -> _Grown:
    """The tree of a sample, and the cells of its rows."""
    n, n_features = X.shape
    if not n:
        nothing = _Tree(np.empty((0, n_features)), np.empty(0), np.empty((0, 2), np.int64), 0)
        return _Grown(nothing, np.empty(0, np.int64), 0)
    n_cells = min(n, n_cells)
    number, cell = np.arange(n), np.empty(n, dtype=np.int64)
    normal, offset = np.empty((n_cells, n_features)), np.empty(n_cells)
    child = np.empty((n_cells, 2), dtype=np.int64)
    waiting = np.empty((n_cells + 1, 5), dtype=np.int64)
    n_nodes, n_found = kernels.grow(
        X.copy(), number, n_cells, normal, offset, child, cell, waiting, np.empty((4, n_features))
    )
    of_row = np.empty(n, dtype=np.int64)
    of_row[number] = cell
    tree = _Tree(normal[:n_nodes], offset[:n_nodes], child[:n_nodes], n_found)
    return _Grown(tree, of_row, n_found)


def _fall(block: Block, how: _Falling, annotated: RowEntries) -> tuple[list[Ints], list[Any]]:
    """The cells of the rows of a block that count; of the first block the first row of each, too.

    Cells and not their counts: a block has fewer rows than there are cells.
    """
    assert not isinstance(block.X, CSRRows)
    free = np.delete(np.arange(len(block.X)), annotated.row)
    counts = np.ones(len(free), dtype=bool)
    if how.share < 1.0:
        counts = _uniform(block.start + free, how.seed) < how.share
        if block.start > 0:
            free, counts = free[counts], counts[counts]
    cell = np.empty(len(free), dtype=np.int64)
    kernels.fall(np.asarray(block.X[free], dtype=np.float64), *how.tree[:3], cell)
    early = []
    if block.start == 0:
        present, place = np.unique(cell, return_index=True)
        early.append((present, free[place]))
    return [cell[counts].astype(np.int32)], early


def _uniform(row: Ints, seed: int) -> Floats:
    """A number in [0, 1) for each row, by the number of the row alone: the same in any chunk.

    The mixing function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), for the sequence that
    the seed starts.
    """
    start = np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
    z = (row.astype(np.uint64) + start) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) / 2**53
