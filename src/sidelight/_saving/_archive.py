"""The file of a saved model: a zip of model.json and arrays, checked before it is used."""

import io
import json
import re
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight import __version__
from sidelight._reading import refuse_missing
from sidelight._writing import replacing
from sidelight.exceptions import SavedModelError, SidelightError

VERSION = 1
FORMAT = "sidelight model"
_MANIFEST = "model.json"
_ARRAY = re.compile(r"arrays/(0|[1-9][0-9]*)\.npy")
_MAX_JSON = 2**28  # Python needs many times as much memory for what it reads
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model is the same file
_DAMAGED = (
    *(ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OSError),
    *(RuntimeError, MemoryError, OverflowError, NotImplementedError, zipfile.BadZipFile),
)


def write_archive(
    path: str | PathLike[str], parts: Mapping[str, Any], *, overwrite: bool = False
) -> None:
    """Write values to a file, completely or not at all.

    Parameters
    ----------
    path : str or path
        The file.
    parts : dict
        Values by name: plain data, arrays, and sidelight's own models and results.
    overwrite : bool
        Whether a file of that name may be replaced.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.sidelight"
    >>> write_archive(path, {"shift": np.arange(3)})
    >>> read_archive(path)["shift"]
    array([0, 1, 2])
    """
    from sidelight._saving._values import Writer

    writer = Writer()
    told = {name: writer.value(value, name) for name, value in parts.items()}
    manifest = {"format": FORMAT, "version": VERSION, "sidelight": __version__, "parts": told}
    text = json.dumps(manifest, allow_nan=False, indent=1).encode()
    with (
        replacing(Path(path), overwrite=overwrite) as temporary,
        zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _EPOCH), text)
        for number, array in enumerate(writer.arrays):
            name = zipfile.ZipInfo(f"arrays/{number}.npy", _EPOCH)
            with archive.open(name, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read_archive(path: str | PathLike[str]) -> dict[str, Any]:
    """The values of a file that `write_archive` wrote.

    Nothing in the file is executed. A `SavedModelError` says what is wrong with a file that is
    damaged, of a newer version, or holds anything else.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict
        The values by name, and ``sidelight``: the version that wrote them.
    """
    path = Path(path)
    refuse_missing(path, SavedModelError)
    try:
        with zipfile.ZipFile(path) as archive:
            _check_entries(path, archive)
            manifest = json.loads(archive.read(_MANIFEST))
            _check_version(path, manifest)
            return _parts(archive, manifest)
    except SavedModelError:
        raise
    except SidelightError as error:  # a class that is not ours, or not ours any more
        raise SavedModelError(f"{path} cannot be loaded: {error}") from None
    except _DAMAGED as error:
        raise SavedModelError(
            f"{path} is not a model that sidelight saved, or it is damaged ({_brief(error)}); "
            "copy it again from where it came from, or save the model again."
        ) from None


def _check_entries(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse entries that are not ours, compressed ones, and more than the file can hold."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    others = [name for name in names if name != _MANIFEST and not _ARRAY.fullmatch(name)]
    if _MANIFEST not in names:
        raise SavedModelError(f"{path} is not a model that sidelight saved: no {_MANIFEST} in it.")
    if others:
        raise SavedModelError(
            f"{path} holds {others[0]!r}, which is not part of a saved model; it is not loaded."
        )
    if len(set(names)) < len(names):
        raise SavedModelError(f"{path} holds an entry twice; it is damaged or forged.")
    packed = [entry for entry in entries if entry.compress_type != zipfile.ZIP_STORED]
    if packed or sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise SavedModelError(
            f"{path} is compressed, or its contents are larger than the file; a saved model is "
            "neither. It is not loaded."
        )
    if archive.getinfo(_MANIFEST).file_size > _MAX_JSON:
        raise SavedModelError(f"{path} has a {_MANIFEST} of more than {_MAX_JSON:,} bytes.")


def _check_version(path: Path, manifest: Any) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise SavedModelError(f"{path} is not a model that sidelight saved.")
    version, by = manifest.get("version"), str(manifest.get("sidelight"))
    if type(version) is not int or version > VERSION or _numbers(by) > _numbers(__version__):
        raise SavedModelError(
            f"{path} was saved by sidelight {by} in version {version} of the format; this is "
            f"sidelight {__version__}, which reads version {VERSION}. Install the newer one."
        )


def _numbers(version: str) -> tuple[int, ...]:
    """1.2.3 as numbers; a version without any counts as newer than all."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else (10**9,)


def _parts(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> dict[str, Any]:
    from sidelight._saving._values import Reader

    names = archive.namelist()
    count = len(names) - 1
    arrays = [_array(archive.read(f"arrays/{number}.npy")) for number in range(count)]
    reader = Reader(arrays)
    found = {str(name): reader.value(node) for name, node in manifest["parts"].items()}
    return {**found, "sidelight": str(manifest["sidelight"])}


def _array(data: bytes) -> NDArray[Any]:
    """An array of numbers or texts that is exactly as long as its header says."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, by_column, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"array of version {version}")
    if dtype.hasobject or dtype.kind not in "biufcUS" or not dtype.itemsize:
        raise ValueError(f"array of {dtype}")
    count = 1
    for size in shape:
        count *= size
    if any(size < 0 for size in shape) or count * dtype.itemsize != len(data) - file.tell():
        raise ValueError("array of another length than it says")
    array = np.frombuffer(data, dtype=dtype, count=count, offset=file.tell())
    return array.reshape(shape, order="F" if by_column else "C").copy(order="K")


def _brief(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= 120 else f"{text[:120]}…"
