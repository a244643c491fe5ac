"""Everything that can be wrong with a schema, found at once.

Each check is a generator of faults over a declaration; none stops at the first, and none assumes that another passed.
"""

from __future__ import annotations

import re
import types
import typing
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .access.faults import access_faults
from .codecs import IntegerCodec, TimestampCodec, stands_for
from .declarations import BelongsTo, HasMany
from .declared_faults import declared_faults
from .entity import Entity, HashKey, Role, identity_of
from .entity_property import Property
from .entity_type import MARK, REVISION
from .errors import Fault, ValueRefused
from .keywords import Descending
from .projection_faults import projection_faults
from .shard_key.key import KINDS, is_entity_origin
from .sharding import bump_faults
from .type_faults import type_faults

if TYPE_CHECKING:
    from .schema import Index, Schema

MAX_INDEXES = 20
MAX_PROJECTED = 100
TABLE_KEYS = ("hash_key", "range_key")
"""What indexes call the table's keys."""

_NAME = re.compile("[A-Za-z][A-Za-z0-9]{0,254}")
_RAW_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{0,254}")
_PYTHON_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_COLLECTION = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_MIN_INDEX_NAME = 3


def schema_faults(schema: Schema) -> list[Fault]:
    """Every fault of a schema, in the order of its declarations."""
    faults = [Fault("key format", message, fix) for message, fix in schema.key_format.faults()]
    faults += _set_faults(schema)
    for model in schema.models:
        faults += _entity_faults(schema, model)
    faults += _collisions(schema)
    faults += _index_set_faults(schema)
    for index in schema.indexes:
        faults += _index_faults(schema, index)
    faults += projection_faults(schema)
    faults += access_faults(schema)
    return list(dict.fromkeys(faults))


# -- names ------------------------------------------------------------------------------------------------------------


def is_name(schema: Schema, name: str) -> bool:
    """Letters and digits only, so that no name holds a delimiter; underscores too where keys keep another library's
    form, which allows them."""
    return bool((_RAW_NAME if schema.key_format.raw_values else _NAME).fullmatch(name))


def _set_faults(schema: Schema) -> Iterator[Fault]:
    if not schema.models:
        yield Fault("schema", "it has no entities", "give Schema(entities=[...])")
    named = [("entity", model.__name__, model.declaration.token) for model in schema.models]
    named += [("index", index.name, index.name) for index in schema.indexes]
    named += [("table key", name, name) for name in (schema.hash_key, schema.range_key)]
    for kind, place, name in named:
        if not is_name(schema, name):
            yield Fault(f"{kind} {place}", f"{name!r} is no valid name", "use a letter, then letters and digits")
        elif kind == "index" and len(name) < _MIN_INDEX_NAME:
            yield Fault(f"index {name}", "DynamoDB wants at least 3 characters in its name", "choose a longer name")
    for model in schema.models:
        if not _COLLECTION.fullmatch(model.declaration.collection):
            message = f"the collection {model.declaration.collection!r} can't stand in a URL"
            yield Fault(f"entity {model.__name__}", message, "use a letter, then letters, digits, - and _")
        if not model.declaration.separator:
            yield Fault(f"entity {model.__name__}", "the separator of its key is empty", "leave it out, or give one")
        origin = model.declaration.origin
        if origin is not None and not is_entity_origin(origin):
            message = f"{origin!r} is no valid origin"
            yield Fault(f"entity {model.__name__}", message, "use one ASCII letter or digit other than 0")
    repeated: dict[str, list[str]] = {
        "token": [model.declaration.token for model in schema.models],
        "collection": [model.declaration.collection for model in schema.models],
        "origin": [model.declaration.origin for model in schema.models if model.declaration.origin is not None],
        "index": [index.name for index in schema.indexes],
        "table key": [schema.hash_key, schema.range_key],
    }
    for kind, names in repeated.items():
        for name, times in Counter(names).items():
            if times > 1:
                yield Fault(f"{kind} {name}", f"the {kind} {name!r} is used {times} times", "give each its own")


