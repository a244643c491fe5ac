"""What a client of a service is written from: its entities with their lists, its own routes, and the JSON schemas of
what they take and give, as the OpenAPI document has them.

Pure: the document and the schema in, frozen values out. What a list may be asked for is said as shapes: a shape fixes
properties, and may narrow one more; the shapes of an index are all that it answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...access.authorization import Authorization
from ...query.key_attributes import hidden_in
from ...schema.entity_type import EntityType, IndexView
from ...schema.nested_elements import root_of
from ...schema.schema import Schema
from ...wire.list_filters import FILTER
from ...wire.record_keys import KEY, ROOT, RecordKeys, parameter_name
from ...wire.record_models import RecordModels
from ..operation import Operation
from .type_names import REFERENCE, renamed

Json = Mapping[str, Any]
_BY = re.compile("^by(?=[A-Z])")
_NO_NAME = re.compile("[^0-9A-Za-z_]")
IDEMPOTENCY_KEY = "Idempotency-Key"


@dataclass(frozen=True)
class Member:
    """A property in a condition, a filter or a parameter: its JSON schema, whether a text of it may be given by its
    beginning, whether it has to be given, and whether it may be given by a range."""

    name: str
    schema: Json
    is_text: bool = False
    required: bool = True
    ranged: bool = True


@dataclass(frozen=True)
class Shape:
    """One form of conditions: `fixed` are equal to a value; `narrowed`, where there is one, to a value, or in a range,
    or begins with a text."""

    fixed: tuple[Member, ...]
    narrowed: Member | None = None


@dataclass(frozen=True)
class ListDescription:
    """A list of an entity: by an index, or with `index` None by the table. `shapes` are all forms of its conditions,
    the shortest first; `shown` are the properties that it gives where that is not all; `filters` are those that may be
    tested after reading."""

    name: str
    index: str | None
    shapes: tuple[Shape, ...]
    shown: tuple[str, ...] | None = None
    filters: tuple[Member, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The properties that its conditions may be about."""
        members = [each for shape in self.shapes for each in (*shape.fixed, *filter(None, (shape.narrowed,)))]
        return tuple(dict.fromkeys(each.name for each in members))


@dataclass(frozen=True)
class EntityDescription:
    """An entity: the name of its records' type, its collection, the path of a record with what stands in it, and the
    types of what its operations take, empty where there is no such operation."""

    name: str
    collection: str
    path: str
    doc: str
    keys: tuple[Member, ...]
    lists: tuple[ListDescription, ...]
    identity: tuple[str, ...]
    write: str = ""
    put: str = ""
    patch: str = ""


@dataclass(frozen=True)
class CollectionDescription:
    """A collection of several entities: its name, its path, the JSON schema of its items, and its list."""

    name: str
    path: str
    doc: str
    item: Json
    listed: ListDescription


@dataclass(frozen=True)
class RouteDescription:
    """A route of the service's own. `once`: it takes an idempotency key; `pages`: it gives a page of `answer`."""

    name: str
    method: str
    path: str
    doc: str
    path_members: tuple[Member, ...]
    query_members: tuple[Member, ...]
    body: Json | None
    answer: Json | None
    once: bool = False
    pages: bool = False


@dataclass(frozen=True)
class ServiceDescription:
    """A service. `schemas` are those of every type that is named, by name."""

    title: str
    entities: tuple[EntityDescription, ...]
    collections: tuple[CollectionDescription, ...]
    routes: tuple[RouteDescription, ...]
    schemas: Mapping[str, Json]


def describe(
    document: Json,
    schema: Schema,
    access: Authorization,
    external: Any,
    own: Sequence[Operation],
    shared: Mapping[str, EntityType[Any]],
) -> ServiceDescription:
    """The description of a service whose OpenAPI document this is; `own` are the operations that it declares itself,
    `shared` what the entities of each collection of several have in common, by its name."""
    lists = {each.model.__name__: _list_names(access.visible(each)).values() for each in schema.entities.values()}
    document, names = renamed(document, lists, [_capital(camel(name)) for name in shared])
    entities = tuple(
        _entity(document, entity, access.visible(entity), RecordKeys(entity, external), names)
        for entity in schema.entities.values()
    )
    collections = tuple(_collection(document, name, entity) for name, entity in shared.items())
    routes = tuple(_route(document, each) for each in own)
    named = [name for each in entities for name in (each.name, each.write, each.put, each.patch) if name]
    named += [name for each in collections for name in _named(each.item)]
    schemas = document["components"]["schemas"]
    wanted = _closure(
        schemas, [*named, *(name for each in routes for part in (each.body, each.answer) for name in _named(part))]
    )
    known = {type_name(name): schemas[name] for name in wanted}
    return ServiceDescription(document["info"]["title"], entities, collections, routes, known)


