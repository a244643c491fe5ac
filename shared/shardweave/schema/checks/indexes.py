"""Checks of the indexes of a schema. Generators of faults, as in `all_faults`."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import Fault
from ..declarations import TABLE_KEYS, Index
from ..entity import Entity, HashKey, identity_of
from ..nested_elements import is_nested, root_of
from ..parts import SchemaParts
from ..property import properties_of
from ..property_options import Role
from ..resolve import generated_keys, index_models, projected_names

MAX_INDEXES = 20
MAX_PROJECTED = 100


def index_faults(parts: SchemaParts) -> Iterator[Fault]:
    """Every fault of a schema's indexes."""
    yield from _index_set_faults(parts)
    for index in parts.indexes:
        yield from _index_faults(parts, index)


def _index_set_faults(parts: SchemaParts) -> Iterator[Fault]:
    if len(parts.indexes) > MAX_INDEXES:
        yield Fault("indexes", f"there are {len(parts.indexes)}, a table has at most {MAX_INDEXES}", "remove some")
    has_ttl = any(Role.TTL in info.metadata for model in parts.models for info in model.model_fields.values())
    projected = 0
    for index in parts.indexes:
        if not isinstance(index.projection, str) or index.projection == "KEYS_ONLY":
            projected += len(projected_names(index, index_models(parts.models, index))) + has_ttl
    if projected > MAX_PROJECTED:
        message = f"{projected} attributes are projected, a table has at most {MAX_PROJECTED}"
        yield Fault("indexes", message, "project fewer, or use ALL")
    pairs: dict[tuple[str, str], list[str]] = {TABLE_KEYS: ["the table"]}
    for index in parts.indexes:
        pairs.setdefault((index.hash_key, index.range_key), []).append(f"index {index.name}")
    for first, *others in pairs.values():
        if len(others) == 1:
            yield Fault(others[0], f"it has the same pair of keys as {first}", "remove one")
        elif others:
            message = f"they have the same pair of keys as {first}"
            yield Fault(f"{others[0]} to {others[-1]}, {len(others)} of them", message, "keep one")


def _index_faults(parts: SchemaParts, index: Index) -> Iterator[Fault]:
    where = f"index {index.name}"
    models = parts.models if index.entities is None else index.entities
    strangers = [model.__name__ for model in models if model not in parts.models]
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
    holders = index_models(parts.models, index)
    if known and not holders and not strangers:
        yield Fault(where, "no entity has both of its keys", "let one entity declare both")
    if known and holders and index.entities is not None:
        for model in index.entities:
            if model in parts.models and model not in holders:
                yield Fault(where, f"{model.__name__} has not both of its keys", "remove it from the index's entities")
    yield from _raw_range_faults(parts, index, holders)
    yield from _stored_name_faults(index, holders)
    yield from _projection_faults(index, holders)


def _raw_range_faults(parts: SchemaParts, index: Index, holders: list[type[Entity]]) -> Iterator[Fault]:
    """DynamoDB refuses an item whose attribute has another type than the index's key, whether or not the item was
    meant for the index. So every entity with that attribute counts."""
    where = f"index {index.name}"
    raw = [properties_of(model)[index.range_key] for model in holders if index.range_key in model.model_fields]
    stored = {each.stored for each in raw}
    sharing = {
        model.__name__: each
        for model in parts.models
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
    """Faults of stored names: an index names keys and properties by Python name, for all of its entities."""
    projection = () if isinstance(index.projection, str) else index.projection
    for name in dict.fromkeys((index.hash_key, index.range_key, *projection)):
        stored = {properties_of(model)[name].stored for model in holders if name in model.model_fields}
        stored |= {generated_keys(model)[name][0] for model in holders if name in generated_keys(model)}
        if len(stored) > 1:
            message = f"{name!r} is stored under different names: {', '.join(sorted(stored))}"
            yield Fault(f"index {index.name}", message, "give it one alias")


def _projection_faults(index: Index, holders: list[type[Entity]]) -> Iterator[Fault]:
    where = f"index {index.name}"
    projected = () if isinstance(index.projection, str) else index.projection
    for model in holders if index.projection != "ALL" else ():
        for name in filter(is_nested, identity_of(model)):
            if root_of(name) not in projected:
                message = f"{name!r} identifies {model.__name__}, and the index does not project {root_of(name)!r}"
                yield Fault(where, message, "name it in the projection, or project ALL")
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
