"""The dictionary: names and strings ⇄ dense integers, shared by subscriptions and events.

Besides the attributes users name there are *derived* attributes, which keep text out of the engines. A predicate that keys
cannot decide (patterns, string order, `nocase`, numbers of 2^53 and more) gets a derived attribute of its own that an
event carries, with the value `true`, exactly when one of the base attribute's values satisfies the predicate
(`predicates/text.py` adds them). Equality on huge integers uses one *companion* attribute per base instead, whose keys are
interned exact integers. Engines see only intervals and sets of keys.

The dictionary only grows; readers may use it while one writer extends it.
"""

from dataclasses import dataclass, field

from tamis.encoding.keys import FALSE, TRUE, UNKNOWN_STRING, number_key
from tamis.model.predicate import Predicate
from tamis.model.schema import Domain, PublicationType
from tamis.model.values import Scalar


@dataclass(slots=True)
class Dictionary:
    """Attribute names, interned strings, derived attributes and declared domains."""

    names: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    derived: dict[int, Predicate] = field(default_factory=dict)
    derived_ids: dict[Predicate, int] = field(default_factory=dict)
    by_base: dict[int, list[int]] = field(default_factory=dict)
    companions: dict[int, int] = field(default_factory=dict)
    type: PublicationType | None = None

    def __len__(self) -> int:
        return len(self.names)

    def copy(self) -> "Dictionary":
        """The dictionary as it is now; later growth does not show."""
        by_base = {base: list(ids) for base, ids in self.by_base.items()}
        ids, strings, derived_ids = dict(self.ids), dict(self.strings), dict(self.derived_ids)
        return Dictionary(
            list(self.names), ids, strings, dict(self.derived), derived_ids, by_base, dict(self.companions), self.type
        )

    @property
    def words(self) -> int:
        """Attributes and strings so far; an event encoded under fewer may lack what a later subscription asks of it."""
        return len(self.names) + len(self.strings)

    def attribute(self, name: str) -> int:
        """The id of a named attribute, made when new."""
        found = self.ids.get(name)
        if found is None:
            found = self._new(name)
            self.ids[name] = found
        return found

    def derive(self, predicate: Predicate) -> int:
        """The id of the attribute that says whether `predicate` holds, made when new."""
        found = self.derived_ids.get(predicate)
        if found is None:
            base = self.attribute(predicate.attribute)
            found = self._new(f"{predicate.attribute} {predicate.op} …")
            self.derived[found] = predicate
            self.derived_ids[predicate] = found
            self.by_base.setdefault(base, []).append(found)
        return found

    def companion(self, name: str) -> int:
        """The id of the attribute that carries huge integers of `name` exactly, made when new."""
        base = self.attribute(name)
        found = self.companions.get(base)
        if found is None:
            found = self.companions[base] = self._new(f"{name} exactly")
        return found

    def domain(self, attribute: int) -> Domain | None:
        """The declared domain of an attribute id, if any."""
        declared = self.type.attributes.get(self.names[attribute]) if self.type else None
        return declared.domain if declared else None

    def intern(self, text: str) -> int:
        """The key of a string constant, made when new."""
        return UNKNOWN_STRING + self.strings.setdefault(text, len(self.strings) + 1)

    def constant(self, value: Scalar) -> int:
        """The key of a constant, interning strings."""
        return self.intern(value) if isinstance(value, str) else plain_key(value)

    def key(self, value: Scalar) -> int:
        """The key of an event's value; strings nobody names share one key, so events cannot grow the dictionary."""
        if isinstance(value, str):
            return UNKNOWN_STRING + self.strings.get(value, 0)
        return plain_key(value)

    def exact_key(self, value: int | float) -> int | None:
        """The companion key of a huge number, if some subscription names it."""
        found = self.strings.get(exact_name(value))
        return None if found is None else UNKNOWN_STRING + found

    def _new(self, name: str) -> int:
        self.names.append(name)
        return len(self.names) - 1


def plain_key(value: bool | int | float) -> int:
    """The key of a number or boolean."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return number_key(value)


def exact_name(value: int | float) -> str:
    """The text under which a huge number is interned; only companion attributes ever compare with it."""
    return f"{int(value)}"
