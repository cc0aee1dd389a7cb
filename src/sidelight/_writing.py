"""Writing files: completely or not at all, and never over another file unless asked."""

import os
import platform
import re
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sidelight.exceptions import SidelightError

# The machine, the process and a random part, so that the name shows whose file it is.
_STRAY = re.compile(r"\.sidelight-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{16}\.tmp")


@contextmanager
def replacing(
    path: Path, *, overwrite: bool, error: type[SidelightError] = SidelightError
) -> Iterator[Path]:
    """A temporary name in the same folder; the file is renamed when everything went well."""
    target = Path(os.path.realpath(path))  # through a link, not instead of it
    refuse_existing(path, overwrite=overwrite, error=error)
    _remove_strays(target.parent)
    name = f".sidelight-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    temporary = target.with_name(name)
    try:
        yield temporary
        refuse_existing(path, overwrite=overwrite, error=error)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def refuse_existing(
    path: Path, *, overwrite: bool, error: type[SidelightError] = SidelightError
) -> None:
    """Raise if a file cannot be written there, before the work and not after it."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise error(f"{path} is a folder; give the name of a file.")
    if not target.parent.is_dir():
        raise error(f"{path} is in a folder that does not exist; create {target.parent} first.")
    if target.exists() and not overwrite:
        raise error(
            f"{path} exists already; give another name, or overwrite=True "
            "(--overwrite on the command line) to replace it."
        )


def _remove_strays(folder: Path) -> None:
    """Remove temporary files that killed processes of this machine have left in a folder."""
    with os.scandir(folder) as entries:
        found = [_STRAY.fullmatch(entry.name) for entry in entries]
    for name in filter(None, found):
        if name[1] == _machine() and _is_dead(int(name[2])):
            try:
                (folder / name[0]).unlink(missing_ok=True)
            except OSError:  # another user's, who will remove it
                continue


def _machine() -> str:
    """Eight characters for the machine: folders are shared, numbers of processes are not."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _is_dead(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 would end the process
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False
