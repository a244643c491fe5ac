"""The schema: entities and indexes of one table, checked as a whole and compiled once.

Guarantees: a `Schema` that was built is valid, immutable and shared by all; one that can't be built raises SchemaError
with every fault, each with its place and its fix. It does no I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from .access.bindings import Claim, Private
from .codecs import Codec, DescendingCodec, codec_of
from .declared import children_of, lookups_of, relations_of, sequences_of
from .defaults import default_of
from .entity import Entity, HashKey, RangeKey, Role, identity_of
from .entity_property import Property
from .entity_type import EntityType, IndexView
from .errors import SchemaError, UnknownName
from .key_format import ORDERED, KeyFormat
from .keys import Element, EntityKeys, Generated, KeyDesign
from .keywords import Descending
from .kind_faults import schema_parts
from .projections import EventProjection
from .schema_faults import is_optional, schema_faults
from .sharding import ShardMap
from .table.layout import IndexLayout, KeyAttribute, Projection, TableLayout

E = TypeVar("E", bound=Entity)

UNNAMED_TTL = "_expires"
"""The table's TTL attribute where no entity has one: what is kept for a while is kept there too."""


@dataclass(frozen=True)
class Index:
    """A secondary index, by Python names. `hash_key` is `hash_key` (the table's) or a HashKey; `range_key` is
    `range_key` (the table's), a RangeKey, or a property. `entities` None: every entity that has both. `projection`
    is `ALL`, `KEYS_ONLY`, or the properties to project. Over HTTP it is used where it is `exposed`, by callers in
    one of its `groups`; with `owner` only where it is named, for records whose property of this name is the caller's
    subject."""

    name: str
    hash_key: str
    range_key: str
    entities: tuple[type[Entity], ...] | None = None
    projection: Literal["ALL", "KEYS_ONLY"] | Sequence[str] = "ALL"
    exposed: bool = True
    groups: tuple[str, ...] = ()
    owner: str | None = None


class Schema:
    """All entities and indexes of one table.

    `hash_key` and `range_key` are the stored names of the table's keys; `projections` say what events make of the
    entities. Raises SchemaError.
    """

    def __init__(
        self,
        entities: Sequence[type[Entity]],
        indexes: Sequence[Index] = (),
        *,
        key_format: KeyFormat = ORDERED,
        hash_key: str = "hashKey",
        range_key: str = "rangeKey",
        projections: Sequence[EventProjection] = (),
    ) -> None:
        parts = schema_parts(entities, indexes, projections, key_format, hash_key, range_key)
        self.models = parts.models
        self.indexes = parts.indexes
        self.key_format = parts.key_format
        self.hash_key = parts.hash_key
        self.range_key = parts.range_key
        self.projection_list = parts.projections
        faults = [*parts.faults, *schema_faults(self)]
        if faults:
            raise SchemaError(faults)
        ttl = {name for model in self.models for name in _with_role(model, Role.TTL)}
        self.layout = _layout(self, min(ttl) if ttl else None)
        self._register(_compile(self, model) for model in self.models)
        self.projections: Mapping[str, EventProjection] = MappingProxyType(
            {each.name: each for each in self.projection_list}
        )

    def _register(self, entities: Iterable[EntityType[Any]]) -> None:
        self.entities: Mapping[str, EntityType[Any]] = MappingProxyType({each.token: each for each in entities})
        self._by_model = {each.model: each for each in self.entities.values()}
        self._by_collection = {each.collection: each for each in self.entities.values()}

    def __getitem__(self, model: type[E]) -> EntityType[E]:
        """The compiled entity of a model."""
        try:
            return self._by_model[model]
        except KeyError:
            raise UnknownName(
                f"{getattr(model, '__name__', repr(model)[:80])} is not in the schema",
                where="entity",
                fix="give the class of an entity in Schema(entities=[...]); `entity(token)` takes a token",
            ) from None

    def entity(self, token: str) -> EntityType[Any]:
        """The compiled entity of a token. Raises UnknownName that lists the tokens."""
        try:
            return self.entities[token]
        except KeyError:
            raise UnknownName(
                f"there is no entity {token!r}", where="entity", fix=f"use one of {', '.join(self.entities)}"
            ) from None

    def collection(self, name: str) -> EntityType[Any]:
        """The compiled entity of a collection. Raises UnknownName that lists the collections."""
        try:
            return self._by_collection[name]
        except KeyError:
            raise UnknownName(
                f"there is no collection {name!r}", where="path", fix=f"use one of {', '.join(self._by_collection)}"
            ) from None

    def projection(self, name: str) -> EventProjection:
        """A projection by name. Raises UnknownName that lists them."""
        try:
            return self.projections[name]
        except KeyError:
            known = ", ".join(self.projections) or "(the schema has none)"
            fix = f"use one of {known}"
            raise UnknownName(f"there is no projection {name!r}", where="projection", fix=fix) from None

    def entity_of_key(self, hash_key: str) -> EntityType[Any] | None:
        """The entity whose token starts a hash key, or None."""
        return self.entities.get(hash_key.partition(self.key_format.shard_delimiter)[0])

    def hiding(self, indexes: Collection[str]) -> Schema:
        """This schema for queries that must not use some indexes, as long as those are being filled. What is written
        stays the same, so that they do get filled."""

        def shown(entity: EntityType[Any]) -> EntityType[Any]:
            views = {name: view for name, view in entity.views.items() if name not in indexes}
            return replace(entity, views=MappingProxyType(views))

        schema = copy(self)
        schema._register(shown(entity) for entity in self.entities.values())
        return schema

    @staticmethod
    def from_entity_manager(config: Mapping[str, Any]) -> Schema:
        """A schema whose keys are byte for byte those of Entity Manager, version 8, for its configuration (JSON)."""
        from .entity_manager import schema_from_config

        return schema_from_config(config)


