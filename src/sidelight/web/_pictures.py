"""Pictures of rows: found, checked, and encoded again, so that only pixels are served.

A cell names a file below the data root or inside an archive that came with the table, or holds the
picture itself as ``data:image/…;base64,…``. SVG and HTML are not among the formats.
"""

import base64
import binascii
import io
import re
import struct
import zipfile
import zlib
from collections import Counter
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from sidelight.exceptions import SidelightError

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
MOST_PIXELS = 50_000_000
MOST_BYTES = 50_000_000  # of one picture
LARGEST = 1024  # pixels of the longer side that are served
SMALL = 160  # the same in tables
_PLAIN = 256 * 256  # pixels up to which a picture is served without loss
# Of the ways to compress a member, those that Python decompresses part by part: a few hundred bytes
# of bzip2 become a gigabyte at once, whatever size the archive claims.
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED = (
    *(OSError, zipfile.BadZipFile, zlib.error, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, struct.error),
)
_INSIDE = re.compile(r"data:image/[a-z.+-]+;base64,", re.IGNORECASE)


class PictureError(SidelightError):
    """A picture that cannot be shown."""


def encoded(contents: bytes, *, largest: int = LARGEST) -> tuple[bytes, str]:
    """A picture, encoded again, and its media type: PNG if small or transparent, else JPEG."""
    from PIL import Image, ImageOps

    bombs = (Image.DecompressionBombError, Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(contents), formats=FORMATS) as found:
            width, height = found.size
            if width * height > MOST_PIXELS:
                raise PictureError(
                    f"the picture has {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} are "
                    "shown."
                )
            found.draft("RGB", (largest, largest))  # JPEG need not be decoded in full
            turned = ImageOps.exif_transpose(found)
            clear = "A" in turned.getbands() or "transparency" in turned.info
            picture = turned.convert("RGBA" if clear else "RGB")
        picture.thumbnail((largest, largest))
        picture.info = {}  # comments and profiles would be written again
        file = io.BytesIO()
        if clear or picture.width * picture.height <= _PLAIN:
            picture.save(file, "PNG")
            return file.getvalue(), "image/png"
        picture.save(file, "JPEG", quality=85)
        return file.getvalue(), "image/jpeg"
    except PictureError:
        raise
    except bombs:
        raise PictureError(f"the picture has more than {MOST_PIXELS:,} pixels.") from None
    except (OSError, ValueError, SyntaxError, struct.error, EOFError):
        raise PictureError(
            f"this is not a picture that can be shown; known: {', '.join(FORMATS)}."
        ) from None


def contents_of(cell: Any, *, root: Path, archive: Path | None) -> bytes:
    """The bytes of the picture that a cell names or holds."""
    text = str(cell or "").strip()
    if not text:
        raise PictureError("this row has no picture.")
    inside = _INSIDE.match(text)
    if inside:
        try:
            return base64.b64decode(text[inside.end() :], validate=True)
        except (binascii.Error, ValueError):
            raise PictureError("the picture in this cell is damaged.") from None
    if text.lower().startswith(("data:", "http:", "https:")):
        raise PictureError("pictures come with the table, not from elsewhere.")
    if archive is not None:
        return _member(archive, text)
    return _file(root, text)


def is_inside(cell: Any) -> bool:
    """Whether a cell holds the picture itself; it is then not shown as text."""
    return isinstance(cell, str) and _INSIDE.match(cell.lstrip()) is not None


def _file(root: Path, text: str) -> bytes:
    """A file below the data root; the error does not show whether other files exist."""
    missing = f"there is no picture {text[:200]!r} below the data folder of the server."
    try:
        path = (root / text).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            raise PictureError(missing)
        if path.stat().st_size > MOST_BYTES:
            raise PictureError(f"the file has more than {MOST_BYTES:,} bytes.")
        return path.read_bytes()
    except (OSError, ValueError):
        raise PictureError(missing) from None


def _member(archive: Path, text: str) -> bytes:
    """A member of an archive, by its whole name or by the last part of it."""
    names = _names(archive)
    name = names.get(text) or names.get(PurePosixPath(text.replace("\\", "/")).name)
    if name is None:
        raise PictureError(f"the archive of pictures has no {text[:200]!r}.")
    try:
        with zipfile.ZipFile(archive) as opened:
            _check_packed([opened.getinfo(name)])
            with opened.open(name) as file:
                contents = file.read(MOST_BYTES + 1)
    except PictureError:
        raise
    except _DAMAGED:
        raise PictureError(f"{text[:200]!r} in the archive of pictures is damaged.") from None
    if len(contents) > MOST_BYTES:
        raise PictureError(f"the file has more than {MOST_BYTES:,} bytes.")
    return contents


@lru_cache(maxsize=16)
def _names(archive: Path) -> dict[str, str]:
    """Members of an archive by their names, and by the last part of these if no other has it."""
    try:
        with zipfile.ZipFile(archive) as opened:
            whole = [info.filename for info in opened.infolist() if not info.is_dir()]
    except _DAMAGED:
        raise PictureError("the archive of pictures is not a zip archive.") from None
    last = [PurePosixPath(name).name for name in whole]
    times = Counter(last)
    found = {short: name for short, name in zip(last, whole, strict=True) if times[short] == 1}
    return {**found, **{name: name for name in whole}}


def check_archive(path: Path, limit: int) -> int:
    """How many files an archive of pictures has; refused if it would expand to too much."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
    except _DAMAGED:
        raise SidelightError("send pictures as one zip archive.") from None
    _check_packed(members)
    sizes = [info.file_size for info in members]
    if not sizes or sum(sizes) > limit:
        raise SidelightError(
            f"the archive has {len(sizes):,} files of {sum(sizes):,} bytes in all; between one "
            f"file and {limit:,} bytes are taken."
        )
    return len(sizes)


def _check_packed(members: list[zipfile.ZipInfo]) -> None:
    """Refuse members whose compression can become any size in memory."""
    wrong = [info.filename for info in members if info.compress_type not in _PACKED]
    if wrong:
        raise PictureError(
            f"{wrong[0][:200]!r} in the archive of pictures has an unusual compression; pack it "
            "with deflate, the usual one."
        )


def problem_of(cells: list[Any], name: str, *, root: Path, archive: Path | None) -> str | None:
    """Why none of the first pictures of a column can be shown, in a sentence; None if one can."""
    why = "it has none"
    for cell in [cell for cell in cells if cell is not None][:10]:
        try:
            encoded(contents_of(cell, root=root, archive=archive), largest=SMALL)
        except PictureError as error:
            why = str(error)
        else:
            return None
    return f"no picture of column {name!r} can be shown: {why}"
