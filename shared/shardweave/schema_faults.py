"""Everything that can be wrong with a schema, found at once.

Each check is a generator of faults over a declaration; none stops at the first, and none assumes that another passed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .codecs import BinaryCodec, TimestampCodec
from .entity import Descending, Entity, HashKey, RangeKey, Role
from .entity_type import MARK, REVISION, Property
from .errors import Fault
from .sharding import bump_faults

if TYPE_CHECKING:
    from .schema import Index, Schema

MAX_INDEXES = 20
MAX_PROJECTED = 100

_NAME = re.compile("[A-Za-z][A-Za-z0-9]*")
_PYTHON_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")


def schema_faults(schema: Schema) -> list[Fault]:
    """Every fault of a schema, in the order of its declarations."""
    faults = [Fault("key format", message, fix) for message, fix in schema.key_format.faults()]
    faults += _name_faults(schema)
    for model in schema.models:
        faults += _entity_faults(model)
    faults += _collisions(schema)
    faults += _index_set_faults(schema)
    for index in schema.indexes:
        faults += _index_faults(schema, index)
    return list(dict.fromkeys(faults))


def _name_faults(schema: Schema) -> Iterator[Fault]:
    named = [("entity", model.__name__, model.declaration.token) for model in schema.models]
    named += [("index", index.name, index.name) for index in schema.indexes]
    named += [("table key", name, name) for name in (schema.hash_key, schema.range_key)]
    for kind, place, name in named:
        if not _NAME.fullmatch(name):
            yield Fault(f"{kind} {place}", f"{name!r} is no valid name", "use a letter, then letters and digits")
    if not schema.models:
        yield Fault("schema", "it has no entities", "give Schema(entities=[...])")
    repeated = {
        "token": [model.declaration.token for model in schema.models],
        "collection": [model.declaration.collection for model in schema.models],
        "index": [index.name for index in schema.indexes],
        "table key": [schema.hash_key, schema.range_key],
    }
    for kind, names in repeated.items():
        for name, times in Counter(names).items():
            if times > 1:
                yield Fault(f"{kind} {name}", f"the {kind} {name!r} is used {times} times", "give each its own")


def _entity_faults(model: type[Entity]) -> Iterator[Fault]:
    from .schema import properties_of

    where = f"entity {model.__name__}"
    properties = properties_of(model)
    declaration = model.declaration
    for message, fix in bump_faults(declaration.shard_bumps):
        yield Fault(where, message, fix)
    yield from _role_faults(where, model, properties)
    yield from _identity_faults(where, model, properties)
    for name in properties:
        if not _PYTHON_NAME.fullmatch(name) or not _NAME.fullmatch(properties[name].stored):
            yield Fault(f"{where}.{name}", "it is no valid name", "use a letter, then letters, digits and underscores")
    for keyword in ("partition", "sort", "shard_by"):
        names: tuple[str, ...] = getattr(declaration, keyword)
        yield from _element_faults(f"{where}, {keyword}", names, properties)
    for name, key in model.declared().items():
        if isinstance(key, (HashKey, RangeKey)):
            yield from _element_faults(f"{where}.{name}", key.elements, properties)


def _role_faults(where: str, model: type[Entity], properties: dict[str, Property]) -> Iterator[Fault]:
    for role in Role:
        holders = [each.name for each in properties.values() if each.role is role]
        if len(holders) > 1:
            yield Fault(where, f"{', '.join(holders)} are all the {role.value} property", "keep one")
    for each in properties.values():
        if each.role in (Role.TIMESTAMP, Role.UPDATED) and not isinstance(each.codec, TimestampCodec):
            yield Fault(f"{where}.{each.name}", "a time property must be a Timestamp", "annotate it with Timestamp")
        if each.role is Role.TTL and not (each.codec is not None and each.codec.key_type == "N"):
            yield Fault(f"{where}.{each.name}", "a TTL is epoch seconds", "annotate it with int or TimestampSeconds")
    bumps = model.declaration.shard_bumps
    if any(bump.timestamp > 0 for bump in bumps) and not any(e.role is Role.TIMESTAMP for e in properties.values()):
        yield Fault(where, "shard bumps need a timestamp property", "add created: Timestamp = timestamp_property()")


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
    for name in {*declaration.partition, *declaration.sort}:
        found = properties.get(name)
        if found is not None and not found.required and found.role is None and _is_optional(found):
            yield Fault(f"{where}.{name}", "a property of the key can't be optional", "remove None from its type")


def _is_optional(found: Property) -> bool:
    import types
    import typing

    origin = typing.get_origin(found.annotation)
    return origin in (typing.Union, types.UnionType) and type(None) in typing.get_args(found.annotation)


def _element_faults(
    where: str, elements: tuple[str | Descending, ...], properties: dict[str, Property]
) -> Iterator[Fault]:
    names = [each.name if isinstance(each, Descending) else each for each in elements]
    for name, times in Counter(names).items():
        if times > 1:
            yield Fault(where, f"{name!r} stands {times} times", "name each property once")
    for element, name in zip(elements, names, strict=True):
        found = properties.get(name)
        if found is None:
            yield Fault(where, f"there is no property {name!r}", f"use one of {', '.join(properties)}")
        elif found.codec is None:
            fix = "use str, int, a Decimal with DecimalCodec(places=...), Timestamp, datetime, date, bool, UUID or Enum"
            yield Fault(where, f"the type of {name!r} has no order-preserving text", fix)
        elif isinstance(found.codec, BinaryCodec):
            yield Fault(where, f"{name!r} is bytes, which have no text", "use it as a raw range key, or make it str")
        elif isinstance(element, Descending) and found.codec.complement is None:
            yield Fault(where, f"desc({name!r}) needs a type of fixed width", "use int, Timestamp, date, bool or Enum")


def _collisions(schema: Schema) -> Iterator[Fault]:
    from .schema import properties_of, stored_name

    reserved = {schema.hash_key: "the table's hash key", schema.range_key: "the table's range key"}
    reserved |= {REVISION: "the stored revision", MARK: "an internal attribute"}
    kinds: dict[str, tuple[str, str]] = {}
    for model in schema.models:
        taken = dict(reserved)
        for each in properties_of(model).values():
            if each.stored in taken:
                place = f"entity {model.__name__}.{each.name}"
                yield Fault(place, f"{each.stored!r} is already {taken[each.stored]}", "rename the property")
            taken[each.stored] = f"the property {each.name}"
        for name, key in model.declared().items():
            if not isinstance(key, (HashKey, RangeKey)):
                continue
            place, stored, kind = f"entity {model.__name__}.{name}", stored_name(name), type(key).__name__
            if not _NAME.fullmatch(stored):
                yield Fault(place, "it is no valid name", "use a letter, then letters, digits and underscores")
            if stored in taken:
                yield Fault(place, f"{stored!r} is already {taken[stored]}", "rename the generated key")
            if not key.elements:
                yield Fault(place, "it has no elements", "name at least one property")
            other_kind, other_place = kinds.setdefault(stored, (kind, place))
            if other_kind != kind:
                yield Fault(place, f"{stored!r} is a {kind} here and a {other_kind} in {other_place}", "rename one")
        for each in properties_of(model).values():
            if each.stored in kinds and kinds[each.stored][1] != f"entity {model.__name__}.{each.name}":
                place = f"entity {model.__name__}.{each.name}"
                if each.stored not in {stored_name(name) for name in model.declared()}:
                    yield Fault(place, f"{each.stored!r} is a generated key in {kinds[each.stored][1]}", "rename one")
    ttl = {each.stored for m in schema.models for each in properties_of(m).values() if each.role is Role.TTL}
    if len(ttl) > 1:
        yield Fault("schema", f"the TTL has several names: {', '.join(sorted(ttl))}", "a table has one TTL attribute")


def _index_set_faults(schema: Schema) -> Iterator[Fault]:
    if len(schema.indexes) > MAX_INDEXES:
        yield Fault("indexes", f"there are {len(schema.indexes)}, a table has at most {MAX_INDEXES}", "remove some")
    projected = sum(len(index.projection) for index in schema.indexes if not isinstance(index.projection, str))
    if projected > MAX_PROJECTED:
        message = f"{projected} attributes are projected, a table has at most {MAX_PROJECTED}"
        yield Fault("indexes", message, "project fewer, or use ALL")
    pairs: dict[tuple[str, str], str] = {("hash_key", "range_key"): "the table"}
    for index in schema.indexes:
        pair = (index.hash_key, index.range_key)
        if pair in pairs:
            yield Fault(f"index {index.name}", f"it has the same pair of keys as {pairs[pair]}", "remove one")
        pairs.setdefault(pair, f"index {index.name}")


def _index_faults(schema: Schema, index: Index) -> Iterator[Fault]:
    from .schema import index_models, properties_of

    where = f"index {index.name}"
    models = schema.models if index.entities is None else index.entities
    strangers = [model.__name__ for model in models if model not in schema.models]
    if strangers:
        yield Fault(where, f"{', '.join(strangers)} is not in the schema", "add it to Schema(entities=[...])")
    declared = [(model, name, key) for model in models for name, key in model.declared().items()]
    hashes = {name for _, name, key in declared if isinstance(key, HashKey)} | {"hash_key"}
    ranges = {name for _, name, key in declared if isinstance(key, RangeKey)} | {"range_key"}
    ranges |= {name for model in models for name in model.model_fields}
    if index.hash_key not in hashes:
        yield Fault(where, f"there is no hash key {index.hash_key!r}", f"use one of {', '.join(sorted(hashes))}")
    if index.range_key not in ranges:
        yield Fault(where, f"there is no range key {index.range_key!r}", f"use one of {', '.join(sorted(ranges))}")
    holders = index_models(schema, index)
    if index.hash_key in hashes and index.range_key in ranges and not holders:
        yield Fault(where, "no entity has both of its keys", "let one entity declare both")
    if index.entities is not None:
        for model in index.entities:
            if model in schema.models and model not in holders:
                yield Fault(where, f"{model.__name__} has not both of its keys", "remove it from the index's entities")
    raw = {m.__name__: properties_of(m)[index.range_key] for m in holders if index.range_key in m.model_fields}
    for name, each in raw.items():
        if each.codec is None or each.codec.key_type is None:
            fix = "use a str, int, Decimal, Timestamp, date, UUID or bytes property, or a RangeKey"
            yield Fault(where, f"{name}.{index.range_key} does not sort as a raw range key", fix)
    if len({each.codec.key_type for each in raw.values() if each.codec}) > 1:
        yield Fault(where, f"{index.range_key!r} has different types in {', '.join(raw)}", "give it one type")
    yield from _projection_faults(schema, index, holders)


def _projection_faults(schema: Schema, index: Index, holders: list[type[Entity]]) -> Iterator[Fault]:
    where = f"index {index.name}"
    if isinstance(index.projection, str):
        if index.projection not in ("ALL", "KEYS_ONLY"):
            yield Fault(where, f"there is no projection {index.projection!r}", "use ALL, KEYS_ONLY or property names")
        return
    for name in index.projection:
        if name in ("hash_key", "range_key", index.hash_key, index.range_key):
            yield Fault(where, f"the projection names {name!r}, a key of the index or table", "leave it out")
        elif not any(name in model.model_fields or name in model.declared() for model in holders):
            yield Fault(where, f"the projection names {name!r}, which no entity of the index has", "correct the name")
    if len(set(index.projection)) != len(index.projection):
        yield Fault(where, "the projection names a property twice", "name each once")
