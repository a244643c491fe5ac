"""Fingerprints of a declaration: `placement`, of everything that determines keys, shards and expiry, and `schema`, of
everything that generated attributes depend on.

During a re-shard the placement must not change: processes with another placement refuse to write. Another schema is
allowed, but movers whose schema differs from the control record's stop until the re-shard is resumed, since they would
copy records with other attributes.

Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..errors import Fault
from ..keys.key_design import Element, Generated
from ..schema.entity_type import EntityType
from ..schema.fingerprint import element_text
from ..schema.schema import Schema
from .phases import ReshardState, ReshardStep, narrow_bump

_PROBES = ("", "shardweave", "\u00fc", "0123456789" * 10)
"""Texts whose hashes distinguish a hash function from another one, whatever its name."""


def placement_of(entity: EntityType[Any]) -> str:
    """The fingerprint of token, identity, sharding, hash function, delimiters, bumps and expiry, which determine
    whether a record is found."""
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
            [design.key_format.hash(text) for text in _PROBES],
            [[bump.timestamp, bump.char_bits, bump.chars] for bump in shard_map.bumps],
            entity.ttl,
        ]
    )


def schema_of(entity: EntityType[Any]) -> str:
    """The fingerprint of placement, properties and generated attributes, in any order. For a type it includes its name
    in keys and everything its key text depends on, but nothing that may differ between releases of Python or a library,
    since the process that starts a re-shard and the movers may run different releases. It does not include indexes,
    since a stage may hide some."""
    generated = [_generated(each) for each in entity.keys.design.generated]
    properties = [[each.stored, each.codec and each.codec.name] for each in entity.properties.values()]
    return _fingerprint([placement_of(entity), sorted(properties, key=str), sorted(generated, key=str)])


MINDING_THE_SCHEMA = frozenset({ReshardStep.COPY, ReshardStep.VERIFY, ReshardStep.INDEXES, ReshardStep.MEND})
"""The steps whose outcome depends on more of the declaration than what places records."""


def fits(entity: EntityType[Any], control: ReshardState) -> bool:
    """Whether the declaration is the one that the step's work needs. When nothing moves, any may be."""
    if not control.moving:
        return True
    if control.step in MINDING_THE_SCHEMA:
        return schema_of(entity) == control.schema
    return placement_of(entity) == control.placement


MOVING_FIX = (
    "go on with the declaration from before; and let the re-shard end, or take it back with "
    "`shardweave reshard abort`; then change it"
)


def moving_faults(schema: Schema, controls: Mapping[str, ReshardState]) -> list[Fault]:
    """The entities whose records are being moved by another declaration of what places them, or were moved to a space
    than which a new bump is not wider. `controls` are those of the entities that have one, by token."""
    return [
        Fault(
            f"{token}.shard_bumps",
            f"the bump at {bump.timestamp} is not wider than the space that re-shard {control.version} made.",
            f"let it have {control.old.generations[0].space.chars + 1} characters or more, or take it back",
        )
        for token, control in controls.items()
        if (bump := narrow_bump(schema.entities[token].shard_map, control)) is not None
    ] + [
        Fault(
            token,
            f"re-shard {control.version} moves its records, in {control.phase.name.lower()}, and what places them "
            "(identity, shard_by, bumps, key format) or ends them (ttl_property) would change.",
            MOVING_FIX,
        )
        for token, control in controls.items()
        if control.moving and control.placement != placement_of(schema.entities[token])
    ]


def _generated(each: Generated) -> list[Any]:
    own = [] if each.shards is None else [each.shards]
    return [each.name, each.sharded, _elements(each.elements), *own]


def _elements(elements: tuple[Element, ...]) -> list[str]:
    return [element_text(each) for each in elements]


def _fingerprint(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=12, person=b"shardweave.place").hexdigest()
