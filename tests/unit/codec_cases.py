"""Every codec with values to try it on: what tests of codecs, key formats and keys draw from."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from shardweave.values.codecs import (
    BooleanCodec,
    Codec,
    DateCodec,
    DateTimeCodec,
    DecimalCodec,
    DescendingCodec,
    EnumCodec,
    IntegerCodec,
    PaddedIntegerCodec,
    SemanticVersionCodec,
    StringCodec,
    TimestampCodec,
    UuidCodec,
)
from shardweave.values.stored_form import stored_form


class Color(enum.Enum):
    """Declared in an order that is not the alphabet's."""

    RED = "red"
    GREEN = "green"
    BLUE = "blue"


@dataclass(frozen=True)
class Case:
    """A codec, stored values for it, and what they are ordered by."""

    codec: Codec
    values: st.SearchStrategy[Any]
    order: Callable[[Any], Any]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
HOSTILE_TEXT = st.text(st.sampled_from('\x00\x1f !"#|~a1\x7f\u0100\uffff\U00010000\U0010ffff'), max_size=6)
_LARGE = 10**20 - 1
_IDENTIFIERS = st.one_of(
    st.integers(0, 999).map(str), st.from_regex(r"[0-9A-Za-z-]*[A-Za-z-][0-9A-Za-z-]*", fullmatch=True)
)
_VERSIONS = st.builds(
    lambda numbers, pre: ".".join(map(str, numbers)) + ("-" + ".".join(pre) if pre else ""),
    st.tuples(*[st.one_of(st.integers(0, 12), st.integers(0, 10**10 - 1))] * 3),
    st.lists(_IDENTIFIERS, max_size=3),
)
_ZONES = st.builds(dt.timezone, st.timedeltas(dt.timedelta(hours=-14), dt.timedelta(hours=14)))
_INSTANTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=_ZONES)  # noqa: DTZ001


def precedence(version: str) -> Any:
    """The order that the specification of semantic versions gives."""
    core, _, pre_release = version.partition("-")
    identifiers = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in pre_release.split(".")]
    return [int(part) for part in core.split(".")], not pre_release, identifiers if pre_release else []


def itself(value: Any) -> Any:
    return value


CASES: dict[str, Case] = {
    "str": Case(StringCodec(), st.one_of(TEXT, HOSTILE_TEXT), itself),
    "int": Case(IntegerCodec(), st.one_of(st.integers(-15, 15), st.integers(-_LARGE, _LARGE)), itself),
    "Decimal": Case(DecimalCodec(2), st.decimals(-_LARGE, _LARGE, allow_nan=False, places=2), itself),
    "Decimal, 18 places": Case(DecimalCodec(18), st.decimals(-99, 99, allow_nan=False, places=18), itself),
    "Timestamp": Case(TimestampCodec("ms"), st.one_of(st.just(0), st.integers(10**11, 10**13 - 1)), itself),
    "TimestampSeconds": Case(TimestampCodec("s"), st.integers(0, 10**10 - 1), itself),
    "datetime": Case(DateTimeCodec(), _INSTANTS.map(stored_form), dt.datetime.fromisoformat),
    "date": Case(DateCodec(), st.dates().map(stored_form), dt.date.fromisoformat),
    "bool": Case(BooleanCodec(), st.booleans(), itself),
    "UUID": Case(UuidCodec(), st.uuids().map(str), itself),
    "Enum": Case(EnumCodec(Color), st.sampled_from([color.value for color in Color]), ["red", "green", "blue"].index),
    "SemanticVersion": Case(SemanticVersionCodec(), _VERSIONS, precedence),
    "padded integer": Case(PaddedIntegerCodec(4), st.integers(0, 9999).map("{:04d}".format), int),
}


@functools.total_ordering
class Reversed:
    """A value in reverse order."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and bool(self.value == other.value)

    def __lt__(self, other: Reversed) -> bool:
        return bool(other.value < self.value)

    __hash__ = None  # type: ignore[assignment]


def _descending(case: Case) -> Case:
    return Case(DescendingCodec(case.codec), case.values, lambda value: Reversed(case.order(value)))


CASES |= {f"desc({name})": _descending(case) for name, case in CASES.items() if case.codec.complement}

NAMES = re.compile("[a-z][A-Za-z0-9]*")
