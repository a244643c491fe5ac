"""Lookup records: items that find records by a value, or keep a value unique, over all shards.

Format. Each lookup of an entity has a name, by default its property's:
    hashKey    user.phone!3f                    token . name, ! and a shard that the value alone decides
    rangeKey   phone#+4412345                   the value (behind those of `within`)
               city#Bath |userId#u1             and, where many records may share the value, whose it is
    _owner     userId#u1                        the owner's id: never its shard, so a re-shard leaves lookups alone
                                                (of a list or set there is one such record for each member)
               projectId#p |due#2026-01-01 |num#p..03 |issueId#i
                                                of an ordered lookup: the list, which alone decides the shard; value;
                                                `then`; whose it is. A list of entries has their name behind `within`.
    rev        a revision of its own, new whenever it is written
    ttl        the owner's, under the same name

The identity of an entity that is sharded by another property has a lookup too. It has the property's name, and instead
of an owner's id it contains the properties that determine the record's shard and generation:
    hashKey, rangeKey    email.email!41, email#ann@example.org
    _place               {created, userId}

Pure. The number of a lookup's shards is fixed forever, so no bump and no re-shard moves lookup records. A lookup record
is written, changed and removed in one transaction with its record, and is never trusted by itself: the record that it
leads to decides whether its value is taken. Tokens of entities contain no point, so queries of entities never find
lookup records.
"""

from __future__ import annotations

from typing import Any

from ...errors import RecordUnreadable, Unreadable, ValueRefused
from ...keys.entity_keys import key_too_long
from ...keys.key_design import Element
from ...keys.key_format import crc32
from ...keys.sharding import ShardSpace
from ...schema.entity_type import REVISION, EntityType
from ...schema.relations import LookupType
from ...table.values import MAX_RANGE_KEY_BYTES, Item, Value

LOOKUP_SPACE = ShardSpace(char_bits=4, chars=2)
MAX_MEMBERS = 40
"""The members of a list or set by which a lookup finds one record: a transaction can replace all of them by others."""
PLACE = "_place"
OWNER = "_owner"


def internal_key(entity: EntityType[Any], name: str, range_key: str, more: str = "") -> dict[str, Value]:
    """The key of an item of the library that belongs to an entity: its shard is computed from `range_key`, the elements
    that are followed by `more`. Raises KeyTooLong, which names the longest property."""
    design = entity.keys.design
    shard = LOOKUP_SPACE.suffix_of(crc32(range_key))
    hash_key = f"{entity.token}.{name}{design.key_format.shard_delimiter}{shard}"
    size = len((range_key + more).encode())
    if size > MAX_RANGE_KEY_BYTES:
        message = f"the key of {entity.token}.{name} would have {size} bytes, {MAX_RANGE_KEY_BYTES} are possible"
        raise key_too_long(message, range_key + more, design.key_format)
    return {design.hash_name: hash_key, design.range_name: range_key + more}


# -- by a value -------------------------------------------------------------------------------------------------------


def lookup_keys(entity: EntityType[Any], lookup: LookupType, item: Item) -> tuple[dict[str, Value], ...]:
    """The keys of a record's lookup records: at most one, or one for each member of a list or set. `item` also has the
    identity, unless the lookup is unique. Raises KeyTooLong, ValueRefused."""
    if lookup.ordered:
        return _ordered_keys(entity, lookup, item)
    owner = "" if lookup.unique else entity.keys.format.element_delimiter + owner_text(entity, item)
    return _keys(entity, lookup, item, owner)


def value_keys(entity: EntityType[Any], lookup: LookupType, item: Item) -> tuple[dict[str, Value], ...]:
    """The keys of the values that a record has, as in `value_key`."""
    return _ordered_keys(entity, lookup, item) if lookup.ordered else _keys(entity, lookup, item, "")


def value_key(entity: EntityType[Any], lookup: LookupType, item: Item) -> dict[str, Value] | None:
    """The key of a value: of its single lookup record, or the common beginning of the keys of many owners."""
    values = lookup.values(item)
    if values is None:
        return None
    return internal_key(entity, lookup.name, entity.keys.join(lookup.elements, values))


def _keys(entity: EntityType[Any], lookup: LookupType, item: Item, owner: str) -> tuple[dict[str, Value], ...]:
    texts = dict.fromkeys(entity.keys.join(lookup.elements, values) for values in lookup.values_of(item))
    _check_members(lookup, len(texts))
    return tuple(internal_key(entity, lookup.name, text, owner) for text in texts)


