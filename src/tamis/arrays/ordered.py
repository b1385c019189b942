"""64-bit integers that order as float64 do, and linear positions among a number of cells."""

import numpy as np

from tamis.arrays.jit import leaf


@leaf
def float_of(bits: int) -> float:
    """The float64 behind an integer whose sign is the float's and whose order is that of floats."""
    return np.int64(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)).view(np.float64)


@leaf
def cell(x: float, base: float, scale: float, cells: int) -> int:
    """The cell of x when cells begin at `base` and are 1/scale wide; what lies outside belongs to the first or last."""
    at = (x - base) * scale
    if not at > 0.0:
        return 0
    return cells - 1 if at >= cells - 1 else int(at)