def type_name(name: str) -> str:
    """The name of a schema as a type's."""
    return _NO_NAME.sub("_", name)


def reference_of(schema: Json) -> str | None:
    """The name of the type that a schema refers to."""
    found = schema.get("$ref")
    return type_name(found.removeprefix(REFERENCE)) if isinstance(found, str) else None


# -- entities ---------------------------------------------------------------------------------------------------------


def _entity(
    document: Json,
    entity: EntityType[Any],
    visible: EntityType[Any],
    keys: RecordKeys,
    names: Mapping[str, str],
) -> EntityDescription:
    path = keys.short_template if keys.claims else keys.template
    record, collection = document["paths"][path], document["paths"][f"/v1/{entity.collection}"]
    name = names[RecordModels(entity, keys.external).name]
    properties = document["components"]["schemas"][name].get("properties", {})
    typed = {**properties, **_key_members(document, entity, properties)}
    parameters = {each["name"]: each["schema"] for each in collection["get"]["parameters"]}
    lists = tuple(_lists(visible, {**parameters, **_enumerated(properties, parameters)}))
    paths = {parameter_name(each.name): each.name for each in entity.placing_members}
    return EntityDescription(
        name=type_name(name),
        collection=entity.collection,
        path=path,
        doc=entity.model.__doc__ or "",
        keys=tuple(
            Member(paths.get(each["name"], each["name"]), _without_null(typed.get(each["name"], each["schema"])))
            for each in record["get"].get("parameters", ())
            if each["in"] == "path"
        ),
        lists=lists,
        identity=tuple(dict.fromkeys((*((KEY,) if entity.origin is not None else ()), *map(root_of, entity.identity)))),
        write=_body(collection.get("post")),
        put=_body(record.get("put")),
        patch=_body(record.get("patch")),
    )


def _key_members(document: Json, entity: EntityType[Any], properties: Json) -> dict[str, Json]:
    """The schemas of the members of models that are parts of a key, by the names that they have in a path."""
    found: dict[str, Json] = {}
    for element in entity.placing_members:
        schema: Json = {}
        members = properties
        for step in element.path:
            schema = _without_null(members.get(step, {}))
            name = str(schema.get("$ref", "")).removeprefix(REFERENCE)
            members = document["components"]["schemas"].get(name, schema).get("properties", {})
        if schema:
            found[parameter_name(element.name)] = schema
    if len(entity.identity) == 1 and entity.identity[0] in entity.nested:
        found[KEY] = found[parameter_name(entity.identity[0])]
    return found


def _enumerated(properties: Json, parameters: Json) -> dict[str, Json]:
    """The parameters that compare a property of a few texts with one: one of those, where the document allows each."""
    few = {name: _without_null(each) for name, each in properties.items()}
    return {
        parameter: each
        for name, each in few.items()
        if "enum" in each or "const" in each
        for parameter in (f"{name}.eq", f"{FILTER}.{name}")
        if parameter in parameters
    }


def _body(operation: Json | None) -> str:
    if operation is None or "requestBody" not in operation:
        return ""
    return reference_of(next(iter(operation["requestBody"]["content"].values()))["schema"]) or ""


def _list_names(entity: EntityType[Any]) -> dict[str | None, str]:
    """The name of each index's list. Of two that differ in `by` or in capitals alone, the later one has a number."""
    found: dict[str | None, str] = {}
    taken: set[str] = set()
    for index in entity.views:
        base = name = "list" if index is None else f"by{_capital(_BY.sub('', index))}"
        number = 1
        while name.lower() in taken:
            number += 1
            name = f"{base}{number}"
        taken.add(name.lower())
        found[index] = name
    return found


def _lists(entity: EntityType[Any], parameters: Mapping[str, Json]) -> Iterator[ListDescription]:
    names = _list_names(entity)
    for index, view in entity.views.items():
        fixed = [_member(parameters, each.name, claimed=each.name in entity.claims) for each in view.hash_elements]
        ranged = [
            _member(parameters, each.name, begins=view.begins(each.name))
            for each in view.range_elements
            if f"{each.name}.eq" in parameters
        ]
        shapes = [Shape((*fixed, *ranged[:place]), each) for place, each in enumerate(ranged)] or [Shape(tuple(fixed))]
        name = names[index]
        shown = _shown(entity, view)
        filters = tuple(each for each in _filters(entity, parameters) if shown is None or each.name in shown)
        yield ListDescription(name, index, tuple(shapes), shown, filters)


