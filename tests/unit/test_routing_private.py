"""What is private stays so wherever a record stands in the answer of a service's own route."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from typing_extensions import TypedDict

from shardweave import Database, Entity, Schema, private_property, unique_property
from shardweave.routing import JsonModel, get
from shardweave.testing import Client
from tests.unit.test_routing import serving


class User(Entity, token="user"):
    """Somebody with a password."""

    user_id: str = unique_property()
    password: str = private_property(default="secret")


class Line(JsonModel):
    """A user in a model."""

    user: User


class Longer(Line):
    """A line that is more than it is declared to be."""

    second: User


class Tree(JsonModel):
    """A model inside itself."""

    user: User
    trees: tuple[Tree, ...] = ()


class Pair(NamedTuple):
    """A user in a tuple with names."""

    user: User


class Shape(TypedDict):
    """A user in a mapping with names."""

    user: User


@dataclass
class Data:
    """A user in a dataclass."""

    user: User


class Everywhere(JsonModel):
    """A user in every place that a type can give it."""

    plain: User
    maybe: User | None
    listed: list[User]
    mapped: dict[str, User]
    line: Line
    lines: list[Line]
    deep: dict[str, list[Line | None]]
    either: str | Line
    tree: Tree
    anything: Any
    iterable: Iterable[Any]
    pair: Pair
    shape: Shape
    data: Data
    declared: Line


@get("/v1/everywhere/{user_id}")
def everywhere(user_id: str, database: Database) -> Everywhere | None:
    """A user everywhere."""
    user = database.get(User, user_id)
    if user is None:
        return None
    line = Line(user=user)
    return Everywhere(
        plain=user,
        maybe=user,
        listed=[user],
        mapped={"a": user},
        line=line,
        lines=[line],
        deep={"a": [line, None]},
        either=line,
        tree=Tree(user=user, trees=(Tree(user=user),)),
        anything={"a": (user, [line], Data(user), {"b": Pair(user)})},
        iterable=(each for each in (user, line)),
        pair=Pair(user),
        shape={"user": user},
        data=Data(user),
        declared=Longer(user=user, second=user),
    )


@pytest.fixture
def client() -> Iterator[Client]:
    with serving(Schema([User]), everywhere) as made:
        made.database.create(User(user_id="ann"))
        yield made


def test_a_private_property_is_shown_at_no_depth(client: Client) -> None:
    shown = {"userId": "ann"}
    line = {"user": shown}
    assert client.get("/v1/users/ann").json == shown
    assert client.get("/v1/everywhere/ann").expect(200).json == {
        "plain": shown,
        "maybe": shown,
        "listed": [shown],
        "mapped": {"a": shown},
        "line": line,
        "lines": [line],
        "deep": {"a": [line, None]},
        "either": line,
        "tree": {"user": shown, "trees": [{"user": shown, "trees": []}]},
        "anything": {"a": [shown, [line], line, {"b": [shown]}]},
        "iterable": [shown, line],
        "pair": [shown],
        "shape": line,
        "data": line,
        "declared": line,
    }


def test_the_document_describes_the_record_as_it_is_shown(client: Client) -> None:
    schemas = client.openapi["components"]["schemas"]
    assert schemas["Line"]["properties"] == {"user": {"$ref": "#/components/schemas/User"}}
    assert schemas["Tree"]["properties"]["trees"]["items"] == {"$ref": "#/components/schemas/Tree"}
    assert schemas["User"]["properties"].keys() == {"userId"}
    assert schemas["Everywhere"]["properties"]["line"] == {"$ref": "#/components/schemas/Line"}
    for name in ("data", "shape"):
        described = schemas["Everywhere"]["properties"][name]["$ref"].rpartition("/")[2]
        assert schemas[described]["properties"] == schemas["Line"]["properties"]
