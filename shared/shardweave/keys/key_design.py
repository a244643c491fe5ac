"""The design of an entity's keys: elements, generated properties, and the whole key.

Values without behaviour, from which `entity_keys` and `compiled_keys` build and parse texts.
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
