"""The manifest of a schema: everything that determines the keys and shards of its records. It is stored beside a table,
so that a later schema that would not find the records is detected.

Format (JSON with sorted names, so that a change of the schema is a small difference):
    keys       the names of the table's keys
    formats    each key format's delimiters and hash
    indexes    each index's keys (`name:type`) and projection
    entities   by token: identity, `shard_by` and timestamp (what places a record), the elements of generated properties
               and of lookups, the shards that generated properties have of their own, the names of the upgrades of its
               stored form (both left out where there are none), the bumps, the origin in external keys, and in a data
               folder the name of the key format
    waves      which indexes are waiting to be added and removed one by one, when that has been noted

`placement_faults` finds changes that would change the keys or shards of records or make stored attributes outdated,
`index_faults` the indexes that would change in place, and `lost_bumps`, `new_bumps` and `early_bumps` the changes of
bumps. The callers decide which changes they refuse.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from ..errors import Fault
from ..keys.key_design import Element
from ..keys.key_format import KEY_FORMATS
from ..keys.sharding import ShardBump
from ..table.layout import IndexLayout, KeyAttribute, Projection
from ..values.codecs import TimestampCodec
from .declared_bumps import declared_bumps
from .entity_type import EntityType
from .fingerprint import element_text
from .relations import LookupType
from .schema import Schema


@dataclass(frozen=True)
class Waves:
    """Index changes that will be rolled out one after another."""

    create: tuple[str, ...]
    delete: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.create) + len(self.delete)


@dataclass(frozen=True)
class EntityManifest:
    """The declarations that determine the keys and shards of an entity's records. Elements are texts such as
    `created:Timestamp ms`."""

    identity: tuple[str, ...]
    partition: tuple[str, ...]
    shard_by: tuple[str, ...]
    timestamp: str
    generated: Mapping[str, tuple[str, ...]]
    lookups: Mapping[str, tuple[str, ...]]
    bumps: tuple[ShardBump, ...]
    origin: str
    shards: Mapping[str, int] = field(default_factory=dict)
    upgrades: tuple[str, ...] = ()
    format: str | None = None
    """The name of the key format; None if the manifest does not say it."""

    @property
    def unit(self) -> str:
        """The unit of the bumps' times."""
        return "s" if self.timestamp.endswith(" s") else "ms"

    def begins_ms(self, bump: ShardBump) -> int:
        """The begin of a bump in epoch milliseconds."""
        return bump.timestamp * self._unit_ms

    def first_from(self, moment_ms: int) -> int:
        """The earliest time, in the unit of the bumps, of a bump that begins at a given moment or later."""
        return -(-moment_ms // self._unit_ms)

    @property
    def _unit_ms(self) -> int:
        return 1000 if self.unit == "s" else 1


@dataclass(frozen=True)
class Manifest:
    """The parts of a schema that stored items depend on."""

    keys: tuple[str, str]
    formats: Mapping[str, Mapping[str, str]]
    indexes: Mapping[str, IndexLayout]
    entities: Mapping[str, EntityManifest]
    waves: Waves | None = None


def manifest_of(schema: Schema, *, with_formats: bool = False) -> Manifest:
    """The manifest of a schema as it is declared, and of what is brought in from earlier ones. `with_formats`: it says
    the key format of each entity, which for a deployment is a choice of the stage."""
    entities = {each.token: each for each in (*schema.earlier, *schema.entities.values())}
    formats = {each.keys.format.name: each.keys.format for each in schema.earlier}
    return Manifest(
        keys=schema.layout.key_names,
        formats={
            name: dict(zip(("shard", "value", "element"), each.delimiters, strict=True)) | {"hash": each.hash.__name__}
            for name, each in {**KEY_FORMATS, **formats, schema.key_format.name: schema.key_format}.items()
        },
        indexes={index.name: _in_one_order(index) for index in schema.layout.indexes},
        entities={
            token: replace(_entity(entity), format=entity.keys.format.name if with_formats else None)
            for token, entity in entities.items()
        },
    )


# -- what stands against a change -------------------------------------------------------------------------------------


def placement_faults(before: Manifest, after: Manifest) -> list[Fault]:
    """Changes that would change the keys or shards of records, or make stored attributes outdated."""
    return [
        *_key_faults(before, after),
        *(
            fault
            for token, entity in before.entities.items()
            if token in after.entities
            for fault in _entity_faults(token, entity, after.entities[token])
        ),
    ]


def index_faults(before: Mapping[str, IndexLayout], after: Mapping[str, IndexLayout]) -> Iterator[Fault]:
    """Indexes that would have to change in place, which DynamoDB does not support."""
    for name in sorted(set(before) & set(after)):
        if encode_index(before[name]) != encode_index(after[name]):
            message = "its keys or its projection change, which can't be done in place."
            fix = "give it another name and deploy; queries move over; then remove the old one"
            yield Fault(f"index {name}", message, fix)


def _key_faults(before: Manifest, after: Manifest) -> Iterator[Fault]:
    fix = "undo it: what is stored was written that way"
    if before.keys != after.keys:
        yield Fault("table", f"its keys were {' and '.join(before.keys)}.", fix)
    of_each = all(each.format is not None for each in before.entities.values())
    for name, parts in before.formats.items():
        if after.formats.get(name, parts if of_each else None) != parts:
            yield Fault(f"key format {name}", "its delimiters or its hash change.", f"{fix}; a new one has a new name")


def _entity_faults(token: str, before: EntityManifest, after: EntityManifest) -> Iterator[Fault]:
    fix = "undo it, or declare an entity with another token and copy the records"
    for name in ("identity", "partition", "shard_by", "timestamp"):
        old, new = getattr(before, name), getattr(after, name)
        if not _same(old, new):
            shown = old if isinstance(old, str) else ", ".join(old)
            yield Fault(f"{token}.{name}", f"it decides where records are, and was {shown or 'nothing'}.", fix)
    if None not in (before.format, after.format) and before.format != after.format:
        yield Fault(f"{token}: key format", f"it decides where records are, and was {before.format}.", fix)
    if before.origin not in ("", after.origin):
        yield Fault(f"{token}.origin", f"it was {before.origin}, in external keys that are valid for ever.", "undo it")
    for kind, olds, news in (
        ("generated property", before.generated, after.generated),
        ("lookup", before.lookups, after.lookups),
    ):
        for name in sorted(set(olds) & set(news)):
            if not _same(olds[name], news[name]):
                message = f"its elements were {', '.join(olds[name])}, and records keep those until they are written."
                yield Fault(f"{token}: {kind} {name}", message, f"leave it, and add a {kind} with another name")
    if after.upgrades[: len(before.upgrades)] != before.upgrades:
        message = (
            f"its upgrades were {', '.join(before.upgrades)}, and records are stored in the versions that they make."
        )
        yield Fault(f"{token}.upgrades", message, "leave them as they are, and add new ones at the end")
    for name in sorted(set(before.generated) & set(after.generated)):
        was, now = before.shards.get(name), after.shards.get(name)
        if was != now:
            shown = "the table's shards" if was is None else f"shards={was}"
            message = f"it had {shown}, and records keep those until they are written."
            fix = "leave it, and add a generated property with another name"
            yield Fault(f"{token}: generated property {name}", message, fix)


def _same(old: Sequence[str] | str, new: Sequence[str] | str) -> bool:
    """Whether elements are unchanged. Values may be added at the end of an Enum."""
    if isinstance(old, str) or isinstance(new, str):
        return old == new
    return len(old) == len(new) and all(
        now == then or ("Enum " in then and now.startswith(f"{then}|")) for then, now in zip(old, new, strict=True)
    )


def lost_bumps(
    token: str, before: EntityManifest, after: EntityManifest, now_ms: int, ahead_ms: int
) -> Iterator[Fault]:
    """Bumps that would be changed or removed although records may use them: those that begin within `ahead_ms` or have
    begun. No records use the others yet."""
    for bump in before.bumps:
        begins_ms = before.begins_ms(bump)
        if bump in after.bumps or begins_ms > now_ms + ahead_ms:
            continue
        state = "has begun" if begins_ms <= now_ms else "begins too soon to be taken back"
        message = f"the bump at {bump.timestamp} {state}, and would change or go."
        fix = "leave it as it is; add another bump, which begins later and is wider"
        yield Fault(f"{token}: shard_bumps", message, fix)


def new_bumps(before: EntityManifest, after: EntityManifest) -> list[ShardBump]:
    """Bumps that are new."""
    return [bump for bump in after.bumps if bump not in before.bumps]


def early_bumps(
    token: str, before: EntityManifest, after: EntityManifest, now_ms: int, earliest_ms: int, fix: str
) -> Iterator[Fault]:
    """New bumps that begin before `earliest_ms`, until when some process may create records without them."""
    for bump in new_bumps(before, after):
        begins_ms = after.begins_ms(bump)
        if begins_ms < earliest_ms:
            state = "has begun" if begins_ms <= now_ms else "begins too soon"
            message = f"the new bump at {bump.timestamp} {state}: records from then on are elsewhere already."
            yield Fault(f"{token}: shard_bumps", message, fix)


# -- from a schema ----------------------------------------------------------------------------------------------------


def _entity(entity: EntityType[Any]) -> EntityManifest:
    design = entity.keys.design
    timestamp = entity.properties[entity.timestamp] if entity.timestamp else None
    unit = timestamp.codec.unit if timestamp and isinstance(timestamp.codec, TimestampCodec) else ""
    return EntityManifest(
        identity=_elements(design.sort),
        partition=_elements(design.partition),
        shard_by=_elements(design.shard_by),
        timestamp=f"{entity.timestamp}:Timestamp {unit}" if timestamp else "",
        generated={each.name: _elements(each.elements) for each in design.generated},
        lookups={name: _lookup(each) for name, each in entity.lookups.items()},
        bumps=declared_bumps(entity.model),
        origin=entity.origin or "",
        shards={each.name: each.shards for each in design.generated if each.shards is not None},
        upgrades=tuple(each.__name__ for each in entity.upgrades.functions),
    )


def _lookup(lookup: LookupType) -> tuple[str, ...]:
    """The elements of a lookup; those of an ordered one are marked, since its records have other keys."""
    if not lookup.ordered:
        return _elements(lookup.elements)
    return ("ordered", *_elements((*lookup.lists, lookup.element, *lookup.then)))


def _elements(elements: Sequence[Element]) -> tuple[str, ...]:
    return tuple(element_text(each) for each in elements)


# -- as JSON ----------------------------------------------------------------------------------------------------------


def _in_one_order(index: IndexLayout) -> IndexLayout:
    """An index whose projection is in the order in which a manifest keeps it: the order says nothing, so that a
    manifest that was read equals the one that is declared."""
    if isinstance(index.projection, str):
        return index
    return replace(index, projection=tuple(sorted(index.projection)))


def encode_index(index: IndexLayout) -> dict[str, Any]:
    """An index as JSON."""
    projection = index.projection if isinstance(index.projection, str) else sorted(index.projection)
    return {"hashKey": _key_text(index.hash_key), "rangeKey": _key_text(index.range_key), "projection": projection}


def decode_index(name: str, found: Mapping[str, Any]) -> IndexLayout:
    """The inverse of `encode_index`."""
    projection = found["projection"]
    hash_key, range_key = (
        KeyAttribute(*cast(tuple[str, Any], tuple(found[key].rsplit(":", 1)))) for key in ("hashKey", "rangeKey")
    )
    projected = cast(Projection, projection if isinstance(projection, str) else tuple(projection))
    return IndexLayout(name, hash_key, range_key, projected)


def _key_text(key: KeyAttribute) -> str:
    return f"{key.name}:{key.type}"


def encode_manifest(manifest: Manifest) -> str:
    """The text of a manifest."""
    found: dict[str, Any] = {
        "keys": manifest.keys,
        "formats": manifest.formats,
        "indexes": {name: encode_index(index) for name, index in manifest.indexes.items()},
        "entities": {token: _encode_entity(entity) for token, entity in manifest.entities.items()},
    }
    if manifest.waves is not None:
        found["waves"] = asdict(manifest.waves)
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


def decode_manifest(text: str) -> Manifest:
    """The inverse of `encode_manifest`."""
    found = json.loads(text)
    waves = found.get("waves")
    return Manifest(
        keys=cast(tuple[str, str], tuple(found["keys"])),
        formats=found["formats"],
        indexes={name: decode_index(name, index) for name, index in found["indexes"].items()},
        entities={token: _decode_entity(entity) for token, entity in found["entities"].items()},
        waves=None if waves is None else Waves(tuple(waves["create"]), tuple(waves["delete"])),
    )


def _encode_entity(entity: EntityManifest) -> dict[str, Any]:
    left_out = ("shards", "upgrades", "format")
    return {name: value for name, value in asdict(entity).items() if name not in left_out or value}


def _decode_entity(found: Mapping[str, Any]) -> EntityManifest:
    def elements(name: str) -> dict[str, tuple[str, ...]]:
        return {key: tuple(each) for key, each in found[name].items()}

    return EntityManifest(
        identity=tuple(found["identity"]),
        partition=tuple(found["partition"]),
        shard_by=tuple(found["shard_by"]),
        timestamp=found["timestamp"],
        generated=elements("generated"),
        lookups=elements("lookups"),
        bumps=tuple(ShardBump(**bump) for bump in found["bumps"]),
        origin=found["origin"],
        shards={name: int(number) for name, number in found.get("shards", {}).items()},
        upgrades=tuple(found.get("upgrades", ())),
        format=found.get("format"),
    )