def _filters(entity: EntityType[Any], parameters: Mapping[str, Json]) -> Iterator[Member]:
    for name, schema in parameters.items():
        place, _, stored = name.partition(".")
        if place == FILTER and stored in entity.properties:
            is_text, ranged = f"{name}.prefix" in parameters, f"{name}.from" in parameters
            yield Member(stored, _without_null(schema), is_text, required=False, ranged=ranged)


def _collection(document: Json, name: str, shared: EntityType[Any]) -> CollectionDescription:
    path = f"{ROOT}/{name}"
    described = document["paths"][path]["get"]
    parameters = {each["name"]: each["schema"] for each in described["parameters"]}
    item = _items(document, next(iter(described["responses"]["200"]["content"].values()))["schema"])
    assert item is not None, "a collection gives pages"
    (listed,) = _lists(shared, parameters)
    return CollectionDescription(name, path, described["summary"], item, listed)


def _member(parameters: Mapping[str, Json], name: str, *, claimed: bool = False, begins: bool = False) -> Member:
    return Member(name, _without_null(parameters[f"{name}.eq"]), begins, not claimed)


def _without_null(schema: Json) -> Json:
    """A value that a record has: no condition asks for records without one."""
    if "anyOf" not in schema:
        return schema
    kept = [each for each in schema["anyOf"] if each.get("type") != "null"]
    return kept[0] if len(kept) == 1 else {**schema, "anyOf": kept}


def _shown(entity: EntityType[Any], view: IndexView) -> tuple[str, ...] | None:
    if view.projected is None:
        return None
    hidden = hidden_in(entity, view, entity.properties)
    return tuple(name for name in entity.properties if name not in hidden)


def camel(collection: str) -> str:
    """The name of a collection as a property's."""
    words: list[str] = re.findall("[0-9A-Za-z]+", collection)
    return words[0] + "".join(map(_capital, words[1:]))


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


# -- routes -----------------------------------------------------------------------------------------------------------


def _route(document: Json, operation: Operation) -> RouteDescription:
    described = document["paths"][operation.path][operation.method.lower()]
    parameters = described.get("parameters", ())
    members = {
        place: tuple(
            Member(each["name"], each["schema"], required=each.get("required", False))
            for each in parameters
            if each["in"] == place
        )
        for place in ("path", "query", "header")
    }
    content = described["responses"][str(operation.answer.status)].get("content", {})
    answer = next(iter(content.values()))["schema"] if content else None
    items = _items(document, answer)
    body = described.get("requestBody")
    return RouteDescription(
        name=operation.name,
        method=operation.method,
        path=operation.path,
        doc=operation.summary,
        path_members=members["path"],
        query_members=members["query"],
        body=None if body is None else next(iter(body["content"].values()))["schema"],
        answer=answer if items is None else items,
        once=any(each.name == IDEMPOTENCY_KEY for each in members["header"]),
        pages=items is not None,
    )


def _items(document: Json, answer: Json | None) -> Json | None:
    """What a page that is answered has, None for what is no page."""
    name = None if answer is None else answer.get("$ref")
    if name is None:
        return None
    properties = document["components"]["schemas"][name.removeprefix(REFERENCE)].get("properties", {})
    if not {"items", "nextToken", "complete"} <= properties.keys():
        return None
    items: Json = properties["items"]["items"]
    return items


# -- types ------------------------------------------------------------------------------------------------------------


def _closure(schemas: Mapping[str, Json], names: Sequence[str]) -> list[str]:
    """Those names and all that they lead to, in order."""
    known = {type_name(name): name for name in schemas}
    found: dict[str, None] = {}
    waiting = list(dict.fromkeys(names))
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = None
            waiting += _named(schemas[known[name]])
    return [known[name] for name in found]


def _named(schema: Any) -> list[str]:
    if isinstance(schema, Mapping):
        own = reference_of(schema)
        return [*([own] if own else []), *(name for each in schema.values() for name in _named(each))]
    return [name for each in schema for name in _named(each)] if isinstance(schema, list) else []
