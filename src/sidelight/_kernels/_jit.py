"""How kernels are compiled, and where the machine code is stored: decided here for all of them."""

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_HERE = Path(__file__).parent
_IMPORT = re.compile(rf"^ *from {re.escape(__package__)}\.(\w+) import ", re.MULTILINE)

# `_compilers` replaces inner steps of numba, and was tested with this version. In others kernels
# are compiled by numba's own compiler, which takes longer and gives the same code.
_TESTED = (0, 68)
_COMPILER: dict[str, Any] = {}
_COMPILER_OF_PARTS: dict[str, Any] = {}
if numba.version_info.short == _TESTED:
    from sidelight._kernels._compilers import KernelCompiler, PartCompiler

    _COMPILER = {"pipeline_class": KernelCompiler}
    _COMPILER_OF_PARTS = {"pipeline_class": PartCompiler}


def _cache_root() -> Path | None:
    """A folder of the user's that can be written to, or None if there is none.

    It lies outside the package, which may be installed read-only. Several processes may share it:
    numba replaces its files atomically.
    """
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        root = (Path(home) if home else Path.home() / ".cache") / "sidelight"
        root.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=root).close()
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    return root


_ROOT = _cache_root()


@functools.cache
def cache_folder(file: Path) -> Path | None:
    """The cache folder of the kernels in `file`, named by a hash of its source and its imports.

    numba checks only the file of the kernel itself, so it would not notice an edit of an inlined
    kernel in another file. A new hash gives a new folder. Kernels that do not import each other
    have separate folders, so an edit recompiles only what depends on it.
    """
    if _ROOT is None:
        return None
    source = hashlib.sha256(numba.__version__.encode())
    if (
        numba.config.BOUNDSCHECK
    ):  # NUMBA_BOUNDSCHECK=1 compiles other code, and numba's key lacks it
        source.update(b"bounds checked")
    for part in sorted(_with_imports(file)):
        source.update(part.read_bytes())
    return _ROOT / f"{file.stem}-{source.hexdigest()[:16]}"


def _with_imports(file: Path) -> set[Path]:
    """`file` and the kernel modules that it imports, and those that they import."""
    found, waiting = {file}, [file]
    while waiting:
        names = _IMPORT.findall(waiting.pop().read_text(encoding="utf-8"))
        new = {_HERE / f"{name}.py" for name in names} - found
        found |= new
        waiting += new
    return found


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel on its first call, without the GIL, and keep the result on disk.

    Of the fast-math flags only ``contract`` (fused multiply-add) is on: the others let the compiler
    reorder sums, and a row's distance would then depend on the rows that share its tile.
    """
    return _compiled(function)


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``jit``, without counting references: for kernels that take tuples of many arrays.

    numba would count every array of every tuple at every call, which costs more than a short
    function. Such a kernel cannot allocate arrays, nor assign one to a slice of another.
    """
    return _compiled(function, _nrt=False)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``part``, inlined because a call passes every array as seven numbers."""
    return part(function, forceinline=True)


def part(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    """As ``bare``, for parts of kernels: only other kernels can call it.

    An entry point from Python, which unpacks tuples, would take longer to compile than the function
    itself. A part is not stored on disk: its code is in the kernels that call it.
    """
    options |= {"_nrt": False, "no_cpython_wrapper": True}
    if _COMPILER_OF_PARTS:
        part_of_kernels: Callable[..., Any] = _dispatcher(function, **_COMPILER_OF_PARTS, **options)
        return part_of_kernels
    return _compiled(function, **options)


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    return numba.njit(
        function,
        nogil=True,
        error_model="numpy",
        fastmath={"contract"},
        boundscheck=False,
        no_cfunc_wrapper=True,  # an entry point for C, which is not used
        **options,
    )


def _compiled(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    dispatcher = _dispatcher(function, **_COMPILER, **options)
    folder = cache_folder(Path(function.__code__.co_filename))
    if folder is not None:
        # numba reads its setting when caching is switched on; the user's own is put back.
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            dispatcher.enable_caching()
        finally:
            numba.config.CACHE_DIR = before
    return dispatcher
