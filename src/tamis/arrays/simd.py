"""Thirty-two comparisons at a time, written as vector code so that they never depend on what the compiler guesses.

A *column* is 64 neighbouring items of an unsigned array: 32 lows, then 32 highs. The vectors are plain LLVM types: with
AVX-512 a column of 16-bit items costs two compares into mask registers, with AVX2 or NEON a few more instructions.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from tamis.arrays.jit import intrinsic

LANES = 32
I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
HALF = 16


def vectors(context: Any, builder: Any, columns: Any, arguments: Any) -> tuple[Any, Any]:
    """How to load 32 items some way behind columns[at], and 32 times the value, for the arguments (columns, at, value)."""
    data = context.make_array(columns)(context, builder, arguments[0]).data
    item = ir.IntType(columns.dtype.bitwidth)
    vector = ir.VectorType(item, LANES)

    def items(offset: int) -> Any:
        at = builder.add(arguments[1], ir.Constant(I64, offset))
        loaded = builder.load(builder.bitcast(builder.gep(data, [at]), vector.as_pointer()))
        loaded.align = columns.dtype.bitwidth // 8
        return loaded

    value = arguments[2] if item == I32 else builder.trunc(arguments[2], item)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(I32, 0))
    zeros = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
    return items, builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


@intrinsic
def range_mask(typing_context: Any, columns: Any, at: Any, value: Any) -> Any:
    """Bit k of the result: columns[at + k] <= value <= columns[at + 32 + k], unsigned; `value` fits the items."""
    signature = types.uint32(columns, types.intp, types.uint32)

    def codegen(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        items, values = vectors(context, builder, columns, arguments)
        above = builder.icmp_unsigned(">=", values, items(0))
        below = builder.icmp_unsigned("<=", values, items(LANES))
        return builder.bitcast(builder.and_(above, below), I32)

    return signature, codegen


@intrinsic
def equal_mask(typing_context: Any, columns: Any, at: Any, value: Any) -> Any:
    """Bit k of the result: columns[at + k] is `value`, which fits the items, or 0."""
    signature = types.uint32(columns, types.intp, types.uint32)

    def codegen(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        items, values = vectors(context, builder, columns, arguments)
        loaded = items(0)
        equal = builder.icmp_unsigned("==", values, loaded)
        untested = builder.icmp_unsigned("==", loaded, ir.Constant(loaded.type, None))
        return builder.bitcast(builder.or_(equal, untested), I32)

    return signature, codegen


@intrinsic
def append_masked(typing_context: Any, items: Any, at: Any, mask: Any, out: Any, count: Any) -> Any:
    """Append items[at + k] (int32) for every set bit k of `mask` to out[count:]; returns the new count.

    Writes only what it appends; `out` has room for it.
    """
    signature = types.intp(items, types.intp, types.uint32, out, types.intp)

    def codegen(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        source = context.make_array(items)(context, builder, arguments[0]).data
        target = context.make_array(out)(context, builder, arguments[3]).data
        vector, bits = ir.VectorType(I32, HALF), ir.VectorType(I1, HALF)
        store = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [vector, I32.as_pointer(), bits]),
            "llvm.masked.compressstore.v16i32",
        )
        ones = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, [I32]), "llvm.ctpop.i32")
        count = arguments[4]
        for start in (0, HALF):
            half = builder.trunc(builder.lshr(arguments[2], ir.Constant(I32, start)), ir.IntType(HALF))
            at = builder.add(arguments[1], ir.Constant(I64, start))
            loaded = builder.load(builder.bitcast(builder.gep(source, [at]), vector.as_pointer()))
            loaded.align = 4
            builder.call(store, [loaded, builder.gep(target, [count]), builder.bitcast(half, bits)])
            found = builder.call(ones, [builder.zext(half, I32)])
            count = builder.add(count, builder.zext(found, I64))
        return count

    return signature, codegen
