"""Lookup records: what makes a value unique over all shards, beside the records themselves.

Format, for an entity `email` that is sharded by another property than its unique one:
    hashKey    email.email!3f              token . names, ! and a shard that the value alone decides
    rangeKey   email#ann@example.org       as the record's own range key
    _place     {created, userId}           what decides the record's shard, and its generation
    rev        a revision of its own, new whenever it is written
    ttl        the record's, under the same name

Pure. The width of a lookup's shard is fixed for ever, so no bump and no re-shard moves it. A lookup is written,
changed and removed in one transaction with its record, and is never judged by itself: whether its value is taken is
decided by the place that it names. No entity's token holds a point, so no query meets a lookup.
"""

from __future__ import annotations

from typing import Any

from ..entity_type import REVISION, EntityType
from ..errors import KeyTooLong
from ..key_format import crc32
from ..sharding import ShardSpace
from ..table.values import MAX_RANGE_KEY_BYTES, Item, Value

LOOKUP_SPACE = ShardSpace(char_bits=4, chars=2)
PLACE = "_place"


def identity_lookup_key(entity: EntityType[Any], values: Item) -> dict[str, Value]:
    """The key of the lookup for a record's identity. Raises KeyTooLong."""
    design = entity.keys.design
    range_key = entity.keys.join((*design.partition, *design.sort), values)
    size = len(range_key.encode())
    if size > MAX_RANGE_KEY_BYTES:
        raise KeyTooLong(
            f"the lookup's key would have {size} bytes, {MAX_RANGE_KEY_BYTES} are possible",
            where=", ".join(entity.identity),
            fix="shorten the value",
        )
    shard = LOOKUP_SPACE.suffix_of(crc32(range_key))
    hash_key = f"{entity.token}.{'.'.join(entity.identity)}{design.key_format.shard_delimiter}{shard}"
    return {design.hash_name: hash_key, design.range_name: range_key}


def identity_lookup(entity: EntityType[Any], item: Item) -> dict[str, Value]:
    """The lookup record for a record's identity."""
    lookup = identity_lookup_key(entity, item)
    lookup[PLACE] = {name: item[name] for name in _deciding(entity) if name in item}
    lookup[REVISION] = item[REVISION]
    if entity.ttl is not None and entity.ttl in item:
        lookup[entity.ttl] = item[entity.ttl]
    return lookup


def placed(identity: Item, lookup: Item) -> dict[str, Value]:
    """The identity together with what its lookup says of the record's place."""
    return {**identity, **lookup[PLACE]}


def needs_rewriting(entity: EntityType[Any], before: Item, after: Item) -> bool:
    """Whether an update of the record changes its lookup. What decides the place never changes, so only the TTL."""
    return entity.ttl is not None and before.get(entity.ttl) != after.get(entity.ttl)


def _deciding(entity: EntityType[Any]) -> tuple[str, ...]:
    """The properties, beside the identity, that decide where a record is."""
    names = [element.name for element in entity.keys.design.shard_by if element.name not in entity.identity]
    if entity.timestamp is not None and entity.timestamp not in entity.identity:
        names.append(entity.timestamp)
    return tuple(names)
