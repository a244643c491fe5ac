"""Checks of round trips: types whose values may be read back as other values. A value of each kind that a type accepts
is stored and read again, and written as JSON and read again. Generators of faults, as in `types`.

Only the stored form distinguishes stored values: a UUID and its text have the same form, and so have 2 and 2.0. A union
of such types is a fault; `int | str` is not. Only types that could be faulty are tried: unions, mappings whose keys are
not text, `Sequence`, and Literals and Enums with other values than texts and integers.
"""

from __future__ import annotations

import collections.abc
import datetime as dt
import enum
import itertools
import json
import types
import typing
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError

from ...errors import InputError, ValueRefused
from ...values.codecs import stands_for
from ...values.stored_form import is_written_as_text, stored_form

if TYPE_CHECKING:
    from ..property import Property

_JSON = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
_DEEPEST = 3
_MOST = 64
"""The maximum number of values that are tried for a type."""

_EXAMPLES: tuple[tuple[type, tuple[Any, ...]], ...] = (
    (bool, (True, False)),
    (int, (0, 1, -5, 2**53 + 1)),
    (float, (0.5, 1.0, 0.1)),
    (Decimal, (Decimal("0.5"), Decimal(1), Decimal("0.1"))),
    (str, ("x", "", "5", "true", "0.5")),
    (bytes, (b"x", b"", b"55")),
    (dt.datetime, (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, 5, 0, 1, tzinfo=dt.UTC))),
    (dt.date, (dt.date(2024, 1, 1),)),
    (dt.time, (dt.time(5), dt.time(5, 0, 1, 5))),
    (dt.timedelta, (dt.timedelta(1), dt.timedelta(hours=5))),
    (uuid.UUID, (uuid.UUID(int=5),)),
    (type(None), (None,)),
)
_CONTAINERS: tuple[tuple[type, Callable[[Iterable[Any]], Any]], ...] = (
    (frozenset, frozenset),
    (Set, set),
    (tuple, tuple),
    (list, list),
)
_ABSTRACT = (collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Collection)
_TEXTS = (uuid.UUID, dt.datetime, dt.date, dt.time, dt.timedelta)


def round_trip_faults(each: Property) -> Iterator[tuple[str, str]]:
    """The faults of a property whose values are read back as others: at most one message, with its fix."""
    if not _may_differ(each.annotation, frozenset()):
        return
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(each.annotation, config=_JSON)
    except PydanticUserError:
        adapter = TypeAdapter(each.annotation)
    for example in itertools.islice(_examples(each.annotation, 0), _MOST):
        try:
            given = adapter.validate_python(example)
            if each.check_untyped is not None:
                each.check_untyped(given)
            stored = each.stored_value(given)
        except (ValidationError, ValueRefused):
            continue
        found = _stored_fault(each, given, stored) or _json_fault(each, adapter, given)
        if found is not None:
            yield found, "declare one type, or types that are stored differently, such as int | str"
            return


def _stored_fault(each: Property, given: Any, stored: Any) -> str | None:
    try:
        read = each.python(stored if each.read_untyped is None else each.read_untyped(stored))
    except ValidationError:
        return f"{_kind(given)} of its type can't be read as it is stored"
    difference = _difference(given, read)
    return None if difference is None else f"of its type {difference}, since both are stored alike"


def _json_fault(each: Property, adapter: TypeAdapter[Any], given: Any) -> str | None:
    try:
        read = each.read_json(json.loads(adapter.dump_json(given)))
    except (InputError, PydanticSerializationError):
        return None
    difference = _difference(given, read)
    return None if difference is None else f"of its type {difference}, since both are one text in JSON"


def _difference(given: Any, read: Any) -> str | None:
    """The difference between a value and the value that was read back, None if it is equal and has the same type."""
    if type(given) is not type(read):
        return f"{_kind(given)} comes back as {_kind(read)}"
    if isinstance(given, Mapping) and len(given) == len(read):
        pairs = [*zip(given, read, strict=True), *zip(given.values(), read.values(), strict=True)]
    elif (isinstance(given, (list, tuple)) and len(given) == len(read)) or (
        isinstance(given, Set) and len(given) == len(read) == 1
    ):
        pairs = list(zip(given, read, strict=True))
    else:
        return None if given == read else f"{_kind(given)} comes back as another"
    return next((found for one, other in pairs if (found := _difference(one, other)) is not None), None)


