"""Files that people send: streamed, limited, known by their contents, under names of our own."""

import re
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request

from sidelight.exceptions import SidelightError
from sidelight.web._settings import Settings

_KEY = re.compile(r"[0-9a-f]{32}\.(csv|tsv|jsonl|xlsx|parquet|npy|npz|h5ad|zip)")
_MAGIC = {
    b"PAR1": "parquet",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"\x89HDF": "h5ad",
}
_TEXTS = {"csv", "tsv", "jsonl"}


def upload_path(settings: Settings, key: str) -> Path:
    """Where an upload lies; a key that was not given out is refused."""
    path = settings.root / "uploads" / key
    if not _KEY.fullmatch(key) or not path.is_file():
        raise HTTPException(404, "there is no such upload.")
    return path


@contextmanager
def shown_as(path: Path, name: str) -> Iterator[None]:
    """Errors about an upload under the name of the file that was sent."""
    try:
        yield
    except SidelightError as error:
        told = str(error.args[0]).replace(str(path), name).replace(path.name, name)
        raise error.reworded(told) from error


async def receive(request: Request, settings: Settings, name: str) -> str:
    """Write the body of a request to a file; returns its key."""
    folder = settings.root / "uploads"
    temporary = folder / f"{secrets.token_hex(16)}.part"
    size, head = 0, b""
    try:
        with open(temporary, "xb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > settings.max_upload:
                    raise HTTPException(
                        413, f"the file is larger than {settings.max_upload:,} bytes."
                    )
                head = (head + chunk[:8192])[:8192] if len(head) < 8192 else head
                file.write(chunk)
        suffix = kind_of(head, name)
        if suffix == "xlsx":
            _check_expansion(temporary, settings.max_upload)
        key = f"{temporary.stem}.{suffix}"
        temporary.rename(folder / key)
        return key
    finally:
        temporary.unlink(missing_ok=True)


def kind_of(head: bytes, name: str) -> str:
    """The kind of a table by its contents; the name only decides between commas and tabs."""
    for magic, suffix in _MAGIC.items():
        if head.startswith(magic):
            return "xlsx" if suffix == "npz" and _is_excel(head) else suffix
    claimed = Path(name).suffix.lower().lstrip(".")
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not head:
        raise SidelightError(f"{Path(name).name} is empty.")
    if b"\0" in head or text.startswith((b"<svg", b"<!doctype", b"<html", b"<?xml")):
        raise SidelightError(
            f"{Path(name).name}: the file is not a table; send CSV, TSV, Excel (.xlsx), Parquet, "
            ".npy, .npz or .h5ad."
        )
    return claimed if claimed in _TEXTS else "csv"


def _is_excel(head: bytes) -> bool:
    """Whether a zip archive begins with the members of an Excel file."""
    return any(part in head for part in (b"[Content_Types].xml", b"xl/", b"docProps/"))


def _check_expansion(path: Path, limit: int) -> None:
    """Refuse an archive that would expand to more than an upload may have."""
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(info.file_size for info in archive.infolist())
    except zipfile.BadZipFile as error:
        raise SidelightError(f"the Excel file cannot be read: {error}.") from None
    if total > limit:
        raise HTTPException(413, f"the file would expand to {total:,} bytes; that is refused.")


def describe_uploads(settings: Settings) -> list[dict[str, Any]]:
    """Uploads that were never imported, for a clean-up."""
    return [
        {"key": path.name, "bytes": path.stat().st_size}
        for path in sorted((settings.root / "uploads").iterdir())
        if _KEY.fullmatch(path.name)
    ]
