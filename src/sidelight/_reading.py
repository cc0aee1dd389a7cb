"""Reading files, with errors that name the file: missing, a folder, not UTF-8, damaged."""

import csv
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from sidelight.exceptions import SidelightError

_lock = threading.Lock()
_n_readers = 0
_limit_before = 0


def refuse_missing(path: Path, error: type[SidelightError]) -> None:
    """Raise unless the file exists and can be read."""
    try:
        with open(path, "rb"):
            return
    except IsADirectoryError:
        problem = f"{path} is a folder; give the name of a file."
    except PermissionError as reason:
        # Windows says so of a folder too.
        problem = (
            f"{path} is a folder; give the name of a file."
            if path.is_dir()
            else f"{path} may not be read ({reason.strerror}); change its permissions."
        )
    except (FileNotFoundError, NotADirectoryError):
        near = _similar_name(path)
        problem = f"{path}: there is no such file" + (f"; did you mean {near}?" if near else ".")
    except OSError as reason:
        problem = f"{path} cannot be opened: {reason.strerror}."
    raise error(problem)


def _similar_name(path: Path) -> Path | None:
    """The file of the same folder whose name is most like a mistyped one, if one is."""
    try:
        names = [one.name for one in islice(path.parent.iterdir(), 10_000) if one.is_file()]
    except OSError:
        return None
    # Endings are compared apart, or every two short names with .csv would be alike.
    stem, ending = (part.casefold() for part in (path.stem, path.suffix))
    stems = get_close_matches(stem, {Path(name).stem.casefold() for name in names}, n=1)
    found = sorted(name for name in names if Path(name).stem.casefold() in stems)
    found.sort(key=lambda name: Path(name).suffix.casefold() != ending)
    return path.with_name(found[0]) if found else None


def refuse_encoding(
    path: Path, reason: UnicodeDecodeError, error: type[SidelightError]
) -> NoReturn:
    """Raise the error of a text file in another encoding."""
    raise error(
        f"{path} is not UTF-8 (byte {reason.start}); save it as UTF-8, in a spreadsheet as "
        '"CSV UTF-8".'
    ) from None


@contextmanager
def long_cells() -> Iterator[None]:
    """Let Python's CSV reader take cells of any length; its limit holds for the whole process."""
    global _n_readers, _limit_before
    with _lock:
        _n_readers += 1
        if _n_readers == 1:
            _limit_before = csv.field_size_limit(2**31 - 1)  # a C long, of 32 bits on Windows
    try:
        yield
    finally:
        with _lock:
            _n_readers -= 1
            if _n_readers == 0:
                csv.field_size_limit(_limit_before)


@contextmanager
def parquet_errors(path: Path, error: type[SidelightError]) -> Iterator[None]:
    """Turn whatever pyarrow raises on a damaged file into one error that names the file."""
    try:
        yield
    except SidelightError:
        raise
    except UnicodeDecodeError:
        raise error(
            f"{path} holds text that is not UTF-8: the file is damaged, or was written by a "
            "program that does not encode its texts. Write it again."
        ) from None
    except Exception as reason:  # Arrow's own errors, OSError, KeyError, MemoryError, …
        raise error(
            f"{path} cannot be read as Parquet: it is damaged, or another kind of file. "
            "Write it again, or copy it again from where it came from."
        ) from reason


def read_parquet(path: Path, parquet: Any, error: type[SidelightError]) -> Any:
    """A Parquet file as an Arrow table. parquet: the module of pyarrow."""
    refuse_missing(path, error)
    limit = 2**31 - 1  # the ids of all rows may be one long text in the metadata
    with parquet_errors(path, error), open(path, "rb") as file:
        return parquet.read_table(
            file,
            thrift_string_size_limit=limit,
            thrift_container_size_limit=limit,
            page_checksum_verification=True,
        )
