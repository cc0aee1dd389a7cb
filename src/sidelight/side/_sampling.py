"""Draw side information from a truth, as the papers do, and as several people would.

Every draw is over numbered possibilities (pairs, rows, cells of row and class), and a number is
turned into its possibility by arithmetic. So nothing is drawn and thrown away, and a million pairs
of a million rows take well under a second.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight._random import as_generator
from sidelight.exceptions import SideInformationError
from sidelight.side._information import SideInformation
from sidelight.side._kinds import CANNOT, LABEL, MUST, NOT_LABEL
from sidelight.side._names import as_column, encode
from sidelight.side._statements import distinct

Ints = NDArray[np.int64]
Number = int | float
Rounding = Literal["round", "ceil", "floor"]
RandomState = int | np.random.Generator | np.random.RandomState | None

_ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "round": round,
    "ceil": math.ceil,
    "floor": math.floor,
}
_THINGS = {
    "n_pairs": "pairs of rows with a known class",
    "n_must": "pairs of one class",
    "n_cannot": "pairs of two classes",
    "n_labels": "rows with a known class",
    "n_negative": "wrong classes of rows without a label",
}
# Random sets of classes are drawn from the list of all such sets.
_MOST_CLASS_SETS = 1_000_000


def sample_pairs(
    y: ArrayLike,
    n_pairs: Number | None = None,
    *,
    n_must: Number | None = None,
    n_cannot: Number | None = None,
    replace: bool = True,
    ordered: bool = False,
    self_pairs: Literal["drop", "keep"] = "drop",
    accuracy: float = 1.0,
    exact: bool = False,
    annotators: str | Sequence[str] | Mapping[str, float] | None = None,
    quota: Mapping[str, int] | None = None,
    rounding: Rounding = "round",
    random_state: RandomState = None,
) -> SideInformation:
    """Draw must- and cannot-links from known classes, with a share of wrong ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true classes, of any name. Rows whose class is −1, None or NaN are never drawn.
    n_pairs : int or float, optional
        How many pairs, of any kind. A float is a multiple of the number of rows with a known
        class: 1 is one pair, and 1.0 is as many pairs as rows.
    n_must, n_cannot : int or float, optional
        How many pairs of one class, and of two, instead of ``n_pairs``. A wrong statement about a
        pair of one class is a cannot, so with ``accuracy`` below 1 the statements are counted
        before mistakes are made.
    replace : bool
        Whether a pair may be drawn again.
    ordered : bool
        Whether (i, j) and (j, i) are two possibilities; without replacement a pair can then come
        up twice.
    self_pairs : {"drop", "keep"}
        Whether a row with itself is a possibility.
    accuracy : float
        How often a statement is right; a wrong one says cannot for must, and must for cannot.
    exact : bool
        Whether that share of the statements (of each annotator, rounded) is right, rather than
        each one with that probability.
    annotators : str, list of str, or dict of str to float, optional
        Who makes the statements; a dict gives each one's accuracy. Each statement is made by one
        of them, drawn uniformly unless there is a ``quota``.
    quota : dict of str to int, optional
        How many statements each annotator makes.
    rounding : {"round", "ceil", "floor"}
        How a float becomes a number of pairs; "round" is to the even one on a tie, as in Python.
    random_state : int, Generator, RandomState or None
        The seed; one integer is drawn from a generator.

    Returns
    -------
    SideInformation

    See Also
    --------
    sample_labels : the same for labels.

    Notes
    -----
    The schemes of the papers, for n rows:

    - SSC-IPA, n/2 to 4n pairs of accuracy p:
      ``sample_pairs(y, 0.5, accuracy=0.9)``; ``self_pairs="keep"`` as in its authors' files.
    - SSE, int(0.2 n) pairs of each kind:
      ``sample_pairs(y, n_must=0.2, n_cannot=0.2, rounding="floor")``.
    - CoMaC, round(x n) ordered pairs without replacement:
      ``sample_pairs(y, 0.5, ordered=True, replace=False)``.

    Examples
    --------
    >>> from sidelight.side import sample_pairs
    >>> y = ["cat"] * 5 + ["dog"] * 5
    >>> sample_pairs(y, n_must=4, n_cannot=3, random_state=0)
    SideInformation(10 rows; 4 must, 3 cannot)

    Two people, one of whom is often wrong:

    >>> side = sample_pairs(y, 100, annotators={"ann": 0.95, "bob": 0.6}, random_state=0)
    >>> side.annotators
    ('ann', 'bob')
    """
    truth = _read_truth(y)
    rng = as_generator(random_state)
    if self_pairs not in ("drop", "keep"):
        raise SideInformationError(f'self_pairs is "drop" or "keep", not {self_pairs!r}.')
    pairs = _Pairs(truth, ordered, self_pairs == "keep")
    if n_must is not None or n_cannot is not None:
        if n_pairs is not None:
            raise SideInformationError("give n_pairs, or n_must and n_cannot, not both.")
        wanted = [(pairs.same, n_must, "n_must"), (pairs.different, n_cannot, "n_cannot")]
    else:
        total = sum(quota.values()) if n_pairs is None and quota is not None else n_pairs
        if total is None:
            raise SideInformationError("how many pairs? Give n_pairs=, or n_must= and n_cannot=.")
        wanted = [(pairs.any, total, "n_pairs")]
    drawn = [
        find(_draw(size, _count(number or 0, len(truth.rows), what, rounding), replace, what, rng))
        for (size, find), number, what in wanted
    ]
    i, j = (truth.rows[np.concatenate(ends)] for ends in zip(*drawn, strict=True))
    said = _assign(len(i), annotators, quota, accuracy, exact, rng)
    together = (truth.codes[i] == truth.codes[j]) ^ said.wrong
    return SideInformation.from_columns(
        np.where(together, MUST, CANNOT),
        i,
        j,
        annotator=said.names,
        n_samples=len(truth.codes),
        self_pairs="keep",
    )


def sample_labels(
    y: ArrayLike,
    n_labels: Number | Mapping[Any, Number] | None = None,
    *,
    n_negative: Number = 0,
    promote: bool = False,
    classes: int | Sequence[Any] | None = None,
    min_share: float = 0.0,
    accuracy: float = 1.0,
    exact: bool = False,
    wrong_label: Literal["other", "any"] = "other",
    annotators: str | Sequence[str] | Mapping[str, float] | None = None,
    quota: Mapping[str, int] | None = None,
    rounding: Rounding = "round",
    random_state: RandomState = None,
) -> SideInformation:
    """Draw labels and negative labels from known classes, with a share of wrong ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true classes, of any name. Rows whose class is −1, None or NaN are never drawn.
    n_labels : int, float, or dict of class to int or float
        How many rows get a label, all different and drawn uniformly. A float is a share of the
        rows with a known class among ``classes``; a dict gives numbers, or shares, for each class.
        1 is one row, and 1.0 is all rows.
    n_negative : int or float
        How many statements ``not_label``, as a share of the same rows: different cells of a row
        that has no label, and a class that is not its own.
    promote : bool
        Whether a row for which all classes but one are excluded gets that one as its label, in
        place of what excludes the others. It keeps its annotator if there is only one.
    classes : int or sequence of classes, optional
        Draw rows of these classes only, or of that many classes drawn at random.
    min_share : float
        The share of all rows with a known class that the classes drawn at random must hold.
    accuracy : float
        How often a statement is right.
    exact : bool
        Whether that share of the statements (of each annotator, rounded) is right, rather than
        each one with that probability.
    wrong_label : {"other", "any"}
        The class of the other statements: any other class, uniformly; or any class, including the
        right one. A wrong ``not_label`` with ``"other"`` excludes the row's own class.
    annotators : str, list of str, or dict of str to float, optional
        Who makes the statements; a dict gives each one's accuracy. Each statement is made by one
        of them, drawn uniformly unless there is a ``quota``.
    quota : dict of str to int, optional
        How many statements each annotator makes.
    rounding : {"round", "ceil", "floor"}
        How a float becomes a number of rows; "round" is to the even one on a tie, as in Python.
    random_state : int, Generator, RandomState or None
        The seed; one integer is drawn from a generator.

    Returns
    -------
    SideInformation

    See Also
    --------
    sample_pairs : the same for pairs.

    Notes
    -----
    The schemes of the papers, for n rows:

    - PLSI, 10 to 50 % of the rows: ``sample_labels(y, 0.1)``; its noise, a share of 30 % that is
      drawn anew: ``sample_labels(y, 0.1, accuracy=0.7, exact=True, wrong_label="any")``.
    - SS-DPGMM, 0 to 50 %: ``sample_labels(y, 0.2)``; its example 3.1, with a ``y`` that gives both
      middle clusters one name:
      ``sample_labels(y, {"bottom": 0.05, "top": 0.05, "middle": 0.1})``.
    - SSE, int(0.1 n) labels and as many negative ones:
      ``sample_labels(y, 0.1, n_negative=0.1, promote=True, rounding="floor")``.
    - CoMaC, ceil(x n) rows: ``sample_labels(y, 0.1, rounding="ceil")``; of two classes that hold
      30 %: ``sample_labels(y, round(0.1 * len(y)), classes=2, min_share=0.3)``; its noise:
      ``sample_labels(y, 0.3, rounding="ceil", accuracy=0.8, exact=True)``.

    Examples
    --------
    >>> from sidelight.side import sample_labels
    >>> y = ["cat"] * 5 + ["dog"] * 5
    >>> sample_labels(y, {"cat": 2, "dog": 1}, n_negative=3, random_state=0)
    SideInformation(10 rows; 3 label, 3 not_label; 2 classes)
    """
    truth = _read_truth(y)
    rng = as_generator(random_state)
    if wrong_label not in ("other", "any"):
        raise SideInformationError(f'wrong_label is "other" or "any", not {wrong_label!r}.')
    allowed = _choose_classes(truth, classes, min_share, rng)
    eligible = truth.rows[np.isin(truth.codes[truth.rows], allowed)]
    n_cells = _count(n_negative, len(eligible), "n_negative", rounding)
    if n_labels is None and quota is not None:
        n_labels = sum(quota.values()) - n_cells
    labelled = _draw_rows(truth, eligible, n_labels, classes, rounding, rng)
    row, other = _draw_cells(truth, np.setdiff1d(eligible, labelled), n_cells, rng)
    kind = np.repeat([LABEL, NOT_LABEL], [len(labelled), len(row)])
    rows, true = np.append(labelled, row), truth.codes[np.append(labelled, row)]
    stated = np.append(truth.codes[labelled], other)
    said = _assign(len(rows), annotators, quota, accuracy, exact, rng)
    stated = _make_mistakes(truth, kind, true, stated, said.wrong, wrong_label, rng)
    table = _Labels(kind, rows, stated, said.who)
    if promote:
        table = _promote(table, len(truth.names))
    return SideInformation.from_columns(
        table.kind,
        table.row,
        class_=truth.names[table.class_],
        annotator=None if said.people is None else said.people[table.who],
        n_samples=len(truth.codes),
    )


# The truth


class _Truth(NamedTuple):
    codes: Ints  # class of each row, −1 unknown
    names: NDArray[Any]  # objects
    rows: Ints  # rows with a known class, sorted by class
    sizes: Ints  # of the classes


def _read_truth(y: ArrayLike) -> _Truth:
    column = as_column(y)
    if column.ndim != 1:
        raise SideInformationError(
            f"y has shape {column.shape}; give one class per row, with -1 where it is unknown."
        )
    codes, names = encode(column, len(column), "y")
    known = [h for h, name in enumerate(names) if isinstance(name, (bool, str)) or name != -1]
    renumbered = np.full(len(names) + 1, -1, dtype=np.int64)  # the last entry serves code −1
    renumbered[known] = np.arange(len(known))
    codes = renumbered[codes]
    rows = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    sizes = np.bincount(codes[rows], minlength=len(known))
    table: NDArray[Any] = np.fromiter(names, dtype=object, count=len(names))[known]
    return _Truth(codes, table, rows, sizes)


# Counting


def _count(number: Number, base: int, what: str, rounding: str) -> int:
    """A number of statements, or a multiple of `base`, as a whole number."""
    if rounding not in _ROUNDINGS:
        raise SideInformationError(f"rounding is one of {', '.join(_ROUNDINGS)}, not {rounding!r}.")
    if isinstance(number, (int, np.integer)) and not isinstance(number, bool) and number >= 0:
        return int(number)
    if isinstance(number, (float, np.floating)) and math.isfinite(number) and number >= 0:
        return _ROUNDINGS[rounding](_fraction(number) * base)
    raise SideInformationError(
        f"{what} is {number!r}; give a whole number, or a float as a multiple of {base} rows."
    )


def _fraction(number: float) -> Fraction:
    """The number as it is written: 0.1 of 70 rows are 7 rows, also when rounding up."""
    return Fraction(repr(float(number)))


def _draw(size: int, n: int, replace: bool, what: str, rng: np.random.Generator) -> Ints:
    """`n` of the numbers 0 … size − 1, in random order."""
    if (n and not size) or (n > size and not replace):
        thing = _THINGS.get(what, "rows")
        raise SideInformationError(
            f"{what} asks for {n:,} {thing}, and y has {size:,} of them"
            f"{'' if replace else ', to draw without replacement'}; ask for no more than that."
        )
    if replace:
        return rng.integers(size, size=n) if n else np.empty(0, dtype=np.int64)
    if 4 * n >= size:
        return rng.permutation(size)[:n]
    # First appearances in a long enough random sequence are a draw without replacement.
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        drawn = np.append(drawn, rng.integers(size, size=n - len(drawn) + n // 8 + 16))
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn[:n]


# Pairs, numbered


_Universe = tuple[int, Callable[[Ints], tuple[Ints, Ints]]]


class _Pairs:
    """All pairs of rows, all pairs of one class, and all pairs of two: how many, and which.

    Ends are positions in ``truth.rows``, where the rows of a class stand together.
    """

    def __init__(self, truth: _Truth, ordered: bool, with_self: bool) -> None:
        self.sizes = truth.sizes
        self.ends = np.cumsum(truth.sizes)
        self.n = len(truth.rows)
        self.ordered = ordered
        self.with_self = with_self

    @property
    def any(self) -> _Universe:
        """Every pair."""
        return int(self._number(np.array(self.n))), lambda k: self._inside(k, np.array(self.n))

    @property
    def same(self) -> _Universe:
        """Pairs of one class, class after class."""
        counts = np.cumsum(self._number(self.sizes))

        def find(k: Ints) -> tuple[Ints, Ints]:
            h, k = _block(counts, k)
            a, b = self._inside(k, self.sizes[h])
            start = self.ends[h] - self.sizes[h]
            return start + a, start + b

        return int(counts[-1]) if len(counts) else 0, find

    @property
    def different(self) -> _Universe:
        """Pairs of two classes: of each class with all others, or with those after it."""
        others = self.n - (self.sizes if self.ordered else self.ends)
        counts = np.cumsum(self.sizes * others)

        def find(k: Ints) -> tuple[Ints, Ints]:
            h, k = _block(counts, k)
            start = self.ends[h] - self.sizes[h]
            a, b = np.divmod(k, others[h])
            skipped = self.sizes[h] * (b >= start) if self.ordered else self.ends[h]
            return start + a, b + skipped

        return int(counts[-1]) if len(counts) else 0, find

    def _number(self, size: Ints) -> Ints:
        """Number of pairs among n rows."""
        ordered = size * (size + 1 if self.with_self else size - 1)
        if self.ordered:
            return size * size if self.with_self else ordered
        return ordered // 2

    def _inside(self, k: Ints, size: Ints) -> tuple[Ints, Ints]:
        """The k-th pair among n rows."""
        if self.ordered:
            a, b = np.divmod(k, size if self.with_self else size - 1)
            return a, b if self.with_self else b + (b >= a)
        # k = b (b + 1) / 2 + a with a <= b; the root may be off by one where 8 k passes 2^53
        b = ((np.sqrt(8.0 * k + 1) - 1) / 2).astype(np.int64)
        b -= b * (b + 1) // 2 > k
        b += (b + 1) * (b + 2) // 2 <= k
        return k - b * (b + 1) // 2, b if self.with_self else b + 1


def _block(counts: Ints, k: Ints) -> tuple[Ints, Ints]:
    """In which block of cumulated counts the numbers lie, and where inside it."""
    block = np.searchsorted(counts, k, side="right")
    return block, k - np.append(0, counts)[block]


# People


class _Said(NamedTuple):
    wrong: NDArray[np.bool_]
    who: Ints  # −1 for no annotator
    people: NDArray[Any] | None  # names, and None for code −1

    @property
    def names(self) -> NDArray[Any] | None:
        return None if self.people is None else self.people[self.who]


def _assign(
    n: int,
    annotators: str | Sequence[str] | Mapping[str, float] | None,
    quota: Mapping[str, int] | None,
    accuracy: float,
    exact: bool,
    rng: np.random.Generator,
) -> _Said:
    """Who makes each statement, and whether it is wrong."""
    if annotators is None and quota is not None:
        annotators = list(quota)
    if annotators is None:
        people, who = None, np.full(n, -1, dtype=np.int64)
        right = np.array([_probability(accuracy, "accuracy")])
    else:
        names = [annotators] if isinstance(annotators, str) else list(annotators)
        right = _accuracies(names, annotators, accuracy)
        people = np.array([*names, None], dtype=object)
        who = rng.integers(len(names), size=n) if quota is None else _deal(n, names, quota, rng)
    if not exact:
        return _Said(rng.random(n) >= right[who], who, people)
    wrong = np.zeros(n, dtype=bool)
    for code, p in enumerate(right):
        own = np.flatnonzero(who == (code if people is not None else -1))
        wrong[rng.permutation(own)[: round((1 - _fraction(p)) * len(own))]] = True
    return _Said(wrong, who, people)


def _accuracies(names: list[str], annotators: Any, accuracy: float) -> NDArray[np.float64]:
    if not names or len(set(names)) < len(names) or not all(isinstance(a, str) for a in names):
        raise SideInformationError(
            f"annotators are {names!r}; give the names of at least one, each once, as texts."
        )
    if not isinstance(annotators, Mapping):
        return np.full(len(names), _probability(accuracy, "accuracy"))
    if accuracy != 1.0:
        raise SideInformationError(
            "annotators= says how accurate each one is; leave accuracy= out, or give names only."
        )
    return np.array([_probability(annotators[a], f"the accuracy of {a!r}") for a in names])


def _probability(value: Any, what: str) -> float:
    if isinstance(value, (int, float, np.number)) and 0 <= value <= 1:
        return float(value)
    raise SideInformationError(f"{what} is {value!r}; give a number between 0 and 1.")


def _deal(n: int, names: list[str], quota: Mapping[str, int], rng: np.random.Generator) -> Ints:
    """Give each annotator as many of the statements as the quota says."""
    unknown = [name for name in quota if name not in names]
    if unknown:
        raise SideInformationError(
            f"quota names {', '.join(map(repr, unknown))}; the annotators are "
            f"{', '.join(map(repr, names))}."
        )
    shares = [_count(quota.get(name, 0), 0, f"the quota of {name!r}", "round") for name in names]
    if sum(shares) != n:
        raise SideInformationError(
            f"quota gives {sum(shares):,} statements and {n:,} are drawn; make them agree, "
            "or leave out the number to draw."
        )
    return rng.permutation(np.repeat(np.arange(len(names)), shares))


# Labels


class _Labels(NamedTuple):
    kind: Ints
    row: Ints
    class_: Ints
    who: Ints


def _codes_of(truth: _Truth, wanted: Sequence[Any], what: str) -> Ints:
    """Codes of classes that are given by name."""
    code = {(type(name), name): h for h, name in enumerate(truth.names)}
    plain = [name.item() if isinstance(name, np.generic) else name for name in wanted]
    unknown = [name for name in plain if (type(name), name) not in code]
    if unknown:
        there = ", ".join(map(repr, truth.names[:20]))
        raise SideInformationError(
            f"{what} names {', '.join(map(repr, unknown[:5]))}; the classes of y are {there}."
        )
    return np.array([code[type(name), name] for name in plain], dtype=np.int64)


def _choose_classes(
    truth: _Truth,
    classes: int | Sequence[Any] | None,
    min_share: float,
    rng: np.random.Generator,
) -> Ints:
    """The classes whose rows may be drawn."""
    k = len(truth.names)
    if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool):
        if not 1 <= classes <= k or math.comb(k, classes) > _MOST_CLASS_SETS:
            raise SideInformationError(
                f"classes={classes} asks for {classes} of {k} classes at random; "
                "ask for fewer, or name them."
            )
        sets = np.array(list(combinations(range(k), classes)), dtype=np.int64)
        least = math.ceil(_fraction(_probability(min_share, "min_share")) * len(truth.rows))
        fitting = sets[truth.sizes[sets].sum(axis=1) >= least]
        if not len(fitting):
            raise SideInformationError(
                f"no {classes} classes hold {min_share:.0%} of the {len(truth.rows):,} rows; "
                "lower min_share, or ask for more classes."
            )
        chosen: Ints = fitting[rng.integers(len(fitting))]
        return chosen
    if min_share != 0:
        raise SideInformationError("min_share goes with a number of classes drawn at random.")
    if classes is None:
        return np.arange(k)
    if isinstance(classes, (str, bool, float)):
        raise SideInformationError(f"classes is a list of classes or a number, not {classes!r}.")
    return _codes_of(truth, list(classes), "classes")


def _draw_rows(
    truth: _Truth,
    eligible: Ints,
    n_labels: Number | Mapping[Any, Number] | None,
    classes: Any,
    rounding: str,
    rng: np.random.Generator,
) -> Ints:
    """Rows to label, all different."""
    if n_labels is None:
        raise SideInformationError("how many labels? Give n_labels=.")
    if not isinstance(n_labels, Mapping):
        n = _count(n_labels, len(eligible), "n_labels", rounding)
        return eligible[_draw(len(eligible), n, False, "n_labels", rng)]
    if classes is not None:
        raise SideInformationError("n_labels names classes already; leave classes= out.")
    drawn = [np.empty(0, dtype=np.int64)]
    for h, (name, number) in zip(
        _codes_of(truth, list(n_labels), "n_labels"), n_labels.items(), strict=True
    ):
        own = eligible[truth.codes[eligible] == h]
        what = f"n_labels of {name!r}"
        drawn.append(
            own[_draw(len(own), _count(number, len(own), what, rounding), False, what, rng)]
        )
    return np.concatenate(drawn)


def _draw_cells(truth: _Truth, rows: Ints, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Different cells of a row and a class that is not its own."""
    others = max(len(truth.names) - 1, 0)
    number = _draw(len(rows) * others, n, False, "n_negative", rng)
    row, step = np.divmod(number, max(others, 1))
    return rows[row], (truth.codes[rows[row]] + 1 + step) % max(len(truth.names), 1)


