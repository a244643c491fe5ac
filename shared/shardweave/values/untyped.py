"""Values without a declared type: where a type says `Any`, `object`, `JsonValue`, or a bare `dict` or `list`.

Only the stored form determines the type of such a value when it is read. So only values that are read back equal are
accepted, and all others are refused. Accepted are None, true and false, texts, whole numbers, floats, bytes, lists,
sets that are not empty, and dicts with text keys. A whole number is read as an int (2.0 as 2), any other number as a
float, or as a Decimal if no float is equal; a Decimal that equals a float is refused, and so is a whole float that
differs from its decimal text (1e23).
"""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Set
from decimal import Decimal
from typing import Annotated, Any, Union

from pydantic import BaseModel, JsonValue
from pydantic_core import to_jsonable_python

from ..errors import ValueRefused
from ..table.values import Value
from .codecs import stands_for
from .json_types import is_inexact
from .nested_types import model_of

Walk = Callable[[Any], Any]
"""A function that converts a value."""

MAX_WHOLE_DIGITS = 126
"""More digits than any number in the table."""

_PLAIN = (type(None), bool, str, int, bytes)
_FIX = (
    "declare its type, or give text, a number, bytes, true, false, None, or a list, set or dict with text keys of those"
)


def check_untyped(value: Any) -> Any:
    """The value, if it is read back equal. Otherwise raises ValueRefused."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        if value.is_integer() and int(value) != int(Decimal(repr(value))):
            raise ValueRefused("a float of this size would come back as another number", fix="give a whole number")
    elif kind is Decimal:
        if value.is_finite() and not is_inexact(value):
            message = "a Decimal in a value without a declared type would come back as a float or an int"
            raise ValueRefused(message, fix="give one of those, or declare the type")
    elif kind is dict:
        if any(type(name) is not str for name in value):
            raise ValueRefused("the keys of a dict without a declared type would come back as text", fix="give texts")
        for each in value.values():
            check_untyped(each)
    elif kind is list or (kind is set and value):
        for each in value:
            check_untyped(each)
    else:
        name = "an empty set" if kind is set else f"a {kind.__name__}"
        raise ValueRefused(f"{name} in a value without a declared type would come back as another type", fix=_FIX)
    return value


def read_untyped(stored: Value) -> Any:
    """The value from its stored form, or from JSON."""
    if isinstance(stored, Decimal):
        if stored.adjusted() < MAX_WHOLE_DIGITS and stored == stored.to_integral_value():
            return int(stored)
        return stored if is_inexact(stored) else float(stored)
    if isinstance(stored, dict):
        return {name: read_untyped(each) for name, each in stored.items()}
    if isinstance(stored, list):
        return [read_untyped(each) for each in stored]
    return {read_untyped(each) for each in stored} if isinstance(stored, (set, frozenset)) else stored


def as_stored(given: Value, stored: Value) -> Value:
    """The stored form of a JSON value. Parts that equal the JSON form of the `stored` value at the same place are
    replaced by it: bytes and decimals as text, a set as a list in any order."""
    if isinstance(given, dict) and isinstance(stored, dict):
        return {name: as_stored(each, stored[name]) if name in stored else each for name, each in given.items()}
    if isinstance(given, list) and isinstance(stored, list):
        beside = [as_stored(each, one) for each, one in zip(given, stored, strict=False)]
        return beside + given[len(beside) :]
    if isinstance(stored, (set, frozenset)) and isinstance(given, (list, set, frozenset)):
        return stored if _shown_members(given) == _shown_members(stored) else given
    is_text = isinstance(given, str) and isinstance(stored, (bytes, Decimal))
    return stored if is_text and given == _shown(stored) else given


def _shown(stored: Value) -> Any:
    return to_jsonable_python(read_untyped(stored), bytes_mode="base64")


def _shown_members(members: Iterable[Value]) -> list[str]:
    return sorted(json.dumps(_shown(each)) for each in members)


def walk_of(annotation: Any, untyped: Walk) -> Walk | None:
    """A function that applies `untyped` to the parts of a value without a declared type. None for a type without such
    parts."""
    return _walk(annotation, untyped, {})


def _walk(annotation: Any, untyped: Walk, within: dict[int, list[Walk | None]]) -> Walk | None:
    """`within` are the type aliases around a type, each with its function once that exists."""
    if any(annotation is each for each in (Any, object, JsonValue)):
        return untyped
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Annotated:
        return _walk(arguments[0], untyped, within)
    if origin in (Union, types.UnionType):
        return _walk_of_members(arguments, untyped, within)
    meant = stands_for(origin)
    if meant is not None:
        return _walk_of_alias(meant, untyped, within)
    if not isinstance(origin, type):
        return None
    if (model := model_of(origin)) is not None:
        return None if model is origin else _walk_of_fields(origin, model, untyped, within)
    if issubclass(origin, collections.abc.Mapping):
        return _walk_of_mapping(arguments or (Any, Any), untyped, within)
    if issubclass(origin, tuple) and arguments and arguments[-1] is not Ellipsis:
        return _walk_of_places([_walk(each, untyped, within) for each in arguments])
    if issubclass(origin, (list, tuple, collections.abc.Set)):
        each = _walk(arguments[0] if arguments else Any, untyped, within)
        return None if each is None else _walk_of_elements(each)
    return None


def _walk_of_fields(
    kind: type, model: type[BaseModel], untyped: Walk, within: dict[int, list[Walk | None]]
) -> Walk | None:
    """A function that leaves out the members that a stored dataclass or TypedDict has and its class does not declare,
    as models do. Values that are no mappings are of Python's own, and stay."""
    known = within.get(id(kind))
    if known is not None:
        return lambda value: value if known[0] is None else known[0](value)
    made: list[Walk | None] = [None]
    within[id(kind)] = made
    walks = {info.alias or name: _walk(info.annotation, untyped, within) for name, info in model.model_fields.items()}

    def walk(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        found = {name: one for name, one in value.items() if name in walks}
        return {name: one if (each := walks[name]) is None or one is None else each(one) for name, one in found.items()}

    made[0] = walk
    return walk


def _walk_of_alias(meant: Any, untyped: Walk, within: dict[int, list[Walk | None]]) -> Walk | None:
    known = within.get(id(meant))
    if known is not None:
        return lambda value: value if known[0] is None else known[0](value)
    made: list[Walk | None] = [None]
    within[id(meant)] = made
    made[0] = _walk(meant, untyped, within)
    return made[0]


def _walk_of_members(arguments: tuple[Any, ...], untyped: Walk, within: dict[int, list[Walk | None]]) -> Walk | None:
    walks = [(each, _walk(each, untyped, within)) for each in arguments]
    if any(walk is untyped for _, walk in walks):
        return untyped
    found = [(_container(each), walk) for each, walk in walks if walk is not None]
    if not found:
        return None

    def walk(value: Any) -> Any:
        fitting = (each for kind, each in found if isinstance(value, kind))
        return next(fitting, lambda same: same)(value)

    return walk


def _container(annotation: Any) -> tuple[type, ...]:
    """The container classes of a type's values and of their stored forms."""
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Annotated:
        return _container(arguments[0])
    if not isinstance(origin, type):
        return (object,)
    if issubclass(origin, collections.abc.Mapping) or model_of(origin) is not None:
        return (Mapping,)
    return (Set,) if issubclass(origin, collections.abc.Set) else (list, tuple)


def _walk_of_mapping(arguments: tuple[Any, ...], untyped: Walk, within: dict[int, list[Walk | None]]) -> Walk | None:
    key, each = _walk(arguments[0], untyped, within), _walk(arguments[1], untyped, within)
    if key is None and each is None:
        return None

    def walk(value: Any) -> Any:
        if key is not None:
            key(dict.fromkeys(value))
        return value if each is None else {name: each(one) for name, one in value.items()}

    return walk


def _walk_of_elements(each: Walk) -> Walk:
    def walk(value: Any) -> Any:
        walked = [each(one) for one in value]
        return set(walked) if isinstance(value, Set) else walked

    return walk


def _walk_of_places(places: list[Walk | None]) -> Walk | None:
    if not any(places):
        return None

    def walk(value: Any) -> Any:
        if len(value) != len(places):
            return value
        return [one if each is None else each(one) for each, one in zip(places, value, strict=True)]

    return walk
