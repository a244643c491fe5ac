"""Text whose byte order is the value's order, for every type that can be in a key."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError, ValueRefused
from shardweave.values.codecs import (
    BinaryCodec,
    BooleanCodec,
    Codec,
    DateCodec,
    DateTimeCodec,
    DecimalCodec,
    DescendingCodec,
    EnumCodec,
    IntegerCodec,
    NumberCodec,
    PaddedIntegerCodec,
    SemanticVersion,
    SemanticVersionCodec,
    StringCodec,
    Timestamp,
    TimestampCodec,
    TimestampSeconds,
    UuidCodec,
    codec_of,
)
from shardweave.values.stored_form import datetime_text, stored_form

from .codec_cases import CASES, Color

CODEC = pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("desc")])
ANY_CODEC = pytest.mark.parametrize("name", list(CASES))


@ANY_CODEC
@given(data=st.data())
def test_texts_are_ordered_as_values_are_and_decode_to_them(name: str, data: st.DataObject) -> None:
    codec, values, order = CASES[name].codec, CASES[name].values, CASES[name].order
    one, two = data.draw(values), data.draw(values)
    text, other = codec.encode(one), codec.encode(two)
    assert codec.decode(text) == one
    assert (text.encode() < other.encode()) == (order(one) < order(two))
    assert (text == other) == (order(one) == order(two))
    assert codec.complement is None or len(text) == len(other)
    assert not codec.safe or min(text + other) > "!"


@CODEC
@given(data=st.data())
def test_only_what_was_written_can_be_read(name: str, data: st.DataObject) -> None:
    codec = CASES[name].codec
    written = codec.encode(data.draw(CASES[name].values))
    place = data.draw(st.integers(0, len(written)))
    inserted = data.draw(st.text("0123456789pnft٣abx.-+~ ", max_size=2))
    changed = written[:place] + inserted + written[place + data.draw(st.integers(0, 2)) :]
    try:
        value = codec.decode(changed)
    except ValueRefused:
        return
    assert codec.encode(value) == changed


EXAMPLES: list[tuple[Codec, Any, str]] = [
    (StringCodec(), "Gómez", "Gómez"),
    (IntegerCodec(), 7, "p00000000000000000007"),
    (IntegerCodec(), Decimal("7.0"), "p00000000000000000007"),
    (IntegerCodec(), -1, "n99999999999999999998"),
    (IntegerCodec(), -2, "n99999999999999999997"),
    (DecimalCodec(2), Decimal("7.5"), "p00000000000000000007.50"),
    (DecimalCodec(2), 7, "p00000000000000000007.00"),
    (DecimalCodec(2), Decimal("7E+2"), "p00000000000000000700.00"),
    (DecimalCodec(2), Decimal("-0.01"), "n99999999999999999999.98"),
    (DecimalCodec(2), Decimal("-0"), "p00000000000000000000.00"),
    (DecimalCodec(2), Decimal("0E+999999"), "p00000000000000000000.00"),
    (DecimalCodec(18), Decimal("99999999999999999999.999999999999999999"), "p99999999999999999999.999999999999999999"),
    (TimestampCodec("ms"), 1726880933000, "1726880933000"),
    (TimestampCodec("ms"), 0, "0000000000000"),
    (TimestampCodec("s"), 1726880933, "1726880933"),
    (TimestampCodec("s"), 5, "0000000005"),
    (DateTimeCodec(), "2024-01-31T09:30:00.000000Z", "2024-01-31T09:30:00.000000Z"),
    (DateTimeCodec(), dt.datetime(2024, 1, 31, 9, 30, tzinfo=dt.UTC), "2024-01-31T09:30:00.000000Z"),
    (DateTimeCodec(), dt.datetime(7, 1, 31, tzinfo=dt.UTC), "0007-01-31T00:00:00.000000Z"),
    (DateCodec(), dt.date(2024, 1, 31), "2024-01-31"),
    (BooleanCodec(), False, "f"),
    (BooleanCodec(), True, "t"),
    (UuidCodec(), uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (EnumCodec(Color), "green", "001"),
    (EnumCodec(Color), Color.GREEN, "001"),
    (SemanticVersionCodec(), "1.12.0", "0000000001.0000000012.0000000000~"),
    (SemanticVersionCodec(), "1.12.0-beta.2", "0000000001.0000000012.0000000000-1beta+00000000002"),
    (PaddedIntegerCodec(4), "0042", "0042"),
    (NumberCodec(), Decimal("1.50"), "1.5"),
    (DescendingCodec(IntegerCodec()), 7, "n99999999999999999992"),
    (DescendingCodec(IntegerCodec()), -1, "p00000000000000000001"),
    (DescendingCodec(BooleanCodec()), True, "f"),
]


@pytest.mark.parametrize(("codec", "value", "text"), EXAMPLES, ids=[text for _, _, text in EXAMPLES])
def test_what_a_text_looks_like(codec: Codec, value: Any, text: str) -> None:
    assert codec.encode(value) == text
    assert codec.decode(text) == stored_form(value)


REFUSED: list[tuple[Codec, Any, str]] = [
    (StringCodec(), 1, "it is a int"),
    (StringCodec(), b"a", "it is a bytes"),
    (StringCodec(), "a\ud800", "half of a surrogate pair"),
    (IntegerCodec(), True, "it is a bool"),
    (IntegerCodec(), 1.0, "it is a float"),
    (IntegerCodec(), "1", "it is a str"),
    (IntegerCodec(), Decimal("1.5"), "not a whole number"),
    (IntegerCodec(), Decimal("NaN"), "not a whole number"),
    (IntegerCodec(), Decimal("Infinity"), "not a whole number"),
    (IntegerCodec(), Decimal("1E+999999"), "too many digits"),
    (IntegerCodec(), 10**20, "too many digits"),
    (IntegerCodec(), -(10**20), "too many digits"),
    (IntegerCodec(), 10**5000, "too many digits"),
    (DecimalCodec(2), True, "it is a bool"),
    (DecimalCodec(2), 0.5, "it is a float"),
    (DecimalCodec(2), Decimal("0.001"), "more than 2 decimal places"),
    (DecimalCodec(2), Decimal("1E-999999"), "more than 2 decimal places"),
    (DecimalCodec(2), Decimal("1E+20"), "more than 20 digits before the point"),
    (DecimalCodec(2), Decimal("1E+999999"), "more than 20 digits before the point"),
    (DecimalCodec(2), Decimal("9" * 5000), "more than 20 digits before the point"),
    (DecimalCodec(2), Decimal("sNaN"), "not finite"),
    (DecimalCodec(2), Decimal("-Infinity"), "not finite"),
    (TimestampCodec("ms"), 1726880933, "in seconds, milliseconds are due"),
    (TimestampCodec("ms"), 10**13, "does not fit 13 digits"),
    (TimestampCodec("ms"), -1, "does not fit 13 digits"),
    (TimestampCodec("ms"), True, "it is a bool"),
    (TimestampCodec("s"), 1726880933000, "does not fit 10 digits"),
    (DateTimeCodec(), dt.datetime(2024, 1, 31), "has no time zone"),  # noqa: DTZ001
    (DateTimeCodec(), "2024-01-31T09:30:00", "has no time zone"),
    (DateTimeCodec(), "2024-01-31T09:30:00Z", "not in UTC with microseconds"),
    (DateTimeCodec(), "2024-01-31T09:30:00.000000+02:00", "not in UTC with microseconds"),
    (DateTimeCodec(), "yesterday", "not an ISO 8601 date and time"),
    (DateTimeCodec(), dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=1))), "outside the years"),
    (DateTimeCodec(), 5, "it is a int"),
    (DateCodec(), "2024-W05-3", "not an ISO 8601 date"),
    (DateCodec(), "20240131", "not an ISO 8601 date"),
    (DateCodec(), dt.datetime(2024, 1, 31, tzinfo=dt.UTC), "not an ISO 8601 date"),
    (DateCodec(), 5, "not an ISO 8601 date"),
    (BooleanCodec(), 1, "it is a int"),
    (UuidCodec(), "{00000000-0000-0000-0000-000000000001}", "not a UUID in lower case"),
    (UuidCodec(), "ABCDEF00-0000-0000-0000-000000000001", "not a UUID in lower case"),
    (UuidCodec(), 5, "not a UUID"),
    (EnumCodec(Color), "yellow", "must be a member"),
    (EnumCodec(Color), ["red"], "must be a member"),
    (SemanticVersionCodec(), "1.2", "not major.minor.patch"),
    (SemanticVersionCodec(), "1.2.3+build", "not major.minor.patch"),
    (SemanticVersionCodec(), "01.2.3", "not major.minor.patch"),
    (SemanticVersionCodec(), "1.2.3-a..b", "is empty"),
    (SemanticVersionCodec(), "1.2.3-01", "padded"),
    (SemanticVersionCodec(), "1.2.99999999999", "not major.minor.patch"),
    (SemanticVersionCodec(), 1, "not major.minor.patch"),
    (PaddedIntegerCodec(4), "42", "it has 2 digits, 4 are due"),
    (PaddedIntegerCodec(4), "00042", "it has 5 digits, 4 are due"),
    (PaddedIntegerCodec(4), 42, "must be a text of digits"),
    (PaddedIntegerCodec(4), "٠٠٤٢", "must be a text of digits"),
    (NumberCodec(), Decimal("NaN"), "finite"),
    (NumberCodec(), True, "it is a bool"),
    (BinaryCodec(), b"a", "bytes have no text"),
]


@pytest.mark.parametrize(("codec", "value", "reason"), REFUSED, ids=[f"{c.name}-{r}" for c, _, r in REFUSED])
def test_what_has_no_exact_text_is_refused_with_the_reason_and_a_fix(codec: Codec, value: Any, reason: str) -> None:
    with pytest.raises(ValueRefused, match=reason) as refused:
        codec.encode(value)
    assert refused.value.fix


def test_a_refusal_never_shows_the_value() -> None:
    for codec, value, _ in REFUSED:
        if isinstance(value, str) and len(value) > 6:
            with pytest.raises(ValueRefused) as refused:
                codec.encode(value)
            assert value not in str(refused.value)


class Text(str):
    """A str that prints itself otherwise."""

    __slots__ = ()

    def __str__(self) -> str:
        return "printed"


class Whole(int):
    """An int that prints itself otherwise."""

    def __str__(self) -> str:
        return "printed"


class Level(enum.IntEnum):
    """Ranks follow the declaration, not the numbers."""

    HIGH = 9
    LOW = 1


class Kind(enum.StrEnum):
    """Members are strings too."""

    ZEBRA = "zebra"
    ANT = "ant"


def test_subclasses_are_stored_as_what_they_hold() -> None:
    assert stored_form(Text("held")) == "held"
    assert type(stored_form(Text("held"))) is str
    assert type(stored_form(Whole(5))) is int
    assert type(stored_form(Kind.ANT)) is str
    assert stored_form([Text("held"), {Text("a"): Level.LOW}]) == ["held", {"a": 1}]
    assert IntegerCodec().encode(stored_form(Whole(5))) == "p00000000000000000005"


def test_enums_that_are_also_strings_or_numbers_go_by_rank() -> None:
    codec = codec_of(Kind)
    assert isinstance(codec, EnumCodec)
    assert [codec.encode(kind) for kind in (Kind.ZEBRA, Kind.ANT, "zebra")] == ["000", "001", "000"]
    level = codec_of(Level)
    assert level is not None
    assert [level.encode(value) for value in (Level.HIGH, 1)] == ["000", "001"]
    with pytest.raises(ValueRefused):
        level.encode(True)


def test_a_member_added_at_the_end_keeps_every_text() -> None:
    longer = enum.Enum("longer", {**{color.name: color.value for color in Color}, "PINK": "pink"})
    for color in Color:
        assert EnumCodec(Color).encode(color.value) == EnumCodec(longer).encode(color.value)


UserId = NewType("UserId", str)
Short = Annotated[str, pydantic.StringConstraints(max_length=5)]

ANNOTATIONS: list[tuple[Any, type[Codec] | None]] = [
    (str, StringCodec),
    (UserId, StringCodec),
    (Short, StringCodec),
    (Short | None, StringCodec),
    (Optional[UserId], StringCodec),  # noqa: UP045
    (Literal["a", "b"], StringCodec),
    (Literal["a", None], StringCodec),
    (Literal[1, 2], IntegerCodec),
    (Literal[True], BooleanCodec),
    (Literal[Color.RED], EnumCodec),
    (Literal["a", 1], None),
    (int, IntegerCodec),
    (Annotated[int, pydantic.Field(gt=0)], IntegerCodec),
    (pydantic.PositiveInt, IntegerCodec),
    (Timestamp, TimestampCodec),
    (Timestamp | None, TimestampCodec),
    (Annotated[Timestamp, pydantic.Field(gt=0)], TimestampCodec),
    (TimestampSeconds, TimestampCodec),
    (bool, BooleanCodec),
    (Decimal, NumberCodec),
    (float, NumberCodec),
    (Annotated[Decimal, DecimalCodec(2)], DecimalCodec),
    (Annotated[Decimal | None, DecimalCodec(2)], DecimalCodec),
    (dt.datetime, DateTimeCodec),
    (pydantic.AwareDatetime, DateTimeCodec),
    (dt.date, DateCodec),
    (pydantic.PastDate, DateCodec),
    (uuid.UUID, UuidCodec),
    (pydantic.UUID4, UuidCodec),
    (Color, EnumCodec),
    (Color | None, EnumCodec),
    (SemanticVersion, SemanticVersionCodec),
    (Annotated[str, PaddedIntegerCodec(8)], PaddedIntegerCodec),
    (bytes, BinaryCodec),
    (str | int, None),
    (list[str], None),
    (dict[str, int], None),
    (dt.time, None),
    (pydantic.BaseModel, None),
    (enum.Enum("Odd", {"ONE": [1]}), None),
    (enum.Enum("Twice", {"ONE": uuid.UUID(int=1), "TWO": str(uuid.UUID(int=1))}), None),
    (enum.Enum("Long", {f"M{number}": number for number in range(1001)}), None),
    (Any, None),
]


@pytest.mark.parametrize(("annotation", "kind"), ANNOTATIONS, ids=range(len(ANNOTATIONS)))
def test_the_codec_of_an_annotation(annotation: Any, kind: type[Codec] | None) -> None:
    found = codec_of(annotation)
    assert type(found) is (kind or type(None))


@pytest.mark.parametrize("places", [0, 19])
def test_a_codec_with_impossible_settings_is_refused(places: int) -> None:
    with pytest.raises(ConfigurationError, match="must be 1 to 18"):
        DecimalCodec(places)
    with pytest.raises(ValueError, match="must be at least 1"):
        PaddedIntegerCodec(0)


def test_only_types_of_fixed_width_can_be_reversed() -> None:
    with pytest.raises(ValueError, match="no fixed width"):
        DescendingCodec(StringCodec())


@pytest.mark.parametrize("seconds", [1, 3630, -90])
def test_a_time_of_day_whose_offset_has_seconds_has_no_stored_form(seconds: int) -> None:
    zone = dt.timezone(dt.timedelta(seconds=seconds))
    with pytest.raises(ValueRefused, match="whole minutes"):
        stored_form(dt.time(12, tzinfo=zone))
    assert stored_form(dt.datetime(2024, 1, 2, 12, tzinfo=zone)) == datetime_text(
        dt.datetime(2024, 1, 2, 12, tzinfo=dt.UTC) - dt.timedelta(seconds=seconds)
    )
    whole = dt.timezone(dt.timedelta(minutes=seconds // 60))
    assert dt.time.fromisoformat(stored_form(dt.time(12, tzinfo=whole))) == dt.time(12, tzinfo=whole)
