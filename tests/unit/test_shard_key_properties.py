"""Keys that lie in separate properties, and what a null there means."""

from __future__ import annotations

import contextlib
import datetime as dt
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import InvalidShardArguments, ValueRefused
from shardweave.keys.shard_key import AnyKey, KeyProperties, ShardChild, ShardGrandchild, ShardKey, read_keys
from shardweave.values.stored_form import stored_form

from .shard_key_cases import IDS, KINDS, keys_of

CUSTOMER = KeyProperties(ShardKey, origin="u", shard="customerShard", ids={"customerId": uuid.UUID})
LINE = KeyProperties(ShardChild, origin="o", shard="orderShard", ids={"orderId": str, "line": int}, optional=True)
TENANT = KeyProperties(ShardKey, origin="t", shard="tenantShard", ids={"tenantId": str}, required=True)

NUMBER = uuid.UUID("6f1c5f0e-2b7c-4c3f-9a51-0c1d2e3f4a5b")
ITEM = {
    "customerShard": "1",
    "customerId": str(NUMBER),
    "orderShard": "",
    "orderId": "order-123",
    "line": 7,
    "tenantShard": "0a",
    "tenantId": "acme",
    "color": "red",
}
KEYS_OF_ITEM = {
    "customer": ShardKey("u", "1", NUMBER),
    "line": ShardChild("o", "", "order-123", 7),
    "tenant": ShardKey("t", "0a", "acme"),
}
DECLARED: dict[str, KeyProperties[Any]] = {"customer": CUSTOMER, "line": LINE, "tenant": TENANT}


def test_a_key_is_read_from_an_item_and_from_a_record_s_own_values() -> None:
    assert read_keys(ITEM, DECLARED) == KEYS_OF_ITEM
    assert CUSTOMER.decode(ITEM | {"customerId": NUMBER}) == KEYS_OF_ITEM["customer"]
    assert CUSTOMER.encode(ShardKey("u", "1", NUMBER)) == {"customerShard": "1", "customerId": NUMBER}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("python", IDS, ids=lambda python: python.__name__)
@given(data=st.data())
def test_what_a_key_was_written_to_gives_it_back(kind: type[AnyKey], python: type, data: st.DataObject) -> None:
    key = data.draw(keys_of(kind, IDS[python], st.just("u")))
    names = [f"part{place}" for place in range(len(kind.id_names))]
    properties = KeyProperties(kind, origin="u", shard="at", ids=dict.fromkeys(names, python))
    values = properties.encode(key)
    assert properties.decode(values) == key
    with contextlib.suppress(ValueRefused):
        # A number that no table holds can be in a key all the same; one that it holds comes back equal, as a number.
        stored = {name: stored_form(value) for name, value in values.items()}
        assert properties.encode(properties.decode(stored)) == values


@pytest.mark.parametrize("null", ["missing", "None"])
@pytest.mark.parametrize("name", ["customerShard", "customerId"])
def test_a_null_part_is_an_error(name: str, null: str) -> None:
    with pytest.raises(InvalidShardArguments, match="a part of a key is null") as refused:
        read_keys(with_null(name, null), DECLARED)
    assert refused.value.where == name


@pytest.mark.parametrize("null", ["missing", "None"])
@pytest.mark.parametrize("name", ["orderShard", "orderId", "line"])
def test_a_null_part_makes_an_optional_key_none(name: str, null: str) -> None:
    assert LINE.decode(with_null(name, null)) is None
    assert read_keys(with_null(name, null), DECLARED) == KEYS_OF_ITEM | {"line": None}


@pytest.mark.parametrize("null", ["missing", "None"])
@pytest.mark.parametrize("name", ["tenantShard", "tenantId"])
def test_a_null_part_of_a_required_key_makes_the_whole_record_none(name: str, null: str) -> None:
    assert TENANT.decode(with_null(name, null)) is None
    item = with_null(name, null)
    assert read_keys(item, DECLARED) is None
    del item["customerId"]
    assert read_keys(item, DECLARED) is None, "whatever else is wrong with it"


def test_what_is_empty_false_or_zero_is_not_null() -> None:
    properties = KeyProperties(ShardGrandchild, origin="u", shard="at", ids={"a": str, "b": int, "c": bool})
    assert properties.decode({"at": "", "a": "", "b": 0, "c": False}) == ShardGrandchild("u", "", "", 0, False)


def test_none_is_written_as_nulls_where_it_may_be_read() -> None:
    assert LINE.encode(None) == {"orderShard": None, "orderId": None, "line": None}
    assert LINE.decode(LINE.encode(None)) is None
    for properties in (CUSTOMER, TENANT):
        with pytest.raises(InvalidShardArguments, match="null"):
            properties.encode(None)


def test_a_key_of_another_entity_or_kind_is_not_written() -> None:
    for key in (ShardKey("e", "1", NUMBER), ShardChild("u", "1", NUMBER, 1)):
        with pytest.raises(InvalidShardArguments, match="another kind or entity") as refused:
            CUSTOMER.encode(key)  # type: ignore[arg-type]
        assert refused.value.where == "customerShard"


@pytest.mark.parametrize(
    ("python", "value"),
    [
        (uuid.UUID, "secret"),
        (int, "5"),
        (int, True),
        (int, 2**64),
        (str, 5),
        (bool, 1),
        (bytes, "secret"),
        (dt.datetime, "2024-01-31T00:00:00"),
        (dt.date, "2024-02-31"),
        (float, "NaN"),
    ],
)
def test_a_value_that_is_no_id_of_its_type_is_refused_by_the_property_s_name(python: type, value: Any) -> None:
    properties = KeyProperties(ShardChild, origin="u", shard="at", ids={"first": str, "second": python})
    with pytest.raises(InvalidShardArguments) as refused:
        properties.decode({"at": "1", "first": "x", "second": value})
    assert refused.value.where == "second"
    assert "secret" not in str(refused.value)


def test_a_shard_that_is_no_suffix_is_refused_by_the_property_s_name() -> None:
    with pytest.raises(InvalidShardArguments) as refused:
        CUSTOMER.decode(ITEM | {"customerShard": "user!1"})
    assert refused.value.where == "customerShard"


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("origin", {"origin": "0"}),
        ("origin", {"origin": "users"}),
        ("ids", {"ids": {}}),
        ("ids", {"ids": {"a": str, "b": str}}),
        ("a", {"ids": {"a": list[str]}}),
        ("a", {"ids": {"a": object}}),
        ("required", {"optional": True, "required": True}),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(where: str, change: dict[str, Any]) -> None:
    declaration: dict[str, Any] = {"origin": "u", "shard": "at", "ids": {"a": str}}
    assert KeyProperties(ShardKey, **declaration)
    with pytest.raises(InvalidShardArguments) as refused:
        KeyProperties(ShardKey, **(declaration | change))
    assert refused.value.where == where
    assert refused.value.fix


def with_null(name: str, null: str) -> dict[str, Any]:
    without = {each: value for each, value in ITEM.items() if each != name}
    return without if null == "missing" else without | {name: None}
