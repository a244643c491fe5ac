"""Times as they are given: in Python a datetime or an epoch number, as text an epoch number or ISO 8601.

A date (only in the form 2024-01-31) means its midnight in UTC; a date and time needs a zone. A fraction of an epoch
number's unit is truncated; an instant with more than microseconds is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Literal, TypeAlias, overload

from ..errors import ValueRefused
from .codecs import TimestampCodec
from .json_types import below_microseconds
from .stored_form import epoch_number

_INTEGER = re.compile("-?[0-9]{1,30}")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DIGITS_OF_DATE = re.compile("[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])")
_CLOCK = re.compile("[Tt :]")
_SPACE_FOR_PLUS = re.compile("[0-9-]{10}[Tt ][0-9:.,]+ [0-9]{2}:?[0-9]{2}")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Moment: TypeAlias = dt.datetime | int
"""A moment in Python: a datetime with its zone, or the epoch number in the unit that is meant."""


@overload
def epoch_of(moment: Moment, unit: Literal["ms", "s"], where: str) -> int: ...
@overload
def epoch_of(moment: Moment | None, unit: Literal["ms", "s"], where: str) -> int | None: ...
def epoch_of(moment: Moment | None, unit: Literal["ms", "s"], where: str) -> int | None:
    """The epoch number of a moment; that of a datetime is truncated to the unit. Raises ValueRefused naming `where`,
    also for a datetime without a zone."""
    if not isinstance(moment, dt.datetime):
        given: object = moment
        if given is not None and (isinstance(given, bool) or not isinstance(given, int)):
            message = f"must be a datetime or a whole number of epoch {unit}, got {type(given).__name__}"
            raise ValueRefused(message, where=where, fix="give datetime(2025, 1, 31, tzinfo=UTC), say")
        return moment
    try:
        return epoch_number(moment, unit)
    except ValueRefused as error:
        error.where = where
        raise


def parse_time(text: str, codec: TimestampCodec, where: str) -> int:
    """A time in the codec's unit, from a URL. Raises ValueRefused naming `where`."""
    if not _INTEGER.fullmatch(text):
        return iso_time(text, codec, where)
    try:
        codec.encode(int(text))
    except ValueRefused as error:
        error.where = where
        if _DIGITS_OF_DATE.fullmatch(text):
            error.fix = f"{error.fix}; a date is written {text[:4]}-{text[4:6]}-{text[6:]}"
        raise
    return int(text)


def iso_time(text: str, codec: TimestampCodec, where: str) -> int:
    """Like `parse_time`, but only for ISO 8601 text, since numbers in JSON are not text. Raises ValueRefused naming
    `where`."""
    unit = dt.timedelta(milliseconds=1) if codec.unit == "ms" else dt.timedelta(seconds=1)
    return (_instant(text, where, f"epoch {codec.unit}, ", "neither a number nor") - _EPOCH) // unit


def parse_instant(text: str, where: str) -> dt.datetime:
    """An instant for a property that is a datetime. Raises ValueRefused naming `where`."""
    if below_microseconds(text):
        raise ValueRefused("it has parts of a microsecond", where=where, fix="give at most six decimals of a second")
    return _instant(text, where, "", "not")


def _instant(text: str, where: str, numbers: str, verdict: str) -> dt.datetime:
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        fix = f"write {numbers}2024-01-31 or 2024-01-31T09:30:00Z"
        if _SPACE_FOR_PLUS.fullmatch(text):
            fix = "write the + before its zone as %2B in a URL, where + is a space"
        raise ValueRefused(f"it is {verdict} an ISO 8601 time", where=where, fix=fix) from None
    if instant.tzinfo is None:
        if not (_DATE.fullmatch(text) or _CLOCK.search(text)):
            raise ValueRefused("must be a date in ISO 8601", where=where, fix=f"write {instant.date()}")
        if not _DATE.fullmatch(text):
            raise ValueRefused("the time has no zone", where=where, fix="end it with Z")
        instant = instant.replace(tzinfo=dt.UTC)
    return instant
