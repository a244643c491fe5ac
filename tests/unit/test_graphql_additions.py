"""Additions and upserts in GraphQL: what the routes of records do, with their refusals and idempotency keys."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import Field

from shardweave import Entity, GraphQL, Schema, Sequence, unique_property
from tests.unit.api_world import Client, api_of, json_of
from tests.unit.graphql_world import Graph, graph


class Stock(Entity, token="stock"):
    """Goods."""

    stock_id: str = unique_property()
    left: int = 0
    value: Decimal = Decimal(0)
    weight: float | None = None
    tags: set[str] = Field(default_factory=set)
    name: str | None = None
    num: int = 0

    num_sequence = Sequence("num")


class Shelf(Entity, token="shelf", collection="shelves", partition=("house", "room"), sort="number"):
    """A shelf."""

    house: str
    room: str
    number: int
    books: int = 0


class Total(Entity, token="total", collection="total", singleton=True):
    """There is one."""

    books: int = 0


def opened(**options: Any) -> Graph:
    return Graph(Client(api_of(Schema([Stock, Shelf, Total]), graphql=GraphQL(introspection=True), **options)))


def test_amounts_are_added_to_numbers_and_sets() -> None:
    asked = opened()
    asked.data('mutation { createStock(input: {stockId: "s", left: 5, tags: ["a"]}) { left } }')
    text = """mutation($amounts: StockAmounts!) {
        addToStock(id: "s", amounts: $amounts) { left value weight tags }
    }"""
    first = asked.data(text, amounts={"left": -2, "value": "1.50", "weight": 0.5, "tags": ["b"]})["addToStock"]
    assert sorted(first.pop("tags")) == ["a", "b"], "a set has no order"
    assert first == {"left": 3, "value": "1.5", "weight": 0.5}
    assert asked.data(text, amounts={"left": 1})["addToStock"]["left"] == 4


def test_keys_of_several_properties_and_of_the_only_record_name_it() -> None:
    asked = opened()
    text = 'mutation { addToShelf(id: "a/b", sort: "7", amounts: {books: 2}, upsert: true) { house number books } }'
    assert asked.data(text)["addToShelf"] == {"house": "a", "number": 7, "books": 2}
    assert asked.data(text)["addToShelf"]["books"] == 4
    assert (
        asked.data("mutation { addToTotal(amounts: {books: 2}, upsert: true) { books } }")["addToTotal"]["books"] == 2
    )


def test_an_upsert_makes_the_record_where_there_is_none_and_changes_it_where_there_is() -> None:
    asked = opened()
    text = 'mutation($upsert: Boolean) { updateStock(id: "s", patch: {name: "n"}, upsert: $upsert) { name num } }'
    for without in (None, False):
        assert asked.codes(text, upsert=without) == ["not_found"]
    assert asked.data(text, upsert=True)["updateStock"] == {"name": "n", "num": 1}
    assert asked.data(text, upsert=True)["updateStock"] == {"name": "n", "num": 1}


def test_what_nothing_can_be_added_to_has_no_field_and_no_amount() -> None:
    told = opened().data('{ __type(name: "StockAmounts") { inputFields { name } } }')
    assert {each["name"] for each in told["__type"]["inputFields"]} == {"left", "value", "weight", "tags"}
    fields = graph().data('{ __type(name: "Mutation") { fields { name } } }')["__type"]["fields"]
    names = {each["name"] for each in fields}
    assert {"addToPerson", "addToTally"} <= names
    assert not {"addToPet", "addToShelf"} & names


def stock_with(**options: Any) -> Graph:
    asked = opened(**options)
    assert asked.client.post("/v1/stocks", {"stockId": "s", "left": 1, "weight": 1.5}).status == 201
    return asked


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        ({"key": "none", "amounts": {"left": 1}}, None),
        ({"key": "s", "amounts": {"left": 1}}, "another"),
        ({"key": "s", "amounts": {"left": None}}, None),
        ({"key": "s", "amounts": {"left": 10**40}}, None),
        ({"key": "", "amounts": {"left": 1}, "upsert": True}, None),
        ({"key": "none", "amounts": {"left": 1}, "upsert": True}, "another"),
    ],
)
def test_what_is_refused_is_refused_in_the_words_of_the_route(body: dict[str, Any], condition: str | None) -> None:
    headers = {} if condition is None else {"if_match": f'"{condition}"'}
    over_http = json_of(stock_with().client.post("/v1/stocks/add", body, **headers))
    text = """mutation($id: ID!, $amounts: StockAmounts!, $upsert: Boolean, $rev: String) {
        addToStock(id: $id, amounts: $amounts, upsert: $upsert, rev: $rev) { left }
    }"""
    given = {"id": body["key"], "amounts": body["amounts"], "upsert": body.get("upsert"), "rev": condition}
    (error,) = stock_with().answer(text, **given)["errors"]
    told = error["extensions"]
    assert "type" in over_http, "it is refused"
    assert (told["status"], told["type"], error["message"]) == (
        over_http["status"],
        over_http["type"],
        over_http["detail"],
    )
    assert told.get("errors") == over_http.get("errors")


def test_an_addition_repeated_with_its_key_is_done_once_also_over_the_other_route() -> None:
    asked = stock_with()
    text = 'mutation($left: Long) { addToStock(id: "s", amounts: {left: $left}, idempotencyKey: "k1") { left rev } }'
    first = asked.data(text, left=2)
    assert asked.data(text, left=2) == first
    assert asked.codes(text, left=3) == ["idempotency_mismatch"]
    again = asked.client.post("/v1/stocks/add", {"key": "s", "amounts": {"left": 2}}, idempotency_key="k1")
    assert (again.status, json.loads(again.body)["left"]) == (200, 3)


def test_an_addition_is_on_the_audit_trail_by_its_record() -> None:
    said: list[Any] = []
    asked = stock_with(observe=said.append)
    asked.answer('mutation { addToStock(id: "s", amounts: {left: 1}) { left } }')
    asked.client.patch("/v1/stocks/s", {"left": 1})
    *_, added, changed = said
    assert [(each["entity"], each["effect"]) for each in added.beside] == [("stocks", "addTo")]
    assert added.beside[0]["keys"] == changed.audit["keys"]
