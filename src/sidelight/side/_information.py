"""SideInformation: the one object that carries what people know about the rows of a data set.

Files and frames build SideInformation themselves, so they are imported where they are used.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sidelight.exceptions import SideInformationError, UnknownNumberOfRowsError
from sidelight.side import _closure, _conflicts, _feasibility, _matching, _notebook, _views
from sidelight.side._kinds import CANNOT, KINDS, LABEL, MUST, TABLE
from sidelight.side._names import (
    Name,
    as_column,
    is_known,
    is_missing,
    same_names,
    union_names,
)
from sidelight.side._pairs import concatenate, graph_edges, pair_columns
from sidelight.side._statements import (
    Ints,
    SelfPairs,
    Statements,
    Table,
    check_index,
    check_statements,
    compact,
    distinct,
    heaviest_class,
    new_numbers,
    row_positions,
)

# More than any table: a damaged header, or a number that is an id. No memory holds that.
_MAX_ROWS = 10**12


@dataclass(frozen=True, eq=False, repr=False)
class SideInformation:
    """Statements of people about the rows of a data set, as an immutable table.

    A statement is one of five kinds: ``must`` (these two rows belong together), ``cannot`` (these
    two do not), ``unsure`` (the annotator can't tell), ``label`` (this row is of a class) and
    ``not_label`` (this row is not of a class). Each may carry a weight, the name of its annotator
    and, for labels, the vocabulary of the class name: labels of different vocabularies are never
    compared. Statements may be repeated and may contradict each other: see `conflicts`.

    Build one with `from_labels`, `from_pairs`, `from_graphs`, `from_frame`, `from_columns` or
    `read`, and join sources with ``+``. It is data about rows, so it has ``shape == (n_samples,)``
    and can be indexed by rows. Cross-validation does so: each fold keeps the statements about its
    own rows.

    Parameters
    ----------
    statements : Statements
        The checked columns. The constructor is for internal use; the methods below check their
        input.
    n_samples : int
        The number of rows of the data set.
    classes, annotators, vocabularies : tuple
        The names behind the codes in ``statements``, sorted.
    index : ndarray or None
        The user's own row ids, if there are any.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> labels = SideInformation.from_labels(["hernia", None, None, "normal", None])
    >>> pairs = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 4)], n_samples=5)
    >>> side = labels + pairs
    >>> side
    SideInformation(5 rows; 1 must, 1 cannot, 2 label; 2 classes)
    >>> side.groups()
    array([0, 0, 1, 2, 3])
    >>> side[[0, 1, 3]]
    SideInformation(3 rows; 1 must, 2 label; 2 classes)
    >>> wrong = side + SideInformation.from_pairs(must=[(1, 3)], n_samples=5)
    >>> print(wrong.conflicts()[0])
    row 3 is 'normal', yet 3 with 1 (must), 1 with 0 (must), 0 is 'hernia' (label)
    """

    statements: Statements
    n_samples: int
    classes: tuple[Name, ...] = ()
    annotators: tuple[Name, ...] = ()
    vocabularies: tuple[Name, ...] = ()
    index: NDArray[Any] | None = None

    __hash__ = None  # type: ignore[assignment]
    __iter__ = None  # numpy would otherwise try to walk through the rows

    # Ways in

    @classmethod
    def from_columns(
        cls,
        kind: Any,
        i: Any,
        j: Any = None,
        *,
        class_: Any = None,
        weight: Any = None,
        annotator: Any = None,
        vocabulary: Any = None,
        n_samples: int | None = None,
        index: Any = None,
        classes: Any = None,
        self_pairs: SelfPairs = "raise",
    ) -> "SideInformation":
        """Build from columns, one entry per statement.

        Parameters
        ----------
        kind : str or sequence
            ``must``, ``cannot``, ``unsure``, ``label`` or ``not_label``, one for all or one each.
        i, j : sequence
            Rows, by position, or by id when ``index`` is given. ``j`` is empty (None, NaN, or −1)
            for labels. An ``unsure`` without ``j`` says that the class of row ``i`` is unknown.
        class_, weight, annotator, vocabulary : value or sequence, optional
            One value for all statements, or one each; missing entries take the default: weight 1,
            no annotator, the shared vocabulary.
        n_samples : int, optional
            The number of rows; needed unless ``index`` is given.
        index : sequence, optional
            The user's own ids of all rows, in their order.
        classes : sequence, optional
            The classes that may occur; a label outside is an error.
        self_pairs : {"raise", "drop", "keep"}
            What to do with a pair of a row with itself.

        Returns
        -------
        SideInformation

        Examples
        --------
        >>> SideInformation.from_columns(
        ...     ["must", "not_label"], ["ann", "bob"], ["bob", None], class_=[None, "cat"],
        ...     index=["ann", "bob", "cy"])
        SideInformation(3 rows; 1 must, 1 not_label; 1 class)
        """
        index, n_samples = _check_size(index, n_samples)
        table = check_statements(
            kind,
            i,
            j,
            class_,
            weight=weight,
            annotator=annotator,
            vocabulary=vocabulary,
            n_samples=n_samples,
            index=index,
            classes=classes,
            self_pairs=self_pairs,
        )
        return cls._from_table(table, n_samples, index)

    @classmethod
    def from_labels(
        cls,
        y: ArrayLike,
        *,
        classes: Any = None,
        weight: Any = None,
        annotator: str | None = None,
        vocabulary: str | None = None,
        index: Any = None,
    ) -> "SideInformation":
        """Build from partial labels, one entry per row; −1, None, NaN, NA and "" mean unknown.

        Class names survive; a text of blanks is unknown too, as in a table. Whole numbers that a
        table has turned into floats (0.0, 1.0, NaN) are taken for the whole numbers that they were.

        Parameters
        ----------
        y : sequence of length n_samples
            Labels of any name, with gaps.
        classes : sequence, optional
            The classes that may occur; a label outside is an error.
        weight : float or sequence of length n_samples, optional
            Weight of the labels (1).
        annotator, vocabulary : str, optional
            The annotator, and the vocabulary of the class names.
        index : sequence, optional
            The user's own row ids.

        Returns
        -------
        SideInformation

        Examples
        --------
        >>> SideInformation.from_labels([0, -1, 1, -1]).labels
        array([ 0, -1,  1, -1])
        """
        y = as_column(y)
        if y.ndim != 1:
            raise SideInformationError(
                f"y has shape {y.shape}; give one label per row, with -1 where it is unknown."
            )
        rows = np.flatnonzero(is_known(y))
        if np.ndim(weight):
            weight = as_column(weight)
            if len(weight) != len(y):
                raise SideInformationError(
                    f"weight has {len(weight)} entries for {len(y)} rows; "
                    "give one per row, or a number for all."
                )
            weight = weight[rows]
        index, n_samples = _check_size(index, len(y))
        return cls.from_columns(
            "label",
            rows if index is None else index[rows],
            class_=y[rows],
            weight=weight,
            annotator=annotator,
            vocabulary=vocabulary,
            n_samples=n_samples,
            index=index,
            classes=classes,
        )

    @classmethod
    def from_pairs(
        cls,
        must: Any = None,
        cannot: Any = None,
        *,
        n_samples: int | None = None,
        index: Any = None,
        weight: Any = None,
        annotator: Any = None,
        self_pairs: SelfPairs = "raise",
    ) -> "SideInformation":
        """Build from lists of pairs.

        Parameters
        ----------
        must, cannot : array-like of shape (n, 2), optional
            Rows that belong together, and rows that do not.
        n_samples, index, self_pairs
            As in `from_columns`.
        weight, annotator : value or sequence, optional
            One for all pairs, or one each, the must pairs first.

        Returns
        -------
        SideInformation

        Examples
        --------
        >>> SideInformation.from_pairs(must=[(0, 1), (1, 2)], n_samples=4).groups()
        array([0, 0, 0, 1])
        """
        first, second = pair_columns(must, "must")
        other_first, other_second = pair_columns(cannot, "cannot")
        return cls.from_columns(
            np.repeat([MUST, CANNOT], [len(first), len(other_first)]),
            concatenate(first, other_first),
            concatenate(second, other_second),
            weight=weight,
            annotator=annotator,
            n_samples=n_samples,
            index=index,
            self_pairs=self_pairs,
        )

    @classmethod
    def from_graphs(
        cls,
        must: Any = None,
        cannot: Any = None,
        *,
        annotator: str | None = None,
        index: Any = None,
        self_pairs: SelfPairs = "raise",
    ) -> "SideInformation":
        """Build from weighted graphs: symmetric matrices, sparse or dense, or one triangle of them.

        Entry (i, j) is the weight of the pair; a self pair of weight w is 2 w on the diagonal, as
        in every undirected graph. `graphs` is the way back.

        Parameters
        ----------
        must, cannot : sparse matrix or array of shape (n_samples, n_samples), optional
            The two graphs.
        annotator, index, self_pairs
            As in `from_columns`.

        Returns
        -------
        SideInformation

        Examples
        --------
        >>> import numpy as np
        >>> SideInformation.from_graphs(must=np.array([[0, 2, 0], [2, 0, 0], [0, 0, 0]]))
        SideInformation(3 rows; 1 must)
        """
        edges = [graph_edges(graph, kind) for graph, kind in ((must, "must"), (cannot, "cannot"))]
        sizes = {size for _, _, _, size in edges if size is not None}
        if len(sizes) != 1:
            raise SideInformationError(
                f"the graphs have {sorted(sizes)} rows; give at least one, both of the same size."
            )
        (n_samples,) = sizes
        index, n_samples = _check_size(index, n_samples)
        rows, columns, weights = (np.concatenate([e[k] for e in edges]) for k in range(3))
        return cls.from_columns(
            np.repeat([MUST, CANNOT], [len(edges[0][0]), len(edges[1][0])]),
            rows if index is None else index[rows],
            columns if index is None else index[columns],
            weight=weights,
            annotator=annotator,
            n_samples=n_samples,
            index=index,
            self_pairs=self_pairs,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        n_samples: int | None = None,
        index: Any = None,
        classes: Any = None,
        self_pairs: SelfPairs = "raise",
    ) -> "SideInformation":
        """Build from a data frame (pandas, polars, Arrow) with a statement in each line.

        Parameters
        ----------
        frame : data frame
            Columns ``kind``, ``i`` and, as needed, ``j``, ``class``, ``weight``, ``annotator``,
            ``vocabulary``.
        n_samples, index, classes, self_pairs
            As in `from_columns`.

        Returns
        -------
        SideInformation

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"kind": ["must"], "i": ["a"], "j": ["c"]})
        >>> SideInformation.from_frame(frame, index=["a", "b", "c"]).must
        array([[0, 2]])
        """
        from sidelight.side._frames import columns_of

        return cls.from_columns(
            **columns_of(frame),
            n_samples=n_samples,
            index=index,
            classes=classes,
            self_pairs=self_pairs,
        )

    @classmethod
    def empty(cls, n_samples: int, *, index: Any = None) -> "SideInformation":
        """No statements about ``n_samples`` rows."""
        return cls.from_columns(
            np.empty(0, dtype=np.int8),
            np.empty(0, dtype=np.int64),
            n_samples=n_samples,
            index=index,
        )

    @classmethod
    def read(cls, path: str | PathLike[str], **how: Any) -> "SideInformation":
        """Read statements from a file; see `sidelight.side.read` for formats and options.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
        >>> side.write(folder / "known.jsonl")
        >>> SideInformation.read(folder / "known.jsonl") == side
        True
        """
        from sidelight.side._files import read

        return read(path, **how)

    # Ways out

    def write(
        self,
        path: str | PathLike[str],
        *,
        format: str | None = None,
        extra: Mapping[str, Sequence[Any]] | None = None,
        overwrite: bool = False,
        keep_formulas: bool = False,
    ) -> None:
        """Write all statements to a file; see `sidelight.side.write` for formats and options."""
        from sidelight.side._files import write

        write(
            self, path, format=format, extra=extra, overwrite=overwrite, keep_formulas=keep_formulas
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """The statements as a pandas, polars or pyarrow table, rows by the user's ids."""
        from sidelight.side._frames import to_frame

        return to_frame(self, backend=backend)

    @property
    def shape(self) -> tuple[int]:
        """``(n_samples,)``: side information is data about rows."""
        return (self.n_samples,)

    @property
    def n_statements(self) -> int:
        """The number of statements, of all kinds, repeated ones included."""
        return len(self.statements.kind)

    @cached_property
    def must(self) -> Ints:
        """Pairs that belong together, as stated: (n, 2) row positions."""
        return self._pairs(MUST)

    @cached_property
    def cannot(self) -> Ints:
        """Pairs that do not belong together, as stated: (n, 2) row positions."""
        return self._pairs(CANNOT)

    @cached_property
    def labels(self) -> Ints:
        """For each row the code of its class in `classes`, −1 where it is unknown.

        Where people disagree, the class with the larger total weight wins, and the first one on a
        tie. Only for labels of one vocabulary; choose one with `only` where there are several.
        """
        said = self._binding(LABEL)
        if len(np.unique(said.vocabulary)) > 1:
            used = [repr(name) for name in self.vocabularies]
            if (said.vocabulary < 0).any():
                used.append("the shared one, None")
            raise SideInformationError(
                f"the labels use several vocabularies ({', '.join(used)}), which are not "
                "comparable; choose one with only(vocabulary=[...])."
            )
        return self.leading_labels

    def to_labels(self, unknown: Any = -1) -> NDArray[Any]:
        """For each row the name of its class, or ``unknown`` without a label; see `labels`.

        An array of integers if all names and ``unknown`` are integers, otherwise of objects: each
        name keeps its type.
        """
        names = [*self.classes, unknown.item() if isinstance(unknown, np.integer) else unknown]
        table = np.fromiter(names, dtype=object, count=len(names))
        if all(type(name) is int and -(2**63) <= name < 2**63 for name in names):
            table = table.astype(np.int64)
        return table[self.labels]

    def to_pairs(self) -> dict[str, Ints]:
        """``{"must": …, "cannot": …}``, the arguments of `from_pairs`."""
        return {"must": self.must, "cannot": self.cannot}

    def graphs(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The must graph and the cannot graph: symmetric CSR, entries are summed weights.

        A self pair of weight w stands as 2 w on the diagonal.
        """
        return self._graph(MUST), self._graph(CANNOT)

    def groups(self) -> Ints:
        """Rows that belong together: by must-links, and by equal labels inside one vocabulary.

        Returns
        -------
        ndarray of shape (n_samples,)
            Group numbers, in the order of each group's first row.
        """
        return self.closure().groups

    # Views for models: of binding statements, computed once, read-only

    @cached_property
    def canonical(self) -> Statements:
        """The binding statements, sorted, so that sums do not depend on their order.

        By kind, rows, class, weight, annotator and vocabulary; repeated statements are repeated
        here.

        Examples
        --------
        >>> side = SideInformation.from_pairs(must=[(2, 3), (0, 1)], n_samples=4)
        >>> side.canonical.i.tolist()
        [0, 2]
        """
        return _views.canonical(self.statements)

    @cached_property
    def once(self) -> Statements:
        """The binding statements, each once with its largest weight, from any annotator; sorted.

        For models in which repetition does not add up. Pairs of a row with itself are left out.
        """
        return _views.once(self.statements)

    @cached_property
    def class_columns(self) -> "_views.ClassColumns":
        """The classes, each once in every vocabulary: see `sidelight.side.ClassColumns`."""
        return _views.ClassColumns.of(self)

    @cached_property
    def signed_graph(self) -> sparse.csr_array:
        """The stated pairs as one symmetric graph: must above zero, cannot below, summed.

        Pairs of a row with itself, and pairs whose statements add up to zero, have no entry.
        """
        return _views.signed_graph(self)

    @cached_property
    def annotated_rows(self) -> Ints:
        """The rows with a binding statement, ascending."""
        rows = self.canonical.rows
        rows.flags.writeable = False
        return rows

    @cached_property
    def leading_vocabulary(self) -> int:
        """The vocabulary that names clusters: the one with the most label weight, −1 for shared.

        Ties go to the shared one, then to the first by name.
        """
        return _views.leading_vocabulary(self)

    @cached_property
    def leading_labels(self) -> Ints:
        """`labels` of the leading vocabulary; no error with several vocabularies."""
        said = self._binding(LABEL)
        said = said.take(said.vocabulary == self.leading_vocabulary)
        labels = heaviest_class(said.i, said.class_code, said.weight, self.n_samples)
        labels.flags.writeable = False
        return labels

    @cached_property
    def labelled_classes(self) -> Ints:
        """The classes with a label in the leading vocabulary, as codes."""
        said = self._binding(LABEL)
        classes = distinct(said.class_code[said.vocabulary == self.leading_vocabulary])
        classes.flags.writeable = False
        return classes

    # What follows

    def closure(self) -> "_closure.Closure":
        """Everything that the statements imply: see `sidelight.side.Closure`."""
        return self._closure

    def conflicts(self, limit: int = 100) -> "_conflicts.Conflicts":
        """Every statement that the others contradict, and the shortest chain for the first ones.

        Parameters
        ----------
        limit : int
            For how many statements to find a chain at once. All broken statements are found in
            linear time; a chain costs a search each, and `Conflicts.chain` gives more on request.

        Returns
        -------
        Conflicts
        """
        return _conflicts.find_conflicts(self, limit)

    def feasible(self, n_clusters: int) -> "_feasibility.Feasibility":
        """Whether ``n_clusters`` clusters can keep every statement: see `Feasibility`."""
        return _feasibility.colour(self, n_clusters)

    def violated(
        self, labels: ArrayLike, *, clusters: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """For each statement whether a partition breaks it.

        A row of noise (−1) is in no cluster: it breaks must-links and labels, and no cannot-link.
        ``unsure`` is never broken.

        Parameters
        ----------
        labels : array of shape (n_samples,)
            Cluster numbers from 0.
        clusters : array of shape (n_vocabularies + 1, n_classes), optional
            The cluster of each class, −1 where it has none; by default they are matched by the
            weight of the labels (`sidelight.side.match_classes`, whose form this has).

        Returns
        -------
        ndarray of bool, one per statement
        """
        return _matching.violated(self, labels, clusters)

    # Choosing and joining

    def only(
        self,
        *,
        kind: str | list[str] | None = None,
        annotator: Any = None,
        vocabulary: Any = None,
    ) -> "SideInformation":
        """The statements of some kinds, annotators or vocabularies.

        Parameters
        ----------
        kind : str or list of str, optional
            Kinds to keep.
        annotator, vocabulary : name or list of names, optional
            Annotators and vocabularies to keep; in a list, None stands for statements without
            annotator and for the shared vocabulary.

        Returns
        -------
        SideInformation

        Examples
        --------
        >>> side = SideInformation.from_labels([0, 1, -1], annotator="ann")
        >>> side.only(annotator=[None]).n_statements
        0
        """
        said = self.statements
        keep = np.ones(self.n_statements, dtype=bool)
        for wanted, names, codes in (
            (kind, KINDS, said.kind),
            (annotator, self.annotators, said.annotator),
            (vocabulary, self.vocabularies, said.vocabulary),
        ):
            if wanted is not None:
                keep &= np.isin(codes, _codes_of(wanted, names, strict=names is KINDS))
        return self._choose(keep)

    def where(self, keep: ArrayLike) -> "SideInformation":
        """The statements for which ``keep``, one truth value per statement, is true.

        Examples
        --------
        >>> side = SideInformation.from_labels([0, 1, -1], weight=[1.0, 0.5, 1.0])
        >>> side.where(side.statements.weight > 0.9).n_statements
        1
        """
        keep = np.asarray(keep)
        if keep.shape != (self.n_statements,) or keep.dtype != bool:
            raise SideInformationError(
                f"keep has shape {keep.shape} and type {keep.dtype}; give True or False for each "
                f"of the {self.n_statements} statements."
            )
        return self._choose(keep)

    def __getitem__(self, rows: Any) -> "SideInformation":
        """Keep some rows, renumbered, and the statements whose rows all survive."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # scikit-learn's way of indexing an array of unknown dimension
        chosen = row_positions(rows, self.n_samples)
        said = self.statements
        i, j = new_numbers(chosen, self.n_samples, said.i, said.j)
        keep = (i >= 0) & ((j >= 0) | (said.j < 0))
        renumbered = said._replace(
            i=np.where((j >= 0) & (j < i), j, i), j=np.where((j >= 0) & (j < i), i, j)
        )
        index = None if self.index is None else self.index[chosen]
        if index is not None:
            index.flags.writeable = False
        return self._with(renumbered.take(keep), n_samples=len(chosen), index=index)

    def condensed(self) -> "tuple[Ints, SideInformation]":
        """The annotated rows, ascending, and the statements renumbered to them.

        Its size depends on the statements, not on the number of rows.

        Examples
        --------
        >>> side = SideInformation.from_pairs(must=[(7, 900)], n_samples=1000)
        >>> rows, condensed = side.condensed()
        >>> rows.tolist(), condensed.n_samples, condensed.must.tolist()
        ([7, 900], 2, [[0, 1]])
        """
        return self._condensed

    def placed(self, place: Any, n_samples: int) -> "SideInformation":
        """Move statements to other rows: those about row i are then about row ``place[i]``.

        Parameters
        ----------
        place : array of shape (n_samples,)
            A row for each row.
        n_samples : int
            How many rows there are now. They have no ids.

        Returns
        -------
        SideInformation

        Examples
        --------
        >>> side = SideInformation.from_pairs(must=[(0, 1)], n_samples=2)
        >>> side.placed([4, 2], 6).must.tolist()
        [[2, 4]]
        """
        said, place = self.statements, np.append(np.asarray(place, dtype=np.int64), -1)
        i, j = place[said.i], place[said.j]
        first = np.where(j >= 0, np.minimum(i, j), i)  # of a pair
        moved = said._replace(i=first, j=np.where(j >= 0, np.maximum(i, j), j))
        return self._with(moved, n_samples=n_samples, index=None)

    def __add__(self, other: object) -> "SideInformation":
        if not isinstance(other, SideInformation):
            return NotImplemented
        if self.n_samples != other.n_samples:
            raise SideInformationError(
                f"side information about {self.n_samples} rows cannot be joined with side "
                f"information about {other.n_samples} rows; both must be about the same data."
            )
        if not _same_index(self.index, other.index):
            raise SideInformationError(
                "the two have different row ids; both must be about the same rows, in one order."
            )
        classes, *new_classes = union_names(self.classes, other.classes)
        annotators, *new_annotators = union_names(self.annotators, other.annotators)
        vocabularies, *new_vocabularies = union_names(self.vocabularies, other.vocabularies)
        first, second = (
            said._replace(
                class_code=new_classes[k][said.class_code],
                annotator=new_annotators[k][said.annotator],
                vocabulary=new_vocabularies[k][said.vocabulary],
            )
            for k, said in enumerate((self.statements, other.statements))
        )
        index = self.index if self.index is not None else other.index
        table = compact(first.join(second), classes, annotators, vocabularies)
        return self._from_table(table, self.n_samples, index)

    def __eq__(self, other: object) -> bool:
        """The same statements about the same rows, in any order."""
        if not isinstance(other, SideInformation):
            return NotImplemented
        if self.n_samples != other.n_samples or self.n_statements != other.n_statements:
            return False
        if (self.index is None) != (other.index is None):
            return False
        if not _same_index(self.index, other.index):
            return False
        names = ("classes", "annotators", "vocabularies")
        if not all(same_names(getattr(self, n), getattr(other, n)) for n in names):
            return False
        return self.statements.same_as(other.statements)

    def __len__(self) -> int:
        return self.n_samples

    def _repr_html_(self) -> str:
        """The statements for a notebook: how many of which kind, and by whom."""
        return _notebook.as_html(self)

    def __repr__(self) -> str:
        counts = np.bincount(self.statements.kind, minlength=len(KINDS))
        said = ", ".join(f"{c:,} {kind}" for c, kind in zip(counts, KINDS, strict=True) if c)
        parts = [f"{self.n_samples:,} rows", said or "nothing said"]
        for names, one, many in (
            (self.classes, "class", "classes"),
            (self.annotators, "annotator", "annotators"),
            (self.vocabularies, "vocabulary", "vocabularies"),
        ):
            if names:
                parts.append(f"{len(names):,} {one if len(names) == 1 else many}")
        return f"SideInformation({'; '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Caches stay behind, and the columns are read-only again on the other side.
        table = Table(self.statements, self.classes, self.annotators, self.vocabularies)
        return _restore, (table, self.n_samples, self.index)

    def describe(self, statement: int, *, start: int | None = None) -> str:
        """One statement in words, with the user's ids; a pair begins with row ``start``.

        Examples
        --------
        >>> side = SideInformation.from_pairs(must=[("a", "c")], index=["a", "b", "c"])
        >>> side.describe(0)
        'a with c (must)'
        """
        said = self.statements
        kind = TABLE[said.kind[statement]]
        near, far = said.i[statement], said.j[statement]
        if far >= 0 and start == far:
            near, far = far, near
        row = self.row_name(near)
        by = (
            ""
            if said.annotator[statement] < 0
            else f", {self.annotators[said.annotator[statement]]}"
        )
        if kind.about == "class":
            told = f"{kind.words} {self.classes[said.class_code[statement]]!r}"
        else:
            told = "is anybody's guess" if far < 0 else f"{kind.words} {self.row_name(far)}"
        return f"{row} {told} ({kind.name}{by})"

    def row_name(self, row: int | np.integer[Any]) -> str:
        """The user's id of a row, or its position."""
        return str(row if self.index is None else self.index[row])

    # Inside

    @classmethod
    def _from_table(
        cls, table: Table, n_samples: int, index: NDArray[Any] | None
    ) -> "SideInformation":
        return cls(
            table.statements, n_samples, table.classes, table.annotators, table.vocabularies, index
        )

    def _with(
        self, statements: Statements, *, n_samples: int, index: NDArray[Any] | None
    ) -> "SideInformation":
        table = compact(statements, self.classes, self.annotators, self.vocabularies)
        return self._from_table(table, n_samples, index)

    def _choose(self, keep: NDArray[np.bool_]) -> "SideInformation":
        return self._with(self.statements.take(keep), n_samples=self.n_samples, index=self.index)

    def _binding(self, kind: int) -> Statements:
        return self.canonical.take(self.canonical.kind == kind)

    def _pairs(self, kind: int) -> Ints:
        said = self.statements
        pairs = np.stack([said.i, said.j], axis=1)[said.kind == kind]
        pairs.flags.writeable = False
        return pairs

    def _graph(self, kind: int) -> sparse.csr_array:
        said = self._binding(kind)
        half = sparse.coo_array((said.weight, (said.i, said.j)), shape=(self.n_samples,) * 2)
        return (half + half.T).tocsr()

    @cached_property
    def _condensed(self) -> "tuple[Ints, SideInformation]":
        said, rows = self.statements, self.statements.rows
        j = np.where(said.j >= 0, np.searchsorted(rows, said.j), -1)
        renumbered = said._replace(i=np.searchsorted(rows, said.i), j=j)
        index = None if self.index is None else self.index[rows]
        for array in (rows, index):
            if array is not None:
                array.flags.writeable = False
        return rows, self._with(renumbered, n_samples=len(rows), index=index)

    @cached_property
    def _closure(self) -> "_closure.Closure":
        return _closure.close(self)


def _restore(table: Table, n_samples: int, index: NDArray[Any] | None) -> SideInformation:
    table = compact(*table)
    if index is not None:
        index.flags.writeable = False
    return SideInformation._from_table(table, n_samples, index)


def _check_size(index: Any, n_samples: Any) -> tuple[NDArray[Any] | None, int]:
    if index is None:
        if n_samples is None:
            raise UnknownNumberOfRowsError(
                "how many rows does the data have?",
                advice="Give n_samples=, or index= with their ids.",
            )
        whole = isinstance(n_samples, (int, np.integer)) and not isinstance(n_samples, bool)
        if not whole or n_samples < 0:
            raise SideInformationError(
                f"n_samples is a number of rows, 0 or more, not {n_samples!r}."
            )
        if n_samples > _MAX_ROWS:
            raise SideInformationError(
                f"n_samples is {n_samples:,}, and at most {_MAX_ROWS:,} rows make sense; give the "
                "number of rows of the data."
            )
        return None, int(n_samples)
    index = check_index(index)
    if n_samples is not None and n_samples != len(index):
        raise SideInformationError(
            f"index has {len(index)} ids for {n_samples} rows; give one id per row."
        )
    return index, len(index)


def _codes_of(wanted: Any, names: tuple[Name, ...], *, strict: bool) -> list[int]:
    one = isinstance(wanted, (str, bool, int, float, np.generic)) or not isinstance(
        wanted, Iterable
    )
    # The type belongs to a name: 1 is not True. A numpy value stands for its Python value.
    chosen = [w.item() if isinstance(w, np.generic) else w for w in ([wanted] if one else wanted)]
    code = {(type(name), name): k for k, name in enumerate(names)}
    unknown = [w for w in chosen if not is_missing(w) and (type(w), w) not in code]
    if unknown:
        allowed = ", ".join(map(repr, names)) or "none"
        raise SideInformationError(f"{', '.join(map(repr, unknown))}: unknown; known: {allowed}.")
    if strict and any(map(is_missing, chosen)):
        raise SideInformationError(f"every statement has a kind: {', '.join(KINDS)}.")
    return [-1 if is_missing(name) else code[type(name), name] for name in chosen]


def _same_index(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    """Whether the row ids agree; no ids agree with any."""
    if first is None or second is None or first is second:
        return True
    if not len(first) and not len(second):  # the type of no ids at all says nothing
        return True
    return first.dtype.kind == second.dtype.kind and np.array_equal(first, second)
