"""Files are written whole or not at all, and never over another one unless asked."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sidelight.exceptions import SidelightError


@contextmanager
def replacing(
    path: Path, *, overwrite: bool, error: type[SidelightError] = SidelightError
) -> Iterator[Path]:
    """A temporary name beside the wanted one; the file takes its place when all went well."""
    target = Path(os.path.realpath(path))  # through a link, not instead of it
    refuse_existing(path, overwrite=overwrite, error=error)
    temporary = target.with_name(f".sidelight-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        refuse_existing(path, overwrite=overwrite, error=error)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def refuse_existing(
    path: Path, *, overwrite: bool, error: type[SidelightError] = SidelightError
) -> None:
    """Raise if a file cannot be written there: before the work, not after it."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise error(f"{path} is a folder; give the name of a file.")
    if not target.parent.is_dir():
        raise error(f"{path} would lie in a folder that is not there; make {target.parent} first.")
    if target.exists() and not overwrite:
        raise error(
            f"{path} exists already; give another name, or overwrite=True "
            "(--overwrite on the command line) to replace it."
        )
