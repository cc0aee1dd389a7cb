"""numba's compiler, with steps left out that cost time and change nothing in the compiled code.

This replaces inner steps of numba: `_jit` imports it only where numba is the tested version.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc
from numba.core import ir
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering
from numba.core.types.functions import BaseFunction

_Signatures = dict[tuple[Any, ...], tuple[Any, Any]]


class _Flags(Flags):
    """The options of a function. numba compares them for every operator of every line."""

    signatures: _Signatures | None = None  # see `_signature`

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
        with _without_collections(), _shorter_steps():
            return super().compile_extra(function)


# Shorter ways to the same results, in place of numba's own steps while it compiles our kernels. The
# code that it writes is the same, line by line (compared for all kernels of BayesianMixture).


@contextmanager
def _shorter_steps() -> Iterator[None]:
    """A compilation may begin inside another one: a part is compiled when its caller is typed."""
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in _SHORTER]
    try:
        for owner, name, shorter in _SHORTER:
            setattr(owner, name, shorter)
        yield
    finally:
        for owner, name, numbas_own in kept:
            setattr(owner, name, numbas_own)


def _variables_of_statement(statement: ir.Stmt) -> list[ir.Var]:
    found: list[ir.Var] = []
    _add_variables(statement, statement.__dict__.values(), found)
    return found


def _variables_of_expression(expression: ir.Expr) -> list[ir.Var]:
    found: list[ir.Var] = []
    _add_variables(expression, expression._kws.values(), found)
    return found


def _add_variables(whole: ir.Inst, values: Iterable[Any], found: list[ir.Var]) -> None:
    """The variables among these values and inside them, in order. found: OUT.

    numba asks for the variables of every statement in most of its steps.
    """
    for value in values:
        kind = type(value)
        if kind is ir.Var:
            found.append(value)
        elif kind is ir.Expr:
            _add_variables(whole, value._kws.values(), found)
        elif kind is list or kind is tuple:
            _add_variables(whole, value, found)
        elif kind is dict:
            _add_variables(whole, value.values(), found)
        elif kind not in _WITHOUT_VARIABLES:
            found += whole._rec_list_vars(value)


_WITHOUT_VARIABLES = frozenset({str, int, float, bool, type(None), ir.Loc, ir.Scope})


def _post_process(
    self: PostProcessor, emit_dels: bool = False, extend_lifetimes: bool = False
) -> None:
    """What steps read of the variables' lifetimes is found when they read it.

    Only generators and Python's object mode, which kernels do not use, read the variables at the
    entry of blocks.
    """
    code = self.func_ir
    if code.is_generator:
        _numbas_post_process(self, emit_dels, extend_lifetimes)
        return
    code.blocks = canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


_numbas_post_process = PostProcessor.run

# What numba's own functions, such as the sum of two integers, return for given types, by the
# options of the function that is compiled. numba tries up to fifty candidates at every use.
_signatures: dict[str, _Signatures] = {}


def _signature(function: BaseFunction, context: Any, args: Any, kws: Any) -> Any:
    flags = ConfigStack.top_or_none()
    if kws or not isinstance(flags, _Flags):
        return _numbas_signature(function, context, args, kws)
    if flags.signatures is None:
        options = repr(sorted(flags.values().items()))
        flags.signatures = _signatures.setdefault(options, {})
    key = (context, function, tuple(args))
    if key not in flags.signatures:
        found = _numbas_signature(function, context, args, kws)
        flags.signatures[key] = found, function._impl_keys[found.args]
    found, implementation = flags.signatures[key]
    function._impl_keys[found.args] = implementation
    return found


_numbas_signature = BaseFunction.get_call_type


def _refresh(context: BaseContext) -> None:
    """Look for new functions that numba can compile, if any were registered since the last time.

    numba looks again for each operator that it does not find at once, a thousand times in a fit.
    """
    if _n_registered.get(context) != _count_registered(context):
        _numbas_refresh(context)
        _n_registered[context] = _count_registered(context)


def _count_registered(context: BaseContext) -> int:
    registries = *context._registries, *context.typing_context._registries
    return sum(
        len(registered)
        for registry in registries
        for registered in vars(registry).values()
        if isinstance(registered, list)
    )


_numbas_refresh = BaseContext.refresh
_n_registered: dict[BaseContext, int] = {}

_SHORTER: tuple[tuple[Any, str, Any], ...] = (
    (ir.Stmt, "list_vars", _variables_of_statement),
    (ir.Expr, "list_vars", _variables_of_expression),
    (PostProcessor, "run", _post_process),
    (BaseFunction, "get_call_type", _signature),
    (BaseContext, "refresh", _refresh),
)


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
