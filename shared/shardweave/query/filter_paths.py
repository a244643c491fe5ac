r"""Paths of filters: into maps and lists, as in `meta.color` and `lines.0.sku`.

A path is a property and, after points, keys of maps and places in lists, which count from 0. The stored value says
which of the two a step is; where there is nothing at a step, the record has no value there. In a step, `\.` is a
point and `\\` a backslash, so that every key can be named: `meta.os\.name`.

The value has the type that is declared for it (`dict[str, Decimal]` says it, `dict[str, Any]` says none), and tests
take and compare values of that type as those of a property. They are made after reading, and read the default of the
property where a record has it not.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel
from typing_extensions import get_type_hints, is_typeddict

from ..errors import LimitExceeded, UnknownName, UnsupportedQuery
from ..schema.entity_type import EntityType
from ..schema.property import Property
from ..table.conditions import Condition, OnAttribute
from ..table.values import Item, Value
from ..values.codecs import codec_of, stands_for
from ..values.defaults import Default, default_of
from ..values.nested_types import model_of
from .filter_compiler import compiled_test

MAX_STEPS = 32
"""How deep a value may lie: DynamoDB keeps none deeper."""
MAX_NAMED = 30

_STEP = re.compile(r"(?:[^.\\]|\\[.\\])*")
_ESCAPED = re.compile(r"\\(.)")
_PLACE = re.compile("0|[1-9][0-9]{0,5}")
_NOTHING = object()


@dataclass(frozen=True)
class AtPath(OnAttribute):
    """A test of what stands at the end of some steps from an attribute, after reading. `test` knows it by the path's
    text, and `make` makes the attribute where a record has it not."""

    steps: tuple[str, ...]
    test: Condition
    make: Callable[[], Value] = field(repr=False, compare=False)
    fills: tuple[Default | None, ...] = field(default=(), repr=False, compare=False)
    """The defaults of the fields of models that steps lead to."""

    def evaluate(self, item: Item) -> bool:
        found: Any = item[self.attribute] if self.attribute in item else self.make()
        for step, fill in zip_longest(self.steps, self.fills):
            above, found = found, _member(found, step)
            if found is _NOTHING and fill is not None and isinstance(above, Mapping):
                found = fill.form()
        return self.test.evaluate({} if found is _NOTHING else {_text(self.attribute, self.steps): found})


def steps_of(path: str, where: str) -> list[str]:
    """The property and the steps of a path. Raises UnsupportedQuery."""
    found, place = [], 0
    while True:
        step = _STEP.match(path, place)
        end = place if step is None else step.end()
        found.append(_ESCAPED.sub(r"\1", path[place:end]))
        if end == len(path):
            return found
        if path[end] != ".":
            raise UnsupportedQuery(
                "a backslash in a path must stand before a point or another backslash",
                where=where,
                fix=r"write \\ for a backslash in a key, and \. for a point",
            )
        place = end + 1


def path_of(steps: Sequence[str]) -> str:
    """The path of a property and steps: the inverse of `steps_of`."""
    return ".".join(step.replace("\\", r"\\").replace(".", r"\.") for step in steps)


def property_at(entity: EntityType[Any], path: str, where: str) -> Property:
    """A property, or what stands at the end of a path as if it were one. Raises UnknownName, UnsupportedQuery,
    LimitExceeded."""
    name, *steps = steps_of(path, where)
    each = entity.property_of(name, where)
    return _property_at(each, tuple(steps), where) if steps else each


def test_at(entity: EntityType[Any], path: str, node: Condition, where: str) -> Condition:
    """A test of a property, or of what stands at the end of a path, over stored values. Raises UnknownName,
    UnsupportedQuery, LimitExceeded, ValidationFailed, ValueRefused."""
    name, *steps = steps_of(path, f"{where}.property")
    each = entity.property_of(name, f"{where}.property")
    if not steps:
        return compiled_test(each, node, where, stored=each.stored in entity.identity)
    if each.default.of_others:
        raise UnsupportedQuery(
            f"where {each.stored} is not stored it is made from the other properties of the record",
            where=f"{where}.property",
            fix="let its default be a value, or a factory that takes nothing",
        )
    found = _property_at(each, tuple(steps), f"{where}.property")
    fills = tuple(_fills_at(each.annotation, steps))
    return AtPath(each.stored, tuple(steps), compiled_test(found, node, where), each.default.form, fills)


def _property_at(each: Property, steps: tuple[str, ...], where: str) -> Property:
    if len(steps) > MAX_STEPS:
        raise LimitExceeded(f"a path has at most {MAX_STEPS} steps", where=where, fix="name what lies less deep")
    annotation: Any = each.annotation
    for number, step in enumerate(steps):
        found = tuple(_types_at(annotation, step, ())) if step else ()
        if not found:
            raise _unknown_step(_text(each.stored, steps[:number]), step, annotation, where)
        annotation = typing.Union[found]  # noqa: UP007 - made, not written
    name = _text(each.stored, steps)
    return Property(name, name, annotation, codec_of(annotation), None, required=False, has_default=False)


def _unknown_step(path: str, step: str, annotation: Any, where: str) -> UnknownName:
    """The error of a step to which nothing leads, with those that there are."""
    names = list(dict.fromkeys(_names_at(annotation, ())))
    if names:
        shown = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
        fix = f"use one of {shown}"
    elif next(_types_at(annotation, "0", ()), None) is not None:
        fix = "name a key of the map, or a place in the list, which count from 0, as in meta.color or lines.0"
    else:
        fix = f"end the path at {path[:80]}, which has no members"
    return UnknownName(f"{path[:80]} has nothing at {step[:80]!r}", where=where, fix=fix)


def _names_at(annotation: Any, within: tuple[Any, ...]) -> Iterator[str]:
    """The names that are declared for one step from a value of a type."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from _names_at(arguments[0], within)
    elif origin in (typing.Union, types.UnionType):
        for each in arguments:
            yield from _names_at(each, within)
    elif is_typeddict(annotation):
        yield from get_type_hints(annotation)
    elif (model := model_of(annotation)) is not None:
        yield from (info.alias or name for name, info in model.model_fields.items())
    elif (meant := stands_for(annotation)) is not None and annotation not in within:
        yield from _names_at(meant, (*within, annotation))


