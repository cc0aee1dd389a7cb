"""Steps of numba's compiler that are replaced by shorter ones: the compiled code stays the same."""

import re
from collections import namedtuple

import numba
import numpy as np
import pytest

from sidelight._kernels import _jit

pytestmark = pytest.mark.skipif(
    numba.version_info.short != _jit._TESTED, reason="kernels use numba's own steps in this version"
)

Rows = namedtuple("Rows", ["start", "value"])


def new_kernel():
    """A kernel and a part, compiled by nobody yet."""

    @_jit.part
    def longest(rows, limit):
        best, where = -1, (0, 0)
        for i in range(len(rows.start) - 1):
            size = rows.start[i + 1] - rows.start[i]
            if best < size <= limit:
                best, where = size, (i, size)
        return where

    @_jit.jit
    def sums(rows, weight, out):
        i, size = longest(rows, np.int64(5))
        here = rows.value[rows.start[i] : rows.start[i] + size]
        out[:] = 0.0
        for j in range(len(here)):
            w = 1.0 if weight is None else weight[j]
            if not (w > 0.0 and np.isfinite(here[j])):
                continue
            out[j % len(out)] += np.sqrt(w) * max(here[j], 0.0)
        return i, size

    return sums


def code_of(kernel):
    """The code of all that was compiled, without names and addresses, which count upwards."""
    names = r'_ZN[\w$.]*|numba\.dynamic\.globals\.\w+|c"[^"]*"|\[\d+ x i8\]|\b\d{9,}\b'
    return [re.sub(names, "NAME", text) for text in kernel.inspect_llvm().values()]


@pytest.fixture
def rows():
    return Rows(np.array([0, 2, 6, 7]), np.arange(7.0))


def answers(kernel, rows):
    found = []
    for weight in (None, np.array([1.0, 4.0, 0.0, 9.0])):
        out = np.empty(3)
        found.append((*kernel(rows, weight, out), *out))
    return found


def test_shorter_steps_write_the_code_that_numbas_own_steps_write(rows, monkeypatch):
    short = new_kernel()
    found = answers(short, rows)
    monkeypatch.setattr("sidelight._kernels._compilers._SHORTER", ())
    monkeypatch.setattr("sidelight._kernels._compilers._signatures", {})
    long = new_kernel()
    assert found == answers(long, rows)
    assert code_of(short) == code_of(long)
    assert len(code_of(short)) == 2


def test_signatures_that_are_known_already_give_the_same_code(rows):
    first, second = new_kernel(), new_kernel()
    assert answers(first, rows) == answers(second, rows)
    assert code_of(first) == code_of(second)


def test_numbas_own_steps_are_back_after_a_kernel_is_compiled(rows):
    from sidelight._kernels._compilers import _SHORTER

    before = [getattr(owner, name) for owner, name, _ in _SHORTER]
    answers(new_kernel(), rows)
    with pytest.raises(numba.core.errors.TypingError):
        new_kernel()(rows, None, "not an array")
    assert [getattr(owner, name) for owner, name, _ in _SHORTER] == before
    assert all(own is not short for own, (_, _, short) in zip(before, _SHORTER, strict=True))
