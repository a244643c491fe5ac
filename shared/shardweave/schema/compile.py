"""Compiling a valid schema: the layout of its table, and each entity with its keys and views.

Pure: the same parts give equal results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from ..keys.entity_keys import EntityKeys
from ..keys.key_design import Element, Generated, KeyDesign
from ..keys.sharding import ShardMap
from ..table.layout import IndexLayout, KeyAttribute, Projection, TableLayout
from ..values.codecs import DescendingCodec
from .declarations import Index
from .declared_bumps import declared_bumps
from .entity import Entity, HashKey, RangeKey, identity_of
from .entity_options import Descending
from .entity_type import EntityType, IndexView
from .nested_elements import is_nested, nested_names, property_at
from .parts import SchemaParts
from .property import Property, properties_of
from .property_options import Role
from .related_lists import related_lists_of
from .relations import children_of, lookups_of, relations_of, sequences_of
from .resolve import generated_keys, index_models, projected_names

E = TypeVar("E", bound=Entity)

UNNAMED_TTL = "_expires"
"""The table's TTL attribute if no entity has a TTL; temporary items of the library use it."""


def table_layout(parts: SchemaParts) -> TableLayout:
    """The layout of the table of a schema."""
    ttl = min((name for model in parts.models for name in _with_role(model, Role.TTL)), default=None)
    indexes = []
    for index in parts.indexes:
        models = index_models(parts.models, index)
        hash_key = _key_attribute(parts.hash_key, index.hash_key, "hash_key", models)
        range_key = _key_attribute(parts.range_key, index.range_key, "range_key", models)
        taken = {parts.hash_key, parts.range_key, hash_key.name, range_key.name}
        indexes.append(IndexLayout(index.name, hash_key, range_key, _projection(index, models, ttl, taken)))
    keys = KeyAttribute(parts.hash_key), KeyAttribute(parts.range_key)
    return TableLayout(*keys, tuple(indexes), ttl or UNNAMED_TTL)


def _key_attribute(table_name: str, name: str, table_key: str, models: Sequence[type[Entity]]) -> KeyAttribute:
    if name == table_key:
        return KeyAttribute(table_name)
    model = models[0]
    raw = properties_of(model).get(name)
    if raw is not None and raw.codec is not None and raw.codec.key_type is not None:
        return KeyAttribute(raw.stored, raw.codec.key_type)
    return KeyAttribute(generated_keys(model)[name][0])


def _projection(index: Index, models: Sequence[type[Entity]], ttl: str | None, taken: set[str]) -> Projection:
    """The projected attributes by stored name; they always include the TTL, so that reads can hide expired records."""
    if index.projection == "ALL":
        return "ALL"
    names = projected_names(index, models)
    if ttl is not None and ttl not in taken:
        names.append(ttl)
    return tuple(dict.fromkeys(names)) or "KEYS_ONLY"


def _with_role(model: type[Entity], role: Role) -> list[str]:
    return [each.stored for each in properties_of(model).values() if each.role is role]


def entity_type(parts: SchemaParts, layout: TableLayout, model: type[E]) -> EntityType[E]:
    """An entity compiled for a valid schema and the layout of its table."""
    properties = properties_of(model)
    declaration = model.declaration
    roles = {each.role: each.stored for each in properties.values() if each.role}
    identity = identity_of(model)
    unique = tuple(each.name for each in properties.values() if each.role is Role.UNIQUE)
    shard_by = declaration.shard_by or declaration.partition or unique or identity
    timestamp = roles.get(Role.TIMESTAMP)

    def elements(names: Sequence[str | Descending]) -> tuple[Element, ...]:
        return tuple(_element(properties, name) for name in names)

    generated = {
        name: _generated(stored, each, elements(each.elements))
        for name, (stored, each) in generated_keys(model).items()
    }
    design = KeyDesign(
        token=declaration.token,
        key_format=parts.key_format,
        hash_name=parts.hash_key,
        range_name=parts.range_key,
        partition=elements(declaration.partition),
        sort=() if declaration.singleton else elements(declaration.sort_elements or unique),
        shard_by=elements(shard_by),
        timestamp=timestamp,
        generated=tuple(generated.values()),
        hints=frozenset(name for name in (roles.get(Role.UNIQUE), timestamp) if name),
    )
    range_keys = {index.range_key.name for index in layout.indexes}
    by_stored = {each.stored: each for each in properties.values()}
    identified_by = tuple(_stored(properties, name) for name in identity)
    placed_by = {_stored(properties, name) for name in (*declaration.partition, *declaration.sort, *shard_by)}
    return EntityType(
        model=model,
        token=declaration.token,
        collection=declaration.collection,
        properties=MappingProxyType(by_stored),
        keys=EntityKeys(design),
        shard_map=ShardMap.of_bumps(declared_bumps(model)),
        identity=identified_by,
        immutable=frozenset(
            placed_by
            | {each.stored for each in properties.values() if each.claim is not None}
            | {name for name in (roles.get(Role.UNIQUE), timestamp) if name}
        ),
        views=MappingProxyType(_views(parts, layout, model, design, generated)),
        raw_keys=tuple(each for name, each in by_stored.items() if name in range_keys),
        unique=roles.get(Role.UNIQUE),
        timestamp=timestamp,
        updated=roles.get(Role.UPDATED),
        ttl=roles.get(Role.TTL),
        lookup_placed=not {each.name for each in design.shard_by} <= set(identified_by),
        origin=declaration.origin,
        separator=declaration.separator,
        lookups=MappingProxyType(lookups_of(model, properties)),
        sequences=sequences_of(model, properties),
        relations=MappingProxyType(relations_of(model, parts.models, parts.indexes)),
        related_lists=MappingProxyType(related_lists_of(model, parts.models)),
        children=children_of(model, parts.models),
        access=declaration.access,
        read_only=declaration.read_only,
        nested=MappingProxyType(_nested(model, properties)),
    )


