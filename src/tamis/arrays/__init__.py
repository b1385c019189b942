"""Numba primitives with no publish/subscribe meaning: they would make sense in any program."""
