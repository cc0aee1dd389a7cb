"""Every error of sidelight derives from ValueError, every warning from UserWarning."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

__all__ = [
    "DataError",
    "DatasetNotFoundError",
    "LostClassWarning",
    "MissingNumberOfClustersError",
    "SavedModelError",
    "SelfPairsError",
    "SideInformationError",
    "SidelightError",
    "UnknownNumberOfRowsError",
    "UnknownRowsError",
    "UnsupportedStatementError",
    "UnusableColumnsError",
    "WorkersLostError",
]


class SidelightError(ValueError):
    """The root of all errors that sidelight raises on purpose.

    Parameters
    ----------
    message : str
        What came and what is allowed.
    advice : str
        What to do about it, in terms of the Python API. The command line and the workbench replace
        it by advice of their own, chosen by the type of the error.

    Examples
    --------
    >>> from sidelight.exceptions import SidelightError
    >>> issubclass(SidelightError, ValueError)
    True
    >>> error = SidelightError("No row is left.", advice="Give more rows.")
    >>> print(error)
    No row is left. Give more rows.
    >>> print(error.reworded("table.csv has no rows."))
    table.csv has no rows. Give more rows.
    """

    def __init__(self, message: object = "", *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.args[0]), self.advice)))

    def reworded(self, message: str, *, advice: str | None = None) -> Self:
        """The same error with all its attributes, and another message or other advice."""
        other = type(self)(message)
        vars(other).update(vars(self))
        if advice is not None:
            other.advice = advice
        return other


class SideInformationError(SidelightError):
    """A statement that cannot be used; the message names it by the user's ids.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> SideInformation.from_pairs(must=[(0, 1)], n_samples=2, weight=-1)
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SideInformationError: ...negative...
    """


class UnknownRowsError(SideInformationError):
    """Statements about rows that the data does not have.

    ``rows`` lists them as the statements name them, once each; ``by_id`` tells whether the rows of
    the data have ids, or are numbered; ``nearest`` has the most similar known ids for the first of
    them.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.exceptions import UnknownRowsError
    >>> try:
    ...     SideInformation.from_pairs(must=[("ann", "zoe")], index=["ann", "bob"])
    ... except UnknownRowsError as error:
    ...     print(error.rows, error.by_id)
    ('zoe',) True
    """

    def __init__(
        self,
        message: object = "",
        *,
        advice: str = "",
        rows: Iterable[Any] = (),
        by_id: bool = True,
        nearest: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(message, advice=advice)
        self.rows = tuple(dict.fromkeys(rows))
        self.by_id = by_id
        self.nearest = {row: list(names) for row, names in (nearest or {}).items()}


class SelfPairsError(SideInformationError):
    """Pairs of a row with itself.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> SideInformation.from_pairs(must=[(1, 1)], n_samples=2)
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SelfPairsError: a row paired with itself, in 1 statement: ...
    """


class UnknownNumberOfRowsError(SideInformationError):
    """The number of rows is not given and does not follow from the statements.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> SideInformation.from_pairs(must=[(0, 1)])
    Traceback (most recent call last):
        ...
    sidelight.exceptions.UnknownNumberOfRowsError: how many rows does the data have? ...
    """


class MissingNumberOfClustersError(SideInformationError):
    """A model needs the number of clusters, and neither it nor labels are given.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> PartitionLevelKMeans().fit([[0.0], [1.0]])
    Traceback (most recent call last):
        ...
    sidelight.exceptions.MissingNumberOfClustersError: n_clusters is None, ...
    """


class UnsupportedStatementError(SidelightError):
    """A model got a kind of statement that it cannot use; the message names models that can.

    ``kind`` is that kind, and ``models`` are the names of models that take it.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans, SideInformation
    >>> side = SideInformation.from_pairs(must=[(0, 1)], n_samples=2)
    >>> PartitionLevelKMeans(1).fit([[0.0], [1.0]], side=side)
    Traceback (most recent call last):
        ...
    sidelight.exceptions.UnsupportedStatementError: PartitionLevelKMeans cannot use 'must' ...
    """

    def __init__(
        self, message: object = "", *, advice: str = "", kind: str = "", models: Iterable[str] = ()
    ) -> None:
        super().__init__(message, advice=advice)
        self.kind = kind
        self.models = tuple(models)


class DataError(SidelightError):
    """The data matrix cannot be used.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> PartitionLevelKMeans(1).fit([[0.0], [float("nan")]])
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DataError: X contains NaN or infinity in row 1; ...
    """


class UnusableColumnsError(DataError):
    """Unusable or missing columns of a table; one error for all of them.

    ``problems`` maps what is wrong ("text", "missing", "infinite", "absent", …) to the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight.exceptions import UnusableColumnsError
    >>> from sidelight.study import prepare
    >>> try:
    ...     prepare(pd.DataFrame({"age": [31.0, None], "town": ["Bonn", "Bonn"]}))
    ... except UnusableColumnsError as error:
    ...     print(error.problems)
    {'text': ['town'], 'missing': ['age']}
    """

    def __init__(
        self,
        message: object = "",
        *,
        advice: str = "",
        problems: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(message, advice=advice)
        self.problems = {kind: list(names) for kind, names in (problems or {}).items()}


class DatasetNotFoundError(SidelightError, FileNotFoundError):
    """A data set's file is missing; the message says what to put where.

    Examples
    --------
    >>> from sidelight.datasets import load
    >>> load("yale", data_home="nowhere")
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DatasetNotFoundError: ...
    """


class SavedModelError(SidelightError):
    """A file that is not a saved model, is damaged, is of a newer version, or holds anything else.

    Examples
    --------
    >>> import sidelight
    >>> sidelight.load("nowhere.sidelight")
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SavedModelError: nowhere.sidelight: there is no such file.
    """


class WorkersLostError(SidelightError):
    """A Dask cluster cannot finish a fit: no worker is left or working, or a task kills them all.

    Examples
    --------
    >>> from sidelight.exceptions import SidelightError, WorkersLostError
    >>> issubclass(WorkersLostError, SidelightError)
    True
    """


class LostClassWarning(UserWarning):
    """Labelled classes without a cluster after a fit.

    ``classes`` lists them, each with its vocabulary (None: the shared one). The message says why,
    and what to do.

    Examples
    --------
    >>> import warnings
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.exceptions import LostClassWarning
    >>> X = [[0.0], [0.1], [0.2], [9.0], [9.1]]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", LostClassWarning)
    ...     _ = PartitionLevelKMeans(2, random_state=0).fit(X, ["a", "a", "b", "c", "c"])
    >>> print(caught[0].message)
    Class 'b' has no cluster: ...
    >>> caught[0].message.classes
    [(None, 'b')]
    """

    def __init__(self, message: object = "", *, classes: Iterable[tuple[Any, Any]] = ()) -> None:
        super().__init__(message)
        self.classes = list(classes)
