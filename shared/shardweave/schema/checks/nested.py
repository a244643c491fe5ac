"""What can be wrong with a model that is the type of a property, or stands in one. Generators of messages with fixes.

Such a model is stored as a mapping, and read by pydantic alone: what would read or show another value than was stored
is a fault. Its fields are held to what is asked of properties.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typing_extensions
from pydantic import BaseModel, RootModel

from ...values.codecs import stands_for
from ...values.json_types import is_open
from ...values.nested_types import dataclass_faults, is_dataclass, model_of
from ...values.validators import is_validated
from ..entity import Entity
from ..property import Property, properties_of
from .models import field_faults, option_faults
from .round_trips import round_trip_faults

Found = Iterator[tuple[str, str]]

_ITS_OWN = ("extra", "frozen", "ser_json_bytes", "val_json_bytes")
"""Options that an entity has of its own, and a model in it may have as it likes."""


def nested_faults(declared: type, faults_of: Callable[[Any], Found]) -> Found:
    """Every fault of a model, dataclass or TypedDict. `faults_of` gives those of the type of a field."""
    name = declared.__name__
    if issubclass(declared, (Entity, RootModel)):
        yield f"{name} is no model of fields", "declare a model of its own for the property, or the type that it holds"
        return
    if is_dataclass(declared):
        found = dataclass_faults(declared)
        yield from found
        if found:
            return
    kind = model_of(declared)
    if kind is None:
        return  # A TypedDict of plain values.
    kind.model_rebuild()
    decorated = getattr(declared, "__pydantic_decorators__", kind.__pydantic_decorators__)
    if decorated.field_validators or decorated.model_validators or decorated.validators or decorated.root_validators:
        yield (
            f"{name} has validators, which would run on what is stored",
            "let a validator of the entity's property do it",
        )
    if decorated.field_serializers or decorated.model_serializers:
        yield f"{name} has serializers, which show another form than bodies are read by", "leave them out"
    if kind.model_computed_fields:
        yield f"{name} has computed fields, which a body would give back", "make them properties of Python's own"
    config = getattr(declared, "__pydantic_config__", None) or kind.model_config
    if config.get("extra") == "allow":
        yield f"{name} takes members that it does not declare", 'leave out extra="allow", or declare a dict'
    for option, fix in option_faults(config, but=_ITS_OWN):
        yield f"{option} of {name} changes what is stored, taken or shown", fix
    for each in properties_of(kind).values():
        own = [*field_faults(kind.model_fields[each.name]), *dict.fromkeys(faults_of(each.annotation))]
        own += _role_faults(each)
        if is_open(each.annotation):
            own.append(("a part of it has no declared type", "declare its type"))
        if _holds_bytes(each.annotation):
            own.append(("bytes in a model have another form in JSON than those of a property", "declare a text"))
        if is_validated(each.annotation):
            own.append(("a validator in its type would run on what is stored", "leave it out"))
        for message, fix in own or round_trip_faults(each):
            yield f"{name}.{each.name}: {message}", fix


def _role_faults(each: Property) -> Found:
    """What a member is declared to be that only a property of an entity can be."""
    if each.role is not None or each.claim is not None:
        yield "only a property of an entity has a role in its record", "leave out the property function"
    elif each.private:
        fix = "show it, or let the whole property of the entity be private_property()"
        yield "a body could not keep a member that is not shown", fix


def _holds_bytes(annotation: Any) -> bool:
    return annotation in (bytes, bytearray) or any(map(_holds_bytes, typing.get_args(annotation)))


def union_faults(arguments: tuple[Any, ...]) -> Found:
    """The faults of a union: nothing that is stored tells its models apart."""
    found = [each for each in arguments if _is_mapping(each)]
    if len(found) > 1 and any(_has_fields(each) for each in found):
        fix = "declare one model, in which what only some have may be None"
        yield "a union has several models, and what is stored does not say which of them a value has", fix


def _is_mapping(annotation: Any) -> bool:
    origin = typing.get_origin(annotation) or annotation
    if origin is typing.Annotated:
        return _is_mapping(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return any(map(_is_mapping, typing.get_args(annotation)))
    if (meant := stands_for(origin)) is not None:
        return _is_mapping(meant)
    is_class = isinstance(origin, type)
    known = is_class and (issubclass(origin, (BaseModel, Mapping)) or is_dataclass(origin))
    return known or typing_extensions.is_typeddict(origin)


def _has_fields(annotation: Any) -> bool:
    return isinstance(annotation, type) and (issubclass(annotation, BaseModel) or is_dataclass(annotation))
