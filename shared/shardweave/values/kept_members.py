"""Members of stored models that their class does not declare: a newer version of the program may have written them.

Reading leaves them out; a change of the record keeps them, in each map that is still there: at the same property,
member or key, and in a list of the same length at the same place, if all that is known of the element is unchanged.

Pure.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

from ..table.values import Value
from .codecs import stands_for
from .nested_types import model_of


@cache
def _holds_models(annotation: Any) -> bool:
    return any(model_of(each) is not None for each in _parts(annotation, ()))


def holds_models(annotation: Any) -> bool:
    """Whether values of a type may contain models, dataclasses or TypedDicts."""
    try:
        return _holds_models(annotation)
    except TypeError:  # A type with metadata that has no hash.
        return any(model_of(each) is not None for each in _parts(annotation, ()))


def with_kept_members(annotation: Any, stored: Value, new: Value) -> Value:
    """A new value of a type in stored form, with what its models have in the `stored` value beside their fields."""
    if isinstance(stored, Mapping) and isinstance(new, Mapping):
        return _of_map(annotation, stored, new)
    if isinstance(stored, list) and isinstance(new, list) and len(stored) == len(new):
        member = _argument(annotation, 0)
        pairs = zip(stored, new, strict=True)
        return [with_kept_members(member, old, each) if _is_same(old, each) else each for old, each in pairs]
    return new


def _of_map(annotation: Any, stored: Mapping[str, Value], new: Mapping[str, Value]) -> Value:
    model = next((found for each in choices(annotation) if (found := model_of(each)) is not None), None)
    if model is None:
        kind = _argument(annotation, 1)
        return {name: with_kept_members(kind, stored.get(name), value) for name, value in new.items()}
    fields = {info.alias or name: info.annotation for name, info in model.model_fields.items()}
    kept = {name: value for name, value in stored.items() if name not in fields and name not in new}
    known = {name: with_kept_members(fields.get(name), stored.get(name), value) for name, value in new.items()}
    return {**known, **kept}


def _is_same(stored: Value, new: Value) -> bool:
    """Whether a new element has all that is known of the stored one: other members have come from defaults alone, or
    are not known."""
    if isinstance(stored, Mapping) and isinstance(new, Mapping):
        return all(_is_same(stored[name], value) for name, value in new.items() if name in stored)
    return bool(stored == new)


def choices(annotation: Any) -> list[Any]:
    """The types that a value of a type may have, through unions, aliases and annotations."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return choices(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return [found for each in arguments for found in choices(each)]
    meant = stands_for(annotation if origin is None else origin)
    return [annotation] if meant is None else choices(meant)


def _argument(annotation: Any, place: int) -> Any:
    """The type of the members of a list (place 0) or of the values of a mapping (place 1)."""
    for each in choices(annotation):
        arguments = typing.get_args(each)
        if len(arguments) > place and (place == 1) == (len(arguments) > 1 and _is_mapping(each)):
            return arguments[place]
    return None


def _is_mapping(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _parts(annotation: Any, within: tuple[Any, ...]) -> list[Any]:
    if any(annotation is each for each in within):
        return []
    found = choices(annotation)
    inner = [part for each in found for part in typing.get_args(each)]
    return found + [part for each in inner for part in _parts(each, (*within, annotation))]
