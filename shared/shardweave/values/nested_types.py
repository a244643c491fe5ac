"""Dataclasses and TypedDicts as the types of properties: a pydantic model with the same fields stands for each.

The model says how JSON is read, what the OpenAPI document has, and what is at a path; values themselves stay instances
of the dataclass, or dicts. A TypedDict of plain values alone needs no model: pydantic reads it by the rules of JSON.

Pure; a model is made once for each class.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, create_model

_PLAIN = (str, int, float, bool, type(None))
_NEEDED = (typing.Required, typing_extensions.Required)
_ANY_NEED = (typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired)


def model_of(kind: Any) -> type[BaseModel] | None:
    """The model with the fields of a type: a model itself, or that of a dataclass or TypedDict; None for others."""
    if not isinstance(kind, type):
        return None
    if issubclass(kind, BaseModel):
        return kind
    stands = is_dataclass(kind) or (typing_extensions.is_typeddict(kind) and not has_plain_members(kind))
    return _made(kind) if stands else None  # type: ignore[arg-type]


def fields_model(kind: Any) -> type[BaseModel] | None:
    """As `model_of`, also of a TypedDict of plain values."""
    return _made(kind) if typing_extensions.is_typeddict(kind) else model_of(kind)


def is_dataclass(kind: Any) -> bool:
    """Whether a type is a dataclass, of Python's own or of pydantic."""
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def has_plain_members(kind: type) -> bool:
    """Whether all members of a TypedDict or NamedTuple have plain values."""
    return all(map(_is_plain, typing_extensions.get_type_hints(kind).values()))


def converter(kind: type) -> Callable[[BaseModel], Any] | None:
    """A function from the model of a type to its own value; None if the type is a model."""
    if issubclass(kind, BaseModel):
        return None
    if is_dataclass(kind):
        return lambda read: kind(**{name: getattr(read, name) for name in type(read).model_fields})
    return lambda read: {
        info.alias: getattr(read, name)
        for name, info in type(read).model_fields.items()
        if name in read.model_fields_set and info.alias is not None
    }


def keep_member_names(annotation: Any, within: tuple[Any, ...] = ()) -> None:
    """Let the dataclasses and TypedDicts in a type be shown by the names of their members. Without a configuration of
    their own, pydantic would take that of the entity, whose names are camelCase."""
    if any(annotation is each for each in within):
        return
    meant = getattr(annotation, "__supertype__", getattr(annotation, "__value__", None))
    for each in (*typing.get_args(annotation), meant):
        keep_member_names(each, (*within, annotation))
    is_own = is_dataclass(annotation) or typing_extensions.is_typeddict(annotation)
    if is_own and not hasattr(annotation, "__pydantic_config__"):
        annotation.__pydantic_config__ = ConfigDict()


def dataclass_faults(kind: type) -> list[tuple[str, str]]:
    """What makes a dataclass no plain record of its fields, with what to do."""
    name, found = kind.__name__, []
    if hasattr(kind, "__post_init__"):
        found.append((f"{name} has __post_init__, which would run on what is stored", "leave it out"))
    fields = {each.name: each for each in dataclasses.fields(kind)}
    extra = [each for each in getattr(kind, "__dataclass_fields__", {}) if each not in fields]
    classvars = [each for each in extra if "ClassVar" in str(kind.__dataclass_fields__[each].type)]  # type: ignore[attr-defined]
    if len(extra) > len(classvars):
        found.append((f"{name} has an InitVar, which is not stored", "leave it out"))
    for each in fields.values():
        if not each.init:
            found.append((f"{name}.{each.name} is not given to the constructor", "leave out init=False"))
        if each.name.startswith("_"):
            found.append((f"{name}.{each.name} begins with an underscore", "rename it"))
    if len(getattr(kind, "__parameters__", ())):
        found.append((f"{name} is generic", "declare a class for the type that it holds"))
    return found


@cache
def _made(kind: type) -> type[BaseModel]:
    own = getattr(kind, "__pydantic_fields__", None)
    fields: dict[str, Any]
    if own is not None:
        fields = {name: (info.annotation, info) for name, info in own.items()}
    elif is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = {each.name: (hints[each.name], _default_of(each)) for each in dataclasses.fields(kind)}
    else:
        hints = typing_extensions.get_type_hints(kind, include_extras=True)
        fields = {
            f"member_{number}": (_unwrapped(hint), _member(name, required=_is_required(kind, name, hint)))
            for number, (name, hint) in enumerate(hints.items())
        }
    config = ConfigDict()
    made: type[BaseModel] = create_model(
        kind.__name__, __config__=config, __module__=kind.__module__, __doc__=_doc(kind), **fields
    )
    return made


def _doc(kind: type) -> str | None:
    """The docstring of a class that is not made up by Python."""
    doc = kind.__doc__
    return None if doc is None or doc.startswith(f"{kind.__name__}(") else doc


def _default_of(each: dataclasses.Field[Any]) -> Any:
    if each.default is not dataclasses.MISSING:
        return each.default
    if each.default_factory is not dataclasses.MISSING:
        return Field(default_factory=each.default_factory)
    return ...


def _member(name: str, *, required: bool) -> Any:
    return Field(alias=name) if required else Field(default_factory=lambda: None, alias=name)


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    """Whether a member of a TypedDict must be there; a string annotation says so only in its resolved form."""
    origin = typing.get_origin(hint)
    return origin in _NEEDED if origin in _ANY_NEED else name in kind.__required_keys__


def _unwrapped(hint: Any) -> Any:
    while typing.get_origin(hint) in _ANY_NEED:
        (hint,) = typing.get_args(hint)
    return hint


def _is_plain(annotation: Any) -> bool:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return all(isinstance(each, _PLAIN) for each in arguments)
    if origin is dict:
        return arguments[0] is str and _is_plain(arguments[1])
    if origin in (list, typing.Union, types.UnionType):
        return all(map(_is_plain, arguments))
    return annotation in _PLAIN
