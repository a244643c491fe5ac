"""Checks of the types of properties, and of their defaults. Generators of faults, as in `all_faults`.

A type is a fault if none of its values can be stored; a type with some storable values is accepted.
"""

from __future__ import annotations

import datetime as dt
import enum
import types
import typing
import uuid
from collections.abc import Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import Any, Literal

import pydantic
import typing_extensions
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from ...errors import Fault, ValidationFailed, ValueRefused
from ...values.codecs import stands_for
from ...values.nested_types import has_plain_members, is_dataclass
from ...values.stored_form import is_written_as_text, stored_form
from ..entity import Entity
from ..property import Property, properties_of
from ..property_options import Role
from .models import model_faults
from .nested import nested_faults, union_faults
from .round_trips import round_trip_faults

Found = Iterator[tuple[str, str]]
"""Messages, each with its fix."""

_STORED: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "bool"),
    ((str, dt.date, dt.time, dt.timedelta, uuid.UUID), "text"),
    ((int, float, Decimal), "number"),
    ((bytes, bytearray), "bytes"),
    ((type(None),), "null"),
    ((Mapping, BaseModel), "mapping"),
    ((Set,), "set"),
    ((Sequence,), "list"),
)
"""Types and their stored forms; the first that fits is used."""

_STORED_OF_PYDANTIC = ("AwareDatetime", "PastDate", "FutureDate", "PastDatetime", "FutureDatetime", "EmailStr")
"""Pydantic types with a stored form that are not classes of their values."""

_UNSTORED: dict[str, str] = {
    "Json": "declare the type of what its text says",
    "ImportString": "declare a text",
    "InstanceOf": "declare the type alone",
    "PathType": "declare Path: whether a file is there changes after the record is written",
    "SecretStr": "declare a text, and mark it with private_property() where callers must not see it",
    "SecretBytes": "declare bytes, and mark them with private_property() where callers must not see them",
    "Secret": "declare the type alone, and mark it with private_property() where callers must not see it",
    "NameEmail": "declare EmailStr, and a text for the name",
    "deque": "declare a list",
    "Counter": "declare dict[str, int]",
    "defaultdict": "declare a dict",
    "OrderedDict": "declare a dict, or a list of pairs where their order matters",
}
"""Types and annotations whose input differs from their output, and what to declare instead."""


def type_faults(model: type[Entity]) -> Iterator[Fault]:
    """Every fault of the types and defaults of a model's properties."""
    properties = properties_of(model)
    for name in model.model_fields:
        found = dict.fromkeys(_annotation_faults(properties[name].annotation, frozenset()))
        for message, fix in found or round_trip_faults(properties[name]):
            yield Fault(f"entity {model.__name__}.{name}", message, fix)
    yield from model_faults(model)
    for name, each in properties.items():
        if each.role is Role.UNIQUE and (each.codec is None or not each.codec.sortable):
            message = "a value of its type can't be in a key, and it identifies the record"
            fix = "declare a text, a whole number, a UUID, a date, or a Decimal with DecimalCodec(places=...)"
            yield Fault(f"entity {model.__name__}.{name}", message, fix)
        if not _fits(each, model.model_fields[name].default):
            message = "its default is not a value of its type that can be stored"
            yield Fault(f"entity {model.__name__}.{name}", message, "correct the default, or the type")


