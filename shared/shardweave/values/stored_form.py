"""The table's native value for a Python value, and the text of an instant.

Guarantees: if a model validates the stored form of a property of a supported type, the result is equal to the value; a
value without an exact form is refused. Subclasses of str, int and Decimal become the plain type, so that the stored
form does not depend on a subclass's string conversion.

Format: datetimes, dates, times, time spans (ISO 8601), UUIDs, addresses, paths and URLs are text; Enums their values;
floats `Decimal(repr(x))`; models are mappings; mappings have text keys; an empty set is an empty list, since the table
has no empty sets. Numbers have the form that the table returns: an int if whole, without trailing zeros, no negative
zero. Other values are as in `table.values`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import ipaddress
import re
import sys
import uuid
from collections.abc import Mapping, Set
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Literal

from pydantic import BaseModel

from ..errors import ValueRefused
from ..table.values import Value, number, number_text
from .nested_types import is_dataclass

_WRITTEN_AS_TEXT = (
    *(ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network),
    PurePath,
)
_ANY_ADDRESS = ("IPvAnyAddress", "IPvAnyInterface", "IPvAnyNetwork")

_NO_OFFSET, _MINUTE = dt.timedelta(), dt.timedelta(minutes=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND, _SECOND = dt.timedelta(milliseconds=1), dt.timedelta(seconds=1)
_WHOLE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:]{5,8}([.,][0-9]{1,6})?([Zz]|[+-][0-9]{2}:?[0-9]{2})", re.ASCII
)


STORED_AS_IT_IS = frozenset({str, int, bool, bytes})
"""The types of values that are their own stored form; their subclasses are not."""


def stored_form(value: Any) -> Value:
    """The native value to store. Raises ValueRefused for a value without an exact form."""
    if value is None or type(value) in STORED_AS_IT_IS:
        return value
    if isinstance(value, Decimal):
        return number(number_text(Decimal(value)))
    if isinstance(value, enum.Enum):
        return stored_form(value.value)
    if isinstance(value, (Mapping, list, tuple, Set)):
        return _stored_collection(value)
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {field.alias or name: stored_form(getattr(value, name)) for name, field in fields.items()}
    if is_dataclass(type(value)):
        return {each.name: stored_form(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return _stored_scalar(value)


def is_written_as_text(kind: type) -> bool:
    """Whether values of a class are stored as their `str`: addresses, networks, paths and URLs."""
    networks = sys.modules.get("pydantic.networks")  # if the module was not imported, no value has its types
    found = [getattr(networks, name, None) for name in ("AnyUrl", "PostgresDsn", "MongoDsn", "NatsDsn", *_ANY_ADDRESS)]
    return issubclass(kind, (*_WRITTEN_AS_TEXT, *(each for each in found if each is not None)))


def datetime_text(value: dt.datetime) -> str:
    """UTC, microseconds, `Z`. Raises ValueRefused for a naive datetime, and for one outside the years 1 to 9999 UTC."""
    if value.utcoffset() is None:
        raise ValueRefused("a datetime has no time zone", fix="give it one, such as UTC")
    try:
        instant = value.astimezone(dt.UTC)
    except OverflowError:
        raise ValueRefused(
            "a datetime lies outside the years 1 to 9999 in UTC", fix="give a later or earlier one"
        ) from None
    return instant.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def epoch_number(value: dt.datetime, unit: Literal["ms", "s"]) -> int:
    """The epoch number of a datetime, truncated to a unit. Raises ValueRefused for a naive one."""
    if value.utcoffset() is None:
        raise ValueRefused("a datetime has no time zone", fix="give it one, such as UTC")
    return (value - _EPOCH) // (_MILLISECOND if unit == "ms" else _SECOND)


def checked_epoch(number: int, unit: Literal["ms", "s"]) -> int:
    """The number of a datetime. Raises ValueRefused for one that no Timestamp of the unit can be."""
    since, least, end = ("3 March 1973", 10**11, 10**13) if unit == "ms" else ("1970", 0, 10**10)
    if number and not least <= number < end:
        raise ValueRefused(f"a datetime of this property lies from {since} to 2286", fix="give one of these years")
    return number


def datetime_begin(text: str) -> str:
    """The prefix of an instant's stored text, from a prefix as people write it: a complete time with its zone, in any
    form, is converted to its stored text; an incomplete one is kept."""
    if not _WHOLE_TIME.fullmatch(text):
        return text
    try:
        return datetime_text(dt.datetime.fromisoformat(text))
    except (ValueError, ValueRefused):
        return text


def _stored_collection(value: Any) -> Value:
    if isinstance(value, Mapping):
        return {_key_text(name): stored_form(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)) or not value:
        return [stored_form(element) for element in value]
    try:
        return {stored_form(element) for element in value}
    except TypeError:
        raise ValueRefused("a set can hold texts, numbers or bytes only", fix="declare a list") from None


def _key_text(name: Any) -> str:
    form = stored_form(name)
    if isinstance(form, (str, int, Decimal)):
        return str(form)
    raise ValueRefused(f"a {type(name).__name__} can't be a key of a mapping", fix="use text keys")


def _stored_scalar(value: Any) -> Value:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, float):
        return _stored_float(value)
    if isinstance(value, dt.timedelta):
        return _duration_text(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    return _stored_time(value)


def _stored_float(value: float) -> Value:
    exact = Decimal(float.__repr__(value))
    if not exact.is_finite():
        raise ValueRefused("a number is not finite", fix="store no NaN and no infinity")
    return number(number_text(exact))


def _duration_text(value: dt.timedelta) -> str:
    span = abs(value)
    sign = "-" if value < span else ""
    return f"{sign}P{span.days}DT{span.seconds}.{span.microseconds:06d}S"


def _stored_time(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return datetime_text(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.time):
        if (value.utcoffset() or _NO_OFFSET) % _MINUTE:
            fix = "give one of whole minutes"
            raise ValueRefused(
                "a time of day has a zone whose offset has seconds, which ISO 8601 does not write", fix=fix
            )
        return value.isoformat(timespec="microseconds")
    if is_written_as_text(type(value)):
        return str(value)
    raise ValueRefused(f"a {type(value).__name__} has no stored form", fix="declare another type for the property")
