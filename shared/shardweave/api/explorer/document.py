"""What the Explorer's page is told about a service: its entities with their properties, indexes and relations, and the
service's own lists.

Guarantees: it says no more than the OpenAPI document does, in a form that a page can use without a search: no private
property, no index that HTTP does not have. Costs: the JSON schemas of all entities, made with the first request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from ... import __version__
from ...schema.entity_type import EntityType, IndexView
from ...schema.property import Property
from ...values.codecs import TimestampCodec
from ...values.json_types import json_type
from ...wire.parameter import Parameter
from ...wire.record_keys import KEY
from ...wire.record_models import RecordModels
from ..openapi import say_limits
from ..operation import Operation, model_of
from ..parts import Parts

PAGE_MEMBERS = {"items", "nextToken", "complete"}
WRITES = {"POST": "create", "PATCH": "update", "DELETE": "delete"}


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", defer_build=True)


class ExplorerProperty(_Camel):
    """A property."""

    name: str
    time: str = Field(description="`ms` or `s` where it is an epoch time, else empty.")
    content: dict[str, Any] = Field(description="Its JSON schema.")


class ExplorerElement(_Camel):
    """A property in an index's range key."""

    name: str
    descending: bool
    begins: bool = Field(description="Whether the index answers a prefix of it.")


class ExplorerIndex(_Camel):
    """An index, or the table itself."""

    name: str | None
    fixed: list[str] = Field(description="The properties of its hash key, without those that the token says.")
    ordered: list[ExplorerElement] = Field(description="The properties of its range key, in order.")
    shown: list[str] | None = Field(description="The properties that it holds, null for all.")


class ExplorerRelation(_Camel):
    """A relation that `expand` shows."""

    name: str
    entity: str
    many: bool


class ExplorerEntity(_Camel):
    """An entity: where its records are, what they have, and what bodies take."""

    token: str
    name: str
    description: str
    collection: str
    path: str = Field(description="The path of a record, with the names of the path's parameters.")
    identity: list[str] = Field(description="The members of a record that stand in its path, in order.")
    claims: list[str] = Field(description="The properties that the caller's token says.")
    immutable: list[str]
    properties: list[ExplorerProperty]
    members: list[ExplorerProperty] = Field(description="Members of models that indexes find by or are in order of.")
    indexes: list[ExplorerIndex]
    relations: list[ExplorerRelation]
    operations: list[str] = Field(description="Some of create, update, delete.")
    write: dict[str, Any] = Field(description="The JSON schema of a new record.")
    patch: dict[str, Any] = Field(description="That of what changes one.")
    definitions: dict[str, Any] = Field(description="What `#/$defs/...` in its schemas refers to.")


class ExplorerParameter(_Camel):
    """A query parameter of a list."""

    name: str
    description: str
    required: bool
    content: dict[str, Any] = Field(description="Its JSON schema.")


class ExplorerView(_Camel):
    """A list that the service declares itself."""

    name: str
    summary: str
    path: str
    collection: str = Field(description="The collection that its tag names, empty where there is none.")
    parameters: list[ExplorerParameter]
    explain: str = Field(description="The path that explains it, empty where there is none.")


class ExplorerDocument(_Camel):
    """A service."""

    service: str
    version: str
    entities: list[ExplorerEntity]
    views: list[ExplorerView]


def described(title: str, parts: Parts, operations: Sequence[Operation]) -> ExplorerDocument:
    """The document of a service with these operations."""
    methods: dict[str, set[str]] = {}
    for each in operations:
        methods.setdefault(each.path, set()).add(each.method)
    entities = [_entity(parts, entity, methods) for entity in parts.schema.entities.values()]
    collections = {each.collection for each in entities}
    return ExplorerDocument(
        service=title,
        version=__version__,
        entities=entities,
        views=[_view(each, collections, methods) for each in operations if _is_view(each, collections)],
    )


