"""How kernels are compiled, and where the machine code is kept: decided here, once."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def _cache_folder() -> Path | None:
    """A writable folder named by the kernels' source, or None if there is none.

    numba looks at the file of the kernel alone, so an edit in a file that it calls into would go
    unnoticed; a new hash is a new folder. It lies outside the package, which may be installed
    read-only. Several processes may share it: numba replaces its files atomically.
    """
    source = hashlib.sha256(numba.__version__.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        source.update(file.read_bytes())
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(home) if home else Path.home() / ".cache"
        folder = root / "sidelight" / f"kernels-{source.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    return folder


_FOLDER = _cache_folder()


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel on its first call, without the GIL, and keep the result on disk.

    Of the fast-math flags only ``contract`` (fused multiply-add) is on: the others let the compiler
    reorder sums, and a row's distance would then depend on the rows that share its tile.
    """
    dispatcher = numba.njit(
        function, nogil=True, error_model="numpy", fastmath={"contract"}, boundscheck=False
    )
    if _FOLDER is not None:
        # numba reads its setting when caching is switched on; the user's own is put back.
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(_FOLDER)
        try:
            dispatcher.enable_caching()
        finally:
            numba.config.CACHE_DIR = before
    return dispatcher
