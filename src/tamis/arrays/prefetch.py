"""`prefetch`: ask the processor to bring a cache line near before it is read. A hint: it never faults and never waits."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

CACHE_LINE = 64
cgutils: Any = untyped_cgutils


def generate_prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Type and code of `prefetch(array, index)`: `llvm.prefetch` for reading, to all cache levels, of one cell of a
    one-dimensional array. The index is not checked: a hint outside the array is harmless."""
    if not isinstance(array, types.Array) or not isinstance(index, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        structure = context.make_array(signature.args[0])(context, builder, arguments[0])
        offset = context.cast(builder, arguments[1], signature.args[1], types.intp)
        cell = builder.bitcast(builder.gep(structure.data, [offset]), ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), flag, flag, flag])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(hint, [cell, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(generate_prefetch)
