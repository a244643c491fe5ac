"""Every type that a property can have, with values of it, the tests of a filter that it has, and what orders it."""

from __future__ import annotations

import datetime as dt
import enum
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from shardweave.values.codecs import DecimalCodec, PaddedIntegerCodec, SemanticVersion, Timestamp, TimestampSeconds
from tests.unit.codec_cases import precedence

Draw = Callable[[random.Random], Any]

EQUALITY = ("eq", "ne", "in", "exists")
ORDER = ("lt", "le", "gt", "ge", "between")
PARTS = ("begins_with", "contains")
ALL = (*EQUALITY, *ORDER, *PARTS, "size")


class Mood(enum.Enum):
    CALM = "calm"
    BUSY = "busy"
    ANGRY = "angry"


class Odd(enum.Enum):
    X = 7
    Y = 3
    Z = 11


class Level(enum.IntEnum):
    ONE = 1
    THREE = 3
    NINE = 9


class Tone(enum.StrEnum):
    LOW = "low"
    HIGH = "high"


def rank(member: enum.Enum) -> int:
    return list(type(member)).index(member)


def itself(value: Any) -> Any:
    return value


def one_of(*values: Any) -> Draw:
    return lambda chooser: chooser.choice(values)


def zone(chooser: random.Random) -> dt.timezone:
    return dt.timezone(dt.timedelta(minutes=30 * chooser.randint(-20, 20)))


def clock(chooser: random.Random) -> dt.time:
    """A time of day, often the same as another one in another zone."""
    hour, hours = chooser.choice([9, 10, 11]), chooser.choice([None, 0, 1, -2])
    if hours is None:
        return dt.time(hour)
    return dt.time(hour + hours, tzinfo=dt.timezone(dt.timedelta(hours=hours)))


def version(chooser: random.Random) -> str:
    numbers = f"1.{chooser.choice([9, 10])}.0"
    return numbers + chooser.choice(["", "-beta.2", "-beta.10", "-rc"])


def span(chooser: random.Random) -> dt.timedelta:
    return dt.timedelta(days=chooser.choice([-10, -9, 0, 9, 10]), seconds=chooser.choice([0, 9]))


@dataclass(frozen=True)
class Kind:
    """A type: values of it, the tests that it has, what Python orders them by, and bounds that are no values."""

    annotation: Any
    draw: Draw
    tests: tuple[str, ...] = (*EQUALITY, *ORDER)
    order: Callable[[Any], Any] = itself
    bounds: Draw | None = None
    members: Draw | None = None
    has_members: bool = False


TEXTS = ("a", "an", "ann", "b", "é", "\U00010000", "Z", "10", "9")
INSTANT = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
KINDS: dict[str, Kind] = {
    "str": Kind(str, one_of(*TEXTS), ALL),
    "int": Kind(int, lambda chooser: chooser.randint(-12, 12), bounds=one_of(0.5, Decimal("-1.5"), 10)),
    "float": Kind(float, one_of(-1.5, 0.1, 0.2, 1e-7, 1.0, 10.0, 9.5), bounds=one_of(0.15, 3)),
    "Decimal": Kind(Decimal, one_of(*map(Decimal, ("-1.5", "0.1", "0.10", "9", "10", "1E+3")))),
    "Decimal of two places": Kind(
        Annotated[Decimal, DecimalCodec(2)],
        one_of(*map(Decimal, ("-1.5", "0.10", "9", "10"))),
        bounds=one_of(Decimal("0.105")),
    ),
    "bytes": Kind(bytes, one_of(b"a", b"ab", b"\xff", b"b"), ALL),
    "bool": Kind(bool, one_of(True, False)),
    "date": Kind(dt.date, lambda chooser: dt.date(2024, chooser.randint(9, 12), chooser.randint(9, 10)), (*ALL[:-1],)),
    "datetime": Kind(
        dt.datetime,
        lambda chooser: (INSTANT + dt.timedelta(minutes=30 * chooser.randint(0, 8))).astimezone(zone(chooser)),
        (*ALL[:-1],),
    ),
    "time": Kind(dt.time, clock),
    "timedelta": Kind(dt.timedelta, span),
    "UUID": Kind(uuid.UUID, lambda chooser: uuid.UUID(int=chooser.choice([1, 9, 10, 2**127])), (*ALL[:-1],)),
    "Enum of texts": Kind(Mood, one_of(*Mood), ALL, rank),
    "Enum of numbers that do not rise": Kind(Odd, one_of(*Odd), order=rank),
    "IntEnum": Kind(Level, one_of(*Level), bounds=one_of(2, 4.5)),
    "StrEnum": Kind(Tone, one_of(*Tone), ALL, rank),
    "Literal of texts": Kind(Literal["low", "high"], one_of("low", "high"), ALL),
    "Literal of numbers": Kind(Literal[1, 2, 10], one_of(1, 2, 10)),
    "semantic version": Kind(SemanticVersion, version, ALL, precedence),
    "padded integer": Kind(Annotated[str, PaddedIntegerCodec(4)], one_of("0009", "0010", "0100", "1000"), ALL),
    "Timestamp": Kind(Timestamp, lambda chooser: 1_730_000_000_000 + chooser.randint(-3, 3)),
    "TimestampSeconds": Kind(TimestampSeconds, lambda chooser: 1_730_000_000 + chooser.randint(-3, 3)),
    "Any": Kind(Any, one_of(1, 1.5, 9, "9", "10", "a"), ALL),
    "int or str": Kind(int | str, one_of(1, 9, 10, "9", "10", "a"), ALL),
    "timedelta or int": Kind(
        dt.timedelta | int, lambda chooser: chooser.choice([span(chooser), chooser.randint(-3, 3)])
    ),
    "Enum or int": Kind(Mood | int, one_of(1, 2, *Mood), EQUALITY),
    "bool or str": Kind(bool | str, one_of(True, "a", "b"), (*EQUALITY, *PARTS, "size")),
    "list of texts": Kind(
        list[str],
        one_of([], ["a"], ["a", "b"], ["b", "a"]),
        (*EQUALITY, "contains", "size"),
        members=one_of("a", "b"),
        has_members=True,
    ),
    "list of times": Kind(
        list[dt.time],
        lambda chooser: [clock(chooser) for _ in range(chooser.randint(0, 2))],
        (*EQUALITY, "contains", "size"),
        members=clock,
        has_members=True,
    ),
    "list of Enums": Kind(
        list[Mood],
        one_of([], [Mood.CALM], [*Mood]),
        (*EQUALITY, "contains", "size"),
        members=one_of(*Mood),
        has_members=True,
    ),
    "tuple of two types": Kind(
        tuple[int, str],
        one_of((1, "a"), (2, "b")),
        (*EQUALITY, "contains", "size"),
        members=one_of(1, 2, "a", "b"),
        has_members=True,
    ),
    "set of numbers": Kind(
        set[int],
        one_of(set(), {1}, {1, 2}, {10}),
        (*EQUALITY, "contains", "size"),
        members=one_of(1, 2, 10),
        has_members=True,
    ),
    "mapping": Kind(dict[str, int], one_of({}, {"a": 1}, {"b": 1, "a": 2}), (*EQUALITY, "size"), has_members=True),
}
