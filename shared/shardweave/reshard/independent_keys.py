"""Independent computation of a record's keys in another shard space, which verification compares with.

It shares no code with the writers and movers of records. While those build every generated attribute from the record's
properties, this module takes the stored attributes and replaces the part with the shard. It computes the shard from the
text in the stored keys, with its own implementation of the hash function, the digits and the choice of the generation.
A sharded property with shards of its own has the number of the record's shard modulo theirs, counted here by division.

Pure.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import ValueRefused
from ..keys.key_design import Element
from ..keys.key_format import crc32, string_hash
from ..keys.sharding import ShardMap
from ..schema.entity_type import MARK, EntityType
from ..table.conditions import compare
from ..table.values import Item, Value

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_ESCAPED = re.compile("!([0-9a-f]{2})")


def recomputed(entity: EntityType[Any], record: Item, shard_map: ShardMap) -> dict[str, Value]:
    """The record in the shards of a map, without a mark. Raises ValueRefused for an item that is not a record of the
    entity."""
    suffixes = shard_suffixes(entity, record, shard_map)
    kept = {name: value for name, value in record.items() if name != MARK}
    return kept | {
        name: _moved(entity, name, record[name], suffix) for name, suffix in suffixes.items() if name in record
    }


def shard_suffixes(entity: EntityType[Any], record: Item, shard_map: ShardMap) -> dict[str, str]:
    """The suffix of each sharded attribute of the record in a map. Raises ValueRefused."""
    design = entity.keys.design
    time = 0
    if design.timestamp is not None:
        stored = record.get(design.timestamp)
        if stored is None or isinstance(stored, str | bool):
            raise _no_record(design.timestamp)
        time = int(stored)
    space = [each for each in shard_map.generations if each.begins <= time or each.begins == 0][-1].space
    if space.chars == 0:
        return dict.fromkeys(sharded_names(entity), "")
    base = 2**space.char_bits
    number = _hash_of(entity)(_shard_text(entity, record)) % base**space.chars
    own = {each.name: each.shards for each in design.generated if each.sharded and each.shards is not None}
    return {
        name: _digits(divmod(number, own[name])[1] if name in own else number, base, space.chars)
        for name in sharded_names(entity)
    }


def _digits(number: int, base: int, width: int) -> str:
    found: list[str] = []
    while len(found) < width:
        number, digit = divmod(number, base)
        found.append(_DIGITS[digit])
    return "".join(reversed(found))


def is_equal(entity: EntityType[Any], expected: Item, found: Item, shard_map: ShardMap) -> bool:
    """Whether a stored record equals the expected one of a map, ignoring marks. It may have a generated attribute that
    the expected one lacks, since that was written before the property was declared, if its shard is correct."""
    content = {name: value for name, value in found.items() if name != MARK}
    added = {name: str(content.pop(name)) for name in entity.keys.names if name in content and name not in expected}
    sharded = [name for name in sharded_names(entity) if name in added]
    if sharded:
        suffixes = shard_suffixes(entity, expected, shard_map)
        if any(_head(entity, added[name]) != _shard_head(entity) + suffixes[name] for name in sharded):
            return False
    return compare(content, "=", dict(expected))


def sharded_names(entity: EntityType[Any]) -> list[str]:
    """The attributes that begin with a shard: the record's, or one of their own."""
    design = entity.keys.design
    return [design.hash_name, *(each.name for each in design.generated if each.sharded)]


def _moved(entity: EntityType[Any], name: str, text: Value, suffix: str) -> str:
    head = _shard_head(entity)
    if not isinstance(text, str) or not text.startswith(head):
        raise _no_record(name)
    _, found, rest = text[len(head) :].partition(entity.keys.format.element_delimiter)
    return head + suffix + found + rest


def _shard_head(entity: EntityType[Any]) -> str:
    """The part of a key before the shard."""
    return entity.token + entity.keys.format.shard_delimiter


def _head(entity: EntityType[Any], text: str) -> str:
    """The part of a key with the entity and the shard."""
    return text.split(entity.keys.format.element_delimiter, maxsplit=1)[0]


def _shard_text(entity: EntityType[Any], record: Item) -> str:
    """The text that is hashed, from the stored keys if one of them contains it."""
    design, key_format = entity.keys.design, entity.keys.format
    texts = []
    for element in design.shard_by:
        text = next(_stored_texts(entity, element, record), None)
        if text is None:
            value = _stored_value(record, element.name)
            if value is None:
                raise _no_record(element.name)
            text = key_format.encode(element.codec, value)
        texts.append(text)
    if len(texts) != 1:
        return key_format.element_delimiter.join(texts)
    if not key_format.ordered:
        return texts[0]
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), texts[0])


def _stored_value(record: Item, name: str) -> Value:
    """A property, or a member of a map by its path."""
    value: Any = record
    for step in name.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _stored_texts(entity: EntityType[Any], element: Element, record: Item) -> Iterator[str]:
    """The element's text in each stored key that contains it."""
    design, key_format = entity.keys.design, entity.keys.format
    keys = [(design.range_name, design.sort, False), (design.hash_name, design.partition, True)]
    keys += [(each.name, each.elements, each.sharded) for each in design.generated]
    for name, elements, sharded in keys:
        text = record.get(name)
        if not isinstance(text, str):
            continue
        parts = text.split(key_format.element_delimiter)[1 if sharded else 0 :]
        for part, each in zip(parts, elements, strict=False):
            if each.name == element.name and not each.descending:
                label, found, value = part.partition(key_format.value_delimiter)
                if found and label == element.name:
                    yield value


def _hash_of(entity: EntityType[Any]) -> Callable[[str], int]:
    """A second implementation of the built-in hash functions; a custom function has none."""
    chosen = entity.keys.format.hash
    if chosen is crc32:
        return lambda text: binascii.crc32(text.encode("utf-8")) & 0xFFFFFFFF
    return _string_hash if chosen is string_hash else chosen


def _string_hash(text: str) -> int:
    """From the last UTF-16 code unit to the first, `h = h * 33 ^ unit` in 32 bits, from 5381."""
    value = 5381
    for unit in reversed(memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")):
        value = (value * 33 ^ unit) % 2**32
    return value


def _no_record(name: str) -> ValueRefused:
    return ValueRefused("this is not a record of the entity", where=name, fix="look at who wrote it")
