"""Fingerprints of a declaration: of what places its records, and of all that its generated attributes come from.

While an entity moves, what places records must not change: processes with another `placement` refuse to write. Another
`schema` is allowed, but movers whose schema is not the control record's stop until that is resumed, since they would
copy records as the other schema has them.

Pure.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from typing import Any

from ..codecs import Codec
from ..entity_type import EntityType
from ..keys import Element
from .phases import Control, Step


def placement_of(entity: EntityType[Any]) -> str:
    """The fingerprint of token, identity, sharding, hash, delimiters and bumps."""
    design = entity.keys.design
    shard_map = entity.shard_map
    return _fingerprint(
        [
            entity.token,
            _elements(design.partition),
            _elements(design.sort),
            _elements(design.shard_by),
            design.timestamp,
            entity.time_unit,
            design.key_format.name,
            list(design.key_format.delimiters),
            [[bump.timestamp, bump.char_bits, bump.chars] for bump in shard_map.bumps],
        ]
    )


def schema_of(entity: EntityType[Any]) -> str:
    """The fingerprint of placement, properties and generated attributes."""
    generated = [[each.name, each.sharded, _elements(each.elements)] for each in entity.keys.design.generated]
    properties = [[each.stored, _stable(each.annotation)] for each in entity.properties.values()]
    return _fingerprint([placement_of(entity), properties, generated])


MINDING_THE_SCHEMA = frozenset({Step.COPY, Step.VERIFY, Step.INDEXES})
"""The steps whose outcome depends on more of the declaration than what places records."""


def fits(entity: EntityType[Any], control: Control) -> bool:
    """Whether the declaration is the one that the step's work needs. When nothing moves, any may be."""
    if not control.moving:
        return True
    if control.step in MINDING_THE_SCHEMA:
        return schema_of(entity) == control.schema
    return placement_of(entity) == control.placement


def _elements(elements: tuple[Element, ...]) -> list[list[Any]]:
    return [[each.name, _codec(each.codec), each.descending] for each in elements]


def _codec(codec: Any) -> list[Any]:
    """A codec's kind and settings, which are plain values, members of an Enum, or a codec within."""
    settings = {name: value for name, value in vars(codec).items() if not name.startswith("_")}
    return [codec.name, *([name, _setting(settings[name])] for name in sorted(settings))]


def _setting(value: Any) -> Any:
    if isinstance(value, Codec):
        return _codec(value)
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, (list, tuple)):
        return [_setting(each) for each in value]
    return _stable(value)


def _stable(value: Any) -> str:
    """A value's text without the addresses of objects, so that every process has the same."""
    return _ADDRESS.sub("", str(value))


_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def _fingerprint(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=12, person=b"shardweave.place").hexdigest()
