"""The JSON lines of exports and imports, which represent records without loss.

Format, one line for each record, as DynamoDB exports a table to S3, with the entity besides:

    {"entity": "user", "Item": {"userId": {"S": "u1"}, "created": {"N": "1726880933000"}, "rev": {"S": "..."}}}

An item has the record's properties, private ones too, its revision, the version of its stored form unless that is the
first, and attributes that the schema does not know.
What is made of them is left out: generated properties, lookups, counters of children, the marks of re-shards. The
counters of sequences are lines without an entity, since numbers that were given and are not used any more could not be
told otherwise; and what read models remember of the records that feed them (see `store.events.counts`), since what a
reset has settled could not be told otherwise. A line without an entity is of the one that its hash key names: so those
of DynamoDB's own exports are read as well, of which everything else is passed over.

`decode(encode(item))` is the item. Pure.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, ShardweaveError, UnknownName
from ..schema.entity_type import REVISION, EntityType
from ..schema.relations import SequenceType
from ..schema.schema import Schema
from ..schema.upgrades import VERSION
from ..store.events.counts import KIND, OF, memory_item, memory_key, parts_in
from ..store.events.record_feed import fed_by
from ..store.lookups.lookup_records import owner_identity
from ..store.sequences import LAST
from ..store.writing.prepare import unknown_attributes
from ..table.values import Item, Value, from_attribute_values, to_attribute_values

ITEM, ENTITY = "Item", "entity"
_KINDS = {"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}


@dataclass(frozen=True)
class RecordLine:
    """A record: its stored properties and revision, and attributes that the schema does not know."""

    entity: EntityType[Any]
    item: Mapping[str, Value]
    extra: Mapping[str, Value]


@dataclass(frozen=True)
class SequenceLine:
    """Which number of a scope was given last."""

    entity: EntityType[Any]
    sequence: SequenceType
    scope: Mapping[str, Value]
    last: int


@dataclass(frozen=True)
class CountLine:
    """What is remembered of a record that was counted: the item, as the table of the schema has it."""

    entity: EntityType[Any]
    item: Mapping[str, Value]


Line = RecordLine | SequenceLine | CountLine


def generated_names(schema: Schema) -> frozenset[str]:
    """The names of all generated attributes."""
    return frozenset(name for entity in schema.entities.values() for name in entity.keys.names)


def record_line(entity: EntityType[Any], stored: Item, generated: frozenset[str]) -> bytes:
    """The line of a stored record."""
    kept = {name: stored[name] for name in (*entity.properties, REVISION, VERSION) if name in stored}
    kept |= unknown_attributes(entity, stored, generated)
    return _text({ENTITY: entity.token, ITEM: _json(to_attribute_values(kept))})


def item_line(item: Item) -> bytes:
    """The line of an item that is no record."""
    return _text({ITEM: _json(to_attribute_values(item))})


def read_line(schema: Schema, generated: frozenset[str], line: bytes) -> Line | None:
    """The content of a line, a record in its current form; None if it is skipped. Raises InputError and
    RecordUnreadable."""
    try:
        document = json.loads(line)
        item = from_attribute_values(_native(document[ITEM]))
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        fix = 'give {"entity": ..., "Item": {"name": {"S": "text"}, ...}}, as an export has it'
        raise InputError("it is no line of an export", fix=fix) from None
    token = document.get(ENTITY)
    if token is None:
        return _by_key(schema, generated, item)
    if not isinstance(token, str) or token not in schema.entities:
        raise UnknownName("there is no such entity", where=ENTITY, fix=f"use one of {', '.join(schema.entities)}")
    return _record(schema.entities[token], item, generated)


def _by_key(schema: Schema, generated: frozenset[str], item: Item) -> Line | None:
    hash_key = str(item.get(schema.hash_key, ""))
    entity = schema.entity_of_key(hash_key)
    if entity is not None:
        return _record(entity, item, generated)
    token, _, name = hash_key.partition(schema.key_format.shard_delimiter)[0].partition(".")
    entity = schema.entities.get(token)
    if entity is None:
        return None
    if name.startswith(KIND):
        return _remembered(schema, entity, name.removeprefix(KIND), item)
    if type(item.get(LAST)) is not int:
        return None
    sequence = next((each for each in entity.sequences if f"{each.property_name}+" == name), None)
    if sequence is None:
        return None
    parts = str(item[schema.range_key]).split(schema.key_format.element_delimiter)
    scope = entity.keys.parse_elements(schema.range_key, sequence.within, parts) if sequence.within else {}
    return SequenceLine(entity, sequence, scope, item[LAST])


def _remembered(schema: Schema, entity: EntityType[Any], read_model: str, item: Item) -> CountLine | None:
    """None for what nothing is remembered in, or is of a read model that there is not. Raises InputError."""
    if all(each.name != read_model for each in fed_by(schema, entity)):
        return None
    try:
        parts = parts_in(item)
        identity = owner_identity(entity, str(item[schema.range_key])) if entity.identity else {}
        key = memory_key(entity, read_model, identity)
        of, rev = item.get(OF), str(item[REVISION])
    except (ShardweaveError, KeyError, TypeError, ValueError):
        message, fix = "what it says was counted of a record can't be read", "leave it out, and rebuild the read model"
        raise InputError(message, where=f"{entity.token}.{read_model}", fix=fix) from None
    return CountLine(entity, memory_item(key, parts, of if isinstance(of, str) else None, rev, {})) if parts else None


def _record(entity: EntityType[Any], item: Item, generated: frozenset[str]) -> RecordLine:
    item = entity.current(item)
    properties = {**entity.visible(item), **entity.upgrades.stamp}
    if isinstance(item.get(REVISION), str):
        properties[REVISION] = item[REVISION]
    return RecordLine(entity, properties, unknown_attributes(entity, item, generated))


def item_text(item: Item) -> str:
    """An item as one text, equal for equal items."""
    return _text(dict(sorted(_json(to_attribute_values(item)).items()))).decode().strip()


def item_of_text(text: str) -> dict[str, Value]:
    """The inverse of `item_text`."""
    return from_attribute_values(_native(json.loads(text)))


# -- bytes, which JSON has none of ------------------------------------------------------------------------------------


def _text(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Typed values with their bytes as base64."""
    return {name: _each(value, lambda content: base64.b64encode(content).decode()) for name, value in values.items()}


def _native(values: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse. Raises ValueError for what is no typed value."""
    return {name: _each(value, lambda text: base64.b64decode(text, validate=True)) for name, value in values.items()}


def _each(value: Mapping[str, Any], of_bytes: Any) -> dict[str, Any]:
    ((kind, content),) = value.items()
    if kind not in _KINDS:
        raise ValueError(kind)
    if kind == "B":
        return {kind: of_bytes(content)}
    if kind == "BS":
        return {kind: [of_bytes(each) for each in content]}
    if kind == "M":
        return {kind: {name: _each(each, of_bytes) for name, each in content.items()}}
    if kind == "L":
        return {kind: [_each(each, of_bytes) for each in content]}
    return {kind: content}
