"""Native values <-> DynamoDB's typed form: reversible, exact, canonical, refused when it has no form."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shardweave.errors import ValueRefused
from shardweave.table.conditions import Compare
from shardweave.table.dynamodb.items import native_item
from shardweave.table.operations import PutItem
from shardweave.table.values import (
    from_attribute_value,
    from_attribute_values,
    item_bytes,
    number,
    number_text,
    to_attribute_value,
    to_attribute_values,
    value_bytes,
)

PLAIN_DIGITS = re.compile(r"0|-?(0|[1-9][0-9]*)\.[0-9]*[1-9]|-?[1-9][0-9]*")

# -- strategies -------------------------------------------------------------------------------------------------------


@st.composite
def numbers(draw: st.DrawFn) -> int | Decimal:
    """Every number that DynamoDB holds: up to 38 digits, 1E-130 to 9.99E+125, written in any way."""
    digits = draw(st.integers(1, 10**38 - 1))
    magnitude = draw(st.integers(-130, 125))
    scaled = Decimal((draw(st.integers(0, 1)), tuple(map(int, str(digits))), magnitude - len(str(digits)) + 1))
    return draw(st.sampled_from([0, scaled, int(scaled) if scaled == scaled.to_integral_value() else scaled]))


texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.none() | st.booleans() | texts | numbers() | st.binary(max_size=8)
sets = st.sets(texts, min_size=1) | st.sets(numbers(), min_size=1) | st.sets(st.binary(max_size=8), min_size=1)
values = st.recursive(
    scalars | sets,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts.filter(bool), inner, max_size=4),
    max_leaves=8,
)


def typed_equal(left: Any, right: Any) -> bool:
    """Equal and of the same type all the way down: Python alone takes True for 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(typed_equal(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(typed_equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


# -- round trips ------------------------------------------------------------------------------------------------------


@given(values)
def test_every_value_comes_back_equal(value: Any) -> None:
    assert typed_equal(from_attribute_value(to_attribute_value(value)), value)


@given(values)
def test_the_typed_form_comes_back_the_same(value: Any) -> None:
    typed = to_attribute_value(value)
    assert to_attribute_value(from_attribute_value(typed)) == typed


@given(st.dictionaries(texts.filter(bool), values, max_size=4))
def test_items_come_back_equal(item: dict[str, Any]) -> None:
    assert typed_equal(from_attribute_values(to_attribute_values(item)), item)


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("", {"S": ""}),
        (True, {"BOOL": True}),
        (1, {"N": "1"}),
        (Decimal("1.50"), {"N": "1.5"}),
        (None, {"NULL": True}),
        (b"", {"B": b""}),
        (bytearray(b"a"), {"B": b"a"}),
        ((1, [True]), {"L": [{"N": "1"}, {"L": [{"BOOL": True}]}]}),
        ({"a": {}}, {"M": {"a": {"M": {}}}}),
        (frozenset({"b", "a"}), {"SS": ["a", "b"]}),
        ({10, 9, Decimal("-1E+40")}, {"NS": ["-1" + "0" * 40, "9", "10"]}),
        ({b"\xff", b"\x00"}, {"BS": [b"\x00", b"\xff"]}),
    ],
)
def test_each_type_has_one_form(value: Any, typed: dict[str, Any]) -> None:
    assert to_attribute_value(value) == typed


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


def test_lists_and_maps_nest_32_deep() -> None:
    assert from_attribute_value(to_attribute_value(nested(32))) == nested(32)
    with pytest.raises(ValueRefused):
        to_attribute_value(nested(33))


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        object(),
        1 + 2j,
        set(),
        frozenset(),
        {1, "a"},
        {True},
        {None},
        {(1, 2)},
        "\ud800",
        ["ok", "\udfff"],
        {"\ud800": 1},
        {"\ud800"},
        {"": 1},
        {1: "a"},
        Decimal("NaN"),
        {Decimal("NaN"), 1},
        Decimal("Infinity"),
        Decimal("-Infinity"),
        10**38 + 1,
        Decimal("0.123456789012345678901234567890123456789"),
        10**126,
        10**5000,
        Decimal("1E+126"),
        Decimal("-9.9E-131"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueRefused) as refused:
        to_attribute_value(value)
    assert refused.value.fix


def test_a_refusal_does_not_quote_the_value() -> None:
    for value in (
        {"name": ["12345678901234567890123456789012345678901", 1.25]},
        Decimal("1." + "7" * 40),
        {"secret", 7},
    ):
        with pytest.raises(ValueRefused) as refused:
            to_attribute_value(value)
        assert not any(part in str(refused.value) for part in ("1.25", "777", "secret", "1234567"))


# -- numbers ----------------------------------------------------------------------------------------------------------


@given(numbers())
def test_a_numbers_text_is_exact(value: int | Decimal) -> None:
    assert Decimal(number_text(value)) == value
    assert number(number_text(value)) == value


@given(numbers(), st.integers(0, 5))
def test_equal_numbers_have_one_text_and_one_size(value: int | Decimal, zeros: int) -> None:
    sign, digits, exponent = Decimal(value).as_tuple()
    assert isinstance(exponent, int)
    padded = Decimal((sign, (*digits, *(0,) * zeros), exponent - zeros))
    assert padded == value
    assert number_text(padded) == number_text(value)
    assert value_bytes(padded) == value_bytes(value)


def texts_of(typed: dict[str, Any]) -> list[str]:
    """The text of every number in a typed form."""
    ((kind, content),) = typed.items()
    if kind == "N":
        return [content]
    inside = content.values() if kind == "M" else content if kind == "L" else [{"N": text} for text in content]
    return [text for each in inside for text in texts_of(each)]


def goes_out_and_comes_back(value: int | Decimal) -> None:
    """The number is sent as plain digits, in every place of an item, and read as the same number."""
    item = {"number": value, "list": [value], "map": {"in": value}, "set": {value}}
    request = json.loads(json.dumps(PutItem(item, condition=Compare("number", "=", value)).request("table")))
    sent = request["Item"] | request["ExpressionAttributeValues"]
    texts = [text for typed in sent.values() for text in texts_of(typed)]
    assert len(texts) == 5
    assert len(set(texts)) == 1
    assert PLAIN_DIGITS.fullmatch(texts[0])
    assert Decimal(texts[0]) == value
    assert native_item(request["Item"]) == item


@given(numbers())
def test_a_number_goes_out_in_plain_digits_and_comes_back_equal(value: int | Decimal) -> None:
    goes_out_and_comes_back(value)


@pytest.mark.parametrize("digits", ["1", "10", "12", "9" * 19, "9" * 38], ids=lambda digits: f"{len(digits)} digits")
@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_of_every_magnitude_go_out_in_plain_digits(digits: str, sign: str) -> None:
    for magnitude in range(-130, 126):
        goes_out_and_comes_back(Decimal(f"{sign}{digits}E{magnitude - len(digits) + 1}"))


@given(numbers(), numbers())
def test_different_numbers_have_different_texts(left: int | Decimal, right: int | Decimal) -> None:
    assume(left != right)
    assert number_text(left) != number_text(right)


@given(numbers())
def test_whole_numbers_come_back_as_int(value: int | Decimal) -> None:
    found = number(number_text(value))
    assert isinstance(found, int) == (value == Decimal(value).to_integral_value())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (Decimal("-0.00"), "0"),
        (Decimal("0E+500"), "0"),
        (-5, "-5"),
        (Decimal("100"), "100"),
        (Decimal("1E+2"), "100"),
        (Decimal("0.0010"), "0.001"),
        (Decimal("-1.10E-3"), "-0.0011"),
        (10**37, "1" + "0" * 37),
        (Decimal("1.10"), "1.1"),
        (Decimal("00012"), "12"),
        (Decimal("-12.50"), "-12.5"),
        (10**38, "1" + "0" * 38),
        (99 * 10**40, "99" + "0" * 40),
        (10**38 - 1, "9" * 38),
        (Decimal("1E+125"), "1" + "0" * 125),
        (Decimal("1E-130"), "0." + "0" * 129 + "1"),
        (Decimal("-1E-130"), "-0." + "0" * 129 + "1"),
        (Decimal("9." + "9" * 37 + "E+125"), "9" * 38 + "0" * 88),
        (Decimal("9." + "9" * 37 + "E-130"), "0." + "0" * 129 + "9" * 38),
    ],
)
def test_the_text_of_a_number(value: int | Decimal, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(("text", "value"), [("1E+2", 100), ("-0", 0), ("1.0", 1), ("0.50", Decimal("0.5"))])
def test_a_number_may_be_written_otherwise(text: str, value: int | Decimal) -> None:
    found = number(text)
    assert (found, type(found)) == (value, type(value))


# -- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("", 0),
        ("abc", 3),
        ("é\U0001f600", 6),
        (None, 1),
        (True, 1),
        (b"abc", 3),
        (bytearray(b"abc"), 3),
        (0, 1),
        (1, 2),
        (12, 2),
        (123, 3),
        (-123, 4),
        (1000, 2),
        (Decimal("0.0015"), 2),
        (10**38 - 1, 20),
        (-(10**38) + 1, 21),
        (10**125, 2),
        ([], 3),
        (["ab", True], 3 + 2 + 1 + 1 + 1),
        ({}, 3),
        ({"ab": "c"}, 3 + 2 + 1 + 1),
        ({"a", "bc"}, 3),
        ({1, 12}, 4),
    ],
)
def test_the_size_of_a_value(value: Any, size: int) -> None:
    assert value_bytes(value) == size


def test_the_size_of_an_item_counts_names_in_bytes() -> None:
    assert item_bytes({"é": "x", "ab": 1}) == (2 + 1) + (2 + 2)


@given(st.dictionaries(texts.filter(bool), values, max_size=4))
def test_an_item_is_as_large_as_its_attributes(item: dict[str, Any]) -> None:
    assert item_bytes(item) == sum(item_bytes({name: value}) for name, value in item.items())
    assert all(value_bytes(value) >= 0 for value in item.values())
