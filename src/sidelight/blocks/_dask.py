"""The rows of a Dask array: a chunk of rows is one task, which works through its blocks.

Rows stay where they are. A pass sends a function and its parameters to the chunks, each with the
statements about its own rows, and gets back the sums of each chunk as branches of one tree
(`branches`), in the order of the chunks. So the answer has the same bits as in memory when chunks
are multiples of `BLOCK_ROWS`. What is kept per row is a `DaskColumn`, which lies beside the rows.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._work import count_work
from sidelight.blocks._blocks import (
    BLOCK_ROWS,
    Block,
    Blocks,
    CSRRows,
    RowEntries,
    Stats,
    as_blocks,
    branches,
    joined,
    part_of,
    total_of,
)
from sidelight.blocks._cluster import (
    Cluster,
    Graph,
    Literal,
    Scheduler,
    Sender,
    scheduler_of,
    value_of,
)
from sidelight.blocks._threads import one_blas_thread
from sidelight.exceptions import DataError

# Up to _TELLING chunks send their sums here, each at most 20 kB. Sums of more chunks, and larger
# sums, are added up by workers in groups of _FAN_IN.
_TELLING = 2000
_FAN_IN = 16

# Parameters up to this size in bytes, times the chunks, go with the tasks. It avoids a task that
# the others wait for, about a quarter of the time of a small pass. The scheduler keeps them (it may
# have to do the pass again), so that they must not add up to much.
_SMALL = 256_000

Ints = NDArray[np.int64]


# Tasks


class _Place(NamedTuple):
    """A chunk: its first row, its last row plus one, and the number of its first block."""

    start: int
    stop: int
    block: int


class _Done(NamedTuple):
    """The result of a pass for one chunk: the branches of its sums, and its updated columns."""

    sums: list[tuple[int, Any]]
    columns: tuple[NDArray[Any], ...]


class _New(NamedTuple):
    """A part of a column that is not written yet."""

    fill: float
    dtype: Any


class _Part(NamedTuple):
    """Where a part of a column is: at a position in the result of an earlier pass, or yet `_New`.

    Without a position it is what was sent. ``writable``: a pass may write to it, and keeps it.
    """

    result: Any
    position: int | None
    writes: tuple[tuple[Ints, Any], ...] = ()
    writable: bool = True

    @property
    def is_changed(self) -> bool:
        """Whether a reader writes to it, or it was written to from outside."""
        return self.position is not None and (self.writable or bool(self.writes))

    def found(self, result: Any, n_rows: int) -> Any:
        """The values as they lie in a result."""
        value = value_of(result)
        if isinstance(value, _New):
            return np.full(n_rows, value.fill, dtype=value.dtype)
        return value if self.position is None else value.columns[self.position]

    def written(self, column: Any) -> Any:
        """The values with what was written from outside since. column: IN/OUT."""
        for rows, values in self.writes:
            column[rows] = values
        return column


def _values(parts: Sequence[_Part], results: list[Any], n_rows: int, *, copies: bool) -> list[Any]:
    """The values of parts; copies: leave the results as they are."""
    values = [part.found(result, n_rows) for part, result in zip(parts, results, strict=True)]
    if copies:
        changed = [i for i, part in enumerate(parts) if part.is_changed]
        for i, column in zip(changed, _copied([values[i] for i in changed]), strict=True):
            values[i] = column
    return [part.written(value) for part, value in zip(parts, values, strict=True)]


def _copied(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Copies of columns, in one piece of memory.

    Nine tenths of the time of a copy go to pages that are touched for the first time, in every
    pass: Dask lets its workers give back at once what they free. For pieces of more than 4 MB numpy
    asks for large pages, of which few are needed, and that halves the time.
    """
    starts = [0, *accumulate(-(-column.nbytes // 64) * 64 for column in columns)]
    memory = np.empty(starts[-1], dtype=np.uint8)
    copies = []
    for start, column in zip(starts, columns, strict=False):
        copies.append(memory[start : start + column.nbytes].view(column.dtype))
        copies[-1][:] = column
    return copies


def _run(
    place: _Place,
    parts: tuple[_Part, ...],
    copies: bool,
    numbers: Ints | None,
    sender: Sender | None,
    what: Any,
    chunk: Any,
    results: list[Any],
) -> _Done:
    """One chunk's part of a pass: all of its blocks, or those of some numbers."""
    function, parameters = value_of(what)
    rows = as_blocks(chunk)
    columns = _values(parts, results, rows.n_samples, copies=copies)

    def one(number: int) -> Any:
        start, stop, X = rows.block(number)
        here = (part_of(column, start, stop) for column in columns)
        return function(Block(place.start + start, place.start + stop, X), parameters, *here)

    with one_blas_thread():
        if numbers is not None:
            return _Done([(1, one(int(number) - place.block)) for number in numbers], ())
        sums = branches(map(one, range(len(rows))), place.block)
    if sender is not None:
        sender.tell(place.block, sums)
    kept = (c for p, c in zip(parts, columns, strict=True) if p.writable)
    return _Done(sums, tuple(kept))


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "pass").strip("_<>")


def _size_of(parameters: Any) -> float:
    """The approximate size of parameters in bytes when sent; large if it is not known."""
    if isinstance(parameters, (np.ndarray, np.generic)):
        return parameters.nbytes
    if isinstance(parameters, tuple):
        return sum(map(_size_of, parameters))
    return 8 if parameters is None or isinstance(parameters, (bool, int, float, str)) else np.inf


def _sums(done: _Done) -> list[tuple[int, Any]]:
    return done.sums


def _join(first: int, parts: list[list[tuple[int, Any]]]) -> list[tuple[int, Any]]:
    return joined(parts, first)


def _constant(literal: Literal) -> Any:
    return literal.value


def _take(rows: Ints, chunk: Any) -> Any:
    return chunk[rows]


def _read(part: _Part, rows: Ints | slice, n_rows: int, result: Any) -> NDArray[Any]:
    values: NDArray[Any] = _values([part], [result], n_rows, copies=True)[0][rows]
    return values


def _renumber(part: _Part, n_rows: int, number: NDArray[Any], result: Any) -> _Done:
    return _Done([], (number[_values([part], [result], n_rows, copies=True)[0]],))


def _first_in_block(block: Block, _: None, labels: NDArray[Any]) -> tuple[list[Any]]:
    present, place = np.unique(labels, return_index=True)
    return ([(present, block.start + place)],)


# The client's side


class DaskColumn:
    """One number per row, kept beside the rows of a Dask array; see `Blocks.column`."""

    def __init__(self, rows: "DaskBlocks", parts: list[_Part], dtype: Any) -> None:
        self._rows = rows
        self.parts = parts
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return self._rows.n_samples

    @property
    def shape(self) -> tuple[int]:
        """As an array has it."""
        return (len(self),)

    def __getitem__(self, wanted: Ints) -> NDArray[Any]:
        """The values of some rows, in the given order."""
        return self._rows.read(self, np.asarray(wanted, dtype=np.int64))

    def __setitem__(self, wanted: Ints | int, values: Any) -> None:
        """Change the values of some rows; each write goes to the chunk of its row."""
        rows = np.atleast_1d(np.asarray(wanted, dtype=np.int64))
        values = np.broadcast_to(np.asarray(values, dtype=self.dtype), rows.shape)
        for chunk, at, inside in self._rows.owners(rows):
            part = self.parts[chunk]
            written = (*part.writes, (inside, values[at].copy()))
            self.parts[chunk] = part._replace(writes=written)

    def copy(self) -> "DaskColumn":
        """Another column of the same values."""
        return self._rows.copy(self)

    def lazy(self) -> Any:
        """The values as a Dask array, for the user to keep: they stay with the workers.

        Dask can compute lost ones again, from the first pass on.
        """
        return self._rows.lazy(self)

    def first_rows(self, n_clusters: int, n_present: int) -> Ints:
        """For each number from 0 its first row, n_samples where there is none.

        The first block usually has all that are present, which saves a pass.
        """
        column = self._rows.frozen(self)
        first = np.full(n_clusters, len(self))
        [([(present, row)],)] = self._rows.visit([0], _first_in_block, None, column)
        first[present] = row
        if len(present) < n_present:
            for present, row in self._rows.sum(_first_in_block, None, column)[0]:
                first[present] = np.minimum(first[present], row)
        return first


class _Shape(NamedTuple):
    """The view of all rows that a task has."""

    n_samples: int
    n_features: int


class DaskBlocks(Blocks):
    """The rows of a Dask array that is chunked by rows; in memory when there is room."""

    def __init__(self, X: Any) -> None:
        self.n_samples, self.n_features = X.shape
        sizes = np.array(X.chunks[0], dtype=np.int64)
        stops = np.cumsum(sizes)
        self._n_blocks = -(-sizes // BLOCK_ROWS)
        first = np.cumsum(self._n_blocks) - self._n_blocks
        self._places = [_Place(*map(int, p)) for p in zip(stops - sizes, stops, first, strict=True)]
        self._stops, self._first_blocks = stops, first
        self._scheduler: Scheduler = scheduler_of(X)
        if isinstance(self._scheduler, Cluster) and self._scheduler.has_room(2 * X.nbytes):
            X = lazily(_aligned, X, dtype=X.dtype, n_columns=self.n_features)
        self._X = X.persist() if self._scheduler.has_room(X.nbytes) else _optimized(X)
        self._graph: Graph = dict(self._X.__dask_graph__())
        self._keys: list[Hashable] = [keys[0] for keys in self._X.__dask_keys__()]
        self._sent: dict[int, tuple[Any, list[_Part]]] = {}
        self._untold: set[str] = set()  # functions whose sums are too large to send directly

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions often use the rows for their shape; only that is sent with a task.
        return _Shape, (self.n_samples, self.n_features)

    def __len__(self) -> int:
        return int(self._n_blocks.sum())

    def sum(self, statistics: Callable[..., Stats], parameters: Any, *columns: Any) -> Stats:
        """See `Blocks.sum`; one task per chunk, and on a cluster a second one for large sums."""
        count_work("passes over the data")
        parts = [self._parts(column) for column in columns]
        if isinstance(self._scheduler, Cluster):
            done, sums = self._sum_there(self._scheduler, statistics, parameters, parts)
        else:
            graph, keys = self._pass(statistics, parameters, parts, dict.fromkeys(self._chunks()))
            done = self._scheduler.start(graph, keys)
            sums = [result.sums for result in done]
        self._keep(columns, done)
        return total_of(joined(sums))

    def visit(
        self, numbers: Iterable[int], function: Callable[..., Any], parameters: Any, *columns: Any
    ) -> list[Any]:
        """See `Blocks.visit`; one task per chunk that has such a block."""
        wanted = np.array(list(numbers), dtype=np.int64)
        owner = np.searchsorted(self._first_blocks, wanted, side="right") - 1
        parts = [self._parts(column) for column in columns]
        chunks = {int(chunk): wanted[owner == chunk] for chunk in np.unique(owner)}
        graph, keys = self._pass(function, parameters, parts, chunks)
        found: list[Any] = [None] * len(wanted)
        for chunk, done in zip(chunks, self._scheduler.fetch(graph, keys), strict=True):
            for place, (_, value) in zip(np.flatnonzero(owner == chunk), done.sums, strict=True):
                found[place] = value
        return found

    def column(self, fill: float, dtype: Any = np.float64) -> DaskColumn:
        """A new column; it is created by the first pass that uses it."""
        return DaskColumn(self, [_Part(_New(fill, dtype), 0) for _ in self._places], dtype)

    def given(self, values: NDArray[Any]) -> DaskColumn:
        """A column of values that are known already; each chunk gets its own, once."""
        return DaskColumn(self, self._parts(values), values.dtype)

    def frozen(self, column: DaskColumn) -> DaskColumn:
        """The same column for functions that do not write to it: a pass leaves no copy of it."""
        parts = [part._replace(writable=False) for part in column.parts]
        return DaskColumn(self, parts, column.dtype)

    def mapped(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> "DaskBlocks":
        return DaskBlocks(lazily(function, self._X, dtype=self._X.dtype, n_columns=self.n_features))

    def relabelled(self, labels: DaskColumn, number: NDArray[Any]) -> DaskColumn:
        """``number[labels]``, another column."""
        name = f"sidelight-relabelled-{uuid4().hex}"
        graph: Graph = {}
        for chunk, part in enumerate(labels.parts):
            bare, source = self._detached(graph, part)
            graph[name, chunk] = (partial(_renumber, bare, self._size(chunk), number), source)
        kept = self._scheduler.start(graph, [(name, chunk) for chunk in range(len(labels.parts))])
        return DaskColumn(self, [_Part(result, 0) for result in kept], number.dtype)

    def lazy(self, column: DaskColumn) -> Any:
        """A column as a Dask array with the chunks of the rows; its values stay where they are."""
        import dask.array

        name = f"sidelight-labels-{uuid4().hex}"
        graph: Graph = {}
        for chunk, part in enumerate(column.parts):
            bare, source = self._detached(graph, part)
            graph[name, chunk] = (partial(_read, bare, slice(None), self._size(chunk)), source)
        keys = [(name, chunk) for chunk in range(len(column.parts))]
        kept = dict(zip(keys, self._scheduler.start(graph, keys), strict=True))
        array: Any = dask.array.Array
        return array(kept, name, self._X.chunks[:1], column.dtype)

    def lazily(self, function: Callable[[Any], NDArray[Any]], known: RowEntries, dtype: Any) -> Any:
        """See `Blocks.lazily`; a Dask array that computes nothing yet."""
        what = _sent_once((function, known, [place.start for place in self._places]))
        name, meta = f"sidelight-labels-{uuid4().hex}", np.empty(0, dtype)
        return self._X.map_blocks(
            _but_known, what=what, dtype=dtype, drop_axis=1, meta=meta, name=name
        )

    def take(self, rows: NDArray[Any]) -> Any:
        """Some rows, in the given order: one task per chunk that has any of them."""
        wanted = np.asarray(rows, dtype=np.int64)
        owners = list(self.owners(wanted))
        name = f"sidelight-take-{uuid4().hex}"
        graph = dict(self._graph)
        for chunk, _, inside in owners:
            graph[name, chunk] = (partial(_take, inside), self._keys[chunk])
        found = self._scheduler.fetch(graph, [(name, chunk) for chunk, _, _ in owners])
        if not found:
            return np.empty((0, self.n_features), dtype=self._X.dtype)
        order = np.argsort(np.concatenate([at for _, at, _ in owners]), kind="stable")
        if sparse.issparse(found[0]):
            return sparse.csr_array(sparse.vstack(found).tocsr()[order])
        return np.concatenate(found)[order]

    def read(self, column: DaskColumn, wanted: Ints) -> NDArray[Any]:
        """The values of some rows in a column."""
        owners = list(self.owners(wanted))
        name = f"sidelight-read-{uuid4().hex}"
        graph: Graph = {}
        for chunk, _, inside in owners:
            bare, source = self._detached(graph, column.parts[chunk])
            task = partial(_read, bare, inside, self._size(chunk))
            graph[name, chunk] = (task, source)
        values = np.empty(len(wanted), dtype=column.dtype)
        found = self._scheduler.fetch(graph, [(name, chunk) for chunk, _, _ in owners])
        for (_, at, _), part in zip(owners, found, strict=True):
            values[at] = part
        return values

    def copy(self, column: DaskColumn) -> DaskColumn:
        """Another column of the same values; where tasks write in place, other arrays."""
        parts = list(column.parts)
        if not self._scheduler.copies:
            for chunk, part in enumerate(parts):
                value = value_of(part.result)
                if isinstance(value, _Done) and part.position is not None:
                    parts[chunk] = part._replace(
                        result=_Done([], (value.columns[part.position].copy(),)), position=0
                    )
        return DaskColumn(self, parts, column.dtype)

    def owners(self, rows: Ints) -> Iterable[tuple[int, Ints, Ints]]:
        """For each chunk with some of the rows: its number, which of them, and where inside."""
        owner = np.searchsorted(self._stops, rows, side="right")
        for chunk in np.unique(owner):
            at = np.flatnonzero(owner == chunk)
            yield int(chunk), at, rows[at] - self._places[chunk].start

    def _rows(self, start: int, stop: int) -> NDArray[Any] | CSRRows:
        return as_blocks(self.take(np.arange(start, stop))).block(0).X

    def _size(self, chunk: int) -> int:
        return self._places[chunk].stop - self._places[chunk].start

    def _chunks(self) -> list[int]:
        return [chunk for chunk, n_blocks in enumerate(self._n_blocks) if n_blocks]

    def _pass(
        self,
        function: Callable[..., Any],
        parameters: Any,
        parts: list[list[_Part]],
        chunks: dict[int, Any],
        sender: Sender | None = None,
    ) -> tuple[Graph, list[Hashable]]:
        """The tasks of one pass; chunks: with the numbers of the blocks that are wanted, or None.

        Large parameters are a task of their own, so that they reach a worker once. Small ones come
        with every task, so that no task waits for them.
        """
        name = f"sidelight-{_name_of(function)}-{uuid4().hex}"
        graph = dict(self._graph)
        what: Any = Literal((function, parameters))
        if _size_of(parameters) * len(chunks) > _SMALL:
            graph[name] = (partial(_constant, what),)
            what = name
        keys: list[Hashable] = []
        for chunk, numbers in chunks.items():
            here, sources = [], []
            for column in parts:
                bare, source = self._detached(graph, column[chunk])
                here.append(bare)
                sources.append(source)
            task = partial(
                _run, self._places[chunk], tuple(here), self._scheduler.copies, numbers, sender
            )
            keys.append((name, chunk))
            graph[keys[-1]] = (task, what, self._keys[chunk], sources)
        return graph, keys

    def _sum_there(
        self,
        cluster: Cluster,
        statistics: Callable[..., Any],
        parameters: Any,
        parts: list[list[_Part]],
    ) -> tuple[list[Any], list[Any]]:
        """A pass over a cluster: futures of its results, and sums in the order of the chunks.

        Tasks send small sums directly. Larger ones are extracted from the results of the chunks by
        tasks of their own, in the same graph if that is known beforehand.
        """
        chunks, name = dict.fromkeys(self._chunks()), _name_of(statistics)
        if len(chunks) > _TELLING or name in self._untold:
            graph, keys = self._pass(statistics, parameters, parts, chunks)
            tree, top = self._tree(keys)
            results = cluster.start({**graph, **tree}, [*keys, *top])
            return results[: len(keys)], cluster.gather(results[len(keys) :])
        with cluster.mailbox().expecting(len(chunks)) as told:
            graph, keys = self._pass(statistics, parameters, parts, chunks, told.sender)
            done = cluster.start(graph, keys)
            sums = cluster.hear(done, told)
        if sums is None:
            self._untold.add(name)
            graph = {}
            tree, top = self._tree([cluster.refer(graph, future) for future in done])
            sums = cluster.fetch({**graph, **tree}, top)
        return done, sums

    def _detached(self, graph: Graph, part: _Part) -> tuple[_Part, Any]:
        """A part without its result, for a task, and how the task names that; graph: OUT."""
        bare = part._replace(result=None)
        if isinstance(part.result, _New):
            return bare, Literal(part.result)
        return bare, self._scheduler.refer(graph, part.result)

    def _parts(self, column: Any) -> list[_Part]:
        """The parts of a column; what comes from here is cut by chunks and sent once."""
        if isinstance(column, DaskColumn):
            return column.parts
        if id(column) not in self._sent:
            values = [part_of(column, place.start, place.stop) for place in self._places]
            name = f"sidelight-given-{uuid4().hex}"
            graph: Graph = {
                (name, chunk): (partial(_constant, Literal(value)),)
                for chunk, value in enumerate(values)
            }
            sent = self._scheduler.start(graph, list(graph))
            # The column itself is kept with its parts, so that its id is not reused.
            self._sent[id(column)] = (
                column,
                [_Part(result, None, writable=False) for result in sent],
            )
        return self._sent[id(column)][1]

    def _keep(self, columns: tuple[Any, ...], done: list[Any]) -> None:
        """Let the columns that functions may write to point to the results of a pass."""
        position = 0
        for column in columns:
            if not isinstance(column, DaskColumn) or not column.parts[0].writable:
                continue
            for chunk, result in zip(self._chunks(), done, strict=True):
                column.parts[chunk] = _Part(result, position)
            position += 1

    def _tree(self, keys: list[Hashable]) -> tuple[Graph, list[Hashable]]:
        """Tasks that extract the sums from the results of chunks, and add up those of many."""
        name = f"sidelight-sums-{uuid4().hex}"
        chunks = self._chunks()
        graph: Graph = {(name, 0, c): (_sums, k) for c, k in zip(chunks, keys, strict=True)}
        top: list[tuple[int, Hashable]] = [
            (self._places[c].block, k) for c, k in zip(chunks, graph, strict=True)
        ]
        level = 0
        while len(top) > _FAN_IN:
            level += 1
            groups = [top[g : g + _FAN_IN] for g in range(0, len(top), _FAN_IN)]
            top = [(group[0][0], (name, level, g)) for g, group in enumerate(groups)]
            for (first, key), group in zip(top, groups, strict=True):
                graph[key] = (partial(_join, first), [k for _, k in group])
        return graph, [key for _, key in top]


def _optimized(X: Any) -> Any:
    """X with as few tasks per chunk as possible, because they are sent with every pass."""
    import dask.base

    base: Any = dask.base
    return base.optimize(X)[0]


def _aligned(chunk: Any) -> Any:
    """A chunk with aligned numbers; chunks that were sent over the network often are not aligned.

    It takes twice the memory if the original chunk is kept too. Without it, blocks are copied one
    by one in every pass.
    """
    return chunk if sparse.issparse(chunk) else np.require(chunk, requirements="A")


# Checks


def check_dask(X: Any) -> Any:
    """X as a Dask array of floats whose rows are chunked and whose columns are not, or an error.

    Parameters
    ----------
    X : collection of Dask
        What a user gave.

    Returns
    -------
    dask.array.Array of shape (n_samples, n_features)

    Examples
    --------
    >>> import dask.array as da
    >>> check_dask(da.ones((6, 2), chunks=(3, 2), dtype=int)).dtype
    dtype('float64')
    """
    if hasattr(X, "to_dask_array"):
        raise DataError(
            f"X is a Dask {type(X).__name__}; give an array with known chunks: "
            "X.to_dask_array(lengths=True)."
        )
    if not hasattr(X, "chunks"):
        raise DataError(f"X is a Dask {type(X).__name__}; give a dask.array of rows and columns.")
    if X.ndim != 2:
        raise DataError(
            f"X has {X.ndim} dimensions; give two, rows and columns. Reshape it, for example "
            "X.reshape(-1, 1) for one column."
        )
    if len(X.chunks[1]) > 1:
        raise DataError(
            f"the columns of X are split into chunks of {X.chunks[1]}, and a row has to be whole; "
            "call X.rechunk({1: -1})."
        )
    if X.dtype.kind not in "fiub":
        raise DataError(f"X has the type {X.dtype}; give numbers, for example X.astype('float64').")
    return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)


def check_sizes(X: Any) -> None:
    """Refuse chunks of unknown size: statements refer to rows by number.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.ones((6, 2))
    >>> check_sizes(X)
    >>> check_sizes(X[X[:, 0] > 0])
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DataError: X has chunks with an unknown number of rows, ...
    """
    if np.isnan(np.array(X.chunks[0], dtype=np.float64)).any():
        raise DataError(
            "X has chunks with an unknown number of rows, and statements refer to rows by their "
            "number; call X.compute_chunk_sizes() first (or X.to_dask_array(lengths=True) on a "
            "data frame)."
        )
    if not X.shape[0]:
        raise DataError("X has 0 rows; give at least one.")


def lazily(
    function: Callable[[Any], Any],
    X: Any,
    *,
    dtype: Any,
    n_columns: int | None = None,
    is_large: bool = False,
) -> Any:
    """``function(chunk)`` for every chunk of rows of X, as a Dask array that computes nothing yet.

    Parameters
    ----------
    function : callable
        From some rows to one number per row, or ``n_columns`` of them.
    X : dask.array.Array of shape (n_samples, n_features)
        From `check_dask`.
    dtype : type
        Of the result.
    n_columns : int, optional
        By default one number per row.
    is_large : bool, default=False
        Whether the function holds megabytes; it then reaches each worker once.

    Returns
    -------
    dask.array.Array of shape (n_samples,) or (n_samples, n_columns)

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.ones((6, 2), chunks=(3, 2))
    >>> lazily(lambda rows: rows.sum(axis=1), X, dtype=float).compute().tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    named: Any = partial(_of_chunk, function)
    kind: dict[str, Any] = {"dtype": dtype, "meta": np.empty(0, dtype), "drop_axis": 1}
    if n_columns is not None:
        kind = {"dtype": dtype, "meta": np.empty((0, n_columns), dtype)}
        kind["chunks"] = (X.chunks[0], (n_columns,))
    if is_large:
        return X.map_blocks(_of_chunk_by, what=_sent_once(function), **kind)
    return X.map_blocks(named, **kind)


def _sent_once(value: Any) -> Any:
    """A value as a task of its own: whatever uses it, it reaches each worker once."""
    import dask

    untyped: Any = dask
    return untyped.delayed(Literal(value), name=f"sidelight-{_name_of(value)}-{uuid4().hex}")


def _of_chunk_by(rows: Any, what: Literal, block_id: tuple[int, ...] = ()) -> Any:
    return _of_chunk(what.value, rows, block_id)


def _but_known(rows: Any, what: Literal, block_id: tuple[int, ...] = ()) -> Any:
    function, known, starts = what.value
    start = starts[block_id[0]]
    here = known.within(start, start + rows.shape[0])
    values = function(rows)
    values[here.row] = here.values[0]
    return values


def _of_chunk(function: Callable[[Any], Any], rows: Any, block_id: tuple[int, ...] = ()) -> Any:
    try:
        return function(rows)
    except DataError as error:
        raise DataError(f"chunk {block_id[0]} of X, rows counted from its first: {error}") from None
