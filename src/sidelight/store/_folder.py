"""Bulk data of a project: files named by the hash of their contents, written once."""

import hashlib
import io
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight._writing import replacing
from sidelight.exceptions import SidelightError

_NAME = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,8}")


class Folder:
    """A folder of files that are named by their contents.

    The same contents are kept once. A file is complete when its name is there, and never changes,
    so that readers may map it into memory.

    Parameters
    ----------
    root : path
        The folder; it is made if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> folder = Folder(tempfile.mkdtemp())
    >>> name = folder.put(b"rows", ".txt")
    >>> folder.put(b"rows", ".txt") == name, folder.path(name).read_bytes()
    (True, b'rows')
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.root.mkdir(parents=True, exist_ok=True)

    def put(self, contents: bytes, suffix: str) -> str:
        """Keep contents; returns the name of the file."""
        name = f"{hashlib.sha256(contents).hexdigest()}{suffix}"
        path = self._checked(name)
        if not path.exists():
            with replacing(path, overwrite=True) as temporary, open(temporary, "wb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
        return name

    def put_file(self, source: Path, suffix: str) -> str:
        """Keep the contents of a file, read part by part; returns the name that it has here."""
        with open(source, "rb") as file:
            name = f"{hashlib.file_digest(file, 'sha256').hexdigest()}{suffix}"
        path = self._checked(name)
        if not path.exists():
            with replacing(path, overwrite=True) as temporary:
                shutil.copyfile(source, temporary)
        return name

    def put_array(self, array: NDArray[Any]) -> str:
        """Keep an array as .npy; returns the name of the file."""
        file = io.BytesIO()
        np.save(file, np.ascontiguousarray(array), allow_pickle=False)
        return self.put(file.getvalue(), ".npy")

    def array(self, name: str) -> NDArray[Any]:
        """An array that was put, mapped into memory."""
        array: NDArray[Any] = np.load(self.path(name), mmap_mode="r", allow_pickle=False)
        return array

    def path(self, name: str) -> Path:
        """Path of a file; a name that `put` did not return is refused."""
        path = self._checked(name)
        if not path.exists():
            raise SidelightError(f"{name}: the project's folder has no such file.")
        return path

    def _checked(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise SidelightError(f"{name!r} is not the name of a file of the project's folder.")
        return self.root / name
