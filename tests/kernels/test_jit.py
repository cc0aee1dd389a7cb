"""Where compiled kernels are kept: found again, shared by processes, and never required."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sidelight

PACKAGE = Path(sidelight.__file__).parent

FIT = """
from pathlib import Path
from sidelight._kernels import caller
from sidelight._kernels._jit import cache_folder
assert caller.twice(1.0) == 2.0
hits = sum(caller.twice.stats.cache_hits.values())
misses = sum(caller.twice.stats.cache_misses.values())
print(hits, misses, cache_folder(Path(caller.__file__)))
"""

PARTS = """
import sys
import numba
if sys.argv[1:] == ["whole"]:
    numba.version_info = numba.version_info._replace(short=(99, 0))
from sidelight._kernels import caller
is_tested = numba.version_info.short == (0, 68)
assert ("sidelight._kernels._compilers" in sys.modules) == is_tested
assert caller.power(2.0, 10) == 1024.0
stats = caller.half_power.stats
hits = sum(caller.power.stats.cache_hits.values())
print(hits, sum(stats.cache_misses.values()), stats.cache_path)
"""

OUTSIDE = """
import numpy as np
from sidelight._kernels import caller
try:
    caller.last_of_three(np.zeros(2))
except IndexError as error:
    print(0, 0, type(error).__name__)
"""

CALLED = """
from sidelight._kernels._jit import jit


@jit
def times(x, y):
    return x * y
"""

CALLER = """
from sidelight._kernels._jit import jit, part
from sidelight._kernels.called import times


@part
def half_power(x, n):
    y = 1.0
    for _ in range(n // 2):
        y *= x
    return y


@jit
def power(x, n):
    return half_power(x, n) * half_power(x, n)


@jit
def twice(x):
    return times(x, 2.0)


@jit
def last_of_three(x):
    return x[2]
"""


def start(code, source, *arguments, **environment):
    settings = {
        k: v
        for k, v in os.environ.items()
        if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_BOUNDSCHECK")
    }
    settings |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=settings, stdout=subprocess.PIPE, text=True
    )


def answer(process):
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    hits, misses, folder = text.split(maxsplit=2)
    return int(hits), int(misses), folder.strip()


@pytest.fixture
def copy_of_package(tmp_path):
    source = tmp_path / "src"
    kernels = source / "sidelight" / "_kernels"
    kernels.mkdir(parents=True)
    (source / "sidelight" / "__init__.py").touch()  # the package's own imports the registry
    for name in ("__init__.py", "_jit.py", "_compilers.py"):
        shutil.copy(PACKAGE / "_kernels" / name, kernels)
    (kernels / "called.py").write_text(CALLED)
    (kernels / "caller.py").write_text(CALLER)
    return source


def test_compiled_kernels_are_found_again(copy_of_package, tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    # Several processes at once, with an empty cache.
    both = [start(FIT, copy_of_package, **cache) for _ in range(2)]
    folders = {answer(process)[2] for process in both}
    assert len(folders) == 1
    hits, misses, folder = answer(start(FIT, copy_of_package, **cache))
    assert (hits, misses) == (1, 0)
    assert folder in folders
    assert Path(folder).is_relative_to(tmp_path / "cache")


def test_parts_are_compiled_and_stored_with_the_kernels_that_call_them(copy_of_package, tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert answer(start(PARTS, copy_of_package, **cache)) == (0, 1, "None")
    assert answer(start(PARTS, copy_of_package, **cache)) == (1, 0, "None")


def test_parts_can_be_compiled_as_other_functions(copy_of_package, tmp_path):
    hits, _, folder = answer(
        start(PARTS, copy_of_package, "whole", XDG_CACHE_HOME=str(tmp_path / "cache"))
    )
    assert hits == 0
    assert folder != "None"


@pytest.mark.parametrize(("edited", "hits_misses"), [("called.py", (0, 1)), ("other.py", (1, 0))])
def test_an_edit_is_noticed_where_the_kernel_calls_and_ignored_elsewhere(
    copy_of_package, tmp_path, edited, hits_misses
):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    _, _, folder = answer(start(FIT, copy_of_package, **cache))
    with (copy_of_package / "sidelight" / "_kernels" / edited).open("a") as file:
        file.write("# edited\n")
    hits, misses, folder_now = answer(start(FIT, copy_of_package, **cache))
    assert (hits, misses) == hits_misses
    assert (folder_now == folder) == (hits == 1)


def test_bounds_are_checked_on_demand_and_that_code_is_kept_apart(copy_of_package, tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    plain = answer(start(FIT, copy_of_package, **cache))
    checked = answer(start(FIT, copy_of_package, NUMBA_BOUNDSCHECK="1", **cache))
    assert checked[:2] == (0, 1)
    assert checked[2] != plain[2]
    again = answer(start(OUTSIDE, copy_of_package, NUMBA_BOUNDSCHECK="1", **cache))
    assert again[2] == "IndexError"


def test_nowhere_to_write_is_no_obstacle(copy_of_package, tmp_path):
    (tmp_path / "file").write_text("")
    hits, _misses, folder = answer(
        start(FIT, copy_of_package, XDG_CACHE_HOME=str(tmp_path / "file"))
    )
    assert hits == 0
    assert folder == "None"


def test_nothing_is_written_into_the_package(copy_of_package, tmp_path):
    answer(start(FIT, copy_of_package, XDG_CACHE_HOME=str(tmp_path / "cache")))
    assert not list(copy_of_package.rglob("*.nb*"))
