"""Kernels with numba's bounds checks: an index outside its array is an error, not a read of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sidelight

ROOT = Path(__file__).parents[2]
# Kernels that no test calls by themselves are reached by fits: the fuzz suite has the odd sizes.
CALLS = {
    "tests": [
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow",
        "tests/kernels",
    ],
    "fits": ["tests/fuzz.py", "--n", "30", "--seed", "5"],
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_kernel_leaves_its_arrays(call):
    checked = {"NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": str(Path(sidelight.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, *call],
        cwd=ROOT,
        env={**os.environ, **checked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "IndexError" not in done.stdout