def _check_members(lookup: LookupType, count: int) -> None:
    if count > MAX_MEMBERS:
        raise ValueRefused(
            f"a lookup finds a record by at most {MAX_MEMBERS} members, and it has {count}",
            where=lookup.property_name,
            fix="keep fewer in one record",
        )


# -- in the order of values -------------------------------------------------------------------------------------------


def ordered_elements(entity: EntityType[Any], lookup: LookupType) -> tuple[Element, ...]:
    """The elements of the range keys of an ordered lookup: the list, the value, what orders equal ones, the id."""
    design = entity.keys.design
    return (*lookup.lists, lookup.element, *lookup.then, *design.partition, *design.sort)


def list_key(entity: EntityType[Any], lookup: LookupType, values: Item, more: str = "") -> dict[str, Value]:
    """The key of a list of an ordered lookup, and of the record in it that has the text `more`: only the list decides
    the shard, so that one query reads it. Raises KeyTooLong."""
    begin = entity.keys.join(lookup.lists, values)
    return internal_key(entity, lookup.name, begin, (entity.keys.format.element_delimiter if begin else "") + more)


def _ordered_keys(entity: EntityType[Any], lookup: LookupType, item: Item) -> tuple[dict[str, Value], ...]:
    found = [{**item, **values} for values in lookup.values_of(item)]
    _check_members(lookup, len(found))
    elements = ordered_elements(entity, lookup)[len(lookup.lists) :]
    delimiter = entity.keys.format.element_delimiter
    return tuple(
        list_key(entity, lookup, each, delimiter.join(_text_of(entity, element, each) for element in elements))
        for each in found
    )


def _text_of(entity: EntityType[Any], element: Element, item: Item) -> str:
    """One element of a key: its name alone if there is no value, which sorts first."""
    return element.name if element.value_in(item) is None else entity.keys.element_text(element, item)


def lookup_record(entity: EntityType[Any], key: Item, item: Item, rev: str) -> dict[str, Value]:
    """The lookup record that leads to the record of `item`."""
    record = {**key, OWNER: owner_text(entity, item), REVISION: rev}
    if entity.ttl is not None and entity.ttl in item:
        record[entity.ttl] = item[entity.ttl]
    return record


def owner_text(entity: EntityType[Any], item: Item) -> str:
    """A record's id as one text."""
    design = entity.keys.design
    return entity.keys.join((*design.partition, *design.sort), item)


def owner_identity(entity: EntityType[Any], text: str) -> dict[str, Value]:
    """The identity in an `owner_text`. Raises ValueRefused."""
    design = entity.keys.design
    parts = text.split(design.key_format.element_delimiter)
    return entity.keys.parse_elements(OWNER, (*design.partition, *design.sort), parts)


def owner_in(entity: EntityType[Any], record: Item) -> dict[str, Value]:
    """The identity of the owner in a lookup record. Raises RecordUnreadable if it is damaged."""
    text = record.get(OWNER)
    try:
        if isinstance(text, str):
            return owner_identity(entity, text)
    except ValueRefused:
        pass
    raise RecordUnreadable(Unreadable(entity.token, {}, "lookup_damaged", collection=entity.collection))


# -- by an identity ---------------------------------------------------------------------------------------------------


def identity_lookup_key(entity: EntityType[Any], values: Item) -> dict[str, Value]:
    """The key of the lookup for a record's identity. Raises KeyTooLong."""
    return internal_key(entity, ".".join(entity.identity), owner_text(entity, values))


def identity_lookup(entity: EntityType[Any], item: Item) -> dict[str, Value]:
    """The lookup record for a record's identity."""
    lookup = identity_lookup_key(entity, item)
    place = {each.name: each.value_in(item) for each in _placing(entity)}
    if entity.timestamp is not None and entity.timestamp in item and entity.timestamp not in entity.identity:
        place[entity.timestamp] = item[entity.timestamp]
    lookup[PLACE] = place
    lookup[REVISION] = item[REVISION]
    if entity.ttl is not None and entity.ttl in item:
        lookup[entity.ttl] = item[entity.ttl]
    return lookup


def placed(identity: Item, lookup: Item) -> dict[str, Value]:
    """The identity together with the properties in its lookup record that determine the record's location."""
    return {**identity, **lookup[PLACE]}


def needs_rewriting(entity: EntityType[Any], before: Item, after: Item) -> bool:
    """Whether an update of a record changes lookup records without moving them: only the TTL in them can change."""
    return entity.ttl is not None and before.get(entity.ttl) != after.get(entity.ttl)


def _placing(entity: EntityType[Any]) -> list[Element]:
    """The elements, in addition to the identity, that determine the shard of a record."""
    return [each for each in entity.keys.design.shard_by if each.name not in entity.identity]
