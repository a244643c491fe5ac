"""The design of an entity's keys: elements, generated properties, and the whole key.

Values from which `entity_keys` and `compiled_keys` build and parse texts, and whether two keys have the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..table.values import Item, Value
from ..values.codecs import Codec, DescendingCodec
from .key_format import KeyFormat


@dataclass(frozen=True)
class Element:
    """One `name#value` part of a generated property. `name` is the stored property; that of a member of a model has
    points, `address.country`, and `path` has its steps."""

    name: str
    codec: Codec
    descending: bool = False
    path: tuple[str, ...] = ()

    @property
    def slot(self) -> tuple[str, bool]:
        return self.name, self.descending

    @property
    def root(self) -> str:
        """The property in which its value is stored."""
        return self.path[0] if self.path else self.name

    def value_in(self, item: Item) -> Value:
        """Its value in a stored item, or in values by the names of elements; None if it has none."""
        found = item.get(self.name)
        if found is None and self.path:
            found = item
            for step in self.path:
                if not isinstance(found, Mapping):
                    return None
                found = found.get(step)
        return found


def order_difference(
    titles: tuple[str, str], keys: tuple[Sequence[Element], Sequence[Element]], raw: tuple[bool, bool] = (False, False)
) -> tuple[str, str] | None:
    """Why the records of two keys can't be merged into one order, and the fix; None if they can. `titles` name the
    keys, `raw` are those that are a property itself."""
    (one, other), (first, second) = titles, keys
    if raw[0] != raw[1] or len(first) != len(second):
        message = f"{one} and {other} are ordered by different numbers of elements"
        return message, "use indexes whose range keys have the same elements"
    for mine, its in zip(first, second, strict=True):
        if mine.descending != its.descending or _signature(mine.codec) != _signature(its.codec):
            message = f"{mine.name} in {one} and {its.name} in {other} differ in type or direction"
            return message, "use indexes whose range keys have elements of the same types, in the same order"
    return None


def _signature(codec: Codec) -> tuple[object, ...]:
    """A value that is equal for codecs with the same order: type and parameters."""
    if isinstance(codec, DescendingCodec):
        return (DescendingCodec, *_signature(codec.inner))
    parameters = {name: value for name, value in vars(codec).items() if not name.startswith("_")}
    return (type(codec), tuple(sorted(parameters.items(), key=str)))


@dataclass(frozen=True)
class Generated:
    """A generated property. A sharded one starts with the record's unpartitioned hash key, or, if it has its own number
    of `shards`, with the hash key of one of at most that many shards."""

    name: str
    elements: tuple[Element, ...]
    sharded: bool
    shards: int | None = None


@dataclass(frozen=True)
class KeyDesign:
    """Everything that determines an entity's keys: the data from which `EntityKeys` is compiled.

    `singleton` replaces the range key's elements by a fixed text. `hints` names the unique and the timestamp
    property, which do not by themselves make an unsharded property present in the entity_manager format.
    """

    token: str
    key_format: KeyFormat
    hash_name: str
    range_name: str
    partition: tuple[Element, ...]
    sort: tuple[Element, ...]
    shard_by: tuple[Element, ...]
    timestamp: str | None
    generated: tuple[Generated, ...]
    hints: frozenset[str] = frozenset()
