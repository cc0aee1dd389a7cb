"""Every error of sidelight derives from ValueError, as scikit-learn's users expect."""

__all__ = [
    "DataError",
    "DatasetNotFoundError",
    "SideInformationError",
    "SidelightError",
    "UnsupportedStatementError",
    "WorkersLostError",
]


class SidelightError(ValueError):
    """The root of all errors that sidelight raises on purpose.

    Examples
    --------
    >>> from sidelight.exceptions import SidelightError
    >>> issubclass(SidelightError, ValueError)
    True
    """


class SideInformationError(SidelightError):
    """A statement that cannot be taken: the message names the statements by the user's own ids.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> SideInformation.from_pairs(must=[("ann", "zoe")], index=["ann", "bob"])
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SideInformationError: ...zoe...
    """


class UnsupportedStatementError(SidelightError):
    """A model got a kind of statement that it cannot use; the message names models that can.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans, SideInformation
    >>> side = SideInformation.from_pairs(must=[(0, 1)], n_samples=2)
    >>> PartitionLevelKMeans(1).fit([[0.0], [1.0]], side=side)
    Traceback (most recent call last):
        ...
    sidelight.exceptions.UnsupportedStatementError: PartitionLevelKMeans cannot use 'must' ...
    """


class DataError(SidelightError):
    """The data matrix cannot be used as it is.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> PartitionLevelKMeans(1).fit([[0.0], [float("nan")]])
    Traceback (most recent call last):
        ...
    sidelight.exceptions.DataError: X contains NaN or infinity in row 1; ...
    """


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


class WorkersLostError(SidelightError):
    """A Dask cluster cannot finish a fit: no worker is left or works, or a task ends them all.

    Examples
    --------
    >>> from sidelight.exceptions import SidelightError, WorkersLostError
    >>> issubclass(WorkersLostError, SidelightError)
    True
    """
