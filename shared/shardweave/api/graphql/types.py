"""The GraphQL schema of a service: types of records, lists, conditions, filters and bodies, and the fields of `Query`
and `Mutation`.

A field carries what it means (`Meaning`); what resolves it finds a value that was read before (see `reading`). A
property is null where a record has no value, so that all but those that identify a record may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from graphql import (
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLField,
    GraphQLID,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLString,
    GraphQLUnionType,
)

from ...schema.entity_type import EntityType, IndexView
from ...schema.nested_elements import root_of
from ...schema.property import Property
from ...schema.relations import LookupType, RelationType
from ...store.operations import can_be_added_to
from ...wire.record_keys import KEY
from ...wire.record_models import RecordModels
from ..routes.collections import CollectionRoute
from .names import Names, argument_name, entry_argument, has_sort
from .nodes import Node, related, root
from .scalars import DATE, DATE_TIME, JSON, scalar_of, type_of, type_of_annotation

Kind = Literal[
    "one", "by_id", "every", "by_index", "by_lookup", "related", "several", "create", "update", "put", "delete", "addTo"
]
MEANING = "shardweave"
"""Where a field's extensions have its Meaning."""
WORDS = {"beginsWith": "begins_with"}
"""Tests of a filter that are called otherwise in its JSON form."""
CONNECTIVES = ("and", "or", "not")
TEXTS = (GraphQLString, DATE_TIME, DATE)
"""Types of texts. A condition where a text has no prefix is a `StringRangeCondition`, and so for each of them."""


@dataclass(frozen=True)
class Meaning:
    """What a field asks for: of `Query` and `Mutation`, of what `entity`, by which index, ordered lookup, list of
    related records of `source`, or collection of several entities; of a record's type, which relation or property."""

    kind: Kind | None = None
    entity: EntityType[Any] | None = None
    index: str | None = None
    relation: RelationType | None = None
    stored: str = ""
    source: EntityType[Any] | None = None


def meaning_of(field: GraphQLField) -> Meaning:
    """What a field means."""
    found: Meaning = field.extensions.get(MEANING, Meaning())
    return found