def _make_mistakes(
    truth: _Truth,
    kind: Ints,
    true: Ints,
    stated: Ints,
    wrong: NDArray[np.bool_],
    wrong_label: str,
    rng: np.random.Generator,
) -> Ints:
    """The classes that are stated; wrong ones are drawn again."""
    k = len(truth.names)
    if wrong_label == "any":
        return np.where(wrong, rng.integers(max(k, 1), size=len(true)), stated)
    if k < 2 and wrong.any():
        raise SideInformationError(
            "y has one class only, so no label can be wrong; leave accuracy at 1."
        )
    other = (true + 1 + rng.integers(max(k - 1, 1), size=len(true))) % max(k, 1)
    return np.where(wrong, np.where(kind == LABEL, other, true), stated)


def _promote(said: _Labels, k: int) -> _Labels:
    """Give a label to each row for which k − 1 classes are excluded."""
    negative = said.kind == NOT_LABEL
    cells = distinct(said.row[negative] * k + said.class_[negative])
    rows, first, counts = np.unique(cells // k, return_index=True, return_counts=True)
    excluded = np.add.reduceat(cells % k, first) if len(first) else first
    settled = counts == k - 1
    label = (k * (k - 1) // 2 - excluded)[settled]
    row = rows[settled]
    replaced = negative & np.isin(said.row, row)
    position = np.searchsorted(row, said.row[replaced])
    lowest = np.full(len(row), np.iinfo(np.int64).max)
    highest = np.full(len(row), -1)
    np.minimum.at(lowest, position, said.who[replaced])
    np.maximum.at(highest, position, said.who[replaced])
    new = (np.full(len(row), LABEL), row, label, np.where(lowest == highest, lowest, -1))
    kept = (column[~replaced] for column in said)
    return _Labels(*(np.append(a, b) for a, b in zip(kept, new, strict=True)))
