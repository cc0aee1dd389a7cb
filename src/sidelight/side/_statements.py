"""The table of statements, and the check that every statement passes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._wording import counted
from sidelight.exceptions import SelfPairsError, SideInformationError, UnknownRowsError
from sidelight.side._kinds import IS_CLASS, IS_PAIR, KINDS, SIGN
from sidelight.side._names import Name, as_column, brief, encode, is_missing, look_up
from sidelight.side._spelling import nearest

SelfPairs = Literal["raise", "drop", "keep"]
Ints = NDArray[np.int64]


class Statements(NamedTuple):
    """Columns of statements, one entry per statement; all are read-only arrays.

    Pairs have ``i <= j`` and no class, labels have a class and ``j == -1``. A code of −1 means no
    annotator, or the shared vocabulary.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> said = SideInformation.from_labels(["cat", None, "dog"]).statements
    >>> said.i.tolist(), said.j.tolist(), said.class_code.tolist()
    ([0, 2], [-1, -1], [0, 1])
    """

    kind: NDArray[np.int8]
    i: Ints
    j: Ints
    class_code: Ints
    weight: NDArray[np.float64]
    annotator: Ints
    vocabulary: Ints

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """All columns as a tuple."""
        return tuple(self)

    def take(self, rows: NDArray[Any]) -> "Statements":
        """The chosen statements, in the given order."""
        return Statements(*(column[rows] for column in self.columns))

    @property
    def rows(self) -> Ints:
        """The rows that the statements name, ascending, each once."""
        return distinct(np.concatenate([self.i, self.j[self.j >= 0]]))

    def join(self, other: "Statements") -> "Statements":
        """These statements, then the others."""
        return Statements(*map(np.concatenate, zip(self.columns, other.columns, strict=True)))

    def same_as(self, other: "Statements") -> bool:
        """Whether both hold the same statements equally often, in any order."""
        first, second = (said.take(np.lexsort(said.columns)) for said in (self, other))
        return all(map(np.array_equal, first.columns, second.columns))

    @property
    def is_pair(self) -> NDArray[np.bool_]:
        """Which statements are about a pair of rows."""
        return IS_PAIR[self.kind]

    @property
    def is_class(self) -> NDArray[np.bool_]:
        """Which statements are about a row and a class."""
        return IS_CLASS[self.kind]

    @property
    def sign(self) -> NDArray[np.int8]:
        """1 for "together" (must, label), -1 for "apart" (cannot, not_label), 0 for neither."""
        return SIGN[self.kind]

    @property
    def signed_weight(self) -> NDArray[np.float64]:
        """The weight, negative for cannot and not_label."""
        return self.sign * self.weight

    @property
    def binding(self) -> NDArray[np.bool_]:
        """Whether a statement has an effect: not if it is unsure or has weight 0."""
        return (self.sign != 0) & (self.weight > 0)


class Table(NamedTuple):
    """Checked statements, with the names behind their codes."""

    statements: Statements
    classes: tuple[Name, ...]
    annotators: tuple[Name, ...]
    vocabularies: tuple[Name, ...]


def check_index(index: Any) -> NDArray[Any]:
    """The user's row ids as a read-only array of distinct whole numbers or texts."""
    ids = as_column(index)
    if ids.ndim != 1:
        raise SideInformationError(
            f"index has {ids.ndim} dimensions; give one id per row, such as a frame's id column."
        )
    ids = _ids_of_one_type(ids)
    if ids.dtype.kind not in "iU":
        raise SideInformationError(
            f"row ids have to be all texts or all whole numbers (of 64 bits), not {ids.dtype}; "
            "convert the ids first, for example with frame['id'].astype(str)."
        )
    if len(set(ids.tolist())) < len(ids):
        values, counts = np.unique(ids, return_counts=True)
        twice = ", ".join(map(repr, values[counts > 1][:5].tolist()))
        raise SideInformationError(
            f"{int((counts > 1).sum())} row ids name more than one row: {twice}; "
            "row ids have to be unique."
        )
    ids = ids.copy()
    ids.flags.writeable = False
    return ids


