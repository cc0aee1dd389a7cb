"""Parts of kernels, which only kernels can call, for tests of the parts themselves."""

import functools

import numba


@functools.cache
def called_from_python(part):
    """A kernel that does nothing but call the part."""

    @numba.njit
    def kernel(*arguments):
        return part(*arguments)

    return kernel
