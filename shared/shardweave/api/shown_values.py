"""Values of a service's own models as JSON: an entity is shown like other records, without private properties, wherever
it occurs: in a model in a list in a mapping, in a union, or where a field takes any value.

Pydantic writes the values by their declared types, and calls these functions for entities and values that may contain
one.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ForwardRef, Union

from pydantic import BaseModel, TypeAdapter, create_model
from pydantic_core import SchemaSerializer, core_schema

from ..schema.entity import Entity
from ..values.json_types import JSON_CONFIG
from ..wire.record_models import RecordModels

if TYPE_CHECKING:
    from .parts import Parts

_OF_A_CLASS = ("model", "dataclass")
_OF_ANY_VALUE = ("any", "is-instance", "generator", "call", "function-plain")


class ShownValues:
    """Serializers and models for the values of declared types."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._by_class: dict[type, SchemaSerializer] = {}
        self._described: dict[type, Any] = {}

    def records(self, entity: type[Entity]) -> RecordModels:
        """The record models of an entity."""
        return RecordModels(self._parts.schema[entity], self._parts.external_keys)

    def serializer(self, annotation: Any) -> SchemaSerializer:
        """The serializer of a type."""
        schema = TypeAdapter(annotation).core_schema
        return SchemaSerializer(self._changed(schema, annotation))

    def described(self, annotation: Any) -> Any:
        """The type of the JSON form: models with the same names, with record models instead of entities."""
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, Entity):
            return self.records(annotation).read
        if _members(annotation) is not None:
            return self.model(annotation) if holds_entity(annotation) else annotation
        if origin is typing.Annotated:
            return typing.Annotated[(self.described(arguments[0]), *arguments[1:])]
        if origin in (Union, types.UnionType):
            return Union[tuple(map(self.described, arguments))]  # noqa: UP007 - made, not written
        if origin is None or origin is typing.Literal or not arguments:
            return annotation
        return origin[tuple(map(self.described, arguments))]

    def model(self, declared: Any) -> Any:
        """The model for the JSON form of a class that contains entities. A recursive class is referred to by name until
        its model exists."""
        if declared in self._described:
            return self._described[declared]
        name = declared.__name__
        self._described[declared] = ForwardRef(name)
        members = {each: (self.described(kind), info) for each, (kind, info) in (_members(declared) or {}).items()}
        made: Any
        if issubclass(declared, tuple):
            made = tuple[tuple(kind for kind, _ in members.values())]  # type: ignore[misc]  # made, not written
        else:
            config = declared.model_config if issubclass(declared, BaseModel) else JSON_CONFIG
            fields: dict[str, Any] = members
            made = create_model(name, __doc__=declared.__doc__, __config__=config, **fields)
            made.model_rebuild(_types_namespace={name: made})
        self._described[declared] = made
        return made

    def _changed(self, schema: Any, root: Any = None) -> Any:
        """A schema that hands on what is an entity, or may hold one. `root` is the class that it is for."""
        if isinstance(schema, (list, tuple)):
            return type(schema)(self._changed(each, root) for each in schema)
        if not isinstance(schema, dict):
            return schema
        kind = schema.get("type")
        if kind in _OF_A_CLASS and schema["cls"] is not root:
            return {**schema, "serialization": self._handed(self._of_class(schema["cls"]))}
        if kind in _OF_A_CLASS:
            # Pydantic writes a class that it knows by what it made of it before, and never reads this schema.
            schema = {**schema, "cls": type(root.__name__, (), {})}
        if kind in _OF_ANY_VALUE and "serialization" not in schema:
            return {**schema, "serialization": self._handed(self._any)}
        return {name: each if name == "metadata" else self._changed(each, root) for name, each in schema.items()}

    @staticmethod
    def _handed(function: Any) -> Any:
        return core_schema.plain_serializer_function_ser_schema(function, return_schema=core_schema.any_schema())

    def _of_class(self, declared: type) -> Any:
        def shown(value: Any) -> Any:
            if isinstance(value, Entity):
                return json.loads(self.records(type(value)).json(value))
            if not isinstance(value, declared):
                return self._any(value)
            if declared not in self._by_class:
                self._by_class[declared] = self.serializer(declared)
            return json.loads(self._by_class[declared].to_json(value, by_alias=True))

        return shown

    def _any(self, value: Any) -> Any:
        if isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
            return self._of_class(type(value))(value)
        if isinstance(value, Mapping):
            return {name: self._any(each) for name, each in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray)):
            return [self._any(each) for each in value]
        return value


def _members(declared: Any) -> dict[str, tuple[Any, Any]] | None:
    """The types of a class's members, and how they are declared, None for what is no class with members."""
    if not isinstance(declared, type):
        return None
    if issubclass(declared, BaseModel):
        return {name: (info.annotation, info) for name, info in declared.model_fields.items()}
    may_be_left_out: frozenset[str] = getattr(declared, "__optional_keys__", frozenset())
    is_mapping = issubclass(declared, dict) and hasattr(declared, "__required_keys__")
    if (
        is_mapping
        or dataclasses.is_dataclass(declared)
        or (issubclass(declared, tuple) and hasattr(declared, "_fields"))
    ):
        hints = typing.get_type_hints(declared)
        return {name: (kind, None if name in may_be_left_out else ...) for name, kind in hints.items()}
    return None


def holds_entity(annotation: Any, within: tuple[Any, ...] = ()) -> bool:
    """Whether the values of a type can contain an entity, by its declaration."""
    if isinstance(annotation, type) and issubclass(annotation, Entity):
        return True
    members = _members(annotation)
    if members is not None:
        inner = [kind for kind, _ in members.values()]
        return annotation not in within and any(holds_entity(each, (*within, annotation)) for each in inner)
    return any(holds_entity(each, within) for each in typing.get_args(annotation))
