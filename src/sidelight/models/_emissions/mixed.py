"""Columns of several kinds: each part of them has an emission of its own, and all add up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import Block, Blocks, CSRRows
from sidelight.exceptions import DataError
from sidelight.models._centers import as_dense, as_matrix
from sidelight.models._emissions.emission import Emission, Posterior, Rows, Statistics, n_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Part(NamedTuple):
    """Some of the columns, their emission, and how many statistics it has besides the masses."""

    columns: Ints
    emission: Emission
    n_tables: int
    n_features: int

    def of(self, X: Rows) -> Rows:
        """Its columns of a block."""
        return _select(X, self.columns, self.n_features, self.emission.takes_sparse)


@dataclass(frozen=True)
class Mixed(Emission):
    """The emission of a list of (emission, columns); a posterior is a tuple of posteriors."""

    parts: tuple[Part, ...]
    prior: Posterior
    takes_sparse = True

    @classmethod
    def of_parts(
        cls, rows: Blocks, kinds: Sequence[tuple[Any, Ints]], prior: Any, n_components: int
    ) -> "Mixed":
        """From pairs of an emission's class and columns; ``prior`` has an entry for each."""
        if prior is None:
            prior = [None] * len(kinds)
        if not isinstance(prior, list) or len(prior) != len(kinds) or "published" in prior:
            raise DataError(
                f"prior is {prior!r}; for a list of {len(kinds)} emissions give a list of "
                f"{len(kinds)} dicts, None where the default will do."
            )
        parts = []
        for (kind, columns), given in zip(kinds, prior, strict=True):
            emission = kind.of(_Columns(rows, columns, kind.takes_sparse), given, n_components)
            none = emission.statistics(np.empty((0, len(columns))), np.empty((n_components, 0)))
            parts.append(Part(columns, emission, len(none) - 1, rows.n_features))
        return cls(tuple(parts), tuple(part.emission.prior for part in parts))

    def statistics(self, X: Rows, phi: Floats) -> Statistics:
        """Masses (T,), and then the other statistics of each part."""
        beyond = [part.emission.statistics(part.of(X), phi)[1:] for part in self.parts]
        return phi.sum(axis=1), *(table for tables in beyond for table in tables)

    def posterior(self, statistics: Statistics) -> Posterior:
        """That of each part."""
        mass, rest = statistics[0], statistics[1:]
        found = []
        for part in self.parts:
            found.append(part.emission.posterior((mass, *rest[: part.n_tables])))
            rest = rest[part.n_tables :]
        return tuple(found)

    def log_density(self, X: Rows, posterior: Posterior) -> Floats:
        """The sum over the parts."""
        return self._sum(lambda part, q: part.emission.log_density(part.of(X), q), posterior)

    def divergence_between(self, q: Posterior, p: Posterior) -> Floats:
        """The sum over the parts."""
        pairs = tuple(zip(q, p, strict=True))
        return self._sum(lambda part, qp: part.emission.divergence_between(*qp), pairs)

    def symmetric_divergence(self, posterior: Posterior) -> Floats:
        """The sum over the parts."""
        return self._sum(lambda part, q: part.emission.symmetric_divergence(q), posterior)

    def parameters(self, posterior: Posterior) -> dict[str, Any]:
        """A list with the parameters of each part, about its own columns."""
        every = zip(self.parts, posterior, strict=True)
        return {"parts": [part.emission.parameters(q) for part, q in every]}

    def for_stream(self) -> "Mixed":
        """Of every part."""
        parts = tuple(p._replace(emission=p.emission.for_stream()) for p in self.parts)
        return Mixed(parts, tuple(part.emission.prior for part in parts))

    def coordinates(self, X: Rows) -> Any:
        """Those of the parts, side by side."""
        found = []
        for part in self.parts:
            here = part.emission.coordinates(part.of(X))
            if isinstance(here, CSRRows):
                here = as_matrix(here, len(part.columns))
            found.append(here)
        if any(sparse.issparse(here) for here in found):
            return sparse.csr_array(sparse.hstack(found, format="csr"))
        return np.hstack(found)

    def unreadable(self, X: Rows) -> NDArray[np.bool_]:
        """Rows that one of the parts cannot read."""
        wrong = np.zeros(n_rows(X), dtype=bool)
        for part in self.parts:
            wrong |= part.emission.unreadable(part.of(X))
        return wrong

    def complaint(self, X: Rows) -> str:
        """That of the first part that cannot read it."""
        part = next(p for p in self.parts if p.emission.unreadable(p.of(X)).any())
        which = part.columns[:10].tolist()
        return f"{part.emission.complaint(part.of(X))} (columns counted within {which})"

    def _sum(self, term: Callable[[Part, Any], Floats], posterior: Posterior) -> Floats:
        first, *others = (term(part, q) for part, q in zip(self.parts, posterior, strict=True))
        for other in others:
            first = first + other
        return first


