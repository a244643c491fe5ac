"""Parsing a document: from its text to the selected fields, before anything is read.

A document is parsed and validated, its variables are read, and the fields that it selects are collected, merged as
GraphQL merges them. What it may be is limited on the way: its tokens, how deep fields nest, how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    GraphQLIncludeDirective,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLSkipDirective,
    GraphQLUnionType,
    InlineFragmentNode,
    NamedTypeNode,
    OperationDefinitionNode,
    OperationType,
    SelectionNode,
    get_argument_values,
    get_directive_values,
    get_named_type,
    get_operation_ast,
    get_variable_values,
    parse,
    specified_rules,
    validate,
)
from graphql.execution.values import VariableValues
from graphql.validation import MaxIntrospectionDepthRule, NoSchemaIntrospectionCustomRule

from ...errors import LimitExceeded
from ...schema.entity_type import EntityType
from .options import GraphQL
from .types import MEANING, Kind, Meaning, meaning_of

MAX_TOKENS = 5_000
MAX_ERRORS = 20
KEPT, MAX_KEPT = 256, 10_000
"""Documents that are kept, and the characters that one of them has at most."""
LISTS = ("by_id", "every", "by_index", "by_lookup", "related", "several")
"""The kinds of fields that give pages."""


class Refused(Exception):
    """A document that is not carried out. `errors` say why."""

    def __init__(self, errors: Sequence[GraphQLError], code: str) -> None:
        super().__init__(code)
        self.errors = tuple(errors)
        self.code = code


@dataclass(frozen=True)
class Relation:
    """A relation that is asked for: the name that the document gives it, its own, and what is asked of its records."""

    key: str
    name: str
    selected: Selected = field(compare=False)


@dataclass(frozen=True)
class Selected:
    """The selected fields of a record: its properties and own fields by name, and its relations; of a record that may
    be of several entities, what is asked for of each by its token, in `among`."""

    entity: EntityType[Any] = field(compare=False)
    names: frozenset[str]
    relations: tuple[Relation, ...]
    among: Mapping[str, Selected] = field(default_factory=dict, compare=False)

    def of(self, token: str) -> Selected:
        """What is asked for of a record of an entity."""
        return self.among.get(token, self)


@dataclass(frozen=True)
class Root:
    """A field of `Query` or `Mutation`: the name that the document gives it, what it means, its arguments, and what is
    asked for of its record, or, by the names that the document gives `items`, of the records of a page. A list of
    related records is one of `source`."""

    key: str
    kind: Kind
    entity: EntityType[Any] = field(compare=False)
    index: str | None
    arguments: Mapping[str, Any]
    selected: Mapping[str, Selected]
    source: EntityType[Any] | None = field(default=None, compare=False)

    @property
    def names(self) -> frozenset[str]:
        """The properties and fields of its own that are asked for of each record."""
        return frozenset().union(*(each.names for each in self.selected.values()))

    @property
    def has_relations(self) -> bool:
        return any(each.relations for each in self.selected.values())


@dataclass(frozen=True)
class Document:
    """A document that may be carried out. `roots` are without those that ask for the schema."""

    parsed: DocumentNode
    roots: tuple[Root, ...]
    writes: bool


class Reader:
    """Reads documents of a schema. `entities` are as they are over HTTP, by token. What was found right of the last
    documents is kept, since programs ask the same ones with other variables. Safe for many threads."""

    def __init__(self, schema: GraphQLSchema, options: GraphQL, entities: Mapping[str, EntityType[Any]]) -> None:
        self.schema = schema
        self.options = options
        self.entities = entities
        self._kept = lru_cache(maxsize=KEPT)(self._checked)

    def read(
        self, text: str, variables: Mapping[str, Any], operation_name: str | None, *, introspection: bool
    ) -> Document:
        """The document, and what it asks for. Raises Refused, LimitExceeded."""
        parsed = (self._kept if len(text) <= MAX_KEPT else self._checked)(text, introspection)
        operation = get_operation_ast(parsed, operation_name)
        if operation is None:
            message = "operationName must name one of the document's operations"
            raise Refused([GraphQLError(message)], "validation_failed")
        if operation.operation is OperationType.SUBSCRIPTION:
            raise Refused([GraphQLError("there are no subscriptions", operation)], "validation_failed")
        found = get_variable_values(
            self.schema,
            operation.variable_definitions or (),
            dict(variables),
            max_errors=MAX_ERRORS,
            hide_suggestions=not introspection,
        )
        if isinstance(found, list):
            raise Refused(found, "validation_failed")
        writes = operation.operation is OperationType.MUTATION
        kind = self.schema.mutation_type if writes else self.schema.query_type
        assert kind is not None, "validation knows which operations there are"
        collector = _Collector(self, _fragments(parsed), found, self.options.max_fields)
        try:
            return Document(parsed, tuple(collector.roots(kind, operation)), writes)
        except GraphQLError as error:
            raise Refused([error], "validation_failed") from None

    def _checked(self, text: str, introspection: bool) -> DocumentNode:
        """The document, parsed and found right. Raises Refused, LimitExceeded."""
        try:
            parsed = parse(text, max_tokens=MAX_TOKENS)
        except GraphQLError as error:
            raise Refused([error], "malformed_request") from None
        except RecursionError:
            raise Refused([GraphQLError("the document nests too deep")], "malformed_request") from None
        try:
            self._check_depth(parsed)
        except RecursionError:
            raise _too_deep(self.options.max_depth) from None
        rules = [*specified_rules, MaxIntrospectionDepthRule]
        if not introspection:
            rules.append(NoSchemaIntrospectionCustomRule)
        faults = validate(self.schema, parsed, rules, max_errors=MAX_ERRORS, hide_suggestions=not introspection)
        if faults:
            raise Refused(faults, "validation_failed")
        return parsed

    def _check_depth(self, parsed: DocumentNode) -> None:
        """Fields nest no deeper than is allowed, fragments looked into. It comes before validation, whose work grows
        with what fragments come to. What nests itself is for validation to refuse. Raises LimitExceeded."""
        deepest: dict[str, int] = {}
        fragments = _fragments(parsed)

        def depth_of(selections: Sequence[SelectionNode], open_fragments: frozenset[str]) -> int:
            found = 0
            for each in selections:
                if isinstance(each, FieldNode):
                    inner = each.selection_set.selections if each.selection_set else ()
                    found = max(found, 0 if _is_meta(each) else 1 + depth_of(inner, open_fragments))
                elif isinstance(each, InlineFragmentNode):
                    found = max(found, depth_of(each.selection_set.selections, open_fragments))
                else:
                    found = max(found, of_fragment(each.name.value, open_fragments))  # type: ignore[attr-defined]
            return found

        def of_fragment(name: str, open_fragments: frozenset[str]) -> int:
            if name in open_fragments or name not in fragments:
                return 0
            if name not in deepest:
                deepest[name] = depth_of(fragments[name].selection_set.selections, open_fragments | {name})
            return deepest[name]

        operations = [each for each in parsed.definitions if isinstance(each, OperationDefinitionNode)]
        found = max((depth_of(each.selection_set.selections, frozenset()) for each in operations), default=0)
        if found > self.options.max_depth:
            raise _too_deep(self.options.max_depth)


@dataclass
class _Collector:
    """Collects the fields of one operation. `left` are the fields that it may still have."""

    reader: Reader
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: VariableValues
    left: int

    def roots(self, kind: GraphQLObjectType, operation: OperationDefinitionNode) -> Iterator[Root]:
        for key, nodes in self._fields([operation.selection_set.selections]).items():
            if nodes[0].name.value.startswith("__"):
                continue
            asked = kind.fields[nodes[0].name.value]
            meant = meaning_of(asked)
            assert meant.kind is not None, "a field of a root type has a kind"
            assert meant.entity is not None, "a field of a root type is about an entity"
            arguments = get_argument_values(asked, nodes[0], self.variables)
            selected = self._selected(meant, asked, nodes)
            yield Root(key, meant.kind, meant.entity, meant.index, arguments, selected, meant.source)

    def _selected(self, meant: Meaning, asked: GraphQLField, nodes: Sequence[FieldNode]) -> dict[str, Selected]:
        assert meant.entity is not None, "a field of a root type is about an entity"
        if meant.kind == "delete":
            return {}
        kind: Any = get_named_type(asked.type)
        if meant.kind not in LISTS:
            return {"": self._of_record(meant.entity, kind, nodes)}
        record = get_named_type(kind.fields["items"].type)
        return {
            key: self._of_record(meant.entity, record, inner)
            for key, inner in self._fields(_selections(nodes)).items()
            if inner[0].name.value == "items"
        }

    def _of_record(
        self, entity: EntityType[Any], kind: Any, nodes: Sequence[FieldNode], only: frozenset[str] | None = None
    ) -> Selected:
        """What is asked for of a record; of `only` some types, where it may be of several."""
        if isinstance(kind, GraphQLUnionType):
            among = {}
            for member in kind.types:
                own = member.extensions[MEANING].entity
                among[own.token] = self._of_record(own, member, nodes, frozenset({kind.name, member.name}))
            return Selected(entity, frozenset(), (), among)
        names: set[str] = set()
        relations: list[Relation] = []
        for key, inner in self._fields(_selections(nodes), only).items():
            if inner[0].name.value == "__typename":
                continue
            asked = kind.fields[inner[0].name.value]
            relation = meaning_of(asked).relation
            if relation is None:
                names.add(meaning_of(asked).stored)
                continue
            target = self.reader.entities[relation.target]
            relations.append(Relation(key, relation.name, self._of_record(target, get_named_type(asked.type), inner)))
        return Selected(entity, frozenset(names), tuple(relations))

    def _fields(
        self, sets: Sequence[Sequence[SelectionNode]], only: frozenset[str] | None = None
    ) -> dict[str, list[FieldNode]]:
        """The fields that some selections come to, by the names that they have in the answer. Raises LimitExceeded."""
        found: dict[str, list[FieldNode]] = {}
        visited: set[str] = set()
        for each in sets:
            self._collect(each, found, visited, only)
        self.left -= len(found)
        if self.left < 0:
            raise LimitExceeded(
                f"the document asks for more than the {self.reader.options.max_fields} fields that are possible",
                where="query",
                fix="ask for less at once",
            )
        return found

    def _collect(
        self,
        selections: Sequence[SelectionNode],
        found: dict[str, list[FieldNode]],
        visited: set[str],
        only: frozenset[str] | None,
    ) -> None:
        for each in selections:
            if not self._is_included(each):
                continue
            if isinstance(each, FieldNode):
                found.setdefault(each.alias.value if each.alias else each.name.value, []).append(each)
            elif isinstance(each, InlineFragmentNode):
                if _is_of(each.type_condition, only):
                    self._collect(each.selection_set.selections, found, visited, only)
            elif (name := each.name.value) not in visited:  # type: ignore[attr-defined]
                visited.add(name)
                if _is_of(self.fragments[name].type_condition, only):
                    self._collect(self.fragments[name].selection_set.selections, found, visited, only)

    def _is_included(self, node: SelectionNode) -> bool:
        skip = get_directive_values(GraphQLSkipDirective, node, self.variables)
        include = get_directive_values(GraphQLIncludeDirective, node, self.variables)
        return not (skip and skip["if"]) and (include is None or bool(include["if"]))


def _is_of(condition: NamedTypeNode | None, only: frozenset[str] | None) -> bool:
    """Whether what is under a condition on the type is asked for of some types."""
    return only is None or condition is None or condition.name.value in only


def _too_deep(most: int) -> LimitExceeded:
    return LimitExceeded(
        f"the document nests more than the {most} fields that are possible", where="query", fix="ask for less at once"
    )


def _fragments(parsed: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    return {each.name.value: each for each in parsed.definitions if isinstance(each, FragmentDefinitionNode)}


def _is_meta(node: FieldNode) -> bool:
    """What asks for the schema has a limit of its own."""
    return node.name.value.startswith("__")


def _selections(nodes: Sequence[FieldNode]) -> list[Sequence[SelectionNode]]:
    return [each.selection_set.selections for each in nodes if each.selection_set]
