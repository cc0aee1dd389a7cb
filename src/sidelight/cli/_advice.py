"""Errors in the words of the command line: by their type, never by their text."""

from collections.abc import Collection

from sidelight.exceptions import (
    MissingNumberOfClustersError,
    SelfPairsError,
    SidelightError,
    UnknownNumberOfRowsError,
    UnknownRowsError,
    UnsupportedStatementError,
    UnusableColumnsError,
)

_COLUMNS = {
    "text": "Text: leave the column out (--drop), or give each value a column (--one-hot).",
    "sentences": "Sentences: turn them into numbers (--text), or leave the column out (--drop).",
    "typo": "Not a number: correct the cell; the others of the column are numbers.",
    "date": "Dates: leave the column out (--drop), or turn them into numbers such as years.",
    "empty": "Empty: leave the column out (--drop).",
    "missing": "Missing: fill in (--impute median), or leave the column out (--drop).",
    "infinite": "Infinite: correct the values.",
    "huge": "Too large: correct the values, or give them in another unit.",
    "crowded": "Too many values: leave the column out (--drop).",
}


def in_options(error: SidelightError, options: Collection[str] = ()) -> SidelightError:
    """The error with advice that names options instead of parameters of Python.

    options: those that the command has.
    """
    advice = _advice(error, options)
    return error if advice is None else error.reworded(str(error.args[0]), advice=advice)


def _advice(error: SidelightError, options: Collection[str]) -> str | None:
    """What to do on the command line; None if the advice for Python applies there too."""
    if isinstance(error, UnusableColumnsError):
        ids = [f"Row ids: --id {name}." for name in error.problems.get("ids", [])[:1]]
        return " ".join([*(_COLUMNS[k] for k in error.problems if k in _COLUMNS), *ids])
    if isinstance(error, UnknownRowsError):
        if not error.by_id:
            return (
                "Rows are counted from 0; if they have ids, --id COLUMN names the column of the "
                "data with them."
            )
        more = f" and {len(error.rows) - 10:,} more" if len(error.rows) > 10 else ""
        near = [f"{row}: {' or '.join(names)}?" for row, names in error.nearest.items() if names]
        meant = f" Did you mean, for {'; '.join(near)}" if near else ""
        skip = " --skip-unknown goes on without them." if "--skip-unknown" in options else ""
        return f"The data has no row {', '.join(error.rows[:10])}{more}.{meant}{skip}"
    if isinstance(error, SelfPairsError):
        own = (
            "--self-pairs drop"
            if "--self-pairs" in options
            else "sidelight convert --self-pairs drop"
        )
        return f"Leave them out: {own}."
    if isinstance(error, UnknownNumberOfRowsError):
        return "Give --data (and --id), or --rows."
    if isinstance(error, MissingNumberOfClustersError):
        return "Give --clusters, or labels by --labels or --side."
    if isinstance(error, UnsupportedStatementError):
        return "To go on without: --use-what-fits."
    return None