class _Columns(Blocks):
    """Some columns of other blocks, wherever these are."""

    def __init__(self, rows: Blocks, columns: Ints, takes_sparse: bool) -> None:
        self.n_samples, self.n_features = rows.n_samples, len(columns)
        self._base, self._columns, self._takes_sparse = rows, columns, takes_sparse

    def sum(self, statistics: Callable[..., Any], parameters: Any, *parts: Any) -> Any:
        """As the other blocks do it, so that it is done where the data are."""
        columns, n_all, takes_sparse = self._columns, self._base.n_features, self._takes_sparse

        def of_columns(block: Block, parameters: Any, *here: Any) -> Any:
            chosen = block._replace(X=_select(block.X, columns, n_all, takes_sparse))
            return statistics(chosen, parameters, *here)

        return self._base.sum(of_columns, parameters, *parts)

    def _rows(self, start: int, stop: int) -> Rows:
        X = self._base._rows(start, stop)
        return _select(X, self._columns, self._base.n_features, self._takes_sparse)

    def take(self, rows: NDArray[Any]) -> Any:
        return self._base.take(rows)[:, self._columns]


def _select(X: Rows, columns: Ints, n_features: int, takes_sparse: bool) -> Rows:
    """Some columns of a block, C-ordered; dense if the emission wants it so."""
    if not isinstance(X, CSRRows):
        return np.ascontiguousarray(X[:, columns])
    matrix = sparse.csr_array(as_matrix(X, n_features)[:, columns])
    if not takes_sparse:
        return as_dense(matrix)
    matrix.sort_indices()
    return CSRRows(matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64))


def read_columns(given: Any, names: Any, n_features: int) -> Ints:
    """Positions of columns from names, numbers or a slice; each of them there, and once."""
    if isinstance(given, slice):
        return np.arange(n_features)[given]
    listed = [given] if isinstance(given, (str, int, np.integer)) else list(given)
    known = {} if names is None else {name: j for j, name in enumerate(names)}
    found = []
    for column in listed:
        if isinstance(column, str) and column in known:
            found.append(known[column])
        elif isinstance(column, (int, np.integer)) and -n_features <= column < n_features:
            found.append(int(column) % n_features)
        else:
            there = f", or names out of {list(known)}" if known else ""
            raise DataError(
                f"the list of emissions names the column {column!r}; X has {n_features} columns, "
                f"numbered 0 to {n_features - 1}{there}."
            )
    return np.array(found, dtype=np.int64)


def check_columns(parts: Sequence[Ints], names: Any) -> None:
    """Every part has columns, and no column is named twice."""
    if any(len(columns) == 0 for columns in parts):
        raise DataError("an emission in the list has no columns; leave it out.")
    columns, counts = np.unique(np.concatenate(parts), return_counts=True)
    twice = columns[counts > 1]
    if len(twice):
        shown = [int(j) if names is None else str(names[j]) for j in twice[:5]]
        raise DataError(
            f"the list of emissions names columns twice: {shown}; a column has one emission."
        )