def _ids_of_one_type(ids: NDArray[Any]) -> NDArray[Any]:
    """Texts, or whole numbers of 64 bits, so that equal ids make equal arrays; else as they are."""
    types = set(map(type, ids.tolist()))
    if all(issubclass(type_, str) for type_ in types):  # also when there are no ids
        return ids.astype(str)
    if all(issubclass(type_, (int, np.integer)) and type_ is not bool for type_ in types):
        if max(ids.tolist()) < 2**63 and min(ids.tolist()) >= -(2**63):
            return ids.astype(np.int64)
        return ids.astype(object)
    return ids


def check_statements(
    kind: Any,
    i: Any,
    j: Any,
    class_: Any,
    *,
    weight: Any,
    annotator: Any,
    vocabulary: Any,
    n_samples: int,
    index: NDArray[Any] | None,
    classes: Any,
    self_pairs: SelfPairs,
) -> Table:
    """Turn columns into a table of statements, or raise an error that names wrong statements."""
    raw_i = as_column(i)
    raw_j = as_column(j) if j is not None else np.full(raw_i.shape, None, dtype=object)
    if raw_i.ndim != 1 or raw_j.shape != raw_i.shape:
        raise SideInformationError(
            f"i has shape {raw_i.shape} and j has shape {raw_j.shape}; "
            "they are lists of rows and go together, one entry per statement."
        )
    length = len(raw_i)
    kinds = _kind_codes(kind, length)
    of_class = IS_CLASS[kinds]

    def say(k: int) -> str:
        rows = (raw_i[k],) if of_class[k] else (raw_i[k], raw_j[k])
        return " ".join([KINDS[kinds[k]], *map(brief, map(str, rows))])

    position = None
    if index is not None:
        position = dict(zip(index.tolist(), range(n_samples), strict=True))
    if position is None:
        first = _positions(raw_i, n_samples, kinds, say)
        second = _positions(raw_j, n_samples, kinds, say, partner=True)
    else:
        first, second = _look_up_pairs(raw_i, raw_j, position, kinds, say)
    class_code, class_names = encode(class_, length, "class")
    refuse(
        IS_PAIR[kinds] & (second < 0),
        say,
        "only one row",
        "must and cannot are about two rows: fill column j.",
    )
    refuse(
        of_class & (class_code < 0),
        say,
        "no class",
        "label and not_label need a class.",
    )
    if classes is not None:
        _check_classes(class_code, class_names, classes, say)
    weights = _weights(weight, length, say)
    annotator_code, annotators = encode(annotator, length, "annotator")
    vocabulary_code, vocabularies = encode(vocabulary, length, "vocabulary")

    second = np.where(of_class, -1, second)
    low = np.where(second >= 0, np.minimum(first, second), first)
    high = np.where(second >= 0, np.maximum(first, second), -1)
    table = Statements(
        kinds,
        low,
        high,
        np.where(of_class, class_code, -1),
        weights,
        annotator_code,
        np.where(of_class, vocabulary_code, -1),
    )
    table = _settle_self_pairs(table, self_pairs, say)
    return compact(table, class_names, annotators, vocabularies)


def _settle_self_pairs(
    table: Statements, self_pairs: SelfPairs, say: Callable[[int], str]
) -> Statements:
    """Refuse, drop or keep the pairs of a row with itself."""
    if self_pairs not in ("raise", "drop", "keep"):
        raise SideInformationError(f'self_pairs is "raise", "drop" or "keep", not {self_pairs!r}.')
    itself = table.i == table.j
    if self_pairs == "raise":
        refuse(
            itself,
            say,
            "a row paired with itself",
            'leave them out, or say self_pairs="drop" or self_pairs="keep".',
            error=SelfPairsError,
        )
    return table.take(~itself) if self_pairs == "drop" else table


