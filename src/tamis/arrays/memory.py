"""What plain array code cannot say of memory: prefetching, the order of stores, and the same bits as another type."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from tamis.arrays.jit import intrinsic


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index]; never faults, changes nothing."""
    signature = types.void(array, types.intp)

    def codegen(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        i8, i32 = ir.IntType(8), ir.IntType(32)
        call = ir.FunctionType(ir.VoidType(), [i8.as_pointer(), i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, call, "llvm.prefetch.p0i8")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), i8.as_pointer())
        builder.call(function, [address, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def publish(typing_context: Any) -> Any:
    """Stores made before are visible to other threads before any store made after (a release fence)."""
    signature = types.void()

    def codegen(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        builder.fence("release")
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def float_of_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 with the bits of an int64."""

    def codegen(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen
