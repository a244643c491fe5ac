"""The schema: entities and indexes of one table, checked as a whole and compiled once.

Guarantees: a `Schema` that was built is valid, immutable and safe to share; an invalid one raises SchemaError with
every fault, each with its place and its fix. It does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar, overload

from ..errors import SchemaError, UnknownName, use_one_of
from ..keys.key_format import ORDERED, KeyFormat
from .checks.all_faults import schema_faults
from .collection import Collection
from .compile import entity_type, table_layout
from .declarations import Index
from .entity import Entity
from .entity_type import EntityType
from .parts import schema_parts
from .read_models import ReadModel

E = TypeVar("E", bound=Entity)


class Schema:
    """All entities and indexes of one table.

    `hash_key` and `range_key` are the stored names of the table's keys; `read_models` are the read models, which write
    the entities from events; `collections` are those of several entities, which have routes over HTTP. Raises
    SchemaError.
    """

    def __init__(
        self,
        entities: Sequence[type[Entity]],
        indexes: Sequence[Index] = (),
        *,
        key_format: KeyFormat = ORDERED,
        hash_key: str = "hashKey",
        range_key: str = "rangeKey",
        read_models: Sequence[ReadModel] = (),
        collections: Sequence[Collection[Any]] = (),
    ) -> None:
        parts = schema_parts(entities, indexes, read_models, key_format, hash_key, range_key, collections)
        self.models = parts.models
        self.indexes = parts.indexes
        self.key_format = parts.key_format
        self.hash_key = parts.hash_key
        self.range_key = parts.range_key
        self.read_model_list = parts.read_models
        self.collections = parts.collections
        faults = [*parts.faults, *schema_faults(parts)]
        if faults:
            raise SchemaError(faults)
        self.layout = table_layout(parts)
        self.earlier: tuple[EntityType[Any], ...] = ()
        self._hiding: dict[tuple[frozenset[str], str | None], Schema] = {}
        self._register(entity_type(parts, self.layout, model) for model in parts.models)
        self.read_models: Mapping[str, ReadModel] = MappingProxyType({each.name: each for each in self.read_model_list})

    def _register(self, entities: Iterable[EntityType[Any]]) -> None:
        self.entities: Mapping[str, EntityType[Any]] = MappingProxyType({each.token: each for each in entities})
        self._by_model = {each.model: each for each in self.entities.values()}
        self._by_collection = {each.collection: each for each in self.entities.values()}

    @overload
    def __getitem__(self, model: type[E]) -> EntityType[E]: ...

    @overload
    def __getitem__(self, model: str) -> EntityType[Any]: ...

    def __getitem__(self, model: type[Entity] | str) -> EntityType[Any]:
        """The compiled entity of a model, or of its token. Raises UnknownName."""
        if isinstance(model, str):
            return self.entity(model)
        try:
            return self._by_model[model]
        except (KeyError, TypeError):
            given = model.__name__ if isinstance(model, type) else f"an object of type {type(model).__name__}"
            raise UnknownName(
                f"{given} is not in the schema",
                where="entity",
                fix=f"give a class of Schema(entities=[...]), or the token of one: {', '.join(self.entities)}",
            ) from None

    def entity(self, token: str) -> EntityType[Any]:
        """The compiled entity of a token. Raises UnknownName that lists the tokens."""
        try:
            return self.entities[token]
        except KeyError:
            raise UnknownName(
                f"there is no entity {token[:80]!r}", where="entity", fix=f"use one of {', '.join(self.entities)}"
            ) from None

    def collection(self, name: str) -> EntityType[Any]:
        """The compiled entity of a collection. Raises UnknownName that lists the collections."""
        try:
            return self._by_collection[name]
        except KeyError:
            raise UnknownName(
                f"there is no collection {name!r}", where="path", fix=f"use one of {', '.join(self._by_collection)}"
            ) from None

    def read_model(self, name: str) -> ReadModel:
        """A read model by name. Raises UnknownName that lists them."""
        try:
            return self.read_models[name]
        except (KeyError, TypeError):
            fix = use_one_of(self.read_models, what="read model")
            raise UnknownName(f"there is no read model {name!r}", where="read model", fix=fix) from None

    def entity_of_key(self, hash_key: str) -> EntityType[Any] | None:
        """The entity whose token starts a hash key, or None."""
        return self.entities.get(hash_key.partition(self.key_format.shard_delimiter)[0])

    def hiding(self, indexes: Iterable[str], token: str | None = None) -> Schema:
        """This schema for queries that must not use some indexes, while those are being filled: of one entity, or of
        all; then it has no collections by these indexes. Writes are the same, so that the indexes are filled."""

        hidden = frozenset(indexes)

        def shown(entity: EntityType[Any]) -> EntityType[Any]:
            if token not in (None, entity.token):
                return entity
            views = {name: view for name, view in entity.views.items() if name not in hidden}
            return replace(entity, views=MappingProxyType(views))

        found = self._hiding.get((hidden, token))
        if found is None:
            # It is kept, so that what others keep of an entity, such as its shard maps, is kept once.
            found = copy(self)
            found._hiding = {}
            found._register(shown(entity) for entity in self.entities.values())
            if token is None:
                found.collections = tuple(each for each in self.collections if each.index not in hidden)
            self._hiding[hidden, token] = found
        return found

    def beside(self, earlier: Iterable[EntityType[Any]]) -> Schema:
        """This schema for a table that also has records of entities of an `earlier` schema, which are brought in."""
        found = copy(self)
        found._hiding, found.earlier = {}, tuple(earlier)
        return found

    @staticmethod
    def from_entity_manager(config: Mapping[str, Any]) -> Schema:
        """A schema whose keys are byte for byte those of Entity Manager, version 8, for its configuration (JSON)."""
        from .entity_manager import schema_from_config

        return schema_from_config(config)
