"""The place of the part of a value for which the whole value is refused.

Nothing is known of places where a value is converted, since that would cost time with each value. So the part is looked
for after a refusal: the parts of the value are tried one after another, then the parts of the one that is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from ..errors import ValueRefused, location_text
from .nested_types import is_dataclass


def refused_place(name: str, value: Any, accept: Callable[[Any], object]) -> str:
    """The place, in the property with this name, of the innermost part that `accept` refuses: `lines[2].amount`."""
    place: list[str | int] = [name]
    while (found := _refused_part(value, accept)) is not None:
        step, value = found
        place.append(step)
    return location_text(place)


def _refused_part(value: Any, accept: Callable[[Any], object]) -> tuple[str | int, Any] | None:
    for step, part in _parts(value):
        try:
            accept(part)
        except ValueRefused:
            return step, part
    return None


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        yield from ((_step(name), part) for name, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value)
    elif isinstance(value, BaseModel):
        fields = type(value).model_fields.items()
        yield from ((field.alias or name, getattr(value, name)) for name, field in fields)
    elif is_dataclass(type(value)):
        yield from ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))


def _step(name: Any) -> str:
    """A name as a step. Half of a surrogate pair could not be shown."""
    return str(name).encode(errors="backslashreplace").decode()
