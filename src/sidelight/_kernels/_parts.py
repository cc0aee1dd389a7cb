"""Compile a function that only kernels call, no further than its callers need.

numba optimises every function and translates it into machine code, and then does so again inside
each of its callers. For a part of a kernel the first time is wasted. `PartCompiler` leaves it out:
the callers link the code of a part and optimise it as their own. So parts cost little time to
compile, and long kernels can be divided into short functions.

This replaces inner steps of numba. ``KNOWN`` is False for versions in which they were not tested:
there a part is compiled as every other function, which takes longer and gives the same code.
"""

from typing import Any

import numba
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

KNOWN = numba.version_info.short <= (0, 68)


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


class PartCompiler(CompilerBase):
    """numba's compiler, with the last step replaced."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_PartLowering if step is NativeLowering else step, text)
            for step, text in passes.passes
        ]
        passes.finalize()
        return [passes]
