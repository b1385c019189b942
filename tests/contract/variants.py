"""Which engines the contract suite runs: every registered one with its defaults, and the option sets listed here."""

from tamis.engines.registry import ENGINES

OPTIONS: dict[str, list[dict[str, object]]] = {
    "counting": [
        {"association": association, "index": index}
        for association in ("lists", "bitmatrix", "matrix")
        for index in ("table", "list", "sorted")
        if (association, index) != ("lists", "table")
    ],
    "propagation": [{"prefetch": False, "index": "list"}, {"prefetch": True, "index": "table"}],
}
"""engine → further option sets to run the suite with (the defaults always run)."""

VARIANTS = [(name, options) for name in ENGINES for options in ({}, *OPTIONS.get(name, []))]


def label(variant: tuple[str, dict[str, object]]) -> str:
    name, options = variant
    return "-".join([name, *(str(value) for value in options.values())])