def _kind(value: Any) -> str:
    name = "None" if value is None else type(value).__name__
    return name if value is None else f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


# -- which types -------------------------------------------------------------------------------------------------------


def _may_differ(annotation: Any, within: frozenset[int]) -> bool:
    if annotation is JsonValue:
        return False
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Annotated:
        return _may_differ(arguments[0], within)
    if origin is Literal:
        return any(type(each) not in (str, int, bool, type(None)) for each in arguments)
    if origin in (Union, types.UnionType) and len([each for each in arguments if each is not type(None)]) > 1:
        return True
    meant = stands_for(origin)
    if meant is not None:
        return id(meant) not in within and _may_differ(meant, within | {id(meant)})
    if isinstance(origin, type):
        if issubclass(origin, enum.Enum):
            return any(type(member.value) not in (str, int) for member in origin)
        if issubclass(origin, Mapping) and arguments and arguments[0] not in (str, Any, int):
            return True
        if origin in _ABSTRACT:
            return True
    return any(_may_differ(each, within) for each in arguments if each is not Ellipsis)


# -- examples ----------------------------------------------------------------------------------------------------------


def _examples(annotation: Any, depth: int) -> Iterator[Any]:
    """Example values of a type, first one of each kind; none for an unknown type."""
    if depth > _DEEPEST or annotation is JsonValue:
        return
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Annotated:
        yield from _examples(arguments[0], depth)
    elif origin is Literal:
        yield from arguments
    elif origin in (Union, types.UnionType):
        yield from _of_members(arguments, depth)
    elif (meant := stands_for(origin)) is not None:
        yield from _examples(meant, depth + 1)
    elif isinstance(origin, type):
        yield from _of_class(origin, arguments, depth)


def _of_members(arguments: tuple[Any, ...], depth: int) -> Iterator[Any]:
    each = [list(itertools.islice(_examples(one, depth), 8)) for one in arguments]
    yield from (value for values in itertools.zip_longest(*each, fillvalue=None) for value in values)
    if str in arguments:
        others = (value for values in each for value in values if _has_text(value))
        yield from (stored_form(value) for value in others)


def _has_text(value: Any) -> bool:
    return isinstance(value, _TEXTS) or is_written_as_text(type(value))


def _written_as_text(kind: type) -> Iterator[Any]:
    """Types that are written as text: addresses, networks, paths and URLs."""
    for text in ("192.0.2.1", "2001:db8::1", "192.0.2.0/24", "2001:db8::/32", "https://a.example/", "postgres://a/b"):
        try:
            yield kind(text)
        except ValueError:
            continue


def _of_class(kind: type, arguments: tuple[Any, ...], depth: int) -> Iterable[Any]:
    if issubclass(kind, enum.Enum):
        return list(kind)
    if is_written_as_text(kind):
        return _written_as_text(kind)
    if issubclass(kind, Mapping):
        return _of_mapping(arguments, depth)
    if issubclass(kind, tuple) and arguments and arguments[-1] is not Ellipsis:
        return _of_places(arguments, depth)
    made = next((made for known, made in _CONTAINERS if issubclass(kind, known)), None)
    if made is not None or kind in _ABSTRACT:
        return _of_elements(made or tuple, arguments, depth)
    return next((values for known, values in _EXAMPLES if issubclass(kind, known)), ())


def _of_elements(made: Callable[[Iterable[Any]], Any], arguments: tuple[Any, ...], depth: int) -> Iterator[Any]:
    for element in _examples(arguments[0], depth + 1) if arguments else ():
        if made in (list, tuple) or isinstance(element, Hashable):
            yield made([element])
    yield made([])


def _of_mapping(arguments: tuple[Any, ...], depth: int) -> Iterator[Any]:
    yield {}
    if len(arguments) == 2:
        keys, values = ([*itertools.islice(_examples(each, depth + 1), 16)] for each in arguments)
        yield from ({key: values[0]} for key in keys if values)
        yield from ({keys[0]: value} for value in values if keys)


def _of_places(arguments: tuple[Any, ...], depth: int) -> Iterator[Any]:
    places = [[*itertools.islice(_examples(each, depth + 1), 16)] for each in arguments]
    if all(places):
        for at, values in enumerate(places):
            yield from (
                tuple(value if one == at else firsts[0] for one, firsts in enumerate(places)) for value in values
            )
