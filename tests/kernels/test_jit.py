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
import numpy as np
from sidelight._kernels import _jit
from sidelight._kernels.assign import nearest, TILE
nearest(np.zeros((2, TILE)), 2, np.zeros(TILE), np.zeros(TILE), np.zeros(TILE))
hits = sum(nearest.stats.cache_hits.values())
misses = sum(nearest.stats.cache_misses.values())
print(hits, misses, _jit._FOLDER)
"""


def start(code, source, **environment):
    settings = {
        k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    settings |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    return subprocess.Popen(
        [sys.executable, "-c", code], env=settings, stdout=subprocess.PIPE, text=True
    )


def answer(process):
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    hits, misses, folder = text.split(maxsplit=2)
    return int(hits), int(misses), folder.strip()


@pytest.fixture
def copy_of_package(tmp_path):
    source = tmp_path / "src"
    kept = ("__init__.py", "assign.py", "_jit.py")
    (source / "sidelight" / "_kernels").mkdir(parents=True)
    shutil.copy(PACKAGE / "__init__.py", source / "sidelight")
    for name in kept:
        shutil.copy(PACKAGE / "_kernels" / name, source / "sidelight" / "_kernels")
    return source


def test_compiled_kernels_are_found_again_and_an_edit_next_door_is_noticed(
    copy_of_package, tmp_path
):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    # Several processes at once, with an empty cache.
    both = [start(FIT, copy_of_package, **cache) for _ in range(2)]
    folders = {answer(process)[2] for process in both}
    assert len(folders) == 1
    hits, misses, folder = answer(start(FIT, copy_of_package, **cache))
    assert (hits, misses) == (1, 0)
    assert folder in folders
    assert Path(folder).is_relative_to(tmp_path / "cache")
    (copy_of_package / "sidelight" / "_kernels" / "other.py").write_text("# another kernel\n")
    hits, misses, folder = answer(start(FIT, copy_of_package, **cache))
    assert (hits, misses) == (0, 1)
    assert folder not in folders


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