def _generated(stored: str, key: HashKey | RangeKey, elements: tuple[Element, ...]) -> Generated:
    if isinstance(key, HashKey):
        return Generated(stored, elements, sharded=True, shards=key.shards)
    return Generated(stored, elements, sharded=False)


def _element(properties: Mapping[str, Property], name: str | Descending) -> Element:
    found = property_at(properties, name.name if isinstance(name, Descending) else name)
    assert found is not None
    assert found.codec is not None
    path = tuple(found.stored.split(".")) if is_nested(found.stored) else ()
    if isinstance(name, Descending):
        return Element(found.stored, DescendingCodec(found.codec), descending=True, path=path)
    return Element(found.stored, found.codec, path=path)


def _stored(properties: Mapping[str, Property], name: str) -> str:
    found = property_at(properties, name)
    assert found is not None
    return found.stored


def _nested(model: type[Entity], properties: Mapping[str, Property]) -> dict[str, Property]:
    """The members of models that are elements of keys, by the names of these elements."""
    declaration = model.declaration
    elements = [each for _, key in generated_keys(model).values() for each in key.elements]
    elements += [*declaration.partition, *declaration.sort, *declaration.shard_by]
    names = (each.name if isinstance(each, Descending) else each for each in elements)
    found = (property_at(properties, name) for name in nested_names(names))
    return {each.stored: each for each in found if each is not None}


def _views(
    parts: SchemaParts,
    layout: TableLayout,
    model: type[Entity],
    design: KeyDesign,
    generated: Mapping[str, Generated],
) -> dict[str | None, IndexView]:
    properties = properties_of(model)
    views: dict[str | None, IndexView] = {
        None: IndexView(
            index=None,
            hash_name=design.hash_name,
            hash_elements=design.partition,
            range_name=design.range_name,
            range_elements=design.sort,
            raw=False,
            projected=None,
            page_key=layout.start_key_names(None),
        )
    }
    for index in parts.indexes:
        if model not in index_models(parts.models, index):
            continue
        raw = index.range_key != "range_key" and index.range_key not in generated
        if raw:
            range_name = properties[index.range_key].stored
            range_elements: tuple[Element, ...] = (_element(properties, index.range_key),)
        elif index.range_key == "range_key":
            range_name, range_elements = design.range_name, design.sort
        else:
            range_name, range_elements = generated[index.range_key].name, generated[index.range_key].elements
        table_hash = index.hash_key == "hash_key"
        views[index.name] = IndexView(
            index=index.name,
            hash_name=design.hash_name if table_hash else generated[index.hash_key].name,
            hash_elements=design.partition if table_hash else generated[index.hash_key].elements,
            range_name=range_name,
            range_elements=range_elements,
            raw=raw,
            reversed=index.descending,
            projected=layout.projected(index.name),
            page_key=layout.start_key_names(index.name),
            shards=None if table_hash else generated[index.hash_key].shards,
            exposed=index.exposed,
            groups=index.groups,
            owner=None if index.owner is None else properties[index.owner].stored,
        )
    return views