def _collisions(schema: Schema) -> Iterator[Fault]:
    """Attributes of one name that are two things: in one entity, or a property here and a generated key there."""
    from .schema import generated_keys, properties_of

    generated: dict[str, tuple[str, str]] = {}
    for model in schema.models:
        for name, (stored, key) in generated_keys(model).items():
            place, kind = f"entity {model.__name__}.{name}", type(key).__name__
            other_kind, other_place = generated.setdefault(stored, (kind, place))
            if other_kind != kind:
                yield Fault(place, f"{stored!r} is a {kind} here and a {other_kind} in {other_place}", "rename one")
    for model in schema.models:
        yield from _collisions_inside(schema, model)
        own = {stored for stored, _ in generated_keys(model).values()}
        for each in properties_of(model).values():
            if each.stored in generated and each.stored not in own:
                place = f"entity {model.__name__}.{each.name}"
                yield Fault(place, f"{each.stored!r} is a generated key in {generated[each.stored][1]}", "rename one")
    ttl = {each.stored for m in schema.models for each in properties_of(m).values() if each.role is Role.TTL}
    if len(ttl) > 1:
        yield Fault("schema", f"the TTL has several names: {', '.join(sorted(ttl))}", "a table has one TTL attribute")
    for model in schema.models:
        for each in properties_of(model).values():
            if each.stored in ttl and each.role is not Role.TTL:
                message = f"the table's TTL attribute is {each.stored!r}, so records would be removed by it"
                yield Fault(f"entity {model.__name__}.{each.name}", message, "make it a ttl_property(), or rename it")


def _collisions_inside(schema: Schema, model: type[Entity]) -> Iterator[Fault]:
    from .schema import generated_keys, properties_of

    taken = {schema.hash_key: "the table's hash key", schema.range_key: "the table's range key"}
    taken |= {REVISION: "the stored revision", MARK: "an internal attribute"}
    named = [(each.name, each.stored, "property") for each in properties_of(model).values()]
    named += [(name, stored, "generated key") for name, (stored, _) in generated_keys(model).items()]
    for name, stored, kind in named:
        place = f"entity {model.__name__}.{name}"
        if stored in taken:
            yield Fault(place, f"{stored!r} is already {taken[stored]}", f"rename the {kind}")
        taken[stored] = f"the {kind} {name}"
        if name in TABLE_KEYS:
            yield Fault(place, f"{name!r} is what indexes call a key of the table", f"rename the {kind}")
        if not _PYTHON_NAME.fullmatch(name) or not is_name(schema, stored):
            yield Fault(place, f"{stored!r} is no valid name", "use a letter, then letters, digits and underscores")


# -- entities ---------------------------------------------------------------------------------------------------------


def _entity_faults(schema: Schema, model: type[Entity]) -> Iterator[Fault]:
    from .schema import generated_keys, properties_of

    where = f"entity {model.__name__}"
    properties = properties_of(model)
    declaration = model.declaration
    yield from _role_faults(where, properties)
    yield from _bump_faults(schema, where, model, properties)
    yield from _identity_faults(where, model, properties)
    yield from _member_faults(where, model, properties)
    for keyword in ("partition", "sort", "shard_by"):
        yield from element_faults(f"{where}, {keyword}", getattr(declaration, keyword), properties)
    for name, (_, key) in generated_keys(model).items():
        if not key.elements:
            yield Fault(f"{where}.{name}", "it has no elements", "name at least one property")
        yield from element_faults(f"{where}.{name}", key.elements, properties)
    yield from declared_faults(schema, model)
    yield from type_faults(model)


