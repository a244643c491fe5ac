"""Keys of several properties written as one value."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from shardweave.errors import SchemaError
from shardweave.schema.entity import Entity
from shardweave.schema.schema import Schema
from tests.unit.api_world import Client, api_of, json_of, problem_of


class Book(Entity, partition="library", sort=("shelf", "row", "title"), separator="::"):
    """A book where it stands."""

    library: str
    shelf: str
    row: int
    title: str


class Entry(Entity, partition=("town", "street"), sort=("name", "sort")):
    """A property is called like a parameter."""

    town: str
    street: str
    name: str
    sort: str = Field(min_length=1)


@pytest.fixture(scope="module")
def client() -> Client:
    client = Client(api_of(Schema(entities=[Book, Entry])))
    for shelf, row, title in (("a", 2, "x"), ("a", 2, "xy"), ("a", 10, "z"), ("ab", 1, "x::y"), ("b", 1, "x")):
        book = {"library": "l", "shelf": shelf, "row": row, "title": title}
        assert client.post("/v1/books", book).status == 201
    return client


def found(client: Client, conditions: str) -> list[str]:
    items: list[dict[str, Any]] = json_of(client.get(f"/v1/books?library=l&{conditions}"))["items"]
    return [f"{each['shelf']}{each['row']}{each['title']}" for each in items]


@pytest.mark.parametrize(
    ("conditions", "titles"),
    [
        ("sort=a::2::x", ["a2x"]),
        ("sort=ab::1::x::y", ["ab1x::y"]),
        ("sort.prefix=a::", ["a2x", "a2xy", "a10z"]),
        ("sort.prefix=a", ["a2x", "a2xy", "a10z", "ab1x::y"]),
        ("sort.prefix=a::2::", ["a2x", "a2xy"]),
        ("sort.prefix=a::2::xy", ["a2xy"]),
        ("sort.from=a::3&sort.to=a::10", ["a10z"]),
        ("sort.from=ab", ["ab1x::y", "b1x"]),
        ("sort.to=a", ["a2x", "a2xy", "a10z"]),
        ("sort.from=a::2::xa&sort.to=a::2::z", ["a2xy"]),
        ("sort.prefix=a::2::&reverse=true&limit=1", ["a2xy"]),
    ],
)
def test_one_value_stands_for_the_properties_of_a_key(client: Client, conditions: str, titles: list[str]) -> None:
    assert found(client, conditions) == titles


@pytest.mark.parametrize(
    ("conditions", "code", "where"),
    [
        ("sort=a::2", "value_refused", "sort"),
        ("sort=a::2::", "value_refused", "sort"),
        ("sort=::2::x", "value_refused", "sort"),
        ("sort=", "value_refused", "sort"),
        ("sort=a::two::x", "validation_failed", "sort"),
        ("sort.prefix=a::2", "unsupported_query", "row"),
        ("sort=a::2::x&sort.prefix=a", "unsupported_query", "sort"),
        ("sort=a::2::x&shelf=a", "unsupported_query", "shelf"),
        ("sort.from=a::2&sort.to=b::2", "unsupported_query", "sort"),
        ("sort.from=a::2", "unsupported_query", "sort"),
        ("partition=l", "unknown_name", "partition"),
    ],
)
def test_what_it_can_t_stand_for_is_refused(client: Client, conditions: str, code: str, where: str) -> None:
    document = problem_of(client.get(f"/v1/books?library=l&{conditions}"), 400, code)
    assert document["where"] == where


def test_a_property_of_the_same_name_goes_first(client: Client) -> None:
    client.post("/v1/entrys", {"town": "Bath", "street": "High/Low", "name": "n", "sort": "s"})
    target = "/v1/entrys?partition=Bath/High/Low&name=n&sort=s"
    assert len(json_of(client.get(target))["items"]) == 1


def test_a_separator_is_not_empty() -> None:
    class Odd(Entity, partition=("one", "two"), sort="three", separator=""):
        one: str
        two: str
        three: str

    with pytest.raises(SchemaError, match="the separator of its key is empty"):
        Schema(entities=[Odd])
