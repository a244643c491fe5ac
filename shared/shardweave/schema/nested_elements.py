"""Elements of keys that are members of a model: `HashKey("address.country")`.

The name is a property and, after a point, a member of the model, dataclass or TypedDict that is its type; deeper ones
follow in the same way. Such an element is a part of generated keys as a property is: the record is in the index while
it has a value, and not while the model or the member is None. What stands in a list, in a mapping of any keys, or in
one of several types can't be an element, since a record may have several, or none, or one of another name.

It may also identify or place records (`partition`, `sort`, `shard_by`): then each record has it, and it never changes,
while the other members do.

Pure.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from ..values.codecs import stands_for
from ..values.nested_types import fields_model
from .property import Property, is_optional, properties_of

_STEP = re.compile("[A-Za-z][A-Za-z0-9_]*")
MAX_STEPS = 8
"""How deep an element may lie."""


def is_nested(name: str) -> bool:
    """Whether a name is of a member of a model."""
    return "." in name


def property_at(properties: Mapping[str, Property], name: str) -> Property | None:
    """A property by its Python name, or a member of a model by its path as if it were one; None if there is none."""
    if not is_nested(name):
        return properties.get(name)
    found = fault_at(properties, name)
    return None if isinstance(found, str) else found


def fault_at(properties: Mapping[str, Property], name: str) -> Property | str:
    """The member of a model at a path, or why it can't be an element of a key."""
    found = way_to(properties, name)
    if isinstance(found, str):
        return found
    path, (top, *_, last) = ".".join(each.stored for each in found), found
    return replace(last, name=name, stored=path, role=None, claim=None, required=False, private=top.private)


def way_to(properties: Mapping[str, Property], name: str) -> list[Property] | str:
    """A property, the members of models that lead to a path, and the one at its end, or why there is none."""
    root, *steps = name.split(".")
    top = properties.get(root)
    if top is None:
        return f"there is no property {root!r}"
    if len(steps) > MAX_STEPS:
        return f"{name!r} has more than {MAX_STEPS} steps"
    walked, way = root, [top]
    for step in steps:
        model = _model_in(way[-1].annotation)
        if model is None:
            return f"{walked!r} is no model with members of its own, so that {name!r} can't be in a key"
        members = properties_of(model)
        found = members.get(step) or next((member for member in members.values() if member.stored == step), None)
        if found is None:
            return f"{walked!r} has no member {step!r}, but {', '.join(members)}"
        if _STEP.fullmatch(found.stored) is None:
            return f"{found.stored!r} of {walked!r} is no name that a key can have"
        walked = f"{walked}.{step}"
        way.append(found)
    return way


def may_be_missing(properties: Mapping[str, Property], name: str) -> bool:
    """Whether a record may be without a property or a member of a model: it, or a model in which it stands, may be
    None, or may be left out and has no default."""
    way = way_to(properties, name)
    if isinstance(way, str):
        return False
    return any(is_optional(each.annotation) for each in way) or any(map(_is_left_out, way[1:]))


def _is_left_out(each: Property) -> bool:
    return each.has_default and not each.default.of_others and each.default.form() is None


def root_of(name: str) -> str:
    """The property of a name: its own, or the one whose member it is."""
    return name.partition(".")[0]


def reader_of(properties: Mapping[str, Property], name: str) -> Callable[[Any], Any]:
    """A function from a record to what it has at a property, or at a member of a model."""
    if not is_nested(name):
        return attrgetter(name)
    way = way_to(properties, name)
    assert isinstance(way, list)

    def read(record: Any) -> Any:
        for each in way:
            record = record.get(each.stored) if isinstance(record, Mapping) else getattr(record, each.name, None)
        return record

    return read


def nested_names(names: Iterator[str]) -> list[str]:
    """The names among some that are of members of models, each once."""
    return [name for name in dict.fromkeys(names) if is_nested(name)]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of the values of a type, which may be None too; None if they may be of several types, or of no
    model."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _model_in(arguments[0])
    if origin in (typing.Union, types.UnionType):
        others = [each for each in arguments if each is not type(None)]
        return _model_in(others[0]) if len(others) == 1 else None
    if (model := fields_model(annotation)) is not None:
        return model
    meant = stands_for(annotation)
    return None if meant is None else _model_in(meant)