def _role_faults(where: str, properties: dict[str, Property]) -> Iterator[Fault]:
    for role in Role:
        holders = [each.name for each in properties.values() if each.role is role]
        if len(holders) > 1:
            yield Fault(where, f"{', '.join(holders)} are all the {role.value} property", "keep one")
    for each in properties.values():
        if each.role in (Role.TIMESTAMP, Role.UPDATED) and not isinstance(each.codec, TimestampCodec):
            yield Fault(f"{where}.{each.name}", "a time property must be a Timestamp", "annotate it with Timestamp")
        is_seconds = isinstance(each.codec, IntegerCodec) or (
            isinstance(each.codec, TimestampCodec) and each.codec.unit == "s"
        )
        if each.role is Role.TTL and each.null_stored:
            yield Fault(f"{where}.{each.name}", "a TTL that may be None has no other default", "let it be None")
        if each.role is Role.TTL and not is_seconds:
            yield Fault(f"{where}.{each.name}", "a TTL is epoch seconds", "annotate it with TimestampSeconds or int")


def _bump_faults(schema: Schema, where: str, model: type[Entity], properties: dict[str, Property]) -> Iterator[Fault]:
    bumps = model.declaration.shard_bumps
    for message, fix in bump_faults(bumps):
        yield Fault(where, message, fix)
    timestamps = [each for each in properties.values() if each.role is Role.TIMESTAMP]
    if any(bump.timestamp > 0 for bump in bumps) and not timestamps:
        yield Fault(where, "shard bumps need a timestamp property", "add created: Timestamp = timestamp_property()")
    for each in timestamps:
        if schema.key_format.raw_timestamps or not isinstance(each.codec, TimestampCodec):
            continue
        for bump in bumps:
            try:
                each.codec.encode(max(bump.timestamp, 0))
            except ValueRefused:
                message = f"the bump at {bump.timestamp} is not in the unit of {each.name}"
                yield Fault(where, message, f"give it in {each.codec.unit}")


def _identity_faults(where: str, model: type[Entity], properties: dict[str, Property]) -> Iterator[Fault]:
    declaration = model.declaration
    unique = [each for each in properties.values() if each.role is Role.UNIQUE]
    if declaration.singleton:
        if declaration.partition or declaration.sort or unique or declaration.shard_by:
            yield Fault(where, "a singleton has a fixed key", "leave out partition, sort, shard_by and unique_property")
        if any(bump.chars for bump in declaration.shard_bumps):
            yield Fault(where, "a singleton has one shard", "leave out shard_bumps")
        return
    if not unique and not declaration.sort:
        yield Fault(where, "nothing identifies a record", "add a unique_property(), or sort=(...), or singleton=True")
    if declaration.sort and not declaration.partition and not {e.name for e in unique} & set(declaration.sort):
        message = "sort without partition does not identify a record"
        yield Fault(where, message, "add partition=(...), or the unique property to sort")
    placing = [*declaration.partition, *declaration.sort, *declaration.shard_by, *(each.name for each in unique)]
    for each in (properties[name] for name in dict.fromkeys(placing) if name in properties):
        if each.role is not Role.TIMESTAMP and is_optional(each.annotation):
            yield Fault(f"{where}.{each.name}", "a property of the key can't be optional", "remove None from its type")
    for name in dict.fromkeys((*declaration.partition, *declaration.sort)):
        if name in properties and properties[name].role in (Role.UPDATED, Role.TTL):
            yield Fault(f"{where}.{name}", "a property of the key never changes, this one does", "use another")


def _member_faults(where: str, model: type[Entity], properties: dict[str, Property]) -> Iterator[Fault]:
    """What stands beside the properties in a record's JSON form."""
    stored = {each.stored for each in properties.values()}
    if model.declaration.origin is not None:
        if "key" in stored:
            yield Fault(f"{where}.key", "it would be the name of the shard key too", "rename it, or leave origin out")
        count = len(identity_of(model))
        if count not in KINDS:
            message = f"{count} properties identify a record, a shard key has 1 to {max(KINDS)} ids"
            yield Fault(f"{where}, origin", message, "leave origin out")
    if "expanded" in stored and any(isinstance(each, (BelongsTo, HasMany)) for each in model.declared().values()):
        yield Fault(f"{where}.expanded", "it would be the name of the expanded relations too", "rename it")