def compact(
    statements: Statements,
    classes: tuple[Name, ...],
    annotators: tuple[Name, ...],
    vocabularies: tuple[Name, ...],
) -> Table:
    """Drop the names that no statement uses, so that equal statements make equal tables."""
    class_code, classes = _used(statements.class_code, classes)
    annotator, annotators = _used(statements.annotator, annotators)
    vocabulary, vocabularies = _used(statements.vocabulary, vocabularies)
    statements = statements._replace(
        class_code=class_code, annotator=annotator, vocabulary=vocabulary
    )
    for column in statements.columns:
        column.flags.writeable = False
    return Table(statements, classes, annotators, vocabularies)


def row_positions(rows: Any, n_samples: int) -> Ints:
    """Row positions from a slice, a mask or integers; no row twice."""
    if isinstance(rows, slice):
        return np.arange(*rows.indices(n_samples))
    chosen = np.asarray(rows)
    if chosen.ndim != 1:
        raise SideInformationError(
            "side information is indexed by a list of rows, a mask or a slice; "
            f"for one row write side[[{rows!r}]]."
        )
    if chosen.dtype == bool:
        if len(chosen) != n_samples:
            raise SideInformationError(f"the mask has {len(chosen)} entries for {n_samples} rows.")
        return np.flatnonzero(chosen)
    if len(chosen) == 0:
        return np.empty(0, dtype=np.int64)
    if chosen.dtype.kind not in "iu":
        raise SideInformationError(f"rows are chosen by whole numbers, not by {chosen.dtype}.")
    outside = (chosen < -n_samples) | (chosen >= n_samples)
    if outside.any():
        raise IndexError(f"row {chosen[outside][0]} is outside 0 … {n_samples - 1}")
    chosen = chosen.astype(np.int64)  # eight bits could not hold the sum
    chosen = np.where(chosen < 0, chosen + n_samples, chosen)
    if len(distinct(chosen)) < len(chosen):
        raise SideInformationError(
            "a row is chosen more than once: side information cannot hold two copies of a row. "
            "Draw without replacement."
        )
    return chosen


def new_numbers(chosen: Ints, n_samples: int, i: Ints, j: Ints) -> tuple[Ints, Ints]:
    """The places of rows i and j among the chosen ones, −1 for rows that are not (and for −1)."""
    if n_samples > 4 * (len(chosen) + len(i) + len(j)):
        # A few statements about very many rows: a list of all rows would be the largest thing here.
        # Else it is not, and ten times as fast as sorting.
        stated = distinct(np.concatenate([i, j]))
        place = np.searchsorted(stated, chosen)
        known = np.flatnonzero(np.append(stated, -1)[place] == chosen)
        new = np.full(len(stated), -1, dtype=np.int64)
        new[place[known]] = known
        return new[np.searchsorted(stated, i)], new[np.searchsorted(stated, j)]
    new = np.full(n_samples + 1, -1, dtype=np.int64)  # the last entry serves j == −1
    new[chosen] = np.arange(len(chosen))
    return new[i], new[j]


def distinct(values: Ints) -> Ints:
    """The values in order, each once.

    np.unique with default options uses a hash table for integers (numpy 2.3 and later), which takes
    thirty times as long as sorting a million of them.
    """
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def heaviest_class(row: Ints, class_code: Ints, weight: NDArray[np.float64], n_rows: int) -> Ints:
    """For each row the class of the largest total weight: the lowest on a tie, −1 without votes."""
    # Summed from the smallest weight on, so that rounding does not depend on the order of
    # statements.
    order = np.lexsort((weight, class_code, row))
    row, class_code, weight = row[order], class_code[order], weight[order]
    begin = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (np.diff(class_code, prepend=-1) != 0))
    winner = np.full(n_rows, -1, dtype=np.int64)
    if len(begin):
        total = np.add.reduceat(weight, begin)
        row, class_code = row[begin], class_code[begin]
        order = np.lexsort((-class_code, total, row))  # the winner comes last in each row
        winner[row[order]] = class_code[order]
    return winner


