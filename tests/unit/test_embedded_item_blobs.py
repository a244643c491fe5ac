"""Items as bytes: reversible, and equal exactly when the items are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import InvalidRequest, ValueRefused
from shardweave.table.embedded.item_blobs import decode, encode, normal_form
from shardweave.table.values import Item, from_attribute_values, item_bytes, to_attribute_values

texts = st.text(st.characters(codec="utf-8"), max_size=6)
names = texts.filter(bool)
numbers = st.integers(-(10**38) + 1, 10**38 - 1) | st.decimals(
    min_value=-(10**9), max_value=10**9, allow_nan=False, allow_infinity=False, places=4
)
scalars = st.none() | st.booleans() | texts | numbers | st.binary(max_size=6)
sets = st.sets(names, min_size=1) | st.sets(numbers, min_size=1) | st.sets(st.binary(max_size=6), min_size=1)
values = st.recursive(
    scalars | sets,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
items = st.dictionaries(names, values, max_size=6)


@given(items)
def test_an_item_comes_back_as_dynamodb_gives_it(item: dict[str, Any]) -> None:
    normal, size = normal_form(item)
    assert to_attribute_values(decode(encode(normal))) == to_attribute_values(item)
    assert repr(normal) == repr({name: from_attribute_values({name: v})[name] for name, v in typed(item).items()})
    assert size == item_bytes(normal)


@given(items, items)
def test_bytes_are_equal_when_the_items_are(left: Item, right: Item) -> None:
    assert (encode(normal_form(left)[0]) == encode(normal_form(right)[0])) == (typed(left) == typed(right))


@given(items)
def test_bytes_do_not_depend_on_the_order_of_attributes(item: dict[str, Any]) -> None:
    backwards = dict(reversed(item.items()))
    assert encode(normal_form(item)[0]) == encode(normal_form(backwards)[0])


@pytest.mark.parametrize(
    "other",
    [{"n": Decimal("1")}, {"n": Decimal("1.000")}, {"n": Decimal("10E-1")}],
)
def test_a_number_has_one_form(other: Item) -> None:
    assert encode(normal_form(other)[0]) == encode({"n": 1})


@pytest.mark.parametrize("look_alike", [{"S": "x"}, {"N": "1"}, {"B": "eA=="}, {"M": {}}])
def test_a_map_that_looks_like_a_typed_value_stays_a_map(look_alike: dict[str, Any]) -> None:
    for item in ({"map": look_alike}, {"map": look_alike, "binary": b"x"}):
        assert decode(encode(item)) == item


def test_changing_an_item_after_it_was_given_changes_nothing() -> None:
    given_item: dict[str, Any] = {"list": [1, {"map": {}}], "set": {1}}
    normal, _ = normal_form(given_item)
    given_item["list"][1]["map"]["late"] = 1
    given_item["set"].add(2)
    assert normal == {"list": [1, {"map": {}}], "set": {1}}


def test_an_attribute_needs_a_name() -> None:
    with pytest.raises(InvalidRequest):
        normal_form({"": 1})


@pytest.mark.parametrize("value", [1.5, float("nan"), set(), {1, "x"}, object(), "\ud800", 10**38 + 1])
def test_a_value_that_dynamodb_can_not_hold_is_refused(value: object) -> None:
    with pytest.raises(ValueRefused):
        normal_form({"attribute": value})


def typed(item: Item) -> dict[str, Any]:
    return to_attribute_values(item)