# -- entities ---------------------------------------------------------------------------------------------------------


def _entity(parts: Parts, entity: EntityType[Any], methods: Mapping[str, set[str]]) -> ExplorerEntity:
    visible, models = parts.access.visible(entity), RecordModels(entity, parts.external_keys)
    path = models.keys.template
    definitions: dict[str, Any] = {}
    read, write, patch = (_json_schema(each, definitions) for each in (models.read, models.write, models.patch))
    has = methods.get(path, set()) | (methods.get(f"/v1/{entity.collection}", set()) & {"POST"})
    return ExplorerEntity(
        token=entity.token,
        name=models.name,
        description=entity.model.__doc__ or "",
        collection=entity.collection,
        path=path,
        identity=[KEY] if entity.origin is not None else list(entity.identity),
        claims=list(entity.claims),
        immutable=sorted(entity.immutable),
        properties=list(_properties(visible, read["properties"])),
        members=[
            ExplorerProperty(name=name, time=_unit(each), content=TypeAdapter(each.annotation).json_schema())
            for name, each in visible.nested.items()
        ],
        indexes=[_index(visible, view) for view in visible.views.values()],
        relations=[
            ExplorerRelation(name=name, entity=each.target, many=each.many) for name, each in visible.relations.items()
        ],
        operations=[verb for method, verb in WRITES.items() if method in has],
        write=write,
        patch=patch,
        definitions=definitions,
    )


def _properties(visible: EntityType[Any], shown: Mapping[str, dict[str, Any]]) -> Iterator[ExplorerProperty]:
    for name, content in shown.items():
        each = visible.properties.get(name)
        if each is not None or name in visible.computed or name == KEY:
            yield ExplorerProperty(name=name, time=_unit(each), content=content)


def _unit(each: Property | None) -> str:
    return each.codec.unit if each is not None and isinstance(each.codec, TimestampCodec) and not each.epoch else ""


def _index(visible: EntityType[Any], view: IndexView) -> ExplorerIndex:
    shown = None
    if view.projected is not None:
        shown = [name for name in visible.properties if name in view.projected or name in visible.identity]
    return ExplorerIndex(
        name=view.index,
        fixed=[each.name for each in view.hash_elements if each.name not in visible.claims],
        ordered=[
            ExplorerElement(name=each.name, descending=each.descending, begins=view.begins(each.name))
            for each in view.range_elements
            if each.name in visible.properties or each.name in visible.nested
        ],
        shown=shown,
    )


def _json_schema(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a model; what it refers to is added to the definitions."""
    found = model.model_json_schema(by_alias=True)
    for each in (found, *found.get("$defs", {}).values()):
        say_limits(each)
    definitions |= found.pop("$defs", {})
    return found


# -- the service's own lists ------------------------------------------------------------------------------------------


def _is_view(each: Operation, collections: set[str]) -> bool:
    root, _, name = each.path.rpartition("/")
    if each.method != "GET" or each.answer.model is None or each.path_parameters:
        return False
    if root == "/v1" and (name in collections or name.startswith("_")):
        return False
    return {field.alias or name for name, field in model_of(each.answer.model).model_fields.items()} >= PAGE_MEMBERS


def _view(each: Operation, collections: set[str], methods: Mapping[str, set[str]]) -> ExplorerView:
    explain = f"{each.path}/explain"
    return ExplorerView(
        name=each.name,
        summary=each.summary,
        path=each.path,
        collection=each.tag if each.tag in collections else "",
        parameters=[
            ExplorerParameter(
                name=parameter.name,
                description=parameter.description,
                required=parameter.required,
                content=_content(parameter),
            )
            for parameter in each.query_parameters
        ],
        explain=explain if "GET" in methods.get(explain, ()) else "",
    )


def _content(parameter: Parameter) -> dict[str, Any]:
    found = TypeAdapter(json_type(parameter.annotation)).json_schema()
    say_limits(found)
    return found