def _annotation_faults(annotation: Any, within: frozenset[int]) -> Found:
    """`within` are the type aliases and models around a type, since they may be recursive."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        for each in arguments[1:]:
            name = (each if isinstance(each, type) else type(each)).__name__
            if name in _UNSTORED and _is_of_pydantic(each if isinstance(each, type) else type(each)):
                yield f"{name} has no stored form", _UNSTORED[name]
        yield from _annotation_faults(arguments[0], within)
    elif origin is Literal:
        if any(isinstance(each, bytes) for each in arguments):
            yield "bytes in a Literal have no JSON form", "declare a Literal of texts"
    elif origin is not None:
        if isinstance(origin, type) and origin is not types.UnionType:
            yield from _class_faults(origin, within)
        if origin in (typing.Union, types.UnionType):
            yield from union_faults(arguments)
        yield from _member_faults(origin, arguments)
        for each in arguments:
            yield from _annotation_faults(each, within)
    elif (meant := stands_for(annotation)) is not None and id(annotation) not in within:
        yield from _annotation_faults(meant, within | {id(annotation)})
    elif isinstance(annotation, type):
        yield from _class_faults(annotation, within)


def _class_faults(kind: type, within: frozenset[int]) -> Found:
    if issubclass(kind, enum.Enum):
        yield from _enum_faults(kind)
    elif issubclass(kind, BaseModel) or is_dataclass(kind) or typing_extensions.is_typeddict(kind):
        if id(kind) not in within:
            yield from nested_faults(kind, lambda each: _annotation_faults(each, within | {id(kind)}))
    elif kind is pydantic.NaiveDatetime:
        yield "a datetime without a zone has no stored form", "declare datetime, and give one with a zone"
    elif kind.__name__ in _UNSTORED and (_is_of_pydantic(kind) or kind.__module__ == "collections"):
        yield f"a {kind.__name__} has no stored form", _UNSTORED[kind.__name__]
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        yield from _named_member_faults(kind)
    elif _kinds(kind) is None:
        fix = "declare a text, a number, bytes, a time, a UUID, an Enum, or a list, set or dict of those"
        yield f"a {kind.__name__} has no stored form", fix


def _is_of_pydantic(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "pydantic"


def _named_member_faults(kind: type) -> Found:
    """Faults of members of a NamedTuple: pydantic alone converts them, with other rules for all but plain values."""
    if not has_plain_members(kind):
        fix = "declare texts, numbers, bools, None, and lists and dicts of those there, or a dataclass"
        yield f"{kind.__name__} has members that are more than plain values", fix


def _enum_faults(members: type[enum.Enum]) -> Found:
    if not list(members):
        yield f"{members.__name__} has no members", "give it some"
    for member in members:
        try:
            form = stored_form(member)
        except ValueRefused:
            yield f"{member} has no stored form", "give it a text or a number as value"
        else:
            if form is None:
                yield f"the value of {member} is None, which is stored as no value", "give it another value"


def _member_faults(origin: Any, arguments: tuple[Any, ...]) -> Found:
    if not isinstance(origin, type) or not arguments:
        return
    kinds = _kinds(arguments[0]) or set()
    if issubclass(origin, Set) and (wrong := kinds - {"text", "number", "bytes"}):
        yield f"a set can't hold a {_listed(wrong)}", "declare a list, or a set of texts, numbers or bytes"
    if issubclass(origin, Mapping) and (wrong := kinds - {"text", "number", "bool"}):
        yield f"a {_listed(wrong)} can't be a key of a mapping", "use text keys"


def _listed(kinds: set[str]) -> str:
    return " or a ".join(sorted(kinds))


def _kinds(annotation: Any) -> set[str] | None:
    """The stored kinds of a type's values: empty if unknown, None if they can't be stored."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _kinds(arguments[0])
    if origin is Literal:
        return set().union(*(_kinds(type(each)) or set() for each in arguments))
    if origin in (typing.Union, types.UnionType):
        return set().union(*(_kinds(each) or set() for each in arguments))
    kind = annotation if origin is None else origin
    if not isinstance(kind, type) or kind in (object, Any):
        return set()
    if issubclass(kind, enum.Enum):
        return set().union(*(_kinds(type(member.value)) or set() for member in kind))
    if is_written_as_text(kind):
        return {"text"}
    if is_dataclass(kind):
        return {"mapping"}
    found = next((stored for classes, stored in _STORED if issubclass(kind, classes)), None)
    if found is None and hasattr(kind, "__get_pydantic_core_schema__"):
        return None if _is_of_pydantic(kind) and kind.__name__ not in _STORED_OF_PYDANTIC else set()
    return None if found is None else {found}


def _fits(each: Property, default: Any) -> bool:
    """Whether a default is a valid value of its property with the property's stored form."""
    plain = type(default) is each.annotation and isinstance(default, (str, int, bytes, enum.Enum))
    if default is None or plain or not each.has_default or default is PydanticUndefined:
        return True
    try:
        if each.check_untyped is not None:
            each.check_untyped(default)
        form = each.stored_value(default)
        return type(form) is type(read := each.parse_plain(default)) and form == read
    except (ValidationFailed, ValueRefused):
        return False
