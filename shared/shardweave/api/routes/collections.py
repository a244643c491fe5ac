"""A collection of several entities over HTTP.

    GET  /v1/{collection}    a page: {"items": [{"entity": "order", "record": {...}}, ...], "nextToken": ..., ...}

The parameters are those that mean the same for every entity: conditions on the properties that the index has in all of
them, filters on properties that all of them have, and those of pages. Records are whole. The access rules of each
entity for `list` apply, and if one entity refuses, the request is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from operator import or_
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from ...access.authorization import ACCESS_ERRORS, Authorization
from ...errors import Unreadable
from ...keys.key_design import Element, order_difference
from ...keys.shard_key import ExternalKeys
from ...query.runner import QueryRunner
from ...query.spec import QuerySpec, joined
from ...schema.collection import Collection
from ...schema.entity_type import EntityType
from ...schema.property import Property
from ...schema.schema import Schema
from ...table.values import Item
from ...values.json_types import JSON_CONFIG
from ...wire.list_parameters import ListQuery, index_table
from ...wire.record_keys import ROOT
from ...wire.record_models import RecordModels, page_model
from ...wire.unreadable import UNREADABLE
from ..http import Response
from ..operation import Answer, Call, Operation
from ..pages import Pages, carried
from ..response_size import Carried, carried_texts
from .queries import QUERY_ERRORS


class CollectionRoute:
    """The operation of one collection."""

    def __init__(
        self,
        collection: Collection[Any],
        schema: Schema,
        queries: QueryRunner,
        external: ExternalKeys | None,
        access: Authorization,
    ) -> None:
        self._collection = collection
        entities = [schema[model] for model in collection.entities]
        self._models = {entity.token: RecordModels(entity, external) for entity in entities}
        self._access = access
        self.pages: Pages = _Pages(self._models, queries, access)
        self._shared = _shared([access.visible(entity) for entity in entities], collection.index)
        self.list_query = ListQuery(self._shared, several=True)
        views = [entity.views[collection.index] for entity in entities]
        self._hydrate = any(view.projected is not None for view in views)

    @property
    def name(self) -> str:
        """The collection's name, which is its path."""
        return self._collection.name

    @property
    def entities(self) -> tuple[EntityType[Any], ...]:
        """The entities."""
        return tuple(each.entity for each in self._models.values())

    @property
    def shared(self) -> EntityType[Any]:
        """What the entities have in common, in the form of an entity."""
        return self._shared

    def list(self, call: Call) -> Response:
        return self.pages.listed(self.pages.run(self.spec(call.query), call, operation="list"))

    def spec(self, given: Mapping[str, str]) -> QuerySpec:
        """The query of some parameters. Raises InputError's kinds."""
        return self.joined(self.list_query.spec(given))

    def joined(self, asked: QuerySpec) -> QuerySpec:
        """The query of all entities that asks the same of each."""
        asked = replace(asked, index=self._collection.index, hydrate=self._hydrate)
        return joined([replace(asked, entity=token) for token in self._models])

    def operation(self) -> Operation:
        name, title = self._collection.name, self._collection.title
        tokens = ", ".join(f"`{token}`" for token in self._models)
        return Operation(
            "GET",
            f"{ROOT}/{name}",
            f"list{title}",
            f"A page of {name}",
            self.list,
            Answer(200, "The page.", lambda: self._page),
            description=f"Records of {tokens} in one order. Conditions fix every property that the index needs, then "
            "properties from the left: equality, and on the last one equality, a prefix or a range.\n\n"
            + index_table(self._shared),
            tag=name,
            query_parameters=self.list_query.parameters,
            families=self.list_query.families,
            errors=(*QUERY_ERRORS, *(ACCESS_ERRORS if self._access.restricts else ())),
        )

    @cached_property
    def _page(self) -> type[BaseModel]:
        title = self._collection.title
        items = [_item_model(title, models) for models in self._models.values()]
        return page_model(title, Annotated[reduce(or_, items), Field(discriminator="entity")])


class _Pages(Pages):
    """Pages of records of several entities, each record with its entity's name."""

    def __init__(self, models: Mapping[str, RecordModels], queries: QueryRunner, access: Authorization) -> None:
        super().__init__(next(iter(models.values())), queries, access)
        self._by_token = models
        self._by_model = {each.entity.model: each for each in models.values()}

    def entity(self, token: str) -> EntityType[Any]:
        return self._by_token[token].entity

    def carried(self, record: Any) -> tuple[Any, Carried]:
        models = self._by_model[type(record)]
        return record, carried(models, record, _with_entity(models.entity, models.json(record)))

    def direct(self, entity: EntityType[Any], items: Sequence[Item]) -> list[tuple[Any, Carried] | None]:
        texts = self._by_token[entity.token].stored_json.texts(items)
        return carried_texts([None if text is None else _with_entity(entity, text) for text in texts])

    def told(self, found: Iterable[Unreadable]) -> dict[str, Any]:
        listed = [self._by_token[each.entity].unreadable_json(each) for each in found]
        return {UNREADABLE: listed} if listed else {}


def _with_entity(entity: EntityType[Any], text: bytes) -> bytes:
    return b'{"entity":"' + entity.token.encode() + b'","record":' + text + b"}"


def _item_model(title: str, models: RecordModels) -> Any:
    token = models.entity.token
    fields: dict[str, Any] = {
        "entity": (Literal[token], Field(description="The record's entity.")),
        "record": (models.read, Field(description="The record.")),
    }
    doc = f"A record of {token}."
    return create_model(f"{title}{models.name}", __config__=JSON_CONFIG, __doc__=doc, **fields)


def _shared(entities: Sequence[EntityType[Any]], index: str) -> EntityType[Any]:
    """The first entity, reduced to what it shares with the others: properties of the same name and type, and, of the
    index, the elements of its range key before the first with another name."""
    first, *others = entities
    view = first.views[index]
    ranges = [entity.views[index].range_elements for entity in entities]
    common = 0
    while common < len(ranges[0]) and len({elements[common].name for elements in ranges}) == 1:
        common += 1
    properties = {
        name: each
        for name, each in first.properties.items()
        if all(_is_alike(each, other.properties.get(name)) for other in others)
    }
    shown = replace(view, range_elements=view.range_elements[:common])
    return replace(
        first,
        properties=MappingProxyType(properties),
        views=MappingProxyType({index: shown}),
        lookups=MappingProxyType({}),
        relations=MappingProxyType({}),
    )


def _is_alike(one: Property, other: Property | None) -> bool:
    if other is None:
        return False
    if one.codec is None or other.codec is None:
        return one.codec is other.codec and one.annotation == other.annotation
    elements = ((Element(one.stored, one.codec),), (Element(other.stored, other.codec),))
    return order_difference(("", ""), elements) is None
