"""Starting without SciPy's linear algebra.

Numba loads it, where it is installed, as soon as the first kernel is made ready, only to know whether `np.dot` could be
compiled. That takes a fifth of the time until the first match, and no kernel of ours needs it.
"""

from importlib.util import find_spec
from typing import Any

from numba.np import linalg as numba_linalg

linalg: Any = numba_linalg


def scipy_later() -> None:
    """Let Numba take SciPy's word for granted, once; whoever compiles `np.dot` loads it then."""
    ensure = getattr(linalg, "ensure_blas", None)
    if ensure is None:  # another version of Numba: it starts as it likes
        return

    def installed() -> None:
        if find_spec("scipy") is None:
            raise ImportError("SciPy is not installed")

    linalg.ensure_blas = installed
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ensure
    numba_arraymath: Any = arraymath
    numba_arraymath.ensure_blas = ensure
