"""numba's compiler, with steps left out that cost time and change nothing in the compiled code.

This replaces inner steps of numba: `_jit` imports it only where numba is the tested version.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Flags(Flags):
    """The options of a function. numba compares them for every operator of every line."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values

    def __hash__(self) -> int:
        return 0


@contextmanager
def _without_collections() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class KernelCompiler(Compiler):
    """Python does not look for garbage meanwhile: an eighth of the time.

    The compiler makes so many objects that Python would search through all objects of the process
    every few kernels. numba compiles in one thread at a time.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _Flags(self.state.flags)

    def compile_extra(self, function: Any) -> Any:
        with _without_collections():
            return super().compile_extra(function)


# Parts of kernels. numba optimises every function and translates it into machine code, and then
# does so again inside each of its callers. For a function that only kernels call, the first time is
# wasted: its callers link its code and optimise it as their own.


class _PartLibrary(JITCodeLibrary):
    """Code that can only be linked into other libraries."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    _name = "sidelight_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Write the code of a part, and tell numba where its callers find it."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        described, environment = state.cr.fndesc, state.cr.env
        # numba keeps a Python function of every compiled one; this one has no entry point.
        function = _dynfunc.make_function(
            described.lookup_module(), state.func_id.func_name, "", 0, environment, ()
        )
        state.cr = state.cr._replace(cfunc=function)
        state.targetctx.insert_user_function(function, described, [state.library])
        return True


class PartCompiler(KernelCompiler):
    """The last step is `_PartLowering`: no machine code."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_PartLowering if step is NativeLowering else step, text)
            for step, text in passes.passes
        ]
        passes.finalize()
        return [passes]
