"""Many arrays as one argument.

Numba unpacks every array argument on every call, which for an index of forty arrays takes longer than matching an event. A
*handle* is an int64 array of (address, length) per array; kernels make their views from it. Whoever passes a handle keeps
the arrays alive for as long as the call lasts.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from tamis.arrays.jit import intrinsic


def handle_of(arrays: Iterable[NDArray[np.generic]]) -> NDArray[np.int64]:
    """The handle of one-dimensional contiguous arrays, in order."""
    listed = list(arrays)
    assert all(array.flags.c_contiguous and array.ndim == 1 for array in listed)
    return np.array([part for array in listed for part in (array.ctypes.data, len(array))], np.int64)


def viewer(item: Any) -> Any:
    """A primitive view(handle, i) that is array i of a handle, whose items are of type `item`."""

    def view(typing_context: Any, handle: Any, i: Any) -> Any:
        array = types.Array(item, 1, "C")

        def codegen(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            data = context.make_array(handle)(context, builder, arguments[0]).data
            at = builder.mul(arguments[1], ir.Constant(ir.IntType(64), 2))
            address = builder.load(builder.gep(data, [at]))
            length = builder.load(builder.gep(data, [builder.add(at, ir.Constant(ir.IntType(64), 1))]))
            made = context.make_array(array)(context, builder)
            size = context.get_constant(types.intp, item.bitwidth // 8)
            pointer = builder.inttoptr(address, made.data.type)
            populate_array(made, data=pointer, shape=[length], strides=[size], itemsize=size, meminfo=None)
            return made._getvalue()

        return array(handle, types.intp), codegen

    return intrinsic(view)


view_uint8, view_uint16, view_uint32 = viewer(types.uint8), viewer(types.uint16), viewer(types.uint32)
view_int32, view_int64, view_float64 = viewer(types.int32), viewer(types.int64), viewer(types.float64)
view_uint64 = viewer(types.uint64)
