"""Who waits for the compiler is told so."""

from sidelight._kernels._jit import jit
from sidelight._kernels.compiling import when_compiling


def fresh_kernel():
    def add_one(x):
        return x + 1

    kernel = jit(add_one)
    kernel._cache.flush()  # an earlier run may have left it on disk
    return kernel


def test_the_first_compilation_is_told_once_and_all_are_counted():
    kernel, told = fresh_kernel(), []
    with when_compiling(lambda: told.append("now")) as compiled:
        assert told == []
        assert kernel(1) == 2
        assert kernel(1.0) == 2.0
    assert told == ["now"]
    assert compiled.n_compiled == 2


def test_kernels_that_are_there_are_not_compiled():
    kernel = fresh_kernel()
    kernel(1)
    with when_compiling() as compiled:
        kernel(2)
    assert compiled.n_compiled == 0


def test_nothing_is_told_after_the_block():
    kernel, told = fresh_kernel(), []
    with when_compiling(lambda: told.append("now")):
        pass
    kernel(1)
    assert told == []