@cache
def properties_of(model: type[Entity]) -> dict[str, Property]:
    """A model's properties by Python name. Read, and not changed: a schema asks for them a hundred times."""
    found = {}
    for name, info in model.model_fields.items():
        annotation = info.annotation
        for constraint in info.metadata:
            if not isinstance(constraint, (Role, Codec, Claim, Private)):
                annotation = Annotated[annotation, constraint]  # type: ignore[assignment]
        found[name] = Property(
            name=name,
            stored=info.alias or name,
            annotation=annotation,
            codec=next((item for item in info.metadata if isinstance(item, Codec)), None) or codec_of(info.annotation),
            role=next((item for item in info.metadata if isinstance(item, Role)), None),
            required=info.is_required(),
            has_default=not info.is_required(),
            null_stored=_refills(info) and is_optional(info.annotation),
            refills=_refills(info),
            claim=next((item.name for item in info.metadata if isinstance(item, Claim)), None),
            private=bool(info.exclude) or any(isinstance(item, Private) for item in info.metadata),
            none_when_missing=info.is_required() and is_optional(info.annotation),
            empty_when_missing=not info.is_required() and _defaults_to_empty_set(info),
            default=default_of(info),
        )
    return found


def _refills(info: FieldInfo) -> bool:
    return not info.is_required() and info.default is not None


def _defaults_to_empty_set(info: FieldInfo) -> bool:
    factory: Any = info.default_factory
    return factory in (set, frozenset) or info.default in (set(), frozenset())


def _with_role(model: type[Entity], role: Role) -> list[str]:
    return [each.stored for each in properties_of(model).values() if each.role is role]


@cache
def generated_keys(model: type[Entity]) -> dict[str, tuple[str, HashKey | RangeKey]]:
    """A model's generated keys by Python name, each with its stored name: `first_name_range_key` is stored as
    `firstNameRangeKey` unless it says otherwise."""
    return {
        name: (to_camel(name) if key.stored is None else key.stored, key)
        for name, key in model.declared().items()
        if isinstance(key, (HashKey, RangeKey))
    }


def key_properties(model: type[Entity], key: str) -> tuple[str, ...]:
    """The properties of a model in one key of an index, by Python name."""
    if key == "hash_key":
        return model.declaration.partition
    if key == "range_key":
        return model.declaration.sort
    found = generated_keys(model).get(key)
    if found is None:
        return (key,)
    names: Sequence[str | Descending] = found[1].elements
    return tuple(each.name if isinstance(each, Descending) else each for each in names)


def index_models(schema: Schema, index: Index) -> list[type[Entity]]:
    """The entities that an index holds."""
    return [
        model
        for model in schema.models
        if (index.entities is None or model in index.entities)
        and _has_key(model, index.hash_key, "hash_key")
        and _has_key(model, index.range_key, "range_key")
    ]


def _has_key(model: type[Entity], name: str, table_key: str) -> bool:
    return name == table_key or name in model.declared() or (table_key == "range_key" and name in model.model_fields)


# -- compiling --------------------------------------------------------------------------------------------------------


