"""Instances in the values of a type: whether each has the declared class, and all of its members.

A model or dataclass is stored as the map of its fields, which says nothing of its class. So an instance of a subclass
would come back as one of the declared class, without what the subclass adds.

Pure.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from ..errors import ValueRefused, location_text
from .kept_members import choices, holds_models
from .nested_types import is_dataclass, model_of

Place = tuple[str | int, ...]


def check_instances(annotation: Any, value: Any, place: Place) -> None:
    """Refuse a value of a type at a place for an instance in it that would come back as another. Raises ValueRefused,
    which names its place."""
    kinds = choices(annotation)
    if isinstance(value, BaseModel) or is_dataclass(type(value)):
        _check_class(kinds, type(value), place)
    for kind, part, step in _parts(kinds, value, place):
        if holds_models(kind):
            check_instances(kind, part, (*place, step))


def _check_class(kinds: list[Any], given: type, place: Place) -> None:
    declared = [each for each in kinds if isinstance(each, type) and issubclass(given, each)]
    if given in declared or not declared:
        return
    (kind, *_), name = declared, given.__name__
    raise ValueRefused(
        f"must be an instance of {kind.__name__}, got one of {name}, which would come back as {kind.__name__}",
        where=location_text(place),
        fix=f"give one of {kind.__name__} itself, or declare {name}",
    )


def _parts(kinds: list[Any], value: Any, place: Place) -> Iterator[tuple[Any, Any, str | int]]:
    """The parts of a value, each with its type and its step."""
    if isinstance(value, BaseModel) or is_dataclass(type(value)):
        model = model_of(type(value))
        assert model is not None, "a model, or a dataclass, has fields"
        for name, info in model.model_fields.items():
            step = info.alias or name
            if not hasattr(value, name):
                where = location_text((*place, step))
                raise ValueRefused("the instance lacks it", where=where, fix="make it with its constructor")
            yield info.annotation, getattr(value, name), step
    elif isinstance(value, Mapping):
        yield from _entries(kinds, value)
    elif isinstance(value, (list, tuple)):
        for at, part in enumerate(value):
            yield _member(kinds, at), part, at


def _entries(kinds: list[Any], value: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, str | int]]:
    model = next((found for each in kinds if (found := model_of(each)) is not None), None)
    if model is None:
        kind = next((arguments[1] for each in kinds if len(arguments := typing.get_args(each)) == 2), None)
        yield from ((kind, part, str(name)) for name, part in value.items())
        return
    fields = {info.alias or name: info.annotation for name, info in model.model_fields.items()}
    yield from ((fields.get(name), part, name) for name, part in value.items())


def _member(kinds: list[Any], at: int) -> Any:
    """The type of the element at a place of a list or tuple."""
    for each in kinds:
        arguments = typing.get_args(each)
        if typing.get_origin(each) is tuple and arguments[-1] is not Ellipsis:
            return arguments[at] if at < len(arguments) else None
        if arguments:
            return arguments[0]
    return None
