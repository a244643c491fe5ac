"""What the keys of an entity are made of: elements, generated properties, the design of a whole key.

Values without behaviour: `entity_keys` and `compiled_keys` build and read texts by them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..values.codecs import Codec
from .key_format import KeyFormat


@dataclass(frozen=True)
class Element:
    """One `name#value` part of a generated property. `name` is the stored property."""

    name: str
    codec: Codec
    descending: bool = False

    @property
    def slot(self) -> tuple[str, bool]:
        return self.name, self.descending


@dataclass(frozen=True)
class Generated:
    """A generated property. A sharded one starts with the record's unpartitioned hash key, or, where it has `shards` of
    its own, with that of one of at most so many shards."""

    name: str
    elements: tuple[Element, ...]
    sharded: bool
    shards: int | None = None


@dataclass(frozen=True)
class KeyDesign:
    """All that decides an entity's keys: the pure data from which `EntityKeys` is compiled.

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