def _compile(schema: Schema, model: type[E]) -> EntityType[E]:
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
        name: Generated(stored, elements(each.elements), sharded=isinstance(each, HashKey))
        for name, (stored, each) in generated_keys(model).items()
    }
    design = KeyDesign(
        token=declaration.token,
        key_format=schema.key_format,
        hash_name=schema.hash_key,
        range_name=schema.range_key,
        partition=elements(declaration.partition),
        sort=() if declaration.singleton else elements(declaration.sort or unique),
        shard_by=elements(shard_by),
        timestamp=timestamp,
        generated=tuple(generated.values()),
        hints=frozenset(name for name in (roles.get(Role.UNIQUE), timestamp) if name),
    )
    range_keys = {index.range_key.name for index in schema.layout.indexes}
    by_stored = {each.stored: each for each in properties.values()}
    placed_by = {*declaration.partition, *declaration.sort, *shard_by}
    return EntityType(
        model=model,
        token=declaration.token,
        collection=declaration.collection,
        properties=MappingProxyType(by_stored),
        keys=EntityKeys(design),
        shard_map=ShardMap.of_bumps(declaration.shard_bumps),
        identity=tuple(properties[name].stored for name in identity),
        immutable=frozenset(
            {properties[name].stored for name in placed_by}
            | {each.stored for each in properties.values() if each.claim is not None}
            | {name for name in (roles.get(Role.UNIQUE), timestamp) if name}
        ),
        views=MappingProxyType(_views(schema, model, design, generated, properties)),
        raw_keys=tuple(each for name, each in by_stored.items() if name in range_keys),
        unique=roles.get(Role.UNIQUE),
        timestamp=timestamp,
        updated=roles.get(Role.UPDATED),
        ttl=roles.get(Role.TTL),
        lookup_placed=not set(shard_by) <= set(identity),
        origin=declaration.origin,
        separator=declaration.separator,
        lookups=MappingProxyType(lookups_of(model, properties)),
        sequences=sequences_of(model, properties),
        relations=MappingProxyType(relations_of(model, schema.models, schema.indexes)),
        children=children_of(model, schema.models),
        access=declaration.access,
        read_only=declaration.read_only,
    )


def _element(properties: Mapping[str, Property], name: str | Descending) -> Element:
    found = properties[name.name if isinstance(name, Descending) else name]
    assert found.codec is not None
    if isinstance(name, Descending):
        return Element(found.stored, DescendingCodec(found.codec), descending=True)
    return Element(found.stored, found.codec)


def _views(
    schema: Schema,
    model: type[Entity],
    design: KeyDesign,
    generated: Mapping[str, Generated],
    properties: Mapping[str, Property],
) -> dict[str | None, IndexView]:
    layout = schema.layout
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
    for index in schema.indexes:
        if model not in index_models(schema, index):
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
            projected=layout.projected(index.name),
            page_key=layout.start_key_names(index.name),
            exposed=index.exposed,
            groups=index.groups,
            owner=None if index.owner is None else properties[index.owner].stored,
        )
    return views


def _layout(schema: Schema, ttl: str | None) -> TableLayout:
    indexes = []
    for index in schema.indexes:
        models = index_models(schema, index)
        hash_key = _key_attribute(schema.hash_key, index.hash_key, "hash_key", models)
        range_key = _key_attribute(schema.range_key, index.range_key, "range_key", models)
        taken = {schema.hash_key, schema.range_key, hash_key.name, range_key.name}
        indexes.append(IndexLayout(index.name, hash_key, range_key, _projection(index, models, ttl, taken)))
    keys = KeyAttribute(schema.hash_key), KeyAttribute(schema.range_key)
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
    """The projected attributes by stored name; the TTL is always among them, so that reads can hide the expired."""
    if index.projection == "ALL":
        return "ALL"
    names = projected_names(index, models)
    if ttl is not None and ttl not in taken:
        names.append(ttl)
    return tuple(dict.fromkeys(names)) or "KEYS_ONLY"


def projected_names(index: Index, models: Sequence[type[Entity]]) -> list[str]:
    """The stored names of what an index names for its projection."""
    if isinstance(index.projection, str):
        return []
    stored: dict[str, str] = {}
    for model in models:
        stored |= {name: each.stored for name, each in properties_of(model).items()}
        stored |= {name: attribute for name, (attribute, _) in generated_keys(model).items()}
    return [stored[name] for name in dict.fromkeys(index.projection) if name in stored]
