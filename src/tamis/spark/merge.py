"""One dictionary from many: how the numbers of each part's dictionary read in the common one."""

from pathlib import Path

import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import UNKNOWN_STRING, Int32Array, Int64Array
from tamis.encoding.subscriptions import FIRST_SET, MISSING, SubscriptionTable


def merge_into(common: Dictionary, part: Dictionary) -> tuple[Int32Array, Int64Array]:
    """Add a part's dictionary to the common one.

    Returns (attributes int32[names], strings int64[strings + 1]): number in the part → number in the common dictionary.
    """
    bases = {companion: base for base, companion in part.companions.items()}
    attributes = []
    for number, name in enumerate(part.names):
        if number in part.derived:
            attributes.append(common.derive(part.derived[number]))
        elif number in bases:
            attributes.append(common.companion(part.names[bases[number]]))
        else:
            attributes.append(common.attribute(name))
    strings = [0, *(common.intern(text) - UNKNOWN_STRING for text in part.strings)]
    return np.array(attributes, np.int32), np.array(strings, np.int64)


def renumber(
    table: SubscriptionTable, attributes: Int32Array, strings: Int64Array, common: Dictionary
) -> SubscriptionTable:
    """A part's table in the numbers of the common dictionary."""
    is_set = table.ops >= FIRST_SET
    text = (table.lo == table.hi) & (table.lo > UNKNOWN_STRING) & ~is_set & (table.ops != MISSING)
    lo, hi = table.lo.copy(), table.hi.copy()
    lo[text] = hi[text] = strings[table.lo[text] - UNKNOWN_STRING] + UNKNOWN_STRING
    sets = table.sets.copy()
    texts = sets > UNKNOWN_STRING
    if texts.any():
        sets[texts] = strings[sets[texts] - UNKNOWN_STRING] + UNKNOWN_STRING
        owner = np.repeat(np.arange(int(is_set.sum())), hi[is_set] - lo[is_set])
        sets = sets[np.lexsort((sets, owner))]
    attrs = attributes[table.attrs] if len(table.attrs) else table.attrs
    return SubscriptionTable(table.owners, table.offsets, attrs, table.ops, lo, hi, sets, common)


def save_maps(directory: Path, attributes: Int32Array, strings: Int64Array) -> None:
    """Keep the maps beside the part."""
    np.save(directory / "attributes.npy", attributes)
    np.save(directory / "strings.npy", strings)


def load_maps(directory: Path) -> tuple[Int32Array, Int64Array]:
    """What `save_maps` wrote."""
    return np.load(directory / "attributes.npy"), np.load(directory / "strings.npy")