def is_optional(annotation: Any, within: frozenset[int] = frozenset()) -> bool:
    """Whether a type allows None, however it says so. `within` are the aliases that it stands in."""
    if annotation in (None, type(None), Any, object):
        return True
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return is_optional(arguments[0], within)
    if origin is Literal:
        return None in arguments
    if origin in (typing.Union, types.UnionType):
        return any(is_optional(each, within) for each in arguments)
    meant = stands_for(annotation if origin is None else origin)
    return meant is not None and id(meant) not in within and is_optional(meant, within | {id(meant)})


def element_faults(
    where: str, elements: Sequence[str | Descending], properties: dict[str, Property]
) -> Iterator[Fault]:
    """What makes properties unfit for the elements of a key."""
    names = [each.name if isinstance(each, Descending) else each for each in elements]
    for name, times in Counter(names).items():
        if times > 1:
            yield Fault(where, f"{name!r} stands {times} times", "name each property once")
    for element, name in zip(elements, names, strict=True):
        found = properties.get(name)
        if found is None and name.startswith("desc("):
            yield Fault(where, "desc() belongs in a RangeKey, around a name", "name the property alone")
        elif found is None:
            yield Fault(where, f"there is no property {name!r}", f"use one of {', '.join(properties)}")
        elif found.codec is None or not found.codec.sortable:
            fix = "use str, int, a Decimal with DecimalCodec(places=...), Timestamp, datetime, date, bool, UUID or Enum"
            yield Fault(where, f"the type of {name!r} has no order-preserving text", fix)
        elif isinstance(element, Descending) and found.codec.complement is None:
            yield Fault(where, f"desc({name!r}) needs a type of fixed width", "use int, Timestamp, date, bool or Enum")


# -- indexes ----------------------------------------------------------------------------------------------------------


def _index_set_faults(schema: Schema) -> Iterator[Fault]:
    from .schema import index_models, projected_names

    if len(schema.indexes) > MAX_INDEXES:
        yield Fault("indexes", f"there are {len(schema.indexes)}, a table has at most {MAX_INDEXES}", "remove some")
    has_ttl = any(Role.TTL in info.metadata for model in schema.models for info in model.model_fields.values())
    projected = 0
    for index in schema.indexes:
        if not isinstance(index.projection, str) or index.projection == "KEYS_ONLY":
            projected += len(projected_names(index, index_models(schema, index))) + has_ttl
    if projected > MAX_PROJECTED:
        message = f"{projected} attributes are projected, a table has at most {MAX_PROJECTED}"
        yield Fault("indexes", message, "project fewer, or use ALL")
    pairs: dict[tuple[str, str], list[str]] = {TABLE_KEYS: ["the table"]}
    for index in schema.indexes:
        pairs.setdefault((index.hash_key, index.range_key), []).append(f"index {index.name}")
    for first, *others in pairs.values():
        if len(others) == 1:
            yield Fault(others[0], f"it has the same pair of keys as {first}", "remove one")
        elif others:
            message = f"they have the same pair of keys as {first}"
            yield Fault(f"{others[0]} to {others[-1]}, {len(others)} of them", message, "keep one")