def refuse(
    wrong: NDArray[np.bool_],
    say: Callable[[int], str],
    problem: str,
    remedy: str,
    *,
    error: Callable[..., SideInformationError] = SideInformationError,
) -> None:
    """Raise if any statement is wrong, naming the first five and the count."""
    bad = np.flatnonzero(wrong)
    if not len(bad):
        return
    named = "; ".join(f"statement {k} ({say(int(k))})" for k in bad[:5])
    more = f" and {len(bad) - 5:,} more" if len(bad) > 5 else ""
    count = counted(len(bad), "statement")
    raise error(f"{problem}, in {count}: {named}{more}.", advice=f"What to do: {remedy}")


def _used(codes: Ints, names: tuple[Name, ...]) -> tuple[Ints, tuple[Name, ...]]:
    used = np.zeros(len(names) + 1, dtype=bool)
    used[codes] = True  # code −1 marks the spare last entry
    used = used[:-1]
    if used.all():
        return codes.copy(), names
    renumbered = np.append(np.cumsum(used) - 1, -1)
    return renumbered[codes], tuple(name for name, keep in zip(names, used, strict=True) if keep)


def _kind_codes(kind: Any, length: int) -> NDArray[np.int8]:
    if not isinstance(kind, str):
        column = as_column(kind)
        if column.dtype.kind in "iu" and column.ndim == 1 and len(column) == length:
            if length and (column.min() < 0 or column.max() >= len(KINDS)):
                raise SideInformationError(f"kind codes are 0 … {len(KINDS) - 1}, for {KINDS}.")
            return column.astype(np.int8)
    codes, names = encode(kind, length, "kind")
    unknown = [name for name in names if name not in KINDS]
    if unknown or (codes < 0).any():
        came = ", ".join(map(repr, unknown)) or "nothing at all"
        where = np.flatnonzero((codes < 0) | np.isin(codes, [names.index(u) for u in unknown]))
        raise SideInformationError(
            f"unknown kind ({came}), first in statement {where[0]}, {len(where):,} in all; "
            f"the kinds are {', '.join(KINDS)}."
        )
    return np.array([KINDS.index(str(name)) for name in names] or [0], dtype=np.int8)[codes]


def _look_up_pairs(
    rows: NDArray[Any],
    partners: NDArray[Any],
    position: Mapping[Name, int],
    kinds: NDArray[np.int8],
    say: Callable[[int], str],
) -> tuple[Ints, Ints]:
    """Positions of ids, −1 where the partner is missing; one error names all unknown ids."""
    first, second = look_up(rows, position), look_up(partners, position)
    lost = (second == -1) & ~IS_CLASS[kinds]
    unknown = [*rows[first == -1].tolist(), *partners[lost].tolist()]
    refuse(
        (first < 0) | lost,
        say,
        "rows that are not in the index",
        "correct the ids, or give the index of the data they belong to.",
        error=partial(_unknown_rows, unknown, position),
    )
    return first, np.maximum(second, -1)


def _unknown_rows(
    unknown: list[Any], position: Mapping[Name, int], message: str, *, advice: str
) -> UnknownRowsError:
    """The error about unknown ids, with the most similar ids."""
    rows = list(dict.fromkeys(map(str, unknown)))
    known = list(position)
    near = {row: nearest(row, known) for row in rows[:5]}
    told = [f"{row}: {' or '.join(names)}?" for row, names in near.items() if names]
    meant = f" Did you mean, for {'; '.join(told)}" if told else ""
    return UnknownRowsError(message, advice=f"{advice}{meant}", rows=rows, by_id=True, nearest=near)


def _positions(
    rows: NDArray[Any],
    n_samples: int,
    kinds: NDArray[np.int8],
    say: Callable[[int], str],
    *,
    partner: bool = False,
) -> Ints:
    """Row positions; −1 where the column j may be, and is, empty."""
    matters = ~IS_CLASS[kinds] if partner else np.ones(len(rows), dtype=bool)
    numbers = _whole_numbers(rows, partner, matters, say)
    # −1 may stand for "no partner" where a partner may be missing, and in whole-number columns only
    # the labels' partners may.
    may_be_empty = partner & (~IS_PAIR[kinds] | (rows.dtype.kind not in "iu"))
    outside = matters & ((numbers < np.where(may_be_empty, -1, 0)) | (numbers >= n_samples))
    refuse(
        outside,
        say,
        f"rows outside 0 … {n_samples - 1}",
        "rows count from 0; for ids of your own give index=.",
        error=partial(UnknownRowsError, rows=map(str, numbers[outside].tolist()), by_id=False),
    )
    return numbers


