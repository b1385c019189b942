"""Rows of JSON in bulk. Objects are decoded in C and taken apart level by level, every step over all rows at once."""

from itertools import chain, compress
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from tamis.encoding.columns import Mask, present
from tamis.encoding.keys import Int64Array
from tamis.encoding.pairs import Pairs, Path
from tamis.model.values import INT64_MAX, INT64_MIN

KINDS: dict[type, int] = {type(None): 0, bool: 1, int: 2, float: 3, str: 4, list: 5, dict: 6}
ARROW = {1: pa.bool_(), 2: pa.int64(), 3: pa.float64(), 4: pa.large_string()}
DECODE = msgspec.json.Decoder().decode


def add_json(pairs: Pairs, column: pa.Array) -> None:
    """A column of JSON objects; each one's members become attributes of its row. Null is an empty object."""
    rows = np.flatnonzero(present(column))
    texts = column.drop_null().to_pylist()
    try:
        objects = list(map(DECODE, texts))
    except msgspec.DecodeError:
        objects = [decoded(pairs, row, text) for row, text in zip(rows.tolist(), texts, strict=True)]
    kinds = kinds_of(objects)
    wrong = (kinds != KINDS[dict]) & (kinds != 0)
    for row, value in zip(rows[wrong].tolist(), compress(objects, wrong), strict=True):
        pairs.fault(np.array([row]), f"an event is an object of attributes, not {type(value).__name__}")
    objects = list(compress(objects, kinds == KINDS[dict]))
    paths: list[Path] = [()]
    rows = rows[kinds == KINDS[dict]]
    which, depth = np.zeros(len(rows), np.int64), 0
    while objects:
        if depth > pairs.limits.event_depth:
            pairs.fault(rows, f"the event is nested deeper than event_depth = {pairs.limits.event_depth}")
            return
        objects, rows, which, paths = level(pairs, objects, rows, which, paths)
        depth += 1


def level(
    pairs: Pairs, nodes: list[Any], rows: Int64Array, which: Int64Array, paths: list[Path]
) -> tuple[list[Any], Int64Array, Int64Array, list[Path]]:
    """Hand over the scalars among the nodes; returns the members of its lists and objects, one level deeper."""
    kinds = kinds_of(nodes)
    for kind, arrow in ARROW.items():
        mine = kinds == kind
        if mine.any():
            values = list(compress(nodes, mine))
            add_scalars(pairs, paths, which[mine], rows[mine], values, arrow)
    lists, objects = kinds == KINDS[list], kinds == KINDS[dict]
    inner = list(compress(nodes, lists))
    sizes = lengths(inner)
    members = list(chain.from_iterable(inner))
    owner, below = np.repeat(rows[lists], sizes), np.repeat(which[lists], sizes)
    inner = list(compress(nodes, objects))
    sizes = lengths(inner)
    names = list(chain.from_iterable(inner))
    members += chain.from_iterable(map(dict.values, inner))
    object_rows = np.repeat(rows[objects], sizes)
    check_names(pairs, names, object_rows)
    known: dict[str, int] = {name: i for i, name in enumerate(dict.fromkeys(names))}
    codes = np.fromiter(map(known.__getitem__, names), np.int64, len(names))
    pairs_of, position = np.unique(np.repeat(which[objects], sizes) * max(1, len(known)) + codes, return_inverse=True)
    listed = list(known)
    deeper = [(*paths[pair // len(known)], listed[pair % len(known)]) for pair in pairs_of.tolist()]
    owner = np.concatenate([owner, object_rows])
    below = np.concatenate([below, position.reshape(-1) + len(paths)])
    return members, owner, below, paths + deeper


def add_scalars(
    pairs: Pairs, paths: list[Path], which: Int64Array, rows: Int64Array, values: list[Any], kind: pa.DataType
) -> None:
    """Scalars of one kind; integers beyond 64 bits are faults of their rows."""
    try:
        column = pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        fits = np.fromiter((INT64_MIN <= v <= INT64_MAX for v in values), bool, len(values))
        for at in np.flatnonzero(~fits).tolist():
            name = ".".join(paths[which[at]])
            text = f"attribute {name!r}: the integer {values[at]} does not fit in 64 bits"
            pairs.fault(rows[at : at + 1], text)
        column, which, rows = pa.array(compress(values, fits), kind), which[fits], rows[fits]
    used, position = np.unique(which, return_inverse=True)
    pairs.add([paths[i] for i in used.tolist()], position.reshape(-1), rows, column)


def check_names(pairs: Pairs, names: list[str], rows: Int64Array) -> None:
    """Attribute names are not empty."""
    if "" in names:
        empty: Mask = np.fromiter(map("".__eq__, names), bool, len(names))
        pairs.fault(rows[empty], "attribute names are non-empty strings, not ''")


def decoded(pairs: Pairs, row: int, text: str) -> Any:
    """One row's value, or None and a fault."""
    try:
        return DECODE(text)
    except msgspec.DecodeError as problem:
        pairs.fault(np.array([row]), f"not JSON: {problem}")
        return None


def kinds_of(values: list[Any]) -> Int64Array:
    """Kind codes of decoded JSON values."""
    return np.fromiter(map(KINDS.__getitem__, map(type, values)), np.int64, len(values))


def lengths(values: list[Any]) -> Int64Array:
    """Lengths of lists or objects."""
    return np.fromiter(map(len, values), np.int64, len(values))
