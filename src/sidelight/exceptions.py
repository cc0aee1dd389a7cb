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
    """The root of all errors that sidelight raises on purpose."""


class SideInformationError(SidelightError):
    """A statement that cannot be taken: the message names the statements by the user's own ids."""


class UnsupportedStatementError(SidelightError):
    """A model got a kind of statement that it cannot use; the message names models that can."""


class DataError(SidelightError):
    """The data matrix cannot be used as it is."""


class DatasetNotFoundError(SidelightError, FileNotFoundError):
    """A data set's file is missing; the message says what to put where."""


class WorkersLostError(SidelightError):
    """A Dask cluster cannot finish a fit: it has no workers any more, or a task ends them all."""