class Types:
    """The types of one service. `models` are of each entity as it is, `entities` as they are over HTTP, by token."""

    def __init__(
        self,
        names: Names,
        models: Mapping[str, RecordModels],
        entities: Mapping[str, EntityType[Any]],
        collections: Mapping[str, CollectionRoute],
    ) -> None:
        self._collections = collections
        self._names = names
        self._models = models
        self._entities = entities
        self._records = {token: self._record(entity) for token, entity in entities.items()}
        self._tests: dict[str, GraphQLInputObjectType] = {}
        self._conditions: dict[str, GraphQLInputObjectType] = {}
        self._filters: dict[str, GraphQLInputObjectType] = {}
        self._connections: dict[str, GraphQLObjectType] = {}

    @cached_property
    def schema(self) -> GraphQLSchema:
        """The schema."""
        query: dict[str, GraphQLField] = {}
        mutation: dict[str, GraphQLField] = {}
        for entity in self._entities.values():
            query |= self._questions(entity)
            if not entity.read_only:
                mutation |= self._writes(entity)
        for route in self._collections.values():
            query[self._names.collection(route.name)] = self._several(route)
        return GraphQLSchema(
            GraphQLObjectType("Query", query), GraphQLObjectType("Mutation", mutation) if mutation else None
        )

    # -- records

    def _record(self, entity: EntityType[Any]) -> GraphQLObjectType:
        described = entity.model.__doc__
        return GraphQLObjectType(
            self._names.type(entity),
            lambda: self._fields(entity),
            description=described,
            extensions=_meant(entity=entity),
        )

    def _fields(self, entity: EntityType[Any]) -> dict[str, GraphQLField]:
        found: dict[str, GraphQLField] = {}
        if entity.origin is not None:
            found[KEY] = _plain_field(KEY, GraphQLID, "Names the record.")
        identity = set(map(root_of, entity.identity))
        for name, each in entity.properties.items():
            kind = type_of(each)
            found[name] = _plain_field(
                name, GraphQLNonNull(kind) if name in identity else kind, _described(each, entity)
            )
        for name, info in entity.computed.items():
            found[name] = _plain_field(name, type_of_annotation(info.return_type), info.description)
        revision = "The record's revision, which a write may require."
        found["rev"] = GraphQLField(
            GraphQLString, resolve=_revision, description=revision, extensions=_meant(stored="rev")
        )
        for name, relation in entity.relations.items():
            target: Any = self._records[relation.target]
            kind = GraphQLNonNull(GraphQLList(target)) if relation.many else target
            found[name] = GraphQLField(kind, resolve=related, extensions=_meant(relation=relation))
        return found

    def _page(self, entity: EntityType[Any]) -> GraphQLObjectType:
        if entity.token not in self._connections:
            name, described = self._names.type(entity, "Connection"), f"A page of {entity.collection}."
            self._connections[entity.token] = self._connection(self._records[entity.token], name, described)
        return self._connections[entity.token]

    def _several(self, route: CollectionRoute) -> GraphQLField:
        """The list of a collection of several entities: each item is of the type of its entity."""
        records = {self._names.type(each): self._records[each.token] for each in route.entities}
        of_token = {each.token: self._names.type(each) for each in route.entities}
        item = GraphQLUnionType(
            self._names.of_collection(route.name, "Item"),
            list(records.values()),
            resolve_type=lambda node, info, kind: of_token[node.token],
            description=f"A record of {route.name}.",
        )
        name, described = self._names.of_collection(route.name, "Connection"), f"A page of {route.name}."
        (view,) = route.shared.views.values()
        filters = self._filter(route.shared, self._names.of_collection(route.name, "Filter"))
        arguments = self._narrowing(route.shared, view) | self._paging(route.shared, filters)
        meant = _meant("several", route.shared, route.name)
        return _root(self._connection(item, name, described), arguments, meant, described)

    def _connection(self, record: Any, name: str, described: str) -> GraphQLObjectType:
        def fields() -> dict[str, GraphQLField]:
            return {
                "items": GraphQLField(
                    GraphQLNonNull(GraphQLList(GraphQLNonNull(record))),
                    resolve=related,
                    description="The records of this page.",
                ),
                "nextToken": _plain_field("nextToken", GraphQLString, "What asks for the next page; null at the end."),
                "prevToken": _plain_field(
                    "prevToken",
                    GraphQLString,
                    "What asks for the page before; null without a token, and at the beginning.",
                ),
                "complete": _plain_field(
                    "complete", GraphQLNonNull(GraphQLBoolean), "False when the page was cut short; the token goes on."
                ),
                "unreadable": _plain_field(
                    "unreadable",
                    GraphQLNonNull(GraphQLList(GraphQLNonNull(JSON))),
                    "Stored records that can't be read.",
                ),
            }

        return GraphQLObjectType(name, fields, description=described)

    # -- questions

    def _questions(self, entity: EntityType[Any]) -> dict[str, GraphQLField]:
        names, page = self._names, self._page(entity)
        ids = self.id_arguments(entity, sort_required=False)
        found = {
            names.one(entity): _root(self._records[entity.token], ids, _meant("one", entity), f"One {entity.token}.")
        }
        listed = f"A page of {entity.collection}"
        if None in entity.views and entity.identity:
            if has_sort(entity):
                arguments = self._sorted(entity) | self._paging(entity)
                found[names.by_id(entity)] = _root(
                    page, arguments, _meant("by_id", entity), f"{listed}: one partition, in the order of its sort key."
                )
            elif not entity.keys.design.partition:
                arguments = self._narrowing(entity, entity.views[None]) | self._paging(entity)
                found[names.every(entity)] = _root(page, arguments, _meant("every", entity), f"{listed}.")
        for index, view in entity.views.items():
            if index is not None:
                arguments = self._narrowing(entity, view) | self._paging(entity)
                meant = _meant("by_index", entity, index)
                found[names.by_index(entity, index)] = _root(page, arguments, meant, f"{listed}, by {index}.")
        for lookup in entity.lookups.values():
            if lookup.ordered:
                arguments = self._ordered(entity, lookup) | self._paging(entity)
                meant = _meant("by_lookup", entity, lookup.name)
                described = f"{listed}, in the order of {lookup.property_name}."
                found[names.by_lookup(entity, lookup.name)] = _root(page, arguments, meant, described)
        return found | self._related_lists(entity)

    def _related_lists(self, entity: EntityType[Any]) -> dict[str, GraphQLField]:
        found = {}
        for each in entity.related_lists.values():
            if not each.private:
                target = self._entities[each.target]
                paging = {name: self._paging(target)[name] for name in ("limit", "nextToken", "prevToken")}
                arguments = self.id_arguments(entity, sort_required=True) | paging
                meant = _meant("related", target, each.name, source=entity)
                described = f"A page of the {target.collection} of one {entity.token}, null where there is none."
                found[self._names.related(entity, each.name)] = _root(self._page(target), arguments, meant, described)
        return found

    def _ordered(self, entity: EntityType[Any], lookup: LookupType) -> dict[str, GraphQLArgument]:
        """What says a list of an ordered lookup, and a part of it."""
        found: dict[str, GraphQLArgument] = {}
        for element in lookup.within:
            kind: Any = scalar_of(entity.properties[element.name])
            needed = kind if element.name in entity.claims else GraphQLNonNull(kind)
            found[argument_name(element.name)] = GraphQLArgument(needed, description="Equal to this.")
        if lookup.entries:
            described = f"The entry of {lookup.property_name}."
            found[entry_argument(lookup)] = GraphQLArgument(GraphQLNonNull(GraphQLString), description=described)
        each = lookup.property_in(entity.properties, lookup.property_name)
        value = self._condition_input(each, begins=lookup.element.codec.is_text)
        return found | {argument_name(lookup.property_name): GraphQLArgument(value)}

    def id_arguments(self, entity: EntityType[Any], *, sort_required: bool) -> dict[str, GraphQLArgument]:
        """What names one record."""
        if entity.origin is not None:
            return {"id": GraphQLArgument(GraphQLNonNull(GraphQLID), description="The record's `key`.")}
        design, found = entity.keys.design, {}
        lead = [each.name for each in design.partition] or [each.name for each in design.sort]
        if lead:
            said = set(lead) <= entity.claims.keys()
            found["id"] = GraphQLArgument(
                GraphQLID if said else GraphQLNonNull(GraphQLID), description=entity.separator.join(lead)
            )
        if design.partition and design.sort:
            names = entity.separator.join(each.name for each in design.sort)
            more = "" if sort_required else "; left out, the last one"
            kind: Any = GraphQLNonNull(GraphQLString) if sort_required else GraphQLString
            found["sort"] = GraphQLArgument(kind, description=f"{names}{more}")
        return found

    def _sorted(self, entity: EntityType[Any]) -> dict[str, GraphQLArgument]:
        sort = entity.keys.design.sort
        kind: Any = scalar_of(entity.condition_property(sort[0].name)) if len(sort) == 1 else GraphQLString
        names = entity.separator.join(each.name for each in sort)
        begins = len(sort) > 1 or sort[0].codec.is_text
        found = {"id": self.id_arguments(entity, sort_required=False)["id"]}
        if entity.origin is not None:
            partition = entity.separator.join(each.name for each in entity.keys.design.partition)
            found = {"id": GraphQLArgument(GraphQLNonNull(GraphQLID), description=partition)}
        return found | {
            "eq": GraphQLArgument(kind, description=f"{names} equal to this."),
            **({"prefix": GraphQLArgument(GraphQLString, description=f"{names} begins with this.")} if begins else {}),
            "from": GraphQLArgument(kind, description=f"{names} at or after this."),
            "to": GraphQLArgument(kind, description=f"{names} at or before this."),
        }

    def _narrowing(self, entity: EntityType[Any], view: IndexView) -> dict[str, GraphQLArgument]:
        found: dict[str, GraphQLArgument] = {}
        for element in view.hash_elements:
            kind: Any = scalar_of(entity.condition_property(element.name))
            needed = kind if element.name in entity.claims else GraphQLNonNull(kind)
            found[argument_name(element.name)] = GraphQLArgument(needed, description="Equal to this.")
        for element in view.range_elements:
            if element.name in entity.properties or element.name in entity.nested:
                each, begins = entity.condition_property(element.name), view.begins(element.name)
                condition = self._condition_input(each, begins=begins)
                found.setdefault(argument_name(element.name), GraphQLArgument(condition))
        return found

    def _paging(
        self, entity: EntityType[Any], filters: GraphQLInputObjectType | None = None
    ) -> dict[str, GraphQLArgument]:
        tests = self._filter(entity, self._names.type(entity, "Filter")) if filters is None else filters
        return {
            "filter": GraphQLArgument(tests, description="A test that every record must pass."),
            "reverse": GraphQLArgument(GraphQLBoolean, description="The reverse of the order."),
            "limit": GraphQLArgument(GraphQLInt, description="Records a page, 1 to 500; 100 if not given."),
            "nextToken": GraphQLArgument(GraphQLString, description="Asks for the page after the one that gave it."),
            "prevToken": GraphQLArgument(GraphQLString, description="Asks for the page before the one that gave it."),
        }

    def _condition_input(self, each: Property, *, begins: bool) -> GraphQLInputObjectType:
        kind = scalar_of(each)
        begins = begins and kind in TEXTS
        name = f"{kind.name}{'Range' if kind in TEXTS and not begins else ''}Condition"
        if name not in self._conditions:
            fields = {word: GraphQLInputField(kind) for word in ("eq", "from", "to")}
            if begins:
                fields["prefix"] = GraphQLInputField(GraphQLString)
            described = f"`eq`, {'`prefix`, ' if begins else ''}or `from`, `to` or both, which are included."
            self._conditions[name] = GraphQLInputObjectType(name, fields, description=described)
        return self._conditions[name]

    # -- filters

    def _filter(self, entity: EntityType[Any], called: str) -> GraphQLInputObjectType:
        if called not in self._filters:

            def fields() -> dict[str, GraphQLInputField]:
                tests = {
                    name: GraphQLInputField(self._test(each))
                    for name, each in entity.properties.items()
                    if name not in CONNECTIVES
                }
                several = GraphQLInputField(GraphQLList(GraphQLNonNull(made)))
                return tests | {"and": several, "or": several, "not": GraphQLInputField(made)}

            described = "All of these tests; of one property, too."
            made = GraphQLInputObjectType(called, fields, description=described)
            self._filters[called] = made
        return self._filters[called]

    def _test(self, each: Property) -> GraphQLInputObjectType:
        kind, one = type_of(each), scalar_of(each)
        listed = not isinstance(kind, GraphQLScalarType)
        name = f"{one.name}{'List' if listed else ''}Tests"
        if name not in self._tests:
            fields = {word: GraphQLInputField(JSON if listed else one) for word in ("eq", "ne")}
            if not listed:
                fields |= {word: GraphQLInputField(one) for word in ("lt", "le", "gt", "ge")}
                fields |= {word: GraphQLInputField(GraphQLList(GraphQLNonNull(one))) for word in ("in", "between")}
                fields["beginsWith"] = GraphQLInputField(one)
            fields |= {
                "contains": GraphQLInputField(one),
                "exists": GraphQLInputField(GraphQLBoolean),
                "size": GraphQLInputField(self._size),
            }
            self._tests[name] = GraphQLInputObjectType(name, fields, description="All of these tests.")
        return self._tests[name]

    @cached_property
    def _size(self) -> GraphQLInputObjectType:
        fields = {word: GraphQLInputField(GraphQLInt) for word in ("eq", "ne", "lt", "le", "gt", "ge")}
        return GraphQLInputObjectType("SizeTests", fields, description="The length of a text, or a number of members.")

    # -- writes

    def _writes(self, entity: EntityType[Any]) -> dict[str, GraphQLField]:
        record, names = self._records[entity.token], self._names
        once = {"idempotencyKey": GraphQLArgument(GraphQLString, description="Repeated with it, it is done once.")}
        upsert = {"upsert": GraphQLArgument(GraphQLBoolean, description="True to make the record where there is none.")}
        rev = {"rev": GraphQLArgument(GraphQLString, description="The revision that the record must have.")}
        ids = self.id_arguments(entity, sort_required=True)
        found = {}
        for verb, suffix, word in (("create", "Input", "input"), ("put", "Put", "input"), ("update", "Patch", "patch")):
            body = self._body(entity, suffix)
            taken = {} if body is None else {word: GraphQLArgument(GraphQLNonNull(body))}
            if body is not None or verb == "create":
                arguments = taken | once if verb == "create" else ids | taken | rev | once
                arguments |= upsert if verb == "update" else {}
                found[names.mutation(verb, entity)] = _root(record, arguments, _meant(verb, entity), _SAID[verb])  # type: ignore[arg-type]
        found[names.mutation("delete", entity)] = _root(
            GraphQLBoolean, ids | rev | once, _meant("delete", entity), _SAID["delete"]
        )
        amounts = self._amounts(entity)
        if amounts is not None:
            given = {"amounts": GraphQLArgument(GraphQLNonNull(amounts))}
            found[names.mutation("addTo", entity)] = _root(
                record, ids | given | rev | once | upsert, _meant("addTo", entity), _SAID["addTo"]
            )
        return found

    def _amounts(self, entity: EntityType[Any]) -> GraphQLInputObjectType | None:
        whole = self._models[entity.token].entity
        fields = {
            name: GraphQLInputField(type_of(each))
            for name, each in whole.properties.items()
            if can_be_added_to(whole, each)
        }
        if not fields:
            return None
        return GraphQLInputObjectType(self._names.type(entity, "Amounts"), fields, description=_BODIES["Amounts"])

    def _body(self, entity: EntityType[Any], suffix: str) -> GraphQLInputObjectType | None:
        models = self._models[entity.token]
        form = {"Input": models.write, "Put": models.put, "Patch": models.patch}[suffix]
        required = {each.alias or name for name, each in form.model_fields.items() if each.is_required()}
        if suffix == "Put":
            required -= set(entity.identity)
        fields: dict[str, GraphQLInputField] = {}
        for name, each in models.entity.properties.items():
            if name not in models.passed_over:
                kind = type_of(each)
                fields[name] = GraphQLInputField(GraphQLNonNull(kind) if name in required else kind)
        if not fields:
            return None
        return GraphQLInputObjectType(self._names.type(entity, suffix), fields, description=_BODIES[suffix])


