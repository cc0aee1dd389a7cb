"""A file of statements to which each answer adds a line, and no line is lost."""

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidelight.exceptions import SideInformationError
from sidelight.side import to_cell

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson")
_HEADER = ("kind", "i", "j", "class", "annotator")


class Book:
    """A file of statements, open to be added to.

    A line is on the disk (``fsync``) before `add` returns. `take_back` removes the last line that
    this book has added, as long as no other process has added one since.

    Parameters
    ----------
    path : path
        The file: .csv, .tsv or .jsonl. It is created with a line of column names if it does not
        exist.
    needs : sequence of str
        Columns that statements will have; a table without one of them is refused.
    """

    def __init__(self, path: Path, needs: Sequence[str] = _HEADER) -> None:
        self.path = path
        suffix = path.suffix.lower()
        if suffix not in (*_SEPARATORS, *_LINES):
            raise SideInformationError(
                f"{path}: answers are added line by line, to a .csv, .tsv or .jsonl file; "
                "'sidelight convert' turns other files of statements into these."
            )
        self._is_new = not path.exists()
        self._file = _open(path)
        self._added: list[bytes] = []
        self._names: list[str] | None = None
        self._separator, self._end = ",", "\n"
        try:
            if suffix not in _LINES:
                self._names = self._read_names(_SEPARATORS[suffix], needs)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Book":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_added(self) -> int:
        """Statements that were added and not taken back."""
        return len(self._added)

    def add(self, statement: Mapping[str, Any]) -> None:
        """Add one statement; when this returns, it is on the disk.

        Parameters
        ----------
        statement : dict
            ``kind`` and ``i``, and as needed ``j``, ``class`` and ``annotator``; rows as the file
            names them.
        """
        if self._names is None:
            told = {name: value for name, value in statement.items() if value is not None}
            text = json.dumps(told) + "\n"
        else:
            text = self._row([to_cell(statement.get(name)) for name in self._names])
        self._write(text.encode("utf-8"))
        self._added.append(text.encode("utf-8"))

    def take_back(self) -> None:
        """Remove the last statement that was added."""
        line = self._added[-1]
        with _locked(self._file):
            size = os.fstat(self._file).st_size
            if size < len(line) or _tail(self._file, len(line)) != line:
                raise SideInformationError(
                    f"{self.path} has changed since your last answer; remove that line by hand: "
                    f"{line.decode().strip()}"
                )
            os.ftruncate(self._file, size - len(line))
            os.fsync(self._file)
        self._added.pop()

    def close(self) -> None:
        """Close the file; delete it if it was created here and has no statement."""
        if self._file < 0:
            return
        os.close(self._file)
        self._file = -1
        if self._is_new and not self._added and self.path.stat().st_size <= self._first_size:
            self.path.unlink()

    _first_size = 0

    def _read_names(self, separator: str, needs: Sequence[str]) -> list[str]:
        """The columns of the file; written first, where there are none."""
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            first = next((line for line in file if line.strip()), "")
        self._separator = max(separator + ",;\t|", key=first.count) if first else separator
        if not first:
            self._write(self._row(_HEADER).encode())
            self._first_size = os.fstat(self._file).st_size
            return list(_HEADER)
        self._end = "\r\n" if first.endswith("\r\n") else "\n"
        cells = next(csv.reader([first], delimiter=self._separator, skipinitialspace=True))
        names = [name.strip() for name in cells]
        missing = [name for name in needs if name not in names]
        if missing:
            raise SideInformationError(
                f"{self.path} has no column {', '.join(map(repr, missing))} for the answers; "
                "add it to every line, or give another file to --side and this one to --known."
            )
        return names

    def _row(self, cells: Sequence[str]) -> str:
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=self._separator, lineterminator=self._end).writerow(cells)
        return buffer.getvalue()

    def _write(self, data: bytes) -> None:
        """Write a line completely or not at all."""
        with _locked(self._file):
            size = os.fstat(self._file).st_size
            if size and _tail(self._file, 1) != b"\n":  # an editor that does not end the last line
                data = b"\n" + data
            try:
                while data:
                    data = data[os.write(self._file, data) :]
                os.fsync(self._file)
            except OSError as error:
                os.ftruncate(self._file, size)
                raise SideInformationError(
                    f"{self.path}: the answer could not be written ({error.strerror}); those "
                    "before it are in the file."
                ) from None


def _open(path: Path) -> int:
    try:
        if path.exists() and not path.is_file():
            raise SideInformationError(f"{path} is not a file that answers can be added to.")
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        return os.open(path, flags, 0o666)
    except OSError as error:
        raise SideInformationError(
            f"{path}: answers cannot be written there ({error.strerror}); give --side a file in "
            "a folder that you can write to."
        ) from None


def _tail(file: int, n: int) -> bytes:
    os.lseek(file, -n, os.SEEK_END)
    return os.read(file, n)


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Two interviews may add to one file; a line is taken back only while none is added."""
    try:
        import fcntl
    except ModuleNotFoundError:  # not on Windows
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:  # file systems without locks
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
