"""How well a partition agrees with a set of statements."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from sidelight._random import as_generator
from sidelight.exceptions import DataError
from sidelight.metrics._labels import as_codes, as_values
from sidelight.side import KINDS, SideInformation

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Coordinates that are gathered at a time when directions are compared (32 MB per array).
_CELLS = 4_000_000


class StatementScore(NamedTuple):
    """One group of statements: how many of them a partition keeps.

    ``kind`` is None where kinds are not told apart; ``annotator`` is None where annotators are
    not told apart, and for statements whose annotator was not given. ``n_statements`` also counts
    what binds nothing ("unsure", weight 0), so it may exceed ``n_satisfied + n_violated``.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], n_samples=3)
    >>> (row,) = statement_scores(side, [0, 0, 1], by=())
    >>> row.n_satisfied, row.n_violated, row.satisfied_share
    (1, 1, 0.5)
    """

    kind: str | None
    annotator: str | None
    n_statements: int
    n_satisfied: int
    n_violated: int
    weight_satisfied: float
    weight_violated: float

    @property
    def satisfied_share(self) -> float:
        """Satisfied among binding statements, by number; NaN where none binds."""
        binding = self.n_satisfied + self.n_violated
        return self.n_satisfied / binding if binding else float("nan")


class Coherence(NamedTuple):
    """Share of (must, cannot) pairs whose directions do not overlap, and what it rests on.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import SideInformation
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 2)], n_samples=3)
    >>> coherence(side, X)
    Coherence(value=1.0, n_compared=1, sampled=False)
    """

    value: float
    n_compared: int
    sampled: bool


def statement_scores(
    side: SideInformation,
    labels: npt.ArrayLike,
    *,
    by: Sequence[Literal["kind", "annotator"]] = ("kind", "annotator"),
    violated: npt.ArrayLike | None = None,
) -> list[StatementScore]:
    """Count satisfied and violated statements, by kind and by annotator.

    Parameters
    ----------
    side : SideInformation
    labels : array-like of shape (n_samples,)
        A partition of all rows. Label statements are judged through the matching of classes and
        clusters that ``side.violated`` uses.
    by : sequence of {"kind", "annotator"}, default=("kind", "annotator")
        What to tell apart. ``()`` gives one row for everything.
    violated : array of bool, optional
        For each statement whether it is broken, such as ``result_.violated`` of a model that does
        not go by the majority of labels; by default what ``side.violated(labels)`` says.

    Returns
    -------
    list of StatementScore
        One per group that has statements: kinds in their fixed order, then annotators sorted, with
        statements without annotator last. ``pandas.DataFrame`` takes the list.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.metrics import statement_scores
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 3)], n_samples=4)
    >>> for group in statement_scores(side, [0, 0, 1, 1], by=["kind"]):
    ...     print(group.kind, group.n_satisfied, group.n_violated, group.satisfied_share)
    must 1 1 0.5
    cannot 1 0 1.0
    """
    unknown = [name for name in by if name not in ("kind", "annotator")]
    if unknown:
        raise DataError(f"by holds {unknown[0]!r}; allowed are 'kind' and 'annotator'.")
    table = side.statements
    binding = table.binding
    if violated is None:
        broken = violated_statements(side, labels)
    else:
        broken = np.asarray(violated, dtype=bool) & binding
    # "Not told" is -1, which the remainder puts behind all the annotators.
    base = len(side.annotators) + 1
    codes = np.zeros(len(table.i), dtype=np.int64)
    if "kind" in by:
        codes += table.kind.astype(np.int64) * base
    if "annotator" in by:
        codes += table.annotator % base
    groups, group = np.unique(codes, return_inverse=True)

    def total(values: npt.NDArray[Any]) -> list[float]:
        return list(np.bincount(group, weights=values, minlength=len(groups)).tolist())

    columns = zip(
        groups.tolist(),
        total(np.ones(len(codes))),
        total(binding & ~broken),
        total(broken),
        total(table.weight * (binding & ~broken)),
        total(table.weight * broken),
        strict=True,
    )
    names = (*side.annotators, None)
    return [
        StatementScore(
            KINDS[code // base] if "kind" in by else None,
            names[code % base] if "annotator" in by else None,
            int(n),
            int(n_good),
            int(n_bad),
            good,
            bad,
        )
        for code, n, n_good, n_bad, good, bad in columns
    ]


def informativeness(side: SideInformation, labels: npt.ArrayLike) -> float:
    """Share of the statements that a clustering made without them breaks.

    The information in the statements that the algorithm does not find by itself (Davidson,
    Wagstaff & Basu 2006).

    Parameters
    ----------
    side : SideInformation
    labels : array-like of shape (n_samples,)
        A clustering of all rows by the *unconstrained* algorithm: the measure depends on it.

    Returns
    -------
    float
        Violated over binding statements, by number and not by weight. The paper counts must- and
        cannot-links; here labels and negative labels count too (see ``side.violated``), and
        ``side.only(kind=["must", "cannot"])`` leaves them out. NaN where no statement binds.

    References
    ----------
    I. Davidson, K. Wagstaff, S. Basu, "Measuring constraint-set utility for partitional clustering
    algorithms", PKDD 2006.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.metrics import informativeness
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], n_samples=3)
    >>> informativeness(side, [0, 0, 1])
    0.5
    """
    violated = violated_statements(side, labels)
    n_binding = int(side.statements.binding.sum())
    return int(violated.sum()) / n_binding if n_binding else float("nan")


def coherence(
    side: SideInformation,
    X: Any,
    *,
    max_comparisons: int = 100_000,
    random_state: Any = 0,
) -> Coherence:
    """Share of the (must, cannot) pairs that do not pull along the same direction.

    A must-link says that the segment between its two rows is short, a cannot-link that it is
    long. Two such segments contradict each other as far as they overlap when one is projected on
    the line through the other (Davidson, Wagstaff & Basu 2006).

    Parameters
    ----------
    side : SideInformation
        Only stated must- and cannot-links that bind are compared; labels are left out.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The space in which the directions are taken: scale it as for the clustering.
    max_comparisons : int, default=100000
        With more pairs (must, cannot) than this, that many are drawn uniformly with replacement,
        and the result says ``sampled=True``; its standard error is then at most
        ``0.5 / sqrt(max_comparisons)``, 0.0016 by default.
    random_state : int, Generator, RandomState or None, default=0
        For the draw.

    Returns
    -------
    Coherence
        ``value``: the share of compared pairs (a, b) for which the projection of b on the line
        through a has no part of positive length in common with a, nor the projection of a on the
        line through b with b. Perpendicular segments and rows that coincide have none. NaN where
        there is no must-link or no cannot-link.
        ``n_compared``: how many pairs were compared. ``sampled``: whether they were drawn.

    References
    ----------
    I. Davidson, K. Wagstaff, S. Basu, "Measuring constraint-set utility for partitional clustering
    algorithms", PKDD 2006.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.metrics import coherence
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 0.1]]
    >>> side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 2), (0, 3)], n_samples=4)
    >>> coherence(side, X)
    Coherence(value=0.5, n_compared=2, sampled=False)
    """
    rows = _as_rows(X, side)
    said = side.statements
    segments, is_pair = np.column_stack([said.i, said.j]), said.binding & said.is_pair
    must, cannot = segments[is_pair & (said.sign > 0)], segments[is_pair & (said.sign < 0)]
    n_pairs = len(must) * len(cannot)
    if n_pairs == 0:
        return Coherence(float("nan"), 0, False)
    if max_comparisons < 1:
        raise DataError(f"max_comparisons is {max_comparisons}; it must be at least 1.")
    sampled = n_pairs > max_comparisons
    if sampled:
        chosen = as_generator(random_state).integers(n_pairs, size=max_comparisons)
    else:
        chosen = np.arange(n_pairs)
    step = max(1, _CELLS // rows.shape[1])
    apart = 0
    for start in range(0, len(chosen), step):
        of_must, of_cannot = np.divmod(chosen[start : start + step], len(cannot))
        a, b = _ends(rows, must[of_must]), _ends(rows, cannot[of_cannot])
        apart += int(np.sum(~(_overlap(a, b) | _overlap(b, a))))
    return Coherence(apart / len(chosen), len(chosen), sampled)


def violated_statements(side: SideInformation, labels: npt.ArrayLike) -> Bools:
    """Which binding statements a partition breaks; ``labels`` may be names.

    -1 among integers is noise, no cluster: a must-link between two rows of noise is broken.
    """
    codes = as_codes(labels, "labels")
    values = as_values(labels)
    if values.dtype.kind == "i":
        codes = np.where(values == -1, -1, codes)
    return np.asarray(side.violated(codes)) & side.statements.binding


def _overlap(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> Bools:
    """Whether the projection of b on the line through a shares a stretch with a."""
    direction = a[1] - a[0]
    length2 = np.einsum("nd,nd->n", direction, direction)
    safe = np.where(length2 > 0, length2, 1)
    t = [np.einsum("nd,nd->n", end - a[0], direction) / safe for end in b]
    shared = np.minimum(np.maximum(*t), 1) - np.maximum(np.minimum(*t), 0)
    # A stretch that is only rounding, such as that of perpendicular segments, is none.
    noise = 1e-12 * (1 + np.abs(t[0]) + np.abs(t[1]))
    return np.asarray((length2 > 0) & (shared > noise))


def _ends(rows: Any, pairs: Ints) -> tuple[Floats, Floats]:
    """The coordinates of both ends of some segments, dense."""
    i, j = rows[pairs[:, 0]], rows[pairs[:, 1]]
    if issparse(rows):
        i, j = i.toarray(), j.toarray()
    return i.astype(np.float64, copy=False), j.astype(np.float64, copy=False)


def _as_rows(X: Any, side: SideInformation) -> Any:
    """X as something whose rows can be picked."""
    rows = X.tocsr() if issparse(X) else np.asarray(X)
    if rows.ndim != 2 or rows.shape[0] != side.n_samples or rows.shape[1] == 0:
        raise DataError(
            f"X has shape {rows.shape}; the side information is about {side.n_samples} rows, "
            "so X must have that many, and at least one column."
        )
    if rows.dtype.kind not in "fiub":
        raise DataError(f"X holds values of type {rows.dtype}; directions need numbers.")
    if not np.isfinite(rows.data if issparse(rows) else rows).all():
        raise DataError("X holds NaN or infinite values; directions need complete rows.")
    return rows
