"""Errors in the words of the page: by their type, never by their text."""

from sidelight.exceptions import (
    MissingNumberOfClustersError,
    SelfPairsError,
    SidelightError,
    UnknownRowsError,
    UnsupportedStatementError,
    UnusableColumnsError,
)

# In quotes what the page's import offers.
_COLUMNS = {
    "text": 'Text: the column is "to show, not to count", or "a feature (categories)".',
    "sentences": 'Sentences: the column is "a feature (text)", or "to show, not to count".',
    "typo": "Not a number: correct the cell in the file; the others of the column are numbers.",
    "date": 'Dates: the column is "to show, not to count"; or make them numbers such as years.',
    "ids": "",  # an id that is repeated or empty: the sentence before it says all
    "empty": 'Empty: the column is for "nothing".',
    "missing": 'Missing: choose another way under "Missing values", or "nothing" for the column.',
    "infinite": "Infinite: correct the values in the file.",
    "huge": "Too large: correct the values in the file, or give them in another unit.",
    "crowded": 'Too many values: the column is "a feature (text)", or "to show, not to count".',
}


def in_page(error: SidelightError) -> SidelightError:
    """The error with advice that names what the page offers instead of parameters of Python."""
    advice = _advice(error)
    return error if advice is None else error.reworded(str(error.args[0]), advice=advice)


def _advice(error: SidelightError) -> str | None:
    """What to do in the page; None if the advice for Python applies there too."""
    if isinstance(error, UnusableColumnsError):
        return " ".join(filter(None, (_COLUMNS.get(kind, "") for kind in error.problems)))
    if isinstance(error, UnknownRowsError):
        if not error.by_id:
            return "Rows are counted from 0."
        near = [f"{row}: {' or '.join(names)}?" for row, names in error.nearest.items() if names]
        meant = f" Did you mean, for {'; '.join(near)}" if near else ""
        return f"The table has no row {', '.join(error.rows[:10])}.{meant}"
    if isinstance(error, SelfPairsError):
        return "Leave them out of the file."
    if isinstance(error, MissingNumberOfClustersError):
        return 'Give a number under "Clusters", or label some rows.'
    if isinstance(error, UnsupportedStatementError):
        return "Choose another model."
    return None