_SAID = {
    "create": "Makes a record.",
    "update": "Changes properties of a record: what is given replaces, null removes.",
    "put": "Writes a whole record: makes it, or replaces the one that is there.",
    "delete": "Removes a record; an error when there is none.",
    "addTo": "Adds to numbers and sets of a record: every addition is carried out, once.",
}
_BODIES = {
    "Input": "What makes a record.",
    "Put": "A whole record; what names it may be left out.",
    "Patch": "What changes a record: null removes a property.",
    "Amounts": "What is added, by property; a negative amount takes away.",
}


def _root(kind: Any, arguments: dict[str, GraphQLArgument], meant: dict[str, Any], described: str) -> GraphQLField:
    return GraphQLField(kind, arguments, resolve=root, description=described, extensions=meant)


def _meant(
    kind: Kind | None = None, entity: EntityType[Any] | None = None, index: str | None = None, **more: Any
) -> dict[str, Any]:
    return {MEANING: Meaning(kind, entity, index, **more)}


def _plain_field(name: str, kind: Any, described: str | None) -> GraphQLField:
    return GraphQLField(kind, resolve=_reader(name), description=described, extensions=_meant(stored=name))


def _reader(name: str) -> Callable[[Node, Any], Any]:
    return lambda node, info: node.values.get(name)


def _revision(node: Node, info: Any) -> Any:
    return node.rev


def _described(each: Property, entity: EntityType[Any]) -> str | None:
    described: str | None = entity.model.model_fields[each.name].description
    return described