def _fills_at(annotation: Any, steps: Sequence[str]) -> Iterator[Default | None]:
    """The defaults of the fields of models at each step, None for what is none."""
    for step in steps:
        model = next(_models_in(annotation), None)
        fields = {} if model is None else {info.alias or name: info for name, info in model.model_fields.items()}
        yield default_of(fields[step]) if step in fields and not fields[step].is_required() else None
        annotation = typing.Union[tuple(_types_at(annotation, step, ()))]  # noqa: UP007 - made, not written


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a type stands for."""
    if is_typeddict(annotation):
        return  # What is not stored in one is not there.
    if (model := model_of(annotation)) is not None:
        yield model
    elif typing.get_origin(annotation) in (typing.Annotated, typing.Union, types.UnionType):
        for each in typing.get_args(annotation):
            yield from _models_in(each)
    elif (meant := stands_for(annotation)) is not None:
        yield from _models_in(meant)


def _text(name: str, steps: Sequence[str]) -> str:
    return path_of((name, *steps))


def _types_at(annotation: Any, step: str, within: tuple[Any, ...]) -> Iterator[Any]:
    """The types of what may stand at one step from a value of a type; none where nothing can. `within` are the aliases
    that the type stands in."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from _types_at(arguments[0], step, within)
    elif origin in (typing.Union, types.UnionType):
        for each in arguments:
            yield from _types_at(each, step, within)
    elif annotation in (Any, object):
        yield Any
    elif is_typeddict(annotation):
        yield from (kind for name, kind in get_type_hints(annotation).items() if name == step)
    elif (meant := stands_for(annotation)) is not None:
        if annotation not in within:
            yield from _types_at(meant, step, (*within, annotation))
    else:
        yield from _members(annotation if origin is None else origin, arguments, step)


def _members(kind: Any, arguments: tuple[Any, ...], step: str) -> Iterator[Any]:
    if not isinstance(kind, type) or issubclass(kind, (str, bytes, bytearray, Set)):
        return
    if (model := model_of(kind)) is not None:
        fields = {info.alias or name: info for name, info in model.model_fields.items()}
        if step in fields:
            info = fields[step]
            yield typing.Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
    elif issubclass(kind, Mapping):
        yield arguments[1] if len(arguments) > 1 else Any
    elif issubclass(kind, Collection) and _PLACE.fullmatch(step):
        if issubclass(kind, tuple) and arguments and Ellipsis not in arguments:
            yield from arguments[int(step) : int(step) + 1]
        else:
            yield arguments[0] if arguments else Any


def _member(value: Any, step: str) -> Any:
    """What a stored value has at one step."""
    if isinstance(value, Mapping):
        return value.get(step, _NOTHING)
    if isinstance(value, (list, tuple)) and _PLACE.fullmatch(step) and int(step) < len(value):
        return value[int(step)]
    return _NOTHING