def _whole_numbers(
    rows: NDArray[Any], partner: bool, matters: NDArray[np.bool_], say: Callable[[int], str]
) -> Ints:
    """A column of row numbers as integers; missing partners become −1."""
    if rows.dtype.kind in "iu":
        return rows.astype(np.int64)
    values = rows if rows.dtype.kind == "f" else _as_floats(rows)
    missing = np.isnan(values)
    with np.errstate(invalid="ignore"):
        broken = (values % 1 != 0) & ~missing
    refuse(
        matters & (broken | (missing & (not partner))),
        say,
        "rows that are not whole numbers",
        "rows are numbered 0, 1, 2, …",
    )
    # A number above 64 bits has no row either, and would not survive the conversion.
    return np.where(missing | broken, -1, np.clip(values, -(2**62), 2**62)).astype(np.int64)


def _as_floats(rows: NDArray[Any]) -> NDArray[np.float64]:
    """A column of Python objects as numbers, NaN where a value is missing."""
    values = rows.tolist()
    others = set(map(type, values)) - {int, float}
    if others:
        odd = next((v for v in values if type(v) in others and not _is_number_or_gap(v)), None)
        if odd is not None:
            raise UnknownRowsError(
                f"rows are given by position (whole numbers), not by {odd!r}.",
                advice="For ids of your own give index=, the ids of all rows in their order.",
                rows=[str(odd)],
                by_id=False,
            )
        values = [np.nan if type(v) in others and is_missing(v) else v for v in values]
    return np.array(values, dtype=np.float64)


def _is_number_or_gap(value: object) -> bool:
    return isinstance(value, (np.integer, np.floating)) or is_missing(value)


def _weights(weight: Any, length: int, say: Callable[[int], str]) -> NDArray[np.float64]:
    if weight is None:
        return np.ones(length)
    try:
        weights = np.array(_without_gaps(weight), dtype=float)
    except (TypeError, ValueError) as error:
        raise SideInformationError(f"weights have to be numbers: {error}.") from None
    if weights.ndim == 0:
        weights = np.full(length, float(weights))
    if weights.shape != (length,):
        raise SideInformationError(
            f"weight has shape {weights.shape} for {length} statements; give one each or a number."
        )
    refuse(
        ~(np.isfinite(weights) & (weights >= 0)),
        lambda k: f"{say(k)} with weight {weights[k]}",
        "a weight that is NaN, infinite or negative",
        'a weight is a finite number, 0 or more; a negative must is a "cannot".',
    )
    return weights


def _without_gaps(weight: Any) -> Any:
    """Weight 1 where there is none. A NaN stays, and is refused: it is not a missing value."""
    column = as_column(weight)
    if column.dtype.kind == "c":
        raise TypeError("a complex number has no size to compare")
    if column.dtype != object or column.ndim != 1:
        return column
    return [1.0 if is_missing(w) and not isinstance(w, float) else w for w in column.tolist()]


def _check_classes(
    codes: Ints, names: tuple[Name, ...], classes: Any, say: Callable[[int], str]
) -> None:
    try:
        allowed = as_column(classes if hasattr(classes, "__array__") else list(classes))
    except TypeError:
        raise SideInformationError(
            f"classes is {classes!r}; give a list of the classes that may occur."
        ) from None
    _, allowed_names = encode(allowed, len(allowed), "classes")
    keys = {(type(name), name) for name in allowed_names}
    outside = np.array([(type(name), name) not in keys for name in names] + [False])
    refuse(
        outside[codes],
        lambda k: f"{say(k)} is {names[codes[k]]!r}",
        "a label outside classes=",
        f"the classes are {', '.join(map(repr, allowed_names[:20]))}.",
    )