def _index_faults(schema: Schema, index: Index) -> Iterator[Fault]:
    from .schema import generated_keys, index_models

    where = f"index {index.name}"
    models = schema.models if index.entities is None else index.entities
    strangers = [model.__name__ for model in models if model not in schema.models]
    if strangers:
        yield Fault(where, f"{', '.join(strangers)} is not in the schema", "add it to Schema(entities=[...])")
    keys = [(name, isinstance(key, HashKey)) for model in models for name, (_, key) in generated_keys(model).items()]
    hashes = {name for name, is_hash in keys if is_hash} | {"hash_key"}
    ranges = {name for name, is_hash in keys if not is_hash} | {"range_key"}
    ranges |= {name for model in models for name in model.model_fields}
    known = index.hash_key in hashes and index.range_key in ranges
    if index.hash_key not in hashes:
        yield Fault(where, f"there is no hash key {index.hash_key!r}", f"use one of {', '.join(sorted(hashes))}")
    if index.range_key not in ranges:
        yield Fault(where, f"there is no range key {index.range_key!r}", f"use one of {', '.join(sorted(ranges))}")
    holders = index_models(schema, index)
    if known and not holders and not strangers:
        yield Fault(where, "no entity has both of its keys", "let one entity declare both")
    if known and holders and index.entities is not None:
        for model in index.entities:
            if model in schema.models and model not in holders:
                yield Fault(where, f"{model.__name__} has not both of its keys", "remove it from the index's entities")
    yield from _raw_range_faults(schema, index, holders)
    yield from _stored_name_faults(index, holders)
    yield from _projection_faults(index, holders)


def _raw_range_faults(schema: Schema, index: Index, holders: list[type[Entity]]) -> Iterator[Fault]:
    """DynamoDB refuses an item whose attribute has another type than the index's key, whether or not the item was
    meant for the index. So every entity with that attribute counts."""
    from .schema import properties_of

    where = f"index {index.name}"
    raw = [properties_of(model)[index.range_key] for model in holders if index.range_key in model.model_fields]
    stored = {each.stored for each in raw}
    sharing = {
        model.__name__: each
        for model in schema.models
        for each in properties_of(model).values()
        if each.stored in stored
    }
    for name, each in sharing.items():
        if each.null_stored:
            message = f"{name}.{each.name} is an index's key and can't hold the null that a None would be"
            yield Fault(where, message, "let its default be None, or remove None from its type")
        if each.codec is None or each.codec.key_type is None:
            fix = "use a str, int, Decimal, Timestamp, datetime, date, UUID or bytes property, or a RangeKey"
            yield Fault(where, f"{name}.{each.name} can't be a raw range key", fix)
    if len({each.codec.key_type for each in sharing.values() if each.codec and each.codec.key_type}) > 1:
        yield Fault(where, f"{index.range_key!r} has different types in {', '.join(sharing)}", "give it one type")


def _stored_name_faults(index: Index, holders: list[type[Entity]]) -> Iterator[Fault]:
    """An index names keys and properties by Python name, for all of its entities."""
    from .schema import generated_keys, properties_of

    projection = () if isinstance(index.projection, str) else index.projection
    for name in dict.fromkeys((index.hash_key, index.range_key, *projection)):
        stored = {properties_of(model)[name].stored for model in holders if name in model.model_fields}
        stored |= {generated_keys(model)[name][0] for model in holders if name in generated_keys(model)}
        if len(stored) > 1:
            message = f"{name!r} is stored under different names: {', '.join(sorted(stored))}"
            yield Fault(f"index {index.name}", message, "give it one alias")


def _projection_faults(index: Index, holders: list[type[Entity]]) -> Iterator[Fault]:
    where = f"index {index.name}"
    if isinstance(index.projection, str):
        if index.projection not in ("ALL", "KEYS_ONLY"):
            yield Fault(where, f"there is no projection {index.projection!r}", "use ALL, KEYS_ONLY or property names")
        return
    for name in index.projection:
        if name in (*TABLE_KEYS, index.hash_key, index.range_key):
            yield Fault(where, f"the projection names {name!r}, a key of the index or table", "leave it out")
        elif holders and not any(name in model.model_fields or name in model.declared() for model in holders):
            yield Fault(where, f"the projection names {name!r}, which no entity of the index has", "correct the name")
    if len(set(index.projection)) != len(index.projection):
        yield Fault(where, "the projection names a property twice", "name each once")
